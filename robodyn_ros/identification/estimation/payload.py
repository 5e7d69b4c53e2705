# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Identification of a payload, for an arm whose own parameters are known.

:func:`estimate_payload` takes samples of any motion. :func:`estimate_online` takes the states and commands of a short
motion: it smooths and differentiates positions without phase lag, smooths the efforts in the
same way, and estimates payload and friction alternately, each with the other fixed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.signal import savgol_filter

from robodyn_ros.checks import non_negative
from robodyn_ros.dynamics.compiled import CompiledDynamics
from robodyn_ros.dynamics.parameters import Payload, moved, to_inertial, to_parameters, to_pseudo
from robodyn_ros.errors import InputError
from robodyn_ros.identification.estimation.identify import NOT_EXCITED
from robodyn_ros.identification.estimation.physical import fit_physical
from robodyn_ros.identification.estimation.regression import Regression, estimate
from robodyn_ros.identification.estimation.regression_model import IDENTIFIED_GAIN, arm_length
from robodyn_ros.identification.estimation.result import root_mean_square
from robodyn_ros.identification.samples import Samples
from robodyn_ros.identification.settings import IdentificationSettings
from robodyn_ros.robot.pose import Array

SIZE = 0.25
"""Radius of the prior ball over the length of the arm, about the expected distance of a payload's mass from the link's
origin: 0.1 m for a Panda."""

DENSITY = 1000.0
"""Density of the prior ball [kg/m³]."""

WINDOW = 0.1
"""Time over which a cubic smooths a signal [s]."""

ROUNDS = 6
"""Number of rounds in which payload and friction are estimated alternately."""

STANDSTILL = 0.05
"""Ratio of a joint's greatest speed below which its friction is not determined [-]."""

MIN_STATES = 100
"""Least number of states of an estimate."""

MIN_TIME = 2.0 * WINDOW
"""Least time of these states [s]."""


@dataclass(frozen=True, eq=False)
class PayloadEstimate:
    """A payload and its uncertainty.

    Attributes:
        payload: the physically possible payload that fits best.
        mass_error: standard error of the mass [kg].
        com_error: standard errors of the centre of mass, (3,) in [m].
        identified: which of the ten standard parameters about the link's origin (mass, first moment, inertia in the
            order xx, xy, yy, xz, yz, zz) the motion determines; the others are guesses of about the right size.
        reason: reason why some are not identified; empty if all are.
        rms: root mean square of the unexplained effort (n,) in [N·m] or [N].
        rms_without: the same without a payload.
    """

    payload: Payload
    mass_error: float
    com_error: Array
    identified: tuple[bool, ...]
    reason: str
    rms: Array
    rms_without: Array


def estimate_payload(
    dynamics: CompiledDynamics,
    link: str,
    samples: Samples,
    *,
    viscous: ArrayLike | None = None,
    coulomb: ArrayLike | None = None,
    settings: IdentificationSettings | None = None,
) -> PayloadEstimate:
    """Estimate the payload that explains the efforts, given the arm.

    Args:
        dynamics: the arm without payload; its parameters give gravity, inertial parameters and armature.
        link: the link that holds the payload.
        samples: a motion with the payload; poses in which gravity pulls in different directions are enough for mass and
            centre of mass.
        viscous: friction (n,) in [N·m·s/rad] or [N·s/m]; unless given, that of the dynamics' parameters, or of the URDF
            if these are 0 for all joints.
        coulomb: likewise in [N·m] or [N].
        settings: ``robust``, ``huber``, ``standstill`` and ``prior`` are used.

    Raises:
        InputError: the link does not exist or cannot move, or the samples are of another arm or too few.
    """
    settings, robot, given = settings or IdentificationSettings(), dynamics.robot, dynamics.parameters
    where = robot.link(link)
    if where.body < 0:
        raise InputError("link", f"{link!r} is fixed to the base: its payload has no effect on the efforts", link)
    if samples.n != robot.n:
        raise InputError("samples", f"are of {samples.n} joints; {robot.name!r} has {robot.n}", samples.q.shape)

    def known(name: str, own: ArrayLike | None, urdf: Array) -> Array:
        parameter: Array = getattr(given, name)
        return non_negative(name, own, robot.n) if own is not None else parameter if parameter.any() else urdf

    friction = [known("viscous", viscous, robot.damping), known("coulomb", coulomb, robot.friction)]
    Y = samples.regressor(dynamics)
    rest = samples.effort - Y @ np.concatenate([given.inertial, given.armature, *friction])
    # P_body = T P_link Tᵀ is linear, so a matrix takes the ten parameters from the link's frame to the body's.
    units = [to_parameters(moved(to_pseudo(unit), where.pose)) for unit in np.eye(10)]
    columns = Y[:, :, 10 * where.body : 10 * where.body + 10] @ np.array(units).T
    moving = samples.moving(settings.standstill * np.abs(samples.qd).max(axis=0))
    used = (samples.weights > 0.0)[:, None] & (moving | (friction[1] == 0.0))
    found = estimate(Regression(columns, rest, samples.weights[:, None] * used), np.zeros(10), settings)
    fit = fit_physical(found.factor, np.eye(10), found.rhs, _prior_ball(SIZE * arm_length(robot)), 1, settings.prior)

    inertial = to_inertial(fit.x)
    slope = np.column_stack([-inertial.com, np.eye(3)]) / inertial.mass  # of the centre of mass, by m and m c
    # Physical possibility also bounds parameters that the data do not determine; that is not a measurement.
    shown = tuple(((fit.gain >= IDENTIFIED_GAIN) & np.isfinite(found.errors)).tolist())
    return PayloadEstimate(
        payload=Payload(link, inertial.mass, inertial.com, inertial.inertia),
        mass_error=float(np.sqrt(fit.covariance[0, 0])),
        com_error=np.sqrt(np.diag(slope @ fit.covariance[:4, :4] @ slope.T)),
        identified=shown,
        reason="" if all(shown) else NOT_EXCITED,
        rms=root_mean_square(rest - columns @ fit.x, used),
        rms_without=root_mean_square(rest, used),
    )


def _prior_ball(radius: float) -> Array:
    """Standard parameters of a ball around the link's origin with this radius [m], (10,): the prior of a payload."""
    mass = DENSITY * 4.0 / 3.0 * np.pi * radius**3
    inertia = 0.4 * mass * radius**2
    return np.array([mass, 0.0, 0.0, 0.0, inertia, 0.0, inertia, 0.0, 0.0, inertia])


def estimate_online(
    dynamics: CompiledDynamics, link: str, t: Array, q: Array, effort: Array, usable: Array
) -> PayloadEstimate:
    """Estimate the payload from the states and commands of a short motion.

    Args:
        dynamics: the arm without payload.
        link: the link that holds the payload.
        t: times of the states, (N,) in [s], rising.
        q: positions (N, n) in [rad] or [m].
        effort: effort commanded for each state, (N, n) in [N·m] or [N].
        usable: True where the drives gave the whole effort, (N,).

    Raises:
        InputError: there are too few states, they take too little time, or as for :func:`estimate_payload`.
    """
    if len(t) < MIN_STATES:
        raise InputError("t", f"has {len(t)} states; the estimate of a payload needs at least {MIN_STATES}", t)
    if t[-1] - t[0] < MIN_TIME:
        raise InputError("t", f"takes {t[-1] - t[0]:.3g} s; the estimate of a payload needs at least {MIN_TIME:g} s", t)
    samples = _samples(t, q, effort, usable)
    moving = np.abs(samples.qd) > STANDSTILL * np.abs(samples.qd).max(axis=0)
    friction = np.zeros((2, dynamics.robot.n))
    for _ in range(ROUNDS):
        # ``estimate_payload`` uses states at rest if Coulomb friction is 0; the least positive number leaves them out.
        viscous, coulomb = np.maximum(friction, np.finfo(float).tiny)
        found = estimate_payload(dynamics, link, samples, viscous=viscous, coulomb=coulomb)
        friction = _friction(dynamics, found, samples, moving)
    return found


def _samples(t: Array, q: Array, effort: Array, usable: Array) -> Samples:
    """Samples at even times, smoothed, without the ends, where the smoothing window is incomplete."""
    step = float(np.median(np.diff(t)))
    even = np.arange(t[0], t[-1], step)
    half = max(2, round(WINDOW / step / 2.0))
    chosen = slice(half, -half, half // 2)  # neighbours hold nearly the same information

    def smooth(values: Array, order: int) -> Array:
        resampled = np.column_stack([np.interp(even, t, column) for column in values.T])
        smoothed: Array = savgol_filter(resampled, 2 * half + 1, 3, deriv=order, delta=step, axis=0)
        return smoothed[chosen]

    unusable = np.convolve(np.interp(even, t, usable.astype(float)) < 1.0, np.ones(2 * half + 1), "same") > 0.5
    weight = np.where(unusable, 0.0, 1.0)[chosen]
    return Samples(even[chosen], smooth(q, 0), smooth(q, 1), smooth(q, 2), smooth(effort, 0), weight)


def _friction(dynamics: CompiledDynamics, found: PayloadEstimate, samples: Samples, moving: Array) -> Array:
    """Viscous and Coulomb friction (2, n), not below 0, that fit the residual of a payload best."""
    dynamics.configure(payload=found.payload)
    rest = samples.effort - dynamics.inverse(samples.q, samples.qd, samples.qdd)
    dynamics.configure(payload=None)
    friction = np.zeros((2, samples.n))
    for joint in range(samples.n):
        rows = np.logical_and(moving[:, joint], samples.weights > 0.0)
        qd = samples.qd[rows, joint]
        columns = np.column_stack([qd, np.sign(qd), np.ones(len(qd))])
        if len(qd) > 3:
            friction[:, joint] = np.linalg.lstsq(columns, rest[rows, joint], rcond=None)[0][:2]
    return np.maximum(friction, 0.0)
