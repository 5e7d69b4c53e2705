"""What a compiled trial starts from: the numbers of its hardware, its control loop and its motion, by field."""

from __future__ import annotations

import ctypes
import hashlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.control.laws.computed_torque import SMOOTHING, ComputedTorque
from robodyn_ros.control.laws.friction_compensation import FrictionCompensation as KnownFriction
from robodyn_ros.control.laws.gravity_compensation import GravityCompensation
from robodyn_ros.control.laws.impedance import Impedance
from robodyn_ros.control.laws.pd import PD
from robodyn_ros.control.limits import INSTANT
from robodyn_ros.control.loop_settings import LoopSettings
from robodyn_ros.control.motion.trajectory import Sample, Trajectory
from robodyn_ros.dynamics.compiled import CompiledDynamics
from robodyn_ros.engine.codegen import scalar_source
from robodyn_ros.engine.library import find_library
from robodyn_ros.engine.program import Program
from robodyn_ros.robot.configuration import TURN, ConfigurationSpace
from robodyn_ros.robot.pose import Array
from robodyn_ros.simulation.hardware.actuators import GREATEST
from robodyn_ros.simulation.hardware.actuators import ROUNDING as COMMAND_ROUNDING
from robodyn_ros.simulation.hardware.sensors import ROUNDING, whole_steps
from robodyn_ros.simulation.hardware.settings import HardwareSettings
from robodyn_ros.simulation.integrators.base import Integrator
from robodyn_ros.simulation.plant.compiled_motion import motion_source

# The memory that a compiled trial works on, as Python and C see it: one list of fields for both.

_SCALARS = {
    "int64_t": (
        *("now", "end", "period", "command_timeout", "phase", "known", "joint", "law", "integrating"),
        *("braked", "holds", "silent", "noisy", "differentiated", "points", "degree", "arrived", "lags"),
        *(
            "pivots",
            "refinements",
            "states_used",
            "came",
            "coming",
            "commanded",
            "reached",
            "told",
            "last_command",
            "truths",
        ),
    ),
    "double": (
        *("step", "state_timeout", "turn", "last_t", "jump", "guide_time", "start", "integral_limit", "lead", "margin"),
        *("sent_time", "instant", "greatest", "rounding", "close", "command_delay", "smoothing", "value", "before"),
    ),
}

_ARRAYS = {
    "int64_t": ("arrival", "which", "circular"),
    "double": (
        *(
            "frame",
            "symbols",
            "hold_limit",
            "restitution",
            "model",
            "effort",
            "drive_limit",
            "lag",
            "slew",
            "fineness",
            "aim",
            "given",
        ),
        *("due", "asked", "resolution", "noise", "read_q", "read_v", "read_effort"),
        *("knots", "table", "first", "goal", "kp", "kd", "ki", "viscous", "coulomb", "damping", "dry"),
        *("last_q", "last_v", "overspeed", "integral", "cut", "sent", "upper", "lower", "spring", "damper"),
        *("effort_limit", "rate", "came_t", "log_t", "log_stamp", "log_effort", "log_q", "log_v"),
        *("true_q", "true_v", "true_effort"),
    ),
}

FUNCTIONS = {"gravity": 1, "mass": 1, "coriolis": 2, "inverse": 3, "weigh": 1}
"""What the laws ask of the model and, last, what the plant asks of the arm; and of how many arrays it is a function."""

CODES = ("DONE", "EVENT", "STALE", "JUMPED", "TOO_FAST", "MISSING", "OTHER")
"""Why the C code returned: the end, an event of the plant, a state that is refused or has a fault as its answer, or
something so rare that only Python knows it."""


class TrialMemory(ctypes.Structure):
    """The fields; scalars by value, arrays by address."""

    _fields_ = tuple(
        [(name, ctypes.c_int64) for name in _SCALARS["int64_t"]]
        + [(name, ctypes.c_double) for name in _SCALARS["double"]]
        + [(name, ctypes.c_void_p) for names in _ARRAYS.values() for name in names]
        + [(name, ctypes.c_void_p) for name in FUNCTIONS]
    )

    def hold(self, values: dict[str, Any]) -> None:
        """Take values over; arrays stay the caller's own, and are kept alive.

        Args:
            values: name → number, contiguous array of the field's type, or address of a function.
        """
        self.kept = {name: value for name, value in values.items() if isinstance(value, np.ndarray)}
        for name, value in values.items():
            setattr(self, name, value.ctypes.data if isinstance(value, np.ndarray) else value)


def declaration() -> str:
    """The fields in C."""
    lines = [f"{kind} {', '.join(names)};" for kind, names in _SCALARS.items()]
    lines += [f"{kind} *{', *'.join(names)};" for kind, names in _ARRAYS.items()]
    return " ".join([*lines, *(f"Plain{count} *{name};" for name, count in FUNCTIONS.items())])


# The libraries of a compiled trial: the loop of an arm and an integrator, and what a law asks of its model.

CODE = Path(__file__).with_name("trial.c").read_text(encoding="utf-8")

_functions: dict[tuple[str, str], Any] = {}


def trial_function(dynamics: CompiledDynamics, integrator: Integrator) -> Any:
    """The loop for an arm, or None where there is no compiler; looked up once in a process."""
    if not (dynamics.compiled and integrator.code):
        return None
    program = dynamics.program("forward")
    code = CODE.replace("@fields", declaration()).replace("@codes", ", ".join(CODES))
    return _function("trial", program, motion_source(dynamics, integrator) + code)


def model_function(dynamics: CompiledDynamics, quantity: str) -> Any:
    """A quantity as a C function of its inputs, the parameters and the place for the result; or None likewise."""
    if not dynamics.compiled:
        return None
    program = dynamics.program(quantity)
    inputs = [f"x{i}" for i in range(len(program.inputs))]
    code = f"""
void {quantity}_plain({", ".join(f"const double* {name}" for name in inputs)}, const double* p, double* y) {{
  double k[CONSTANTS], check;
  prepare(p, k);
  compute({", ".join(inputs)}, p, k, y, &check);
}}
"""
    return _function(f"{quantity}_plain", program, code)


def _function(name: str, program: Program, code: str) -> Any:
    key = hashlib.sha256(f"{program.key}\n{code}".encode()).hexdigest()[:32]
    if (name, key) not in _functions:
        path = find_library(name, key, lambda: scalar_source(program) + code)
        if path is None:  # not remembered: there may be one later
            return None
        _functions[name, key] = ctypes.CDLL(str(path))[name]
    return _functions[name, key]


LAWS = (PD, GravityCompensation, ComputedTorque, Impedance)
"""Those that are written in C, in the order of its list."""

QUANTITIES = {"gravity": "gravity", "mass": "mass_matrix", "coriolis": "coriolis_matrix", "inverse": "inverse"}
"""What C calls them → those of the model that the laws ask for."""

Steps = NDArray[np.int64]
"""Times, counted in steps of the plant, or numbers of readings."""

NEVER = -1


def law_fields(loop: LoopSettings) -> dict[str, Any] | None:
    """Of the control law and its model; None if it is not written in C."""
    law = loop.controller
    model = law.dynamics
    if type(law) not in LAWS or not isinstance(model, CompiledDynamics):
        return None
    functions = {name: model_function(model, quantity) for name, quantity in QUANTITIES.items()}
    if None in functions.values():
        return None
    parameters, known = model.parameters, KnownFriction(model)
    return {name: ctypes.cast(function, ctypes.c_void_p).value for name, function in functions.items()} | {
        "law": LAWS.index(type(law)),
        "integrating": int(law.ki.any()),
        "kp": law.kp,
        "kd": law.kd,
        "ki": law.ki,
        "model": model.symbols,
        "viscous": parameters.viscous,
        "coulomb": parameters.coulomb,
        "damping": known.viscous,
        "dry": known.coulomb,
        "smoothing": SMOOTHING,
    }


def loop_fields(loop: LoopSettings, start: Array, motion: Trajectory | None) -> dict[str, Any]:
    """Of the control loop, which begins at a position (n,), and of the motion that it follows."""
    config, limits, robot = loop.safety, loop.limits, loop.controller.dynamics.robot
    space, zero = ConfigurationSpace(robot), np.zeros(robot.n)
    values: dict[str, Any] = {"points": 1, "arrived": 1, "first": start, "goal": start}
    if motion is not None:
        turned = space.near(start, motion.positions[0]) - motion.positions[0]
        whole = (motion.shifted(turned) if turned.any() else motion).continued_from(0.0, Sample(start, zero, zero))
        values = {
            "points": len(whole.times),
            "degree": whole.coefficients.shape[1] - 1,
            "knots": whole.times,
            "table": whole.coefficients,
            "first": np.array(whole.positions[0]),
            "goal": np.array(whole.positions[-1]),
        }
    return values | {
        "state_timeout": config.state_timeout,
        "jump": config.position_jump,
        "integral_limit": config.integral_limit,
        "lead": config.reference_lead,
        "margin": config.soft_limit_margin,
        "overspeed": config.overspeed * limits.velocity,
        "effort_limit": limits.effort,
        "rate": limits.rate,
        "spring": loop.feedback.stiffness,
        "damper": loop.feedback.damping,
        "lower": robot.lower,
        "upper": robot.upper,
        "circular": space.circular.astype(np.int64),
        "turn": TURN,
        "instant": INSTANT,
        "greatest": GREATEST,
        **{name: np.zeros(robot.n) for name in ("last_q", "last_v", "integral", "cut", "sent")},
    }


def hardware_fields(hardware: HardwareSettings, end: int) -> dict[str, Any]:
    """Of drives and sensors, for so many steps; and the places for what is recorded."""
    n, step, commands, states = hardware.robot.n, hardware.plant_settings.step, hardware.commands, hardware.states
    period = whole_steps("state_rate, its period", 1.0 / states.state_rate, step)
    made = end // period + 1
    noise, chance = np.random.SeedSequence(states.seed).spawn(2)
    arrival, which = _arrivals(hardware, made, period, np.random.default_rng(chance))
    arrival, which = arrival[arrival <= end], which[: np.count_nonzero(arrival <= end)]
    come = len(which)
    delay = commands.command_delay / step
    whole = round(delay)
    amount = np.array([[joint.position_noise, joint.velocity_noise] for joint in hardware.encoders]).T
    noisy = bool(amount.any())
    return {
        "step": step,
        "end": end,
        "period": period,
        "command_timeout": max(1, round(commands.command_timeout / step)),
        "command_delay": float(whole) if abs(delay - whole) < COMMAND_ROUNDING else delay,
        "holds": int(commands.on_command_timeout == "hold"),
        "braked": int(commands.brake),
        "last_command": NEVER,
        "told": NEVER,
        "lag": np.array([drive.lag for drive in hardware.drives]),
        "slew": np.array([drive.rate_limit or np.inf for drive in hardware.drives]),
        "fineness": np.array([drive.resolution for drive in hardware.drives]),
        "drive_limit": hardware.robot.effort_limit,
        "resolution": np.array([joint.resolution for joint in hardware.encoders]),
        "noisy": int(noisy),
        "noise": amount * np.random.default_rng(noise).standard_normal((made, 2, n)) if noisy else np.zeros(1),
        "differentiated": int(states.velocity_source == "differentiated"),
        "coming": come,
        "arrival": arrival,
        "which": which,
        **{name: np.zeros(n) for name in ("aim", "given", "effort")},
        **{
            name: np.empty((made, n)) for name in ("read_q", "read_v", "read_effort", "true_q", "true_v", "true_effort")
        },
        **{name: np.empty(come) for name in ("came_t", "log_t", "log_stamp", "due")},
        **{name: np.empty((come, n)) for name in ("log_effort", "log_q", "log_v", "asked")},
    }


def _arrivals(hardware: HardwareSettings, made: int, period: int, random: np.random.Generator) -> tuple[Steps, Steps]:
    """When readings come [steps], and which, in the order in which they do: see :class:`.transport.Transport`."""
    states, step = hardware.states, hardware.plant_settings.step
    delay, jitter = states.state_delay / step, states.state_jitter / step
    which = np.arange(made, dtype=np.int64)
    if not (jitter or states.state_drop or states.state_repeat):
        return np.ceil(which * period + (np.ceil(delay - ROUNDING))).astype(np.int64), which
    late, lost, twice = random.random((made, 3)).T
    which = which[lost >= states.state_drop]
    due = np.maximum.accumulate(which * period + np.ceil(delay + late[which] * jitter - ROUNDING)).astype(np.int64)
    times = np.where(twice[which] < states.state_repeat, 2, 1)
    return np.repeat(due, times), np.repeat(which, times)
