"""The arm of a verb: the arguments that name it, and its robot."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from robodyn_ros.robot import DescriptionSettings
from robodyn_ros.robot.description import read_document
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
    robot = build(read_document(arm_source(args, given)), arm_settings(args))
    for text in robot.warnings:
        print(f"warning: {text}", file=sys.stderr)
    return robot
