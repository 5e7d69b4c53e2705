# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Denavit–Hartenberg tables, in the standard and the modified form.

    standard   A = Rot(z, θ) Trans(z, d) Trans(x, a) Rot(x, α)     frame i at the far end of link i
    modified   A = Rot(x, α) Trans(x, a) Rot(z, θ) Trans(z, d)     frame i on the axis of joint i

(standard: Siciliano et al., Robotics (2009), section 2.8.2; modified: Craig, Introduction to Robotics (2005), section
3.4, whose a_{i-1}, α_{i-1} are in row i here.) The coordinate is added to θ on a revolute joint, to d on a prismatic
one.

:class:`DHTable` goes from a table to poses, :func:`read_dh` from an arm to its table, and :func:`robot_from_dh` from a
table and inertias to an arm, for arms that are published without a URDF. The common
normal of an axis and the next meets both at its feet, and is the x axis of a frame there. Free entries are chosen to be
zero: between parallel axes the normal starts at the end of the previous one, the first frame is at the start of the
first normal, the last at the end of the last. The rest goes into the table's base and tool.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike

from robodyn_ros.checks import as_real, check, check_choice, finite_array, finite_states
from robodyn_ros.errors import InputError
from robodyn_ros.kinematics import se3
from robodyn_ros.kinematics.screws import JointAxis, joint_axes
from robodyn_ros.robot import Array, Inertial, Pose, Robot, read_only, reload_robot
from robodyn_ros.robot.mjcf import limit_text, write_inertial, write_joint
from robodyn_ros.robot.tree import check_inertial

Convention = Literal["standard", "modified"]

Kind = Literal["revolute", "prismatic"]


@dataclass(frozen=True)
class DHRow:
    """One joint.

    Attributes:
        a: length along x [m].
        alpha: twist about x [rad].
        d: offset along z [m]; of a prismatic joint, where its coordinate is 0.
        theta: angle about z [rad]; of a revolute joint, where its coordinate is 0.
        kind: the one of these two that the joint moves.
        offset: added to the coordinate [rad] or [m].
    """

    a: float = 0.0
    alpha: float = 0.0
    d: float = 0.0
    theta: float = 0.0
    kind: Kind = "revolute"
    offset: float = 0.0

    def __post_init__(self) -> None:
        check_choice("kind", self.kind, get_args(Kind))
        for name in ("a", "alpha", "d", "theta", "offset"):
            finite_array(name, getattr(self, name), ())


@dataclass(frozen=True, eq=False)
class DHTable:
    """A serial arm.

    Attributes:
        rows: one a joint, base first.
        convention: ``standard`` or ``modified``.
        base: pose of frame 0 in the root link's frame.
        tool: pose of the tool in the last frame.
    """

    rows: tuple[DHRow, ...]
    convention: Convention = "standard"
    base: Pose = field(default_factory=Pose)
    tool: Pose = field(default_factory=Pose)

    def __post_init__(self) -> None:
        check_choice("convention", self.convention, get_args(Convention))
        check(self.rows, "rows", "one or more", self.rows)

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
        given = finite_states("q", q, self.n)
        pose = se3.from_pose(self.base)
        found = []
        for index in range(self.n):
            pose = pose @ self.transform(index, given[..., index])
            found.append(pose)
        return np.stack(found, -3)

    def pose(self, q: ArrayLike) -> Array:
        """Pose of the tool in the root link's frame, (4, 4) or (N, 4, 4); errors as ``frames``."""
        return self.frames(q)[..., -1, :, :] @ se3.from_pose(self.tool)


def _along(axis: Literal["x", "z"], angle: ArrayLike, distance: ArrayLike) -> Array:
    """A rotation [rad] about an axis and a translation [m] along it."""
    unit = np.array([1.0, 0.0, 0.0] if axis == "x" else [0.0, 0.0, 1.0])
    twist = np.zeros((*np.broadcast_shapes(np.shape(angle), np.shape(distance)), 6))
    twist[..., :3], twist[..., 3:] = np.multiply.outer(distance, unit), np.multiply.outer(angle, unit)
    return se3.exp(twist)


PARALLEL = 1e-12
"""Tolerance of the sine between parallel axes, and of the distance of axes that meet, relative to the arm's size."""

PARALLEL_DISTANCE = 1e3
"""Distance of the feet, over the arm's size, above which two axes are almost parallel, which is an error."""


class DHReading(NamedTuple):
    """A table, and the joints that its rows belong to."""

    table: DHTable
    joints: tuple[str, ...]  # of the rows
    coordinates: tuple[int, ...]  # index into ``robot.joints`` of each row


class _Normal(NamedTuple):
    """The common normal of two axes."""

    leaves: Array  # the foot on the first
    arrives: Array  # the foot on the second
    x: Array


def read_dh(robot: Robot, link: str, convention: Convention = "standard") -> DHReading:
    """Return the table of the joints between the base and a link: ``table.pose(q[coordinates])`` is the link's pose.

    Raises:
        InputError: no such link, or no such convention.
        RobotDescriptionError: there is no table; the message names the joint: none moves the link, one mimics another,
            or two axes are almost parallel.
    """
    axes, home = joint_axes(robot, link)
    if not axes:
        raise InputError("link", f"no joint moves {link!r}: it is fixed to the base", link)
    for joint in (axis.body.joint for axis in axes):
        if joint.mimic is not None:
            problem = f"mimics {joint.mimic.joint!r}; in a table every joint moves on its own"
            raise robot.description_error(f"joint {joint.name!r}", problem)
    normals = _normals(robot, axes)
    starts = [_frame(axis, normal.leaves, normal.x) for axis, normal in zip(axes, normals, strict=False)]
    ends = [_frame(axis, normal.arrives, normal.x) for axis, normal in zip(axes[1:], normals, strict=False)]
    if not normals:
        starts = ends = [_frame(axes[0], axes[0].point, _perpendicular(axes[0].direction))]
    # Each frame in the previous one, by the convention: at the far end of a link, or on the axis of its joint.
    between = ends[: len(normals)] if convention == "standard" else starts
    frames = [starts[0], *between, ends[-1]][: len(axes) + 1]
    rows = []
    for axis, one, other in zip(axes, frames[:-1], frames[1:], strict=True):
        step = se3.inverse(one) @ other
        rows.append(_row(step if convention == "standard" else se3.inverse(step), axis, convention))
    table = DHTable(tuple(rows), convention, _pose(frames[0]), _pose(se3.inverse(frames[-1]) @ home))
    bodies = [axis.body for axis in axes]
    return DHReading(table, tuple(body.joint.name for body in bodies), tuple(body.coordinate for body in bodies))


def _normals(robot: Robot, axes: list[JointAxis]) -> list[_Normal]:
    size = max(1e-9, *(float(np.linalg.norm(axis.point - axes[0].point)) for axis in axes))
    found: list[_Normal] = []
    for one, other in pairwise(axes):
        across = np.cross(one.direction, other.direction)
        sine, between = float(np.linalg.norm(across)), other.point - one.point
        if sine < PARALLEL:
            leaves = found[-1].arrives if found else one.point
            arrives = other.point + (leaves - other.point) @ other.direction * other.direction
        else:
            square = sine**2
            leaves = one.point + np.cross(between, other.direction) @ across / square * one.direction
            arrives = other.point + np.cross(between, one.direction) @ across / square * other.direction
            farthest = max(np.linalg.norm(leaves - one.point), np.linalg.norm(arrives - other.point))
            if farthest > PARALLEL_DISTANCE * size:
                problem = f"its axis is {sine:.2g} rad from parallel to that of {one.body.joint.name!r}, so that the "
                problem += f"table would need offsets of {np.linalg.norm(leaves - one.point):.2g} m"
                raise robot.description_error(f"joint {other.body.joint.name!r}", f"{problem}; make the axes parallel")
        normal = arrives - leaves - (arrives - leaves) @ one.direction * one.direction
        if sine >= PARALLEL:  # exactly at right angles to both; away from the first axis if they do not meet
            x = across / sine * (-1.0 if across @ normal < -PARALLEL * size * sine else 1.0)
        elif np.linalg.norm(normal) > PARALLEL * size:
            x = _across(one.direction, normal)
        else:
            x = found[-1].x if found else _perpendicular(one.direction)
        found.append(_Normal(leaves, arrives, x))
    return found


def _perpendicular(direction: Array) -> Array:
    """A unit vector at right angles: the normalised projection of the root link's x, or else y."""
    return _across(direction, np.eye(3)[0] if abs(direction[0]) < 0.9 else np.eye(3)[1])


def _across(direction: Array, vector: Array) -> Array:
    """The unit vector at right angles to a direction that is nearest to a vector, which may be a rounding error."""
    for _ in range(2):
        vector = vector - (vector @ direction) * direction
        vector = vector / np.linalg.norm(vector)
    return np.asarray(vector)


def _frame(axis: JointAxis, origin: Array, x: Array) -> Array:
    return se3.motion(np.column_stack([x, np.cross(axis.direction, x), axis.direction]), origin)


def _row(step: Array, axis: JointAxis, convention: Convention) -> DHRow:
    """θ, d about z, then a, α about x; a modified step is one of those backwards."""
    theta, alpha = np.arctan2(step[1, 0], step[0, 0]), np.arctan2(step[2, 1], step[2, 2])
    a = step[0, 3] * np.cos(theta) + step[1, 3] * np.sin(theta)
    d = step[2, 3]
    sign = 1.0 if convention == "standard" else -1.0
    # Zero in place of its rounding errors.
    a, alpha, d, theta = (0.0 if abs(value) < 1e-15 else float(sign * value) for value in (a, alpha, d, theta))
    return DHRow(a, alpha, d, theta, "prismatic" if axis.body.joint.is_prismatic else "revolute")


def _pose(matrix: Array) -> Pose:
    return Pose(read_only(matrix[:3, :3]), read_only(matrix[:3, 3]))


TOOL = "tool"
"""The name of the link at the end of the table."""


@dataclass(frozen=True, eq=False)
class LinkData:
    """The data of a joint and its link besides the row of the table.

    Attributes:
        mass: [kg].
        com: centre of mass in the row's frame, (3,) in [m].
        inertia: about the centre of mass, in the axes of the row's frame, (3, 3) in [kg m²].
        lower: least position [rad] or [m].
        upper: greatest position.
        velocity: greatest speed [rad/s] or [m/s].
        effort: greatest effort [N·m] or [N].
        damping: viscous friction [N·m·s/rad] or [N·s/m].
        friction: Coulomb friction [N·m] or [N].
    """

    mass: float = 0.0
    com: Sequence[float] | Array = (0.0, 0.0, 0.0)
    inertia: Sequence[Sequence[float]] | Array = field(default_factory=lambda: np.zeros((3, 3)))
    lower: float = -np.inf
    upper: float = np.inf
    velocity: float = np.inf
    effort: float = np.inf
    damping: float = 0.0
    friction: float = 0.0

    def __post_init__(self) -> None:
        """
        Raises:
            InputError: a wrong shape, a mass or an inertia that is not finite, an inertia that is not symmetric, a
                lower limit above the upper one or both 0, a friction below 0, a speed or an effort that is not above 0.
        """
        for name, shape in (("mass", ()), ("com", (3,)), ("inertia", (3, 3))):
            finite_array(name, getattr(self, name), shape)
        is_symmetric = np.allclose(self.inertia, np.transpose(self.inertia), rtol=1e-9, atol=0.0)
        check(is_symmetric, "inertia", "symmetric", self.inertia)
        if not self.lower <= self.upper:
            raise InputError("lower", f"must not be above the upper limit, {self.upper!r}", self.lower)
        if self.lower == self.upper == 0.0:
            raise InputError("lower", "and upper must not both be 0, which means no limit in a URDF", self.lower)
        for name in ("damping", "friction"):
            value = getattr(self, name)
            check((as_real(name, value, "a number") >= 0.0).all(), name, "a number from 0 up", value)
        for name in ("velocity", "effort"):  # 0 means in a URDF that no limit is known
            value = getattr(self, name)
            check((as_real(name, value, "a number") > 0.0).all(), name, "a number above 0", value)


def robot_from_dh(name: str, table: DHTable, links: Sequence[LinkData], *, check: bool = True) -> Robot:
    """The robot that a table describes, with a URDF of its own: links ``base``, ``link1`` …, ``tool``; joints
    ``joint1`` …

    A link's frame is its joint's: z is the axis, and at position 0 it is at θ and d of the row. So with a modified
    table it is the row's frame; with a standard one, whose frames lie at the far ends, inertias are moved over.

    Args:
        name: of the robot.
        table: of its joints.
        links: one a joint.
        check: refuse inertias that no rigid body can have. Published sets of measured parameters may have such (one
            moment of the PUMA 560's link 3 exceeds the sum of the others by 10 %); ``load_robot`` refuses the
            ``urdf`` of such a robot.

    Raises:
        InputError: not as many links as rows.
        RobotDescriptionError: an inertia is impossible, or a joint moves nothing.
    """
    if len(links) != table.n:
        raise InputError("links", f"must be one a row, {table.n}, not {len(links)}", links)
    root, parent, before = ET.Element("robot", {"name": name}), "base", table.base
    ET.SubElement(root, "link", {"name": parent})
    for index, (row, data) in enumerate(zip(table.rows, links, strict=True)):
        fixed = _pose(table.transform(index, 0.0))
        origin, inner = (before, fixed) if table.convention == "standard" else (before @ fixed, Pose())
        child, inertial = f"link{index + 1}", Inertial(float(data.mass), read_only(data.com), read_only(data.inertia))
        if check:
            check_inertial(f"link {child!r}", inertial)
        write_inertial(ET.SubElement(root, "link", {"name": child}), inertial.seen_from(inner))
        limited = np.isfinite(data.lower) or np.isfinite(data.upper) or row.kind == "prismatic"
        kind, ends = (row.kind, ("lower", "upper")) if limited else ("continuous", ())
        joint = write_joint(root, f"joint{index + 1}", kind, parent, child, origin)
        ET.SubElement(joint, "axis", {"xyz": "0 0 1"})
        ET.SubElement(joint, "limit", {key: limit_text(getattr(data, key)) for key in ("velocity", "effort", *ends)})
        losses = {key: repr(float(getattr(data, key))) for key in ("damping", "friction")}
        ET.SubElement(joint, "dynamics", losses)
        before, parent = inner, child
    ET.SubElement(root, "link", {"name": TOOL})
    write_joint(root, f"{TOOL}_mount", "fixed", parent, TOOL, before @ table.tool)
    ET.indent(root)
    return reload_robot(ET.tostring(root, encoding="unicode"))
