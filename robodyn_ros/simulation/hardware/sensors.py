# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The sensors: from the state of the arm to the readings that arrive from it, at a rate of their own.

Encoders read each position, with noise, as the nearest multiple of the resolution. The velocity is either measured by a
sensor of its own, with its own noise, or the difference of two readings of the position over the time between them.

The transport delays each reading by the delay and a random part of the jitter, drops some and repeats some. No reading
overtakes another: a reading that would arrive before an earlier one arrives together with it, as on a bus with a queue.
A reading arrives at the first step of the plant at which it is due. It keeps the time of the measurement.

``measure`` in ``../trial/trial.c`` and ``_arrivals`` in ``../trial/memory.py`` are the same for compiled trials;
``test_simulation_sweep_trial.py`` compares them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from typing import NamedTuple

import numpy as np

from robodyn_ros.errors import ConfigurationError
from robodyn_ros.robot.pose import Array, read_only
from robodyn_ros.settings import CheckedSettings, choice, setting, whole

ROUNDING = 1e-6
"""Tolerance of a delay's rounding error, as a part of the step."""

VELOCITIES = ("measured", "differentiated")
"""Sources of the velocity in a reading: a sensor of its own, or the difference of positions that were read."""


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


class SensorReading(NamedTuple):
    """One measurement; arrays (n,) in the order of ``robot.joints``."""

    step: int  # time of the measurement, in steps of the plant
    q: Array  # [rad] or [m]
    qd: Array  # [rad/s] or [m/s]
    effort: Array  # mean effort over the step before [N·m] or [N]


class Sensors:
    """Encoders and transport of the readings.

    Attributes:
        steps: number of the plant's steps between two readings.
        encoders: measure the state.
        transport: delivers the readings.
    """

    def __init__(self, joints: Sequence[EncoderSettings], settings: StateSettings, step: float) -> None:
        """
        Args:
            joints: settings of each joint's sensors (n).
            settings: settings of the readings.
            step: length of the plant's step [s].

        Raises:
            ConfigurationError: the time between two readings is not a whole number of steps.
        """
        self.steps = whole_steps("state_rate, its period", 1.0 / settings.state_rate, step)
        noise, chance = np.random.SeedSequence(settings.seed).spawn(2)
        self.encoders = Encoders(joints, self.steps * step, settings.velocity_source == "differentiated", noise)
        self.transport = Transport(
            settings.state_delay, settings.state_jitter, settings.state_drop, settings.state_repeat, step, chance
        )

    def reset(self) -> None:
        """Go back to the start."""
        self.encoders.reset()
        self.transport.reset()


class Encoders:
    """The sensors of all joints. The noise is the same after every reset."""

    def __init__(
        self, joints: Sequence[EncoderSettings], period: float, differentiated: bool, seed: np.random.SeedSequence
    ) -> None:
        """
        Args:
            joints: settings of each joint's sensors (n).
            period: time between two readings [s].
            differentiated: True if the velocity is the difference of positions.
            seed: seed of the noise.
        """
        resolution = np.array([joint.resolution for joint in joints])
        self._coarse = np.flatnonzero(resolution)
        self._resolution = resolution[self._coarse]
        self._noise = read_only([[joint.position_noise, joint.velocity_noise] for joint in joints]).T
        self._noisy = bool(self._noise.any())
        self._period = period
        self._differentiated = differentiated
        self._seed = seed
        self.reset()

    def reset(self) -> None:
        """Go back to the start."""
        self._random = np.random.default_rng(self._seed)
        self._last: Array | None = None

    def read(self, q: Array, qd: Array) -> tuple[Array, Array]:
        """Return position and velocity as the sensors read them, (n,) each; called once a period.

        Args:
            q: position (n,) in [rad] or [m].
            qd: velocity (n,) in [rad/s] or [m/s].
        """
        if self._noisy:
            noise = self._noise * self._random.standard_normal(self._noise.shape)
            q, qd = q + noise[0], qd + noise[1]
        if len(self._coarse):
            q = q.copy()
            q[self._coarse] = np.round(q[self._coarse] / self._resolution) * self._resolution
        if self._differentiated:
            last, self._last = self._last, q
            qd = np.zeros(len(q)) if last is None else (q - last) / self._period
        return q, qd


class Transport:
    """The transport of the readings. Random delays and losses are the same after every reset."""

    def __init__(
        self, delay: float, jitter: float, drop: float, repeat: float, step: float, seed: np.random.SeedSequence
    ) -> None:
        """
        Args:
            delay: delay of every reading [s].
            jitter: greatest additional delay, at random [s].
            drop: probability that a reading is lost.
            repeat: probability that a reading that is not lost arrives twice.
            step: length of the plant's step [s].
            seed: seed of jitter, losses and repetitions.
        """
        self._delay, self._jitter = delay / step, jitter / step
        self._drop, self._repeat = drop, repeat
        self._chance = bool(jitter or drop or repeat)
        self._seed = seed
        self.reset()

    @property
    def punctual(self) -> bool:
        """True if every reading arrives at once."""
        return self._delay == self._jitter == 0.0

    def reset(self) -> None:
        """Go back to the start, and discard the readings on their way."""
        self._random = np.random.default_rng(self._seed)
        self._under_way: deque[tuple[int, SensorReading]] = deque()
        self._last = 0

    def send(self, reading: SensorReading) -> None:
        """Send a reading; called when it is made."""
        # Always three random numbers, so that one setting does not change the effect of the others.
        late, lost, twice = self._random.random(3).tolist() if self._chance else (0.0, 1.0, 1.0)
        due = max(reading.step + ceil(self._delay + late * self._jitter - ROUNDING), self._last)
        if lost < self._drop:
            return
        self._last = due
        self._under_way.extend([(due, reading)] * (2 if twice < self._repeat else 1))

    def arrived(self, now: int) -> list[SensorReading]:
        """Return the readings that have arrived by now [steps], the earliest first; each is returned once."""
        found = []
        while self._under_way and self._under_way[0][0] <= now:
            found.append(self._under_way.popleft()[1])
        return found


def whole_steps(name: str, duration: float, step: float) -> int:
    """Return the number of steps in a duration.

    Args:
        name: name of the setting, for the message.
        duration: duration [s].
        step: length of a step [s].

    Raises:
        ConfigurationError: the duration is not a whole number of steps.
    """
    steps = round(duration / step)
    if steps < 1 or abs(steps * step - duration) > 1e-9 * duration:
        raise ConfigurationError(f"{name}: {duration:g} s is not a whole number of steps of {step:g} s")
    return steps
