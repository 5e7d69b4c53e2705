# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""A stand-in for the arm: a plant that takes efforts and has a state, and the hardware around it."""

from typing import TYPE_CHECKING

from robodyn_ros.lazy import shown

if TYPE_CHECKING:
    from robodyn_ros.simulation.hardware import Hardware as Hardware
    from robodyn_ros.simulation.hardware import make_hardware as make_hardware
    from robodyn_ros.simulation.integrators.rk4 import rk4_step as rk4_step
    from robodyn_ros.simulation.plant.base import PlantBase as PlantBase
    from robodyn_ros.simulation.plant.base import PlantSettings as PlantSettings
    from robodyn_ros.simulation.plant.base import create_plant as create_plant
    from robodyn_ros.simulation.plant.external_forces import Spring as Spring
    from robodyn_ros.simulation.plant.external_forces import Wall as Wall
    from robodyn_ros.simulation.plant.joint_effects import FrictionSettings as FrictionSettings
    from robodyn_ros.simulation.plant.joint_effects import StopSettings as StopSettings
    from robodyn_ros.simulation.plant.mismatch import Mismatch as Mismatch
    from robodyn_ros.simulation.plant.native import Plant as Plant
    from robodyn_ros.simulation.rollout import RolloutRecording as RolloutRecording
    from robodyn_ros.simulation.rollout import simulate as simulate
    from robodyn_ros.simulation.trial import Trial as Trial
    from robodyn_ros.simulation.trial_run import run_trial as run_trial

__getattr__, __dir__ = shown(__name__)
