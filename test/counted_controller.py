# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Runs a controller, its thread's allocations and locks counted: ``python counted_controller.py MODULE ARGUMENTS``.

``LD_PRELOAD`` has to name the library made of ``count_calls.c``, and ``COUNT_CALLS`` the file for the counts.
"""

from __future__ import annotations

import ctypes
import runpy
import sys

WRAPPED = ("take", "publish", "subscribers", "clock_now")
"""Functions of rcl that are counted apart, in the order of ``count_around``."""


def count_around() -> None:
    """Have the thread call rcl through the functions of ``count_calls.c``."""
    from robodyn_ros.nodes.controller.realtime import runner

    find = runner.find_functions

    def counted() -> runner.RclFunctions:
        library, addresses = find()
        functions = (ctypes.c_void_p * len(WRAPPED))(*(addresses[name] for name in WRAPPED))
        ctypes.CDLL(None).count_around(functions)
        return runner.RclFunctions(library, addresses | dict(zip(WRAPPED, map(int, functions), strict=True)))

    runner.find_functions = counted


if __name__ == "__main__":
    count_around()
    sys.argv = sys.argv[1:]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
