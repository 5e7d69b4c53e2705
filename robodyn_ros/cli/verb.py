# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The interface of a verb, and the common parts of verbs: exit codes, arguments, parameters, the check for ROS 2.

A verb takes parameters as ROS 2 does: files by ``--params``, and single parameters by ``-p``. A parameter that nothing
uses has no effect, so its name is an error, unless it is in a file: there it may be meant for another node. A name in a
file that is almost that of a parameter is an error too.
"""

from __future__ import annotations

import re
from argparse import Action, ArgumentError, ArgumentParser, Namespace, RawDescriptionHelpFormatter, _ActionsContainer
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields
from enum import IntEnum
from importlib import import_module
from importlib.util import find_spec
from math import nan
from pathlib import Path
from textwrap import dedent, fill, indent
from types import ModuleType
from typing import Any, NamedTuple

from robodyn_ros.checks import check_choice
from robodyn_ros.cli.console import warn
from robodyn_ros.control.loop_settings import loop_default_values
from robodyn_ros.control.parameter_file import FileParameters, LoadedParameters, parse_parameter, read_parameters
from robodyn_ros.dynamics import STANDARD_GRAVITY
from robodyn_ros.errors import InputError, is_it, misspelt
from robodyn_ros.robot import Robot
from robodyn_ros.settings import split_names
from robodyn_ros.simulation.hardware import default_values


class ExitCode(IntEnum):
    """The exit codes of the command; scripts may rely on them."""

    YES = 0  # the job is done, and the answer is yes
    NO = 1  # the job is done, and the answer is no
    ERROR = 2  # the job could not be done: the command line, an input or the machine is wrong
    INTERRUPTED = 130  # Ctrl-C


def verb_module(name: str) -> ModuleType:
    """The file of a verb, with ``add_arguments`` and ``run``.

    A verb is one file in this folder, and its name in the list of :mod:`robodyn_ros.cli.main`. The file defines
    ``add_arguments``, which adds the verb's arguments to its parser, and ``run``, which does the job. A verb's
    file is imported when the verb is called, and for no other.
    """
    return import_module(f"robodyn_ros.cli.{name}")


def verb_help(name: str) -> tuple[str, str, str]:
    """The help of a verb: one line for the list of verbs, and the description and the examples of its own help.

    It is the docstring of the verb's file, which is read, but not imported: the first line behind the verb's name; the
    following paragraphs; and the lines after ``Examples:``, command lines with their effects in a column of their own.
    """
    spec = find_spec(f"robodyn_ros.cli.{name}")
    assert spec is not None and spec.origin is not None
    head, _, text = Path(spec.origin).read_text(encoding="utf-8").split('"""')[1].partition("\n\n")
    description, _, examples = text.partition("\n\nExamples:\n")
    return head.partition(": ")[2].removesuffix("."), description, f"examples:\n{indent(dedent(examples), '  ')}"


def add_gravity(parser: _ActionsContainer) -> None:
    """Add the argument ``--gravity``, (3,) in [m/s²]."""
    standard = " ".join(f"{value:g}" for value in STANDARD_GRAVITY)
    text = f"acceleration of free fall in the root link's frame [m/s²] (default: {standard})"
    parser.add_argument("--gravity", nargs=3, type=float, default=STANDARD_GRAVITY, metavar=("X", "Y", "Z"), help=text)


def add_option(
    parser: _ActionsContainer, name: str, text: str, default: Any = str, *, repeatable: bool = False, **how: Any
) -> None:
    """Add an option.

    Args:
        parser: of the verb, or a group of its options.
        name: of the option, and of its value in the help: ``--gain K``.
        text: its help.
        default: its value unless given, of the type of every value; or that type, where there is none. ``bool`` is a
            switch, which takes no value.
        repeatable: the values of all of them are a list.
        **how: as for ``add_argument``.
    """
    flag, _, metavar = name.partition(" ")
    is_kind = isinstance(default, type)
    kind = default if is_kind else Path if isinstance(default, Path) else type(default)
    if kind is bool:
        how["action"] = "store_true"
    else:
        how |= {"metavar": metavar or None, "type": kind, "default": None if is_kind else default}
    if repeatable:
        how |= {"action": "append", "default": []}
    parser.add_argument(flag, help=text, **how)


METAVARS = {"s": "SECONDS", "Hz": "HZ", "-": "RATIO", "": "N"}
"""Unit of a setting → its value in a help."""


def add_settings(parser: _ActionsContainer, settings: Any, names: Iterable[str]) -> None:
    """Add an option for some fields of a dataclass of settings, which has their defaults and descriptions.

    Args:
        parser: of the verb.
        settings: the dataclass.
        names: of the fields, numbers or choices.
    """
    for item in (item for item in fields(settings) if item.name in names):
        meta, option, kind = item.metadata, f"--{item.name.replace('_', '-')}", type(item.default)
        how: Any = {"choices": meta["choices"]()} if "choices" in meta else {"metavar": METAVARS[meta["unit"]]}
        parser.add_argument(option, type=kind, default=item.default, help=meta["description"], **how)


class VerbHelp(RawDescriptionHelpFormatter):
    """Help in which every option with a value has its default, and no name is broken at the end of a line.

    Paragraphs are written for 80 columns. Those that are too wide for the terminal are wrapped; examples are not.
    """

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        def fitted(part: str) -> str:
            is_prose = not re.search(r"^\s", part, re.MULTILINE)
            return fill(part, width) if is_prose and max(map(len, part.split("\n"))) > width + 2 else part

        return "\n\n".join(map(fitted, super()._fill_text(text, width, indent).split("\n\n")))

    def _get_help_string(self, action: Action) -> str:
        text = action.help or ""
        if not action.option_strings or action.nargs == 0 or action.required or "default" in text:
            return text
        return f"{text} (default: none)" if action.default in (None, [], "") else f"{text} (default: %(default)s)"


SHARED = ("the arm", "parameters")
"""Titles of groups of options that many verbs have; they are last in a help."""

NUMBERS: dict[Any, str] = {int: "a whole number", float: "a number"}
"""Type of an option's value → its description in messages."""


class VerbParser(ArgumentParser):
    """A parser whose messages about a wrong name or choice have the right one.

    A value may begin with a minus and a digit (``--to -0.5,1,0``). An option must be written out: a later version
    could make an abbreviation ambiguous, or change its meaning.
    """

    def __init__(self, *args: Any, **how: Any) -> None:
        super().__init__(*args, **{"allow_abbrev": False, **how})
        self.set_defaults(own=self)
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


def number(text: str) -> float:
    """The number that a text is; NaN if it is none."""
    try:
        return float(text)
    except ValueError:
        return nan


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
        check_choice(option, name, choices)
    return found


def only_with(args: Namespace, condition: object, use: str, *names: str) -> None:
    """Refuse options that would have no effect.

    Args:
        args: of a verb.
        condition: true if they have one.
        use: what gives them one, for the message.
        *names: of the options' values.

    Raises:
        InputError: one of them is given.
    """
    for action in () if condition else args.own._actions:
        if action.dest in names and getattr(args, action.dest) != action.default:
            raise InputError(action.option_strings[0], f"is of use {use} only", getattr(args, action.dest))


NODES = ("simulator", "controller")
"""Nodes whose parameters a simulating verb takes."""

FEW = 40
"""Greatest number of parameters that are listed if no name is near."""


def add_parameters(parser: ArgumentParser, what: str, example: str) -> None:
    """Add the options ``--params`` and ``-p``.

    Args:
        parser: of the verb.
        what: whose parameters they are, such as ``the nodes simulator and controller``.
        example: of a parameter, ``name:=value``.
    """
    text = f"ROS 2 parameter file of {what}; repeatable"
    group = parser.add_argument_group("parameters")
    add_option(group, "--params FILE", text, Path, repeatable=True)
    text = f"a parameter, such as {example}; repeatable; it overrides the files"
    group.add_argument("-p", dest="given", action="append", default=[], metavar="NAME:=VALUE", help=text)


def gather(files: Sequence[Path], given: Sequence[str], nodes: Sequence[str] = NODES) -> dict[str, LoadedParameters]:
    """Collect the parameters of each node: node → name → value.

    Args:
        files: parameter files; a later file overrides the earlier ones.
        given: ``name:=value`` for all nodes, or ``node:name:=value`` for one; these override the files.
        nodes: names of the nodes.

    Raises:
        InputError: a file or a parameter cannot be read, or there is no such parameter any more.
    """
    found = {node: LoadedParameters() for node in nodes}
    for node, parameters in found.items():
        for file in files:
            parameters |= read_parameters(file, node)
    for text in given:
        name, value = _parsed(text)
        node, _, own = name.rpartition(":")
        for parameters in [found[node]] if node in found else found.values():
            parameters |= {own if node in found else name: value}
    for node, parameters in found.items():
        parameters.refuse_replaced(node)
    return found


@contextmanager
def values_of(args: Namespace, given: LoadedParameters, defaults: Mapping[str, Any]) -> Iterator[FileParameters]:
    """Yield the values of one node: those that :func:`gather` has read, over its defaults.

    An error in the context has the file and line of the parameter that it names.

    Raises:
        InputError: as :func:`check_used`.
    """
    check_used(set(given) - set(defaults), defaults, args.given, given.located_names())
    values = FileParameters(given, defaults)
    with values.located():
        yield values


MISMATCH = (
    ("mass-scale", "mismatch.mass_scale", "F", "the arm's masses over the model's [-]"),
    ("payload", "mismatch.payload_mass", "KG", "mass that the tool carries and the model lacks [kg]"),
    ("friction-scale", "mismatch.friction_scale", "F", "the arm's friction over the model's [-]"),
)
"""Options for parameters of the simulator: option, parameter, unit, help."""


def add_simulated(parser: ArgumentParser, what: str, example: str) -> None:
    """Add the options of :func:`add_parameters`, and those that make the simulated arm differ from the model."""
    add_parameters(parser, what, example)
    for option, name, unit, text in MISMATCH:
        told = f"{text}; parameter {name} (default: {0 if unit == 'KG' else 1})"
        add_option(parser, f"--{option} {unit}", told, float, dest=name)


def gather_simulated(args: Namespace) -> dict[str, LoadedParameters]:
    """As :func:`gather`, for a verb with the arguments of :func:`add_simulated`."""
    given = gather(args.params, args.given)
    for _, name, _, _ in MISMATCH:
        if (value := getattr(args, name)) is not None:
            given["simulator"] |= {name: value}
    return given


class GivenParameters(NamedTuple):
    """The parameters of the nodes that a verb starts; the nodes read the files themselves."""

    files: Sequence[Path] = ()
    values: Mapping[str, Mapping[str, Any]] = {}  # node → name → value; these override the files


def node_parameters(args: Namespace, robot: Robot) -> GivenParameters:
    """The parameters for the simulator and the controller that a verb starts.

    Args:
        args: of the verb, with those of :func:`add_parameters`.
        robot: the arm.

    Raises:
        InputError: a file or a parameter cannot be read, or a name is none of the simulator's or controller's.
    """
    given = gather(args.params, args.given)
    check_names(args, robot, given)
    return GivenParameters(args.params, gather([], args.given))


def check_names(args: Namespace, robot: Robot, given: Mapping[str, LoadedParameters]) -> None:
    """Check the names of parameters that simulator and controller are given.

    Raises:
        InputError: as :func:`check_used`.
    """
    known = {"simulator": {*default_values(robot), "joints"}, "controller": {*loop_default_values(robot), "joints"}}
    either = set().union(*known.values())
    places = {name: text for values in given.values() for name, text in values.located_names().items()}
    unused = {name for values in given.values() for name in values if name not in either}
    for name in (_parsed(text)[0] for text in args.given):
        node, _, own = name.rpartition(":")
        if own not in known.get(node, either):
            unused.add(name)
    check_used(unused, either, args.given, places, quiet=True)


def check_used(
    unused: Iterable[str], known: Iterable[str], given: Sequence[str], files: Mapping[str, str], quiet: bool = False
) -> None:
    """Check the names of parameters that nothing has used.

    Args:
        unused: the names.
        known: the names that there are.
        given: the texts of ``-p``.
        files: name → file and line, for those of files.
        quiet: do not mention the names in files that others may use.

    Raises:
        InputError: a name of ``-p`` is unknown, or one of a file is misspelt; the message has the nearest name.
    """
    unused, choices = sorted(unused), sorted(set(known))
    _check_given(unused, choices, given)
    _check_files(unused, choices, files)
    if unused and not quiet:
        _warn_unused(unused, choices, files)


def _check_given(unused: Sequence[str], choices: Sequence[str], given: Sequence[str]) -> None:
    """Check that the texts of ``-p`` name used parameters."""
    names = {text: _parsed(text)[0] for text in given}
    names = {text: name if name in unused else name.rpartition(":")[2] for text, name in names.items()}
    mistaken = {text: name for text, name in names.items() if name in unused}
    if not mistaken:
        return
    said = " or ".join(_told(text, name, choices) for text, name in mistaken.items())
    if len(choices) <= FEW and "(is it" not in said:
        said += f"; there are {', '.join(choices)}"
    raise InputError(", ".join(mistaken), f"no parameter that is used here is named {said}", list(mistaken.values()))


def _check_files(unused: Sequence[str], choices: Sequence[str], files: Mapping[str, str]) -> None:
    """Check that no name in a file is almost that of a parameter."""
    for name in unused:
        near, inner = misspelt(name, choices), next((one for one in choices if one.startswith(f"{name}.")), "")
        problem = f"holds others, such as {inner}, and has no value itself" if inner else f"(is it {near!r}?)"
        if inner or near:
            said = f"{files.get(name, '')} {name!r} is no parameter {'but ' if inner else ''}{problem}".strip()
            raise InputError("--params", said, name)


def _warn_unused(unused: Sequence[str], choices: Sequence[str], files: Mapping[str, str]) -> None:
    """Warn about unused names in files, with the parameter of which each may be the last part."""
    whole = {choice.rpartition(".")[2]: choice for choice in reversed(choices)}
    meant = {name: whole.get(misspelt(name, whole), "") for name in unused}
    hints = {name: f" (is it {choice!r}?)" if choice else "" for name, choice in meant.items()}
    named = ", ".join(f"{files.get(name, '')} {name!r}{hints[name]}".strip() for name in unused)
    warn(f"not used here, either misspelt or for another node: {named}")


def _told(text: str, name: str, choices: Sequence[str]) -> str:
    """The name of an unused parameter, with its node if a node has that parameter, else with the nearest name."""
    own = name.rpartition(":")[2]
    if inner := next((one for one in choices if one.startswith(f"{own}.")), ""):
        return f"{own!r}; it holds others, such as {inner}"
    node, _, of_node = own.partition(".")
    if node in NODES and of_node in choices:
        return f"{own!r} (is it '{node}:{of_node}'?)"
    return repr(_parsed(text)[0]) if own in choices else f"{own!r}{is_it(own, choices)}"


def _parsed(text: str) -> tuple[str, Any]:
    """Name and value of ``name:=value``, or of ``name=value``, as other options have it."""
    return parse_parameter(text if ":=" in text else text.replace("=", ":=", 1))
