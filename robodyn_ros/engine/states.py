"""What a call takes: one state or many."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from robodyn_ros.errors import InputError
from robodyn_ros.robot.pose import Array


def as_states(names: Sequence[str], values: Sequence[object], widths: Sequence[int]) -> list[Array]:
    """Contiguous float64 arrays, all of one state, (width,), or all of N states, (N, width).

    Raises:
        InputError: one has the wrong shape or is not of real numbers, or they are of different numbers of states.
    """
    arrays = [_as_state(*given) for given in zip(names, values, widths, strict=True)]
    if len({array.shape[:-1] for array in arrays}) > 1:
        given = ", ".join(f"{name} {array.shape}" for name, array in zip(names, arrays, strict=True))
        raise InputError("arguments", f"must all be one state or all be N of them, not {given}")
    return arrays


def refuse_non_finite(names: Sequence[str], values: Sequence[object]) -> None:
    """Name the culprit. Finite numbers whose sum overflows are nobody's fault.

    Raises:
        InputError: a value holds a NaN or an infinity.
    """
    for name, value in zip(names, values, strict=True):
        if not np.isfinite(np.asarray(value, dtype=np.float64)).all():
            raise InputError(name, "must be finite, it holds a NaN or an infinity", value)


def _as_state(name: str, value: object, width: int) -> Array:
    try:
        array = np.asarray(value)
    except ValueError as cause:
        raise InputError(name, f"must be an array of shape ({width},) or (N, {width})", value) from cause
    if array.dtype.kind not in "fiu":
        raise InputError(name, f"must be real numbers, not {array.dtype}", value)
    if array.ndim not in (1, 2) or array.shape[-1] != width:
        raise InputError(name, f"must be of shape ({width},) or (N, {width}), not {array.shape}", value)
    return np.ascontiguousarray(array, dtype=np.float64)
