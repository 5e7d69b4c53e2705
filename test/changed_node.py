# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Runs a node with something of the package changed: ``python changed_node.py CHANGE WHERE=HOW,… MODULE ARGUMENTS``.

A change is a function of this module whose arguments are texts; where is ``module:Class.method``, ``module:function``
or ``module:CONSTANT`` of the package.
"""

import runpy
import sys
from collections.abc import Callable
from functools import partial, wraps
from importlib import import_module
from pathlib import Path
from types import FrameType
from typing import Any

import robodyn_ros

PACKAGE = Path(robodyn_ros.__file__).parent
MESSAGE = "told to by the test"
HEADING = "files: "


def changed(change: Callable[[str, str], None], how: dict[str, object]) -> list[str]:
    """The ``via`` of ``Graph.start`` for a change: where → how."""
    return [__file__, change.__name__, ",".join(f"{where}={how}" for where, how in how.items())]


def owner_of(where: str) -> tuple[Any, str]:
    """The module or class that something belongs to, and its name there."""
    module, _, path = where.partition(":")
    *classes, name = path.split(".")
    owner: Any = import_module(f"robodyn_ros.{module}")
    for part in classes:
        owner = getattr(owner, part)
    return owner, name


def shorten(where: str, seconds: str) -> None:
    """Give a constant another value [s]."""
    setattr(*owner_of(where), float(seconds))


def replace(where: str, make: Callable[[int, Callable[..., Any]], Callable[..., Any]]) -> None:
    """Replace a function: what each call runs is made of the number of the call and of the function."""
    owner, name = owner_of(where)
    function, calls = getattr(owner, name), 0

    @wraps(function)
    def replaced(*args: Any, **named: Any) -> Any:
        nonlocal calls
        calls += 1
        return make(calls, function)(*args, **named)

    setattr(owner, name, replaced)


def fail(where: str, calls: str) -> None:
    """Have a function raise in the calls from a first to a last number, and do its work in all others."""
    first, last = map(int, calls.split("-"))

    def broken(*_: Any, **__: Any) -> Any:
        raise KeyError(f"{MESSAGE}: {where}")

    replace(where, lambda call, function: broken if first <= call <= last else function)


def trace(where: str, number: str) -> None:
    """Have a function print through which files of the package the call of that number goes."""
    files: dict[str, None] = {}

    def note(frame: FrameType, event: str, argument: object) -> None:
        file = Path(frame.f_code.co_filename)
        if event == "call" and file.is_relative_to(PACKAGE):
            files[file.relative_to(PACKAGE).as_posix()] = None

    def traced(function: Callable[..., Any], *args: Any, **named: Any) -> Any:
        sys.setprofile(note)
        try:
            return function(*args, **named)
        finally:
            sys.setprofile(None)
            print(HEADING + " ".join(files), flush=True)

    replace(where, lambda call, function: partial(traced, function) if call == int(number) else function)


if __name__ == "__main__":
    change, wanted, module, *rest = sys.argv[1:]
    for entry in wanted.split(","):
        globals()[change](*entry.split("="))
    sys.argv = [module, *rest]
    runpy.run_module(module, run_name="__main__", alter_sys=True)
