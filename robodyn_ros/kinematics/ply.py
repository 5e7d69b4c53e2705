"""A cloud of coloured points as a PLY file, for MeshLab, CloudCompare, Blender and RViz (Turk, The PLY polygon file
format (1994)).
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robodyn_ros.errors import InputError
from robodyn_ros.robot.pose import Array

_SCALE = np.array([[68, 1, 84], [59, 82, 139], [33, 145, 140], [94, 201, 98], [253, 231, 37]], dtype=np.float64)
"""Dark blue to yellow, even to the eye and to the colour-blind (the map viridis of Smith and van der Walt, 2015)."""


def colours(values: ArrayLike) -> NDArray[np.uint8]:
    """Red, green, blue (N, 3) of values (N,), from the least to the greatest finite one."""
    given = np.asarray(values, dtype=np.float64)
    finite = given[np.isfinite(given)]
    least, greatest = (finite.min(), finite.max()) if len(finite) else (0.0, 1.0)
    place = np.nan_to_num((given - least) / (greatest - least or 1.0), nan=0.0, posinf=1.0, neginf=0.0)
    place = np.clip(place, 0.0, 1.0) * (len(_SCALE) - 1)
    channels = [np.interp(place, np.arange(len(_SCALE)), channel) for channel in _SCALE.T]
    return np.round(np.stack(channels, -1)).astype(np.uint8)


def write_ply(path: str | os.PathLike[str], points: ArrayLike, values: ArrayLike) -> None:
    """Write points and their values: position, colour, and the value itself as the property ``value``; binary.

    Args:
        path: of the file.
        points: (N, 3) in [m].
        values: (N,).

    Raises:
        InputError: shapes that do not fit.
        OSError: it cannot be written.
    """
    where: Array = np.asarray(points, dtype=np.float64)
    value: Array = np.asarray(values, dtype=np.float64)
    if where.ndim != 2 or where.shape[1] != 3 or value.shape != where.shape[:1]:
        raise InputError("points", f"must be (N, 3) with N values, not {where.shape} and {value.shape}")
    kinds = [(name, "<f4") for name in "xyz"] + [(name, "u1") for name in ("red", "green", "blue")] + [("value", "<f4")]
    rows = np.empty(len(where), dtype=kinds)
    for name, column in zip((*"xyz", "red", "green", "blue"), (*where.T, *colours(value).T), strict=True):
        rows[name] = column
    rows["value"] = value
    names = {"<f4": "float", "u1": "uchar"}
    header = ["ply", "format binary_little_endian 1.0", f"element vertex {len(where)}"]
    header += [*(f"property {names[kind]} {name}" for name, kind in kinds), "end_header", ""]
    Path(path).write_bytes("\n".join(header).encode() + rows.tobytes())
