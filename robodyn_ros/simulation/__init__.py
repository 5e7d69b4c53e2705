"""A stand-in for the arm: a plant that takes efforts and has a state, and the hardware around it."""

from robodyn_ros.simulation.base import PlantBase
from robodyn_ros.simulation.friction import FrictionConfig
from robodyn_ros.simulation.hardware import Hardware
from robodyn_ros.simulation.mismatch import Mismatch
from robodyn_ros.simulation.options import make_hardware
from robodyn_ros.simulation.plant import Plant, PlantConfig
from robodyn_ros.simulation.plants import create_plant
from robodyn_ros.simulation.rk4 import rk4_step
from robodyn_ros.simulation.rollout import Recording, simulate
from robodyn_ros.simulation.stops import StopConfig
from robodyn_ros.simulation.trial import Trial, run_trial

__all__ = [
    "FrictionConfig",
    "Hardware",
    "Mismatch",
    "Plant",
    "PlantBase",
    "PlantConfig",
    "Recording",
    "StopConfig",
    "Trial",
    "create_plant",
    "make_hardware",
    "rk4_step",
    "run_trial",
    "simulate",
]
