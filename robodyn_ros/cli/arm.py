# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The arm of a verb: the arguments that name it, its robot, and its poses and motions from the command line.

The tour of the demonstration is a motion of the PRR arm through its named poses, with a moment of rest in each.
"""

from __future__ import annotations

import re
import sys
from argparse import ArgumentParser, Namespace, _ActionsContainer
from collections.abc import Sequence
from itertools import accumulate
from math import isfinite, isnan
from typing import Any, NamedTuple

import numpy as np

from robodyn_ros.checks import check
from robodyn_ros.cli.verb import add_option, number
from robodyn_ros.control import Trajectory, durations, rest_to_rest
from robodyn_ros.control.limits import check_position_limits
from robodyn_ros.control.motion.point_to_point import PEAK_VELOCITY
from robodyn_ros.control.parameter_file import take_joints, take_locked
from robodyn_ros.errors import InputError, LimitError, is_it
from robodyn_ros.robot import Array, DescriptionSettings, Joint, Robot, read_document
from robodyn_ros.robot.reduction import joints_between
from robodyn_ros.robot.urdf import ACCEPTED, build
from robodyn_ros.robot.xacro import with_arguments
from robodyn_ros.settings import NONE, split_names


def add_arm(parser: ArgumentParser, *names: str, **how: Any) -> None:
    """Add the argument ``urdf``, the option ``--accept``, and the choice of joints.

    Args:
        parser: of the verb.
        *names: of the argument, if it is an option.
        **how: as for ``add_argument``, where it differs.
    """
    text = "the arm: a URDF, or a .xacro file with its arguments as name:=value"
    parser.add_argument(*(names or ("urdf",)), **{"help": text, **how})
    group = add_joints(parser)
    add_option(group, "--accept NAMES", ACCEPTED, NONE)
    parser.set_defaults(arguments=[])


def add_joints(parser: ArgumentParser) -> _ActionsContainer:
    """Add the options that choose the joints, and return their group."""
    group = parser.add_argument_group("the arm")
    text = "the joints that are controlled, as a,b,c; the others are locked (default: all)"
    add_option(group, "--joints NAMES", text)
    text = "lock a joint at a position [rad or m]; repeatable (default: at the middle of its range)"
    add_option(group, "--lock NAME=POSITION", text, dest="locked", repeatable=True)
    add_option(group, "--root LINK", "first link of the arm, if there are several arms (default: the root link)", "")
    text = "last link of the arm; the joints between root and tip are controlled, the others are locked"
    add_option(group, "--tip LINK", text, "")
    return group


def arm_settings(args: Namespace) -> DescriptionSettings:
    """The settings of the arm's description."""
    return DescriptionSettings(tuple(split_names(args.accept)))


def arm_source(args: Namespace) -> str:
    """The arm as :func:`~robodyn_ros.robot.load_robot` takes it: the path, and the arguments of a .xacro file."""
    return with_arguments(str(args.urdf), args.arguments)


def read_arm(args: Namespace, *nodes: dict[str, Any]) -> Robot:
    """The robot; repairs of its URDF are printed to standard error.

    Args:
        args: of the verb.
        *nodes: parameters of nodes, as for :func:`without_locked`.

    Raises:
        RobotDescriptionError: it cannot be read or does not describe an arm.
    """
    if str(args.urdf).endswith((".yaml", ".yml")):
        more = f"a study is run by robodyn sweep {args.urdf}, parameters are given by --params {args.urdf}"
        raise InputError("urdf", f"{args.urdf} is YAML and not an arm, a URDF; {more}", args.urdf)
    return chosen_arm(whole_arm(args), *nodes, args=args)


def chosen_arm(robot: Robot, *nodes: dict[str, Any], args: Namespace) -> Robot:
    """As :func:`without_locked`; prints its warnings, and one about moving links without mass if others have one."""
    for text in robot.warnings:
        print(f"warning: {text}", file=sys.stderr)
    chosen = without_locked(robot, *nodes, args=args)
    names = [body.name for body in chosen.bodies if body.inertial.mass == 0.0]
    if names and len(names) < len(chosen.bodies):
        links = f"link {names[0]} moves and has" if len(names) == 1 else f"links {', '.join(names)} move and have"
        text = "no mass, so the efforts lack their weight; an <inertial> in the URDF gives each its mass"
        print(f"warning: {links} {text}", file=sys.stderr)
    return chosen


def without_locked(robot: Robot, *nodes: dict[str, Any], args: Namespace) -> Robot:
    """The robot with locked joints, as the arguments choose; a position that they do not give is printed.

    Args:
        robot: the whole robot.
        *nodes: parameters of nodes, name → value, which may choose joints too; the arguments win. Those that choose
            joints are taken out.
        args: of the verb, with those of :func:`add_joints`.

    Raises:
        InputError: a joint does not exist, or a position is no number.
    """
    free, locked = _joints_given(robot, args)
    if free is None and not locked:
        return take_joints(robot, *nodes)
    for node in nodes:
        node.pop("joints", None)
    chosen = take_locked(robot, nodes, free, locked)
    for name in chosen.assumed:
        print(f"joint {name} is locked at {chosen.locked[name]:.4g}, the middle of its range", file=sys.stderr)
    return chosen.robot


def chooses_joints(args: Namespace) -> bool:
    """True if the arguments of :func:`add_joints` leave out joints of the robot."""
    return any((args.joints, args.locked, args.root, args.tip))


def locked_joints(args: Namespace, robot: Robot) -> list[Joint]:
    """The joints of the description that the verb has locked.

    Args:
        args: of the verb, with those of :func:`add_arm`.
        robot: as :func:`read_arm` gives it.
    """
    if not chooses_joints(args):
        return []
    return [joint for joint in whole_arm(args).joints if joint.name not in robot.joint_names]


def whole_arm(args: Namespace) -> Robot:
    """The robot with the joints that the verb has locked.

    Args:
        args: of the verb, with those of :func:`add_arm`.
    """
    return build(read_document(arm_source(args)), arm_settings(args))


def _joints_given(robot: Robot, args: Namespace) -> tuple[list[str] | None, dict[str, float]]:
    """The joints that the arguments leave free, None for all that are not locked, and positions of locked joints."""
    free = None if args.joints is None else split_names(args.joints)
    if args.root or args.tip:
        if free is not None:
            raise InputError("--joints", "names the joints that --root and --tip choose; give one of the two", free)
        free = list(joints_between(robot, args.root, args.tip))
    locked = {}
    for text in args.locked:
        name, _, position = text.partition("=")
        name, at = name.strip(), number(position)
        check(not isnan(at), "--lock", "a joint's name and its position, name=0.03", text)
        locked[name] = at
        for joint in robot.joints:
            if joint.name == name and not joint.lower <= at <= joint.upper:
                raise LimitError("--lock", name, at, joint.lower, joint.upper, joint.position_unit)
    return free, locked


OWN_ARM = "urdf/prr.urdf"
"""The arm of the demonstration."""

OWN_GAINS = "config/prr.yaml"
"""Parameters of its nodes, with the gains: the same for every law."""

TOUR_JOINTS = ("elevator", "shoulder", "wrist")
"""Joints of the PRR arm, whose poses have names."""

POSES: dict[str, tuple[float, float, float]] = {
    "HOME": (0.15, 0.0, 0.0),
    "PICK": (0.3, -1.83, -0.12),
    "CLIMB": (0.3, -1.83, 2.0),
    "STATION": (1.0, -1.0, 0.0),
    "PROCESSOR": (0.6, 1.2, 0.0),
    "ALGAE": (1.2, 1.43, 0.0),
    "L1": (0.8, -0.95, -0.5),
}
"""Pose → elevator [m], shoulder [rad], wrist [rad]. The angles are those of the real arm; the heights are additions.

Every pose is far enough from the position limits for the soft limits not to act in it
(:attr:`~robodyn_ros.control.faults.settings.SafetySettings.soft_limit_margin`)."""

TOUR = (*POSES, "HOME")
"""Poses in the order of the tour."""

VELOCITY = (1.0, 4.0, 4.0)
"""Greatest speeds at speed 1 [m/s, rad/s, rad/s]: a half, a third and a half of the arm's limits."""

ACCELERATION = (3.0, 10.0, 10.0)
"""Greatest accelerations at speed 1 [m/s², rad/s², rad/s²]: computed torque needs 70 % of the effort limits then."""

REST = 0.2
"""Time of rest in each pose [s]."""

DURATION = 10.0
"""Default duration of a motion [s]."""


class Tour(NamedTuple):
    """The motion through the poses, with the times of arrival."""

    trajectory: Trajectory
    arrivals: tuple[float, ...]  # at each pose of the tour [s]

    def heading_for(self, time: float) -> str:
        """Return the name of the pose that the arm is in or moves to at a time [s]."""
        index = int(np.searchsorted(self.arrivals, time - REST))
        return TOUR[min(index, len(TOUR) - 1)]


def tour(speed: float = 1.0) -> Tour:
    """Return the tour through the poses, from rest to rest by quintics.

    Args:
        speed: factor on the greatest speeds; the accelerations are scaled by its square.
    """
    stops: Array = np.array([POSES[name] for name in TOUR])
    limits = speed * np.array(VELOCITY), speed**2 * np.array(ACCELERATION)
    legs = durations(stops, *limits).tolist()
    arrivals = list(accumulate(legs, lambda arrival, duration: arrival + REST + duration, initial=0.0))
    times = [time for arrival in arrivals for time in (arrival, arrival + REST)]
    return Tour(rest_to_rest(np.repeat(stops, 2, axis=0), times), tuple(arrivals))


NAMED = re.compile(r"([^,=\s][^,=]*?)\s*=\s*([^,=\s]+)")
"""A joint and its position: ``shoulder=-1``."""


def parse_pose(text: str, robot: Robot, before: Array, option: str = "--to") -> Array:
    """Return the joint positions (n,) in [rad] or [m] that a text names.

    Args:
        text: positions of all joints, ``0.3,-1,0``; of some joints, ``shoulder=-1,wrist=0.2``; or the name of a pose.
        robot: the arm.
        before: positions of the joints that the text does not name (n,).
        option: that has the text, for messages.

    Raises:
        InputError: the text has none of these forms.
    """
    if robot.joint_names == TOUR_JOINTS and text.upper() in POSES:
        return np.array(POSES[text.upper()])
    pairs = NAMED.findall(text)
    named, rest = dict(pairs), NAMED.sub("", text).strip(" ,")
    if named and not rest and len(named) == len(pairs) and set(named) <= set(robot.joint_names):
        joints = zip(robot.joint_names, before.tolist(), strict=True)
        return np.array([_position(named[name], option, name) if name in named else value for name, value in joints])
    parts = text.split(",")
    if not named and len(parts) == robot.n:
        return np.array([_position(part, option, name) for name, part in zip(robot.joint_names, parts, strict=True)])
    all_of_them = ", ".join(robot.joint_names)
    problem = f"{text!r} is neither {robot.n} positions ({all_of_them}) nor joint=position of some of them, each once"
    if robot.joint_names == TOUR_JOINTS:
        problem += f", nor one of {', '.join(POSES)}{is_it(text, POSES)}"
    mistaken = [name for name in named if name not in robot.joint_names]
    problem += "".join(f"; {name!r} is no joint{is_it(name, robot.joint_names)}" for name in mistaken)
    raise InputError(option, problem, text)


def _position(text: str, option: str, joint: str) -> float:
    """The position of a joint [rad or m].

    Raises:
        InputError: the text is no finite number.
    """
    value = number(text)
    if not isfinite(value):
        raise InputError(option, f"the position of {joint!r} must be a finite number, not {text.strip()!r}", text)
    return value


def requested_trajectory(
    poses: Sequence[str], with_tour: bool, duration: float | None, robot: Robot, start: Array, speed: Array
) -> Trajectory | None:
    """Return the trajectory that the command line asks for, or None if the arm is to stay.

    Args:
        poses: waypoints at rest, one after the other; the segments take equal times.
        with_tour: follow the tour of the demonstration instead.
        duration: of all segments together [s]; ``DURATION``, or as long as the speed needs, if None. The tour takes its
            own time.
        robot: the arm.
        start: positions at the beginning (n,).
        speed: of each joint at most, (n,), if no duration is given.

    Raises:
        InputError: a text names no pose, or this arm has no tour.
    """
    if with_tour:
        if robot.joint_names != TOUR_JOINTS:
            raise InputError("--tour", f"is of an arm with the joints {', '.join(TOUR_JOINTS)}", robot.joint_names)
        return tour().trajectory
    if not poses:
        return None
    stops = [start]
    for text in poses:
        stops.append(parse_pose(text, robot, stops[-1]))
        check_position_limits("--to", robot, stops[-1], list(range(robot.n)))
    if duration is None:
        most = np.where(speed > 0.0, speed, np.inf)  # a joint that may not move is refused later
        slowest = float((PEAK_VELOCITY * np.abs(np.diff(stops, axis=0)) / most).max())
        duration = max(DURATION, len(poses) * slowest)
    return rest_to_rest(np.array(stops), np.linspace(0.0, duration, len(stops)))
