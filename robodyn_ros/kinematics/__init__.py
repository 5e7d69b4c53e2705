"""Kinematics: poses, Jacobians, screws, Denavit–Hartenberg tables, inverse kinematics, workspace."""

from robodyn_ros.kinematics.forward import Kinematics

__all__ = ["Kinematics"]
