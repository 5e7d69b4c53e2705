# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Findings about the joints: axes, limits, the efforts that hold the arm, and whether a failed drive is detected."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

import numpy as np

from robodyn_ros.cli.arm import parse_pose
from robodyn_ros.cli.check.urdf import Remark, Urdf, UrdfJoint
from robodyn_ros.control.faults.consistency import afforded, explained_efforts
from robodyn_ros.control.faults.settings import SafetySettings
from robodyn_ros.control.laws.gains import JointGains
from robodyn_ros.control.limits import check_position_limits
from robodyn_ros.dynamics import CompiledDynamics, Dynamics
from robodyn_ros.errors import InputError
from robodyn_ros.robot import Array, Joint, Robot, random_positions
from robodyn_ros.robot.robot import Finding
from robodyn_ros.robot.urdf import NOT_KNOWN, TYPES
from robodyn_ros.simulation.plant.joint_effects import decay_rates

FULL_TURNS = 4.0 * np.pi
"""Greater position limits are in degrees, or mean that there is no limit [rad]."""

LONG = 10.0
"""A longer prismatic joint, or distance between joints, is in mm [m]."""

FAST = 100.0
"""Greater velocity limits are in degrees per second [rad/s]."""

SAMPLES = 4096
"""Number of poses among which the worst is sought."""

LITTLE_LEFT = 0.8
"""Ratio of holding effort to effort limit beyond which little effort remains for motion."""

ILL = 1e4
"""Condition number of M, its diagonal scaled to 1, beyond which some motion has almost no inertia."""

WITHOUT_LIMITS = {True: 1.0, False: np.pi}
"""Is prismatic → range that is assumed for a joint without position limits, ± [m] or [rad]."""

BEYOND = 0.01
"""Fraction of a joint's range by which a mimic joint may leave it: a rounding error in the file."""

XARM7 = {20.0: (2.0, 1.0), 30.0: (5.0, 1.0), 50.0: (10.0, 1.0)}
"""Effort limit of a joint of the xArm7 [N·m] → its damping [N·m·s/rad] and friction [N·m].

Source: MuJoCo Menagerie, ufactory_xarm7/xarm7.xml.
"""

ARMATURE, GEARED = 0.1, (10.0, 200.0)
"""Reflected inertia of a geared motor's rotor [kg m²], and the effort limits of joints that have it [N·m].

It is that of every joint of the UR5e, the Panda and the xArm7 in MuJoCo Menagerie, of 12 to 150 N·m.
"""


DRIVE_LIMITS = ("effort", ": its drive is unknown", "it cannot hold anything"), ("velocity", "", "it cannot move")
"""Name of a limit of a drive, what follows from its lack, and from a negative one."""


def joint_findings(urdf: Urdf, form: Iterable[tuple[str, str]]) -> Iterator[Finding]:
    """The findings about all joints, without those about limits that are of the wrong form.

    Args:
        urdf: the links and joints.
        form: element and text of each problem of its form.
    """
    told = {(element, text.partition("=")[0]) for element, text in form}
    for joint in urdf.joints:
        remarks = [*_placement(joint)]
        if joint.moves and joint.type in TYPES:
            remarks += [*_axis(joint), *_position(joint)]
            for name, *said in DRIVE_LIMITS if joint.mimic is None else ():
                if (joint.title, f"<limit> {name}") not in told:
                    remarks += _drive_limit(joint, name, *said)
        for severity, text in remarks:
            yield Finding(severity, joint.title, joint.line, text)  # type: ignore[arg-type]


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
        yield "error", "axis is zero and has no direction"
    elif abs(length - 1.0) > 1e-3:
        yield "note", f"its axis has the length {length:.4g}; only its direction counts"


def _position(joint: UrdfJoint) -> Iterator[Remark]:
    if joint.type not in ("revolute", "prismatic"):
        return
    limits = joint.limits or {}
    lower, upper = limits.get("lower", 0.0), limits.get("upper", 0.0)
    if not {"lower", "upper"} & limits.keys() or np.isinf([lower, upper]).all():
        yield "warning", "has no position limits: nothing prevents a motion into its stops"
        return
    if lower == upper == 0.0:
        yield "warning", "its position limits are 0 and 0, which means none: nothing prevents a motion into its stops"
        return
    if lower >= upper:
        yield "error", f"its position limits [{lower:g}, {upper:g}] leave it no range to move"
    elif not lower <= 0.0 <= upper:
        unit = "m" if joint.type == "prismatic" else "rad"
        yield "note", f"cannot be at 0; its limits are [{lower:g}, {upper:g}] {unit}"
    greatest = max(abs(lower), abs(upper))
    if joint.type == "revolute" and FULL_TURNS < greatest < np.inf:
        yield "warning", f"its position limits [{lower:g}, {upper:g}] rad are more than two turns: are they in degrees?"
    if joint.type == "prismatic" and LONG < greatest < np.inf:
        yield "warning", f"its position limits [{lower:g}, {upper:g}] m are long: are they in mm?"


def _drive_limit(joint: UrdfJoint, name: str, consequence: str, negative: str) -> Iterator[Remark]:
    limit = (joint.limits or {}).get(name)
    if limit is None:
        yield "warning", f"has no {name} limit{consequence}"
    elif limit in NOT_KNOWN:
        yield "warning", f"its {name} limit is {limit:g}, which means none{consequence}"
    elif limit < 0.0:
        yield "error", f"its {name} limit is {limit:g}: {negative}"
    elif name == "velocity" and limit > FAST and joint.type != "prismatic":
        yield "warning", f"its velocity limit is {limit:g} rad/s: in degrees per second, or a placeholder?"


def follower_findings(robot: Robot, urdf: Urdf) -> Iterator[Finding]:
    """Findings about mimic joints that leave their limits while the joint that they follow is within its own."""
    placed = {joint.name: joint for joint in urdf.joints}
    for body in robot.bodies:
        joint, leader = body.joint, robot.joints[body.coordinate]
        if joint.mimic is None:
            continue
        slack = BEYOND * (joint.upper - joint.lower) if np.isfinite([joint.lower, joint.upper]).all() else 0.0
        for bound in (leader.lower, leader.upper):
            position = body.ratio * bound + body.offset
            if np.isfinite(position) and not joint.lower - slack <= position <= joint.upper + slack:
                text = f"leaves its limits [{joint.lower:g}, {joint.upper:g}] {joint.position_unit}: where "
                text += f"{leader.name!r} is at its limit, {bound:g} {leader.position_unit}, it is at {position:g}"
                yield Finding("warning", placed[joint.name].title, placed[joint.name].line, text)


class Loads(NamedTuple):
    """The efforts that hold the arm, and how well its mass matrix can be inverted; n joints."""

    poses: Mapping[str, Array]  # name → positions (n,)
    efforts: Mapping[str, Array]  # name → holding efforts (n,) in [N·m] or [N]
    worst: Array  # greatest holding effort of each joint over its range, with its sign (n,)
    worst_poses: Array  # pose of each (n, n)
    condition: Mapping[str, float]  # of M, its diagonal scaled to 1, at each pose
    worst_condition: float
    heaviest: Array  # greatest diagonal element of M for each joint (n,) in [kg m²] or [kg]
    lightest: Array  # least (n,)


def loads(dynamics: Dynamics, poses: Mapping[str, Array]) -> Loads:
    """Evaluate gravity and M at the given poses, and at many random ones for the worst.

    Args:
        dynamics: the arm.
        poses: name → positions (n,) in [rad] or [m]; the home pose is added as the first.
    """
    robot = dynamics.robot
    named = {"home": robot.home, **poses}
    span = [WITHOUT_LIMITS[joint.is_prismatic] for joint in robot.joints]
    places = np.concatenate([np.array(list(named.values())), random_positions(robot, SAMPLES, 0, span)])
    gravity, mass = dynamics.gravity(places), dynamics.mass_matrix(places)
    rows = np.abs(gravity).argmax(axis=0)
    reflected = np.diagonal(mass, axis1=1, axis2=2)
    scale = np.sqrt(reflected)
    condition = np.linalg.cond(mass / (scale[:, :, np.newaxis] * scale[:, np.newaxis, :]))
    return Loads(
        poses=named,
        efforts=dict(zip(named, gravity, strict=False)),
        worst=gravity[rows, np.arange(robot.n)],
        worst_poses=places[rows],
        condition=dict(zip(named, condition.tolist(), strict=False)),
        worst_condition=float(condition.max()),
        heaviest=reflected.max(axis=0),
        lightest=reflected.min(axis=0),
    )


def named_pose(text: str, robot: Robot) -> tuple[str, Array]:
    """Name and positions (n,) of ``name=pose`` or ``pose``, with the pose as :func:`.arm.parse_pose` takes it.

    Raises:
        InputError: the text has another form.
        LimitError: a position is outside its limits.
    """
    name, equals, pose = text.partition("=")
    if not equals or name.strip() in robot.joint_names:
        name = pose = text
    q = parse_pose(pose, robot, robot.home, "--at")
    if not name.strip():
        raise InputError("--at", f"{text!r} has no name before the sign", text)
    check_position_limits("--at", robot, q, list(range(robot.n)))
    return name.strip(), q


def damping_findings(dynamics: Dynamics, step: float) -> Iterator[Finding]:
    """Findings about joints whose damping slows them down within a step [s] of the simulation."""
    robot = dynamics.robot
    rates = decay_rates(dynamics, robot.damping) if robot.damping.any() else robot.damping
    for joint, rate, damping in zip(robot.joints, rates, robot.damping, strict=True):
        if rate * step > 1.0:
            inertia = f"{damping / rate:.2g} {'kg' if joint.is_prismatic else 'kg m²'}"
            text = f"its damping of {damping:g} {joint.effort_unit}·s/{joint.position_unit} acts on an inertia of down "
            text += f"to {inertia}: speed decays in {1e6 / rate:.3g} µs, {rate * step:.3g} times in a step of "
            text += f"{1e3 * step:g} ms; the simulator integrates that implicitly"
            yield Finding("note", f"joint {joint.name!r}", None, text)


def motor_findings(robot: Robot, urdf: Urdf, lightest: Array) -> Iterator[Finding]:
    """One finding for the joints whose drive is far too strong for their links: their motors' inertia is missing.

    Feedback of the natural frequency ω has the stiffness M_ii ω². If an error of one radian does not reach the effort
    limit, M_ii ω² < τ_max, most of the drive's effort is unused, and an unmodelled load deflects the joint. The link of
    such a joint is much lighter than the rotor that moves it, which a URDF seldom has.

    Args:
        robot: the arm.
        urdf: the file it comes from, for the line.
        lightest: least reflected inertia of each joint over its range (n,) in [kg m²].
    """
    omega = JointGains().natural_frequency
    lacks = [
        not joint.is_prismatic and armature == 0.0 and np.isfinite(joint.effort) and inertia * omega**2 < joint.effort
        for joint, armature, inertia in zip(robot.joints, robot.armature, lightest, strict=True)
    ]
    if not any(lacks):
        return
    stiffness = lightest * omega**2
    ratio = np.where(lacks, stiffness / robot.effort_limit, np.inf)
    worst = int(np.argmin(ratio))
    joint, line = robot.joints[worst], next(each.line for each in urdf.joints if each.name == robot.joint_names[worst])
    others = [name for name, lacking in zip(robot.joint_names, lacks, strict=True) if lacking and name != joint.name]
    as_those = f", as those of {', '.join(others)}" if others else ""
    text = f"its motor is missing{as_those}: with the {lightest[worst]:.2g} kg m² of the links alone, the default "
    text += f"gains ({omega:g} rad/s) give a stiffness of {stiffness[worst]:.2g} N·m/rad, its limit is "
    text += f"{joint.effort:g} N·m, and an unmodelled load makes it oscillate. {_motor_line(joint)}"
    yield Finding("warning", f"joint {joint.name!r}", line, text)


def _motor_line(joint: Joint) -> str:
    """The XML for a joint whose motor is missing, and the source of its numbers."""
    find = "`robodyn identify --armature` finds yours"
    if not GEARED[0] <= joint.effort <= GEARED[1]:
        return f'Add its inertia to the joint, <dynamics damping="0" armature="…"/> [kg m²]; {find}'
    like = min(XARM7, key=lambda effort: abs(np.log(effort / joint.effort)))
    damping, friction = XARM7[like]
    source = "armature of the UR5e, the Panda and the xArm7 in MuJoCo Menagerie"
    if not (joint.damping or joint.friction):
        source += f", damping and friction of the xArm7's joint of {like:g} N·m there"
    else:
        damping, friction = joint.damping, joint.friction
    tag = f'<dynamics damping="{damping:g}" friction="{friction:g}" armature="{ARMATURE:g}"/>'
    return f"Add to the joint {tag} ({source}); {find}"


NO_LOAD = 1e-9
"""Ratio of the load to the effort limit up to which it is rounding: gravity does not act on the joints [-]."""


def load_findings(robot: Robot, found: Loads) -> Iterator[Finding]:
    """Findings about joints that cannot hold the arm, or hardly can, and about an ill-conditioned M."""
    most = 0.0
    for index, joint in enumerate(robot.joints):
        title, limit, unit = f"joint {joint.name!r}", joint.effort, joint.effort_unit
        if not np.isfinite(limit) or limit == 0.0:
            continue
        for name, efforts in found.efforts.items():
            if abs(efforts[index]) > limit:
                text = f"cannot hold the arm at {name}: that takes {abs(efforts[index]):.4g} {unit} of {limit:g} {unit}"
                yield Finding("error", title, None, text)
        ratio = abs(found.worst[index]) / limit
        most = max(most, ratio)
        if ratio > LITTLE_LEFT:
            where = ", ".join(f"{value:.2f}" for value in found.worst_poses[index])
            text = f"takes {ratio:.0%} of its effort limit to hold the arm at ({where})"
            yield Finding("warning", title, None, text)
    if NO_LOAD < most < (friction := SafetySettings().unknown_friction):
        text = f"no joint takes more than {100.0 * most:.2g}% of its effort limit to hold the arm, in any pose. The "
        text += f"controller takes {friction:.0%} for possible friction, so only its motion shows that a drive fails. "
        text += "If the drives are as strong as that, set a smaller unknown_friction; else correct the limits"
        yield Finding("note", f"robot {robot.name!r}", None, text)
    if found.worst_condition > ILL:
        text = f"the condition of M reaches {found.worst_condition:.2g}: some motion has almost no inertia"
        yield Finding("warning", f"robot {robot.name!r}", None, text)


WHOLE = 1.0
"""Ratio of the explained effort to the effort limit above which a drive without effort stays hidden [-]."""


def uncertainty_findings(dynamics: Dynamics) -> Iterator[Finding]:
    """A note if the default settings explain all of the effort of a joint that holds the arm in its home pose."""
    if not isinstance(dynamics, CompiledDynamics):
        return
    explained = explained_efforts(dynamics, dynamics.robot.home)
    whole = np.sum(list(explained.values()), axis=0)
    worst = int(whole.argmax())
    if whole[worst] < WHOLE:
        return
    parts = ", ".join(f"{name} {values[worst]:.0%}" for name, values in explained.items())
    less = " and ".join(f"{name}: {value:g}" for name, value in afforded(explained).items())
    text = f"the controller's stated uncertainty explains {whole[worst]:.0%} of its effort limit in the home pose "
    text += f"({parts}), so only its motion shows that its drive fails. Set smaller values if they are true: {less}"
    yield Finding("note", f"joint {dynamics.robot.joint_names[worst]!r}", None, text)
