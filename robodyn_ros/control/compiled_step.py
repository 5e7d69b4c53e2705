"""The control step of an arm, ready to be called: compiled where its law can be traced, else in Python.

:class:`CompiledStep` is the step as compiled code: (state, reference, memory, settings) → (efforts, flags, memory). The
settings are its runtime parameters: limits, gains, and the parameters of the model. :class:`ControlStep` is what the
control loop has: it keeps the memory, and runs the compiled step or the one in Python. Their text is one and the same,
:func:`robodyn_ros.control.step.control_step`.
"""

from __future__ import annotations

import logging
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
from robodyn_ros.control.limits import Shaping
from robodyn_ros.control.loop_settings import LoopSettings
from robodyn_ros.control.reference.manager import ReferenceManager
from robodyn_ros.control.step import (
    GravityEffort,
    LawInNumbers,
    StepResult,
    checked_total,
    control_step,
    split,
)
from robodyn_ros.control.step_numbers import StepMemory, StepSettings, joined, step_settings, views, width
from robodyn_ros.engine import Kernel, Program
from robodyn_ros.engine.tracing import Trace, TraceError, column, symbols
from robodyn_ros.errors import NotReadyError
from robodyn_ros.robot import Robot
from robodyn_ros.robot.pose import Array, read_only

if TYPE_CHECKING:
    import casadi as ca

log = logging.getLogger("robodyn_ros")

ROWS = ("effort", "saturated", "rate_limited", "gravity", "error", *Efforts._fields)
"""Rows of the compiled step's first result, each (n,): the effort to send first, the terms of the law last."""

FLAGS = ("is_finite", "any_saturated", "any_rate_limited")
"""Its second result, 0 or 1 each."""

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
    import casadi as ca

    return ca.reshape(column(rows), n, len(rows)).T


class CompiledStep:
    """The control step of a law, compiled; an object of this class belongs to one thread.

    Attributes:
        law: the control law.
        n: number of joints.
        follows: False for a law that lets somebody else move the arm.
        program: what is compiled.
        parameters: settings of the step, then those of the law: the runtime parameters of the compiled function.
    """

    def __init__(self, law: Controller, settings: StepSettings) -> None:
        """
        Args:
            law: the control law.
            settings: of the step.

        Raises:
            TraceError: the law cannot be traced.
            NotReadyError: there is nothing to run it with.
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
                self._slots  # noqa: B018  (it compiles the program, or finds out that there is none)
            except TraceError as cause:
                _known[key] = str(cause)
            else:
                _known[key] = ""
        if _known[key]:
            raise TraceError(_known[key])
        self.read_settings()

    @cached_property
    def kernel(self) -> Kernel:
        """The compiled function on its arrays; it is made when a step is run, for a sweep runs it in C."""
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
        """What the parameters are, in their order: name → how many numbers; those of the law begin with ``law.``."""
        own = {name: int(np.size(value)) for name, value in self._settings._asdict().items()}
        return own | {f"law.{path}": int(np.size(value)) for path, value in self._numbers.settings.items()}

    @property
    def law_memory(self) -> Array:
        """What the law remembers now."""
        return flat(law_numbers(self.law).memory)

    def restore_law(self, values: Array) -> None:
        """Give the law its memory, as :attr:`law_memory` has it."""
        for name, value in zip(self._numbers.memory, _parts(self._numbers.memory, values), strict=True):
            _remember(self.law, name, value if value.ndim else float(value))

    @property
    def is_current(self) -> bool:
        """True if it has the parameters of the model, as they are now."""
        return self.law.dynamics.parameters is self._seen

    def read_settings(self) -> bool:
        """Take over the settings of the law and the parameters of the model; False if other code is needed.

        Raises:
            Exception: whatever the law raises.
        """
        law, rest = self.law, np.zeros(self.law.dynamics.robot.n)
        with np.errstate(all="ignore"):  # the pose is nobody's
            law.compute(rest, rest, Reference(rest, rest, rest, rest))  # it may work something out of the parameters
        numbers, self._seen = law_numbers(law), law.dynamics.parameters
        if numbers.constants != self._numbers.constants:
            return False
        self.parameters[:] = joined([*self._settings, *numbers.settings.values()])
        return True

    def run(self, t: float, dt: float, q: Array, qd: Array, reference: Reference, memory: Array) -> bool:
        """Make a step; the arguments are those of :func:`robodyn_ros.control.step.control_step`.

        Args:
            t: time [s].
            dt: since the state before [s].
            q: position (n,).
            qd: velocity (n,).
            reference: what the arm should do.
            memory: numbers of the memory; is changed if the efforts are finite.

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
    """The arrays of the compiled function: what goes in, and what comes out."""

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
    """Give an attribute of a law its value, in its own array if it has one: others may read that."""
    held = getattr(law, name)
    if isinstance(held, np.ndarray) and held.ndim and held.flags.writeable:
        held[...] = value
    else:
        setattr(law, name, np.array(value) if np.ndim(value) else value)


class ControlStep:
    """Makes one control step after the other, and keeps what they remember.

    Attributes:
        compiled: the compiled step; None while the law runs as Python.
    """

    def __init__(self, references: ReferenceManager, shaping: Shaping, gravity: GravityEffort) -> None:
        """
        Args:
            references: where the reference comes from.
            shaping: has the memory.
            gravity: keeps what carries the arm.
        """
        self._references, self._shaping, self._gravity = references, shaping, gravity
        self.compiled: CompiledStep | None = None
        self._state: tuple[Array, Array]  # of the last step
        self._planned: tuple[Reference, Array | None]  # reference and planned efforts of the last step

    def apply(self, settings: LoopSettings, robot: Robot) -> None:
        """Work with these settings from the next step on.

        Args:
            settings: of the loop.
            robot: the arm.
        """
        limits = settings.limits
        self._controller, self._effort_limit = settings.controller, limits.effort
        self._settings = step_settings(
            robot, limits.effort, limits.rate, settings.feedback, settings.safety, settings.drives
        )
        self._shaping.settings = self._settings
        self._law = LawInNumbers(settings.controller, self._gravity)
        self._compile()

    def _compile(self) -> None:
        try:
            self.compiled = CompiledStep(self._controller, self._settings)
        except (TraceError, NotReadyError) as reason:
            log.debug("%s runs as Python: %s", type(self._controller).__name__, reason)
            self.compiled = None

    def save(self, memory: Any) -> None:
        """Write what it remembers into the memory of ``loop.c``."""
        for part, value in zip(vars(memory.memory).values(), self._shaping.memory, strict=True):
            part[...] = value
        memory.stepped[...] = 0

    def restore(self, memory: Any) -> None:
        """Read it from there."""
        for part, value in zip(self._shaping.memory, vars(memory.memory).values(), strict=True):
            part[...] = value
        if memory.stepped:
            self._state = memory.stepped_q.copy(), memory.stepped_qd.copy()
            planned = memory.stepped_planned.copy()
            reference = Reference(*memory.stepped_reference.reshape(4, -1).copy())
            self._planned = reference, None if np.isnan(planned).all() else planned

    def reset(self) -> None:
        """Begin anew: the integral is zero, the law has given nothing, and no joint lags."""
        memory = self._shaping.memory
        memory.integral[:] = memory.requested[:] = 0.0
        memory.has_requested[...] = memory.lagging[...] = 0.0

    def reference(self, t: float, dt: float, q: Array) -> Reference:
        """The reference for the arm at q (n,).

        Args:
            t: time of the state [s].
            dt: since the one before [s].
            q: position (n,).
        """
        controller = self._controller
        if self._shaping.memory.lagging:
            self._references.wait(dt)
        if not controller.follows:  # whoever moves the arm says where it is, and the next law begins there
            self._references.start(t, q)
        reference = self._references.reference(t, q)
        self._planned = reference, self._references.planned(t)
        return _with_planned_effort(controller, *self._planned)

    def change(self, controller: Controller) -> Array:
        """What the last effort of the law was more than another one's for the same state (n,), as if that had given it.

        Args:
            controller: of the same class and with the same model, but other gains or settings.

        Raises:
            EffortError: it gives efforts that are not n numbers.
            Exception: whatever a plugin raises.
        """
        memory = self._shaping.memory
        before = memory.requested.copy()
        if memory.has_requested:
            reference = _with_planned_effort(controller, *self._planned)
            law = LawInNumbers(controller, self._gravity)
            efforts = law.compute(*self._state, reference, memory.integral.copy())
            memory.requested[:] = split(efforts, law.gravity(self._state[0]), self._settings)[0].total
        lost: Array = before - memory.requested
        return lost

    def run(self, t: float, dt: float, q: Array, qd: Array, reference: Reference) -> StepResult:
        """Make a step (:func:`robodyn_ros.control.step.control_step`).

        Args:
            t: time of the state [s].
            dt: since the one before [s].
            q: position (n,).
            qd: velocity (n,).
            reference: what the arm should do.

        Raises:
            EffortError: the law gives efforts that are not n numbers.
            Exception: whatever a plugin raises.
        """
        self._state = q, qd
        compiled = self.compiled
        if compiled is not None and not compiled.is_current and not compiled.read_settings():
            self._compile()
            compiled = self.compiled
        if compiled is None:
            return self._run_in_numbers(t, dt, q, qd, reference)
        is_good = compiled.run(t, dt, q, qd, reference, self._shaping.numbers)
        result = compiled.result()
        if not is_good:
            self._gravity.take(result.gravity, q)
            checked_total(self._controller, result.efforts, len(q))
        self._gravity.last = result.gravity
        return result

    def _run_in_numbers(self, t: float, dt: float, q: Array, qd: Array, reference: Reference) -> StepResult:
        self._controller.look_ahead(self._references.ahead, self._effort_limit)
        result, after = control_step(self._law, t, dt, q, qd, reference, self._shaping.memory, self._settings)
        self._shaping.store(after)
        return result

    def check_tracking(self, t: float, q: Array, qd: Array, error: Array) -> None:
        """Hold the arm where a tolerance of the trajectory is violated."""
        if self._references.judge(t, error, qd):
            self._references.start(t, q)


# `add_planned` in loop.c is the same in C.
def _with_planned_effort(controller: Controller, reference: Reference, planned: Array | None) -> Reference:
    """The reference with that part of the planned efforts as feed-forward which the law does not give by itself.

    So an arm on its reference gets the planned effort under every law: all of it is feed-forward under a law without a
    model, and only friction or a payload, say, under a law that knows the rest. A joint with NaN has no planned effort.
    """
    if planned is None:
        return reference
    own = controller.compute(reference.q, reference.qd, reference).total
    return reference._replace(effort=np.where(np.isnan(planned), reference.effort, planned - own + reference.effort))
