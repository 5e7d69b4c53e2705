"""The interface of a verb, and what several verbs share: exit codes, common arguments, the check for ROS 2."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace, _ActionsContainer
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from enum import IntEnum
from importlib.util import find_spec

from robodyn_ros.dynamics import STANDARD_GRAVITY
from robodyn_ros.errors import ConfigurationError, InputError


class ExitCode(IntEnum):
    """The exit codes of the command; scripts may rely on them."""

    YES = 0  # the job is done, and the answer is yes
    NO = 1  # the job is done, and the answer is no
    ERROR = 2  # the job could not be done: the command line, an input or the machine is wrong
    INTERRUPTED = 130  # Ctrl-C


@dataclass(frozen=True)
class Verb:
    """A verb of the command ``robodyn``.

    A verb is one file in this folder that defines ``VERB``, and its name in the list of :mod:`robodyn_ros.cli.main`.
    ``robodyn --help`` imports the files of all verbs, so a verb imports what is slow to import inside its functions.

    Attributes:
        summary: one line for the list of verbs.
        description: what the verb does, for its own help.
        examples: (command line, what it does), for its own help.
        add_arguments: adds the verb's arguments to its parser.
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


def add_gravity(parser: _ActionsContainer) -> None:
    """Add the argument ``--gravity``, (3,) in [m/s²]."""
    standard = " ".join(f"{value:g}" for value in STANDARD_GRAVITY)
    text = f"acceleration of free fall in the root link's frame [m/s²] (default: {standard})"
    parser.add_argument("--gravity", nargs=3, type=float, default=STANDARD_GRAVITY, metavar=("X", "Y", "Z"), help=text)


def names(text: str) -> list[str]:
    """Split a list of names at its commas."""
    return [name.strip() for name in text.split(",") if name.strip()]


def check_name(option: str, name: str, known: Iterable[str]) -> None:
    """Check the name of a setting.

    Args:
        option: the option that gives it.
        name: the name.
        known: the names that there are.

    Raises:
        InputError: there is no such setting; the message has the names that are nearest.
    """
    choices = sorted(known)
    if name in choices:
        return
    near = get_close_matches(name, choices, 3, 0.6)
    hint = f"is it {' or '.join(near)}?" if near else f"there are {', '.join(choices)}"
    raise InputError(option, f"{name!r} is no setting; {hint}", name)


def need_ros() -> None:
    """Check that ROS 2 is installed.

    Raises:
        ConfigurationError: it is not; the message says how to install it.
    """
    if find_spec("rclpy") is None:
        raise ConfigurationError("there is no ROS 2 here: source an installation, or pip install 'robodyn_ros[ros]'")
