# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""A stand-in for the arm: a plant that takes efforts and has a state, and the hardware around it."""

from robodyn_ros.simulation.hardware import Hardware, make_hardware
from robodyn_ros.simulation.integrators.rk4 import rk4_step
from robodyn_ros.simulation.plant.base import PlantBase, PlantSettings, create_plant
from robodyn_ros.simulation.plant.external_forces import Spring, Wall
from robodyn_ros.simulation.plant.joint_effects import FrictionSettings, StopSettings
from robodyn_ros.simulation.plant.mismatch import Mismatch
from robodyn_ros.simulation.plant.native import Plant
from robodyn_ros.simulation.rollout import RolloutRecording, simulate
from robodyn_ros.simulation.trial import Trial
from robodyn_ros.simulation.trial_run import run_trial

__all__ = [
    "FrictionSettings",
    "Hardware",
    "Mismatch",
    "Plant",
    "PlantBase",
    "PlantSettings",
    "RolloutRecording",
    "Spring",
    "StopSettings",
    "Trial",
    "Wall",
    "create_plant",
    "make_hardware",
    "rk4_step",
    "run_trial",
    "simulate",
]
