# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The equations of motion of a small arm in closed form: M, C, g and the energies as polynomials of an ``Algebra``.

They follow from the centres of mass and the axes (Siciliano et al., Robotics: Modelling, Planning and Control, eq.
7.32, 7.38 and 7.45), and share nothing with the expressions of the plugins. :class:`ClosedForm` goes from the frames
of the bodies to their Jacobians, from these to M and the potential energy, and by derivatives to C and g.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.dynamics.compiled import CompiledDynamics
from robodyn_ros.dynamics.symbolic.algebra import Algebra, Direction, Polynomial, directions, each, is_exact
from robodyn_ros.dynamics.symbolic.symbols import parameter_symbols, twists
from robodyn_ros.kinematics.tree import Tree, build_tree
from robodyn_ros.robot.pose import Array

Polynomials = NDArray[Any]


class ClosedForm:
    """The equations of one arm.

    Attributes:
        tree: the arm.
        directions: about which its bodies turn.
        symbols: the symbols of its numbers.
        algebra: the ring of the equations.
    """

    def __init__(self, dynamics: CompiledDynamics, numeric: bool) -> None:
        """
        Args:
            dynamics: the arm, with its parameters.
            numeric: the equations have its numbers, not symbols for them.
        """
        self.tree = build_tree(dynamics.robot)
        self.directions = directions(self.tree)
        self._gravity = self.tree.base.T @ dynamics.parameters.gravity
        self.symbols = parameter_symbols(dynamics, self.tree)
        angles = {} if numeric else twists(self.tree, self.directions)
        values = {key: symbol.value for key, symbol in (self.symbols | angles).items()}
        self.symbols |= angles
        self.algebra = Algebra(self.tree, self.directions, values, numeric)
        for k in {k for _, k in angles}:
            self.algebra.relate(self.algebra.number("ct", k), self.algebra.number("st", k))
        self.frames = frames(self.tree, self.directions, self.algebra)
        self.rates = _column(self.algebra.qd)

    @cached_property
    def mass_matrix(self) -> Polynomials:
        """M: the sum of the bodies' own, and the inertia of each rotor."""
        rotors: Polynomials = np.diag([self.algebra.number("a", c) for c in range(self.tree.n)])
        return self.reduced(sum((self.body_mass_matrix(k) for k in range(len(self.frames))), rotors))

    @cached_property
    def mass_matrix_derivatives(self) -> Polynomials:
        """∂M_ij/∂q_k, (n, n, n)."""
        return self._gradient(self.mass_matrix)

    @cached_property
    def christoffel(self) -> Polynomials:
        """c_ijk = ½ (∂M_ij/∂q_k + ∂M_ik/∂q_j - ∂M_jk/∂q_i), (n, n, n)."""
        by = self.mass_matrix_derivatives
        return self.reduced((by + by.transpose(0, 2, 1) - by.transpose(2, 0, 1)) * self._half)

    @cached_property
    def coriolis_matrix(self) -> Polynomials:
        """C_ij = Σ c_ijk q̇_k."""
        return self.reduced(self.christoffel @ self.rates)

    @cached_property
    def gravity(self) -> Polynomials:
        """Efforts of gravity, ∂P/∂q."""
        return self.reduced(self._gradient(np.array(self.potential, dtype=object)))

    @cached_property
    def kinetic(self) -> Polynomial:
        """½ q̇·M q̇."""
        return self._square(self.mass_matrix)

    @cached_property
    def potential(self) -> Polynomial:
        """P, zero for centres of mass at the root link's origin."""
        return sum((self.body_potential(k) for k in range(len(self.frames))), self.algebra.zero)

    @cached_property
    def coriolis(self) -> Polynomials:
        """C q̇."""
        return self.reduced(self.coriolis_matrix @ self.rates)

    @cached_property
    def bias(self) -> Polynomials:
        """C q̇ + g + friction."""
        number, sign = self.algebra.number, self.algebra.sign
        friction = [number("b", c) * rate + number("f", c) * sign[c] for c, rate in enumerate(self.rates)]
        return self.coriolis + self.gravity + _column(friction)

    @cached_property
    def inverse(self) -> Polynomials:
        """M q̈ + C q̇ + g + friction."""
        return self.mass_matrix @ _column(self.algebra.qdd) + self.bias

    def centre(self, k: int) -> Polynomials:
        """A body's centre of mass, in the base's axes, (3,)."""
        frame, com = self.frames[k], _column([self.algebra.number("c", k, i) for i in range(3)])
        return self.reduced(frame.position + frame.group @ (frame.within @ com))

    def linear_jacobian(self, k: int) -> Polynomials:
        """Jv of a body's centre of mass, in the base's axes, (3, n)."""
        return self.reduced(self._gradient(self.centre(k)))

    def angular_jacobian(self, k: int) -> Polynomials:
        """Jω of a body, in its own axes, (3, n)."""
        jacobian = np.full((3, self.tree.n), self.algebra.zero, dtype=object)
        for joint, axis in self.frames[k].axes.items():
            body = self.tree.nodes[joint].body
            jacobian[:, body.coordinate] += (self.frames[k].within.T @ axis) * self.algebra.constant(body.ratio)
        return self.reduced(jacobian)

    def body_mass_matrix(self, k: int) -> Polynomials:
        """M Jv·Jv + Jω·I Jω, (n, n)."""
        number, linear, angular = self.algebra.number, self.linear_jacobian(k), self.angular_jacobian(k)
        inertia = [[number("I", k, min(i, j), max(i, j)) for j in range(3)] for i in range(3)]
        turning = angular.T @ np.array(inertia, dtype=object) @ angular
        return self.reduced((linear.T @ linear) * number("m", k) + turning)

    def body_kinetic(self, k: int) -> Polynomial:
        """½ m v·v + ½ ω·I ω."""
        return self._square(self.body_mass_matrix(k))

    def body_potential(self, k: int) -> Polynomial:
        """-m g·p."""
        signs = np.where(self._gravity < 0.0, -1, 1)
        down = _column([self.algebra.number("g", 0, i) * int(sign) for i, sign in enumerate(signs)])
        return self.reduced(_column([-self.algebra.number("m", k) * (self.centre(k) @ down)]))[0]

    def reduced(self, polynomials: Polynomials) -> Polynomials:
        """Return each polynomial in its one form."""
        return self.algebra.without_dust(each(self.algebra.reduced, polynomials))

    def _square(self, matrix: Polynomials) -> Polynomial:
        """½ q̇·A q̇."""
        return (self.rates @ matrix @ self.rates) * self._half

    def _gradient(self, polynomials: Polynomials) -> Polynomials:
        """The derivatives by the coordinates, along a further axis."""
        coordinates = range(self.tree.n)
        return np.stack([each(partial(self.algebra.derivative, coordinate=c), polynomials) for c in coordinates], -1)

    @property
    def _half(self) -> Polynomial:
        return self.algebra.one / 2


class Frame(NamedTuple):
    """A body's frame in the base's frame."""

    group: Polynomials  # B of ``directions``, (3, 3)
    axes: dict[int, Polynomials]  # of the body's joint and of those before it that turn, by node, in B's axes, (3,)
    within: Polynomials  # Rz(φ) K, (3, 3)
    position: Polynomials  # (3,)


def frames(tree: Tree, found: Sequence[Direction], algebra: Algebra) -> list[Frame]:
    """The frame of every body."""
    made: list[Frame] = []
    one = _exact(np.eye(3), algebra)
    for k, (node, direction) in enumerate(zip(tree.nodes, found, strict=True)):
        before = made[node.parent] if node.parent >= 0 else Frame(one, {}, one, _exact(np.zeros(3), algebra))
        group, axes = before.group, dict(before.axes)
        if direction.before is not None:
            above = _turn(found[node.parent], algebra) if node.parent >= 0 else one
            into = above @ constant(k, direction.before, algebra)
            group, axes = group @ into, {other: into.T @ axis for other, axis in axes.items()}
        if not node.prismatic:
            axes[k] = _exact(direction.constant[:, 2], algebra)
        within = _turn(direction, algebra) @ constant(k, direction.constant, algebra)
        offset = np.array([algebra.number("l", k, i) for i in range(3)], dtype=object)
        position = before.position + before.group @ (before.within @ offset)
        if node.prismatic:
            body = node.body
            slide = algebra.constant(body.ratio) * algebra.q[body.coordinate] + algebra.constant(body.offset)
            position = position + group @ within[:, 2] * slide
        made.append(Frame(group, axes, within, position))
    return made


def constant(k: int, matrix: Array, algebra: Algebra) -> Polynomials:
    """A constant rotation at node k; its sine and cosine are numbers of the algebra if they have symbols."""
    if algebra.numeric or is_exact(matrix):
        return _exact(matrix, algebra)
    zero, one, cosine, sine = algebra.zero, algebra.one, algebra.number("ct", k), algebra.number("st", k)
    return np.array([[one, zero, zero], [zero, cosine, -sine], [zero, sine, cosine]], dtype=object)


def _exact(values: Array, algebra: Algebra) -> Polynomials:
    """Numbers as polynomials; fractions only in a numeric algebra."""
    return each(lambda value: algebra.constant(float(value)), values)


def _turn(direction: Direction, algebra: Algebra) -> Polynomials:
    """Rz(φ)."""
    c, s, zero, one = algebra.cosine(direction.angle), algebra.sine(direction.angle), algebra.zero, algebra.one
    return np.array([[c, -s, zero], [s, c, zero], [zero, zero, one]], dtype=object)


def _column(polynomials: list[Polynomial]) -> Polynomials:
    return np.array(polynomials, dtype=object)
