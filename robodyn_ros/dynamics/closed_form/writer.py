"""Polynomials of one closed form as formulas: short, with names for the generators, in the order of a textbook."""

from __future__ import annotations

from collections.abc import Iterable

from sympy import Expr, Symbol

from robodyn_ros.dynamics.closed_form.algebra import Polynomial
from robodyn_ros.dynamics.closed_form.equations import ClosedForm
from robodyn_ros.dynamics.closed_form.names import ORDER, names
from robodyn_ros.dynamics.closed_form.shorten import Shortener
from robodyn_ros.dynamics.closed_form.typeset import Rank, Typesetter

KINDS = {
    "waves": ("wave", "q"),
    "masses": ("m",),
    "rates": ("qd", "qdd", "sign"),
    "lengths": ("l", "c", "g", "ct", "st"),
}
"""By what terms may be gathered → kinds of names."""


class Writer:
    """Writes what belongs together with the same names.

    Attributes:
        form: the equations.
        names: of each generator of the ring.
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
        self._typesetter = Typesetter(ranks)
        kinds = {
            kind: frozenset(i for i, name in enumerate(self.names) if name.kind in parts)
            for kind, parts in KINDS.items()
        }
        symbols = [name.symbol for name in self.names]
        opposites = [i for i, name in enumerate(self.names) if name.sign < 0]
        self._shortener = Shortener(symbols, opposites, kinds, form.algebra.waves.values())

    def expression(self, polynomial: Polynomial, first: str = "") -> Expr:
        """The shortest expression that was found; gathered by one of ``KINDS`` first, if it is given."""
        return self._shortener(polynomial, first)

    def terms(self, expression: Expr) -> list[str]:
        """The terms of an expression in LaTeX, each after its sign and a space."""
        return self._typesetter.terms(expression)
