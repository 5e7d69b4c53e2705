# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The parameters of a verb: the arguments that give them, as ROS 2 does, and their check.

Every verb takes parameter files by ``--params`` and single parameters by ``-p``. A parameter that nothing uses has no
effect, so its name is an error, unless it is in a file: there it may be meant for another node. A name in a file that
is almost that of a parameter is an error too.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from robodyn_ros.cli.console import console
from robodyn_ros.errors import InputError
from robodyn_ros.suggestions import is_it, misspelt

if TYPE_CHECKING:
    from robodyn_ros.control.parameter_file import LoadedParameters
    from robodyn_ros.robot import Robot

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
    text = f"parameter file of {what}, as ROS 2 takes it; repeatable"
    group = parser.add_argument_group("parameters")
    group.add_argument("--params", type=Path, action="append", default=[], metavar="FILE", help=text)
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
    from robodyn_ros.control.parameter_file import LoadedParameters, read_parameters, refuse_replaced

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
        places = parameters.located_names()
        for name in parameters:
            refuse_replaced(name, places.get(name, ""), node)
    return found


MISMATCH = (
    ("mass-scale", "mass_scale", "F", "the arm's masses over the model's [-]"),
    ("payload", "payload_mass", "KG", "mass that the tool carries and the model lacks [kg]"),
    ("friction-scale", "friction_scale", "F", "the arm's friction over the model's [-]"),
)
"""Options for the parameters ``mismatch.<name>`` of the simulator: option, name, unit, help."""


def add_mismatch(parser: ArgumentParser) -> None:
    """Add the options that make the simulated arm differ from the model."""
    for option, name, unit, text in MISMATCH:
        told = f"{text}; parameter mismatch.{name} (default: {0 if unit == 'KG' else 1})"
        parser.add_argument(f"--{option}", type=float, metavar=unit, help=told)


def gather_simulated(args: Namespace) -> dict[str, LoadedParameters]:
    """As :func:`gather`, for a verb with the arguments of :func:`add_parameters` and :func:`add_mismatch`."""
    given = gather(args.params, args.given)
    for option, name, _, _ in MISMATCH:
        if (value := getattr(args, option.replace("-", "_"))) is not None:
            given["simulator"] |= {f"mismatch.{name}": value}
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
    from robodyn_ros.control.loop_settings import loop_default_values
    from robodyn_ros.simulation.hardware import default_values

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
    unused: Iterable[str],
    known: Iterable[str],
    given: Sequence[str],
    files: Mapping[str, str],
    quiet: bool = False,
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
    text = f"warning: not used here, either misspelt or for another node: {named}"
    console(stderr=True).print(text, markup=False, soft_wrap=True)


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
    from robodyn_ros.control.parameter_file import parse_parameter

    return parse_parameter(text if ":=" in text else text.replace("=", ":=", 1))
