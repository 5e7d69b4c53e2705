"""A motion on a mesh as points that lie close enough for its efforts to be straight between them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.control.trajectory import Trajectory
from robodyn_ros.planning.scheme import Scheme
from robodyn_ros.robot.pose import Array

PIECES = 32
"""An interval becomes so many pieces at most."""


class Sampled(NamedTuple):
    """See the module."""

    trajectory: Trajectory  # through K points, with efforts
    interval: NDArray[np.intp]  # of the mesh in which each piece lies (K - 1,)
    begins: NDArray[np.bool_]  # whether the piece begins the interval (K - 1,)


def sample(scheme: Scheme, curve: Trajectory, effort: Array, tolerance: Array) -> Sampled:
    """See the module.

    Args:
        scheme: of the motion.
        curve: through all points of the mesh.
        effort: at these points (K, n).
        tolerance: by how much efforts may deviate from straight lines (n,).
    """
    size = scheme.inner + 1
    assert curve.velocities is not None and curve.accelerations is not None
    times, rows, interval, begins = [], [], [], []
    for k, start in enumerate(range(0, len(effort) - 1, size)):
        own = effort[start : start + size + 1]
        # A parabola through three points leaves the straight lines through m + 1 of its points by D / (2 m²), with D
        # its second difference.
        bend = np.abs(np.diff(own, 2, axis=0)).max(axis=0) if scheme.inner else np.zeros_like(tolerance)
        pieces = int(np.clip(size * np.ceil(np.sqrt((bend / tolerance).max() / 2.0) / size), size, PIECES))
        for piece in range(pieces):
            share = piece / pieces
            if piece * size % pieces == 0:
                node = start + piece * size // pieces
                motion = curve.positions[node], curve.velocities[node], curve.accelerations[node]
                times.append(curve.times[node])
            else:
                times.append(curve.times[start] + share * (curve.times[start + size] - curve.times[start]))
                motion = curve.sample(float(times[-1]))
            rows.append((*motion, scheme.effort(own, share)))
            interval.append(k)
            begins.append(piece == 0)
    times.append(curve.times[-1])
    rows.append((curve.positions[-1], curve.velocities[-1], curve.accelerations[-1], effort[-1]))
    columns = (np.array([row[part] for row in rows]) for part in range(4))
    return Sampled(Trajectory(np.array(times), *columns), np.array(interval), np.array(begins))
