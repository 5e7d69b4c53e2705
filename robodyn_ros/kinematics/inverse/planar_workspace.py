"""The workspace of planar RR and PRR arms by the closed form: exact at every point and heading that is asked for.

An RR arm has no heading to choose: it reaches a point in two postures at most. A PRR arm reaches it with whole ranges
of headings, so that its dexterity is the share of the circle that these ranges fill.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robodyn_ros.engine.states import as_states
from robodyn_ros.kinematics.inverse.planar_arm import PlanarArm
from robodyn_ros.robot.pose import Array

TURN = 2.0 * np.pi


def reachable(arm: PlanarArm, points: ArrayLike, headings: int = 720) -> NDArray[np.bool_]:
    """Whether the arm reaches points of its plane within its limits, (N,); PRR: with one of so many headings.

    Args:
        arm: RR or PRR.
        points: (N, 3) in the root link's frame in [m]; what lies beside the plane is left out of account.
        headings: how many turns of the tool to ask for, evenly around the circle.

    Raises:
        InputError: points of a wrong shape.
    """
    return np.asarray(postures(arm, points, headings).any(axis=-1))


def dexterity(arm: PlanarArm, points: ArrayLike, headings: int = 720) -> Array:
    """The share of headings with which a PRR arm reaches points, (N,) from 0 to 1; of RR it is 0, for a few are none.

    Args:
        arm: RR or PRR.
        points: as :func:`reachable`.
        headings: as there.
    """
    if arm.kind == "RR":
        return np.zeros(len(np.atleast_2d(np.asarray(points))))
    share: Array = postures(arm, points, headings).mean(axis=-1)
    return share


def postures(arm: PlanarArm, points: ArrayLike, headings: int = 720) -> NDArray[np.bool_]:
    """Which branches (RR: (N, 2)) or headings (PRR: (N, headings)) lead to points within the limits."""
    (given,) = as_states(("points",), (points,), (3,))
    w = arm.in_plane(np.atleast_2d(given))
    if arm.kind == "PRR":
        turns = np.linspace(-np.pi, np.pi, headings, endpoint=False)
        return _lift(arm, w[:, None] - np.exp(1j * turns) * arm.links[1], turns)
    l1, l2 = arm.lengths
    r = np.abs(w)
    outer, inner = (l1 + l2 - r) * (l1 + l2 + r), (r - (l1 - l2)) * (r + (l1 - l2))
    inside = (outer >= 0.0) & (inner >= 0.0)
    bend = 2.0 * np.arctan2(np.sqrt(np.maximum(outer, 0.0)), np.sqrt(np.maximum(inner, 0.0)))
    found = []
    for elbow in (1.0, -1.0):
        theta2 = elbow * bend - np.angle(arm.links[1]) + np.angle(arm.links[0])
        theta1 = np.angle(w) - np.angle(arm.links[0] + np.exp(1j * theta2) * arm.links[1])
        found.append(inside & _allowed(arm, 0, theta1) & _allowed(arm, 1, arm.sense * theta2))
    return np.stack(found, -1)


def _lift(arm: PlanarArm, w: NDArray[np.complex128], turns: Array) -> NDArray[np.bool_]:
    l1, aside = arm.lengths[0], w.imag
    along = np.sqrt(np.maximum((l1 - aside) * (l1 + aside), 0.0))
    found = np.zeros(w.shape, dtype=bool)
    for elbow in (1.0, -1.0):
        theta2 = np.arctan2(aside, elbow * along) - np.angle(arm.links[0])
        lift = w.real - elbow * along
        slides = (lift >= arm.robot.lower[0]) & (lift <= arm.robot.upper[0])
        found |= slides & _allowed(arm, 1, theta2) & _allowed(arm, 2, arm.sense * (turns - theta2))
    return found & (np.abs(aside) <= l1)


def _allowed(arm: PlanarArm, joint: int, angle: Array) -> NDArray[np.bool_]:
    """Whether some turn of the angle lies within the limits."""
    lower, upper = arm.robot.lower[joint], arm.robot.upper[joint]
    if not np.isfinite(lower) or not np.isfinite(upper):
        return np.full(np.shape(angle), True)
    allowed: NDArray[np.bool_] = np.floor((upper - angle) / TURN) >= np.ceil((lower - angle) / TURN)
    return allowed
