"""The equations of motion of a small arm in closed form: M, C, g and the energies as polynomials of an ``Algebra``.

They follow from the centres of mass and the axes (Siciliano et al., Robotics: Modelling, Planning and Control, eq.
7.32, 7.38 and 7.45), and share nothing with the expressions of the plugins.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import combinations_with_replacement
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.dynamics.compiled import CompiledDynamics
from robodyn_ros.dynamics.symbolic.algebra import Algebra, Direction, Polynomial, directions, is_exact
from robodyn_ros.errors import InputError
from robodyn_ros.kinematics.tree import Tree, TreeNode, build_tree
from robodyn_ros.robot import Inertial
from robodyn_ros.robot.pose import Array, read_only

# What the numbers of an arm are called in its closed form: m_2, l_2, l_c2, I_2, g, …
#
# Lengths, centres of mass and inertias are in the frames of the tree: z along the joint's axis, x towards the next
# joint's axis. An inertia is about the centre of mass. Zeros have no letter.

ROUNDING = 1e-12
"""What is smaller than this, relative to the largest of its kind, is the rounding of a zero."""

AXES = "xyz"

Key = tuple[object, ...]
"""Kind, whose it is, and its place in a vector or matrix; for example ("I", 2, 0, 1)."""


class ParameterSymbol(NamedTuple):
    """A number and what it is called."""

    name: str  # in LaTeX
    alone: str  # its name if the equations have no other number of its kind and body
    value: float
    unit: str
    meaning: str


def labels(tree: Tree) -> list[str]:
    """What each body is called: the number of its joint, with a prime for each joint that follows that one."""
    found: list[str] = []
    for node in tree.nodes:
        label = str(node.body.coordinate + 1)
        while label in found:
            label += "'"
        found.append(label)
    return found


def letters(dynamics: CompiledDynamics, tree: Tree) -> dict[Key, ParameterSymbol]:
    """The letters for what is not zero."""
    found = dict(_letters(dynamics, tree))
    scale: dict[object, float] = {}
    for key, letter in found.items():
        scale[key[0]] = max(scale.get(key[0], 0.0), abs(letter.value))
    return {key: letter for key, letter in found.items() if abs(letter.value) > ROUNDING * scale[key[0]]}


def _letters(dynamics: CompiledDynamics, tree: Tree) -> Iterator[tuple[Key, ParameterSymbol]]:
    names = labels(tree)
    for k, (node, label, inertial) in enumerate(zip(tree.nodes, names, inertials(dynamics, tree), strict=True)):
        body = f"of {node.body.name}"
        yield ("m", k), ParameterSymbol(f"m_{{{label}}}", f"m_{{{label}}}", inertial.mass, "kg", f"mass {body}")
        before = names[node.parent] if node.parent >= 0 else "0"
        only = sum(other.parent == node.parent for other in tree.nodes) == 1
        gap = before if only else f"{before},{label}"
        start = f"joint {before}" if node.parent >= 0 else "the base"
        for i, axis in enumerate(AXES):
            meaning = f"from {start} to joint {label}"
            yield ("l", k, i), ParameterSymbol(f"l_{{{gap}{axis}}}", f"l_{{{gap}}}", node.offset[i], "m", meaning)
        for i, axis in enumerate(AXES):
            meaning = f"from joint {label} to the centre of mass {body}"
            yield (
                ("c", k, i),
                ParameterSymbol(f"l_{{c{label}{axis}}}", f"l_{{c{label}}}", inertial.com[i], "m", meaning),
            )
        for i, j in combinations_with_replacement(range(3), 2):
            name, value = f"I_{{{label}{AXES[i]}{AXES[j]}}}", inertial.inertia[i, j]
            yield ("I", k, i, j), ParameterSymbol(name, f"I_{{{label}}}", value, "kg m²", f"inertia {body}")
    yield from _joint_letters(dynamics)
    gravity = tree.base.T @ dynamics.parameters.gravity
    for i, axis in enumerate(AXES):
        direction = ", ".join(f"{value:.4g}" for value in np.copysign(1.0, gravity[i]) * tree.base[:, i] + 0.0)
        meaning = f"gravity along ({direction}) of the root link's frame"
        yield ("g", 0, i), ParameterSymbol(f"g_{{{axis}}}", "g", abs(gravity[i]), "m/s²", meaning)


def _joint_letters(dynamics: CompiledDynamics) -> Iterator[tuple[Key, ParameterSymbol]]:
    parameters = dynamics.parameters
    for k, joint in enumerate(dynamics.robot.joints):
        inertia = ("kg", "N s/m", "N") if joint.is_prismatic else ("kg m²", "N m s/rad", "N m")
        for kind, name, value, unit, meaning in (
            ("a", f"J_{{{k + 1}}}", parameters.armature[k], inertia[0], "rotor inertia, through the gears, of"),
            ("b", f"b_{{{k + 1}}}", parameters.viscous[k], inertia[1], "viscous friction of"),
            ("f", f"f_{{{k + 1}}}", parameters.coulomb[k], inertia[2], "Coulomb friction of"),
        ):
            yield (kind, k), ParameterSymbol(name, name, value, unit, f"{meaning} {joint.name}")


def twists(tree: Tree, found: Sequence[Direction]) -> dict[Key, ParameterSymbol]:
    """Letters for the angles between axes, where these are neither parallel nor perpendicular.

    Raises:
        InputError: a constant rotation is no turn about x, and so has no such angle.
    """
    made: dict[Key, ParameterSymbol] = {}
    for k, (label, direction) in enumerate(zip(labels(tree), found, strict=True)):
        matrix = direction.constant if direction.before is None else direction.before
        if is_exact(matrix):
            continue
        if matrix[0, 0] != 1.0:
            raise InputError(
                "robot", f"the frames of {tree.nodes[k].body.name} and its parent differ by more than a turn about x"
            )
        for kind, value, word in (("c", matrix[1, 1], "cosine"), ("s", matrix[2, 1], "sine")):
            name = f"\\mathrm{{{kind}}}_{{\\alpha {label}}}"
            meaning = f"{word} of the angle between the axes of joint {label} and the one before"
            made[f"{kind}t", k] = ParameterSymbol(name, name, float(value), "", meaning)
    return made


def inertials(dynamics: CompiledDynamics, tree: Tree) -> list[Inertial]:
    """Mass, centre of mass and inertia about it of every body, payload included, in the frames of the tree.

    Raises:
        InputError: a body has a first moment and no mass.
    """
    bodies = dynamics.theta()[: 10 * len(tree.nodes)].reshape(-1, 10)
    return [_inertial(node, theta) for node, theta in zip(tree.nodes, bodies, strict=True)]


def _inertial(node: TreeNode, theta: Array) -> Inertial:
    mass, moment, (xx, xy, yy, xz, yz, zz) = float(theta[0]), theta[1:4], theta[4:]
    if mass == 0.0 and moment.any():
        raise InputError("inertial", f"{node.body.name} has a first moment and no mass: no centre of mass to write of")
    com = moment / mass if mass else moment
    about_origin = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    inertia = about_origin - mass * (com @ com * np.eye(3) - np.outer(com, com))
    scale = max(np.abs(about_origin).max(), 1e-300)
    inertia = np.where(np.abs(inertia) < ROUNDING * scale, 0.0, inertia)
    return Inertial(mass, read_only(com), read_only(inertia)).seen_from(node.frame.inverse())


# Where the bodies of an arm are and how they turn, as polynomials of an ``Algebra``.

Polynomials = NDArray[np.object_]


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
            position = position + group @ within[:, 2] * _slide(node, algebra)
        made.append(Frame(group, axes, within, position))
    return made


def constant(k: int, matrix: Array, algebra: Algebra) -> Polynomials:
    """A constant rotation at node k; its sine and cosine are numbers of the algebra if they have letters."""
    if algebra.numeric or is_exact(matrix):
        return _exact(matrix, algebra)
    zero, one, cosine, sine = algebra.zero, algebra.one, algebra.number("ct", k), algebra.number("st", k)
    return np.array([[one, zero, zero], [zero, cosine, -sine], [zero, sine, cosine]], dtype=object)


def _exact(values: Array, algebra: Algebra) -> Polynomials:
    """Numbers as polynomials; fractions only in a numeric algebra."""
    made = np.empty(values.shape, dtype=object)
    for place, value in np.ndenumerate(values):
        made[place] = algebra.constant(float(value))
    return made


def _turn(direction: Direction, algebra: Algebra) -> Polynomials:
    """Rz(φ)."""
    c, s, zero, one = algebra.cosine(direction.angle), algebra.sine(direction.angle), algebra.zero, algebra.one
    return np.array([[c, -s, zero], [s, c, zero], [zero, zero, one]], dtype=object)


def _slide(node: TreeNode, algebra: Algebra) -> object:
    """How far a sliding joint is out."""
    body = node.body
    return algebra.constant(body.ratio) * algebra.q[body.coordinate] + algebra.constant(body.offset)


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
        self.frames = frames(self.tree, self.directions, self.algebra)
        self.rates = _column(self.algebra.qd)

    @cached_property
    def mass_matrix(self) -> Polynomials:
        """M: every body adds its own, and a rotor its inertia."""
        rotors: Polynomials = np.diag([self.algebra.number("a", c) for c in range(self.tree.n)])
        return self.reduced(sum((self.body_mass_matrix(k) for k in range(len(self.frames))), rotors))

    @cached_property
    def mass_matrix_derivatives(self) -> Polynomials:
        """∂M_ij/∂q_k, (n, n, n)."""
        coordinates = range(self.tree.n)
        return np.array(
            [[[self._by(m, k) for k in coordinates] for m in row] for row in self.mass_matrix], dtype=object
        )

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
        """The efforts of gravity."""
        return self.reduced(_column([self._by(self.potential, c) for c in range(self.tree.n)]))

    @cached_property
    def kinetic(self) -> Polynomial:
        """½ q̇·M q̇."""
        return self._square(self.mass_matrix)

    @cached_property
    def potential(self) -> Polynomial:
        """Zero for centres of mass at the root link's origin."""
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
        bias: Polynomials = self.coriolis + self.gravity + _column(friction)
        return bias

    @cached_property
    def inverse(self) -> Polynomials:
        """M q̈ + C q̇ + g + friction."""
        efforts: Polynomials = self.mass_matrix @ _column(self.algebra.qdd) + self.bias
        return efforts

    def centre(self, k: int) -> Polynomials:
        """A body's centre of mass, in the base's axes, (3,)."""
        frame, com = self.frames[k], _column([self.algebra.number("c", k, i) for i in range(3)])
        return self.reduced(frame.position + frame.group @ (frame.within @ com))

    def linear_jacobian(self, k: int) -> Polynomials:
        """Jv of a body's centre of mass, in the base's axes, (3, n)."""
        return self.reduced(
            np.array([[self._by(x, c) for c in range(self.tree.n)] for x in self.centre(k)], dtype=object)
        )

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
        """In the one form that each polynomial has."""
        reduced = np.empty(polynomials.shape, dtype=object)
        for place, polynomial in np.ndenumerate(polynomials):
            reduced[place] = self.algebra.reduced(polynomial)
        return self.algebra.without_dust(reduced)

    def _square(self, matrix: Polynomials) -> Polynomial:
        """½ q̇·A q̇."""
        return (self.rates @ matrix @ self.rates) * self._half

    def _by(self, polynomial: Polynomial, coordinate: int) -> Polynomial:
        return self.algebra.derivative(polynomial, coordinate)

    @property
    def _half(self) -> Polynomial:
        return self.algebra.one / 2


def _column(polynomials: list[Polynomial]) -> Polynomials:
    return np.array(polynomials, dtype=object)
