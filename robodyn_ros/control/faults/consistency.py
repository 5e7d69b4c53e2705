"""Thresholds of the consistency of states, for the core (``../core/consistency.c``)."""

from __future__ import annotations

from typing import Any

import numpy as np

from robodyn_ros.control.loop_settings import LoopSettings

SPEED_ERROR = 0.2
"""Greatest error of a measured velocity, of a joint that stands [rad/s] or [m/s]; of a slow one, part of its limit."""

STATIC = 1.5
"""Static friction, in frictions of a joint that moves."""

UNSURE = 10.0
"""Friction that a joint may have before it has moved, in Coulomb frictions of the model."""

KNOWN = 0.2
"""How much of the friction that may be unknown is, for a joint that has moved, or whose friction the model knows."""

MOVES = 0.05
"""Speed from which on a joint moves [rad/s] or [m/s]; of a slow one, part of its limit."""

STUCK = 0.05
"""Error of a joint that gains in order overcome its friction with [rad] or [m]."""

FAST = 0.7
"""Speed that no joint may lack, whatever its friction is, as part of its velocity limit."""

SPEED = 0.5
"""The speed that a joint must not lack [rad/s] or [m/s]."""

PART = 0.25
"""The same for a slow joint, as part of its limit."""

BEYOND = 1.2
"""Effort that no drive has, in effort limits."""


def thresholds_of(settings: LoopSettings) -> dict[str, Any]:
    """What the comparisons allow, by its name in the struct ``Settings``, each (n,)."""
    dynamics, limits = settings.controller.dynamics, settings.limits
    friction = np.maximum(dynamics.parameters.coulomb, dynamics.robot.friction)
    unknown = settings.safety.unknown_friction * limits.effort
    moves = MOVES * np.minimum(1.0, limits.velocity)
    stiffness = settings.feedback.stiffness
    return {
        "speed_error": np.minimum(SPEED_ERROR, SPEED_ERROR * limits.velocity),
        "lack": np.minimum(SPEED, PART * limits.velocity),
        "inertia": np.diagonal(dynamics.mass_matrix(dynamics.robot.home)),
        "friction": 2.0 * UNSURE * friction,
        "modelled": 2.0 * STATIC * dynamics.parameters.coulomb,
        "doubt": 2.0 * np.where(friction > 0.0, KNOWN, 1.0) * unknown,
        "least": 2.0 * KNOWN * unknown,
        "pull": np.where(stiffness > 0.0, STUCK * stiffness, np.inf),
        "fast": FAST * limits.velocity,
        "moves": moves if settings.controller.follows else np.inf,
        "beyond": BEYOND * limits.effort,
    }
