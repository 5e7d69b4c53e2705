# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The YAML of a study: mappings that know their lines, so that an error message can name file, line and key.

This module handles YAML and types of values; :mod:`.study_reader` handles the contents of a study.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import fields
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import yaml

from robodyn_ros.control.parameter_file import FileParameters, flat
from robodyn_ros.errors import ConfigurationError, RobodynError, is_it
from robodyn_ros.files import YamlError, compose, construct, read_text
from robodyn_ros.robot import Robot
from robodyn_ros.simulation.sweeps.study import are_numbers

Settings = TypeVar("Settings")


def read_study_file(path: Path) -> StudySection:
    """Read a study's file.

    Raises:
        StudyError: the file cannot be read, or is not a mapping.
    """
    try:
        text = read_text(path)
    except YamlError as cause:
        raise StudyError(str(path), 0, "study", f"cannot be read: {cause}") from cause
    try:
        node = compose(text)
    except YamlError as cause:
        raise StudyError(str(path), cause.line, "YAML", cause.problem) from cause
    if not isinstance(node, yaml.MappingNode):
        raise StudyError(str(path), 1, "study", "must be a mapping, of arm, motion, vary and so on")
    lines = {"": node.start_mark.line + 1}
    return StudySection(str(path), "", _value(str(path), "", node, lines), lines)


def _value(file: str, key: str, node: Any, lines: dict[str, int]) -> Any:
    """The value of a node; ``lines`` gets the line of each key in it."""
    if not isinstance(node, yaml.MappingNode):
        try:
            return construct(node)
        except YamlError as cause:
            raise StudyError(file, cause.line, key or "YAML", cause.problem) from cause
    values: dict[str, Any] = {}
    for name_node, value_node in node.value:
        name, line = str(name_node.value), name_node.start_mark.line + 1
        inner = f"{key}.{name}".strip(".")
        lines[inner] = line
        values[name] = _value(file, inner, value_node, lines)
    return values


class StudyError(RobodynError):
    """An error in a study's file; the message begins with file, line and key.

    Attributes:
        line: line of the error, counted from 1; 0 if there is none.
        key: key of the error, for example ``vary.arm.hand.mass``.
    """

    def __init__(self, file: str, line: int, key: str, problem: str) -> None:
        super().__init__(f"{file}:{line}: {key}: {problem}" if line else f"{file}: {key}: {problem}")
        self.line = line
        self.key = key


class StudySection:
    """A mapping in the file, or the whole file.

    Attributes:
        key: names that lead to the mapping, joined with dots.
        values: name → value.
    """

    def __init__(self, file: str, key: str, values: dict[str, Any], lines: dict[str, int]) -> None:
        """Made by :func:`read_study_file`."""
        self.key = key
        self.values = values
        self._file, self._lines = file, lines

    def error(self, name: str, problem: str) -> StudyError:
        """Return an error about a name, which the file has whole or as nested keys, with its line or that around it."""
        key = place = f"{self.key}.{name}".strip(".")
        while place not in self._lines:
            place = place.rpartition(".")[0]
        return StudyError(self._file, self._lines[place], key, problem)

    def check(self, is_right: object, name: str, wanted: str) -> None:
        """Check (StudyError) that a value is what is wanted."""
        if not is_right:
            raise self.error(name, f"must be {wanted}, not {self.values.get(name)!r}")

    def section(self, name: str) -> StudySection:
        """Return the mapping under a name; an empty one if the name is missing.

        Raises:
            StudyError: the value is not a mapping.
        """
        found = self.values.get(name)
        self.check(found is None or isinstance(found, dict), name, "a mapping")
        return StudySection(self._file, f"{self.key}.{name}".strip("."), found or {}, self._lines)

    def only(self, names: Iterable[str]) -> None:
        """Check that there are no other names.

        Raises:
            StudyError: there is another name.
        """
        known = list(names)
        for name in self.values:
            if name not in known:
                raise self.error(name, unknown(name, known))

    def flat(self) -> dict[str, Any]:
        """Return all values by the names that lead to them, joined with dots."""
        return dict(flat(self.values))

    def settings(self, kind: type[Settings], besides: tuple[str, ...] = ()) -> Settings:
        """Make a dataclass of settings from the values.

        Args:
            kind: the dataclass.
            besides: other names that are allowed in the mapping.

        Raises:
            StudyError: a name is unknown, or a value is wrong.
        """
        self.only((*(item.name for item in fields(kind)), *besides))  # type: ignore[arg-type]
        try:
            return FileParameters(self.values, {}).settings(kind)
        except ConfigurationError as problem:
            name, _, said = str(problem).partition(": ")
            raise self.error(name, said) from problem


Value = TypeVar("Value")


def by_joint(
    section: StudySection, name: str, robot: Robot, read: Callable[[StudySection, str], Value]
) -> dict[str, Value]:
    """Return a value for each joint. The file has one for all joints, or one by each joint's name.

    Args:
        section: the mapping with the value.
        name: of the value.
        robot: the arm.
        read: reads a value under a name of a mapping: :func:`positive` or :func:`pair`.

    Raises:
        StudyError: there is no such joint, or a value is wrong.
    """
    if not isinstance(section.values[name], dict):
        return dict.fromkeys(robot.joint_names, read(section, name))
    inner = section.section(name)
    inner.only(robot.joint_names)
    return {joint: read(inner, joint) for joint in inner.values}


def positive(section: StudySection, name: str) -> float:
    """Return a number above 0."""
    value = section.values[name]
    section.check(are_numbers((value,)) and 0.0 < value < np.inf, name, "a number above 0")
    return float(value)


def pair(section: StudySection, name: str) -> tuple[float, float]:
    """Return a least and a greatest value."""
    value = section.values[name]
    is_pair = isinstance(value, list) and len(value) == 2 and are_numbers(value) and 0.0 <= value[0] < value[1]
    section.check(is_pair, name, "[least, greatest], from 0 up")
    return float(value[0]), float(value[1])


def unknown(name: str, known: Iterable[str]) -> str:
    """Return the message about an unknown name, with the nearest one, or with some of those that there are."""
    names = list(known)
    some = f"; there are {', '.join(names[:20])}{', …' if len(names) > 20 else ''}"
    return f"is unknown{is_it(name, names) or some}"
