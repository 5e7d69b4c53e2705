"""The report of an identification: one HTML page that needs nothing else."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from html import escape

import numpy as np

from robodyn_ros.dynamics.document.page import page
from robodyn_ros.identification import report_tables
from robodyn_ros.identification.report_plot import efforts
from robodyn_ros.identification.report_tables import Table
from robodyn_ros.identification.result import Identification, Prediction
from robodyn_ros.identification.signals import Prepared

PAGE_STYLE = """
body { font: 1rem/1.5 system-ui, sans-serif; max-width: 72rem; margin: 2rem auto; padding: 0 1rem; color: #222; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.2rem; margin-top: 2.2rem; border-bottom: 1px solid #ccc; }
table { border-collapse: collapse; font-size: 0.88rem; }
th, td { text-align: left; padding: 0.2rem 1.1rem 0.2rem 0; border-bottom: 1px solid #ddd; vertical-align: top; }
td { font-variant-numeric: tabular-nums; }
.scroll { overflow-x: auto; margin: 0.7rem 0; } .no { color: #777; }
img { width: 100%; } .verdict { font-weight: bold; } summary { cursor: pointer; margin: 0.7rem 0; }
"""


def verdict(result: Identification) -> str:
    """One sentence: how well the identified arm predicts efforts."""
    found, before, motion = tested(result)
    worst, old = _worst(found), _worst(before)
    if not improved(result):
        return f"The identified arm predicts {motion} no better than the URDF: within {worst:.2%} of the effort."
    return f"The identified arm predicts {motion} to within {worst:.2%} of the effort (RMS), the URDF's to {old:.2%}."


def improved(result: Identification) -> bool:
    """Whether the identified arm predicts better than the one before."""
    found, before, _ = tested(result)
    return bool(np.nanmean(np.log(found.rms / before.rms)) < 0.0)


def tested(result: Identification) -> tuple[Prediction, Prediction, str]:
    """The prediction that counts, that by the URDF, and what is predicted."""
    if result.validation is not None and result.validation_before is not None:
        return result.validation, result.validation_before, "a motion that was not used"
    return result.cross_validation, result.before, "motions that were left out in turn"


def html(result: Identification, used: Sequence[Prepared], unused: Sequence[Prepared] = ()) -> str:
    """The page.

    Args:
        result: what was found.
        used: recordings that it was found from.
        unused: recordings that it was validated on.

    Raises:
        ImportError: matplotlib is not installed.
    """
    title = f"Identification of {result.robot.name}"
    parts = [f"<h1>{escape(title)}</h1>", f'<p class="verdict">{escape(verdict(result))}</p>']
    parts += [_section("Recordings", _table(report_tables.recordings(used, unused)))]
    parts += [_section("Prediction of the efforts", _prediction(result))]
    if result.validation is not None and result.validation_before is not None:
        parts += [_figure("A motion that was not used", result, result.validation_before, result.validation)]
    parts += [_figure("The motion that was used", result, result.before, result.fit)]
    parts += [_section("Parameters", _parameters(result))]
    parts += [_section("What could not be identified, and why", _table(report_tables.missing(result)))]
    parts += [_section("What the motion shows", _base(result))]
    return page(title, PAGE_STYLE, "".join(parts))


def _prediction(result: Identification) -> str:
    text = (
        "RMS of what is left of each joint's effort, as a part of the RMS of the effort, while the joint moves. For "
        "the cross-validation, parts of the recordings are left out in turn and predicted from the others."
    )
    return f"<p>{text}</p>{_table(report_tables.joints(result))}"


def _parameters(result: Identification) -> str:
    text = (
        "First moments (m c) and inertias are about the origin of the body's frame, as the equations of motion have "
        "them; the new URDF has centres of mass and inertias about these. What is not identified is as near to the "
        "URDF as the data and physics let it be."
    )
    return f"<p>{text}</p>{_table(report_tables.parameters(result))}"


def _base(result: Identification) -> str:
    text = (
        f"The motion of this arm shows {result.base.rank} independent combinations of the parameters, and this motion "
        f"{result.rank} of them; the condition number of the regressor is {result.condition:.3g}."
    )
    return f"<p>{text}</p><details><summary>All combinations</summary>{_table(report_tables.base(result))}</details>"


def _figure(title: str, result: Identification, before: Prediction, now: Prediction) -> str:
    picture = b64encode(efforts(result.robot, before, now)).decode()
    alt = "Measured and predicted effort of each joint over time, and their differences; grey where a joint is at rest"
    return _section(title, f'<img alt="{alt}" src="data:image/svg+xml;base64,{picture}">')


def _section(title: str, content: str) -> str:
    return f"<h2>{escape(title)}</h2>\n{content}\n"


def _table(table: Table) -> str:
    heading, rows = table
    head = "".join(f"<th>{escape(cell)}</th>" for cell in heading)
    lines = [f"<tr{_mark(row)}>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows]
    body = "\n".join(lines)
    return f'<div class="scroll"><table>\n<tr>{head}</tr>\n{body}\n</table></div>'


def _mark(row: tuple[str, ...]) -> str:
    return ' class="no"' if row[-1].startswith("no: ") else ""


def _worst(found: Prediction) -> float:
    return float(np.nanmax(found.relative))
