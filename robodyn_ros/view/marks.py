# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The marks of an overlay, in the root link's frame; RViz and the browser draw the same ones."""

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
    """Straight segments from point to point."""

    layer: str
    name: str
    points: Array  # (k, 3) [m], k >= 2
    width: float  # [m]
    color: Color


Mark = Ball | Arrow | Line


COLORS: dict[str, Color] = {"x": (0.9, 0.2, 0.2, 1.0), "y": (0.2, 0.7, 0.25, 1.0), "z": (0.2, 0.4, 0.95, 1.0)}
"""Axis → colour."""


def triad(layer: str, pose: Array, length: float) -> list[Arrow]:
    """A frame as three arrows: x red, y green, z blue.

    Args:
        layer: name of their layer.
        pose: pose of the frame in the root link's frame (4, 4).
        length: length of the arrows [m].
    """
    place = pose[:3, 3]
    return [
        Arrow(layer, f"{layer}.{axis}", place, place + length * pose[:3, k], 0.04 * length, color)
        for k, (axis, color) in enumerate(COLORS.items())
    ]
