"""Clauses about what is refused: an InputError that names the argument, and an object that works on."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from robodyn_ros.dynamics.conformance.subject import INPUTS, Subject, raised, same
from robodyn_ros.errors import InputError

ARGUMENTS = pytest.mark.parametrize(("method", "argument"), [(m, a) for m, names in INPUTS.items() for a in names])
WRONG: dict[str, Any] = {
    "a number": 1.0,
    "one number too few": np.zeros(2),
    "one number too many": np.zeros(4),
    "no numbers": np.zeros(0),
    "a column": np.zeros((3, 1)),
    "three axes": np.zeros((2, 2, 3)),
    "ragged": [1, [2, 3]],
    "text": "abc",
    "words": ["a", "b", "c"],
    "None": None,
    "complex": np.zeros(3, dtype=complex),
    "objects": np.array([object()] * 3),
    "booleans": np.array([True, False, True]),
    "beyond float64": [10**400, 0, 0],
}


@ARGUMENTS
def test_wrong_shapes_and_types_are_refused(simple: Subject, method: str, argument: str) -> None:
    """Neither (n,) nor (N, n), or not of real numbers."""
    for what, wrong in WRONG.items():
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
