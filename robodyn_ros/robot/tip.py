"""Which link an arm works with, unless told."""

from __future__ import annotations

from robodyn_ros.robot.robot import Robot


def tip(robot: Robot) -> str:
    """Name of the last of the URDF's links that move, links fixed to one that moves among them."""
    moving = [link.name for link in robot.links if link.body >= 0]
    return (moving or [link.name for link in robot.links])[-1]
