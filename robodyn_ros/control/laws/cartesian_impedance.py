# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Cartesian impedance: under external forces the tool behaves as a spring and a damper around its reference.

    τ = Jᵀ (Λ (ẍ_d - J̇ q̇) + K e + D ė) + C q̇ + g + N M (q̈_d + Kp (q_d - q) + Kd (q̇_d - q̇)) + τ_friction(q̇_d) + τ_ff

With an exact model the tool obeys Λ ë + D ė + K e = -F, where F is the external wrench. The inertia Λ is the arm's own:
to shape it would need a measurement of F. K [N/m, N·m/rad] is given in the axes of the root link or in those of the
tool. D is 2 ζ (Λ # K) with the geometric mean of both, so that each mode has the damping ratio ζ. The null space holds
the posture, dynamically consistent: it does not move the tool. :mod:`robodyn_ros.dynamics.task_space` has Λ, J̄ and N.
Efforts are computed with Jᵀ, without an inverse. In a singular pose Jᵀ loses a direction, so that K does not pull the
arm through the pose.

Beyond ``reach`` the spring's force stays constant. An arm that is pushed harder yields slowly: between once and twice
that distance the damping of translations grows to D ``YIELDING`` (tool.py).

The null space also keeps the joints away from their position limits: within ``MARGIN`` of one, and within ``NARROW`` of
the joint's range, an acceleration ω² d - 2 ω q̇ d / margin drives the joint back, where d is the depth within this
margin: the potential of Khatib, Real-time obstacle avoidance for manipulators and mobile robots, Int. J. Robotics
Research 5(1) (1986), as a spring. It helps only if the null space has a motion away from the limit.

Near a singular pose a small displacement of the tool is a large one of the joints, and K hardly holds them. An arm that
lags behind its reference, because of a load that is not in the model, would be pulled through the pose at once. So

- a joint that moves both faster than its reference and faster than ``UNBRAKED`` of its velocity limit is braked, by
  M Kd times the excess;
- with a greater ``singular_region``, which is λ₀ of the task space, the posture holds the arm sooner in the direction
  that it is about to lose; there Λ and N are not exact;
- a joint further than ``STRAYED`` from its reference is brought back by the posture's gains, M (kp e + 2 kd ė), because
  the arm may end in another pose with the same tool, such as the other side of a stretched elbow. This begins at
  ``HOLDING`` of the usual distance from a singular pose, and grows towards it. The spring e saturates at a further
  ``STRAYED``, and the damping is twice the posture's, so that joints return slowly.

Source: Ott, Cartesian Impedance Control of Redundant and Flexible-Joint Robots (2008), chapters 3 and 4; Albu-Schäffer,
Ott, Frese, Hirzinger, Cartesian impedance control of redundant robots, ICRA 2003, section 3.2 (damping); Khatib, IEEE
J. Robotics and Automation 3(1) (1987) (null space).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from robodyn_ros.control.laws.base import Efforts, Reference
from robodyn_ros.control.laws.tool import TINY, DirectedSettings, ToolLaw, yielding
from robodyn_ros.dynamics.task_space import DIRECTIONS, FLOOR, TaskTerms, geometric_mean
from robodyn_ros.robot.pose import Array
from robodyn_ros.settings import setting

UNBRAKED = 0.35  #: Ratio of its velocity limit (the URDF's) up to which a joint is not braked.
HOLDING = 1.5  #: Ratio of the usual distance from a singular pose below which joints are brought back.
STRAYED = 0.1  #: Distance of a joint from its reference beyond which it is brought back [rad] or [m].
MARGIN = 0.1  #: Distance from a position limit within which the null space drives a joint away from it [rad] or [m].
NARROW = 0.1  #: Greatest margin, as ratio of a joint's range.
TURNING_BACK = 20.0  #: ω of a joint near a position limit [rad/s].
UNLIMITED = 1e9  #: Limit of a joint without limits [rad, m, and per second]: no infinity in compiled code.


@dataclass(frozen=True)
class CartesianImpedanceSettings(DirectedSettings):
    """The stiffness of the tool, along and about the axes of ``frame``."""

    stiffness: tuple[float, ...] = setting(
        (500.0, 500.0, 500.0, 30.0, 30.0, 30.0), "stiffness of the tool, x y z rx ry rz", "N/m, N·m/rad", 0.0, 1e6
    )
    singular_region: float = setting(
        FLOOR,
        "distance from a singular pose, as ratio of its median over the poses of the arm, below which the inverse is"
        " damped",
        "-",
        1e-3,
        1.0,
    )


class CartesianImpedance(ToolLaw):
    """A spring and a damper at the tool, with model-based compensation of gravity, inertia and friction."""

    settings = CartesianImpedanceSettings
    quickness = "cartesian_impedance.stiffness and task.damping_ratio, or gains.<joint>.natural_frequency"

    def use_settings(self, config: CartesianImpedanceSettings) -> None:
        """See :meth:`ToolLaw.use_settings`."""
        super().use_settings(config)
        self._stiffness = np.array(config.stiffness)
        robot, limit = self.dynamics.robot, self.dynamics.robot.velocity_limit
        self._lower, self._upper = np.maximum(robot.lower, -UNLIMITED), np.minimum(robot.upper, UNLIMITED)
        self._margin = np.minimum(MARGIN, NARROW * (self._upper - self._lower))
        self._unbraked = UNBRAKED * np.where((limit > 0.0) & np.isfinite(limit), limit, UNLIMITED)

    def tool_gains(self, q: Array, task: TaskTerms) -> tuple[Array, Array]:
        """Stiffness by the settings and its damping, in the axes of the root link."""
        stiffness = self.diagonal(self._stiffness, self.task.pose(q)[:3, :3])
        return stiffness, 2.0 * self._damping_ratio * geometric_mean(task.inertia, stiffness)

    def remedy(self, q: Array, carried: float) -> tuple[str, str]:
        """The stiffnesses that cause the quickest motion, along the axes or about them; see the base class."""
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
        if not lower:  # the posture's gains are too high
            return super().remedy(q, carried)
        name = "cartesian_impedance.stiffness"
        return name, f"lower {name} ({', '.join(lower)}) or task.damping_ratio"

    def braking(self, qd: Array, reference: Reference) -> Array:
        """The acceleration (n,) that brakes joints which move too fast, with velocities qd (n,)."""
        allowed = np.maximum(np.abs(reference.qd), self._unbraked)
        return self.kd * (np.clip(qd, -allowed, allowed) - qd)

    def turning_back(self, q: Array, qd: Array) -> Array:
        """The acceleration (n,) that drives joints back from their position limits."""
        inside = np.maximum(self._lower + self._margin - q, 0.0) - np.maximum(q - self._upper + self._margin, 0.0)
        near = np.minimum(np.abs(inside) / (self._margin + TINY), 1.0)
        return TURNING_BACK**2 * inside - 2.0 * TURNING_BACK * near * qd

    def returning(self, q: Array, qd: Array, reference: Reference, task: TaskTerms) -> Array:
        """The acceleration (n,) that brings joints back to their reference near a singular pose."""
        near = np.maximum(1.0 - task.clearance / HOLDING, 0.0) ** 2
        error = reference.q - q
        away = np.abs(error)
        strayed = np.clip(away - STRAYED, 0.0, STRAYED)
        spring, damper = self.kp * error / (away + TINY), 2.0 * self.kd * (reference.qd - qd) / STRAYED
        return near * strayed * (spring + damper)

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
        posture = posture + braking  # together with its term in the force this is M · braking for all joints
        efforts = self.efforts(reference, task, tool.acceleration, force, posture)
        held = task.mass @ self.returning(q, qd, reference, task)
        return efforts._replace(feedback=efforts.feedback + held, total=efforts.total + held)
