# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Checks of arguments: arrays of finite numbers of the right shape, and choices."""

from __future__ import annotations

from collections.abc import Iterable
from math import isfinite
from operator import le
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robodyn_ros.errors import InputError, one_of
from robodyn_ros.robot.pose import Array

FEW = 64
"""Up to so many elements plain Python is faster than NumPy."""


def finite_array(name: str, value: ArrayLike, shape: tuple[int, ...]) -> Array:
    """``value`` as a float64 array, not copied if it is one already.

    Raises:
        InputError: it is no array of real numbers, has another shape, or is not finite.
    """
    array = np.asarray(_real(name, value, "real numbers"), dtype=np.float64)
    if array.shape != shape:
        raise InputError(name, f"has shape {array.shape}, not {shape}", value)
    if not is_finite(array):
        raise InputError(name, f"is not finite: {array}", value)
    return array


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
    scalar = np.ndim(value) == 0
    array = np.array(np.broadcast_to(finite_array(name, value, () if scalar else (n,)), (n,)))
    array.setflags(write=False)
    return array


def non_negative(name: str, value: ArrayLike, n: int) -> Array:
    """As :func:`per_joint`, and no number is below zero.

    Raises:
        InputError: as :func:`per_joint`, or a number is below zero.
    """
    array = per_joint(name, value, n)
    if (array < 0.0).any():
        raise InputError(name, f"must not be negative: {array}", value)
    return array


def check_choice(name: str, value: object, choices: Iterable[str]) -> None:
    """Check that a value is one of several names.

    Raises:
        InputError: it is none of them; the message lists them.
    """
    known = list(choices)
    if value not in known:
        raise InputError(name, f"must be {one_of(value, known)}", value)
