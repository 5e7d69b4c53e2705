"""The shortest of several ways to write a polynomial, as a SymPy expression."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache

from sympy import Add, Expr, Mul, Pow, count_ops

from robodyn_ros.dynamics.export.algebra import Polynomial

LONGEST = 40
"""Terms of a polynomial; a longer one is gathered by its waves, and only its parts are searched for what is short."""

Places = frozenset[int]
"""Some of the generators, by their index."""


class Shortener:
    """Writes polynomials of one ring."""

    def __init__(self, symbols: Sequence[Expr], kinds: Mapping[str, Places], exact: bool) -> None:
        """
        Args:
            symbols: what each generator is called.
            kinds: generators by which terms may be gathered: ``waves`` first, as it wins where two are as short.
            exact: whether coefficients are fractions, which can be factored.
        """
        self._symbols, self._kinds, self._exact = symbols, dict(kinds), exact
        self._shortest = cache(self._search)

    def __call__(self, polynomial: Polynomial) -> Expr:
        """The expression of fewest operations that was found."""
        return self._shortest(polynomial, tuple(self._kinds))

    def _search(self, polynomial: Polynomial, kinds: tuple[str, ...]) -> Expr:
        if len(polynomial) <= 1 or not kinds:
            return self._expanded(polynomial)
        if len(polynomial) > LONGEST:
            return self._gathered(polynomial, *kinds)
        if self._exact:
            number, factors = polynomial.factor_list()
            if len(factors) > 1 or factors[0][1] > 1:
                parts = [Pow(self._shortest(factor, kinds), power) for factor, power in factors]
                return Mul(self._expanded(polynomial.ring(number)), *parts)
        found = [self._gathered(polynomial, kind, *(other for other in kinds if other != kind)) for kind in kinds]
        return min([*found, self._expanded(polynomial)], key=count_ops)

    def _gathered(self, polynomial: Polynomial, kind: str, *others: str) -> Expr:
        """Terms that are alike in the generators of one kind, together."""
        ring, places = polynomial.ring, self._kinds[kind]
        groups: dict[tuple[int, ...], Polynomial] = {}
        for monomial, coefficient in polynomial.terms():
            common = tuple(power if i in places else 0 for i, power in enumerate(monomial))
            rest = tuple(0 if i in places else power for i, power in enumerate(monomial))
            groups[common] = groups.get(common, ring.zero) + ring.term_new(rest, coefficient)
        return Add(*(self._product(ring.term_new(m, ring.domain.one), rest, others) for m, rest in groups.items()))

    def _product(self, common: Polynomial, rest: Polynomial, others: tuple[str, ...]) -> Expr:
        """With the number that the rest has in common, and its sign, in front, or SymPy would multiply it out."""
        if self._exact:
            number, rest = rest.primitive()
            common = common * number
        if rest.LC < 0:
            common, rest = -common, -rest
        return Mul(self._expanded(common), self._shortest(rest, others))

    def _expanded(self, polynomial: Polynomial) -> Expr:
        return polynomial.as_expr(*self._symbols)
