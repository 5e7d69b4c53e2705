# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""A robot with some of its joints locked: an arm without its fingers, wheels or neck.

A locked joint has a fixed position, and the links beyond it are welded to its parent link. The position may change
while the arm runs, for example that of a gripper's fingers. If a locked joint carries no free joint, only inertials of
the reduced robot change (:meth:`LockedJoints.inertials`), and nothing is compiled again. If it carries a free joint
(:attr:`LockedJoints.carrying`), its position changes the geometry.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from robodyn_ros.errors import InputError, is_it
from robodyn_ros.robot.description import UrdfEditor, read_document
from robodyn_ros.robot.pose import Array, read_only
from robodyn_ros.robot.robot import Inertial, Joint, Robot
from robodyn_ros.robot.tree import bodies_of, build_robot, depth_first


def reduced(robot: Robot, locked: Mapping[str, float]) -> Robot:
    """Return the robot with some joints locked, as Pinocchio's ``buildReducedModel`` makes it.

    Args:
        robot: the whole robot.
        locked: name → position of each joint to lock [rad] or [m]; joints that mimic it are locked with it.

    Raises:
        InputError: there is no such joint, it mimics another, its position is no finite number, or no joint is left.
        RobotDescriptionError: the rest cannot move, because masses are missing.
    """
    return chosen_joints(robot, None, locked).robot


class ChosenJoints(NamedTuple):
    """A robot with some of its joints controlled."""

    robot: Robot
    locked: dict[str, float]  # name → position [rad] or [m]
    assumed: tuple[str, ...]  # names of joints at the middle of their range, because no position is given


def chosen_joints(robot: Robot, free: Sequence[str] | None, locked: Mapping[str, float]) -> ChosenJoints:
    """Return a robot with some of its joints free and the others locked.

    Args:
        robot: the whole robot.
        free: names of the joints that are controlled; None for all that are not in ``locked``.
        locked: name → position of joints that are locked [rad] or [m]; the others at the middle of their range.

    Raises:
        InputError: a name is none of the robot's joints, a joint is free and locked, or none is left.
    """
    for name in locked:
        if name not in robot.joint_names:
            raise InputError("locked", _unknown(robot, name), name)
        if free is not None and name in free:
            raise InputError("locked", f"{name!r} is among the joints that are controlled", name)
    chosen = [name for name in robot.joint_names if name not in locked] if free is None else free
    joints = LockedJoints(robot, chosen)
    at = dict(zip(joints.names, joints.middle.tolist(), strict=True)) | dict(locked)
    assumed = tuple(name for name in joints.names if name not in locked)
    return ChosenJoints(joints.robot(list(at.values())), {name: float(q) for name, q in at.items()}, assumed)


def joints_between(robot: Robot, root: str = "", tip: str = "") -> tuple[str, ...]:
    """Names of the joints from one link to another: those of one arm among several in a URDF.

    Args:
        robot: the whole robot.
        root: parent link of the first joint; the root link if empty.
        tip: link that the last joint moves; if empty, all joints beyond ``root``.

    Raises:
        InputError: a link does not exist, ``tip`` is not beyond ``root``, or no joint is between them.
    """
    start = root or robot.root
    robot.link(start, "root")
    if tip:
        robot.link(tip, "tip")
    paths = [_path(robot, start, end) for end in ([tip] if tip else [link.name for link in robot.links])]
    if paths == [None]:
        raise InputError("tip", f"link {tip!r} is not beyond link {start!r}", tip)
    links = {name for path in paths for name in path or ()}
    moved = {body.coordinate for body in robot.bodies if body.name in links}
    if not moved:
        argument, end = ("tip", repr(tip)) if tip else ("root", "any other link")
        raise InputError(argument, f"no joint moves between {start!r} and {end}", tip)
    return tuple(robot.joint_names[coordinate] for coordinate in sorted(moved))


def _path(robot: Robot, start: str, link: str) -> list[str] | None:
    """The links on the path from a link up to the start, without the start; None if the start is not an ancestor."""
    above = {body.joint.child: body.joint for body in robot.bodies} | {each.child: each for each in robot.fixed_joints}
    found = []
    while link != start:
        if link not in above:
            return None
        found.append(link)
        link = above[link].parent
    return found


class LockedJoints:
    """The joints of a robot that are locked, whatever their positions.

    Attributes:
        whole: the robot with all its joints.
        names: the k joints that are locked, in its order.
        carrying: the locked joints that carry a free joint.
    """

    def __init__(self, whole: Robot, free: Sequence[str]) -> None:
        """
        Args:
            whole: the robot with all its joints.
            free: names of the joints that are not locked, in any order.

        Raises:
            InputError: there is no such joint, it mimics another, it is named twice, or none is named.
        """
        for name in free:
            if name not in whole.joint_names:
                raise InputError("joints", _unknown(whole, name), name)
            if list(free).count(name) > 1:
                raise InputError("joints", f"{name!r} is there {list(free).count(name)} times", name)
        if not free:
            raise InputError("joints", f"must name at least one of {', '.join(whole.joint_names)}", free)
        self.whole = whole
        self.names = tuple(name for name in whole.joint_names if name not in free)
        self.carrying = tuple(name for name in self.names if name in set(self._carrying()))

    @cached_property
    def middle(self) -> Array:
        """The middle of each locked joint's range, or the position nearest to 0 where a limit is missing, (k,) in [rad]
        or [m].
        """
        return read_only([self._joints[name].middle for name in self.names])

    def robot(self, positions: ArrayLike) -> Robot:
        """Return the robot with the joints locked; the whole one if there are none.

        Args:
            positions: of the locked joints (k,) in [rad] or [m].

        Raises:
            InputError: they are not k finite numbers.
            RobotDescriptionError: the rest cannot move, because masses are missing.
        """
        whole, fixed = self.whole, self._fixed(positions)
        if not fixed:
            return whole
        joints = [fixed.get(joint.name, joint) for joint in self._ordered]
        links, editor = {link.name: link.inertial for link in whole.links}, UrdfEditor(whole.urdf)
        for joint in fixed.values():
            editor.weld(joint.name, joint.origin)
        made = build_robot(whole.name, links, joints, editor.text())
        return replace(made, places=whole.places, findings=whole.findings)

    def inertials(self, positions: ArrayLike) -> tuple[Inertial, ...]:
        """Return the inertial of each body of the reduced robot, with its bodies in their order.

        Args:
            positions: of the locked joints (k,) in [rad] or [m].

        Raises:
            InputError: they are not k finite numbers.
        """
        fixed = self._fixed(positions)
        body, pose, bodies = bodies_of([fixed.get(joint.name, joint) for joint in self._downwards])
        parts: list[list[Inertial]] = [[] for _ in bodies]
        for link in self.whole.links:
            if body[link.name] >= 0 and link.inertial is not None:
                parts[body[link.name]].append(link.inertial.seen_from(pose[link.name]))
        return tuple(map(Inertial.combined, parts))

    @cached_property
    def _joints(self) -> dict[str, Joint]:
        return {joint.name: joint for joint in (*self.whole.fixed_joints, *(b.joint for b in self.whole.bodies))}

    @cached_property
    def _ordered(self) -> list[Joint]:
        """All joints in the order of the URDF."""
        order = [element.get("name", "") for element in read_document(self.whole.urdf).root.findall("joint")]
        return sorted(self._joints.values(), key=lambda joint: order.index(joint.name))

    @cached_property
    def _downwards(self) -> list[Joint]:
        """All joints, parents before children, depth first in the order of the URDF."""
        return depth_first(self.whole.name, {link.name: link.inertial for link in self.whole.links}, self._ordered)

    def _fixed(self, positions: ArrayLike) -> dict[str, Joint]:
        """The locked joints and those that mimic them, as fixed joints, by their names."""
        try:
            values = np.asarray(positions, dtype=np.float64)
        except (TypeError, ValueError):
            values = np.array(np.nan)
        if values.shape != (len(self.names),) or not np.isfinite(values).all():
            names = ", ".join(self.names)
            raise InputError("locked", f"must be a finite position for each of {names}, not {positions!r}", positions)
        given = dict(zip(self.names, values.tolist(), strict=True))
        found = {}
        for body in self.whole.bodies:
            leader = self.whole.joint_names[body.coordinate]
            if leader in given:
                joint = body.joint
                moved = joint.origin @ joint.motion(body.ratio * given[leader] + body.offset)
                found[joint.name] = replace(joint, type="fixed", origin=moved, mimic=None)
        return found

    def _carrying(self) -> Iterator[str]:
        """The leaders of joints between the root and a free joint."""
        whole = self.whole
        for body in whole.bodies:
            if whole.joint_names[body.coordinate] not in self.names:
                yield from (whole.joint_names[whole.bodies[index].coordinate] for index in whole.chain(body.parent))


def _unknown(robot: Robot, name: str) -> str:
    """The problem with a name that is not an independent joint of the robot."""
    for body in robot.bodies:
        if body.joint.name == name:
            return f"{name!r} mimics {robot.joint_names[body.coordinate]!r} and cannot be named by itself"
    known = robot.joint_names
    return f"{name!r} is not in the robot; its joints are {', '.join(known)}{is_it(name, known)}"


Robot.reduced = reduced
