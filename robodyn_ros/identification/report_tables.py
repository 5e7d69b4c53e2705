"""The tables of the report, as rows of text."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from robodyn_ros.identification.result import Identification, Parameter, Prediction
from robodyn_ros.identification.signals import Prepared

Table = tuple[tuple[str, ...], list[tuple[str, ...]]]
"""Heading and rows."""


def recordings(used: Sequence[Prepared], unused: Sequence[Prepared]) -> Table:
    """What was recorded, and what was made of it."""
    heading = ("Recording", "For", "Used", "Samples", "Up to", "Efforts", "Act later by", "Periods", "Notes")
    rows: list[tuple[str, ...]] = []
    for kind, some in (("identification", used), ("validation", unused)):
        for one in some:
            still = [f"{', '.join(one.still)} stood still"] if one.still else []
            error = f" ± {1e3 * one.delay_error:.2f}" if one.delay_error else ""
            rows.append(
                (
                    one.name,
                    kind,
                    f"{one.used:.1f} of {one.duration:.1f} s",
                    str(len(one.samples)),
                    f"{one.cutoff:.1f} Hz",
                    one.effort,
                    f"{1e3 * one.delay:.2f}{error} ms",
                    f"mean of {one.periods}" if one.periods else "–",
                    "; ".join([*one.notes, *still]) or "–",
                )
            )
    return heading, rows


def joints(result: Identification) -> Table:
    """How well the efforts of each joint are predicted."""
    columns: list[tuple[str, Prediction | None]] = [
        ("URDF", result.before),
        ("Identified", result.fit),
        ("Cross-validation", result.cross_validation),
        ("Unseen motion, URDF", result.validation_before),
        ("Unseen motion, identified", result.validation),
    ]
    shown = [(name, found) for name, found in columns if found is not None]
    heading = ("Joint", *(name for name, _ in shown), "Noise", "Outliers")
    rows = []
    for index, joint in enumerate(result.robot.joints):
        errors = [error(found, index, joint.effort_unit) for _, found in shown]
        noise = f"{result.noise[index]:.3g} {joint.effort_unit}"
        rows.append((joint.name, *errors, noise, f"{result.outliers[index]:.1%}"))
    return heading, rows


def error(found: Prediction, index: int, unit: str) -> str:
    """RMS error of a joint, as a part of the RMS of its effort and in its unit."""
    if not np.isfinite(found.rms[index]):
        return "at rest"
    return f"{found.relative[index]:.2%} ({found.rms[index]:.3g} {unit})"


def parameters(result: Identification) -> Table:
    """Every number of the arm that was looked for."""
    heading = ("Parameter", "Unit", "URDF", "Now", "Standard error", "Change", "Identified")
    rows: list[tuple[str, ...]] = []
    for one in sought(result):
        change = (one.value - one.nominal) / abs(one.nominal) if abs(one.nominal) > one.standard_error else np.nan
        verdict = "yes" if one.identified else f"no: {one.reason}"
        rows.append((one.name, one.unit, *figures(one), "" if np.isnan(change) else f"{change:+.1%}", verdict))
    return heading, rows


def figures(one: Parameter) -> tuple[str, str, str]:
    """A parameter before and now, with as many digits as its standard error warrants, and that error."""
    return rounded(one.nominal, one.standard_error), rounded(one.value, one.standard_error), f"{one.standard_error:.2g}"


def rounded(value: float, error: float) -> str:
    """A number with as many places as an error with two digits has; all, where there is none."""
    if not (np.isfinite(error) and error > 0.0):
        return f"{value:.6g}"
    places = max(0, 1 - int(np.floor(np.log10(error))))
    return f"{round(value, places) + 0.0:.{places}f}"


def base(result: Identification) -> Table:
    """The combinations that the motion of the arm shows."""
    heading = ("Combination", "URDF", "Now", "Standard error")
    values = zip(result.base.text(4), result.base_nominal, result.base_values, result.base_errors, strict=True)
    return heading, [
        (name, rounded(old, spread), rounded(new, spread), f"{spread:.2g}") for name, old, new, spread in values
    ]


def missing(result: Identification) -> Table:
    """What could not be identified, by reason."""
    reasons: dict[str, list[str]] = {}
    for one in sought(result):
        if not one.identified:
            reasons.setdefault(one.reason, []).append(one.name)
    return ("What", "Why"), [(", ".join(names), reason) for reason, names in reasons.items()]


def sought(result: Identification) -> list[Parameter]:
    """The parameters that were not taken as known."""
    names = set(result.base.names)
    known = {one.name for one in result.parameters[: len(result.theta)]} - names
    return [one for one in result.parameters if one.name not in known]
