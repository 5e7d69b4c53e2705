# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The joints that the simulator holds, because the parameter ``joints`` omits them.

They hold any load, or go to the goals of ``locked_joints`` at their greatest speed: the fingers of a gripper, whose own
controller is not simulated. Their load moves with them, in the plant's model too.
"""

from __future__ import annotations

import numpy as np
from rclpy.node import Node
from sensor_msgs.msg import JointState

from robodyn_ros.dynamics.base import Dynamics
from robodyn_ros.dynamics.parameters import locked_parameters
from robodyn_ros.errors import InputError, RobodynError
from robodyn_ros.nodes.common.diagnostics import Faults
from robodyn_ros.nodes.common.qos import NEWEST
from robodyn_ros.robot import LockedJoints
from robodyn_ros.robot.pose import Array

SPEED = 1.0
"""Speed of a joint whose URDF names no limit [rad/s] or [m/s]."""


class HeldJoints:
    """The joints that are held, and their goals.

    Attributes:
        names: of the k held joints.
        q: their positions (k,) in [rad] or [m].
        qd: their velocities (k,) in [rad/s] or [m/s].
    """

    def __init__(self, node: Node, joints: LockedJoints, start: Array, faults: Faults) -> None:
        """
        Args:
            node: the subscriber.
            joints: those that are held.
            start: their initial positions (k,) in [rad] or [m].
            faults: counts refused goals.
        """
        self.names = joints.names
        self._joints, self._start, self._faults = joints, start.copy(), faults
        every = {joint.name: joint for joint in joints.whole.joints}
        own = [every[name] for name in joints.names]
        self._speed = np.array([joint.velocity if np.isfinite(joint.velocity) else SPEED for joint in own])
        self._lower, self._upper = (np.array([getattr(joint, side) for joint in own]) for side in ("lower", "upper"))
        self.q, self.qd, self._goal = start.copy(), np.zeros(len(start)), start.copy()
        if self.names:
            node.create_subscription(JointState, "locked_joints", self._on_goal, NEWEST)

    def reset(self, dynamics: Dynamics) -> None:
        """Go back to the initial positions at once, and update the model of the plant."""
        before, self.q = self.q, self._start.copy()
        self.qd, self._goal = np.zeros(len(self._start)), self._start.copy()
        self._tell(dynamics, before)

    def advance(self, duration: float, dynamics: Dynamics) -> None:
        """Move for a duration [s], and update the model of the plant."""
        step = np.clip(self._goal - self.q, -self._speed * duration, self._speed * duration)
        self.qd = step / duration
        before, self.q = self.q, self.q + step
        self._tell(dynamics, before)

    def _tell(self, dynamics: Dynamics, before: Array) -> None:
        """Update the positions of the joints in the model, ``before`` (k,) until now."""
        if (self.q != before).any():
            change = locked_parameters(self._joints, self.q) - locked_parameters(self._joints, before)
            dynamics.configure(inertial=dynamics.parameters.inertial + change)

    def _on_goal(self, message: JointState) -> None:
        try:
            self._goal = self._accepted(message)
        except RobodynError as problem:
            self._faults.count("goal of a locked joint refused", problem)

    def _accepted(self, message: JointState) -> Array:
        goal: Array = self._goal.copy()
        if len(message.position) != len(message.name):
            raise InputError("position", f"has {len(message.position)} values for {len(message.name)} joints")
        for name, position in zip(message.name, message.position, strict=True):
            if name not in self.names:
                raise InputError("name", f"{name!r} is not locked; locked are {', '.join(self.names)}", name)
            index = self.names.index(name)
            if name in self._joints.carrying:
                raise InputError("name", f"{name!r} carries the arm and cannot move", name)
            if not self._lower[index] <= position <= self._upper[index]:
                limits = f"[{self._lower[index]:g}, {self._upper[index]:g}]"
                raise InputError("position", f"{position:g} of {name!r} must be within {limits}", position)
            goal[index] = position
        return goal
