"""How the arm moves: the Dynamics interface and the formulations that implement it."""

from robodyn_ros.dynamics.base import Dynamics, Energy
from robodyn_ros.dynamics.parameters import STANDARD_GRAVITY, Parameters, Payload

__all__ = ["STANDARD_GRAVITY", "Dynamics", "Energy", "Parameters", "Payload"]
