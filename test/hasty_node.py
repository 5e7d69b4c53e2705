# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Runs a node with shorter times: ``python hasty_node.py CONSTANT=SECONDS,… MODULE ARGUMENTS``.

A constant is ``module:NAME`` of the package.
"""

import runpy
import sys
from pathlib import Path

from broken_node import owner_of


def hasty(constants: dict[str, float]) -> list[str]:
    """The ``via`` of ``Graph.start`` for constants → their values [s]."""
    return [str(Path(__file__)), ",".join(f"{name}={value}" for name, value in constants.items())]


if __name__ == "__main__":
    chosen, module, *rest = sys.argv[1:]
    for constant in chosen.split(","):
        where, _, value = constant.partition("=")
        setattr(*owner_of(where), float(value))
    sys.argv = [module, *rest]
    runpy.run_module(module, run_name="__main__", alter_sys=True)
