"""Steps with polynomials in them, written out as sections with formulas."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

import numpy as np
from sympy import Symbol

from robodyn_ros.dynamics.closed_form.algebra import Polynomial
from robodyn_ros.dynamics.closed_form.equations import ClosedForm
from robodyn_ros.dynamics.closed_form.frames import Polynomials
from robodyn_ros.dynamics.closed_form.legend import Legend, joints
from robodyn_ros.dynamics.closed_form.typeset import DIGITS
from robodyn_ros.dynamics.closed_form.writer import Writer
from robodyn_ros.dynamics.compiled import CompiledDynamics
from robodyn_ros.dynamics.document.blocks import Block, Equations, Matrix, Section, Sum, Text, leading
from robodyn_ros.dynamics.document.unicode import unicode, width

WIDEST = 62
"""Letters and signs in a row of a matrix; of a wider one the elements are given one by one."""


class Quantity(NamedTuple):
    """Something that a step arrives at.

    Attributes:
        name: in LaTeX.
        value: a polynomial, or a matrix of them.
        first: what its terms are gathered by first, see ``Writer.expression``.
    """

    name: str
    value: Polynomial | Polynomials
    first: str = ""


class Step(NamedTuple):
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
    parts: tuple[Quantity | Text, ...]


def sections(dynamics: CompiledDynamics, form: ClosedForm, steps: Sequence[Step]) -> list[Section]:
    """A section for each step, and before them one for the arm and its letters."""
    quantities = [part for step in steps for part in step.parts if isinstance(part, Quantity)]
    writer = _Writer(form, quantities)
    rest = [Section(step.name, step.title, (*step.principle, *writer.blocks(step.parts))) for step in steps]
    legend = Legend(writer, writer.written)
    remark = [Text(f"The arm's own numbers stand in the formulas, to {DIGITS} digits.")] if form.algebra.numeric else []
    arm = Section("arm", "The arm", (joints(dynamics.robot), *remark, *legend.numbers, *legend.waves))
    return [arm, *rest]


class _Writer(Writer):
    def __init__(self, form: ClosedForm, quantities: Sequence[Quantity]) -> None:
        super().__init__(form, [x for quantity in quantities for x in np.ravel(np.array(quantity.value, dtype=object))])
        self.written: set[Symbol] = set()

    def blocks(self, parts: Sequence[Quantity | Text]) -> Iterator[Block]:
        for is_text, group in groupby(parts, lambda part: isinstance(part, Text)):
            if is_text:
                yield from (part for part in group if isinstance(part, Text))
            else:
                found = [row for part in group if isinstance(part, Quantity) for row in self._rows(part)]
                yield Equations(tuple(found))

    def _rows(self, quantity: Quantity) -> Iterator[Sum | Matrix]:
        if not isinstance(quantity.value, np.ndarray):
            yield Sum(quantity.name, self._terms(quantity.value, quantity.first))
            return
        terms = [[self._terms(x) for x in row] for row in quantity.value]
        cells = tuple(tuple(leading(" ".join(cell)) for cell in row) for row in terms)
        widths = [max(width(unicode(cell)) for cell in column) for column in zip(*cells, strict=True)]
        if sum(widths) + 3 * len(widths) <= WIDEST:
            yield Matrix(quantity.name, cells)
            return
        for place, polynomial in np.ndenumerate(quantity.value):
            index = "".join(str(i + 1) for i in place[: 1 if len(widths) == 1 else 2])
            if polynomial:
                yield Sum(f"({quantity.name})_{{{index}}}", tuple(terms[place[0]][place[1]]))

    def _terms(self, polynomial: Polynomial, first: str = "") -> tuple[str, ...]:
        expression = self.expression(polynomial, first)
        self.written |= expression.free_symbols
        return tuple(self.terms(expression))
