"""Reads the part of LaTeX in which this package writes formulas."""

from __future__ import annotations

import re
from dataclasses import dataclass

from robodyn_ros.errors import RobodynError

NAMES = {
    "tau": "τ",
    "theta": "θ",
    "alpha": "α",
    "omega": "ω",
    "lambda": "λ",
    "ell": "ℓ",
}
FUNCTIONS = {"sin", "cos"}
OPERATORS = {
    "partial": "∂",
    "sum": "∑",
    "cdot": "·",
    "times": "×",
    "dots": "…",
}
SPACES = {"quad", ","}
TOKEN = re.compile(r"\\([A-Za-z]+|,)|(\d+(?:\.\d+)?)|([A-Za-z])|(\s+)|(.)", re.DOTALL)


@dataclass(frozen=True)
class Leaf:
    """A name, a number, an operator or a space.

    Attributes:
        kind: ``name``, ``function``, ``number``, ``operator``, ``space``, or ``gap``: a space that LaTeX ignores.
        text: in Unicode.
    """

    kind: str
    text: str


@dataclass(frozen=True)
class Row:
    """Formulas side by side."""

    parts: tuple[Formula, ...]


@dataclass(frozen=True)
class Script:
    """A formula with an index, a power, or both."""

    base: Formula
    below: Formula | None
    above: Formula | None


@dataclass(frozen=True)
class Fraction:
    """One formula over another."""

    top: Formula
    bottom: Formula


@dataclass(frozen=True)
class Dotted:
    """A derivative by time."""

    base: Formula
    dots: int


Formula = Leaf | Row | Script | Fraction | Dotted


def read(text: str) -> Formula:
    """The formula that a text is.

    Raises:
        RobodynError: it is beyond the part of LaTeX that is known here.
    """
    return _Reader(text).row("")


class _Reader:
    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = [(found.lastindex or 0, found.group(found.lastindex or 0)) for found in TOKEN.finditer(text)]
        self._tokens.reverse()

    def row(self, end: str) -> Formula:
        """Up to an end, which is taken too."""
        parts: list[Formula] = []
        while self._tokens and self._tokens[-1][1] != (end or None):
            if self._tokens[-1][1] in {"_", "^"} and parts:
                sign = self._tokens.pop()[1]
                parts.append(_scripted(parts.pop(), sign, self._one()))
            else:
                parts.append(self._one())
        if end:
            self._take(end)
        return parts[0] if len(parts) == 1 else Row(tuple(parts))

    def _take(self, wanted: str) -> None:
        if not self._tokens or self._tokens.pop()[1] != wanted:
            raise RobodynError(f"{wanted!r} is missing in the formula {self._text!r}")

    def _one(self) -> Formula:
        """What a brace or a single token is."""
        if not self._tokens:
            raise RobodynError(f"the formula {self._text!r} ends too early")
        kind, token = self._tokens.pop()
        if kind == 1:
            return self._command(token)
        if kind == 5 and token == "{":
            return self.row("}")
        if token == "}":
            raise RobodynError(f"a brace closes that was not opened in the formula {self._text!r}")
        if kind == 4:
            return Leaf("gap", " ")
        return Leaf({2: "number", 3: "name"}.get(kind, "operator"), {"-": "−", "'": "′"}.get(token, token))

    def _command(self, name: str) -> Formula:
        if name in NAMES:
            return Leaf("name", NAMES[name])
        if name in FUNCTIONS:
            return Leaf("function", name)
        if name in OPERATORS:
            return Leaf("operator", OPERATORS[name])
        if name in SPACES:
            return Leaf("space", " ")
        if name in {"dot", "ddot"}:
            return Dotted(self._one(), len(name) - 2)
        if name == "frac":
            return Fraction(self._one(), self._one())
        if name in {"mathrm", "operatorname"}:
            letters = self._one()
            parts = letters.parts if isinstance(letters, Row) else (letters,)
            text = "".join(part.text for part in parts if isinstance(part, Leaf))
            return Leaf("function" if name == "operatorname" else "name", text)
        raise RobodynError(f"the formula {self._text!r} has an unknown command \\{name}")


def _scripted(base: Formula, sign: str, script: Formula) -> Formula:
    below, above = (script, None) if sign == "_" else (None, script)
    if isinstance(base, Script) and (base.below if sign == "_" else base.above) is None:
        return Script(base.base, base.below or below, base.above or above)
    return Script(base, below, above)
