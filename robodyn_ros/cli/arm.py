"""The arm of a verb: the arguments that name it, and its robot."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from robodyn_ros.errors import InputError
from robodyn_ros.robot import DescriptionSettings
from robodyn_ros.robot.description import UrdfDocument, read_document
from robodyn_ros.robot.reduction import chosen_joints, joints_between
from robodyn_ros.robot.urdf import build
from robodyn_ros.robot.xacro import with_arguments

if TYPE_CHECKING:
    from robodyn_ros.robot import Robot


def add_arm(parser: ArgumentParser, *names: str, **how: Any) -> None:
    """Add the argument ``urdf``, and an option for each setting of its description.

    Args:
        parser: of the verb.
        *names: of the argument, if it is an option.
        **how: as for ``add_argument``, where it differs.
    """
    text = "the arm: a URDF, or a .xacro file with its arguments as name:=value"
    parser.add_argument(*(names or ("urdf",)), **{"help": text, **how})
    for item in fields(DescriptionSettings):
        option, text = f"--{item.name.replace('_', '-')}", f"{item.metadata['description']} (default: %(default)s)"
        parser.add_argument(option, choices=item.metadata["choices"](), default=item.default, help=text)
    text = "the joints that are controlled, as a,b,c; the others are locked (default: all)"
    parser.add_argument("--joints", metavar="NAMES", help=text)
    text = "lock a joint there [rad or m]; again for another (default: at the middle of its range)"
    parser.add_argument("--lock", action="append", default=[], metavar="NAME=POSITION", help=text)
    text = "the link that the arm starts from, where there are several arms (default: the root link)"
    parser.add_argument("--root", default="", metavar="LINK", help=text)
    text = "the link that the arm ends with; joints on the way from the root are controlled, the others are locked"
    parser.add_argument("--tip", default="", metavar="LINK", help=text)
    parser.set_defaults(arguments=[])


def arm_settings(args: Namespace) -> DescriptionSettings:
    """The settings of the arm's description."""
    return DescriptionSettings(**{item.name: getattr(args, item.name) for item in fields(DescriptionSettings)})


def arm_source(args: Namespace, given: str | Path | None = None) -> str:
    """The arm as :func:`~robodyn_ros.robot.load_robot` takes it: the path, and the arguments of a .xacro file."""
    return with_arguments(str(args.urdf if given is None else given), args.arguments)


def read_arm(args: Namespace, given: Path | None = None) -> Robot:
    """The robot; what was done about its URDF is printed to standard error.

    Args:
        args: of the verb.
        given: path of the URDF in place of that of ``args``.

    Raises:
        RobotDescriptionError: it cannot be read or does not describe an arm.
    """
    return arm_of(read_document(arm_source(args, given)), args)


def arm_of(document: UrdfDocument, args: Namespace) -> Robot:
    """The robot of a description that is read already; what was done about it is printed to standard error.

    Args:
        document: the description.
        args: of the verb.

    Raises:
        RobotDescriptionError: it does not describe an arm.
    """
    robot = build(document, arm_settings(args))
    for text in robot.warnings:
        print(f"warning: {text}", file=sys.stderr)
    return without_locked(robot, args)


def without_locked(robot: Robot, args: Namespace) -> Robot:
    """The robot with the joints locked that the arguments say; where they do not say at what position is printed.

    Raises:
        InputError: a joint does not exist, or a position is none.
    """
    free = None if args.joints is None else [name.strip() for name in args.joints.split(",") if name.strip()]
    if args.root or args.tip:
        if free is not None:
            raise InputError("--joints", "names the joints that --root and --tip choose; give one of the two", free)
        free = list(joints_between(robot, args.root, args.tip))
    locked = {}
    for text in args.lock:
        name, _, position = text.partition("=")
        try:
            locked[name.strip()] = float(position)
        except ValueError as cause:
            raise InputError("--lock", f"must be a joint's name and its position, name=0.03, not {text!r}") from cause
    if free is None and not locked:
        return robot
    chosen = chosen_joints(robot, free, locked)
    for name in chosen.assumed:
        print(f"joint {name} is locked at {chosen.locked[name]:.4g}, the middle of its range", file=sys.stderr)
    return chosen.robot
