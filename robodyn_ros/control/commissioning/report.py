"""The report of a commissioning, for people: Markdown, or the same as HTML."""

from __future__ import annotations

from html import escape

import numpy as np

from robodyn_ros.control.commissioning.findings import CommissioningOutcome, JointFindings
from robodyn_ros.document.html import page

HEADINGS = ("Joint", "Direction", "Friction", "Gravity", "Gravity / model", "Inertia / model", "Verdict")

MIRROR = (
    "Whether a joint turns the way that the URDF says is told by gravity here, which cannot tell an arm from its "
    "mirror image. Look: with a positive effort each joint goes along its axis, or turns about it by the right hand."
)

STYLE = "body{font:16px/1.5 sans-serif;margin:2em;max-width:60em}td,th{padding:.3em .8em;text-align:left}"
STYLE += "td:not(:last-child){white-space:nowrap}table{border-collapse:collapse}tr{border-bottom:1px solid #ccc}"


def markdown(outcome: CommissioningOutcome) -> str:
    """The report as Markdown."""
    lines = [f"# Commissioning of {outcome.robot}", "", f"**{verdict(outcome)}**", ""]
    if outcome.joints:
        lines += [_row(HEADINGS), _row(("---",) * len(HEADINGS)), *map(_row, joint_rows(outcome)), ""]
    if outcome.gravity:
        lines += ["## Gravity compensation", "", _row(("Share", "Greatest drift", "Joint")), _row(("---",) * 3)]
        lines += [*map(_row, gravity_rows(outcome)), ""]
    return "\n".join([*lines, *(f"- {text}" for text in advice(outcome)), ""])


def html(outcome: CommissioningOutcome) -> str:
    """The report as an HTML page."""
    title = f"Commissioning of {outcome.robot}"
    parts = [f"<h1>{escape(title)}</h1>", f"<p><b>{escape(verdict(outcome))}</b></p>"]
    if outcome.joints:
        parts.append(_html_table(HEADINGS, joint_rows(outcome)))
    if outcome.gravity:
        parts += [
            "<h2>Gravity compensation</h2>",
            _html_table(("Share", "Greatest drift", "Joint"), gravity_rows(outcome)),
        ]
    parts.append("<ul>" + "".join(f"<li>{escape(text)}</li>" for text in advice(outcome)) + "</ul>")
    return page(title, STYLE, "".join(parts))


def verdict(outcome: CommissioningOutcome) -> str:
    """One sentence."""
    if outcome.good:
        return "Every joint is right, and the arm stands under gravity compensation."
    wrong = [joint.name for joint in outcome.joints if joint.tried and joint.problems]
    if wrong:
        return f"Not ready: {', '.join(wrong)} {'is' if len(wrong) == 1 else 'are'} not right."
    return f"Not finished: {outcome.stopped or 'the arm does not stand under gravity compensation'}."


def joint_rows(outcome: CommissioningOutcome) -> list[tuple[str, ...]]:
    """A row for each joint, as HEADINGS says."""
    return [
        (
            joint.name,
            "" if not joint.moved else "right" if joint.follows else "WRONG",
            _quantity(joint.friction, joint.effort_unit),
            _quantity(joint.gravity, joint.effort_unit),
            _share(joint.gravity_ratio),
            _share(joint.inertia_ratio),
            "; ".join(joint.problems) or ("right; look which way it turns" if joint.unsure else "right"),
        )
        for joint in outcome.joints
    ]


def gravity_rows(outcome: CommissioningOutcome) -> list[tuple[str, ...]]:
    """A row for each step."""
    return [(f"{step.share:.0%}", f"{1e3 * step.drift:.3g} mrad/s or mm/s", step.joint) for step in outcome.gravity]


def advice(outcome: CommissioningOutcome) -> list[str]:
    """What to do next."""
    said = [f"{outcome.stopped[0].upper()}{outcome.stopped[1:]}."] if outcome.stopped else []
    friction = [joint for joint in outcome.joints if _known(joint)]
    if friction:
        values = ", ".join(f"{joint.name} {joint.friction:.3g}" for joint in friction)
        said.append(f"Friction for the dynamics tags of the URDF: {values}.")
    if any(joint.seen is None for joint in outcome.joints):
        said.append(MIRROR)
    return said


def _known(joint: JointFindings) -> bool:
    return bool(np.isfinite(joint.friction)) and not joint.problems


def _quantity(value: float, unit: str) -> str:
    return f"{value:.3g} {unit}" if np.isfinite(value) else ""


def _share(value: float) -> str:
    return f"{value:.0%}" if np.isfinite(value) else ""


def _row(cells: tuple[str, ...]) -> str:
    return f"| {' | '.join(cells)} |"


def _html_table(headings: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    head = "".join(f"<th>{escape(cell)}</th>" for cell in headings)
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><tr>{head}</tr>{body}</table>"
