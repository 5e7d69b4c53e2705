# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Cartesian impedance: to somebody who pushes the tool, it is a spring and a damper around its reference.

    τ = Jᵀ (Λ (ẍ_d - J̇ q̇) + K e + D ė) + C q̇ + g + N M (q̈_d + Kp (q_d - q) + Kd (q̇_d - q̇)) + τ_friction(q̇_d) + τ_ff

With an exact model the tool obeys Λ ë + D ė + K e = -F, where F is what pushes it: the mass Λ is the arm's own, for the
law does not shape it, which would need a measurement of F. K [N/m, N·m/rad] is given in the axes of the root link or in
those of the tool. D is 2 ζ (Λ # K) with the geometric mean of both, so that each mode has the damping ratio ζ. The null
space holds the posture, dynamically consistent: it does not move the tool. :mod:`robodyn_ros.dynamics.task_space` has
Λ, J̄ and N, and says what happens at singularities: efforts come by Jᵀ, which loses a direction there without any
inverse, and K pulls nobody through it.

Beyond ``reach`` the spring's force does not grow. An arm that is pushed harder gives way slowly: from there to twice as
far the damping of translations grows to D ``YIELDING`` (tool.py).

The null space also keeps the joints away from their position limits: within ``MARGIN`` of one, and within
``NARROW`` of the joint's range, an acceleration ω² d - 2 ω q̇ d / margin drives the joint back, where d is how far it is
inside. It does not move the tool, so it helps where the arm can turn away, and only there.

Near such a pose a small way of the tool is a large one of the joints, and K hardly holds them. An arm that has fallen
behind its reference, by a load that the model does not know, would be torn through the pose at once. Therefore a joint
is braked where it moves both faster than its reference and faster than ``UNBRAKED`` of its velocity limit: by M Kd
times what is too much. And a greater ``singular_region``, which is λ₀ of the task space, has the posture hold the arm
sooner in the direction that it is about to lose; there Λ and N are not exact. What K does not hold may end in the other
of two poses with the same tool, such as the other side of a stretched elbow. Therefore a joint that has strayed further
than ``STRAYED`` is brought back by the posture's gains, M (kp e + 2 kd ė), the more the nearer the arm is to a singular
pose, from ``HOLDING`` of the usual distance on. The spring e ends at ``STRAYED`` beyond that, and the damping is twice
the posture's, so that no joint hurries back. Elsewhere, and within ``STRAYED``, the tool is the spring alone.

Source of the latter: Khatib, Real-time obstacle avoidance for manipulators and mobile robots, Int. J. Robotics Research
5(1) (1986), with a spring as the potential.

Source: Ott, Cartesian Impedance Control of Redundant and Flexible-Joint Robots (2008), chapters 3 and 4; Albu-Schäffer,
Ott, Frese, Hirzinger, Cartesian impedance control of redundant robots, ICRA 2003, section 3.2 (damping); Khatib, IEEE
J. Robotics and Automation 3(1) (1987) (null space).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from robodyn_ros.control.laws.base import Efforts, Reference
from robodyn_ros.control.laws.tool import TINY, DirectedSettings, ToolLaw, yielding
from robodyn_ros.dynamics.base import Dynamics
from robodyn_ros.dynamics.task_space import DIRECTIONS, FLOOR, TaskTerms, geometric_mean
from robodyn_ros.robot.pose import Array
from robodyn_ros.settings import setting

UNBRAKED = 0.35
"""Up to this ratio of its velocity limit a joint may move in whatever way; limits of velocity are the URDF's."""

HOLDING = 1.5
"""Below this ratio of the usual distance from a singular pose joints that have strayed are brought back."""

STRAYED = 0.1
"""How far a joint may be from its reference until then [rad] or [m]."""

MARGIN = 0.1
"""Distance from a position limit within which the null space turns a joint away from it [rad] or [m]."""

NARROW = 0.1
"""Greatest margin, as part of a joint's range."""

TURNING_BACK = 20.0
"""ω of a joint near a position limit [rad/s]."""

UNLIMITED = 1e9
"""The limit of a joint that has none [rad, m, and per second]; compiled code takes an infinity for a fault."""


@dataclass(frozen=True)
class CartesianImpedanceSettings(DirectedSettings):
    """The stiffness of the tool, along and about the axes of ``frame``."""

    stiffness: tuple[float, ...] = setting(
        (500.0, 500.0, 500.0, 30.0, 30.0, 30.0), "stiffness of the tool, x y z rx ry rz", "N/m, N·m/rad", 0.0, 1e6
    )
    singular_region: float = setting(
        FLOOR, "distance from a singular pose, of what is usual, below which the posture helps", "-", 1e-3, 1.0
    )


class CartesianImpedance(ToolLaw):
    """A spring and a damper at the tool; the model carries the rest."""

    settings = CartesianImpedanceSettings
    quickness = "cartesian_impedance.stiffness and task.damping_ratio, or gains.<joint>.natural_frequency"

    def __init__(
        self,
        dynamics: Dynamics,
        kp: ArrayLike,
        kd: ArrayLike,
        ki: ArrayLike = 0.0,
        *,
        config: CartesianImpedanceSettings | None = None,
    ) -> None:
        """The arguments are those of :class:`ToolLaw`; ``config`` has the stiffness of the tool."""
        given = config or CartesianImpedanceSettings()
        super().__init__(dynamics, kp, kd, ki, given, given.directions, given.singular_region)
        self._stiffness = np.array(given.stiffness)
        robot, limit = dynamics.robot, dynamics.robot.velocity_limit
        self._lower, self._upper = np.maximum(robot.lower, -UNLIMITED), np.minimum(robot.upper, UNLIMITED)
        self._margin = np.minimum(MARGIN, NARROW * (self._upper - self._lower))
        self._unbraked = UNBRAKED * np.where((limit > 0.0) & np.isfinite(limit), limit, UNLIMITED)

    def tool_gains(self, q: Array, task: TaskTerms) -> tuple[Array, Array]:
        """The settings, in the axes of the root link."""
        stiffness = self.diagonal(self._stiffness, self.task.pose(q)[:3, :3])
        return stiffness, 2.0 * self._damping_ratio * geometric_mean(task.inertia, stiffness)

    def remedy(self, q: Array, carried: float) -> tuple[str, str]:
        """The stiffnesses that make the quickest motion, along the axes or about them; see the base class."""
        task, rotation = self.task.terms(q, self._none), self.task.pose(q)[:3, :3]

        def quickest(part: Array) -> float:
            spring = task.jacobian.T @ self.diagonal(part, rotation) @ task.jacobian
            return float(np.abs(np.linalg.eigvals(np.linalg.solve(task.mass, spring))).max())

        along = np.array([1.0, 1.0, 1.0, 0.0, 0.0, 0.0])
        part = max(self._stiffness * along, self._stiffness * (1.0 - along), key=quickest)
        counts = np.logical_or(self.task.axes.any(0), self._in_tool_axes)
        lower = [
            f"{name} to {carried**2 * value:.3g} {'N/m' if len(name) == 1 else 'N·m/rad'}"
            for name, value, moves in zip(DIRECTIONS, part, counts, strict=True)
            if value > 0.0 and moves
        ]
        if not lower:  # the posture's gains are what is too quick
            return super().remedy(q, carried)
        name = "cartesian_impedance.stiffness"
        return name, f"lower {name} ({', '.join(lower)}) or task.damping_ratio"

    def braking(self, qd: Array, reference: Reference) -> Array:
        """The acceleration (n,) that brakes joints which flee, with velocities qd (n,)."""
        allowed = np.maximum(np.abs(reference.qd), self._unbraked)
        slowed: Array = self.kd * (np.clip(qd, -allowed, allowed) - qd)
        return slowed

    def turning_back(self, q: Array, qd: Array) -> Array:
        """The acceleration (n,) that drives joints back from their position limits."""
        inside = np.maximum(self._lower + self._margin - q, 0.0) - np.maximum(q - self._upper + self._margin, 0.0)
        near = np.minimum(np.abs(inside) / (self._margin + TINY), 1.0)
        driven: Array = TURNING_BACK**2 * inside - 2.0 * TURNING_BACK * near * qd
        return driven

    def returning(self, q: Array, qd: Array, reference: Reference, task: TaskTerms) -> Array:
        """The acceleration (n,) that brings joints back which have strayed near a singular pose."""
        near = np.maximum(1.0 - task.clearance / HOLDING, 0.0) ** 2
        error = reference.q - q
        away = np.abs(error)
        strayed = np.clip(away - STRAYED, 0.0, STRAYED)
        spring, damper = self.kp * error / (away + TINY), 2.0 * self.kd * (reference.qd - qd) / STRAYED
        held: Array = near * strayed * (spring + damper)
        return held

    def compute(self, q: Array, qd: Array, reference: Reference, integral: Array | None = None) -> Efforts:
        """The efforts of the law, as :meth:`Controller.compute`."""
        task = self.task.terms(q, qd)
        tool = self.motion_error(q, qd, reference, task.jacobian)
        stiffness = self.diagonal(self._stiffness, tool.rotation)
        damping = 2.0 * self._damping_ratio * geometric_mean(task.inertia, stiffness)
        spring = stiffness @ self.task.chosen(tool.error)
        slowing = self.diagonal(yielding(tool.distance, self._reach), tool.rotation)
        damping = slowing @ damping @ slowing
        braking = self.braking(qd, reference)
        force = spring + damping @ tool.rate + task.inertia @ (task.jacobian @ braking)
        posture = self.correction(q, qd, reference, integral) + self.turning_back(q, qd)
        posture = posture + braking  # with that in the force, M · braking of all joints
        efforts = self.efforts(reference, task, tool.acceleration, force, posture)
        held = task.mass @ self.returning(q, qd, reference, task)
        return efforts._replace(feedback=efforts.feedback + held, total=efforts.total + held)
