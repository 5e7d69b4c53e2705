# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Whatever is given to the public methods of a dynamics object: the right answer or an InputError, never a crash.

The rule for every kind of object is NumPy's: what ``numpy.asarray`` takes for an array of real numbers counts as that
array, a masked array as its data. ``ROBODYN_FUZZ=200000`` (``make fuzz``) tries that many.
"""

import array
import ctypes
from collections.abc import Callable
from datetime import datetime
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fuzzed import fuzzed, in_time
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import robodyn_ros as rd
from robodyn_ros.dynamics import Dynamics, Payload
from robodyn_ros.dynamics.compiled import CompiledDynamics
from robodyn_ros.dynamics.conformance.subject import MEMORY, wrong_arguments
from robodyn_ros.kinematics import Kinematics

PRR = Path(__file__).parent.parent / "urdf" / "prr.urdf"
N = 3
Q = np.array([0.8, 0.6, -0.4])

pytestmark = in_time


class Series:
    """Like a column of a table: an array when it is asked, no buffer and no sequence."""

    def __init__(self, values: Any) -> None:
        self.values = values

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        return np.array(self.values, dtype=dtype)


class Broken:
    """An object whose own conversion fails."""

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        raise RuntimeError("no array today")


class Bottomless:
    """A sequence that does not have what it promises."""

    def __len__(self) -> int:
        return N

    def __getitem__(self, index: int) -> float:
        raise KeyError(index)


class Subclass(np.ndarray):
    """An array by another name."""


def released(values: np.ndarray) -> memoryview:
    view = memoryview(values.copy())
    view.release()
    return view


def recursive() -> list[Any]:
    loop: list[Any] = []
    loop.append(loop)
    return loop


SAME: dict[str, Callable[[np.ndarray], Any]] = {
    **{kind: made for kind, made in MEMORY.items() if kind not in ("float32", "integers")},  # which round
    "little-endian": lambda v: v.astype("<f8"),
    "big-endian memory": lambda v: memoryview(v.astype(">f8")),
    "memory": lambda v: memoryview(v),
    "memory backwards": lambda v: memoryview(np.ascontiguousarray(v[::-1]))[::-1],
    "read-only memory": lambda v: memoryview(MEMORY["read-only"](v)),
    "a column of a table": lambda v: np.ascontiguousarray(np.stack([v] * 5, axis=-1))[..., 2],
    "unaligned and big-endian": lambda v: MEMORY["unaligned"](v.astype(">f8")),
    "long double": lambda v: v.astype(np.longdouble),
    "subclass": lambda v: v.view(Subclass),
    "record array": lambda v: v.view(np.recarray),
    "masked": lambda v: np.ma.array(v, mask=np.arange(v.size).reshape(v.shape) % 2),
    "NumPy's own numbers": list,
    "array.array": lambda v: array.array("d", v) if v.ndim == 1 else v,
    "ctypes": lambda v: (ctypes.c_double * N)(*v) if v.ndim == 1 else v,
    "__array__": Series,
    "range of memory": lambda v: np.concatenate([v.ravel(), v.ravel()])[v.size :].reshape(v.shape),
}
"""Objects that hold the same numbers."""

REFUSED: dict[str, Any] = {
    **wrong_arguments(N),
    "a huge number": 10**400,
    "long long numbers": [10**5000, 0, 0],
    "numbers beyond 64 bits": [2**70, 0, 0],
    "beyond float64 in long double": np.array(["1e4000", "0", "0"]).astype(np.longdouble),
    "numbers as text": ["1", "2", "3"],
    "bytes": Q.tobytes(),
    "bytes of numbers": bytearray(Q.tobytes()),
    "byte view": memoryview(Q).cast("B"),
    "released memory": released(Q),
    "objects": Q.astype(object),
    "an object": object(),
    "a type": np.ndarray,
    "a function": len,
    "decimals": [Decimal(1)] * N,
    "fractions": [Fraction(1, 3)] * N,
    "complex without imaginary part": Q + 0j,
    "dates": np.array([datetime(2026, 1, 1)] * N, dtype="M8[s]"),
    "durations": np.array([1, 2, 3], dtype="m8[s]"),
    "structure": np.zeros(N, dtype=[("a", "f8")]),
    "raw": np.zeros(N, dtype="V8"),
    "set": {0.1, 0.2, 0.3},
    "dict": {0: 0.1, 1: 0.2, 2: 0.3},
    "generator": (x for x in Q),
    "recursive": recursive(),
    "broken": Broken(),
    "bottomless": Bottomless(),
    "too deep": [[[[[[[[0.1]]]]]]]],
    "empty rows": np.zeros((4, 0)),
    "nan": np.array([0.1, np.nan, 0.3]),
    "nan, big-endian": np.array([0.1, np.nan, 0.3], dtype=">f8"),
    "nan, signalling": np.array([0x7FF0000000000001, 0, 0], dtype=np.uint64).view(np.float64),
    "inf and -inf": np.array([np.inf, -np.inf, 0.0]),
    "nan in single precision": np.array([0.1, np.nan, 0.3], dtype=np.float32),
    "inf in a list": [0.1, float("inf"), 0.3],
    "nan among rows": np.array([[0.1, 0.2, 0.3], [0.1, 0.2, np.nan]]),
}
"""Objects that hold no state."""


def methods(dynamics: CompiledDynamics) -> dict[str, tuple[str, ...]]:
    return {name: tuple(item.inputs.split()) for name, item in dynamics.quantities().items()}


def parts(result: Any) -> tuple[Any, ...]:
    return tuple(result) if isinstance(result, tuple) else (result,)


@pytest.fixture(scope="module", params=[("rnea", True), ("rnea", False), ("lagrangian", True)], ids=str)
def dynamics(request: pytest.FixtureRequest) -> Dynamics:
    name, compiled = request.param
    return rd.create_dynamics(name, rd.load_robot(PRR), compiled=compiled)


@pytest.mark.parametrize("kind", SAME)
def test_the_same_numbers_give_the_same_answer(dynamics: Any, kind: str) -> None:
    """Above all no memory is read as what it is not."""
    rng = np.random.default_rng(3)
    for shape in ((N,), (1, N), (9, N)):
        if "memory" in kind and len(shape) == 2:
            continue
        for method, names in methods(dynamics).items():
            values = rng.uniform(-2, 2, (len(names), *shape))
            expected = getattr(dynamics, method)(*values)
            found = getattr(dynamics, method)(*(SAME[kind](value) for value in values))
            for a, b in zip(parts(found), parts(expected), strict=True):
                assert_allclose(a, b, rtol=1e-14, atol=1e-14, err_msg=f"{method}, {kind}, {shape}")


@pytest.mark.parametrize("kind", REFUSED)
def test_what_is_no_state_is_refused(dynamics: Any, kind: str) -> None:
    for method, names in methods(dynamics).items():
        for position, name in enumerate(names):
            values: list[Any] = [Q] * len(names)
            values[position] = REFUSED[kind]
            with pytest.raises(rd.InputError) as caught:
                getattr(dynamics, method)(*values)
            assert caught.value.name in {name, "arguments"}
            assert isinstance(caught.value, ValueError)


def test_huge_numbers_are_not_mistaken_for_infinite_ones(dynamics: Any) -> None:
    assert dynamics.inverse(Q, 0 * Q, np.full(N, 1.7e308)).shape == (N,)


DTYPES = (
    *("f2", "f4", "f8", ">f8", ">f4", "g", "i1", "u1", "i8", ">i4", "u8"),
    *("c16", "O", "?", "S4", "U4", "M8[s]"),
)
SHAPES = st.sampled_from([(), (N,), (1,), (0,), (N + 1,), (1, N), (5, N), (N, N), (N, 1), (0, N), (2, 2, N), (N, 5)])
NUMBERS = st.sampled_from([0.0, -0.0, 1.0, -2.5, 1e-320, 1e150, -1e308, 1.7e308, np.nan, np.inf, -np.inf])


@st.composite
def arrays(draw: st.DrawFn) -> Any:
    """Any shape, type, order and memory."""
    shape, kind = draw(SHAPES), draw(st.sampled_from(DTYPES))
    few = draw(st.lists(NUMBERS, min_size=1, max_size=6))
    with np.errstate(all="ignore"):
        whole = np.resize(np.array(few), shape)
        made = whole.astype(kind) if kind not in ("M8[s]", "?") and np.isfinite(whole).all() else whole
        made = np.zeros(shape, kind) if kind in ("M8[s]", "?") else np.asarray(made)
    if draw(st.booleans()):
        made = np.asarray(np.flip(made))
    if draw(st.booleans()):
        made = np.repeat(made, 2, axis=-1)[..., ::2] if made.ndim else made
    if draw(st.booleans()):
        made = made.T.copy().T
    return made.tolist() if draw(st.booleans()) and kind != "M8[s]" else made


@fuzzed(100)
@given(data=st.data())
def test_any_array(data: st.DataObject) -> None:
    """What is an array of real finite numbers of the right shape gives the plain answer; all else is refused."""
    subject = OBJECTS[data.draw(st.sampled_from(sorted(OBJECTS)))]
    method, names = data.draw(st.sampled_from(sorted(methods(subject).items())))
    values = [data.draw(arrays()) for _ in names]
    plain = [np.asarray(value) for value in values]
    valid = all(v.dtype.kind in "fiu" and v.ndim in (1, 2) and v.shape[-1] == N for v in plain)
    valid = valid and len({v.shape for v in plain}) == 1
    with np.errstate(over="ignore"):
        plain = [np.ascontiguousarray(v, dtype=float) for v in plain] if valid else plain
    if not valid or not all(np.isfinite(v).all() for v in plain):
        with pytest.raises(rd.InputError):
            getattr(subject, method)(*values)
        return
    with np.errstate(all="ignore"):  # finite numbers may overflow on the way; that is nobody's fault
        expected, found = getattr(subject, method)(*plain), getattr(subject, method)(*values)
        for a, b in zip(parts(found), parts(expected), strict=True):
            assert_allclose(a, b, rtol=1e-12)


OTHER = {**REFUSED, "a link": "tool", "a state": Q, "a payload": Payload("tool", 1.0)}
LINKS = ("tool", "base", "hand", "no link", "", None, 3, 10**5000, [], {}, Q)
ANYTHING = st.one_of(st.sampled_from(sorted(OTHER)).map(lambda name: OTHER[name]), arrays())


@fuzzed(100)
@given(data=st.data())
def test_any_parameter(data: st.DataObject) -> None:
    """``configure`` takes it and all stays finite, or refuses it and nothing has changed."""
    subject = rd.create_dynamics("rnea", ROBOT, compiled=False)
    before, symbols = subject.parameters, subject.symbols.copy()
    name = data.draw(st.sampled_from(["gravity", "payload", "armature", "viscous", "coulomb", "inertial", "colour"]))
    value = data.draw(ANYTHING)
    payload = [data.draw(ANYTHING) for _ in range(4)] if name == "payload" and data.draw(st.booleans()) else None
    try:
        value = value if payload is None else Payload(*payload)
        subject.configure(**{name: value})
    except rd.InputError:
        assert subject.parameters is before
        np.testing.assert_array_equal(subject.symbols, symbols)
    assert np.isfinite(subject.symbols).all()


@fuzzed(100)
@given(data=st.data())
def test_any_wrench(data: st.DataObject) -> None:
    """``external``, ``Kinematics.pose`` and ``jacobian``: the answer or an InputError."""
    subject = OBJECTS["rnea"]
    link = data.draw(st.sampled_from(range(len(LINKS))).map(lambda k: LINKS[k]))
    values = [data.draw(st.one_of(st.just(Q), ANYTHING)) for _ in range(3)]
    kinematics = Kinematics(ROBOT, compiled=False)
    calls = ((subject.external, (link, *values)), (kinematics.pose, (link, values[0])))
    for call, given_values in (*calls, (kinematics.jacobian, (link, values[0]))):
        try:
            with np.errstate(all="ignore"):
                found = call(*given_values)
        except rd.InputError:
            continue
        assert isinstance(found, np.ndarray)


ROBOT = rd.load_robot(PRR)
OBJECTS = {name: rd.create_dynamics(name, ROBOT) for name in ("rnea", "lagrangian")}
OBJECTS["virtual machine"] = rd.create_dynamics("rnea", ROBOT, compiled=False)
