"""The shortest of several ways to write a polynomial, as a SymPy expression."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any

from sympy import Add, Expr, Float, Integer, Mul, count_ops

from robodyn_ros.dynamics.closed_form.algebra import Polynomial

LONGEST = 40
"""Terms of a polynomial; a longer one is gathered by its waves, and only its parts are searched for what is short."""

DIGITS = 12
"""Of decimal fractions; the rest is rounding."""

WHOLE = {Float(1.0): Integer(1), Float(-1.0): Integer(-1)}
"""A decimal one would be written."""

Places = frozenset[int]
"""Some of the generators, by their index."""


class Shortener:
    """Writes polynomials of one ring."""

    def __init__(
        self,
        symbols: Sequence[Expr],
        opposites: Iterable[int],
        kinds: Mapping[str, Places],
        waves: Iterable[tuple[Polynomial, Polynomial]],
    ) -> None:
        """
        Args:
            symbols: what each generator is called.
            opposites: generators that stand for the opposite of their symbols, by their index.
            kinds: generators by which terms may be gathered: ``waves`` first, as it wins where two are as short.
            waves: cosines and sines of the same angles.
        """
        self._symbols, self._opposites = symbols, list(opposites)
        self._kinds, self._waves = dict(kinds), list(waves)
        self._shortest = cache(self._search)

    def __call__(self, polynomial: Polynomial, first: str = "") -> Expr:
        """The expression of fewest operations that was found; gathered by the kind ``first``, if one is given."""
        polynomial = self._turned(polynomial)
        for cosine, sine in self._waves:
            polynomial = min(polynomial, _exchanged(polynomial, cosine, sine), key=len)
        if first:
            return self._gathered(polynomial, first, *(kind for kind in self._kinds if kind != first))
        return self._shortest(polynomial, tuple(self._kinds))

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
        """Terms that are alike but for the generators of one kind, together: Σ (sum of that kind) (the others)."""
        ring, places = polynomial.ring, self._kinds[kind]
        alike: dict[tuple[int, ...], Polynomial] = {}
        for monomial, coefficient in polynomial.terms():
            own = tuple(power if i in places else 0 for i, power in enumerate(monomial))
            rest = tuple(0 if i in places else power for i, power in enumerate(monomial))
            alike[own] = alike.get(own, ring.zero) + ring.term_new(rest, coefficient)
        sums: dict[Polynomial, Polynomial] = {}
        for own, other in alike.items():
            number, rest = _primitive(other)
            sums[rest] = sums.get(rest, ring.zero) + ring.term_new(own, number)
        return Add(*(self._product(own, rest, others) for rest, own in sums.items()))

    def _product(self, own: Polynomial, rest: Polynomial, others: tuple[str, ...]) -> Expr:
        common, own = _split(own)
        return _times(self._expanded(common), self._shortest(own, ()), self._shortest(rest, others))

    def _turned(self, polynomial: Polynomial) -> Polynomial:
        """In the symbols instead of the generators, so that signs are those that are seen.

        Numbers that are equal but for rounding are made equal.
        """
        ring, terms = polynomial.ring, {}
        for monomial, coefficient in polynomial.terms():
            if not ring.domain.is_Exact:
                coefficient = ring.domain(float(f"{float(coefficient):.{DIGITS}g}"))
            terms[monomial] = (-1) ** sum(monomial[i] for i in self._opposites) * coefficient
        turned: Polynomial = ring.from_dict(terms)
        return turned

    def _expanded(self, polynomial: Polynomial) -> Expr:
        return polynomial.as_expr(*self._symbols).xreplace(WHOLE)


def _times(*factors: Expr) -> Expr:
    """A product; a number before a sum stays there, where SymPy would spread it. A sign may go."""
    number, rest = Mul(*(x for x in factors if x.is_Number)), Mul(*(x for x in factors if not x.is_Number))
    return Mul(number, rest, evaluate=not isinstance(rest, Add) or abs(number) == 1)


def _primitive(polynomial: Polynomial) -> tuple[Any, Polynomial]:
    """A number, and the polynomial without it: positive in its leading term and, if it is exact, without fractions."""
    number, rest = polynomial.primitive()  # of decimal fractions the number is 1
    return (-number, -rest) if rest.LC < 0 else (number, rest)


def _split(polynomial: Polynomial) -> tuple[Polynomial, Polynomial]:
    """What all terms have in common, and the rest."""
    ring = polynomial.ring
    number, rest = _primitive(polynomial)
    monomial = tuple(map(min, zip(*rest.monoms(), strict=True)))
    return ring.term_new(monomial, number), rest.quo(ring.term_new(monomial, ring.domain.one))


def _exchanged(polynomial: Polynomial, cosine: Polynomial, sine: Polynomial) -> Polynomial:
    """With 1 - sin² for every cos²."""
    ring, place = polynomial.ring, polynomial.ring.gens.index(cosine)
    total = ring.zero
    for monomial, coefficient in polynomial.terms():
        squares, left = divmod(monomial[place], 2)
        rest = ring.term_new((*monomial[:place], left, *monomial[place + 1 :]), coefficient)
        total += rest * (1 - sine**2) ** squares
    return total
