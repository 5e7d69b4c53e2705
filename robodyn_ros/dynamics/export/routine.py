"""A quantity of one arm, ready to be written in some language."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import casadi as ca
import numpy as np

from robodyn_ros.dynamics.compiled import CompiledDynamics
from robodyn_ros.dynamics.export.graph import Graph
from robodyn_ros.errors import InputError

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
"""Quantity → name of its result (empty: it has several, with names of their own), and what it is."""


@dataclass(frozen=True)
class Routine:
    """See the module.

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
        used = {self.graph.nodes[i].place[0] for i in self.graph.uses() if self.graph.nodes[i].op == "input"}
        return tuple(name for k, name in enumerate(self.inputs) if k not in used)

    @property
    def operations(self) -> str:
        """How many there are, in words."""
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
