# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The record of a trial (:mod:`.trial_run`), and what it shows.

:func:`trial_stop` says when and why the control of the arm stopped, in one line that ends with the remedy.
"""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np

from robodyn_ros.control.faults.table import FAULTS
from robodyn_ros.robot import Array, Robot

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
    effort_limit: Array  # of the commands (n,) [N·m] or [N]; inf where there is none


def tracking_error(trial: Trial) -> tuple[Array, Array]:
    """Return times (K,) [s] and reference minus position (K, n) [rad] or [m], at each command with a reference."""
    commands, truth = trial.commands, trial.truth
    known = ~np.isnan(commands.values["q"]).any(axis=1)
    t, reference = commands.t[known], commands.values["q"][known]
    if not (len(t) and len(truth.t)):
        return np.zeros(0), reference[:0]
    return t, reference - np.column_stack([np.interp(t, truth.t, q) for q in truth.values["q"].T])


def figures(trial: Trial, window: float = 0.0) -> dict[str, Array]:
    """Return the performance figures of a trial: the quantities of :data:`QUANTITIES`, (n,) each.

    Args:
        trial: the record of the trial.
        window: time before the end for the final error [s].

    Returns:
        Name → figure of each joint; NaN where nothing was commanded.
    """
    found = {name: np.full(len(trial.effort_limit), np.nan) for name in QUANTITIES}
    if len(trial.truth.t):
        found |= magnitudes("effort", trial.truth.values["effort"])
    t, error = tracking_error(trial)
    if len(t):
        found |= magnitudes("error", error)
        found["final_error"] = np.abs(error[t >= t[-1] - window]).max(axis=0)
        found["saturated"] = np.mean(np.abs(trial.commands.values["effort"]) >= trial.effort_limit, axis=0)
    return found


def magnitudes(name: str, values: Array) -> dict[str, Array]:
    """Return ``rms_<name>`` and ``peak_<name>`` of values (N, n): root mean square, greatest magnitude, each (n,)."""
    return {f"rms_{name}": np.sqrt(np.mean(values**2, axis=0)), f"peak_{name}": np.abs(values).max(axis=0)}


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
    part = (efforts >= (1.0 - 1e-6) * trial.effort_limit).mean(axis=0)
    rows = zip(robot.joints, trial.effort_limit, part, strict=True)
    found = [(joint, limit) for joint, limit, ratio in rows if limit > 0.0 and ratio >= SATURATED]
    limits = " and ".join(f"{joint.name} ({limit:g} {joint.effort_unit})" for joint, limit in found)
    return f"the effort was at its limit at {limits}" if found else ""
