"""A whole passive or driven motion by RK4 in one compiled call.

The loop is C, around the arm's compiled forward dynamics: between the first step and the last nothing goes through
Python.
"""

from __future__ import annotations

import ctypes
from functools import partial
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import ArrayLike

from robodyn_ros.dynamics.compiled import CompiledDynamics
from robodyn_ros.engine.codegen import scalar_source
from robodyn_ros.engine.library import find_library
from robodyn_ros.engine.program import Program, digest
from robodyn_ros.engine.states import as_states, refuse_non_finite
from robodyn_ros.errors import InputError, SimulationError
from robodyn_ros.robot.pose import Array
from robodyn_ros.simulation.rk4 import rk4_step


class Motion(NamedTuple):
    """States at the steps, the first one included, (steps + 1, n) each."""

    q: Array  # [rad] or [m]
    qd: Array  # [rad/s] or [m/s]


def rollout_rk4(
    dynamics: CompiledDynamics, q: ArrayLike, qd: ArrayLike, tau: ArrayLike, dt: float, steps: int
) -> Motion:
    """Integrate forward dynamics from a state, each effort held for a step.

    Args:
        dynamics: the arm.
        q: first positions (n,) in [rad] or [m].
        qd: first velocities (n,) in [rad/s] or [m/s].
        tau: efforts, (n,) for all steps or (steps, n), in [N·m] or [N].
        dt: length of a step [s].
        steps: how many.

    Raises:
        InputError: a wrong shape, something not finite, dt not positive, steps negative.
        SimulationError: the motion leads beyond the range of numbers.
    """
    n = dynamics.robot.n
    if not (np.isfinite(dt) and dt > 0.0):
        raise InputError("dt", f"must be positive and finite, not {dt!r}", dt)
    if steps < 0:
        raise InputError("steps", f"must not be negative, not {steps!r}", steps)
    first, rate = as_states(("q", "qd"), (q, qd), (n, n))
    (efforts,) = as_states(("tau",), (tau,), (n,))
    if first.ndim != 1 or efforts.shape not in ((n,), (steps, n)):
        raise InputError("tau", f"must be of shape ({n},) or ({steps}, {n}), not {efforts.shape}", tau)
    refuse_non_finite(("q", "qd", "tau"), (first, rate, efforts))
    motion = Motion(np.empty((steps + 1, n)), np.empty((steps + 1, n)))
    motion.q[0], motion.qd[0] = first, rate
    loop = _loop(dynamics)
    if loop is not None:
        pointers = (array.ctypes.data_as(ctypes.c_void_p) for array in (efforts, *motion, dynamics.symbols))
        stride = 0 if efforts.ndim == 1 else n
        done = loop(ctypes.c_longlong(steps), ctypes.c_double(dt), ctypes.c_longlong(stride), *pointers)
    else:
        done = _in_python(dynamics, efforts, dt, motion)
    if done < steps:
        state = f"q = {motion.q[done]}, qd = {motion.qd[done]}"
        raise SimulationError(f"step {done} of {dt:g} s, from {state}, leads beyond the range of numbers")
    return motion


def _in_python(dynamics: CompiledDynamics, efforts: Array, dt: float, motion: Motion) -> int:
    """Where there is no compiler. Returns how many steps had finite results, as the compiled loop does."""
    steps = len(motion.q) - 1
    for k in range(steps):
        acceleration = partial(_acceleration, dynamics, efforts if efforts.ndim == 1 else efforts[k])
        try:
            with np.errstate(over="ignore", invalid="ignore"):
                motion.q[k + 1], motion.qd[k + 1] = rk4_step(acceleration, motion.q[k], motion.qd[k], dt)
        except InputError:  # the dynamics were shown the overflow first
            return k
        if not (np.isfinite(motion.q[k + 1]).all() and np.isfinite(motion.qd[k + 1]).all()):
            return k
    return steps


def _acceleration(dynamics: CompiledDynamics, tau: Array, q: Array, qd: Array) -> Array:
    result: Array = dynamics.forward(q, qd, tau)
    return result


_loops: WeakKeyDictionary[CompiledDynamics, Any] = WeakKeyDictionary()


def _loop(dynamics: CompiledDynamics) -> Any:
    """The compiled loop around forward dynamics, or None without a compiler; looked up once for each object."""
    if dynamics not in _loops:
        library = None
        if dynamics.compiled:
            program = dynamics.program("forward")
            key = digest(program.key, source=__name__)
            library = find_library("forward_rk4", key, partial(_source, program))
        _loops[dynamics] = None if library is None else ctypes.CDLL(str(library)).forward_rk4
        if library is not None:
            _loops[dynamics].restype = ctypes.c_longlong
    return _loops[dynamics]


def _source(program: Program) -> str:
    return scalar_source(program) + _LOOP.replace("N_JOINTS", str(program.inputs[0][1]))


# Classical Runge–Kutta (Hairer, Nørsett and Wanner, Solving Ordinary Differential Equations I, table 1.2).
_LOOP = """
/* States in rows, the first one given; returns how many steps had finite results. */
long long forward_rk4(
  long long steps, double h, long long stride, const double* u, double* q, double* v, const double* p
) {
  double k[CONSTANTS], check;
  prepare(p, k);
  for (long long step = 0; step < steps; ++step, u += stride, q += N_JOINTS, v += N_JOINTS) {
    double a[4][N_JOINTS], x[N_JOINTS], v2[N_JOINTS], v3[N_JOINTS], v4[N_JOINTS], bad = 0;
    compute(q, v, u, p, k, a[0], &check);
    for (int i = 0; i < N_JOINTS; ++i) { x[i] = q[i] + h / 2 * v[i]; v2[i] = v[i] + h / 2 * a[0][i]; }
    compute(x, v2, u, p, k, a[1], &check);
    for (int i = 0; i < N_JOINTS; ++i) { x[i] = q[i] + h / 2 * v2[i]; v3[i] = v[i] + h / 2 * a[1][i]; }
    compute(x, v3, u, p, k, a[2], &check);
    for (int i = 0; i < N_JOINTS; ++i) { x[i] = q[i] + h * v3[i]; v4[i] = v[i] + h * a[2][i]; }
    compute(x, v4, u, p, k, a[3], &check);
    for (int i = 0; i < N_JOINTS; ++i) {
      const double q1 = q[N_JOINTS + i] = q[i] + h / 6 * (v[i] + 2 * (v2[i] + v3[i]) + v4[i]);
      const double v1 = v[N_JOINTS + i] = v[i] + h / 6 * (a[0][i] + 2 * (a[1][i] + a[2][i]) + a[3][i]);
      bad += (q1 - q1) + (v1 - v1);
    }
    if (bad != 0) return step;
  }
  return steps;
}
"""
