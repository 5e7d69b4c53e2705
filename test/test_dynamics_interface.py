# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""What a call gives and refuses; test_fuzz_dynamics.py has what it takes."""

from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import robodyn_ros as rd

PRR = Path(__file__).parent.parent / "urdf" / "prr.urdf"
Q, QD, QDD = np.array([0.8, 0.6, -0.4]), np.array([0.3, -1.2, 2.0]), np.array([0.5, 1.5, -2.5])
CALLS = {
    "inverse": (Q, QD, QDD),
    "forward": (Q, QD, QDD),
    "mass_matrix": (Q,),
    "coriolis_matrix": (Q, QD),
    "gravity": (Q,),
    "energy": (Q, QD),
}


@pytest.fixture(scope="module", params=[(n, c) for n in rd.available("dynamics") for c in (True, False)], ids=str)
def dynamics(request: pytest.FixtureRequest) -> rd.Dynamics:
    name, compiled = request.param
    return rd.create_dynamics(name, rd.load_robot(PRR), compiled=compiled)


@pytest.mark.parametrize("method", CALLS)
def test_a_batch_is_its_rows(dynamics: rd.Dynamics, method: str) -> None:
    rng = np.random.default_rng(6)
    rows = rng.uniform(-2, 2, (len(CALLS[method]), 7, 3))
    call = getattr(dynamics, method)
    batch = call(*rows)
    for k in range(7):
        one = call(*rows[:, k])
        for whole, part in zip(*((batch, one) if method == "energy" else ([batch], [one])), strict=True):
            assert whole.shape == (7, *np.shape(part))
            # Many states at once take their sines from the vector library, which may differ in the last bit.
            assert_allclose(whole[k], part, rtol=1e-13, atol=1e-13)


def test_results_are_the_callers_own(dynamics: rd.Dynamics) -> None:
    first = dynamics.gravity(Q)
    kept = first.copy()
    dynamics.gravity(-Q)
    assert_array_equal(first, kept)
    first[:] = 7.0
    assert_array_equal(dynamics.gravity(Q), kept)


@pytest.mark.parametrize("method", CALLS)
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_non_finite_values_are_refused(dynamics: rd.Dynamics, method: str, bad: float) -> None:
    values = CALLS[method]
    for position, name in enumerate(("q", "qd", "tau" if method == "forward" else "qdd")[: len(values)]):
        for joint in range(3):
            array = values[position].copy()
            array[joint] = bad
            for many in (False, True):
                given = [*values[:position], array, *values[position + 1 :]]
                with pytest.raises(rd.InputError, match=rf"^{name}: must be finite"):
                    getattr(dynamics, method)(*([np.stack([v, v]) for v in given] if many else given))


def test_huge_numbers_are_not_mistaken_for_infinite_ones(dynamics: rd.Dynamics) -> None:
    huge = np.full(3, 1.7e308)
    assert dynamics.inverse(Q, 0 * Q, huge).shape == (3,)


def test_shapes_must_agree(dynamics: rd.Dynamics) -> None:
    with pytest.raises(rd.InputError, match="all be one state"):
        dynamics.inverse(np.zeros((4, 3)), np.zeros((5, 3)), np.zeros((4, 3)))
    with pytest.raises(rd.InputError, match="all be one state"):
        dynamics.inverse(np.zeros((4, 3)), np.zeros(3), np.zeros((4, 3)))
    assert dynamics.inverse(*np.zeros((3, 0, 3))).shape == (0, 3)
