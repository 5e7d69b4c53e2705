# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The control step (:func:`robodyn_ros.control.step.control_step`) as compiled code, for laws that can be traced:
:class:`CompiledStep` for the control loop, :class:`LawStep` for one of your own, in place, or for many arms at once.
:class:`ControlLoop` does more: it checks states, manages references and reacts to faults.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from robodyn_ros.control import step as steps
from robodyn_ros.control.drives import DriveCompensation
from robodyn_ros.control.faults.settings import SafetySettings
from robodyn_ros.control.laws.base import Controller, Efforts, Reference
from robodyn_ros.control.laws.traced import LawNumbers, TracedLaw, law_key, law_numbers, unflat, why_not_traced
from robodyn_ros.control.limits import Limits
from robodyn_ros.control.loop_settings import LoopSettings, law_feedback
from robodyn_ros.control.motion.goals import Tolerances
from robodyn_ros.control.step import StepMemory, StepResult, StepSettings, joined, step_settings, views, width
from robodyn_ros.engine import Kernel, Program
from robodyn_ros.engine.casadi import ca
from robodyn_ros.engine.tracing import TraceError, column, symbols
from robodyn_ros.robot.pose import Array

ROWS = ("effort", "saturated", "rate_limited", "gravity", "error", *Efforts._fields)
"""Rows of the compiled step's first result, each (n,): the effort to send first, the terms of the law last."""

FLAGS = ("is_finite", "any_saturated", "any_rate_limited")  #: Elements of its second result, each 0 or 1.
REST = 5  #: Number of rows before the terms of the law.
_known: dict[str, str] = {}  #: Key of a step that was made in this process → why it cannot be traced; "" if it can.


def step_program(law: Controller, numbers: LawNumbers) -> Program:
    """The control step of a law as a program.

    Its inputs are times (t, dt), q, q̇, the reference (q, q̇, q̈, effort), and the memories of step and law; its
    parameters the settings of both. Its results are :data:`ROWS`, :data:`FLAGS` and both memories.
    """
    n = law.dynamics.robot.n
    kept = len(joined(numbers.memory.values()))
    state = "q", "qd", *(f"reference_{name}" for name in Reference._fields)
    inputs = (("times", 2), *((name, n) for name in state), ("memory", width(StepMemory, n)), ("law_memory", kept))
    shapes: tuple[tuple[int, ...], ...] = ((len(ROWS), n), (len(FLAGS),), (width(StepMemory, n),), (kept,))

    def build() -> tuple[list[ca.SX], list[ca.SX]]:
        traced: Any = TracedLaw(law)  # in place of a law in numbers
        given = [symbols(name, (size,)) for name, size in inputs[:-1]]
        times, q, qd, *reference, memory = given
        limits, law_memory = symbols("settings", (width(StepSettings, n),)), column(traced.memory)
        parts = views(StepMemory, memory, n), views(StepSettings, limits, n)
        result, after = steps.control_step(traced, times[0], times[1], q, qd, Reference(*reference), *parts)
        efforts = result.efforts
        is_finite = np.all(np.isfinite(efforts.total)) & np.all(np.isfinite(result.gravity))
        flags = (is_finite, np.any(result.saturated), np.any(result.rate_limited))
        rows = column([*(getattr(result, name) for name in ROWS[:REST]), *efforts])
        taken = [*(column([value]) for value in given), law_memory, column([limits, *traced.settings])]
        return taken, [ca.reshape(rows, n, len(ROWS)).T, column(flags), column(after), column(traced.memory)]

    return Program("step", law_key(law, numbers), inputs, shapes, build)


def trace_problem(law: Controller) -> str:
    """Why a law cannot be traced; "" if it can."""
    if problem := why_not_traced(law):
        return problem
    try:
        step_program(law, law_numbers(law)).build()
    except TraceError as cause:
        return str(cause)
    return ""


class CompiledStep:
    """The control step of a law, compiled: its program, and ``parameters``, the settings of the step, then those of
    the law: the runtime parameters. An object of this class belongs to one thread.
    """

    def __init__(self, settings: LoopSettings) -> None:
        """TraceError: the law cannot be traced. NotReadyError: there is neither a compiler nor CasADi."""
        self.law = law = settings.controller
        if problem := why_not_traced(law):
            raise TraceError(problem)
        self._settings = step_settings(settings)
        self.n = law.dynamics.robot.n
        self.follows = law.follows
        self._numbers = law_numbers(law)
        self.program = step_program(law, self._numbers)
        self.parameters = joined([*self._settings, *self._numbers.settings.values()])
        key = self.program.key
        if key not in _known:
            try:
                self.kernel  # noqa: B018  (it compiles the program, or raises if there is none)
            except TraceError as cause:
                _known[key] = str(cause)
        if problem := _known.setdefault(key, ""):
            raise TraceError(problem)
        self.read_settings()

    @cached_property
    def kernel(self) -> Kernel:
        """The compiled function on its arrays; made when a step is run, because a sweep runs it in C."""
        return Kernel(self.program, self.parameters)

    @property
    def setting_sizes(self) -> dict[str, int]:
        """Names of the parameters, in their order → count of numbers; those of the law begin with ``law.``."""
        own = {name: int(np.size(value)) for name, value in self._settings._asdict().items()}
        return own | {f"law.{path}": int(np.size(value)) for path, value in self._numbers.settings.items()}

    @property
    def law_memory(self) -> Array:
        """The present memory of the law."""
        return joined(getattr(self.law, name) for name in self._numbers.memory)

    def restore_law(self, values: Array) -> None:
        """Set the memory of the law, in the form of :attr:`law_memory`."""
        for name, value in unflat(self._numbers.memory, values).items():
            held = getattr(self.law, name)
            if isinstance(held, np.ndarray) and held.ndim and held.flags.writeable:
                held[...] = value  # in place, because other code may read that array
            else:
                setattr(self.law, name, value.copy() if value.ndim else float(value))

    def read_settings(self) -> bool:
        """Take over the settings of the law and the parameters of the model; False if other code is needed."""
        law, rest = self.law, np.zeros(self.law.dynamics.robot.n)
        with np.errstate(all="ignore"):  # the pose is arbitrary
            law.compute(rest, rest, Reference(rest, rest, rest, rest))  # it may read the parameters of the model
        numbers, self._seen = law_numbers(law), law.dynamics.parameters
        if numbers.constants != self._numbers.constants:
            return False
        self.parameters[:] = joined([*self._settings, *numbers.settings.values()])
        return True


class LawStep:
    """The control step of a traced law: law, soft limits, limits of effort and rate.

    In place: write ``q``, ``qd`` (n,) and the four arrays of ``reference``, call :meth:`evaluate`, read ``effort``
    (n,). It checks nothing and allocates nothing. An object of this class belongs to one thread, and has the memory of
    one arm.

    Attributes:
        q, qd, reference: the state and the desired motion; to be written.
        effort, efforts: to send, in [N·m] or [N], and the terms of the law; to be read.
        flags: (3,), 0 or 1: all efforts are finite; any is saturated; any is rate-limited.
        memory, law_memory: of the step (m,), and of the law (l,).
    """

    def __init__(
        self,
        controller: Controller,
        effort_limit: ArrayLike | None = None,
        rate_limit: ArrayLike | None = None,
        safety: SafetySettings | None = None,
        drives: DriveCompensation | None = None,
    ) -> None:
        """Args:
            controller: the control law.
            effort_limit: (n,), not negative, in [N·m] or [N]; the URDF's unless given.
            rate_limit: of the effort, (n,) in [N·m/s] or [N/s]; none unless given.
            safety, drives: margin of the soft limits, bound of the integral; the drives' own compensation.

        Raises:
            TraceError: the law cannot be traced; the message says why.
            InputError: a limit of the wrong shape, negative or NaN.
        """
        robot, self._given = controller.dynamics.robot, (controller, effort_limit, rate_limit, safety, drives)
        limits = Limits.of(robot, robot.effort_limit if effort_limit is None else effort_limit, rate_limit)
        given = controller, limits, law_feedback(controller), Tolerances.none(robot.n), safety or SafetySettings()
        self._step = CompiledStep(LoopSettings(*given, drives=drives))
        kernel = self._step.kernel
        self._times, self.q, self.qd, *reference, self.memory, self.law_memory = kernel.inputs
        rows, self.flags, self._after, self._law_after = kernel.results
        self.reference, self.effort, self.efforts = Reference(*reference), rows[0], Efforts(*rows[REST:])
        self._kernel, self._first = kernel, steps.first_memory(robot.n)
        self.reset()

    def __reduce__(self) -> tuple[Any, ...]:
        """A copy or a pickle is made anew, because the step owns memory, and goes on with the same numbers."""
        return type(self), self._given, tuple(array.copy() for array in (*self._kernel.inputs, *self._kernel.results))

    def __setstate__(self, numbers: tuple[Array, ...]) -> None:
        for array, values in zip((*self._kernel.inputs, *self._kernel.results), numbers, strict=True):
            array[...] = values

    def reset(self) -> None:
        """Make the next step the first one; the law's memory becomes that of the law object."""
        self._times[:] = 0.0
        self.memory[:], self.law_memory[:] = self._first, self._step.law_memory

    def evaluate(self, dt: float) -> None:
        """Make a step in place, a time dt after the one before [s]; 0 in the first step."""
        self._times[0] += dt
        self._times[1] = dt
        self._kernel.evaluate()
        if self.flags[0]:
            self.memory[:], self.law_memory[:] = self._after, self._law_after

    def period(
        self, dt: float, q: Array, qd: Array, reference: Reference, integral: Array, asked: Array, sent: Array
    ) -> Efforts:
        """The terms of the law as of :meth:`Controller.advance` and then :meth:`Controller.compute`, whatever the steps
        before; in a period of 0 nothing counts as asked or sent.
        """
        memory = views(StepMemory, self.memory, len(q))
        for slot, value in zip((self.q, self.qd, *self.reference), (q, qd, *reference), strict=True):
            slot[:] = value
        memory.integral[:], memory.cut[:] = integral, reference.q - q  # so that the integral stays as it is
        memory.requested[:], memory.sent[:], memory.added[:] = asked, sent, 0.0
        memory.has_requested[...] = memory.is_sending[...] = dt > 0.0
        self.evaluate(dt)
        return Efforts(*(term.copy() for term in self.efforts))

    def many(
        self, t: Array, dt: Array, q: Array, qd: Array, reference: Reference, memory: Array, law_memory: Array
    ) -> tuple[StepResult, Array, Array]:
        """A step of each of N arms of this kind: the results, (N, n) each, and both memories after it.

        Args:
            t, dt: time, and time since the step before [s], (N,); they may differ.
            q, qd: positions and velocities, (N, n).
            reference: their desired motions, (N, n) each.
            memory, law_memory: of their steps (N, m) and laws (N, l); at first, those of a new object.

        Raises:
            InputError: an array has the wrong shape, or holds a NaN or an infinity.
        """
        given = np.column_stack([t, dt]), q, qd, *reference, memory, law_memory
        rows, _, after, law_after = self._kernel.call(*given)
        effort, saturated, rate_limited, gravity, error, *terms = np.moveaxis(rows, 1, 0)
        result = StepResult(effort, saturated != 0.0, rate_limited != 0.0, gravity, Efforts(*terms), error)
        return result, after, law_after
