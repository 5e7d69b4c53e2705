"""A frame as three arrows: x red, y green, z blue."""

from __future__ import annotations

from robodyn_ros.robot.pose import Array
from robodyn_ros.view.marks import Arrow, Color

COLORS: dict[str, Color] = {"x": (0.9, 0.2, 0.2, 1.0), "y": (0.2, 0.7, 0.25, 1.0), "z": (0.2, 0.4, 0.95, 1.0)}
"""Axis → colour."""


def triad(layer: str, pose: Array, length: float) -> list[Arrow]:
    """The marks of a frame.

    Args:
        layer: that they belong to.
        pose: of the frame, in the root link's, (4, 4).
        length: of the arrows [m].
    """
    place = pose[:3, 3]
    return [
        Arrow(layer, f"{layer}.{axis}", place, place + length * pose[:3, k], 0.04 * length, color)
        for k, (axis, color) in enumerate(COLORS.items())
    ]
