"""Names for the generators of an ``Algebra``: m_2, l_2, s_23, q̇_3, …"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from sympy import Symbol

from robodyn_ros.dynamics.closed_form.algebra import Polynomial, Terms
from robodyn_ros.dynamics.closed_form.equations import ClosedForm
from robodyn_ros.dynamics.closed_form.letters import Key, Letter, labels

ORDER = ("m", "l", "c", "I", "a", "b", "f", "g", "ct", "st", "q", "wave", "qd", "qdd", "sign")
"""Kinds of names, in the order in which people write them in a product."""


class Name(NamedTuple):
    """What a generator is called.

    Attributes:
        symbol: in LaTeX.
        sign: -1 if the generator stands for the opposite of the symbol.
        kind: one of ``ORDER``.
        letter: for a number, what it is.
        wave: for a sine or cosine, which function, and of what.
    """

    symbol: Symbol
    kind: str
    sign: int = 1
    letter: Letter | None = None
    wave: tuple[str, Terms] | None = None


def names(form: ClosedForm, polynomials: Iterable[Polynomial]) -> list[Name]:
    """The name of each generator, in the order of the ring.

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
        _number_name(key, form.letters[key], i in used and together[key[:2]] == 1) for i, key in enumerate(numbers)
    ]
    found += [name for terms in algebra.waves for name in _waves(terms, labels(form.tree))]
    for kind, pattern in (("q", "q"), ("qd", r"\dot{q}"), ("qdd", r"\ddot{q}"), ("sign", r"\operatorname{sgn}\dot{q}")):
        found += [Name(Symbol(f"{pattern}_{{{c + 1}}}"), kind) for c in range(form.tree.n)]
    return found


def _number_name(key: Key, letter: Letter, alone: bool) -> Name:
    kind, axis = str(key[0]), key[2] if len(key) > 2 else 0
    if not alone:
        return Name(Symbol(letter.name), kind, letter=letter)
    if letter.value < 0.0 and (kind == "l" or (kind == "c" and axis)):  # without an axis in its name: a distance
        return Name(Symbol(letter.alone), kind, -1, letter._replace(value=-letter.value))
    return Name(Symbol(letter.alone), kind, letter=letter)


def _waves(terms: Terms, called: list[str]) -> Iterator[Name]:
    parts = [(called[node], sign) for node, sign in terms]
    simple = all(sign > 0 and len(label) == 1 for label, sign in parts)
    index = "".join(
        label if simple or not i else f"{'+' if sign > 0 else '-'}{label}" for i, (label, sign) in enumerate(parts)
    )
    for function in ("cos", "sin"):
        yield Name(Symbol(f"{function[0]}_{{{index}}}"), "wave", wave=(function, terms))
