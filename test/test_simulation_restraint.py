# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The forces of stops and friction against their defining conditions, an independent optimiser, and mechanics."""

import ctypes
import functools

import arms
import numpy as np
import pytest

import robodyn_ros as rd
from robodyn_ros.simulation import Plant

RNG = np.random.default_rng(11)


@functools.cache
def library(n):
    """That of the plant of an arm of n joints."""
    return Plant(rd.create_dynamics("rnea", rd.load_robot(arms.random_robot(0, n)), compiled=False)).library


def solve_boxed_lcp(*given):
    """Force, motion and joints that are held; the problem is M, w, and the bounds of the force (``mechanism.c``)."""
    n = len(given[0])
    given = [np.ascontiguousarray(part, dtype=np.float64) for part in given]
    force, motion, held = np.zeros(n), np.zeros(n), np.zeros(n, dtype=np.intc)
    failed = library(n).boxed_lcp(*(ctypes.c_void_p(part.ctypes.data) for part in (*given, force, motion, held)))
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
        if not force.any():
            np.testing.assert_array_equal(motion, w)
        for i in np.flatnonzero(~held):
            if lower[i] == upper[i]:
                assert force[i] == 0.0
            elif force[i] == lower[i]:
                assert motion[i] >= -1e-8
            else:
                assert force[i] == upper[i]
                assert motion[i] <= 1e-8


def test_a_matrix_that_is_no_mass_matrix():
    assert solve_boxed_lcp([[1.0, -2.0], [-2.0, 1.0]], [1.0, -1.0], np.zeros(2), np.full(2, np.inf)) is None
