"""Denavit–Hartenberg tables, in the standard and the modified form.

    standard   A = Rot(z, θ) Trans(z, d) Trans(x, a) Rot(x, α)     frame i at the far end of link i
    modified   A = Rot(x, α) Trans(x, a) Rot(z, θ) Trans(z, d)     frame i on the axis of joint i

(standard: Siciliano et al., Robotics (2009), section 2.8.2; modified: Craig, Introduction to Robotics (2005), section
3.4, whose a_{i-1}, α_{i-1} stand in row i here.) The coordinate is added to θ on a revolute joint, to d on a prismatic
one.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import isfinite
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from robodyn_ros.engine.states import as_states, refuse_non_finite
from robodyn_ros.errors import InputError
from robodyn_ros.kinematics import se3
from robodyn_ros.robot import Pose
from robodyn_ros.robot.pose import Array

Convention = Literal["standard", "modified"]
Kind = Literal["revolute", "prismatic"]


@dataclass(frozen=True)
class Row:
    """One joint.

    Attributes:
        a: length along x [m].
        alpha: twist about x [rad].
        d: offset along z [m]; of a prismatic joint, where its coordinate is 0.
        theta: angle about z [rad]; of a revolute joint, where its coordinate is 0.
        kind: which of the two the joint moves.
        offset: added to the coordinate [rad] or [m].
    """

    a: float = 0.0
    alpha: float = 0.0
    d: float = 0.0
    theta: float = 0.0
    kind: Kind = "revolute"
    offset: float = 0.0

    def __post_init__(self) -> None:
        if self.kind not in get_args(Kind):
            raise InputError("kind", f"must be one of {', '.join(get_args(Kind))}, not {self.kind!r}", self.kind)
        for name in ("a", "alpha", "d", "theta", "offset"):
            if not isfinite(getattr(self, name)):
                raise InputError(name, f"must be a finite number, not {getattr(self, name)!r}", getattr(self, name))


@dataclass(frozen=True, eq=False)
class Table:
    """A serial arm.

    Attributes:
        rows: one a joint, base first.
        convention: ``standard`` or ``modified``.
        base: pose of frame 0 in the root link's frame.
        tool: pose of the tool in the last frame.
    """

    rows: tuple[Row, ...]
    convention: Convention = "standard"
    base: Pose = field(default_factory=Pose)
    tool: Pose = field(default_factory=Pose)

    def __post_init__(self) -> None:
        if self.convention not in get_args(Convention):
            choices = ", ".join(get_args(Convention))
            raise InputError("convention", f"must be one of {choices}, not {self.convention!r}", self.convention)
        if not self.rows:
            raise InputError("rows", "must be one or more", self.rows)

    @property
    def n(self) -> int:
        """Number of joints."""
        return len(self.rows)

    def transform(self, index: int, q: ArrayLike) -> Array:
        """A of one row at its coordinate, (4, 4), or (N, 4, 4) for (N,) of them.

        Args:
            index: of the row, from 0.
            q: [rad] or [m].
        """
        row = self.rows[index]
        moved = np.asarray(q, dtype=np.float64) + row.offset
        turns = row.kind == "revolute"
        about_z = _along("z", row.theta + moved if turns else row.theta, row.d if turns else row.d + moved)
        about_x = _along("x", row.alpha, row.a)
        return about_z @ about_x if self.convention == "standard" else about_x @ about_z

    def frames(self, q: ArrayLike) -> Array:
        """Poses of the frames 1 … n in the root link's, (n, 4, 4) or (N, n, 4, 4).

        Raises:
            InputError: q has the wrong shape or is not finite.
        """
        (given,) = as_states(("q",), (q,), (self.n,))
        refuse_non_finite(("q",), (given,))
        pose = se3.from_pose(self.base)
        found = []
        for index in range(self.n):
            pose = pose @ self.transform(index, given[..., index])
            found.append(pose)
        return np.stack(found, -3)

    def pose(self, q: ArrayLike) -> Array:
        """Pose of the tool in the root link's frame, (4, 4) or (N, 4, 4); errors as ``frames``."""
        pose: Array = self.frames(q)[..., -1, :, :] @ se3.from_pose(self.tool)
        return pose


def _along(axis: Literal["x", "z"], angle: ArrayLike, way: ArrayLike) -> Array:
    """A turn [rad] about an axis and a way [m] along it."""
    unit = np.array([1.0, 0.0, 0.0] if axis == "x" else [0.0, 0.0, 1.0])
    twist = np.zeros((*np.broadcast_shapes(np.shape(angle), np.shape(way)), 6))
    twist[..., :3], twist[..., 3:] = np.multiply.outer(way, unit), np.multiply.outer(angle, unit)
    return se3.exp(twist)
