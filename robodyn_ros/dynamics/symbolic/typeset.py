# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""SymPy expressions as LaTeX, in the order in which people write them: masses, lengths, sines, rates.

:func:`names` gives the generators of an ``Algebra`` their names (m_2, l_2, s_23, q̇_3, …), :class:`Typesetter` writes
expressions of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from sympy import Add, Expr, Mul, Pow, Rational, Symbol

from robodyn_ros.document.blocks import leading
from robodyn_ros.dynamics.symbolic.algebra import Polynomial, Terms
from robodyn_ros.dynamics.symbolic.closed_form import ClosedForm
from robodyn_ros.dynamics.symbolic.symbols import Key, ParameterSymbol, labels

ORDER = ("m", "l", "c", "I", "a", "b", "f", "g", "ct", "st", "q", "trigonometric", "qd", "qdd", "sign")
"""Kinds of names, in the order in which people write them in a product."""


class Name(NamedTuple):
    """The name of a generator.

    Attributes:
        symbol: in LaTeX.
        sign: -1 if the generator stands for the opposite of the symbol.
        kind: one of ``ORDER``.
        parameter: the number of the arm that it is, if it is one.
        trigonometric: function and sum of angles of a sine or cosine.
    """

    symbol: Symbol
    kind: str
    sign: int = 1
    parameter: ParameterSymbol | None = None
    trigonometric: tuple[str, Terms] | None = None


def names(form: ClosedForm, polynomials: Iterable[Polynomial]) -> list[Name]:
    """Return the name of each generator, in the order of the ring.

    Args:
        form: the equations.
        polynomials: those that are to be written. A body with only one length, one coordinate of its centre of mass
            or one moment of inertia in them needs no axes in the names.
    """
    algebra = form.algebra
    used = {i for polynomial in polynomials for i, power in enumerate(polynomial.degrees()) if power > 0}
    numbers = [] if algebra.numeric else list(algebra.numbers)
    together = Counter(key[:2] for i, key in enumerate(numbers) if i in used)
    found = [
        _number_name(key, form.symbols[key], i in used and together[key[:2]] == 1) for i, key in enumerate(numbers)
    ]
    found += [name for terms in algebra.trigonometric for name in _trigonometric_names(terms, labels(form.tree))]
    for kind, pattern in (("q", "q"), ("qd", r"\dot{q}"), ("qdd", r"\ddot{q}"), ("sign", r"\operatorname{sgn}\dot{q}")):
        found += [Name(Symbol(f"{pattern}_{{{c + 1}}}"), kind) for c in range(form.tree.n)]
    return found


def _number_name(key: Key, parameter: ParameterSymbol, alone: bool) -> Name:
    kind, axis = str(key[0]), key[2] if len(key) > 2 else 0
    # Without an axis in its name a length is a distance.
    opposite = alone and parameter.value < 0.0 and (kind == "l" or (kind == "c" and bool(axis)))
    shown = parameter._replace(value=-parameter.value) if opposite else parameter
    return Name(Symbol(parameter.alone if alone else parameter.name), kind, -1 if opposite else 1, shown)


def _trigonometric_names(terms: Terms, body_labels: list[str]) -> Iterator[Name]:
    parts = [(body_labels[node], sign) for node, sign in terms]
    simple = all(sign > 0 and len(label) == 1 for label, sign in parts)
    index = "".join(
        label if simple or not i else f"{'+' if sign > 0 else '-'}{label}" for i, (label, sign) in enumerate(parts)
    )
    for function in ("cos", "sin"):
        yield Name(Symbol(f"{function[0]}_{{{index}}}"), "trigonometric", trigonometric=(function, terms))


DIGITS = 6
"""Digits of the numbers in formulas."""

Rank = tuple[int, int]
"""Rank of a symbol: its kind, by its place in ``ORDER``, and its place among those of its kind."""

LENGTHS, MOVING = ORDER.index("l"), ORDER.index("q")

RATES = tuple(map(ORDER.index, ("qdd", "qd", "sign")))
"""Kinds of rates, in the order in which terms of a sum stand."""


class Typesetter:
    """Writes expressions that are sums, products and whole powers."""

    def __init__(self, ranks: Mapping[Symbol, Rank]) -> None:
        """
        Args:
            ranks: rank of each symbol.
        """
        self._ranks = ranks

    def terms(self, expression: Expr) -> list[str]:
        """Return the terms of a sum, each with its sign in front."""
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
        """Return the place of a factor: by the first kind that is in it, sums after symbols."""
        kind, place = min((self._ranks[symbol] for symbol in factor.free_symbols), default=(0, 0))
        level = LENGTHS if ORDER[kind] == "c" else kind  # a length too
        return level, bool(factor.atoms(Add)), (kind, place)

    def _place(self, term: Expr) -> tuple[list[Rank], ...]:
        """Return the place of a term in a sum: accelerations, then rates; then by moving parts, then the rest."""
        every = sorted(self._ranks[symbol] for symbol in term.free_symbols)
        rates = sorted((RATES.index(kind), place) for kind, place in every if kind in RATES)
        alone = [factor.base if isinstance(factor, Pow) else factor for factor in Mul.make_args(term)]
        ranks = sorted(self._ranks[symbol] for symbol in alone if symbol.is_Symbol)
        moving = [rank for rank in ranks if rank[0] >= MOVING and rank[0] not in RATES]
        return rates or [(len(RATES), 0)], moving, [rank for rank in ranks if rank[0] < MOVING]


def _number(value: Expr) -> str:
    """Return a positive number in LaTeX."""
    if isinstance(value, Rational):
        return str(value.p) if value.q == 1 else rf"\frac{{{value.p}}}{{{value.q}}}"
    return number(float(value))


def number(value: float, digits: int = DIGITS) -> str:
    """Return a number in LaTeX."""
    mantissa, _, exponent = f"{value:.{digits}g}".partition("e")
    return rf"{mantissa} \cdot 10^{{{int(exponent)}}}" if exponent else mantissa
