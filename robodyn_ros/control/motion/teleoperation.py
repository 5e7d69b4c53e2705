# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Bilateral teleoperation: a follower arm follows a leader arm, and its efforts are fed back to the leader.

    leader  --- x, ẋ, energy --->  network  --->  reference of the follower   q̇ = S ẋ
    leader  <---  F, energy  ---  network  <---  feedback of the follower's law   F = Sᵀ τ

**Coupled coordinates x.** With coupled joints, x are the positions of the joints, and S = 1. With coupled tools, x is
the pose of the tool: ẋ = J q̇ at the leader, whose joints get the efforts Jᵀ F, and S = J̄ at the follower. So the arms
may differ, and F ẋ is the power at each of them. J̄ is the dynamically consistent inverse: efforts in the null space of
the follower are not fed back.

**Passivity.** The network delays and loses messages, and a delayed force may drive the motion that it should brake.
Therefore both ends observe the energy, for each joint or direction. Every message has the energy that has entered the
network at its end, and the other end releases no more than that. A damper dissipates an excess at once: the leader's
end brakes the arm, and the follower's end slows its reference down. So the network is passive for every delay and every
loss of messages, and the coupled arms stay stable. The drift of the reference by the damping is corrected as far as the
energy allows. The effort of a law for a new reference is known one period later, so the observed energy is slightly too
low: by a few joules in total, compared with thousands of joules without the observer.

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
from robodyn_ros.dynamics.base import Dynamics
from robodyn_ros.dynamics.task_space import TaskSpace
from robodyn_ros.errors import InputError
from robodyn_ros.kinematics import so3
from robodyn_ros.robot.pose import Array
from robodyn_ros.settings import CheckedSettings, setting

MOST_DAMPING = 50.0  #: Greatest damping per inertia at the leader [1/s].
RETURN_RATE = 2.0  #: Rate at which drift of the reference goes back [1/s].
TINY = 1e-12  #: Square of a speed or an effort below which a damper dissipates nothing.
PLENTY = 1e200  #: Energy budget from a leader without feedback [J].
UNFELT = 1e-9  #: Mobility below which a direction has no mass to brake [1/kg] or [1/(kg m²)].


@dataclass(frozen=True)
class TeleoperationSettings(CheckedSettings):
    """Settings of the coupling of two arms."""

    force_ratio: float = setting(0.5, "ratio of the follower's efforts that is felt at the leader", "-", 0.0, 10.0)
    greatest_effort: float = setting(0.3, "greatest effort at the leader, as ratio of its limit", "-", 0.0, 1.0)


class PortMessage(NamedTuple):
    """Message from one end to the other, (k,) each: for every joint, or for x, y, z, rx, ry, rz of the tool."""

    entered: Array  # energy that has entered the network at this end since the beginning [J]
    first: Array  # x of the leader, or F of the follower
    second: Array  # ẋ of the leader; 0 from the follower


class _Port:
    """Observed energy at one end of the network, (k,) in [J]: what has entered here, and what has left; an excess over
    what has entered at the other end must not leave.
    """

    def __init__(self, k: int) -> None:
        self.entered, self.left = np.zeros(k), np.zeros(k)

    def book(self, energy: Array) -> None:
        """Add energy that enters the network, or that leaves it if negative."""
        self.entered, self.left = self.entered + np.maximum(energy, 0.0), self.left + np.maximum(-energy, 0.0)


class JointCoupling:
    """Coupled joints: the k coordinates x of an arm with n joints are the positions of the joints."""

    def __init__(self, inertia: ArrayLike) -> None:
        """The inertia of each joint, such as the diagonal of M at home, is (n,) in [kg m²] or [kg]."""
        self._inertia = np.asarray(inertia, dtype=np.float64)
        self.size = len(self._inertia)
        self._one = np.eye(self.size)

    def place(self, q: Array) -> Array:
        """The coordinates x (k,) at q (n,)."""
        return q

    def rates(self, q: Array) -> Array:
        """J (k, n) at q: ẋ = J q̇."""
        return self._one

    def inverse(self, q: Array) -> Array:
        """S (n, k) at q: q̇ = S ẋ."""
        return self._one

    def inertia(self, q: Array) -> Array:
        """Effective mass of each coordinate if the others are free, (k,); 0 if the arm cannot move along it."""
        return self._inertia

    def shifted(self, goal: Array, first: Array, begin: Array) -> Array:
        """Goal of an arm that began at ``begin``, if the other one began at ``first`` and is at ``goal``; (k,) each."""
        return begin + goal - first

    def apart(self, goal: Array, here: Array) -> Array:
        """The displacement from ``here`` to ``goal``, (k,) each."""
        return goal - here


class ToolCoupling:
    """Coupled tools: the coordinates are the position and the rotation vector of a link, and ẋ is its twist.

    The methods are those of :class:`JointCoupling`, in the root link's axes of each arm. A direction in which an arm
    cannot move does not change, and has no force.
    """

    size = 6

    def __init__(self, dynamics: Dynamics, link: str = "") -> None:
        """The tool is the last moving link if none is named; InputError: no such link, or no joint moves it."""
        self._task, self._dynamics = TaskSpace(dynamics, link), dynamics

    def place(self, q: Array) -> Array:
        """Return position and rotation vector of the tool."""
        pose = self._task.pose(q)
        return np.concatenate((pose[:3, 3], so3.log(pose[:3, :3])))

    def rates(self, q: Array) -> Array:
        """Return the Jacobian of the tool."""
        return self._task.full_jacobian(q)

    def inverse(self, q: Array) -> Array:
        """Return J̄, for all six directions."""
        return self._task.consistent_inverse(q, self._dynamics.mass_matrix(q)) @ self._task.axes

    def inertia(self, q: Array) -> Array:
        """Return the effective masses of the tool."""
        jacobian = self._task.full_jacobian(q)
        mobility = np.diagonal(jacobian @ np.linalg.solve(self._dynamics.mass_matrix(q), jacobian.T))
        return np.where(mobility > UNFELT, 1.0 / np.maximum(mobility, UNFELT), 0.0)

    def shifted(self, goal: Array, first: Array, begin: Array) -> Array:
        """Add the displacement of the leader, a translation and a rotation."""
        turn = so3.exp(goal[3:]) @ so3.exp(first[3:]).T @ so3.exp(begin[3:])
        return np.concatenate((begin[:3] + goal[:3] - first[:3], so3.log(turn)))

    def apart(self, goal: Array, here: Array) -> Array:
        """Return the translation and the rotation vector between them."""
        return np.concatenate((goal[:3] - here[:3], so3.log(so3.exp(goal[3:]) @ so3.exp(here[3:]).T)))


Coupling = JointCoupling | ToolCoupling  #: What of an arm is coupled with the other one.


def _ratio(kept: Array, asked: Array) -> Array:
    """Ratio of each limited value to its unlimited one, (n,)."""
    return np.where(kept == asked, 1.0, kept / np.where(asked == 0.0, 1.0, asked))


class LeaderPort:
    """The leader's end: takes the leader's motion, and gives the effort of the feedback."""

    def __init__(self, coupling: Coupling, effort_limit: ArrayLike, settings: TeleoperationSettings) -> None:
        """By the coupled coordinates of the leader, its effort limit (n,), and settings."""
        self._coupling, self._settings = coupling, settings
        limit, ratio = np.asarray(effort_limit, dtype=np.float64), settings.greatest_effort
        self._limit = ratio * np.where(ratio > 0.0, limit, 0.0)  # a limit may be infinite
        self.port = _Port(coupling.size)
        self._force, self._qd = np.zeros(coupling.size), np.zeros(len(self._limit))
        self._rates = np.zeros((coupling.size, len(self._limit)))  # ẋ of the joints that are not at their limit

    def update(self, dt: float, q: ArrayLike, qd: ArrayLike, received: PortMessage | None) -> Array:
        """The effort at the leader for the next period, (n,) in [N·m] or [N].

        Args:
            dt: the period [s].
            q, qd: position and velocity of the leader (n,).
            received: the latest message of the follower's end; None before the first.

        Raises:
            InputError: something of the wrong shape or not finite.
        """
        place = finite_array("q", q, self._limit.shape)
        rate = finite_array("qd", qd, self._limit.shape)
        self.port.book(dt * self._force * (self._rates @ (self._qd + rate)) / 2.0)
        self._qd = rate.copy()
        if received is None:
            self._force = np.zeros_like(self._force)
            return np.zeros_like(rate)
        rates, ratio = self._coupling.rates(place), self._settings.force_ratio
        most = MOST_DAMPING * self._coupling.inertia(place)
        force = self._passive(dt, rates @ rate, ratio * received.first, ratio * received.entered, most)
        asked = rates.T @ force
        effort: Array = np.clip(asked, -self._limit, self._limit)
        self._force, self._rates = force, rates * _ratio(effort, asked)
        return -effort

    def _passive(self, dt: float, speed: Array, force: Array, entered: Array, most: Array) -> Array:
        """The force with a damper, of damping ``most`` or less, that dissipates an excess of energy."""
        budget = entered - self.port.left + np.minimum(dt * force * speed, 0.0)
        damping = np.where((budget < 0.0) & (speed**2 > TINY), -budget / np.maximum(dt * speed**2, TINY * dt), 0.0)
        return force + np.minimum(damping, most) * speed

    def message(self, q: ArrayLike, qd: ArrayLike) -> PortMessage:
        """The message to the other end, by position and velocity of the leader (n,)."""
        ratio, place = self._settings.force_ratio, np.array(q, dtype=np.float64)
        entered = self.port.entered / ratio if ratio > 0.0 else np.full_like(self.port.entered, PLENTY)
        rates = self._coupling.rates(place) @ np.asarray(qd, dtype=np.float64)
        return PortMessage(entered, self._coupling.place(place), rates)


class FollowerPort:
    """The follower's end: takes the messages of the leader, and gives the reference of the follower."""

    def __init__(
        self,
        coupling: Coupling,
        q: ArrayLike,
        velocity_limit: ArrayLike,
        position_limits: tuple[ArrayLike, ArrayLike] = (-np.inf, np.inf),
    ) -> None:
        """Args:
            coupling: the coupled coordinates of the follower.
            q: where the follower's reference is now, (n,).
            velocity_limit: of the follower, (n,) in [rad/s] or [m/s]; inf where there is none.
            position_limits: the least and the greatest positions of the reference, (n,) each or one for all.

        Raises:
            InputError: something of the wrong shape or not finite.
        """
        self._coupling = coupling
        self._q = finite_array("q", q, np.shape(q)).copy()
        n = len(self._q)
        self._limit = np.asarray(velocity_limit, dtype=np.float64)
        if self._limit.shape != self._q.shape or not (self._limit > 0.0).all():
            raise InputError("velocity_limit", f"must be {n} numbers above 0", velocity_limit)
        self._lower, self._upper = (np.broadcast_to(np.asarray(end, dtype=np.float64), (n,)) for end in position_limits)
        self._begin: tuple[Array, Array] | None = None  # coordinates of the leader and of the follower at the begin
        self._inverse, self._speed = np.zeros((n, coupling.size)), np.zeros(coupling.size)
        self.port = _Port(coupling.size)

    def update(self, dt: float, effort: ArrayLike, received: PortMessage | None) -> tuple[Array, Array]:
        """The reference of the follower at the end of the period: position and velocity, (n,) each.

        The follower begins at its own position: only displacements of the leader from its first position are followed.

        Args:
            dt: the period [s].
            effort: of the follower's law for the reference before, (n,) in [N·m] or [N].
            received: the latest message of the leader's end; None before the first.

        Raises:
            InputError: something of the wrong shape or not finite.
        """
        told = finite_array("effort", effort, self._q.shape)
        self.port.book(-dt * (self._inverse.T @ told) * self._speed)
        if received is None:
            self._speed = np.zeros_like(self._speed)
            return self._q.copy(), np.zeros_like(self._q)
        coupling, here = self._coupling, self._coupling.place(self._q)
        if self._begin is None:
            self._begin = received.first, here
        away = coupling.apart(coupling.shifted(received.first, *self._begin), here)
        speed, inverse = received.second + RETURN_RATE * away, coupling.inverse(self._q)
        asked = inverse @ speed
        self._inverse = inverse * _ratio(self._within_limits(dt, asked), asked)[:, None]
        speed = self._passive(dt, speed, self._inverse.T @ told, received.entered)
        self._speed, qd = speed, self._within_limits(dt, self._inverse @ speed)
        self._q = self._q + dt * qd
        return self._q.copy(), qd

    def _within_limits(self, dt: float, qd: Array) -> Array:
        """Velocities of the joints (n,) clipped to the limits; a joint beyond a position limit may stay there."""
        below, above = np.minimum((self._lower - self._q) / dt, 0.0), np.maximum((self._upper - self._q) / dt, 0.0)
        return np.clip(np.clip(qd, below, above), -self._limit, self._limit)

    def _passive(self, dt: float, speed: Array, force: Array, entered: Array) -> Array:
        """The speed, reduced so that no excess of energy leaves the network."""
        power, most = force * speed, np.maximum(entered - self.port.left, 0.0) / dt
        return np.where(power > most, speed * most / np.maximum(power, TINY), speed)

    def message(self, effort: ArrayLike) -> PortMessage:
        """The message to the other end, by the effort (n,) of the follower's law, which drives it to its reference."""
        external = self._coupling.inverse(self._q).T @ np.asarray(effort, dtype=np.float64)
        return PortMessage(self.port.entered.copy(), external, np.zeros_like(external))
