"""Hardware and control loop of ``robodyn simulate``, from the parameters that the nodes take."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from robodyn_ros import create_dynamics
from robodyn_ros.cli.parameter_file import Parameters, parse_parameter, read_parameters
from robodyn_ros.control.answers import Answers
from robodyn_ros.control.gains import JointGains, joint_gains
from robodyn_ros.control.loop import ControlLoop, LoopConfig
from robodyn_ros.dynamics import STANDARD_GRAVITY
from robodyn_ros.plugins import load
from robodyn_ros.robot import Robot
from robodyn_ros.simulation.hardware import Hardware
from robodyn_ros.simulation.options import default_values, make_hardware

NODES = ("simulator", "controller")
"""The nodes whose parameters are taken."""

MODEL = {"dynamics": "rnea", "gravity": list(STANDARD_GRAVITY)}
"""What the model is made from, unless told otherwise."""


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
    kinds = {"effort": "effort", "effort_rate": "", "velocity": "velocity"}  # and the attribute that is the default
    limits = {
        f"{kind}_limits.{joint.name}": getattr(joint, default) if default else np.inf
        for kind, default in kinds.items()
        for joint in robot.joints
    }
    values = Parameters(given, MODEL | limits | {"controller": "computed_torque"})
    law = load("controllers", values["controller"])
    dynamics = create_dynamics(values["dynamics"], robot, gravity=tuple(values["gravity"]))
    gains = [values.settings(JointGains, f"gains.{name}.") for name in robot.joint_names]
    home = np.clip(np.zeros(robot.n), robot.lower, robot.upper)
    controller = law(dynamics, *joint_gains(law, dynamics, home, gains))
    effort, rate, velocity = ([values[f"{kind}_limits.{name}"] for name in robot.joint_names] for kind in kinds)
    responses = Answers()._asdict().items()
    answers = Answers(**{kind: values.settings(type(response), f"faults.{kind}.") for kind, response in responses})
    config = values.settings(LoopConfig)
    loop = ControlLoop(controller, effort, config, rate_limit=rate, velocity_limit=velocity, answers=answers)
    return loop, set(values.unused())
