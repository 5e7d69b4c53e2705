# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Arms and problems of the tests of planners, and the limits that every plan keeps to."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from arms import joint, link, robot

import robodyn_ros as rd
from robodyn_ros.control.motion.trajectory import Trajectory
from robodyn_ros.planning.plan import Plan
from robodyn_ros.planning.problem import JointGoal, MotionLimits, Problem
from robodyn_ros.robot.pose import Array

HOME, PICK = np.zeros(3), np.array([0.0, -1.83, -0.12])


def prr(**parameters: Any) -> rd.Dynamics:
    """The PRR arm."""
    return rd.create_dynamics("rnea", rd.load_robot("prr"), **parameters)


def slider(effort: float = 10.0, velocity: float = 100.0, **limits: float) -> rd.Dynamics:
    """2.5 kg on a rail, without gravity along it: F = m a."""
    rail = joint("x", "prismatic", "base", "cart", axis=(1, 0, 0), limit=(-1.0, 5.0, velocity, effort))
    more = " ".join(f'{name}="{value}"' for name, value in limits.items())
    cart = robot("slider", link("base"), link("cart", 2.5, (0.1, 0, 0)), rail.replace("<limit", f"<limit {more}"))
    return rd.create_dynamics("rnea", rd.load_robot(cart))


def whole(dynamics: rd.Dynamics, **limits: Any) -> MotionLimits:
    """All of the arm's limits, or others in their place."""
    return MotionLimits.of(dynamics.robot, limit_ratio=1.0, **limits)


def passing(*stops: Sequence[float] | Array) -> tuple[JointGoal, ...]:
    """Via points at which the arm does not stop."""
    return tuple(JointGoal(stop, None) for stop in stops)


def solved(planner: Callable[..., Plan], problem: Problem, *settings: Any) -> Plan:
    """The plan of a problem that has one."""
    found = planner(problem, *settings)
    assert found.solved, found.reason
    return found


def curve(found: Plan | Trajectory, count: int = 4001) -> tuple[Array, Array, Array, Array]:
    """Positions to jerks along a motion; the jerk between two instants is their mean."""
    motion = found.to_trajectory() if isinstance(found, Plan) else found
    times = np.linspace(0.0, motion.duration * (1 - 1e-12), count)
    q, qd, qdd = motion.samples(times)
    return q, qd, qdd, np.diff(qdd, axis=0) / times[1]


def assert_within(dynamics: rd.Dynamics, found: Plan, limits: MotionLimits, margin: float = 1e-4) -> None:
    """Each limit is held: not only at the points, but on the curve that the controller follows."""
    q, qd, qdd, jerk = curve(found)
    for values, limit, ratio in (
        (qd, limits.velocity, margin),
        (qdd, limits.acceleration, margin),
        (jerk, limits.jerk, 2e-3),
        (dynamics.inverse(q, qd, qdd), limits.effort, 6e-3),
    ):
        assert (np.abs(values) <= (1.0 + ratio) * limit).all()
    assert (q >= limits.lower - 1e-5).all() and (q <= limits.upper + 1e-5).all()
