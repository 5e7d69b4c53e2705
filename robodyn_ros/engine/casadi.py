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

from robodyn_ros.errors import NotReadyError

if TYPE_CHECKING:
    import casadi as ca

__all__ = ["MISSING", "ca", "has_casadi", "need_casadi"]

MISSING = (
    "CasADi is not installed: python3 -m pip install casadi (in a virtual environment, or with --no-deps --target "
    "FOLDER, where PYTHONPATH names the folder)"
)
"""What is wrong without it, and what to do."""


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
        raise NotReadyError(MISSING)


def __getattr__(name: str) -> Any:
    """``ca``, when it is first imported from here (PEP 562)."""
    if name != "ca":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    need_casadi()
    found = globals()[name] = import_module("casadi")
    return found
