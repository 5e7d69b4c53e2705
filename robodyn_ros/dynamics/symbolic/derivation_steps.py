"""The steps for an arm whose closed form can be read."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations_with_replacement, groupby, product
from typing import NamedTuple

import numpy as np
from scipy.spatial.transform import Rotation
from sympy import Symbol

from robodyn_ros.document.blocks import (
    Block,
    EquationBlock,
    MatrixBlock,
    Section,
    SumBlock,
    TextBlock,
    equation,
    leading,
)
from robodyn_ros.document.text import unicode, width
from robodyn_ros.dynamics.compiled import CompiledDynamics
from robodyn_ros.dynamics.symbolic.algebra import Polynomial, is_exact
from robodyn_ros.dynamics.symbolic.closed_form import ClosedForm, Polynomials, labels
from robodyn_ros.dynamics.symbolic.typeset import DIGITS, number
from robodyn_ros.dynamics.symbolic.writer import JOINTS, TERMS, Legend, Writer, choose, joints, terms
from robodyn_ros.robot.pose import Array

# Rotations as a URDF gives them.


def roll_pitch_yaw(rotation: Array) -> Array:
    """Turns about the fixed x, y and z axis, in this order, (3,) in [rad]."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a pitch of a quarter turn has many rolls and yaws, and any will do
        angles: Array = Rotation.from_matrix(rotation).as_euler("xyz")
    return angles


class Principle(NamedTuple):
    """What every step of the derivation says, whatever the arm: its title, the idea, and the formula that is filled
    in.
    """

    title: str
    blocks: tuple[Block, ...]


def _formulas(*formulas: SumBlock) -> EquationBlock:
    return EquationBlock(formulas)


def frames(where: str) -> Principle:
    """Args: where: the axes that positions are given in."""
    return Principle(
        "Frames",
        (
            TextBlock(
                "Frame $i$ moves with the body behind joint $i$: its z axis is the joint's axis, its x axis points"
                " towards the next joint's (Denavit and Hartenberg's choice, in Craig's form). $p_i$ is its origin and"
                f" the columns of $R_i$ are its axes, {where}."
            ),
        ),
    )


def com() -> Principle:
    """Centres of mass."""
    return Principle(
        "Centres of mass",
        (
            TextBlock("A body's centre of mass stands still in the body's frame, at $l_{ci}$."),
            _formulas(equation("p_{ci}", "p_i", "R_i l_{ci}")),
        ),
    )


def jacobians() -> Principle:
    """Of the centres of mass."""
    return Principle(
        "Jacobians of the centres of mass",
        (
            TextBlock(
                r"Velocities are linear in $\dot{q}$. That of the centre of mass is $v_i = J_{vi}\, \dot{q}$; the"
                r" body's angular velocity is $\omega_i = J_{\omega i}\, \dot{q}$, in the body's own axes, in which its"
                " inertia stays the same."
            ),
            _formulas(equation("J_{vi}", r"\frac{\partial p_{ci}}{\partial q}")),
        ),
    )


def kinetic(rotors: bool) -> Principle:
    """Args: rotors: whether the drives' rotors have inertia."""
    turning = (r"\frac{1}{2} \sum_i J_i\, \dot{q}_i^2",) if rotors else ()
    more = " The rotors of the drives add what turns with them, $J_i$, seen through the gears." if rotors else ""
    return Principle(
        "Kinetic energy",
        (
            TextBlock(f"Each body moves with its centre of mass and turns about it.{more}"),
            _formulas(
                equation("K_i", r"\frac{1}{2} m_i v_i^2", r"\frac{1}{2} \omega_i^T I_i\, \omega_i"),
                equation("K", r"\sum_i K_i", *turning),
            ),
        ),
    )


def potential() -> Principle:
    """Potential energy."""
    text = "The work against gravity, zero for a centre of mass at the origin; $g_0$ is the acceleration of free fall."
    return Principle("Potential energy", (TextBlock(text), _formulas(equation("P_i", "- m_i\\, g_0^T p_{ci}"))))


def lagrangian() -> Principle:
    """L, and the equation that it has to keep."""
    left = r"\frac{d}{dt} \frac{\partial L}{\partial \dot{q}_i} - \frac{\partial L}{\partial q_i}"
    return Principle(
        "The Lagrangian",
        (
            TextBlock("Of $L = K - P$, the equation of Euler and Lagrange gives the effort of each joint."),
            _formulas(equation(left, r"\tau_i")),
            TextBlock(
                r"As $K = \frac{1}{2} \dot{q}^T M(q)\, \dot{q}$ and $P$ has no $\dot{q}$ in it, this is"
                r" $M(q)\, \ddot{q} + C(q, \dot{q})\, \dot{q} + G(q) = \tau$: the next steps are its parts."
            ),
        ),
    )


def mass_matrix() -> Principle:
    """M."""
    return Principle(
        "Mass matrix M",
        (
            TextBlock(
                "What stands with the rates in $K$. It is symmetric; elements of its upper half not given are zero."
            ),
            _formulas(
                equation("M", r"\sum_i (m_i J_{vi}^T J_{vi} + J_{\omega i}^T I_i\, J_{\omega i})"),
                equation("M_{ij}", r"\frac{\partial^2K}{\partial \dot{q}_i \partial \dot{q}_j}"),
            ),
        ),
    )


def coriolis() -> Principle:
    """C by Christoffel symbols."""
    terms = (
        r"\frac{1}{2} \frac{\partial M_{ij}}{\partial q_k}",
        r"\frac{1}{2} \frac{\partial M_{ik}}{\partial q_j}",
        r"- \frac{1}{2} \frac{\partial M_{jk}}{\partial q_i}",
    )
    return Principle(
        "Coriolis matrix C, by Christoffel symbols",
        (
            TextBlock(r"What is left of the derivative of $M \dot{q}$ and of $\frac{\partial K}{\partial q}$."),
            _formulas(equation("c_{ijk}", *terms), equation("C_{ij}", r"\sum_k c_{ijk}\, \dot{q}_k")),
            TextBlock(
                r"Of all matrices with the same $C \dot{q}$ this is one for which $\dot{M} - 2 C$ is skew-symmetric."
            ),
        ),
    )


def gravity() -> Principle:
    """G."""
    return Principle(
        "Efforts of gravity G",
        (
            TextBlock("What holds the arm at rest."),
            _formulas(equation("G_i", r"\frac{\partial P}{\partial q_i}")),
        ),
    )


def equations(friction: bool) -> Principle:
    """Args: friction: whether there is some."""
    blocks = [_formulas(equation(r"\tau", r"M \ddot{q}", r"C \dot{q}", "G", *(["F"] if friction else [])))]
    text = r"$F$ is friction, viscous $b_i\, \dot{q}_i$ and Coulomb's $f_i\, \operatorname{sgn}\dot{q}_i$."
    return Principle("Equations of motion", (*([TextBlock(text)] if friction else []), *blocks))


# Steps with polynomials in them, written out as sections with formulas.

WIDEST = 62
"""Letters and signs in a row of a matrix; of a wider one the elements are given one by one."""


class DerivedQuantity(NamedTuple):
    """Something that a step arrives at.

    Attributes:
        name: in LaTeX.
        value: a polynomial, or a matrix of them.
        first: what its terms are gathered by first, see ``Writer.expression``.
    """

    name: str
    value: Polynomial | Polynomials
    first: str = ""


class DerivationStep(NamedTuple):
    """A step of the derivation.

    Attributes:
        name: what it is called on the command line.
        title: its heading.
        principle: what holds for any arm.
        parts: what comes out for this one.
    """

    name: str
    title: str
    principle: tuple[Block, ...]
    parts: tuple[DerivedQuantity | TextBlock, ...]


def sections(dynamics: CompiledDynamics, form: ClosedForm, steps: Sequence[DerivationStep]) -> list[Section]:
    """A section for each step, and before them one for the arm and its letters."""
    quantities = [part for step in steps for part in step.parts if isinstance(part, DerivedQuantity)]
    writer = _SectionWriter(form, quantities)
    rest = [Section(step.name, step.title, (*step.principle, *writer.blocks(step.parts))) for step in steps]
    legend = Legend(writer, writer.written)
    remark = (
        [TextBlock(f"The arm's own numbers stand in the formulas, to {DIGITS} digits.")] if form.algebra.numeric else []
    )
    arm = Section("arm", "The arm", (joints(dynamics.robot), *remark, *legend.numbers, *legend.waves))
    return [arm, *rest]


class _SectionWriter(Writer):
    def __init__(self, form: ClosedForm, quantities: Sequence[DerivedQuantity]) -> None:
        super().__init__(form, [x for quantity in quantities for x in np.ravel(np.array(quantity.value, dtype=object))])
        self.written: set[Symbol] = set()

    def blocks(self, parts: Sequence[DerivedQuantity | TextBlock]) -> Iterator[Block]:
        for is_text, group in groupby(parts, lambda part: isinstance(part, TextBlock)):
            if is_text:
                yield from (part for part in group if isinstance(part, TextBlock))
            else:
                found = [row for part in group if isinstance(part, DerivedQuantity) for row in self._rows(part)]
                yield EquationBlock(tuple(found))

    def _rows(self, quantity: DerivedQuantity) -> Iterator[SumBlock | MatrixBlock]:
        if not isinstance(quantity.value, np.ndarray):
            yield SumBlock(quantity.name, self._terms(quantity.value, quantity.first))
            return
        terms = [[self._terms(x) for x in row] for row in quantity.value]
        cells = tuple(tuple(leading(" ".join(cell)) for cell in row) for row in terms)
        widths = [max(width(unicode(cell)) for cell in column) for column in zip(*cells, strict=True)]
        if sum(widths) + 3 * len(widths) <= WIDEST:
            yield MatrixBlock(quantity.name, cells)
            return
        for place, polynomial in np.ndenumerate(quantity.value):
            index = "".join(str(i + 1) for i in place[: 1 if len(widths) == 1 else 2])
            if polynomial:
                yield SumBlock(f"({quantity.name})_{{{index}}}", tuple(terms[place[0]][place[1]]))

    def _terms(self, polynomial: Polynomial, first: str = "") -> tuple[str, ...]:
        expression = self.expression(polynomial, first)
        self.written |= expression.free_symbols
        return tuple(self.terms(expression))


NUMBERS = 60
"""Terms of M that can be read where the arm's numbers stand in them."""

RATES = "rates"
"""What is gathered by rates and accelerations."""


def readable_form(dynamics: CompiledDynamics, numbers: bool) -> ClosedForm | None:
    """The closed form, or None where it would be too long to read.

    Args:
        dynamics: the arm.
        numbers: whether its numbers are to stand for themselves.
    """
    if dynamics.robot.n > JOINTS:
        return None
    form = ClosedForm(dynamics, numeric=True) if numbers else choose(dynamics)
    return form if terms(form) <= (NUMBERS if form.algebra.numeric else TERMS) else None


def closed_sections(dynamics: CompiledDynamics, form: ClosedForm) -> list[Section]:
    """Every step, its formulas with the letters or numbers of the arm."""
    return sections(dynamics, form, list(_Steps(form)))


class _Steps:
    def __init__(self, form: ClosedForm) -> None:
        self._form, self._labels = form, labels(form.tree)
        self._bodies, self._n = range(len(form.frames)), form.tree.n
        base = form.tree.base
        self._where = "in the root link's axes"
        if not (form.algebra.numeric or is_exact(base)):
            angles = ", ".join(f"${number(float(x) + 0.0)}$" for x in roll_pitch_yaw(base))
            self._where = f"in axes that are turned by roll, pitch and yaw ({angles}) against the root link's"
            base = np.eye(3)
        self._base = np.array([[form.algebra.constant(float(x)) for x in row] for row in base], dtype=object)

    def __iter__(self) -> Iterator[DerivationStep]:
        yield DerivationStep("frames", *frames(self._where), tuple(self._frames()))
        yield DerivationStep("com", *com(), tuple(self._vectors("p_{{c{}}}", map(self._form.centre, self._bodies))))
        yield DerivationStep("jacobians", *jacobians(), tuple(self._jacobians()))
        yield DerivationStep("kinetic", *kinetic(self._has("a")), tuple(self._kinetic()))
        yield DerivationStep("potential", *potential(), tuple(self._potential()))
        form = self._form
        yield DerivationStep("lagrangian", *lagrangian(), (DerivedQuantity("L", form.kinetic - form.potential, RATES),))
        pairs = combinations_with_replacement(range(self._n), 2)
        yield DerivationStep(
            "mass_matrix", *mass_matrix(), tuple(self._elements("M_{{{}{}}}", form.mass_matrix, pairs))
        )
        yield DerivationStep("coriolis", *coriolis(), tuple(self._coriolis()))
        yield DerivationStep("gravity", *gravity(), tuple(self._vector("G", form.gravity, "")))
        yield DerivationStep(
            "equations", *equations(self._has("b", "f")), tuple(self._vector(r"\tau", form.inverse, RATES))
        )

    def _has(self, *kinds: str) -> bool:
        """Whether a joint has any of these numbers."""
        return any(self._form.algebra.number(kind, c) for kind in kinds for c in range(self._n))

    def _frames(self) -> Iterator[DerivedQuantity]:
        for label, frame in zip(self._labels, self._form.frames, strict=True):
            yield DerivedQuantity(f"p_{{{label}}}", self._in_root(frame.position)[:, None])
            yield DerivedQuantity(f"R_{{{label}}}", self._in_root(frame.group @ frame.within))

    def _vectors(self, name: str, values: Iterator[Polynomials]) -> Iterator[DerivedQuantity]:
        for label, vector in zip(self._labels, values, strict=True):
            yield DerivedQuantity(name.format(label), self._in_root(vector)[:, None])

    def _jacobians(self) -> Iterator[DerivedQuantity]:
        for k, label in enumerate(self._labels):
            yield DerivedQuantity(f"J_{{v{label}}}", self._in_root(self._form.linear_jacobian(k)))
            yield DerivedQuantity(rf"J_{{\omega {label}}}", self._form.angular_jacobian(k))

    def _kinetic(self) -> Iterator[DerivedQuantity]:
        for k, label in enumerate(self._labels):
            linear = self._form.linear_jacobian(k) @ self._form.rates
            square = self._form.reduced(np.array([linear @ linear], dtype=object))[0]
            yield DerivedQuantity(f"v_{{{label}}}^{{2}}", square, RATES)
            yield DerivedQuantity(f"K_{{{label}}}", self._form.body_kinetic(k), RATES)
        yield DerivedQuantity("K", self._form.kinetic, RATES)

    def _potential(self) -> Iterator[DerivedQuantity]:
        for k, label in enumerate(self._labels):
            yield DerivedQuantity(f"P_{{{label}}}", self._form.body_potential(k))
        yield DerivedQuantity("P", self._form.potential)

    def _coriolis(self) -> Iterator[DerivedQuantity | TextBlock]:
        n = range(self._n)
        triples = list(product(n, n, n))
        name = r"\frac{{\partial M_{{{}{}}}}}{{\partial q_{{{}}}}}"
        found = list(self._elements(name, self._form.mass_matrix_derivatives, [x for x in triples if x[0] <= x[1]]))
        if not found:
            yield TextBlock("Here $M$ does not depend on $q$, so $C$ is zero.")
            return
        yield TextBlock("The derivatives that are not zero are")
        yield from found
        yield TextBlock("the symbols, with $c_{ijk} = c_{ikj}$,")
        yield from self._elements("c_{{{}{}{}}}", self._form.christoffel, [x for x in triples if x[1] <= x[2]])
        yield TextBlock("and the elements of $C$")
        yield from self._elements("C_{{{}{}}}", self._form.coriolis_matrix, product(n, n))

    def _elements(self, name: str, array: Polynomials, places: Iterable[tuple[int, ...]]) -> Iterator[DerivedQuantity]:
        """Those that are not zero."""
        yield from (
            DerivedQuantity(name.format(*(i + 1 for i in place)), array[place]) for place in places if array[place]
        )

    def _vector(self, name: str, values: Polynomials, first: str) -> Iterator[DerivedQuantity]:
        yield from (DerivedQuantity(f"{name}_{{{i + 1}}}", value, first) for i, value in enumerate(values))

    def _in_root(self, array: Polynomials) -> Polynomials:
        return self._form.reduced(self._base @ array)
