# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Pictures of a workspace: a map of a plane, or three slices and a cloud, with the arm at home in them; point clouds.

A point cloud is a PLY file (Turk, The PLY polygon file format (1994)), which MeshLab, CloudCompare, Blender and RViz
read. A picture needs Matplotlib (the extra ``plot``).
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.ndimage import binary_closing, distance_transform_edt, median_filter

from robodyn_ros.errors import InputError, need
from robodyn_ros.view.overlay import SKELETON, Overlay

if TYPE_CHECKING:
    from robodyn_ros.kinematics.workspace import Cells
    from robodyn_ros.robot import Robot
    from robodyn_ros.robot.pose import Array, Flags

AXES = "xyz"

ARM = {"color": "#222222", "linewidth": 2.2, "solid_capstyle": "round", "marker": "o", "markersize": 4.5}
"""Style of the arm's lines and joints; an arm that is seen from its end is a dot."""

HALO = "white"
"""Colour around the arm's lines, so that they are seen on every value."""

SLICES = ("xz", "yz", "xy")
"""Planes of the slices."""

Ends = tuple[float, float]
"""The least and the greatest value of a scale of colours."""

MOST = 60_000
"""Greatest number of cells that a cloud shows."""

VIRIDIS = np.array([[68, 1, 84], [59, 82, 139], [33, 145, 140], [94, 201, 98], [253, 231, 37]], dtype=np.float64)
"""Dark blue to yellow, even to the eye and to the colour-blind (the map viridis of Smith and van der Walt, 2015)."""


def draw_map(
    path: Path,
    robot: Robot,
    found: Cells,
    plane: str,
    thickness: float | None,
    title: str,
    label: str,
    levels: Sequence[float] = (),
) -> None:
    """Draw the cells of a plane as squares in the colour of their value.

    Args:
        path: file of the picture; its ending says the format.
        robot: the arm, which is drawn at home.
        found: the cells; the greatest of those behind one another is shown.
        plane: two of x, y, z: across and up.
        thickness: of the slice around the plane through the root link that is shown [m]; None for everything.
        title: title of the picture.
        label: name of the value, with its unit.
        levels: values to mark.

    Raises:
        InputError: no cell is that near to the plane.
        ConfigurationError: Matplotlib is not installed.
        OSError: the file cannot be written.
    """
    third = next(AXES.index(axis) for axis in AXES if axis not in plane)
    near = np.abs(found.centers[:, third]) <= (np.inf if thickness is None else thickness / 2 + found.size / 2)
    if not near.any():
        raise InputError("--slice", f"the tool is nowhere within {thickness:g} m around that plane", thickness)
    width, height = (float(np.ptp(found.centers[near][:, AXES.index(axis)])) for axis in plane)
    ratio = float(np.clip((width + 0.1) / (height + 0.1), 0.5, 2.0))
    figure = _figure((5.5 * ratio**0.5 + 1.8, 5.5 / ratio**0.5 + 0.9))
    axes = figure.add_subplot()
    image = _squares(axes, robot, found, near, plane, levels, _ends(found.values))
    _finish(path, figure, image, axes, title, label, levels)


def draw_views(path: Path, robot: Robot, found: Cells, title: str, label: str, levels: Sequence[float] = ()) -> None:
    """Draw slices through the middle of the workspace, and a cloud that is cut open; arguments as :func:`draw_map`."""
    figure = _figure((10.4, 9.0))
    grid = figure.add_gridspec(2, 2)
    ends = _ends(found.values)
    maps = [figure.add_subplot(grid[place]) for place in ((0, 0), (0, 1), (1, 0))]
    for axes, plane in zip(maps, SLICES, strict=True):
        third = next(AXES.index(axis) for axis in AXES if axis not in plane)
        places, counts = np.unique(np.round(found.centers[:, third], 9), return_counts=True)
        # The plane with most cells; of planes with nearly as many the one next to the root link.
        full = places[counts >= 0.97 * counts.max()]
        at = float(full[np.argmin(np.abs(full))])
        near = np.abs(found.centers[:, third] - at) < 0.5 * found.size
        image = _squares(axes, robot, found, near, plane, levels, ends)
        axes.set_title(f"{AXES[third]} = {at + 0.0:.3g} m", fontsize="medium")
    cloud = figure.add_subplot(grid[1, 1], projection="3d")
    _cloud(cloud, robot, found, ends)
    _finish(path, figure, image, [*maps, cloud], title, label, levels)


def _squares(
    axes: Any, robot: Robot, found: Cells, near: Flags, plane: str, levels: Sequence[float], ends: Ends
) -> Any:
    """Draw a map of some of the cells, and the arm; return the image."""
    columns = [AXES.index(axis) for axis in plane]
    where, value, edge = found.centers[near][:, columns], found.values[near], found.size
    order = np.argsort(value, kind="stable")  # the greatest is drawn last, over the others
    where, value = where[order], value[order]
    index = np.round((where - where.min(axis=0)) / edge).astype(int)
    picture = np.full(index.max(axis=0)[::-1] + 1, np.nan)
    picture[index[:, 1], index[:, 0]] = value
    (left, low), (right, high) = where.min(axis=0) - edge / 2, where.max(axis=0) + edge / 2
    extent = (left, right, low, high)
    shown = np.minimum(picture, ends[1])  # Matplotlib leaves out what is infinite
    look = {"cmap": "viridis", "interpolation": "nearest", "vmin": ends[0], "vmax": ends[1]}
    image = axes.imshow(shown, origin="lower", extent=extent, **look)
    _contours(axes, picture, levels, extent)
    lines = [line[:, columns] for line in _arm(robot)]
    for line in lines:
        axes.plot(*line.T, **{**ARM, "color": HALO, "linewidth": 4.5, "markersize": 7.0})
    for line in lines:
        axes.plot(*line.T, **ARM)
    corners = np.vstack([*lines, [[left, low], [right, high]], np.zeros((1, 2))])
    margin = 0.04 * float(np.ptp(corners, axis=0).max()) + edge
    (left, low), (right, high) = corners.min(axis=0) - margin, corners.max(axis=0) + margin
    axes.set(xlim=(left, right), ylim=(low, high), aspect="equal")
    axes.set(xlabel=f"{plane[0]} [m]", ylabel=f"{plane[1]} [m]")
    _ticks(axes, right - left, high - low)
    return image


def _ticks(axes: Any, *spans: float) -> None:
    """So many ticks on each axis that labels do not meet on a short one: its scale is that of the longest."""
    for name, span in zip(AXES, spans, strict=False):
        axes.locator_params(name, nbins=max(2, round(6 * span / max(spans))))


def _contours(axes: Any, picture: Array, levels: Sequence[float], extent: tuple[float, float, float, float]) -> None:
    """Draw the contours of the levels; single cells that no sample reached, or only a poor one, do not count."""
    if min(picture.shape) < 3 or not levels:
        return
    known = ~np.isnan(picture)
    nearest = distance_transform_edt(~known, return_distances=False, return_indices=True)
    smooth = median_filter(picture[tuple(nearest)], 5, mode="nearest")
    smooth[~binary_closing(known, iterations=2)] = np.nan
    inside = [level for level in levels if (smooth < level).any() and (smooth > level).any()]
    if inside:
        # With an origin the extent is that of the cells, as for the image; without one, that of their centres.
        axes.contour(smooth, inside, colors="white", linewidths=1.4, origin="lower", extent=extent)


def _ends(values: Array) -> Ends:
    """The ends of the scale of colours: a few cells with far greater or infinite values do not stretch it."""
    known = values[np.isfinite(values)]
    if not len(known):
        return 0.0, 1.0
    return float(known.min()), max(float(np.percentile(known, 98.0)), float(known.min()) + 1e-9)


def _cloud(axes: Any, robot: Robot, found: Cells, ends: Ends) -> None:
    """Draw all cells but those of the quarter before the arm, and the arm."""
    kept = ~((found.centers[:, 0] > 0.0) & (found.centers[:, 1] < 0.0))
    centers, values = found.centers[kept], np.minimum(found.values[kept], ends[1])
    some = np.random.default_rng(0).permutation(len(centers))[:MOST]
    size = 90.0 * found.size / float(np.ptp(found.centers, axis=0).max())
    axes.scatter(
        *centers[some].T, c=values[some], s=size**2, cmap="viridis", vmin=ends[0], vmax=ends[1], marker="s",
        linewidths=0, alpha=0.5,
    )  # fmt: skip
    for line in _arm(robot):
        axes.plot(*line.T, **ARM, zorder=10)
    axes.set(xlabel="x [m]", ylabel="y [m]", zlabel="z [m]", aspect="equal")
    _ticks(axes, *(float(np.ptp(ends)) for ends in (axes.get_xlim(), axes.get_ylim(), axes.get_zlim())))
    axes.set_title("cut open", fontsize="medium")
    axes.view_init(elev=22.0, azim=-45.0)


def _arm(robot: Robot) -> list[Array]:
    """The lines of the arm at home, (2, 3) each [m]."""
    marks = Overlay(robot).marks(robot.home, np.zeros(robot.n))
    return [mark.points for mark in marks if mark.layer == SKELETON and not mark.name.endswith(".joint")]  # type: ignore[union-attr]


def _finish(path: Path, figure: Any, image: Any, axes: Any, title: str, label: str, levels: Sequence[float]) -> None:
    """Draw the scale of colours and the title, and write the picture."""
    scale = figure.colorbar(image, ax=axes, label=label, shrink=0.85, extend="max")
    for level in (level for level in levels if image.norm.vmin <= level <= image.norm.vmax):
        scale.ax.axhline(level, color="white", linewidth=2.0)
        scale.ax.axhline(level, color="black", linewidth=0.8)
    figure.suptitle(title, parse_math=False)
    figure.savefig(path, dpi=110, bbox_inches="tight", pad_inches=0.15)


def _figure(size: tuple[float, float]) -> Any:
    matplotlib = need("matplotlib.figure", "a picture needs Matplotlib", "robodyn_ros[plot]")
    figure = matplotlib.Figure(figsize=size, layout="constrained")
    figure.get_layout_engine().set(w_pad=0.1, h_pad=0.1)
    return figure


def colours(values: ArrayLike) -> NDArray[np.uint8]:
    """Return red, green, blue (N, 3) of values (N,), from the least to the greatest finite value."""
    given = np.asarray(values, dtype=np.float64)
    finite = given[np.isfinite(given)]
    least, greatest = (finite.min(), finite.max()) if len(finite) else (0.0, 1.0)
    place = np.nan_to_num((given - least) / (greatest - least or 1.0), nan=0.0, posinf=1.0, neginf=0.0)
    place = np.clip(place, 0.0, 1.0) * (len(VIRIDIS) - 1)
    channels = [np.interp(place, np.arange(len(VIRIDIS)), channel) for channel in VIRIDIS.T]
    return np.round(np.transpose(channels)).astype(np.uint8)


def write_ply(path: str | os.PathLike[str], points: ArrayLike, values: ArrayLike) -> None:
    """Write points as binary PLY: position, colour, and the value itself as the property ``value``.

    Args:
        path: the file.
        points: (N, 3) in [m].
        values: (N,).

    Raises:
        InputError: the shapes do not fit.
        OSError: the file cannot be written.
    """
    where: Array = np.asarray(points, dtype=np.float64)
    value: Array = np.asarray(values, dtype=np.float64)
    if where.ndim != 2 or where.shape[1] != 3 or value.shape != where.shape[:1]:
        raise InputError("points", f"must be (N, 3) with N values, not {where.shape} and {value.shape}")
    kinds = [(name, "<f4") for name in "xyz"] + [(name, "u1") for name in ("red", "green", "blue")] + [("value", "<f4")]
    rows = np.rec.fromarrays([*where.T, *colours(value).T, value], dtype=kinds)
    names = {"<f4": "float", "u1": "uchar"}
    header = ["ply", "format binary_little_endian 1.0", f"element vertex {len(where)}"]
    header += [*(f"property {names[kind]} {name}" for name, kind in kinds), "end_header", ""]
    Path(path).write_bytes("\n".join(header).encode() + rows.tobytes())
