# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The arguments of a call: one state or many."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from robodyn_ros.checks import as_real
from robodyn_ros.errors import InputError
from robodyn_ros.robot.pose import Array


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
