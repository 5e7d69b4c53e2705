"""The Integrator interface: the contract of every plugin in the group ``robodyn_ros.integrators``.

An integrator takes q̈ = a(q, q̇) over a step, in Python; and, where it says so, in C, which is compiled together with
the arm's forward dynamics, so that a whole motion is one call (:mod:`robodyn_ros.simulation.plant.compiled_motion`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import ClassVar

from robodyn_ros.dynamics.base import Dynamics
from robodyn_ros.robot.pose import Array

Acceleration = Callable[[Array, Array], Array]
"""q (n,), q̇ (n,) → q̈ (n,)."""

Sampled = tuple[Array, Array]
"""q and q̇ at the steps, the first state included, (steps + 1, n) each."""


class Integrator(ABC):
    """One rule, without state of its own.

    Attributes:
        order: p, where halving the step makes the error 2ᵖ times smaller.
        code: the same step in C, or "" where there is none: the body of
            ``int advance(const System* s, double h, const double* q, const double* v, double* q1, double* v1)``,
            which calls ``acceleration(s, q, v, a)``, knows the number of joints as ``N``, and returns 0 if all is well.
    """

    order: ClassVar[int]
    code: ClassVar[str] = ""

    @abstractmethod
    def step(self, acceleration: Acceleration, q: Array, qd: Array, dt: float) -> tuple[Array, Array]:
        """The state after a step, as new arrays.

        Args:
            acceleration: the equation of motion, with the efforts held over the step.
            q: position (n,) in [rad] or [m].
            qd: velocity (n,) in [rad/s] or [m/s].
            dt: length of the step [s].

        Raises:
            SimulationError: an equation within the step was not solved.
        """

    def motion(self, dynamics: Dynamics, q: Array, qd: Array, efforts: Array, dt: float, steps: int) -> Sampled | None:
        """A whole motion by a way of its own, or None for step after step.

        Args:
            dynamics: the arm.
            q: first positions (n,) in [rad] or [m].
            qd: first velocities (n,) in [rad/s] or [m/s].
            efforts: (n,) for all steps, or (steps, n), in [N·m] or [N].
            dt: length of a step [s].
            steps: how many.
        """
        return None
