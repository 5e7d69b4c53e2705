"""The sensors: from the state of the arm to the readings that come from it, at a rate of their own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from robodyn_ros.control.settings import check_settings, choice, setting, whole
from robodyn_ros.errors import ConfigurationError
from robodyn_ros.simulation.encoders import EncoderConfig, Encoders
from robodyn_ros.simulation.transport import Transport

VELOCITIES = ("measured", "differentiated")
"""Where the velocity in a reading comes from: a sensor of its own, or the positions as they were read."""


@dataclass(frozen=True)
class StateConfig:
    """Settings of the states that come from the arm; each field's metadata say what it is."""

    state_rate: float = setting(500.0, "rate of joint_states, each after a whole number of steps", "Hz", 1.0, 10000.0)
    state_delay: float = setting(0.0, "time from the measurement to the arrival of every state", "s", 0.0, 1.0)
    state_jitter: float = setting(0.0, "greatest additional delay of a state, at random", "s", 0.0, 1.0)
    state_drop: float = setting(0.0, "part of the states that are lost, at random", "-", 0.0, 0.9)
    state_repeat: float = setting(0.0, "part of the states that come twice, at random", "-", 0.0, 1.0)
    velocity_source: str = choice(
        "measured", "where the velocity comes from: a sensor of its own, or the positions read", lambda: VELOCITIES
    )
    seed: int = whole(0, "seed of all that happens at random; the same again for the same seed", 0, 2**31 - 1)

    def __post_init__(self) -> None:
        check_settings(self)


class Sensors:
    """See the module.

    Attributes:
        steps: how many steps of the plant lie between two readings.
        encoders: what is read.
        transport: how it comes.
    """

    def __init__(self, joints: Sequence[EncoderConfig], config: StateConfig, step: float) -> None:
        """
        Args:
            joints: settings of each joint's sensors (n).
            config: the settings of all.
            step: of the plant [s].

        Raises:
            ConfigurationError: the time between two readings is not a whole number of steps.
        """
        self.steps = whole_steps("state_rate, its period", 1.0 / config.state_rate, step)
        noise, chance = np.random.SeedSequence(config.seed).spawn(2)
        self.encoders = Encoders(joints, self.steps * step, config.velocity_source == "differentiated", noise)
        self.transport = Transport(
            config.state_delay, config.state_jitter, config.state_drop, config.state_repeat, step, chance
        )

    def reset(self) -> None:
        """Begin anew."""
        self.encoders.reset()
        self.transport.reset()


def whole_steps(name: str, duration: float, step: float) -> int:
    """How many steps make a duration.

    Args:
        name: of the setting that says how long.
        duration: [s].
        step: [s].

    Raises:
        ConfigurationError: not a whole number of them.
    """
    steps = round(duration / step)
    if steps < 1 or abs(steps * step - duration) > 1e-9 * duration:
        raise ConfigurationError(f"{name}: {duration:g} s is not a whole number of steps of {step:g} s")
    return steps
