# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The style of every figure of this package, and the parts that figures share. They need matplotlib (extra ``plot``).

A figure goes to a file if one is given, and else to the screen: in a notebook it stands under its cell, in a script
``matplotlib.pyplot.show()`` opens its window.

The first colours are those of Okabe and Ito, Color Universal Design (2008), which the colour-blind can tell apart.
A control law has one colour in every figure (:func:`law_colours`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, BinaryIO
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.errors import need

Curve = NDArray[np.float64]

COLOURS = ("#D55E00", "#E69F00", "#0072B2", "#009E73", "#CC79A7")
"""Colours of curves that belong to no control law, in order."""

LAW_COLOURS: Mapping[str, str] = {
    "pd": "#D55E00",
    "gravity_compensation": "#E69F00",
    "computed_torque": "#0072B2",
    "impedance": "#009E73",
    "cartesian_impedance": "#CC79A7",
    "operational_space": "#56B4E9",
    "free_drive": "#6A3D9A",
    "hand_guiding": "#1B1B8F",
    "mpc": "#8C510A",
    "adaptive": "#9A9A00",
    "disturbance_observer": "#7A1042",
}
"""Control law of this package → its colour in every figure."""

FURTHER_COLOURS = (
    "#332288", "#44AA99", "#CC6677", "#228833", "#AA4499", "#4477AA", "#661100", "#EE3377", "#66A61E", "#5D5D81",
    "#B8860B", "#00AACC",
)  # fmt: skip
"""Colours of control laws from elsewhere."""

LABELS_A_ROW = 5
"""Greatest number of labels that stand side by side in a legend."""

LAWS_A_PANEL = 4
"""Greatest number of laws whose curves share a panel."""

INK, FAINT = "#222222", "#8c8c8c"
"""Colours of text and of auxiliary lines."""

DPI = 120

POINTS = 1000
"""Greatest number of points of a curve; a picture has no pixels for more."""

PLOT_STYLE = {
    "font.size": 10.0,
    "axes.edgecolor": FAINT,
    "axes.labelcolor": INK,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "grid.color": "#e6e6e6",
    "grid.linewidth": 0.6,
    "lines.linewidth": 1.3,
    "svg.hashsalt": "robodyn",  # the same figure is the same file
    "text.color": INK,
    "text.parse_math": False,  # a name with a dollar sign is no formula
    "xtick.color": INK,
    "ytick.color": INK,
}

LIMIT_LINE: dict[str, Any] = {"color": FAINT, "linewidth": 1.0, "linestyle": (0, (1, 1.5))}
"""Style of a limit."""

REFERENCE_LINE: dict[str, Any] = {"color": INK, "linestyle": (0, (4, 3)), "linewidth": 1.1}
"""Style of a reference."""


@contextmanager
def new_figure(
    path: Path | BinaryIO | None, rows: int, columns: int, size: tuple[float, float], **options: Any
) -> Iterator[tuple[Any, Any]]:
    """Yield a figure and its grid of axes (rows, columns) in the style of this module, and write it at the end.

    Args:
        path: file to write, whose ending says the format, or an open one for an SVG; None for the screen.
        rows: number of rows.
        columns: number of columns.
        size: width and height [inch].
        **options: of ``Figure.subplots``.

    Raises:
        ConfigurationError: matplotlib is not installed.
    """
    matplotlib = need("matplotlib", "figures need matplotlib", "robodyn_ros[plot]")
    from matplotlib.figure import Figure

    with matplotlib.rc_context(PLOT_STYLE):
        if path is None:
            from matplotlib import pyplot

            figure = pyplot.figure(figsize=size, layout="constrained")
        else:
            figure = Figure(figsize=size, layout="constrained")
        yield figure, figure.subplots(rows, columns, squeeze=False, **options)
        if path is None:
            figure.draw_without_rendering()  # some parts of the style are read when the ticks are made
        else:
            kind = path.suffix.removeprefix(".") if isinstance(path, Path) else "svg"
            figure.savefig(path, dpi=DPI, format=kind, metadata={"Date": None} if kind == "svg" else None)


def joint_figure(
    path: Path | BinaryIO | None, joints: int, foot: float, sharex: bool | str = True
) -> AbstractContextManager[tuple[Any, Any]]:
    """Return the context of a figure with a row for each joint, three columns, and time on the horizontal axes.

    Args:
        path: as :func:`new_figure`.
        joints: number of joints.
        foot: height for title and legend [inch].
        sharex: as ``pyplot.subplots`` takes it.
    """
    return new_figure(path, joints, 3, (13.0, 2.3 * joints + foot), sharex=sharex)


DrawRow = Callable[[Any, int, tuple[str, ...], Mapping[str, str]], None]
"""Draws a row of a figure: its three axes, place of the joint, names of the laws, and law → colour."""


@contextmanager
def law_figure(
    path: Path | None, joints: int, laws: Iterable[str], draw: DrawRow, sharex: bool | str = True
) -> Iterator[tuple[Any, Any]]:
    """Yield a figure of control laws, as :func:`joint_figure`, with a row for every ``LAWS_A_PANEL`` laws of a joint.

    The rows of a joint have the same scales; the labels of the first column are the legend.

    Args:
        path: as :func:`new_figure`.
        joints: number of joints.
        laws: names of the laws.
        draw: draws one row.
        sharex: as ``pyplot.subplots`` takes it.
    """
    colours, panels = law_colours(laws), law_panels(laws)
    with joint_figure(path, joints * len(panels), foot=1.4, sharex=sharex) as (figure, grid):
        for index in range(joints):
            rows = grid[index * len(panels) : (index + 1) * len(panels)]
            for row, some in zip(rows, panels, strict=True):
                draw(row, index, some, colours)
            share_heights(rows)
        add_legend(figure, *gather_legend(grid[: len(panels), 0]))
        for axes in grid.flat:
            axes.grid(visible=True, axis="y")
        yield figure, grid


def plot_errors(axes: Any, curves: Mapping[str, tuple[Curve, Curve]], colours: Mapping[str, str], floor: float) -> None:
    """Draw the magnitudes of tracking errors on a logarithmic scale of thousandths.

    Args:
        axes: of the panel.
        curves: law → times and errors.
        colours: law → colour.
        floor: least error of the scale, in thousandths.
    """
    for name, (time, error) in curves.items():
        axes.semilogy(*thinned(time, np.maximum(1e3 * np.abs(error), floor)), color=colours[name])
    axes.set_ylim(bottom=floor)
    axes.yaxis.set_major_formatter("{x:g}")


def finish_joint_figure(figure: Any, grid: Any, title: str, **options: Any) -> None:
    """Label the time axes, align the labels of the others, and set the title.

    Args:
        figure: the figure.
        grid: its axes.
        title: its title.
        **options: of the title's text.
    """
    for axes in grid[-1]:
        axes.set_xlabel("time [s]")
    figure.align_ylabels()
    figure.suptitle(title, fontsize=12, **options)


def add_legend(figure: Any, handles: Any, labels: Any) -> None:
    """Draw one legend for the whole figure, in rows below it."""
    columns = min(len(labels), LABELS_A_ROW)
    legend = figure.legend(handles, labels, loc="lower center", ncols=columns, frameon=False)
    top = legend.get_window_extent().y1 / figure.bbox.height
    figure.get_layout_engine().set(rect=(0.0, top, 1.0, 1.0 - top))


def thinned(time: Curve, values: Curve) -> tuple[Curve, Curve]:
    """Take every k-th point of a curve, so that about `POINTS` remain."""
    step = max(1, len(time) // POINTS)
    return time[::step], values[::step]


def law_colours(laws: Iterable[str]) -> dict[str, str]:
    """Return the colour of each control law of a figure.

    A law of this package has the colour of ``LAW_COLOURS``. Any other law has one of ``FURTHER_COLOURS``, which its
    name decides; where two names of a figure ask for the same one, the later in the alphabet takes the next free one.
    """
    named = list(dict.fromkeys(laws))
    found = {name: LAW_COLOURS[name] for name in named if name in LAW_COLOURS}
    taken: set[int] = set()
    for name in sorted(set(named) - set(found)):
        count = len(FURTHER_COLOURS)
        first = crc32(name.encode())
        places = [(first + step) % count for step in range(count)]
        place = next((each for each in places if each not in taken), places[0])
        taken.add(place)
        found[name] = FURTHER_COLOURS[place]
    return {name: found[name] for name in named}


def law_panels(laws: Iterable[str]) -> list[tuple[str, ...]]:
    """Split laws among as few panels as hold at most ``LAWS_A_PANEL`` each, evenly, in their order."""
    named: Sequence[str] = list(laws)
    count = -(-len(named) // LAWS_A_PANEL)
    return [tuple(part.tolist()) for part in np.array_split(np.array(named, dtype=object), count)] if count else []


def share_heights(rows: Any) -> None:
    """Give the panels of each column of some rows the same vertical range; `rows` is (rows, columns) of axes."""
    for column in np.asarray(rows).T:
        low, high = (pick(axes.get_ylim()[end] for axes in column) for end, pick in ((0, min), (1, max)))
        for axes in column:
            axes.set_ylim(low, high)


def gather_legend(rows: Any) -> tuple[list[Any], list[str]]:
    """Return the handles and labels of some axes, each label once, "reference" at the end."""
    found: dict[str, Any] = {}
    for axes in np.asarray(rows).flat:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            found.setdefault(label, handle)
    labels = sorted(found, key=lambda label: label == "reference")
    return [found[label] for label in labels], labels
