# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""A trial: hardware under a control loop in one process, faster than real time, without ROS.

The nodes' exchange over topics happens here in lockstep. Each reading gets its command as it arrives, and the hardware
advances between them. So the hardware acts on the controller as it does with the nodes.
:func:`run_trial` shows all of it. ``instant`` and ``trial`` in ``trial.c`` are the same in C;
``test_simulation_sweep_trial.py`` compares them. :func:`trial_stop` says when and why the control of the arm stopped,
in one line that ends with the remedy.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from typing import NamedTuple

import numpy as np

from robodyn_ros.control.faults.table import FAULTS
from robodyn_ros.control.loop import ControlLoop
from robodyn_ros.control.step import Command
from robodyn_ros.errors import JumpError, RobodynError
from robodyn_ros.robot import Robot
from robodyn_ros.robot.pose import Array
from robodyn_ros.simulation.devices import SensorReading
from robodyn_ros.simulation.hardware import Hardware

STEP_FAILED, REFUSED = "step failed", "state refused"
"""Beginnings of a trial's messages about a failed step of the plant, and about a refused state."""

REMEDIES = {kind: fault.remedy for kind, fault in FAULTS.items()} | {
    REFUSED: "lower state_delay and state_jitter, or raise state_timeout",
    STEP_FAILED: "lower the gains or raise the rate, or give the joints their motors' inertia (armature) and damping",
}
"""Beginning of a trial's message about a fault → its remedy."""

QUANTITIES = {
    "rms_error": "root mean square of reference minus position [rad] or [m]",
    "peak_error": "greatest magnitude of that error [rad] or [m]",
    "final_error": "the same, just before the end [rad] or [m]",
    "rms_effort": "root mean square of the effort that acted [N·m] or [N]",
    "peak_effort": "greatest magnitude of it [N·m] or [N]",
    "saturated": "fraction of the commands at the effort limit [-]",
}
"""Performance figures of each joint, which the specification of a study can bound."""

HISTORY = 0.3
"""Time before the stop in which an effort at its limit is a cause of it [s]."""

SATURATED = 0.2
"""Part of that time that the effort is at its limit [-]."""


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
            self._note_fault(f"{REFUSED}: {problem}")

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
    step, period = hardware.plant.settings.step, hardware.period
    truth, states = _Record("q", "qd", "effort"), _Record("q", "qd", "effort")
    controlled = _Controlled(hardware, loop, until_fault=until_fault)
    end = hardware.now + round(duration / step)
    failures = hardware.failures

    with suppress(_FirstFault):
        while True:
            for reading in hardware.readings():  # each reading gets its command at once
                stamp = reading.step * step
                states.add(hardware.time, stamp, reading.q, reading.qd, reading.effort)
                controlled.update(reading, stamp)
            if hardware.now % period == 0:  # the loop notices missing readings; the truth is recorded
                controlled.watch()
                truth.add(hardware.time, hardware.time, hardware.plant.q, hardware.plant.qd, hardware.plant.effort)
                progress(hardware.time)
            if hardware.now >= end:
                break
            hardware.advance(min(hardware.interval, end - hardware.now))
            if hardware.failures > failures:  # later steps would be no motion of the arm
                break
    if hardware.failures > failures:
        controlled.faults[f"{STEP_FAILED}: {hardware.failure}"] = hardware.failures - failures
    n = hardware.plant.dynamics.robot.n
    return Trial(truth.samples(n), states.samples(n), controlled.commands.samples(n), dict(controlled.faults))


def tracking_error(trial: Trial) -> tuple[Array, Array]:
    """Return times (K,) [s] and reference minus position (K, n) [rad] or [m], at each command with a reference."""
    commands, truth = trial.commands, trial.truth
    known = ~np.isnan(commands.values["q"]).any(axis=1)
    t, reference = commands.t[known], commands.values["q"][known]
    if not (len(t) and len(truth.t)):
        return np.zeros(0), reference[:0]
    return t, reference - np.column_stack([np.interp(t, truth.t, q) for q in truth.values["q"].T])


def figures(trial: Trial, effort_limit: Array, window: float = 0.0) -> dict[str, Array]:
    """Return the performance figures of a trial: the quantities of :data:`QUANTITIES`, (n,) each.

    Args:
        trial: the record of the trial.
        effort_limit: effort limit of the commands, (n,) in [N·m] or [N].
        window: time before the end for the final error [s].

    Returns:
        Name → figure of each joint; NaN where nothing was commanded.
    """
    found = {name: np.full(len(effort_limit), np.nan) for name in QUANTITIES}
    if len(trial.truth.t):
        effort = trial.truth.values["effort"]
        found["rms_effort"], found["peak_effort"] = np.sqrt(np.mean(effort**2, axis=0)), np.abs(effort).max(axis=0)
    t, error = tracking_error(trial)
    if len(t):
        error = np.abs(error)
        found["rms_error"], found["peak_error"] = np.sqrt(np.mean(error**2, axis=0)), error.max(axis=0)
        found["final_error"] = error[t >= t[-1] - window].max(axis=0)
        found["saturated"] = np.mean(np.abs(trial.commands.values["effort"]) >= effort_limit, axis=0)
    return found


def stop_line(said: str, t: float, cause: str = "") -> str:
    """One line about a stop.

    Args:
        said: the trial's message about the fault, such as ``speed: joint 'wrist' moves at …``.
        t: time of the stop [s]; NaN if it is not known.
        cause: a further explanation.
    """
    kind, _, problem = simulated(said).partition(": ")
    when = f"stopped at t = {t:.3g} s" if np.isfinite(t) else "stopped"
    problem = problem if kind in REMEDIES else said
    remedy = f". Remedy: {REMEDIES[kind]}" if kind in REMEDIES else ""
    return f"{when}: {problem}{f', because {cause}' if cause else ''}{remedy}"


def simulated(said: str) -> str:
    """A trial's message about a fault, without its note on the end of a latched one."""
    return re.sub(r" \(latched until .*?\)", "", said)


def trial_stop(trial: Trial, robot: Robot) -> str:
    """:func:`stop_line` of the first fault of a trial; "" if there was none."""
    if not trial.faults:
        return ""
    said = next(iter(trial.faults))
    t = _stop_time(trial, said)
    return stop_line(said, t, _saturation(trial, robot, t))


def _stop_time(trial: Trial, said: str) -> float:
    """When the first fault began [s]: from then on there is no reference, or no command; NaN if it is not recorded."""
    if said.startswith(STEP_FAILED):
        return float(trial.truth.t[-1])
    if said.startswith(REFUSED):
        return float(next(iter(np.setdiff1d(trial.states.t, trial.commands.t)), np.nan))
    without = np.isnan(trial.commands.values["q"]).any(axis=1)
    answered = trial.commands.t[without]
    if without.all() or (said.startswith("states") and not len(answered)):  # missing states may get no command
        return np.nan
    return float(next(iter(answered), trial.truth.t[-1]))


def _saturation(trial: Trial, robot: Robot, t: float) -> str:
    """Which joints had been at their effort limits, in words; "" if none."""
    recent = (trial.commands.t > t - HISTORY) & (trial.commands.t <= t)
    efforts = np.abs(trial.commands.values["effort"][recent])
    if not len(efforts):
        return ""
    part = (efforts >= (1.0 - 1e-6) * robot.effort_limit).mean(axis=0)
    found = [
        joint for joint, ratio in zip(robot.joints, part, strict=True) if joint.effort > 0.0 and ratio >= SATURATED
    ]
    limits = " and ".join(f"{joint.name} ({joint.effort:g} {joint.effort_unit})" for joint in found)
    return f"the effort was at its limit at {limits}" if found else ""
