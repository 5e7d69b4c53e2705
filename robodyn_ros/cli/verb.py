"""What a verb of the command is.

A verb is one file in this folder that defines ``VERB``, and its name in the list of :mod:`robodyn_ros.cli.main`. What
it imports at the top, everyone pays for who only asks for help; so what is heavy is imported where it is used.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace, _ActionsContainer
from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from importlib.util import find_spec

from robodyn_ros.dynamics import STANDARD_GRAVITY
from robodyn_ros.errors import ConfigurationError


class ExitCode(IntEnum):
    """How the command ends; scripts may rely on it."""

    YES = 0  # the job is done, and the answer is yes
    NO = 1  # the job is done, and the answer is no
    ERROR = 2  # the job could not be done as asked: the command line, an input or the machine
    INTERRUPTED = 130  # by Ctrl-C


@dataclass(frozen=True)
class Verb:
    """What a verb of the command is.

    A verb is one file in this folder that defines ``VERB``, and its name in the list of :mod:`robodyn_ros.cli.main`.
    What it imports at the top, everyone pays for who only asks for help; so what is heavy is imported where it is used.

    Attributes:
        summary: one line for the list of verbs.
        description: what the verb does, for its own help.
        examples: (command line, what it does), for its own help.
        add_arguments: adds its arguments to its parser.
        run: does the job.
    """

    summary: str
    description: str
    examples: tuple[tuple[str, str], ...]
    add_arguments: Callable[[ArgumentParser], None]
    run: Callable[[Namespace], ExitCode]

    @property
    def epilog(self) -> str:
        """The examples, for the foot of the help."""
        width = max(len(command) for command, _ in self.examples)
        lines = [f"  {command:<{width}}  {effect}" for command, effect in self.examples]
        return "\n".join(["examples:", *lines])


# Arguments that several verbs take, and how they are read.


def add_gravity(parser: _ActionsContainer) -> None:
    """Add ``--gravity``, (3,) in [m/s²]."""
    standard = " ".join(f"{value:g}" for value in STANDARD_GRAVITY)
    text = f"acceleration of free fall in the root link's frame [m/s²] (default: {standard})"
    parser.add_argument("--gravity", nargs=3, type=float, default=STANDARD_GRAVITY, metavar=("X", "Y", "Z"), help=text)


def names(text: str) -> list[str]:
    """The names in a text that are separated by commas."""
    return [name.strip() for name in text.split(",") if name.strip()]


# What some verbs need beside this package.


def need_ros() -> None:
    """See that there is a ROS 2.

    Raises:
        ConfigurationError: there is none; the message says how to get one.
    """
    if find_spec("rclpy") is None:
        raise ConfigurationError("there is no ROS 2 here: source an installation, or pip install 'robodyn_ros[ros]'")
