# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""A dynamics plugin with which functions of the controller raise while a file of its name exists (for node_faults.py).

The files are in the folder that the environment variable ``ROBODYN_BREAKS`` names.
"""

from __future__ import annotations

import os
from functools import wraps
from importlib import import_module
from pathlib import Path
from typing import Any

from broken_dynamics import Faultless

FOLDER = "ROBODYN_BREAKS"
"""Environment variable: where the files are."""

BROKEN = {
    "track": "robodyn_ros.control.loop:ControlLoop",  # for each streamed reference
    "update": "robodyn_ros.control.loop:ControlLoop",  # for each state, before its command
    "hold": "robodyn_ros.nodes.controller.closed_loop:ClosedLoop",  # for a call of the service
}
"""Name of a method → its class."""


class Breaking(Faultless):
    """As good as RNEA; whoever imports it breaks the controller."""


def _break(name: str, where: str) -> None:
    module, _, kind = where.partition(":")
    owner = getattr(import_module(module), kind)
    method, flag = getattr(owner, name), Path(os.environ[FOLDER]) / name

    @wraps(method)
    def broken(*args: Any, **named: Any) -> Any:
        if flag.exists():
            raise KeyError(f"told to break {kind}.{name}")
        return method(*args, **named)

    setattr(owner, name, broken)


if FOLDER in os.environ:
    for _name, _where in BROKEN.items():
        _break(_name, _where)
