"""How to get the tool there."""

from robodyn_ros.kinematics.inverse.solver import InverseKinematics, Settings, Solution
from robodyn_ros.kinematics.inverse.task import Task

__all__ = ["InverseKinematics", "Settings", "Solution", "Task"]
