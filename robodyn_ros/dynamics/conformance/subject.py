"""A plugin on an arm, states to put it in, and what a clause compares."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import robodyn_ros as rd
from robodyn_ros.dynamics.base import Dynamics
from robodyn_ros.dynamics.conformance.definition import Definition
from robodyn_ros.robot.pose import Array

INPUTS = {
    "inverse": ("q", "qd", "qdd"),
    "forward": ("q", "qd", "tau"),
    "mass_matrix": ("q",),
    "coriolis_matrix": ("q", "qd"),
    "gravity": ("q",),
    "energy": ("q", "qd"),
}
"""The methods of the contract and the names of their arguments."""

EXACT = 1e-10
"""Relative tolerance where two exact ways lead to a number."""
DIFFERENCES = 1e-7
"""Relative tolerance where one of the ways is a difference quotient."""


class Subject:
    """The plugin under test on one arm.

    Attributes:
        robot: the arm.
        n: its degrees of freedom.
        dynamics: the plugin's object.
    """

    def __init__(self, name: str, urdf: str, **parameters: Any) -> None:
        """
        Args:
            name: the plugin's.
            urdf: the arm's.
            **parameters: for the plugin's constructor.
        """
        self.name = name
        self.robot = rd.load_robot(urdf)
        self.n = self.robot.n
        self.dynamics: Dynamics = rd.create_dynamics(name, self.robot, **parameters)

    @property
    def definition(self) -> Definition:
        """What is right, for the parameters as they are now."""
        return Definition(self.robot, self.dynamics.parameters)

    def states(self, count: int, seed: int = 1) -> Array:
        """q, q̇ and q̈ (or τ), (3, count, n)."""
        return np.random.default_rng(seed).uniform(-2.0, 2.0, (3, count, self.n))

    def state(self, seed: int = 1) -> Array:
        """The first of ``states``, (3, n)."""
        return self.states(1, seed)[:, 0]

    def call(self, method: str, *values: Any) -> tuple[Array, ...]:
        """A method's results; the energy has two of them."""
        found = getattr(self.dynamics, method)(*values[: len(INPUTS[method])])
        return tuple(found) if method == "energy" else (found,)

    def all(self, *values: Any) -> dict[str, tuple[Array, ...]]:
        """Every method's results at q, q̇, q̈ or τ."""
        return {method: self.call(method, *values) for method in INPUTS}


def raised(function: Callable[..., Any], *values: Any, **options: Any) -> Exception | None:
    """What a call raises, or None."""
    try:
        function(*values, **options)
    except Exception as problem:  # whatever it is, it is looked at
        return problem
    return None


def same(found: Any, expected: Any, clause: str, tolerance: float = EXACT) -> None:
    """Fail unless two results, or tuples of them, agree relative to the greatest number in them.

    Args:
        found: the plugin's.
        expected: what is right.
        clause: what the contract asks for: the head of the message.
        tolerance: relative to the greatest expected number, or 1.
    """
    pairs = zip(found, expected, strict=True) if isinstance(found, tuple) else [(found, expected)]
    for got, right in pairs:
        a, b = np.asarray(got), np.asarray(right)
        assert a.shape == b.shape, f"{clause}: expected shape {b.shape}, found {a.shape}"
        scale = max(1.0, float(np.abs(b).max(initial=0.0)))
        error = float(np.abs(a - b).max(initial=0.0)) / scale
        assert error <= tolerance, f"{clause}: relative error {error:.2g} > {tolerance:.0e}\nexpected\n{b}\nfound\n{a}"
