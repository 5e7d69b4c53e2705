"""How much later than recorded the efforts act.

A command takes time to reach its drive and is then held for a period; what a drive reports as measured is older than it
says. Both shift effort against motion, and inertia then passes for friction. The shift is the one with which the arm's
equations, whatever its numbers are, explain the efforts best: with W the regressor of all parameters and P what is left
of a vector when all that W explains is taken away, it minimises |P τ(t - d)|², by Gauss and Newton's method.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from robodyn_ros.dynamics.compiled import CompiledDynamics
from robodyn_ros.identification.signals_samples import Piece
from robodyn_ros.robot.pose import Array

ROWS = 3000
"""Samples of the motion at most; more do not make the estimate better by much."""

ITERATIONS = 20

NEGLIGIBLE = 1e-2
"""Share of the standard error below which a step of the iteration is of no account."""

SMALL = 1e-12
"""Power over the greatest below which a direction of the parameters is not in the motion."""


def find_delay(
    dynamics: CompiledDynamics, pieces: Sequence[Piece], weights: Sequence[Array], speed: Array, start: float
) -> tuple[float, float]:
    """The delay [s] and its standard error [s].

    Args:
        dynamics: of the arm; its numbers do not matter.
        pieces: of one recording.
        weights: of the rows of each piece (k,).
        speed: of each joint up to which friction hides its effort (n,) in [rad/s] or [m/s].
        start: where to begin [s].
    """
    every = max(1, sum(len(piece.rows) for piece in pieces) // ROWS)
    chosen = [np.flatnonzero(weight > 0.0)[::every] for weight in weights]
    columns = np.concatenate(
        [piece.regressor(dynamics)[rows] for piece, rows in zip(pieces, chosen, strict=True)]
    )  # (N, n, p)
    used = np.concatenate([piece.moving(speed)[rows] for piece, rows in zip(pieces, chosen, strict=True)])

    def efforts(delay: float) -> Array:
        """Efforts and how fast they change, (N, n, 2)."""
        found = []
        for piece, rows in zip(pieces, chosen, strict=True):
            acting = piece.stretch.acting(delay, piece.cutoff)
            found.append(np.stack([values[piece.rows[rows]] for values in acting], axis=-1))
        return np.concatenate(found)

    scale = np.ones(dynamics.robot.n)
    delay, error = start, np.inf
    for _ in range(2):  # the second time with each joint's noise known from the first
        weight = used * scale  # (N, n)
        unexplained = _unexplained(columns, weight)
        for _ in range(ITERATIONS):
            flat = (efforts(delay) * weight[:, :, None]).reshape(-1, 2)
            rest, change = unexplained(flat).T
            steepness = float(change @ change)
            if steepness == 0.0:
                return start, np.inf
            error = float(np.sqrt(rest @ rest / np.count_nonzero(used) / steepness))
            step = float(change @ rest) / steepness
            delay += step
            if abs(step) < NEGLIGIBLE * error:
                break
        noise = np.sqrt(np.sum((rest.reshape(used.shape) / scale) ** 2, axis=0) / np.maximum(1, used.sum(axis=0)))
        scale = 1.0 / np.maximum(noise, np.finfo(float).tiny)
    return delay, error


def _unexplained(columns: Array, weight: Array) -> Callable[[Array], Array]:
    """What takes away from efforts (N n, k) all that parameters can explain, each effort times its weight (N, n)."""
    rows = (columns * weight[:, :, None]).reshape(-1, columns.shape[-1])
    length = np.linalg.norm(rows, axis=0)
    rows = rows[:, length > 0.0] / length[length > 0.0]
    power, directions = np.linalg.eigh(rows.T @ rows)
    shown = power > SMALL * power[-1]
    inverse = (directions[:, shown] / power[shown]) @ directions[:, shown].T

    def unexplained(efforts: Array) -> Array:
        left: Array = efforts - rows @ (inverse @ (rows.T @ efforts))
        return left

    return unexplained
