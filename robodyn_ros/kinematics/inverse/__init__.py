"""How to get the tool there."""

from robodyn_ros.kinematics.inverse.settings import Settings
from robodyn_ros.kinematics.inverse.solution import Solution
from robodyn_ros.kinematics.inverse.solver import InverseKinematics
from robodyn_ros.kinematics.inverse.task import Task

__all__ = ["InverseKinematics", "Settings", "Solution", "Task"]
