# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The steps of the derivation for an arm whose closed form can be read, with its formulas."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations_with_replacement, groupby, product
from typing import NamedTuple

import numpy as np

from robodyn_ros.document.blocks import Block, EquationBlock, MatrixBlock, Section, SumBlock, TextBlock, leading
from robodyn_ros.document.text import unicode, width
from robodyn_ros.dynamics.compiled import CompiledDynamics
from robodyn_ros.dynamics.symbolic.algebra import Polynomial, is_exact
from robodyn_ros.dynamics.symbolic.closed_form import ClosedForm, Polynomials
from robodyn_ros.dynamics.symbolic.general_steps import principles
from robodyn_ros.dynamics.symbolic.symbols import labels
from robodyn_ros.dynamics.symbolic.typeset import DIGITS, number
from robodyn_ros.dynamics.symbolic.writer import JOINTS, TERMS, Legend, Writer, choose, joints, terms
from robodyn_ros.robot import Pose

WIDEST = 62
"""Letters and signs in a row of a matrix; a wider matrix is written element by element."""

NUMBERS = 60
"""Terms of M that can be read if they have the arm's numbers in them."""

RATES = "rates"
"""Kind by which a quantity is gathered first: rates and accelerations, see ``Writer.expression``."""


def readable_form(dynamics: CompiledDynamics, numbers: bool) -> ClosedForm | None:
    """Return the closed form, or None where it would be too long to read.

    Args:
        dynamics: the arm.
        numbers: write its numbers in the formulas, not symbols for them.
    """
    if dynamics.robot.n > JOINTS:
        return None
    form = ClosedForm(dynamics, numeric=True) if numbers else choose(dynamics)
    return form if terms(form) <= (NUMBERS if form.algebra.numeric else TERMS) else None


def closed_sections(dynamics: CompiledDynamics, form: ClosedForm, chosen: Sequence[str]) -> list[Section]:
    """Return the arm with its symbols, and the steps, their formulas with these symbols or the numbers of the arm.

    Args:
        dynamics: the arm.
        form: its closed form.
        chosen: names of the steps; ``arm`` among them explains the symbols of all, and so has all of them written.
            Without it the last one ends with the sines and cosines, whose angles may be no coordinates.
    """
    steps = _Steps(form)
    parts = {name: tuple(found) for name, found in steps.parts().items()}
    quantities = [part for found in parts.values() for part in found if isinstance(part, DerivedQuantity)]
    writer = _SectionWriter(form, [x for part in quantities for x in np.ravel(np.array(part.value, dtype=object))])
    found = [step for step in steps.principles() if step.name in chosen or "arm" in chosen]
    rest = [step.extended(writer.blocks(parts[step.name])) for step in found]
    legend = Legend(writer)
    numeric = TextBlock(f"The arm's own numbers stand in the formulas, to {DIGITS} digits.")
    remark = [numeric] if form.algebra.numeric else []
    if "arm" not in chosen and rest:
        rest[-1] = rest[-1].extended(legend.trigonometric)
    return [Section("arm", "The arm", (joints(dynamics.robot), *remark, *legend.numbers, *legend.trigonometric)), *rest]


class DerivedQuantity(NamedTuple):
    """A result of a step.

    Attributes:
        name: in LaTeX.
        value: a polynomial, or a matrix of them.
        first: what its terms are gathered by first, see ``Writer.expression``.
    """

    name: str
    value: Polynomial | Polynomials
    first: str = ""


class _Steps:
    def __init__(self, form: ClosedForm) -> None:
        self._form, self._labels = form, labels(form.tree)
        self._n = form.tree.n
        base = form.tree.base
        self._where = "in the root link's axes"
        if not (form.algebra.numeric or is_exact(base)):
            angles = ", ".join(f"${number(float(x) + 0.0)}$" for x in Pose(base).rpy)
            self._where = f"in axes that are turned by roll, pitch and yaw ({angles}) against the root link's"
            base = np.eye(3)
        self._base = np.array([[form.algebra.constant(float(x)) for x in row] for row in base], dtype=object)

    def principles(self) -> list[Section]:
        """Return the steps as they are for any arm."""
        return principles(self._where, rotors=self._has("a"), friction=self._has("b", "f"))

    def parts(self) -> dict[str, Iterable[DerivedQuantity | TextBlock]]:
        """Return the results of each step for this arm."""
        form, pairs = self._form, combinations_with_replacement(range(self._n), 2)
        return {
            "frames": self._frames(),
            "com": (
                DerivedQuantity(f"p_{{c{label}}}", self._in_root(form.centre(k))[:, None])
                for k, label in enumerate(self._labels)
            ),
            "jacobians": self._jacobians(),
            "kinetic": self._kinetic(),
            "potential": self._potential(),
            "lagrangian": (DerivedQuantity("L", form.kinetic - form.potential, RATES),),
            "mass_matrix": self._elements("M_{{{}{}}}", form.mass_matrix, pairs),
            "coriolis": self._coriolis(),
            "gravity": self._vector("G", form.gravity, ""),
            "equations": self._vector(r"\tau", form.inverse, RATES),
        }

    def _has(self, *kinds: str) -> bool:
        """Return whether a joint has any of these numbers."""
        return any(self._form.algebra.number(kind, c) for kind in kinds for c in range(self._n))

    def _frames(self) -> Iterator[DerivedQuantity]:
        for label, frame in zip(self._labels, self._form.frames, strict=True):
            yield DerivedQuantity(f"p_{{{label}}}", self._in_root(frame.position)[:, None])
            yield DerivedQuantity(f"R_{{{label}}}", self._in_root(frame.group @ frame.within))

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
        yield TextBlock("These derivatives are not zero:")
        yield from found
        yield TextBlock("These are the symbols, with $c_{ijk} = c_{ikj}$:")
        yield from self._elements("c_{{{}{}{}}}", self._form.christoffel, [x for x in triples if x[1] <= x[2]])
        yield TextBlock("These are the elements of $C$:")
        yield from self._elements("C_{{{}{}}}", self._form.coriolis_matrix, product(n, n))

    def _elements(self, name: str, array: Polynomials, places: Iterable[tuple[int, ...]]) -> Iterator[DerivedQuantity]:
        """Yield the elements that are not zero."""
        yield from (
            DerivedQuantity(name.format(*(i + 1 for i in place)), array[place]) for place in places if array[place]
        )

    def _vector(self, name: str, values: Polynomials, first: str) -> Iterator[DerivedQuantity]:
        yield from (DerivedQuantity(f"{name}_{{{i + 1}}}", value, first) for i, value in enumerate(values))

    def _in_root(self, array: Polynomials) -> Polynomials:
        return self._form.reduced(self._base @ array)


class _SectionWriter(Writer):
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
        return tuple(self.terms(self.expression(polynomial, first)))
