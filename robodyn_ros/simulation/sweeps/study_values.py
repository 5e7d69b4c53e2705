"""Values of a study's file: settings, and numbers for each joint."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any, TypeVar

import numpy as np

from robodyn_ros.errors import RobodynError
from robodyn_ros.robot import Robot
from robodyn_ros.simulation.sweeps.study_file import Section

Settings = TypeVar("Settings")


def settings(section: Section, kind: type[Settings], besides: tuple[str, ...] = ()) -> Settings:
    """A dataclass of settings from the values of a mapping.

    Args:
        section: the mapping.
        kind: the dataclass.
        besides: what else may stand there.

    Raises:
        StudyError: an unknown name, or a wrong value.
    """
    names = {item.name: item.default for item in fields(kind)}  # type: ignore[arg-type]
    section.only((*names, *besides))
    made = kind()
    for name in names.keys() & section.values.keys():
        value = section.values[name]
        if isinstance(names[name], float) and isinstance(value, int) and not isinstance(value, bool):
            value = float(value)
        try:
            made = replace(made, **{name: value})  # type: ignore[type-var]
        except RobodynError as problem:
            raise section.error(name, str(problem).removeprefix(f"{name}: ")) from problem
    return made


def joints(section: Section, name: str, robot: Robot) -> dict[str, float]:
    """A number above 0 for each joint: one for all, or by the joints' names for some.

    Raises:
        StudyError: it is neither.
    """
    value = section.values[name]
    if not isinstance(value, Section):
        return dict.fromkeys(robot.joint_names, _positive(section, name, value))
    value.only(robot.joint_names)
    return {joint: _positive(value, joint, number) for joint, number in value.values.items()}


def _positive(section: Section, name: str, value: Any) -> float:
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not number or not (np.isfinite(value) and value > 0.0):
        raise section.error(name, f"must be a number above 0, not {value!r}")
    return float(value)


def pairs(section: Section, name: str, robot: Robot) -> dict[str, tuple[float, float]]:
    """Least and greatest values, for all joints or by their names.

    Raises:
        StudyError: they are none.
    """
    value = section.values[name]
    if isinstance(value, Section):
        value.only(robot.joint_names)
        return {joint: _pair(value, joint, pair) for joint, pair in value.values.items()}
    return dict.fromkeys(robot.joint_names, _pair(section, name, value))


def _pair(section: Section, name: str, value: Any) -> tuple[float, float]:
    right = isinstance(value, list) and len(value) == 2 and all(isinstance(x, (int, float)) for x in value)
    if not right or not 0.0 <= value[0] < value[1]:
        raise section.error(name, f"must be [least, greatest], from 0 up, not {value!r}")
    return float(value[0]), float(value[1])
