# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Polynomials of one closed form as formulas: short, with names for the generators, in the order of a textbook.

:class:`Simplifier` searches the shortest expression of a polynomial, :class:`Writer` writes it in LaTeX, and
:class:`Legend` explains its symbols. :func:`choose` decides whether a closed form is short enough to be read, with
symbols or with numbers; :class:`Readable` has the whole of one, and :func:`latex_files` writes it as a document.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import product
from math import prod
from operator import sub
from typing import Any

from sympy import Add, Expr, Float, Integer, Mul, Symbol, count_ops

from robodyn_ros import __version__
from robodyn_ros.document import blocks as page
from robodyn_ros.document.latex import tex
from robodyn_ros.dynamics.compiled import CompiledDynamics
from robodyn_ros.dynamics.symbolic.algebra import Polynomial
from robodyn_ros.dynamics.symbolic.closed_form import ClosedForm
from robodyn_ros.dynamics.symbolic.listing import identifier
from robodyn_ros.dynamics.symbolic.symbols import labels
from robodyn_ros.dynamics.symbolic.typeset import DIGITS as SHOWN_DIGITS
from robodyn_ros.dynamics.symbolic.typeset import ORDER, Name, Rank, Typesetter, names, number
from robodyn_ros.errors import InputError
from robodyn_ros.robot import Robot

LONGEST = 40
"""Terms of a polynomial. A longer one is gathered by its trigonometric terms, and only its parts are searched."""

DIGITS = 12
"""Digits of decimal fractions; the rest is rounding."""

WHOLE = {Float(1.0): Integer(1), Float(-1.0): Integer(-1)}
"""A decimal 1 would be written as a factor."""

Places = frozenset[int]
"""Some of the generators, by their index."""


KINDS = {
    "trigonometric": ("trigonometric", "q"),
    "masses": ("m",),
    "rates": ("qd", "qdd", "sign"),
    "lengths": ("l", "c", "g", "ct", "st"),
}
"""Kind by which terms may be gathered → kinds of names; the first wins where two are as short."""


class Writer:
    """Writes polynomials that belong together with the same names, as the shortest of several SymPy expressions.

    Attributes:
        form: the equations.
        names: of each generator of the ring.
        written: the symbols of all expressions so far.
        terms: returns the terms of an expression in LaTeX, each after its sign and a space.
    """

    def __init__(self, form: ClosedForm, polynomials: Iterable[Polynomial]) -> None:
        """
        Args:
            form: the equations.
            polynomials: all that is to be written; which names tell apart what is in them.
        """
        self.form, self.names = form, names(form, polynomials)
        ranks: dict[Symbol, Rank] = {}
        for place, name in enumerate(self.names):
            ranks.setdefault(name.symbol, (ORDER.index(name.kind), place))
        self.terms = Typesetter(ranks).terms
        self._kinds: dict[str, Places] = {
            kind: frozenset(i for i, name in enumerate(self.names) if name.kind in parts)
            for kind, parts in KINDS.items()
        }
        self._shortest = cache(self._search)
        self.written: set[Symbol] = set()

    def expression(self, polynomial: Polynomial, first: str = "") -> Expr:
        """Return the expression of fewest operations that was found; gathered by one of ``KINDS`` first, if given."""
        polynomial = self._turned(polynomial)
        for cosine, sine in self.form.algebra.trigonometric.values():
            polynomial = min(polynomial, _exchanged(polynomial, cosine, sine), key=len)
        others = (kind for kind in self._kinds if kind != first)
        found = self._gathered(polynomial, first, *others) if first else self._shortest(polynomial, tuple(self._kinds))
        self.written |= found.free_symbols
        return found

    def _search(self, polynomial: Polynomial, kinds: tuple[str, ...]) -> Expr:
        if len(polynomial) <= 1:
            return self._expanded(polynomial)
        common, rest = _split(polynomial)
        if common != 1:
            return _times(self._expanded(common), self._shortest(rest, kinds))
        if len(polynomial) > LONGEST:
            kinds = kinds[:1]
        found = [self._gathered(polynomial, kind, *(other for other in kinds if other != kind)) for kind in kinds]
        return min([*found, self._expanded(polynomial)], key=count_ops)

    def _gathered(self, polynomial: Polynomial, kind: str, *others: str) -> Expr:
        """Put terms together that differ only in the generators of one kind: Σ (sum of that kind) (the others)."""
        ring, places = polynomial.ring, self._kinds[kind]
        alike: dict[tuple[int, ...], dict[tuple[int, ...], Any]] = {}
        for monomial, coefficient in polynomial.terms():
            own = tuple(power if i in places else 0 for i, power in enumerate(monomial))
            rest = tuple(0 if i in places else power for i, power in enumerate(monomial))
            alike.setdefault(own, {})[rest] = coefficient
        sums: dict[Polynomial, dict[tuple[int, ...], Any]] = {}
        for own, found in alike.items():
            number, rest = _primitive(ring.from_dict(found))
            sums.setdefault(rest, {})[own] = number
        return Add(*(self._product(ring.from_dict(own), rest, others) for rest, own in sums.items()))

    def _product(self, own: Polynomial, rest: Polynomial, others: tuple[str, ...]) -> Expr:
        common, own = _split(own)
        return _times(self._expanded(common), self._shortest(own, ()), self._shortest(rest, others))

    def _turned(self, polynomial: Polynomial) -> Polynomial:
        """Return a polynomial in the symbols instead of the generators, with the signs that are seen.

        Numbers that are equal but for rounding are made equal.
        """
        ring, terms = polynomial.ring, {}
        for monomial, coefficient in polynomial.terms():
            if not ring.domain.is_Exact:
                coefficient = ring.domain(float(f"{float(coefficient):.{DIGITS}g}"))
            sign = prod(name.sign**power for name, power in zip(self.names, monomial, strict=True))
            terms[monomial] = coefficient * sign
        return ring.from_dict(terms)

    def _expanded(self, polynomial: Polynomial) -> Expr:
        return polynomial.as_expr(*(name.symbol for name in self.names)).xreplace(WHOLE)


def _times(*factors: Expr) -> Expr:
    """Return a product. A number before a sum stays there, where SymPy would spread it; a sign need not."""
    number, rest = Mul(*(x for x in factors if x.is_Number)), Mul(*(x for x in factors if not x.is_Number))
    return Mul(number, rest, evaluate=not isinstance(rest, Add) or abs(number) == 1)


def _primitive(polynomial: Polynomial) -> tuple[Any, Polynomial]:
    """Split off a number. The rest is positive in its leading term and, if it is exact, without fractions."""
    number, rest = polynomial.primitive()  # of decimal fractions the number is 1
    return (-number, -rest) if rest.LC < 0 else (number, rest)


def _split(polynomial: Polynomial) -> tuple[Polynomial, Polynomial]:
    """Return the common factor of all terms, and the rest."""
    ring = polynomial.ring
    number, rest = _primitive(polynomial)
    monomial = tuple(map(min, zip(*rest.monoms(), strict=True)))
    if any(monomial):
        rest = ring.from_dict({tuple(map(sub, own, monomial)): x for own, x in rest.terms()})
    return ring.term_new(monomial, number), rest


def _exchanged(polynomial: Polynomial, cosine: Polynomial, sine: Polynomial) -> Polynomial:
    """Return a polynomial with 1 - sin² for every cos²."""
    ring, place = polynomial.ring, polynomial.ring.gens.index(cosine)
    total = ring.zero
    for monomial, coefficient in polynomial.terms():
        squares, left = divmod(monomial[place], 2)
        rest = ring.term_new((*monomial[:place], left, *monomial[place + 1 :]), coefficient)
        total += rest * (1 - sine**2) ** squares
    return total


EXACT = 12
"""Digits of the arm's numbers."""

AXES = (
    "An x axis points from its joint towards the next one, a z axis along its joint;"
    " inertias are about the centre of mass."
)


class Legend:
    """Explains the symbols that a writer has written.

    Attributes:
        trigonometric: sentences that define the sines and cosines, and the angles that are no coordinates.
        numbers: a table of the arm's numbers.
    """

    def __init__(self, writer: Writer) -> None:
        """
        Args:
            writer: the writer.
        """
        self._form = writer.form
        used = [name for name in writer.names if name.symbol in writer.written]
        self.trigonometric = list(self._sentences(used))
        rows = [
            (f"${name.symbol}$", f"${number(parameter.value, EXACT)}$", parameter.unit, page.quoted(parameter.meaning))
            for name in used
            if (parameter := name.parameter)
        ]
        heads = ("symbol", "value", "unit", "meaning")
        self.numbers: list[page.Block] = [page.table(heads, rows), page.TextBlock(AXES)] if rows else []

    def _sentences(self, used: list[Name]) -> Iterator[page.Block]:
        definitions = dict.fromkeys(f"${name.symbol} = {self._function(name)}$" for name in used if name.trigonometric)
        if definitions:
            yield page.TextBlock(f"{', '.join(definitions)}.")
        if angles := list(self._angles(used)):
            yield page.TextBlock(f"Here {', '.join(angles)}.")

    def _function(self, name: Name) -> str:
        assert name.trigonometric is not None
        function, terms = name.trigonometric
        parts = " ".join(f"{'-' if sign < 0 else '+'} {self._angle(node)}" for node, sign in terms)
        text = parts.removeprefix("+ ")
        return rf"\{function} {text}" if len(terms) == 1 else rf"\{function}({text})"

    def _angle(self, node: int) -> str:
        """Return the symbol of an angle: θ, or q where that is the same."""
        body = self._form.tree.nodes[node].body
        plain = body.ratio == 1.0 and self._form.directions[node].rest == 0.0
        return f"q_{{{body.coordinate + 1}}}" if plain else rf"\theta_{{{labels(self._form.tree)[node]}}}"

    def _angles(self, used: list[Name]) -> Iterator[str]:
        for node in sorted({node for name in used if name.trigonometric for node, _ in name.trigonometric[1]}):
            angle, rest = self._angle(node), self._form.directions[node].rest
            body = self._form.tree.nodes[node].body
            if angle.startswith("q"):
                continue
            ratio = "" if body.ratio == 1.0 else f"{number(body.ratio, EXACT)} "
            sign = "-" if rest < 0 else "+"
            yield f"${angle} = {ratio}q_{{{body.coordinate + 1}}} {sign} {number(abs(rest), EXACT)}$"


def joints(robot: Robot) -> page.TableBlock:
    """Return a table of the joints of an arm, with the units of their positions and efforts."""
    rows = []
    for index, joint in enumerate(robot.joints, 1):
        units = rf"$q_{{{index}}}$ [{joint.position_unit}], $\tau_{{{index}}}$ [{joint.effort_unit}]"
        rows.append((str(index), page.quoted(joint.name), joint.type, units))
    return page.table(("joint", "name", "type", "position, effort"), rows)


JOINTS = 4
"""An arm with more joints has no closed form that can be read."""

TERMS = 200
"""Terms of M that can be read. Where symbols make it longer, the formulas have the arm's numbers."""


def choose(dynamics: CompiledDynamics) -> ClosedForm:
    """Return the closed form with symbols where that can be read, else with numbers."""
    numeric = ClosedForm(dynamics, numeric=True)
    if any(node.body.joint.mimic for node in numeric.tree.nodes) or terms(numeric) > TERMS:
        return numeric
    try:
        symbolic = ClosedForm(dynamics, numeric=False)
    except InputError:  # an angle that has no symbol
        return numeric
    return symbolic if terms(symbolic) <= TERMS else numeric


def terms(form: ClosedForm) -> int:
    """Return how many terms M has."""
    return sum(len(polynomial) for polynomial in form.mass_matrix.flat)


MATRICES = {"mass_matrix": "M", "coriolis_matrix": "C"}

VECTORS = {"inverse": r"\tau", "gravity": "G", "coriolis": r"(C\dot{q})", "bias": r"(C\dot{q} + G)"}

SCALARS = {"energy": (("kinetic", "K"), ("potential", "P"))}

QUANTITIES = (*VECTORS, *MATRICES, *SCALARS)
"""Quantities that have a closed form to read."""

BY_RATES = {"inverse", "coriolis", "bias", "energy"}
"""Quantities that people gather by rates and accelerations, even where another form is shorter."""


class Readable:
    """Some equations of one arm as a person would write them.

    Attributes:
        writer: that wrote them.
        elements: quantity → name and expression of its elements: of a vector all, of a matrix those that are not
            zero, of a symmetric one only the upper half.
    """

    def __init__(self, dynamics: CompiledDynamics, quantities: Sequence[str]) -> None:
        """
        Args:
            dynamics: the arm, with its parameters.
            quantities: some of ``QUANTITIES``.

        Raises:
            InputError: a quantity has no closed form to read, or the arm has none.
        """
        for quantity in quantities:
            if quantity not in QUANTITIES:
                known = ", ".join(QUANTITIES)
                raise InputError("quantity", f"{quantity!r} has no closed form to read; these have: {known}", quantity)
        if dynamics.robot.n > JOINTS:
            problem = f"the closed form of {dynamics.robot.n} joints would be too long to read (up to {JOINTS} can be)"
            raise InputError("language", f"{problem}; export it in c or python", "latex")
        form = choose(dynamics)
        polynomials = {quantity: list(_elements(form, quantity)) for quantity in dict.fromkeys(quantities)}
        self.writer = Writer(form, (polynomial for found in polynomials.values() for _, polynomial in found))
        self.elements: dict[str, list[tuple[str, Expr]]] = {
            quantity: [(name, self.writer.expression(x, "rates" if quantity in BY_RATES else "")) for name, x in found]
            for quantity, found in polynomials.items()
        }


def _elements(form: ClosedForm, quantity: str) -> Iterator[tuple[str, Polynomial]]:
    n = form.tree.n
    if quantity in SCALARS:
        yield from ((name, getattr(form, attribute)) for attribute, name in SCALARS[quantity])
    elif quantity in VECTORS:
        yield from ((f"{VECTORS[quantity]}_{{{i + 1}}}", x) for i, x in enumerate(getattr(form, quantity)))
    else:
        matrix = getattr(form, quantity)
        for i, j in product(range(n), range(n)):
            if matrix[i, j] and (j >= i or quantity != "mass_matrix"):
                yield f"{MATRICES[quantity]}_{{{i + 1}{j + 1}}}", matrix[i, j]


TITLES = {
    "inverse": r"Efforts: $\tau = M \ddot{q} + C \dot{q} + G$",
    "mass_matrix": "Mass matrix $M(q)$",
    "coriolis_matrix": r"Coriolis matrix $C(q, \dot{q})$, by Christoffel symbols",
    "coriolis": r"Coriolis and centrifugal efforts $C \dot{q}$",
    "gravity": "Efforts of gravity $G(q)$",
    "bias": r"Efforts without acceleration $C \dot{q} + G$",
    "energy": "Kinetic energy $K$ and potential energy $P$",
}

REMARKS = {
    "mass_matrix": "It is symmetric; elements of its upper half that are not given are zero.",
    "coriolis_matrix": "Elements that are not given are zero.",
}

NUMERIC = f"With letters for the arm's numbers this would be too long to read: they are given to {SHOWN_DIGITS} digits."


def latex_files(dynamics: CompiledDynamics, quantities: Sequence[str], stem: str = "") -> dict[str, str]:
    """A document that compiles as it is, and from which formulas can be copied.

    Args:
        dynamics: the arm.
        quantities: some of ``QUANTITIES``.
        stem: name of the document; the arm's unless given.

    Returns:
        Name of the file → its text.

    Raises:
        InputError: the arm or a quantity has no closed form that can be read.
    """
    readable, robot = Readable(dynamics, quantities), dynamics.robot
    opening: list[page.Block] = [
        page.TextBlock(
            rf"By robodyn_ros {__version__}: $M(q)\, \ddot{{q}} + C(q, \dot{{q}})\, \dot{{q}} + G(q) = \tau$"
        ),
        joints(robot),
    ]
    if readable.writer.form.algebra.numeric:
        opening.append(page.TextBlock(NUMERIC))
    legend = Legend(readable.writer)
    sections = [
        *_equations(readable),
        page.Section("trigonometric", "Sines and cosines", tuple(legend.trigonometric)),
        page.Section("numbers", "Numbers of this arm", tuple(legend.numbers)),
    ]
    title = f"Equations of motion of the arm {page.quoted(robot.name)}"
    document = page.Document(title, tuple(opening), tuple(section for section in sections if section.blocks))
    return {f"{stem or identifier(robot.name)}.tex": tex(document)}


def _equations(readable: Readable) -> Iterator[page.Section]:
    for quantity, elements in readable.elements.items():
        blocks: list[page.Block] = [page.TextBlock(REMARKS[quantity])] if quantity in REMARKS else []
        if elements:
            terms = readable.writer.terms
            blocks.append(page.EquationBlock(tuple(page.SumBlock(name, tuple(terms(x))) for name, x in elements)))
        yield page.Section(quantity, TITLES[quantity], tuple(blocks))
