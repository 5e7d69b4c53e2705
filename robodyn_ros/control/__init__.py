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
    from robodyn_ros.control.compiled_step import LawStep as LawStep
    from robodyn_ros.control.compiled_step import trace_problem as trace_problem
    from robodyn_ros.control.drives import Transmission as Transmission
    from robodyn_ros.control.drives import TransmissionSettings as TransmissionSettings
    from robodyn_ros.control.faults.settings import Feedback as Feedback
    from robodyn_ros.control.faults.settings import SafetySettings as SafetySettings
    from robodyn_ros.control.faults.table import FaultReactions as FaultReactions
    from robodyn_ros.control.laws.adaptation import AdaptiveSettings as AdaptiveSettings
    from robodyn_ros.control.laws.adaptive import Adaptive as Adaptive
    from robodyn_ros.control.laws.base import Controller as Controller
    from robodyn_ros.control.laws.base import Efforts as Efforts
    from robodyn_ros.control.laws.base import FrictionCompensation as FrictionCompensation
    from robodyn_ros.control.laws.base import Reference as Reference
    from robodyn_ros.control.laws.computed_torque import ComputedTorque as ComputedTorque
    from robodyn_ros.control.laws.disturbance_observer import DisturbanceObserver as DisturbanceObserver
    from robodyn_ros.control.laws.disturbance_observer import DisturbanceObserverSettings as DisturbanceObserverSettings
    from robodyn_ros.control.laws.free_drive import FreeDrive as FreeDrive
    from robodyn_ros.control.laws.gains import Gains as Gains
    from robodyn_ros.control.laws.gains import JointGains as JointGains
    from robodyn_ros.control.laws.gains import gains as gains
    from robodyn_ros.control.laws.gains import joint_gains as joint_gains
    from robodyn_ros.control.laws.gravity_compensation import GravityCompensation as GravityCompensation
    from robodyn_ros.control.laws.impedance import Impedance as Impedance
    from robodyn_ros.control.laws.memory_file import restore_memory as restore_memory
    from robodyn_ros.control.laws.memory_file import save_memory as save_memory
    from robodyn_ros.control.laws.pd import PD as PD
    from robodyn_ros.control.limits import Limits as Limits
    from robodyn_ros.control.limits import saturate as saturate
    from robodyn_ros.control.loop import ControlLoop as ControlLoop
    from robodyn_ros.control.loop_settings import LoopSettings as LoopSettings
    from robodyn_ros.control.loop_settings import loop_default_values as loop_default_values
    from robodyn_ros.control.loop_settings import make_loop_settings as make_loop_settings
    from robodyn_ros.control.motion.goals import GoalSettings as GoalSettings
    from robodyn_ros.control.motion.goals import JointTolerances as JointTolerances
    from robodyn_ros.control.motion.goals import Tolerances as Tolerances
    from robodyn_ros.control.motion.goals import TrajectoryGoal as TrajectoryGoal
    from robodyn_ros.control.motion.own_motions import PayloadSettings as PayloadSettings
    from robodyn_ros.control.motion.own_motions import PoseGoal as PoseGoal
    from robodyn_ros.control.motion.own_motions import ToolMotion as ToolMotion
    from robodyn_ros.control.motion.own_motions import ToolSettings as ToolSettings
    from robodyn_ros.control.motion.own_motions import payload_motion as payload_motion
    from robodyn_ros.control.motion.point_to_point import braking as braking
    from robodyn_ros.control.motion.point_to_point import durations as durations
    from robodyn_ros.control.motion.point_to_point import point_to_point as point_to_point
    from robodyn_ros.control.motion.point_to_point import rest_to_rest as rest_to_rest
    from robodyn_ros.control.motion.trajectory import Sample as Sample
    from robodyn_ros.control.motion.trajectory import Trajectory as Trajectory
    from robodyn_ros.control.motion.trajectory import read_trajectory as read_trajectory
    from robodyn_ros.control.motion.trajectory import write_trajectory as write_trajectory
    from robodyn_ros.control.parameter_file import FileParameters as FileParameters
    from robodyn_ros.control.parameter_file import read_parameters as read_parameters
    from robodyn_ros.control.step import Command as Command

__getattr__, __dir__ = shown(__name__)
