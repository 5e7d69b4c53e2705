"""The parameter ``gravity``, of every node that has a model of the arm's motion."""

from __future__ import annotations

from rclpy.node import Node

from robodyn_ros.dynamics import STANDARD_GRAVITY
from robodyn_ros.nodes.parameters import declare


def declare_gravity(node: Node, read_only: bool = False) -> None:
    """Declare it."""
    text = "acceleration of free fall in the root link's frame [m/s²]"
    declare(node, "gravity", list(STANDARD_GRAVITY), text, constraints="3 finite numbers", read_only=read_only)
