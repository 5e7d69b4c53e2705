"""The Dynamics interface: the contract of every plugin in the group ``robodyn_ros.dynamics``.

    M(q) q̈ + C(q, q̇) q̇ + g(q) = τ

Every method takes one state, arrays of shape (n,), or N of them, shape (N, n), in the order of ``robot.joints`` and
in SI units: [rad] or [m], and [N·m] or [N]. Friction is not part of it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robodyn_ros.errors import InputError
from robodyn_ros.robot import Robot
from robodyn_ros.robot.pose import read_only

Array = NDArray[np.float64]

STANDARD_GRAVITY = (0.0, 0.0, -9.81)
"""Gravity in the root link's frame unless told otherwise [m/s²]."""


class Energy(NamedTuple):
    """Mechanical energy in [J], scalars or (N,). Potential is zero for centres of mass at the root link's origin."""

    kinetic: Array
    potential: Array


class Dynamics(ABC):
    """The equations of motion of one arm."""

    def __init__(self, robot: Robot, gravity: Sequence[float] = STANDARD_GRAVITY) -> None:
        """
        Args:
            robot: the arm.
            gravity: acceleration of free fall in the root link's frame, (3,) in [m/s²].

        Raises:
            InputError: gravity is not three finite numbers.

        """
        try:
            vector = np.asarray(gravity, dtype=float)
        except (TypeError, ValueError):
            vector = np.full(3, np.nan)
        if vector.shape != (3,) or not np.isfinite(vector).all():
            raise InputError("gravity", f"must be 3 finite numbers [m/s²], not {gravity!r}", gravity)
        self.robot = robot
        self.gravity_vector = read_only(vector)

    @abstractmethod
    def inverse(self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike) -> Array:
        """Efforts τ (n,) or (N, n) that produce accelerations q̈."""

    @abstractmethod
    def forward(self, q: ArrayLike, qd: ArrayLike, tau: ArrayLike) -> Array:
        """Accelerations q̈ (n,) or (N, n) that efforts τ produce."""

    @abstractmethod
    def mass_matrix(self, q: ArrayLike) -> Array:
        """M(q), symmetric and positive definite, (n, n) or (N, n, n)."""

    @abstractmethod
    def coriolis_matrix(self, q: ArrayLike, qd: ArrayLike) -> Array:
        """C(q, q̇) by Christoffel symbols, so that Ṁ - 2C is skew-symmetric, (n, n) or (N, n, n)."""

    @abstractmethod
    def gravity(self, q: ArrayLike) -> Array:
        """g(q), the efforts that hold the arm at rest, (n,) or (N, n)."""

    @abstractmethod
    def energy(self, q: ArrayLike, qd: ArrayLike) -> Energy:
        """Kinetic and potential energy in [J]."""
