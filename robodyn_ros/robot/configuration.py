# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The configuration space of an arm.

The positions of a continuous joint lie on a circle: q and q + 2π are one position. They are subtracted, averaged and
interpolated along the shorter path, across the seam at ±π (Lynch and Park, Modern Robotics (2017), section 2.3;
averages: Mardia and Jupp, Directional Statistics (2000), section 2.2). The positions of every other joint lie on a
line, even if its range is more than one turn, because its limits distinguish the turns.
"""

from __future__ import annotations

from math import ceil, floor, isfinite

import numpy as np
from numpy.typing import ArrayLike

from robodyn_ros.errors import InputError
from robodyn_ros.robot.pose import Array
from robodyn_ros.robot.robot import Robot

TURN = 2.0 * np.pi

ROUNDING = 1e-12
"""Part of a turn by which a position may be beyond a limit and counts as at the limit."""

SPAN = np.pi
"""Random positions of a joint without limits lie within ± this [rad] or [m] of 0."""


class ConfigurationSpace:
    """The configuration space of one arm.

    Positions are (n,) or (N, n) in [rad] or [m], in the order of ``robot.joints``.

    Attributes:
        circular: True for the coordinates on a circle (n,).
        turns: True for the coordinates where a full turn gives the same pose, within their limits or not (n,).
    """

    def __init__(self, robot: Robot) -> None:
        """
        Args:
            robot: the arm. A joint that another one mimics by a fraction is on a line, because a full turn of the first
                is not a full turn of the other.
        """
        self.robot = robot
        whole = np.ones(robot.n, dtype=bool)
        for body in robot.bodies:
            whole[body.coordinate] &= not body.joint.is_prismatic and float(body.ratio).is_integer()
        self.turns = whole
        self.circular = whole & np.array([joint.type == "continuous" for joint in robot.joints])
        self._all_lines = not self.circular.any()
        lower, upper = robot.lower.tolist(), robot.upper.tolist()
        self._turning = [(joint, lower[joint], upper[joint]) for joint in np.flatnonzero(whole).tolist()]

    def difference(self, start: ArrayLike, end: ArrayLike) -> Array:
        """The difference from start to end along the shorter path, within [-π, π] on a circle."""
        straight: Array = np.subtract(end, start, dtype=np.float64)
        if self._all_lines:
            return straight
        return np.where(self.circular, straight - TURN * np.round(straight / TURN), straight)

    def distance(self, start: ArrayLike, end: ArrayLike) -> Array:
        """Norm of the difference, () or (N,); radians and metres count alike."""
        return np.linalg.norm(self.difference(start, end), axis=-1)

    def interpolate(self, start: ArrayLike, end: ArrayLike, ratio: ArrayLike) -> Array:
        """Positions between start (ratio 0) and end (ratio 1) along the shorter path.

        Args:
            start: (n,).
            end: (n,).
            ratio: one number, or (N,) for N positions.
        """
        return np.asarray(start) + np.asarray(ratio, dtype=np.float64)[..., None] * self.difference(start, end)

    def mean(self, q: ArrayLike, weights: Array | None = None) -> Array:
        """The average (n,) of positions (N, n); on a circle the direction of the mean vector, within (-π, π].

        Args:
            q: positions.
            weights: weights of the positions (N,); equal unless given.

        Raises:
            InputError: the positions cancel out on a circle, so that no direction is their average.
        """
        given = np.asarray(q, dtype=np.float64)
        straight = np.average(given, axis=0, weights=weights)
        if self._all_lines:
            return straight
        sine, cosine = (np.average(f(given), axis=0, weights=weights) for f in (np.sin, np.cos))
        lost = self.circular & (np.hypot(sine, cosine) < 1e-9)
        if lost.any():
            names = ", ".join(self.robot.joint_names[i] for i in np.flatnonzero(lost))
            raise InputError("q", f"has no average on the circle of {names}: the positions cancel out", q)
        return np.where(self.circular, np.arctan2(sine, cosine), straight)

    def near(self, reference: ArrayLike, q: ArrayLike) -> Array:
        """The same positions in the turn nearest to a reference; bit-identical if they are in that turn."""
        given = np.asarray(q, dtype=np.float64)
        if self._all_lines:
            return given
        ahead = np.round(np.subtract(given, reference) / TURN)
        return given - np.where(self.circular, TURN * ahead, 0.0)

    def unwrap(self, q: ArrayLike) -> Array:
        """A sequence of positions (N, n) without jumps at the seam; the first stays as it is."""
        given = np.asarray(q, dtype=np.float64)
        if self._all_lines:
            return given
        steps = self.difference(given[:-1], given[1:])
        return np.concatenate([given[:1], given[:1] + np.cumsum(steps, axis=0)])

    def nearest_turn(self, reference: ArrayLike, q: ArrayLike) -> Array:
        """The same pose of the arm, with every turning joint in the turn nearest to a reference and within its limits.

        Args:
            reference: (n,).
            q: (n,); the limits of a joint that no turn brings within them do not count.
        """
        found = np.array(q, dtype=np.float64)
        # Plain numbers, because a solver asks for one configuration at a time, for which NumPy takes ten times as long.
        wanted, positions = np.asarray(reference, dtype=np.float64).tolist(), found.tolist()
        for joint, lower, upper in self._turning:
            position = positions[joint]
            least, most = (lower - position) / TURN - ROUNDING, (upper - position) / TURN + ROUNDING
            least, most = (ceil(least) if isfinite(least) else least), (floor(most) if isfinite(most) else most)
            turns = round((wanted[joint] - position) / TURN)
            if least <= most:
                turns = min(max(turns, least), most)
                found[joint] = min(max(position + TURN * turns, lower), upper)
            else:
                found[joint] = position + TURN * turns
        return found


def position_ranges(robot: Robot, span: ArrayLike = SPAN) -> tuple[Array, Array]:
    """Return finite position limits (n,) and (n,) [rad] or [m].

    In place of both limits are ± ``span``; in place of one, that, or twice as far from the other limit if it is beyond.
    """
    span, (has_lower, has_upper) = np.asarray(span), np.isfinite((robot.lower, robot.upper))
    lower = np.where(has_lower, robot.lower, -span)
    upper = np.where(has_upper, robot.upper, span)
    beyond = lower >= upper  # where there is one limit alone
    upper = np.where(beyond & ~has_upper, lower + 2.0 * span, upper)
    return np.where(beyond & ~has_lower, upper - 2.0 * span, lower), upper


def random_positions(robot: Robot, count: int, seed: int = 1, span: ArrayLike = SPAN) -> Array:
    """Return positions (count, n), uniform within :func:`position_ranges`."""
    return np.random.default_rng(seed).uniform(*position_ranges(robot, span), (count, robot.n))
