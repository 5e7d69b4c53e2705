"""What the letters of formulas stand for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sympy import Symbol

from robodyn_ros.dynamics.closed_form.letters import labels
from robodyn_ros.dynamics.closed_form.names import Name
from robodyn_ros.dynamics.closed_form.typeset import number
from robodyn_ros.dynamics.closed_form.writer import Writer
from robodyn_ros.dynamics.document.blocks import Block, Table, Text, quoted, table
from robodyn_ros.robot import Robot

EXACT = 12
"""Digits of the arm's numbers."""

AXES = (
    "An x axis points from its joint towards the next one, a z axis along its joint;"
    " inertias are about the centre of mass."
)


class Legend:
    """Of some symbols.

    Attributes:
        waves: what each sine and cosine is of, and what the angles are that are no coordinates.
        numbers: what each of the arm's numbers is.
    """

    def __init__(self, writer: Writer, written: Iterable[Symbol]) -> None:
        """
        Args:
            writer: what named the symbols.
            written: the symbols.
        """
        self._form, wanted = writer.form, set(written)
        used = [name for name in writer.names if name.symbol in wanted]
        self.waves = list(self._sentences(used))
        rows = [
            (f"${name.symbol}$", f"${number(letter.value, EXACT)}$", letter.unit, quoted(letter.meaning))
            for name in used
            if (letter := name.letter)
        ]
        self.numbers: list[Block] = [table(("", "value", "unit", "meaning"), rows), Text(AXES)] if rows else []

    def _sentences(self, used: list[Name]) -> Iterator[Block]:
        waves = dict.fromkeys(f"${name.symbol} = {self._wave(name)}$" for name in used if name.wave)
        if waves:
            yield Text(f"{', '.join(waves)}.")
        if angles := list(self._angles(used)):
            yield Text(f"Here {', '.join(angles)}.")

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
            yield f"${angle} = {ratio}q_{{{body.coordinate + 1}}} {sign} {number(abs(rest), EXACT)}$"


def joints(robot: Robot) -> Table:
    """The joints of an arm, with the units of their positions and efforts."""
    rows = [
        (
            str(index),
            quoted(joint.name),
            joint.type,
            rf"$q_{{{index}}}$ [{joint.position_unit}], $\tau_{{{index}}}$ [{joint.effort_unit}]",
        )
        for index, joint in enumerate(robot.joints, 1)
    ]
    return table(("joint", "name", "type", "position, effort"), rows)
