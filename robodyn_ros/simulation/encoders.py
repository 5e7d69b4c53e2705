"""What a drive's electronics read of a joint: position by an encoder of finite resolution, velocity, and noise on both.

A position is read as the multiple of the resolution nearest to the position and its noise. Velocity is either
measured by a sensor of its own, with its own noise, or is the difference of two positions as they were read, over the
time between.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from robodyn_ros.control.settings import check_settings, setting
from robodyn_ros.robot.pose import Array, read_only


@dataclass(frozen=True)
class EncoderConfig:
    """Settings of a joint's sensors; each field's metadata say what it is. Noise is normally distributed."""

    resolution: float = setting(0.0, "resolution (0: none) of the position", "m or rad", 0.0, 1.0)
    position_noise: float = setting(0.0, "standard deviation of the noise on the position", "m or rad", 0.0, 1.0)
    velocity_noise: float = setting(
        0.0, "standard deviation of the noise on a measured velocity", "m/s or rad/s", 0.0, 100.0
    )

    def __post_init__(self) -> None:
        check_settings(self)


class Encoders:
    """See the module. The noise is the same after every reset."""

    def __init__(
        self, joints: Sequence[EncoderConfig], period: float, differentiated: bool, seed: np.random.SeedSequence
    ) -> None:
        """
        Args:
            joints: settings of each joint's sensors (n).
            period: time between two readings [s].
            differentiated: whether velocity is the difference of positions.
            seed: of the noise.
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
        """Begin anew."""
        self._random = np.random.default_rng(self._seed)
        self._last: Array | None = None

    def read(self, q: Array, qd: Array) -> tuple[Array, Array]:
        """Position and velocity as they are read, (n,) each; to be called once a period.

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
