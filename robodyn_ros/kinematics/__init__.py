"""Where the arm is."""

from robodyn_ros.kinematics.forward import Kinematics

__all__ = ["Kinematics"]
