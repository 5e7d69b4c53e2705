# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Control: control laws and their gains, motions, references, and the control loop with its limits.

    from robodyn_ros.control import ComputedTorque, ControlLoop, gains, point_to_point

    law = ComputedTorque(dynamics, *gains(ComputedTorque, dynamics, robot.home, 10.0, 1.0))
    loop = ControlLoop(law, robot.effort_limit)
    command = loop.update(t, now, q, qd)  # loop.py: from a state to a command
    loop.follow(point_to_point(dynamics, q, goal))

A name is imported from its module on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from robodyn_ros.lazy import shown

if TYPE_CHECKING:
    from robodyn_ros.control.compiled_step import LawStep
    from robodyn_ros.control.drives import Transmission, TransmissionSettings
    from robodyn_ros.control.faults.settings import Feedback, SafetySettings
    from robodyn_ros.control.faults.table import FaultReactions
    from robodyn_ros.control.laws.adaptation import AdaptiveSettings
    from robodyn_ros.control.laws.adaptive import Adaptive
    from robodyn_ros.control.laws.base import Controller, Efforts, FrictionCompensation, Reference
    from robodyn_ros.control.laws.computed_torque import ComputedTorque
    from robodyn_ros.control.laws.disturbance_observer import DisturbanceObserver, DisturbanceObserverSettings
    from robodyn_ros.control.laws.free_drive import FreeDrive
    from robodyn_ros.control.laws.gains import Gains, JointGains, gains, joint_gains
    from robodyn_ros.control.laws.gravity_compensation import GravityCompensation
    from robodyn_ros.control.laws.impedance import Impedance
    from robodyn_ros.control.laws.memory_file import restore_memory, save_memory
    from robodyn_ros.control.laws.pd import PD
    from robodyn_ros.control.laws.traced import CompiledLaw, trace_problem
    from robodyn_ros.control.limits import Limits, saturate
    from robodyn_ros.control.loop import ControlLoop
    from robodyn_ros.control.loop_settings import LoopSettings, loop_default_values, make_loop_settings
    from robodyn_ros.control.motion.goals import GoalSettings, JointTolerances, Tolerances, TrajectoryGoal
    from robodyn_ros.control.motion.own_motions import (
        PayloadSettings,
        PoseGoal,
        ToolMotion,
        ToolSettings,
        payload_motion,
    )
    from robodyn_ros.control.motion.point_to_point import braking, durations, point_to_point, rest_to_rest
    from robodyn_ros.control.motion.trajectory import Sample, Trajectory, read_trajectory, write_trajectory
    from robodyn_ros.control.parameter_file import FileParameters, read_parameters
    from robodyn_ros.control.step import Command

__all__ = [
    "PD",
    "Adaptive",
    "AdaptiveSettings",
    "Command",
    "CompiledLaw",
    "ComputedTorque",
    "ControlLoop",
    "Controller",
    "DisturbanceObserver",
    "DisturbanceObserverSettings",
    "Efforts",
    "FaultReactions",
    "Feedback",
    "FileParameters",
    "FreeDrive",
    "FrictionCompensation",
    "Gains",
    "GoalSettings",
    "GravityCompensation",
    "Impedance",
    "JointGains",
    "JointTolerances",
    "LawStep",
    "Limits",
    "LoopSettings",
    "PayloadSettings",
    "PoseGoal",
    "Reference",
    "SafetySettings",
    "Sample",
    "Tolerances",
    "ToolMotion",
    "ToolSettings",
    "Trajectory",
    "TrajectoryGoal",
    "Transmission",
    "TransmissionSettings",
    "braking",
    "durations",
    "gains",
    "joint_gains",
    "loop_default_values",
    "make_loop_settings",
    "payload_motion",
    "point_to_point",
    "read_parameters",
    "read_trajectory",
    "rest_to_rest",
    "restore_memory",
    "saturate",
    "save_memory",
    "trace_problem",
    "write_trajectory",
]  # fmt: skip

__getattr__, __dir__ = shown(__name__)
