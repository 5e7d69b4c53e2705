"""The style of every figure of this package, and what figures have in common. They need matplotlib (extra ``plot``).

A figure goes to a file if one is given, and else to the screen: in a notebook it stands under its cell, in a script
``matplotlib.pyplot.show()`` opens its window.

The colours of controllers are those of Okabe and Ito, Color Universal Design (2008), which the colour-blind can tell
apart.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.errors import ConfigurationError

Curve = NDArray[np.float64]

COLOURS = ("#D55E00", "#E69F00", "#0072B2", "#009E73", "#CC79A7")
"""Colours of the controllers, in order."""

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
    try:
        import matplotlib
        from matplotlib.figure import Figure
    except ImportError as cause:
        raise ConfigurationError("figures need matplotlib: pip install 'robodyn_ros[plot]'") from cause
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


@contextmanager
def joint_figure(
    path: Path | BinaryIO | None, joints: int, foot: float, sharex: bool | str = True
) -> Iterator[tuple[Any, Any]]:
    """Yield a figure with a row for each joint, three columns, and time on the horizontal axes.

    Args:
        path: as :func:`new_figure`.
        joints: number of joints.
        foot: height for title and legend [inch].
        sharex: as ``pyplot.subplots`` takes it.
    """
    with new_figure(path, joints, 3, (13.0, 2.3 * joints + foot), sharex=sharex) as (figure, grid):
        yield figure, grid


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
    """Draw one legend for the whole figure, in a row below it."""
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False)


def thinned(time: Curve, values: Curve) -> tuple[Curve, Curve]:
    """Take every k-th point of a curve, so that about `POINTS` remain."""
    step = max(1, len(time) // POINTS)
    return time[::step], values[::step]
