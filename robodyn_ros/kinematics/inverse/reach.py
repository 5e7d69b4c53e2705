"""How far a link can get: a bound that no solver has to be asked for."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from robodyn_ros.kinematics.tree import Tree
from robodyn_ros.robot import Link, Robot
from robodyn_ros.robot.pose import Array


class Reach(NamedTuple):
    """A ball that a link's origin never leaves."""

    center: Array  # in the root link's frame (3,) in [m]
    radius: float  # [m]

    def excess(self, position: Array, directions: Array) -> float:
        """How far outside a position (3,) lies along the directions (k, 3) that count [m]; not above 0 inside."""
        return float(np.linalg.norm(directions @ (position - self.center))) - self.radius


def reach(robot: Robot, tree: Tree, link: Link) -> Reach:
    """The ball about the first joint whose radius is the arm stretched out: the lengths of all its segments, each
    prismatic one at its longest. Nothing outside is reachable; not all inside is.
    """
    chain = []
    index = link.body
    while index >= 0:
        chain.append(tree.nodes[index])
        index = chain[-1].parent
    chain.reverse()
    if not chain:
        return Reach(link.pose.translation, 0.0)
    radius = float(np.linalg.norm((chain[-1].frame.inverse() @ link.pose).translation))
    for place, node in enumerate(chain):
        offset = node.offset if place else np.zeros(3)
        if node.prismatic:
            limits = (robot.lower[node.body.coordinate], robot.upper[node.body.coordinate])
            ends = [offset + node.rotation[:, 2] * (node.body.ratio * q + node.body.offset) for q in limits]
            radius += max(float(np.linalg.norm(end)) if np.isfinite(end).all() else np.inf for end in ends)
        else:
            radius += float(np.linalg.norm(offset))
    return Reach(tree.base @ chain[0].offset, radius)
