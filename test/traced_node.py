# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Runs a node and prints which files of the package one call of a function passes through.

``python traced_node.py FUNCTION=CALL MODULE ARGUMENTS``: a function as in ``broken_node``, and the number of the call.
"""

import runpy
import sys
from functools import wraps
from pathlib import Path
from types import FrameType
from typing import Any

from broken_node import owner_of

import robodyn_ros

PACKAGE = Path(robodyn_ros.__file__).parent
HEADING = "files: "


def tracing(function: str, call: int) -> list[str]:
    """The ``via`` of ``Graph.start`` for a call of a function."""
    return [str(Path(__file__)), f"{function}={call}"]


def trace_function(where: str, number: int) -> None:
    """Replace a function of the package by one that tells in one of its calls through which files it goes."""
    owner, name = owner_of(where)
    function, calls = getattr(owner, name), 0
    files: dict[str, None] = {}

    def note(frame: FrameType, event: str, argument: object) -> None:
        file = Path(frame.f_code.co_filename)
        if event == "call" and file.is_relative_to(PACKAGE):
            files[file.relative_to(PACKAGE).as_posix()] = None

    @wraps(function)
    def traced(*args: Any, **named: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls != number:
            return function(*args, **named)
        sys.setprofile(note)
        try:
            return function(*args, **named)
        finally:
            sys.setprofile(None)
            print(HEADING + " ".join(files), flush=True)

    setattr(owner, name, traced)


if __name__ == "__main__":
    wanted, module, *rest = sys.argv[1:]
    where, _, number = wanted.partition("=")
    trace_function(where, int(number))
    sys.argv = [module, *rest]
    runpy.run_module(module, run_name="__main__", alter_sys=True)
