"""What an engineer would ask about the joints: how far, how fast, how strong?"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from robodyn_ros.cli.check_urdf import Finding, Urdf, UrdfJoint

FULL_TURNS = 4.0 * np.pi
"""Position limits beyond are degrees, or a joint without limits [rad]."""

LONG = 10.0
"""A prismatic joint or a distance between joints of more is in mm [m]."""

FAST = 100.0
"""Velocity limits beyond are degrees per second [rad/s]."""


def joint_findings(urdf: Urdf) -> Iterator[Finding]:
    """All that is suspicious about the joints."""
    for joint in urdf.joints:
        remarks = [*_placement(joint)]
        if joint.moves:
            remarks += [*_axis(joint), *_position(joint)]
            remarks += [*_effort(joint), *_velocity(joint)] if joint.mimic is None else []
        for severity, text in remarks:
            yield Finding(severity, joint.title, joint.line, text)  # type: ignore[arg-type]


Remark = tuple[str, str]


def _placement(joint: UrdfJoint) -> Iterator[Remark]:
    distance = float(np.linalg.norm(joint.origin.translation))
    if distance > LONG:
        yield "warning", f"its origin is {distance:g} m from its parent's: is that in mm?"


def _axis(joint: UrdfJoint) -> Iterator[Remark]:
    if joint.axis is None:
        yield "note", "has no <axis>: x is taken"
        return
    length = float(np.linalg.norm(joint.axis))
    if length == 0.0:
        yield "error", "its axis is zero and has no direction"
    elif abs(length - 1.0) > 1e-3:
        yield "note", f"its axis has the length {length:.4g}; only its direction counts"


def _position(joint: UrdfJoint) -> Iterator[Remark]:
    if joint.type not in ("revolute", "prismatic"):
        return
    limits = joint.limits or {}
    if not {"lower", "upper"} & limits.keys():
        yield "warning", "has no position limits: nothing keeps it from its stops"
        return
    lower, upper = limits.get("lower", 0.0), limits.get("upper", 0.0)
    if lower >= upper:
        yield "error", f"its position limits [{lower:g}, {upper:g}] leave it no way to move"
    elif not lower <= 0.0 <= upper:
        yield "note", f"cannot be at 0; its limits are [{lower:g}, {upper:g}]"
    greatest = max(abs(lower), abs(upper))
    if joint.type == "revolute" and greatest > FULL_TURNS:
        yield "warning", f"its position limits [{lower:g}, {upper:g}] rad are more than two turns: are they in degrees?"
    if joint.type == "prismatic" and greatest > LONG:
        yield "warning", f"its position limits [{lower:g}, {upper:g}] m are long: are they in mm?"


def _effort(joint: UrdfJoint) -> Iterator[Remark]:
    effort = (joint.limits or {}).get("effort")
    if effort is None:
        yield "warning", "has no effort limit: nothing is known of its drive"
    elif effort <= 0.0:
        yield "error", f"its effort limit is {effort:g}: it cannot hold anything"


def _velocity(joint: UrdfJoint) -> Iterator[Remark]:
    velocity = (joint.limits or {}).get("velocity")
    if velocity is None:
        yield "warning", "has no velocity limit"
    elif velocity <= 0.0:
        yield "error", f"its velocity limit is {velocity:g}: it cannot move"
    elif velocity > FAST and joint.type != "prismatic":
        yield "warning", f"its velocity limit is {velocity:g} rad/s: in degrees per second, or a placeholder?"
