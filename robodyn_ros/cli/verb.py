# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The interface of a verb, and the common parts of verbs: exit codes, arguments, the check for ROS 2."""

from __future__ import annotations

import re
from argparse import (
    Action,
    ArgumentError,
    ArgumentParser,
    Namespace,
    RawDescriptionHelpFormatter,
    _ActionsContainer,
)
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import IntEnum
from importlib.util import find_spec
from typing import Any

from robodyn_ros.dynamics import STANDARD_GRAVITY
from robodyn_ros.errors import ConfigurationError, InputError, pip_install
from robodyn_ros.settings import split_names
from robodyn_ros.suggestions import is_it


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
    ``robodyn --help`` imports the files of all verbs, so a verb imports slow modules inside its functions.

    Attributes:
        summary: one line for the list of verbs.
        description: description of the verb, for its own help.
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


class VerbHelp(RawDescriptionHelpFormatter):
    """Help in which every option with a value has its default, and no name is broken at the end of a line."""

    def _get_help_string(self, action: Action) -> str:
        text = action.help or ""
        if not action.option_strings or action.nargs == 0 or action.required or "default" in text:
            return text
        return f"{text} (default: none)" if action.default in (None, [], "") else f"{text} (default: %(default)s)"


SHARED = ("the arm", "parameters")
"""Titles of groups of options that many verbs have; they are last in a help."""

FORMER = {
    "--config": ("--params",),
    "--set": ("-p",),
    "--plugin": ("--dynamics",),
    "--law": ("--controller",),
    "--laws": ("--controller",),
    "--controllers": ("--controller",),
    "--pose": ("--at", "--from", "--to"),
    "--at": ("--from",),
    "--from": ("--at",),
    "--start": ("--from",),
    "--link": ("--tool", "--payload-link"),
    "--mass": ("--payload", "--mass-scale"),
    "--payload": ("--payload-link",),
    "--states": ("--joint-states",),
    "--out": ("--plot",),
    "--port": ("--view",),
    "--urdf": ("urdf",),
}
"""Name of an option in an earlier version, or in another verb → its names now, of which a verb has one or none."""


NUMBERS: dict[Any, str] = {int: "a whole number", float: "a number"}
"""Type of an option's value → its description in messages."""


class VerbParser(ArgumentParser):
    """A parser whose messages about a wrong name or choice have the right one.

    A value may begin with a minus and a digit (``--to -0.5,1,0``). An option must be written out: a later version
    could make an abbreviation ambiguous, or change its meaning.
    """

    def __init__(self, *args: Any, **how: Any) -> None:
        super().__init__(*args, **{"allow_abbrev": False, **how})
        self._negative_number_matcher = re.compile(r"-\.?\d")

    def order(self) -> None:
        """Put the verb's own options before those that it shares with others, and shorten its usage."""
        self._action_groups.sort(key=lambda group: group.title in SHARED)
        places = {None: "{}", "?": "[{}]", "+": "{0} [{0} ...]"}
        words = [
            places[action.nargs].format(action.metavar or action.dest)  # type: ignore[index]
            for action in self._actions
            if not action.option_strings
        ]
        self.usage = " ".join(["%(prog)s", *words, "[options]"])

    def refuse_former(self, line: Iterable[str]) -> None:
        """Refuse a name of an earlier version, and give the present one."""
        for word in line:
            option = word.partition("=")[0]
            if option in FORMER and option not in self._option_string_actions:
                known = {*self._option_string_actions, *(action.dest for action in self._actions)}
                now = [name for name in FORMER[option] if name in known]
                if now == ["urdf"]:
                    self.error(f"{option}: the arm is the first argument now: {self.prog} arm.urdf")
                elif now:
                    self.error(f"{option} is called {' or '.join(now)}")

    def _get_value(self, action: Action, text: str) -> Any:
        kind = NUMBERS.get(action.type)
        try:
            return super()._get_value(action, text)
        except ArgumentError as cause:
            if kind is None:
                raise
            raise ArgumentError(action, f"must be {kind}, not {text!r}") from cause

    def _match_argument(self, action: Action, arg_strings_pattern: str) -> int:
        try:
            return super()._match_argument(action, arg_strings_pattern)
        except ArgumentError as cause:
            if not isinstance(action.metavar, tuple):
                raise
            raise ArgumentError(action, f"needs {len(action.metavar)} values: {' '.join(action.metavar)}") from cause

    def _check_value(self, action: Action, value: Any) -> None:
        choices = None if action.choices is None else [str(choice) for choice in action.choices]
        if choices is not None and value not in choices:
            raise ArgumentError(action, f"{value!r} is not one of {', '.join(choices)}{is_it(value, choices)}")


def names(text: str, option: str = "", known: Iterable[str] = ()) -> list[str]:
    """Split a list of names at its commas.

    Args:
        text: the list.
        option: that it is given by.
        known: the names that there are; any, if none are given.

    Raises:
        InputError: a name is unknown, or, where they are known, there is none.
    """
    found, choices = split_names(text), tuple(known)
    if choices and not found:
        raise InputError(option, f"name at least one of {', '.join(choices)}", text)
    for name in found if choices else ():
        if name not in choices:
            raise InputError(option, f"{name!r} is not one of {', '.join(choices)}{is_it(name, choices)}", name)
    return found


def need_ros() -> None:
    """Check that ROS 2 is installed.

    Raises:
        ConfigurationError: it is not; the message says how to install it.
    """
    if find_spec("rclpy") is None:
        raise ConfigurationError(
            f"there is no ROS 2 here: source an installation, or {pip_install('robodyn_ros[ros]')}"
        )
