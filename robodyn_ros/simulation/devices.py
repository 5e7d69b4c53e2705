# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Drives and sensors: from the commands that arrive to the efforts that act, and from the state to the readings.

**Drives.** A command is clamped to the effort limit and rounded to the resolution of the drive. It reaches the drive
after the delay, and the drive follows it with its lag and rate limit. The plant keeps the effort constant over a step,
so it gets the mean over the step. The impulse is then exact, also when a command reaches the drive within a step.

A drive turns a command into the effort x:

    |ȧ| ≤ r         a approaches the command no faster than the rate limit r
    T ẋ + x = a     x, the effort, follows with the lag T

While the command is constant, a is a ramp and then constant, so both equations have closed solutions (the response of a
first-order system to a ramp and to a step: Franklin, Powell, Emami-Naeini, Feedback Control of Dynamic Systems, ch. 3).
The solutions are used as they are, without approximation, for every length of the step.

**Sensors.** Encoders read each position, with noise, as the nearest multiple of the resolution. The velocity is either
measured by a sensor of its own, with its own noise, or the difference of two readings of the position over the time
between them.

The transport delays each reading by the delay and a random part of the jitter, drops some and repeats some. No reading
overtakes another: a reading that would arrive before an earlier one arrives together with it, as on a bus with a queue.
A reading arrives at the first step of the plant at which it is due. It keeps the time of the measurement.

``hardware.c`` does all of this; :class:`Drives` and :class:`Sensors` are its structs of these names in Python.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import ceil
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from robodyn_ros.checks import finite_array
from robodyn_ros.engine.c_interface import CStructs, Uncopied, required, text_key
from robodyn_ros.errors import ConfigurationError, InputError
from robodyn_ros.robot.pose import Array
from robodyn_ros.settings import NONE, CheckedSettings, choice, names, setting, switch, whole

CODE = Path(__file__).with_name("hardware.c").read_text(encoding="utf-8")

TIMEOUT_RESPONSES = ("hold", "zero", "brake")
"""Responses of the drives to missing commands: keep the last one, give no effort, or brake; ``hardware.c`` numbers them
in this order."""

VELOCITIES = ("measured", "differentiated")
"""Sources of the velocity in a reading: a sensor of its own, or the difference of positions that were read."""


@dataclass(frozen=True)
class DriveSettings(CheckedSettings):
    """Settings of a joint's drive; each field's metadata describe it."""

    lag: float = setting(0.0, "time constant of the lag of the drive", "s", 0.0, 10.0)
    rate_limit: float = setting(0.0, "greatest rate of change (0: no limit) of the effort", "N/s or N·m/s", 0.0, 1e9)
    resolution: float = setting(0.0, "resolution (0: none) of the command", "N or N·m", 0.0, 1e6)


@dataclass(frozen=True)
class CommandSettings(CheckedSettings):
    """Settings of how commands reach the drives; each field's metadata describe it."""

    command_delay: float = setting(0.0, "time from the arrival of a command until the drives apply it", "s", 0.0, 1.0)
    command_timeout: float = setting(
        0.1, "time without a command after which on_command_timeout applies", "s", 1e-3, 3600.0
    )
    on_command_timeout: str = choice(
        "hold", "response to missing commands: hold the last one, give no effort, or brake", lambda: TIMEOUT_RESPONSES
    )
    brake: bool = switch(
        True, "whether brakes hold the arm at its initial position until the first command comes; if not, it falls"
    )
    drive_adds: tuple[str, ...] = names(
        (NONE,), "terms that the drives add by themselves: gravity, coriolis, friction; for one joint gravity.<joint>"
    )


@dataclass(frozen=True)
class EncoderSettings(CheckedSettings):
    """Settings of a joint's sensors; each field's metadata describe it. Noise is normally distributed."""

    resolution: float = setting(0.0, "resolution (0: none) of the position", "m or rad", 0.0, 1.0)
    position_noise: float = setting(0.0, "standard deviation of the noise on the position", "m or rad", 0.0, 1.0)
    velocity_noise: float = setting(
        0.0, "standard deviation of the noise on a measured velocity", "m/s or rad/s", 0.0, 100.0
    )


@dataclass(frozen=True)
class StateSettings(CheckedSettings):
    """Settings of the readings; each field's metadata describe it."""

    state_rate: float = setting(500.0, "rate of joint_states, each after a whole number of steps", "Hz", 1.0, 10000.0)
    state_delay: float = setting(0.0, "time from the measurement to the arrival of every state", "s", 0.0, 1.0)
    state_jitter: float = setting(0.0, "greatest additional delay of a state, at random", "s", 0.0, 1.0)
    state_drop: float = setting(0.0, "ratio of the states that are lost, at random", "-", 0.0, 0.9)
    state_repeat: float = setting(0.0, "ratio of the states that come twice, at random", "-", 0.0, 1.0)
    velocity_source: str = choice(
        "measured",
        "source of the velocity: a sensor of its own, or differences of the measured positions",
        lambda: VELOCITIES,
    )
    seed: int = whole(0, "seed of all random numbers; the same seed gives the same values", 0, 2**31 - 1)

    def period(self, step: float) -> int:
        """Number of the plant's steps [s] between two readings.

        Raises:
            ConfigurationError: the time between two readings is not a whole number of steps.
        """
        duration = 1.0 / self.state_rate
        steps = round(duration / step)
        if steps < 1 or abs(steps * step - duration) > 1e-9 * duration:
            problem = f"state_rate, its period: {duration:g} s is not a whole number of steps of {step:g} s"
            right = f"{1.0 / (max(1, steps) * step):.12g} Hz, or a step of {duration / ceil(duration / step):.12g} s"
            raise ConfigurationError(f"{problem}; take {right}")
        return steps


@lru_cache(maxsize=8)
def hardware_structs(n: int, around: str = "") -> CStructs:
    """The structs of ``hardware.c`` for n joints, and those of the code around it."""
    return CStructs(CODE + around, {"N": n})


def hardware_library(n: int) -> Any:
    """The library of ``hardware.c`` for n joints, loaded once in a process.

    Raises:
        NotReadyError: there is no C compiler, or it fails; the message says how to get one, or why.
    """
    code = f"#define N {n}\n{CODE}"
    library = required("the simulation", "hardware", text_key(code), lambda: code)
    pointer, number = ctypes.c_void_p, ctypes.c_int64
    library.drives_reset.argtypes = library.drives_act.argtypes = pointer, number
    library.drives_reset.restype = library.drives_act.restype = library.sensors_read.restype = None
    library.drives_command.argtypes = pointer, number, pointer
    library.sensors_read.argtypes = pointer, number, *3 * (pointer,)
    library.sensors_take.argtypes = library.hardware_advance.argtypes = pointer, number
    return library


class Drives(Uncopied):
    """The drives of all joints, the commands on their way to them, and the brakes.

    Attributes:
        record: their struct.
        effort: the mean effort over the last step, (n,) in [N·m] or [N]; it changes with the next.
    """

    def __init__(
        self, drives: Sequence[DriveSettings], commands: CommandSettings, step: float, effort_limit: ArrayLike
    ) -> None:
        """
        Args:
            drives: settings of each joint's drive (n).
            commands: settings of the commands.
            step: length of the plant's step [s].
            effort_limit: (n,) in [N·m] or [N]; inf where there is none.

        Raises:
            NotReadyError: there is no C compiler.
        """
        self._library = hardware_library(len(drives))
        structs = hardware_structs(len(drives))
        self.record, self._greatest = structs.make("Drives"), structs.constants["GREATEST"]
        fields = self.record.fields
        rows, delay = fields.drive, commands.command_delay / step
        rows.lag[...], rows.resolution[...] = [own.lag for own in drives], [own.resolution for own in drives]
        rows.rate[...], rows.limit[...] = [own.rate_limit or np.inf for own in drives], effort_limit
        self._ring = due, coming = np.empty(int(delay) + 2), np.empty((int(delay) + 2, len(drives)))
        fields.step[...], fields.delay[...], fields.size[...] = step, delay, len(due)
        fields.due[...], fields.coming[...] = due.ctypes.data, coming.ctypes.data
        fields.timeout[...] = max(1, round(commands.command_timeout / step))
        fields.response[...] = TIMEOUT_RESPONSES.index(commands.on_command_timeout)
        self._brake = commands.brake
        self.effort: Array = fields.effort
        self.reset()

    @property
    def held(self) -> bool:
        """True while brakes hold the arm."""
        return bool(self.record.fields.held)

    @property
    def silent(self) -> bool:
        """True after the command timeout, until the next command."""
        return bool(self.record.fields.silent)

    def reset(self) -> None:
        """Set the efforts to zero, discard every command, and set the brakes as at the start."""
        self._library.drives_reset(self.record.address, self._brake)

    def command(self, now: int, effort: ArrayLike) -> None:
        """Accept a command that arrives now [steps].

        Args:
            now: time of its arrival [steps].
            effort: (n,) in [N·m] or [N].

        Raises:
            InputError: it is not n finite numbers that a drive can give; then nothing has changed.
        """
        given = finite_array("effort", effort, self.effort.shape)
        if self._library.drives_command(self.record.address, now, given.ctypes.data):
            raise InputError("effort", f"is beyond {self._greatest:g}, which no drive can give: {given}", effort)


class SensorReading(NamedTuple):
    """One measurement; arrays (n,) in the order of ``robot.joints``."""

    step: int  # time of the measurement, in steps of the plant
    q: Array  # [rad] or [m]
    qd: Array  # [rad/s] or [m/s]
    effort: Array  # mean effort over the step before [N·m] or [N]


class Sensors(Uncopied):
    """The sensors of all joints, and the transport of their readings. All is the same after every reset, by the seed.

    Attributes:
        record: their struct.
    """

    def __init__(self, joints: Sequence[EncoderSettings], states: StateSettings, step: float) -> None:
        """
        Args:
            joints: settings of each joint's sensors (n).
            states: settings of the readings.
            step: length of the plant's step [s].

        Raises:
            ConfigurationError: the time between two readings is not a whole number of steps.
            NotReadyError: there is no C compiler.
        """
        self._library = hardware_library(len(joints))
        structs = hardware_structs(len(joints))
        self.record = structs.make("Sensors")
        fields, steps = self.record.fields, states.period(step)
        fields.resolution[...] = [joint.resolution for joint in joints]
        fields.period[...] = steps * step
        fields.delay[...], fields.jitter[...] = states.state_delay / step, states.state_jitter / step
        fields.drop[...], fields.repeat[...] = states.state_drop, states.state_repeat
        fields.differentiated[...] = states.velocity_source == "differentiated"
        self._seed, self._amount = states.seed, np.array([[own.position_noise, own.velocity_noise] for own in joints]).T
        latest = ceil((states.state_delay + states.state_jitter) / step)
        self._ring = structs.make_array("Reading", 2 * (latest // steps + 2))  # each twice
        fields.coming[...], fields.size[...] = self._ring.ctypes.data, len(self._ring)
        self._by_chance = bool(states.state_jitter or states.state_drop or states.state_repeat)
        self.reset()

    def reset(self) -> None:
        """Go back to the start, and discard the readings on their way."""
        self._noise, self._transport = map(np.random.default_rng, np.random.SeedSequence(self._seed).spawn(2))
        self.record.fields.count[...] = 0

    def draw(self, readings: int) -> None:
        """Draw the random numbers of the next readings, in place of those that are left."""
        if self._amount.any():
            self._noises = self._amount * self._noise.standard_normal((readings, *self._amount.shape))
            self.record.fields.noise[...] = self._noises.ctypes.data
        if self._by_chance:  # always three numbers, so that one setting does not change the effect of the others
            self._chances = self._transport.random((readings, 3))
            self.record.fields.chance[...] = self._chances.ctypes.data

    def arrived(self, now: int) -> Iterator[SensorReading]:
        """Yield the readings that have arrived by now [steps], the earliest first; each once."""
        reading = self.record.fields.arrived
        while self._library.sensors_take(self.record.address, now):
            yield SensorReading(int(reading.step), reading.q.copy(), reading.v.copy(), reading.effort.copy())
