"""A quadratic program with bounds: min ½ xᵀ H x + gᵀ x, lower ≤ x ≤ upper, by projected Newton steps.

H is small and positive definite. The same in C stands in :mod:`.ddp_code`.

Source: Tassa, Mansard, Todorov, Control-Limited Differential Dynamic Programming, ICRA 2014, algorithm 1; after
Bertsekas, Projected Newton Methods for Optimization Problems with Simple Constraints (1982).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.robot.pose import Array

ITERATIONS = 100
"""More than ever needed: the set of bounds that are reached is found after a few steps, and then one is exact."""

TOLERANCE = 1e-11
"""The gradient of what is free, as a share of the greatest element of g."""

ARMIJO, SHRINK, SHORTEST = 0.1, 0.6, 1e-22


class BoxQP(NamedTuple):
    """The solution."""

    x: Array  # (n,)
    free: NDArray[np.bool_]  # which of them are not held by a bound, (n,)
    solved: bool  # False: H is not positive definite on what is free


def box_qp(H: Array, g: Array, lower: Array, upper: Array, start: Array) -> BoxQP:
    """Solve it.

    Args:
        H: symmetric, (n, n).
        g: (n,).
        lower: (n,), -inf where there is none.
        upper: (n,), not below ``lower``; inf where there is none.
        start: a guess, (n,).
    """
    x: Array = np.minimum(np.maximum(start, lower), upper)
    value = x @ g + x @ H @ x / 2
    enough = TOLERANCE * (np.abs(g).max() + np.finfo(float).tiny)
    free = np.ones(len(x), dtype=bool)
    for _ in range(ITERATIONS):
        gradient = g + H @ x
        free = ~((lower >= upper) | ((x <= lower) & (gradient > 0.0)) | ((x >= upper) & (gradient < 0.0)))
        if not free.any():
            return BoxQP(x, free, True)
        try:
            factor = np.linalg.cholesky(H[np.ix_(free, free)])
        except np.linalg.LinAlgError:
            return BoxQP(x, free, False)
        if np.abs(gradient[free]).max() <= enough:
            break
        step = np.zeros(len(x))
        step[free] = -np.linalg.solve(factor.T, np.linalg.solve(factor, gradient[free]))
        slope, length = step @ gradient, 1.0
        while True:
            tried = np.minimum(np.maximum(x + length * step, lower), upper)
            reached = tried @ g + tried @ H @ tried / 2
            if reached - value <= ARMIJO * length * slope:
                break
            length *= SHRINK
            if length < SHORTEST:  # nothing left to gain but rounding
                return BoxQP(x, free, True)
        x, value = tried, reached
    return BoxQP(x, free, True)
