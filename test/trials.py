# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Settings of a trial, from parameters of the nodes."""

from collections.abc import Mapping
from typing import Any

import robodyn_ros as rd
from robodyn_ros.control.loop_settings import MODEL, LoopSettings, loop_default_values, make_loop_settings
from robodyn_ros.control.parameter_file import FileParameters
from robodyn_ros.robot import Robot
from robodyn_ros.simulation.hardware import HardwareSettings, default_values, make_hardware_settings

PRR = rd.load_robot("prr")


def hardware_of(given: Mapping[str, Any], robot: Robot = PRR) -> HardwareSettings:
    """Of the hardware, from parameters of the simulator."""
    return make_hardware_settings(FileParameters(given, MODEL | default_values(robot)), robot)


def loop_of(given: Mapping[str, Any], robot: Robot = PRR) -> LoopSettings:
    """Of the control loop, from parameters of the controller."""
    values = FileParameters(given, loop_default_values(robot))
    return make_loop_settings(values, rd.create_dynamics(values["dynamics"], robot))
