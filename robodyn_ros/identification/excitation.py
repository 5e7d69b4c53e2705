"""Motions from which an arm's parameters can be told well.

Fourier series whose regressor has the greatest determinant (D-optimality) within limits of position, velocity, effort
and workspace, checked at many more points than they were made from.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from robodyn_ros.control.checks import finite_array
from robodyn_ros.control.trajectory import Trajectory
from robodyn_ros.control.waypoints import durations
from robodyn_ros.dynamics.parameters import STANDARD_GRAVITY
from robodyn_ros.dynamics.rnea import RNEA
from robodyn_ros.errors import InputError
from robodyn_ros.identification.base_parameters import BaseParameters, base_parameters
from robodyn_ros.identification.excitation_limits import Limits
from robodyn_ros.identification.excitation_search import at_rest, draw, motion_of, optimised, within
from robodyn_ros.identification.excitation_settings import ExcitationConfig, Workspace
from robodyn_ros.identification.fourier import FourierSeries, bases
from robodyn_ros.identification.information import Information
from robodyn_ros.identification.settings import IdentificationConfig
from robodyn_ros.robot import Robot
from robodyn_ros.robot.pose import Array

SAMPLES = 16
"""Points for each period of the fastest harmonic at which the motion is made, and weighed."""
CHECKED = 16
"""How many times as many it is checked at."""
ROUNDING = 1e-9
"""How far a start at a limit may seem beyond it."""
SLOWER = 5
"""How often the way to the beginning is made twice as slow."""


@dataclass(frozen=True, eq=False)
class Excitation:
    """An exciting motion.

    Attributes:
        series: the motion in one period.
        periods: how often it is made.
        start: where the arm is before, (n,) in [rad] or [m].
        approach: how long it takes from there to where the period begins [s].
        base: the base parameters that it shows.
        drawn: the motion drawn at random that it was made from, within the same limits.
        condition: condition number of their regressor, columns scaled to length 1.
        condition_before: the same of the motion drawn at random.
        gain: how many times shorter the axes of their confidence ellipsoid are than by that one, the geometric mean.
    """

    series: FourierSeries
    periods: int
    start: Array
    approach: float
    base: BaseParameters
    drawn: FourierSeries
    condition: float
    condition_before: float
    gain: float

    @cached_property
    def trajectory(self) -> Trajectory:
        """From rest at the start to the period's beginning, all periods, and rest; quintics between points."""
        count = SAMPLES * ((len(self.series.coefficients) + 1) // 2) * self.periods
        t = np.linspace(0.0, self.periods * self.series.period, count + 1)
        q, qd, qdd = self.series.sample(t)
        qd[[0, -1]] = qdd[[0, -1]] = 0.0  # but for rounding, they are
        if self.approach == 0.0:
            return Trajectory(t, q, qd, qdd)
        rest = np.zeros((1, q.shape[1]))
        times = np.concatenate([[0.0], self.approach + t])
        return Trajectory(times, np.vstack([self.start, q]), np.vstack([rest, qd]), np.vstack([rest, qdd]))


def excite(
    robot: Robot,
    config: ExcitationConfig | None = None,
    *,
    identified: IdentificationConfig | None = None,
    workspace: Workspace | None = None,
    start: ArrayLike | None = None,
    gravity: ArrayLike = STANDARD_GRAVITY,
) -> Excitation:
    """A motion that shows the base parameters as well as the limits allow.

    Args:
        robot: the arm; its URDF's numbers say what its efforts will be.
        config: settings.
        identified: what is to be identified from it.
        workspace: where links stay; anywhere unless given.
        start: where the arm is before (n,); as near to 0 as its limits allow unless given.
        gravity: acceleration of free fall in the root link's frame, (3,) in [m/s²].

    Raises:
        InputError: a joint cannot move, the workspace is wrong, or there is no motion within the limits around the
            middle of the joints' ranges or the start.
    """
    config, wanted = config or ExcitationConfig(), identified or IdentificationConfig()
    dynamics = RNEA(robot, gravity=gravity, viscous=robot.damping, coulomb=robot.friction)
    limits = Limits(dynamics, config, workspace)
    begin = robot.home if start is None else finite_array("start", start, (robot.n,))
    whole = Limits(dynamics, replace(config, position_margin=0.0, velocity_share=1.0, effort_share=1.0), workspace)
    worst, kind = whole.worst(at_rest(begin))
    if worst > 1.0 + ROUNDING:
        raise InputError("start", f"is beyond the limits: {kind} at {100.0 * worst:.0f} % of what is allowed", begin)
    base = base_parameters(
        robot,
        inertial=wanted.inertial,
        armature=wanted.armature,
        viscous=wanted.viscous,
        coulomb=wanted.coulomb or wanted.stribeck,
        gravity=gravity,
    )
    t = np.arange(SAMPLES * config.harmonics) * config.period / (SAMPLES * config.harmonics)
    basis = bases(config.period, config.harmonics, t)
    rng = np.random.default_rng(config.seed)
    near = np.clip(begin, limits.middle - limits.half, limits.middle + limits.half)
    firsts = [within(draw(rng, limits, config), basis, limits, near) for _ in range(config.tries)]
    effort = dynamics.inverse(*motion_of(firsts[0], basis))
    scale = np.maximum(np.sqrt(np.mean(effort**2, axis=0)), 1e-9 * np.abs(effort).max())
    information = Information(dynamics, base, scale)

    def loss(x: Array) -> float:
        return information.loss(*motion_of(x, basis))[0]

    tried = [(first, optimised(first, basis, limits, information)) for first in firsts]
    first, best = min(tried, key=lambda pair: loss(pair[1]))
    fine = np.arange(CHECKED * len(t)) * config.period / (CHECKED * len(t))
    best = within(best, bases(config.period, config.harmonics, fine), limits, near)
    series = FourierSeries(config.period, best)
    return Excitation(
        series=series,
        periods=config.periods,
        start=begin,
        approach=_approach(begin, series, whole),
        base=base,
        drawn=FourierSeries(config.period, first),
        condition=information.condition(*motion_of(best, basis)),
        condition_before=information.condition(*motion_of(first, basis)),
        gain=float(np.exp((loss(first) - loss(best)) / (2.0 * base.rank))),
    )


def _approach(start: Array, series: FourierSeries, limits: Limits) -> float:
    """How long the way to the period's beginning takes [s], no faster than the motion itself; 0 if it is there.

    Args:
        start: where the arm is (n,).
        series: the motion.
        limits: those of the arm itself.

    Raises:
        InputError: the straight way there is not within the limits, however slowly it is gone.
    """
    q, qd, qdd = series.sample(np.linspace(0.0, series.period, 400))
    way, rest = np.vstack([start, q[0]]), np.zeros((2, len(start)))
    if np.abs(way[1] - way[0]).max() < 1e-9:
        return 0.0
    time = float(durations(way, np.abs(qd).max(axis=0), np.abs(qdd).max(axis=0))[0])
    for _ in range(SLOWER):
        path = Trajectory([0.0, time], way, rest, rest)
        samples = [path.sample(t) for t in np.linspace(0.0, time, 100, endpoint=False)]
        worst, kind = limits.worst((*(np.array(part) for part in zip(*samples, strict=True)),))
        if worst <= 1.0 + ROUNDING:
            return time
        time *= 2.0
    raise InputError(
        "start",
        f"the way from {start} to {q[0]}, where the motion begins, goes beyond the limits: {kind} comes to "
        f"{100.0 * worst:.0f} % of what is allowed; give another start",
        start,
    )
