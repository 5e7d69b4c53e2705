"""Rules that take q̈ = a(q, q̇) over a step: the plugins of the group ``robodyn_ros.integrators``."""

from robodyn_ros.simulation.integrators.base import Acceleration, Integrator

__all__ = ["Acceleration", "Integrator"]
