"""What laws of the tool share: where the tool should be, and how far it is from there.

The reference of every law is one of the joints. A law of the tool takes from it where the tool is then, by forward
kinematics, and how it moves; and the joints' own reference is the posture of the null space. So trajectories, streams,
sweeps and plans go to a law of the tool as to any other.

The orientation error is the rotation vector φ = log(R_d Rᵀ), in the root link's axes: no Euler angles, and the shortest
rotation. It would change its sign at a half turn. Therefore it falls to zero within the last tenth of a radian before
π, so that no effort jumps. Distance and angle are clipped, so that a far target does not tear at the arm.

Source: Siciliano, Sciavicco, Villani, Oriolo, Robotics: Modelling, Planning and Control (2009), §3.7.3 (errors of the
orientation); Lynch and Park, Modern Robotics (2017), §11.3.3 (the logarithm).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from robodyn_ros.control.laws.base import Controller, FrictionCompensation, Reference
from robodyn_ros.dynamics.base import Dynamics
from robodyn_ros.dynamics.task_space import TaskSpace
from robodyn_ros.kinematics.so3 import rotation_vector
from robodyn_ros.robot.pose import Array

FRAMES = ("base", "tool")
"""Axes that a stiffness or a force may be given in."""

HALF_TURN = 0.1
"""The orientation error falls to zero within this angle before π [rad]."""

TINY = 1e-300
"""Keeps a division by a length defined at zero."""


class ToolMotionError(NamedTuple):
    """How the tool differs from its reference; components in the root link's axes."""

    error: Array  # position [m] and rotation vector [rad], (6,)
    rate: Array  # ẋ_d - ẋ in the directions that count (k,)
    acceleration: Array  # ẍ_d (k,)
    rotation: Array  # of the tool (3, 3)


class ToolLaw(Controller):
    """A law of the tool. The joints' gains hold the posture in the null space."""

    feedback = "acceleration"

    def __init__(
        self, dynamics: Dynamics, kp: ArrayLike, kd: ArrayLike, ki: ArrayLike, link: str, directions: str
    ) -> None:
        """
        Args:
            dynamics: the arm's model.
            kp: gain on the position error of the joints, in the null space, as :class:`Controller` takes it.
            kd: gain on the velocity error, likewise.
            ki: gain on the integral, likewise.
            link: the tool; the last link that moves if empty.
            directions: those that count; those that the arm has if empty.

        Raises:
            InputError: no such link or direction.
        """
        super().__init__(dynamics, kp, kd, ki)
        self.task = TaskSpace(dynamics, link, directions)
        self._friction = FrictionCompensation(dynamics)

    def motion_error(
        self, q: Array, qd: Array, reference: Reference, jacobian: Array, reach: float, turn: float
    ) -> ToolMotionError:
        """The tool beside its reference.

        Args:
            q: positions (n,) in [rad] or [m].
            qd: velocities (n,) in [rad/s] or [m/s].
            reference: of the joints.
            jacobian: of the task at q, (k, n).
            reach: greatest distance that counts [m].
            turn: greatest angle that counts [rad].
        """
        pose, wanted = self.task.pose(q), self.task.pose(reference.q)
        position = wanted[:3, 3] - pose[:3, 3]
        rotation = rotation_vector(wanted[:3, :3] @ pose[:3, :3].T)
        angle = np.sqrt(rotation @ rotation)
        position = position * np.minimum(1.0, reach / (np.sqrt(position @ position) + TINY))
        fading = np.clip((np.pi - angle) / HALF_TURN, 0.0, 1.0)
        rotation = rotation * fading * np.minimum(1.0, turn / (angle + TINY))
        wanted_jacobian = self.task.jacobian(reference.q)
        acceleration = wanted_jacobian @ reference.qdd + self.task.drift(reference.q, reference.qd)
        rate = wanted_jacobian @ reference.qd - jacobian @ qd
        return ToolMotionError(np.concatenate((position, rotation)), rate, acceleration, pose[:3, :3])
