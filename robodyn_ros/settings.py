# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Settings: the fields of a frozen dataclass, each with a default, a description, a unit and a range.

Nodes declare their parameters from these fields, so that a default or a range is written only once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import Field, field, fields
from math import isfinite
from typing import Any, NamedTuple, Protocol, TypeVar

from robodyn_ros.errors import ConfigurationError, one_of

Settings = TypeVar("Settings")


class NamedValues(Protocol):
    """The source of the values of settings: the parameters of a node, a file, or defaults."""

    def __getitem__(self, name: str) -> Any:
        """The value of a name."""

    def settings(self, settings: type[Settings], prefix: str = "") -> Settings:
        """A dataclass of settings, from the values whose names are its fields' behind the prefix."""


def setting(
    default: float | tuple[float, ...], description: str, unit: str, least: float, greatest: float, shared: str = ""
) -> Any:
    """A dataclass field; its metadata hold ``description``, ``unit`` and ``range`` (least, greatest), both included.

    Args:
        default: a number, or a vector of numbers.
        description: of the setting.
        unit: of each number.
        least: allowed, of each number.
        greatest: allowed, of each number.
        shared: name of the parameter, where settings of several kinds have it in common; else it is that of the field
            behind a prefix.
    """
    metadata = {"description": description, "unit": unit, "range": (least, greatest), "shared": shared}
    return field(default=default, metadata=metadata)


def whole(default: int, description: str, least: int, greatest: int) -> Any:
    """As :func:`setting`, for a whole number without a unit."""
    return field(default=default, metadata={"description": description, "unit": "", "range": (least, greatest)})


def switch(default: bool, description: str) -> Any:
    """As :func:`setting`, for something that is on or off."""
    return field(default=default, metadata={"description": description, "choices": lambda: (True, False)})


def choice(default: str, description: str, choices: Callable[[], tuple[str, ...]], shared: str = "") -> Any:
    """As :func:`setting`, for one of several names, which may depend on the plugins that are installed.

    Args:
        default: one of them.
        description: of the choice.
        choices: gives the names.
        shared: as :func:`setting` has it.
    """
    return field(default=default, metadata={"description": description, "choices": choices, "shared": shared})


def text(default: str, description: str, shared: str = "") -> Any:
    """As :func:`setting`, for any text, such as the name of a link."""
    return field(default=default, metadata={"description": description, "text": True, "shared": shared})


NONE = "none"
"""Stands for no name in a list of names, because a list in a parameter file cannot be empty."""


def names(default: tuple[str, ...], description: str) -> Any:
    """As :func:`setting`, for a list of names, which its reader checks; :data:`NONE` must be the only one."""
    return field(default=default, metadata={"description": description, "names": True})


def shared(owner: Any, name: str) -> Any:
    """A field of another dataclass of settings; both read the same parameter, which has no prefix."""
    item = next(item for item in fields(owner) if item.name == name)
    return field(default=item.default, metadata={**item.metadata, "shared": parameter_name(item, "")})


def split_names(text: str) -> list[str]:
    """The names of a text such as ``a, b,c``; blanks around a name are no part of it."""
    return [name.strip() for name in text.split(",") if name.strip()]


def parameter_name(item: Field[Any], prefix: str) -> str:
    """The name of the parameter of a field: behind the prefix, unless it is shared."""
    shared: str = item.metadata.get("shared", "")
    return shared or prefix + item.name


def of_parameter(problem: ConfigurationError, settings: Any, prefix: str) -> ConfigurationError:
    """The error of a dataclass of settings, whose message begins with a field, with the parameter's name instead."""
    own, _, text = str(problem).partition(":")
    names = {item.name: parameter_name(item, prefix) for item in fields(settings)}
    return ConfigurationError(f"{names.get(own, prefix + own)}:{text}")


class CheckedSettings:
    """A base class for dataclasses of settings: their values are checked when one is made, and lists become tuples."""

    def __post_init__(self) -> None:
        """Check the values.

        Raises:
            ConfigurationError: a value is not a finite number within its range, or none of the choices.
        """
        settings: Any = self
        for item in fields(settings):
            value = getattr(self, item.name)
            check_value(item.name, item, value)
            if _is_vector(item):
                object.__setattr__(self, item.name, tuple(map(float, value)))
            elif "names" in item.metadata:
                object.__setattr__(self, item.name, tuple(value))


def _is_vector(item: Field[Any]) -> bool:
    return isinstance(item.default, tuple) and "range" in item.metadata


def check_value(name: str, item: Field[Any], value: object) -> None:
    """Check a value of a field that was made by one of the functions above.

    Args:
        name: of the value, for the message.
        item: the field.
        value: for it.

    Raises:
        ConfigurationError: it is not a finite number within the range, or none of the choices.
    """
    if wanted := _wanted(item, value):
        raise ConfigurationError(f"{name}: must be {wanted}")


def _wanted(item: Field[Any], value: Any) -> str:
    """The requirement that a value breaks; "" if it keeps it."""
    if "text" in item.metadata:
        return "" if isinstance(value, str) else f"a text, not {value!r}"
    if "names" in item.metadata:
        if not (isinstance(value, (list, tuple)) and all(isinstance(one, str) for one in value)):
            return f"a list of names, not {value!r}"
        return f"{NONE} alone, or names without it, not {', '.join(value)}" if NONE in value and len(value) > 1 else ""
    if "choices" in item.metadata:
        choices = item.metadata["choices"]()
        is_one = type(value) is type(item.default) and value in choices
        return "" if is_one else one_of(value, map(str, choices))
    return _wanted_numbers(item, value)


def _wanted_numbers(item: Field[Any], value: Any) -> str:
    """Likewise, for a number or a vector."""
    if not isinstance(item.default, tuple):
        kind = "a whole number " if isinstance(item.default, int) else ""
        return "" if _is_allowed(item, value) else f"{kind}{_allowed(item)}, not {value!r}"
    numbers = list(value) if isinstance(value, Iterable) and not isinstance(value, str) else [value]
    if len(numbers) == len(item.default) and all(_is_allowed(item, one) for one in numbers):
        return ""
    return f"{len(item.default)} numbers {_allowed(item)}, not {numbers}"


def _is_allowed(item: Field[Any], value: Any) -> bool:
    least, greatest = item.metadata["range"]
    kinds = (int,) if isinstance(item.default, int) else (int, float)
    return isinstance(value, kinds) and not isinstance(value, bool) and isfinite(value) and least <= value <= greatest


def _allowed(item: Field[Any]) -> str:
    """The range in words."""
    least, greatest = item.metadata["range"]
    return f"within [{least:g}, {greatest:g}] {item.metadata['unit']}".rstrip(" -")


class ParameterSpec(NamedTuple):
    """A parameter as it is declared, in ROS 2."""

    name: str
    default: Any  # its value unless given; None if it must be given, and is a number
    description: str  # what it is, with its unit
    constraints: str = ""  # in words, where there is no range of one number
    bounds: tuple[float, float] | None = None  # least and greatest value of a number, or of each of a vector
    choices: tuple[str, ...] = ()  # of a text; any unless given


TOOL = ParameterSpec("tool", "", "link of the tool, for targets, laws and contact; the last link that moves if empty")
"""The link that is the tool."""


def parameter_specs(settings: Any, prefix: str = "", of: str = "") -> list[ParameterSpec]:
    """A parameter for each field of a dataclass of settings.

    Args:
        settings: the dataclass, or an instance whose values are the defaults.
        prefix: put before the names.
        of: put behind the descriptions.
    """
    specs = []
    for item in fields(settings):
        default, meta = getattr(settings, item.name), item.metadata
        text, constraints, choices = f"{meta['description']}{of}", "", ()
        if "unit" in meta and not isinstance(default, int):
            text += f" [{meta['unit']}]"
        if isinstance(default, tuple):
            default = list(default)
        if _is_vector(item):
            constraints = "{} numbers, {:g} … {:g}".format(len(default), *meta["range"])
        elif "choices" in meta and isinstance(default, str):
            choices = meta["choices"]()
            constraints = f"one of {', '.join(choices)}"
        name = parameter_name(item, prefix)
        specs.append(ParameterSpec(name, default, text, constraints, meta.get("range"), choices))
    return specs
