"""The runs of ``robodyn compare``: the motions, a law that does one, and the figures of that."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from robodyn_ros.control.laws.base import Controller, Reference
from robodyn_ros.control.motion.point_to_point import durations, rest_to_rest
from robodyn_ros.control.motion.trajectory import Trajectory
from robodyn_ros.robot import Robot
from robodyn_ros.robot.pose import Array
from robodyn_ros.simulation.plant.native import Plant

PART = 0.5
"""Part of each joint's range that the trajectory covers, about the middle [-]."""

STEP = 0.03
"""Height of the step as a part of the range [-]: quick laws come near their effort limits and do not stay there."""

STEP_TIME = 2.5
"""Duration of the step [s]."""

REST = 0.5
"""Time after the trajectory, in which the steady-state error shows [s]."""

SPEED, ACCELERATION = 0.35, 1.0
"""Limits of the trajectory: part of the velocity limit [-], and velocity limits a second [1/s]."""

UNLIMITED = {True: (0.5, 0.5), False: (1.0, 1.0)}
"""Prismatic or not → range of a joint without position limits [m, rad] (±), and speed limit where it has none."""

LASTING = 0.2
"""Time at the end of a motion over which the steady-state (lasting) error is averaged [s]."""

SETTLED = 0.02
"""Band of the settling time, as a part of the step [-]."""


class ComparedMotion(NamedTuple):
    """A motion that each law does."""

    name: str
    start: Array  # (n,), at rest [rad] or [m]
    duration: float  # [s]
    reference: Callable[[float], Reference]
    size: Array  # distance that each joint moves (n,) [rad] or [m]


class Run(NamedTuple):
    """A motion under a law, at N times."""

    t: Array  # (N,) [s]
    q: Array  # (N, n) [rad] or [m]
    reference: Array  # (N, n)
    effort: Array  # effort that acted (N, n) [N·m] or [N]
    saturated: Array  # part of the time at the effort limit (n,) [-]

    @property
    def error(self) -> Array:
        """Reference minus position (N, n) [rad] or [m]."""
        return self.reference - self.q

    def figures(self, motion: ComparedMotion) -> dict[str, Array]:
        """Return the figures of the tables, (n,) each; a joint that does not settle has a settling time of NaN."""
        error, final = np.abs(self.error), self.error[self.t >= self.t[-1] - LASTING]
        band = SETTLED * motion.size
        outside = error > band
        last = np.where(outside.any(axis=0), len(self.t) - np.argmax(outside[::-1], axis=0), 0)
        settles = np.where(last < len(self.t), self.t[np.minimum(last, len(self.t) - 1)], np.nan)
        return {
            "rms_error": np.sqrt(np.mean(self.error**2, axis=0)),
            "peak_error": error.max(axis=0),
            "lasting_error": np.abs(final.mean(axis=0)),
            "settling_time": settles,
            "rms_effort": np.sqrt(np.mean(self.effort**2, axis=0)),
            "peak_effort": np.abs(self.effort).max(axis=0),
            "saturated": self.saturated,
        }


def motions(robot: Robot) -> tuple[ComparedMotion, ComparedMotion]:
    """Return a step of all joints at once, and a trajectory there and back."""
    far = np.array([UNLIMITED[joint.is_prismatic][0] for joint in robot.joints])
    fast = np.array([UNLIMITED[joint.is_prismatic][1] for joint in robot.joints])
    lower = np.where(np.isfinite(robot.lower), robot.lower, -far)
    upper = np.where(np.isfinite(robot.upper), robot.upper, far)
    middle, span = (lower + upper) / 2.0, upper - lower
    start, goal = middle - PART * span / 2.0, middle + PART * span / 2.0
    speed = np.where(np.isfinite(robot.velocity_limit), robot.velocity_limit, fast)
    legs = durations([start, goal, start], SPEED * speed, ACCELERATION * speed)
    trajectory = rest_to_rest([start, goal, start], [0.0, legs[0], legs.sum()])
    step = STEP * span
    return (
        ComparedMotion("step", start, STEP_TIME, _held(start + step), step),
        ComparedMotion("trajectory", start, trajectory.duration + REST, _followed(trajectory), goal - start),
    )


def _held(q: Array) -> Callable[[float], Reference]:
    zero = np.zeros_like(q)
    reference = Reference(q, zero, zero, zero)
    return lambda t: reference


def _followed(trajectory: Trajectory) -> Callable[[float], Reference]:
    zero = np.zeros(trajectory.n)
    return lambda t: Reference(*trajectory.sample(t), zero)


def run_motion(controller: Controller, plant: Plant, motion: ComparedMotion, rate: float) -> Run:
    """Run a motion under a law. The integral of a joint stops while its effort is at the limit.

    Args:
        controller: the law; its memory is cleared first.
        plant: the arm.
        motion: the motion.
        rate: control rate [Hz]; each effort acts for a whole number of the plant's steps.
    """
    plant.reset(motion.start)
    held = max(1, round(1.0 / (rate * plant.settings.step)))
    count = round(motion.duration / (held * plant.settings.step)) + 1
    n, limit = plant.dynamics.robot.n, plant.effort_limit
    t, (q, asked, effort) = np.empty(count), np.empty((3, count, n))
    integral, limited, total, period = np.zeros(n), np.zeros(n), np.zeros(n), 0.0
    controller.forget()
    for index in range(count):
        now = motion.reference(plant.time)
        controller.look_ahead(lambda ahead: motion.reference(plant.time + ahead), plant.effort_limit)
        controller.advance(period, plant.q, plant.qd, now, total, plant.effort)
        period = held * plant.settings.step
        total = controller.compute(plant.q, plant.qd, now, integral).total
        plant.apply(total)
        over = np.abs(total) > limit
        integral = integral + np.where(over, 0.0, period * (now.q - plant.q))
        limited += over
        t[index], q[index], asked[index], effort[index] = plant.time, plant.q, now.q, plant.effort
        plant.step(held)
    return Run(t, q, asked, effort, limited / count)
