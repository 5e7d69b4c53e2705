"""The shapes that an overlay is made of, in the root link's frame; RViz and the browser draw the same ones."""

from __future__ import annotations

from typing import NamedTuple

from robodyn_ros.robot.pose import Array

Color = tuple[float, float, float, float]
"""Red, green, blue and opacity, each from 0 to 1."""


class Ball(NamedTuple):
    """A sphere or an ellipsoid."""

    layer: str
    name: str
    center: Array  # (3,) [m]
    rotation: Array  # (3, 3), axes of the ellipsoid as columns, right-handed
    radii: Array  # semi-axes (3,) [m]
    color: Color


class Arrow(NamedTuple):
    """An arrow."""

    layer: str
    name: str
    start: Array  # (3,) [m]
    end: Array  # (3,) [m]
    radius: float  # of the shaft [m]
    color: Color


class Line(NamedTuple):
    """Straight pieces from point to point."""

    layer: str
    name: str
    points: Array  # (k, 3) [m], k >= 2
    width: float  # [m]
    color: Color


Mark = Ball | Arrow | Line
