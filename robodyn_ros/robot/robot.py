# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The immutable Robot: the model of an arm that all other rooms use."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar, Literal, NamedTuple

import numpy as np

from robodyn_ros.document.blocks import Block, literal_table, literal_text
from robodyn_ros.document.html import Summarised
from robodyn_ros.errors import InputError, Place, RobotDescriptionError, check_type, is_it
from robodyn_ros.robot.pose import Array, Pose, read_only


@dataclass(frozen=True, eq=False)
class Inertial:
    """A rigid body's mass distribution, seen from one frame.

    Attributes:
        mass: [kg].
        com: centre of mass in the frame, (3,) in [m].
        inertia: about the centre of mass, axes parallel to the frame's, (3, 3) in [kg m²].
    """

    mass: float = 0.0
    com: Array = field(default_factory=lambda: read_only(np.zeros(3)))
    inertia: Array = field(default_factory=lambda: read_only(np.zeros((3, 3))))

    def seen_from(self, pose: Pose) -> Inertial:
        """The same body, seen from another frame, in which this inertial's frame has the given pose."""
        rotation = pose.rotation
        com, inertia = rotation @ self.com + pose.translation, rotation @ self.inertia @ rotation.T
        return Inertial(self.mass, read_only(com), read_only(inertia))

    @classmethod
    def combined(cls, parts: Iterable[Inertial]) -> Inertial:
        """Several bodies welded together, all seen from the same frame (parallel-axis theorem)."""
        parts = tuple(parts)
        if len(parts) == 1:
            return parts[0]
        mass = sum(part.mass for part in parts)
        moment = sum((part.mass * part.com for part in parts), np.zeros(3))
        com = moment / (mass or 1.0)
        inertia = np.zeros((3, 3))
        for part in parts:
            d = part.com - com
            inertia += part.inertia + part.mass * (d @ d * np.eye(3) - np.outer(d, d))
        return cls(float(mass), read_only(com), read_only(inertia))


JointType = Literal["revolute", "continuous", "prismatic", "fixed"]


@dataclass(frozen=True)
class Mimic:
    """``position = multiplier * position of joint + offset`` (offset in [rad] or [m])."""

    joint: str
    multiplier: float = 1.0
    offset: float = 0.0


@dataclass(frozen=True, eq=False, repr=False)
class Joint(Summarised):
    """A joint between two links, every default of the URDF applied.

    [x] stands for [rad] on a rotating joint and [m] on a prismatic one.

    Attributes:
        name: its name in the URDF.
        type: ``revolute``, ``continuous``, ``prismatic`` or ``fixed``.
        parent: name of the link it starts from.
        child: name of the link it moves.
        origin: pose of the joint frame (the child link's frame at position 0) in the parent link's frame.
        axis: unit vector in the joint frame, (3,).
        lower: least position [x], -inf where there is none (continuous joints).
        upper: greatest position [x], inf where there is none.
        velocity: greatest speed [x/s], inf where the URDF names none.
        effort: greatest effort [N·m] or [N], inf where the URDF names none.
        damping: viscous friction [N·m·s/rad] or [N·s/m].
        friction: Coulomb friction [N·m] or [N].
        armature: inertia of the motor's rotor, reflected through the gear [kg m²] or [kg].
        mimic: the joint that it follows, or None if it moves on its own.
        acceleration: greatest acceleration [x/s²], inf where the URDF names none.
        deceleration: greatest deceleration [x/s²]; that of acceleration where the URDF names that alone.
        jerk: greatest jerk [x/s³], inf where the URDF names none.
    """

    name: str
    type: JointType
    parent: str
    child: str
    origin: Pose = field(default_factory=Pose)
    axis: Array = field(default_factory=lambda: read_only([1.0, 0.0, 0.0]))
    lower: float = -np.inf
    upper: float = np.inf
    velocity: float = np.inf
    effort: float = np.inf
    damping: float = 0.0
    friction: float = 0.0
    armature: float = 0.0
    mimic: Mimic | None = None
    acceleration: float = np.inf
    deceleration: float = np.inf
    jerk: float = np.inf

    def summary(self) -> tuple[Block, ...]:
        """Return name, type, links, axis and limits in a line."""
        said = f"{self.name}: {self.type}, {self.parent} → {self.child}"
        if self.type != "fixed":
            _, _, lower, upper, speed, effort = self.figures()
            axis = ", ".join(f"{value:.4g}" for value in self.axis + 0.0)
            said += f", axis ({axis}), {lower} to {upper}, at most {', '.join((speed, effort, *self.motion_figures()))}"
        if self.mimic is not None:
            said += f", follows {self.mimic.joint}"
        return (literal_text(said),)

    def figures(self) -> tuple[str, str, str, str, str, str]:
        """Return name, type, least and greatest position, speed and effort with their units, for people."""
        unit = self.position_unit
        limits = (self.lower, unit), (self.upper, unit), (self.velocity, f"{unit}/s"), (self.effort, self.effort_unit)
        shown = (f"{value:.4g} {unit}" if np.isfinite(value) else "no limit" for value, unit in limits)
        lower, upper, speed, effort = shown
        return self.name, self.type, lower, upper, speed, effort

    def motion_figures(self) -> list[str]:
        """Return the limits of acceleration, deceleration and jerk that are known, with their units, for people."""
        unit = self.position_unit
        powers = {"acceleration": "²", "deceleration": "²", "jerk": "³"}
        known = {name: getattr(self, name) for name in powers if np.isfinite(getattr(self, name))}
        return [f"{name} {value:.4g} {unit}/s{powers[name]}" for name, value in known.items()]

    def motion(self, position: float) -> Pose:
        """Pose of the child link's frame in the joint frame at a position [rad] or [m].

        Source: Rodrigues' formula, Lynch and Park, Modern Robotics (2017), eq. 3.51.
        """
        if self.is_prismatic:
            return Pose(translation=read_only(position * self.axis))
        x, y, z = self.axis
        K = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
        return Pose(read_only(np.eye(3) + np.sin(position) * K + (1.0 - np.cos(position)) * K @ K))

    @property
    def middle(self) -> float:
        """The middle of its range, or the position nearest to 0 where a limit is missing [x]."""
        has_both = np.isfinite([self.lower, self.upper]).all()
        return 0.5 * self.lower + 0.5 * self.upper if has_both else min(max(0.0, self.lower), self.upper)

    @property
    def is_prismatic(self) -> bool:
        """True if the joint slides; every other movable joint turns."""
        return self.type == "prismatic"

    @property
    def position_unit(self) -> str:
        """``m`` or ``rad``."""
        return "m" if self.is_prismatic else "rad"

    @property
    def effort_unit(self) -> str:
        """``N`` or ``N·m``."""
        return "N" if self.is_prismatic else "N·m"


class Finding(NamedTuple):
    """Something in a URDF that is wrong or suspicious."""

    severity: Literal["error", "warning", "note"]
    element: str  # as in the file, for example ``joint 'shoulder'``
    line: int | None  # in the file, from 1
    text: str  # the problem and the remedy


@dataclass(frozen=True, eq=False)
class Link:
    """A link of the URDF.

    Attributes:
        name: its name in the URDF.
        inertial: its own inertial, seen from the link's frame; None where the URDF gives none (massless).
        body: index into ``Robot.bodies`` of the body that it is part of, or -1 if it cannot move.
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
        parent: index of the body that the joint connects it to, or -1 for the base; less than the body's own index.
        placement: pose of the joint frame in the parent body's frame (in the root link's frame for -1).
        inertial: the inertial of all its links together, seen from the body's frame.
        links: names of its links.
        coordinate: index into ``Robot.joints`` of the coordinate q that moves it.
        ratio: joint position = ratio * q[coordinate] + offset; 1 and 0 unless the joint mimics another.
        offset: the offset of that equation [rad] or [m].
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


def _of_joints(attribute: str, doc: str) -> cached_property[Array]:
    """A property of a robot: an attribute of each independent joint (n,)."""

    def values(robot: Robot) -> Array:
        return read_only([getattr(joint, attribute) for joint in robot.joints])

    values.__doc__ = doc
    return cached_property(values)


@dataclass(frozen=True, eq=False, repr=False)
class Robot(Summarised):
    """An arm: a tree of bodies on a fixed base, moved by n independent joints.

    Attributes:
        name: its name in the URDF.
        joints: the n independent movable joints, base to tip, depth first in the order of the URDF;
            every vector q, q̇, q̈, τ is in this order.
        bodies: the moving bodies, parents before children; one per movable joint, mimic joints included.
        links: every link of the URDF.
        fixed_joints: joints that do not move.
        urdf: the XML that it was loaded from.
        places: name in messages of the robot, a link or a joint (``joint 'shoulder'``) → file and line of the URDF;
            empty if it was not loaded from a file.
        findings: parts of the URDF that were ignored, treated as absent or changed when it was loaded.
    """

    name: str
    joints: tuple[Joint, ...]
    bodies: tuple[Body, ...]
    links: tuple[Link, ...]
    fixed_joints: tuple[Joint, ...]
    urdf: str
    places: Mapping[str, Place] = field(default_factory=dict, repr=False)
    findings: tuple[Finding, ...] = field(default=(), repr=False)
    reduced: ClassVar[Callable[[Robot, Mapping[str, float]], Robot]]
    """``reduced(locked)``: the robot with joints locked; :func:`robodyn_ros.robot.reduction.reduced`, which sets it."""

    def summary(self) -> tuple[Block, ...]:
        """Return name and joints with their limits, and the mass that each moves alone."""
        masses = [0.0] * self.n
        for body in self.bodies:
            masses[body.coordinate] += body.inertial.mass
        count = f"{self.n} joint{'s' if self.n != 1 else ''}"
        head = literal_text(f"{self.name}: {count}, {sum(masses):.4g} kg in motion")
        heads = ("joint", "type", "from", "to", "speed", "effort", "mass")
        rows = [(*joint.figures(), f"{mass:.4g} kg") for joint, mass in zip(self.joints, masses, strict=True)]
        return (head, literal_table(heads, rows))

    @property
    def n(self) -> int:
        """Number of degrees of freedom."""
        return len(self.joints)

    @cached_property
    def root(self) -> str:
        """Name of the link that is no joint's child."""
        children = {joint.child for joint in (*self.fixed_joints, *(body.joint for body in self.bodies))}
        return next(link.name for link in self.links if link.name not in children)

    @cached_property
    def joint_names(self) -> tuple[str, ...]:
        """Names of ``joints``, in order."""
        return tuple(joint.name for joint in self.joints)

    @cached_property
    def position_unit(self) -> str:
        """The unit of one number for all joints: ``rad``, ``m``, or ``rad or m`` if the robot has both kinds."""
        return " or ".join(sorted({joint.position_unit for joint in self.joints}, reverse=True))

    lower = _of_joints("lower", "Least positions (n,) in [rad] or [m].")
    upper = _of_joints("upper", "Greatest positions (n,) in [rad] or [m].")
    middle = _of_joints("middle", "Middles of the ranges (n,); the positions nearest to 0 where a limit is missing.")
    velocity_limit = _of_joints("velocity", "Greatest speeds (n,) in [rad/s] or [m/s].")
    acceleration_limit = _of_joints("acceleration", "Greatest accelerations (n,) in [rad/s²] or [m/s²].")
    deceleration_limit = _of_joints("deceleration", "Greatest decelerations (n,) in [rad/s²] or [m/s²].")
    jerk_limit = _of_joints("jerk", "Greatest jerks (n,) in [rad/s³] or [m/s³].")
    effort_limit = _of_joints("effort", "Greatest efforts (n,) in [N·m] or [N].")

    @cached_property
    def home(self) -> Array:
        """The positions nearest to zero within the limits (n,) in [rad] or [m]."""
        return read_only(np.clip(np.zeros(self.n), self.lower, self.upper))

    @cached_property
    def symmetric_acceleration_limit(self) -> Array:
        """Greatest accelerations (n,) in [rad/s²] or [m/s²] that hold for speeding up and for slowing down."""
        return read_only(np.minimum(self.acceleration_limit, self.deceleration_limit))

    @cached_property
    def damping(self) -> Array:
        """Viscous friction (n,) in [N·m·s/rad] or [N·s/m], the friction of mimic joints included."""
        return self._reflected([body.ratio**2 * body.joint.damping for body in self.bodies])

    @cached_property
    def friction(self) -> Array:
        """Coulomb friction (n,) in [N·m] or [N], the friction of mimic joints included."""
        return self._reflected([abs(body.ratio) * body.joint.friction for body in self.bodies])

    @cached_property
    def armature(self) -> Array:
        """Inertia of the motors' rotors (n,) in [kg m²] or [kg], those of mimic joints included."""
        return self._reflected([body.ratio**2 * body.joint.armature for body in self.bodies])

    def _reflected(self, values: list[float]) -> Array:
        """Values of the bodies, summed over the bodies that each coordinate moves (n,)."""
        coordinates = [body.coordinate for body in self.bodies]
        return read_only(np.bincount(coordinates, weights=values, minlength=self.n))

    @cached_property
    def warnings(self) -> tuple[str, ...]:
        """The findings that have an effect, with file and line in front if they are known."""
        told = (finding for finding in self.findings if finding.severity == "warning")
        return tuple(self.description_error(finding.element, finding.text).located for finding in told)

    def chain(self, body: int) -> list[int]:
        """Indices of the bodies from the base to a body, which is the last one; empty for -1."""
        found: list[int] = []
        while body >= 0:
            found.insert(0, body)
            body = self.bodies[body].parent
        return found

    def link(self, name: str, given_as: str = "link") -> Link:
        """The link of a name.

        Args:
            name: of the link.
            given_as: argument or parameter that gave the name, for messages.

        Raises:
            InputError: there is none; the message lists those that exist.
        """
        check_type(given_as, name, str, "a name")
        for link in self.links:
            if link.name == name:
                return link
        known = [link.name for link in self.links]
        raise InputError(given_as, f"{name!r} is not in the robot; it has {', '.join(known)}{is_it(name, known)}", name)

    def description_error(self, element: str, problem: str) -> RobotDescriptionError:
        """The error for a problem with a part of this robot, with its place in the URDF.

        Args:
            element: name of the part in messages, for example ``joint 'shoulder'``.
            problem: the problem with it.
        """
        return RobotDescriptionError(element, problem, self.places.get(element))


def tip(robot: Robot) -> str:
    """Name of the default tip link: the last link that is fixed to the arm's last body.

    The arm's last body is the last one before the arm branches, for example into the fingers of a gripper.
    """
    last = -1
    while len(following := [k for k, body in enumerate(robot.bodies) if body.parent == last]) == 1:
        last = following[0]
    own = [link.name for link in robot.links if link.body == last]
    moving = [link.name for link in robot.links if link.body >= 0]
    return (own if last >= 0 else moving or own)[-1]
