"""The immutable Robot: what every other room knows of the arm."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from robodyn_ros.errors import InputError
from robodyn_ros.robot.inertial import Inertial
from robodyn_ros.robot.joint import Joint
from robodyn_ros.robot.pose import Array, Pose, read_only


@dataclass(frozen=True, eq=False)
class Link:
    """A link as the URDF names it.

    Attributes:
        name: as in the URDF.
        inertial: its own share of mass, seen from the link's frame; None where the URDF gives none (massless).
        body: index into ``Robot.bodies`` of the body it is part of, or -1 if it cannot move.
        pose: pose of the link's frame in the body's frame (in the root link's frame if it cannot move).
    """

    name: str
    inertial: Inertial | None
    body: int
    pose: Pose


@dataclass(frozen=True, eq=False)
class Body:
    """A moving rigid body: the child link of a movable joint with all links fixed to it.

    Its frame is the frame of the joint's child link.

    Attributes:
        name: name of the joint's child link.
        joint: the joint that moves it.
        parent: index of the body it is jointed to, or -1 for the base. Always less than the body's own index.
        placement: pose of the joint frame in the parent body's frame (in the root link's frame for -1).
        inertial: of all its links together, seen from the body's frame.
        links: names of its links.
        coordinate: index into ``Robot.joints`` of the coordinate q that moves it.
        ratio: joint position = ratio * q[coordinate] + offset; 1 and 0 unless the joint mimics another.
        offset: see ratio.
    """

    name: str
    joint: Joint
    parent: int
    placement: Pose
    inertial: Inertial
    links: tuple[str, ...]
    coordinate: int
    ratio: float = 1.0
    offset: float = 0.0


@dataclass(frozen=True, eq=False)
class Robot:
    """An arm: a tree of bodies on a fixed base, moved by n independent joints.

    Attributes:
        name: as in the URDF.
        joints: the n independent movable joints, base to tip, depth first in the order of the URDF;
            every vector q, q̇, q̈, τ is in this order.
        bodies: the moving bodies, parents before children; one per movable joint, mimic joints included.
        links: every link of the URDF.
        fixed_joints: joints that do not move.
        urdf: the XML that it was loaded from.
    """

    name: str
    joints: tuple[Joint, ...]
    bodies: tuple[Body, ...]
    links: tuple[Link, ...]
    fixed_joints: tuple[Joint, ...]
    urdf: str

    @property
    def n(self) -> int:
        """Number of degrees of freedom."""
        return len(self.joints)

    @cached_property
    def root(self) -> str:
        """Name of the link that the others hang on."""
        children = {joint.child for joint in (*self.fixed_joints, *(body.joint for body in self.bodies))}
        return next(link.name for link in self.links if link.name not in children)

    @cached_property
    def joint_names(self) -> tuple[str, ...]:
        """Names of ``joints``, in order."""
        return tuple(joint.name for joint in self.joints)

    @cached_property
    def lower(self) -> Array:
        """Least positions (n,) in [rad] or [m]."""
        return read_only([joint.lower for joint in self.joints])

    @cached_property
    def upper(self) -> Array:
        """Greatest positions (n,) in [rad] or [m]."""
        return read_only([joint.upper for joint in self.joints])

    @cached_property
    def home(self) -> Array:
        """As near to zero as the position limits allow (n,) in [rad] or [m]."""
        return read_only(np.clip(np.zeros(self.n), self.lower, self.upper))

    @cached_property
    def velocity_limit(self) -> Array:
        """Greatest speeds (n,) in [rad/s] or [m/s]."""
        return read_only([joint.velocity for joint in self.joints])

    @cached_property
    def effort_limit(self) -> Array:
        """Greatest efforts (n,) in [N·m] or [N]."""
        return read_only([joint.effort for joint in self.joints])

    @cached_property
    def damping(self) -> Array:
        """Viscous friction (n,) in [N·m·s/rad] or [N·s/m], with that of the joints that mimic."""
        return self._reflected([body.ratio**2 * body.joint.damping for body in self.bodies])

    @cached_property
    def friction(self) -> Array:
        """Coulomb friction (n,) in [N·m] or [N], with that of the joints that mimic."""
        return self._reflected([abs(body.ratio) * body.joint.friction for body in self.bodies])

    def _reflected(self, values: list[float]) -> Array:
        """One value a body, summed over the bodies that each coordinate moves (n,)."""
        coordinates = [body.coordinate for body in self.bodies]
        return read_only(np.bincount(coordinates, weights=values, minlength=self.n))

    def link(self, name: str) -> Link:
        """The link of that name.

        Raises:
            InputError: there is none; the message lists those that exist.
        """
        given: object = name  # by a caller without a type checker
        if not isinstance(given, str):
            raise InputError("link", f"must be a name, not {type(name).__name__}", name)
        for link in self.links:
            if link.name == name:
                return link
        raise InputError("link", f"{name!r} is not in the robot; it has {', '.join(x.name for x in self.links)}", name)
