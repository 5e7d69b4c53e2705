# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Holding: limits that let the drives hold the arm, where it is or at least somewhere.

A joint is held by the effort of gravity g_i(q), and by what it takes to begin a motion, M_ii(q) ``START``. Its limits
have to allow that::

    |g_i(q)| ≤ effort limit        |g_i(q)| + M_ii(q) START ≤ effort rate limit · RISE

Gravity that the drives add by themselves need not rise.

So neither can a payload, a gravity or a centre of mass be set that the drives do not carry, nor limits that keep the
law from carrying the arm. An effort that rises linearly within ``RISE`` lets an arm fall by g RISE² / 3, that is 13 cm.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from robodyn_ros.control.limits import Limits
from robodyn_ros.dynamics.base import Dynamics
from robodyn_ros.errors import HoldingError
from robodyn_ros.robot.configuration import random_positions
from robodyn_ros.robot.pose import Array

RISE = 0.2
"""How long an effort may take from zero to what holds a joint [s]."""

START = 1.0
"""Acceleration that a joint must be able to begin within that time [rad/s²] or [m/s²]."""

POSES = 64
"""The home pose and random ones, if the position of the arm is unknown."""

HELD = 1 / 8
"""In how many of these poses a joint must be held, as part of them."""

NO_WORSE = 1.01
"""Where limits are too low already, a change is refused from this factor of the load on."""


class Holding(NamedTuple):
    """What it takes to hold an arm, each (n,)."""

    gravity: Array  # effort of gravity, without its sign [N·m] or [N]
    rise: Array  # effort that has to come from zero: gravity, if the drive does not add it, and what begins a motion
    where: tuple[str, ...]  # in which poses, in words, for each joint
    carried: bool  # True if something else than the drives carries the arm

    @classmethod
    def at(cls, dynamics: Dynamics, q: Array, sent: Array | float = 1.0, *, carried: bool) -> Holding:
        """At a position (n,).

        Args:
            dynamics: of the arm.
            q: position.
            sent: the part of gravity that is sent, because the drives do not add it by themselves, (n,).
            carried: True if something else than the drives carries the arm.
        """
        inertia = np.diagonal(dynamics.mass_matrix(q))
        weight = np.zeros(len(q)) if carried else np.abs(dynamics.gravity(q))
        return cls(weight, sent * weight + START * inertia, ("where the arm is",) * len(q), carried)

    @classmethod
    def anywhere(cls, dynamics: Dynamics, sent: Array | float = 1.0, *, carried: bool) -> Holding:
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

    def loads(self, limits: Limits) -> HoldingLoads:
        """How much of what is allowed it takes."""
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            effort = np.where((limits.effort > 0.0) | self.carried, self.gravity / limits.effort, np.inf)
            rise = self.rise / (limits.rate * RISE)
        nothing = self.gravity == 0.0  # by no limit, if the arm is carried
        return HoldingLoads(np.where(nothing & (effort != np.inf), 0.0, effort), rise)


class HoldingLoads(NamedTuple):
    """Parts of the limits that holding an arm takes; each (n,), up to one it is held."""

    effort: Array
    rise: Array


def check_holding(dynamics: Dynamics, limits: Limits, needed: Holding, before: HoldingLoads | None = None) -> None:
    """Check that the limits let the drives hold the arm.

    Args:
        dynamics: of the arm, with its payload.
        limits: of efforts and rates.
        needed: what it takes.
        before: the loads by the settings of now; what is no worse is accepted.

    Raises:
        HoldingError: a joint is not held; the message has what that takes, and the remedy.
    """
    loads = needed.loads(limits)
    most = HoldingLoads(*(np.ones(len(needed.gravity)) for _ in loads))
    if before is not None:
        most = HoldingLoads(*(np.maximum(1.0, NO_WORSE * load) for load in before))
    for index in np.flatnonzero(~(loads.effort <= most.effort) | ~(loads.rise <= most.rise)):  # not a number, too
        joint, where = dynamics.robot.joints[index], needed.where[index]
        unit, gravity, whole = joint.effort_unit, needed.gravity[index], needed.rise[index]
        if not loads.effort[index] <= most.effort[index]:
            raise HoldingError(
                f"effort_limits.{joint.name}: {limits.effort[index]:g} {unit} is below what holds the arm: gravity "
                f"takes {gravity:.4g} {unit} or more {where}; raise it, check gravity and payload, or set "
                "externally_supported if something else carries the arm"
            )
        raise HoldingError(
            f"effort_rate_limits.{joint.name}: {limits.rate[index]:.4g} {unit}/s does not hold the arm: from zero to "
            f"gravity and the effort of a slow motion, {whole:.4g} {unit} {where}, it takes "
            f"{RISE * loads.rise[index]:.3g} s; {RISE:g} s is the most, so make it {whole / RISE:.4g} {unit}/s "
            "or more"
        )
