# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""From NumPy code to expressions: a function is called with symbols for numbers, and its operations are recorded.

:class:`TracedArray` stands for an array in the function. NumPy's operations on it give CasADi expressions, element by
element, and so do this package's compiled functions (:func:`inlined`). A function that asks for a *value* cannot be
traced: ``if``, ``float``, ``math.sin``, or an operation that has no expression raise :class:`TraceError`, which says
what it was. JAX and CasADi's own ``SX`` do the same; this one follows NumPy's rules for shapes.

``np.where`` takes the place of ``if``; both of its branches are computed.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin
from numpy.typing import NDArray

from robodyn_ros.engine.casadi import ca
from robodyn_ros.errors import RobodynError
from robodyn_ros.robot.pose import Array

if TYPE_CHECKING:
    from robodyn_ros.engine.program import Program

Elements = NDArray[np.object_]
"""CasADi scalars, or numbers, in an array of objects."""

SWEEPS = 6
"""Sweeps of Jacobi's method: it converges quadratically, and 5 reach the last bit of nearly every matrix of 4 rows."""

TINY = 1e-300
"""Keeps the tangent of a rotation by 0, and a quotient of zeros, from being 0 / 0."""

_OTHERWISE = "numpy.{} treats truths otherwise than the numbers 0 and 1; astype(float) makes numbers of them"


class TraceError(RobodynError):
    """A function cannot be traced; the message names the operation."""


class Trace:
    """The state of a trace: which arrays of numbers are symbols.

    An array that a function reads from somewhere else, such as the runtime parameters of the model, is a constant of
    its code unless it is named here.
    """

    def __init__(self) -> None:
        self._known: dict[int, tuple[Array, TracedArray]] = {}
        self._functions: dict[tuple[str, str], ca.Function] = {}

    def name(self, array: Array, symbols: TracedArray) -> None:
        """From now on ``symbols`` stand for that very array."""
        self._known[id(array)] = (array, symbols)  # the array itself, so that no other one gets its id

    def symbols(self, array: Array) -> TracedArray | None:
        """The symbols that stand for an array, or None."""
        return self._known.get(id(array), (None, None))[1]

    def function(self, program: Program) -> ca.Function:
        """A program's expressions, written once in a trace."""
        key = (program.name, program.key)
        if key not in self._functions:
            self._functions[key] = program.function()
        return self._functions[key]

    @contextmanager
    def running(self) -> Iterator[Trace]:
        """Within it, compiled functions of the package ask this trace for the arrays that they read."""
        token = _running.set(self)
        try:
            yield self
        finally:
            _running.reset(token)


_running: ContextVar[Trace | None] = ContextVar("trace", default=None)


class TracedArray(NDArrayOperatorsMixin):
    """An array of expressions, for NumPy's functions and operators.

    Attributes:
        elements: CasADi scalars in an array of objects; a view shares them, as with arrays of numbers.
        truth: NumPy would have an array of truths, which it adds by "or" and does not subtract.
    """

    dtype = np.dtype(np.float64)

    def __init__(self, elements: Elements, truth: bool = False) -> None:
        """
        Args:
            elements: CasADi scalars, or numbers, in an array of objects.
            truth: they are 0 or 1, of a comparison.
        """
        self.elements, self.truth = elements, truth

    # What NumPy calls

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *values: Any, **options: Any) -> Any:
        out, truths = options.pop("out", None), all(map(_is_truth, values))
        if truths and method == "__call__" and ufunc in _SUMS:
            raise TraceError(_OTHERWISE.format(ufunc.__name__))
        if method == "reduce" and ufunc in _ELEMENTWISE:
            found = elements_of(_reduced(ufunc, *values, **options))
        elif method != "__call__" or set(options) - {"dtype", "casting"}:
            raise TraceError(f"numpy.{ufunc.__name__} with {method} or {', '.join(options)} cannot be traced")
        elif ufunc is np.matmul:
            operands = [elements_of(value) for value in values]
            found = np.matmul(*operands) if all(item.size for item in operands) else np.zeros(0, object)
        elif ufunc in _ELEMENTWISE:
            found = _apply(_ELEMENTWISE[ufunc], *map(elements_of, values))
        else:
            raise TraceError(f"numpy.{ufunc.__name__} cannot be traced")
        if out is None:
            return _wrapped(found, _gives_truths(ufunc, truths))
        target = out[0]
        if not isinstance(target, TracedArray):
            raise TraceError(f"the result of numpy.{ufunc.__name__} is put into an array of numbers")
        target.elements[...] = found
        return target

    def __array_function__(self, function: Any, types: Any, values: Any, options: Any) -> Any:
        if function in _FUNCTIONS:
            return _FUNCTIONS[function](*values, **options)
        if function in _STRUCTURAL:
            truths = _are_truths(values)
            if truths and function in _SUMMING:
                raise TraceError(_OTHERWISE.format(function.__name__))
            found = function(*_unwrapped(values), **_unwrapped(options))
            return _wrapped(found, truths and function not in (np.trace, np.cumsum))
        raise TraceError(f"numpy.{function.__name__} cannot be traced")

    def __array__(self, dtype: Any = None, copy: Any = None) -> Elements:
        """Its scalars, traced ones, so that ``np.array([a, b])`` works; an array of numbers it is not."""
        if dtype is not None and np.dtype(dtype) != object:
            raise TraceError("a conversion to an array of numbers cannot be traced")
        return _apply(lambda element: TracedArray(_scalar(element), self.truth), self.elements)

    # What functions do with arrays

    shape = property(lambda self: self.elements.shape)
    ndim = property(lambda self: self.elements.ndim)
    size = property(lambda self: self.elements.size)
    T = property(lambda self: TracedArray(self.elements.T, self.truth))

    def __len__(self) -> int:
        return len(self.elements)

    def __iter__(self) -> Iterator[TracedArray]:
        return (self[index] for index in range(len(self)))

    def __getitem__(self, index: Any) -> TracedArray:
        return TracedArray(_scalar(self.elements[_position(index)]), self.truth)

    def __setitem__(self, index: Any, value: Any) -> None:
        self.elements[_position(index)] = elements_of(value)[()]

    def copy(self) -> TracedArray:
        """As of an array."""
        return TracedArray(self.elements.copy(), self.truth)

    def __copy__(self) -> TracedArray:
        return self.copy()

    def tolist(self) -> list[Any]:
        """Traced scalars in lists."""
        return [item if item.ndim == 0 else item.tolist() for item in self]

    def astype(self, dtype: Any, **_: Any) -> TracedArray:
        """Expressions have one type only: that of real numbers, with 0 and 1 for truth."""
        if np.dtype(dtype).kind not in "fb":
            raise TraceError(f"a conversion to {np.dtype(dtype)}")
        numbers = TracedArray(self.elements.copy())
        return numbers if np.dtype(dtype).kind == "f" else numbers != 0.0

    def __getattr__(self, name: str) -> Any:
        """The methods of arrays that are functions of NumPy as well, such as ``sum`` and ``reshape``."""
        if name in _METHODS:
            return partial(_METHODS[name], self)
        raise AttributeError(name)

    def _refuse(self, *_: Any) -> Any:
        raise TraceError("it asks for a value (if, and, or, min, max, float or a function of math); np.where does not")

    __bool__ = __float__ = __int__ = __index__ = __round__ = _refuse

    def __hash__(self) -> int:
        return id(self)

    def __repr__(self) -> str:
        return f"TracedArray({self.elements})"


def symbols(name: str, shape: tuple[int, ...]) -> Any:
    """New symbols in the shape of an array: a :class:`TracedArray`, for functions that take an array."""
    found = np.empty(shape, object)
    for index in np.ndindex(shape):
        found[index] = ca.SX.sym("_".join([name, *map(str, index)]))
    return TracedArray(found)


def column(values: Sequence[Any]) -> ca.SX:
    """Arrays, traced or not, one after the other as one column of expressions, each in row-major order."""
    return ca.vertcat(*(ca.SX(item) for value in values for item in elements_of(value).ravel()), ca.SX(0, 1))


def elements_of(value: Any) -> Elements:
    """The elements of anything that a function may use as an array.

    Raises:
        TraceError: it is no array of real numbers, traced or not.
    """
    if isinstance(value, TracedArray):
        return value.elements
    array = np.asarray(value)
    if array.dtype == object:  # of np.array([a, b]) with traced a, b
        return _apply(lambda item: item.elements[()] if isinstance(item, TracedArray) else item, array)
    if array.dtype.kind not in "fiub":
        raise TraceError(f"an array of {array.dtype}")
    return array.astype(np.float64).astype(object)


def is_traced(values: Sequence[Any]) -> bool:
    """Return whether any of these is traced, or is an array that has something traced in it."""
    return any(
        isinstance(value, TracedArray)
        or (isinstance(value, np.ndarray) and value.dtype == object and any(map(_is_expression, value.flat)))
        for value in values
    )


def _is_expression(value: object) -> bool:
    return isinstance(value, TracedArray) or type(value).__module__.partition(".")[0] == "casadi"


def inlined(program: Program, parameters: Array, values: Sequence[Any]) -> Any:
    """The result of a call of a compiled function in a trace: its expressions, in those of its arguments.

    Args:
        program: of the function.
        parameters: the array that its runtime parameters are read from.
        values: its arguments, of one state.

    Raises:
        TraceError: an argument has the wrong shape.
    """
    trace = _running.get() or Trace()
    known = trace.symbols(parameters)
    given = [column([value]) for value in (*values, parameters if known is None else known)]
    widths = (*program.widths[0], len(parameters))
    for value, width in zip(given, widths, strict=True):
        if value.shape[0] != width:
            raise TraceError(f"{program.name} is called with {value.shape[0]} numbers where there should be {width}")
    results = trace.function(program).call(given)
    found = [_wrapped(_scalars(result).reshape(shape)) for result, shape in zip(results, program.outputs, strict=True)]
    return found[0] if len(found) == 1 else tuple(found)


def _scalars(vector: ca.SX) -> Elements:
    return np.fromiter(vector.elements(), object, vector.numel())


def traced(matrix: ca.SX) -> Any:
    """Expressions (n, m) as an array for NumPy's functions: the inverse of :func:`column` but for the shape."""
    return TracedArray(_scalars(ca.densify(ca.vec(matrix.T))).reshape(matrix.shape))


def _scalar(found: Any) -> Elements:
    """An array of objects, also where NumPy gave the object itself."""
    if isinstance(found, np.ndarray):
        return found
    box = np.empty((), object)
    box[()] = found
    return box


def _position(index: Any) -> Any:
    if is_traced(index if isinstance(index, tuple) else (index,)):
        raise TraceError("it chooses elements by a value; np.where does not")
    return index


def _wrapped(found: Any, truth: bool = False) -> Any:
    if isinstance(found, (list, tuple)):
        return type(found)(_wrapped(item, truth) for item in found)
    return TracedArray(_scalar(found), truth)


def _gives_truths(ufunc: np.ufunc, truths: bool) -> bool:
    return ufunc in _TRUTHS or (truths and ufunc in _OF_TRUTHS)


def _is_truth(value: Any) -> bool:
    return value.truth if isinstance(value, TracedArray) else np.asarray(value).dtype == bool


def _are_truths(values: Any) -> bool:
    """Return whether all arrays and fractions among the arguments of a function, also in lists, are truths."""
    if isinstance(values, (list, tuple)):
        return all(map(_are_truths, values))
    return not isinstance(values, (TracedArray, np.ndarray, float)) or _is_truth(values)


def _unwrapped(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return type(value)(_unwrapped(item) for item in value)
    if isinstance(value, dict):
        return {key: _unwrapped(item) for key, item in value.items()}
    return elements_of(value) if is_traced([value]) else value


def _apply(operation: Callable[..., Any], *operands: Elements) -> Elements:
    return _scalar(np.frompyfunc(operation, len(operands), 1)(*operands))


def _reduced(ufunc: np.ufunc, value: Any, axis: Any = 0, keepdims: bool = False, **options: Any) -> Any:
    given = {key: option for key, option in options.items() if option is not None and key != "dtype"}
    if given.keys() - {"initial"}:
        raise TraceError(f"numpy.{ufunc.__name__}.reduce with {', '.join(given)}")
    operation = np.frompyfunc(_ELEMENTWISE[ufunc], 2, 1, identity=ufunc.identity)
    if ufunc in _TRUTHS and not _is_truth(value):
        value = np.not_equal(value, 0.0)  # a single one would stay a number
    return _wrapped(operation.reduce(elements_of(value), axis=axis, keepdims=keepdims, **given))


def _casadi(name: str) -> Callable[..., Any]:
    """A function of CasADi, found when it is called; numbers become constants of expressions."""

    def call(*values: Any) -> Any:
        return getattr(ca, name)(*map(ca.SX, values))

    return call


def _is_nan(x: Any) -> Any:
    return _casadi("logic_not")(_casadi("le")(_casadi("fabs")(x), np.inf))


def _extreme(is_second: str) -> Callable[[Any, Any], Any]:
    """The function that gives the second of two numbers where the comparison is true, else the first; NaN if one is."""

    def call(x: Any, y: Any) -> Any:
        takes_second = _casadi("logic_or")(_casadi(is_second)(x, y), _is_nan(y))
        return _casadi("if_else")(takes_second, y, x)

    return call


_ELEMENTWISE: dict[Any, Callable[..., Any]] = {
    np.add: operator.add,
    np.subtract: operator.sub,
    np.multiply: operator.mul,
    np.true_divide: _casadi("rdivide"),
    np.float_power: _casadi("power"),
    np.negative: operator.neg,
    np.positive: operator.pos,
    np.square: lambda x: x * x,
    np.reciprocal: lambda x: _casadi("rdivide")(1.0, x),
    np.minimum: _extreme("ge"),
    np.maximum: _extreme("le"),
    np.absolute: _casadi("fabs"),
    np.arctan2: _casadi("atan2"),
    np.less: _casadi("lt"),
    np.less_equal: _casadi("le"),
    np.greater: _casadi("gt"),
    np.greater_equal: _casadi("ge"),
    np.equal: _casadi("eq"),
    np.not_equal: _casadi("ne"),
    np.bitwise_and: _casadi("logic_and"),
    np.bitwise_or: _casadi("logic_or"),
    np.invert: _casadi("logic_not"),
    np.isfinite: lambda x: _casadi("lt")(_casadi("fabs")(x), np.inf),
    np.isnan: _is_nan,
    **{getattr(np, name): _casadi(name) for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh", "sqrt", "exp")},
    **{getattr(np, name): _casadi(name) for name in ("log", "expm1", "log1p", "floor", "ceil", "sign", "fabs")},
    **{getattr(np, name): _casadi(name) for name in ("power", "hypot", "copysign", "fmin", "fmax")},
    **{getattr(np, f"logical_{name}"): _casadi(f"logic_{name}") for name in ("and", "or", "not")},
    **{getattr(np, f"arc{name}"): _casadi(f"a{name}") for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh")},
}
"""NumPy's universal functions → the operation on scalars."""

_TRUTHS = {
    *(np.less, np.less_equal, np.greater, np.greater_equal, np.equal, np.not_equal, np.isfinite, np.isnan),
    *(np.logical_and, np.logical_or, np.logical_not, np.bitwise_and, np.bitwise_or, np.invert),
}
"""Universal functions that give truths."""

_OF_TRUTHS = {np.multiply, np.minimum, np.maximum, np.fmin, np.fmax}
"""Universal functions that give truths if they get truths."""

_SUMS = {np.add, np.subtract, np.negative, np.matmul}
"""Universal functions that NumPy has otherwise, or not at all, for truths."""

_STRUCTURAL = {
    *(np.concatenate, np.stack, np.hstack, np.vstack, np.column_stack, np.reshape, np.ravel, np.transpose, np.squeeze),
    *(np.diagonal, np.diag, np.trace, np.outer, np.dot, np.inner, np.einsum, np.tensordot, np.kron, np.flip),
    *(np.expand_dims, np.swapaxes, np.moveaxis, np.repeat, np.tile, np.roll, np.broadcast_to, np.atleast_1d),
    *(np.atleast_2d, np.split, np.array_split, np.triu, np.tril, np.take, np.append, np.delete, np.cumsum, np.copy),
    *(np.cross, np.diff, np.block),
}
"""NumPy's functions that only move elements, add and multiply them: they work on arrays of objects as they are."""

_SUMMING = {np.dot, np.inner, np.einsum, np.tensordot, np.diff}
"""Those that NumPy has otherwise for truths."""


def _where(condition: Any, *values: Any) -> Any:
    if len(values) != 2:
        raise TraceError("numpy.where with a condition only")
    chosen = _casadi("if_else")
    return _wrapped(_apply(chosen, *map(elements_of, (condition, *values))), all(map(_is_truth, values)))


def _clip(value: Any, a_min: Any = None, a_max: Any = None, **options: Any) -> Any:
    low, high = options.pop("min", a_min), options.pop("max", a_max)
    value = value if low is None else np.maximum(value, low)
    value = value if high is None else np.minimum(value, high)
    return np.positive(value, **options) if options else value


def _like(value: Any) -> NDArray[Any]:
    """An array of numbers, or of truths, in the shape of a traced one."""
    return np.zeros(elements_of(value).shape, bool if _is_truth(value) else float)


def _full_like(value: Any, fill_value: Any, *given: Any, **options: Any) -> Any:
    if not is_traced([fill_value]):
        return np.full_like(_like(value), fill_value, *given, **options)
    zeros = np.zeros_like(_like(value), *given, **options)
    return (fill_value + zeros.astype(float)).astype(zeros.dtype)


def _mean(value: Any, axis: Any = None) -> Any:
    total = np.sum(value, axis=axis)
    return total * (total.size / elements_of(value).size)


def _norm(value: Any, ord: Any = None, axis: Any = None) -> Any:  # noqa: A002
    if ord not in (None, 2) or (axis is None and np.ndim(elements_of(value)) != 1):
        raise TraceError("numpy.linalg.norm of another kind than that of a vector")
    return np.sqrt(np.sum(np.square(value), axis=axis))


def _matrix(elements: Elements) -> ca.SX:
    return ca.reshape(column([elements.T]), *elements.shape)


def _solve(matrix: Any, right: Any) -> Any:
    """A⁻¹ b by CasADi's QR decomposition; b (n,) or (n, k)."""
    return _solved(ca.solve, matrix, right)


def _solved(solve: Callable[[ca.SX, ca.SX], ca.SX], matrix: Any, right: Any) -> Any:
    given = elements_of(right)
    found = solve(_matrix(elements_of(matrix)), _matrix(given.reshape(len(given), -1)))
    return TracedArray(traced(found).elements.reshape(given.shape))


def solve_positive(matrix: Any, right: Any) -> Any:
    """A⁻¹ b of a symmetric positive definite A (n, n), for b (n,) or (n, k), as arrays or traced.

    As expressions it takes a third of the operations of ``np.linalg.solve``.
    """
    return _solved(solve_symmetric, matrix, right) if is_traced((matrix, right)) else np.linalg.solve(matrix, right)


def solve_symmetric(matrix: ca.SX, right: ca.SX) -> ca.SX:
    """Solve A X = B, (n, n) and (n, k), for a symmetric positive definite A by Lᵀ D L.

    It goes from the last coordinate to the first, which suits a mass matrix: no zero between branches of a tree is
    lost, and the tips' part is known first (Featherstone, Rigid Body Dynamics Algorithms, section 6.5).
    """
    n = matrix.shape[0]
    left, inverse, x = ca.SX(matrix), ca.SX.zeros(n), ca.SX(right)
    lower = ca.SX.eye(n)
    for k in reversed(range(n)):
        inverse[k] = 1 / left[k, k]
        lower[k, :k] = left[k, :k] * inverse[k]
        for i in range(k):
            left[i, : i + 1] -= lower[k, i] * left[k, : i + 1]
            x[i, :] -= lower[k, i] * x[k, :]
    for k in range(n):
        x[k, :] = x[k, :] * inverse[k] - sum((lower[k, i] * x[i, :] for i in range(k)), ca.SX(0))
    return x


def symmetric(matrix: Any) -> Any:
    """A matrix that is symmetric but for rounding. Expressions are computed for its lower triangle alone."""
    return np.tril(matrix) + np.tril(matrix, -1).T if is_traced((matrix,)) else matrix


def _eigh(matrix: Any, UPLO: str = "L") -> tuple[Any, Any]:
    """Eigenvalues, ascending, and eigenvectors of a symmetric matrix by Jacobi's method, for a few rows.

    Source: Golub and Van Loan, Matrix Computations (2013), §8.5, algorithm 8.5.1 and 8.5.2 (cyclic by row).
    """
    matrix = TracedArray(elements_of(matrix).copy())
    n = len(matrix)
    vectors = TracedArray(elements_of(np.eye(n)).copy())
    for _ in range(SWEEPS):
        for p, q in combinations(range(n), 2):
            off, gap = matrix[p, q], (matrix[q, q] - matrix[p, p]) / 2.0
            t = off / (gap + np.copysign(np.sqrt(gap * gap + off * off) + TINY, gap))
            c = 1.0 / np.sqrt(1.0 + t * t)
            s = t * c
            matrix[p, p], matrix[q, q] = matrix[p, p] - t * off, matrix[q, q] + t * off
            matrix[p, q] = matrix[q, p] = 0.0
            for k in range(n):
                if k not in (p, q):
                    low, high = matrix[k, p], matrix[k, q]
                    matrix[k, p] = matrix[p, k] = c * low - s * high
                    matrix[k, q] = matrix[q, k] = s * low + c * high
                left, right = vectors[k, p], vectors[k, q]
                vectors[k, p], vectors[k, q] = c * left - s * right, s * left + c * right
    values = matrix.diagonal().copy()
    for last in reversed(range(1, n)):  # bubble sort
        for k in range(last):
            swap, first, second = values[k] > values[k + 1], values[k], values[k + 1]
            values[k], values[k + 1] = np.minimum(first, second), np.maximum(first, second)
            one, other = vectors[:, k].copy(), vectors[:, k + 1].copy()
            vectors[:, k], vectors[:, k + 1] = np.where(swap, other, one), np.where(swap, one, other)
    return values, vectors


_REDUCTIONS: dict[Any, np.ufunc] = {
    np.sum: np.add,
    np.prod: np.multiply,
    np.min: np.minimum,
    np.max: np.maximum,
    np.any: np.logical_or,
    np.all: np.logical_and,
}
"""NumPy's functions that reduce an array → the universal function of the reduction."""


def _reduction(ufunc: np.ufunc, value: Any, axis: Any = None, **options: Any) -> Any:
    return ufunc.reduce(value, axis=axis, **options)


_FUNCTIONS: dict[Any, Callable[..., Any]] = {
    np.where: _where,
    np.clip: _clip,
    np.mean: _mean,
    np.linalg.norm: _norm,
    np.linalg.solve: _solve,
    np.linalg.inv: lambda matrix: _solve(matrix, np.eye(len(matrix))),
    np.linalg.eigh: _eigh,
    np.zeros_like: lambda value, *given, **options: np.zeros_like(_like(value), *given, **options),
    np.ones_like: lambda value, *given, **options: np.ones_like(_like(value), *given, **options),
    np.full_like: _full_like,
    np.shape: lambda value: elements_of(value).shape,
    np.ndim: lambda value: elements_of(value).ndim,
    np.size: lambda value: elements_of(value).size,
    **{function: partial(_reduction, ufunc) for function, ufunc in _REDUCTIONS.items()},
}
"""NumPy's other functions → the same for traced arrays."""

_METHODS: dict[str, Callable[..., Any]] = {
    **{name: getattr(np, name) for name in ("sum", "prod", "min", "max", "any", "all", "mean", "dot", "ravel")},
    "clip": _clip,
    **{name: getattr(np, name) for name in ("diagonal", "trace", "repeat", "squeeze", "swapaxes", "cumsum", "take")},
    "flatten": lambda array: TracedArray(array.elements.flatten(), array.truth),
    "reshape": lambda array, *shape: TracedArray(array.elements.reshape(*shape), array.truth),
    "transpose": lambda array, *axes: TracedArray(array.elements.transpose(*axes), array.truth),
}
"""Names of methods of arrays → the functions."""
