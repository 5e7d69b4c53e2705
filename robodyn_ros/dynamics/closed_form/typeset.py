"""SymPy expressions as LaTeX, in the order in which people write them: masses, lengths, sines, rates."""

from __future__ import annotations

from collections.abc import Mapping

from sympy import Add, Expr, Mul, Pow, Rational, Symbol

from robodyn_ros.dynamics.closed_form.names import ORDER
from robodyn_ros.dynamics.document.blocks import leading

DIGITS = 6
"""Of numbers that stand for themselves."""

Rank = tuple[int, int]
"""Of a symbol: its kind, by its place in ``ORDER``, and its place among those of its kind."""

LENGTHS, MOVING = ORDER.index("l"), ORDER.index("q")
RATES = tuple(map(ORDER.index, ("qdd", "qd", "sign")))
"""In the order in which terms of a sum stand."""


class Typesetter:
    """Writes expressions that are sums, products and whole powers."""

    def __init__(self, ranks: Mapping[Symbol, Rank]) -> None:
        """
        Args:
            ranks: of each symbol.
        """
        self._ranks = ranks

    def terms(self, expression: Expr) -> list[str]:
        """The terms of a sum, each with its sign in front."""
        return [self._term(term) for term in sorted(Add.make_args(expression), key=self._place)]

    def _term(self, term: Expr) -> str:
        number, rest = term.as_coeff_Mul()
        factors = sorted(Mul.make_args(rest), key=self._rank)
        parts = [self._factor(factor) for factor in factors if factor != 1]
        size = _number(abs(number))
        if size != "1" or not parts:
            parts.insert(0, size)
        return f"{'-' if number < 0 else '+'} {' '.join(parts)}"

    def _factor(self, factor: Expr) -> str:
        if isinstance(factor, Pow):
            return f"{self._factor(factor.base)}^{{{factor.exp}}}"
        if isinstance(factor, Add):
            return f"({leading(' '.join(self.terms(factor)))})"
        return str(factor)

    def _rank(self, factor: Expr) -> tuple[int, bool, Rank]:
        """Of a factor: by the first kind that is in it, sums after symbols."""
        kind, place = min((self._ranks[symbol] for symbol in factor.free_symbols), default=(0, 0))
        level = LENGTHS if ORDER[kind] == "c" else kind  # a length too
        return level, bool(factor.atoms(Add)), (kind, place)

    def _place(self, term: Expr) -> tuple[list[Rank], ...]:
        """Of a term in a sum: accelerations before rates before the rest; then by what moves, then by what does not."""
        every = sorted(self._ranks[symbol] for symbol in term.free_symbols)
        rates = sorted((RATES.index(kind), place) for kind, place in every if kind in RATES)
        alone = [factor.base if isinstance(factor, Pow) else factor for factor in Mul.make_args(term)]
        ranks = sorted(self._ranks[symbol] for symbol in alone if symbol.is_Symbol)
        moving = [rank for rank in ranks if rank[0] >= MOVING and rank[0] not in RATES]
        return rates or [(len(RATES), 0)], moving, [rank for rank in ranks if rank[0] < MOVING]


def _number(value: Expr) -> str:
    """A positive number."""
    if isinstance(value, Rational):
        return str(value.p) if value.q == 1 else rf"\frac{{{value.p}}}{{{value.q}}}"
    return number(float(value))


def number(value: float, digits: int = DIGITS) -> str:
    """A number in LaTeX."""
    mantissa, _, exponent = f"{value:.{digits}g}".partition("e")
    return rf"{mantissa} \cdot 10^{{{int(exponent)}}}" if exponent else mantissa
