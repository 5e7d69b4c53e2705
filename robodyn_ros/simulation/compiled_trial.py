# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""A trial until its first fault in compiled C: the result of :func:`.trial.run_trial` up to rounding, faster.

The C code (``trial.c``) has the hardware of ``hardware.c``, and calls the plant and the core of the control loop. A
trial that C cannot run, for example with a law that is not traced or a plant of another package, runs in Python from
the start. ``test_simulation_sweep_trial.py`` compares the two.
"""

from __future__ import annotations

import ctypes
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from robodyn_ros.checks import finite_array
from robodyn_ros.control import core_library
from robodyn_ros.control.faults.sampling import GAIN_MARGIN, carried_part
from robodyn_ros.control.laws.base import checked_result
from robodyn_ros.control.limits import check_position_limits
from robodyn_ros.control.loop import ControlLoop
from robodyn_ros.control.loop_settings import LoopSettings
from robodyn_ros.control.motion.trajectory import Trajectory
from robodyn_ros.dynamics.base import Dynamics
from robodyn_ros.dynamics.compiled import CompiledDynamics
from robodyn_ros.engine.c_interface import address_of, text_key
from robodyn_ros.engine.library import loaded
from robodyn_ros.errors import RobodynError, SimulationError
from robodyn_ros.robot.pose import Array
from robodyn_ros.simulation.devices import CODE, hardware_structs
from robodyn_ros.simulation.hardware import HardwareSettings
from robodyn_ros.simulation.plant.native import ROWS, Plant
from robodyn_ros.simulation.trial import REFUSED, STEP_FAILED, Trial, TrialSamples, run_trial

RECORDED = {"q": "q", "qd": "v", "effort": "effort"}
"""Recorded quantities: name in a trial → name in the memory."""

SUFFICIENT_MARGIN = 1.2 * GAIN_MARGIN
"""Gain margin at the start that suffices for every pose: then the loop is not judged in others."""


class TrialOutcome(NamedTuple):
    """A trial, and how it was run."""

    trial: Trial
    compiled: bool  # True if the C code ran it


def run_until_fault(
    hardware_settings: HardwareSettings,
    dynamics: Dynamics,
    loop: ControlLoop,
    motion: Trajectory | None,
    duration: float,
) -> TrialOutcome:
    """Run a trial of an arm under a control loop until its first fault; compiled if possible.

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
    robot = hardware_settings.robot
    start = finite_array("initial_position", hardware_settings.start, (robot.n,))
    check_position_limits("initial_position", robot, start, list(range(robot.n)))

    def begin(loop: ControlLoop) -> ControlLoop:
        loop.start(0.0, start)
        if motion is not None:
            loop.follow(motion, 0.0)
        return loop

    step = loop.compiled_step
    law_memory = np.zeros(0) if step is None else step.law_memory
    try:
        trial = _run_compiled(hardware_settings, dynamics, begin(loop), duration)
        if trial is not None:
            return TrialOutcome(trial, True)
        if step is not None:
            step.restore_law(law_memory)
        again = begin(ControlLoop.from_settings(loop.settings))
        return TrialOutcome(run_trial(hardware_settings.assemble(), again, duration, until_fault=True), False)
    finally:
        if step is not None:
            step.restore_law(law_memory)


def _run_compiled(settings: HardwareSettings, dynamics: Dynamics, loop: ControlLoop, duration: float) -> Trial | None:
    """Run the trial in C; None if the C code lacks one of its parts."""
    if settings.plant != "native" or settings.drives_add:
        return None
    if loop.compiled_step is None or not isinstance(dynamics, CompiledDynamics):
        return None
    run = trial_function(settings.robot.n)
    if run is None:
        return None
    memory, faults = _TrialMemory(settings, dynamics, loop, duration), dict[str, int]()
    with loop.run_by_others(judged=not _rate_suffices(settings, loop.settings)):
        while not faults and (code := run(memory.address)) != memory.codes["DONE"]:
            if code == memory.codes["REFUSED"]:
                return None
            if code == memory.codes["FAILED"]:
                faults = {f"{STEP_FAILED}: {memory.plant_failure()}": 1}
            else:
                faults = _fault(memory.fields, loop)
    return memory.recorded(faults)


def _fault(memory: Any, loop: ControlLoop) -> dict[str, int]:
    """The fault that ends the trial."""
    try:
        command = loop.period_result(int(memory.answer), has_state=bool(memory.asked >= 0))
    except RobodynError as problem:
        return {f"{REFUSED}: {problem}": 1}
    return {} if command is None else {f"{command.fault}: {command.problem}": 1}


def _rate_suffices(hardware: HardwareSettings, loop: LoopSettings) -> bool:
    """True if the rate of the states suffices for the gains by far, so that no fault ``rate`` is to be expected."""
    states = hardware.states
    period = 1.0 / ((1.0 - min(states.state_drop, 0.9)) * states.state_rate)
    gains = checked_result(loop.controller, "acceleration_gains", np.array(hardware.start, dtype=np.float64), period)
    return carried_part(period, states.state_delay + states.state_jitter, gains, SUFFICIENT_MARGIN) == 1.0


class _TrialMemory:
    """The memory of one trial: the struct ``Trial`` of ``trial.c``, its hardware, and the arrays that it points to.

    Attributes:
        fields: of the struct.
        address: of the struct, for C.
        codes: name → number of each result of the C code.
    """

    def __init__(self, settings: HardwareSettings, dynamics: Dynamics, loop: ControlLoop, duration: float) -> None:
        """
        Args:
            settings: settings of the hardware.
            dynamics: the equations of motion of its arm.
            loop: the control loop.
            duration: duration [s], rounded to whole steps.
        """
        self._hardware = hardware = settings.assemble(dynamics)
        assert isinstance(hardware.plant, Plant)
        self._plant = hardware.plant
        self._step, period = settings.plant_settings.step, hardware.period
        structs, n = hardware_structs(settings.robot.n, _code()), settings.robot.n
        self._record = structs.make("Trial")
        self.fields, self.codes = self._record.fields, structs.constants
        self.address = ctypes.c_void_p(self._record.address)
        self._arrays: dict[str, Any] = {}
        end = round(duration / self._step)
        self.fields.end[...], self.fields.period[...] = end, period
        self._point_to_parts(loop.core)
        readings, arrivals = end // period + 1, (end // period + 1) * (2 if settings.states.state_repeat else 1)
        hardware.sensors.reset()  # its first reading is made again
        lengths = {"read": readings, "true": readings, "command": arrivals}
        self._point(
            **hardware.sensors.draw(readings),
            **{name: np.empty(arrivals, np.int64) for name in ("arrival_step", "arrival_reading")},
            **{name: np.empty(arrivals) for name in ("received_t", "command_t", "command_stamp")},
            **{f"{kind}_{name}": np.empty((count, n)) for kind, count in lengths.items() for name in RECORDED.values()},
        )

    def _point(self, **arrays: Any) -> None:
        """Write the addresses of arrays, by the names of their fields."""
        for name, array in arrays.items():
            getattr(self.fields, name)[...] = array.ctypes.data
        self._arrays |= arrays

    def _point_to_parts(self, core: core_library.Core) -> None:
        """Write the addresses of the plant, the devices and the control loop, and of their functions."""
        plant = self._plant
        addresses = {
            "drives": self._hardware.drives.record.address,
            "sensors": self._hardware.sensors.record.address,
            "plant": plant.address.value,
            "plant_step": address_of(plant.library.plant_step),
            "plant_settle": address_of(plant.library.plant_settle),
            "loop": core.address,
            "loop_update": address_of(core.library.core_update),
            "loop_watch": address_of(core.library.core_watch),
        }
        for name, address in addresses.items():
            getattr(self.fields, name)[...] = address
        rows, reference, kind = core.period.rows, core.period.reference, core.period.kind
        self._point(frame=plant.frame, loop_rows=rows, loop_reference=reference, loop_kind=kind)

    def plant_failure(self) -> SimulationError:
        """The error of the step that begins now."""
        return SimulationError(f"at {(int(self.fields.now) + 1) * self._step:.9g} s: {self._plant.failure()}")

    def recorded(self, faults: dict[str, int]) -> Trial:
        """The trial that was recorded."""
        fields, arrays = self.fields, self._arrays
        readings, commands = arrays["arrival_reading"][: int(fields.received)], slice(int(fields.commanded))
        counts: list[Any] = [np.arange(int(fields.truths)), readings]
        times, stamps = (count * int(fields.period) * self._step for count in counts)

        def rows(kind: str, which: slice | Array) -> dict[str, Array]:
            return {name: arrays[f"{kind}_{field}"][which] for name, field in RECORDED.items()}

        return Trial(
            TrialSamples(times, times, rows("true", slice(len(times)))),
            TrialSamples(arrays["received_t"][: len(stamps)], stamps, rows("read", readings)),
            TrialSamples(arrays["command_t"][commands], arrays["command_stamp"][commands], rows("command", commands)),
            faults,
        )


@lru_cache(maxsize=1)
def _code() -> str:
    text = Path(__file__).with_name("trial.c").read_text(encoding="utf-8")
    return text.replace("@rows", ", ".join(ROWS)).replace("@dropped", str(core_library.CODES["CORE_JUMPED"]))


def trial_function(n: int) -> Any:
    """The C function ``trial`` for n joints, loaded once in a process; None where there is no compiler."""
    code = f"#define N {n}\n{CODE}{_code()}"
    library = loaded("trial", text_key(code), lambda: code)
    return None if library is None else library.trial
