# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The start of every node: the entry points of the commands, and ``python -m robodyn_ros.nodes.start NODE``.

Importing ROS takes almost a second. A signal meanwhile ends the node at once, with exit code 0 and without output, as
at any other time. Once it runs, :mod:`robodyn_ros.nodes.common.executor` handles signals. The help of a command needs
no ROS at all.
"""

from __future__ import annotations

import sys

try:  # Ctrl-C may come before _start handles it
    import os
    import signal
    from argparse import ArgumentParser, RawDescriptionHelpFormatter
    from functools import partial
    from importlib import import_module
    from types import FrameType
    from typing import NamedTuple

    from robodyn_ros.errors import RobodynError, need_ros, one_of
except KeyboardInterrupt:
    sys.exit(0)

PAGES = "docs/reference/nodes"
"""Pages with the topics, services and parameters."""


NODES = {
    "controller": "controller.node:ControllerNode",
    "simulator": "simulator.node:SimulatorNode",
    "markers": "markers:MarkersNode",
    "viewer": "viewer.node:ViewerNode",
    "planner": "planner:PlannerNode",
    "teleoperator": "teleoperator:TeleoperatorNode",
    "conductor": "conductor:ConductorNode",
    "commissioner": "commissioner:CommissionerNode",
    "teacher": "teacher:TeacherNode",
    "replayer": "replayer:ReplayerNode",
}
"""Name of a node → its module in this folder, and its class; verbs start those without a command."""


class Executable(NamedTuple):
    """The command of a node."""

    summary: str
    needs: str  # its required or usual arguments


EXECUTABLES = {
    "controller": Executable(
        "joint states in, efforts out, by a control law",
        "--params-file config/prr.yaml -p robot_description:=arm.urdf",
    ),
    "simulator": Executable(
        "efforts in, joint states out, in place of the hardware",
        "-p robot_description:=arm.urdf -r commands:=controller/commands",
    ),
    "markers": Executable("markers of masses, efforts and the reference, for RViz", ""),
    "viewer": Executable("the arm in a browser, at the address that it prints", "-p port:=8080"),
    "planner": Executable("the best motion to a target, by the arm's dynamics", "--params-file config/prr.yaml"),
    "teleoperator": Executable(
        "one end of a coupling of two arms, a leader and a follower", "-p role:=leader -r __ns:=/leader"
    ),
}
"""Name of a node with a command → its help."""


def main() -> int:
    """``python -m robodyn_ros.nodes.start NODE --ros-args …``: run a node."""
    name = sys.argv.pop(1) if len(sys.argv) > 1 else ""
    if name not in NODES:
        print(f"error: the node must be {one_of(name, NODES)}", file=sys.stderr)
        return 1
    return _start(name)


def help_parser(name: str, program: str) -> ArgumentParser:
    """The parser that writes the help of a command.

    Args:
        name: of the node.
        program: the command, as it was called.
    """
    node = EXECUTABLES.get(name, Executable("a verb of robodyn starts it", ""))
    return ArgumentParser(
        program,
        usage=f"{program} [-h] [--ros-args ARGUMENTS]",
        description=f"The {name} node: {node.summary}.",
        epilog=(
            "ROS 2 arguments:\n"
            "  -p NAME:=VALUE        a parameter\n"
            "  --params-file FILE    a parameter file\n"
            "  -r NAME:=OTHER        remap a topic or a service\n"
            "  -r __ns:=/LEFT        a namespace\n"
            "\n"
            "examples:\n"
            f"  {' '.join(f'{program} --ros-args {node.needs}'.split())}\n"
            f"  ros2 param list /{name}\n"
            "\n"
            f"Topics, services and parameters: {PAGES}/{name}.md"
        ),
        formatter_class=RawDescriptionHelpFormatter,
    )


def _start(name: str) -> int:
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _end)
    own = sys.argv[1 : sys.argv.index("--ros-args")] if "--ros-args" in sys.argv else sys.argv[1:]
    if own:
        help_parser(name, os.path.basename(sys.argv[0])).parse_args(own)
    try:
        need_ros()
        module, _, kind = NODES[name].partition(":")
        node = getattr(import_module(f"robodyn_ros.nodes.{module}"), kind)
    except RobodynError as problem:  # of a missing package; later errors are reported by the node itself
        print(f"error: {problem}", file=sys.stderr)
        return 1
    from robodyn_ros.nodes.common.executor import run

    return run(node)


def _end(number: int, frame: FrameType | None) -> None:
    """End at once: there is nothing to release yet."""
    os._exit(0)


controller, simulator, markers, viewer, planner, teleoperator = (partial(_start, name) for name in EXECUTABLES)
"""The entry points of setup.py, one for each command."""

if __name__ == "__main__":
    sys.exit(main())
