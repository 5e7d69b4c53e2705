# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Base parameters: the identifiable combinations of an arm's parameters.

The columns of the regressor Y(q, q̇, q̈) depend on each other. With independent columns Yb and the others Yd = Yb X,

    Y θ = Yb (θb + X θd) = Yb β,    β = K θ,    K = [1 X]

and no motion determines more than β (Gautier, Numerical calculation of the base inertial parameters of robots, Journal
of Robotic Systems 8(4), 1991). The rank comes from a QR decomposition with column pivoting of the regressor at many
random states. Any maximal set of independent columns is valid. This module prefers bodies closer to the base. Within a
body it prefers the inertia, then the first moment, then the mass. Masses are thus added to the bodies that carry them,
as in textbooks (Khalil and Dombre, Modeling, Identification and Control of Robots, 2002, section 9.4).

Parameters are named and ordered as in ``CompiledDynamics.theta``: for each body mass, first moment and inertia about
the origin of its frame, ``m(hand)``, ``mx(hand)``, …, ``Izz(hand)``; then ``armature(wrist)``, …, ``viscous(wrist)``,
…, ``coulomb(wrist)``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import qr, solve_triangular

from robodyn_ros.dynamics.parameters import STANDARD_GRAVITY
from robodyn_ros.dynamics.rnea import RNEA
from robodyn_ros.errors import InputError
from robodyn_ros.robot import Array, Indices, Robot

INERTIAL = ("m", "mx", "my", "mz", "Ixx", "Ixy", "Iyy", "Ixz", "Iyz", "Izz")
"""The ten standard parameters of a body."""

MOMENT_DEGREE = (0, 1, 1, 1, 2, 2, 2, 2, 2, 2)
"""Power of length in the unit of each of the ten."""

JOINT = ("armature", "viscous", "coulomb")
"""The parameters of a joint."""

TOLERANCE = 1e-7
"""Relative size below which the rest of a column counts as rounding: of the arithmetic, 1e-13 here, and of URDFs, where
right angles are often written with ten digits. A difference this small cannot be measured either."""

OVERSAMPLING = 4
"""Approximate number of equations per parameter."""


@dataclass(frozen=True, eq=False)
class BaseParameters:
    """The base parameters of an arm, or of some of its parameters.

    Attributes:
        names: names of the p parameters that are combined.
        columns: their places in θ, (p,).
        independent: places, among the p, of the independent parameters, (rank,).
        combination: K with β = K θ[columns], (rank, p).
        gap: the rest of the least independent column and that of the greatest dependent one, relative to their lengths;
            a clear rank has a wide gap.
    """

    names: tuple[str, ...]
    columns: Indices
    independent: Indices
    combination: Array
    gap: tuple[float, float]

    @property
    def rank(self) -> int:
        """Number of base parameters."""
        return len(self.independent)

    def values(self, theta: Array) -> Array:
        """β (rank,) of all parameters θ (p,)."""
        return self.combination @ theta[self.columns]

    def regressor(self, regressor: Array) -> Array:
        """Yb (…, rank) of a regressor Y (…, p) of all parameters."""
        return regressor[..., self.columns[self.independent]]

    @property
    def invisible(self) -> tuple[str, ...]:
        """Names of the parameters that have no effect on the efforts."""
        seen = np.abs(self.combination).max(axis=0, initial=0.0) > 0.0
        return tuple(name for name, visible in zip(self.names, seen, strict=True) if not visible)

    def partners(self, index: int) -> tuple[str, ...]:
        """Names of the parameters that are identifiable only together with one; none if it is identifiable alone or
        never.

        Args:
            index: place of the parameter among the p.
        """
        rows = self.combination[:, index] != 0.0
        together = (self.combination[rows] != 0.0).any(axis=0)
        together[index] = False
        return tuple(name for name, chosen in zip(self.names, together, strict=True) if chosen)

    def text(self, digits: int = 6) -> tuple[str, ...]:
        """Each base parameter as a sum, such as ``Iyy(arm) + 0.25 m(hand)``; lengths are numbers, in [m]."""
        lines = []
        for own, row in zip(self.independent, self.combination, strict=True):
            terms = [self.names[own]]
            for k in np.flatnonzero(row):
                if k != own:
                    size = "" if abs(abs(row[k]) - 1.0) < TOLERANCE else f"{abs(row[k]):.{digits}g} "
                    terms.append(f"{'-' if row[k] < 0.0 else '+'} {size}{self.names[k]}")
            lines.append(" ".join(terms))
        return tuple(lines)


def base_parameters(
    robot: Robot,
    *,
    inertial: bool = True,
    armature: bool = False,
    viscous: bool = False,
    coulomb: bool = False,
    gravity: ArrayLike = STANDARD_GRAVITY,
    compiled: bool = True,
) -> BaseParameters:
    """The base parameters of an arm, for any of its motions.

    Args:
        robot: the arm.
        inertial: include masses, first moments and inertias.
        armature: include the rotors' inertias.
        viscous: include viscous friction.
        coulomb: include Coulomb friction.
        gravity: acceleration of free fall in the root link's frame, (3,) in [m/s²].
        compiled: compile the regressor where there is a compiler; False is quicker for an arm that is used once.

    Raises:
        InputError: no parameters are included.
    """
    n, bodies = robot.n, len(robot.bodies)
    kinds = np.repeat([inertial, armature, viscous, coulomb], [10 * bodies, n, n, n])
    if not kinds.any():
        raise InputError("settings", "leave nothing to identify", kinds)
    rng = np.random.default_rng(0)
    count = OVERSAMPLING * (len(kinds) // n + 1)
    low, high = np.maximum(robot.lower, -np.pi), np.minimum(robot.upper, np.pi)
    q = rng.uniform(np.minimum(low, high - 0.1), np.maximum(high, low + 0.1), (count, n))
    qd, qdd = rng.normal(size=(2, count, n)) * np.array([[[3.0]], [[10.0]]])
    Y = RNEA(robot, gravity=gravity, compiled=compiled).regressor(q, qd, qdd).reshape(count * n, -1)
    columns = np.flatnonzero(kinds)
    names = parameter_names(robot)
    order = _preferred_order(bodies, len(kinds), columns)
    return group_parameters(Y[:, columns], columns, tuple(names[k] for k in columns), order)


def group_parameters(matrix: Array, columns: Indices, names: Sequence[str], order: Sequence[int]) -> BaseParameters:
    """The base parameters that a matrix of regressor rows determines.

    Args:
        matrix: regressor of the parameters, (rows, p).
        columns: their places in θ, (p,).
        names: their names, (p,).
        order: places among the p; earlier ones are preferred as independent.
    """
    length = np.linalg.norm(matrix, axis=0)
    # The effects of parameters differ by orders of magnitude, so each column is scaled by its own length.
    scale = np.where(length > TOLERANCE * length.max(initial=0.0), length, np.inf)
    reduced: Array = np.asarray(np.linalg.qr(matrix / scale, mode="r"))
    pivoted = np.abs(np.diag(qr(reduced, mode="r", pivoting=True)[0]))
    rank = int(np.count_nonzero(pivoted > TOLERANCE * pivoted.max(initial=0.0)))
    gap = (float(pivoted[rank - 1]) if rank else 0.0, float(pivoted[rank]) if rank < len(pivoted) else 0.0)
    independent = _first_independent(reduced, order, rank)
    orthogonal, triangular = np.linalg.qr(reduced[:, independent])
    coefficients = solve_triangular(triangular, orthogonal.T @ reduced)
    coefficients[np.abs(coefficients) < TOLERANCE] = 0.0
    coefficients[:, independent] = np.eye(rank)
    combination = coefficients * np.where(np.isfinite(scale), scale, 0.0) / scale[independent, None]
    return BaseParameters(tuple(names), np.asarray(columns), independent, combination, gap)


def _first_independent(unit: Array, order: Sequence[int], rank: int) -> Indices:
    """The first ``rank`` columns, in the given order, that do not depend on those before them."""
    basis = np.empty((len(unit), 0))
    chosen: list[int] = []
    for column in order:
        rest = unit[:, column]
        for _ in range(2):  # twice is enough (Giraud, Langou and Rozložník, 2005)
            rest = rest - basis @ (basis.T @ rest)
        length = np.linalg.norm(rest)
        if length > TOLERANCE and len(chosen) < rank:
            basis = np.column_stack([basis, rest / length])
            chosen.append(column)
    return np.array(chosen, dtype=np.intp)


def _preferred_order(bodies: int, count: int, columns: Indices) -> list[int]:
    """Places among the chosen columns: bodies from the base to the tip, each with inertia, first moment, mass."""
    wide = len(INERTIAL)
    every = [wide * body + k for body in range(bodies) for k in (*range(4, wide), 1, 2, 3, 0)]
    every += range(wide * bodies, count)
    place = {int(column): index for index, column in enumerate(columns)}
    return [place[column] for column in every if column in place]


def parameter_names(robot: Robot) -> tuple[str, ...]:
    """Names of θ, (p,)."""
    bodies = [f"{kind}({body.name})" for body in robot.bodies for kind in INERTIAL]
    return (*bodies, *(f"{kind}({name})" for kind in JOINT for name in robot.joint_names))


def parameter_units(robot: Robot) -> tuple[str, ...]:
    """Units of θ, (p,)."""
    bodies = [("kg", "kg m", "kg m²")[degree] for _ in robot.bodies for degree in MOMENT_DEGREE]
    slides = [joint.is_prismatic for joint in robot.joints]
    armature = ["kg" if slide else "kg m²" for slide in slides]
    viscous = ["N·s/m" if slide else "N·m·s/rad" for slide in slides]
    return (*bodies, *armature, *viscous, *(joint.effort_unit for joint in robot.joints))
