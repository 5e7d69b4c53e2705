# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Links and joints → the tree of moving bodies, which is the robot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from robodyn_ros.errors import RobotDescriptionError
from robodyn_ros.robot.checks import check_finite
from robodyn_ros.robot.pose import Pose
from robodyn_ros.robot.robot import Body, Inertial, Joint, Link, Robot


def build_robot(name: str, links: Mapping[str, Inertial | None], joints: Sequence[Joint], urdf: str) -> Robot:
    """The robot of these links and joints: each moving link with all links that are fixed to it is one body.

    Args:
        name: the robot's name.
        links: name → own inertial, in the order of the URDF.
        joints: in the order of the URDF; branches are followed in this order.
        urdf: the XML, which the robot keeps.

    Raises:
        RobotDescriptionError: they are not one tree with at least one movable joint.
    """
    ordered = _depth_first(name, links, joints)
    movable = [joint for joint in ordered if joint.type != "fixed"]
    if not movable:
        raise RobotDescriptionError(f"robot {name!r}", "has no joint that moves")
    free = [joint for joint in movable if joint.mimic is None]
    body, pose, placements = _bodies(ordered, movable)
    owned = tuple(Link(link, links[link], body[link], pose[link]) for link in links)
    named = {joint.name: joint for joint in joints}

    def made(i: int, joint: Joint) -> Body:
        leader, ratio, offset = _leader(joint, named)
        members = [link for link in owned if link.body == i]
        parts = [link.inertial.seen_from(link.pose) for link in members if link.inertial is not None]
        return Body(
            name=joint.child,
            joint=joint,
            parent=body[joint.parent],
            placement=placements[i],
            inertial=Inertial.combined(parts),
            links=tuple(link.name for link in members),
            coordinate=free.index(leader),
            ratio=ratio,
            offset=offset,
        )

    bodies = [made(i, joint) for i, joint in enumerate(movable)]
    fixed = tuple(joint for joint in ordered if joint.type == "fixed")
    robot = Robot(name, tuple(free), tuple(bodies), owned, fixed, urdf)
    check_finite(robot)
    return robot


def _bodies(ordered: Sequence[Joint], movable: Sequence[Joint]) -> tuple[dict[str, int], dict[str, Pose], list[Pose]]:
    """The body of each link (-1: the base), its pose in that body, and the pose of each body in its parent."""
    root = ordered[0].parent
    index = {joint.child: i for i, joint in enumerate(movable)}
    body, pose, placements = {root: -1}, {root: Pose()}, []
    for joint in ordered:
        pose[joint.child] = pose[joint.parent] @ joint.origin
        body[joint.child] = body[joint.parent]
        if joint.child in index:
            placements.append(pose[joint.child])
            pose[joint.child] = Pose()
            body[joint.child] = index[joint.child]
    return body, pose, placements


def _depth_first(name: str, links: Mapping[str, Inertial | None], joints: Sequence[Joint]) -> list[Joint]:
    """The joints, parents before children; every link is reached exactly once."""
    by_child = _parent_joints(links, joints)
    if not links:
        raise RobotDescriptionError(f"robot {name!r}", "has no link")
    roots = [link for link in links if link not in by_child]
    if len(roots) > 1:
        raise RobotDescriptionError(
            f"robot {name!r}", f"has {len(roots)} root links, {', '.join(map(repr, roots))}; it must have one"
        )
    branches: dict[str, list[Joint]] = {link: [] for link in links}
    for joint in reversed(joints):
        branches[joint.parent].append(joint)
    ordered = []
    ahead = list(branches[roots[0]]) if roots else []
    while ahead:
        joint = ahead.pop()
        ordered.append(joint)
        ahead += branches[joint.child]
    if len(ordered) < len(joints) or not roots:
        reached = {joint.name for joint in ordered}
        raise _loop(next(joint for joint in joints if joint.name not in reached), by_child)
    return ordered


def _parent_joints(links: Mapping[str, Inertial | None], joints: Sequence[Joint]) -> dict[str, Joint]:
    """Child link → the joint that carries it."""
    by_child: dict[str, Joint] = {}
    names = set()
    for joint in joints:
        title = f"joint {joint.name!r}"
        if joint.name in names:
            raise RobotDescriptionError(title, "there is another joint of this name")
        names.add(joint.name)
        for role, link in (("parent", joint.parent), ("child", joint.child)):
            if link not in links:
                raise RobotDescriptionError(title, f"its {role} link {link!r} does not exist")
        if joint.child in by_child:
            other = by_child[joint.child].name
            raise RobotDescriptionError(
                f"link {joint.child!r}",
                f"is the child of both joint {other!r} and joint {joint.name!r}; a link has one parent, loops are not "
                "supported",
            )
        by_child[joint.child] = joint
    return by_child


def _loop(joint: Joint, by_child: Mapping[str, Joint]) -> RobotDescriptionError:
    """The error for a joint that is not connected to a root: its chain of parents ends in a circle."""
    seen: list[Joint] = []
    while joint not in seen:
        seen.append(joint)
        joint = by_child[joint.parent]
    circle = [step.name for step in reversed(seen[seen.index(joint) :])]
    return RobotDescriptionError(f"joint {circle[0]!r}", f"is part of a loop: {' → '.join([*circle, circle[0]])}")


def _leader(joint: Joint, joints: Mapping[str, Joint]) -> tuple[Joint, float, float]:
    """The independent joint at the end of a chain of mimic joints, with ratio and offset of the whole chain."""
    title = f"joint {joint.name!r}"
    ratio, offset = 1.0, 0.0
    seen = []
    while joint.mimic is not None:
        mimic = joint.mimic
        seen.append(joint.name)
        if mimic.joint not in joints:
            raise RobotDescriptionError(title, f"mimics joint {mimic.joint!r}, which does not exist")
        if mimic.joint in seen:
            raise RobotDescriptionError(title, f"mimics in a circle: {' → '.join([*seen, mimic.joint])}")
        ratio, offset = ratio * mimic.multiplier, ratio * mimic.offset + offset
        joint = joints[mimic.joint]
        if joint.type == "fixed":
            raise RobotDescriptionError(title, f"mimics joint {joint.name!r}, which is fixed")
    if not np.isfinite([ratio, offset]).all():
        raise RobotDescriptionError(title, "its mimic multipliers grow beyond all numbers")
    return joint, ratio, offset
