"""Where in a URDF something stands that is wrong."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from xml.parsers import expat

from robodyn_ros.errors import RobotDescriptionError

ELEMENT = re.compile(r"(link|joint|robot) ('.*'|\".*\")")
"""What a message calls an element; its name is written as Python writes a string."""


def located(problem: RobotDescriptionError, urdf: object) -> str:
    """The message, with file and line in front where they can be told: ``arm.urdf:12: joint 'shoulder': …``.

    Args:
        problem: what is wrong.
        urdf: path of the file, or None.
    """
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
