# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""CasADi, which writes the expressions. What is compiled ahead runs without it.

No release of Debian, Ubuntu or ROS 2 has it, so it may be missing. Modules that write expressions import ``ca`` from
here, and need no CasADi to be imported: ``ca`` imports it at its first use, or raises an error that says how to install
it.
"""

from __future__ import annotations

from functools import lru_cache
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from robodyn_ros.errors import NotReadyError, pip_install

__all__ = ["ca", "has_casadi", "missing", "need_casadi"]


def missing() -> str:
    """The problem without CasADi, and the remedy."""
    how = pip_install("casadi")
    return f"CasADi is not installed: {how} (where that is refused: --no-deps --target FOLDER, with it in PYTHONPATH)"


@lru_cache(maxsize=1)
def has_casadi() -> bool:
    """Return whether CasADi is installed, without which no expression can be written."""
    return find_spec("casadi") is not None


def need_casadi() -> None:
    """Check that CasADi is installed.

    Raises:
        NotReadyError: it is not.
    """
    if not has_casadi():
        raise NotReadyError(missing())


class _CasADi:
    """The module ``casadi``, imported at the first use of a name in it."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # asked by tools that look at any object, not by code that writes expressions
            raise AttributeError(name)
        need_casadi()
        module = import_module("casadi")
        vars(self).update(vars(module))
        return getattr(module, name)


if TYPE_CHECKING:
    import casadi as ca
else:
    ca = _CasADi()
