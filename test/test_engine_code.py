# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The generated code: its sines and cosines, every operation, and what it is bound to Python with."""

import ctypes
import gc
from collections.abc import Callable, Sequence
from mmap import PAGESIZE, mmap

import casadi as ca
import mpmath
import numpy as np
import pytest
from arms import random_robot
from numpy.testing import assert_allclose

import robodyn_ros as rd
from robodyn_ros.engine import Kernel, Program, digest
from robodyn_ros.engine.kernel import FEW
from robodyn_ros.engine.listing import BINARY, UNARY
from robodyn_ros.errors import RobodynError


def kernel(
    title: str, build: Callable[..., Sequence[ca.SX]], width: int, parameters: Sequence[float] = (), **options: bool
) -> Kernel:
    """A kernel of a function of one vector and the parameters."""
    results = build(ca.SX.sym("x", width), ca.SX.sym("p", len(parameters)))
    key = digest(title, width, str(results), source=__name__)
    shapes = tuple((result.numel(),) for result in results)
    program = Program.of("tested", key, (("x", width),), len(parameters), shapes, build)
    return Kernel(program, np.array(parameters, dtype=float), **options)


def angles() -> np.ndarray:
    """Everywhere, close to multiples of π/2, tiny, and beyond what the polynomial's way takes."""
    rng = np.random.default_rng(6)
    quarters = np.pi / 2 * np.arange(-40, 41)
    parts = [
        rng.uniform(-np.pi, np.pi, 1500),
        rng.uniform(-(2.0**19), 2.0**19, 500),
        *(np.nextafter(quarters, side) for side in (-np.inf, np.inf)),
        np.pi / 2 * np.round(rng.uniform(0, 2.0**18, 200)),
        10.0 ** rng.uniform(-300, -1, 100),
        [0.0, 5e-324, 2.0**19, -(2.0**19), np.nextafter(2.0**19, 0)],
    ]
    return np.concatenate(parts)


def units(value: np.ndarray, exact: list[mpmath.mpf]) -> float:
    """The greatest error in units in the last place."""
    return max(
        float(abs(mpmath.mpf(float(v)) - e) / mpmath.mpf(float(np.spacing(abs(float(e)) or 1.0))))
        for v, e in zip(value, exact, strict=True)
    )


@pytest.mark.parametrize("count", [1, 3, 7])
def test_sines_and_cosines(count: int) -> None:
    """Below 2.5 units in the last place, one state at a time and many at once, in vectors of two, four and eight."""
    x = np.resize(angles(), (-(-len(angles()) // count), count))
    sines = sines_of(count)
    with mpmath.workdps(60):
        exact = [[mpmath.sin(float(a)) for a in x.ravel()], [mpmath.cos(float(a)) for a in x.ravel()]]
        for batch in (False, True):
            rows = sines.call(x) if batch else [np.array(part) for part in zip(*map(sines.call, x), strict=True)]
            for values, truth in zip(rows, exact, strict=True):
                assert units(values.ravel(), truth) < 2.5


def sines_of(count: int) -> Kernel:
    return kernel("sines", lambda x, p: [ca.sin(x), ca.cos(x)], count)


@pytest.mark.parametrize("x", [2.0**19 + 1, -1e6, 12345678.9, 1e15, -1e22, 1e300])
def test_angles_that_are_too_long(x: float) -> None:
    """They take another way, which is as good as the argument; and leave their neighbours alone."""
    sines, given = sines_of(3), np.array([0.3, x, -1.2])
    for found in (sines.call(given), [many[5] for many in sines.call(np.tile(given, (FEW + 1, 1)))]):
        assert_allclose(found, [np.sin(given), np.cos(given)], rtol=0, atol=1e-15)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_no_number_stays_no_number(bad: float) -> None:
    """In place, where nothing is checked, it must come through to be seen; and it is refused otherwise."""
    sines = sines_of(3)
    sines.inputs[0][:] = [0.3, bad, -1.2]
    sines.evaluate()
    assert np.isnan([result[1] for result in sines.results]).all()
    assert_allclose([result[[0, 2]] for result in sines.results], [np.sin([0.3, -1.2]), np.cos([0.3, -1.2])])
    wrong, many = [0.3, bad, -1.2], [[0.3, 1.0, 2.0]] * FEW
    for given in (wrong, [wrong, *many], [*many, wrong]):
        with pytest.raises(rd.InputError, match="x: must be finite"):
            sines.call(np.array(given))


def test_nothing_behind_the_last_state_is_read() -> None:
    """The page there cannot be read, which would end the process."""
    memory = mmap(-1, 3 * PAGESIZE)
    count = 3 * (FEW + 1)
    states = np.frombuffer(memory, count=count, offset=2 * PAGESIZE - 8 * count).reshape(-1, 3)
    assert ctypes.CDLL(None).mprotect(ctypes.c_void_p(states.ctypes.data + states.nbytes), PAGESIZE, 0) == 0
    assert_allclose(sines_of(3).call(states)[1], 1.0)


@pytest.mark.parametrize("width", [1, 2, 3, 11])
def test_each_number_is_checked_although_no_result_depends_on_it(width: int) -> None:
    found = kernel("one", lambda x, p: [ca.SX(1.0)], width)
    assert found.call(np.full(width, 0.1)) == 1.0
    for bad in range(width):
        given = np.where(np.arange(width) == bad, np.nan, 0.1)
        for each in (given, np.tile(given, (FEW + 1, 1))):
            with pytest.raises(rd.InputError, match="x: must be finite"):
                found.call(each)


def test_angles_of_angles() -> None:
    """Sines of numbers that depend on sines, and of the parameters."""

    def nested(x: ca.SX, p: ca.SX) -> list[ca.SX]:
        inner = ca.sin(x[0]) + 3 * ca.cos(x[1] * p[0])
        return [ca.vertcat(ca.sin(inner) * ca.cos(p[1]), ca.cos(ca.cos(inner) + x[2]), ca.sin(p[0]), ca.SX(2.5))]

    x = np.random.default_rng(2).uniform(-2, 2, (19, 3))
    inner = np.sin(x[:, 0]) + 3 * np.cos(x[:, 1] * 1.7)
    known = [np.sin(inner) * np.cos(0.4), np.cos(np.cos(inner) + x[:, 2]), np.full(19, np.sin(1.7)), np.full(19, 2.5)]
    nests = kernel("nested", nested, 3, (1.7, 0.4))
    assert_allclose(nests.call(x), np.transpose(known), rtol=1e-14, atol=1e-14)
    assert_allclose(nests.call(x[4]), np.transpose(known)[4], rtol=1e-14, atol=1e-14)


def test_every_operation() -> None:
    """As CasADi's virtual machine does it, on numbers, and on parameters alone, one state and many."""

    def operations(x: ca.SX, p: ca.SX) -> list[ca.SX]:
        results = []
        for a, b in ((x[0], x[1]), (p[0], p[1])):
            inside = ca.fabs(a) / (1 + ca.fabs(a))  # in [0, 1), where all are defined
            argument = {"acosh": 1 + inside}
            results += [ca.SX.unary(getattr(ca, f"OP_{name.upper()}"), argument.get(name, inside)) for name in UNARY]
            results += [ca.SX.binary(getattr(ca, f"OP_{name.upper()}"), inside, b) for name in BINARY]
            results += [-a, a * a, a + a, 1 / b, a / b, ca.sign(a), ca.sign(-b), ca.sign(a - a), a - 2.5, 0.1 * b]
            results += [ca.if_else(a < b, ca.exp(a), b), ca.fmin(a, 0.2), ca.fmax(0.3, b), ca.SX.inf() * b]
            unknown = ca.sqrt(-1 - a * a)  # NaN, which the smaller and the greater of two leave out
            results += [f(*pair) for f in (ca.fmin, ca.fmax) for pair in ((unknown, b), (b, unknown))]
            results += [ca.sign(unknown)]
        return [ca.vertcat(*results)]

    x = np.random.default_rng(3).uniform(-2, 2, (21, 2))
    compiled, slow = (kernel("all", operations, 2, (0.7, -1.3), compiled=way) for way in (True, False))
    known = slow.call(x)
    assert np.isfinite(known).any(axis=0).sum() > 2 * len((*UNARY, *BINARY))
    assert_allclose(compiled.call(x), known, rtol=4e-15, atol=4e-16)
    assert_allclose([compiled.call(row) for row in x], known, rtol=4e-15, atol=4e-16)


def test_an_operation_without_counterpart_is_named() -> None:
    with pytest.raises(RobodynError, match="in tested has no counterpart in the generated code"):
        kernel("lift", lambda x, p: [ca.SX.unary(ca.OP_ERFINV, x)], 1)


def test_what_is_bound_outlives_its_kernel() -> None:
    """The function holds all that it works on."""
    made = kernel("sum", lambda x, p: [ca.sum1(x) * p[0]], 3, (2.0,))
    evaluate, (x,), (result,) = made.evaluate, made.inputs, made.results
    del made
    gc.collect()
    waste = [np.full(3, 7.0) for _ in range(1000)]  # what would be written over, had it been let go
    x[:] = [1.0, 2.0, 3.0]
    assert evaluate() is None
    assert result == 12.0
    del x, result
    gc.collect()
    evaluate()
    assert (np.array(waste) == 7.0).all()


def test_long_arms_take_articulated_bodies(monkeypatch: pytest.MonkeyPatch) -> None:
    """The mass matrix of forty joints is not even written."""
    dynamics = rd.create_dynamics("rnea", rd.load_robot(random_robot(1, joints=40, branching=0.0)), compiled=False)
    equations, states = dynamics.equations(), [ca.SX.sym(name, 40) for name in ("q", "qd", "tau")]
    monkeypatch.setattr(type(equations), "mass_matrix", None)
    assert ca.n_nodes(equations.forward(*states, equations.unpack(dynamics.symbols))) < 40 * 700
