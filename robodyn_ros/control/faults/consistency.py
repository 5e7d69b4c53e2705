# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The uncertainty of states and efforts, for the core (``../core/consistency.c``), and the efforts that it explains.

A fault of a drive shows in the efforts only beyond what the settings explain of them
(``../core/consistency.c``, residual 2). What explains more than the effort limit of a joint hides a dead drive.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.control.faults.settings import SafetySettings
from robodyn_ros.control.limits import Limits
from robodyn_ros.dynamics import CompiledDynamics, Dynamics
from robodyn_ros.dynamics.sensitivity import sensitivity_parameters, sensitivity_program
from robodyn_ros.engine import Kernel
from robodyn_ros.robot import Array, Robot

SLIDING = 0.1  #: Factor on a setting in rad for a prismatic joint [m/rad].

SETTINGS = (
    *("position_noise", "velocity_noise", "velocity_delay", "unknown_friction"),
    *("model_error", "unknown_payload", "push_force", "drop_time"),
)
"""Fields of :class:`.settings.SafetySettings` that the struct ``Uncertainty`` has by the same name."""


def uncertainty_of(dynamics: Dynamics, limits: Limits, safety: SafetySettings) -> dict[str, Any]:
    """The members of the struct ``Uncertainty``, by their names."""
    robot, known, ratio = dynamics.robot, dynamics.parameters, safety.unknown_friction
    with np.errstate(invalid="ignore"):  # of a ratio of 0 and no limit
        friction = np.where(ratio > 0.0, ratio * limits.effort, 0.0)
    return {
        **{name: getattr(safety, name) for name in SETTINGS},
        "velocity_delay": safety.velocity_delay + safety.velocity_filter * safety.estimates_velocity,
        "silence": safety.state_timeout,
        "unknown_friction": friction,
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


AFFORDED = 0.25  #: Ratio of an effort limit that a payload or a push may explain, so that faults still show [-].


def explained_efforts(dynamics: CompiledDynamics, q: Array, safety: SafetySettings | None = None) -> dict[str, Array]:
    """Setting → what it explains of each joint's effort limit at rest at q (n,), (n,) [-]; 0 without a limit."""
    safety, n = safety or SafetySettings(), dynamics.robot.n
    kernel = Kernel(sensitivity_program(dynamics), sensitivity_parameters(dynamics))
    masses, payload, force = np.reshape(kernel.call(np.asarray(q, dtype=float), np.zeros(n), np.zeros(n)), (3, n))
    limit = dynamics.robot.effort_limit
    return {
        "unknown_friction": np.where(np.isfinite(limit), safety.unknown_friction, 0.0),
        "model_error": safety.model_error * masses / limit,
        "unknown_payload": safety.unknown_payload * payload / limit,
        "push_force": safety.push_force * force / limit,
    }


def afforded(explained: dict[str, Array]) -> dict[str, float]:
    """Setting → the value that explains ``AFFORDED`` of the weakest joint's effort limit, where the default explains
    more; rounded down to one significant digit.
    """
    found = {}
    for name in ("unknown_payload", "push_force"):
        if (most := float(explained[name].max())) > AFFORDED:
            value = getattr(SafetySettings(), name) * AFFORDED / most
            place = 10.0 ** np.floor(np.log10(max(value, np.finfo(float).tiny)))
            found[name] = float(f"{np.floor(value / place) * place:.1g}")
    return found
