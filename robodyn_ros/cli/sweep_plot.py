"""The picture of a sweep: how probable it is that the specification is met, the margins, and which input matters."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from robodyn_ros.cli.demo_plot import COLOURS, DPI, FAINT, INK, PLOT_STYLE
from robodyn_ros.simulation.sweeps.study import Study
from robodyn_ros.simulation.sweeps.summary import Summary

WIDEST = 3.0
"""Margins further below 0 than this are not shown apart."""


def draw(path: Path, study: Study, summaries: list[Summary]) -> None:
    """Write the picture.

    Args:
        path: of the image; its ending says of which kind.
        study: what was run.
        summaries: one for each controller.
    """
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    inputs = list(study.vary)
    with pyplot.rc_context(PLOT_STYLE):
        size = (13.0, 3.0 + 0.32 * max(6, len(inputs) * len(summaries)))
        figure, (left, middle, right) = pyplot.subplots(
            1, 3, figsize=size, layout="constrained", gridspec_kw={"width_ratios": (1, 1.4, 1.4), "wspace": 0.08}
        )
        _plot_probabilities(left, summaries)
        _margins(middle, summaries)
        _plot_sensitivities(right, inputs, summaries)
        cases = f"{study.samples} cases for each controller" if len(summaries) > 1 else f"{study.samples} cases"
        figure.suptitle(f"{study.name}: {cases}", fontsize=13, weight="bold")
        figure.savefig(path, dpi=DPI)
        pyplot.close(figure)


def _plot_probabilities(axes: Any, summaries: list[Summary]) -> None:
    for place, each in enumerate(summaries):
        colour = COLOURS[place % len(COLOURS)]
        spread = [[100 * (each.probability - each.low)], [100 * (each.high - each.probability)]]
        axes.bar(place, 100 * each.probability, width=0.6, color=colour, alpha=0.85)
        axes.errorbar(place, 100 * each.probability, yerr=spread, color=INK, capsize=5, linewidth=1.2)
        text = f"{100 * each.probability:.1f} %"
        axes.annotate(text, (place, 103.0), ha="center", va="bottom", weight="bold")
    axes.set_xticks(range(len(summaries)), [each.controller.replace("_", "\n") for each in summaries])
    axes.set_xlim(-0.6, max(len(summaries) - 0.4, 0.6))
    axes.set_ylim(0.0, 112.0)
    axes.set_yticks(range(0, 101, 20))
    axes.set_ylabel("meets the specification [%], 95 % confidence")
    axes.set_title("Probability", loc="left", weight="bold")
    axes.grid(visible=True, axis="y")
    axes.set_axisbelow(True)


def _margins(axes: Any, summaries: list[Summary]) -> None:
    for place, each in enumerate(summaries):
        shown = np.sort(np.maximum(each.margins[np.isfinite(each.margins)], -WIDEST))
        failed = each.cases - len(each.margins)
        part = 100.0 * (np.arange(1, len(shown) + 1) + failed) / each.cases
        label = f"{each.controller} ({failed} failed)" if failed else each.controller
        axes.step(100.0 * shown, part, where="post", color=COLOURS[place % len(COLOURS)], linewidth=1.8, label=label)
    axes.axvline(0.0, color=INK, linewidth=1.0, linestyle=(0, (4, 3)))
    axes.set_xlabel("least margin to a bound [% of it]; broken below 0")
    axes.set_ylabel("cases with less [%]")
    axes.set_ylim(0.0, 100.0)
    axes.set_title("Margins", loc="left", weight="bold")
    axes.grid(visible=True)
    if any(len(each.margins) for each in summaries):
        axes.legend(loc="upper left", frameon=False)


def _plot_sensitivities(axes: Any, inputs: list[str], summaries: list[Summary]) -> None:
    height = 0.8 / len(summaries)
    for place, each in enumerate(summaries):
        found = each.sensitivities.get("margin", {})
        known = [name for name in inputs if name in found and np.isfinite(found[name].first_order)]
        rows = [inputs.index(name) + height * (place - (len(summaries) - 1) / 2) for name in known]
        values = [100.0 * max(found[name].first_order, 0.0) for name in known]
        axes.barh(rows, values, height=0.9 * height, color=COLOURS[place % len(COLOURS)])
        for name, row in zip(known, rows, strict=True):
            noise = 100.0 * found[name].noise
            axes.plot([noise, noise], [row - height / 2, row + height / 2], color=FAINT, linewidth=1.2)
    axes.set_yticks(range(len(inputs)), inputs)
    axes.invert_yaxis()
    axes.set_xlim(left=0.0)
    axes.set_xlabel("part of the variance of the margin [%]\ngrey: what chance may give")
    axes.set_title("Which input matters", loc="left", weight="bold")
    axes.grid(visible=True, axis="x")
    axes.set_axisbelow(True)
