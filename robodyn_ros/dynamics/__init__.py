# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Dynamics: the interface, the formulations that implement it, and their parameters."""

from robodyn_ros.dynamics.base import Dynamics, Energy
from robodyn_ros.dynamics.compiled import CompiledDynamics
from robodyn_ros.dynamics.parameters import STANDARD_GRAVITY, Parameters, Payload

__all__ = ["STANDARD_GRAVITY", "CompiledDynamics", "Dynamics", "Energy", "Parameters", "Payload"]
