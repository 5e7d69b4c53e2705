"""Dead reckoning: where the arm is by the model, while no state can be believed.

The motion goes on from the last one that is known, by the efforts that are sent, first by those of the command that the
drives hold on to until the state is missed: ::

    q̈ = M(q)⁻¹ (τ - C(q, q̇) q̇ - g(q)),   within the position limits

:func:`stop` is the answer of the model to that motion: the effort that carries the arm and ends its motion within a
few times ``STOP``. It is the inverse dynamics of an exponential stop, and the weight alone once the arm is at rest ::

    τ = M(q) (-q̇ / STOP) + C(q, q̇) q̇ + g(q)

Friction and loads that the model does not know make this motion another one than that of the arm. The stop then gives
the arm no more momentum than it was thought to have, so no joint becomes faster by it than it was thought to be.

Source: Featherstone, Rigid Body Dynamics Algorithms (2008), chapters 5 and 7, the inverse and the forward dynamics.
"""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from robodyn_ros.checks import is_finite
from robodyn_ros.control.step import GravityEffort
from robodyn_ros.robot import Robot
from robodyn_ros.robot.pose import Array

STOP = 0.05
"""Time constant of the stop [s]."""

STEP = 0.002
"""Greatest step of the integration [s]."""

STEPS = 100
"""Greatest number of steps between two commands: after a longer time nobody knows where the arm is."""


class DeadReckoning:
    """The motion of an arm by its model. ``reckon`` in ../loop.c is the same in C.

    Attributes:
        q: position (n,) in [rad] or [m].
        qd: velocity (n,) in [rad/s] or [m/s].
    """

    def __init__(self, robot: Robot, gravity: GravityEffort) -> None:
        """
        Args:
            robot: the arm.
            gravity: with the model.
        """
        self._robot, self._gravity = robot, gravity
        self._t, self.q, self.qd = 0.0, np.zeros(robot.n), np.zeros(robot.n)

    def save(self, memory: Any) -> None:
        """Write it into the memory of ``../loop.c``."""
        memory.reckoned_t[...], memory.reckoned_q[:], memory.reckoned_qd[:] = self._t, self.q, self.qd

    def restore(self, memory: Any) -> None:
        """Read it from there."""
        self._t, self.q, self.qd = float(memory.reckoned_t), memory.reckoned_q.copy(), memory.reckoned_qd.copy()

    def begin(self, t: float, q: Array, qd: Array) -> None:
        """Go on from a motion at a time t [s]."""
        self._t, self.q, self.qd = t, np.clip(q, self._robot.lower, self._robot.upper), qd

    def advance(self, t: float, effort: Array) -> None:
        """Go on until t [s], with the effort of the drives (n,); the arm stands where the model fails."""
        steps = min(int(np.ceil(max(t - self._t, 0.0) / STEP)), STEPS)
        step = min(t - self._t, STEPS * STEP) / max(steps, 1)
        self._t = t
        for _ in range(steps):
            try:
                gained = self._gravity.dynamics.forward(self.q, self.qd, effort)
            except Exception:  # of a plugin
                gained = np.full(len(self.q), np.nan)
            qd = self.qd + step * gained
            if not is_finite(qd):
                self.qd = np.zeros(len(self.q))
                return
            q = self.q + step * qd
            inside = (q >= self._robot.lower) & (q <= self._robot.upper)
            self.q, self.qd = np.clip(q, self._robot.lower, self._robot.upper), np.where(inside, qd, 0.0)

    def stop(self) -> Array:
        """What to send to stop the arm, (n,) in [N·m] or [N]; the weight alone where the model fails."""
        weight = self._gravity.to_send(self.q)
        try:
            moving = self._gravity.dynamics.inverse(self.q, self.qd, -self.qd / STOP)
            effort: Array = weight + (moving - cast(Array, self._gravity.last))
        except Exception:  # of a plugin
            return weight
        return effort if is_finite(effort) else weight
