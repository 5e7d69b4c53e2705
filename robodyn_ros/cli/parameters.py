"""The parameters of a verb: the arguments that give them, as ROS 2 does, and their check.

Every verb takes parameter files by ``--params`` and single parameters by ``-p``. A parameter that nothing uses has no
effect, so its name is an error, unless it stands in a file: there it may be meant for another node. A name in a file
that is almost one of those that there are is an error too.
"""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

from robodyn_ros.cli.console import console
from robodyn_ros.errors import InputError

if TYPE_CHECKING:
    from robodyn_ros.control.parameter_file import LoadedParameters

NODES = ("simulator", "controller")
"""Nodes whose parameters a verb takes that simulates."""

MISSPELT = 0.85
"""Likeness of two names above which one is the other, misspelt [-]."""

FEW = 40
"""Number of parameters up to which they are listed where none is near."""

NEAR = 0.6
"""Likeness above which a name is suggested [-]."""


def add_parameters(parser: ArgumentParser, what: str, example: str) -> None:
    """Add the options ``--params`` and ``-p``.

    Args:
        parser: of the verb.
        what: whose parameters they are, such as ``the nodes simulator and controller``.
        example: of a parameter, ``name:=value``.
    """
    text = f"parameter file of {what}, as ROS 2 takes it; again for another"
    parser.add_argument("--params", type=Path, action="append", default=[], metavar="FILE", help=text)
    text = f"a parameter, such as {example}; again for another; it wins over the files"
    parser.add_argument("-p", dest="given", action="append", default=[], metavar="NAME:=VALUE", help=text)


def gather(files: Sequence[Path], given: Sequence[str], nodes: Sequence[str] = NODES) -> dict[str, LoadedParameters]:
    """Collect the parameters of each node: node → name → value.

    Args:
        files: parameter files; a later file wins over those before.
        given: ``name:=value`` for all nodes, or ``node:name:=value`` for one; these win over the files.
        nodes: names of the nodes.

    Raises:
        InputError: a file or a parameter cannot be read.
    """
    from robodyn_ros.control.parameter_file import LoadedParameters, read_parameters

    found = {node: LoadedParameters() for node in nodes}
    for node, parameters in found.items():
        for file in files:
            parameters |= read_parameters(file, node)
    for text in given:
        name, value = _parsed(text)
        node, _, own = name.rpartition(":")
        for parameters in [found[node]] if node in found else found.values():
            parameters |= {own if node in found else name: value}
    return found


def check_used(unused: Iterable[str], known: Iterable[str], given: Sequence[str], files: Mapping[str, str]) -> None:
    """Check the names of parameters that nothing has used.

    Args:
        unused: the names.
        known: the names that there are.
        given: the texts of ``-p``.
        files: name → file and line, for those of files.

    Raises:
        InputError: a name of ``-p`` is unknown, or one of a file is misspelt; the message has the nearest name.
    """
    unused, choices = sorted(unused), sorted(set(known))
    names = {text: _parsed(text)[0] for text in given}
    names = {text: name if name in unused else name.rpartition(":")[2] for text, name in names.items()}
    mistaken = {text: name for text, name in names.items() if name in unused}
    if mistaken:
        said = " or ".join(f"{name!r}{_suggestion(name, choices, NEAR)}" for name in mistaken.values())
        if len(choices) <= FEW and "(is it" not in said:
            said += f"; there are {', '.join(choices)}"
        raise InputError(
            ", ".join(mistaken), f"no parameter that is used here is named {said}", list(mistaken.values())
        )
    for name in unused:
        near = _suggestion(name, choices, MISSPELT)
        if near:
            raise InputError("--params", f"{files.get(name, '')} {name!r} is no parameter{near}".strip(), name)
    if unused:
        console(stderr=True).print(f"not used here: {', '.join(unused)}", markup=False, soft_wrap=True)


def _parsed(text: str) -> tuple[str, Any]:
    """Name and value of ``name:=value``, or of ``name=value``, as other options have it."""
    from robodyn_ros.control.parameter_file import parse_parameter

    return parse_parameter(text if ":=" in text else text.replace("=", ":=", 1))


def _suggestion(name: str, known: Sequence[str], likeness: float) -> str:
    near = get_close_matches(name, known, 1, likeness)
    return f" (is it {near[0]!r}?)" if near else ""
