"""Dynamics from CasADi expressions: each quantity is written once and compiled for the arm when it is first asked for.

The code depends on the arm's geometry alone. Gravity and the inertial parameters are inputs of the compiled functions.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from robodyn_ros.dynamics.base import STANDARD_GRAVITY, Dynamics, Energy
from robodyn_ros.dynamics.inertial_parameters import standard_parameters
from robodyn_ros.engine import Kernel, Program, digest
from robodyn_ros.kinematics.tree import Tree, build_tree, geometry
from robodyn_ros.robot import Robot
from robodyn_ros.robot.pose import Array

QUANTITIES: dict[str, tuple[tuple[str, ...], tuple[int, ...]]] = {
    "inverse": (("q", "qd", "qdd"), (1,)),
    "forward": (("q", "qd", "tau"), (1,)),
    "mass_matrix": (("q",), (2,)),
    "coriolis_matrix": (("q", "qd"), (2,)),
    "gravity": (("q",), (1,)),
    "energy": (("q", "qd"), (0, 0)),
}
"""Quantity → names of its inputs, each (n,), and the number of axes of each result, each of length n."""


class CompiledDynamics(Dynamics):
    """What a formulation needs to be a plugin. It says how its parameters follow from the standard ones, and writes
    each quantity as a function ``_inverse``, ``_forward``, … of the symbols named in ``QUANTITIES``, gravity (3,) in
    the frame of the tree's base, and its parameters π.
    """

    def __init__(self, robot: Robot, gravity: Sequence[float] = STANDARD_GRAVITY, *, compiled: bool = True) -> None:
        """
        Args:
            robot: the arm.
            gravity: acceleration of free fall in the root link's frame, (3,) in [m/s²].
            compiled: compile to C where there is a compiler; False keeps to CasADi's virtual machine.

        Raises:
            InputError: gravity is not three finite numbers.

        """
        super().__init__(robot, gravity)
        self._tree = build_tree(robot)
        self._compiled = compiled
        pi = self.parameter_map(self._tree) @ standard_parameters(robot)
        self._parameters = np.concatenate([self._tree.base.T @ self.gravity_vector, pi])
        self._key = digest(*geometry(self._tree), type(self).__qualname__, source=type(self).__module__)
        self._kernels: dict[str, Kernel] = {}

    @staticmethod
    @abstractmethod
    def parameter_map(tree: Tree) -> Array:
        """Matrix from the standard parameters θ, ten for each body, to the formulation's own π."""

    def inverse(self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike) -> Array:
        """τ = M q̈ + C q̇ + g."""
        result: Array = self._kernel("inverse")(q, qd, qdd)
        return result

    def forward(self, q: ArrayLike, qd: ArrayLike, tau: ArrayLike) -> Array:
        """q̈ = M⁻¹ (τ - C q̇ - g)."""
        result: Array = self._kernel("forward")(q, qd, tau)
        return result

    def mass_matrix(self, q: ArrayLike) -> Array:
        """M(q)."""
        result: Array = self._kernel("mass_matrix")(q)
        return result

    def coriolis_matrix(self, q: ArrayLike, qd: ArrayLike) -> Array:
        """C(q, q̇) by Christoffel symbols."""
        result: Array = self._kernel("coriolis_matrix")(q, qd)
        return result

    def gravity(self, q: ArrayLike) -> Array:
        """g(q)."""
        result: Array = self._kernel("gravity")(q)
        return result

    def energy(self, q: ArrayLike, qd: ArrayLike) -> Energy:
        """Kinetic and potential energy."""
        return Energy(*self._kernel("energy")(q, qd))

    def _kernel(self, quantity: str) -> Kernel:
        try:
            return self._kernels[quantity]
        except KeyError:
            kernel = self._kernels[quantity] = Kernel(self._program(quantity), self._parameters, self._compiled)
            return kernel

    def _program(self, quantity: str) -> Program:
        names, axes = QUANTITIES[quantity]
        n = self.robot.n

        def build() -> tuple[list[ca.SX], list[ca.SX]]:
            states = [ca.SX.sym(name, n) for name in names]
            parameters = ca.SX.sym("parameters", len(self._parameters))
            results = getattr(self, f"_{quantity}")(*states, parameters[:3], parameters[3:])
            return [*states, parameters], list(results) if isinstance(results, tuple) else [results]

        inputs = tuple((name, n) for name in names)
        return Program(quantity, self._key, inputs, tuple((n,) * count for count in axes), build)
