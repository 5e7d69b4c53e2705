# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Is a result of a dynamics plugin what the interface says: an array of floats, of its shape, and finite?"""

from __future__ import annotations

import numpy as np

from robodyn_ros.errors import ModelError
from robodyn_ros.robot.pose import Array


def finite_result(method: str, answer: object, shape: tuple[int, ...]) -> Array:
    """A result of a plugin.

    Args:
        method: which gave it.
        answer: the result.
        shape: that it should have.

    Raises:
        ModelError: it is not a finite array of floats of this shape; the message says what it is.
    """
    if not isinstance(answer, (np.ndarray, np.floating)):
        raise ModelError(f"dynamics plugin: {method} {_gives(answer)}")
    array: Array = np.asarray(answer)
    if array.shape != shape or array.dtype.kind not in "fi" or not np.isfinite(array).all():
        raise ModelError(f"dynamics plugin: {method} gives no finite numbers of shape {shape}, but {answer!r}")
    return array


def _gives(answer: object) -> str:
    if answer is None:
        return "returns None: is its return statement missing?"
    said = f"gives no array, but a {type(answer).__name__}"
    try:
        np.asarray(answer)
    except Exception as cause:  # of whatever object it is
        return f"{said}: {cause}"
    return said
