"""A picture of a workspace map: points of a plane, coloured by a value. Needs Matplotlib (the extra ``plot``)."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from robodyn_ros.errors import InputError, NotReadyError

AXES = "xyz"


def plot_map(
    path: str | os.PathLike[str],
    points: ArrayLike,
    values: ArrayLike,
    *,
    plane: str = "xz",
    title: str = "",
    label: str = "",
    levels: tuple[float, ...] = (),
    size: float | None = None,
) -> None:
    """Draw cells of a plane as squares in the colour of their value.

    Args:
        path: of the picture; its ending says the format, ``.png`` for instance.
        points: centres of the cells (N, 3) in [m].
        values: (N,); what is not a number is not drawn.
        plane: two of x, y, z: across and up.
        title: above the picture.
        label: what the value is, with its unit.
        levels: values to mark on the scale.
        size: edge of a cell [m]; the least distance between two of them unless given.

    Raises:
        InputError: no such plane, or shapes that do not fit.
        NotReadyError: Matplotlib is not installed.
    """
    if len(plane) != 2 or plane[0] == plane[1] or not set(plane) <= set(AXES):
        raise InputError("plane", f"must be two of x, y, z, not {plane!r}", plane)
    where, value = np.asarray(points, dtype=np.float64), np.asarray(values, dtype=np.float64)
    if where.ndim != 2 or where.shape[1] != 3 or value.shape != where.shape[:1] or not len(where):
        raise InputError("points", f"must be (N, 3) with N values, not {where.shape} and {value.shape}")
    across, up = (where[:, AXES.index(name)] for name in plane)
    figure, axes = _figure(float(np.ptp(across)), float(np.ptp(up)))
    edge = size or min(_step(across), _step(up))
    shown = np.isfinite(value)
    columns, rows = (np.round((part - part.min()) / edge).astype(int) for part in (across, up))
    picture = np.full((rows.max() + 1, columns.max() + 1), np.nan)
    picture[rows[shown], columns[shown]] = value[shown]
    extent = (across.min() - edge / 2, across.max() + edge / 2, up.min() - edge / 2, up.max() + edge / 2)
    image = axes.imshow(picture, origin="lower", extent=extent, cmap="viridis", interpolation="nearest")
    scale = figure.colorbar(image, ax=axes, label=label, shrink=0.85)
    for level in levels:
        scale.ax.axhline(level, color="white", linewidth=1.5)
        axes.contour(np.nan_to_num(picture, nan=-np.inf), [level], colors="white", linewidths=1.0, extent=extent)
    axes.set(xlabel=f"{plane[0]} [m]", ylabel=f"{plane[1]} [m]", title=title, aspect="equal")
    figure.savefig(path, dpi=110)


def _figure(width: float, height: float) -> tuple[Any, Any]:
    """A figure that a map of that width and height [m] fills."""
    try:
        from matplotlib.figure import Figure
    except ImportError as cause:
        raise NotReadyError("a picture needs Matplotlib, which is not installed (pip install matplotlib)") from cause
    share = np.clip((width + 0.1) / (height + 0.1), 0.4, 2.5)
    figure = Figure(figsize=(5.5 * np.sqrt(share) + 1.6, 5.5 / np.sqrt(share) + 0.8), layout="constrained")
    return figure, figure.add_subplot()


def _step(values: np.ndarray[Any, Any]) -> float:
    """The least distance between two different values [m]."""
    different = np.diff(np.unique(np.round(values, 9)))
    return float(different.min()) if len(different) else np.inf
