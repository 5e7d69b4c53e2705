# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""A trial: hardware under a control loop in one process, faster than real time, without ROS.

The nodes' exchange over topics happens here in lockstep. Each reading gets its command as it arrives, and the hardware
advances between them. So the hardware acts on the controller as it does with the nodes.
:func:`run_trial` shows all of it. ``instant`` and ``trial`` in ``trial.c`` are the same in C;
``test_simulation_sweep_trial.py`` compares them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from typing import NamedTuple

import numpy as np

from robodyn_ros.control.loop import ControlLoop
from robodyn_ros.control.step import Command
from robodyn_ros.errors import JumpError, RobodynError
from robodyn_ros.robot.pose import Array
from robodyn_ros.simulation.hardware.hardware import Hardware
from robodyn_ros.simulation.hardware.sensors import SensorReading


class TrialSamples(NamedTuple):
    """Values of all joints at N times."""

    t: Array  # time of arrival [s] (N,)
    stamp: Array  # time of the measurement [s] (N,)
    values: dict[str, Array]  # name → (N, n), in the units of the joints


class Trial(NamedTuple):
    """The record of a trial."""

    truth: TrialSamples  # q, qd and effort of the plant, at the rate of the readings
    states: TrialSamples  # q, qd and effort as the sensors read them
    commands: TrialSamples  # commanded effort, and q and qd of the reference (NaN where there is none)
    faults: dict[str, int]  # message of a fault, as it began → number of states that it lasted for


class _FirstFault(Exception):
    """A fault has ended the trial."""


class _Record:
    """Rows that become samples."""

    def __init__(self, *names: str) -> None:
        self._names = names
        self._rows: list[tuple[float, float, tuple[Array, ...]]] = []

    def add(self, t: float, stamp: float, *values: Array) -> None:
        self._rows.append((t, stamp, values))

    def samples(self, n: int) -> TrialSamples:
        rows, count = self._rows, len(self._rows)
        columns = {
            name: np.array([row[2][index] for row in rows]).reshape(count, n) for index, name in enumerate(self._names)
        }
        return TrialSamples(np.array([row[0] for row in rows]), np.array([row[1] for row in rows]), columns)


class _Controlled:
    """The control loop of a trial, if there is one, with its commands and faults on record.

    Attributes:
        commands: effort, and q and qd of the reference.
        faults: message of a fault, as it began → number of states that it lasted for.
    """

    def __init__(self, hardware: Hardware, loop: ControlLoop | None, *, until_fault: bool) -> None:
        self.commands, self.faults = _Record("effort", "q", "qd"), Counter[str]()
        self._hardware, self._loop, self._until_fault = hardware, loop, until_fault
        self._present: tuple[str | None, str] = None, ""  # the numbers in the message change from state to state
        self._count = 0 if loop is None else loop.fault_count
        self._none = np.full(hardware.plant.dynamics.robot.n, np.nan)

    def update(self, reading: SensorReading, stamp: float) -> None:
        """Command the hardware for a reading."""
        if self._loop is None:
            return
        try:
            self._send(self._loop, self._loop.update(stamp, self._hardware.time, reading.q, reading.qd), stamp)
        except JumpError:  # a state that is dropped is no fault; beyond `drop_time` it becomes one of the loop
            return
        except RobodynError as problem:
            self._note_fault(f"state refused: {problem}")

    def watch(self) -> None:
        """Command the hardware if readings are missing."""
        if self._loop is not None:
            self._send(self._loop, self._loop.watch(self._hardware.time), self._hardware.time)

    def _send(self, loop: ControlLoop, command: Command | None, stamp: float) -> None:
        fault = None if loop.fault_count == self._count else loop.fault  # a fault may begin without a command
        self._count = loop.fault_count
        kind = command.fault if command is not None else None if fault is None else fault.kind
        if command is None and kind is None:
            return
        if kind != self._present[0]:
            self._present = kind, "" if kind is None else f"{kind}: {loop.problem_of(kind, vars(loop.memory()))}"
        if kind is not None:
            self._note_fault(self._present[1])
        if command is None:
            return
        self._hardware.command(command.effort)
        reference = command.reference
        q, qd = (self._none, self._none) if reference is None else (reference.q, reference.qd)
        self.commands.add(self._hardware.time, stamp, command.effort, q, qd)

    def _note_fault(self, message: str) -> None:
        self.faults[message] += 1
        if self._until_fault:
            raise _FirstFault


def run_trial(
    hardware: Hardware,
    loop: ControlLoop | None,
    duration: float,
    progress: Callable[[float], object] = lambda time: None,
    *,
    until_fault: bool = False,
) -> Trial:
    """Run hardware under a control loop.

    Args:
        hardware: the hardware; it continues from its state.
        loop: the control loop; None for hardware without commands.
        duration: duration [s], rounded to whole steps.
        progress: called with the simulated time [s] at every record of the truth.
        until_fault: end at the first fault, before the loop's response to it.
    """
    step, period = hardware.plant.settings.step, hardware.sensors.steps
    truth, states = _Record("q", "qd", "effort"), _Record("q", "qd", "effort")
    controlled = _Controlled(hardware, loop, until_fault=until_fault)
    end = hardware.now + round(duration / step)
    interval = period if hardware.sensors.transport.punctual else 1  # steps until the next reading can arrive
    failures = hardware.failures

    with suppress(_FirstFault):
        while True:
            for reading in hardware.readings():  # each reading gets its command at once
                stamp = reading.step * step
                states.add(hardware.time, stamp, reading.q, reading.qd, reading.effort)
                controlled.update(reading, stamp)
            if hardware.now % period == 0:  # the loop notices missing readings; the truth is recorded
                controlled.watch()
                truth.add(hardware.time, hardware.time, hardware.plant.q, hardware.plant.qd, hardware.effort)
                progress(hardware.time)
            if hardware.now >= end:
                break
            hardware.advance(min(interval, end - hardware.now))
            if hardware.failures > failures:  # later steps would be no motion of the arm
                break
    if hardware.failures > failures:
        controlled.faults[f"step failed: {hardware.failure}"] = hardware.failures - failures
    n = hardware.plant.dynamics.robot.n
    return Trial(truth.samples(n), states.samples(n), controlled.commands.samples(n), dict(controlled.faults))
