# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Integrators: methods that integrate q̈ = a(q, q̇) over a step, plugins of the group ``robodyn_ros.integrators``."""

from robodyn_ros.simulation.integrators.base import Acceleration, Integrator

__all__ = ["Acceleration", "Integrator"]
