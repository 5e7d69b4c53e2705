"""Settings: a default, a description, a unit and a range, stated once, in the field of a frozen dataclass.

Nodes declare their parameters from these fields, so a default or a range is never written a second time.
"""

from __future__ import annotations

from dataclasses import field, fields
from math import isfinite
from typing import Any

from robodyn_ros.errors import ConfigurationError


def setting(default: float, description: str, unit: str, least: float, greatest: float) -> Any:
    """A dataclass field; its metadata hold ``description``, ``unit`` and ``range`` (least, greatest), both included."""
    metadata = {"description": description, "unit": unit, "range": (least, greatest)}
    return field(default=default, metadata=metadata)


def check_settings(config: Any) -> None:
    """For ``__post_init__`` of a dataclass whose fields are settings.

    Raises:
        ConfigurationError: a value is not a finite number within its range.
    """
    for item in fields(config):
        value = getattr(config, item.name)
        least, greatest = item.metadata["range"]
        number = isinstance(value, (int, float)) and not isinstance(value, bool) and isfinite(value)
        if not number or not least <= value <= greatest:
            unit = item.metadata["unit"]
            raise ConfigurationError(f"{item.name}: must be within [{least:g}, {greatest:g}] {unit}, not {value!r}")
