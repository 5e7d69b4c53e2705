"""A document as one HTML page that needs nothing else: formulas are MathML, which browsers read by themselves."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

from robodyn_ros.document.blocks import (
    Block,
    Document,
    EquationBlock,
    MatrixBlock,
    SumBlock,
    TableBlock,
    TextBlock,
    broken,
    split,
)
from robodyn_ros.document.text import Dotted, Formula, FormulaRow, Fraction, Leaf, Script, read, unicode, width

# Formulas for browsers, which read MathML by themselves (MathML Core, W3C).

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
        case FormulaRow(parts):
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


# One HTML page that needs nothing else: no other file, no network.


def page(title: str, style: str, body: str) -> str:
    """The text of the page.

    Args:
        title: for the browser's tab, as plain text.
        style: its CSS.
        body: what is on it, as HTML.
    """
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(title)}</title>
<style>{style}</style>
</head>
<body>
{body}
</body>
</html>
"""


WIDTH = 100
"""Letters and signs in a line of a formula, as they are in plain text."""

STYLE = """
:root { color-scheme: light dark; }
body { font: 1rem/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.2rem; margin-top: 2.5rem; border-bottom: 1px solid #8886; }
.scroll { overflow-x: auto; margin: 0.7rem 0; }
.equations td { padding: 0.25rem 0.3rem; vertical-align: baseline; white-space: nowrap; }
.equations td:first-child { text-align: right; padding-left: 1.5rem; }
.facts { border-collapse: collapse; }
.facts th, .facts td { text-align: left; padding: 0.2rem 1.2rem 0.2rem 0; border-bottom: 1px solid #8884; }
mtd { padding: 0.15rem 0.6rem; }
"""


def html(document: Document) -> str:
    """The text of the page."""
    parts = [f"<h1>{_prose(document.title)}</h1>", *_blocks(document.blocks)]
    for number, section in enumerate(document.sections, 1):
        parts += [f'<h2 id="{escape(section.name)}">{number}. {_prose(section.title)}</h2>', *_blocks(section.blocks)]
    return page(document.title, STYLE, "\n".join(parts))


def _blocks(blocks: tuple[Block, ...]) -> Iterator[str]:
    for block in blocks:
        match block:
            case TextBlock(content):
                yield f"<p>{_prose(content)}</p>"
            case EquationBlock(equations):
                rows = "\n".join(row for equation in equations for row in _rows(equation))
                yield f'<div class="scroll"><table class="equations">\n{rows}\n</table></div>'
            case TableBlock(heads, rows):
                head = "".join(f"<th>{_prose(cell)}</th>" for cell in heads)
                lines = ["<tr>" + "".join(f"<td>{_prose(cell)}</td>" for cell in row) + "</tr>" for row in rows]
                body = "\n".join(lines)
                yield f'<div class="scroll"><table class="facts">\n<tr>{head}</tr>\n{body}\n</table></div>'


def _rows(equation: SumBlock | MatrixBlock) -> Iterator[str]:
    left = mathml(f"{equation.name} =", display=True)
    if isinstance(equation, MatrixBlock):
        yield f"<tr><td>{left}</td><td>{mathml_matrix(equation.rows)}</td></tr>"
        return
    first, *others = broken(equation.terms, WIDTH, lambda term: width(unicode(term)))
    yield f"<tr><td>{left}</td><td>{mathml(first, display=True)}</td></tr>"
    for line in others:  # after something, if only {}, a sign is that of a sum
        yield f"<tr><td></td><td>{mathml('{}' + line, display=True)}</td></tr>"


def _prose(text: str) -> str:
    return "".join(mathml(part) if formula else escape(part) for formula, part in split(text))
