# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Hand guiding: free drive in the task space, with locked directions, a corridor, and virtual walls.

    τ = g(q) + α (d q̇ + f tanh(q̇ / v)) + Jᵀ (S (K e - D ẋ) + F_wall) + τ_hold + τ_ff

The tool is moved by hand in the free directions: all of them, translations only, rotations only, along a line, or in a
plane. The others are locked by a spring and a damper to the anchor, which is the pose of the tool when guiding began.
e is the displacement back to the anchor in the locked directions. With a corridor of radius r the spring begins at the
distance r: a line becomes a tube, and a plane becomes a plate. The walls are the sides of a box that the tool stays
within. Each is a spring and a damper that pushes and never pulls, as stiff as the stiffest locked translation.

When released, an arm with little friction would fall because of errors of the modelled masses. Therefore each joint has
a simulated dry friction that a hand can overcome: a spring to the position where the joint was released, which slips
beyond the effort h |g| + ``LEAST`` of the effort limit, with h = ``model_error``, the stated error of the masses. The
joint yields by ``SLIP`` until then, and is damped while the spring does not slip. When guiding begins, the hold of a
joint that moves has slipped already: otherwise it would brake each joint by itself within milliseconds, and the heavy
ones would throw the light ones.

Springs return their energy, and all other terms dissipate energy, as in :mod:`robodyn_ros.control.laws.free_drive`. So
the arm does not move by itself. The null space of the tool is free.

Source: Albu-Schäffer, Ott, Frese, Hirzinger, Cartesian impedance control of redundant robots, ICRA 2003, section 3.2
(spring and damper); Rosenberg, Virtual fixtures: perceptual tools for telerobotic manipulation, IEEE VRAIS 1993;
Abbott, Marayong, Okamura, Haptic virtual fixtures for robot-assisted manipulation, Robotics Research 28 (2007),
section 3 (guidance and forbidden regions); Dahl, A solid friction model, Aerospace Corporation (1968), with a spring
that slips at once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from robodyn_ros.control.faults.settings import SafetySettings
from robodyn_ros.control.laws.base import AccelerationGains, Controller, Efforts, Reference
from robodyn_ros.control.laws.free_drive import FRICTION_RATIO, SMOOTHING
from robodyn_ros.control.laws.tool import TINY, TaskSettings, ToolLaw, clipped_error, marked_directions
from robodyn_ros.dynamics.task_space import DIRECTIONS, TaskTerms, geometric_mean
from robodyn_ros.engine.tracing import solve_positive
from robodyn_ros.errors import InputError
from robodyn_ros.robot.pose import Array
from robodyn_ros.settings import setting, shared, text

FAR = 1000.0  #: Coordinate of a wall that is switched off [m].
SOFTEST = 1e-6  #: Stiffness that keeps the mean of mass and stiffness defined if no direction is locked [N/m, N·m/rad].
SLIP = 0.01  #: Displacement of a joint at which the hold slips [rad] or [m].
BEFORE = 0.1  #: Time for which a joint that moves when guiding begins has moved, for its hold [s].
LEAST = 0.005  #: Effort at which the hold slips on a joint without gravity effort, as ratio of its effort limit.

TRANSLATIONS = np.array([1.0, 1.0, 1.0, 0.0, 0.0, 0.0])
ROTATIONS = 1.0 - TRANSLATIONS


@dataclass(frozen=True)
class HandGuidingSettings(TaskSettings):
    """Motions of the tool by hand; x, y, z of the directions are axes of ``frame``, those of the walls of the root."""

    free_directions: str = text("x y z rx ry rz", "directions that the hand may move, of x y z rx ry rz of the frame")
    stiffness: tuple[float, ...] = setting(
        (2000.0, 2000.0, 2000.0, 100.0, 100.0, 100.0),
        "stiffness of the locked directions, x y z rx ry rz; that of the walls is the greatest of the first three",
        "N/m, N·m/rad",
        0.0,
        1e6,
    )
    corridor: float = setting(
        0.0, "distance from the initial line or plane within which locked translations do not resist", "m", 0.0, 10.0
    )
    walls: tuple[float, ...] = setting(
        (-FAR,) * 3 + (FAR,) * 3, "least x, y and z of the tool, and greatest x, y and z", "m", -FAR, FAR
    )
    model_error: float = shared(SafetySettings, "model_error")


class HandGuiding(ToolLaw):
    """The tool is moved by hand, within the free directions, the corridor and the walls. The gains are not used."""

    feedback = "effort"
    follows = False
    settings = HandGuidingSettings
    quickness = "the stiffness of hand_guiding, or model_error"
    remembers = ("_anchor", "_is_anchored", "_left")

    def use_settings(self, config: HandGuidingSettings) -> None:
        """InputError: no such link or direction, a wall is not below the opposite one, or walls have no stiffness."""
        super().use_settings(config)
        self._locked = 1.0 - marked_directions("free_directions", config.free_directions)
        self._stiffness = self._locked * config.stiffness
        self._corridor = config.corridor
        self._lower, self._upper = np.array(config.walls[:3]), np.array(config.walls[3:])
        self._wall_stiffness, self._hold = max(config.stiffness[:3]), config.model_error
        limit = self.dynamics.robot.effort_limit
        self._least = LEAST * np.where(np.isfinite(limit), limit, 0.0) * (self._hold > 0.0)
        for name, lower, upper in zip(DIRECTIONS[:3], self._lower, self._upper, strict=True):
            if lower >= upper:
                text = f"the least {name}, {lower:g} m, must be less than the greatest, {upper:g} m"
                raise InputError("walls", text, lower)
        self._has_wall = (self._lower > -FAR) | (self._upper < FAR)
        if self._has_wall.any() and not self._wall_stiffness:
            raise InputError("stiffness", "must have a translation above 0 N/m, because the walls are that stiff")
        self._translations = self.task.chosen(np.eye(6)[:, :3])
        self.forget()

    def forget(self) -> None:
        """Drop the anchor; the next period sets a new one."""
        self._anchor, self._is_anchored, self._left = np.eye(4), 0.0, self._none.copy()

    def tool_gains(self, q: Array, task: TaskTerms) -> tuple[Array, Array]:
        """Stiffness and damping of the locked directions beyond the corridor, and of the walls that are on."""
        axes, softest = self.task.pose(q)[:3, :3], SOFTEST * np.eye(len(task.inertia))
        walls = self._translations @ np.diag(self._wall_stiffness * self._has_wall) @ self._translations.T
        stiffness = self.diagonal(self._stiffness, axes) + walls
        return stiffness, 2.0 * self._damping_ratio * geometric_mean(task.inertia, stiffness + softest)

    def acceleration_gains(self, q: Array, period: float = 0.0) -> AccelerationGains:
        """As :meth:`ToolLaw.acceleration_gains`, plus the hold, with its damping at zero displacement, the greatest."""
        task, tool = self.task.terms(q, self._none), super().acceleration_gains(q, period)
        inverse, stiffness = np.linalg.inv(task.mass), self._hold_stiffness(task)
        damping = 2.0 * np.sqrt(stiffness * np.diagonal(task.mass))
        return AccelerationGains(tool.position + inverse * stiffness, tool.velocity + inverse * damping, tool.integral)

    def advance(self, dt: float, q: Array, qd: Array, reference: Reference, asked: Array, sent: Array) -> None:
        """Anchor the tool at its pose, in the first period and after the flow of states was interrupted."""
        stays = (self._is_anchored > 0.0) & (dt > 0.0)
        behind = np.where(stays, self._left - q, -BEFORE * qd)
        self._left = q + np.clip(behind, -SLIP, SLIP)
        self._anchor, self._is_anchored = np.where(stays, self._anchor, self.task.pose(q)), 1.0

    def compute(self, q: Array, qd: Array, reference: Reference, integral: Array | None = None) -> Efforts:
        """The efforts of the law, as :meth:`Controller.compute`."""
        none, task, pose = self._none, self.task.terms(q, qd), self.task.pose(q)
        rate = task.jacobian @ qd
        force = self._guide(task, pose, rate) + self._push_back(task, pose[:3, 3], rate)
        feedback = task.jacobian.T @ force + self._hold_back(task, q, qd)
        friction = FRICTION_RATIO * self._friction.against(qd, SMOOTHING)
        total = task.joint_gravity + friction + feedback + reference.effort
        return Efforts(task.joint_gravity, none, none, friction, feedback, reference.effort, total)

    def _hold_stiffness(self, task: TaskTerms) -> Array:
        """Stiffness of the hold of each joint (n,)."""
        return (self._hold * np.abs(task.joint_gravity) + self._least) / SLIP

    def _hold_back(self, task: TaskTerms, q: Array, qd: Array) -> Array:
        """The efforts (n,) that hold the joints where they were released."""
        away = np.where(self._is_anchored > 0.0, np.clip(self._left - q, -SLIP, SLIP), 0.0 * q)
        stiffness = self._hold_stiffness(task)
        damping = 2.0 * np.sqrt(stiffness * np.diagonal(task.mass) + TINY) * (1.0 - np.abs(away) / SLIP)
        return stiffness * away - damping * qd

    def _guide(self, task: TaskTerms, pose: Array, rate: Array) -> Array:
        """The force of the locked directions, in the directions of the task (k,)."""
        anchor = np.where(self._is_anchored > 0.0, self._anchor, pose)
        axes = anchor[:3, :3]
        error = clipped_error(pose, anchor, np.inf, np.inf)
        away, turned = self._locked_displacement(error[:3], 0, axes), self._locked_displacement(error[3:], 3, axes)
        distance, angle = np.sqrt(away @ away), np.sqrt(turned @ turned)
        beyond = np.clip(distance - self._corridor, 0.0, self._reach) / (distance + TINY)  # 0 within the corridor
        error = np.concatenate((beyond * away, np.minimum(1.0, self._turn / (angle + TINY)) * turned))
        resisting = ROTATIONS + np.maximum(1.0 - self._corridor / (distance + TINY), 0.0) * TRANSLATIONS
        stiffness = self.diagonal(self._stiffness, axes)
        softest = SOFTEST * np.eye(len(stiffness))
        damping = 2.0 * self._damping_ratio * geometric_mean(task.inertia, stiffness + softest)
        braked = self.diagonal(self._locked * np.sqrt(resisting), axes)
        return stiffness @ self.task.chosen(error) - braked @ (damping @ (braked @ rate))

    def _locked_displacement(self, displacement: Array, first: int, axes: Array) -> Array:
        """Component of a displacement (3,) in the locked ones of the directions first to first + 2; axes (3, 3)."""
        locked = self._locked[first : first + 3]
        if not self._in_tool_axes:
            return locked * displacement
        return axes @ (locked * (axes.T @ displacement))

    def _push_back(self, task: TaskTerms, position: Array, rate: Array) -> Array:
        """The force of the walls, in the directions of the task (k,)."""
        along = self._translations
        mobility = (along * solve_positive(task.inertia, along)).sum(0)  # inverse of the effective mass at a wall
        damping = 2.0 * self._damping_ratio * np.sqrt(self._wall_stiffness / np.maximum(mobility, TINY))
        speed = along.T @ rate
        force = np.zeros(3)
        for depth, sign in ((self._lower - position, 1.0), (position - self._upper, -1.0)):
            pushed = np.maximum(self._wall_stiffness * depth - sign * damping * speed, 0.0)
            force = force + np.where(depth > 0.0, sign * pushed, 0.0)
        return along @ force

    def resume(self, before: Controller) -> None:
        """Take over the anchor of the law before, if it guided the same link."""
        if isinstance(before, HandGuiding) and before.task.link == self.task.link:
            self._anchor, self._left = before._anchor.copy(), before._left.copy()
            self._is_anchored = before._is_anchored
