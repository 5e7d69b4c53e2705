"""A stand-in for the arm: a plant that takes efforts and has a state."""

from robodyn_ros.simulation.plant import Plant, PlantConfig
from robodyn_ros.simulation.rk4 import rk4_step
from robodyn_ros.simulation.rollout import Recording, simulate

__all__ = ["Plant", "PlantConfig", "Recording", "rk4_step", "simulate"]
