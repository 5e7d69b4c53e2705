"""A study's file as plain values that know their lines, so that what is wrong in it can be found."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from robodyn_ros.errors import RobodynError
from robodyn_ros.robot import Robot
from robodyn_ros.simulation.sweeps.runner import arm_quantities
from robodyn_ros.simulation.sweeps.study import ARM, KINDS, NODES, Distribution

# Values of a study's file: settings, and numbers for each joint.

Settings = TypeVar("Settings")


def settings(section: StudySection, kind: type[Settings], besides: tuple[str, ...] = ()) -> Settings:
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


def joints(section: StudySection, name: str, robot: Robot) -> dict[str, float]:
    """A number above 0 for each joint: one for all, or by the joints' names for some.

    Raises:
        StudyError: it is neither.
    """
    value = section.values[name]
    if not isinstance(value, StudySection):
        return dict.fromkeys(robot.joint_names, _positive(section, name, value))
    value.only(robot.joint_names)
    return {joint: _positive(value, joint, number) for joint, number in value.values.items()}


def _positive(section: StudySection, name: str, value: Any) -> float:
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not number or not (np.isfinite(value) and value > 0.0):
        raise section.error(name, f"must be a number above 0, not {value!r}")
    return float(value)


def pairs(section: StudySection, name: str, robot: Robot) -> dict[str, tuple[float, float]]:
    """Least and greatest values, for all joints or by their names.

    Raises:
        StudyError: they are none.
    """
    value = section.values[name]
    if isinstance(value, StudySection):
        value.only(robot.joint_names)
        return {joint: _pair(value, joint, pair) for joint, pair in value.values.items()}
    return dict.fromkeys(robot.joint_names, _pair(section, name, value))


def _pair(section: StudySection, name: str, value: Any) -> tuple[float, float]:
    right = isinstance(value, list) and len(value) == 2 and all(isinstance(x, (int, float)) for x in value)
    if not right or not 0.0 <= value[0] < value[1]:
        raise section.error(name, f"must be [least, greatest], from 0 up, not {value!r}")
    return float(value[0]), float(value[1])


# What varies in a study, from its file.


def inputs(section: StudySection, robot: Robot) -> dict[str, Distribution]:
    """Name → distribution; in the file a name may be in parts, or whole.

    Raises:
        StudyError: a name or a distribution that is none.
    """
    known = [f"{ARM}.{name}" for name in arm_quantities(robot)]
    found = {}
    for name, (holder, last) in _distributions(section, ""):
        value = holder.section(last)
        kinds = [kind for kind in value.values if kind in KINDS]
        if len(kinds) != 1 or set(value.values) - {*kinds, "levels"}:
            said = ", ".join(f"{kind}: {text}" for kind, text in KINDS.items())
            raise holder.error(last, f"must be one of {said}, and levels if need be; not {', '.join(value.values)}")
        numbers = value.values[kinds[0]]
        if not isinstance(numbers, list):
            raise value.error(kinds[0], f"must be {KINDS[kinds[0]]}, not {numbers!r}")
        try:
            levels = {"levels": value.values["levels"]} if "levels" in value.values else {}
            found[name] = Distribution(kinds[0], tuple(numbers), **levels)
        except RobodynError as problem:
            raise holder.error(last, str(problem)) from problem
        if name.startswith(f"{ARM}.") and name not in known:
            raise holder.error(last, f"{name} {unknown(name, known)}")
        if name.partition(".")[0] not in (ARM, *NODES):
            raise holder.error(last, f"must begin with {ARM}, simulator or controller and a dot, not {name!r}")
    return found


def _distributions(section: StudySection, prefix: str) -> list[tuple[str, tuple[StudySection, str]]]:
    """Name, and where it stands, of each mapping that holds no further one."""
    found: list[tuple[str, tuple[StudySection, str]]] = []
    for name, value in section.values.items():
        nested = isinstance(value, StudySection) and any(
            isinstance(each, StudySection) for each in value.values.values()
        )
        if nested:
            found += _distributions(section.section(name), f"{prefix}{name}.")
        else:
            found.append((f"{prefix}{name}", (section, name)))
    return found


class StudyError(RobodynError):
    """Something in a study's file is wrong; the message begins with file, line and key.

    Attributes:
        line: where, counted from 1; 0 if nowhere in particular.
        key: what, for example ``vary.arm.hand.mass``.
    """

    def __init__(self, file: str, line: int, key: str, problem: str) -> None:
        super().__init__(f"{file}:{line}: {key}: {problem}" if line else f"{file}: {key}: {problem}")
        self.line = line
        self.key = key


class StudySection:
    """A mapping of the file, or the whole of it.

    Attributes:
        key: names that lead to it.
        values: name → value; a mapping is one too, for what asks for plain values.
    """

    def __init__(self, file: str, key: str, line: int, values: dict[str, Any], lines: dict[str, int]) -> None:
        """See :func:`read_study_file`."""
        self.key = key
        self.values = values
        self._file, self._line, self._lines = file, line, lines

    def error(self, name: str, problem: str) -> StudyError:
        """An error about what stands under a name."""
        key = f"{self.key}.{name}".strip(".")
        return StudyError(self._file, self._lines.get(name, self._line), key, problem)

    def section(self, name: str) -> StudySection:
        """The mapping under a name; empty if there is none.

        Raises:
            StudyError: it is something else.
        """
        found = self.values.get(name)
        if found is None:
            return StudySection(self._file, f"{self.key}.{name}".strip("."), self._lines.get(name, self._line), {}, {})
        if not isinstance(found, StudySection):
            raise self.error(name, f"must be a mapping, not {found!r}")
        return found

    def only(self, names: Iterable[str]) -> None:
        """See that there are no other names.

        Raises:
            StudyError: there are.
        """
        known = list(names)
        for name in self.values:
            if name not in known:
                raise self.error(name, unknown(name, known))

    def flat(self) -> dict[str, Any]:
        """All values, by the names that lead to them joined with dots."""
        return {name: value for name, (value, _) in self._walk("")}

    def where(self, name: str) -> StudySection:
        """The mapping in which a name of :meth:`flat` stands, under which its last part is known."""
        return next(holder for found, (_, holder) in self._walk("") if found == name)

    def _walk(self, prefix: str) -> Iterable[tuple[str, tuple[Any, StudySection]]]:
        for name, value in self.values.items():
            if isinstance(value, StudySection):
                yield from value._walk(f"{prefix}{name}.")
            else:
                yield f"{prefix}{name}", (value, self)


def unknown(name: str, known: Iterable[str]) -> str:
    """What to say of a name that does not exist."""
    names = list(known)
    close = get_close_matches(name, names, 3)
    if close:
        return f"is unknown; did you mean {' or '.join(close)}?"
    return f"is unknown; there are {', '.join(names[:20])}{', …' if len(names) > 20 else ''}"


def read_study_file(path: Path) -> StudySection:
    """The file.

    Raises:
        StudyError: it cannot be read, or is no mapping.
    """
    import yaml

    try:
        node = yaml.compose(path.read_text(encoding="utf-8"), Loader=yaml.SafeLoader)
    except (OSError, UnicodeDecodeError) as cause:
        raise StudyError(str(path), 0, "study", f"cannot be read: {cause}") from cause
    except yaml.YAMLError as cause:
        mark = getattr(cause, "problem_mark", None)
        said = getattr(cause, "problem", None) or " ".join(str(cause).split())
        raise StudyError(str(path), mark.line + 1 if mark else 0, "YAML", said) from cause
    if not isinstance(node, yaml.MappingNode):
        raise StudyError(str(path), 1, "study", "must be a mapping, of arm, motion, vary and so on")
    section = _value(str(path), "", node)
    assert isinstance(section, StudySection)
    return section


def _value(file: str, key: str, node: Any) -> Any:
    import yaml

    if not isinstance(node, yaml.MappingNode):
        constructor = yaml.SafeLoader("")
        return constructor.construct_object(node, deep=True)
    values: dict[str, Any] = {}
    lines: dict[str, int] = {}
    for name_node, value_node in node.value:
        name, line = str(name_node.value), name_node.start_mark.line + 1
        if name in values:
            raise StudyError(file, line, f"{key}.{name}".strip("."), f"stands twice, first in line {lines[name]}")
        lines[name] = line
        values[name] = _value(file, f"{key}.{name}".strip("."), value_node)
    return StudySection(file, key, node.start_mark.line + 1, values, lines)
