# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""A stream of poses, twists and wrenches for the tool, as a reference of the joints: filtered, limited, never a jump.

    first order     x_f' = (x* - x_f) / T            of what is streamed; its rate is what the reference is to move with
    limits          v = x_f' + e/|e| b(|e|; a),      e = x_f - x,   |v| ≤ v_max
                    v̇ = d/|d| b(|d|; j),             d = v - ẋ,     |v̇| ≤ a_max,   |v̈| ≤ j_max
    joints          q̇ = J# (ẋ + k (x - f(q))) + (1 - J# J) (q_0 - q) / T_0

b(s; a) = sqrt((a/k)² + 2 a s) - a/k is the speed from which one can brake within a distance s, and k s for a small
one. Positions and rotations (as vectors, in the root link's axes) are limited each by their length, so that the
reference takes the straight way. J# is damped near singular poses: the reference of the joints passes them without a
jump, and where the tool cannot follow the stream it waits, at most ``LEAD`` behind. No joint exceeds its velocity
limit or passes its position limits: all of them become slower together, and a joint stops before its limit. No joint
accelerates more than to its velocity limit within ``RISE``.

Where no message comes for ``timeout``, a twist and a wrench end, within the limits, and the last pose is kept.

``tool_stream.c`` in ``../export/ros2_control/src`` is the same in C; a change must be made in both.

Source: Siciliano, Sciavicco, Villani, Oriolo, Robotics: Modelling, Planning and Control (2009), §3.5 and §3.7 (inverse
kinematics as a closed loop, null space); damping: Nakamura and Hanafusa, J. Dynamic Systems, Measurement, and Control
108 (1986), eq. 24; braking distance as a feedback law: Biagiotti and Melchiorri, Trajectory Planning for Automatic
Machines and Robots (2008), §3.2.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from robodyn_ros.checks import finite_array
from robodyn_ros.control.laws.base import Reference
from robodyn_ros.dynamics.base import Dynamics
from robodyn_ros.dynamics.task_space import TaskSpace
from robodyn_ros.kinematics import so3
from robodyn_ros.kinematics.workspace import random_positions
from robodyn_ros.robot.pose import Array
from robodyn_ros.settings import ParameterSpec, check_settings, choice, setting

TOOL = ParameterSpec("tool", "", "name of the link that ~/target_pose is about; the last that moves if empty")
"""The link that is moved, as a parameter."""

MEANINGS = ("goal", "stream")
"""What a message on ``~/target_pose`` is: a goal to which a motion is planned, or the newest pose of a stream."""

LENGTH = 0.3
"""A turn of one radian counts as much as this distance, where joints cannot do all that is asked for [m]."""

POSES = 100
"""Number of random poses that say what is far from singular."""

NEAR = 0.2
"""Below this ratio of the usual least singular value the inverse is damped."""

CLOSING = 10.0
"""Rate at which the joints' reference corrects where the tool's is [1/s]."""

POSTURE = 1.0
"""Rate at which the null space goes back to where the stream began [1/s]."""

LEAD = (0.02, 0.1)
"""How far the stream may run ahead of a tool that cannot follow: distance [m] and angle [rad]."""

SPEED = 0.9
"""Greatest speed of a joint, in velocity limits: the arm overshoots."""

SLOPE_POSITION, SLOPE_VELOCITY = 25.0, 120.0
"""k of b for small distances and small differences of speed [1/s]."""

BRAKING = 0.5
"""Ratio of acceleration and jerk that braking counts on: the rest is for what comes meanwhile."""

RISE = 0.1
"""Time in which a joint comes from rest to its velocity limit, at least [s]."""

FASTEST = 10.0
"""Velocity limit that counts for that where there is no lower one [rad/s] or [m/s]."""

MARGIN = 1e-3
"""Distance from a position limit that a joint keeps [rad] or [m]."""

LONGEST_PERIOD = 0.05
"""A reference that is renewed later goes on by this time only [s]."""

OLDEST_FRAME = 1.0
"""A transform of tf that is older is refused: whoever published it has stopped [s]."""

STILL = 1e-4
"""A stream has come to rest below this speed [m/s] or [rad/s] and distance [m] or [rad]."""


@dataclass(frozen=True)
class StreamSettings:
    """Settings of what is streamed to the tool."""

    target_pose: str = choice("goal", "what ~/target_pose is: a goal, or a stream", lambda: MEANINGS)
    rate: float = setting(250.0, "how often the reference of a stream is renewed", "Hz", 10.0, 1000.0)
    timeout: float = setting(0.1, "time without a message after which a streamed twist or wrench ends", "s", 1e-3, 10.0)
    filter_time: float = setting(0.02, "time constant of the first order filter of what is streamed", "s", 0.0, 10.0)
    speed: float = setting(0.5, "greatest speed of the streamed reference", "m/s", 1e-3, 100.0)
    turn_speed: float = setting(2.0, "greatest angular velocity of the streamed reference", "rad/s", 1e-3, 100.0)
    acceleration: float = setting(5.0, "its greatest acceleration", "m/s²", 1e-2, 1e4)
    turn_acceleration: float = setting(20.0, "its greatest angular acceleration", "rad/s²", 1e-2, 1e4)
    jerk: float = setting(200.0, "its greatest jerk", "m/s³", 0.1, 1e6)
    turn_jerk: float = setting(800.0, "its greatest angular jerk", "rad/s³", 0.1, 1e6)

    def __post_init__(self) -> None:
        check_settings(self)


def braking_speed(distance: float, deceleration: float, slope: float) -> float:
    """b: the speed from which one can brake within a distance; slope · distance for a small one."""
    least = deceleration / slope
    return float(np.sqrt(least * least + 2.0 * deceleration * distance) - least)


def shortened(vector: Array, longest: float) -> Array:
    """A vector, no longer than that."""
    length = float(np.sqrt(vector @ vector))
    return vector if length <= longest else vector * (longest / length)


class LimitedMotion:
    """A point or a rotation that follows a target with limits of speed, acceleration and jerk; vectors (3,)."""

    def __init__(self, speed: float, acceleration: float, jerk: float) -> None:
        """
        Args:
            speed: the greatest [1/s].
            acceleration: the greatest [1/s²].
            jerk: the greatest [1/s³].
        """
        self._speed, self._acceleration, self._jerk = speed, acceleration, jerk
        self.velocity, self.acceleration = np.zeros(3), np.zeros(3)

    def advance(self, dt: float, error: Array, wanted: Array) -> Array:
        """The way of a period (3,).

        Args:
            dt: the period [s].
            error: from here to the target (3,).
            wanted: velocity of the target (3,).
        """
        away = float(np.sqrt(error @ error))
        if away > 0.0:
            slope = min(SLOPE_POSITION, 0.2 / dt)
            wanted = wanted + error * (braking_speed(away, BRAKING * self._acceleration, slope) / away)
        lacking = shortened(wanted, self._speed) - self.velocity
        lack = float(np.sqrt(lacking @ lacking))
        asked = np.zeros(3)
        if lack > 0.0:
            slope = min(SLOPE_VELOCITY, 0.5 / dt)
            asked = lacking * (min(braking_speed(lack, BRAKING * self._jerk, slope), self._acceleration) / lack)
        self.acceleration = self.acceleration + shortened(asked - self.acceleration, self._jerk * dt)
        before, self.velocity = self.velocity, self.velocity + dt * self.acceleration
        way: Array = dt * (before + self.velocity) / 2.0
        return way


class ToolStream:
    """What is streamed to one link, as a reference of the joints, period by period.

    Attributes:
        link: its name.
        axes: rows that take the directions that the arm has out of a twist, weighted by ``LENGTH``, (k, 6).
        floor: singular value of the Jacobian in them below which its inverse is damped.
        pose: of the reference in the root link's frame, (4, 4).
        q: positions of the joints' reference, (n,).
    """

    def __init__(self, dynamics: Dynamics, link: str, settings: StreamSettings, velocity_limit: ArrayLike) -> None:
        """
        Args:
            dynamics: the arm's model.
            link: what is moved; the last link that moves if empty.
            settings: filter and limits.
            velocity_limit: of the joints, (n,) in [rad/s] or [m/s]; inf where there is none.

        Raises:
            InputError: no such link, or no joint moves it.
        """
        self._task = TaskSpace(dynamics, link)
        self.link = self._task.link
        self._robot = dynamics.robot
        self.settings = settings
        self._limit = np.asarray(velocity_limit, dtype=np.float64)
        weight = np.array([1.0, 1.0, 1.0, LENGTH, LENGTH, LENGTH])
        self.axes = self._task.axes * weight
        usual = [self._singular(q)[1][-1] for q in random_positions(self._robot, POSES)]
        self.floor = NEAR * float(np.median(usual))
        self.begin(self._robot.home, np.zeros(self._robot.n))

    def begin(self, q: Array, qd: Array) -> None:
        """Begin where the reference of the joints is.

        Args:
            q: positions (n,) in [rad] or [m].
            qd: velocities (n,) in [rad/s] or [m/s].
        """
        settings = self.settings
        self.q, self._qd, self._begin = q.copy(), qd.copy(), q.copy()
        self.pose = self._task.pose(q)
        self._linear = LimitedMotion(settings.speed, settings.acceleration, settings.jerk)
        self._angular = LimitedMotion(settings.turn_speed, settings.turn_acceleration, settings.turn_jerk)
        twist = self._task.full_jacobian(q) @ qd
        self._linear.velocity, self._angular.velocity = twist[:3], twist[3:]
        self._filtered, self._twist = self.pose.copy(), twist.copy()
        self._wrench = np.zeros(6)
        self._target_pose: Array | None = None
        self._target_twist, self._target_wrench = np.zeros(6), np.zeros(6)
        self._heard = self._heard_wrench = -np.inf

    def take_pose(self, t: float, pose: Array) -> None:
        """There is a new pose, (4, 4) in the root link's frame, at a time t [s]."""
        if self._target_pose is None:
            self._filtered = self.pose.copy()
        self._target_pose, self._heard = pose, t

    def take_twist(self, t: float, twist: ArrayLike) -> None:
        """There is a new twist: velocity of the link's origin and angular velocity, (6,), in the root link's axes.

        Raises:
            InputError: it is not 6 finite numbers.
        """
        self._target_twist = finite_array("twist", twist, (6,))
        if self._target_pose is not None:
            self._twist = np.concatenate((self._linear.velocity, self._angular.velocity))
        self._target_pose, self._heard = None, t

    def take_wrench(self, t: float, wrench: ArrayLike) -> None:
        """There is a new wrench that the tool is to exert, about the link's origin, (6,), in the root link's axes.

        Raises:
            InputError: it is not 6 finite numbers.
        """
        self._target_wrench, self._heard_wrench = finite_array("wrench", wrench, (6,)), t

    def is_over(self, t: float) -> bool:
        """True if nothing has come for a while at a time t [s], and the reference has come to rest."""
        if t - max(self._heard, self._heard_wrench) <= self.settings.timeout:
            return False
        moves = np.concatenate((self._linear.velocity, self._angular.velocity, self._wrench))
        away = np.zeros(6) if self._target_pose is None else self._error(self._target_pose)
        return bool((np.abs(moves) <= STILL).all() and ((np.abs(away) <= STILL).all() or not self._follows))

    def advance(self, t: float, dt: float) -> Reference:
        """The reference of the joints after a period.

        Args:
            t: the time then [s].
            dt: the period, above 0 [s].
        """
        settings = self.settings
        part = 1.0 if settings.filter_time == 0.0 else 1.0 - np.exp(-dt / settings.filter_time)
        error, wanted = np.zeros(6), self._twist
        if self._target_pose is None:
            twist = self._target_twist if t - self._heard <= settings.timeout else np.zeros(6)
            self._twist = wanted = self._twist + part * (twist - self._twist)
        else:
            wanted = self._filter_pose(self._target_pose, part, dt)
            error = self._error(self._filtered)
        moved = np.concatenate(
            (
                self._linear.advance(dt, error[:3], wanted[:3]),
                self._angular.advance(dt, error[3:], wanted[3:]),
            )
        )
        self.pose = _moved(self.pose, moved)
        qd = self._resolved(moved / dt, dt)
        q, qdd = self.q + dt * qd, (qd - self._qd) / dt
        self.q, self._qd = q, qd
        self._wait_for_tool()
        wrench = self._target_wrench if t - self._heard_wrench <= settings.timeout else np.zeros(6)
        self._wrench = self._wrench + part * (wrench - self._wrench)
        self._wrench = np.where(np.abs(self._wrench) < STILL * (np.abs(wrench).max() == 0.0), 0.0, self._wrench)
        return Reference(q, qd, qdd, self._task.full_jacobian(q).T @ self._wrench)

    def _filter_pose(self, target: Array, part: float, dt: float) -> Array:
        """Filter the pose; return its velocity, (6,)."""
        away = np.concatenate(
            (target[:3, 3] - self._filtered[:3, 3], so3.log(target[:3, :3] @ self._filtered[:3, :3].T))
        )
        self._filtered = _moved(self._filtered, part * away)
        velocity: Array = part * away / dt
        return velocity

    def _error(self, target: Array) -> Array:
        """From the reference to a pose, (6,)."""
        return np.concatenate((target[:3, 3] - self.pose[:3, 3], so3.log(target[:3, :3] @ self.pose[:3, :3].T)))

    def _singular(self, q: Array) -> tuple[Array, Array, Array]:
        """Singular value decomposition of the weighted Jacobian in the directions that the arm has."""
        found: tuple[Array, Array, Array] = np.linalg.svd(self.axes @ self._task.full_jacobian(q), full_matrices=False)
        return found

    def _resolved(self, twist: Array, dt: float) -> Array:
        """Velocities of the joints (n,) that move the tool with a twist (6,), as far as they can."""
        left, values, right = self._singular(self.q)
        reached = self._task.pose(self.q)
        off = np.concatenate((self.pose[:3, 3] - reached[:3, 3], so3.log(self.pose[:3, :3] @ reached[:3, :3].T)))
        wanted = self.axes @ (twist + min(CLOSING, 0.5 / dt) * off)
        near = np.maximum(0.0, 1.0 - values[-1] / self.floor)
        damping = (self.floor * near) ** 2
        qd = right.T @ (values / (values**2 + damping) * (left.T @ wanted))
        drawn = POSTURE * (self._begin - self.q)
        qd = qd + drawn - right.T @ (right @ drawn)
        lower, upper = self._robot.lower + MARGIN, self._robot.upper - MARGIN
        ratio = float(np.max(np.abs(qd) / (SPEED * self._limit), initial=1.0))
        # Near a position limit a joint becomes as slow as it can brake; near a singular pose no joint jerks.
        steepest = np.minimum(np.minimum(self._limit, FASTEST) / RISE, self._robot.symmetric_acceleration_limit)
        below, above = np.maximum(self.q - lower, 0.0), np.maximum(upper - self.q, 0.0)
        slowest, fastest = (np.sqrt(BRAKING * 2.0 * steepest * room) for room in (below, above))
        asked = np.clip(qd / ratio, -slowest, fastest)
        smooth = np.clip(asked, self._qd - steepest * dt, self._qd + steepest * dt)
        kept: Array = np.clip(smooth, -below / dt, above / dt)
        return kept

    def _wait_for_tool(self) -> None:
        """Have the reference of the tool no further ahead than the tool can follow."""
        reached = self._task.pose(self.q)
        ahead = self.pose[:3, 3] - reached[:3, 3], so3.log(self.pose[:3, :3] @ reached[:3, :3].T)
        kept = [shortened(each, longest) for each, longest in zip(ahead, LEAD, strict=True)]
        self._follows = all(one is other for one, other in zip(ahead, kept, strict=True))
        if not self._follows:
            self.pose = _moved(reached, np.concatenate(kept))


def _moved(pose: Array, way: Array) -> Array:
    """A pose after a displacement and a rotation vector in the root link's axes, (6,)."""
    found: Array = pose.copy()
    found[:3, 3] += way[:3]
    found[:3, :3] = so3.exp(way[3:]) @ pose[:3, :3]
    return found
