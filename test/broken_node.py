# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Runs a node some of whose functions raise: ``python broken_node.py FUNCTION=FIRST-LAST,… MODULE ARGUMENTS``.

A function is ``module:Class.method`` or ``module:function`` of the package; it raises in the calls of these numbers and
does its work in all others.
"""

import runpy
import sys
from functools import wraps
from importlib import import_module
from pathlib import Path
from typing import Any

MESSAGE = "told to by the test"


def breaking(calls: dict[str, str]) -> list[str]:
    """The ``via`` of ``Graph.start`` for functions → numbers of the calls in which they raise."""
    return [str(Path(__file__)), ",".join(f"{name}={numbers}" for name, numbers in calls.items())]


def owner_of(where: str) -> tuple[Any, str]:
    """The module or class that a function belongs to, and the function's name there."""
    module, _, path = where.partition(":")
    *classes, name = path.split(".")
    owner: Any = import_module(f"robodyn_ros.{module}")
    for part in classes:
        owner = getattr(owner, part)
    return owner, name


def break_function(where: str, first: int, last: int) -> None:
    """Replace a function of the package by one that raises in some calls."""
    owner, name = owner_of(where)
    function, calls = getattr(owner, name), 0

    @wraps(function)
    def broken(*args: Any, **named: Any) -> Any:
        nonlocal calls
        calls += 1
        if first <= calls <= last:
            raise KeyError(f"{MESSAGE}: {where}")
        return function(*args, **named)

    setattr(owner, name, broken)


if __name__ == "__main__":
    broken, module, *rest = sys.argv[1:]
    for entry in broken.split(","):
        where, _, numbers = entry.partition("=")
        break_function(where, *map(int, numbers.split("-")))
    sys.argv = [module, *rest]
    runpy.run_module(module, run_name="__main__", alter_sys=True)
