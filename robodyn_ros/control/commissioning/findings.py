# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The settings of commissioning, its findings about an arm, their interpretation, and their report."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from robodyn_ros.document.blocks import Block, Document, ListBlock, Literal, Section, VerdictBlock, literal_table
from robodyn_ros.settings import CheckedSettings, setting, switch


@dataclass(frozen=True)
class CommissioningSettings(CheckedSettings):
    """Settings of the procedure."""

    push_effort: float = setting(
        0.2, "greatest effort of a push, as ratio of the effort limit, where gravity needs less", "-", 0.01, 1.0
    )
    push_time: float = setting(5.0, "time in which a push grows to its greatest", "s", 0.5, 60.0)
    speed_limit: float = setting(0.6, "speed at which the commissioning stops", "rad/s or m/s", 0.01, 10.0)
    travel_limit: float = setting(
        0.35, "distance from the start at which the commissioning stops", "rad or m", 0.01, 3.0
    )


@dataclass(frozen=True)
class CommissionerSettings(CheckedSettings):
    """Settings of the commissioner node; the metadata of each field describe it."""

    guided: bool = switch(False, "whether to ask before each joint, on stdout, and to wait for an answer on stdin")
    state_timeout: float = setting(0.2, "longest wait for the next joint state", "s", 1e-3, 10.0)


LEAST_GRAVITY = 0.02  #: Least gravity effort with which a joint is judged, as ratio of the effort limit [-].
GRAVITY_TOLERANCE = 1.2  #: Factor by which gravity may differ from the model's [-].
INERTIA_TOLERANCE = 1.3  #: Factor by which inertia may differ from the model's [-].
DRIFT = 0.01  #: Speed under full compensation that still counts as standing [rad/s] or [m/s].
CARRIED = 0.25  #: Ratio of measured to modelled gravity below which the drive compensates gravity by itself [-].
HELPED_FRICTION = 0.25  #: Ratio of measured to described friction below which a drive may compensate it itself [-].


@dataclass
class JointFindings:
    """Findings about one joint. Ratios are measured over model; nan where nothing could be measured."""

    name: str
    effort_unit: str
    effort_limit: float
    pushed: bool = False  # in both directions
    moved: bool = False
    follows: bool = False  # its position moves in the direction of its effort
    instead: str = ""  # name of another joint that moved in its place
    friction: float = np.nan  # [N·m] or [N]
    gravity: float = np.nan  # measured [N·m] or [N]
    gravity_model: float = np.nan
    friction_model: float = 0.0  # of the URDF, at the speed of the stroke
    drive_adds_gravity: bool = False  # by drive_compensates
    inertia: float = np.nan  # measured [kg m²] or [kg]; also nan if friction makes that impossible
    inertia_ratio: float = np.nan
    seen: bool | None = None  # somebody has seen it move in its positive direction

    @property
    def gravity_ratio(self) -> float:
        """Measured over model; nan if the gravity effort is too low to judge."""
        least = max(LEAST_GRAVITY * self.effort_limit, self.friction if np.isfinite(self.friction) else 0.0)
        return self.gravity / self.gravity_model if abs(self.gravity_model) > least else np.nan

    @property
    def carries_itself(self) -> bool:
        """True if the joint is lifted without the gravity effort, because its drive adds that."""
        return abs(self.gravity_ratio) < CARRIED

    @property
    def tried(self) -> bool:
        """True if there are enough measurements to judge the joint."""
        return bool(self.instead) or (self.pushed and not self.moved) or bool(np.isfinite(self.friction))

    @property
    def problems(self) -> list[str]:
        """Problems of the joint, with their corrections; empty if there are none."""
        if self.instead:
            return [f"{self.instead} moved in its place: the joints are wired or named in another order"]
        if not self.tried:
            return ["was not tried to the end"]
        if not self.moved:
            return ["did not move: is a brake on, the drive off, or the effort limit too low?"]
        if not self.follows:
            return ["moves against its effort: effort and position have opposite signs; swap one of them in the drive"]
        if self.drive_adds_gravity and np.isfinite(self.gravity_ratio) and not self.carries_itself:
            text = f"needs {self.gravity_ratio:.2g} times the model's gravity effort, so its drive adds none"
            return [f"{text}: remove it from drive_compensates"]
        if self.carries_itself and not self.drive_adds_gravity:
            text = "has a drive that compensates gravity by itself: with a second compensation it would rise"
            return [f"{text}; set drive_compensates to [gravity], or to [gravity.{self.name}] for this joint alone"]
        if (self.gravity_ratio < 0.0 and not self.carries_itself) or self.seen is False:
            return [f"turns the other way than in the URDF: change the sign of transmission.{self.name}.gear_ratio"]
        return self._scale()

    def _scale(self) -> list[str]:
        load, heavy = np.nan if self.drive_adds_gravity else self.gravity_ratio, self.inertia_ratio
        if within(load, GRAVITY_TOLERANCE):
            text = f"its inertia is {heavy:.2g} times the model's: are the masses beyond it right?"
            return [] if within(heavy, INERTIA_TOLERANCE) else [text]
        if within(heavy / load**2, INERTIA_TOLERANCE) and not within(heavy / load, INERTIA_TOLERANCE):
            text = f"acts as with a gear ratio of {1.0 / load:.2g} times the parameter"
            return [f"{text}: see transmission.{self.name}.gear_ratio"]
        return [f"holds its load with {load:.2g} times the effort: is its torque constant right, are the masses?"]

    @property
    def unsure(self) -> bool:
        """True if its direction in space is unknown: gravity is too low to judge it, and the user was not asked."""
        return self.moved and self.seen is None and (self.carries_itself or bool(np.isnan(self.gravity_ratio)))


def within(ratio: float, tolerance: float) -> bool:
    """True if a ratio is within a factor of 1, or unknown (nan)."""
    return bool(np.isnan(ratio) or 1.0 / tolerance <= ratio <= tolerance)


@dataclass
class GravityStep:
    """A step of gravity compensation."""

    ratio: float  # of the model's gravity [-]
    drift: float  # greatest mean speed of a joint [rad/s] or [m/s]
    joint: str  # the joint with this speed


@dataclass
class CommissioningOutcome:
    """The findings of a whole procedure."""

    robot: str
    joints: list[JointFindings] = field(default_factory=list)
    gravity: list[GravityStep] = field(default_factory=list)
    stopped: str = ""  # why it ended before its time

    @property
    def good(self) -> bool:
        """True if every joint is right and the arm stands under full gravity compensation."""
        joints = bool(self.joints) and not any(joint.problems for joint in self.joints)
        return joints and not self.stopped and bool(self.gravity) and self.gravity[-1].drift <= DRIFT


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
        units = {joint.name: "mm/s" if joint.effort_unit == "N" else "mrad/s" for joint in outcome.joints}
        rows = [
            (f"{step.ratio:.0%}", f"{1e3 * step.drift:.3g} {units.get(step.joint, 'mrad/s or mm/s')}", step.joint)
            for step in outcome.gravity
        ]
        steps = literal_table(("Compensated", "Greatest drift", "Joint"), rows)
        sections = (Section("gravity", "Gravity compensation", (steps, *closing)),)
    else:
        blocks += closing
    return Document(Literal(f"Commissioning of {outcome.robot}"), tuple(blocks), sections, numbered=False)


def verdict(outcome: CommissioningOutcome) -> str:
    """The verdict, one sentence."""
    if outcome.good:
        return "Every joint is right, and the arm stands under gravity compensation."
    if wrong := [joint.name for joint in outcome.joints if joint.tried and joint.problems]:
        *others, last = wrong
        names = f"{', '.join(others)} and {last} are" if others else f"{last} is"
        return f"Not ready: {names} not right."
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


def advice(outcome: CommissioningOutcome) -> list[str]:
    """Recommendations for the next steps."""
    said = [] if outcome.stopped in verdict(outcome) else [f"Not finished: {outcome.stopped}."]
    if friction := [joint for joint in outcome.joints if np.isfinite(joint.friction) and not joint.problems]:
        values = ", ".join(f"{joint.name} {_quantity(joint.friction, joint.effort_unit)}" for joint in friction)
        said.append(f"Write this friction into the <dynamics> tags of the URDF: {values}.")
    if smooth := [joint.name for joint in friction if joint.friction < HELPED_FRICTION * joint.friction_model]:
        said.append(HELPED.format(", ".join(smooth)))
    if any(joint.seen is None for joint in outcome.joints):
        said.append(MIRROR)
    return said


def _quantity(value: float, unit: str) -> str:
    return f"{value:.3g} {unit}" if np.isfinite(value) else ""


def _percentage(value: float) -> str:
    return f"{value:.0%}" if np.isfinite(value) else ""
