# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Plants: of an arm or a URDF, and of a mass on a rail; and the friction of the PRR arm."""

from collections.abc import Sequence
from typing import Any

import arms
import numpy as np
from scipy.optimize import brentq

import robodyn_ros as rd
from robodyn_ros.dynamics.parameters import STANDARD_GRAVITY
from robodyn_ros.robot import Robot, as_robot
from robodyn_ros.simulation import FrictionSettings, Plant, PlantSettings

FRICTION = (
    FrictionSettings(viscous=5.0, coulomb=8.0, static_friction=12.0, stribeck_velocity=0.02),
    FrictionSettings(viscous=0.2, coulomb=0.6, static_friction=0.9),
    FrictionSettings(viscous=0.1, coulomb=0.3, static_friction=0.5, stribeck_velocity=0.1),
)
"""Of the PRR arm."""

MASS = 2.0
"""On the rail [kg]."""


def plant_of(
    arm: Robot | str, step: float = 1e-3, *, gravity: Any = STANDARD_GRAVITY, compiled: bool = True, **options: Any
) -> Plant:
    """The plant of an arm or of a URDF."""
    dynamics = rd.create_dynamics("rnea", as_robot(arm), gravity=gravity, compiled=compiled)
    return Plant(dynamics, PlantSettings(step), **options)


def on_a_rail(
    limit: Sequence[float] = (-100, 100, 100, 100), axis: Sequence[float] = (1, 0, 0), **options: Any
) -> Plant:
    """The plant of a mass on a rail; limit is lower, upper, velocity, effort."""
    return plant_of(arms.slider(limit, MASS, axis), **options)


def energy(plant: Plant) -> float:
    """Kinetic and potential energy together [J]."""
    return float(sum(plant.dynamics.energy(plant.q, plant.qd)))


def restitution(x: float) -> float:
    """e of Hunt and Crossley's law, (1 + e) x = ln((1 + x) / (1 - e x)), by x = λv."""
    if x == 0.0:
        return 1.0
    return brentq(lambda e: (1 + e) * x - np.log((1 + x) / (1 - e * x)), 1e-6, min(1.0, (1 - 1e-12) / x))
