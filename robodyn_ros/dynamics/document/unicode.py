"""Formulas on one line of plain text: m₂ lc₂² q̈₂."""

from __future__ import annotations

import re

from robodyn_ros.dynamics.document.formula import Dotted, Formula, Fraction, Leaf, Row, Script, read

BELOW = str.maketrans("0123456789ijk+−", "₀₁₂₃₄₅₆₇₈₉ᵢⱼₖ₊₋")
ABOVE = str.maketrans("0123456789+−T", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻ᵀ")
DOTS = ("", "\u0307", "\u0308")
"""Combining characters; they stand after what they are put on."""
HALVES = {("1", "2"): "½"}


def unicode(formula: str) -> str:
    """A formula in LaTeX as plain text.

    Raises:
        RobodynError: it is beyond what ``formula.read`` knows.
    """
    return re.sub(" +", " ", _text(read(formula))).strip()


def width(text: str) -> int:
    """Columns that a text takes in a terminal."""
    return sum(character not in DOTS for character in text)


def _text(formula: Formula) -> str:
    match formula:
        case Leaf(_, text):
            return text
        case Row(parts):
            return _spaced(parts)
        case Dotted(base, dots):
            return _text(base) + DOTS[dots]
        case Fraction(top, bottom):
            texts = _text(top).strip(), _text(bottom).strip()
            return HALVES.get(texts) or "/".join(f"({text})" if " " in text else text for text in texts)
        case Script(base, below, above):
            index = "" if below is None else _text(below).replace(" ", "").translate(BELOW)
            return _text(base) + index + ("" if above is None else _raised(_text(above)))


def _spaced(parts: tuple[Formula, ...]) -> str:
    """A space follows a function; none follows ∂, though LaTeX needs one."""
    made = ""
    for before, part in zip((None, *parts), parts, strict=False):
        text = _text(part)
        if isinstance(before, Leaf) and before.kind == "function" and not text.startswith((" ", "(")):
            made += " "
        made += "" if text == " " and made.endswith("∂") else text
    return made


def _raised(text: str) -> str:
    return text.translate(ABOVE) if set(map(ord, text)) <= ABOVE.keys() else f"^({text})"
