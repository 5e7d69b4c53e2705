"""A trial as one call of C: what :func:`.trial.run_trial` gives until its first fault, to rounding, but faster.

The loop in C (:mod:`.trial_code`) holds control loop, drives, sensors and plant. What it does not know, a law or a
plant of one's own for example, goes the other way altogether, as if nobody had tried.
"""

from __future__ import annotations

import ctypes
from typing import Any, NamedTuple

import numpy as np

from robodyn_ros.checks import finite_array, is_finite
from robodyn_ros.control.limits import check_position_limits
from robodyn_ros.control.loop import ControlLoop
from robodyn_ros.control.loop_settings import LoopSettings
from robodyn_ros.control.motion.trajectory import Trajectory
from robodyn_ros.dynamics.base import Dynamics
from robodyn_ros.dynamics.compiled import CompiledDynamics
from robodyn_ros.errors import InputError, JumpError, SimulationError, StaleStateError
from robodyn_ros.plugins import create
from robodyn_ros.robot.pose import Array
from robodyn_ros.simulation.hardware.settings import HardwareSettings
from robodyn_ros.simulation.integrators.base import Integrator
from robodyn_ros.simulation.plant.compiled_motion import MODE, make_frame
from robodyn_ros.simulation.plant.joint_effects import Friction, JointEffects, Stops
from robodyn_ros.simulation.plant.mechanism import CLOSE, REFINEMENTS, Mechanism
from robodyn_ros.simulation.plant.modes import PIVOTS, ROUNDING, Mode
from robodyn_ros.simulation.trial.memory import (
    CODES,
    TrialMemory,
    hardware_fields,
    law_fields,
    loop_fields,
    model_function,
    trial_function,
)
from robodyn_ros.simulation.trial.trial import Trial, TrialSamples, run_trial

STEPPED = 2
"""The phase of a step that has been made."""


class EventResolver:
    """The steps of a compiled trial that C gives up, one by one, in Python.

    Attributes:
        frame: state, effort and mode of the plant, and its constants, as the C code takes them.
        failure: why a step could not be made.
        values: what the C code has to know of it, by field.
    """

    def __init__(self, hardware: HardwareSettings, dynamics: Dynamics) -> None:
        """
        Args:
            hardware: what the hardware is made of.
            dynamics: of its arm.
        """
        robot = hardware.robot
        joints = JointEffects(Friction(hardware.friction, robot.n), Stops(robot, hardware.stops), robot.velocity_limit)
        self.integrator: Integrator = create("integrators", hardware.integrator)
        self.mechanism = Mechanism(dynamics, joints, self.integrator)
        self.frame = make_frame(joints)
        self.frame[:2] = self.mechanism.settled(np.array(hardware.start, dtype=np.float64), np.zeros(robot.n))
        self.failure: Exception | None = None
        self.values: dict[str, Any] = {
            "frame": self.frame,
            "hold_limit": joints.friction.static,
            "restitution": joints.stops.restitution,
            "rounding": ROUNDING,
            "pivots": PIVOTS,
            "refinements": REFINEMENTS,
            "close": CLOSE,
        }

    def resolve(self, memory: TrialMemory) -> bool:
        """Find the mode that applies, or make the step in which it ends; whether that could be done."""
        q, qd, effort = self.frame[:3].copy()
        with np.errstate(over="ignore", invalid="ignore"):
            try:
                if not memory.known:
                    self.frame[MODE], memory.known = self.mechanism.modes.at(q, qd, effort), 1
                    return True
                state = self.mechanism.advance(q, qd, effort, memory.step)
            except (InputError, SimulationError) as cause:
                self.failure = cause
                return False
        return self._take(memory, *state)

    def _take(self, memory: TrialMemory, q: Array, qd: Array, mode: Mode | None) -> bool:
        if not (is_finite(q) and is_finite(qd)):
            return False
        self.frame[0], self.frame[1] = q, qd
        memory.known, memory.phase = int(mode is not None), STEPPED
        if mode is not None:
            self.frame[MODE] = mode
        return True


QUANTITIES = {"q": "q", "qd": "v", "effort": "effort"}
"""What is recorded → what C calls it."""

DONE, EVENT, STALE, JUMPED, TOO_FAST, MISSING, OTHER = range(len(CODES))


class TrialOutcome(NamedTuple):
    """A trial, and how it came about."""

    trial: Trial
    compiled: bool  # C did it


def run_until_fault(
    hardware_settings: HardwareSettings,
    dynamics: Dynamics,
    loop_settings: LoopSettings,
    motion: Trajectory | None,
    duration: float,
) -> TrialOutcome:
    """A trial of an arm under a control loop, until its first fault.

    Args:
        hardware_settings: what the hardware is made of.
        dynamics: of its arm, with its parameters.
        loop_settings: what the control loop works by.
        motion: that it is to follow, from the beginning; None to stay.
        duration: [s], rounded to whole steps.

    Raises:
        RobodynError: a setting does not fit the arm or another setting, or the motion is not for this arm.
    """
    robot, start = (
        hardware_settings.robot,
        finite_array("initial_position", hardware_settings.start, (hardware_settings.robot.n,)),
    )
    check_position_limits("initial_position", robot, start, list(range(robot.n)))
    loop = ControlLoop.from_settings(loop_settings)
    loop.start(0.0, start)
    if motion is not None:
        loop.follow(motion, 0.0)
    trial = _compiled(hardware_settings, dynamics, loop_settings, motion, duration)
    if trial is not None:
        return TrialOutcome(trial, True)
    hardware = hardware_settings.assemble()
    return TrialOutcome(run_trial(hardware, loop, duration, until_fault=True), False)


def _compiled(
    hardware: HardwareSettings, dynamics: Dynamics, loop: LoopSettings, motion: Trajectory | None, duration: float
) -> Trial | None:
    """The same by C; None if it does not know the case."""
    config = loop.safety
    if (
        hardware.plant != "native"
        or config.ramp_time
        or config.cmd_timeout
        or not isinstance(dynamics, CompiledDynamics)
    ):
        return None
    if motion is not None and motion.planned is not None:
        return None
    law = law_fields(loop)
    if law is None:
        return None
    events = EventResolver(hardware, dynamics)
    function, weigh = trial_function(dynamics, events.integrator), model_function(dynamics, "mass_matrix")
    if function is None or weigh is None:
        return None
    values = hardware_fields(hardware, round(duration / hardware.plant_settings.step))
    start = events.frame[0].copy()
    memory = TrialMemory()
    arm = {"symbols": dynamics.symbols, "weigh": ctypes.cast(weigh, ctypes.c_void_p).value}
    memory.hold(values | law | loop_fields(loop, start, motion) | events.values | arm)
    place = ctypes.byref(memory)
    code = function(place)
    while code == EVENT and events.resolve(memory):
        code = function(place)
    if code == OTHER:
        return None
    return _trial(memory, values, _fault(code, memory, events, loop))


def _fault(code: int, memory: TrialMemory, events: EventResolver, loop: LoopSettings) -> dict[str, int]:
    """What went wrong, in the words of whoever says it in Python."""
    robot = loop.controller.dynamics.robot
    value, name = memory.value, robot.joint_names[memory.joint]
    if code == DONE:
        return {}
    said = {
        EVENT: f"step failed: {events.failure or 'its result is beyond the range of numbers'}",
        STALE: f"state refused: {StaleStateError(value, loop.safety.state_timeout)}",
        JUMPED: f"state refused: {JumpError(name, memory.before, value)}",
        TOO_FAST: f"speed: joint {name!r} moves at {value:.4g}; {memory.before:.4g} is the limit",
        MISSING: f"states: no usable joint states for {value:.3g} s",
    }
    return {said[code]: 1}


def _trial(memory: TrialMemory, values: dict[str, Array], faults: dict[str, int]) -> Trial:
    """What was recorded."""
    truths, came, sent = memory.truths, memory.came, memory.commanded
    times = np.arange(truths) * memory.period * memory.step
    stamps = values["which"][:came] * memory.period * memory.step

    def cut(kind: str, rows: slice | Array) -> dict[str, Array]:
        return {name: values[f"{kind}_{short}"][rows] for name, short in QUANTITIES.items()}

    return Trial(
        TrialSamples(times, times, cut("true", slice(truths))),
        TrialSamples(values["came_t"][:came], stamps, cut("read", values["which"][:came])),
        TrialSamples(values["log_t"][:sent], values["log_stamp"][:sent], cut("log", slice(sent))),
        faults,
    )
