# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""What the stated uncertainty explains of an arm's efforts, and what of it an arm cannot afford.

A fault of a drive shows in the efforts only beyond what the settings explain of them
(``../core/consistency.c``, residual 2). What explains more than the effort limit of a joint hides a dead drive.
"""

from __future__ import annotations

import numpy as np

from robodyn_ros.control.faults.settings import SafetySettings
from robodyn_ros.dynamics.compiled import CompiledDynamics
from robodyn_ros.dynamics.sensitivity import sensitivity_parameters, sensitivity_program
from robodyn_ros.engine import Kernel
from robodyn_ros.robot.pose import Array

AFFORDED = 0.25
"""Ratio of an effort limit that a payload, or a push, may explain, so that a fault of the drive still shows [-]."""


def explained_efforts(dynamics: CompiledDynamics, q: Array, safety: SafetySettings | None = None) -> dict[str, Array]:
    """Setting → what it explains of each joint's effort limit while the arm rests at q, (n,) [-]; 0 without a limit.

    Args:
        dynamics: the arm.
        q: positions (n,) in [rad] or [m].
        safety: the settings (default: the defaults).
    """
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


def afforded(explained: dict[str, Array], safety: SafetySettings | None = None) -> dict[str, float]:
    """Setting → the value with which it explains ``AFFORDED`` of the weakest joint's effort limit, where it does more.

    Args:
        explained: as :func:`explained_efforts` gives it.
        safety: the settings that it is of (default: the defaults).
    """
    safety = safety or SafetySettings()
    found = {}
    for name in ("unknown_payload", "push_force"):
        most = float(explained[name].max())
        if most > AFFORDED:
            found[name] = _rounded_down(getattr(safety, name) * AFFORDED / most)
    return found


def _rounded_down(value: float) -> float:
    """A positive number with one significant digit, no greater than it was."""
    place = 10.0 ** np.floor(np.log10(value))
    return float(f"{np.floor(value / place) * place:.1g}")
