# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Closed-form inverse kinematics of the planar RR and PRR arms: every branch, and reachability decided exactly.

In the plane of complex numbers of :class:`PlanarArm`, with the links L₁ and L₂ at position 0, the shoulder at s, and
the angles θ counted about the first revolute axis::

    RR     w = c - s           = exp(iθ₁) L₁ + exp(i(θ₁ + θ₂)) L₂
    PRR    w = c - s - exp(iφ) L₂ = q₁ + exp(iθ₂) L₁,                φ = θ₂ + θ₃

RR by the law of cosines (Siciliano et al., Robotics (2009), section 2.12.1) in its half-angle form, whose arguments
stay in range near the straight or the folded arm: tan²(β/2) = ((l₁+l₂)² - r²) / (r² - (l₁-l₂)²). With a heading φ,
exp(iθ₁) L₁ = w - exp(iφ) L₂. PRR by the sine of the first link: Im w = l₁ sin. Both are reachable if and only if a real
number is between two others, which is decided without rounding.

The workspace follows from the closed form, exact at every point and heading. An RR arm has no free heading: it
reaches a point in two postures at most. A PRR arm reaches it with ranges of headings, so that its dexterity is the
ratio of the circle that these ranges fill.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import atan2, inf
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robodyn_ros.checks import as_states, finite_array, finite_state
from robodyn_ros.errors import InputError
from robodyn_ros.kinematics import so3
from robodyn_ros.kinematics.screws import PLANAR_TOLERANCE, screws
from robodyn_ros.kinematics.se3 import as_pose
from robodyn_ros.robot import Array, Flags, Pose, Robot
from robodyn_ros.robot.configuration import TURN, ConfigurationSpace


@dataclass(frozen=True, eq=False)
class PlanarArm:
    """A planar RR or PRR arm, as complex numbers in its plane.

    The plane is that of complex numbers: 1 along the prismatic joint (RR: along the first link at position 0), i a
    quarter turn further about the revolute axes. Angles are counted about the first revolute axis.

    Attributes:
        robot: the arm.
        kind: ``RR`` or ``PRR``.
        links: the two links at position 0 [m].
        lengths: their lengths [m].
        sense: 1 if the second revolute joint turns in the same direction as the first, else -1.
        shoulder: position of the first revolute axis at q = 0 [m].
        plane: the directions 1 and i in the root link's frame, (2, 3).
        normal: the first revolute axis there, (3,).
        level: of the tool, along the normal [m].
        home: rotation of the tool at position 0, (3, 3).
    """

    robot: Robot
    kind: Literal["RR", "PRR"]
    links: tuple[complex, complex]
    lengths: tuple[float, float]
    sense: float
    shoulder: complex
    plane: Array
    normal: Array
    level: float
    home: Array

    def in_plane(self, points: Array) -> NDArray[np.complex128]:
        """Points (N, 3) of the root link's frame as complex numbers from the shoulder at position 0, (N,) in [m]."""
        seen = points @ self.plane.T
        return np.asarray(seen[..., 0] + 1j * seen[..., 1] - self.shoulder)

    def beside(self, point: Array) -> Array:
        """Return the distance of a point from the plane of the tool, as a vector (3,) in [m]."""
        return (float(point @ self.normal) - self.level) * self.normal

    def turn_of(self, rotation: Array) -> float:
        """The turn of the tool about the first revolute axis, from position 0, that comes nearest to a rotation [rad].

        Of all turns exp(φ n), the trace of exp(φ n)ᵀ R is greatest for this one.
        """
        turned = rotation @ self.home.T
        across, along = 2.0 * float(so3.vee(turned) @ self.normal), float(self.normal @ turned @ self.normal)
        return atan2(across, float(np.trace(turned)) - along)


def planar_arm(robot: Robot, link: str) -> PlanarArm:
    """Read a planar arm from its screws.

    Args:
        robot: the arm; all its joints have to move the link.
        link: the tool.

    Raises:
        InputError: no such link.
        RobotDescriptionError: it is neither a planar RR nor a planar PRR arm; the message names the reason.
    """
    found, names = screws(robot, link), robot.joint_names
    kind = "".join("R" if axis[3:].any() else "P" for axis in found.axes)
    if kind not in ("RR", "PRR") or found.coordinates != tuple(range(robot.n)):
        raise robot.description_error(f"link {link!r}", f"is moved by {kind or 'no joint'}, not by RR or PRR alone")
    (first, second), normal, tool = found.axes[-2:], found.axes[-2, 3:], found.home[:3, 3]
    points = [np.cross(axis[3:], axis[:3]) for axis in (first, second)]  # of an axis, the one nearest to the origin
    slide = found.axes[0, :3] if kind == "PRR" else points[1] - points[0]
    one: Array = slide - (slide @ normal) * normal
    tilt, slant = np.linalg.norm(np.cross(normal, second[3:])), abs(slide @ normal) if kind == "PRR" else 0.0
    mimicked = (found.ratios != 1.0) | (found.offsets != 0.0)
    apart = min(np.linalg.norm(one), np.linalg.norm(points[1] - points[0]))
    for is_wrong, at_fault, problem in (
        (mimicked.any(), names[int(np.argmax(mimicked))], "moves the link by a joint that mimics it"),
        (tilt > PLANAR_TOLERANCE, names[-1], "does not turn in the plane of the one before"),
        (slant > PLANAR_TOLERANCE, names[0], "does not slide in the plane of the others"),
        (apart < PLANAR_TOLERANCE, names[-1], "lies on the axis of the one before"),
    ):
        if is_wrong:
            raise robot.description_error(f"joint {at_fault!r}", problem)
    one = one / np.linalg.norm(one)
    plane = np.stack([one, np.cross(normal, one)])
    shoulder, elbow, tip = (complex(*(plane @ point)) for point in (*points, tool))
    links = elbow - shoulder, tip - elbow
    if abs(links[1]) < PLANAR_TOLERANCE:
        raise robot.description_error(f"link {link!r}", f"lies on the axis of joint {names[-1]!r}")
    sense = float(np.sign(normal @ second[3:]))
    lengths, level, home = (abs(links[0]), abs(links[1])), float(tool @ normal), found.home[:3, :3]
    name: Literal["RR", "PRR"] = "RR" if kind == "RR" else "PRR"
    return PlanarArm(robot, name, links, lengths, sense, shoulder, plane, normal, level, home)


class Branch(NamedTuple):
    """One solution."""

    q: Array  # (n,) in [rad] or [m], within the limits after whole turns, if possible
    # Sign of the angle from the first link to the second; PRR: 1 if the first link leans forwards.
    elbow: Literal[1, -1]
    within_limits: bool


class Branches(NamedTuple):
    """All solutions: two, one if they coincide (arm straight or folded), none if it is out of reach."""

    solutions: tuple[Branch, ...]
    reachable: bool  # by the lengths; each branch has its own check of the position limits
    margin: float  # distance of the target inside the reachable set [m]; negative outside
    reason: str

    @property
    def within_limits(self) -> tuple[Branch, ...]:
        """The solutions within the position limits."""
        return tuple(branch for branch in self.solutions if branch.within_limits)


class PlanarInverse:
    """Closed-form inverse kinematics of the planar RR and PRR arms, by the equations of the module.

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
            RobotDescriptionError: it is neither a planar RR nor a planar PRR arm; the message names the reason.
        """
        self.arm = planar_arm(robot, link)
        self._space = ConfigurationSpace(robot)

    def solve(
        self, position: ArrayLike, turn: float | None = None, near: ArrayLike | None = None, slack: float = 0.0
    ) -> Branches:
        """All solutions for a position of the tool, PRR: with a turn.

        Args:
            position: in the root link's frame (3,) in [m].
            turn: of the tool about the first revolute axis, from position 0 [rad]; needed by PRR, free with RR.
            near: positions to which the turns of revolute joints are nearest, (n,); zeros unless given.
            slack: greatest distance outside at which a target counts as on the edge [m]; 0 decides exactly.

        Raises:
            InputError: a wrong shape, a number that is not finite, or a turn that is missing or not allowed.
        """
        given = finite_state("position", position, 3)
        near = None if near is None else finite_state("near", near, self.arm.robot.n)
        if (turn is None) == (self.arm.kind == "PRR"):
            raise InputError("turn", "must be given for a PRR arm only", turn)
        turn = None if turn is None else float(finite_array("turn", turn, ()))
        off = float(np.linalg.norm(self.arm.beside(given)))
        if off > max(PLANAR_TOLERANCE, slack):
            return Branches((), False, -off, f"out of the plane of the arm by {off:.3g} m")
        w = self.arm.in_plane(given)
        if turn is not None:
            w = w - np.exp(1j * turn) * self.arm.links[1]
        q, distinct, margin = _postures(self.arm, w, turn)
        inside = self._reaches(complex(w))
        if not inside and margin < -slack:
            return Branches((), False, float(margin), self._too_far(complex(w)))
        elbows: tuple[Literal[1, -1], ...] = (1, -1) if distinct else (1,)
        reason = "reachable" if inside else f"on the edge, {-margin:.1e} m outside"
        return Branches(tuple(map(self._branch, q, elbows, [near] * 2)), inside, float(margin), reason)

    def solve_pose(self, target: ArrayLike | Pose, near: ArrayLike | None = None, slack: float = 0.0) -> Branches:
        """All solutions for a pose (4, 4) of the tool; of an RR arm, those with its orientation too.

        Raises:
            InputError: as ``solve``.
        """
        matrix = as_pose(target)
        rotation, position = matrix[:3, :3], matrix[:3, 3]
        turned = rotation @ self.arm.home.T
        tilt = float(np.linalg.norm(turned @ self.arm.normal - self.arm.normal))
        if tilt > PLANAR_TOLERANCE:
            return Branches((), False, -inf, f"the tool cannot tilt out of the plane of the arm, by {tilt:.3g} rad")
        turn = self.arm.turn_of(rotation)
        if self.arm.kind == "PRR":
            return self.solve(position, turn, near, slack)
        found = self.solve(position, None, near, slack)
        if not found.solutions:
            return found
        second = np.exp(1j * turn) * self.arm.links[1]
        first = self.arm.in_plane(position) - second
        if abs(abs(first) - self.arm.lengths[0]) > max(PLANAR_TOLERANCE, slack):
            return Branches((), False, found.margin, "the position is reachable, but not with this orientation")
        angle = float(np.angle(first / self.arm.links[0]))
        q = np.array([angle, self.arm.sense * (turn - angle)])
        elbow: Literal[1, -1] = 1 if (second / first).imag >= 0.0 else -1
        return found._replace(solutions=(self._branch(q, elbow, near),))

    def _reaches(self, w: complex) -> bool:
        """Return whether w is within reach, without rounding."""
        if self.arm.kind == "PRR":
            return abs(w.imag) <= self.arm.lengths[0]  # comparing two floats is exact
        x, y, a, b = (Fraction(value) for value in (w.real, w.imag, *self.arm.lengths))
        return (a - b) ** 2 <= x * x + y * y <= (a + b) ** 2

    def _too_far(self, w: complex) -> str:
        l1, l2 = self.arm.lengths
        if self.arm.kind == "PRR":
            return f"the wrist would be {abs(w.imag):.6g} m beside the lift's axis; the first link has {l1:.6g} m"
        return f"{abs(w):.6g} m from the shoulder; the arm reaches from {abs(l1 - l2):.6g} to {l1 + l2:.6g} m"

    def _branch(self, q: Array, elbow: Literal[1, -1], near: ArrayLike | None) -> Branch:
        wrapped = np.concatenate((q[:-2], np.arctan2(np.sin(q[-2:]), np.cos(q[-2:]))))
        turned = self._space.nearest_turn(np.zeros(len(q)) if near is None else near, wrapped)
        inside = np.clip(turned, self.arm.robot.lower, self.arm.robot.upper)
        within = bool((np.abs(inside - turned) <= PLANAR_TOLERANCE).all())  # rounding leads beyond a limit
        return Branch(inside if within else turned, elbow, within)


HEADINGS = 720
"""Number of turns of the tool that are tried, half a degree apart."""


def reachable(arm: PlanarArm, points: ArrayLike, headings: int = HEADINGS) -> Flags:
    """Return whether the arm reaches points of its plane within its limits, (N,); PRR: with any of the headings.

    Args:
        arm: RR or PRR.
        points: (N, 3) in the root link's frame in [m]; distances from the plane are ignored.
        headings: number of turns of the tool, evenly around the circle.

    Raises:
        InputError: points of a wrong shape.
    """
    return np.asarray(postures(arm, points, headings).any(axis=-1))


def dexterity(arm: PlanarArm, points: ArrayLike, headings: int = HEADINGS) -> Array:
    """The ratio of headings with which a PRR arm reaches points, (N,) from 0 to 1; 0 for RR, which has at most two.

    Args:
        arm: RR or PRR.
        points: as :func:`reachable`.
        headings: likewise.
    """
    if arm.kind == "RR":
        return np.zeros(len(np.atleast_2d(np.asarray(points))))
    return postures(arm, points, headings).mean(axis=-1)


def postures(arm: PlanarArm, points: ArrayLike, headings: int) -> Flags:
    """The branches (RR: (N, 2)) or headings (PRR: (N, headings)) that lead to points within the limits."""
    (given,) = as_states(("points",), (points,), (3,))
    w = arm.in_plane(np.atleast_2d(given))
    turns = None
    if arm.kind == "PRR":
        turns = np.linspace(-np.pi, np.pi, headings, endpoint=False)
        w = w[:, None] - np.exp(1j * turns) * arm.links[1]
    q, _, margin = _postures(arm, w, turns)
    within = (margin >= 0.0)[..., None] & _allowed(arm.robot, q)
    return within if turns is None else np.asarray(within.any(axis=-1))


def _postures(arm: PlanarArm, w: NDArray[np.complex128], turns: float | Array | None) -> tuple[Array, Flags, Array]:
    """Both solutions by the equations of the module, the nearest ones if out of reach.

    Args:
        arm: RR or PRR.
        w: as there (...) in [m].
        turns: PRR: φ (...) in [rad].

    Returns:
        Positions with each elbow (..., 2, n), whether these differ, and the distance inside the reachable set [m].
    """
    (l1, l2), (L1, L2), elbow = arm.lengths, arm.links, np.array([1.0, -1.0])
    if turns is not None:
        aside = w.imag[..., None]
        along = np.sqrt(np.maximum((l1 - aside) * (l1 + aside), 0.0))
        theta = np.arctan2(aside, elbow * along) - np.angle(L1)
        q = np.stack([w.real[..., None] - elbow * along, theta, arm.sense * (np.asarray(turns)[..., None] - theta)], -1)
        return q, along[..., 0] > 0.0, l1 - np.abs(w.imag)
    r = np.abs(w)
    outer, inner = (l1 + l2 - r) * (l1 + l2 + r), (r - (l1 - l2)) * (r + (l1 - l2))
    bend = 2.0 * np.arctan2(np.sqrt(np.maximum(outer, 0.0)), np.sqrt(np.maximum(inner, 0.0)))
    theta = elbow * bend[..., None] - np.angle(L2) + np.angle(L1)
    first = np.angle(w)[..., None] - np.angle(L1 + np.exp(1j * theta) * L2)
    # At the shoulder itself any first angle is a solution.
    q = np.stack([np.where(r[..., None] > 0.0, first, 0.0), arm.sense * theta], -1)
    return q, (bend > 0.0) & (bend < np.pi), np.minimum(l1 + l2 - r, r - abs(l1 - l2))


def _allowed(robot: Robot, q: Array) -> Flags:
    """Return whether positions (..., n), of a revolute joint some turn of it, lie within the limits, (...)."""
    turned = np.floor((robot.upper - q) / TURN) >= np.ceil((robot.lower - q) / TURN)
    slides = [joint.is_prismatic for joint in robot.joints]
    return np.asarray(np.where(slides, (q >= robot.lower) & (q <= robot.upper), turned).all(axis=-1))
