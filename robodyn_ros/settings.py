# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Settings: the fields of a frozen dataclass, each with a default, a description, a unit and a range.

Nodes declare their parameters from these fields, so that a default or a range is written only once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import Field, field, fields
from math import isfinite
from typing import Any, NamedTuple, Protocol, TypeVar

from robodyn_ros.errors import ConfigurationError
from robodyn_ros.suggestions import is_it

Settings = TypeVar("Settings")


class NamedValues(Protocol):
    """The source of the values of settings: the parameters of a node, a file, or defaults."""

    def __getitem__(self, name: str) -> Any:
        """The value of a name."""

    def settings(self, settings: type[Settings], prefix: str = "") -> Settings:
        """A dataclass of settings, from the values whose names are its fields' behind the prefix."""


def setting(default: float, description: str, unit: str, least: float, greatest: float) -> Any:
    """A dataclass field; its metadata hold ``description``, ``unit`` and ``range`` (least, greatest), both included."""
    metadata = {"description": description, "unit": unit, "range": (least, greatest)}
    return field(default=default, metadata=metadata)


def whole(default: int, description: str, least: int, greatest: int) -> Any:
    """As :func:`setting`, for a whole number without a unit."""
    return field(default=default, metadata={"description": description, "unit": "", "range": (least, greatest)})


def switch(default: bool, description: str) -> Any:
    """As :func:`setting`, for something that is on or off."""
    return field(default=default, metadata={"description": description, "choices": lambda: (True, False)})


def choice(
    default: str, description: str, choices: Callable[[], tuple[str, ...]], former: Mapping[str, str] | None = None
) -> Any:
    """As :func:`setting`, for one of several names, which may depend on the plugins that are installed.

    Args:
        default: one of them.
        description: what is chosen.
        choices: gives the names.
        former: name of an earlier version, which a node still takes → name now.
    """
    return field(default=default, metadata={"description": description, "choices": choices, "former": former or {}})


def text(default: str, description: str) -> Any:
    """As :func:`setting`, for any text, such as the name of a link."""
    return field(default=default, metadata={"description": description, "text": True})


def names(default: tuple[str, ...], description: str) -> Any:
    """As :func:`setting`, for a list of names, which its reader checks."""
    return field(default=default, metadata={"description": description, "names": True})


def check_settings(settings: Any) -> None:
    """Check the values of a dataclass of settings; its ``__post_init__`` calls this.

    Raises:
        ConfigurationError: a value is not a finite number within its range, or none of the choices.
    """
    for item in fields(settings):
        check_value(item.name, item, getattr(settings, item.name))


def check_value(name: str, item: Field[Any], value: object) -> None:
    """Check a value of a field that was made by one of the functions above.

    Args:
        name: what the value is called in the message.
        item: the field.
        value: for it.

    Raises:
        ConfigurationError: it is not a finite number within the range, or none of the choices.
    """
    if "text" in item.metadata:
        if not isinstance(value, str):
            raise ConfigurationError(f"{name}: must be a text, not {value!r}")
    elif "names" in item.metadata:
        if not isinstance(value, (list, tuple)) or not all(isinstance(one, str) for one in value):
            raise ConfigurationError(f"{name}: must be a list of names, not {value!r}")
    elif "choices" in item.metadata:
        choices = item.metadata["choices"]()
        if type(value) is not type(item.default) or value not in choices:
            known = [str(one) for one in choices]
            raise ConfigurationError(f"{name}: must be one of {', '.join(known)}, not {value!r}{is_it(value, known)}")
    else:
        _check_number(name, item, value)


def _check_number(name: str, item: Field[Any], value: Any) -> None:
    least, greatest = item.metadata["range"]
    kinds = (int,) if isinstance(item.default, int) else (int, float)
    number = isinstance(value, kinds) and not isinstance(value, bool) and isfinite(value)
    if not number or not least <= value <= greatest:
        allowed = f"within [{least:g}, {greatest:g}] {item.metadata['unit']}".rstrip(" -")
        kind = "a whole number " if kinds == (int,) else ""
        raise ConfigurationError(f"{name}: must be {kind}{allowed}, not {value!r}")


class ParameterSpec(NamedTuple):
    """A parameter as it is declared, in ROS 2."""

    name: str
    default: Any  # its value unless given; None if it must be given, and is a number
    description: str  # what it is, with its unit
    constraints: str = ""  # in words, where there is no range
    bounds: tuple[float, float] | None = None  # least and greatest value of a number, both allowed
    choices: tuple[str, ...] = ()  # of a text; any unless given


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
        if "names" in meta:
            default = list(default)
        elif "choices" in meta and isinstance(default, str):
            choices = meta["choices"]()
            constraints = f"one of {', '.join(choices)}"
        elif isinstance(default, float):
            text += f" [{meta['unit']}]"
        specs.append(ParameterSpec(prefix + item.name, default, text, constraints, meta.get("range"), choices))
    return specs
