# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Inverse kinematics: joint positions that bring the tool to a pose, by closed forms or damped least squares."""

from robodyn_ros.kinematics.inverse.solver import InverseKinematics, InverseSettings, InverseSolution
from robodyn_ros.kinematics.inverse.task import Task

__all__ = ["InverseKinematics", "InverseSettings", "InverseSolution", "Task"]
