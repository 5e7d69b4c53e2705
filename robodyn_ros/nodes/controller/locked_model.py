# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The controller's locked joints: the masses that they carry are part of the model, and move with them.

A joint that the parameter ``joints`` leaves out is locked at ``locked_joints.<joint>``. If that is not given, it is
locked at its last known position, or else at the middle of its range. While states have its position, the model's
inertials follow it, without compilation. A locked joint that carries the arm is part of the model's geometry: if it is
at another position when the first state comes, states are refused; if it moves later, that is counted as a fault.
"""

from __future__ import annotations

from collections.abc import Callable
from math import remainder

import numpy as np
from rclpy.node import Node

from robodyn_ros.dynamics.base import Dynamics
from robodyn_ros.dynamics.parameters import locked_parameters
from robodyn_ros.errors import NotReadyError
from robodyn_ros.nodes.common.arm_parameters import locked_positions
from robodyn_ros.nodes.common.client_library import steady_timer
from robodyn_ros.nodes.common.parameters import NodeParameters
from robodyn_ros.robot import Array, LockedJoints, Robot
from robodyn_ros.robot.configuration import TURN, ConfigurationSpace

PERIOD = 0.02  #: Time between two checks of the locked joints [s].
MOVED = 1e-4  #: Change of a locked joint's position with which the model is updated [rad] or [m].
ELSEWHERE = 1e-3  #: Greatest difference of a joint that carries the arm from its position in the model [rad] or [m].


class LockedModel:
    """The names of the locked joints, their positions, and the update of the model by them. ``known`` maps a name to
    the latest known position [rad] or [m], written by the readers of states; ``robot`` is the arm without them.
    """

    def __init__(self, node: Node, joints: LockedJoints, known: dict[str, float]) -> None:
        """RobodynError: these joints cannot be locked, or a position is no finite number or outside the limits."""
        self.names, self.known = joints.names, known
        self._joints, self._faults, self._node = joints, node.faults, node
        self._given = locked_positions(NodeParameters(node), joints)
        self._q = self._made = self._positions()
        self.robot: Robot = joints.robot(self._q)
        circular = ConfigurationSpace(joints.whole).circular.tolist()
        self._circular = dict(zip(joints.whole.joint_names, circular, strict=True))
        self._carrying = [joints.names.index(name) for name in joints.carrying]
        self._geometry = self._q[self._carrying]
        self._told: Dynamics | None = None
        self._moved = False  # True while a joint that carries the arm is not where the model has it
        for name, position in zip(joints.names, self._q, strict=True):
            if name in self._given:
                why = f"by the parameter locked_joints.{name}"
            elif name in known:
                why = "its last known position"
            else:
                why = f"the middle of its range: no position is known, and locked_joints.{name} is not given"
            node.get_logger().info(f"joint {name} is locked at {position:.4g}, {why}")

    def follow(self, dynamics: Callable[[], Dynamics]) -> None:
        """Keep the model in use up to date from now on."""
        if self.names:
            steady_timer(self._node, PERIOD, lambda: self._update(dynamics()))

    def check(self) -> None:
        """Refuse (NotReadyError) states while a joint that carries the arm is not where the model has it."""
        if problem := self._elsewhere():
            raise NotReadyError(problem)

    def _positions(self) -> Array:
        """Positions at which the joints are locked (k,): given, else last known, else the middle of the range."""
        found = dict(zip(self.names, self._joints.middle.tolist(), strict=True)) | self.known | self._given
        return np.array([found[name] for name in self.names])

    def _elsewhere(self) -> str:
        """A joint that carries the arm and is not where the model has it, as a message; "" if there is none."""
        for index, there in zip(self._carrying, self._geometry, strict=True):
            name = self.names[index]
            position = self.known.get(name, there)
            away = position - there
            if abs(remainder(away, TURN) if self._circular[name] else away) > ELSEWHERE:
                return (
                    f"joint {name!r} carries the arm and is locked at {there:.4g}, but stands at {position:.4g}: set "
                    f"locked_joints.{name} to where it stands, or clean the node up and configure it again"
                )
        return ""

    def _update(self, dynamics: Dynamics) -> None:
        """Update the model to the positions of the joints, if they or the model have changed."""
        problem = self._elsewhere()
        if problem and not self._moved:
            self._faults.count("locked joint moved", problem)
        self._moved = bool(problem)
        now = self._positions()
        now[self._carrying] = self._geometry
        if dynamics is not self._told:  # a new model has the positions with which the robot was made
            self._told, self._q = dynamics, self._made
        if np.abs(now - self._q).max() > MOVED:
            change = locked_parameters(self._joints, now) - locked_parameters(self._joints, self._q)
            dynamics.configure(inertial=dynamics.parameters.inertial + change)
            self._q = now
