# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The controller's locked joints: what they carry is part of the model, and moves with them.

A joint that the parameter ``joints`` leaves out is locked at ``locked_joints.<joint>``; where that is not given at the
last position that is known of it, and else at the middle of its range. While states tell where it is, the model's
inertials follow; nothing is compiled anew. A locked joint that carries the arm is part of the model's geometry: if it
stands elsewhere when the first state comes, states are refused; if it moves later, that is counted as a fault.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from rclpy.node import Node

from robodyn_ros.dynamics.base import Dynamics
from robodyn_ros.dynamics.inertial_parameters import locked_parameters
from robodyn_ros.errors import NotReadyError
from robodyn_ros.nodes.common.arm_parameters import locked_position
from robodyn_ros.nodes.common.diagnostics import Faults
from robodyn_ros.nodes.common.parameters import NodeParameters
from robodyn_ros.nodes.common.timers import steady_timer
from robodyn_ros.robot import LockedJoints, Robot
from robodyn_ros.robot.pose import Array

PERIOD = 0.02
"""Time between two looks at the locked joints [s]."""

MOVED = 1e-4
"""Change of a locked joint's position that the model is told of [rad] or [m]."""

ELSEWHERE = 1e-3
"""Greatest difference between a joint that carries the arm and its model [rad] or [m]."""


class LockedModel:
    """The joints that are locked, their positions, and the model that follows them.

    Attributes:
        names: of the k locked joints.
        known: name → latest position that was heard of [rad] or [m]; who hears of one writes it here.
        robot: the arm without them.
    """

    def __init__(self, node: Node, joints: LockedJoints, known: dict[str, float], faults: Faults) -> None:
        """
        Args:
            node: whose parameters.
            joints: the locked joints.
            known: name → latest position that was heard of so far.
            faults: where it is counted that a joint that carries the arm has moved.

        Raises:
            RobodynError: the arm cannot do without these joints, or a position is no finite number.
        """
        self.names, self.known = joints.names, known
        self._joints, self._faults, self._node = joints, faults, node
        parameters = NodeParameters(node)
        self._given = {name: locked_position(parameters, name) for name in joints.names}
        self._q = self._made = self._positions()
        self.robot: Robot = joints.robot(self._q) if joints.names else joints.whole
        self._carrying = [joints.names.index(name) for name in joints.carrying]
        self._geometry = self._q[self._carrying]
        self._told: Dynamics | None = None
        self._timer: Any = None
        self._moved = False  # True while a joint that carries the arm stands elsewhere
        for name, position in zip(joints.names, self._q, strict=True):
            if self._given[name] is not None:
                why = f"as locked_joints.{name} says"
            elif name in known:
                why = "where it was last"
            else:
                why = f"the middle of its range: nothing is known of it yet, and locked_joints.{name} is not given"
            node.get_logger().info(f"joint {name} is locked at {position:.4g}, {why}")

    def follow(self, dynamics: Callable[[], Dynamics]) -> None:
        """Keep a model up to date from now on.

        Args:
            dynamics: returns the model at work.
        """
        if self.names:
            self._timer = steady_timer(self._node, PERIOD, lambda: self._update(dynamics()))

    def destroy(self) -> None:
        """Keep no model up to date any more."""
        if self._timer is not None:
            self._node.destroy_timer(self._timer)

    def check(self) -> None:
        """Check that the joints that carry the arm stand where the model has them.

        Raises:
            NotReadyError: one does not.
        """
        problem = self._elsewhere()
        if problem:
            raise NotReadyError(problem)

    def _positions(self) -> Array:
        """Where the joints are, as far as is known (k,)."""
        found = []
        for name, middle in zip(self.names, self._joints.middle.tolist(), strict=True):
            given = self._given[name]
            found.append(self.known.get(name, middle) if given is None else given)
        return np.array(found)

    def _elsewhere(self) -> str:
        """What is wrong with a joint that carries the arm; "" if all stand where the model has them."""
        for index, there in zip(self._carrying, self._geometry, strict=True):
            name = self.names[index]
            position = self.known.get(name, there)
            if abs(position - there) > ELSEWHERE:
                return (
                    f"joint {name!r} carries the arm and is locked at {there:.4g}, but stands at {position:.4g}: set "
                    f"locked_joints.{name} to where it stands, or clean the node up and configure it again"
                )
        return ""

    def _update(self, dynamics: Dynamics) -> None:
        """Tell the model where the joints are, if they or the model have changed."""
        problem = self._elsewhere()
        if problem and not self._moved:
            self._faults.count("locked joint moved", problem)
        self._moved = bool(problem)
        now = self._positions()
        now[self._carrying] = self._geometry
        if dynamics is not self._told:  # it is that of the robot as it was made
            self._told, self._q = dynamics, self._made
        if np.abs(now - self._q).max() > MOVED:
            change = locked_parameters(self._joints, now) - locked_parameters(self._joints, self._q)
            dynamics.configure(inertial=dynamics.parameters.inertial + change)
            self._q = now
