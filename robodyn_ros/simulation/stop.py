# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""When and why the control of a simulated arm stopped, in one line that ends with the remedy."""

from __future__ import annotations

import re

import numpy as np

from robodyn_ros.control.faults.table import FAULTS
from robodyn_ros.robot import Robot
from robodyn_ros.simulation.trial.trial import Trial

STEP_FAILED, REFUSED = "step failed", "state refused"
"""Beginnings of a trial's messages about a failed step of the plant, and about a refused state."""

REMEDIES = {kind: fault.remedy for kind, fault in FAULTS.items()} | {
    REFUSED: "lower state_delay and state_jitter, or raise state_timeout",
    STEP_FAILED: "lower the gains or raise the rate, or give the joints their motors' inertia (armature) and damping",
}
"""Beginning of a trial's message about a fault → its remedy."""

HISTORY = 0.3
"""Time before the stop in which an effort at its limit is a cause of it [s]."""

SATURATED = 0.2
"""Part of that time that the effort is at its limit [-]."""


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
