# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Public names of a package, each imported on its first use (PEP 562).

The commands import this module before they can handle Ctrl-C, so it imports nothing itself.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def shown(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return ``__getattr__`` and ``__dir__`` of a package.

    A name is imported from where the package's file imports it for type checkers, under ``if TYPE_CHECKING``. ``dir``
    lists what the package's ``__all__`` names; without one, these names are ``__all__``.

    Args:
        package: its ``__name__``.
    """
    homes: dict[str, str] = {}

    def find(name: str) -> Any:
        from importlib import import_module

        if not homes:
            homes.update(_homes(package))
        if name not in homes and name != "__all__":
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        found = sorted(homes) if name == "__all__" else getattr(import_module(homes[name]), name)
        setattr(sys.modules[package], name, found)
        return found

    return find, lambda: sorted(sys.modules[package].__all__)


def _homes(package: str) -> dict[str, str]:
    """Name → the module that a package's file imports it from for type checkers."""
    import ast
    from pathlib import Path

    tree = ast.parse(Path(str(sys.modules[package].__file__)).read_bytes())
    parts = [node for part in tree.body if isinstance(part, ast.If) for node in part.body]
    imports = [(str(node.module), node.names) for node in parts if isinstance(node, ast.ImportFrom)]
    return {item.name: module for module, names in imports if module.startswith(f"{package}.") for item in names}
