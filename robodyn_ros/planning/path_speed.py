"""How fast along a path: toppra's answer, with this package's dynamics as its constraint on efforts."""

from __future__ import annotations

import itertools
from typing import Any, NamedTuple

import numpy as np

from robodyn_ros.errors import ConfigurationError, InputError
from robodyn_ros.planning.problem import Problem
from robodyn_ros.robot.pose import Array


def spline(stops: tuple[Array, ...]) -> Any:
    """Through the stops; the parameter grows with the root of the distance, which keeps it from overshooting (Lee,
    Choosing nodes in parametric curve interpolation, Computer-Aided Design 21 (1989)).
    """
    toppra = _toppra()
    apart = [stops[0], *(b for a, b in itertools.pairwise(stops) if np.abs(b - a).max() > 1e-9)]
    if len(apart) < 2:
        raise InputError("goal", "is where the arm is already", stops[-1])
    knots = np.concatenate(([0.0], np.cumsum(np.sqrt(np.linalg.norm(np.diff(apart, axis=0), axis=1)))))
    return toppra.SplineInterpolator(knots / knots[-1], np.array(apart))


class Speeds(NamedTuple):
    """How fast along the path: pieces of constant s̈."""

    s: Array  # at the grid points (M,)
    sd: Array  # ṡ there [1/s]
    knots: Array  # of the stops on the path

    @property
    def times(self) -> Array:
        """At the grid points (M,) [s]."""
        return np.concatenate(([0.0], np.cumsum(2.0 * np.diff(self.s) / (self.sd[:-1] + self.sd[1:]))))

    def at(self, path: Any, t: Array) -> tuple[Array, Array]:
        """Position and velocity (K, n) at times (K,); at rest outside."""
        times = self.times
        piece = np.clip(np.searchsorted(times, t, side="right") - 1, 0, len(times) - 2)
        since = np.clip(t, 0.0, times[-1]) - times[piece]
        rate = (np.diff(self.sd) / np.diff(times))[piece]
        s = self.s[piece] + since * (self.sd[piece] + rate * since / 2.0)
        sd = np.where((t < 0.0) | (t > times[-1]), 0.0, self.sd[piece] + rate * since)
        return path(s), path(s, 1) * sd[:, np.newaxis]


def fastest(problem: Problem, path: Any, grid: int, share: float) -> Speeds | None:
    """The fastest motion that stays within a share of the limits; None if there is none."""
    toppra = _toppra()
    limits, dynamics = problem.bounds, problem.dynamics
    viscous, coulomb = dynamics.parameters.viscous, dynamics.parameters.coulomb
    constraints: list[Any] = []
    if np.isfinite(limits.velocity).all():
        constraints.append(toppra.constraint.JointVelocityConstraint(_range(share * limits.velocity)))
    if np.isfinite(limits.acceleration).all():
        constraints.append(toppra.constraint.JointAccelerationConstraint(_range(share * limits.acceleration)))
    if np.isfinite(limits.effort).all():
        # Friction at its greatest: what grows with ṡ has no place in the programs that TOPP-RA solves.
        friction = coulomb + np.multiply(viscous, limits.velocity, out=np.zeros_like(viscous), where=viscous > 0.0)
        if not np.isfinite(friction).all():
            raise InputError("velocity limit", "of joints with viscous friction must be finite", limits.velocity)

        def rigid(q: Array, qd: Array, qdd: Array) -> Array:
            return np.asarray(dynamics.inverse(q, qd, qdd) - viscous * qd - coulomb * np.sign(qd))

        torque = toppra.constraint.JointTorqueConstraint(
            rigid, _range(share * limits.effort), friction, toppra.constraint.DiscretizationType.Interpolation
        )
        constraints.append(torque)
    if not constraints:
        raise InputError("limits", "of speed, acceleration or effort must be finite for time scaling", limits)
    knots = np.asarray(path.waypoints[0])
    points = np.unique([np.linspace(a, b, grid + 1) for a, b in itertools.pairwise(knots)])
    speeds = toppra.algorithm.TOPPRA(constraints, path, gridpoints=points).compute_parameterization(0.0, 0.0)[1]
    if speeds is None or not np.isfinite(speeds).all():
        return None
    return Speeds(points, np.asarray(speeds).ravel(), knots)


def _range(limit: Array) -> Array:
    return np.column_stack((-limit, limit))


def _toppra() -> Any:
    try:
        import logging

        import toppra
        import toppra.algorithm
        import toppra.constraint
    except ImportError as cause:
        raise ConfigurationError(f'time scaling needs toppra: pip install "robodyn_ros[planning]" ({cause})') from cause
    logging.getLogger("toppra").setLevel(logging.ERROR)
    return toppra
