# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Operational space control: the tool moves as a unit mass, decoupled in every direction.

    F = Λ (Ω ẍ_d - J̇ q̇) + Ω Λ Ω (Kp e + Kd ė) - Ω̄ Λ Ω̄ Kd ẋ + Ω̄ F_d
    τ = Jᵀ F + C q̇ + g + N M (q̈_d + Kp (q_d - q) + Kd (q̇_d - q̇)) + τ_friction(q̇_d) + τ_ff

With an exact model a direction of motion obeys ë + Kd ė + Kp e = 0, and in a direction of force the tool exerts F_d on
its contact. Ω selects the directions of motion and Ω̄ = 1 - Ω those of force: hybrid control of force and motion. In a
direction of force the tool is damped, so that without contact it does not accelerate freely. The force is not measured:
joint friction that is not in the model reduces it.

The motion feedback is Ω Λ Ω, where Khatib has Λ Ω, so that its force stays within the directions of motion. With Λ Ω a
steady error, such as one by friction at a wall, would press on the wall through the elements of Λ that couple the
directions. With Ω Λ Ω an acceleration by the feedback presses on the wall as long as it lasts; the acceleration of the
reference does not.

Beyond ``reach`` the force of the error stays constant and the damping of translations grows: an arm that is pushed
harder yields slowly. :mod:`robodyn_ros.dynamics.task_space` has Λ and N, and explains their behaviour at singularities.

Source: Khatib, A unified approach for motion and force control of robot manipulators: the operational space
formulation, IEEE J. Robotics and Automation 3(1) (1987), eq. 31 to 36 (selection), 44 (dynamic decoupling) and 51 (null
space).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from robodyn_ros.control.laws.base import Efforts, Reference
from robodyn_ros.control.laws.tool import DirectedSettings, ToolLaw, marked_directions, yielding
from robodyn_ros.dynamics.task_space import TaskTerms
from robodyn_ros.robot.pose import Array
from robodyn_ros.settings import setting, text


@dataclass(frozen=True)
class OperationalSpaceSettings(DirectedSettings):
    """Motion and force of the tool; x, y, z of the forces are axes of ``frame``."""

    natural_frequency: float = setting(15.0, "natural frequency of the tool's error", "rad/s", 0.0, 1000.0)
    force_directions: str = text("", "force-controlled axes, of x y z rx ry rz of the frame; the others are of motion")
    force: tuple[float, ...] = setting(
        (0.0,) * 6, "force of the tool in the directions of force, x y z rx ry rz", "N, N·m", -1e5, 1e5
    )


class OperationalSpace(ToolLaw):
    """Decoupled motion of the tool, and forces in chosen directions."""

    settings = OperationalSpaceSettings
    quickness = "operational_space.natural_frequency, or gains.<joint>.natural_frequency"

    def use_settings(self, config: OperationalSpaceSettings) -> None:
        """See :meth:`ToolLaw.use_settings`."""
        super().use_settings(config)
        self._forced = marked_directions("force_directions", config.force_directions)
        self._frequency = config.natural_frequency
        self._has_forces = bool(self._forced.any())
        self._force = self._forced * config.force

    def tool_gains(self, q: Array, task: TaskTerms) -> tuple[Array, Array]:
        """Stiffness and damping in the directions of motion; damping alone in the directions of force."""
        stiffness, damping = self._frequency**2, 2.0 * self._damping_ratio * self._frequency
        inertia = task.inertia
        if not self._has_forces:
            return inertia * stiffness, inertia * damping
        forced = self.diagonal(self._forced, self.task.pose(q)[:3, :3])
        free = np.eye(len(inertia)) - forced
        moved = free @ inertia @ free
        return moved * stiffness, (moved + forced @ inertia @ forced) * damping

    def compute(self, q: Array, qd: Array, reference: Reference, integral: Array | None = None) -> Efforts:
        """The efforts of the law, as :meth:`Controller.compute`."""
        task = self.task.terms(q, qd)
        tool = self.motion_error(q, qd, reference, task.jacobian)
        stiffness, damping = self._frequency**2, 2.0 * self._damping_ratio * self._frequency
        wanted = tool.acceleration
        slowing = self.diagonal(yielding(tool.distance, self._reach) ** 2, tool.rotation)
        correction = stiffness * self.task.chosen(tool.error) + damping * (slowing @ tool.rate)
        force = task.inertia @ correction
        if self._has_forces:
            forced = self.diagonal(self._forced, tool.rotation)
            free = np.eye(len(wanted)) - forced
            braking = forced @ (task.inertia @ (forced @ (damping * (task.jacobian @ qd))))
            wanted = free @ wanted
            force = free @ (task.inertia @ (free @ correction)) - braking + self.wrench(self._force, tool.rotation)
        posture = self.correction(q, qd, reference, integral)
        return self.efforts(reference, task, wanted, force, posture)
