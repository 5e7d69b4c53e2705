"""Stops at the position limits: rigid ones, at which a joint bounces or not, and compliant ones, which give way.

A rigid stop has a coefficient of restitution e: the joint that hits it at velocity v leaves it at -e v (Newton's law),
by an impulse that acts on the other joints through M. A compliant stop pushes back with

    F = k δ (1 + λ δ̇)

at depth δ beyond the limit, never pulls, and like the material it stands for loses energy without a jump of force when
it is touched (Hunt and Crossley, Coefficient of restitution interpreted as damping in vibroimpact, 1975, with exponent
1). A mass that hits it at speed v leaves it at e v, with (1 + e) λv = ln((1 + λv) / (1 - λ e v)).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from robodyn_ros.control.settings import check_settings, setting
from robodyn_ros.errors import InputError
from robodyn_ros.robot import Robot
from robodyn_ros.robot.pose import Array, read_only


@dataclass(frozen=True)
class StopConfig:
    """The stops of one joint; each field's metadata say what it is."""

    restitution: float = setting(0.0, "restitution e at a rigid stop", "-", 0.0, 1.0)
    stiffness: float = setting(0.0, "stiffness k of a compliant stop (0: a rigid one)", "N·m/rad or N/m", 0.0, 1e12)
    dissipation: float = setting(0.0, "dissipation λ of a compliant stop", "s/rad or s/m", 0.0, 1e6)

    def __post_init__(self) -> None:
        check_settings(self)


class Stops:
    """The stops of all joints.

    Attributes:
        lower, upper: where they are, (n,) in [rad] or [m].
        rigid: (n,) whether they are.
        wall_lower, wall_upper: beyond which no joint can be, (n,): infinite where the stop is compliant.
        restitution, stiffness, dissipation: (n,).
    """

    def __init__(self, robot: Robot, stops: StopConfig | Sequence[StopConfig] | None) -> None:
        """
        Args:
            robot: the arm.
            stops: those of every joint, or one for each; rigid and inelastic unless given.

        Raises:
            InputError: not one for each joint.
        """
        joints = [stops or StopConfig()] * robot.n if stops is None or isinstance(stops, StopConfig) else stops
        if len(joints) != robot.n or not all(isinstance(joint, StopConfig) for joint in joints):
            raise InputError("stops", f"must be one StopConfig for each of {robot.n} joints, not {stops!r}", stops)
        self.lower, self.upper = robot.lower, robot.upper
        self.restitution = read_only([joint.restitution for joint in joints])
        self.stiffness = read_only([joint.stiffness for joint in joints])
        self.dissipation = read_only([joint.dissipation for joint in joints])
        self.rigid = self.stiffness == 0.0
        self.wall_lower = read_only(np.where(self.rigid, self.lower, -np.inf))
        self.wall_upper = read_only(np.where(self.rigid, self.upper, np.inf))

    def force(self, q: Array, qd: Array, contact: Array) -> Array:
        """What compliant stops do to the joints, (n,) in [N·m] or [N].

        Args:
            q: position (n,) in [rad] or [m].
            qd: velocity (n,) in [rad/s] or [m/s].
            contact: +1 at the upper stop, -1 at the lower one, 0 at none, (n,).
        """
        depth = np.where(contact > 0.0, q - self.upper, np.where(contact < 0.0, self.lower - q, 0.0))
        push = self.stiffness * depth * (1.0 + self.dissipation * contact * qd)
        force: Array = -contact * np.maximum(push, 0.0)
        return force
