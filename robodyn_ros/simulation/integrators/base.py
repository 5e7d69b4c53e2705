# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The interface of an integrator, which every plugin of the group ``robodyn_ros.integrators`` implements.

An integrator makes a step of q̈ = a(q, q̇) in Python. It may give the same step in C too. That code is compiled
together with the arm's forward dynamics, and a whole motion is then one call
(:mod:`robodyn_ros.simulation.plant.native`). An integrator of many lines is written in C alone
(:class:`CompiledIntegrator`). ``test_simulation_integrators.py`` compares steps of both languages.
"""

from __future__ import annotations

import ctypes
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np

from robodyn_ros.dynamics.base import Dynamics
from robodyn_ros.engine.c_interface import kept, required, text_key
from robodyn_ros.errors import SimulationError
from robodyn_ros.plugins import require
from robodyn_ros.robot.pose import Array

Acceleration = Callable[[Array, Array], Array]
"""q (n,), q̇ (n,) → q̈ (n,)."""


def under_effort(dynamics: Dynamics, effort: Array) -> Acceleration:
    """The equation of motion of an arm under a constant effort (n,) in [N·m] or [N]."""
    return lambda q, qd: dynamics.forward(q, qd, effort)


Sampled = tuple[Array, Array]
"""q and q̇ at the steps, the first state included, (steps + 1, n) each."""


class Integrator(ABC):
    """One integration method, without a state of its own.

    Attributes:
        order: p; half the step makes the error of a motion 2ᵖ times smaller.
        adaptive: True if it controls its step size, and so integrates stiff motions too.
        code: the same step in C, or "" if there is none: the body of
            ``int advance(const System* s, double h, const double* q, const double* v, double* q1, double* v1)`` in
            ``../plant/motion.c``. It calls ``acceleration(s, q, v, a)``; ``N`` is the number of joints. It returns 0,
            or 1 if the step failed.
    """

    order: ClassVar[int]
    adaptive: ClassVar[bool] = False
    code: ClassVar[str] = ""

    @abstractmethod
    def step(self, acceleration: Acceleration, q: Array, qd: Array, dt: float) -> tuple[Array, Array]:
        """Return the state after a step, as new arrays.

        Args:
            acceleration: the equation of motion, with constant efforts over the step.
            q: position (n,) in [rad] or [m].
            qd: velocity (n,) in [rad/s] or [m/s].
            dt: length of the step [s].

        Raises:
            SimulationError: an equation within the step was not solved.
        """

    def motion(self, dynamics: Dynamics, q: Array, qd: Array, efforts: Array, dt: float, steps: int) -> Sampled | None:
        """Integrate a whole motion by another method than step by step; None if the integrator has none.

        Args:
            dynamics: the arm.
            q: first positions (n,) in [rad] or [m].
            qd: first velocities (n,) in [rad/s] or [m/s].
            efforts: (n,) for all steps, or (steps, n), constant over each step, in [N·m] or [N].
            dt: length of a step [s].
            steps: number of steps.
        """
        return None


Numbers = ctypes.POINTER(ctypes.c_double)
CALLBACK = ctypes.CFUNCTYPE(None, Numbers, Numbers, Numbers)

ALONE = """#include <math.h>
typedef void System(const double* q, const double* v, double* a);
static void acceleration(System* s, const double* q, const double* v, double* a) { s(q, v, a); }
int advance(System* s, double h, const double* q, const double* v, double* q1, double* v1) {@code}
"""
"""The C code around a step whose equation of motion is a function in Python."""


@lru_cache(maxsize=16)
def _alone(name: str, code: str, n: int) -> Any:
    """The library of a step in C for n joints.

    Raises:
        NotReadyError: there is no C compiler.
    """
    whole = f"#define N {n}\n{ALONE.replace('@code', code)}"
    return required(f"the integrator {name}", "integrator", text_key(whole), lambda: whole)


def answer(
    function: Callable[..., Sequence[Any]],
    arguments: Sequence[Any],
    results: Sequence[Any],
    n: int,
    problems: list[BaseException],
) -> bool:
    """Call a function of arrays (n,) for C.

    Args:
        function: returns as many arrays as there are results.
        arguments: addresses of the arrays that it takes.
        results: addresses of its results; they are NaN after an exception.
        n: length of each array.
        problems: takes an exception, which is to be raised when C has returned. Nothing is called while it has one.

    Returns:
        True without an exception.
    """
    into = [np.ctypeslib.as_array(part, (n,)) for part in results]
    for part in into:
        part[:] = np.nan

    def fill() -> None:
        with np.errstate(over="ignore", invalid="ignore"):
            found = function(*(np.ctypeslib.as_array(part, (n,)).copy() for part in arguments))
        for part, value in zip(into, found, strict=True):
            part[:] = value

    return not (problems or kept(fill, problems))


class CompiledIntegrator(Integrator):
    """An integrator that is written in C alone; in Python its step calls that code."""

    def step(self, acceleration: Acceleration, q: Array, qd: Array, dt: float) -> tuple[Array, Array]:
        """Make a step; see :meth:`Integrator.step`.

        Raises:
            NotReadyError: there is no C compiler.
        """
        n, problems = len(q), list[BaseException]()
        library = _alone(type(self).__name__, self.code, n)

        def called(position: Any, velocity: Any, result: Any) -> None:
            answer(lambda *state: [acceleration(*state)], (position, velocity), (result,), n, problems)

        state, after = np.array([q, qd], np.float64), np.empty((2, n))
        places = [ctypes.c_void_p(array.ctypes.data) for array in (*state, *after)]
        failed = library.advance(CALLBACK(called), ctypes.c_double(dt), *places)
        if problems:
            raise problems[0]
        if failed:
            raise not_converged(self, q, qd, dt)
        return after[0], after[1]


def not_converged(integrator: Integrator, q: Array, qd: Array, dt: float) -> SimulationError:
    """Return the error of a step [s] whose equation was not solved, from a position and velocity (n,)."""
    step = f"from q = {q}, qd = {qd} with a step of {dt:g} s"
    return SimulationError(f"{type(integrator).__name__} did not converge {step}; take a smaller one")


def checked_step(
    integrator: Integrator, acceleration: Acceleration, q: Array, qd: Array, dt: float
) -> tuple[Array, Array]:
    """Return the result of :meth:`Integrator.step`.

    Raises:
        SimulationError: the result is no pair of arrays (n,); the message describes it.
    """
    after: Any = integrator.step(acceleration, q, qd, dt)
    parts = after if isinstance(after, tuple) else (after,)
    arrays = [part for part in parts if isinstance(part, np.ndarray) and part.dtype.kind in "fi"]
    if len(arrays) == len(parts) == 2 and all(array.shape == q.shape for array in arrays):
        return arrays[0], arrays[1]
    given = [f"{type(part).__name__} of shape {getattr(part, 'shape', 'none')}" for part in parts]
    wanted = f"two arrays of shape {q.shape}, positions and velocities"
    raise SimulationError(f"integrator {type(integrator).__name__}: step returns {' and '.join(given)}, not {wanted}")


def check_integrator(integrator: Integrator) -> None:
    """Have the first integrator of a class make a step of q̈ = -q, whose solution is known.

    Raises:
        SimulationError: its order is not a whole number, or its step is not one of this equation.
        Exception: any exception of the integrator.
    """
    name, order = f"integrator {type(integrator).__name__}", integrator.order
    if not isinstance(order, int) or order < 1:
        raise SimulationError(f"{name}: order is {order!r}, not a whole number from 1 up")
    if type(integrator) in _tried:
        return
    q, qd, dt = np.array([0.3, -0.2]), np.array([0.1, 0.4]), 1e-3
    cos, sin = np.cos(dt), np.sin(dt)
    known = cos * q + sin * qd, cos * qd - sin * q
    given = checked_step(integrator, lambda position, velocity: -position, q.copy(), qd.copy(), dt)
    for what, one, other in zip(("positions", "velocities"), given, known, strict=True):
        if not np.allclose(one, other, rtol=0.0, atol=dt * 1e-2):
            raise SimulationError(f"{name}: step gives {what} {one} for q̈ = -q after {dt:g} s, not {other}")
    _tried.add(type(integrator))


_tried: set[type[Integrator]] = set()


require("integrators", Integrator, {"order": ()}, check=check_integrator)
