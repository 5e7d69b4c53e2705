"""What the letters of a formula stand for, in LaTeX."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sympy import Symbol

from robodyn_ros.dynamics.closed_form.letters import labels
from robodyn_ros.dynamics.closed_form.names import Name
from robodyn_ros.dynamics.closed_form.typeset import number
from robodyn_ros.dynamics.closed_form.writer import Writer

EXACT = 12
"""Digits of the arm's numbers."""

AXES = "An x axis points from its joint towards the next one, a z axis along its joint; inertias are about the centre of mass."


class Legend:
    """Of some symbols.

    Attributes:
        waves: what each sine and cosine is of.
        angles: what the angles are that are no coordinates.
        letters: symbol, number, unit and meaning of each of the arm's numbers.
    """

    def __init__(self, writer: Writer, written: Iterable[Symbol]) -> None:
        """
        Args:
            writer: what named the symbols.
            written: the symbols.
        """
        self._form, wanted = writer.form, set(written)
        used = [name for name in writer.names if name.symbol in wanted]
        self.waves = list(dict.fromkeys(f"{name.symbol} = {self._wave(name)}" for name in used if name.wave))
        self.angles = list(self._angles(used))
        self.letters = [
            (str(name.symbol), number(name.letter.value, EXACT), name.letter.unit, name.letter.meaning)
            for name in used
            if name.letter
        ]

    def _wave(self, name: Name) -> str:
        assert name.wave is not None
        function, terms = name.wave
        parts = " ".join(f"{'-' if sign < 0 else '+'} {self._angle(node)}" for node, sign in terms)
        text = parts.removeprefix("+ ")
        return rf"\{function} {text}" if len(terms) == 1 else rf"\{function}({text})"

    def _angle(self, node: int) -> str:
        """θ, or q where that is the same."""
        body = self._form.tree.nodes[node].body
        plain = body.ratio == 1.0 and self._form.directions[node].rest == 0.0
        return f"q_{{{body.coordinate + 1}}}" if plain else rf"\theta_{{{labels(self._form.tree)[node]}}}"

    def _angles(self, used: list[Name]) -> Iterator[str]:
        for node in sorted({node for name in used if name.wave for node, _ in name.wave[1]}):
            angle, rest = self._angle(node), self._form.directions[node].rest
            body = self._form.tree.nodes[node].body
            if angle.startswith("q"):
                continue
            ratio = "" if body.ratio == 1.0 else f"{number(body.ratio, EXACT)} "
            sign = "-" if rest < 0 else "+"
            yield f"{angle} = {ratio}q_{{{body.coordinate + 1}}} {sign} {number(abs(rest), EXACT)}"
