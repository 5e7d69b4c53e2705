# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Files: those that users name, YAML among them, and those that come with the package.

A file is read whole, but never without end. YAML is read within limits: mappings, lists, texts, numbers and truth
values, and nothing else. Tags would make objects, dates would make values of a type that nobody expects, and a few
lines of aliases can stand for more values than there is memory. A date is a text here, as in ROS 2. Every error message
is one line.
"""

from __future__ import annotations

import errno
import json
import math
import os
import re
import stat
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

import yaml

from robodyn_ros.errors import InputError, RobodynError, is_it

LARGEST = 64 * 2**20
"""Greatest size of a description, a parameter file and the like [bytes]."""


def read_bytes(path: str | os.PathLike[str], most: int = LARGEST) -> bytes:
    """The content of a file, or of what a shell has put in its place (``<(…)``, ``/dev/stdin``).

    Args:
        path: of the file.
        most: its greatest size [bytes].

    Raises:
        OSError: it cannot be read, it is larger, or it is no file: a device has no end, and a pipe may never begin. If
            there is no such file, the reason names the file of the folder that may be meant.
        ValueError: there is a null character in the path.
    """
    name = os.fspath(path)
    with open(name, "rb", opener=_open) as file:
        mode = os.fstat(file.fileno()).st_mode
        if not stat.S_ISREG(mode) and not (stat.S_ISFIFO(mode) and name.startswith(("/dev/", "/proc/self/fd/"))):
            raise OSError(errno.EINVAL, "is not a file", name)
        os.set_blocking(file.fileno(), True)
        content = file.read(most + 1)
    if len(content) > most:
        raise OSError(errno.EFBIG, f"is larger than {most // 2**20} MB", name)
    return content


def _open(name: str, flags: int) -> int:
    """The descriptor of a file, without waiting for somebody to write into a pipe."""
    try:
        return os.open(name, flags | os.O_NONBLOCK)
    except FileNotFoundError as cause:
        raise FileNotFoundError(cause.errno, f"{cause.strerror}{similar(name)}", name) from cause


MOST_NAMES = 1000
"""Most files of a folder among which one is sought that may be meant."""


def similar(path: str | os.PathLike[str]) -> str:
    """The end of a message about a file that is missing: `` (is it 'arm.urdf'?)``, a file of its folder, or nothing."""
    folder, name = os.path.split(os.fspath(path))
    try:
        return is_it(name, sorted(os.listdir(folder or "."))[:MOST_NAMES])
    except OSError:
        return ""


@contextmanager
def writing(name: str, path: str | os.PathLike[str]) -> Iterator[None]:
    """In this context, an error of the system is one of a file that is written.

    Raises:
        InputError: there was such an error; it is about an argument of that name.
    """
    try:
        yield
    except OSError as cause:
        raise InputError(name, f"{os.fspath(path)!r} cannot be written: {cause.strerror}", path) from cause


def as_json(value: Any, indent: int | None = None) -> str:
    """A value as JSON: an array as a list, a path as text, a number that is not finite, which JSON lacks, as null."""
    return json.dumps(_plain(value), indent=indent, ensure_ascii=False, allow_nan=False, default=str) + "\n"


def _plain(value: Any) -> Any:
    if hasattr(value, "tolist"):  # of NumPy
        value = value.tolist()
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, (list, tuple)) else value


PACKAGE = "robodyn_ros"


def find(name: str) -> Path:
    """The path of a file that comes with the package.

    Args:
        name: relative to the package's share folder, for example ``urdf/prr.urdf``.

    Raises:
        InputError: no folder holds it; the message lists the folders.
    """
    places = folders()
    for place in places:
        if (place / name).is_file():
            return place / name
    raise InputError("file", f"{name} is not in {' or '.join(map(str, places))}", name)


def folders() -> list[Path]:
    """Folders that may hold the package's files: a checkout, the ament prefixes, Python's own prefix."""
    checkout = Path(__file__).parent.parent
    prefixes = [*os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep), sys.prefix]
    shares = [Path(prefix, "share", PACKAGE) for prefix in prefixes if prefix]
    return [checkout, *shares] if (checkout / "package.xml").is_file() else shares


DEEPEST = 50
"""Most collections within each other."""

MOST = 1_000_000
"""Most values of a file; an alias counts as what it stands for."""

TAGS = ("null", "bool", "int", "float", "str", "seq", "map")
"""The types that YAML may make (YAML 1.1, https://yaml.org/type)."""

PREFIX = "tag:yaml.org,2002:"


class YamlError(RobodynError):
    """A text that is no YAML, or more than a file of settings may be.

    Attributes:
        line: where, from 1; 0 if it is everywhere.
        problem: what is wrong, without the line.
    """

    def __init__(self, problem: str, line: int = 0) -> None:
        self.problem, self.line = " ".join(problem.split()), line
        super().__init__(f"line {line}: {self.problem}" if line else self.problem)


def read_yaml(path: str | os.PathLike[str]) -> Any:
    """The content of a file.

    Raises:
        YamlError: it cannot be read, or is not such YAML.
    """
    return construct(compose(read_text(path)))


def read_yaml_of(argument: str, path: str | os.PathLike[str]) -> Any:
    """The content of a file that an argument names.

    Raises:
        InputError: as :func:`read_yaml`; it is about an argument of that name.
    """
    try:
        return read_yaml(path)
    except YamlError as cause:
        raise InputError(argument, f"{os.fspath(path)} cannot be read: {cause}", path) from cause


def read_text(path: str | os.PathLike[str]) -> str:
    """The text of a file.

    Raises:
        YamlError: it cannot be read, or is no text.
    """
    try:
        return read_bytes(path).decode("utf-8-sig")
    except OSError as cause:
        raise YamlError(cause.strerror or str(cause)) from cause
    except UnicodeDecodeError as cause:
        raise YamlError(f"is not UTF-8 text: {cause.reason} at byte {cause.start}") from cause
    except ValueError as cause:
        raise YamlError(str(cause)) from cause


def compose(text: str) -> yaml.Node | None:
    """The tree of a text, with the lines of its nodes; None if there is nothing in it.

    Raises:
        YamlError: it is not such YAML.
    """
    try:
        tree = _Loader(text).get_single_node()
    except yaml.YAMLError as cause:
        _refuse(cause)
    if tree is not None:
        _measure(tree, {}, [])
    return tree


def construct(tree: yaml.Node | None) -> Any:
    """The values of a tree of :func:`compose`.

    Raises:
        YamlError: it has a value of another type.
    """
    if tree is None:
        return None
    try:
        return _Loader("").construct_document(tree)
    except yaml.YAMLError as cause:
        _refuse(cause)
    except ValueError as cause:
        raise YamlError(str(cause), tree.start_mark.line + 1) from cause


def _refuse(cause: yaml.YAMLError) -> NoReturn:
    mark = getattr(cause, "problem_mark", None)
    parts = [part for part in (getattr(cause, "context", None), getattr(cause, "problem", None)) if part]
    said = ", ".join(parts) or str(cause)
    raise YamlError(said, mark.line + 1 if mark else 0) from cause


class _Loader(yaml.SafeLoader):  # type: ignore[misc]
    """PyYAML's loader for plain values, with a limit of depth."""

    _depth = 0

    def compose_node(self, parent: Any, index: Any) -> Any:
        self._depth += 1
        if self._depth > DEEPEST:
            raise YamlError(f"is nested deeper than {DEEPEST}", self.line + 1)
        try:
            return super().compose_node(parent, index)
        finally:
            self._depth -= 1

    def construct_number(self, node: Any) -> int | float:
        line, is_whole = node.start_mark.line + 1, node.tag == f"{PREFIX}int"
        try:
            value: int | float = self.construct_yaml_int(node) if is_whole else self.construct_yaml_float(node)
        except ValueError as cause:
            raise YamlError(f"{node.value[:40]!r} is no number", line) from cause
        if is_whole and not -(2**63) <= value < 2**63:
            raise YamlError(f"the number {node.value[:40]} has more than 64 bits", line)
        return value


_Loader.add_constructor(f"{PREFIX}int", _Loader.construct_number)
_Loader.add_constructor(f"{PREFIX}float", _Loader.construct_number)
_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in found if tag != f"{PREFIX}timestamp"]
    for first, found in _Loader.yaml_implicit_resolvers.items()
}
# As in JSON and ROS 2; to YAML 1.1 it is a text unless it has a point and a sign.
EXPONENT = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)[eE][-+]?\d+$")
_Loader.add_implicit_resolver(f"{PREFIX}float", EXPONENT, list("-+.0123456789"))


def _measure(node: yaml.Node, measured: dict[int, tuple[int, int]], above: list[yaml.Node]) -> tuple[int, int]:
    """How many values a node stands for, and how many levels of them.

    Raises:
        YamlError: too many, one of a type that is not among :data:`TAGS`, a key twice, or it contains itself.
    """
    if id(node) in measured:
        return measured[id(node)]
    line = node.start_mark.line + 1
    if node.tag.removeprefix(PREFIX) not in TAGS:
        raise YamlError(f"has a value of the type {node.tag.replace(PREFIX, '!!')}, not {', '.join(TAGS)}", line)
    if any(node is one for one in above):
        raise YamlError("contains itself, by an alias", line)
    parts: list[yaml.Node] = []
    if isinstance(node, yaml.MappingNode):
        _check_keys(node)
        parts = [value for _, value in node.value]
    elif isinstance(node, yaml.SequenceNode):
        parts = node.value
    above.append(node)
    sizes = [_measure(part, measured, above) for part in parts]
    above.pop()
    total, levels = 1 + sum(count for count, _ in sizes), 1 + max((depth for _, depth in sizes), default=0)
    if total > MOST:
        raise YamlError(f"stands for more than {MOST} values", line)
    if levels > DEEPEST:
        raise YamlError(f"is nested deeper than {DEEPEST}, by aliases", line)
    measured[id(node)] = total, levels
    return total, levels


def _check_keys(node: yaml.MappingNode) -> None:
    lines: dict[str, int] = {}
    for key, _ in node.value:
        if not isinstance(key, yaml.ScalarNode):
            raise YamlError("has a key that is no text", node.start_mark.line + 1)
        line = key.start_mark.line + 1
        if key.value in lines:
            raise YamlError(f"{key.value[:40]!r} is given twice, first in line {lines[key.value]}", line)
        lines[key.value] = line
