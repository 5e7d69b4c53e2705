# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""CasADi, which writes the expressions. What is compiled ahead runs without it.

No release of Debian, Ubuntu or ROS 2 has it, so it may be missing. Who writes expressions imports ``ca`` from here;
where it is missing, the error says how to install it.
"""

from __future__ import annotations

from functools import lru_cache
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from robodyn_ros.errors import NotReadyError, pip_install

if TYPE_CHECKING:
    import casadi as ca

__all__ = ["ca", "has_casadi", "missing", "need_casadi"]


def missing() -> str:
    """What is wrong without CasADi, and what to do."""
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


def __getattr__(name: str) -> Any:
    """``ca``, when it is first imported from here (PEP 562)."""
    if name != "ca":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    need_casadi()
    found = globals()[name] = import_module("casadi")
    return found
