"""The entry points of the nodes' commands.

Importing ROS takes a good part of a second. A node that is told to end meanwhile ends at once, with exit code 0 and
without output, as at any other time. Once it runs, :mod:`robodyn_ros.nodes.common.executor` handles signals.
"""

from __future__ import annotations

import os
import signal
from importlib import import_module
from types import FrameType


def controller() -> int:
    """Run the controller."""
    return _start("controller.node")


def simulator() -> int:
    """Run the simulator."""
    return _start("simulator.node")


def markers() -> int:
    """Run the markers node."""
    return _start("markers")


def viewer() -> int:
    """Run the viewer."""
    return _start("viewer.node")


def planner() -> int:
    """Run the planner."""
    return _start("planner.node")


def _start(name: str) -> int:
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _end)
    code: int = import_module(f"robodyn_ros.nodes.{name}").main()
    return code


def _end(number: int, frame: FrameType | None) -> None:
    """End at once: nothing has been made yet that would have to be released."""
    os._exit(0)
