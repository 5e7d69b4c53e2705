# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The report of a sweep: a picture, and a page with all results."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from robodyn_ros.document import blocks as page
from robodyn_ros.document.html import html
from robodyn_ros.document.plotting import FAINT, INK, law_colours, new_figure
from robodyn_ros.simulation.sweeps.study import Study
from robodyn_ros.simulation.sweeps.summary import QUANTILES, Sensitivity, Summary

WIDEST = 3.0
"""Margins further below 0 than this are drawn at this value [-]."""

DISTRIBUTIONS = {
    "uniform": "uniform, from {} to {}",
    "log_uniform": "log-uniform, from {} to {}",
    "normal": "normal, mean {}, standard deviation {}",
}
"""Kind of a distribution → meaning of its two numbers; a choice has any number of them."""


_page_table = partial(page.literal_table, numeric=True)


def percent(value: float) -> str:
    """Format a ratio as a percentage."""
    return f"{100 * value:.2f} %"


def draw(path: Path, study: Study, summaries: list[Summary]) -> None:
    """Draw the probability that the specification is met and, where there are any, the margins and which input matters.

    Args:
        path: file of the picture; its ending says the format.
        study: the study.
        summaries: one for each controller.
    """
    inputs, colours = list(study.vary), law_colours(each.controller for each in summaries)
    drawn: dict[str, Callable[..., None]] = {"Probability": _plot_probabilities}
    if any(np.isfinite(each.margins).any() for each in summaries):
        drawn["Margins"] = _plot_margins
    if any(_known(inputs, each) for each in summaries):
        drawn["Which input matters"] = partial(_plot_sensitivities, inputs)
    widths = (1.0, 1.4, 1.4)[: len(drawn)]
    size = (13.0 * sum(widths) / 3.8, 3.0 + 0.32 * max(6, len(inputs) * len(summaries)))
    ratios = {"width_ratios": widths, "wspace": 0.08}
    with new_figure(path, 1, len(drawn), size, gridspec_kw=ratios) as (figure, (row,)):
        for (title, plot), axes in zip(drawn.items(), row, strict=True):
            plot(axes, summaries, colours)
            axes.set_title(title, loc="left", weight="bold")
            axes.set_axisbelow(True)
        cases = f"{study.samples} cases for each controller" if len(summaries) > 1 else f"{study.samples} cases"
        figure.suptitle(f"{study.name}: {cases}", fontsize=13, weight="bold")


def _plot_probabilities(axes: Any, summaries: list[Summary], colours: dict[str, str]) -> None:
    for place, each in enumerate(summaries):
        axes.bar(place, 100 * each.probability, width=0.6, color=colours[each.controller], alpha=0.85)
        if np.isfinite(each.low):
            spread = [[100 * (each.probability - each.low)], [100 * (each.high - each.probability)]]
            axes.errorbar(place, 100 * each.probability, yerr=spread, color=INK, capsize=5, linewidth=1.2)
        axes.annotate(f"{100 * each.probability:.1f} %", (place, 103.0), ha="center", va="bottom", weight="bold")
    axes.set_xticks(range(len(summaries)), [each.controller.replace("_", "\n") for each in summaries])
    sampled = any(np.isfinite(each.low) for each in summaries)
    label = f"meets the specification [%]{', 95 % confidence' if sampled else ''}"
    right = max(len(summaries) - 0.4, 0.6)
    axes.set(xlim=(-0.6, right), ylim=(0.0, 112.0), yticks=range(0, 101, 20), ylabel=label)
    axes.grid(visible=True, axis="y")


def _plot_margins(axes: Any, summaries: list[Summary], colours: dict[str, str]) -> None:
    for each in summaries:
        shown = np.sort(np.maximum(each.margins[np.isfinite(each.margins)], -WIDEST))
        failed = each.cases - len(each.margins)
        part = 100.0 * (np.arange(1, len(shown) + 1) + failed) / each.cases
        label = f"{each.controller} ({failed} failed)" if failed else each.controller
        axes.step(100.0 * shown, part, where="post", color=colours[each.controller], linewidth=1.8, label=label)
    axes.axvline(0.0, color=INK, linewidth=1.0, linestyle=(0, (4, 3)))
    label = "least margin to a bound [% of it]; broken below 0"
    axes.set(xlabel=label, ylabel="cases with less [%]", ylim=(0.0, 100.0))
    axes.grid(visible=True)
    axes.legend(loc="upper left", edgecolor="none", framealpha=1.0)


def _known(inputs: list[str], summary: Summary) -> dict[str, Sensitivity]:
    """The inputs whose influence on the margin is known."""
    found = summary.sensitivities.get("margin", {})
    return {name: found[name] for name in inputs if name in found and np.isfinite(found[name].first_order)}


def _plot_sensitivities(inputs: list[str], axes: Any, summaries: list[Summary], colours: dict[str, str]) -> None:
    height = 0.8 / len(summaries)
    for place, each in enumerate(summaries):
        for name, found in _known(inputs, each).items():
            row = inputs.index(name) + height * (place - (len(summaries) - 1) / 2)
            value, noise = 100.0 * max(found.first_order, 0.0), 100.0 * found.noise
            axes.barh(row, value, height=0.9 * height, color=colours[each.controller])
            axes.plot([noise, noise], [row - height / 2, row + height / 2], color=FAINT, linewidth=1.2)
    axes.set_yticks(range(len(inputs)), inputs)
    axes.set_ylim(len(inputs) - 0.5, -0.5)  # a row without bars has its place too
    axes.set_xlim(left=0.0)
    axes.set_xlabel("fraction of the variance of the margin [%]\ngrey: noise level")
    axes.grid(visible=True, axis="x")


def write_report(folder: Path, study: Study, summaries: list[Summary]) -> None:
    """Write ``report.png`` and ``report.html``.

    Args:
        folder: the folder.
        study: the study.
        summaries: one for each controller.
    """
    picture = folder / "report.png"
    draw(picture, study, summaries)
    (folder / "report.html").write_text(html(report(study, summaries, picture.read_bytes())), encoding="utf-8")


def report(study: Study, summaries: list[Summary], picture: bytes = b"") -> page.Document:
    """Return the report, for a page or a terminal.

    Args:
        study: the study.
        summaries: one for each controller.
        picture: content of the image that :func:`draw` writes, a PNG; none if empty.
    """
    heads = ["Controller", "Cases", "Met", "Probability", "At least", "At most"]
    said = "The interval holds with 95 % confidence (Clopper and Pearson)."
    if not study.sampling.is_random:
        heads[3:], said = ["Ratio"], "The ratio is that of all combinations, not of a sample: it has no interval."
    met = [(s.controller, str(s.cases), str(s.met), *map(percent, (s.probability, s.low, s.high))) for s in summaries]
    opening: tuple[page.Block, ...] = (
        *(page.VerdictBlock(page.Literal(f"{each.controller}: {each.stopped}")) for each in summaries if each.stopped),
        page.TextBlock(page.Literal(_about(study))),
        _page_table(heads, [row[: len(heads)] for row in met]),
        page.TextBlock(said),
        *([page.PictureBlock(picture, "image/png", "probability, margins and sensitivities")] if picture else []),
    )
    varied = page.literal_table(("Input", "Distribution"), [(name, _distribution(study, name)) for name in study.vary])
    laws = ((each.controller, tuple(_of_controller(study, each))) for each in summaries)
    sections = [page.Section(name, page.Literal(name), blocks) for name, blocks in laws]
    sections.append(page.Section("varied", "What varied", (varied,)))
    return page.Document(page.Literal(study.name), opening, tuple(sections), numbered=False)


def _about(study: Study) -> str:
    sampling, laws = study.sampling, study.controllers
    law = laws[0] if len(laws) == 1 else f"each of {len(laws)} controllers"
    how = f"{sampling.method.replace('_', ' ')}, seed {sampling.seed}"
    return f"{study.samples} cases ({how}) for {law}, {study.duration:g} s each."


def _of_controller(study: Study, summary: Summary) -> Iterator[page.Block]:
    if summary.compiled < summary.cases:
        yield page.TextBlock(f"{summary.cases - summary.compiled} of the cases called Python code, which is slower.")
    if len(summary.margins):
        yield from _of_margins(summary)
    if summary.failed:
        yield page.HeadingBlock("Failed")
        yield page.literal_table(("Cases", "Why"), [(str(count), why) for why, count in summary.failed.items()])
    yield from _of_worst(study, summary)
    if summary.sensitivities:
        yield from _of_sensitivities(study, summary)


def _of_margins(summary: Summary) -> Iterator[page.Block]:
    heads = ["Least" if q == 0.0 else "Median" if q == 0.5 else f"{100 * q:g} % below" for q in QUANTILES]
    yield page.HeadingBlock("Margins, relative to the bound")
    bounds = [
        (f"{b.quantity} {b.joint}", f"{b.bound:g}", str(b.kept), *(f"{100 * x:.1f} %" for x in b.quantiles))
        for b in summary.bounds
    ]
    yield _page_table(("Bound", "At most", "Kept", *heads), bounds)


def _of_worst(study: Study, summary: Summary) -> Iterator[page.Block]:
    yield page.HeadingBlock("Worst cases")
    yield page.TextBlock("In the folder of the study, this command runs one of them again and draws it:")
    yield page.CodeBlock(f"robodyn sweep {study.name}.yaml --case NUMBER --plot case.png")
    columns: dict[str, list[str]] = {"Case": [str(number) for number, _, _ in summary.worst]}
    if len(summary.margins):
        columns["Margin"] = [f"{100 * margin:.1f} %" if margin == margin else "–" for _, margin, _ in summary.worst]
    if summary.failed:
        columns["Failed"] = [why for _, _, why in summary.worst]
    yield page.literal_table(list(columns), zip(*columns.values(), strict=True), numeric=not summary.failed)


def _of_sensitivities(study: Study, summary: Summary) -> Iterator[page.Block]:
    outputs = summary.sensitivities
    yield page.HeadingBlock("Fraction of the variance that each input alone explains")
    yield page.TextBlock("These are first-order indices. * marks one that is below the noise level.")
    found = [[outputs[output][name] for output in outputs] for name in study.vary]
    cells = [(name, *map(_index, row)) for name, row in zip(study.vary, found, strict=True)]
    by_chance = [(i, j) for i, row in enumerate(found) for j, s in enumerate(row, 1) if not s.first_order > s.noise]
    yield _page_table(("Input", *outputs), cells, faint=by_chance)


def _index(found: Sensitivity) -> str:
    mark = "\N{NO-BREAK SPACE}" * 2 if found.first_order > found.noise else " *"  # below each other
    return f"{100 * max(found.first_order, 0.0):.1f} %{mark}" if found.first_order == found.first_order else ""


def _distribution(study: Study, name: str) -> str:
    each = study.vary[name]
    values = [value if isinstance(value, (str, bool)) else f"{value:g}" for value in each.values]
    if each.kind == "choice":
        return f"one of {', '.join(map(str, values))}"
    return DISTRIBUTIONS[each.kind].format(*values)
