"""A trial as one call of C: what :func:`.trial.run_trial` gives until its first fault, to rounding, but faster.

The loop in C (:mod:`.trial_code`) holds control loop, drives, sensors and plant. What it does not know, a law or a
plant of one's own for example, goes the other way altogether, as if nobody had tried.
"""

from __future__ import annotations

import ctypes
from typing import NamedTuple

import numpy as np

from robodyn_ros.control.checks import finite_array
from robodyn_ros.control.limits import check_position_limits
from robodyn_ros.control.loop import ControlLoop
from robodyn_ros.control.trajectory import Trajectory
from robodyn_ros.control.tuning import Tuning
from robodyn_ros.dynamics.base import Dynamics
from robodyn_ros.dynamics.compiled import CompiledDynamics
from robodyn_ros.errors import JumpError, StaleStateError
from robodyn_ros.robot.pose import Array
from robodyn_ros.simulation.rig import Rig
from robodyn_ros.simulation.trial import Samples, Trial, run_trial
from robodyn_ros.simulation.trial_events import Events
from robodyn_ros.simulation.trial_library import plain_function, trial_function
from robodyn_ros.simulation.trial_memory import CODES, Memory
from robodyn_ros.simulation.trial_setup import law_values, loop_values, rig_values

QUANTITIES = {"q": "q", "qd": "v", "effort": "effort"}
"""What is recorded → what C calls it."""

DONE, EVENT, STALE, JUMPED, TOO_FAST, MISSING, OTHER = range(len(CODES))


class Ran(NamedTuple):
    """A trial, and how it came about."""

    trial: Trial
    compiled: bool  # C did it


def closed_loop(rig: Rig, dynamics: Dynamics, tuning: Tuning, motion: Trajectory | None, duration: float) -> Ran:
    """A trial of an arm under a control loop, until its first fault.

    Args:
        rig: what the hardware is made of.
        dynamics: of its arm, with its parameters.
        tuning: what the control loop works by.
        motion: that it is to follow, from the beginning; None to stay.
        duration: [s], rounded to whole steps.

    Raises:
        RobodynError: a setting does not fit the arm or another setting, or the motion is not for this arm.
    """
    robot, start = rig.robot, finite_array("initial_position", rig.start, (rig.robot.n,))
    check_position_limits("initial_position", robot, start, list(range(robot.n)))
    loop = ControlLoop.tuned(tuning)
    loop.start(0.0, start)
    if motion is not None:
        loop.follow(motion, 0.0)
    trial = _compiled(rig, dynamics, tuning, motion, duration)
    if trial is not None:
        return Ran(trial, True)
    hardware = rig.assemble()
    return Ran(run_trial(hardware, loop, duration, until_fault=True), False)


def _compiled(rig: Rig, dynamics: Dynamics, tuning: Tuning, motion: Trajectory | None, duration: float) -> Trial | None:
    """The same by C; None if it does not know the case."""
    config = tuning.config
    if rig.plant != "native" or config.ramp_time or config.cmd_timeout or not isinstance(dynamics, CompiledDynamics):
        return None
    if motion is not None and motion.planned is not None:
        return None
    law = law_values(tuning)
    if law is None:
        return None
    events = Events(rig, dynamics)
    function, weigh = trial_function(dynamics, events.integrator), plain_function(dynamics, "mass_matrix")
    if function is None or weigh is None:
        return None
    values = rig_values(rig, round(duration / rig.config.step))
    start = events.frame[0].copy()
    memory = Memory()
    arm = {"symbols": dynamics.symbols, "weigh": ctypes.cast(weigh, ctypes.c_void_p).value}
    memory.hold(values | law | loop_values(tuning, start, motion) | events.values | arm)
    place = ctypes.byref(memory)
    code = function(place)
    while code == EVENT and events.resolve(memory):
        code = function(place)
    if code == OTHER:
        return None
    return _trial(memory, values, _fault(code, memory, events, tuning))


def _fault(code: int, memory: Memory, events: Events, tuning: Tuning) -> dict[str, int]:
    """What went wrong, in the words of whoever says it in Python."""
    robot = tuning.controller.dynamics.robot
    value, name = memory.value, robot.joint_names[memory.joint]
    if code == DONE:
        return {}
    said = {
        EVENT: f"step failed: {events.failure or 'its result is beyond the range of numbers'}",
        STALE: f"state refused: {StaleStateError(value, tuning.config.state_timeout)}",
        JUMPED: f"state refused: {JumpError(name, memory.before, value)}",
        TOO_FAST: f"speed: joint {name!r} moves at {value:.4g}; {memory.before:.4g} is the limit",
        MISSING: f"states: no usable joint states for {value:.3g} s",
    }
    return {said[code]: 1}


def _trial(memory: Memory, values: dict[str, Array], faults: dict[str, int]) -> Trial:
    """What was recorded."""
    truths, came, sent = memory.truths, memory.came, memory.commanded
    times = np.arange(truths) * memory.period * memory.step
    stamps = values["which"][:came] * memory.period * memory.step

    def cut(kind: str, rows: slice | Array) -> dict[str, Array]:
        return {name: values[f"{kind}_{short}"][rows] for name, short in QUANTITIES.items()}

    return Trial(
        Samples(times, times, cut("true", slice(truths))),
        Samples(values["came_t"][:came], stamps, cut("read", values["which"][:came])),
        Samples(values["log_t"][:sent], values["log_stamp"][:sent], cut("log", slice(sent))),
        faults,
    )
