"""How the arm moves: the Dynamics interface and the formulations that implement it."""

from robodyn_ros.dynamics.base import STANDARD_GRAVITY, Dynamics, Energy

__all__ = ["STANDARD_GRAVITY", "Dynamics", "Energy"]
