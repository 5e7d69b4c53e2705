# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The product of exponentials: forward kinematics from the joints' screws alone.

    T(q) = exp([S₁] s₁) exp([S₂] s₂) … exp([S_k] s_k) M

with the screws S = [v; ω] in the root link's frame at position 0, where the link is at M (Lynch and Park, Modern
Robotics (2017), section 4.1; their order is [ω; v]). A mimic joint is a screw of its own that moves with another's
coordinate. It chooses no frames and uses none of the compiled functions: the two check each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from robodyn_ros.checks import finite_states
from robodyn_ros.kinematics import se3
from robodyn_ros.robot import Array, Body, Pose, Robot, read_only


@dataclass(frozen=True, eq=False)
class Screws:
    """The joints between the base and one link.

    Attributes:
        axes: space screws at position 0, base first, (k, 6); unit rotations, or unit translations [0 on the last
            three].
        home: pose of the link at position 0, (4, 4).
        coordinates: index of the coordinate that moves each, (k,).
        ratios: joint position per coordinate, (k,); 1 but for mimic joints.
        offsets: joint position at coordinate 0, (k,) in [rad] or [m].
        n: number of coordinates of the arm.
    """

    axes: Array
    home: Array
    coordinates: tuple[int, ...]
    ratios: Array
    offsets: Array
    n: int

    @property
    def body_axes(self) -> Array:
        """The same screws in the link's own frame, (k, 6): B = Ad(M⁻¹) S (Lynch and Park, eq. 4.16)."""
        return self.axes @ se3.adjoint(se3.inverse(self.home)).T

    def pose(self, q: ArrayLike) -> Array:
        """Pose of the link, (4, 4) or (N, 4, 4), at positions (n,) or (N, n) in [rad] or [m].

        Raises:
            InputError: q has the wrong shape or is not finite.
        """
        return self._partial(q)[-1] @ self.home

    def jacobian(self, q: ArrayLike) -> Array:
        """The space Jacobian (6, n) or (N, 6, n): each screw moved by the previous ones (Lynch and Park, eq. 5.11)."""
        moved = self._partial(q)
        columns = np.zeros((*moved[0].shape[:-2], 6, self.n))
        for k, (axis, ratio, column) in enumerate(zip(self.axes, self.ratios, self.coordinates, strict=True)):
            columns[..., column] += ratio * (se3.adjoint(moved[k]) @ axis)
        return columns

    def _partial(self, q: ArrayLike) -> list[Array]:
        """Products of the first 0, 1, …, k exponentials."""
        given = finite_states("q", q, self.n)
        products = [np.broadcast_to(np.eye(4), (*given.shape[:-1], 4, 4))]
        for axis, column, ratio, offset in zip(self.axes, self.coordinates, self.ratios, self.offsets, strict=True):
            position = ratio * given[..., column] + offset
            products.append(products[-1] @ se3.exp(position[..., None] * axis))
        return products


class JointAxis(NamedTuple):
    """The line of a joint at position 0, in the root link's frame."""

    body: Body
    direction: Array
    point: Array


def joint_axes(robot: Robot, link: str) -> tuple[list[JointAxis], Array]:
    """The axes of the joints that move a link, base first, and the link's pose (4, 4), at position 0.

    Raises:
        InputError: no such link.
    """
    found, pose, axes = robot.link(link), Pose(), []
    for body in (robot.bodies[index] for index in robot.chain(found.body)):
        pose = pose @ body.placement
        axes.append(JointAxis(body, pose.rotation @ body.joint.axis, pose.translation))
    return axes, se3.from_pose(pose @ found.pose)


def screws(robot: Robot, link: str) -> Screws:
    """The screws of the joints that move a link, read from the URDF.

    Raises:
        InputError: no such link.
    """
    axes, home = joint_axes(robot, link)
    moved = [
        [*direction, 0.0, 0.0, 0.0] if body.joint.is_prismatic else [*np.cross(point, direction), *direction]
        for body, direction, point in axes
    ]
    coordinates = tuple(axis.body.coordinate for axis in axes)
    ratios, offsets = ([getattr(axis.body, name) for axis in axes] for name in ("ratio", "offset"))
    twists = read_only(np.reshape(moved, (len(axes), 6)))
    return Screws(twists, read_only(home), coordinates, read_only(ratios), read_only(offsets), robot.n)


PLANAR_TOLERANCE = 1e-9
"""Greatest out-of-plane sines and lengths of a planar arm [-] or [m]."""


def plane_normal(axes: Sequence[Array] | Array, tolerance: float = PLANAR_TOLERANCE) -> Array | None:
    """Return the normal (3,) of the plane that an arm moves in; None if it moves in space, or does not turn.

    Args:
        axes: screws of its joints [v; ω], (k, 6).
        tolerance: greatest sine that counts as zero.
    """
    turning = [axis[3:] for axis in axes if axis[3:].any()]
    sliding = [axis[:3] for axis in axes if not axis[3:].any()]
    if not turning or any(abs(turning[0] @ axis) >= tolerance for axis in sliding):
        return None
    return turning[0] if all(np.linalg.norm(np.cross(turning[0], axis)) < tolerance for axis in turning) else None
