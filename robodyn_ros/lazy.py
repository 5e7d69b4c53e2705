# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Public names of a package, each imported on its first use (PEP 562)."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any


def shown(package: str, homes: Mapping[str, Sequence[str]]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return ``__getattr__`` and ``__dir__`` of a package.

    ``dir`` lists what the package's ``__all__`` names.

    Args:
        package: its ``__name__``.
        homes: module, relative to the package → its names that the package shows.
    """
    modules = {name: f"{package}.{home}" for home, names in homes.items() for name in names}

    def find(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        found = getattr(import_module(modules[name]), name)
        setattr(sys.modules[package], name, found)
        return found

    def listed() -> list[str]:
        return sorted(sys.modules[package].__all__)

    return find, listed
