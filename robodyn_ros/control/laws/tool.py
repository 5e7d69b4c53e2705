# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Base of the laws of the tool: settings, reference and error of the tool, and the feedback in its directions.

The reference of every law is a motion of the joints. A law of the tool derives the tool's reference pose and motion
from it by forward kinematics; the joints' own reference is the posture of the null space. So a law of the tool accepts
trajectories, streams, sweeps and plans as every other law does.

The orientation error is the rotation vector φ = log(R_d Rᵀ), in the root link's axes: no Euler angles, and the shortest
rotation. Its sign changes at a half turn. Therefore the error is faded to zero within the last tenth of a radian before
π, so that no effort jumps. Distance and angle are clipped, so that a far target causes no great force.

Source: Siciliano, Sciavicco, Villani, Oriolo, Robotics: Modelling, Planning and Control (2009), §3.7.3 (errors of the
orientation); Lynch and Park, Modern Robotics (2017), §11.3.3 (the logarithm).
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np

from robodyn_ros.control.laws.base import SMOOTHING, AccelerationGains, Efforts, FrictionLaw, Reference
from robodyn_ros.dynamics.task_space import DIRECTIONS, FLOOR, TaskSpace, TaskTerms
from robodyn_ros.errors import InputError
from robodyn_ros.kinematics.so3 import rotation_vector
from robodyn_ros.robot.pose import Array
from robodyn_ros.settings import TOOL, CheckedSettings, choice, setting, text

FRAMES = ("base", "tool")  #: Frames in whose axes a stiffness or a force may be given.
HALF_TURN = 0.1  #: Angle before π within which the orientation error fades to zero [rad].
YIELDING = 6.0  #: Factor of the damping of translations from twice the reach on, where the spring's force is constant.
TINY = 1e-300  #: Keeps a division by a length defined at zero.


@dataclass(frozen=True)
class TaskSettings(CheckedSettings):
    """Settings that the laws of the tool have in common."""

    link: str = text("", TOOL.description, shared=TOOL.name)
    frame: str = choice(
        "base", "axes of the tool's stiffness, forces and directions", choices=lambda: FRAMES, shared="task.frame"
    )
    damping_ratio: float = setting(1.0, "damping ratio of the tool", "-", 0.0, 10.0, shared="task.damping_ratio")
    reach: tuple[float, ...] = setting(
        (0.1, 0.5),
        "distance and angle from the reference beyond which the force of the tool's spring does not grow",
        "m, rad",
        1e-4,
        10.0,
        shared="task.reach",
    )


@dataclass(frozen=True)
class DirectedSettings(TaskSettings):
    """Settings of laws that control some directions of the tool and leave the others free."""

    directions: str = text(
        "",
        "controlled axes, of x y z rx ry rz of the root link; if empty, all that the arm can move along",
        shared="task.directions",
    )


class ToolMotionError(NamedTuple):
    """Difference of the tool from its reference; components in the root link's axes."""

    error: Array  # position [m] and rotation vector [rad], (6,)
    rate: Array  # ẋ_d - ẋ in the controlled directions (k,)
    acceleration: Array  # ẍ_d (k,)
    rotation: Array  # of the tool (3, 3)
    distance: Array  # of the tool from its reference, not clipped () [m]


def marked_directions(name: str, directions: str) -> Array:
    """1 for each of x, y, z, rx, ry, rz that a setting names, else 0, (6,); InputError: it names something else."""
    names = directions.split()
    if any(given not in DIRECTIONS for given in names):
        raise InputError(name, f"must be some of {' '.join(DIRECTIONS)}", directions)
    return np.array([float(direction in names) for direction in DIRECTIONS])


def clipped_error(pose: Array, wanted: Array, reach: float, turn: float) -> Array:
    """Position [m] and rotation vector [rad] from a pose (4, 4) to the wanted one, in the root link's axes, (6,),
    clipped at a distance [m] and an angle [rad].
    """
    position = wanted[:3, 3] - pose[:3, 3]
    rotation = rotation_vector(wanted[:3, :3] @ pose[:3, :3].T)
    angle = np.sqrt(rotation @ rotation)
    position = position * np.minimum(1.0, reach / (np.sqrt(position @ position) + TINY))
    fading = np.clip((np.pi - angle) / HALF_TURN, 0.0, 1.0)
    rotation = rotation * fading * np.minimum(1.0, turn / (angle + TINY))
    return np.concatenate((position, rotation))


def yielding(distance: Array, reach: float) -> Array:
    """Square roots of the damping's factors (6,), by which a tool at a distance [m] beyond the reach [m] yields."""
    beyond = np.clip(distance / reach - 1.0, 0.0, 1.0)
    root = np.sqrt(1.0 + (YIELDING - 1.0) * beyond)
    return np.concatenate((root * np.ones(3), np.ones(3)))


class ToolLaw(FrictionLaw):
    """A law of the tool. The joints' gains hold the posture in the null space."""

    feedback: ClassVar[Literal["effort", "acceleration"]] = "acceleration"

    def use_settings(self, config: Any) -> None:
        """Use :class:`TaskSettings`, or a class derived from it. Without ``directions`` the tool is controlled along
        all that the arm can move along. ``singular_region``, if there is one, is λ₀ of :class:`TaskSpace`.
        """
        super().use_settings(config)
        directions, floor = getattr(config, "directions", ""), getattr(config, "singular_region", FLOOR)
        self.task = TaskSpace(self.dynamics, config.link, directions, floor)
        self._in_tool_axes, self._damping_ratio = config.frame == "tool", config.damping_ratio
        self._reach, self._turn = config.reach

    @abstractmethod
    def tool_gains(self, q: Array, task: TaskTerms) -> tuple[Array, Array]:
        """Stiffness and damping of the tool with the arm at q (n,), (k, k) each: force by distance and by speed."""

    def acceleration_gains(self, q: Array, period: float = 0.0) -> AccelerationGains:
        """The feedback as accelerations of the arm at q (n,): of the tool, and of the posture in its null space."""
        task = self.task.terms(q, self._none)
        jacobian, inverse = task.jacobian, np.linalg.inv(task.mass)
        stiffness, damping = (jacobian.T @ gain @ jacobian for gain in self.tool_gains(q, task))
        posture = task.null @ task.mass * float(self.follows)  # a law that does not follow holds no posture
        gains = stiffness + posture * self.kp, damping + posture * self.kd, posture * self.ki
        return AccelerationGains(*(inverse @ gain for gain in gains))

    def motion_error(self, q: Array, qd: Array, reference: Reference, jacobian: Array) -> ToolMotionError:
        """The tool's error, and the reference's acceleration, at a state (n,) with the task's Jacobian (k, n)."""
        pose, wanted = self.task.pose(q), self.task.pose(reference.q)
        error = clipped_error(pose, wanted, self._reach, self._turn)
        wanted_jacobian = self.task.jacobian(reference.q)
        acceleration = wanted_jacobian @ reference.qdd + self.task.drift(reference.q, reference.qd)
        rate = wanted_jacobian @ reference.qd - jacobian @ qd
        away = wanted[:3, 3] - pose[:3, 3]
        return ToolMotionError(error, rate, acceleration, pose[:3, :3], np.sqrt(away @ away))

    def diagonal(self, values: Array, rotation: Array) -> Array:
        """A matrix (k, k) in the controlled directions, diagonal in the axes of the frame: values of x, y, z, rx, ry
        and rz (6,), and the rotation (3, 3) of the tool.
        """
        linear, angular = np.diag(values[:3]), np.diag(values[3:])
        if self._in_tool_axes:
            linear, angular = rotation @ linear @ rotation.T, rotation @ angular @ rotation.T
        none = np.zeros((3, 3))
        whole = np.concatenate((np.concatenate((linear, none), 1), np.concatenate((none, angular), 1)))
        return self.task.chosen(self.task.chosen(whole).T)

    def wrench(self, values: Array, rotation: Array) -> Array:
        """A wrench (6,) in the axes of the frame, converted to the controlled directions, (k,)."""
        force, torque = values[:3], values[3:]
        if self._in_tool_axes:
            force, torque = rotation @ force, rotation @ torque
        return self.task.chosen(np.concatenate((force, torque)))

    def efforts(
        self, reference: Reference, task: TaskTerms, acceleration: Array, force: Array, posture: Array
    ) -> Efforts:
        """The efforts that give the tool an acceleration and a force, and the null space a posture.

            τ = Jᵀ (Λ (ẍ - J̇ q̇) + F) + C q̇ + g + N M (q̈_d + y) + τ_friction(q̇_d) + τ_ff

        ``acceleration`` is the ẍ (k,) that is fed forward, ``force`` the F (k,) of the feedback, ``posture`` the y (n,)
        that corrects the joints.
        """
        moved = task.jacobian.T @ (task.inertia @ (acceleration - task.drift))
        inertia = moved + task.null @ (task.mass @ reference.qdd)
        feedback = task.jacobian.T @ force + task.null @ (task.mass @ posture)
        friction = self._friction.against(reference.qd, SMOOTHING)
        total = task.joint_gravity + task.joint_coriolis + inertia + friction + feedback + reference.effort
        return Efforts(task.joint_gravity, task.joint_coriolis, inertia, friction, feedback, reference.effort, total)
