# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""A trial until its first fault in compiled C: the result of :func:`.trial.run_trial` up to rounding, faster.

The C code (``trial.c``) contains drives and sensors, and calls the plant and the core of the control loop. A trial that
C cannot run, for example with a law that is not traced or a plant of another package, runs in Python from the start.
``test_simulation_sweep_trial.py`` compares the two.
"""

from __future__ import annotations

import ctypes
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
from robodyn_ros.plugins import create
from robodyn_ros.robot.pose import Array
from robodyn_ros.simulation.hardware.actuators import DRIVES
from robodyn_ros.simulation.hardware.settings import HardwareSettings
from robodyn_ros.simulation.plant.base import unstable
from robodyn_ros.simulation.plant.joint_effects import Friction, JointEffects, Stops
from robodyn_ros.simulation.plant.mechanism import ROWS, Mechanism
from robodyn_ros.simulation.trial.memory import (
    CODES,
    TrialMemory,
    declaration,
    hardware_fields,
    loop_fields,
)
from robodyn_ros.simulation.trial.trial import Trial, TrialSamples, run_trial

CODE = Path(__file__).with_name("trial.c").read_text(encoding="utf-8")

RECORDED = {"q": "q", "qd": "v", "effort": "effort"}
"""Recorded quantities: name in a trial → name in the memory."""

DONE, FAILED, FAULT, OTHER = range(len(CODES))


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


def _run_compiled(hardware: HardwareSettings, dynamics: Dynamics, loop: ControlLoop, duration: float) -> Trial | None:
    """Run the trial in C; None if the C code lacks one of its parts."""
    if hardware.plant != "native" or hardware.contacts or hardware.drives_add:
        return None
    if loop.compiled_step is None or not isinstance(dynamics, CompiledDynamics):
        return None
    run = trial_function(hardware.robot.n)
    if run is None:
        return None
    plant = TrialPlant(hardware, dynamics)
    memory = TrialMemory(
        hardware_fields(hardware, round(duration / hardware.plant_settings.step)),
        loop_fields(loop),
        plant.fields,
    )
    address, faults = ctypes.byref(memory), dict[str, int]()
    with loop.run_by_others(judged=not _rate_suffices(hardware, loop.settings)):
        while (code := run(address)) != DONE:
            if code == OTHER:
                return None
            if code == FAILED:
                faults = {f"step failed: {plant.failure(memory.now)}": 1}
            elif code == FAULT:
                faults = _fault(memory, loop)
            if faults:
                break
    return _recorded(memory, faults)


def _fault(memory: TrialMemory, loop: ControlLoop) -> dict[str, int]:
    """The fault that ends the trial."""
    try:
        command = loop.period_result(memory.answer, has_state=memory.asked >= 0)
    except RobodynError as problem:
        return {f"state refused: {problem}": 1}
    return {} if command is None else {f"{command.fault}: {command.problem}": 1}


def _rate_suffices(hardware: HardwareSettings, loop: LoopSettings) -> bool:
    """True if the rate of the states suffices for the gains by far, so that no fault ``rate`` is to be expected."""
    states = hardware.states
    period = 1.0 / ((1.0 - min(states.state_drop, 0.9)) * states.state_rate)
    gains = checked_result(loop.controller, "acceleration_gains", np.array(hardware.start, dtype=np.float64), period)
    return carried_part(period, states.state_delay + states.state_jitter, gains, SUFFICIENT_MARGIN) == 1.0


class TrialPlant:
    """The plant of a compiled trial.

    Attributes:
        fields: its values for the memory.
    """

    def __init__(self, hardware: HardwareSettings, dynamics: Dynamics) -> None:
        """
        Args:
            hardware: settings of the hardware.
            dynamics: the equations of motion of its arm.
        """
        robot = hardware.robot
        joints = JointEffects(Friction(hardware.friction, robot.n), Stops(robot, hardware.stops), robot.velocity_limit)
        step = hardware.plant_settings.step
        self._mechanism = Mechanism(dynamics, joints, create("integrators", hardware.integrator), step)
        self._mechanism.place(np.array(hardware.start, dtype=np.float64), np.zeros(robot.n))
        self._robot, self._step = robot, step
        self.fields: dict[str, Any] = {
            "frame": self._mechanism.frame,
            "plant": self._mechanism.address.value,
            "plant_step": address_of(self._mechanism.library.plant_step),
        }

    def failure(self, now: int) -> SimulationError:
        """The error of the step that begins at so many steps."""
        problem = self._mechanism.find_failure()
        if not isinstance(problem, SimulationError):
            qd, effort = self._mechanism.frame[1:3]
            problem = unstable(self._robot, self._step, qd, self._mechanism.beyond, effort)
        return SimulationError(f"at {(now + 1) * self._step:.9g} s: {problem}")


def _recorded(memory: TrialMemory, faults: dict[str, int]) -> Trial:
    """The trial that the memory recorded."""
    values, truths, received, commanded = memory.arrays, memory.truths, memory.received, memory.commanded
    readings = values["arrival_reading"][:received]
    times = np.arange(truths) * memory.period * memory.step
    stamps = readings * memory.period * memory.step

    def rows(kind: str, which: slice | Array) -> dict[str, Array]:
        return {name: values[f"{kind}_{field}"][which] for name, field in RECORDED.items()}

    return Trial(
        TrialSamples(times, times, rows("true", slice(truths))),
        TrialSamples(values["received_t"][:received], stamps, rows("read", readings)),
        TrialSamples(
            values["command_t"][:commanded], values["command_stamp"][:commanded], rows("command", slice(commanded))
        ),
        faults,
    )


def trial_function(n: int) -> Any:
    """The C function ``trial`` for n joints, loaded once in a process; None where there is no compiler."""
    code = (
        (DRIVES + CODE)
        .replace("@fields", declaration())
        .replace("@codes", ", ".join(CODES))
        .replace("@rows", ", ".join(ROWS))
    )
    code = f"#define N {n}\n{code.replace('@dropped', str(core_library.CODES['CORE_JUMPED']))}"
    library = loaded("trial", text_key(code), lambda: code)
    return None if library is None else library.trial
