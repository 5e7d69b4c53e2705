# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Checks of arguments: arrays of finite numbers of the right shape, one state or many, and choices."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import isfinite
from operator import le
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robodyn_ros.errors import InputError, one_of
from robodyn_ros.robot.pose import Array, read_only

FEW = 64
"""Up to so many elements plain Python is faster than NumPy."""


def finite_array(name: str, value: ArrayLike, shape: tuple[int, ...]) -> Array:
    """``value`` as a contiguous float64 array, not copied if it is one already.

    Raises:
        InputError: it is no array of real numbers, has another shape, or is not finite.
    """
    array = np.asarray(_real(name, value, "real numbers"), dtype=np.float64, order="C")
    if array.shape != shape:
        raise InputError(name, f"has shape {array.shape}, not {shape}", value)
    if not is_finite(array):
        raise InputError(name, f"is not finite: {array}", value)
    return array


def as_row(value: Any) -> tuple[Any, ...]:
    """The elements of a parameter; a single value is a row of one."""
    return tuple(value) if isinstance(value, Iterable) else (value,)


def as_real(name: str, value: object, expected: str) -> Array:
    """A contiguous, aligned float64 array of real numbers, of any shape.

    Args:
        name: the argument's name, for the message.
        value: the argument.
        expected: description of the argument, for the message.

    Raises:
        InputError: it is no array, or holds something else than real numbers: complex ones, text, objects, booleans.
    """
    array = _real(name, value, expected)
    with np.errstate(over="ignore"):  # values beyond the range of float64 become infinite, and are reported as such
        return np.require(array, np.float64, ("C", "A"))


def _real(name: str, value: object, expected: str) -> NDArray[Any]:
    try:
        array = np.asarray(value)
    except Exception as cause:  # whatever an object's own __array__ raises, it is no array
        raise InputError(name, f"must be {expected}, not {in_short(value)}", value) from cause
    if array.dtype.kind not in "fiu":
        raise InputError(name, f"must be {expected}, not {in_short(value)}", value)
    return array


def in_short(value: object) -> str:
    """A value as written in code, on one line of at most 60 characters."""
    try:
        text = " ".join(repr(value).split())
    except Exception:  # of somebody's object, or a whole number of thousands of digits
        return f"a value of the type {type(value).__name__}"
    return text if len(text) <= 60 else f"{text[:57]}..."


def is_finite(array: Array) -> bool:
    """Return whether all elements are finite; five times as fast as ``np.isfinite(array).all()`` on a few elements."""
    if array.size > FEW:
        return bool(np.isfinite(array).all())
    return all(map(isfinite, array.ravel().tolist()))


def is_any(mask: NDArray[np.bool_]) -> bool:
    """Return whether any element is true; ten times as fast as ``mask.any()`` on a few elements."""
    return bool(mask.any()) if mask.size > FEW else True in mask.ravel().tolist()


def is_within(values: Array, bound: Array) -> bool:
    """Return whether each element is within ± its bound; fast on a few elements, too."""
    return all(map(le, map(abs, values.tolist()), bound.tolist()))


def per_joint(name: str, value: ArrayLike, n: int) -> Array:
    """A finite number for each of n joints, from n numbers or one for all; a copy that cannot be written to.

    Raises:
        InputError: it is neither, or not finite.
    """
    return read_only(np.broadcast_to(finite_array(name, value, (n,) if np.ndim(value) else ()), (n,)))


def non_negative(name: str, value: ArrayLike, n: int) -> Array:
    """As :func:`per_joint`, and no number is below zero.

    Raises:
        InputError: as :func:`per_joint`, or a number is below zero.
    """
    array = per_joint(name, value, n)
    if (array < 0.0).any():
        raise InputError(name, f"must not be negative: {array}", value)
    return array


def check(is_right: object, name: str, wanted: str, value: object) -> None:
    """Raise an InputError about an argument unless it is right: it must be what is wanted, not this value."""
    if not is_right:
        raise InputError(name, f"must be {wanted}, not {in_short(value)}", value)


def check_choice(name: str, value: object, choices: Iterable[str]) -> None:
    """Check that a value is one of several names.

    Raises:
        InputError: it is none of them; the message lists them.
    """
    known = list(choices)
    if value not in known:
        raise InputError(name, f"must be {one_of(value, known)}", value)


def as_states(names: Sequence[str], values: Sequence[object], widths: Sequence[int]) -> list[Array]:
    """Contiguous, aligned float64 arrays, either all for one state, (width,), or all for N states, (N, width).

    Raises:
        InputError: one has the wrong shape or is not of real numbers, or the arrays differ in their number of states.
    """
    arrays = [_as_state(*given) for given in zip(names, values, widths, strict=True)]
    if len({array.shape[:-1] for array in arrays}) > 1:
        given = ", ".join(f"{name} {array.shape}" for name, array in zip(names, arrays, strict=True))
        raise InputError("arguments", f"must all be one state or all be N of them, not {given}")
    return arrays


def finite_states(name: str, value: object, width: int) -> Array:
    """One argument as by :func:`as_states`, (width,) or (N, width), all numbers of it finite.

    Raises:
        InputError: it has the wrong shape, or is not of finite real numbers.
    """
    array = _as_state(name, value, width)
    refuse_non_finite((name,), (array,))
    return array


def finite_state(name: str, value: object, width: int) -> Array:
    """As :func:`finite_states`, for one state alone."""
    array = finite_states(name, value, width)
    if array.ndim > 1:
        raise InputError(name, f"must be of shape ({width},), not {array.shape}", value)
    return array


def refuse_non_finite(names: Sequence[str], values: Sequence[object]) -> None:
    """Raise an error for the first value that is not finite.

    The check of a kernel is the sum of its inputs, which may overflow although all values are finite; then there is no
    error.

    Raises:
        InputError: a value holds a NaN or an infinity.
    """
    for name, value in zip(names, values, strict=True):
        if not np.isfinite(as_real(name, value, "real numbers")).all():
            raise InputError(name, "must be finite, it holds a NaN or an infinity", value)


def _as_state(name: str, value: object, width: int) -> Array:
    array = as_real(name, value, "real numbers")
    if array.ndim not in (1, 2) or array.shape[-1] != width:
        raise InputError(name, f"must be of shape ({width},) or (N, {width}), not {array.shape}", value)
    return array
