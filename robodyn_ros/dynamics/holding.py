# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The greatest payload of an arm, posture by posture and over its workspace: its joints just bear it at rest.

    τ = g(q) - m Jᵀ(q) γ,      |τᵢ| ≤ limitᵢ

with the free fall γ and the linear Jacobian at the point that holds the mass. The efforts are linear in m, so that the
greatest payload of a posture has a closed form.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from robodyn_ros.checks import as_real, as_states, check
from robodyn_ros.dynamics.base import Dynamics
from robodyn_ros.kinematics.forward import ORIGIN, Kinematics
from robodyn_ros.kinematics.workspace import Cells, cells
from robodyn_ros.robot import Array, random_positions


class HoldingMap(NamedTuple):
    """The greatest payload over the workspace: in each cell that of the strongest posture found."""

    cells: Cells  # values in [kg]
    q: Array  # that posture of each cell (K, n) in [rad] or [m]

    def holds(self, mass: float) -> Array:
        """Centres (k, 3) of the cells in which the arm can hold a mass [kg]."""
        return self.cells.centers[self.cells.values >= mass]


def greatest_payload(
    dynamics: Dynamics,
    kinematics: Kinematics,
    link: str,
    q: ArrayLike,
    point: ArrayLike = ORIGIN,
    limits: ArrayLike | None = None,
) -> Array:
    """Return the greatest mass that the arm can hold at rest, () or (N,) in [kg]; NaN where it cannot hold itself.

    Args:
        dynamics: of the arm, with the payload that it has anyway.
        kinematics: of the same arm.
        link: that holds the mass.
        q: positions (n,) or (N, n) in [rad] or [m].
        point: of the link, in its frame, where the mass is (3,) in [m].
        limits: greatest efforts (n,) in [N·m] or [N]; the URDF's unless given, inf where there is none.

    Raises:
        InputError: no such link, an array is wrong, or limits are negative.
    """
    n = dynamics.robot.n
    bound = as_real("limits", dynamics.robot.effort_limit if limits is None else limits, "real numbers")
    check(bound.shape == (n,) and (bound >= 0.0).all(), "limits", f"{n} numbers from 0 up", limits)
    (given,) = as_states(("q",), (q,), (n,))
    linear = kinematics.jacobian(link, given, "aligned", point)[..., :3, :]
    bare, weight = dynamics.gravity(given), -np.einsum("...ij,i->...j", linear, dynamics.gravity_vector)
    with np.errstate(divide="ignore", invalid="ignore"):
        masses = np.where(weight == 0.0, np.inf, (np.copysign(bound, weight) - bare) / weight)
    return np.where((np.abs(bare) <= bound).all(axis=-1), masses.min(axis=-1), np.nan)


def holding_map(
    dynamics: Dynamics,
    kinematics: Kinematics,
    link: str,
    *,
    size: float,
    count: int = 200_000,
    point: ArrayLike = ORIGIN,
    limits: ArrayLike | None = None,
    seed: int = 1,
) -> HoldingMap:
    """Return the greatest payload cell by cell: that of the strongest of many postures within the position limits.

    Args:
        dynamics: as :func:`greatest_payload`.
        kinematics: likewise.
        link: likewise.
        size: edge of a cell [m].
        count: number of postures.
        point: as :func:`greatest_payload`.
        limits: likewise.
        seed: seed of the random postures.
    """
    q = random_positions(dynamics.robot, count, seed)
    greatest = greatest_payload(dynamics, kinematics, link, q, point, limits)
    found = cells(kinematics.pose(link, q, point)[:, :3, 3], greatest, size)
    return HoldingMap(found, q[found.best])
