# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Validation of the native equations of motion and the native plant against MuJoCo, over random states and motions.

The equations are compared state by state, without friction. Joints that mimic others are joints of their own in MuJoCo,
coupled by their ratios; its plant cannot couple them rigidly, so arms with such joints make no motions.

The plants are compared over motions between random poses, each under computed torque by the native equations. Without
control, a slender arm doubles a rounding error many times a second; control keeps it small. Differences between the
plants still show. The motions keep away from the stops. Neither plant has friction or velocity limits, because MuJoCo
smooths the jumps of the native plant, and makes implicit steps of the first order where friction is stiff.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from robodyn_ros.control.motion.point_to_point import rest_to_rest
from robodyn_ros.dynamics.base import Dynamics
from robodyn_ros.errors import InputError
from robodyn_ros.robot import Robot
from robodyn_ros.robot.pose import Array
from robodyn_ros.settings import CheckedSettings, setting, whole
from robodyn_ros.simulation.plant.base import PlantBase, PlantSettings
from robodyn_ros.simulation.plant.joint_effects import FrictionSettings
from robodyn_ros.simulation.plant.mujoco import MuJoCoModel, MuJoCoPlant
from robodyn_ros.simulation.plant.native import Plant

QUANTITIES = ("mass matrix M", "gravity g", "inverse dynamics τ", "forward dynamics q̈")

CLEAR = 0.7
"""Part of a joint's range that poses are sampled from, so that motions between them keep away from the stops."""

TURN = np.pi
"""Bound of the sampled positions where a joint has no limit [rad] or [m]."""

FREQUENCY = 10.0
"""Natural frequency of the position error under computed torque [rad/s], critically damped."""

PERIOD = 1e-3
"""Time between two commands of computed torque [s]."""


@dataclass(frozen=True)
class ValidationSettings(CheckedSettings):
    """Settings of the comparison; each field's metadata describe it."""

    states: int = whole(100, "number of random states", 1, 100_000)
    motions: int = whole(3, "number of random motions", 0, 1000)
    duration: float = setting(2.0, "length of a motion", "s", 0.01, 60.0)
    step: float = setting(1e-4, "step of both plants", "s", 1e-6, PERIOD)
    tolerance: float = setting(1e-8, "greatest relative error of M, g, τ and q̈", "-", 0.0, 1.0)
    motion_tolerance: float = setting(1e-8, "greatest error of a joint's position", "rad or m", 0.0, 1.0)
    seed: int = whole(0, "seed of the random numbers", 0, 2**31 - 1)


class Comparison(NamedTuple):
    """The difference of one quantity between the two."""

    quantity: str
    error: float  # relative to the greatest norm of the quantity; for a motion, that of a joint's position [rad] or [m]
    allowed: float

    @property
    def agrees(self) -> bool:
        """True if the error is within the allowed error."""
        return self.error <= self.allowed


def validate(
    dynamics: Dynamics, settings: ValidationSettings | None = None, progress: Callable[[], object] = lambda: None
) -> list[Comparison]:
    """Compare an arm's dynamics with MuJoCo's.

    Args:
        dynamics: the arm.
        settings: settings of the comparison; the defaults if None.
        progress: called after each state and each motion.

    Returns:
        The comparisons; without motions where a joint mimics another.

    Raises:
        ConfigurationError: MuJoCo is not installed, or cannot model this arm.
        InputError: the step does not divide the period of the commands.
        SimulationError: a state became too large for a float.
    """
    settings = settings or ValidationSettings()
    rng = np.random.default_rng(settings.seed)
    found = _equations(dynamics, settings, rng, progress)
    for number in range(1, 0 if mimics(dynamics.robot) else settings.motions + 1):
        error = _motion(dynamics, settings, rng)
        found.append(Comparison(f"motion {number}, {settings.duration:g} s", error, settings.motion_tolerance))
        progress()
    return found


def mimics(robot: Robot) -> list[str]:
    """Names of the joints that follow another."""
    return [body.joint.name for body in robot.bodies if body.joint.mimic is not None]


def _equations(
    dynamics: Dynamics, settings: ValidationSettings, rng: np.random.Generator, progress: Callable[[], object]
) -> list[Comparison]:
    arm, n = MuJoCoModel(dynamics), dynamics.robot.n
    none = np.zeros(n)
    errors, sizes = np.zeros((2, len(QUANTITIES), settings.states))
    for state in range(settings.states):
        q, qd, qdd = _pose(dynamics.robot, rng), rng.normal(size=n), rng.normal(size=n)
        tau = dynamics.inverse(q, qd, qdd)
        pairs = (
            (dynamics.mass_matrix(q), arm.mass_matrix(q)),
            (dynamics.gravity(q), arm.inverse(q, none, none)),
            (tau, arm.inverse(q, qd, qdd)),
            (dynamics.forward(q, qd, tau), arm.forward(q, qd, tau)),
        )
        for row, (ours, theirs) in enumerate(pairs):
            errors[row, state], sizes[row, state] = np.linalg.norm(ours - theirs), np.linalg.norm(ours)
            # NaN counts as an infinite error.
            errors[row, state] = np.nan_to_num(errors[row, state], nan=np.inf)
        progress()
    scale = np.where(sizes.max(axis=1) > 0.0, sizes.max(axis=1), 1.0)
    relative = errors.max(axis=1) / scale
    return [
        Comparison(name, float(error), settings.tolerance) for name, error in zip(QUANTITIES, relative, strict=True)
    ]


def _motion(dynamics: Dynamics, settings: ValidationSettings, rng: np.random.Generator) -> float:
    """The greatest difference of a joint's position in one motion [rad] or [m]."""
    robot = dynamics.robot
    every = round(PERIOD / settings.step)
    if abs(every * settings.step - PERIOD) > 1e-9:
        problem = f"must go into {PERIOD:g} s a whole number of times, not {settings.step:g} s"
        raise InputError("step", problem, settings.step)
    poses = [_pose(robot, rng) for _ in range(3)]
    path = rest_to_rest(poses, np.array([0.0, 0.5, 1.0]) * settings.duration)
    free = np.full(robot.n, np.inf)
    options = {"effort_limit": free, "velocity_limit": free, "q0": poses[0]}
    none = (FrictionSettings(),) * robot.n
    native = Plant(dynamics, PlantSettings(settings.step), friction=none, **options)  # type: ignore[arg-type]
    mujoco = MuJoCoPlant(dynamics, PlantSettings(settings.step), friction=none, contact=False, **options)  # type: ignore[arg-type]
    plants: tuple[PlantBase, ...] = (native, mujoco)
    apart = 0.0
    for index in range(round(settings.duration / PERIOD)):
        q, qd, qdd = path.sample(index * PERIOD)
        for plant in plants:  # each by its own state: under a record of efforts, rounding errors can grow without bound
            wanted = qdd + 2.0 * FREQUENCY * (qd - plant.qd) + FREQUENCY**2 * (q - plant.q)
            plant.apply(dynamics.inverse(plant.q, plant.qd, wanted))
            plant.step(every)
        apart = max(apart, float(np.abs(native.q - mujoco.q).max()))
    return apart


def _pose(robot: Robot, rng: np.random.Generator) -> Array:
    lower, upper = np.maximum(robot.lower, -TURN), np.minimum(robot.upper, TURN)
    lower, upper = np.minimum(lower, robot.upper), np.maximum(upper, robot.lower)
    margin = 0.5 * (1.0 - CLEAR) * (upper - lower)
    return rng.uniform(lower + margin, upper - margin)
