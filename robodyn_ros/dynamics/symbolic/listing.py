# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Statements from a graph: a value that is used more than once gets a name, any other stands where it is used."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from robodyn_ros import __version__
from robodyn_ros.dynamics.compiled import CompiledDynamics
from robodyn_ros.dynamics.symbolic.graph import Graph, Routine
from robodyn_ros.engine.listing import Operation

# The facts about the arm, and the names, in the files of every language.


def identifier(name: str) -> str:
    """A name for files and functions made of the arm's: letters, digits and underscores, a letter first."""
    clean = re.sub(r"\W+", "_", name, flags=re.ASCII).strip("_") or "arm"
    return clean if clean[0].isalpha() else f"arm_{clean}"


def plain(name: str) -> str:
    """A name from a URDF, such that it ends no comment and no string."""
    return re.sub(r"[^\w .,:()+/-]", "_", name, flags=re.ASCII)


def facts(dynamics: CompiledDynamics) -> list[str]:
    """Return the head of a file, line by line in ASCII."""
    robot, parameters = dynamics.robot, dynamics.parameters
    joints = [
        f"  {index}  {plain(joint.name)} ({joint.type}): [{joint.position_unit}], {joint.effort_unit.replace('·', ' ')}"
        for index, joint in enumerate(robot.joints)
    ]
    gravity = ", ".join(f"{value:g}" for value in parameters.gravity)
    maker = f"robodyn_ros {__version__} ({type(dynamics).__name__})"
    lines = [
        f"Equations of motion of the arm {plain(robot.name)}, by {maker}.",
        "",
        "Every vector is in this order of joints, with these units of position and effort;",
        "velocities and accelerations are per s and per s^2:",
        *joints,
        "",
        f"Gravity in the root link's frame: ({gravity}) m/s^2.",
    ]
    if parameters.payload is not None:
        lines.append(f"With a payload of {parameters.payload.mass:g} kg on link {plain(parameters.payload.link)}.")
    return lines


WIDTH = 100
"""Characters of an expression; a longer one is split in two."""

SUM, PRODUCT, ATOM = range(3)
"""Precedence of the last operation of an expression."""


class Syntax(NamedTuple):
    """The differences between languages."""

    number: Callable[[float], str]
    call: Callable[[str], str]  # name of a function → how it is called there


class SourceText(NamedTuple):
    """An expression."""

    text: str
    binding: int = ATOM


class SourceListing:
    """The body of a routine, in a language whose arithmetic is written like C's.

    Attributes:
        statements: name and expression of each.
        results: for each result the expressions of its elements, row by row.
    """

    def __init__(self, routine: Routine, syntax: Syntax) -> None:
        """
        Args:
            routine: the routine.
            syntax: of the language.
        """
        graph: Graph = routine.graph
        self._inputs, self._graph, self._syntax = routine.inputs, graph, syntax
        self._texts: dict[int, SourceText] = {}
        self.statements: list[tuple[str, str]] = []
        self._unnamed = 0
        for index, node in enumerate(graph.nodes):
            self._texts[index] = self._compose(index)
            while len(self._texts[index].text) > WIDTH and self._split(node):
                self._texts[index] = self._compose(index)
            is_shared = graph.uses[index] > 1 and self._texts[index].binding < ATOM and node.name != "const"
            if is_shared or node.name in {"sin", "cos"}:
                self._name(index)
        self.results = [[self._texts[i].text for i in indices] for indices in graph.outputs]

    def _split(self, node: Operation) -> bool:
        """Give the longest operand a name, if that makes the expression shorter."""
        longest = max(node.operands, key=lambda i: len(self._texts[i].text))
        if self._graph.nodes[longest].name in {"const", "input"} or self._texts[longest].text.isidentifier():
            return False
        self._name(longest)
        return True

    def _name(self, index: int) -> None:
        node = self._graph.nodes[index]
        name = f"x{self._unnamed}"
        if node.name in {"sin", "cos"} and self._graph.nodes[node.operands[0]].name == "input":
            which, element = self._graph.nodes[node.operands[0]].place
            if self._inputs[which] == "q":
                name = f"{node.name[0]}{element}"
        self._unnamed += name.startswith("x")
        self.statements.append((name, self._texts[index].text))
        self._texts[index] = SourceText(name)

    def _compose(self, index: int) -> SourceText:
        node = self._graph.nodes[index]
        if node.name == "const":
            return SourceText(self._syntax.number(node.value), SUM if node.value < 0.0 else ATOM)
        if node.name == "input":
            return SourceText(f"{self._inputs[node.place[0]]}[{node.place[1]}]")
        operands = [self._texts[i] for i in node.operands]
        if node.name == "neg":
            return SourceText(f"-{_above(SUM, operands[0])}", ATOM if operands[0].text.isidentifier() else SUM)
        if node.name in {"add", "sub"}:
            if node.name == "add" and operands[1].binding == SUM:
                operands.reverse()
            sign = "+" if node.name == "add" else "-"
            return SourceText(f"{operands[0].text} {sign} {_above(SUM, operands[1])}", SUM)
        if node.name == "mul":
            return self._product(index)
        if node.name == "div":
            return SourceText(f"{_above(SUM, operands[0])} / {_above(PRODUCT, operands[1])}", PRODUCT)
        if node.name == "inv":
            return SourceText(f"{self._syntax.number(1.0)} / {_above(PRODUCT, operands[0])}", PRODUCT)
        return SourceText(f"{self._syntax.call(node.name)}({', '.join(operand.text for operand in operands)})")

    def _product(self, index: int) -> SourceText:
        # Numbers first; the order of a product of products costs a rounding at most.
        factors = sorted(self._factors(index), key=lambda i: self._graph.nodes[i].name != "const")
        return SourceText(" * ".join(_above(SUM, self._texts[i]) for i in factors), PRODUCT)

    def _factors(self, index: int) -> list[int]:
        """A product's factors, those of the products that stand in it included."""
        factors = []
        for i in self._graph.nodes[index].operands:
            inside = self._graph.nodes[i].name == "mul" and self._texts[i].binding == PRODUCT
            factors += self._factors(i) if inside else [i]
        return factors


def _above(binding: int, operand: SourceText) -> str:
    """An operand, in parentheses unless it binds more strongly."""
    return operand.text if operand.binding > binding else f"({operand.text})"
