# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Marks at the tool: the force that acts there, its stiffness, and walls around it."""

from __future__ import annotations

import numpy as np

from robodyn_ros.robot.pose import Array
from robodyn_ros.view.marks import Arrow, Ball, Color, Line

WRENCH, STIFFNESS, WALL = "wrench", "stiffness", "wall"

TOOL_LAYERS = (WRENCH, STIFFNESS, WALL)
"""Names of their layers."""

SHORTEST = 0.02
"""Shortest arrow of a force that is drawn, in sizes of the arm."""

STIFF = 2000.0
"""Stiffness whose semi-axis is a quarter of the arm's size [N/m]."""

GREATEST = 0.5
"""Greatest semi-axis, in sizes of the arm."""

LEAST = 0.004
"""Least semi-axis, likewise: a direction without stiffness is flat, but visible."""

WRENCH_COLOR: Color = (0.90, 0.20, 0.10, 1.0)
STIFFNESS_COLOR: Color = (0.10, 0.60, 0.55, 0.40)
WALL_COLOR: Color = (0.60, 0.35, 0.25, 0.9)


def force_arrow(place: Array, force: Array, per_metre: float, size: float) -> list[Arrow]:
    """A force as an arrow from its point of action; none if it is too small to be seen.

    Args:
        place: its point of action (3,) [m].
        force: in the root link's axes (3,) [N].
        per_metre: force of an arrow of 1 m [N/m].
        size: of the arm [m].
    """
    way = force / per_metre
    if np.linalg.norm(way) < SHORTEST * size:
        return []
    return [Arrow(WRENCH, "wrench.force", place, place + way, 0.012 * size, WRENCH_COLOR)]


def stiffness_ball(place: Array, axes: Array, stiffness: Array, size: float) -> Ball:
    """The translational stiffness as an ellipsoid: each semi-axis is as long as its direction is stiff.

    Args:
        place: of the tool (3,) [m].
        axes: directions of the stiffness in the root link's axes, as columns (3, 3).
        stiffness: along them (3,) [N/m].
        size: of the arm [m].
    """
    radii = size * np.clip(0.25 * stiffness / STIFF, LEAST, GREATEST)
    return Ball(STIFFNESS, "stiffness", place, axes, radii, STIFFNESS_COLOR)


def foot_on_wall(place: Array, point: Array, normal: Array) -> Array:
    """The point of a wall that is nearest to a place, (3,) [m].

    Args:
        place: of the tool (3,) [m].
        point: of the wall (3,) [m].
        normal: direction out of the wall, of any length but 0 (3,).
    """
    foot: Array = place - normal * (normal @ (place - point)) / (normal @ normal)
    return foot


def wall_lines(name: str, point: Array, normal: Array, size: float) -> list[Line]:
    """A wall as a square with its diagonals, and a short line out of it.

    Args:
        name: of the wall.
        point: of its surface, the middle of the square (3,) [m].
        normal: direction out of the wall, of any length but 0 (3,).
        size: of the arm, half the side of the square [m].
    """
    normal = normal / np.linalg.norm(normal)
    aside = np.cross(normal, np.eye(3)[np.argmin(np.abs(normal))])
    aside /= np.linalg.norm(aside)
    up = np.cross(normal, aside)
    corners = [point + size * (a * aside + b * up) for a, b in ((-1, -1), (1, -1), (1, 1), (-1, 1))]
    ways = {
        "edge": [*corners, corners[0]],
        "rising": [corners[0], corners[2]],
        "falling": [corners[1], corners[3]],
        "normal": [point, point + 0.1 * size * normal],
    }
    return [Line(WALL, f"{name}.{way}", np.array(points), 0.01 * size, WALL_COLOR) for way, points in ways.items()]


def box_lines(lower: Array, upper: Array, place: Array, far: float, size: float) -> list[Line]:
    """The walls of the tool's box of allowed positions, a square each; none for a side that is far away.

    Args:
        lower: least coordinates (3,) [m].
        upper: greatest coordinates (3,) [m].
        place: of the tool (3,) [m]; the squares of an open box are around it.
        far: magnitude from which on there is no wall [m].
        size: of the arm [m].
    """
    lines = []
    middle = np.where((np.abs(lower) < far) & (np.abs(upper) < far), (lower + upper) / 2.0, place)
    for bounds, side, sign in ((lower, "lower", 1.0), (upper, "upper", -1.0)):
        for axis, name in enumerate("xyz"):
            if abs(bounds[axis]) < far:
                point = middle.copy()
                point[axis] = bounds[axis]
                lines += wall_lines(f"{side}_{name}", point, sign * np.eye(3)[axis], 0.5 * size)
    return lines
