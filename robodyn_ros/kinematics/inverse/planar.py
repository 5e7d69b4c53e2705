"""Closed-form inverse kinematics of the planar RR and PRR arms: every branch, and reachability decided exactly.

In the plane of complex numbers of :mod:`robodyn_ros.kinematics.inverse.planar_arm`, with the links L₁ and L₂ at
position 0, the shoulder at s, and the angles θ counted about the first revolute axis::

    RR     w = c - s           = exp(iθ₁) L₁ + exp(i(θ₁ + θ₂)) L₂
    PRR    w = c - s - exp(iφ) L₂ = q₁ + exp(iθ₂) L₁,                φ = θ₂ + θ₃

RR by the law of cosines (Siciliano et al., Robotics (2009), section 2.12.1) in its half-angle form, of which no
argument leaves its range near the straight or the folded arm: tan²(β/2) = ((l₁+l₂)² - r²) / (r² - (l₁-l₂)²). PRR by the
sine of the first link: Im w = l₁ sin. Both are reachable if and only if a real number is between two others, which is
decided without rounding.
"""

from __future__ import annotations

from cmath import exp, phase
from fractions import Fraction
from math import atan2, cos, inf, pi, sin, sqrt
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from robodyn_ros.engine.states import as_states, refuse_non_finite
from robodyn_ros.errors import InputError
from robodyn_ros.kinematics.inverse.planar_arm import planar_arm
from robodyn_ros.kinematics.se3 import as_pose
from robodyn_ros.robot import Pose, Robot
from robodyn_ros.robot.configuration import ConfigurationSpace
from robodyn_ros.robot.pose import Array

FLAT = 1e-9
"""A pose lies in the plane if what leaves it is below this [m] or [rad]."""


class Branch(NamedTuple):
    """One way to get there."""

    q: Array  # (n,) in [rad] or [m], turned into the limits where a whole turn does it
    elbow: Literal[
        1, -1
    ]  # sign of the angle from the first link to the second; PRR: 1 where the first link leans forwards
    within_limits: bool


class Branches(NamedTuple):
    """All ways to get there: two, one where they meet (arm straight or folded), none if it is out of reach."""

    solutions: tuple[Branch, ...]
    reachable: bool  # by the lengths; the position limits are each branch's own affair
    margin: float  # how far inside the reachable set the target lies [m]; negative outside
    reason: str

    @property
    def within_limits(self) -> tuple[Branch, ...]:
        """Those that the position limits allow."""
        return tuple(branch for branch in self.solutions if branch.within_limits)


class PlanarInverse:
    """See the module.

    Attributes:
        arm: its geometry.
    """

    def __init__(self, robot: Robot, link: str) -> None:
        """
        Args:
            robot: the arm; all its joints have to move the link.
            link: the tool.

        Raises:
            InputError: no such link.
            RobotDescriptionError: it is neither a planar RR nor a planar PRR arm; the message says what is in the way.
        """
        self.arm = planar_arm(robot, link)
        self._space = ConfigurationSpace(robot)

    def solve(
        self, position: ArrayLike, turn: float | None = None, near: ArrayLike | None = None, slack: float = 0.0
    ) -> Branches:
        """Every way to bring the tool to a position, PRR: with a turn.

        Args:
            position: in the root link's frame (3,) in [m].
            turn: of the tool about the first revolute axis, from position 0 [rad]; needed by PRR, free with RR.
            near: what turning joints stay near to, (n,); zeros unless given.
            slack: a target no farther outside than this counts as on the edge [m]; 0 decides exactly.

        Raises:
            InputError: a wrong shape, something not finite, a turn that is missing or one too many.
        """
        (given,) = as_states(("position",), (position,), (3,))
        refuse_non_finite(("position",), (given,))
        if (turn is None) == (self.arm.kind == "PRR"):
            raise InputError("turn", "must be given to a PRR arm, and only there", turn)
        off = float(np.linalg.norm(self.arm.beside(given)))
        if off > max(FLAT, slack):
            return Branches((), False, -off, f"out of the plane of the arm by {off:.3g} m")
        wrist = complex(self.arm.in_plane(given))
        if turn is None:
            return self._two_links(wrist, near, slack)
        return self._lift(wrist - exp(1j * turn) * self.arm.links[1], float(turn), near, slack)

    def solve_pose(self, target: ArrayLike | Pose, near: ArrayLike | None = None, slack: float = 0.0) -> Branches:
        """Every way to bring the tool to a pose (4, 4); of an RR arm, those that meet the orientation too.

        Raises:
            InputError: as ``solve``.
        """
        matrix = as_pose(target)
        rotation, position = matrix[:3, :3], matrix[:3, 3]
        turned = rotation @ self.arm.home.T
        tilt = float(np.linalg.norm(turned @ self.arm.normal - self.arm.normal))
        if tilt > FLAT:
            return Branches((), False, -inf, f"the tool cannot tilt out of the plane of the arm, by {tilt:.3g} rad")
        turn = self.arm.turn_of(rotation)
        if self.arm.kind == "PRR":
            return self.solve(position, turn, near, slack)
        found = self.solve(position, None, near, slack)
        fitting = tuple(b for b in found.solutions if abs(_wrapped(b.q[0] + self.arm.sense * b.q[1] - turn)) <= FLAT)
        if found.reachable and not fitting:
            return Branches((), False, found.margin, "the position is reachable, but not with this orientation")
        return found._replace(solutions=fitting)

    def _two_links(self, w: complex, near: ArrayLike | None, slack: float) -> Branches:
        l1, l2 = self.arm.lengths
        r = abs(w)
        x, y, a, b = (Fraction(value) for value in (w.real, w.imag, l1, l2))
        inside = (a - b) ** 2 <= x * x + y * y <= (a + b) ** 2
        margin = min(l1 + l2 - r, r - abs(l1 - l2))
        if not inside and margin < -slack:
            where = f"{r:.6g} m from the shoulder; the arm reaches from {abs(l1 - l2):.6g} to {l1 + l2:.6g} m"
            return Branches((), False, margin, where)
        outer, inner = max((l1 + l2 - r) * (l1 + l2 + r), 0.0), max((r - (l1 - l2)) * (r + (l1 - l2)), 0.0)
        bend = 2.0 * atan2(sqrt(outer), sqrt(inner))
        L1, L2 = self.arm.links
        elbows: tuple[Literal[1, -1], ...] = (1, -1) if 0.0 < bend < pi else (1,)
        solutions = []
        for elbow in elbows:
            theta2 = elbow * bend - phase(L2) + phase(L1)
            reach = L1 + exp(1j * theta2) * L2
            theta1 = phase(w) - phase(reach) if r > 0.0 else 0.0  # at the shoulder itself every angle serves
            solutions.append(self._branch([theta1, self.arm.sense * theta2], elbow, near))
        return Branches(
            tuple(solutions), inside, margin, "reachable" if inside else f"on the edge, {-margin:.1e} m outside"
        )

    def _lift(self, w: complex, turn: float, near: ArrayLike | None, slack: float) -> Branches:
        l1 = self.arm.lengths[0]
        aside = w.imag
        margin = l1 - abs(aside)
        inside = abs(aside) <= l1  # comparing two floats is exact
        if not inside and margin < -slack:
            where = f"the wrist would be {abs(aside):.6g} m aside of the lift; the first link has {l1:.6g} m"
            return Branches((), False, margin, where)
        along = sqrt(max((l1 - aside) * (l1 + aside), 0.0))
        elbows: tuple[Literal[1, -1], ...] = (1, -1) if along > 0.0 else (1,)
        solutions = []
        for elbow in elbows:
            theta2 = atan2(aside, elbow * along) - phase(self.arm.links[0])
            q = [w.real - elbow * along, theta2, self.arm.sense * (turn - theta2)]
            solutions.append(self._branch(q, elbow, near))
        return Branches(
            tuple(solutions), inside, margin, "reachable" if inside else f"on the edge, {-margin:.1e} m outside"
        )

    def _branch(self, q: list[float], elbow: Literal[1, -1], near: ArrayLike | None) -> Branch:
        wrapped = np.array([*q[:-2], _wrapped(q[-2]), _wrapped(q[-1])])
        turned = self._space.nearest_turn(np.zeros(len(q)) if near is None else near, wrapped)
        within = bool(((turned >= self.arm.robot.lower) & (turned <= self.arm.robot.upper)).all())
        return Branch(turned, elbow, within)


def _wrapped(angle: float) -> float:
    return atan2(sin(angle), cos(angle))
