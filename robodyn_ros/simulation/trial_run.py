# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""A trial: hardware under a control loop in one process, faster than real time, without ROS.

The nodes' exchange over topics happens here in lockstep. Each reading gets its command as it arrives, and the hardware
advances between them. So the hardware acts on the controller as it does with the nodes. All of this is C: ``trial.c``
has the loop over time, and calls the hardware and the core of the control loop. Laws and models in Python are called
back.
"""

from __future__ import annotations

import ctypes
from collections import Counter
from collections.abc import Callable
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from robodyn_ros.control import ControlLoop, LoopSettings, Trajectory, core_library
from robodyn_ros.control.faults.sampling import GAIN_MARGIN, stable_ratio
from robodyn_ros.control.laws.base import checked_result
from robodyn_ros.dynamics.base import Dynamics
from robodyn_ros.engine.c_interface import address_of, kept, required, text_key
from robodyn_ros.errors import InputError, RobodynError
from robodyn_ros.robot.pose import Array
from robodyn_ros.simulation.devices import CODE, hardware_structs
from robodyn_ros.simulation.hardware import Hardware, HardwareSettings
from robodyn_ros.simulation.plant.base import steps_of
from robodyn_ros.simulation.plant.native import compiled_model
from robodyn_ros.simulation.trial import REFUSED, STEP_FAILED, Trial, TrialSamples

RECORDED = {"q": "q", "qd": "v", "effort": "effort"}
"""Recorded quantities: name in a trial → name in the memory."""

SUFFICIENT_MARGIN = 1.2 * GAIN_MARGIN
"""Gain margin at the start that suffices for every pose: then the loop is not judged in others."""

TELL = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_int)
PROGRESS = ctypes.CFUNCTYPE(ctypes.c_int)
"""The functions of Python that ``trial.c`` calls: of the loop's faults, and at a record."""


class TrialOutcome(NamedTuple):
    """A trial, and how it was run."""

    trial: Trial
    compiled: bool  # True if C called back nothing in Python


def run_trial(
    hardware: Hardware,
    loop: ControlLoop | None,
    duration: float,
    progress: Callable[[float], object] | None = None,
    *,
    until_fault: bool = False,
    judged: bool = True,
) -> Trial:
    """Run hardware under a control loop.

    Args:
        hardware: the hardware, at its beginning.
        loop: the control loop; None for hardware without commands.
        duration: duration [s], rounded to whole steps.
        progress: called with the simulated time [s] at every record of the truth; none by default.
        until_fault: end at the first fault, before the loop's response to it.
        judged: whether the rate of the states is judged; it need not be if it is far above the need of all gains.

    Raises:
        InputError: the hardware has moved, the duration is negative or not finite, or a command is beyond what a drive
            can give.
    """
    if hardware.now:
        raise InputError("hardware", f"has run for {hardware.time:.9g} s: reset it first")
    run = TrialRun(hardware, loop, duration, progress, until_fault=until_fault)
    if loop is None:
        return run.result()
    with loop.run_by_others(judged=judged):
        return run.result()


def run_until_fault(
    hardware_settings: HardwareSettings,
    dynamics: Dynamics,
    loop: ControlLoop,
    motion: Trajectory | None,
    duration: float,
) -> TrialOutcome:
    """Run a trial of an arm under a control loop until its first fault.

    The memory of a traced law is reset after the trial, so that the law can run another.

    Args:
        hardware_settings: settings of the hardware.
        dynamics: the equations of motion of its arm, with their parameters.
        loop: a new control loop, for this trial alone.
        motion: the motion to follow from the beginning; None to stay.
        duration: duration [s], rounded to whole steps.

    Raises:
        RobodynError: a setting does not fit the arm or another setting, or the arm cannot make the motion.
    """
    loop.start(0.0, np.array(hardware_settings.start))
    if motion is not None:
        loop.follow(motion, 0.0)
    step = loop.compiled_step
    law_memory = np.zeros(0) if step is None else step.law_memory.copy()
    try:
        hardware, judged = hardware_settings.assemble(dynamics), not _rate_suffices(hardware_settings, loop.settings)
        is_compiled = hardware.native is not None and step is not None and compiled_model(dynamics) is not None
        return TrialOutcome(run_trial(hardware, loop, duration, until_fault=True, judged=judged), is_compiled)
    finally:
        if step is not None:
            step.restore_law(law_memory)


def _rate_suffices(hardware: HardwareSettings, loop: LoopSettings) -> bool:
    """True if the rate of the states suffices for the gains by far, so that no fault ``rate`` is to be expected."""
    states = hardware.states
    period = 1.0 / ((1.0 - min(states.state_drop, 0.9)) * states.state_rate)
    gains = checked_result(loop.controller, "acceleration_gains", np.array(hardware.start, dtype=np.float64), period)
    return stable_ratio(period, states.state_delay + states.state_jitter, gains, SUFFICIENT_MARGIN) == 1.0


class TrialRun:
    """One trial: the struct ``Trial`` of ``trial.c``, the arrays that it points to, and what C calls back."""

    def __init__(
        self,
        hardware: Hardware,
        loop: ControlLoop | None,
        duration: float,
        progress: Callable[[float], object] | None,
        *,
        until_fault: bool,
    ) -> None:
        """Arguments as of :func:`run_trial`."""
        self._hardware, self._loop = hardware, loop
        self._progress, self._until_fault = progress, until_fault
        self._faults = Counter[str]()
        self._present: tuple[str | None, str] = None, ""  # the numbers in the message change from state to state
        self._count = 0 if loop is None else loop.fault_count
        self._problems: list[BaseException] = []  # of callbacks
        n, period = hardware.plant.dynamics.robot.n, hardware.period
        self._n, self._step = n, hardware.plant.settings.step
        structs = hardware_structs(n, _code())
        self._record, self._codes = structs.make("Trial"), structs.constants
        self._fields = self._record.fields
        self._arrays: dict[str, Any] = {}
        end = steps_of(duration, self._step)
        self._fields.end[...], self._fields.hardware[...] = end, hardware.record.address
        self._point_to_loop()
        readings = end // period + 1
        arrivals = readings * (2 if hardware.states.state_repeat else 1)
        hardware.restart_readings(readings)
        lengths = {"received": arrivals, "true": readings, "command": arrivals + readings}
        self._point(
            received_step=np.empty(arrivals, np.int64),
            received_t=np.empty(arrivals),
            **{name: np.empty(lengths["command"]) for name in ("command_t", "command_stamp")},
            **{f"{kind}_{name}": np.empty((count, n)) for kind, count in lengths.items() for name in RECORDED.values()},
        )

    def _point(self, **arrays: Any) -> None:
        """Write the addresses of arrays, by the names of their fields."""
        self._record.set(arrays)
        self._arrays |= arrays

    def _point_to_loop(self) -> None:
        """Write the addresses of the control loop and its functions, and of those that C calls back."""
        loop = self._loop
        if (progress := self._progress) is not None:
            self._report = PROGRESS(lambda: kept(partial(self._on_record, progress), self._problems))
            self._record.set({"progress": address_of(self._report)})
        if loop is not None:
            core, self._told = loop.core, TELL(self._tell)
            calls = {f"loop_{name}": address_of(getattr(core.library, f"core_{name}")) for name in ("update", "watch")}
            self._record.set({"loop": core.address, "tell": address_of(self._told), **calls})
            self._point(loop_rows=core.period.rows, loop_reference=core.period.reference, loop_kind=core.period.kind)

    # Called by C

    def _tell(self, code: int, has_state: int) -> int:
        """What the control loop has answered, if it is no plain command; nonzero ends the trial."""
        fails = kept(lambda: self._note(code, bool(has_state)), self._problems)
        return fails or (self._until_fault and bool(self._faults))

    def _note(self, code: int, has_state: bool) -> None:
        """Count a state of a fault; a fault may begin without a command."""
        loop = self._loop
        assert loop is not None
        try:
            command = loop.period_result(code, has_state=has_state)
        except RobodynError as problem:
            self._faults[f"{REFUSED}: {problem}"] += 1
            return
        fault = None if loop.fault_count == self._count else loop.fault
        self._count = loop.fault_count
        kind = command.fault if command is not None else None if fault is None else fault.kind
        if command is None and kind is None:
            return
        if kind != self._present[0]:
            self._present = kind, "" if kind is None else f"{kind}: {loop.problem_of(kind, vars(loop.memory()))}"
        if kind is not None:
            self._faults[self._present[1]] += 1

    def _on_record(self, progress: Callable[[float], object]) -> None:
        self._hardware.acquire()
        progress(self._hardware.time)

    # The end

    def result(self) -> Trial:
        """Run it to its end."""
        code = trial_function(self._n)(ctypes.c_void_p(self._record.address))
        self._hardware.acquire()
        if code == self._codes["ENDED"] and not (self._problems or self._until_fault):
            self._problems.append(KeyboardInterrupt())  # which Python loses where it comes as C calls a function
        if self._problems:
            raise self._problems[-1]
        if code == self._codes["FAILED"]:
            self._faults[f"{STEP_FAILED}: {self._hardware.failure}"] = 1
        if code == self._codes["REFUSED"]:
            assert self._loop is not None
            self._hardware.command(self._loop.core.period.rows[0])  # raises an error that says why
        return self._recorded()

    def _recorded(self) -> Trial:
        """The trial that was recorded."""
        fields, arrays = self._fields, self._arrays
        received, commands = slice(int(fields.received)), slice(int(fields.commanded))
        times: Any = np.arange(int(fields.truths)) * self._hardware.period * self._step
        stamps = arrays["received_step"][received] * self._step

        def rows(kind: str, which: slice) -> dict[str, Array]:
            return {name: arrays[f"{kind}_{field}"][which] for name, field in RECORDED.items()}

        truth = TrialSamples(times, times, rows("true", slice(len(times))))
        states = TrialSamples(arrays["received_t"][received], stamps, rows("received", received))
        sent, answered = arrays["command_t"][commands], arrays["command_stamp"][commands]
        limit = self._hardware.plant.effort_limit if self._loop is None else self._loop.settings.limits.effort
        return Trial(truth, states, TrialSamples(sent, answered, rows("command", commands)), dict(self._faults), limit)


@lru_cache(maxsize=1)
def _code() -> str:
    text = Path(__file__).with_name("trial.c").read_text(encoding="utf-8")
    return text.replace("@dropped", str(core_library.CODES["CORE_JUMPED"]))


def trial_function(n: int) -> Any:
    """The C function ``trial`` for n joints, loaded once in a process.

    Raises:
        NotReadyError: there is no C compiler.
    """
    code = f"#define N {n}\n{CODE}{_code()}"
    return required("a trial", "trial", text_key(code), lambda: code).trial
