# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Dynamics from CasADi expressions: each quantity is written once and compiled for the arm at its first call.

The path from a formulation to a call: ``plugin.inverse`` is a :class:`CompiledFunction`. It asks
:meth:`CompiledDynamics.kernel` for a kernel, which asks :meth:`CompiledDynamics.program` for the program to compile.
Only if the cache has no library for it, :meth:`CompiledDynamics.expressions` writes the formulation's ``Equations``:
that part alone needs CasADi. From then on the attribute is the kernel's own ``call``.

The code depends on the arm's geometry alone. All fields of ``Parameters`` are inputs of the compiled functions.
"""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, wraps
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import ArrayLike

from robodyn_ros.checks import as_states, check_choice, refuse_non_finite
from robodyn_ros.dynamics.base import Dynamics, Energy, ForwardDerivatives, InverseDerivatives, Momentum, Power, Terms
from robodyn_ros.dynamics.equations import Equations
from robodyn_ros.dynamics.parameters import Parameters, parameters_of
from robodyn_ros.engine import Kernel, Program, digest
from robodyn_ros.engine.c_interface import plain_function
from robodyn_ros.engine.casadi import ca
from robodyn_ros.engine.program import class_key
from robodyn_ros.errors import InputError
from robodyn_ros.kinematics import Kinematics
from robodyn_ros.kinematics.tree import Tree, build_tree, geometry
from robodyn_ros.robot import Robot
from robodyn_ros.robot.pose import Array, read_only

ARGUMENTS = {
    "q": "positions, (n,) or (N, n), in [rad] or [m]",
    "qd": "velocities, likewise, in [rad/s] or [m/s]",
    "qdd": "accelerations, likewise, in [rad/s²] or [m/s²]",
    "tau": "efforts, likewise, in [N·m] or [N]",
    "correction": "accelerations y, likewise, in [rad/s²] or [m/s²]",
    "qd_r": "reference velocities, likewise, in [rad/s] or [m/s]",
    "qdd_r": "reference accelerations, likewise, in [rad/s²] or [m/s²]",
}
"""Input of a compiled function → its description in the docstring."""


@dataclass
class CompiledFunction:
    """An attribute of ``CompiledDynamics`` that becomes a compiled function at its first use.

    From then on the attribute is that function, as with ``functools.cached_property``: nothing stands between a caller
    and the kernel.

    Attributes:
        inputs: names of the inputs, each (n,), separated by spaces.
        results: axes of each result: ``n`` joints, ``p`` parameters, a digit for itself; an empty string is a scalar.
        doc: its docstring.
        kind: a NamedTuple for several results.
    """

    inputs: str
    results: tuple[str, ...]
    doc: str
    kind: Callable[..., Any] | None = None
    name: str = ""

    def __post_init__(self) -> None:
        lines = "\n".join(f"    {name}: {ARGUMENTS[name]}." for name in self.inputs.split())
        raises = "Raises:\n    InputError: an array has the wrong shape, or is not finite.\n"
        self.__doc__ = f"{self.doc}\n\nArgs:\n{lines}\n\n{raises}"

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, dynamics: CompiledDynamics | None, owner: type) -> Any:
        if dynamics is None:
            return self
        made: dict[str, Any] = dynamics.__dict__.setdefault("_functions", {})
        function = made[self.name] = made.get(self.name) or self._function(dynamics)
        if getattr(type(dynamics), self.name) is self:  # else a subclass has its own, which must not be hidden
            dynamics.__dict__[self.name] = function
        return function

    def shapes(self, n: int, p: int) -> tuple[tuple[int, ...], ...]:
        """Shape of each result for n joints and p parameters."""
        length = {"n": n, "p": p}
        return tuple(tuple(length.get(axis, 0) or int(axis) for axis in axes) for axes in self.results)

    def _function(self, dynamics: CompiledDynamics) -> Callable[..., Any]:
        call, kind = dynamics.kernel(self.name).call, self.kind
        call.__name__, call.__doc__ = self.name, self.__doc__
        call.__qualname__ = f"{type(dynamics).__name__}.{self.name}"
        if kind is None:
            return call

        @wraps(call)
        def named(*values: Any, **by_name: Any) -> Any:
            return kind(*call(*values, **by_name))

        return named


_maps: WeakKeyDictionary[Tree, dict[type, Array]] = WeakKeyDictionary()
"""Tree → class of a formulation → its ``inertial_map``, the slowest part of its constructor."""


class CompiledDynamics(Dynamics):
    """A formulation as a plugin: it maps the standard parameters to its own, π, and writes its equations.

    An object of this class belongs to one thread.

    Attributes:
        compiled: use C where there is a compiler.
        symbols: gravity in the base's frame (3,), armature, viscous and Coulomb friction (n,) each, and π, in one
            array that every compiled function of this object reads. ``configure`` writes it.
        inertial_map: matrix from the standard parameters, ten for each body, to π.
    """

    def __init__(self, robot: Robot, *, compiled: bool = True, threads: int | None = None, **parameters: Any) -> None:
        """
        Args:
            robot: the arm.
            compiled: compile to C where there is a compiler; False keeps to CasADi's virtual machine.
            threads: threads that share the work on many states; one for each processor unless given.
            **parameters: as ``Dynamics``.

        Raises:
            InputError: a parameter is unknown or wrong.
        """
        super().__init__(robot, **parameters)
        robot = self.robot
        self._tree = build_tree(robot)
        self.compiled = compiled
        self._threads = threads or len(os.sched_getaffinity(0))
        maps = _maps.setdefault(self._tree, {})
        if type(self) not in maps:
            maps[type(self)] = read_only(self.parameter_map(self._tree))
        self.inertial_map = maps[type(self)]
        self.symbols = np.zeros(3 + 3 * robot.n + len(self.inertial_map))  # read by the compiled functions
        self.apply(self.parameters)

    @staticmethod
    @abstractmethod
    def parameter_map(tree: Tree) -> Array:
        """Return the matrix from the standard parameters θ, ten for each body, to the formulation's own π."""

    @abstractmethod
    def equations(self) -> Equations:
        """Return the formulation's expressions; only called when something is to be compiled."""

    inverse = CompiledFunction("q qd qdd", ("n",), "τ = M q̈ + C q̇ + g + friction, (n,) or (N, n) in [N·m] or [N].")
    forward = CompiledFunction(
        "q qd tau", ("n",), "q̈ = M⁻¹ (τ - C q̇ - g - friction), (n,) or (N, n) in [rad/s²] or [m/s²]."
    )
    mass_matrix = CompiledFunction("q", ("nn",), "M(q), armature included, (n, n) or (N, n, n).")
    mass_matrix_inverse = CompiledFunction("q", ("nn",), "M(q)⁻¹, (n, n) or (N, n, n).")
    coriolis_matrix = CompiledFunction("q qd", ("nn",), "C(q, q̇) by Christoffel symbols.")
    coriolis = CompiledFunction("q qd", ("n",), "C(q, q̇) q̇, (n,) or (N, n).")
    gravity = CompiledFunction("q", ("n",), "g(q), (n,) or (N, n).")
    bias = CompiledFunction("q qd", ("n",), "C q̇ + g + friction: the efforts without acceleration, (n,) or (N, n).")
    terms = CompiledFunction("q qd qdd correction", ("n",) * 4, "g, C q̇, M q̈ and M y, without friction.", Terms)
    energy = CompiledFunction("q qd", ("", ""), "Kinetic and potential energy, rotors included.", Energy)
    power = CompiledFunction("q qd qdd", ("", "", "", ""), "The balance of power.", Power)
    center_of_mass = CompiledFunction(
        "q", ("3",), "Centre of mass of all that moves, in the root link's frame, (3,) or (N, 3) in [m]."
    )
    momentum = CompiledFunction(
        "q qd", ("3", "3"), "Total momentum, without rotors (centroidal: Orin et al., 2013).", Momentum
    )
    regressor = CompiledFunction("q qd qdd", ("np",), "Y with Y θ = τ, (n, p) or (N, n, p); see ``theta``.")
    slotine_li_regressor = CompiledFunction(
        "q qd qd_r qdd_r", ("np",), "Y with Y θ = M(q) q̈_r + C(q, q̇) q̇_r + g(q) + friction(q̇_r), (n, p) or (N, n, p)."
    )
    inverse_derivatives = CompiledFunction("q qd qdd", ("nn",) * 3, "Derivatives of inverse.", InverseDerivatives)
    forward_derivatives = CompiledFunction("q qd tau", ("nn",) * 3, "Derivatives of forward.", ForwardDerivatives)

    @classmethod
    def quantities(cls) -> dict[str, CompiledFunction]:
        """Return every quantity by its name."""
        return {name: item for name, item in vars(CompiledDynamics).items() if isinstance(item, CompiledFunction)}

    def replaced(self) -> list[str]:
        """Names of the quantities that are not compiled: a subclass or a caller has replaced them."""
        made = vars(self).get("_functions", {})
        return [
            name
            for name, quantity in self.quantities().items()
            if getattr(type(self), name) is not quantity or vars(self).get(name) is not made.get(name)
        ]

    def __getstate__(self) -> dict[str, Any]:
        """What a copy or a pickle has: all but the compiled functions and solvers, which are bound to other arrays."""
        compiled = {"_functions", "_kinematics", "_mpc_solvers", *self.quantities()} - {*self.replaced()}
        kept = {name: value for name, value in vars(self).items() if name not in compiled}
        return kept | {"symbols": self.symbols.copy()}

    def external(self, link: str, q: ArrayLike, force: ArrayLike, moment: ArrayLike = (0.0, 0.0, 0.0)) -> Array:
        """Return the joint efforts of a wrench on a link: Jᵀ w, (n,), to be added to τ in forward dynamics.

        Args:
            link: name of the link.
            q: positions (n,) in [rad] or [m].
            force: at the origin of the link's frame, in the root link's axes, (3,) in [N].
            moment: in the root link's axes, (3,) in [N·m].

        Raises:
            InputError: no such link, or an array is wrong.
        """
        names, values = ("q", "force", "moment"), (q, force, moment)
        wrench = np.concatenate(as_states(names, values, (self.robot.n, 3, 3))[1:], axis=-1)
        refuse_non_finite(names, values)
        return np.einsum("...ij,...i->...j", self._kinematics.jacobian(link, q), wrench)

    def theta(self, parameters: Parameters | None = None) -> Array:
        """Return θ with ``regressor @ θ = τ``, (10 · bodies + 3 n,).

        It has the standard parameters of the bodies with the payload, then armature, viscous and Coulomb friction.

        Raises:
            InputError: the payload is impossible or its link cannot move.
        """
        p = parameters or self.parameters
        inertial = p.inertial.copy()
        if p.payload is not None:
            link = self.robot.link(p.payload.link)
            if link.body < 0:
                raise InputError("payload", f"link {link.name!r} is fixed to the base and cannot hold one", p.payload)
            held = p.payload.inertial().seen_from(link.pose)
            inertial[10 * link.body : 10 * link.body + 10] += parameters_of(held)
        return np.concatenate([inertial, p.armature, p.viscous, p.coulomb])

    def apply(self, parameters: Parameters) -> None:
        """Write new parameters where the compiled functions read them."""
        with np.errstate(all="ignore"):  # an overflow is reported below
            theta = self.theta(parameters)
            inertial, joints = theta[: -3 * self.robot.n], theta[-3 * self.robot.n :]
            symbols = np.concatenate([self._tree.base.T @ parameters.gravity, joints, self.inertial_map @ inertial])
        if not np.isfinite(symbols).all():
            raise InputError("parameters", "multiply to something beyond the range of numbers", parameters)
        self.symbols[:] = symbols

    def kernel(self, quantity: str) -> Kernel:
        """Return a quantity with memory of its own, for loops that allocate nothing. It follows ``configure``.

        Raises:
            InputError: no such quantity.
        """
        return Kernel(self.program(quantity), self.symbols, compiled=self.compiled, threads=self._threads)

    def plain_function(self, quantity: str) -> Any:
        """A quantity as a C function of its inputs, ``symbols`` and the memory for the result.

        It is None where there is no compiler, and where a subclass has a quantity of its own.

        Raises:
            InputError: no such quantity.
        """
        if not self.compiled or quantity in self.replaced():
            return None
        return plain_function(self.program(quantity))

    def program(self, quantity: str) -> Program:
        """Return the program to compile for a quantity.

        Raises:
            InputError: no such quantity.
        """
        known, n = self.quantities(), self.robot.n
        check_choice("quantity", quantity, known)
        inputs = tuple((name, n) for name in known[quantity].inputs.split())
        shapes = known[quantity].shapes(n, len(self.parameters.inertial) + 3 * n)  # as `theta` has them

        def results(*given: ca.SX) -> list[ca.SX]:
            return self.expressions(quantity, list(given[:-1]), given[-1])

        return Program.of(quantity, self.key, inputs, len(self.symbols), shapes, results)

    def expressions(self, quantity: str, states: list[ca.SX], parameters: ca.SX | None = None) -> list[ca.SX]:
        """Return a quantity as CasADi expressions.

        Args:
            quantity: its name.
            states: its inputs, each (n,).
            parameters: symbols for the runtime parameters; their present values as constants unless given.
        """
        equations = self.equations()
        p = equations.unpack(self.symbols if parameters is None else parameters)
        found = getattr(equations, quantity)(*states, p)
        return list(found) if isinstance(found, tuple) else [found]

    @cached_property
    def key(self) -> str:
        """The key of the code of this arm and formulation."""
        return digest(*geometry(self._tree), class_key(type(self)), source=__name__)

    @cached_property
    def _kinematics(self) -> Kinematics:
        return Kinematics(self.robot, compiled=self.compiled)
