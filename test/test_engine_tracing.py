# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Tracing: what NumPy does with numbers, its expressions do with numbers put in; what has no expression says so."""

import math

import casadi as ca
import numpy as np
import pytest

from robodyn_ros.engine.tracing import TracedArray, TraceError, column, elements_of, symbols

RNG = np.random.default_rng(11)
A, B, S = RNG.normal(size=3), RNG.normal(size=3), 0.7
M, W = RNG.normal(size=(3, 3)), RNG.normal(size=(2, 3))

WORKS = {
    "arithmetic": (lambda a, b: (a + 2) * b - a / b + 3 - (-a) ** 2, A, B),
    "a number and an array": (lambda s, a: s * a + (1 - s), S, A),
    "numbers first": (lambda a: np.float64(2.0) * a + np.ones(3) / a + [1, 2, 3], A),
    "matrix times vector": (lambda m, a: m @ a, M, A),
    "vector times matrix": (lambda a, m: a @ m, A, M),
    "matrices": (lambda m, w: w @ m @ m.T, M, W),
    "dot product": (lambda a, b: a @ b + np.dot(a, b), A, B),
    "broadcasting": (lambda w, a: w * a + w[:, :1] - a.reshape(1, 3), W, A),
    "where": (lambda a, b: np.where(a > b, a, -b), A, B),
    "where a number": (lambda a, s: np.where(s > 0.5, a, 0.0), A, S),
    "logic": (lambda a, b: np.where((a > 0) & ~(b <= a) | (a == b), 1.0, 2.0), A, B),
    "any and all": (lambda a: np.where(np.any(a > 0) & np.all(a < 9), 1.0, 2.0), A),
    "limits": (lambda a, b: np.minimum(np.maximum(a, -0.3), np.abs(b)), A, B),
    "clip": (lambda a, b: np.clip(a, -np.abs(b), 0.3) + a.clip(min=0.1) * np.clip(a, a_min=-0.2, a_max=b), A, B),
    "functions": (lambda a: np.tanh(a) + np.sin(a) * np.exp(a) - np.sqrt(a * a) + np.sign(a) * np.arctan2(a, 2), A),
    "sums": (lambda m: m.sum(axis=0) + m.sum() + np.sum(m, axis=1) + m.mean(), M),
    "greatest": (lambda m: np.max(m, axis=1) - m.min(), M),
    "greatest, with a start": (lambda a: np.max(a, initial=3.0) + np.sum(a, initial=2.0), A),
    "sum that keeps its axes": (lambda m: np.sum(m, axis=(0, 1), keepdims=True), M),
    "norm": (lambda a: np.linalg.norm(a) * a, A),
    "array of arrays": (lambda a, b: np.array([a, np.tanh(b)]) * np.stack([b, a]), A, B),
    "array of elements": (lambda a, b: np.array([a[0], b[1], 2.0, a[2] * b[0]]) + 1.0, A, B),
    "put together": (lambda a, b: np.concatenate([a, np.zeros(2), b[::-1]]), A, B),
    "diagonal": (lambda m, a: m.diagonal() * a + np.diagonal(m) + np.diag(np.diag(a)), M, A),
    "outer and cross": (lambda a, b: np.outer(a, b) + np.cross(a, b), A, B),
    "einsum": (lambda w, m: np.einsum("ij,kj->ik", w, m), W, M),
    "solve": (lambda m, a: np.linalg.solve(m, a), M, A),
    "solve many": (lambda m, w: np.linalg.solve(m, w.T), M, W),
    "inverse": (lambda m: np.linalg.inv(m) @ m.T, M),
    "is finite": (lambda a: np.where(np.isfinite(a) & ~np.isnan(a), a, 0.0), np.array([1.0, np.inf, np.nan])),
    "extremes of NaN": (
        lambda a, b: np.stack([np.maximum(a, b), np.minimum(a, b), np.fmax(a, b), np.fmin(a, b), np.clip(a, -1.0, b)]),
        np.array([1.0, np.nan, np.nan, 2.0, -np.inf, np.inf]), np.array([np.nan, 1.0, np.nan, 3.0, np.inf, np.inf]),
    ),
    "unpacked": (lambda w: w[0] * 2 + sum(list(w[1]), 0.0), W),
    "copy": (lambda a: a.copy() + a.astype(float), A),
    "any and all of one number": (lambda a: np.stack([np.any(a[:1]), np.all(a[1])]) * S, A),
    "a number as a truth": (lambda a: a.astype(bool) * S, A),
    "filled arrays": (
        lambda a: np.stack([np.full_like(a, fill_value=S), np.full_like(a, a[1]), np.full_like(a > 0, a[1], float)]), A,
    ),
    "filled arrays of truths": (
        lambda a: np.stack([np.full_like(a > 0, S), np.full_like(a > 0, a[1]), np.ones_like(a > 0) & (a < 9)]), A,
    ),
    "truths that are counted": (lambda a, b: (a > 0).astype(float) + (b > 0).astype(float) + np.sum(a > 0), A, B),
    "truths and numbers": (lambda a, b: (a > 0) * a + (b > 0) - np.cumsum(a > 0) / 2, A, B),
}  # fmt: skip


def in_place(a, m):
    """Writes into arrays, as NumPy code does."""
    a = a.copy()
    a += 2.0 * a
    a[1:] *= a[0]
    m = m + 0.0
    m[0], m[:, 1] = a, -a
    m[2, 2] = 5.0
    np.clip(m[2], -0.5, 0.5, out=m[2])
    m[1].clip(max=0.2, out=m[1])
    np.sum(np.outer(a, a), axis=0, out=a)
    return m + a


def evaluated(function, *values):
    """What the expressions of a function give for numbers, in the shape of its result."""
    given = [symbols(f"x{k}", np.shape(value)) for k, value in enumerate(values)]
    found = TracedArray(elements_of(function(*given)))
    expressions = ca.Function("f", [column([value]) for value in given], [column([found])])
    return np.array(expressions(*(np.ravel(value) for value in values))).reshape(found.shape)


@pytest.mark.parametrize("name", WORKS)
def test_expressions_do_what_numpy_does(name: str) -> None:
    function, *values = WORKS[name]
    expected = np.asarray(function(*values), dtype=float)
    found = evaluated(function, *values)
    assert found.shape == expected.shape
    np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-13)


def test_arrays_are_written_into_as_numpy_does() -> None:
    np.testing.assert_allclose(evaluated(in_place, A, M), in_place(A, M), rtol=1e-14)


def test_eigenvalues_of_any_symmetric_matrix() -> None:
    """Clipped eigenvalues put together again: no sign of a vector, no order of equal values counts in that."""

    def clipped(matrix):
        values, vectors = np.linalg.eigh(matrix)
        return np.stack([*((vectors * np.clip(values, 0.2, 1.0)) @ vectors.T), values])

    rng = np.random.default_rng(3)
    given = symbols("m", (4, 4))
    function = ca.Function("f", [column([given])], [column([clipped(given)])])
    for k in range(300):
        basis = np.linalg.qr(rng.normal(size=(4, 4)))[0]
        values = rng.choice([0.0, 1.0, 1.0 + 1e-9, -3.0, 1e-7, 1e5], 4) if k % 2 else rng.normal(size=4)
        matrix = basis @ np.diag(values) @ basis.T if k % 3 else np.diag(values)
        matrix = (matrix + matrix.T) / 2
        found = np.array(function(matrix.ravel())).reshape(5, 4)
        np.testing.assert_allclose(found, clipped(matrix), atol=1e-13 * max(1.0, np.abs(matrix).max()))


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (lambda a: a if a[0] > 0 else -a, "asks for a value"),
        (lambda a: a * float(a[0]), "asks for a value"),
        (lambda a: max(a), "asks for a value"),
        (lambda a: math.sin(a[0]), "asks for a value"),
        (lambda a: np.sort(a), "numpy.sort cannot be traced"),
        (lambda a: a[a > 0], "chooses elements by a value"),
        (lambda a: np.add(np.ones(3), a, out=np.zeros(3)), "put into an array of numbers"),
        (lambda a: a.astype(int), "a conversion to int64"),
        (lambda a: (a > 0) + (a < 1), "numpy.add treats truths otherwise"),
        (lambda a: (a > 0)[::-1].reshape(3, 1).T @ np.where(a > 0, a < 1, a < 2), "numpy.matmul treats truths"),
        (lambda a: np.diff(np.concatenate([a > 0, [True]])), "numpy.diff treats truths otherwise"),
        (lambda a: (a > 0) * (a < 1) + np.any(a > 0), "numpy.add treats truths otherwise"),
    ],
)
def test_what_has_no_expression_says_so(function, said: str) -> None:
    with pytest.raises(TraceError, match=said):
        function(symbols("a", (3,)))
