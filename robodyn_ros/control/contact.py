# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Contacts: the settings of their observation, and the thresholds of a touch and of a collision.

:func:`propose_thresholds` proposes thresholds by the estimates of the observer while the arm moves freely: errors of
the model, friction, noise, delay. A Gumbel distribution of the maxima of each half second, fitted by its moments, gives
the value x that is exceeded within a time of operation with a given probability:

    β = s sqrt(6) / π,   μ = m - γ β,   x = μ + β ln(N / P)

m and s are mean and standard deviation of the maxima, γ Euler's constant, N the number of half seconds, P the
probability. The threshold is at least ``HEADROOM`` times the greatest observed value. It is valid for motions like the
recorded ones.

Source: Coles, An Introduction to Statistical Modeling of Extreme Values (2001), chapters 3.1 and 3.3 (block maxima);
NIST/SEMATECH e-Handbook of Statistical Methods, section 1.3.6.6.16 (Gumbel distribution by moments).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from robodyn_ros.control.momentum_observer import MomentumObserver
from robodyn_ros.dynamics.base import Dynamics
from robodyn_ros.errors import ConfigurationError, InputError
from robodyn_ros.robot.pose import Array
from robodyn_ros.settings import TOOL, CheckedSettings, NamedValues, choice, setting, text

OBSERVED = ("nothing", "joints", "tool")  #: None, the efforts on the joints, or also wrench and energy of a link.
BEHIND = "measured_behind_gear"  #: Source of efforts that are measured behind the gears: torque sensors of the joints.
SOURCES = ("commanded", "measured", BEHIND, "sensor")  #: Sources of the estimate of external efforts.


def _wrench_threshold(event: str) -> Any:
    said = f"force at the tool, and torque about its origin, that count as {event} (0: no threshold)"
    return setting((0.0, 0.0), said, "N, N·m", 0.0, 1e6)


@dataclass(frozen=True)
class ContactSettings(CheckedSettings):
    """Settings of the observation of contacts, and the limits of the tool."""

    observe: str = choice(
        "nothing",
        "contact estimates: nothing, the efforts on the joints, or also the wrench and the energy of a link",
        lambda: OBSERVED,
    )
    link: str = text("", TOOL.description, shared=TOOL.name)
    gain: float = setting(30.0, "gain K of the momentum observer: the inverse of its time constant", "1/s", 0.1, 1000.0)
    effort_source: str = choice(
        "commanded",
        "source of the contact estimate: commanded efforts, efforts of joint_states measured before or behind the"
        " friction of the gears, or a force-torque sensor",
        lambda: SOURCES,
    )
    sensor_load: tuple[float, ...] = setting(
        (0.0,) * 4, "mass and centre of mass of the parts on the force-torque sensor, in its frame", "kg, m", -1e3, 1e3
    )
    touch_wrench: tuple[float, ...] = _wrench_threshold("a touch")
    collision_wrench: tuple[float, ...] = _wrench_threshold("a collision")
    energy: float = setting(
        0.0, "greatest kinetic energy of the link's effective mass along its motion (0: no limit)", "J", 0.0, 1e6
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.sensor_load[0] < 0.0:
            raise ConfigurationError(f"sensor_load: its mass must be 0 or more, not {self.sensor_load[0]:g} kg")


@dataclass(frozen=True)
class JointContactSettings(CheckedSettings):
    """Thresholds of the external effort on a joint."""

    touch: float = setting(0.0, "external effort that counts as a touch (0: no threshold)", "N·m or N", 0.0, 1e6)
    collision: float = setting(
        0.0, "external effort that counts as a collision (0: no threshold)", "N·m or N", 0.0, 1e6
    )


class ContactThresholds(NamedTuple):
    """Thresholds of contacts; inf for no threshold."""

    touch: Array  # external effort on each joint, (n,) in [N·m] or [N]
    collision: Array  # likewise
    touch_wrench: Array  # force [N] and torque [N·m], (2,)
    collision_wrench: Array  # likewise
    energy: float  # of the tool [J]

    @classmethod
    def of(cls, contact: ContactSettings, joints: list[JointContactSettings]) -> ContactThresholds:
        """Thresholds of the settings, in which 0 means no threshold."""

        def bounds(*values: float) -> Array:
            return np.array([value or np.inf for value in values])

        touch, collision = bounds(*(joint.touch for joint in joints)), bounds(*(joint.collision for joint in joints))
        wrenches = bounds(*contact.touch_wrench), bounds(*contact.collision_wrench)
        return cls(touch, collision, *wrenches, contact.energy or np.inf)


class Contact(NamedTuple):
    """Observer of contacts in a loop, and its thresholds."""

    observer: MomentumObserver
    thresholds: ContactThresholds
    judges: bool = True  # False if contacts are detected outside the core, from other efforts


def contact_of(values: NamedValues, dynamics: Dynamics) -> Contact | None:
    """The observer and its thresholds by named values; None without one. RobodynError names a wrong value."""
    settings = values.settings(ContactSettings, "contact.")
    own = [values.settings(JointContactSettings, f"contact.{name}.") for name in dynamics.robot.joint_names]
    if settings.observe == "nothing":
        return None
    tool, friction = settings.observe == "tool", settings.effort_source != BEHIND
    observer = MomentumObserver(dynamics, settings.link, settings.gain, tool=tool, friction=friction)
    return Contact(observer, ContactThresholds.of(settings, own), settings.effort_source == "commanded")


FIXED = tuple(f"contact.{name}" for name in ("observe", "effort_source", "sensor_load"))
"""Values that are read when a node is configured, because they change the compiled code or the topics."""

BLOCK = 0.5  #: Length of a block of which the greatest value is taken [s].
LEAST_BLOCKS = 10  #: Least number of blocks.
HEADROOM = 1.1  #: Least ratio of a threshold to the greatest observed value.
COLLISION = 2.5  #: Ratio of the threshold of a collision to that of a touch.


class ProposedThresholds(NamedTuple):
    """Thresholds from free motion; (n,) in [N·m] or [N], and force [N] and torque [N·m], (2,)."""

    seen: Array  # greatest observed effort
    touch: Array
    collision: Array
    seen_wrench: Array
    touch_wrench: Array
    collision_wrench: Array
    seconds: float  # duration of the motion


def observe_motion(observer: MomentumObserver, t: Array, q: Array, qd: Array, efforts: Array) -> Array:
    """The observer's estimates during a motion, (N, n + 8): of its times [s], rising (N,), positions and
    velocities (N, n), and efforts of the drives, each from its time to the next, (N, n). The observer is reset before.
    """
    observer.reset()
    found = np.zeros((len(t), len(observer.found)))
    for k in range(len(t)):
        dt = -1.0 if k == 0 else float(t[k] - t[k - 1])
        found[k] = observer.update(dt, q[k], qd[k], efforts[k - 1] if k else efforts[0])
    return found


def block_maxima(t: ArrayLike, values: ArrayLike) -> Array:
    """The greatest of values (N, k) at times (N,) [s] in each block of time, (blocks, k). InputError: too short."""
    times, rows = np.asarray(t, dtype=np.float64), np.asarray(values, dtype=np.float64)
    place = ((times - times[0]) / BLOCK).astype(int)
    if (count := int(place[-1])) < LEAST_BLOCKS:  # the last block is not complete
        least = LEAST_BLOCKS * BLOCK
        raise InputError("recording", f"lasts {times[-1] - times[0]:.3g} s; thresholds need at least {least:g} s", t)
    return np.array([rows[place == k].max(axis=0) for k in range(count) if (place == k).any()])


def extreme(maxima: Array, blocks: float, chance: float) -> Array:
    """The value (k,) that maxima of future blocks exceed with a probability ``chance``, by observed ones (N, k)."""
    scale = maxima.std(axis=0, ddof=1) * np.sqrt(6.0) / np.pi
    place = maxima.mean(axis=0) - np.euler_gamma * scale
    return np.maximum(place + scale * np.log(blocks / chance), HEADROOM * maxima.max(axis=0))


def propose_thresholds(t: Array, found: Array, hours: float = 1.0, chance: float = 0.01) -> ProposedThresholds:
    """Thresholds that free motion like the recorded one exceeds within some hours with a given
    probability at most; by its times (N,) [s] and estimates (N, n + 8). InputError: the time is too short, or hours or
    chance are out of range.
    """
    if not (0.0 < hours < np.inf and 0.0 < chance < 1.0):
        said = f"must be finite and above 0, and a chance below 1, not {hours!r}, {chance!r}"
        raise InputError("hours, chance", said, hours)
    efforts, wrench = np.abs(found[:, :-8]), found[:, -8:-2]
    strengths = np.column_stack([np.linalg.norm(part, axis=1) for part in (wrench[:, :3], wrench[:, 3:])])
    maxima = block_maxima(t, np.column_stack((efforts, strengths)))
    touch, seen, n = extreme(maxima, hours * 3600.0 / BLOCK, chance), maxima.max(axis=0), efforts.shape[1]
    return ProposedThresholds(
        seen[:n], touch[:n], COLLISION * touch[:n], seen[n:], touch[n:], COLLISION * touch[n:], float(t[-1] - t[0])
    )
