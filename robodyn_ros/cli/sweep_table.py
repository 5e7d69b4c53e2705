"""What ``robodyn sweep`` prints."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rich import box
from rich.table import Table
from rich.text import Text

from robodyn_ros.simulation.sweeps.study import Study
from robodyn_ros.simulation.sweeps.summary import QUANTILES, Summary

REASONS = 5
"""Of reasons why cases failed, and of worst cases, so many are shown."""


def tables(study: Study, summaries: list[Summary]) -> Iterator[Table | Text]:
    """For the terminal."""
    yield Text(f"{study.name}: meets the specification", "bold")
    yield _probabilities(summaries)
    for summary in summaries:
        yield Text(f"{summary.controller}: margins, in parts of the bound", "bold")
        yield _bounds(summary)
        for why, count in list(summary.failed.items())[:REASONS]:
            yield Text(f"{count} failed: {why}")
        yield Text(f"{summary.controller}: worst cases", "bold")
        yield _worst(summary)
        if summary.sensitivities and study.vary:
            title = "part of the variance that each input explains by itself (*: may be chance)"
            yield Text(f"{summary.controller}: {title}", "bold")
            yield _sensitivities(summary)
        if summary.compiled < summary.cases:
            slow = summary.cases - summary.compiled
            yield Text(f"{slow} of {summary.cases} cases went the slow way, in Python: see the column compiled")


def percent(value: float) -> str:
    """A part of 1."""
    return f"{100 * value:.2f} %"


def _table(*heads: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    for index, head in enumerate(heads):
        table.add_column(head, justify="right" if index else "left", no_wrap=not index, overflow="fold")
    return table


def _probabilities(summaries: list[Summary]) -> Table:
    table = _table("Controller", "Cases", "Met", "Probability", "95 % between")
    for each in summaries:
        between = f"{percent(each.low)} and {percent(each.high)}"
        table.add_row(each.controller, str(each.cases), str(each.met), percent(each.probability), between)
    return table


def _bounds(summary: Summary) -> Table:
    heads = ("Least" if q == 0.0 else "Median" if q == 0.5 else f"{100 * q:g} % below" for q in QUANTILES)
    table = _table("Bound", "At most", "Kept", *heads)
    for bound in summary.bounds:
        quantiles = (f"{100 * value:.0f} %" for value in bound.quantiles)
        table.add_row(f"{bound.quantity} {bound.joint}", f"{bound.bound:g}", str(bound.kept), *quantiles)
    return table


def _worst(summary: Summary) -> Table:
    table = _table("Case", "Margin", "Failed")
    for number, margin, why in summary.worst[:REASONS]:
        table.add_row(str(number), f"{100 * margin:.0f} %" if margin == margin else "", why)
    return table


def _sensitivities(summary: Summary) -> Table:
    table = _table("Input", *(output.replace("/", " ").replace("_", " ") for output in summary.sensitivities))
    for name in next(iter(summary.sensitivities.values()), {}):
        cells = []
        for output in summary.sensitivities.values():
            found = output[name]
            mark = "" if found.first_order > found.noise else " *"
            cells.append(f"{max(found.first_order, 0.0):.2f}{mark}" if found.first_order == found.first_order else "")
        table.add_row(name, *cells)
    return table


def as_json(summaries: list[Summary]) -> dict[str, Any]:
    """For a script; NaN becomes null."""

    def plain(value: float) -> float | None:
        return value if value == value else None

    return {
        "controllers": {
            each.controller: {
                "cases": each.cases,
                "met": each.met,
                "probability": each.probability,
                "between": [each.low, each.high],
                "failed": each.failed,
                "compiled": each.compiled,
                "bounds": [
                    {
                        **bound._asdict(),
                        "quantiles": dict(zip(map(str, QUANTILES), map(plain, bound.quantiles), strict=True)),
                    }
                    for bound in each.bounds
                ],
                "worst": [
                    {"case": number, "margin": plain(margin), "failed": why} for number, margin, why in each.worst
                ],
                "sensitivities": {
                    output: {
                        name: {key: plain(x) for key, x in found._asdict().items()} for name, found in of_inputs.items()
                    }
                    for output, of_inputs in each.sensitivities.items()
                },
            }
            for each in summaries
        }
    }
