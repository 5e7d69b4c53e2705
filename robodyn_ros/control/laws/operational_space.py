# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Operational space control: the tool moves as if it were a unit mass, in every direction apart from the others.

    F = Λ (Ω ẍ_d - J̇ q̇) + Ω Λ Ω (Kp e + Kd ė) - Ω̄ Λ Ω̄ Kd ẋ + Ω̄ F_d
    τ = Jᵀ F + C q̇ + g + N M (q̈_d + Kp (q_d - q) + Kd (q̇_d - q̇)) + τ_friction(q̇_d) + τ_ff

With an exact model a direction of motion obeys ë + Kd ė + Kp e = 0, and a direction of force has the force F_d against
what it touches. Ω chooses the directions of motion and Ω̄ = 1 - Ω those of force: hybrid control of force and motion.
In a direction of force the tool is damped, so that it does not shoot away where it touches nothing. The force is not
measured: friction of the joints that the model does not know takes its part of it.

The feedback of the motion stays within the directions of motion: Ω Λ Ω, where Khatib has Λ Ω. Both correct an error
alike while something holds the tool in the directions of force. But what keeps up a steady error, as the friction of
the wall does, would press on the wall by Khatib's, through the elements of Λ that couple the directions. In turn, what
the feedback alone accelerates presses as long as it does; what the reference says of acceleration does not.

Beyond ``reach`` the force of the error does not grow, and the damping of translations does: an arm that is pushed
harder gives way slowly.

:mod:`robodyn_ros.dynamics.task_space` has Λ and N, and says what happens at singularities.

Source: Khatib, A unified approach for motion and force control of robot manipulators: the operational space
formulation, IEEE J. Robotics and Automation 3(1) (1987), eq. 31 to 36 (selection), 44 (dynamic decoupling) and 51 (null
space).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from robodyn_ros.control.laws.base import Efforts, Reference
from robodyn_ros.control.laws.tool import FRAMES, ToolLaw, marked_directions, yielding
from robodyn_ros.dynamics.base import Dynamics
from robodyn_ros.dynamics.task_space import DIRECTIONS, TaskTerms
from robodyn_ros.robot.pose import Array
from robodyn_ros.settings import check_settings, choice, setting, text


@dataclass(frozen=True)
class OperationalSpaceSettings:
    """Motion and force of the tool; x, y, z of the forces are axes of ``frame``."""

    link: str = text("", "link that is the tool; the last link that moves if empty")
    directions: str = text("", "directions that count, of x y z rx ry rz of the root link; those the arm has if empty")
    natural_frequency: float = setting(15.0, "natural frequency of the tool's error", "rad/s", 0.0, 1000.0)
    damping_ratio: float = setting(1.0, "damping ratio of the tool's error", "-", 0.0, 10.0)
    frame: str = choice("base", "axes of the forces", choices=lambda: FRAMES)
    force_directions: str = text("", "directions of force, of x y z rx ry rz of the frame; the others are of motion")
    force_x: float = setting(0.0, "force of the tool along x, where that is a direction of force", "N", -1e5, 1e5)
    force_y: float = setting(0.0, "force of the tool along y, likewise", "N", -1e5, 1e5)
    force_z: float = setting(0.0, "force of the tool along z, likewise", "N", -1e5, 1e5)
    force_rx: float = setting(0.0, "torque of the tool about x, likewise", "N·m", -1e5, 1e5)
    force_ry: float = setting(0.0, "torque of the tool about y, likewise", "N·m", -1e5, 1e5)
    force_rz: float = setting(0.0, "torque of the tool about z, likewise", "N·m", -1e5, 1e5)
    reach: float = setting(0.1, "greatest distance from the reference that counts", "m", 1e-4, 10.0)
    turn: float = setting(0.5, "greatest angle from the reference that counts", "rad", 1e-3, 3.2)

    def __post_init__(self) -> None:
        check_settings(self)


class OperationalSpace(ToolLaw):
    """Decoupled motion of the tool, and forces in chosen directions."""

    settings = OperationalSpaceSettings
    quickness = "operational_space.natural_frequency, or gains.<joint>.natural_frequency"

    def __init__(
        self,
        dynamics: Dynamics,
        kp: ArrayLike,
        kd: ArrayLike,
        ki: ArrayLike = 0.0,
        *,
        config: OperationalSpaceSettings | None = None,
    ) -> None:
        """The arguments are those of :class:`ToolLaw`; ``config`` has the tool's own.

        Raises:
            InputError: no such link or direction.
        """
        given = config or OperationalSpaceSettings()
        super().__init__(dynamics, kp, kd, ki, given.link, given.directions, given.frame)
        self._forced = marked_directions("force_directions", given.force_directions)
        self._frequency, self._damping_ratio = given.natural_frequency, given.damping_ratio
        self._has_forces = bool(self._forced.any())
        self._force = self._forced * [getattr(given, f"force_{name}") for name in DIRECTIONS]
        self._reach, self._turn = given.reach, given.turn

    def tool_gains(self, q: Array, task: TaskTerms) -> tuple[Array, Array]:
        """Where a force is given, nothing but damping."""
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
        tool = self.motion_error(q, qd, reference, task.jacobian, self._reach, self._turn)
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
