# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Marks for quantities that the picture of an arm lacks: its masses, the efforts in its joints, the path of its tip.

==========  ====================================================================================================
layer       contents
==========  ====================================================================================================
com         centre of mass of each body, as large as its mass, and of all that moves
gravity     the direction of free fall, at the centre of mass of all that moves
effort      effort of each joint: an arc about a turning axis, an arrow along a sliding one; length and colour, from
            green to red, show the ratio of effort to effort limit
inertia     solid ellipsoid of even density with the mass and inertia of each body
velocity    velocity of the tip, as its path in ``VELOCITY_SPAN``
trace       path of the tip so far
skeleton    the joints, a drum about a turning axis and a rail along a sliding one, and straight lines between them
==========  ====================================================================================================
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

import numpy as np

from robodyn_ros.dynamics.parameters import STANDARD_GRAVITY
from robodyn_ros.kinematics import Kinematics
from robodyn_ros.robot import Array, Body, Robot, random_positions
from robodyn_ros.robot.robot import tip as last_link
from robodyn_ros.view.marks import Arrow, Ball, Color, Line, Mark

SKELETON = "skeleton"
"""The layer that replaces missing shapes."""

LAYERS = ("com", "gravity", "effort", "inertia", "velocity", "trace", SKELETON)
"""Names of the layers."""

REACH_SAMPLES = 60
"""Number of random positions for an estimate of the reach."""

VELOCITY_SPAN = 0.2
"""The tip's velocity is drawn as its path in this time [s]."""

TRACE_POINTS = 400
"""Number of points of the tip's path that are kept."""

FULL_ARC = 1.75 * np.pi
"""Angle of the arc of an effort at its limit: less than a full turn, so that its ends do not meet [rad]."""

COM_COLOR: Color = (0.98, 0.80, 0.18, 1.0)
WHOLE_COLOR: Color = (0.85, 0.20, 0.75, 1.0)
GRAVITY_COLOR: Color = (0.45, 0.45, 0.55, 1.0)
INERTIA_COLOR: Color = (0.30, 0.55, 0.95, 0.25)
VELOCITY_COLOR: Color = (0.10, 0.70, 0.85, 1.0)
TRACE_COLOR: Color = (0.95, 0.55, 0.13, 1.0)
REFERENCE_COLOR: Color = (0.35, 0.75, 0.45, 0.7)
STICK_COLOR: Color = (0.55, 0.60, 0.66, 1.0)
TURN_COLOR: Color = (0.90, 0.52, 0.13, 1.0)
SLIDE_COLOR: Color = (0.18, 0.48, 0.75, 1.0)
LOAD_COLORS = ((0.20, 0.70, 0.25), (0.95, 0.70, 0.25), (0.95, 0.15, 0.15))


class Overlay:
    """The marks of one arm. It keeps the path of the tip, so one object belongs to one motion.

    Attributes:
        robot: the arm.
        tip: name of the link that is traced.
        size: a length by which marks are scaled: the greatest extent of the arm's joints and tip at home [m].
        gravity: acceleration of free fall in the root link's frame (3,) in [m/s²]; standard gravity unless set.
        effort_limit: limits of the efforts (n,) in [N·m] or [N], inf where there is none; the URDF's unless set.
    """

    def __init__(self, robot: Robot, tip: str = "") -> None:
        """
        Args:
            robot: the arm.
            tip: name of the link that is traced; the last of the URDF's links that move unless given.

        Raises:
            InputError: there is no link of that name.
        """
        self.robot = robot
        self.tip = robot.link(tip or last_link(robot)).name
        self.gravity: Array = np.array(STANDARD_GRAVITY)
        self.effort_limit = robot.effort_limit
        self._kinematics = Kinematics(robot)
        self._greatest = np.zeros(robot.n)
        self._traces: dict[str, deque[Array]] = {}
        names = (*(body.name for body in robot.bodies), self.tip)
        places = [self._kinematics.pose(name, robot.home)[:3, 3] for name in names]
        groups = (places, [*places, np.zeros(3)], self.places(robot.home))
        extents = (np.ptp(np.array(group), axis=0).max() for group in groups)
        self.size = next((float(extent) for extent in extents if extent > 0.0), 1.0)

    def marks(self, q: Array, qd: Array, effort: Array | None = None, reference: Array | None = None) -> list[Mark]:
        """All marks for a state.

        Args:
            q: positions (n,) in [rad] or [m].
            qd: velocities (n,) in [rad/s] or [m/s].
            effort: the acting effort (n,) in [N·m] or [N]; no layer ``effort`` without it.
            reference: the reference positions (n,); the path of their tip is a second trace.

        Raises:
            InputError: something has the wrong shape or is not finite.
        """
        poses = [self._kinematics.pose(body.name, q) for body in self.robot.bodies]
        marks = [*self._masses(poses), *self._velocity(q, qd), *self._trace("tip", q, TRACE_COLOR)]
        marks += self._skeleton(poses)
        if effort is not None:
            marks += self._efforts(poses, effort)
        if reference is not None:
            marks += self._trace("reference", reference, REFERENCE_COLOR)
        return marks

    def places(self, q: Array) -> Array:
        """The positions of the arm's root, joints, links and masses, (k, 3) in [m].

        Args:
            q: positions (n,) or (N, n) in [rad] or [m].
        """
        points = [(link.name, np.zeros(3)) for link in self.robot.links if link.body >= 0]
        points += [(body.name, body.inertial.com) for body in self.robot.bodies]
        places = [self._kinematics.pose(name, q, point)[..., :3, 3].reshape(-1, 3) for name, point in points]
        return np.concatenate([np.zeros((1, 3)), *places])

    def some_positions(self) -> Array:
        """Positions (k, n) for an estimate of the reach: home, and random ones within the limits."""
        return np.vstack([self.robot.home, random_positions(self.robot, REACH_SAMPLES)])

    def forget(self) -> None:
        """Begin new traces."""
        self._traces.clear()

    def _masses(self, poses: list[Array]) -> Iterator[Mark]:
        bodies = self.robot.bodies
        masses = np.array([body.inertial.mass for body in bodies])
        centers = np.array([pose[:3, :3] @ b.inertial.com + pose[:3, 3] for b, pose in zip(bodies, poses, strict=True)])
        total = float(masses.sum())
        if total <= 0.0:
            return
        for body, pose, center in zip(bodies, poses, centers, strict=True):
            inertial = body.inertial
            if inertial.mass > 0.0:
                radius = 0.05 * self.size * np.cbrt(inertial.mass / total)
                yield Ball("com", body.name, center, np.eye(3), np.full(3, radius), COM_COLOR)
                axes, radii = _ellipsoid(inertial.inertia, inertial.mass)
                yield Ball("inertia", body.name, center, pose[:3, :3] @ axes, radii, INERTIA_COLOR)
        whole = masses @ centers / total
        yield Ball("com", "all", whole, np.eye(3), np.full(3, 0.06 * self.size), WHOLE_COLOR)
        strength = float(np.linalg.norm(self.gravity))
        if strength > 0.0:
            end = whole + 0.35 * self.size * self.gravity / strength
            yield Arrow("gravity", "g", whole, end, 0.01 * self.size, GRAVITY_COLOR)

    def _skeleton(self, poses: list[Array]) -> Iterator[Mark]:
        width = 0.05 * self.size
        for body, pose in zip(self.robot.bodies, poses, strict=True):
            origin, along = pose[:3, 3], pose[:3, :3] @ body.joint.axis
            start = np.zeros(3) if body.parent < 0 else poses[body.parent][:3, 3]
            color, half, thick = (SLIDE_COLOR, 2.0, 0.8) if body.joint.is_prismatic else (TURN_COLOR, 0.8, 2.0)
            ends = np.array([origin - half * width * along, origin + half * width * along])
            yield Line(SKELETON, f"{body.name}.joint", ends, thick * width, color)
            if float(np.linalg.norm(origin - start)) > 1e-3 * self.size:
                yield Line(SKELETON, body.name, np.array([start, origin]), width, STICK_COLOR)
        for link in self.robot.links:  # links fixed to a body, such as the tool
            if link.body >= 0:
                pose = poses[link.body]
                end = pose[:3, :3] @ link.pose.translation + pose[:3, 3]
                if float(np.linalg.norm(end - pose[:3, 3])) > 1e-3 * self.size:
                    yield Line(SKELETON, f"{link.name}.link", np.array([pose[:3, 3], end]), width, STICK_COLOR)

    def _efforts(self, poses: list[Array], effort: Array) -> Iterator[Mark]:
        self._greatest = np.maximum(self._greatest, np.abs(effort))
        for body, pose in zip(self.robot.bodies, poses, strict=True):
            if body.joint.mimic is not None:
                continue
            k = body.coordinate
            limited = bool(np.isfinite(self.effort_limit[k]))
            full = self.effort_limit[k] if limited else self._greatest[k]
            ratio = float(np.clip(effort[k] / full, -1.0, 1.0)) if full > 0.0 else 0.0
            if abs(ratio) < 1e-3:
                continue
            color = _load_color(abs(ratio)) if limited else GRAVITY_COLOR
            yield from self._effort(body, pose, ratio, color)

    def _effort(self, body: Body, pose: Array, ratio: float, color: Color) -> Iterator[Mark]:
        name, axis, origin = body.joint.name, pose[:3, :3] @ body.joint.axis, pose[:3, 3]
        radius, width = 0.2 * self.size, 0.012 * self.size
        if body.joint.is_prismatic:
            yield Arrow("effort", name, origin, origin + 2.0 * radius * ratio * axis, 2.0 * width, color)
            return
        across = np.cross(axis, [1.0, 0.0, 0.0] if abs(axis[0]) < 0.9 else [0.0, 1.0, 0.0])
        across /= np.linalg.norm(across)
        angles = np.linspace(0.0, ratio * FULL_ARC, 2 + int(48 * abs(ratio)))[:, None]
        points = origin + radius * (np.cos(angles) * across + np.sin(angles) * np.cross(axis, across))
        yield Line("effort", name, points, width, color)
        ahead = points[-1] - points[-2]
        tip = points[-1] + 0.35 * radius * ahead / np.linalg.norm(ahead)
        yield Arrow("effort", f"{name}.head", points[-1], tip, 1.2 * width, color)

    def _velocity(self, q: Array, qd: Array) -> Iterator[Mark]:
        start = self._kinematics.pose(self.tip, q)[:3, 3]
        path = VELOCITY_SPAN * (self._kinematics.jacobian(self.tip, q)[:3] @ qd)
        if float(np.linalg.norm(path)) > 0.01 * self.size:
            yield Arrow("velocity", self.tip, start, start + path, 0.012 * self.size, VELOCITY_COLOR)

    def _trace(self, name: str, q: Array, color: Color) -> Iterator[Mark]:
        trace = self._traces.setdefault(name, deque(maxlen=TRACE_POINTS))
        place = self._kinematics.pose(self.tip, q)[:3, 3]
        if not trace or float(np.linalg.norm(place - trace[-1])) > 0.005 * self.size:
            trace.append(place)
        if len(trace) > 1:
            yield Line("trace", name, np.array(trace), 0.008 * self.size, color)


def _ellipsoid(inertia: Array, mass: float) -> tuple[Array, Array]:
    """Axes (3, 3), as columns, and semi-axes (3,) [m] of the solid ellipsoid of even density with that inertia."""
    moments, axes = np.linalg.eigh(inertia)  # I_x = m (b² + c²) / 5, and so on
    squares = 2.5 / mass * (moments.sum() - 2.0 * moments)
    axes[:, 0] *= np.sign(np.linalg.det(axes))  # right-handed
    return axes, np.sqrt(np.maximum(squares, 1e-8))


def _load_color(ratio: float) -> Color:
    """Green at rest, amber at two thirds, red at the limit; between them, the parts of both."""
    red, green, blue = (float(np.interp(ratio, (0.0, 2.0 / 3.0, 1.0), part)) for part in zip(*LOAD_COLORS, strict=True))
    return red, green, blue, 1.0
