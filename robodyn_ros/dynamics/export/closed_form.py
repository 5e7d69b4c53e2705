"""The equations of motion of a small arm in closed form: M, C, g and the energies as polynomials of an ``Algebra``.

They follow from the centres of mass and the axes (Siciliano et al., Robotics: Modelling, Planning and Control, eq.
7.32, 7.38 and 7.45), and share nothing with the expressions of the plugins.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from robodyn_ros.dynamics.compiled import CompiledDynamics
from robodyn_ros.dynamics.export.algebra import Algebra, Polynomial
from robodyn_ros.dynamics.export.directions import directions
from robodyn_ros.dynamics.export.frames import Polynomials, frames
from robodyn_ros.dynamics.export.letters import letters, twists
from robodyn_ros.kinematics.tree import build_tree


class ClosedForm:
    """The equations of one arm.

    Attributes:
        tree: the arm.
        directions: where its angles add up.
        letters: what its numbers are called.
        algebra: what the equations are written in.
    """

    def __init__(self, dynamics: CompiledDynamics, numeric: bool) -> None:
        """
        Args:
            dynamics: the arm, with its parameters.
            numeric: whether its numbers stand as such in the equations, else letters for them.
        """
        self.tree = build_tree(dynamics.robot)
        self.directions = directions(self.tree)
        self._gravity = self.tree.base.T @ dynamics.parameters.gravity
        self.letters = letters(dynamics, self.tree)
        angles = {} if numeric else twists(self.tree, self.directions)
        values = {key: letter.value for key, letter in (self.letters | angles).items()}
        self.letters |= angles
        self.algebra = Algebra(self.tree, self.directions, values, numeric)
        for k in {k for _, k in angles}:
            self.algebra.relate(self.algebra.number("ct", k), self.algebra.number("st", k))
        self._frames = frames(self.tree, self.directions, self.algebra)
        self._rates = _column(self.algebra.qd)

    @cached_property
    def mass_matrix(self) -> Polynomials:
        """M: every body adds m Jv·Jv + Jω·I Jω."""
        n, algebra = self.tree.n, self.algebra
        total = np.diag([algebra.number("a", c) for c in range(n)])
        for k in range(len(self._frames)):
            linear, angular = self._moving(k), self._turning(k)
            inertia = [[algebra.number("I", k, min(i, j), max(i, j)) for j in range(3)] for i in range(3)]
            total += (linear.T @ linear) * algebra.number("m", k)
            total += angular.T @ np.array(inertia, dtype=object) @ angular
        return self._reduced(total)

    @cached_property
    def coriolis_matrix(self) -> Polynomials:
        """C by Christoffel symbols."""
        by = np.array(
            [[[self._by(m, k) for m in row] for row in self.mass_matrix] for k in range(self.tree.n)], dtype=object
        )
        twice = by.transpose(1, 2, 0) + by.transpose(1, 0, 2) - by  # [i, j, k], with by[k, i, j] = ∂M_ij/∂q_k
        return self._reduced((twice @ self._rates) * self._half)

    @cached_property
    def gravity(self) -> Polynomials:
        """The efforts of gravity."""
        return self._reduced(_column([self._by(self.potential, c) for c in range(self.tree.n)]))

    @cached_property
    def kinetic(self) -> Polynomial:
        """½ q̇·M q̇."""
        return (self._rates @ self.mass_matrix @ self._rates) * self._half

    @cached_property
    def potential(self) -> Polynomial:
        """Zero for centres of mass at the root link's origin."""
        signs = np.where(self._gravity < 0.0, -1, 1)
        down = _column([self.algebra.number("g", 0, i) * int(sign) for i, sign in enumerate(signs)])
        heights = [-self.algebra.number("m", k) * (self._centre(k) @ down) for k in range(len(self._frames))]
        return self._reduced(_column([sum(heights, self.algebra.zero)]))[0]

    @cached_property
    def coriolis(self) -> Polynomials:
        """C q̇."""
        return self._reduced(self.coriolis_matrix @ self._rates)

    @cached_property
    def bias(self) -> Polynomials:
        """C q̇ + g + friction."""
        number, sign = self.algebra.number, self.algebra.sign
        friction = [number("b", c) * rate + number("f", c) * sign[c] for c, rate in enumerate(self._rates)]
        bias: Polynomials = self.coriolis + self.gravity + _column(friction)
        return bias

    @cached_property
    def inverse(self) -> Polynomials:
        """M q̈ + C q̇ + g + friction."""
        efforts: Polynomials = self.mass_matrix @ _column(self.algebra.qdd) + self.bias
        return efforts

    def _centre(self, k: int) -> Polynomials:
        """A body's centre of mass, (3,)."""
        frame, com = self._frames[k], _column([self.algebra.number("c", k, i) for i in range(3)])
        centre: Polynomials = frame.position + frame.group @ (frame.within @ com)
        return centre

    def _moving(self, k: int) -> Polynomials:
        """Jv of a body's centre of mass, (3, n)."""
        centre = self._centre(k)
        return np.array([[self._by(x, c) for c in range(self.tree.n)] for x in centre], dtype=object)

    def _turning(self, k: int) -> Polynomials:
        """Jω of a body, in its own axes, (3, n)."""
        jacobian = np.full((3, self.tree.n), self.algebra.zero, dtype=object)
        for joint, axis in self._frames[k].axes.items():
            body = self.tree.nodes[joint].body
            jacobian[:, body.coordinate] += (self._frames[k].within.T @ axis) * self.algebra.constant(body.ratio)
        return jacobian

    def _by(self, polynomial: Polynomial, coordinate: int) -> Polynomial:
        return self.algebra.derivative(polynomial, coordinate)

    def _reduced(self, polynomials: Polynomials) -> Polynomials:
        reduced = np.empty(polynomials.shape, dtype=object)
        for place, polynomial in np.ndenumerate(polynomials):
            reduced[place] = self.algebra.reduced(polynomial)
        return self.algebra.without_dust(reduced)

    @property
    def _half(self) -> Polynomial:
        return self.algebra.one / 2


def _column(polynomials: list[Polynomial]) -> Polynomials:
    return np.array(polynomials, dtype=object)
