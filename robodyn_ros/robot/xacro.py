# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""A .xacro file → a URDF, by the package ``xacro`` where that is installed.

xacro evaluates Python, keeps state in its module, and may end the process. It therefore runs in a separate process. It
looks up packages with ``ament_index_python``, which is replaced by :func:`find_package`; that works without ROS too.
"""

from __future__ import annotations

import glob
import os
import re
import shlex
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from traceback import walk_tb
from types import ModuleType
from typing import Any
from xml.dom.minidom import Element

from robodyn_ros.errors import RobotDescriptionError, pip_install
from robodyn_ros.files import similar

TIMEOUT = 60.0
"""Time that xacro may take [s]."""

PROGRAM = "import sys; from robodyn_ros.robot.xacro import main; sys.exit(main(sys.argv[1:]))"

DEEPEST = 3
"""Folders below a parent folder in which another package is sought, as in ``src/vendor/repository/package``."""

_ARGUMENT = re.compile(r"\w+:=.*", re.DOTALL)


def is_argument(word: str) -> bool:
    """True for ``name:=value``."""
    return _ARGUMENT.fullmatch(word) is not None


def split_arguments(text: str) -> tuple[str, dict[str, str]]:
    """The path and the arguments of ``arm.urdf.xacro name:=value name:='two words'``.

    The text is split as a shell does it. A text without arguments at its end is not split, so a path may hold spaces.
    """
    if ":=" not in text:
        return text, {}
    try:
        words = shlex.split(text)
    except ValueError:  # a quotation mark is open
        return text, {}
    if len(words) < 2 or is_argument(words[0]) or not all(map(is_argument, words[1:])):
        return text, {}
    pairs = (word.partition(":=")[::2] for word in words[1:])
    return words[0], dict(pairs)


def with_arguments(file: str, words: Sequence[str]) -> str:
    """The text that :func:`split_arguments` splits: a path, and ``name:=value`` words behind it if there are any."""
    return " ".join(map(shlex.quote, (file, *words))) if words else file


def expand(file: str, arguments: Mapping[str, str]) -> str:
    """The URDF that a .xacro file makes.

    Args:
        file: its path.
        arguments: name → value.

    Raises:
        RobotDescriptionError: xacro is not installed or fails; an argument is not declared in the file.
    """
    if not Path(file).is_file():
        raise RobotDescriptionError(file, f"cannot be read: there is no such file{similar(file)}")
    if find_spec("xacro") is None:
        problem = f"needs xacro: {pip_install('robodyn_ros[xacro]')}, or install the package xacro of ROS 2"
        raise RobotDescriptionError(file, problem)
    with tempfile.TemporaryDirectory(prefix="robodyn-") as folder:
        out = Path(folder, "arm.urdf")
        given = [f"{name}:={value}" for name, value in arguments.items()]
        command = [sys.executable, "-c", PROGRAM, file, str(out), *given]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT, check=False)
        except subprocess.TimeoutExpired as cause:
            raise RobotDescriptionError(file, f"xacro did not end within {TIMEOUT:g} s") from cause
        if done.returncode != 0 or not out.is_file():
            lines = filter(str.strip, done.stderr.splitlines())
            said = list(dict.fromkeys(lines))  # a file that includes itself repeats its name a hundred times
            raise RobotDescriptionError(file, f"xacro: {'; '.join(said[-4:]) or 'failed without a message'}")
        return out.read_text(encoding="utf-8")


def find_package(name: str, near: str = "") -> str:
    """The share folder of a ROS package.

    The search order is: the packages that contain the file, the packages beside these, the ament prefixes, and the
    folders of ``ROS_PACKAGE_PATH``. The name of a package is that in its package.xml; if no package.xml has the name,
    the folder's name counts.

    Args:
        name: of the package.
        near: path of the file.

    Raises:
        LookupError: there is none; the message lists the searched places.
    """
    named: Path | None = None  # a folder of that name whose package.xml says otherwise
    for folder in _candidates(name, near):
        if package_name(folder) == name:
            return str(folder)
        if named is None and folder.name == name and folder.is_dir():
            named = folder
    if named is not None:
        return str(named)
    beside = f" beside {near}," if near else ""
    raise LookupError(f"package {name!r} is not found:{beside} in AMENT_PREFIX_PATH or ROS_PACKAGE_PATH")


def package_name(folder: Path) -> str | None:
    """The name in the package.xml of a folder; the folder's own name without one, None if it is no folder."""
    if not folder.is_dir():
        return None
    try:
        return ET.parse(folder / "package.xml").findtext("name", "").strip()
    except (OSError, ET.ParseError):
        return folder.name


def _candidates(name: str, near: str) -> Iterator[Path]:
    """Folders that may be the package."""
    parents = list(Path(near).resolve().parents) if near else []
    packages = [folder for folder in parents if (folder / "package.xml").is_file()]
    yield from packages
    # A workspace is the nearest folder that holds more than one package; a file outside any package has neighbours too.
    top = packages[-1] if packages else (parents[0] if parents else None)
    around = [] if top is None else [top, *list(top.parents)[:DEEPEST]]
    for folder in around:
        for depth in range(DEEPEST):
            yield from _matching(folder, "*/" * depth + glob.escape(name))
    for variable, places in (("AMENT_PREFIX_PATH", (f"share/{name}",)), ("ROS_PACKAGE_PATH", (name, ""))):
        for prefix in filter(None, os.environ.get(variable, "").split(os.pathsep)):
            yield from (Path(prefix, place) for place in places)
    for folder in around:
        yield from (path.parent for path in _matching(folder, "*/package.xml"))


def _matching(folder: Path, pattern: str) -> list[Path]:
    """The paths in a folder that match; a neighbour that vanishes meanwhile is none (``Path.glob`` raises)."""
    return [folder / path for path in sorted(glob.glob(pattern, root_dir=folder))]


class _Arguments(dict[str, str]):
    """The arguments given; it keeps the names that xacro asks for."""

    def __init__(self, given: Mapping[str, str]) -> None:
        super().__init__(given)
        self.asked: set[object] = set()

    def __contains__(self, name: object) -> bool:
        self.asked.add(name)
        return super().__contains__(name)

    def __getitem__(self, name: str) -> str:
        self.asked.add(name)
        return super().__getitem__(name)


def main(words: list[str]) -> int:
    """Expand in this process: the .xacro file, the URDF to write, and arguments."""
    file, out, *given = words
    index, packages = ModuleType("ament_index_python"), ModuleType("ament_index_python.packages")
    packages.get_package_share_directory = partial(find_package, near=file)  # type: ignore[attr-defined]
    sys.modules["ament_index_python"], sys.modules["ament_index_python.packages"] = index, packages
    import xacro

    arguments = _Arguments(dict(word.split(":=", 1) for word in given))
    names = set(arguments)
    try:
        text = xacro.process_file(file, mappings=arguments).toprettyxml(indent="  ")
    except Exception as cause:  # it evaluates whatever the file says
        print(_problem(cause), file=sys.stderr)
        xacro.print_location()
        return 1
    unused = sorted(names - arguments.asked)
    if unused:
        known = ", ".join(sorted(set(map(str, arguments)) - set(unused))) or "none"
        print(f"no argument {', '.join(unused)}: the file has {known}", file=sys.stderr)
        return 1
    Path(out).write_text(text, encoding="utf-8")
    return 0


def _problem(cause: Exception) -> str:
    text = str(cause) or repr(cause)
    if type(cause).__name__ == "ArgException" or "ndefined substitution argument" in text:
        name = text.split()[-1]
        return f"argument {name} has no value: give it as {name}:=…"
    *_, (frame, _) = walk_tb(cause.__traceback__)
    tag = frame.f_locals.get("tag")  # of a message such as "xacro:arg: missing attribute 'default'"
    alone: Any = tag.cloneNode(False) if isinstance(tag, Element) else None  # without what is in it
    return text if alone is None else f"{text} in {alone.toxml()}"
