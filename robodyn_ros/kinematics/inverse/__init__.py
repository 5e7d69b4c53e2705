"""How to get the tool there."""

from robodyn_ros.kinematics.inverse.solver import InverseKinematics, InverseSettings, InverseSolution
from robodyn_ros.kinematics.inverse.task import Task

__all__ = ["InverseKinematics", "InverseSettings", "InverseSolution", "Task"]
