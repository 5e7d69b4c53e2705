# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""What a call takes, gives and refuses."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import robodyn_ros as rd
from robodyn_ros.kinematics import Kinematics

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


@pytest.mark.parametrize("method", CALLS)
def test_other_arrays_of_the_same_numbers(dynamics: rd.Dynamics, method: str) -> None:
    call, values = getattr(dynamics, method), CALLS[method]
    expected = call(*values)
    strided = [np.repeat(v, 2)[::2] for v in values]
    assert not strided[0].flags.c_contiguous
    fortran = [np.asfortranarray(np.tile(v, (4, 1))) for v in values]
    read_only = [v.copy() for v in values]
    for array in read_only:
        array.flags.writeable = False
    for same in (strided, [list(v) for v in values], [tuple(v) for v in values], read_only):
        for a, b in zip(np.atleast_1d(call(*same)), np.atleast_1d(expected), strict=True):
            assert_array_equal(a, b)
    for a, b in zip(call(*fortran), expected, strict=True) if method == "energy" else [(call(*fortran), expected)]:
        assert_allclose(a, np.broadcast_to(b, (4, *np.shape(b))), rtol=1e-13, atol=1e-13)


def test_integers_and_single_precision(dynamics: rd.Dynamics) -> None:
    assert_array_equal(dynamics.gravity([1, 2, 3]), dynamics.gravity([1.0, 2.0, 3.0]))
    assert_array_equal(dynamics.gravity(Q.astype(np.float32)), dynamics.gravity(Q.astype(np.float32).astype(float)))


def test_results_are_the_callers_own(dynamics: rd.Dynamics) -> None:
    first = dynamics.gravity(Q)
    kept = first.copy()
    dynamics.gravity(-Q)
    assert_array_equal(first, kept)
    first[:] = 7.0
    assert_array_equal(dynamics.gravity(Q), kept)


@pytest.mark.parametrize("method", CALLS)
@pytest.mark.parametrize(
    "bad",
    [np.zeros(2), np.zeros(4), np.zeros((3, 1)), np.zeros((2, 2, 3)), np.zeros(0), 1.0, "abc", None, [1, [2, 3]],
     np.zeros(3, dtype=complex), np.array([Path()] * 3), np.array([True, False, True])],
    ids=repr,
)  # fmt: skip
def test_wrong_arrays_are_refused(dynamics: rd.Dynamics, method: str, bad: object) -> None:
    values = CALLS[method]
    for position, name in enumerate(("q", "qd", "tau" if method == "forward" else "qdd")[: len(values)]):
        with pytest.raises(rd.InputError, match=rf"^{name}: must be") as caught:
            getattr(dynamics, method)(*values[:position], bad, *values[position + 1 :])
        assert isinstance(caught.value, ValueError)


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


@pytest.mark.parametrize("gravity", [(0, 0), (0, 0, np.nan), "down", (0, 0, -9.81, 0), None])
def test_gravity_must_be_a_finite_vector(gravity: object) -> None:
    with pytest.raises(rd.InputError, match=r"gravity: must be 3 finite numbers"):
        rd.create_dynamics("rnea", rd.load_robot(PRR), gravity=gravity)


def test_unknown_links_are_named() -> None:
    kinematics = Kinematics(rd.load_robot(PRR))
    with pytest.raises(rd.InputError, match=r"'elbow' is not in the robot; it has .*tool"):
        kinematics.pose("elbow", Q)
