# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Rollouts: motions of an arm in one call, without ROS and without hardware effects.

:func:`rollout` integrates the bare equations of motion M q̈ + C q̇ + g = τ by any integrator. Where there is a compiler,
the loop over the steps is C code around the arm's compiled forward dynamics; otherwise the same steps are made in
Python. :func:`simulate` runs a plant under a control law.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from robodyn_ros.checks import check, finite_state, finite_states
from robodyn_ros.control.laws.base import Controller, Reference
from robodyn_ros.control.step import checked_total
from robodyn_ros.dynamics.base import Dynamics
from robodyn_ros.errors import InputError, SimulationError
from robodyn_ros.robot.pose import Array
from robodyn_ros.simulation.integrators.base import Integrator, checked_step, under_effort
from robodyn_ros.simulation.plant.base import steps_of
from robodyn_ros.simulation.plant.joint_effects import stable_integrator
from robodyn_ros.simulation.plant.native import Plant, compiled_model, motion_library


class RolloutResult(NamedTuple):
    """States at the steps, the initial state included, (steps + 1, n) each."""

    q: Array  # [rad] or [m]
    qd: Array  # [rad/s] or [m/s]


def rollout(
    dynamics: Dynamics,
    q: ArrayLike,
    qd: ArrayLike,
    tau: ArrayLike,
    dt: float,
    steps: int,
    integrator: str | Integrator = "rk4",
) -> RolloutResult:
    """Integrate the forward dynamics from a state, with constant efforts over each step.

    Args:
        dynamics: the arm.
        q: initial positions (n,) in [rad] or [m].
        qd: initial velocities (n,) in [rad/s] or [m/s].
        tau: efforts, (n,) for all steps or (steps, n), in [N·m] or [N].
        dt: length of a step [s].
        steps: number of steps.
        integrator: an integrator, or the name of its plugin. Viscous friction of the dynamics that is too stiff for it
            is integrated by SDIRK4 (:mod:`robodyn_ros.simulation.plant.joint_effects`).

    Raises:
        InputError: a shape is wrong, a number is not finite, dt is not positive, or steps is negative.
        PluginError: there is no such integrator.
        SimulationError: a step failed, or a state became too large for a float.
        NotReadyError: the integrator is written in C alone, and there is no C compiler.
    """
    n = dynamics.robot.n
    check(np.isfinite(dt) and dt > 0.0, "dt", "positive and finite", dt)
    check(steps >= 0, "steps", "0 or more", steps)
    first, rate, efforts = finite_state("q", q, n), finite_state("qd", qd, n), finite_states("tau", tau, n)
    if efforts.shape not in ((n,), (steps, n)):
        raise InputError("tau", f"must be of shape ({n},) or ({steps}, {n}), not {efforts.shape}", tau)
    rule = stable_integrator(integrator, dynamics, np.zeros(n), dt)
    motion = RolloutResult(*np.full((2, steps + 1, n), np.nan))  # states that are not reached stay NaN
    motion.q[0], motion.qd[0] = first, rate
    try:
        with np.errstate(over="ignore", invalid="ignore"):  # reported as an error below
            whole = rule.motion(dynamics, first, rate, efforts, dt, steps)
            if whole is None:
                _rollout_stepwise(dynamics, motion, efforts, dt, rule)
            else:
                motion = RolloutResult(*whole)
    except InputError as cause:  # the dynamics refused a state that is not finite
        raise _overflow(motion, dt) from cause
    if not (np.isfinite(motion.q).all() and np.isfinite(motion.qd).all()):
        raise _overflow(motion, dt)
    return motion


def _overflow(motion: RolloutResult, dt: float) -> SimulationError:
    """The error for a motion that is not finite; it names the first such step and the state at its beginning."""
    step = int(np.flatnonzero(~np.isfinite(np.hstack(motion)).all(axis=1))[0]) - 1
    state = f"q = {motion.q[step]}, qd = {motion.qd[step]}"
    return SimulationError(f"step {step} of {dt:g} s, from {state}, leads beyond the range of numbers")


def _rollout_stepwise(dynamics: Dynamics, motion: RolloutResult, efforts: Array, dt: float, rule: Integrator) -> None:
    """Fill in the states after the initial one; its compiled loop is ``rollout`` in ``plant/motion.c``."""
    steps, n = len(motion.q) - 1, motion.q.shape[1]
    made, model = 0, compiled_model(dynamics)
    library = motion_library(model, rule) if model is not None and rule.code else None
    if model is not None and library is not None:
        pointers = (array.ctypes.data_as(ctypes.c_void_p) for array in (efforts, *motion, model.symbols))
        stride = 0 if efforts.ndim == 1 else n
        made = library.rollout(ctypes.c_longlong(steps), ctypes.c_double(dt), ctypes.c_longlong(stride), *pointers)
    for k in range(made, steps):  # all steps, or from the one that failed, which then raises its error
        acceleration = under_effort(dynamics, efforts if efforts.ndim == 1 else efforts[k])
        motion.q[k + 1], motion.qd[k + 1] = checked_step(rule, acceleration, motion.q[k], motion.qd[k], dt)


class RolloutRecording(NamedTuple):
    """The closed loop at N + 1 times; the last one is the end."""

    t: Array  # (N + 1,) [s]
    q: Array  # (N + 1, n) [rad] or [m]
    qd: Array  # (N + 1, n) [rad/s] or [m/s]
    reference: Array  # reference position (N + 1, n) [rad] or [m]
    effort: Array  # effort from each time on (N + 1, n) [N·m] or [N]; the last one does not act any more


def simulate(
    plant: Plant, controller: Controller, reference: Callable[[float], Reference], duration: float, held: int = 1
) -> RolloutRecording:
    """Run a plant under a control law. The integral of a joint stops while its effort is at the limit.

    Args:
        plant: the plant; it continues from its state.
        controller: the control law.
        reference: the reference at a time [s] of the plant.
        duration: duration [s], rounded to whole periods of the control.
        held: number of the plant's steps in a period of the control, over which an effort is held.

    Raises:
        InputError: the duration is negative or not finite, or a period has no step.
    """
    check(held >= 1, "held", "1 or more", held)
    step, n = held * plant.settings.step, plant.dynamics.robot.n
    count = steps_of(duration, step) + 1
    t, (q, qd, asked, effort) = np.empty(count), np.empty((4, count, n))
    integral, total, period = np.zeros(n), np.zeros(n), 0.0
    for index in range(count):
        if index:
            plant.step(held)
        now = reference(plant.time)
        controller.look_ahead(lambda ahead: reference(plant.time + ahead), plant.effort_limit)
        controller.advance(period, plant.q, plant.qd, now, total, plant.effort)
        period = step
        total = checked_total(controller, controller.compute(plant.q, plant.qd, now, integral), n)
        plant.apply(total)
        integral = integral + np.where(np.abs(total) > plant.effort_limit, 0.0, period * (now.q - plant.q))
        t[index], q[index], qd[index], asked[index], effort[index] = plant.time, plant.q, plant.qd, now.q, plant.effort
    return RolloutRecording(t, q, qd, asked, effort)
