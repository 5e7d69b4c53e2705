"""Parameter files of ROS 2 nodes, read without ROS, so that one file serves the nodes and the command."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, TypeVar

from robodyn_ros.errors import ConfigurationError, InputError

Settings = TypeVar("Settings")

PARAMETERS = "ros__parameters"
"""The key under which a node's parameters stand in such a file."""


class FileParameters:
    """The parameters of a node: those given, and the defaults of the rest."""

    def __init__(self, given: Mapping[str, Any], defaults: Mapping[str, Any]) -> None:
        """
        Args:
            given: name → value.
            defaults: of what is not in a dataclass of settings, or has another default there.
        """
        self._given = dict(given)
        self._defaults = dict(defaults)
        self._asked: set[str] = set()

    def __getitem__(self, name: str) -> Any:
        """The value of that name, which must be given unless it has a default.

        Raises:
            ConfigurationError: it has no value.
        """
        self._asked.add(name)
        for values in (self._given, self._defaults):
            if name in values:
                return values[name]
        raise ConfigurationError(f"parameter {name!r} must be given")

    def settings(self, settings: type[Settings], prefix: str = "") -> Settings:
        """A dataclass of settings, from the values whose names are its fields' behind the prefix.

        Raises:
            ConfigurationError: a value is of the wrong type or out of range; the message names it.
        """
        values = {}
        for item in fields(settings):  # type: ignore[arg-type]
            name = prefix + item.name
            self._asked.add(name)
            value = self._given.get(name, self._defaults.get(name, item.default))
            whole = isinstance(value, int) and not isinstance(value, bool)
            values[item.name] = float(value) if isinstance(item.default, float) and whole else value
        try:
            return settings(**values)
        except ConfigurationError as cause:
            raise ConfigurationError(prefix + str(cause)) from cause

    def unused(self) -> list[str]:
        """Names of what was given and not asked for so far."""
        return sorted(set(self._given) - self._asked)


def read_parameters(path: Path, node: str) -> dict[str, Any]:
    """What a parameter file says of a node, by name.

    Args:
        path: of the file.
        node: name of the node, without a namespace.

    Raises:
        InputError: the file cannot be read, or is no parameter file.
    """
    import yaml

    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as cause:
        raise InputError("parameter file", f"{path} cannot be read: {' '.join(str(cause).split())}", path) from cause
    sections = list(_sections(content, ""))
    if not sections:
        raise InputError("parameter file", f"{path} has no {PARAMETERS!r}", path)
    return {name: value for key, part in sections if _matches(key, node) for name, value in _flat(part, "")}


def parse_parameter(text: str) -> tuple[str, Any]:
    """Name and value of ``name:=value``, the value in YAML, as ROS 2 takes it on a command line.

    Raises:
        InputError: it is not of this form.
    """
    import yaml

    name, found, value = text.partition(":=")
    try:
        if found and name:
            return name, yaml.safe_load(value)
    except yaml.YAMLError:
        pass
    raise InputError("parameter", f"must be name:=value, not {text!r}", text)


def _sections(content: Any, key: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Name of a node, with its namespaces and wildcards, and its parameters."""
    if not isinstance(content, Mapping):
        return
    for name, part in content.items():
        if name == PARAMETERS and isinstance(part, Mapping):
            yield key, part
        else:
            yield from _sections(part, f"{key}/{str(name).strip('/')}")


def _matches(key: str, node: str) -> bool:
    """Whether a section is about the node; ``*`` stands for one name, ``**`` for any number of them."""
    pattern = re.escape(key).replace(r"/\*\*", "(/[^/]+)*").replace(r"\*", "[^/]+")
    return re.fullmatch(pattern, f"/{node}") is not None


def _flat(parameters: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, Any]]:
    for name, value in parameters.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value
