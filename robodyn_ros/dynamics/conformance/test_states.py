# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Clauses about what a call takes and gives: one state or many, whoever's memory it is in."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from robodyn_ros.dynamics.conformance.subject import EXACT, INPUTS, Subject, raised, same
from robodyn_ros.errors import InputError

METHODS = pytest.mark.parametrize("method", INPUTS)

SHAPES: dict[str, tuple[str, ...]] = {"mass_matrix": ("nn",), "coriolis_matrix": ("nn",), "energy": ("", "")}
"""Axes of the results; (n,) where nothing else is said."""


@METHODS
def test_one_state_gives_one_result(subject: Subject, method: str) -> None:
    """Arrays (n,) in; (n,), (n, n) or scalars out, of float64."""
    for found, axes in zip(subject.call(method, *subject.state()), SHAPES.get(method, ("n",)), strict=True):
        expected = (subject.n,) * len(axes)
        assert np.shape(found) == expected, f"{method}: one state must give shape {expected}, not {np.shape(found)}"
        assert np.asarray(found).dtype == np.float64, f"{method}: must give float64, not {np.asarray(found).dtype}"


@METHODS
@pytest.mark.parametrize("count", [0, 1, 2, 9])
def test_many_states_give_as_many_results(subject: Subject, method: str, count: int) -> None:
    """Arrays (N, n) in; (N, n), (N, n, n) or (N,) out, N = 0 and N = 1 included; row by row the result of one state."""
    values = subject.states(count)
    found = subject.call(method, *values)
    for whole, axes in zip(found, SHAPES.get(method, ("n",)), strict=True):
        expected = (count, *(subject.n,) * len(axes))
        assert np.shape(whole) == expected, f"{method}: {count} states must give shape {expected}"
    for row in range(count):
        one = subject.call(method, *values[:, row])
        same(tuple(whole[row] for whole in found), one, f"{method}: row {row} of many states is that one state", EXACT)


@METHODS
def test_n_states_of_n_joints_are_not_a_matrix(simple: Subject, method: str) -> None:
    """As many states as joints: rows are states, columns joints."""
    values = simple.states(simple.n)
    found = simple.call(method, *values)
    one = simple.call(method, *values[:, 0])
    same(tuple(whole[0] for whole in found), one, f"{method}: the first row of {simple.n} states is the first state")


@METHODS
@pytest.mark.parametrize(
    "kind", ["list", "tuple", "float32", "integers", "big-endian", "Fortran order", "every second number", "backwards",
             "read-only", "unaligned"],
)  # fmt: skip
def test_other_arrays_of_the_same_numbers(simple: Subject, method: str, kind: str) -> None:
    """Any array of real numbers is accepted, in whatever memory, and not changed."""
    values = np.round(simple.states(4)[: len(INPUTS[method])] * 4)  # exact in every type
    same_numbers = [_as(kind, value) for value in values]
    expected = simple.call(method, *values)
    same(simple.call(method, *same_numbers), expected, f"{method}: takes {kind}", EXACT)
    same_numbers = [_as(kind, value[0]) for value in values]
    expected = simple.call(method, *values[:, 0])
    same(simple.call(method, *same_numbers), expected, f"{method}: takes {kind}", EXACT)


@METHODS
def test_arguments_are_not_written_to(simple: Subject, method: str) -> None:
    """The caller's arrays are as they were."""
    for values in (simple.state(), simple.states(4)):
        before = values.copy()
        simple.call(method, *values)
        same(values, before, f"{method}: must not write to its arguments", 0.0)


@METHODS
def test_results_are_the_callers_own(simple: Subject, method: str) -> None:
    """A result stays as it is whatever is called next, may be written to, and writing to it changes nothing else."""
    for values in (simple.state(), simple.states(4)):
        first = simple.call(method, *values)
        kept = tuple(np.array(part) for part in first)
        simple.call(method, *-values)
        same(first, kept, f"{method}: a later call must not change an earlier result", 0.0)
        for part in first:
            if np.ndim(part):
                part[...] = 7.0
        same(simple.call(method, *values), kept, f"{method}: writing to a result must not change the next one", 0.0)


def _as(kind: str, value: Any) -> Any:
    """The same numbers in other memory."""
    array = np.array(value)
    if kind in ("list", "tuple"):
        return array.tolist() if kind == "list" else tuple(map(_tuple, array.tolist()))
    if kind in ("float32", "integers", "big-endian"):
        return array.astype(np.dtype({"float32": "f4", "integers": "i8", "big-endian": ">f8"}[kind]))
    if kind == "Fortran order":
        return np.asfortranarray(array)
    if kind == "every second number":
        return np.repeat(array, 2, axis=-1)[..., ::2]
    if kind == "backwards":
        return np.ascontiguousarray(array[..., ::-1])[..., ::-1]
    if kind == "unaligned":
        memory = np.empty(array.nbytes + 1, np.uint8)
        memory[1:] = np.frombuffer(array.tobytes(), np.uint8)
        return memory[1:].view(np.float64).reshape(array.shape)
    array.flags.writeable = False
    return array


def _tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


# Clauses about what is refused: an InputError that names the argument, and an object that works on.

ARGUMENTS = pytest.mark.parametrize(("method", "argument"), [(m, a) for m, names in INPUTS.items() for a in names])


def _wrong(n: int) -> dict[str, Any]:
    """What no argument of n joints is."""
    return {
        "a number": 1.0,
        "one number too few": np.zeros(n - 1),
        "one number too many": np.zeros(n + 1),
        "no numbers": np.zeros(0),
        "a column": np.zeros((3, 1 if n > 1 else 2)),
        "three axes": np.zeros((2, 2, n)),
        "ragged": [1, [2, 3]],
        "text": "abc",
        "words": ["a"] * n,
        "None": None,
        "complex": np.zeros(n, dtype=complex),
        "objects": np.array([object()] * n),
        "booleans": np.ones(n, dtype=bool),
        "beyond float64": [10**400] + [0] * (n - 1),
    }


@ARGUMENTS
def test_wrong_shapes_and_types_are_refused(simple: Subject, method: str, argument: str) -> None:
    """Neither (n,) nor (N, n), or not of real numbers."""
    for what, wrong in _wrong(simple.n).items():
        _refused(simple, method, argument, simple.state(), wrong, what)


@ARGUMENTS
def test_nan_and_infinity_are_refused(simple: Subject, method: str, argument: str) -> None:
    """A NaN or an infinity at any place, even where the result would not depend on it."""
    for values in (simple.state(), simple.states(5)):
        for place in np.ndindex(values[0].shape):
            for value in (np.nan, np.inf, -np.inf):
                bad = values[0].copy()
                bad[place] = value
                _refused(simple, method, argument, values, bad, f"{value} at {place}")


@pytest.mark.parametrize("method", [method for method, names in INPUTS.items() if len(names) > 1])
def test_arguments_must_be_of_the_same_number_of_states(simple: Subject, method: str) -> None:
    """All one state, or all N of them: nothing is broadcast."""
    few, many = simple.states(4)[: len(INPUTS[method])], simple.states(5)[: len(INPUTS[method])]
    for given in ([few[0], *many[1:]], [few[0, 0], *few[1:]]):
        shapes = " and ".join(str(np.shape(value)) for value in given)
        wanted = f"{method}: arguments of shapes {shapes} must raise InputError"
        problem = raised(getattr(simple.dynamics, method), *given)
        assert isinstance(problem, InputError), f"{wanted}; it raised {problem!r}"


def test_an_error_leaves_the_object_as_it_was(simple: Subject) -> None:
    """After an InputError the next call is right."""
    q, qd, qdd = simple.state()
    expected = simple.all(q, qd, qdd)
    for method, names in INPUTS.items():
        for bad in (np.full(simple.n, np.nan), np.full((3, simple.n), np.inf), np.zeros(simple.n + 1)):
            with pytest.raises(InputError):
                getattr(simple.dynamics, method)(*[bad] * len(names))
    for method, right in expected.items():
        same(simple.call(method, q, qd, qdd), right, f"{method}: after an error as before it", 0.0)


def _refused(subject: Subject, method: str, argument: str, values: Any, bad: Any, what: str) -> None:
    """Fail unless a bad argument raises an InputError that names it."""
    given = dict(zip(INPUTS[method], values, strict=False)) | {argument: bad}
    wanted = f"{method}: {what} for {argument} must raise an InputError that names {argument!r}"
    problem = raised(getattr(subject.dynamics, method), *given.values())
    assert isinstance(problem, InputError), f"{wanted}; it raised {problem!r}"
    assert problem.name == argument, f"{wanted}; it names {problem.name!r}"
