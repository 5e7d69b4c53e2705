# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The forces of stops and friction against their defining conditions, an independent optimiser, and mechanics."""

import ctypes
import itertools

import arms
import numpy as np
import pytest
from scipy.optimize import minimize

import robodyn_ros as rd
from robodyn_ros.simulation.plant.native import IN_PYTHON_PARAMETERS, NEEDED, STEP_IN_PYTHON, _library

RNG = np.random.default_rng(11)


def solve_boxed_lcp(*given):
    """Force, motion and joints that are held; the problem is M, w, and the bounds of the force (``mechanism.c``)."""
    n = len(given[0])
    given = [np.ascontiguousarray(part, dtype=np.float64) for part in given]
    force, motion, held = np.zeros(n), np.zeros(n), np.zeros(n, dtype=np.intc)
    solve = _library(n, IN_PYTHON_PARAMETERS, None, STEP_IN_PYTHON, NEEDED).boxed_lcp
    failed = solve(*(ctypes.c_void_p(part.ctypes.data) for part in (*given, force, motion, held)))
    return None if failed else (force, motion, held != 0)


def random_problem(n):
    root = RNG.normal(size=(n, n))
    M = root @ root.T + 0.05 * np.eye(n)
    kinds = RNG.integers(0, 5, n)
    friction = RNG.uniform(0.1, 2.0, n) * (kinds >= 3)
    lower = np.where(kinds == 1, -np.inf, -friction)
    upper = np.where((kinds == 2) | (kinds == 4), np.inf, friction)
    return M, 3.0 * RNG.normal(size=n), lower, upper


@pytest.mark.parametrize("n", [1, 3, 7])
def test_conditions(n):
    for _ in range(200):
        M, w, lower, upper = random_problem(n)
        force, motion, held = solve_boxed_lcp(M, w, lower, upper)
        np.testing.assert_allclose(M @ (motion - w), force, rtol=1e-9, atol=1e-9 * (1 + np.abs(M @ w).max()))
        assert (force >= lower - 1e-9).all() and (force <= upper + 1e-9).all()
        np.testing.assert_array_equal(motion[held], 0.0)
        for i in np.flatnonzero(~held):
            if lower[i] == upper[i]:
                assert force[i] == 0.0
            elif force[i] == lower[i]:
                assert motion[i] >= -1e-8
            else:
                assert force[i] == upper[i]
                assert motion[i] <= 1e-8


def test_agrees_with_an_optimiser():
    """The force is the dual of: r minimises 1/2 rᵀ M⁻¹ r + wᵀ r within the bounds."""
    for _ in range(30):
        M, w, lower, upper = random_problem(4)
        inverse = np.linalg.inv(M)
        best = minimize(
            lambda r, i=inverse, w=w: 0.5 * r @ i @ r + w @ r,
            np.zeros(4),
            jac=lambda r, i=inverse, w=w: i @ r + w,
            bounds=list(zip(lower, upper, strict=True)),
            method="L-BFGS-B",
            options={"ftol": 1e-15, "gtol": 1e-11, "maxiter": 5000},
        )
        np.testing.assert_allclose(solve_boxed_lcp(M, w, lower, upper)[0], best.x, rtol=1e-4, atol=1e-4)


def test_impulse_takes_kinetic_energy_and_nothing_else():
    """Momentum of the joints that hit nothing, M q̇, is kept; energy falls by exactly that of the lost velocity."""
    dynamics = rd.create_dynamics("rnea", rd.load_robot(arms.lesson_arm()))
    for q, qd in itertools.product(RNG.uniform(-2, 2, (5, 2)), RNG.uniform(-3, 3, (5, 2))):
        M = dynamics.mass_matrix(q)
        impulse, after, held = solve_boxed_lcp(
            M, qd, np.zeros(2), np.array([0.0, np.inf])
        )  # the elbow at its lower stop
        assert (M @ after)[0] == pytest.approx((M @ qd)[0], rel=1e-12)
        if qd[1] < 0:
            assert held[1] and after[1] == 0.0
            assert impulse[1] == pytest.approx(-qd[1] * np.linalg.det(M) / M[0, 0], rel=1e-12)
            lost = 0.5 * (qd - after) @ M @ (qd - after)
            assert 0.5 * qd @ M @ qd - 0.5 * after @ M @ after == pytest.approx(lost, rel=1e-10)
        else:
            np.testing.assert_array_equal(after, qd)


def test_a_matrix_that_is_no_mass_matrix():
    assert solve_boxed_lcp([[1.0, -2.0], [-2.0, 1.0]], [1.0, -1.0], np.zeros(2), np.full(2, np.inf)) is None
