"""The control loop in C: what ``loop.c`` does, and its memory in the words of the loop in Python.

``loop.c`` is the twin of :class:`robodyn_ros.control.loop.ControlLoop` for every period in which nothing is amiss, and,
in a thread of its own that does not ask Python, for the answers to faults as well. What it does not know (a law that
cannot be traced, a model without compiled code) runs in Python.

There is one memory at a time. :meth:`CompiledLoop.load` gives C what the loop in Python remembers, and
:meth:`CompiledLoop.store` takes it back; each part of the loop has ``save`` and ``restore`` for that, with the names
of ``loop.c``.
"""

from __future__ import annotations

import ctypes
import logging
from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, Protocol, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robodyn_ros.control.compiled_step import ROWS, CompiledStep
from robodyn_ros.control.contact.settings import Contact, ContactThresholds
from robodyn_ros.control.drive_compensation import DriveCompensation
from robodyn_ros.control.faults import dead_reckoning, plausibility, sampling, state_validation
from robodyn_ros.control.faults.settings import PHASES, FaultKind, FaultReactions
from robodyn_ros.control.faults.supervisor import (
    EASE,
    MOST_BEGINS,
    STEEP,
    TRAIL,
    TRAIL_PERIOD,
    ActiveFault,
    following_tolerance,
)
from robodyn_ros.control.laws.base import Controller, Efforts, Reference
from robodyn_ros.control.laws.traced import kind_problem
from robodyn_ros.control.limits import EFFORT_ROUNDING, INSTANT, NEVER
from robodyn_ros.control.loop_settings import LoopSettings
from robodyn_ros.control.reference import lead, path_time
from robodyn_ros.control.reference.continuation import Continuation
from robodyn_ros.control.step import Command
from robodyn_ros.dynamics.base import Dynamics
from robodyn_ros.dynamics.compiled import CompiledDynamics
from robodyn_ros.engine.c_functions import run_library, start_library_of, text_key
from robodyn_ros.engine.c_structs import CStructs, Record
from robodyn_ros.engine.kernel import bound_function
from robodyn_ros.engine.library import is_listing, loaded, start_library
from robodyn_ros.errors import NotReadyError
from robodyn_ros.robot import Robot
from robodyn_ros.robot.configuration import TURN, ConfigurationSpace
from robodyn_ros.robot.pose import Array, read_only

log = logging.getLogger("robodyn_ros")

CODE = Path(__file__).with_name("loop.c")

SENT, SETTLED, NOTHING, PYTHON, STALE, UNORDERED, JUMPED, NOT_FINITE, NO_VELOCITY, FAILED, UNSTARTED = range(11)
"""What ``update`` and ``watch`` give, as in the enum of ``loop.c``."""

KINDS = cast(tuple[FaultKind, ...], FaultReactions._fields)

LEVELS = 3
"""How often a reaction can escalate, and one: each level has its answer."""

SIZES = {
    "KINDS": len(KINDS),
    "DEGREES": 6,
    "REFERENCES": len(Reference._fields),
    "ROWS": len(ROWS),
    "LEVELS": LEVELS,
    "TRAIL": TRAIL,
}
"""Names in the sizes of arrays in ``loop.c``, besides N."""

CONSTANTS = {
    "turn": TURN,
    "trail_period": TRAIL_PERIOD,
    "ease": EASE,
    "almost": state_validation.ALMOST,
    "most_ahead": state_validation.AHEAD,
    "first_periods": sampling.FIRST,
    "sampling_memory": sampling.MEMORY,
    "sampling_change": sampling.CHANGE,
    "reassess": sampling.REASSESS,
    "interval": plausibility.ALMOST,
    "ratio": plausibility.RATIO,
    "distance": plausibility.DISTANCE,
    "stands": plausibility.STANDS,
    "slip": plausibility.SLIP,
    "settle": plausibility.SETTLE,
    "settled": plausibility.SETTLED,
    "static_ratio": plausibility.STATIC,
    "wrong_load": plausibility.LOAD,
    "learn": plausibility.LEARN,
    "forget": plausibility.FORGET,
    "gap": plausibility.GAP,
    "gaps": plausibility.GAPS,
    "usual_count": plausibility.USUAL,
    "margin": plausibility.END,
    "life": plausibility.LIFE,
    "proof_distance": plausibility.PROOF,
    "lead_time": lead.LEAD_TIME,
    "lead_speed": lead.SPEED,
    "lead_acceleration": lead.ACCELERATION,
    "path_acceleration": path_time.ACCELERATION,
    "never": NEVER,
    "effort_rounding": EFFORT_ROUNDING,
    "instant": INSTANT,
    "lost_most": plausibility.LOST,
    "stunned_most": plausibility.STUNNED,
    "stop_time": dead_reckoning.STOP,
    "reckon_step": dead_reckoning.STEP,
    "reckon_steps": dead_reckoning.STEPS,
    "steep": STEEP,
    "similar": plausibility.SIMILAR,
    "votes": plausibility.VOTES,
}
"""Numbers in the struct ``Settings`` that are the same for every loop: name there → value."""

MODEL = ("gravity", "inverse", "forward")
"""Functions of the model that ``loop.c`` calls."""

_new: Any = tuple.__new__
_item: Any = tuple.__getitem__

JUDGE = ctypes.CFUNCTYPE(None)


def loop_sizes() -> dict[str, int]:
    """Names in the sizes of arrays in ``loop.c``, besides N, and their values."""
    return dict(SIZES)


@lru_cache(maxsize=8)
def loop_source(n: int, around: Path | None = None) -> str:
    """The loop in C for n joints, and the code ``around`` that calls it."""
    loop = f"#define N {n}\n{CODE.read_text(encoding='utf-8')}"
    return loop if around is None else f"#define _GNU_SOURCE\n{loop}\n{around.read_text(encoding='utf-8')}"


def loop_library(n: int, around: Path | None = None) -> Any:
    """The library of ``loop.c`` for n joints, loaded once in a process; None without a compiler.

    Args:
        n: number of joints.
        around: C code that calls the loop, compiled with it; none unless given.
    """
    around = around or _around.get(n)
    source = loop_source(n, around)
    return loaded("loop" if around is None else around.stem, text_key(source), lambda: source)


_around: dict[int, Path] = {}
"""Number of joints → code around the loop whose library this process has begun, which has the loop in it."""


def start_loop(n: int, law: type[Controller], around: Path | None = None) -> None:
    """Begin to compile the loop of n joints, beside the program's work (:func:`.start_library`).

    Args:
        n: number of joints.
        law: class of the control law.
        around: C code that calls the loop and will be needed whatever the law (:func:`.loop_library`).
    """
    if around is None and kind_problem(law):
        return
    source = loop_source(n, around)
    start_library("loop" if around is None else around.stem, text_key(source), partial(str, source))
    if around is not None and not is_listing():
        _around[n] = around


def start_model(dynamics: Dynamics, law: type[Controller]) -> None:
    """Begin to compile what the loop calls of a model.

    Args:
        dynamics: the model.
        law: class of the control law.
    """
    if isinstance(dynamics, CompiledDynamics) and dynamics.compiled and not kind_problem(law):
        for quantity in set(MODEL).difference(dynamics.replaced()):
            start_library_of(dynamics.program(quantity))


class CompiledCommand(Command):
    """A command from C: terms, reference, error and state are made of the rows of numbers when they are asked for.

    A view of a row takes as long as a fifth of the period in C, and who sends the effort needs no other.
    """

    __slots__ = ()

    @property
    def efforts(self) -> Efforts:
        """See :class:`Command`."""
        return cast(Efforts, _new(Efforts, _item(self, 4)[11:]))

    @property
    def reference(self) -> Reference:
        """See :class:`Command`."""
        return cast(Reference, _new(Reference, _item(self, 5)[2:6]))

    @property
    def error(self) -> Array:
        """See :class:`Command`."""
        return cast(Array, _item(self, 6)[10])

    @property
    def state(self) -> tuple[Array, Array]:
        """See :class:`Command`."""
        q, qd = _item(self, 9)[:2]
        return q, qd

    # As a tuple it holds what a plain command holds, and a copy of it is a plain one.

    def __iter__(self) -> Iterator[Any]:
        return iter([getattr(self, name) for name in self._fields])

    def __getitem__(self, index: Any) -> Any:
        return tuple(self)[index]

    @classmethod
    def _make(cls, iterable: Any) -> Command:  # type: ignore[override]
        return Command(*iterable)

    def __reduce__(self) -> Any:
        return Command, tuple(self)

    def __repr__(self) -> str:
        return repr(Command(*self))


class PythonLoop(Protocol):
    """What C needs of :class:`robodyn_ros.control.loop.ControlLoop`."""

    settings: LoopSettings

    @property
    def robot(self) -> Robot:
        """The arm."""

    @property
    def dynamics(self) -> Dynamics:
        """Its model."""

    @property
    def fault(self) -> ActiveFault | None:
        """The fault that lasts."""

    @property
    def compiled_step(self) -> CompiledStep | None:
        """The control step as compiled code."""

    def save(self, memory: Any, motion: Callable[[Continuation], int]) -> None:
        """Write what it remembers into the struct ``State``."""

    def restore(self, memory: Any, motion: Callable[[int], Continuation | None]) -> None:
        """Read it from there."""

    def judge_rate(self, memory: Any) -> None:
        """Judge the rate of the states that C has measured."""


class CompiledSettings:
    """The settings of a loop as C has them. What C reads stays as it is, and alive, as long as this object.

    Attributes:
        record: the struct ``Settings``.
        step: the control step that it is for.
        law_memory: memory of the law, as C has it.
        flags: of the latest control step (:data:`.compiled_step.FLAGS`).
    """

    def __init__(self, structs: CStructs, settings: LoopSettings, step: CompiledStep, memory: int) -> None:
        """
        Args:
            structs: of ``loop.c``.
            settings: of the loop.
            step: its control step, compiled.
            memory: address of the memory of the control step.

        Raises:
            NotReadyError: the model, or this machine, has no compiled code; the message says why.
        """
        law, limits, safety = settings.controller, settings.limits, settings.safety
        dynamics, robot = law.dynamics, law.dynamics.robot
        library = run_library(step.program)
        if library is None or not isinstance(dynamics, CompiledDynamics):
            raise NotReadyError("there is no compiled code of the control step")
        functions = {name: dynamics.plain_function(name) for name in MODEL}
        if None in functions.values():
            raise NotReadyError(f"there is no compiled code of the model {type(dynamics).__name__}")
        self.step = step
        self._arrays = step_arrays(step, memory)
        self.law_memory: Array = self._arrays[1]
        self.flags: Array = self._arrays[2]
        self._constants = np.zeros(ctypes.c_int.in_dll(library, "step_constants").value)
        self._model = dynamics.symbols.copy()
        parameters = step.parameters
        library.step_prepare(*(ctypes.c_void_p(item.ctypes.data) for item in (parameters, self._constants)))
        self.record: Record = structs.make("Settings")
        thresholds = plausibility.Thresholds.of(settings)
        ladder = [[reaction.escalated(level) for level in range(LEVELS)] for reaction in settings.reactions]
        observed = self._observer_values(settings.contact)
        values = {
            "step_run": ctypes.cast(library.step_run, ctypes.c_void_p).value,
            **{name: ctypes.cast(function, ctypes.c_void_p).value for name, function in functions.items()},
            "step_arrays": self._arrays[0].ctypes.data,
            "step_constants": self._constants.ctypes.data,
            "model": self._model.ctypes.data,
            "law_memory_width": len(self.law_memory),
            "follows": step.follows,
            "estimates_velocity": safety.missing_velocity != "refuse",
            "circular": ConfigurationSpace(robot).circular,
            "answers": [PHASES.index(answer) for answers in ladder for answer in answers],
            "needs_quiet": [reaction.needs_quiet for reaction in settings.reactions],
            **observed,
            "expiry": [reaction.expiry for reaction in settings.reactions],
            "sent_part": 1.0 - (settings.drives or DriveCompensation.none(robot.n)).gravity,
            "velocity_limit": limits.velocity,
            "greatest_speed": safety.overspeed * limits.velocity,
            "tolerance": following_tolerance(settings),
            "effort_limit": limits.effort,
            "rate_limit": limits.rate,
            "lower": robot.lower,
            "upper": robot.upper,
            "stiffness": settings.feedback.stiffness,
            "damping": settings.feedback.damping,
            **thresholds._asdict(),
            **CONSTANTS,
        }
        for name, view in vars(self.record.fields).items():
            if name in values:
                view[...] = values[name]
            elif name != "judge":
                view[...] = getattr(safety, name)

    def _observer_values(self, contact: Contact | None) -> dict[str, Any]:
        """What C needs to observe contacts.

        Raises:
            NotReadyError: the observer has no compiled code.
        """
        if contact is None:
            return dict.fromkeys(OBSERVER, 0)
        observer = contact.observer
        library = None if observer.program is None else run_library(observer.program)
        if library is None or observer.program is None:
            raise NotReadyError("there is no compiled code of the observer of contacts")
        observer.read_parameters()
        widths_in, widths_out = observer.program.widths
        parts = [np.zeros(width) for width in (*widths_in, len(observer.parameters), *widths_out)]
        parts[len(widths_in)][:] = observer.parameters
        addresses = np.array([part.ctypes.data for part in parts], dtype=np.int64)
        constants = np.zeros(ctypes.c_int.in_dll(library, "contact_constants").value)
        library.contact_prepare(*(ctypes.c_void_p(item.ctypes.data) for item in (parts[len(widths_in)], constants)))
        self._observer = library, parts, addresses, constants
        run, bounds = ctypes.cast(library.contact_run, ctypes.c_void_p).value, contact.thresholds
        values = run, addresses.ctypes.data, constants.ctypes.data, contact.judges, *bounds
        return dict(zip(OBSERVER, values, strict=True))


OBSERVER = ("observer_run", "observer_arrays", "observer_constants", "judges_contact", *ContactThresholds._fields)
"""Names of what C needs to observe contacts, in the struct ``Settings``."""


def step_arrays(step: CompiledStep, memory: int) -> tuple[NDArray[np.int64], Array, Array, Array]:
    """The addresses of the arrays of a control step, which the code of a loop works on.

    Args:
        step: the compiled step.
        memory: address of its memory.

    Returns:
        The addresses in the order of the code, the memory of the law, the flags, and all arrays in one.
    """
    widths_in, widths_out = step.program.widths
    widths = (*widths_in, len(step.parameters), *widths_out)
    block = np.zeros(sum(widths))
    parts = np.split(block, np.cumsum(widths)[:-1])
    count = len(widths_in)
    addresses = np.array([part.ctypes.data for part in parts], dtype=np.int64)
    addresses[count - 2] = memory
    parts[count - 1][:], parts[count][:] = step.law_memory, step.parameters
    return addresses, parts[count - 1], parts[count + 2], block


class CompiledMotion:
    """A trajectory from a given motion on, as C has it."""

    def __init__(self, structs: CStructs, motion: Continuation) -> None:
        """
        Args:
            structs: of ``loop.c``.
            motion: the trajectory.
        """
        trajectory, columns, turn = motion.trajectory, motion.columns, motion.turn
        self.record: Record = structs.make("Motion")
        way, bernstein = motion.way.bernstein, np.ascontiguousarray(trajectory.bernstein)
        first, last = (np.ascontiguousarray(trajectory.positions[row]) for row in (0, -1))
        efforts = None if trajectory.planned is None else np.ascontiguousarray(trajectory.planned.efforts)
        self._kept = trajectory.times, bernstein, first, last, efforts
        fields, m, n = self.record.fields, len(columns), len(motion.goal)
        addresses = zip(("times", "bernstein", "first", "last", "efforts"), self._kept, strict=True)
        values: dict[str, Any] = {name: 0 if array is None else array.ctypes.data for name, array in addresses}
        values |= {"points": len(trajectory.times), "degree": len(bernstein) - 1, "columns": m, "segment": -1}
        values |= {"way_degree": len(way) - 1, "then": motion.then, "way_begin": motion.way.times[0]}
        values |= {"still": motion.still, "goal": motion.goal, "duration": motion.duration}
        for name, value in values.items():
            getattr(fields, name)[...] = value
        fields.turn[:m], fields.column[:m] = turn, columns
        fields.way[: way.size] = way.ravel()
        # Rows of 3 N numbers, position, velocity and acceleration side by side, as `evaluate` reads them.
        powers = motion.way.coefficients[0]
        fields.way_cache[: powers.size] = powers.ravel()
        assert powers.shape[1] == 3 * n


@lru_cache(maxsize=8)
def structs_for(n: int) -> CStructs:
    """The structs of ``loop.c`` for n joints."""
    return CStructs(CODE.read_text(encoding="utf-8"), {"N": n} | SIZES)


class CompiledLoop:
    """The memory of a loop in C, and the calls.

    Attributes:
        ahead: True while C has the memory, and what the loop in Python remembers is old.
        structs: of ``loop.c``.
        state: the struct ``State``.
        period: the struct ``Period``.
        main: the struct ``Loop``, with the addresses of all.
        settings: as C has them.
    """

    def __init__(self, loop: PythonLoop) -> None:
        """
        Args:
            loop: the loop in Python.

        Raises:
            NotReadyError: C cannot run it; the message says why.
        """
        n = loop.robot.n
        library = loop_library(n)
        if library is None:
            raise NotReadyError("there is no compiler")
        self._loop, self._library, self.structs = loop, library, structs_for(n)
        self.ahead = False
        self.state = self.structs.make("State")
        self._begins = np.zeros((len(KINDS), MOST_BEGINS))
        self.state.fields.begins[...] = self._begins.ctypes.data
        self.period = self.structs.make("Period")
        self.main = self.structs.make("Loop")
        self.main.fields.state[...], self.main.fields.period[...] = self.state.address, self.period.address
        self._main_address = ctypes.c_void_p(self.main.address)
        self._motions: dict[int, tuple[CompiledMotion, Continuation]] = {}
        self._judge = JUDGE(self._judge_rate)
        self._read_settings()
        fields = self.period.fields
        self._q, self._qd, self._has_velocity = fields.q.data, fields.qd.data, fields.has_velocity
        self._has_velocity[...] = 1
        self._times = self.period.numbers("t", "age").data
        self._time = self.state.fields.time
        self._result = self.period.numbers("q", "rows").reshape(-1, n)
        self._external = fields.external
        self._nowhere = read_only(np.zeros(n)) != 0.0
        self._run = bound_function(library, "loop_python", [self.main.array])

    def _read_settings(self) -> None:
        """Work with the settings of the loop and the parameters of the model as they are now.

        Raises:
            NotReadyError: C cannot run them; the message says why.
        """
        step = self._loop.compiled_step
        if step is None or not step.is_current:
            raise NotReadyError("the control step is not compiled")
        self.settings = CompiledSettings(self.structs, self._loop.settings, step, self.state.address)
        self._set_judge(judged=True)
        self.main.fields.settings[...] = self.settings.record.address
        self._flags = self.settings.flags.data
        self._remembers = len(self.settings.law_memory) > 0
        self._observes_nothing = self._loop.settings.contact is None
        self._dynamics = self._loop.dynamics
        self._seen: Any = self._dynamics.parameters

    def update(self, t: float, now: float, q: ArrayLike, qd: ArrayLike | None) -> Command | None:
        """The command for a state; None if Python has to work it out."""
        if (self.ahead and self._dynamics.parameters is not self._seen) or not (self.ahead or self._load()):
            self.give_back()
            return None
        times: Any = self._times
        try:
            times[0], times[1] = t, now
            self._q[:] = q
            self._qd[:] = q if qd is None else qd
        except (TypeError, ValueError, BufferError):  # no arrays (n,) of doubles
            if not self._take(q, qd):
                self.give_back()
                return None
        code = self._run_otherwise(measured=qd is not None) if qd is None or self._remembers else self._run()
        if code > SETTLED:
            self.give_back()
            return None
        # `tuple.__new__` takes a third of the time that the constructors of named tuples take.
        rows = self._result.copy()
        flags, nowhere = self._flags, self._nowhere
        command: Command = _new(
            CompiledCommand,
            (
                rows[6],
                rows[7] != 0.0 if flags[1] else nowhere,
                rows[8] != 0.0 if flags[2] else nowhere,
                times[2],
                rows,
                rows,
                rows,
                None,
                "",
                rows,
                None if self._observes_nothing else self._external.copy(),
            ),
        )
        if code == SETTLED:
            self.give_back()
        return command

    def lend(self) -> None:
        """Give all of the memory to a thread that runs C alone.

        Raises:
            NotReadyError: C does not know what the arm is doing; the message says what.
        """
        if self.settings.step is not self._loop.compiled_step or self._dynamics.parameters is not self._seen:
            self._read_settings()
        self._loop.save(self.state.fields, self.motion)
        self.settings.law_memory[:] = self.settings.step.law_memory
        self._set_judge(judged=False)
        self.period.fields.alone[...] = 1

    def take(self, *, judged: bool) -> bool:
        """Give the memory to code in C that calls ``update`` itself; False where C cannot go on from it.

        Args:
            judged: True to have the rate of the states judged, which Python does.
        """
        if not (self.ahead or self._load()):
            return False
        self.settings.law_memory[:] = self.settings.step.law_memory
        self._set_judge(judged=judged)
        return True

    def hand_back(self) -> None:
        """Take it back from there."""
        self.settings.step.restore_law(self.settings.law_memory)
        self._set_judge(judged=True)
        self.give_back()

    @property
    def function_address(self) -> int:
        """Address of the C function that answers a state."""
        return int(ctypes.cast(self._library.update, ctypes.c_void_p).value or 0)

    def reclaim(self) -> None:
        """Take it back, once no thread runs C any more."""
        self._loop.restore(self.state.fields, self.motion_at)
        self.leave()

    def leave(self) -> None:
        """Let the loop in Python go on from what it remembers, as no thread runs C any more."""
        self.period.fields.alone[...], self.ahead = 0, False
        self.main.fields.settings[...] = self.settings.record.address
        self._set_judge(judged=True)
        self._seen = None  # the settings are read anew

    def _set_judge(self, *, judged: bool) -> None:
        address = ctypes.cast(self._judge, ctypes.c_void_p).value if judged else 0
        self.settings.record.fields.judge[...] = address

    def watch(self, t: float) -> int:
        """The answer to the lack of usable states at time t [s], as C gives it alone: a code."""
        return int(self._library.watch(self._main_address, ctypes.c_double(t)))

    def is_missing(self, t: float) -> bool:
        """True if no usable state has come for too long at time t [s], or Python has to say."""
        return not self.ahead or t - float(self._time) > self._loop.settings.safety.state_timeout

    def give_back(self) -> None:
        """Have the loop in Python remember what C does, if that is ahead."""
        if self.ahead:
            self.ahead = False
            self._loop.restore(self.state.fields, self.motion_at)

    def _take(self, q: ArrayLike, qd: ArrayLike | None) -> bool:
        try:
            self._q[:], self._qd[:] = (np.array(values, np.float64).data for values in (q, q if qd is None else qd))
        except (TypeError, ValueError, BufferError):
            return False
        return True

    def _run_otherwise(self, *, measured: bool) -> int:
        """The same for a state without velocities, or a law that remembers something."""
        step, memory = self.settings.step, self.settings.law_memory
        self._has_velocity[...] = measured
        memory[:] = step.law_memory
        code = int(self._run())
        self._has_velocity[...] = 1
        if code <= SETTLED:
            step.restore_law(memory)
        return code

    def _load(self) -> bool:
        """Give C the memory; False where C cannot go on from it."""
        loop = self._loop
        if loop.fault is not None:
            return False
        try:
            if self.settings.step is not loop.compiled_step or self._dynamics.parameters is not self._seen:
                self._read_settings()
            loop.save(self.state.fields, self.motion)
        except NotReadyError:
            return False
        self.ahead = True
        return True

    def motion(self, continuation: Continuation) -> int:
        """The address of a trajectory in C."""
        for address, (_, known) in self._motions.items():
            if known is continuation:
                self._motions[address] = self._motions.pop(address)  # the last to be dropped
                return address
        made = CompiledMotion(self.structs, continuation)
        self._motions = dict([*self._motions.items()][-3:])  # the present one, the next, and those before
        self._motions[made.record.address] = made, continuation
        return made.record.address

    def motion_at(self, address: int) -> Continuation | None:
        """The trajectory at an address in C; None if it is not known any more."""
        return self._motions[address][1] if address in self._motions else None

    def _judge_rate(self) -> None:
        try:
            self._loop.judge_rate(self.state.fields)
        except Exception:  # of a model: the loop in Python bears it as well
            log.debug("the rate of the states could not be judged", exc_info=True)
