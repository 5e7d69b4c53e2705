"""Hardware and control loop of ``robodyn simulate``, from the parameters that the nodes take."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from robodyn_ros import create_dynamics
from robodyn_ros.control.loop import ControlLoop
from robodyn_ros.control.parameter_file import Parameters, parse_parameter, read_parameters
from robodyn_ros.control.tuning_options import make_tuning
from robodyn_ros.robot import Robot
from robodyn_ros.simulation.hardware import Hardware
from robodyn_ros.simulation.loop_options import MODEL, loop_default_values
from robodyn_ros.simulation.options import default_values, make_hardware

NODES = ("simulator", "controller")
"""The nodes whose parameters are taken."""


def gather(files: Sequence[Path], given: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Node → parameters given.

    Args:
        files: parameter files, the later ones winning over those before.
        given: ``name:=value`` for both nodes or ``node:name:=value`` for one, winning over the files.

    Raises:
        InputError: a file or a parameter cannot be read.
    """
    found: dict[str, dict[str, Any]] = {node: {} for node in NODES}
    for node, parameters in found.items():
        for file in files:
            parameters.update(read_parameters(file, node))
    for text in given:
        name, value = parse_parameter(text)
        node, _, own = name.rpartition(":")
        for parameters in [found[node]] if node in found else found.values():
            parameters[own if node in found else name] = value
    return found


def make_simulated(given: dict[str, Any], robot: Robot) -> tuple[Hardware, set[str]]:
    """The hardware, and the names of parameters that it has no use for.

    Raises:
        RobodynError: a value is wrong; the message names it.
    """
    values = Parameters(given, MODEL | default_values(robot))
    return make_hardware(values, robot), set(values.unused())


def make_loop(given: dict[str, Any], robot: Robot) -> tuple[ControlLoop, set[str]]:
    """The control loop, and the names of parameters that it has no use for.

    Raises:
        RobodynError: a value is wrong; the message names it.
    """
    values = Parameters(given, loop_default_values(robot))
    dynamics = create_dynamics(values["dynamics"], robot, gravity=tuple(values["gravity"]))
    return ControlLoop.tuned(make_tuning(values, dynamics)), set(values.unused())
