"""Bilateral teleoperation: one arm is led, another follows, joint by joint, and what holds the follower is felt.

    leader  --- q, q̇, energy --->  network  --->  reference of the follower
    leader  <---  force, energy  ---  network  <---  feedback effort of the follower's law

The network delays and loses messages, and a delayed force feeds the motion that it should brake. So both ends keep
account of the energy, joint by joint: what has entered the network at one end is written into every message, and the
other end lets no more out than that. Where it would, a damper takes the rest away at once: the leader's end brakes the
arm, and the follower's end slows its reference down. So the network is passive for every delay, constant or not, and
whatever is lost, and the arms that it couples stay stable. The reference drifts by what was braked; it goes back as far
as the energy allows. What a law answers to a new reference is known a period later, so for that long the account can be
short by what one period can do.

Source: Ryu, Artigas, Preusche, A passive bilateral control scheme for a teleoperator with time-varying communication
delay, Mechatronics 20(7) (2010), eq. 3 to 10 (time domain passivity); Hannaford and Ryu, Time-domain passivity control
of haptic interfaces, IEEE Trans. Robotics and Automation 18(1) (2002), eq. 7 to 10; drift: Artigas, Ryu, Preusche,
Position drift compensation in time domain passivity based teleoperation, IROS 2010.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from robodyn_ros.checks import finite_array
from robodyn_ros.errors import InputError
from robodyn_ros.robot.pose import Array
from robodyn_ros.settings import check_settings, setting, switch

TINY = 1e-12
"""Square of a speed or an effort below which a damper takes nothing away."""

PLENTY = 1e200
"""Energy that a leader who feels nothing has to give [J]."""


@dataclass(frozen=True)
class TeleoperationSettings:
    """Settings of the coupling of two arms."""

    force_ratio: float = setting(0.5, "ratio of the follower's efforts that is felt at the leader", "-", 0.0, 10.0)
    greatest_effort: float = setting(0.3, "greatest effort at the leader, as part of its limit", "-", 0.0, 1.0)
    most_damping: float = setting(50.0, "greatest damping per joint inertia at the leader", "1/s", 0.0, 1000.0)
    return_rate: float = setting(2.0, "rate at which drift of the reference goes back", "1/s", 0.0, 100.0)
    passivity: bool = switch(True, "whether energy is kept account of; without it a delay may shake the arms")

    def __post_init__(self) -> None:
        check_settings(self)


class PortMessage(NamedTuple):
    """What one end tells the other, (n,) each."""

    entered: Array  # energy that has entered the network at this end since the beginning [J]
    first: Array  # position of the leader, or effort of the follower
    second: Array  # velocity of the leader; 0 from the follower


class _Port:
    """Account of the energy at one end of the network, (n,) in [J].

    Attributes:
        entered: what has entered the network here.
        left: what has left it here.
    """

    def __init__(self, n: int) -> None:
        self.entered, self.left = np.zeros(n), np.zeros(n)

    def budget(self, elsewhere: Array) -> Array:
        """What may still leave here, when so much has entered at the other end; negative where too much has left."""
        return elsewhere - self.left

    def book(self, energy: Array) -> None:
        """Take account of energy that goes into the network, or out of it where it is negative."""
        self.entered, self.left = self.entered + np.maximum(energy, 0.0), self.left + np.maximum(-energy, 0.0)


class LeaderPort:
    """The leader's end: takes the leader's motion, and gives the effort that its hand feels."""

    def __init__(self, inertia: ArrayLike, effort_limit: ArrayLike, settings: TeleoperationSettings) -> None:
        """
        Args:
            inertia: of each joint, such as the diagonal of M at home, (n,) in [kg m²] or [kg].
            effort_limit: of the leader, (n,) in [N·m] or [N].
            settings: of the coupling.
        """
        self._settings = settings
        self._most_damping = settings.most_damping * np.asarray(inertia, dtype=np.float64)
        self._limit = settings.greatest_effort * np.asarray(effort_limit, dtype=np.float64)
        self.port = _Port(len(self._limit))
        self._force, self._speed = np.zeros((2, len(self._limit)))

    def update(self, dt: float, qd: ArrayLike, received: PortMessage | None) -> Array:
        """The effort at the leader for the next period, (n,) in [N·m] or [N].

        Args:
            dt: the period [s].
            qd: velocity of the leader (n,).
            received: the latest message of the follower's end; None before the first.

        Raises:
            InputError: something of the wrong shape or not finite.
        """
        speed = finite_array("qd", qd, self._limit.shape)
        self.port.book(dt * self._force * (self._speed + speed) / 2.0)
        self._speed = speed.copy()
        if received is None:
            return np.zeros_like(speed)
        force = self._settings.force_ratio * received.first
        if self._settings.passivity:
            force = self._passive(dt, speed, force, self._settings.force_ratio * received.entered)
        self._force = np.clip(force, -self._limit, self._limit)
        return -self._force

    def _passive(self, dt: float, speed: Array, force: Array, entered: Array) -> Array:
        """The force with a damper that takes away what must not leave here."""
        budget = self.port.budget(entered) + np.minimum(dt * force * speed, 0.0)
        damping = np.where((budget < 0.0) & (speed**2 > TINY), -budget / np.maximum(dt * speed**2, TINY * dt), 0.0)
        found: Array = force + np.minimum(damping, self._most_damping) * speed
        return found

    def message(self, q: ArrayLike, qd: ArrayLike) -> PortMessage:
        """What to tell the other end.

        Args:
            q: position of the leader (n,).
            qd: its velocity (n,).
        """
        ratio = self._settings.force_ratio
        entered = self.port.entered / ratio if ratio > 0.0 else np.full_like(self.port.entered, PLENTY)
        return PortMessage(entered, np.array(q, dtype=np.float64), np.array(qd, dtype=np.float64))


class FollowerPort:
    """The follower's end: takes what came from the leader, and gives the reference of the follower."""

    def __init__(self, q: ArrayLike, settings: TeleoperationSettings, velocity_limit: ArrayLike) -> None:
        """
        Args:
            q: where the follower's reference is now, (n,).
            settings: of the coupling.
            velocity_limit: of the follower, (n,) in [rad/s] or [m/s]; inf where there is none.

        Raises:
            InputError: something of the wrong shape or not finite.
        """
        self._settings = settings
        self._q = finite_array("q", q, np.shape(q)).copy()
        self._limit = np.asarray(velocity_limit, dtype=np.float64)
        if self._limit.shape != self._q.shape or not (self._limit > 0.0).all():
            raise InputError("velocity_limit", f"must be {len(self._q)} numbers above 0", velocity_limit)
        self._offset: Array | None = None
        self._speed = np.zeros(len(self._q))
        self.port = _Port(len(self._q))

    def update(self, dt: float, effort: ArrayLike, received: PortMessage | None) -> tuple[Array, Array]:
        """The reference of the follower at the end of the period: position and velocity, (n,) each.

        The follower begins where it is: the leader's first position counts as the same.

        Args:
            dt: the period [s].
            effort: with which the follower's law answers the reference before, (n,) in [N·m] or [N].
            received: the latest message of the leader's end; None before the first.

        Raises:
            InputError: something of the wrong shape or not finite.
        """
        force = finite_array("effort", effort, self._q.shape)
        self.port.book(-dt * force * self._speed)
        if received is None:
            return self._q.copy(), np.zeros_like(self._q)
        if self._offset is None:
            self._offset = self._q - received.first
        away = received.first + self._offset - self._q
        speed = np.clip(received.second + self._settings.return_rate * away, -self._limit, self._limit)
        if self._settings.passivity:
            speed = self._passive(dt, speed, force, received.entered)
        self._q, self._speed = self._q + dt * speed, speed
        return self._q.copy(), speed.copy()

    def _passive(self, dt: float, speed: Array, force: Array, entered: Array) -> Array:
        """The speed without the part that would let too much energy out."""
        power, most = force * speed, np.maximum(self.port.budget(entered), 0.0) / dt
        return np.where(power > most, speed * most / np.maximum(power, TINY), speed)

    def message(self, effort: ArrayLike) -> PortMessage:
        """What to tell the other end.

        Args:
            effort: with which the follower's law drives it to its reference, (n,).
        """
        felt = np.array(effort, dtype=np.float64)
        return PortMessage(self.port.entered.copy(), felt, np.zeros_like(felt))
