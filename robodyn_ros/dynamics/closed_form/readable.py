"""A closed form as a person would write it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

from sympy import Expr

from robodyn_ros.dynamics.closed_form.algebra import Polynomial
from robodyn_ros.dynamics.closed_form.choice import JOINTS, choose
from robodyn_ros.dynamics.closed_form.equations import ClosedForm
from robodyn_ros.dynamics.closed_form.writer import Writer
from robodyn_ros.dynamics.compiled import CompiledDynamics
from robodyn_ros.errors import InputError

MATRICES = {"mass_matrix": "M", "coriolis_matrix": "C"}
VECTORS = {"inverse": r"\tau", "gravity": "G", "coriolis": r"(C\dot{q})", "bias": r"(C\dot{q} + G)"}
SCALARS = {"energy": (("kinetic", "K"), ("potential", "P"))}
QUANTITIES = (*VECTORS, *MATRICES, *SCALARS)
"""What has a closed form that can be read."""

BY_RATES = {"inverse", "coriolis", "bias", "energy"}
"""What people gather by rates and accelerations, even where something else were shorter."""


class Readable:
    """Some equations of one arm.

    Attributes:
        writer: what wrote them.
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
            raise InputError("language", f"{problem}: c or python is what to use", "latex")
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
