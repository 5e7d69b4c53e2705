# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The criterion and the constraints of exciting motions, with their derivatives with respect to the motion.

The criterion is D-optimality, I = - log det Σ Ybᵀ W Yb over the samples. It does not depend on the units or the choice
of the base parameters (Swevers et al., 1997; :mod:`robodyn_ros.identification.excitation`). Its derivative goes through
the regressor in reverse mode, in compiled code.

Each constraint is a number that must not exceed 1: the distance of a position from the middle over half its range, a
speed or an effort over its limit, the distance of a link from the middle of the workspace or, where that is open, from
its wall.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from robodyn_ros.dynamics.rnea import RNEA
from robodyn_ros.engine import Kernel, Program, ca, digest
from robodyn_ros.errors import InputError
from robodyn_ros.identification.estimation.base_parameters import BaseParameters
from robodyn_ros.identification.settings import ExcitationSettings, Workspace
from robodyn_ros.kinematics import Kinematics
from robodyn_ros.kinematics.tree import build_tree, geometry
from robodyn_ros.robot import Array, position_ranges

PENALTY_START = 0.975
"""Constraint at which the penalty starts, so that the limits hold between the samples too."""

MotionArrays = tuple[Array, ...]
"""Positions, velocities and accelerations, each (N, n)."""

Constraints = Iterator[tuple[list[str], Array, dict[int, Array]]]
"""Groups of constraints: the name of each, their values (N, m), and their derivatives (N, m, n): by the place of a part
of the motion, of those on which they depend.
"""


class DOptimality:
    """The criterion for motions of one arm; ``rank`` is the number of base parameters."""

    def __init__(self, dynamics: RNEA, base: BaseParameters, scale: Array) -> None:
        """
        Args:
            dynamics: the arm.
            base: its base parameters.
            scale: effort of each joint that counts as equally uncertain (n,) in [N·m] or [N].
        """
        self._dynamics, self._base, self._scale, self.rank = dynamics, base, scale, base.rank
        self._reverse = Kernel(self._program(), dynamics.symbols, compiled=dynamics.compiled)

    def weighted(self, q: Array, qd: Array, qdd: Array) -> Array:
        """Regressor of the base parameters over the scale, (N n, r)."""
        Y = self._base.regressor(self._dynamics.regressor(q, qd, qdd))
        return (Y / self._scale[:, None]).reshape(-1, self._base.rank)

    def condition(self, q: Array, qd: Array, qdd: Array) -> float:
        """Condition number of the weighted regressor, its columns scaled to length 1."""
        rows = self.weighted(q, qd, qdd)
        return float(np.linalg.cond(rows / np.linalg.norm(rows, axis=0)))

    def loss(self, q: Array, qd: Array, qdd: Array) -> tuple[float, tuple[Array, Array, Array]]:
        """I of a motion (N, n), and its derivatives by q, q̇ and q̈.

        I is infinite if the motion does not excite every base parameter.
        """
        rows = self.weighted(q, qd, qdd)
        length = np.linalg.norm(rows, axis=0)
        try:
            unit = rows / np.where(length > 0.0, length, 1.0)
            factor = np.linalg.cholesky(unit.T @ unit)
        except np.linalg.LinAlgError:
            return np.inf, (np.zeros_like(q),) * 3
        value = -2.0 * float(np.log(np.diag(factor)).sum() + np.log(length).sum())
        inverse = np.linalg.inv(factor)
        slope = -2.0 * (unit @ (inverse.T @ inverse)) / length  # -2 F (FᵀF)⁻¹
        seed = (slope.reshape(len(q), -1, self._base.rank) / self._scale[:, None]).reshape(len(q), -1)
        return value, self._reverse.call(q, qd, qdd, np.ascontiguousarray(seed))

    def _program(self) -> Program:
        n, dynamics = self._dynamics.robot.n, self._dynamics
        chosen = self._base.columns[self._base.independent].tolist()

        def results(*given: ca.SX) -> list[ca.SX]:
            *states, seed, parameters = given
            (regressor,) = dynamics.expressions("regressor", states, parameters)
            product = ca.dot(ca.vec(regressor[:, chosen].T), seed)
            return [ca.gradient(product, state) for state in states]

        key = digest(*geometry(build_tree(dynamics.robot)), chosen, source=__name__)
        inputs = (("q", n), ("qd", n), ("qdd", n), ("seed", n * len(chosen)))
        return Program.of("regressor_reverse", key, inputs, len(dynamics.symbols), ((n,),) * 3, results)


KINDS = ("position", "velocity", "acceleration", "effort")
"""The limited quantities of a joint."""


class ExcitationLimits:
    """The constraints on motions of one arm.

    Attributes:
        middle: middle of each joint's range (n,).
        half: half of each joint's range without the margins (n,).
        speed: greatest speeds (n,), inf where there is no limit.
        acceleration: greatest accelerations (n,), likewise; with them the series keeps to the limits of jerk too.
        jerk: greatest jerks (n,), likewise.
        effort: greatest efforts (n,), inf where there is no limit.
    """

    def __init__(self, dynamics: RNEA, settings: ExcitationSettings, workspace: Workspace | None) -> None:
        """
        Args:
            dynamics: the arm, with friction.
            settings: margins of the limits.
            workspace: the box in which links stay; none unless given.

        Raises:
            InputError: a prismatic joint has no position limits, limits leave a joint no motion, or the workspace is
                wrong.
        """
        robot = dynamics.robot
        lower, upper = position_ranges(robot)
        for k, joint in enumerate(robot.joints):
            if joint.is_prismatic and not np.isfinite([robot.lower[k], robot.upper[k]]).all():
                raise InputError("robot", f"joint {joint.name!r} slides without limits; the URDF must have them")
            if not upper[k] > lower[k]:
                limits = f"{lower[k]:g}, {upper[k]:g}"
                raise InputError("robot", f"joint {joint.name!r} cannot move: its limits are {limits}")
        self.middle, self.half = (lower + upper) / 2.0, (upper - lower) * (0.5 - settings.position_margin)
        self.speed = settings.velocity_ratio * robot.velocity_limit
        # Bernstein's inequality: a sum of harmonics up to the rate ω changes by ω times its greatest value at most.
        self.jerk, fastest = robot.jerk_limit, 2.0 * np.pi * settings.harmonics / settings.period
        self.acceleration = np.minimum(robot.symmetric_acceleration_limit, self.jerk / fastest)
        self.effort = settings.effort_ratio * robot.effort_limit
        self._dynamics = dynamics
        self._names = {kind: [f"{kind} of joint {name!r}" for name in robot.joint_names] for kind in KINDS}
        self._box = None if workspace is None else workspace.checked(robot)
        self._kinematics = Kinematics(robot)

    def penalty(self, *motion: Array) -> tuple[float, list[Array]]:
        """Sum over constraints of the mean square beyond ``PENALTY_START``, and its derivatives by the motion."""
        total, slopes = 0.0, [np.zeros_like(part) for part in motion]
        for _, constraint, derivatives in self._constraints(motion):
            beyond = np.maximum(constraint - PENALTY_START, 0.0)  # (N, m)
            total += float((beyond**2).sum()) / len(beyond)
            seed = 2.0 / len(beyond) * beyond
            for place, derivative in derivatives.items():
                slopes[place] += np.einsum("im,imj->ij", seed, derivative)
        return total, slopes

    def worst(self, motion: MotionArrays) -> tuple[float, str]:
        """The greatest of all constraints, at most 1 within limits, and its name."""
        return max(
            (float(constraint.max()), names[int(constraint.max(axis=0).argmax())])
            for names, constraint, _ in self._constraints(motion, slopes=False)
        )

    def _constraints(self, motion: MotionArrays, slopes: bool = True) -> Constraints:
        q, qd, qdd = motion
        one = np.eye(q.shape[1])
        names = self._names
        parts = (q - self.middle, self.half), (qd, self.speed), (qdd, self.acceleration)
        for place, (kind, (values, limit)) in enumerate(zip(KINDS, parts, strict=False)):
            yield names[kind], np.abs(values) / limit, {place: np.sign(values)[:, :, None] * one / limit[:, None]}
        if np.isfinite(self.effort).any():
            effort = self._dynamics.inverse(q, qd, qdd)
            factor = (np.sign(effort) / self.effort)[:, :, None]
            derivatives = self._dynamics.inverse_derivatives(q, qd, qdd) if slopes else ()
            yield names["effort"], np.abs(effort) / self.effort, {k: factor * d for k, d in enumerate(derivatives)}
        if self._box is not None:
            yield from self._walls(q, *self._box)

    def _walls(self, q: Array, lower: Array, upper: Array, links: tuple[str, ...]) -> Constraints:
        scale = np.where(np.isfinite(upper - lower), (upper - lower) / 2.0, 1.0)
        for link in links:
            position = self._kinematics.pose(link, q)[:, :3, 3]
            jacobian = self._kinematics.jacobian(link, q)[:, :3] / scale[:, None]
            for wall, side in ((lower, -1.0), (upper, 1.0)):
                closed = np.isfinite(wall)
                if closed.any():
                    beyond = side * (position - wall)[:, closed] / scale[closed] + 1.0
                    names = [f"place of link {link!r} in the workspace box"] * int(closed.sum())
                    yield names, beyond, {0: side * jacobian[:, closed]}
