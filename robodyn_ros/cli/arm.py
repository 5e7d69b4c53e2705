# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The arm of a verb: the arguments that name it, and its robot."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace, _ActionsContainer
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from robodyn_ros.errors import InputError, LimitError
from robodyn_ros.robot import DescriptionSettings
from robodyn_ros.robot.description import UrdfDocument, read_document
from robodyn_ros.robot.reduction import chosen_joints, joints_between
from robodyn_ros.robot.urdf import ACCEPTED, build
from robodyn_ros.robot.xacro import with_arguments
from robodyn_ros.settings import NONE, split_names

if TYPE_CHECKING:
    from robodyn_ros.robot import Joint, Robot


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
    group.add_argument("--accept", metavar="NAMES", default=NONE, help=f"{ACCEPTED} (default: %(default)s)")
    parser.set_defaults(arguments=[])


def add_joints(parser: ArgumentParser) -> _ActionsContainer:
    """Add the options that choose the joints, and return their group."""
    group = parser.add_argument_group("the arm")
    text = "the joints that are controlled, as a,b,c; the others are locked (default: all)"
    group.add_argument("--joints", metavar="NAMES", help=text)
    text = "lock a joint at a position [rad or m]; repeatable (default: at the middle of its range)"
    group.add_argument("--lock", action="append", default=[], metavar="NAME=POSITION", help=text)
    text = "first link of the arm, if there are several arms (default: the root link)"
    group.add_argument("--root", default="", metavar="LINK", help=text)
    text = "last link of the arm; the joints between root and tip are controlled, the others are locked"
    group.add_argument("--tip", default="", metavar="LINK", help=text)
    return group


def arm_settings(args: Namespace) -> DescriptionSettings:
    """The settings of the arm's description."""
    return DescriptionSettings(tuple(split_names(args.accept)))


def arm_source(args: Namespace, given: str | Path | None = None) -> str:
    """The arm as :func:`~robodyn_ros.robot.load_robot` takes it: the path, and the arguments of a .xacro file."""
    return with_arguments(str(args.urdf if given is None else given), args.arguments)


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
    return arm_of(read_document(arm_source(args)), args, *nodes)


def arm_of(document: UrdfDocument, args: Namespace, *nodes: dict[str, Any]) -> Robot:
    """The robot of a description that is read already; repairs of it are printed to standard error.

    Args:
        document: the description.
        args: of the verb.
        *nodes: parameters of nodes, as for :func:`without_locked`.

    Raises:
        RobotDescriptionError: it does not describe an arm.
    """
    robot = build(document, arm_settings(args))
    for text in robot.warnings:
        print(f"warning: {text}", file=sys.stderr)
    return chosen_arm(robot, *nodes, args=args)


def chosen_arm(robot: Robot, *nodes: dict[str, Any], args: Namespace) -> Robot:
    """As :func:`without_locked`, with a warning about moving links without mass, if other links have one."""
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
        if not any("joints" in node for node in nodes):
            return robot
        from robodyn_ros.control.parameter_file import take_joints

        return take_joints(robot, *nodes)
    with _options_named():
        chosen = chosen_joints(robot, free, _locked_by(nodes, robot, free) | locked)
    for name in chosen.assumed:
        print(f"joint {name} is locked at {chosen.locked[name]:.4g}, the middle of its range", file=sys.stderr)
    for node in nodes:
        for name in ("joints", *(f"{part}.{joint}" for part in POSITIONS for joint in chosen.locked)):
            node.pop(name, None)
    return chosen.robot


def locked_joints(args: Namespace, robot: Robot) -> list[Joint]:
    """The joints of the description that the verb has locked.

    Args:
        args: of the verb, with those of :func:`add_arm`.
        robot: as :func:`read_arm` gives it.
    """
    if not (args.joints or args.lock or args.root or args.tip):
        return []
    whole = build(read_document(arm_source(args)), arm_settings(args))
    return [joint for joint in whole.joints if joint.name not in robot.joint_names]


@contextmanager
def _options_named() -> Iterator[None]:
    """An error about joints or links names the option that gives them."""
    try:
        yield
    except InputError as cause:
        option = {"locked": "--lock"}.get(cause.name, f"--{cause.name}")
        raise InputError(option, str(cause).removeprefix(f"{cause.name}: "), cause.value) from cause


POSITIONS = ("initial_position", "locked_joints")
"""Parameters of nodes with the position of a locked joint; the later one overrides the earlier."""


def _locked_by(nodes: Sequence[Mapping[str, Any]], robot: Robot, free: Sequence[str] | None) -> dict[str, float]:
    """Positions of the locked joints by the parameters of nodes; only parameters with a joint's name count."""
    given = {
        name: node[f"{part}.{name}"]
        for part in POSITIONS
        for node in nodes
        for name in robot.joint_names
        if free is not None and name not in free and f"{part}.{name}" in node
    }
    return {name: position for name, position in given.items() if position == position}


def _joints_given(robot: Robot, args: Namespace) -> tuple[list[str] | None, dict[str, float]]:
    """The joints that the arguments leave free, None for all that are not locked, and positions of locked joints."""
    free = None if args.joints is None else split_names(args.joints)
    if args.root or args.tip:
        if free is not None:
            raise InputError("--joints", "names the joints that --root and --tip choose; give one of the two", free)
        with _options_named():
            free = list(joints_between(robot, args.root, args.tip))
    locked = {}
    for text in args.lock:
        name, _, position = text.partition("=")
        try:
            locked[name.strip()] = float(position)
        except ValueError as cause:
            raise InputError("--lock", f"must be a joint's name and its position, name=0.03, not {text!r}") from cause
        for joint in robot.joints:
            if joint.name == name.strip() and not joint.lower <= locked[joint.name] <= joint.upper:
                raise LimitError("--lock", joint.name, locked[joint.name], joint.lower, joint.upper)
    return free, locked
