# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""A program as C statements, one operation each.

A CasADi function of scalars is read as a list of nodes, each an operation on nodes before it. Numbers that depend on
the parameters alone are listed apart, so that a loop computes them once. All sines and cosines that can be computed at
once stand in one group. Divisions by the same number share its reciprocal, because a division costs as much as a dozen
multiplications.
"""

from __future__ import annotations

from collections import Counter
from functools import lru_cache
from math import isfinite, isnan
from typing import NamedTuple

from robodyn_ros.engine.casadi import ca
from robodyn_ros.errors import RobodynError

SIGNS = {"add": "+", "sub": "-", "mul": "*"}
"""CasADi's name of an operation → its operator in C."""

UNARY = (
    *("tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh"),
    *("sqrt", "exp", "log", "log1p", "expm1", "erf", "fabs", "floor", "ceil", "sign", "not"),
)

BINARY = (
    *("atan2", "pow", "constpow", "fmin", "fmax", "fmod", "copysign", "hypot", "remainder"),
    *("lt", "le", "eq", "ne", "and", "or", "if_else_zero"),
)
"""CasADi's names of functions of one and of two numbers; the C code defines each as ``each_…``."""


class Operation(NamedTuple):
    """An operation on other nodes, a ``const`` or an ``input``."""

    name: str
    operands: tuple[int, ...] = ()
    value: float = 0.0  # of a const
    place: tuple[int, int] = (-1, -1)  # of an input: which, and which element


@lru_cache(maxsize=1)
def _names() -> dict[int, tuple[str, int]]:
    """CasADi's number of an operation → its name, and how many operands it has."""
    unary, binary = ("neg", "sq", "twice", "inv", "sin", "cos", *UNARY), (*SIGNS, "div", *BINARY)
    counted = [*((name, 1) for name in unary), *((name, 2) for name in binary)]
    return {getattr(ca, f"OP_{name.upper()}"): (name, count) for name, count in counted}


def read(function: ca.Function) -> tuple[list[Operation], list[tuple[int, int, int]]]:
    """The nodes, operands first, and for each element of an output: the output, the element, its node.

    Raises:
        RobodynError: it holds an operation that is not listed here.
    """
    nodes: list[Operation] = []
    outputs: list[tuple[int, int, int]] = []
    work: dict[int, int] = {}
    for k in range(function.n_instructions()):
        op, given, put = function.instruction_id(k), function.instruction_input(k), function.instruction_output(k)
        if op == ca.OP_OUTPUT:
            outputs.append((put[0], put[1], work[given[0]]))
            continue
        if op == ca.OP_INPUT:
            node = Operation("input", place=(given[0], given[1]))
        elif op == ca.OP_CONST:
            node = Operation("const", value=function.instruction_constant(k))
        elif op in _names():
            name, count = _names()[op]
            node = Operation(name, tuple(work[i] for i in given[:count]))
        else:
            raise RobodynError(f"CasADi's operation {op} in {function.name()} has no counterpart in the generated code")
        work[put[0]] = len(nodes)
        nodes.append(node)
    return nodes, outputs


class Angles(NamedTuple):
    """Angles whose sines and cosines are computed at once: names of the angles, the sines and the cosines."""

    angles: list[str]
    sines: list[str]
    cosines: list[str]


class Statements:
    """The statements. Names: ``x0[i]`` inputs, ``p[i]`` parameters, ``y0[i]`` results, ``v7`` and ``r7`` numbers.

    Attributes:
        constants: names and terms of the numbers that depend on the parameters alone.
        statements: text, or a group of angles whose sines and cosines are computed there.
        functions: those of ``UNARY`` and ``BINARY`` that are used.
    """

    def __init__(self, function: ca.Function) -> None:
        """
        Args:
            function: of some inputs and, last, the parameters, all dense; a function of scalars (``ca.SX``).

        Raises:
            RobodynError: it holds an operation that is not listed here.
        """
        self.constants: list[tuple[str, str]] = []
        self.statements: list[str | Angles] = []
        self.functions: set[str] = set()
        self._nodes, self._outputs = read(function)
        self._parameters = function.n_in() - 1
        self._text: dict[int, str] = {}
        self._reciprocals: set[str] = set()
        self._constant = self._find_constant()
        self._divisions = Counter(node.operands[-1] for node in self._nodes if node.name in {"div", "inv"})
        for angles in self._find_angles():
            self._write([i for i in self._feeding(angles) if i not in self._text])
            self._write_angles(angles)
        self._write([i for i in range(len(self._nodes)) if i not in self._text])
        self.statements += [f"y{k}[{j}] = {self._real(i)};" for k, j, i in self._outputs]

    def _find_constant(self) -> list[bool]:
        """For each node, True if it depends on the parameters alone."""
        constant: list[bool] = []
        for node in self._nodes:
            known = node.place[0] == self._parameters if node.name == "input" else True
            constant.append(known and all(constant[i] for i in node.operands))
        return constant

    def _find_angles(self) -> list[list[int]]:
        """Nodes whose sine or cosine is needed, in groups; a node depends on no node of its own or a later group."""
        depth = [0] * len(self._nodes)
        groups: dict[int, dict[int, None]] = {}
        for i, node in enumerate(self._nodes):
            depth[i] = max((depth[j] for j in node.operands), default=0)
            if node.name in {"sin", "cos"} and not self._constant[i]:
                groups.setdefault(depth[i], {})[node.operands[0]] = None
                depth[i] += 1
        return [list(groups[level]) for level in sorted(groups)]

    def _feeding(self, angles: list[int]) -> list[int]:
        """These nodes and all nodes that they are computed from, in order."""
        found, left = set(), list(angles)
        while left:
            i = left.pop()
            if i not in found:
                found.add(i)
                left += self._nodes[i].operands
        return sorted(found)

    def _write_angles(self, angles: list[int]) -> None:
        group = Angles([self._text[i] for i in angles], [f"s{i}" for i in angles], [f"c{i}" for i in angles])
        self.statements.append(group)
        names = {
            "sin": dict(zip(angles, group.sines, strict=True)),
            "cos": dict(zip(angles, group.cosines, strict=True)),
        }
        for i, node in enumerate(self._nodes):
            if node.name in names and not self._constant[i] and node.operands[0] in names[node.name]:
                self._text[i] = names[node.name][node.operands[0]]

    def _write(self, indices: list[int]) -> None:
        for i in indices:
            node = self._nodes[i]
            if node.name == "const":
                self._text[i] = f"({c_number(node.value)})"
            elif node.name == "input":
                k, j = node.place
                self._text[i] = f"p[{j}]" if k == self._parameters else f"x{k}[{j}]"
            else:
                self._text[i] = self._name(f"v{i}", self._term(i, node), self._constant[i])

    def _name(self, name: str, term: str, constant: bool) -> str:
        if constant:
            self.constants.append((name, term))
        else:
            self.statements.append(f"const real {name} = {term};")
        return name

    def _term(self, i: int, node: Operation) -> str:
        given = [self._text[j] for j in node.operands]
        if node.name in {*UNARY, *BINARY}:
            self.functions.add(node.name)
            if self._constant[i]:
                return f"one_{node.name}({', '.join(given)})"
            return f"each_{node.name}({', '.join(map(self._real, node.operands))})"
        if node.name in SIGNS:
            return f"{given[0]} {SIGNS[node.name]} {given[1]}"
        if node.name == "neg":
            return f"-{given[0]}"
        if node.name in {"sq", "twice"}:
            return f"{given[0]} {'*' if node.name == 'sq' else '+'} {given[0]}"
        if node.name in {"div", "inv"}:
            return self._quotient(node)
        return f"{node.name}({given[0]})"  # sine or cosine of a parameter: once, by the library

    def _real(self, i: int) -> str:
        """A node's text, converted where a parameter or a number does not become a ``real`` by itself."""
        return f"uniform({self._text[i]})" if self._constant[i] else self._text[i]

    def _quotient(self, node: Operation) -> str:
        by = node.operands[-1]
        if self._divisions[by] == 1:
            return f"{self._text[node.operands[0]] if node.name == 'div' else '1.0'} / {self._text[by]}"
        name = f"r{by}"
        if name not in self._reciprocals:
            self._reciprocals.add(self._name(name, f"1.0 / {self._text[by]}", self._constant[by]))
        return f"{self._text[node.operands[0]]} * {name}" if node.name == "div" else name


def c_number(value: float) -> str:
    """A number in C."""
    return repr(value) if isfinite(value) else "NAN" if isnan(value) else f"{'-' if value < 0 else ''}INFINITY"
