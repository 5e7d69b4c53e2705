"""The search for an exciting motion, over the coefficients x (2 L - 1, n) of its Fourier series.

What is beyond the limits costs, more from round to round (the penalty method; Nocedal and Wright, Numerical
Optimization, 2006, ch. 17), by L-BFGS with exact derivatives; what little then remains is taken away by making the
motion smaller.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize

from robodyn_ros.errors import InputError
from robodyn_ros.identification.excitation_limits import Limits, Motion
from robodyn_ros.identification.excitation_settings import ExcitationConfig
from robodyn_ros.identification.fourier import bases
from robodyn_ros.identification.information import Information
from robodyn_ros.robot.pose import Array

PENALTIES = (1e1, 1e3, 1e5)
"""Weights of what is beyond the limits, round by round."""
ITERATIONS = 200
"""Of a round at most."""
SMALLER, QUICKLY = 0.99, 0.7
"""By which factor a motion beyond its limits is made smaller until it is within; once it is half of what it was."""
LEAST = 1e-3
"""Share of a motion below which there is none."""


def motion_of(x: Array, basis: Motion) -> Motion:
    """Positions, velocities and accelerations, each (N, n)."""
    q, qd, qdd = (part @ x for part in basis)
    return q, qd, qdd


def at_rest(q: Array) -> Motion:
    """A pose (n,) as a motion."""
    return q[None], np.zeros((1, len(q))), np.zeros((1, len(q)))


def draw(rng: np.random.Generator, limits: Limits, config: ExcitationConfig) -> Array:
    """Coefficients drawn at random, the way of each joint a quarter of its range to either side at most."""
    n = len(limits.middle)
    x = rng.normal(size=(2 * config.harmonics - 1, n))
    way = np.abs(bases(config.period, config.harmonics, np.linspace(0.0, config.period, 200))[0][:, 1:] @ x[1:])
    x[1:] *= 0.5 * limits.half / way.max(axis=0)
    x[0] = limits.middle + 0.3 * limits.half * rng.uniform(-1.0, 1.0, n)
    return x


def within(x: Array, basis: Motion, limits: Limits, start: Array) -> Array:
    """The motion made smaller until it is within limits: around its own middle, that of the ranges, or a start (n,).

    Raises:
        InputError: there is no motion around any of them.
    """
    for middle in (x[0], limits.middle, start):
        y, size = np.vstack([middle, x[1:]]), 1.0
        while size > LEAST:
            y[1:] = size * x[1:]
            if limits.worst(motion_of(y, basis))[0] <= 1.0:
                return y
            size *= SMALLER if size > 0.5 else QUICKLY
    worst, kind = limits.worst(at_rest(start))
    raise InputError(
        "limits",
        "leave no room to move, neither around the middle of the joints' ranges nor around the start; there, at "
        f"{start}, {kind} is at {100.0 * worst:.0f} % of what is allowed",
        start,
    )


def optimised(first: Array, basis: Motion, limits: Limits, information: Information) -> Array:
    """The motion of least loss that keeps, almost, within limits."""
    unit = np.vstack([limits.half, np.tile(np.abs(first[1:]).mean(axis=0), (len(first) - 1, 1))])

    def cost(flat: Array, weight: float) -> tuple[float, Array]:
        motion = motion_of(flat.reshape(unit.shape) * unit, basis)
        loss, slopes = information.loss(*motion)
        if not np.isfinite(loss):
            return 1e30, np.zeros_like(flat)
        beyond, more = limits.penalty(*motion)
        total = [a / information.rank + weight * b for a, b in zip(slopes, more, strict=True)]
        gradient = np.sum([part.T @ slope for part, slope in zip(basis, total, strict=True)], axis=0) * unit
        return loss / information.rank + weight * beyond, gradient.ravel()

    x = (first / unit).ravel()
    for weight in PENALTIES:
        x = minimize(cost, x, (weight,), jac=True, method="L-BFGS-B", options={"maxiter": ITERATIONS}).x
    found: Array = x.reshape(unit.shape) * unit
    return found
