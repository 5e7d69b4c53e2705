# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Dynamics of the tool in operational space: its mass, its Coriolis force and its gravity.

With the task's velocity ẋ = J(q) q̇, the equations of motion of an arm M q̈ + h + g = τ + Jᵀ F become

    Λ ẍ + μ + p = F + J̄ᵀ τ,   Λ = (J M⁻¹ Jᵀ)⁻¹,   J̄ = M⁻¹ Jᵀ Λ,   μ = J̄ᵀ h - Λ J̇ q̇,   p = J̄ᵀ g,   h = C(q, q̇) q̇

J̄ is the dynamically consistent inverse of J: of all efforts with the same force at the tool, N τ with N = I - Jᵀ J̄ᵀ
are those that do not accelerate it, for J M⁻¹ N = 0.

**Directions.** A task has at most six directions: x, y, z, rx, ry, rz, which are the velocity of the link's origin and
its angular velocity in the root link's axes. By default it has those in which the arm moves: the planar PRR arm has
three. If these are not along the axes, as with a mechanism in a tilted plane, the task has an orthonormal basis of
them.

**Singularities.** There A = J M⁻¹ Jᵀ loses rank, and Λ would be infinite. Therefore Λ = (A + λ² W)⁻¹, where W is the
typical diagonal of A for this arm, and λ² = λ₀ (1 - σ/λ₀)² where σ = 1 / tr((W⁻½ A W⁻½)⁻¹) is below λ₀, and 0
elsewhere. σ is at most the least eigenvalue. So Λ is exact away from singularities, smooth, and bounded by 4 / (3 λ₀).
By default λ₀ is a tenth of the median of σ. Near a singularity N is not exact: the null space moves the tool a little.
If a task has more directions than the arm has joints, that is so in every pose.

Source: Khatib, A unified approach for motion and force control of robot manipulators: the operational space
formulation, IEEE J. Robotics and Automation 3(1) (1987), eq. 13 to 19 and 51; damping: Nakamura and Hanafusa, Inverse
kinematic solutions with singularity robustness for robot manipulator control, J. Dynamic Systems, Measurement, and
Control 108 (1986), eq. 24, with σ as the measure.
"""

from __future__ import annotations

import copy
from typing import NamedTuple

import numpy as np

from robodyn_ros.dynamics.base import Dynamics
from robodyn_ros.engine.tracing import TINY, solve_positive, symmetric
from robodyn_ros.errors import InputError
from robodyn_ros.kinematics import Kinematics
from robodyn_ros.robot import Array, random_positions, tip

DIRECTIONS = ("x", "y", "z", "rx", "ry", "rz")
"""Names of the directions of a task, along and about the root link's axes."""

POSES = 200
"""Number of random poses that show which directions an arm has, and which inertia is typical."""

LOST = 1e-9
"""A direction with less than this ratio of the greatest motion over all poses does not count."""

FLOOR = 0.1
"""Default of λ₀, as ratio of the median of σ over those poses."""

ROUNDING = 1e-12
"""Added to eigenvalues, so that a singular matrix has an inverse."""


class TaskTerms(NamedTuple):
    """Dynamics of a task with k directions at one state of an arm with n joints, in SI units."""

    jacobian: Array  # J (k, n)
    drift: Array  # J̇ q̇ (k,)
    inertia: Array  # Λ (k, k)
    inverse: Array  # J̄ (n, k)
    null: Array  # N (n, n): N τ does not accelerate the task
    coriolis: Array  # μ (k,)
    gravity: Array  # p (k,)
    mass: Array  # M (n, n)
    joint_coriolis: Array  # C q̇ (n,)
    joint_gravity: Array  # g (n,)
    clearance: Array  # σ (), as ratio of its median: how far from a singular pose


class TaskSpace:
    """The operational space of a link. Like a kernel, an object of this class belongs to one thread.

    Attributes:
        dynamics: the model.
        link: name of the link.
        axes: the directions that count, as orthonormal rows over x, y, z, rx, ry, rz, (k, 6).
    """

    def __init__(self, dynamics: Dynamics, link: str = "", directions: str = "", floor: float = FLOOR) -> None:
        """
        Args:
            dynamics: the model.
            link: its name; the arm's tool unless given.
            directions: those that count, of ``x y z rx ry rz``, with spaces between; those the arm has unless given.
            floor: λ₀, as ratio of the median of σ.

        Raises:
            InputError: no such link or direction, or no joint moves the link in one that is named.
        """
        self.dynamics = dynamics
        self.link = link or tip(dynamics.robot)
        self._kinematics = Kinematics(dynamics.robot, compiled=getattr(dynamics, "compiled", True))
        if dynamics.robot.link(self.link).body < 0:
            raise InputError("link", f"no joint moves {self.link!r}", link)
        poses = random_positions(dynamics.robot, POSES)
        jacobians = self._kinematics.jacobian(self.link, poses)
        self.axes = arm_directions(jacobians, directions, self.link)
        own = self.axes @ jacobians
        mobility = own @ np.linalg.solve(dynamics.mass_matrix(poses), own.transpose(0, 2, 1))
        usual = np.sqrt(np.median(np.diagonal(mobility, axis1=1, axis2=2), axis=0))
        self._scale = 1.0 / np.where(usual > 0.0, usual, 1.0)
        rank = int(np.linalg.matrix_rank(own, tol=LOST * float(np.abs(own).max())).max())
        eigenvalues = np.linalg.eigvalsh(mobility * np.outer(self._scale, self._scale))[:, -rank:]
        self._floor_ratio = floor
        self._floor = floor / float(np.median((1.0 / (eigenvalues + ROUNDING)).sum(1)))
        whole = np.abs(self.axes) == 1.0
        self._rows = tuple(map(int, np.argmax(whole, 1))) if whole.any(1).all() else None

    @property
    def scales(self) -> tuple[Array, Array]:
        """Typical mobility of this arm, which scales the damping: numbers that depend on the model's parameters."""
        return self._scale, np.array([self._floor])

    def scaled(self, scales: Array) -> TaskSpace:
        """The same task with other :attr:`scales`, one after the other; for code in which they are symbols."""
        twin = copy.copy(self)
        twin._scale, twin._floor = scales[:-1], scales[-1]
        return twin

    def pose(self, q: Array) -> Array:
        """Pose of the link in the root link's frame, (4, 4)."""
        return self._kinematics.pose(self.link, q)

    def jacobian(self, q: Array) -> Array:
        """J (k, n): ẋ = J q̇."""
        return self.chosen(self.full_jacobian(q))

    def full_jacobian(self, q: Array) -> Array:
        """The Jacobian of the link in all directions, (6, n)."""
        return self._kinematics.jacobian(self.link, q)

    def consistent_inverse(self, q: Array, mass: Array) -> Array:
        """J̄ (n, k) at q (n,) with the mass matrix M (n, n): J̄ᵀ τ is the force at the task that efforts τ come to."""
        jacobian = self.jacobian(q)
        moved = solve_positive(mass, jacobian.T)
        return moved @ self._inverted(symmetric(jacobian @ moved))

    def drift(self, q: Array, qd: Array) -> Array:
        """J̇ q̇ (k,), so that ẍ = J q̈ + J̇ q̇."""
        return self.chosen(self._kinematics.drift(self.link, q, qd))

    def chosen(self, rows: Array) -> Array:
        """Components of a twist or wrench (6,), or of each column of (6, m), in the directions that count."""
        return rows[list(self._rows)] if self._rows is not None else self.axes @ rows

    def terms(self, q: Array, qd: Array) -> TaskTerms:
        """Λ, J̄, N, μ and p, and the terms of the joints that they are made of.

        Args:
            q: positions (n,) in [rad] or [m].
            qd: velocities (n,) in [rad/s] or [m/s].
        """
        jacobian, drift = self.jacobian(q), self.drift(q, qd)
        mass, rest = self.dynamics.mass_matrix(q), np.zeros(len(q))
        gravity, centrifugal, *_ = self.dynamics.terms(q, qd, rest, rest)
        moved = solve_positive(mass, jacobian.T)  # M⁻¹ Jᵀ
        mobility = symmetric(jacobian @ moved)
        inertia, clearance = self._inverted(mobility), self._least(mobility) / self._floor * self._floor_ratio
        inverse = moved @ inertia
        null = np.eye(len(q)) - jacobian.T @ inverse.T
        coriolis, weight = inverse.T @ centrifugal - inertia @ drift, inverse.T @ gravity
        return TaskTerms(
            jacobian, drift, inertia, inverse, null, coriolis, weight, mass, centrifugal, gravity, clearance
        )

    def _least(self, mobility: Array) -> Array:
        """σ of J M⁻¹ Jᵀ (k, k)."""
        one = np.eye(len(mobility))
        scaled = mobility * np.outer(self._scale, self._scale) + ROUNDING * one
        return 1.0 / np.trace(solve_positive(scaled, one))

    def _inverted(self, mobility: Array) -> Array:
        """Λ of J M⁻¹ Jᵀ (k, k), damped near singularities."""
        scale, floor, one = np.outer(self._scale, self._scale), self._floor, np.eye(len(mobility))
        scaled = mobility * scale
        least = self._least(mobility)
        damping = floor * np.maximum(1.0 - least / floor, 0.0) ** 2
        return symmetric(solve_positive(scaled + damping * one, one)) * scale


def arm_directions(jacobians: Array, directions: str, link: str) -> Array:
    """The directions that count, as orthonormal rows over x, y, z, rx, ry, rz, (k, 6).

    Args:
        jacobians: of the link in many poses (N, 6, n).
        directions: names of those that count; those the arm has if empty.
        link: its name.

    Raises:
        InputError: no such direction, or no joint moves the link in one that is named.
    """
    units = np.eye(6)
    extent = np.sqrt((jacobians**2).sum((0, 2)))
    if directions.strip():
        names = directions.split()
        unknown = [name for name in names if name not in DIRECTIONS]
        if unknown or len(set(names)) < len(names):
            raise InputError("directions", f"must be some of {' '.join(DIRECTIONS)}, each once", directions)
        chosen = [DIRECTIONS.index(name) for name in names]
        missing = [name for name, row in zip(names, chosen, strict=True) if extent[row] <= LOST * extent.max()]
        if missing:
            raise InputError("directions", f"no joint moves {link!r} along {missing[0]}", directions)
        return units[chosen]
    kept = extent > LOST * extent.max()
    stacked = np.concatenate(list(jacobians), axis=1)
    rank = np.linalg.matrix_rank(stacked, tol=LOST * np.linalg.norm(stacked, 2))
    return units[kept] if rank == kept.sum() else np.linalg.svd(stacked)[0][:, :rank].T


def geometric_mean(first: Array, second: Array) -> Array:
    """A # B of two symmetric positive definite matrices (k, k): A½ (A⁻½ B A⁻½)½ A½.

    With a mass matrix Λ and a stiffness K, the damping 2 ζ (Λ # K) gives every mode of Λ ẍ + D ẋ + K x = 0 the ratio ζ.
    The mean is the common limit of the arithmetic and the harmonic mean, taken in turns, which converge quadratically.

    Source: Ando, Li, Mathias, Geometric means, Linear Algebra and its Applications 385 (2004), section 1; the damping:
    Albu-Schäffer, Ott, Frese, Hirzinger, Cartesian impedance control of redundant robots, ICRA 2003, section 3.2.

    Args:
        first: A.
        second: B, or zeros, whose mean with A is zero. In a direction where B alone is zero, the result is not: it is
            A √r / 256 with r = tr(B) / tr(A).
    """
    ratio = np.trace(second) / np.trace(first)
    upper, lower = first, second / (ratio + TINY)
    for _ in range(MEANS):
        total = upper + lower
        lower = symmetric(2.0 * upper @ solve_positive(total, lower))
        upper = total / 2.0
    return upper * np.sqrt(ratio)


MEANS = 8
"""Number of steps of :func:`geometric_mean`: enough for eigenvalues of A⁻¹ B that differ by a factor of 10⁴."""
