# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Kinematics: poses, Jacobians, screws, Denavit–Hartenberg tables, inverse kinematics, workspace."""

from robodyn_ros.kinematics.forward import Kinematics

__all__ = ["Kinematics"]
