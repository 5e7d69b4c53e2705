"""What the arm holds, where the arm itself is known."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robodyn_ros.control.checks import non_negative
from robodyn_ros.dynamics.compiled import CompiledDynamics
from robodyn_ros.dynamics.parameters import Payload
from robodyn_ros.dynamics.pseudo_inertia import moved, to_parameters, to_pseudo
from robodyn_ros.errors import InputError
from robodyn_ros.identification.explanation import POOR, SHOWN
from robodyn_ros.identification.physical import fit_physical
from robodyn_ros.identification.pseudo_inertia import to_inertial
from robodyn_ros.identification.regression import Regression, estimate
from robodyn_ros.identification.samples import Samples
from robodyn_ros.identification.settings import IdentificationConfig
from robodyn_ros.robot.pose import Array

SIZE = 0.1
"""Distance of a payload's mass from the link's origin that is expected, about [m]."""
DENSITY = 1000.0
"""Density of the ball of that size whose numbers are those that nothing is known against [kg/m³]."""


@dataclass(frozen=True, eq=False)
class PayloadEstimate:
    """A payload, and how sure it is.

    Attributes:
        payload: what fits best, and can exist.
        mass_error: standard error of the mass [kg].
        com_error: standard errors of the centre of mass, (3,) in [m].
        identified: of the ten standard parameters about the link's origin (mass, first moment, inertia in the order
            xx, xy, yy, xz, yz, zz), which the motion shows; the others are guesses of about the right size.
        reason: why not all of them; empty if they are.
        rms: what the estimate leaves unexplained (n,) in [N·m] or [N].
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
    config: IdentificationConfig | None = None,
) -> PayloadEstimate:
    """The payload that explains the efforts, given the arm.

    Args:
        dynamics: the arm without payload; gravity, inertial parameters and armature are taken from its parameters.
        link: the link that holds the payload.
        samples: a motion with it; poses in which gravity pulls in different directions are enough for mass and centre
            of mass.
        viscous: friction (n,) in [N·m·s/rad] or [N·s/m]; that of the parameters, or of the URDF where they have none,
            unless given.
        coulomb: likewise in [N·m] or [N].
        config: settings; ``robust``, ``huber`` and ``standstill`` are used.

    Raises:
        InputError: no such link, a link that cannot move, samples of another arm, or too few.
    """
    config, robot, given = config or IdentificationConfig(), dynamics.robot, dynamics.parameters
    where = robot.link(link)
    if where.body < 0:
        raise InputError("link", f"{link!r} is fixed to the base: what it holds cannot be felt", link)
    if samples.n != robot.n:
        raise InputError("samples", f"are of {samples.n} joints; {robot.name!r} has {robot.n}", samples.q.shape)
    friction = [
        non_negative(name, own, robot.n) if own is not None else known if known.any() else urdf
        for name, own, known, urdf in (
            ("viscous", viscous, given.viscous, robot.damping),
            ("coulomb", coulomb, given.coulomb, robot.friction),
        )
    ]
    Y = samples.regressor(dynamics)
    rest = samples.effort - Y @ np.concatenate([given.inertial, given.armature, *friction])
    # P_body = T P_link Tᵀ is linear: how the ten parameters in the link's frame read in the body's.
    units = [to_parameters(moved(to_pseudo(unit), where.pose.rotation, where.pose.translation)) for unit in np.eye(10)]
    columns = Y[:, :, 10 * where.body : 10 * where.body + 10] @ np.array(units).T
    moving = samples.moving(config.standstill * np.abs(samples.qd).max(axis=0))
    used = (samples.weights > 0.0)[:, None] & (moving | (friction[1] == 0.0))
    problem = Regression(columns, rest, samples.weights[:, None] * used)
    found = estimate(problem, np.zeros(10), config)
    fit = fit_physical(found.triangle, np.eye(10), found.right, _ball(), 1, config.prior)

    inertial = to_inertial(fit.x)
    spread = np.column_stack([-inertial.com, np.eye(3)]) / inertial.mass  # of the centre of mass, by m and m c
    # Where the data say nothing, that a body must be possible says something; it is no measurement.
    shown = tuple(bool(gain >= SHOWN and np.isfinite(e)) for gain, e in zip(fit.gain, found.errors, strict=True))
    payload = Payload(link, inertial.mass, inertial.com, inertial.inertia)
    return PayloadEstimate(
        payload=payload,
        mass_error=float(np.sqrt(fit.covariance[0, 0])),
        com_error=np.sqrt(np.diag(spread @ fit.covariance[:4, :4] @ spread.T)),
        identified=shown,
        reason="" if all(shown) else POOR,
        rms=_root_mean_square(rest - columns @ fit.x, used),
        rms_without=_root_mean_square(rest, used),
    )


def _ball() -> Array:
    """A ball around the link's origin, (10,)."""
    mass = DENSITY * 4.0 / 3.0 * np.pi * SIZE**3
    inertia = 0.4 * mass * SIZE**2
    return np.array([mass, 0.0, 0.0, 0.0, inertia, 0.0, inertia, 0.0, 0.0, inertia])


def _root_mean_square(values: Array, used: NDArray[np.bool_]) -> Array:
    with np.errstate(invalid="ignore", divide="ignore"):
        found: Array = np.sqrt(np.sum(values**2 * used, axis=0) / np.sum(used, axis=0))
    return found
