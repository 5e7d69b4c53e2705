"""Where in a URDF or a parameter file something stands that is wrong."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any
from xml.parsers import expat

from robodyn_ros.control.parameter_file import PARAMETERS
from robodyn_ros.errors import RobodynError, RobotDescriptionError

ELEMENT = re.compile(r"(link|joint|robot) ('.*'|\".*\")")
"""What a message calls an element; its name is written as Python writes a string."""


KEY = re.compile(r"[A-Za-z_]\w*(?:\.\w+)*")
"""What may be a parameter's name in a message."""


def located(problem: RobodynError, urdf: object, parameters: Iterable[Path] = (), given: Iterable[str] = ()) -> str:
    """The message, with file and line in front where they can be told: ``arm.urdf:12: joint 'shoulder': …``.

    Args:
        problem: what is wrong.
        urdf: path of the arm's file, or None.
        parameters: parameter files, the later ones winning over those before.
        given: ``name:=value`` or ``node:name:=value`` on the command line, winning over the files.
    """
    if isinstance(problem, RobotDescriptionError):
        return _in_urdf(problem, urdf)
    named = set(KEY.findall(str(problem))) - {text.partition(":=")[0].rpartition(":")[2] for text in given}
    for path in reversed(list(parameters)):
        if lines := [line for name, line in _keys(path) if name in named]:
            return f"{path}:{lines[-1]}: {problem}"
    return str(problem)


def _in_urdf(problem: RobotDescriptionError, urdf: object) -> str:
    found = ELEMENT.fullmatch(problem.element)
    if found is None or urdf is None:
        return str(problem)
    line = _line(Path(str(urdf)), found.group(1), ast.literal_eval(found.group(2)))
    return f"{urdf}:{line}: {problem}" if line else f"{urdf}: {problem}"


def _line(path: Path, tag: str, name: str) -> int:
    """Of the last element of that name, as the first is right if there are two; 0 if there is none."""
    parser, lines = expat.ParserCreate(), [0]

    def start(found: str, attributes: dict[str, str]) -> None:
        if (found, attributes.get("name")) == (tag, name):
            lines.append(parser.CurrentLineNumber)

    parser.StartElementHandler = start
    try:
        parser.Parse(path.read_bytes(), True)
    except (OSError, expat.ExpatError):
        return 0
    return lines[-1]


def _keys(path: Path) -> Iterator[tuple[str, int]]:
    """Name and line of each parameter in a parameter file; nothing if it cannot be read."""
    import yaml

    try:
        content = yaml.compose(path.read_text(encoding="utf-8"), Loader=yaml.SafeLoader)
    except (OSError, UnicodeDecodeError, yaml.YAMLError):
        return
    yield from _keys_in(content, "", False)


def _keys_in(node: Any, prefix: str, inside: bool) -> Iterator[tuple[str, int]]:
    """The same of a part of the file; names count from below ``ros__parameters`` on."""
    import yaml

    if not isinstance(node, yaml.MappingNode):
        return
    for key, value in node.value:
        name = f"{prefix}{key.value}" if inside else ""
        if inside:
            yield name, key.start_mark.line + 1
        yield from _keys_in(value, f"{name}." if inside else "", inside or key.value == PARAMETERS)
