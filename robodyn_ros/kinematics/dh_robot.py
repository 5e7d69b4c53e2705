# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""A Robot from a Denavit–Hartenberg table and inertias: for arms that are published without a URDF."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from xml.sax.saxutils import quoteattr

import numpy as np

from robodyn_ros.errors import InputError
from robodyn_ros.kinematics.dh import DHRow, DHTable
from robodyn_ros.robot import Inertial, Joint, Pose, Robot
from robodyn_ros.robot.checks import check_inertial
from robodyn_ros.robot.pose import Array, read_only
from robodyn_ros.robot.tree import build_robot

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
        InputError: not as many links as rows, or a wrong shape.
        RobotDescriptionError: an inertia is impossible, or a joint moves nothing.
    """
    if len(links) != table.n:
        raise InputError("links", f"must be one a row, {table.n}, not {len(links)}", links)
    inertials: dict[str, Inertial | None] = {"base": None}
    joints = []
    before = table.base
    parent = "base"
    for index, (row, data) in enumerate(zip(table.rows, links, strict=True)):
        fixed = _pose(table.transform(index, 0.0))
        origin, inner = (before, fixed) if table.convention == "standard" else (before @ fixed, Pose())
        child, joint = f"link{index + 1}", f"joint{index + 1}"
        inertials[child] = _inertial(child, data, inner, check)
        joints.append(_joint(joint, row, data, parent, child, origin))
        before, parent = inner, child
    inertials[TOOL] = None
    joints.append(Joint(f"{TOOL}_mount", "fixed", parent, TOOL, before @ table.tool))
    return build_robot(name, inertials, joints, _urdf(name, inertials, joints))


def _inertial(title: str, data: LinkData, frame: Pose, check: bool) -> Inertial:
    com, inertia = np.asarray(data.com, dtype=np.float64), np.asarray(data.inertia, dtype=np.float64)
    if com.shape != (3,) or inertia.shape != (3, 3) or not np.allclose(inertia, inertia.T, rtol=1e-9, atol=0.0):
        raise InputError(title, "com must be of shape (3,), inertia of shape (3, 3) and symmetric", data)
    inertial = Inertial(float(data.mass), read_only(com), read_only(inertia))
    if check:
        check_inertial(f"link {title!r}", inertial)
    return inertial.seen_from(frame)


def _joint(name: str, row: DHRow, data: LinkData, parent: str, child: str, origin: Pose) -> Joint:
    limited = np.isfinite(data.lower) or np.isfinite(data.upper) or row.kind == "prismatic"
    return Joint(
        name,
        row.kind if limited else "continuous",
        parent,
        child,
        origin,
        read_only([0.0, 0.0, 1.0]),
        float(data.lower),
        float(data.upper),
        float(data.velocity),
        float(data.effort),
        float(data.damping),
        float(data.friction),
    )


def _pose(matrix: Array) -> Pose:
    return Pose(read_only(matrix[:3, :3]), read_only(matrix[:3, 3]))


def _urdf(name: str, inertials: dict[str, Inertial | None], joints: Sequence[Joint]) -> str:
    parts = [f"<robot name={quoteattr(name)}>"]
    for link, inertial in inertials.items():
        if inertial is None:
            parts.append(f'  <link name="{link}"/>')
            continue
        moments = zip(("ixx", "ixy", "ixz", "iyy", "iyz", "izz"), inertial.inertia[np.triu_indices(3)], strict=True)
        written = " ".join(f'{key}="{float(value)!r}"' for key, value in moments)
        parts.append(
            f'  <link name="{link}"><inertial><origin xyz="{_numbers(inertial.com)}"/>'
            f'<mass value="{inertial.mass!r}"/><inertia {written}/></inertial></link>'
        )
    for joint in joints:
        rotation = joint.origin.rotation
        rpy = (
            np.arctan2(rotation[2, 1], rotation[2, 2]),
            np.arctan2(-rotation[2, 0], np.hypot(rotation[2, 1], rotation[2, 2])),
            np.arctan2(rotation[1, 0], rotation[0, 0]),
        )
        tags = f'<parent link="{joint.parent}"/><child link="{joint.child}"/>'
        tags += f'<origin xyz="{_numbers(joint.origin.translation)}" rpy="{_numbers(rpy)}"/>'
        if joint.type != "fixed":
            tags += f'<axis xyz="0 0 1"/>{_limit(joint)}'
            tags += f'<dynamics damping="{joint.damping!r}" friction="{joint.friction!r}"/>'
        parts.append(f'  <joint name="{joint.name}" type="{joint.type}">{tags}</joint>')
    return "\n".join([*parts, "</robot>"])


def _limit(joint: Joint) -> str:
    """Return the limits. urdfdom insists on all four and reads no ``inf``: an unknown one is the greatest float."""
    known = {"lower": joint.lower, "upper": joint.upper, "velocity": joint.velocity, "effort": joint.effort}
    if joint.type == "continuous":
        del known["lower"], known["upper"]
    greatest = np.finfo(np.float64).max
    written = (f'{key}="{float(np.clip(value, -greatest, greatest))!r}"' for key, value in known.items())
    return f"<limit {' '.join(written)}/>"


def _numbers(values: Sequence[float] | Array) -> str:
    return " ".join(repr(float(value)) for value in values)
