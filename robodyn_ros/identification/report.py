# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The report of an identification: its page, its tables, its pictures, and settings of the controller that follow."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from robodyn_ros.control.faults.consistency import position_scale
from robodyn_ros.control.faults.settings import SafetySettings
from robodyn_ros.document import blocks as page
from robodyn_ros.identification.estimation.result import Identification, Parameter, Prediction, plot_efforts
from robodyn_ros.identification.preparation import PreparedSamples

PREDICTION = (
    "RMS of each joint's residual effort over the RMS of its effort, while the joint moves. For "
    "the cross-validation, each fold of the recordings is left out in turn and predicted from the others."
)

PARAMETERS = (
    "First moments (m c) and inertias are about the origin of the body's frame, as the equations of motion have "
    "them; the new URDF has centres of mass and inertias about these. Parameters that are not identified are as near "
    "to the URDF as the data and physics allow."
)

PICTURE = "Measured and predicted effort of each joint over time, and their differences; grey where a joint is at rest"

OF_JOINTS = ("viscous", "coulomb", "excess", "stribeck_velocity", "armature")
"""Parameters of the joints rather than of the bodies, as their names begin."""

SPREAD = 3.0
"""Greatest chance deviation of the RMS of N samples, in its standard deviations, each at least RMS/√(2N) [-]."""

CHANGED = 0.01
"""Ratio of a joint's effort below which a change of the model does not change the control [-]."""

LONGEST_NAME = 44
"""Greatest length of a combination's name, which leaves room for its numbers in 80 columns [characters]."""

Table = tuple[tuple[str, ...], list[tuple[str, ...]]]
"""Heading and rows."""


def report(
    result: Identification, used: Sequence[PreparedSamples], unused: Sequence[PreparedSamples] = ()
) -> page.Document:
    """Return the report as a page.

    Args:
        result: the identification.
        used: recordings from which it was identified.
        unused: recordings on which it was validated.

    Raises:
        ImportError: matplotlib is not installed.
    """
    sections = [
        _section("Recordings", _table(recordings(used, unused))),
        _section("Prediction of the efforts", page.TextBlock(page.Literal(PREDICTION)), _table(joints(result))),
    ]
    if result.validation is not None and result.validation_before is not None:
        sections.append(_figure("Motion of the validation", result, result.validation_before, result.validation))
    sections += [
        _figure("Motion of the identification", result, result.before, result.fit),
        _section("Parameters", page.TextBlock(page.Literal(PARAMETERS)), _table(parameters(result))),
        _section("Parameters that could not be identified, with the reason", _table(missing(result))),
        _section("Base parameters that the motion excites", *_base(result)),
    ]
    title = page.Literal(f"Identification of {result.robot.name}")
    opening = (page.VerdictBlock(page.Literal(verdict(result))),)
    return page.Document(title, opening, tuple(sections), numbered=False)


def _base(result: Identification) -> tuple[page.Block, ...]:
    text = f"This arm has {result.base.rank} base parameters, and this motion excites {result.rank} of them; "
    text += f"the condition number of the regressor is {result.condition:.3g}."
    return page.TextBlock(page.Literal(text)), page.DetailsBlock("All combinations", (_table(base(result)),))


def _figure(title: str, result: Identification, before: Prediction, now: Prediction) -> page.Section:
    picture = io.BytesIO()
    plot_efforts(result.robot, before, now, picture)
    return _section(title, page.PictureBlock(picture.getvalue(), "image/svg+xml", PICTURE))


def _section(title: str, *blocks: page.Block) -> page.Section:
    return page.Section(re.sub(r"\W+", "-", title.lower()), title, blocks)


def _table(table: Table) -> page.TableBlock:
    """Return a table of the page; parameters that were not identified are faint."""
    heads, rows = table
    faint = ((i, j) for i, row in enumerate(rows) if row[-1].startswith("no: ") for j in range(len(row)))
    return page.literal_table(heads, rows, faint=faint)


def verdict(result: Identification) -> str:
    """A sentence on the quality of the identified arm's predicted efforts."""
    found, before, motion = tested(result)
    worst, old = (float(np.nanmax(each.relative)) for each in (found, before))
    if lost := _unpredicted(found):
        joint = result.robot.joints[lost[0]]
        text = f"The identified arm does not predict {motion}: of the effort of joint {joint.name!r}, "
        text += f"{worst:.0%} stays unexplained (100% without a model). Do not use it. Record all of a motion of "
        return text + "`robodyn excite`, in which that joint moves as fast as it will in use."
    if not improved(result):
        return f"The identified arm predicts {motion} no better than the URDF: within {worst:.2%} of the effort."
    return f"The identified arm predicts {motion} to within {worst:.2%} of the effort (RMS), the URDF's to {old:.2%}."


def improved(result: Identification) -> bool:
    """True if the identified arm predicts significantly better than the nominal one, and each joint is predicted."""
    found, before, _ = tested(result)
    chance = 1.0 / np.sqrt(max(1.0, float(np.count_nonzero(found.used))))
    return not _unpredicted(found) and bool(np.nanmean(np.log(found.rms / before.rms)) < -chance)


def _unpredicted(found: Prediction) -> list[int]:
    """The joints whose residual is significantly greater than their effort; the worst one first."""
    chance = SPREAD / np.sqrt(np.maximum(1, np.count_nonzero(found.used, axis=0)))
    lost = np.flatnonzero(found.relative > 1.0 + chance)  # never where the joint was at rest: NaN
    return sorted(lost.tolist(), key=lambda k: -found.relative[k])


def tested(result: Identification) -> tuple[Prediction, Prediction, str]:
    """The prediction that the verdict is about, that by the nominal arm, and the motion in words."""
    if result.validation is not None and result.validation_before is not None:
        return result.validation, result.validation_before, "a motion that was not used"
    return result.cross_validation, result.before, "motions that were left out in turn"


def recordings(used: Sequence[PreparedSamples], unused: Sequence[PreparedSamples]) -> Table:
    """The recordings, and how they were prepared."""
    heading = ("Recording", "For", "Used", "Samples", "Up to", "Efforts", "Act later by", "Periods", "Notes")
    rows: list[tuple[str, ...]] = []
    for kind, some in (("identification", used), ("validation", unused)):
        for one in some:
            still = [f"{', '.join(one.still)} at rest"] if one.still else []
            error = f" ± {1e3 * one.delay_error:.2f}" if one.delay_error else ""
            time, delay = f"{one.used:.1f} of {one.duration:.1f} s", f"{1e3 * one.delay:.2f}{error} ms"
            signal = time, str(len(one.samples)), f"{one.cutoff:.1f} Hz", one.effort, delay
            periods, notes = f"mean of {one.periods}" if one.periods else "–", "; ".join([*one.notes, *still]) or "–"
            rows.append((one.name, kind, *signal, periods, notes))
    return heading, rows


def joints(result: Identification) -> Table:
    """The quality of each joint's predicted efforts."""
    heads = ("URDF", "Identified", "Cross-validation", "Validation, URDF", "Validation, identified")
    shown = [(head, found) for head, found in zip(heads, result.predictions.values(), strict=True) if found]
    heading = ("Joint", *(name for name, _ in shown), "Noise", "Outliers")
    rows = []
    for index, joint in enumerate(result.robot.joints):
        errors = [error(found, index, joint.effort_unit) for _, found in shown]
        noise = f"{result.noise[index]:.3g} {joint.effort_unit}"
        rows.append((joint.name, *errors, noise, f"{result.outliers[index]:.1%}"))
    return heading, rows


def error(found: Prediction, index: int, unit: str) -> str:
    """RMS error of a joint: its ratio to the RMS of the effort, and its value in the joint's unit."""
    ratio = unexplained(found, index)
    return f"{ratio} ({found.rms[index]:.3g} {unit})" if np.isfinite(found.rms[index]) else ratio


def unexplained(found: Prediction, index: int) -> str:
    """Ratio of a joint's RMS error to the RMS of its effort."""
    if not np.isfinite(found.rms[index]):
        return "at rest"
    return f"{found.relative[index]:.2%}" if np.isfinite(found.relative[index]) else "no effort"


def parameters(result: Identification) -> Table:
    """The parameters that were to be identified."""
    heading = ("Parameter", "Unit", "URDF", "Now", "Standard error", "Change", "Identified")
    rows: list[tuple[str, ...]] = []
    for one in sought(result):
        change = (one.value - one.nominal) / abs(one.nominal) if abs(one.nominal) > one.standard_error else np.nan
        verdict = "yes" if one.identified else f"no: {one.reason}"
        shown = figures(one.nominal, one.value, one.standard_error)
        rows.append((one.name, one.unit, *shown, "" if np.isnan(change) else f"{change:+.1%}", verdict))
    return heading, rows


def figures(nominal: float, value: float, error: float) -> tuple[str, ...]:
    """Nominal and identified value, with as many digits as the standard error warrants, and that error."""
    return tuple(rounded(number, error) for number in (nominal, value, error))


def rounded(value: float, error: float) -> str:
    """A number with as many decimal places as its error with two digits has; six digits if it has no error."""
    if not (np.isfinite(error) and error > 0.0):
        return f"{value:.6g}"
    places = max(0, 1 - int(np.floor(np.log10(error))))
    return f"{round(value, places) + 0.0:.{places}f}"


def friction(result: Identification) -> Table:
    """Friction of the joints, and inertia of the rotors and static friction where they were identified."""
    rows: list[tuple[str, ...]] = [
        (one.name, four(one.nominal), four(one.value), f"{one.standard_error:.2g}", one.unit)
        for one in sought(result)
        if one.identified and one.name.partition("(")[0] in OF_JOINTS
    ]
    return ("Friction", "URDF", "Now", "±", "Unit"), rows


def changes(result: Identification) -> Table:
    """The changes with the greatest effect on the model's efforts, the greatest first, without noise and friction.

    A base parameter has a row if its change is more than :data:`CHANGED` of a joint's effort and more than three
    standard errors.
    """
    values = result.base_nominal, result.base_values, result.base_errors
    changed = zip(result.base_effects, result.base.text(3), base_units(result), *values, strict=True)
    rows: list[tuple[str, ...]] = [
        (_short(name), four(old), four(now), f"{error:.2g}", unit, f"{effect:.1%}")
        for effect, name, unit, old, now, error in sorted(changed, key=lambda row: -row[0])
        if effect > CHANGED and abs(now - old) > 3.0 * error and name.partition("(")[0] not in OF_JOINTS
    ]
    return ("Changes that affect the control", "URDF", "Now", "±", "Unit", "Of the effort"), rows


def base_units(result: Identification) -> list[str]:
    """The unit of each base parameter: that of its first term."""
    units = {one.name: one.unit for one in result.parameters}
    return [units.get(result.base.names[own], "") for own in result.base.independent]


def _short(name: str) -> str:
    """The name of a combination, by its first term where it is long, because of its terms or of the links' names."""
    first, *others = re.split(r" (?=[+-] )", name)
    is_long = len(others) > 2 or len(name) > LONGEST_NAME
    return f"{first} and {len(others)} more" if others and is_long else name


def four(value: float) -> str:
    """A number with four significant digits."""
    return f"{value + 0.0:.4g}"


def everything(result: Identification) -> str:
    """All parameters with all digits, and the reason if one is not identified, as CSV."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(("parameter", "unit", "urdf", "now", "standard_error", "identified", "reason"))
    for one in result.parameters:
        numbers = (repr(one.nominal), repr(one.value), repr(one.standard_error))
        writer.writerow((one.name, one.unit, *numbers, "yes" if one.identified else "no", one.reason))
    return file.getvalue()


def base(result: Identification) -> Table:
    """The base parameters: the combinations that the motion of the arm shows."""
    heading = ("Combination", "Unit", "URDF", "Now", "Standard error")
    values = zip(result.base_nominal, result.base_values, result.base_errors, strict=True)
    named = zip(result.base.text(4), base_units(result), values, strict=True)
    return heading, [(name, unit, *figures(*numbers)) for name, unit, numbers in named]


def missing(result: Identification) -> Table:
    """The parameters that are not identified, by reason."""
    reasons: dict[str, list[str]] = {}
    for one in sought(result):
        if not one.identified:
            reasons.setdefault(one.reason, []).append(one.name)
    return ("Parameters", "Reason"), [(", ".join(names), reason) for reason, names in reasons.items()]


def sought(result: Identification) -> list[Parameter]:
    """The parameters that were to be identified."""
    known = {one.name for one in result.parameters[: len(result.theta)]} - set(result.base.names)
    return [one for one in result.parameters if one.name not in known]


SIGMAS = 3.0
"""Number of standard deviations of the residual that count as unknown friction, and of a delay's error [-]."""


class StatedSetting(NamedTuple):
    """A setting of the controller, estimated from recordings."""

    name: str
    default: float
    value: float
    unit: str
    joint: str  # the joint with the greatest value; "" for all


def stated_uncertainty(result: Identification, used: Sequence[PreparedSamples]) -> list[StatedSetting]:
    """The settings ``position_noise``, ``velocity_delay`` and ``unknown_friction``, estimated from recordings.

    The user must state the uncertainty that recordings do not show: a payload, a push, and errors of masses that only
    other poses would show.

    The noise is that of the noisiest joint. The delay is that of the efforts, with three standard errors. The friction
    is three standard deviations of the residual effort in a motion that was not used, over the joint's effort limit.

    Args:
        result: the identification from them.
        used: the recordings.
    """
    robot, defaults = result.robot, SafetySettings()
    noise = np.max([one.noise for one in used], axis=0) / position_scale(robot)
    delay = max(abs(one.delay) + SIGMAS * one.delay_error for one in used)
    unseen = result.validation or result.cross_validation
    left = np.nan_to_num(SIGMAS * unseen.rms / robot.effort_limit)
    noisy, rough = robot.joint_names[int(noise.argmax())], robot.joint_names[int(left.argmax())]
    return [
        StatedSetting("position_noise", defaults.position_noise, float(noise.max()), "rad", noisy),
        StatedSetting("velocity_delay", defaults.velocity_delay, delay, "s", ""),
        StatedSetting("unknown_friction", defaults.unknown_friction, float(left.max()), "", rough),
    ]
