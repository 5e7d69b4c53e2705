"""From a body's frame to its parent's, as CasADi expressions of the coordinates."""

from __future__ import annotations

import casadi as ca

from robodyn_ros.kinematics.tree import Node

Z = ca.SX([0.0, 0.0, 1.0])
"""The axis of every joint, in the frames of the tree."""


class Transform:
    """Pose of a node's frame in its parent's frame, as a function of the coordinates."""

    def __init__(self, node: Node, q: ca.SX) -> None:
        s = node.body.ratio * q[node.body.coordinate] + node.body.offset
        self._constant, self._turn = ca.SX(ca.DM(node.rotation)), ca.SX.eye(3)
        self.offset = ca.SX(ca.DM(node.offset))
        if node.prismatic:
            self.offset += self._constant[:, 2] * s
        else:
            cosine, sine = ca.cos(s + node.turn), ca.sin(s + node.turn)
            self._turn[0, 0] = self._turn[1, 1] = cosine
            self._turn[1, 0], self._turn[0, 1] = sine, -sine

    def up(self, v: ca.SX) -> ca.SX:
        """Components in the parent's frame of vectors (3, k) given in the child's."""
        return self._constant @ (self._turn @ v)

    def up_symmetric(self, matrix: ca.SX) -> ca.SX:
        """R S Rᵀ of a symmetric matrix (3, 3): with w = cos (Sxx - Syy) - 2 sin Sxy the turn about z takes eight
        multiplications, where two general products take twenty-four.
        """
        cosine, sine = self._turn[0, 0], self._turn[1, 0]
        if not sine.is_zero():
            w = cosine * (matrix[0, 0] - matrix[1, 1]) - 2 * (sine * matrix[0, 1])
            xx, yy, xy = matrix[1, 1] + cosine * w, matrix[0, 0] - cosine * w, matrix[0, 1] + sine * w
            side = self._turn[:2, :2] @ matrix[:2, 2]
            matrix = ca.blockcat([[xx, xy, side[0]], [xy, yy, side[1]], [side[0], side[1], matrix[2, 2]]])
        return ca.tril2symm(ca.tril(self._constant @ matrix @ self._constant.T))

    def down(self, v: ca.SX) -> ca.SX:
        """Components in the child's frame of vectors (3, k) given in the parent's."""
        return self._turn.T @ (self._constant.T @ v)


def joint_rate(node: Node, rates: ca.SX) -> ca.SX:
    """Rate of a node's joint from the rates (or accelerations) of the coordinates; they differ for a mimic joint."""
    return node.body.ratio * rates[node.body.coordinate]
