# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The uncertainty of states and efforts, for the core (``../core/consistency.c``)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.control.faults.settings import SafetySettings
from robodyn_ros.control.limits import Limits
from robodyn_ros.dynamics.base import Dynamics
from robodyn_ros.robot import Robot

SLIDING = 0.1
"""Factor on a setting in rad for a prismatic joint [m/rad]."""

SETTINGS = (
    "position_noise",
    "velocity_noise",
    "velocity_delay",
    "unknown_friction",
    "model_error",
    "unknown_payload",
    "push_force",
    "drop_time",
)
"""Fields of :class:`.settings.SafetySettings` that the struct ``Uncertainty`` has by the same name."""


def uncertainty_of(dynamics: Dynamics, limits: Limits, safety: SafetySettings) -> dict[str, Any]:
    """The members of the struct ``Uncertainty``, by their names.

    Args:
        dynamics: the model.
        limits: of efforts and speeds.
        safety: the settings.
    """
    robot, known = dynamics.robot, dynamics.parameters
    return {
        **{name: getattr(safety, name) for name in SETTINGS},
        "velocity_delay": safety.velocity_delay + safety.velocity_filter * (safety.missing_velocity == "estimate"),
        "silence": safety.state_timeout,
        "effort_limit": limits.effort,
        "velocity_limit": limits.velocity,
        "lower": robot.lower,
        "upper": robot.upper,
        "coulomb": np.maximum(known.coulomb, robot.friction),
        "viscous": np.maximum(known.viscous, robot.damping),
        "model_coulomb": known.coulomb,
        "model_viscous": known.viscous,
        "scale": position_scale(robot),
    }


def position_scale(robot: Robot) -> NDArray[np.float64]:
    """Factor on a setting in rad for each joint [rad/rad] or [m/rad], (n,)."""
    return np.array([SLIDING if joint.position_unit == "m" else 1.0 for joint in robot.joints])
