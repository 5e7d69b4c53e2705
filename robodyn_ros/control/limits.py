# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Limits of an arm: of references and efforts, and those that let the drives hold it.

To hold a joint takes the gravity effort g_i(q), and to begin a motion takes M_ii(q) ``START`` in addition. The limits
of the joint must allow both::

    |g_i(q)| ≤ effort limit        |g_i(q)| + M_ii(q) START ≤ effort rate limit · RISE

Gravity that the drives add by themselves need not rise. So no payload, gravity or centre of mass can be set that the
drives do not carry, and no limits with which the law could not carry the arm. While an effort rises linearly within
``RISE``, an arm falls by g RISE² / 3, that is 13 cm.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robodyn_ros.checks import check, is_within
from robodyn_ros.control.core_library import NUMBERS
from robodyn_ros.dynamics.base import Dynamics
from robodyn_ros.errors import HoldingError, LimitError
from robodyn_ros.robot import Array, Robot, random_positions, read_only

FARTHEST, RISE, START = (NUMBERS[name] for name in ("FARTHEST", "HELD_RISE", "HELD_START"))
"""The core's greatest position of a reference, longest rise of an effort, and least acceleration in that time
(``core/memory.h``)."""

TINY = 1e-12  #: Keeps a division by an effort limit defined at zero [N·m] or [N].


@dataclass(frozen=True, eq=False)
class Limits:
    """Limits of an arm, each (n,); inf where there is no limit."""

    effort: Array  # [N·m] or [N]
    rate: Array  # of the effort, [N·m/s] or [N/s]
    velocity: Array  # [rad/s] or [m/s]

    @classmethod
    def of(
        cls, robot: Robot, effort: ArrayLike, rate: ArrayLike | None = None, velocity: ArrayLike | None = None
    ) -> Limits:
        """Checked limits of an arm; unless given, the rate has no limit and the velocity has that of the URDF.
        InputError: a limit of the wrong shape, negative or NaN.
        """
        rate = np.full(robot.n, np.inf) if rate is None else rate
        velocity = robot.velocity_limit if velocity is None else velocity
        given = {"effort_limit": effort, "rate_limit": rate, "velocity_limit": velocity}
        checked = {name: read_only(value) for name, value in given.items()}
        for name, value in checked.items():
            is_right = value.shape == (robot.n,) and (value >= 0.0).all()
            check(is_right, name, f"{robot.n} numbers from 0 up", given[name])
        return cls(*checked.values())


def saturate(effort: Array, limit: Array) -> tuple[Array, NDArray[np.bool_]]:
    """Efforts (n,) clamped to ±limit (n,), inf where there is none, and a mask (n,) of the clamped ones."""
    if is_within(effort, limit):  # as nearly always
        return effort, np.zeros(effort.shape, dtype=bool)
    clamped = np.minimum(np.maximum(effort, -limit), limit)
    return clamped, clamped != effort


def check_position_limits(name: str, robot: Robot, positions: Array, columns: list[int]) -> None:
    """Refuse (LimitError) positions, (m,) or (K, m) in [rad] or [m], outside the limits of ``robot.joints[columns]``,
    or beyond ``FARTHEST``; ``name`` is theirs, for the message.
    """
    rows = np.atleast_2d(positions)
    lower, upper = np.maximum(robot.lower[columns], -FARTHEST), np.minimum(robot.upper[columns], FARTHEST)
    if (outside := (rows < lower) | (rows > upper)).any():
        row, column = np.argwhere(outside)[0]
        joint, at = robot.joints[columns[column]], float(rows[row, column])
        raise LimitError(name, joint.name, at, float(lower[column]), float(upper[column]), joint.position_unit)


def overload(robot: Robot, limit: Array, efforts: Array) -> str:
    """A message with the joint and time at which gravity and friction alone exceed the effort limits (n,); "" if never.
    The efforts against them are those at equal time steps of a motion (K, n).
    """
    most = np.abs(efforts).max(axis=0)
    column = int(np.argmax(most / np.maximum(limit, TINY)))
    if not (over := np.abs(efforts[:, column]) > limit[column]).any():
        return ""
    joint, first = robot.joints[column], int(np.argmax(over)) / max(len(efforts) - 1, 1)
    lasts = ", also at its goal" if over[-1] else ""
    return (
        f"gravity and friction alone take up to {most[column]:.4g} {joint.effort_unit} of joint {joint.name!r}, beyond "
        f"its limit of {limit[column]:.4g}, from {first:.0%} of the motion on{lasts}: the arm will not follow there"
    )


POSES = 64  #: Number of poses, home and random ones, that are checked if the position of the arm is unknown.
HELD = 1 / 8  #: Ratio of these poses in which a joint must be held [-].
NO_WORSE = 1.01  #: Factor on the present load up to which a change is accepted where limits are too low already.


class StaticLoad(NamedTuple):
    """The efforts that hold an arm, each (n,)."""

    gravity: Array  # effort of gravity, without its sign [N·m] or [N]
    rise: Array  # effort that rises from zero: gravity, if the drive does not add it, and that of a slow motion
    where: tuple[str, ...]  # in which poses, in words, for each joint
    carried: bool  # True if something else than the drives carries the arm

    @classmethod
    def at(cls, dynamics: Dynamics, q: Array, sent: Array | float = 1.0, *, carried: bool) -> StaticLoad:
        """At a position (n,), where drives that do not add it by themselves are sent the ratio ``sent`` of gravity,
        (n,); ``carried``: something else than the drives carries the arm.
        """
        inertia = np.diagonal(dynamics.mass_matrix(q))
        weight = np.zeros(len(q)) if carried else np.abs(dynamics.gravity(q))
        return cls(weight, sent * weight + START * inertia, ("where the arm is",) * len(q), carried)

    @classmethod
    def anywhere(cls, dynamics: Dynamics, sent: Array | float = 1.0, *, carried: bool) -> StaticLoad:
        """Joint by joint, in the easiest ``HELD`` of many poses; arguments are those of :meth:`at`."""
        robot = dynamics.robot
        poses = np.array([robot.home, *random_positions(robot, POSES - 1)])
        weights = np.sort(np.abs(dynamics.gravity(poses)) * (not carried), axis=0)
        gravity = weights[round(HELD * POSES) - 1]
        start = START * np.diagonal(dynamics.mass_matrix(poses), axis1=1, axis2=2).min(axis=0)
        often = f"in {1.0 - HELD:.0%} of all poses"
        where = [
            "in every pose" if least > 0.99 * most else often for least, most in zip(weights[0], gravity, strict=True)
        ]
        return cls(gravity, sent * gravity + start, tuple(where), carried)

    def loads(self, limits: Limits) -> Array:
        """Gravity and rise as ratios of the limits, (2, n); up to one a joint is held."""
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            effort = np.where((limits.effort > 0.0) | self.carried, self.gravity / limits.effort, np.inf)
            rise = self.rise / (limits.rate * RISE)
        nothing = self.gravity == 0.0  # by no limit, if the arm is carried
        return np.array([np.where(nothing & (effort != np.inf), 0.0, effort), rise])


def check_static_load(dynamics: Dynamics, limits: Limits, needed: StaticLoad, before: Array | None = None) -> None:
    """Refuse (HoldingError) limits with which the drives do not hold the arm, unless they hold it no worse than the
    loads ``before`` of the present settings; the message has the effort that holds it, and the remedy.
    """
    loads = needed.loads(limits)
    is_held = loads <= (1.0 if before is None else np.maximum(1.0, NO_WORSE * before))  # not for a NaN
    for index in np.flatnonzero(~is_held.all(axis=0)):
        joint, where = dynamics.robot.joints[index], needed.where[index]
        unit, gravity, whole = joint.effort_unit, needed.gravity[index], needed.rise[index]
        if not is_held[0, index]:
            raise HoldingError(
                f"effort_limits.{joint.name}: {limits.effort[index]:g} {unit} is below what holds the arm: gravity "
                f"takes {gravity:.4g} {unit} or more {where}; raise it, check gravity and payload, or set "
                "externally_supported if something else carries the arm"
            )
        raise HoldingError(
            f"effort_rate_limits.{joint.name}: {limits.rate[index]:.4g} {unit}/s does not hold the arm: from zero to "
            f"gravity and the effort of a slow motion, {whole:.4g} {unit} {where}, it takes "
            f"{RISE * loads[1, index]:.3g} s; {RISE:g} s is the most, so make it {whole / RISE:.4g} {unit}/s "
            "or more"
        )
