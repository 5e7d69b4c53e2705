# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Model mismatch: an arm whose masses, inertias, friction and payload differ from its model, by factors or at random.

Every sampled arm is physically possible. A body's mass and inertia are scaled together, as by another density. Its
inertia alone is scaled along the principal axes of the second moments Σ = ½ tr(I) 1 - I of its mass about its centre;
these stay positive, so no moment of inertia becomes negative and none exceeds the sum of the other two (Wensing, Kim
and Slotine, Linear matrix inequalities for physically consistent inertial parameter identification, 2018). Each factor
lies within 1 ± spread times its fixed scale. The same seed gives the same arm.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from robodyn_ros.dynamics.parameters import Payload, parameters_of
from robodyn_ros.robot import Array, Inertial, Robot, read_only, tip
from robodyn_ros.settings import CheckedSettings, setting
from robodyn_ros.simulation.plant.joint_effects import FrictionSettings, urdf_friction


@dataclass(frozen=True)
class Mismatch(CheckedSettings):
    """Settings of the mismatch; each field's metadata describe it."""

    mass_scale: float = setting(1.0, "factor of every mass and inertia", "-", 0.01, 100.0)
    mass_spread: float = setting(0.0, "greatest relative change of each body's mass, at random", "-", 0.0, 0.95)
    com_spread: float = setting(0.0, "greatest shift of each centre of mass, in a random direction", "m", 0.0, 10.0)
    inertia_spread: float = setting(0.0, "greatest relative change of each second moment, at random", "-", 0.0, 0.95)
    friction_scale: float = setting(1.0, "factor of all friction", "-", 0.0, 100.0)
    payload_mass: float = setting(0.0, "mass of a payload that the model lacks, at the default tool", "kg", 0.0, 1e6)

    def draw(self, robot: Robot, seed: int, friction: Sequence[FrictionSettings] | None = None) -> SampledArm:
        """Sample an arm that differs from the URDF's.

        Args:
            robot: the arm of the URDF.
            seed: seed of the random numbers; the same seed gives the same arm.
            friction: the friction of each joint before scaling; the URDF's if None.

        Raises:
            ConfigurationError: the scaled friction is out of range.
        """
        rng = np.random.default_rng(seed)
        bodies = [self._body(rng, body.inertial) for body in robot.bodies]
        joints = urdf_friction(robot) if friction is None else friction
        payload = Payload(tip(robot), self.payload_mass) if self.payload_mass > 0.0 else None
        inertial = read_only(np.concatenate([parameters_of(body) for body in bodies]))
        return SampledArm(inertial, payload, tuple(map(self._joint, joints)))

    def _body(self, rng: np.random.Generator, body: Inertial) -> Inertial:
        density = self.mass_scale * _factor(rng, self.mass_spread)
        direction, part = rng.normal(size=3), rng.uniform()
        shift = self.com_spread * part ** (1 / 3) * direction / np.linalg.norm(direction)
        second = 0.5 * np.trace(body.inertia) * np.eye(3) - body.inertia
        moments, axes = np.linalg.eigh(second)
        moments = moments * np.array([_factor(rng, self.inertia_spread) for _ in range(3)])
        second = density * (axes * moments) @ axes.T
        inertia = np.trace(second) * np.eye(3) - second
        return Inertial(density * body.mass, read_only(body.com + shift), read_only(inertia))

    def _joint(self, joint: FrictionSettings) -> FrictionSettings:
        names = ("viscous", "coulomb", "static_friction")
        return replace(joint, **{name: self.friction_scale * getattr(joint, name) for name in names})


class SampledArm(NamedTuple):
    """An arm that was sampled at random."""

    inertial: Array  # standard parameters of the bodies, (10 · bodies,)
    payload: Payload | None
    friction: tuple[FrictionSettings, ...]  # one for each joint

    @property
    def parameters(self) -> dict[str, Any]:
        """Parameters for ``create_dynamics`` or ``configure``; they need no new compilation."""
        return {"inertial": self.inertial, "payload": self.payload}


def _factor(rng: np.random.Generator, spread: float) -> float:
    return float(rng.uniform(1.0 - spread, 1.0 + spread))
