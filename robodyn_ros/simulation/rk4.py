"""The classical Runge-Kutta step of order four for q̈ = a(q, q̇).

Source: Hairer, Nørsett, Wanner, Solving Ordinary Differential Equations I (1993), §II.1.
"""

from __future__ import annotations

from robodyn_ros.robot.pose import Array
from robodyn_ros.simulation.integrators.base import Acceleration


def rk4_step(acceleration: Acceleration, q: Array, qd: Array, dt: float) -> tuple[Array, Array]:
    """State after a step.

    Args:
        acceleration: the equation of motion, with the efforts held over the step.
        q: position (n,) in [rad] or [m].
        qd: velocity (n,) in [rad/s] or [m/s].
        dt: length of the step [s].
    """
    half = 0.5 * dt
    a1 = acceleration(q, qd)
    v2 = qd + half * a1
    a2 = acceleration(q + half * qd, v2)
    v3 = qd + half * a2
    a3 = acceleration(q + half * v2, v3)
    v4 = qd + dt * a3
    a4 = acceleration(q + dt * v3, v4)
    sixth = dt / 6.0
    return q + sixth * (qd + 2.0 * (v2 + v3) + v4), qd + sixth * (a1 + 2.0 * (a2 + a3) + a4)
