"""A trial: hardware under a control loop, without ROS and without waiting.

What the nodes do over topics happens here in one process and in lockstep: each state that comes gets its command at the
time it comes, and between them the hardware goes on. So what the hardware does to a controller is the same as there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from typing import NamedTuple

import numpy as np

from robodyn_ros.control.loop import ControlLoop
from robodyn_ros.control.step import Command
from robodyn_ros.errors import RobodynError
from robodyn_ros.robot.pose import Array
from robodyn_ros.simulation.hardware.hardware import Hardware


class TrialSamples(NamedTuple):
    """Values of all joints at N times."""

    t: Array  # when they were there [s] (N,)
    stamp: Array  # when what they are about was measured [s] (N,)
    values: dict[str, Array]  # name → (N, n), in the units of the joints


class Trial(NamedTuple):
    """What happened."""

    truth: TrialSamples  # q, qd and effort of the plant, at the rate of the states
    states: TrialSamples  # q, qd and effort as they came from the sensors
    commands: TrialSamples  # effort as commanded, and q and qd of the reference (NaN where there is none)
    faults: dict[str, int]  # what went wrong → how often


class _Over(Exception):
    """There was a fault, and the trial was to end at the first."""


class _Log:
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


def run_trial(
    hardware: Hardware,
    loop: ControlLoop | None,
    duration: float,
    told: Callable[[float], object] = lambda time: None,
    *,
    until_fault: bool = False,
) -> Trial:
    """Let hardware and control loop go on.

    Args:
        hardware: goes on from the state it is in.
        loop: gives the commands; None for nobody.
        duration: [s], rounded to whole steps.
        told: is told the simulated time [s] now and then.
        until_fault: end at the first fault, unanswered.
    """
    step, period = hardware.plant.settings.step, hardware.sensors.steps
    truth, states, commands = _Log("q", "qd", "effort"), _Log("q", "qd", "effort"), _Log("effort", "q", "qd")
    faults: Counter[str] = Counter()
    end = hardware.now + round(duration / step)
    beat = period if hardware.sensors.transport.punctual else 1
    none = np.full(hardware.plant.dynamics.robot.n, np.nan)
    failures = hardware.failures

    def take(command: Command | None, stamp: float) -> None:
        if command is None:
            return
        if command.fault is not None:
            faults[f"{command.fault}: {command.problem}"] += 1
            if until_fault:
                raise _Over
        hardware.command(command.effort)
        reference = command.reference
        q, qd = (none, none) if reference is None else (reference.q, reference.qd)
        commands.add(hardware.time, stamp, command.effort, q, qd)

    with suppress(_Over):
        while True:
            time = hardware.time
            for reading in hardware.readings():
                stamp = reading.step * step
                states.add(time, stamp, reading.q, reading.qd, reading.effort)
                if loop is not None:
                    try:
                        take(loop.update(stamp, time, reading.q, reading.qd), stamp)
                    except RobodynError as problem:
                        faults[f"state refused: {problem}"] += 1
                        if until_fault:
                            raise _Over from problem
            if hardware.now % period == 0:
                if loop is not None:
                    take(loop.watch(time), time)
                truth.add(time, time, hardware.plant.q, hardware.plant.qd, hardware.effort)
                told(time)
            if hardware.now >= end:
                break
            hardware.advance(min(beat, end - hardware.now))
            if until_fault and hardware.failures > failures:
                break
    if hardware.failures > failures:
        faults[f"step failed: {hardware.failure}"] = hardware.failures - failures
    n = len(none)
    return Trial(truth.samples(n), states.samples(n), commands.samples(n), dict(faults))
