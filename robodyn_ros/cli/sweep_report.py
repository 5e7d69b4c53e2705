"""The report of a sweep: a picture, and a page that needs nothing else."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable
from html import escape
from pathlib import Path

from robodyn_ros.cli.sweep_plot import draw
from robodyn_ros.cli.sweep_table import percent
from robodyn_ros.dynamics.document.page import page
from robodyn_ros.simulation.sweeps.study import Study
from robodyn_ros.simulation.sweeps.summary import QUANTILES, Summary

PAGE_STYLE = """
:root { color-scheme: light dark; }
body { font: 1rem/1.5 system-ui, sans-serif; max-width: 75rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.25rem; margin-top: 2.5rem; border-bottom: 1px solid #8886; }
h3 { font-size: 1rem; margin: 1.5rem 0 0.3rem; }
img { max-width: 100%; background: white; border-radius: 4px; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { text-align: right; padding: 0.2rem 1rem 0.2rem 0; border-bottom: 1px solid #8884; }
th:first-child, td:first-child { text-align: left; }
.faint { opacity: 0.5; } code { font-size: 0.95em; }
"""

Row = Iterable[str]


def write_report(folder: Path, study: Study, summaries: list[Summary]) -> None:
    """Write ``report.png`` and ``report.html``.

    Args:
        folder: where to.
        study: what was run.
        summaries: one for each controller.
    """
    picture = folder / "report.png"
    draw(picture, study, summaries)
    image = b64encode(picture.read_bytes()).decode()
    rows = [
        (
            each.controller,
            str(each.cases),
            str(each.met),
            percent(each.probability),
            percent(each.low),
            percent(each.high),
        )
        for each in summaries
    ]
    parts = [
        f"<h1>{escape(study.name)}</h1>",
        f"<p>{_about(study)}</p>",
        _html_table(("Controller", "Cases", "Met", "Probability", "at least", "at most"), rows),
        "<p>The interval holds with 95 % confidence (Clopper and Pearson).</p>",
        f'<img alt="probability, margins and sensitivities" src="data:image/png;base64,{image}">',
        *(part for each in summaries for part in _of_controller(study, each)),
        "<h2>What varied</h2>",
        _html_table(("Input", "Distribution"), [(name, _said(study, name)) for name in study.vary]),
    ]
    (folder / "report.html").write_text(page(study.name, PAGE_STYLE, "\n".join(parts)), encoding="utf-8")


def _about(study: Study) -> str:
    sampling = study.sampling
    return (
        f"{study.samples} cases ({sampling.method.replace('_', ' ')}, seed {sampling.seed}) for each of "
        f"{len(study.controllers)} controllers, {study.duration:g} s each."
    )


def _of_controller(study: Study, summary: Summary) -> Iterable[str]:
    yield f"<h2>{escape(summary.controller)}</h2>"
    if summary.compiled < summary.cases:
        yield f"<p>{summary.cases - summary.compiled} of the cases went the slow way, in Python.</p>"
    heads = ["least" if q == 0.0 else "median" if q == 0.5 else f"{100 * q:g} % of cases below" for q in QUANTILES]
    yield "<h3>Margins, in parts of the bound</h3>"
    bounds = [
        (f"{b.quantity} {b.joint}", f"{b.bound:g}", str(b.kept), *(f"{100 * x:.1f} %" for x in b.quantiles))
        for b in summary.bounds
    ]
    yield _html_table(("Bound", "at most", "kept", *heads), bounds)
    if summary.failed:
        yield "<h3>Failed</h3>"
        yield _html_table(("Why", "Cases"), [(why, str(count)) for why, count in summary.failed.items()])
    yield f"<h3>Worst cases</h3><p>Each can be looked at: <code>robodyn sweep {escape(study.name)}.yaml --case NUMBER"
    yield " --plot case.png</code></p>"
    worst = [(str(n), f"{100 * m:.1f} %" if m == m else "", why) for n, m, why in summary.worst]
    yield _html_table(("Case", "Margin", "Failed"), worst)
    yield "<h3>Part of the variance that each input explains by itself</h3>"
    yield "<p>First-order indices; what chance alone might give is pale.</p>"
    outputs = summary.sensitivities
    cells = [(escape(name), *(_index(outputs[out][name]) for out in outputs)) for name in study.vary if outputs]
    yield _html_table(("Input", *outputs), cells, plain=False)


def _index(found: tuple[float, float]) -> str:
    index, noise = found
    if index != index:
        return ""
    text = f"{100 * max(index, 0.0):.1f} %"
    return text if index > noise else f'<span class="faint">{text}</span>'


def _said(study: Study, name: str) -> str:
    each = study.vary[name]
    return f"{each.kind.replace('_', ' ')} {', '.join(map(str, each.values))}"


def _html_table(heads: Row, rows: Iterable[Row], *, plain: bool = True) -> str:
    def line(cells: Row, tag: str) -> str:
        text = "".join(f"<{tag}>{escape(cell) if plain else cell}</{tag}>" for cell in cells)
        return f"<tr>{text}</tr>"

    body = "\n".join(line(row, "td") for row in rows)
    return f'<div class="scroll"><table>\n{line(heads, "th")}\n{body}\n</table></div>'
