"""SymPy expressions as LaTeX, in the order in which people write them: masses, lengths, sines, rates."""

from __future__ import annotations

import re
from collections.abc import Mapping

from sympy import Add, Expr, Mul, Pow, Rational, Symbol

from robodyn_ros.dynamics.export.names import ORDER

WIDTH = 90
"""Letters and signs in a line."""

DIGITS = 6
"""Of numbers that stand for themselves."""

Rank = tuple[int, int]
"""Of a symbol: its kind, by its place in ``ORDER``, and its place among those of its kind."""

MOVING, RATES = ORDER.index("q"), ORDER.index("qd")


class Typesetter:
    """Writes expressions that are sums, products and whole powers."""

    def __init__(self, ranks: Mapping[Symbol, Rank]) -> None:
        """
        Args:
            ranks: of each symbol.
        """
        self._ranks = ranks

    def lines(self, expression: Expr) -> list[str]:
        """An expression, broken at its signs where it is wide."""
        lines = [""]
        for term in self._terms(expression):
            if lines[-1] and _width(lines[-1] + term) > WIDTH:
                lines.append("")
            lines[-1] += term
        lines[0] = lines[0].removeprefix("+").strip()
        return [line.strip() for line in lines]

    def text(self, expression: Expr) -> str:
        """An expression on one line."""
        return "".join(self._terms(expression)).removeprefix("+").strip()

    def _terms(self, expression: Expr) -> list[str]:
        """Each with its sign in front."""
        terms = sorted(Add.make_args(expression), key=self._place)
        return [self._term(term) for term in terms]

    def _term(self, term: Expr) -> str:
        number, rest = term.as_coeff_Mul()
        factors = sorted(Mul.make_args(rest), key=self._rank)
        parts = [self._factor(factor) for factor in factors if factor != 1]
        size = abs(number)
        if size != 1 or not parts:
            parts.insert(0, _number(size))
        return f"{'-' if number < 0 else '+'} {' '.join(parts)} "

    def _factor(self, factor: Expr) -> str:
        if isinstance(factor, Pow):
            return f"{self._factor(factor.base)}^{{{factor.exp}}}"
        if isinstance(factor, Add):
            return rf"\left( {self.text(factor)} \right)"
        return str(factor)

    def _rank(self, factor: Expr) -> tuple[bool, bool, Rank]:
        """Of a factor: what is constant comes first, sums after symbols."""
        ranks = [self._ranks[symbol] for symbol in factor.free_symbols]
        moving = any(kind >= MOVING for kind, _ in ranks)
        return moving, bool(factor.atoms(Add)), min(ranks, default=(0, 0))

    def _place(self, term: Expr) -> tuple[list[Rank], ...]:
        """Of a term in a sum: by its waves, then its rates, then the rest."""
        symbols = [factor.base if isinstance(factor, Pow) else factor for factor in Mul.make_args(term)]
        ranks = sorted(self._rank(symbol)[2] for symbol in symbols if symbol.free_symbols)
        waves = [rank for rank in ranks if MOVING <= rank[0] < RATES]
        return waves, [rank for rank in ranks if rank[0] >= RATES], [rank for rank in ranks if rank[0] < MOVING]


def _number(value: Expr) -> str:
    """A positive number."""
    if isinstance(value, Rational):
        return str(value.p) if value.q == 1 else rf"\frac{{{value.p}}}{{{value.q}}}"
    return number(float(value))


def number(value: float, digits: int = DIGITS) -> str:
    """A number in LaTeX."""
    mantissa, _, exponent = f"{value:.{digits}g}".partition("e")
    return rf"{mantissa} \cdot 10^{{{int(exponent)}}}" if exponent else mantissa


def _width(text: str) -> int:
    """About how many letters and signs it is."""
    return len(re.sub(r"\\(left|right|operatorname|frac|d?dot)|[\\{}_^ ]", "", text))
