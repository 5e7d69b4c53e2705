# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The memory of a compiled trial: one table of fields that Python fills and the C code of ``trial.c`` works on.

:func:`declaration` gives the table to C as the members of a struct; :class:`TrialMemory` is the same struct in Python.
The functions ``*_fields`` give the values of the hardware, the control law and the control loop by name.
"""

from __future__ import annotations

import ctypes
from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.control.loop import ControlLoop
from robodyn_ros.engine.c_interface import address_of
from robodyn_ros.simulation.hardware.actuators import GREATEST, drive_rows
from robodyn_ros.simulation.hardware.actuators import ROUNDING as COMMAND_ROUNDING
from robodyn_ros.simulation.hardware.sensors import ROUNDING, whole_steps
from robodyn_ros.simulation.hardware.settings import HardwareSettings

INPUTS = (
    # simulated time: the last step, steps between two readings, length of a step [s]
    ("int64_t", "end period"),
    ("double", "step"),
    # plant: its frame, and the structure of mechanism.c
    ("double*", "frame"),
    ("void*", "plant"),
    # drives: settings, state, and the effort that acts (N,)
    ("int64_t", "command_timeout hold_on_timeout braked active last_command"),
    ("double", "command_delay greatest_command"),
    ("Drive*", "drives"),
    ("double*", "effort"),
    # sensors and transport: settings, readings, and the step of arrival and number of each reading that arrives
    ("int64_t", "noisy differentiated arrivals"),
    ("double*", "resolution noise read_q read_v read_effort"),
    ("int64_t*", "arrival_step arrival_reading"),
    # control loop: the core, and places in its period
    ("double*", "loop_rows loop_reference"),
    ("int64_t*", "loop_kind"),
    ("void*", "loop"),
    # records: arrival of readings, commands, and the state of the plant
    ("double*", "received_t command_t command_stamp command_due command_effort command_q command_v drive_command"),
    ("double*", "true_q true_v true_effort"),
)
"""Fields that must be given: C type, and names of that type."""

STATE = (
    # simulated time [steps]
    ("int64_t", "now"),
    # counts: readings received, commands sent, commands that reached the drives, records
    ("int64_t", "received commanded reached truths"),
    # loop: 1 after the command timeout; the reading that was answered last, -1 for missing ones; result of the core
    ("int64_t", "silent asked answer"),
)
"""Fields that the C code changes and that are 0 in the beginning."""

FUNCTIONS = {"loop_update": "Update", "loop_watch": "Watch", "plant_step": "Step"}
"""Functions of the core and of the plant: name → its type. They must be given."""

CODES = ("DONE", "FAILED", "FAULT", "OTHER")
"""Results of the C code: the end; a step of the plant failed; a fault of the control loop; or a rare case that only
Python knows."""

NEVER = -1

StepCounts = NDArray[np.int64]
"""Times in steps of the plant, or numbers of readings."""

_C_TYPES: dict[str, type[ctypes.c_int64 | ctypes.c_double]] = {"int64_t": ctypes.c_int64, "double": ctypes.c_double}
ARRAYS = {"int64_t*": np.dtype(np.int64), "double*": np.dtype(np.float64), "Drive*": np.dtype(np.float64)}
"""C types of fields that are arrays → NumPy's types."""


def _by_name(groups: tuple[tuple[str, str], ...]) -> dict[str, str]:
    return {name: kind for kind, names in groups for name in names.split()}


_INPUT_TYPES, _STATE_TYPES = _by_name(INPUTS), _by_name(STATE)


def declaration() -> str:
    """Return the fields as members of a C struct."""
    lines = []
    for kind, names in INPUTS + STATE:
        star = "*" * kind.count("*")
        lines.append(f"{kind.rstrip('*')} {', '.join(star + name for name in names.split())};")
    return " ".join([*lines, *(f"{kind} *{name};" for name, kind in FUNCTIONS.items())])


class TrialMemory(ctypes.Structure):
    """The memory of one trial; numbers by value, arrays and functions by address.

    A name that is not a field cannot be set.

    Attributes:
        arrays: the arrays of the fields by name; they stay alive with the memory.
    """

    __slots__ = ("arrays",)
    _fields_ = (
        *((name, _C_TYPES.get(kind, ctypes.c_void_p)) for name, kind in (_INPUT_TYPES | _STATE_TYPES).items()),
        *((name, ctypes.c_void_p) for name in FUNCTIONS),
    )

    def __init__(self, *parts: Mapping[str, Any]) -> None:
        """
        Args:
            parts: name → number, array or address of a function; together they give each input exactly once.

        Raises:
            TypeError: a name is unknown, missing or given twice, or an array does not have the field's type
                or is not contiguous.
        """
        super().__init__()
        _check_names(Counter(name for part in parts for name in part))
        values = {name: value for part in parts for name, value in part.items()}
        self.arrays = {name: value for name, value in values.items() if isinstance(value, np.ndarray)}
        for name, value in values.items():
            wanted_type = ARRAYS.get(_INPUT_TYPES.get(name, ""))
            if wanted_type is None:
                setattr(self, name, value)
                continue
            array = self.arrays.get(name)
            if array is None or array.dtype != wanted_type or not array.flags.c_contiguous:
                raise TypeError(f"field {name} of a trial's memory must be a contiguous array of {wanted_type}")
            setattr(self, name, array.ctypes.data)


def _check_names(counts: Counter[str]) -> None:
    """Raises a TypeError unless each input is given once, and nothing else."""
    wanted = {*_INPUT_TYPES, *FUNCTIONS}
    wrong = {
        "unknown": counts.keys() - wanted,
        "missing": wanted - counts.keys(),
        "given twice": {name for name, count in counts.items() if count > 1},
    }
    said = [f"{problem}: {', '.join(sorted(names))}" for problem, names in wrong.items() if names]
    if said:
        raise TypeError(f"fields of a trial's memory, {'; '.join(said)}")


def loop_fields(loop: ControlLoop) -> dict[str, Any]:
    """Return the core of a control loop, and places in its period."""
    core = loop.core
    functions = {f"loop_{name}": getattr(core.library, f"core_{name}") for name in ("update", "watch")}
    return {
        "loop": core.address,
        **{name: address_of(function) for name, function in functions.items()},
        **{f"loop_{name}": getattr(core.period, name) for name in ("rows", "reference")},
        "loop_kind": core.period.kind.reshape(1),
    }


def hardware_fields(hardware: HardwareSettings, end: int) -> dict[str, Any]:
    """Return the values of drives, sensors and transport for so many steps, with the arrays of the records."""
    n, step, commands, states = hardware.robot.n, hardware.plant_settings.step, hardware.commands, hardware.states
    period = whole_steps("state_rate, its period", 1.0 / states.state_rate, step)
    readings = end // period + 1
    noise, chance = np.random.SeedSequence(states.seed).spawn(2)
    arrival, which = _arrivals(hardware, readings, period, np.random.default_rng(chance))
    arrival, which = arrival[arrival <= end], which[: np.count_nonzero(arrival <= end)]
    arrivals = len(which)
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
        "greatest_command": GREATEST,
        "hold_on_timeout": int(commands.on_command_timeout == "hold"),
        "braked": int(commands.brake),
        "last_command": NEVER,
        "active": NEVER,
        "drives": drive_rows(hardware.drives, hardware.robot.effort_limit),
        "resolution": np.array([joint.resolution for joint in hardware.encoders]),
        "noisy": int(noisy),
        "noise": amount * np.random.default_rng(noise).standard_normal((readings, 2, n)) if noisy else np.zeros(1),
        "differentiated": int(states.velocity_source == "differentiated"),
        "arrivals": arrivals,
        "arrival_step": arrival,
        "arrival_reading": which,
        "effort": np.zeros(n),
        **{name: np.empty((readings, n)) for name in ("read_q", "read_v", "read_effort")},
        **{name: np.empty((readings, n)) for name in ("true_q", "true_v", "true_effort")},
        **{name: np.empty(arrivals) for name in ("received_t", "command_t", "command_stamp", "command_due")},
        **{name: np.empty((arrivals, n)) for name in ("command_effort", "command_q", "command_v", "drive_command")},
    }


def _arrivals(
    hardware: HardwareSettings, readings: int, period: int, random: np.random.Generator
) -> tuple[StepCounts, StepCounts]:
    """Step and number of each reading that arrives, in order, as in :class:`..hardware.sensors.Transport`."""
    states, step = hardware.states, hardware.plant_settings.step
    delay, jitter = states.state_delay / step, states.state_jitter / step
    which = np.arange(readings, dtype=np.int64)
    if not (jitter or states.state_drop or states.state_repeat):
        return np.ceil(which * period + (np.ceil(delay - ROUNDING))).astype(np.int64), which
    late, lost, twice = random.random((readings, 3)).T
    which = which[lost >= states.state_drop]
    due = np.maximum.accumulate(which * period + np.ceil(delay + late[which] * jitter - ROUNDING)).astype(np.int64)
    times = np.where(twice[which] < states.state_repeat, 2, 1)
    return np.repeat(due, times), np.repeat(which, times)
