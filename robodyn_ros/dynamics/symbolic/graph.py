# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Expressions as a graph of operations that every language has, with a number for every parameter."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from robodyn_ros.dynamics.compiled import CompiledDynamics
from robodyn_ros.engine.casadi import ca
from robodyn_ros.engine.listing import Operation, read
from robodyn_ros.errors import RobodynError

ARITHMETIC = ("const", "input", "add", "sub", "mul", "div", "inv", "neg")

FUNCTIONS = (
    *("sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh"),
    *("sqrt", "exp", "log", "fabs", "sign", "atan2", "pow"),
)
"""Functions that every language has; ``sign`` is -1, 0 or 1."""


class Graph:
    """The nodes of some results; none is computed twice.

    Attributes:
        nodes: operands before the operations on them.
        outputs: for each result the indices of its elements, row by row.
        uses: node → how often the outputs and the other nodes use it.
    """

    def __init__(self, inputs: Sequence[ca.SX], results: Sequence[ca.SX]) -> None:
        """
        Args:
            inputs: symbols, each (n,).
            results: expressions of any shape.

        Raises:
            RobodynError: an operation that not every language has.
        """
        flat = ca.cse([ca.densify(ca.vec(result.T)) for result in results])
        nodes, outputs = read(ca.Function("graph", list(inputs), flat))
        self.nodes = [_common(node) for node in nodes]
        self.outputs = [[-1] * result.numel() for result in results]
        for k, element, i in outputs:
            self.outputs[k][element] = i
        self.uses = Counter(i for node in self.nodes for i in node.operands) + Counter(i for _, _, i in outputs)

    def operations(self) -> Counter[str]:
        """Count of each operation."""
        done = Counter("div" if node.name == "inv" else node.name for node in self.nodes)
        del done["const"], done["input"]
        return done


def _common(node: Operation) -> Operation:
    """A node of CasADi's by an operation that every language has."""
    if node.name in {"sq", "twice"}:
        return Operation("mul" if node.name == "sq" else "add", node.operands * 2)
    if node.name == "constpow":
        return node._replace(name="pow")
    if node.name not in (*ARITHMETIC, *FUNCTIONS):
        raise RobodynError(f"the operation {node.name} has no counterpart in the languages of the export")
    return node


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
        used = {node.place[0] for node in self.graph.nodes if node.name == "input"}
        return tuple(name for k, name in enumerate(self.inputs) if k not in used)

    @property
    def operations(self) -> str:
        """Return the counts in words."""
        ops = self.graph.operations()
        sums = ops.pop("add", 0) + ops.pop("sub", 0)
        named = [(ops.pop("mul", 0), "multiplication{}"), (sums, "addition{}"), (ops.pop("div", 0), "division{}")]
        named += [(ops.pop("sin", 0), "sine{}"), (ops.pop("cos", 0), "cosine{}"), (ops.pop("neg", 0), "sign change{}")]
        named += [(count, f"call{{}} of {name}") for name, count in sorted(ops.items())]
        words = [f"{count} {word.format('s' * (count > 1))}" for count, word in named if count]
        return ", ".join(words) or "no operations"


def routines(dynamics: CompiledDynamics, quantities: Sequence[str]) -> list[Routine]:
    """The quantities asked for, with the parameters that the arm has now.

    Raises:
        InputError: no such quantity.
    """
    return [_routine(dynamics, name) for name in dict.fromkeys(quantities)]


def _routine(dynamics: CompiledDynamics, quantity: str) -> Routine:
    program, n = dynamics.program(quantity), dynamics.robot.n
    inputs = tuple(name for name, _ in program.inputs)
    result, meaning = MEANINGS[quantity]
    fields = getattr(dynamics.quantities()[quantity].kind, "_fields", (result,))
    names = [f"by_{name}" if name in inputs else name for name in fields]
    states = [ca.SX.sym(name, n) for name in inputs]
    symbols = dynamics.symbols
    parameters = np.where(np.abs(symbols) < DUST * np.abs(symbols).max(), 0.0, symbols)
    graph = Graph(states, dynamics.expressions(quantity, states, ca.SX(parameters)))
    return Routine(quantity, meaning, n, inputs, tuple(zip(names, program.outputs, strict=True)), graph)
