"""The steps for an arm whose closed form can be read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import combinations_with_replacement, product

import numpy as np

from robodyn_ros.dynamics.closed_form.choice import JOINTS, TERMS, choose, terms
from robodyn_ros.dynamics.closed_form.directions import is_exact
from robodyn_ros.dynamics.closed_form.equations import ClosedForm
from robodyn_ros.dynamics.closed_form.frames import Polynomials
from robodyn_ros.dynamics.closed_form.letters import labels
from robodyn_ros.dynamics.closed_form.typeset import number
from robodyn_ros.dynamics.compiled import CompiledDynamics
from robodyn_ros.dynamics.derivation import principles
from robodyn_ros.dynamics.derivation.angles import roll_pitch_yaw
from robodyn_ros.dynamics.derivation.sections import Quantity, Step, sections
from robodyn_ros.dynamics.document.blocks import Section, Text

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

    def __iter__(self) -> Iterator[Step]:
        yield Step("frames", *principles.frames(self._where), tuple(self._frames()))
        yield Step("com", *principles.com(), tuple(self._vectors("p_{{c{}}}", map(self._form.centre, self._bodies))))
        yield Step("jacobians", *principles.jacobians(), tuple(self._jacobians()))
        yield Step("kinetic", *principles.kinetic(self._has("a")), tuple(self._kinetic()))
        yield Step("potential", *principles.potential(), tuple(self._potential()))
        form = self._form
        yield Step("lagrangian", *principles.lagrangian(), (Quantity("L", form.kinetic - form.potential, RATES),))
        pairs = combinations_with_replacement(range(self._n), 2)
        yield Step(
            "mass_matrix", *principles.mass_matrix(), tuple(self._elements("M_{{{}{}}}", form.mass_matrix, pairs))
        )
        yield Step("coriolis", *principles.coriolis(), tuple(self._coriolis()))
        yield Step("gravity", *principles.gravity(), tuple(self._vector("G", form.gravity, "")))
        yield Step(
            "equations", *principles.equations(self._has("b", "f")), tuple(self._vector(r"\tau", form.inverse, RATES))
        )

    def _has(self, *kinds: str) -> bool:
        """Whether a joint has any of these numbers."""
        return any(self._form.algebra.number(kind, c) for kind in kinds for c in range(self._n))

    def _frames(self) -> Iterator[Quantity]:
        for label, frame in zip(self._labels, self._form.frames, strict=True):
            yield Quantity(f"p_{{{label}}}", self._in_root(frame.position)[:, None])
            yield Quantity(f"R_{{{label}}}", self._in_root(frame.group @ frame.within))

    def _vectors(self, name: str, values: Iterator[Polynomials]) -> Iterator[Quantity]:
        for label, vector in zip(self._labels, values, strict=True):
            yield Quantity(name.format(label), self._in_root(vector)[:, None])

    def _jacobians(self) -> Iterator[Quantity]:
        for k, label in enumerate(self._labels):
            yield Quantity(f"J_{{v{label}}}", self._in_root(self._form.linear_jacobian(k)))
            yield Quantity(rf"J_{{\omega {label}}}", self._form.angular_jacobian(k))

    def _kinetic(self) -> Iterator[Quantity]:
        for k, label in enumerate(self._labels):
            linear = self._form.linear_jacobian(k) @ self._form.rates
            square = self._form.reduced(np.array([linear @ linear], dtype=object))[0]
            yield Quantity(f"v_{{{label}}}^{{2}}", square, RATES)
            yield Quantity(f"K_{{{label}}}", self._form.body_kinetic(k), RATES)
        yield Quantity("K", self._form.kinetic, RATES)

    def _potential(self) -> Iterator[Quantity]:
        for k, label in enumerate(self._labels):
            yield Quantity(f"P_{{{label}}}", self._form.body_potential(k))
        yield Quantity("P", self._form.potential)

    def _coriolis(self) -> Iterator[Quantity | Text]:
        n = range(self._n)
        triples = list(product(n, n, n))
        name = r"\frac{{\partial M_{{{}{}}}}}{{\partial q_{{{}}}}}"
        found = list(self._elements(name, self._form.mass_matrix_derivatives, [x for x in triples if x[0] <= x[1]]))
        if not found:
            yield Text("Here $M$ does not depend on $q$, so $C$ is zero.")
            return
        yield Text("The derivatives that are not zero are")
        yield from found
        yield Text("the symbols, with $c_{ijk} = c_{ikj}$,")
        yield from self._elements("c_{{{}{}{}}}", self._form.christoffel, [x for x in triples if x[1] <= x[2]])
        yield Text("and the elements of $C$")
        yield from self._elements("C_{{{}{}}}", self._form.coriolis_matrix, product(n, n))

    def _elements(self, name: str, array: Polynomials, places: Iterable[tuple[int, ...]]) -> Iterator[Quantity]:
        """Those that are not zero."""
        yield from (Quantity(name.format(*(i + 1 for i in place)), array[place]) for place in places if array[place])

    def _vector(self, name: str, values: Polynomials, first: str) -> Iterator[Quantity]:
        yield from (Quantity(f"{name}_{{{i + 1}}}", value, first) for i, value in enumerate(values))

    def _in_root(self, array: Polynomials) -> Polynomials:
        return self._form.reduced(self._base @ array)
