"""A closed loop without ROS and without waiting: plant and controller, step by step."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from robodyn_ros.control.base import Controller, Reference
from robodyn_ros.robot.pose import Array
from robodyn_ros.simulation.plant import Plant


class Recording(NamedTuple):
    """What happened, at N + 1 times of which the last is the end."""

    t: Array  # (N + 1,) [s]
    q: Array  # (N + 1, n) [rad] or [m]
    qd: Array  # (N + 1, n) [rad/s] or [m/s]
    reference: Array  # position that was asked for, (N + 1, n) [rad] or [m]
    effort: Array  # that acted after each time, the last one for no time, (N + 1, n) [N·m] or [N]


def simulate(
    plant: Plant, controller: Controller, reference: Callable[[float], Reference], duration: float
) -> Recording:
    """Run a plant under a controller, with one command a step of the plant.

    Args:
        plant: goes on from the state it is in.
        controller: the control law.
        reference: what to do at a time [s] of the plant.
        duration: [s], rounded to whole steps.
    """
    steps = round(duration / plant.config.step)
    n = plant.dynamics.robot.n
    t, (q, qd, asked, effort) = np.empty(steps + 1), np.empty((4, steps + 1, n))
    period, total = 0.0, np.zeros(n)
    for index in range(steps + 1):
        now = reference(plant.time)
        controller.look_ahead(lambda ahead: reference(plant.time + ahead), plant.effort_limit)
        controller.advance(period, plant.q, plant.qd, now, total, plant.effort)
        period, total = plant.config.step, controller.compute(plant.q, plant.qd, now).total
        plant.apply(total)
        t[index], q[index], qd[index], asked[index], effort[index] = plant.time, plant.q, plant.qd, now.q, plant.effort
        if index < steps:
            plant.step()
    return Recording(t, q, qd, asked, effort)
