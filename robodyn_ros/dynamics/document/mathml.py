"""Formulas for browsers, which read MathML by themselves (MathML Core, W3C)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

from robodyn_ros.dynamics.document.formula import Dotted, Formula, Fraction, Leaf, Row, Script, read

TAGS = {"name": "mi", "function": "mi", "number": "mn", "operator": "mo"}
DOTS = ("", "˙", "¨")
SPACE = '<mspace width="0.17em"></mspace>'


def mathml(formula: str, display: bool = False) -> str:
    """A formula in LaTeX as an element ``math``.

    Args:
        formula: the formula.
        display: whether it stands on a line of its own, and may be as high as it likes.

    Raises:
        RobodynError: it is beyond what ``formula.read`` knows.
    """
    attribute = ' displaystyle="true"' if display else ""
    return f"<math{attribute}>{_element(read(formula))}</math>"


def mathml_matrix(rows: Sequence[Sequence[str]]) -> str:
    """Formulas in the rows and columns of a matrix."""
    body = "".join("<mtr>" + "".join(f"<mtd>{_element(read(cell))}</mtd>" for cell in row) + "</mtr>" for row in rows)
    return f"<math><mrow><mo>(</mo><mtable>{body}</mtable><mo>)</mo></mrow></math>"


def _element(formula: Formula) -> str:
    match formula:
        case Leaf("gap", _):
            return ""
        case Leaf("space", _):
            return SPACE
        case Leaf("operator", "(" | ")" as text):
            return f'<mo stretchy="false">{text}</mo>'
        case Leaf(kind, text):
            return f"<{TAGS[kind]}>{escape(text)}</{TAGS[kind]}>"
        case Row(parts):
            return f"<mrow>{''.join(_elements(parts))}</mrow>"
        case Dotted(base, dots):
            # No accents: as such, dots touch the letter in some browsers.
            return f'<mover>{_element(base)}<mo stretchy="false">{DOTS[dots]}</mo></mover>'
        case Fraction(top, bottom):
            return f"<mfrac>{_element(top)}{_element(bottom)}</mfrac>"
        case Script(base, None, above) if above is not None:
            return f"<msup>{_element(base)}{_element(above)}</msup>"
        case Script(Leaf(_, "∑"), below, None) if below is not None:
            return f"<munder><mo>∑</mo>{_element(below)}</munder>"
        case Script(base, below, None) if below is not None:
            return f"<msub>{_element(base)}{_element(below)}</msub>"
        case Script(base, below, above):
            assert below is not None and above is not None
            return f"<msubsup>{_element(base)}{_element(below)}{_element(above)}</msubsup>"
    raise AssertionError(formula)


def _elements(parts: Sequence[Formula]) -> Iterator[str]:
    """A space follows a function; a minus sign after another operator is a sign, and no difference."""
    before: Formula | None = None
    for part in parts:
        if isinstance(before, Leaf) and before.kind == "function" and part != Leaf("operator", "("):
            yield SPACE
        after_operator = isinstance(before, Leaf) and before.kind == "operator" and before.text != ")"
        if part == Leaf("operator", "−") and after_operator:
            yield '<mo form="prefix">−</mo>'
        else:
            yield _element(part)
        before = part if part != Leaf("gap", " ") else before
