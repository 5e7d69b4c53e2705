# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The compiled control step of an arm, for laws that can be traced.

:class:`CompiledStep` is the step as compiled code: (state, reference, memory, settings) → (efforts, flags, memory). The
settings are its runtime parameters: limits, gains, and the parameters of the model. It is compiled from
:func:`robodyn_ros.control.step.control_step`, which Python can run as well.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from robodyn_ros.control.laws.base import Controller, Efforts, Reference
from robodyn_ros.control.laws.traced import (
    LawNumbers,
    TracedLaw,
    flat,
    law_key,
    law_numbers,
    why_not_traced,
)
from robodyn_ros.control.step import StepResult, control_step
from robodyn_ros.control.step_numbers import StepMemory, StepSettings, joined, views, width
from robodyn_ros.engine import Kernel, Program
from robodyn_ros.engine.tracing import Trace, TraceError, column, symbols
from robodyn_ros.robot import Robot
from robodyn_ros.robot.pose import Array, read_only

if TYPE_CHECKING:
    import casadi as ca

ROWS = ("effort", "saturated", "rate_limited", "gravity", "error", *Efforts._fields)
"""Rows of the compiled step's first result, each (n,): the effort to send first, the terms of the law last."""

FLAGS = ("is_finite", "any_saturated", "any_rate_limited")
"""Elements of its second result, each 0 or 1."""

REST = 5
"""Number of rows before the terms of the law."""

_known: dict[str, str] = {}
"""Key of a step that was made in this process → why it cannot be traced; "" if it can."""


def step_program(law: Controller, numbers: LawNumbers) -> Program:
    """The control step of a law as a program.

    Its inputs are times (t, dt), q, q̇, the reference (q, q̇, q̈, effort), and the memories of step and law; its runtime
    parameters are the settings of the step and of the law. Its results are :data:`ROWS`, :data:`FLAGS` and both
    memories.
    """
    n = law.dynamics.robot.n
    remembered = len(flat(numbers.memory))
    inputs = (
        ("times", 2),
        *((name, n) for name in ("q", "qd", *(f"reference_{name}" for name in Reference._fields))),
        ("memory", width(StepMemory, n)),
        ("law_memory", remembered),
    )
    shapes: tuple[tuple[int, ...], ...] = ((len(ROWS), n), (len(FLAGS),), (width(StepMemory, n),), (remembered,))

    def build() -> tuple[list[ca.SX], list[ca.SX]]:
        trace = Trace()
        traced = TracedLaw(law, trace)
        given = [symbols(name, (size,)) for name, size in inputs[:-1]]
        times, q, qd, *reference, memory = given
        limits, law_memory = symbols("settings", (width(StepSettings, n),)), column(traced.memory)
        result, after = control_step(
            traced,
            times[0],
            times[1],
            q,
            qd,
            Reference(*reference),
            views(StepMemory, memory, n),
            views(StepSettings, limits, n),
        )
        efforts = result.efforts
        is_finite = np.all(np.isfinite(efforts.total)) & np.all(np.isfinite(result.gravity))
        flags = (is_finite, np.any(result.saturated), np.any(result.rate_limited))
        rows = ca_rows([*(getattr(result, name) for name in ROWS[:REST]), *efforts], n)
        return (
            [*(column([value]) for value in given), law_memory, column([limits, *traced.settings])],
            [rows, column(flags), column(after), column(traced.memory)],
        )

    return Program("step", law_key(law, numbers), inputs, shapes, build)


def ca_rows(rows: list[Any], n: int) -> ca.SX:
    """Rows of n elements as one matrix."""
    from robodyn_ros.engine.casadi import ca

    return ca.reshape(column(rows), n, len(rows)).T


class CompiledStep:
    """The control step of a law, compiled; an object of this class belongs to one thread.

    Attributes:
        law: the control law.
        n: number of joints.
        follows: False for a law with which the arm is moved by hand.
        program: the program that is compiled.
        parameters: settings of the step, then those of the law: the runtime parameters of the compiled function.
    """

    def __init__(self, law: Controller, settings: StepSettings) -> None:
        """
        Args:
            law: the control law.
            settings: of the step.

        Raises:
            TraceError: the law cannot be traced.
            NotReadyError: there is neither a compiler nor CasADi to run it with.
        """
        problem = why_not_traced(law)
        if problem:
            raise TraceError(problem)
        self.law, self._settings = law, settings
        self.n = n = law.dynamics.robot.n
        self.follows = law.follows
        self._numbers = law_numbers(law)
        self.program = step_program(law, self._numbers)
        self.parameters = np.zeros(width(StepSettings, n) + len(flat(self._numbers.settings)))
        self._nowhere = read_only(np.zeros(n)) != 0.0
        key = self.program.key
        if key not in _known:
            try:
                self._slots  # noqa: B018  (it compiles the program, or raises if there is none)
            except TraceError as cause:
                _known[key] = str(cause)
            else:
                _known[key] = ""
        if _known[key]:
            raise TraceError(_known[key])
        self.read_settings()

    @cached_property
    def kernel(self) -> Kernel:
        """The compiled function on its arrays; made when a step is run, because a sweep runs it in C."""
        return Kernel(self.program, self.parameters)

    @cached_property
    def _slots(self) -> _Slots:
        kernel, numbers = self.kernel, self._numbers.memory
        times, *states, memory, law_memory = kernel.inputs
        rows, flags, after, law_after = kernel.results
        remembered = zip(numbers, _parts(numbers, law_memory), _parts(numbers, law_after), strict=True)
        return _Slots(
            times.data, [item.data for item in states], memory.data, rows, flags.data, after, list(remembered)
        )

    @property
    def robot(self) -> Robot:
        """The arm."""
        return self.law.dynamics.robot

    @property
    def setting_sizes(self) -> dict[str, int]:
        """Names of the parameters, in their order → count of numbers; those of the law begin with ``law.``."""
        own = {name: int(np.size(value)) for name, value in self._settings._asdict().items()}
        return own | {f"law.{path}": int(np.size(value)) for path, value in self._numbers.settings.items()}

    @property
    def law_memory(self) -> Array:
        """The present memory of the law."""
        return flat({name: getattr(self.law, name) for name in self._numbers.memory})

    def restore_law(self, values: Array) -> None:
        """Set the memory of the law, in the form of :attr:`law_memory`."""
        for name, value in zip(self._numbers.memory, _parts(self._numbers.memory, values), strict=True):
            _remember(self.law, name, value if value.ndim else float(value))

    def read_settings(self) -> bool:
        """Take over the settings of the law and the parameters of the model; False if other code is needed.

        Raises:
            Exception: whatever the law raises.
        """
        law, rest = self.law, np.zeros(self.law.dynamics.robot.n)
        with np.errstate(all="ignore"):  # the pose is arbitrary
            law.compute(rest, rest, Reference(rest, rest, rest, rest))  # it may read the parameters of the model
        numbers, self._seen = law_numbers(law), law.dynamics.parameters
        if numbers.constants != self._numbers.constants:
            return False
        self.parameters[:] = joined([*self._settings, *numbers.settings.values()])
        return True

    def run(self, t: float, dt: float, q: Array, qd: Array, reference: Reference, memory: Array) -> bool:
        """Make a step; the arguments are those of :func:`robodyn_ros.control.step.control_step`.

        Args:
            t: time [s].
            dt: time since the state before [s].
            q: position (n,).
            qd: velocity (n,).
            reference: the desired motion.
            memory: numbers of the memory; changed in place if the efforts are finite.

        Returns:
            True if the efforts are finite.
        """
        slots, law = self._slots, self.law
        slots.times[0], slots.times[1] = t, dt
        for slot, value in zip(slots.states, (q, qd, *reference), strict=True):
            slot[:] = value
        slots.memory[:] = memory.data
        for name, before, _ in slots.remembered:
            before[...] = getattr(law, name)
        self.kernel.evaluate()
        for name, before, after in slots.remembered:
            _remember(law, name, after if before.ndim else float(after))
        if not slots.flags[0]:
            return False
        memory[:] = slots.after
        return True

    def result(self) -> StepResult:
        """The result of the last step, in arrays of its own."""
        slots = self._slots
        effort, saturated, rate_limited, gravity, error, *terms = slots.rows.copy()
        return StepResult(
            effort,
            saturated != 0.0 if slots.flags[1] else self._nowhere,
            rate_limited != 0.0 if slots.flags[2] else self._nowhere,
            gravity,
            Efforts(*terms),
            error,
        )


class _Slots(NamedTuple):
    """The arrays of the compiled function: its inputs and its results."""

    times: Any
    states: list[Any]
    memory: Any
    rows: Array
    flags: Any
    after: Array
    remembered: list[tuple[str, Array, Array]]  # attribute of the law, before and after the step


def _parts(numbers: dict[str, Any], values: Array) -> list[Array]:
    """Views of the parts of an array, in the shapes of numbers."""
    bounds = np.cumsum([0, *(np.size(value) for value in numbers.values())])
    shapes = map(np.shape, numbers.values())
    return [values[a:b].reshape(shape) for a, b, shape in zip(bounds[:-1], bounds[1:], shapes, strict=True)]


def _remember(law: Controller, name: str, value: Any) -> None:
    """Set an attribute of a law, in place if it is an array, because other code may read that array."""
    held = getattr(law, name)
    if isinstance(held, np.ndarray) and held.ndim and held.flags.writeable:
        held[...] = value
    else:
        setattr(law, name, np.array(value) if np.ndim(value) else value)
