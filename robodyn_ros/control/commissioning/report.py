# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The report of a commissioning, for users."""

from __future__ import annotations

import numpy as np

from robodyn_ros.control.commissioning.findings import HELPED_FRICTION, CommissioningOutcome, JointFindings
from robodyn_ros.document.blocks import Block, Document, ListBlock, Literal, Section, VerdictBlock, literal_table

HEADINGS = ("Joint", "Direction", "Friction", "Gravity", "Gravity / model", "Inertia / model", "Verdict")

HELPED = "Much less friction than in the URDF: {}. If the drives compensate it, add friction to drive_compensates."

MIRROR = (
    "The directions of the joints were judged by gravity, which is the same for an arm and its mirror image. Look at "
    "each joint: with a positive effort it moves along its axis, or turns about its axis by the right-hand rule."
)


def report(outcome: CommissioningOutcome) -> Document:
    """Return the report as a page."""
    blocks: list[Block] = [VerdictBlock(Literal(verdict(outcome)))]
    if outcome.joints:
        blocks.append(literal_table(HEADINGS, joint_rows(outcome)))
    following = tuple(map(Literal, advice(outcome)))
    closing: tuple[Block, ...] = (ListBlock(following),) if following else ()
    sections: tuple[Section, ...] = ()
    if outcome.gravity:
        steps = literal_table(("Share", "Greatest drift", "Joint"), gravity_rows(outcome))
        sections = (Section("gravity", "Gravity compensation", (steps, *closing)),)
    else:
        blocks += closing
    return Document(Literal(f"Commissioning of {outcome.robot}"), tuple(blocks), sections, numbered=False)


def verdict(outcome: CommissioningOutcome) -> str:
    """The verdict, one sentence."""
    if outcome.good:
        return "Every joint is right, and the arm stands under gravity compensation."
    wrong = [joint.name for joint in outcome.joints if joint.tried and joint.problems]
    if wrong:
        *others, last = wrong
        return (
            f"Not ready: {', '.join(others)} and {last} are not right."
            if others
            else f"Not ready: {last} is not right."
        )
    return f"Not finished: {outcome.stopped or 'the arm does not stand under gravity compensation'}."


def joint_rows(outcome: CommissioningOutcome) -> list[tuple[str, ...]]:
    """A row for each joint, with the columns HEADINGS."""
    return [
        (
            joint.name,
            "" if not joint.moved else "right" if joint.follows else "WRONG",
            _quantity(joint.friction, joint.effort_unit),
            _quantity(joint.gravity, joint.effort_unit),
            _percentage(joint.gravity_ratio),
            _percentage(joint.inertia_ratio),
            "; ".join(joint.problems) or ("right; look which way it turns" if joint.unsure else "right"),
        )
        for joint in outcome.joints
    ]


def gravity_rows(outcome: CommissioningOutcome) -> list[tuple[str, ...]]:
    """A row for each step of gravity compensation."""
    units = {joint.name: "mm/s" if joint.effort_unit == "N" else "mrad/s" for joint in outcome.joints}
    return [
        (f"{step.ratio:.0%}", f"{1e3 * step.drift:.3g} {units.get(step.joint, 'mrad/s or mm/s')}", step.joint)
        for step in outcome.gravity
    ]


def advice(outcome: CommissioningOutcome) -> list[str]:
    """Recommendations for the next steps."""
    said = [f"{outcome.stopped[0].upper()}{outcome.stopped[1:]}."] if outcome.stopped else []
    friction = [joint for joint in outcome.joints if _known(joint)]
    if friction:
        values = ", ".join(f"{joint.name} {_quantity(joint.friction, joint.effort_unit)}" for joint in friction)
        said.append(f"Write this friction into the <dynamics> tags of the URDF: {values}.")
    smooth = [
        joint.name
        for joint in outcome.joints
        if joint.friction < HELPED_FRICTION * joint.friction_model and _known(joint)
    ]
    if smooth:
        said.append(HELPED.format(", ".join(smooth)))
    if any(joint.seen is None for joint in outcome.joints):
        said.append(MIRROR)
    return said


def _known(joint: JointFindings) -> bool:
    return bool(np.isfinite(joint.friction)) and not joint.problems


def _quantity(value: float, unit: str) -> str:
    return f"{value:.3g} {unit}" if np.isfinite(value) else ""


def _percentage(value: float) -> str:
    return f"{value:.0%}" if np.isfinite(value) else ""
