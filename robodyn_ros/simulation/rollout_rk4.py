"""A whole passive or driven motion by RK4 in one compiled call.

The loop is C, around the arm's compiled forward dynamics: between the first step and the last nothing goes through
Python.
"""

from __future__ import annotations

import ctypes
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from robodyn_ros.dynamics.compiled import CompiledDynamics
from robodyn_ros.engine.codegen import scalar_source
from robodyn_ros.engine.library import find_library
from robodyn_ros.engine.program import Program
from robodyn_ros.engine.states import as_states
from robodyn_ros.errors import InputError
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
    for name, array in (("q", first), ("qd", rate), ("tau", efforts)):
        if not np.isfinite(array).all():
            raise InputError(name, "must be finite, it holds a NaN or an infinity", array)
    motion = Motion(np.empty((steps + 1, n)), np.empty((steps + 1, n)))
    motion.q[0], motion.qd[0] = first, rate
    loop = _loop(dynamics.program("forward"), n) if dynamics.compiled else None
    if loop is None:
        for k in range(steps):
            acceleration = partial(_acceleration, dynamics, efforts if efforts.ndim == 1 else efforts[k])
            motion.q[k + 1], motion.qd[k + 1] = rk4_step(acceleration, motion.q[k], motion.qd[k], dt)
        return motion
    pointers = (array.ctypes.data_as(ctypes.c_void_p) for array in (efforts, *motion, dynamics.symbols))
    stride = 0 if efforts.ndim == 1 else n
    loop(ctypes.c_longlong(steps), ctypes.c_double(dt), ctypes.c_longlong(stride), *pointers)
    return motion


_loops: dict[str, Any] = {}


def _loop(program: Program, n: int) -> Any:
    """The compiled loop around forward dynamics, or None without a compiler; looked up once in a process."""
    if program.key not in _loops:
        library = find_library(
            "forward_rk4", program.key, lambda: scalar_source(program) + _LOOP.replace("N_JOINTS", str(n))
        )
        _loops[program.key] = None if library is None else ctypes.CDLL(str(library)).forward_rk4
    return _loops[program.key]


def _acceleration(dynamics: CompiledDynamics, tau: Array, q: Array, qd: Array) -> Array:
    result: Array = dynamics.forward(q, qd, tau)
    return result


# Classical Runge–Kutta (Hairer, Nørsett and Wanner, Solving Ordinary Differential Equations I, table 1.2).
_LOOP = """
static void derivative(const double* q, const double* v, const double* u, const double* p, double* a) {
  double check;
  const double* arg[] = {q, v, u, p};
  double* res[] = {a, &check};
  forward(arg, res, 0, 0, 0);
}
void forward_rk4(long long steps, double h, long long stride, const double* u, double* q, double* v, const double* p) {
  double a[4][N_JOINTS], qs[N_JOINTS], v2[N_JOINTS], v3[N_JOINTS], v4[N_JOINTS];
  for (; steps > 0; --steps, u += stride, q += N_JOINTS, v += N_JOINTS) {
    derivative(q, v, u, p, a[0]);
    for (int i = 0; i < N_JOINTS; ++i) { qs[i] = q[i] + h / 2 * v[i]; v2[i] = v[i] + h / 2 * a[0][i]; }
    derivative(qs, v2, u, p, a[1]);
    for (int i = 0; i < N_JOINTS; ++i) { qs[i] = q[i] + h / 2 * v2[i]; v3[i] = v[i] + h / 2 * a[1][i]; }
    derivative(qs, v3, u, p, a[2]);
    for (int i = 0; i < N_JOINTS; ++i) { qs[i] = q[i] + h * v3[i]; v4[i] = v[i] + h * a[2][i]; }
    derivative(qs, v4, u, p, a[3]);
    for (int i = 0; i < N_JOINTS; ++i) {
      q[N_JOINTS + i] = q[i] + h / 6 * (v[i] + 2 * v2[i] + 2 * v3[i] + v4[i]);
      v[N_JOINTS + i] = v[i] + h / 6 * (a[0][i] + 2 * a[1][i] + 2 * a[2][i] + a[3][i]);
    }
  }
}
"""
