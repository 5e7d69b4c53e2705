# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Polynomials in an arm's numbers, in sines and cosines of sums of its angles, and in its coordinates and rates.

Each polynomial is reduced to one form, so that what is equal cancels. For angles a and b about one direction

    sin² a = 1 - cos² a,    sin a sin b = cos(b - a) - cos a cos b,    sin b cos a = sin(b - a) + sin a cos b,

and no product of the left sides remains. A planar arm, whose distances depend on differences of angles alone, has no
product of sines and cosines at all.

Joints that are parallel, whatever slides between them, turn about one direction, and only the sum of their angles
counts (:class:`Direction`): this makes the equations of planar arms short. So every body's orientation is

    B Rz(φ) K,    φ = Σ ± θ_k + quarter turns.

φ turns about the directions B, which only joints of other directions change; K is constant.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from itertools import combinations
from operator import le
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sympy import QQ, RR, ring

from robodyn_ros.kinematics.tree import Tree, TreeNode
from robodyn_ros.robot.pose import Array

Polynomial = Any
"""SymPy's PolyElement."""

DUST = 1e-14
"""A coefficient smaller than this, relative to the largest, is the rounding of a zero."""

Terms = tuple[tuple[int, int], ...]
"""Terms of an angle, the first one positive."""


class Algebra:
    """The ring of one arm.

    Attributes:
        ring: SymPy's.
        numeric: whether the arm's numbers are constants in it.
        numbers: the arm's numbers: generators, or in a numeric algebra plain constants.
        q, qd, qdd, sign: of each coordinate; sign is that of q̇. The q of a joint that turns only occurs within
            trigonometric terms.
        trigonometric: cosine and sine of each sum of angles.
    """

    def __init__(self, tree: Tree, found: Sequence[Direction], numbers: dict[Any, float], numeric: bool) -> None:
        """
        Args:
            tree: the arm.
            found: where its angles add up.
            numbers: key → value.
            numeric: whether numbers stand as such in the polynomials.
        """
        self._tree = tree
        groups = _groups(found)
        sums = sorted({_positive(angle)[1] for angles in groups for angle in _with_differences(angles)} - {()})
        symbols = [] if numeric else list(numbers)
        n = tree.n
        names = [f"g{i}" for i in range(len(symbols) + 2 * len(sums) + 4 * n)]
        self.ring, *generators = ring(names, RR if numeric else QQ)
        self.numeric = numeric
        rest = iter(generators)
        self.numbers: dict[Any, Polynomial] = {key: next(rest) for key in symbols}
        if numeric:
            self.numbers = {key: self.ring(RR(value)) for key, value in numbers.items()}
        self.trigonometric: dict[Terms, tuple[Polynomial, Polynomial]] = {
            terms: (next(rest), next(rest)) for terms in sums
        }
        self.q, self.qd, self.qdd, self.sign = ([next(rest) for _ in range(n)] for _ in range(4))
        self.zero, self.one = self.ring.zero, self.ring.one
        self._rules = dict(rule for angles in groups for rule in self._products(angles))

    def number(self, *key: object) -> Polynomial:
        """Return one of the arm's numbers; one without a symbol is zero."""
        return self.numbers.get(key, self.zero)

    def constant(self, value: float) -> Polynomial:
        """Return a plain number, a whole one unless the algebra is numeric."""
        return self.ring(RR(value) if self.numeric else int(value))

    def relate(self, cosine: Polynomial, sine: Polynomial) -> None:
        """Add the rule that two of the numbers are cosine and sine of the same angle."""
        if not cosine.is_ground:
            self._rules[(sine**2).LM] = 1 - cosine**2

    def cosine(self, angle: Angle) -> Polynomial:
        """Return the cosine of a sum of angles and quarter turns."""
        return self._shifted_sine(angle, 1)

    def sine(self, angle: Angle) -> Polynomial:
        """Return the sine of a sum of angles and quarter turns."""
        return self._shifted_sine(angle, 0)

    def derivative(self, polynomial: Polynomial, coordinate: int) -> Polynomial:
        """Return the derivative of a polynomial by a coordinate."""
        total = polynomial.diff(self.q[coordinate])
        for terms, (cosine, sine) in self.trigonometric.items():
            rate = sum((sign * self._ratio(node, coordinate) for node, sign in terms), self.zero)
            if rate:
                total += rate * (polynomial.diff(sine) * cosine - polynomial.diff(cosine) * sine)
        return total

    def reduced(self, polynomial: Polynomial) -> Polynomial:
        """Return a polynomial in the one form that the rules of this module leave."""
        done, left = self.zero, polynomial
        while left:
            pending = self.zero
            for monomial, coefficient in left.terms():
                rule = next((rule for rule in self._rules if all(map(le, rule, monomial))), None)
                term = self.ring.term_new(monomial, coefficient)
                if rule is None:
                    done += term
                else:
                    pending += term.quo(self.ring.term_new(rule, self.ring.domain.one)) * self._rules[rule]
            left = pending
        return done

    def without_dust(self, polynomials: NDArray[Any]) -> NDArray[Any]:
        """Return polynomials without the terms that in a numeric algebra are the rounding of a zero."""
        if not self.numeric:
            return polynomials
        dust = DUST * max((abs(c) for polynomial in polynomials.flat for c in polynomial.coeffs()), default=0)
        return each(lambda one: self.ring.from_dict({m: c for m, c in one.terms() if abs(c) > dust}), polynomials)

    def _shifted_sine(self, angle: Angle, phase: int) -> Polynomial:
        """Return the sine of the angle and ``phase`` quarter turns."""
        sign, terms = _positive(angle)
        phase = (phase + angle.quarters) % 4
        cosine, sine = self.trigonometric[terms] if terms else (self.one, self.zero)
        return (sign * sine, cosine, -sign * sine, -cosine)[phase]

    def _ratio(self, node: int, coordinate: int) -> Polynomial:
        body = self._tree.nodes[node].body
        if body.coordinate != coordinate:
            return self.zero
        return self.constant(body.ratio)

    def _products(self, angles: Sequence[Angle]) -> Iterable[tuple[Any, Polynomial]]:
        for angle in angles:
            yield (self.sine(angle) ** 2).LM, 1 - self.cosine(angle) ** 2
        for a, b in combinations(angles, 2):
            between = b.plus(a, -1)
            (cos_a, sin_a), (cos_b, sin_b) = ((self.cosine(x), self.sine(x)) for x in (a, b))
            signs = _positive(a)[0], _positive(b)[0]
            yield (sin_a * sin_b).LM, signs[0] * signs[1] * (self.cosine(between) - cos_a * cos_b)
            yield (sin_b * cos_a).LM, signs[1] * (self.sine(between) + sin_a * cos_b)


def each(function: Callable[[Any], Any], array: NDArray[Any]) -> NDArray[Any]:
    """A function of each element, as an array of objects."""
    return np.asarray(np.frompyfunc(function, 1, 1)(array), dtype=object)


def _groups(found: Sequence[Direction]) -> list[list[Angle]]:
    """Return the angles of each direction, without quarter turns, in the order of the bodies."""
    groups: dict[int, dict[Angle, None]] = {}
    for direction in found:
        if direction.angle.terms:
            groups.setdefault(direction.group, {})[direction.angle._replace(quarters=0)] = None
    return [list(angles) for angles in groups.values()]


def _with_differences(angles: Sequence[Angle]) -> Iterable[Angle]:
    yield from angles
    for a, b in combinations(angles, 2):
        yield b.plus(a, -1)


def _positive(angle: Angle) -> tuple[int, Terms]:
    """Return sign and terms of an angle, such that its first term is positive."""
    if not angle.terms:
        return 1, ()
    sign = angle.terms[0][1]
    return sign, tuple((node, sign * own) for node, own in angle.terms)


ROUNDING = 1e-12
"""A sine, or an angle in radians, below this is the rounding of a zero."""

QUARTER = math.pi / 2

REVERSED = np.diag([1.0, -1.0, -1.0])
"""From the frame of a joint that turns the other way round."""


class Angle(NamedTuple):
    """A sum of joints' angles θ and quarter turns."""

    terms: tuple[tuple[int, int], ...] = ()  # (index of the node, ±1), in order
    quarters: int = 0

    def plus(self, other: Angle, sign: int = 1) -> Angle:
        """Return the sum or, with sign -1, the difference."""
        signs = dict(self.terms)
        for node, own in other.terms:
            signs[node] = signs.get(node, 0) + sign * own
        return Angle(tuple(sorted(item for item in signs.items() if item[1])), self.quarters + sign * other.quarters)


class Direction(NamedTuple):
    """Orientation B Rz(φ) K of one body. All bodies of one group have the same B."""

    group: int
    angle: Angle  # φ
    constant: Array  # K, (3, 3)
    rest: float  # θ = ratio · q + rest, and quarter turns [rad]
    before: Array | None = None  # of the first of a group: B = parent's B Rz(φ), times this, (3, 3)


def directions(tree: Tree) -> list[Direction]:
    """Return the orientation of every body; group 0 has the direction of the tree's base."""
    found: list[Direction] = []
    for index, node in enumerate(tree.nodes):
        above = found[node.parent] if node.parent >= 0 else Direction(0, Angle(), np.eye(3), 0.0)
        found.append(_next(index, node, above))
    return found


def is_exact(matrix: Array) -> bool:
    """Return whether a rotation only exchanges axes and reverses them."""
    return bool(np.isin(matrix, (-1.0, 0.0, 1.0)).all())


def _next(index: int, node: TreeNode, above: Direction) -> Direction:
    constant = _clean(above.constant @ node.rotation)
    if node.prismatic:
        return Direction(above.group, above.angle, constant, 0.0)
    along = float(constant[2, 2])
    if abs(abs(along) - 1.0) > ROUNDING:
        theta, rest = _theta(index, node, 0.0)
        return Direction(index + 1, theta, np.eye(3), rest, constant)
    sense = 1 if along > 0.0 else -1
    theta, rest = _theta(index, node, sense * math.atan2(constant[1, 0], constant[0, 0]))
    return Direction(above.group, above.angle.plus(theta, sense), np.eye(3) if sense > 0 else REVERSED, rest)


def _theta(index: int, node: TreeNode, more: float) -> tuple[Angle, float]:
    constant = node.turn + node.body.offset + more
    quarters = round(constant / QUARTER)
    rest = constant - quarters * QUARTER
    return Angle(((index, 1),), quarters), 0.0 if abs(rest) < ROUNDING else rest


def _clean(matrix: Array) -> Array:
    nearest = np.round(matrix)
    return np.where(np.abs(matrix - nearest) < ROUNDING, nearest, matrix)
