# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Expressions as a graph in which nothing is computed twice and every parameter is a number.

CasADi simplifies what it can while it knows only symbols. With numbers there is more to save: terms with a common
factor are gathered, a quarter turn in an angle exchanges sine and cosine, and signs move outwards to the sums, where
they cost nothing.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from robodyn_ros.dynamics.compiled import CompiledDynamics
from robodyn_ros.engine.casadi import ca
from robodyn_ros.engine.listing import Operation, read
from robodyn_ros.errors import InputError, RobodynError

FUNCTIONS = {name: name for name in ("tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "sqrt", "exp", "log")}
FUNCTIONS |= {"fabs": "fabs", "sign": "sign", "atan2": "atan2", "pow": "pow", "constpow": "pow"}
"""Operation → function that every language has; ``sign`` is -1, 0 or 1."""

QUARTER = math.pi / 2

SLACK = 1e-15
"""An angle this close to a number of quarter turns is meant to be that [rad]."""


class Graph:
    """The nodes of some results.

    Attributes:
        nodes: operands before the operations on them.
        outputs: for each result the indices of its elements, row by row.
    """

    def __init__(self, inputs: Sequence[ca.SX], results: Sequence[ca.SX]) -> None:
        """
        Args:
            inputs: symbols, each (n,).
            results: expressions of any shape.

        Raises:
            RobodynError: an operation that not every language has.
        """
        self.nodes: list[Operation] = []
        self._index: dict[Operation, int] = {}
        self.outputs = [[-1] * result.numel() for result in results]
        flat = ca.cse([ca.densify(ca.vec(result.T)) for result in results])
        self._read(ca.Function("graph", list(inputs), flat))

    def uses(self) -> Counter[int]:
        """Node → how often the outputs, and the nodes that they need, use it."""
        uses = [0] * len(self.nodes)
        for i in (i for indices in self.outputs for i in indices):
            uses[i] += 1
        for i in reversed(range(len(self.nodes))):
            if uses[i]:
                for operand in self.nodes[i].operands:
                    uses[operand] += 1
        return Counter({i: times for i, times in enumerate(uses) if times})

    def operations(self) -> Counter[str]:
        """Count of each operation. A sign before a number is part of the number."""
        done = Counter(self.nodes[i].name for i in self.uses() if not self._is_number(i))
        del done["const"], done["input"]
        return done

    def _is_number(self, a: int) -> bool:
        sign, a = self._sign(a)
        return sign < 0 and (self.nodes[a].name == "const" or self._factor(a)[0] != 1.0)

    def _read(self, function: ca.Function) -> None:
        nodes, outputs = read(function)
        taken: list[int] = []
        for node in nodes:
            taken.append(self._taken(node, [taken[i] for i in node.operands]))
        for k, element, i in outputs:
            self.outputs[k][element] = taken[i]

    def _taken(self, node: Operation, x: list[int]) -> int:
        """The index of a node of CasADi's, with operands x."""
        rules: dict[str, Callable[..., int]] = {
            "input": lambda: self._node(node),
            "const": lambda: self._const(node.value),
            "add": self._add,
            "sub": lambda a, b: self._add(a, self._signed(-1, b)),
            "mul": self._multiply,
            "div": self._divide,
            "neg": lambda a: self._signed(-1, a),
            "sq": lambda a: self._multiply(a, a),
            "twice": lambda a: self._multiply(self._const(2.0), a),
            "inv": lambda a: self._divide(self._const(1.0), a),
            "sin": lambda a: self._sine(a, 0),
            "cos": lambda a: self._sine(a, 1),
        }
        if node.name in rules:
            return rules[node.name](*x)
        if node.name not in FUNCTIONS:
            raise RobodynError(f"the operation {node.name} has no counterpart in the languages of the export")
        return self._node(Operation(FUNCTIONS[node.name], tuple(x)))

    def _node(self, node: Operation) -> int:
        if node not in self._index:
            self._index[node] = len(self.nodes)
            self.nodes.append(node)
        return self._index[node]

    def _const(self, value: float) -> int:
        return self._signed(-1 if value < 0.0 else 1, self._node(Operation("const", value=abs(value))))

    def _value(self, a: int) -> float | None:
        return self.nodes[a].value if self.nodes[a].name == "const" else None

    def _sign(self, a: int) -> tuple[int, int]:
        """A node as sign times node."""
        return (-1, self.nodes[a].operands[0]) if self.nodes[a].name == "neg" else (1, a)

    def _signed(self, sign: int, a: int) -> int:
        own, a = self._sign(a)
        return a if sign == own or self._value(a) == 0.0 else self._node(Operation("neg", (a,)))

    def _factor(self, a: int) -> tuple[float, int]:
        """A node without sign as positive number times node."""
        node = self.nodes[a]
        value = self._value(node.operands[0]) if node.name == "mul" else None
        return (1.0, a) if value is None else (value, node.operands[1])

    def _scaled(self, k: float, a: int) -> int:
        """Number times node without sign."""
        inner, a = self._factor(a)
        k, sign, value = abs(k) * inner, -1 if k < 0.0 else 1, self._value(a)
        if value is not None or k == 0.0:
            return self._const(sign * k * (value or 0.0))
        return self._signed(
            sign, a if k == 1.0 else self._node(Operation("mul", (self._node(Operation("const", value=k)), a)))
        )

    def _multiply(self, a: int, b: int) -> int:
        (s, a), (t, b) = self._sign(a), self._sign(b)
        for x, y in ((a, b), (b, a)):
            if (value := self._value(x)) is not None:
                return self._scaled(s * t * value, y)
        (k, x), (m, y) = self._factor(a), self._factor(b)
        if k != 1.0 and m != 1.0:
            return self._multiply(self._const(s * t * k * m), self._multiply(x, y))
        return self._signed(s * t, self._node(Operation("mul", (min(a, b), max(a, b)))))

    def _divide(self, a: int, b: int) -> int:
        (s, a), (t, b) = self._sign(a), self._sign(b)
        if self._value(a) == 0.0:
            return a
        if value := self._value(b):
            return self._scaled(s * t / value, a)
        # One division serves all that is divided by the same: it costs as much as a dozen multiplications.
        inverse = self._signed(s * t, self._node(Operation("div", (self._const(1.0), b))))
        return self._multiply(a, inverse)

    def _add(self, a: int, b: int) -> int:
        (s, a), (t, b) = self._sign(a), self._sign(b)
        (k, x), (m, y) = self._factor(a), self._factor(b)
        values = self._value(a), self._value(b)
        if values[0] is not None and values[1] is not None:
            return self._const(s * values[0] + t * values[1])
        if 0.0 in values:
            return self._signed(t, b) if values[0] == 0.0 else self._signed(s, a)
        if x == y:
            return self._scaled(s * k + t * m, x)
        if s == t:
            return self._signed(s, self._node(Operation("add", (min(a, b), max(a, b)))))
        return self._signed(s if a < b else t, self._node(Operation("sub", (min(a, b), max(a, b)))))

    def _sine(self, a: int, quarters: int) -> int:
        """Sine of an angle and a number of quarter turns."""
        shift, rest = self._shift(a)
        more = round(shift / QUARTER)
        if abs(shift - more * QUARTER) > SLACK:
            more, rest = 0, a
        sign, angle = self._sign(rest)
        phase = (quarters + more) % 4
        return self._signed((sign, 1, -sign, -1)[phase], self._node(Operation("cos" if phase % 2 else "sin", (angle,))))

    def _shift(self, a: int) -> tuple[float, int]:
        """A node as number plus node."""
        sign, a = self._sign(a)
        node = self.nodes[a]
        if node.name in {"add", "sub"}:
            signs = sign, -sign if node.name == "sub" else sign
            for i, j in ((0, 1), (1, 0)):
                if (value := self._value(node.operands[i])) is not None:
                    return signs[i] * value, self._signed(signs[j], node.operands[j])
        return 0.0, self._signed(sign, a)


DUST = 1e-16
"""A parameter smaller than this, relative to the largest, is the rounding of a zero, and not worth a multiplication."""

MEANINGS = {
    "inverse": ("tau", "Efforts: tau = M qdd + C qd + g + friction"),
    "forward": ("qdd", "Accelerations: qdd = M^-1 (tau - C qd - g - friction)"),
    "mass_matrix": ("M", "Mass matrix, symmetric"),
    "mass_matrix_inverse": ("M_inverse", "Inverse of the mass matrix, symmetric"),
    "coriolis_matrix": ("C", "Coriolis matrix by Christoffel symbols"),
    "coriolis": ("tau", "Coriolis and centrifugal efforts: C qd"),
    "gravity": ("g", "Efforts that hold the arm at rest"),
    "bias": ("tau", "Efforts without acceleration: C qd + g + friction"),
    "terms": ("", "Terms of tau, without friction: g, C qd, M qdd, and M correction"),
    "energy": ("", "Kinetic and potential energy [J]"),
    "power": ("", "Power [W]: actuators = kinetic + potential + friction"),
    "center_of_mass": ("com", "Centre of mass of all that moves, in the root link's frame [m]"),
    "momentum": ("", "Momentum of all that moves, in the root link's axes: linear [kg m/s], angular [kg m^2/s]"),
    "regressor": ("Y", "Y theta = tau; theta: 10 inertial parameters a body, then armature, viscous, Coulomb friction"),
    "slotine_li_regressor": ("Y", "Y theta = M qdd_r + C(q, qd) qd_r + g + friction(qd_r), theta as for the regressor"),
    "inverse_derivatives": ("", "Derivatives of tau = inverse(q, qd, qdd) by q, qd and qdd"),
    "forward_derivatives": ("", "Derivatives of qdd = forward(q, qd, tau) by q, qd and tau"),
}
"""Quantity → name of its result (empty: it has several, with names of their own), and its description."""


@dataclass(frozen=True)
class Routine:
    """A quantity of one arm, ready to be written in some language.

    Attributes:
        name: of the quantity.
        meaning: one line of ASCII.
        n: number of joints.
        inputs: names, each of n numbers.
        results: names and shapes; () is a scalar.
        graph: how the results follow from the inputs.
    """

    name: str
    meaning: str
    n: int
    inputs: tuple[str, ...]
    results: tuple[tuple[str, tuple[int, ...]], ...]
    graph: Graph

    @property
    def unused(self) -> tuple[str, ...]:
        """Inputs that no result depends on."""
        used = {self.graph.nodes[i].place[0] for i in self.graph.uses() if self.graph.nodes[i].name == "input"}
        return tuple(name for k, name in enumerate(self.inputs) if k not in used)

    @property
    def operations(self) -> str:
        """Return the counts in words."""
        ops = self.graph.operations()
        sums = ops.pop("add", 0) + ops.pop("sub", 0)
        named = [(ops.pop("mul", 0), "multiplication"), (sums, "addition"), (ops.pop("div", 0), "division")]
        named += [(ops.pop("sin", 0), "sine"), (ops.pop("cos", 0), "cosine"), (ops.pop("neg", 0), "sign change")]
        named += [(count, f"call of {name}") for name, count in sorted(ops.items())]
        words = [f"{count} {word if count == 1 else _plural(word)}" for count, word in named if count]
        return ", ".join(words) or "no operations"


def routines(dynamics: CompiledDynamics, quantities: Sequence[str]) -> list[Routine]:
    """The quantities asked for, with the parameters that the arm has now.

    Raises:
        InputError: no such quantity.
    """
    return [_routine(dynamics, name) for name in dict.fromkeys(quantities)]


def _routine(dynamics: CompiledDynamics, quantity: str) -> Routine:
    known, n = dynamics.quantities(), dynamics.robot.n
    if quantity not in known:
        raise InputError("quantity", f"{quantity!r} is not one of {', '.join(known)}", quantity)
    inputs = tuple(known[quantity].inputs.split())
    result, meaning = MEANINGS[quantity]
    fields = getattr(known[quantity].kind, "_fields", (result,))
    names = [f"by_{name}" if name in inputs else name for name in fields]
    shapes = known[quantity].shapes(n, len(dynamics.theta()))
    states = [ca.SX.sym(name, n) for name in inputs]
    symbols = dynamics.symbols
    parameters = np.where(np.abs(symbols) < DUST * np.abs(symbols).max(), 0.0, symbols)
    graph = Graph(states, dynamics.expressions(quantity, states, ca.SX(parameters)))
    return Routine(quantity, meaning, n, inputs, tuple(zip(names, shapes, strict=True)), graph)


def _plural(word: str) -> str:
    first, *rest = word.split(" of ")
    return " of ".join([f"{first}s", *rest])
