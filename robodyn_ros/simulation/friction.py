"""Friction of the joints: static, Coulomb, Stribeck and viscous.

    sliding:   F(q̇) = sign(q̇) (Fc + (Fs - Fc) exp(-(q̇/vs)²)) + d q̇
    at rest:   whatever holds the joint, up to Fs

Source: Armstrong-Hélouvry, Dupont, Canudas de Wit, A survey of models, analysis tools and compensation methods for the
control of machines with friction (1994), section 2.1, with exponent 2. With vs = 0 friction falls from Fs to Fc the
moment the joint moves. F opposes q̇ whatever the numbers, so that friction only takes energy out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from robodyn_ros.control.settings import check_settings, setting
from robodyn_ros.errors import InputError
from robodyn_ros.robot import Robot
from robodyn_ros.robot.pose import Array, read_only

GREATEST = 1e9
"""More than any friction there is; beyond it a number is a mistake."""


@dataclass(frozen=True)
class FrictionConfig:
    """Friction of one joint; each field's metadata say what it is."""

    viscous: float = setting(0.0, "viscous friction d", "N·m·s/rad or N·s/m", 0.0, GREATEST)
    coulomb: float = setting(0.0, "Coulomb friction Fc", "N·m or N", 0.0, GREATEST)
    static_friction: float = setting(0.0, "static friction Fs (or Fc, if that is more)", "N·m or N", 0.0, GREATEST)
    stribeck_velocity: float = setting(0.0, "Stribeck velocity vs", "rad/s or m/s", 0.0, GREATEST)

    def __post_init__(self) -> None:
        check_settings(self)


def urdf_friction(robot: Robot) -> tuple[FrictionConfig, ...]:
    """What ``<dynamics damping friction>`` says of each joint, that of mimicking joints included.

    Raises:
        ConfigurationError: a number is beyond all bounds.
    """
    return tuple(FrictionConfig(float(d), float(f)) for d, f in zip(robot.damping, robot.friction, strict=True))


class Friction:
    """The friction of all joints.

    Attributes:
        viscous, coulomb, static: (n,); static is at least coulomb.
        excess: what static friction adds to Coulomb's while sliding, (n,): 0 where it is gone at once.
        rate: 1 / vs, (n,), 0 where vs is.
    """

    def __init__(self, joints: Sequence[FrictionConfig], n: int) -> None:
        """
        Args:
            joints: one for each joint.
            n: how many there are.

        Raises:
            InputError: not one for each joint.
        """
        if len(joints) != n or not all(isinstance(joint, FrictionConfig) for joint in joints):
            raise InputError("friction", f"must be one FrictionConfig for each of {n} joints, not {joints!r}", joints)
        self.viscous = read_only([joint.viscous for joint in joints])
        self.coulomb = read_only([joint.coulomb for joint in joints])
        self.static = read_only([max(joint.coulomb, joint.static_friction) for joint in joints])
        speed = np.array([joint.stribeck_velocity for joint in joints])
        smooth = speed > 0.0
        self.excess = read_only(np.where(smooth, self.static - self.coulomb, 0.0))
        self.rate = read_only(np.divide(1.0, speed, out=np.zeros(n), where=smooth))

    def force(self, qd: Array, direction: Array) -> Array:
        """What acts on the joints (n,) in [N·m] or [N].

        Args:
            qd: velocity (n,) in [rad/s] or [m/s].
            direction: in which each slides, +1 or -1; 0 for one at rest, on which there is only viscous friction.
        """
        force: Array = -direction * self.dry(qd) - self.viscous * qd
        return force

    def dry(self, qd: Array) -> Array:
        """What of it does not grow with the speed, while sliding, (n,), not negative."""
        if not self.excess.any():
            return self.coulomb
        sum_: Array = self.coulomb + self.excess * np.exp(-((self.rate * qd) ** 2))
        return sum_
