# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""A line drawing of a mechanism, as in lectures: links, joints, frames, angles, centres of mass.

The drawing is an SVG made from the URDF alone, and the same arm gives the same bytes. An arm that moves in one plane is
drawn in that plane; any other is seen from the side and above, in parallel perspective. A joint's coordinate is marked
from its zero: an arc from the direction of the link at q_i = 0, or an arrow along the slide.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import escape
from itertools import pairwise
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from robodyn_ros.checks import finite_array
from robodyn_ros.kinematics import so3
from robodyn_ros.kinematics.screws import plane_normal
from robodyn_ros.kinematics.tree import build_tree
from robodyn_ros.robot import Array, Pose, Robot

WIDTH, HEIGHT, MARGIN = 520.0, 400.0, 56.0
"""Greatest size of the drawing, and its margin around the arm for symbols and arrows [px]."""

BORDER = 20.0
"""Empty border above and below the drawing: the height of a symbol [px]."""

HEIGHTS = re.compile(r'(?:(?<=,)| c?y=")(-?\d+\.\d)(?=[" ])')
"""A height in the picture: of a point, of a middle, or of a text."""

LINES = re.compile(r'<polyline points="([^"]+)"')
"""The points of a line in the picture."""

TURN, SLIDE = 0.7, 0.35
"""Position of a joint unless it is given: of one that turns [rad], of one that slides over its range [-]."""

SYMBOL = np.array([10.0, 10.0])
"""Half of the width and of the height of a symbol with its index [px]."""

DISC = 9.0
"""Radius around a joint or a centre of mass that stays free of symbols [px]."""

AWAY = (0.0, 6.0, 12.0, 18.0, 24.0, 32.0)
"""Distances from its usual place at which a symbol is tried [px]."""

PARALLEL = 1e-6
"""Greatest cross product of directions that count as parallel [-]."""

AZIMUTH, ELEVATION = np.radians(-58.0), np.radians(22.0)
"""Direction of view of an arm that moves in no plane [rad]."""

LINK, INK, PALE, ANGLE, AXES = "#b9c6d3", "#222222", "#8c8c8c", "#D55E00", ("#c0392b", "#2e8b57", "#0072B2")
"""Colours of links, lines and text, auxiliary lines, coordinates, and of the axes x, y, z of a frame."""

LENGTHS = {True: 0.17, False: 0.09}
"""Drawn in a plane or not → length of a frame's axes, relative to the arm's size."""


class SketchedBody(NamedTuple):
    """A body at its drawn pose; all in the root link's frame."""

    zero: Pose  # the body's frame at q = 0 of its own joint
    frame: Pose  # the body's frame
    axis: Array  # of its joint (3,), a unit vector
    value: float  # position of its joint [rad] or [m]
    slides: bool  # its joint is prismatic
    ends: list[Array]  # far ends of its links, from the joint (3,) [m]
    com: Array | None  # its centre of mass (3,) [m]


class SketchSymbol(NamedTuple):
    """A symbol with an index, and its usual place."""

    place: Array  # its middle (2,) [px]
    symbol: str
    number: int | str = ""
    colour: str = INK


class SketchView(NamedTuple):
    """A parallel projection: pixels = offset + scale * (right, up) · point."""

    right: Array
    up: Array
    flat: bool  # the arm moves in the plane of the picture
    scale: float = np.nan
    offset: tuple[float, float] = (np.nan, np.nan)

    def direction(self, vector: Array) -> Array:
        """A vector in the picture, not scaled, (2,); y points down."""
        return np.array([self.right @ vector, -(self.up @ vector)])

    def at(self, point: Array) -> Array:
        """A point in pixels (2,)."""
        return np.array(self.offset) + self.scale * self.direction(point)


def sketch(robot: Robot, q: ArrayLike | None = None, *, frames: Literal["links", "equations"] = "links") -> bytes:
    """Draw an arm.

    Args:
        robot: the arm.
        q: positions (n,) in [rad] or [m]; with every coordinate visible unless given.
        frames: frames to draw: those of the URDF's links, or those of the equations
            (:mod:`robodyn_ros.kinematics.tree`), whose z is the joint's axis.

    Returns:
        The drawing, an SVG.

    Raises:
        InputError: q is not n finite numbers.
    """
    pose = _telling_pose(robot) if q is None else finite_array("q", q, (robot.n,))
    bodies = _placed(robot, pose)
    view = _fitted(_view(bodies), bodies)
    parts: list[str | SketchSymbol] = [*_ground(view), *_links(view, bodies), *_coordinates(robot, view, bodies)]
    parts += _joints(robot, view, bodies)
    drawn = [body.frame for body in bodies]
    if frames == "equations":
        drawn = [frame @ node.frame for frame, node in zip(drawn, build_tree(robot).nodes, strict=True)]
    parts += _frames(view, [Pose(), *drawn])
    parts += _masses(view, bodies)
    title = escape(f"Sketch of the arm {robot.name}: {', '.join(robot.joint_names)}")
    marks = [part for part in parts if isinstance(part, str)]
    discs = [view.at(place) for body in bodies for place in (body.frame.translation, body.com) if place is not None]
    body = "\n".join([*marks, *_placed_symbols([part for part in parts if not isinstance(part, str)], discs, marks)])
    heights = [float(y) for y in HEIGHTS.findall(body)]
    top = round(min(heights) - BORDER)
    height = round(max(heights) + BORDER) - top
    return f"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 {top:g} {WIDTH:g} {height:g}" width="{WIDTH:g}" \
height="{height:g}" role="img" font-family="'Latin Modern Math','STIX Two Text',Georgia,serif" font-size="17">
<title>{title}</title>
{body}
</svg>
""".encode()


def _telling_pose(robot: Robot) -> Array:
    """Positions at which no coordinate is zero, within the limits (n,)."""
    lengths = [float(np.linalg.norm(body.placement.translation)) for body in robot.bodies]
    reach = sum(lengths) + sum(float(np.linalg.norm(body.inertial.com)) for body in robot.bodies) or 1.0
    pose, sign = np.zeros(robot.n), 1.0
    for index, joint in enumerate(robot.joints):
        lower, upper = joint.lower, joint.upper
        if joint.is_prismatic:  # from its zero, in the positive direction if it can, by the length of the arm at most
            nearest = float(np.clip(0.0, lower, upper))
            end = upper if upper > nearest else lower
            wanted = nearest + float(np.clip(SLIDE * (end - nearest), -reach, reach))
        else:
            wanted, sign = sign * TURN, sign if index % 2 else -sign
            wanted = wanted if lower < wanted < upper else joint.middle
        pose[index] = np.clip(wanted, lower, upper)
    return pose


def _placed(robot: Robot, q: Array) -> list[SketchedBody]:
    bodies: list[SketchedBody] = []
    for body in robot.bodies:
        parent = Pose() if body.parent < 0 else bodies[body.parent].frame
        zero = parent @ body.placement
        value = body.ratio * q[body.coordinate] + body.offset
        frame = zero @ body.joint.motion(value)
        axis = zero.rotation @ body.joint.axis
        com = _seen(frame, body.inertial.com) if body.inertial.mass else None
        bodies.append(SketchedBody(zero, frame, axis, value, body.joint.is_prismatic, [], com))
    for index, placed in enumerate(bodies):
        here = placed.frame
        children = [_seen(here, each.placement.translation) for each in robot.bodies if each.parent == index]
        fixed = [_seen(here, link.pose.translation) for link in robot.links if link.body == index]
        far = max(fixed, key=lambda point: float(np.linalg.norm(point - here.translation)))
        if not children and np.allclose(far, here.translation):
            far = here.translation if placed.com is None else placed.com
        placed.ends.extend(children or [far])
    return bodies


def _seen(frame: Pose, point: Array) -> Array:
    return frame.rotation @ point + frame.translation


def _view(bodies: list[SketchedBody]) -> SketchView:
    """The plane that the arm moves in, with x or y to the right and z up; or a view from the side and above."""
    none = np.zeros(3)
    axes = [np.hstack([body.axis, none] if body.slides else [none, body.axis]) for body in bodies]
    normal = plane_normal(axes, PARALLEL)
    if normal is not None:
        upward = next(each for each in np.eye(3)[[2, 1]] if np.linalg.norm(np.cross(each, normal)) > 0.5)
        up = upward - (upward @ normal) * normal
        up = up / np.linalg.norm(up)
        right = np.cross(up, normal)
        return SketchView(right if right[int(np.argmax(abs(right)))] > 0.0 else -right, up, True)
    (ca, sa), (ce, se) = ((np.cos(angle), np.sin(angle)) for angle in (AZIMUTH, ELEVATION))
    return SketchView(np.array([-sa, ca, 0.0]), np.array([-se * ca, -se * sa, ce]), False)


def _fitted(view: SketchView, bodies: list[SketchedBody]) -> SketchView:
    points = [np.zeros(3)]
    for body in bodies:
        points += [body.zero.translation, body.frame.translation, *body.ends]
    flat = np.array([view.direction(point) for point in points])
    lowest, highest = flat.min(axis=0), flat.max(axis=0)
    span = np.maximum(highest - lowest, 0.35 * max(1e-9, (highest - lowest).max()))
    room = np.array([WIDTH, HEIGHT]) - 2.0 * MARGIN
    scale = float((room / span).min())
    offset = np.array([WIDTH, HEIGHT]) / 2.0 - scale * (lowest + highest) / 2.0
    return view._replace(scale=scale, offset=(float(offset[0]), float(offset[1])))


def _size(view: SketchView) -> float:
    """The arm's size [m], the scale of the other parts."""
    return min(WIDTH, HEIGHT) / view.scale


def _line(*points: Array, colour: str = INK, width: float = 1.5, dash: str = "", arrow: bool = False) -> str:
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    style = f'stroke="{colour}" stroke-width="{width:g}"' + (f' stroke-dasharray="{dash}"' if dash else "")
    line = f'<polyline points="{path}" fill="none" stroke-linecap="round" stroke-linejoin="round" {style}/>'
    return line + (_head(points[-2], points[-1], colour) if arrow else "")


def _head(before: Array, tip: Array, colour: str) -> str:
    """An arrow's head."""
    along = tip - before
    length = float(np.hypot(*along))
    if length < 1e-6:
        return ""
    along = 7.5 * along / length
    across = np.array([-along[1], along[0]]) * 0.42
    corners = " ".join(f"{x:.1f},{y:.1f}" for x, y in (tip, tip - along + across, tip - along - across))
    return f'<polygon points="{corners}" fill="{colour}"/>'


def _text(symbol: SketchSymbol, place: Array) -> str:
    """A symbol with its middle at a place; with a white rim against the lines behind it."""
    rim = 'paint-order="stroke" stroke="white" stroke-width="4" stroke-linejoin="round"'
    below = f'<tspan dy="4" font-size="12" font-style="normal">{symbol.number}</tspan>' if symbol.number != "" else ""
    x, y = place
    return (
        f'<text x="{x:.1f}" y="{y + 5:.1f}" text-anchor="middle" font-style="italic" fill="{symbol.colour}" {rim}>'
        f"{symbol.symbol}{below}</text>"
    )


def _placed_symbols(symbols: list[SketchSymbol], discs: list[Array], marks: list[str]) -> Iterator[str]:
    """The symbols, each as near to its usual place as possible, clear of other symbols, discs and then lines."""
    lines = np.concatenate([_dots(found) for mark in marks for found in LINES.findall(mark)])
    turns = np.linspace(0.0, 2.0 * np.pi, 16, endpoint=False)
    around = np.stack([np.cos(turns), np.sin(turns)], axis=1)
    offsets = np.concatenate([away * around for away in AWAY])
    placed: list[Array] = []
    for symbol in symbols:
        places = symbol.place + offsets
        cost = np.hypot(*offsets.T)
        for other in placed:
            cost += 1e3 * np.prod(np.maximum(2.0 * SYMBOL - abs(places - other), 0.0), axis=1)
        for disc in discs:
            cost += 1e3 * np.prod(np.maximum(SYMBOL + DISC - abs(places - disc), 0.0), axis=1)
        cost += 2.0 * (abs(lines - places[:, None]) < SYMBOL - 3.0).all(axis=2).sum(axis=1)
        best = places[int(np.argmin(cost))]
        placed.append(best)
        yield _text(symbol, best)


def _dots(points: str) -> Array:
    """Points (N, 2) on a line of the drawing, 3 px apart."""
    corners = np.array([pair.split(",") for pair in points.split()], dtype=float)
    pieces = [np.linspace(start, end, 2 + int(np.hypot(*(end - start)) / 3.0)) for start, end in pairwise(corners)]
    return np.concatenate(pieces)


def _ground(view: SketchView) -> Iterator[str]:
    """The base: a hatched line under the root link's origin."""
    x, y = view.at(np.zeros(3))
    yield _line(np.array([x - 26, y]), np.array([x + 26, y]), width=2.0)
    for k in range(6):
        yield _line(np.array([x - 22 + 9 * k, y]), np.array([x - 30 + 9 * k, y + 9]), width=1.0)


def _links(view: SketchView, bodies: list[SketchedBody]) -> Iterator[str]:
    if not bodies[0].slides:
        yield _line(view.at(np.zeros(3)), view.at(bodies[0].zero.translation), colour=LINK, width=9.0)
    for body in bodies:
        for end in body.ends:
            yield _line(view.at(body.frame.translation), view.at(end), colour=LINK, width=9.0)


def _zero_direction(body: SketchedBody) -> Array:
    """Direction of the link at zero, across the joint's axis (3,); an axis of the frame if the link lies on it."""
    local = body.frame.rotation.T @ (body.ends[0] - body.frame.translation)
    for candidate in (local, *np.eye(3)):
        direction = body.zero.rotation @ candidate
        across = direction - (direction @ body.axis) * body.axis
        length = float(np.linalg.norm(across))
        if length > 1e-3 * float(np.linalg.norm(direction)):
            return across / length
    raise AssertionError("one of three axes is not parallel to the joint's")


def _coordinates(robot: Robot, view: SketchView, bodies: list[SketchedBody]) -> Iterator[str | SketchSymbol]:
    """The joints' coordinates: arcs and arrows from their zeros."""
    radius = LENGTHS[view.flat] * _size(view)
    for body, placed in zip(robot.bodies, bodies, strict=True):
        symbol = ("q", body.coordinate + 1)
        start, end = placed.zero.translation, placed.frame.translation
        if body.joint.is_prismatic:
            first, last = view.at(start), view.at(end)
            along = last - first
            if np.hypot(*along) < 1.0:
                yield SketchSymbol(first + np.array([-26.0, -14.0]), *symbol, colour=ANGLE)
                continue
            aside = 30.0 * np.array([along[1], -along[0]]) / np.hypot(*along)
            for point in (first, last):
                yield _line(point, point + 1.15 * aside, colour=PALE, width=1.0)
            yield _line(first, last, colour=PALE, width=4.0)
            yield _line(first + aside, last + aside, colour=ANGLE, arrow=True)
            yield SketchSymbol((first + last) / 2 + 1.5 * aside, *symbol, colour=ANGLE)
            continue
        zero = _zero_direction(placed)
        turns = np.linspace(0.0, placed.value, 25)
        arc = [end + radius * (so3.exp(angle * placed.axis) @ zero) for angle in turns]
        middle = end + 1.34 * radius * (so3.exp(0.5 * placed.value * placed.axis) @ zero)
        yield _line(view.at(end), view.at(end + 1.5 * radius * zero), colour=PALE, width=1.2, dash="5 4")
        if not view.flat:
            ends = (view.at(end + sign * radius * placed.axis) for sign in (-1.0, 1.0))
            yield _line(*ends, colour=PALE, dash="9 3 2 3")
        if abs(placed.value) > 0.02:
            yield _line(*(view.at(point) for point in arc), colour=ANGLE, arrow=True)
        yield SketchSymbol(view.at(middle), *symbol, colour=ANGLE)


def _joints(robot: Robot, view: SketchView, bodies: list[SketchedBody]) -> Iterator[str]:
    """A circle for a joint that turns, a box for one that slides."""
    for body, placed in zip(robot.bodies, bodies, strict=True):
        x, y = view.at(placed.frame.translation)
        style = f'fill="white" stroke="{INK}" stroke-width="2"'
        if body.joint.is_prismatic:
            yield f'<rect x="{x - 11:.1f}" y="{y - 8:.1f}" width="22" height="16" {style}/>'
        else:
            yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{7 if view.flat else 5:g}" {style}/>'


def _frames(view: SketchView, frames: list[Pose]) -> Iterator[str | SketchSymbol]:
    """The axes of the root link's frame and of each joint's; an axis that points at the reader is not drawn."""
    length = 0.6 * LENGTHS[view.flat] * _size(view)
    for number, frame in enumerate(frames):
        origin = view.at(frame.translation)
        for axis, (name, colour) in enumerate(zip("xyz", AXES, strict=True)):
            direction = frame.rotation[:, axis]
            if np.hypot(*view.direction(direction)) < 0.2:
                continue
            tip = view.at(frame.translation + length * direction)
            yield _line(origin, tip, colour=colour, width=1.6, arrow=True)
            if view.flat or number == 0:
                yield SketchSymbol(tip + 0.28 * (tip - origin), name, number, colour=colour)


def _masses(view: SketchView, bodies: list[SketchedBody]) -> Iterator[str | SketchSymbol]:
    """The centres of mass: a disc with two black quarters."""
    for number, body in enumerate(bodies, 1):
        if body.com is None:
            continue
        (x, y), r = view.at(body.com), 7 if view.flat else 5
        quarter = "".join(f"M{x:.1f},{y:.1f} h{s * r} A{r},{r} 0 0 1 {x:.1f},{y + s * r:.1f} Z " for s in (1, -1))
        yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{r}" fill="white" stroke="{INK}"/>'
        yield f'<path d="{quarter.strip()}" fill="{INK}"/>'
        if view.flat:
            yield SketchSymbol(np.array([x + 20, y + 12]), "m", number)
