# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The single moves of commissioning, and their measurements.

:class:`Moves` has each move as a script, which yields the efforts for one state after the other.

**A push** measures the direction of the joint's motion, its break-away effort, and roughly its inertia. The effort
grows at a constant rate u̇. Once it has overcome friction and load, at t₀, the remaining effort moves the joint::

    M q̈ = u̇ (t - t₀)    so    Δq = u̇ (t - t₀)³ / 6 M    and    t = t₀ + (6 M / u̇)^⅓ Δq^⅓

This is a straight line of t over Δq^⅓, whose intercept is t₀ and whose slope gives the inertia. The formula neglects
viscous friction and the change of the load during the motion, so this inertia is good enough for feedback only; the
stroke measures it better.

**A stroke** is a slow motion of one joint forth and back, with a sinusoidal excitation during the return. At a slow,
constant speed the effort is load plus friction in the forward direction, and load minus friction in the return. So
their mean is the load, and half their difference is the friction.

During the sine, positions Q and effort U at its frequency ω obey U = Σ (K_k - ω² M_k) Q_k + i ω …, where M_k and K_k
are the joint's rows of M and ∂g/∂q. All friction is in phase with the velocity, so it is in the imaginary part alone,
and Re U/Q_j gives the reflected inertia, even if the other joints oscillate too.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import NamedTuple, TypeVar

import numpy as np

from robodyn_ros.control.commissioning.findings import CommissioningSettings, JointFindings
from robodyn_ros.control.drives import DriveCompensation
from robodyn_ros.dynamics.base import Dynamics
from robodyn_ros.robot.pose import Array

ONSET = 0.002  #: Distance from which on a joint counts as moved [rad] or [m].
PUSH = 0.02  #: Distance after which a push ends [rad] or [m].
STROKE = 0.1  #: Length of a stroke [rad] or [m].
STROKE_SPEED = 0.04  #: Speed of a stroke [rad/s] or [m/s].
SHAKE = 0.025  #: Greatest amplitude of the sine [rad] or [m].
PATIENCE = 20.0  #: Longest wait for the arm to stand still [s].
RETREAT_TIME = 1.0  #: Time in which efforts return to zero [s].
GRAVITY_TIME = 2.0  #: Time of a step of gravity compensation [s].
EVALUATED = 0.99  #: Ratio of the displacement of a pushed joint up to which its motion is evaluated [-].
LEAST_SAMPLES = 4  #: Least number of samples for the line of a push.
LEAD_IN = 1.0  #: Time in which the effort grows to just below the break-away effort [s].
BELOW = 0.8  #: Ratio of the effort then to the break-away effort [-].
BREAK_LOOSE_ERROR = 0.02  #: Position error at which feedback reaches the break-away effort [rad] or [m].
BLOCKED = 0.03  #: Position error beyond which a joint is blocked, and its stroke ends [rad] or [m].
LATENESS = 0.02  #: Greatest delay of efforts [s]: the growth of a push within this time is no friction.
FREQUENCY_RANGE = (12.0, 40.0)  #: Natural frequency of the feedback [rad/s], for states at 200 Hz and 10 ms of delay.
GREATEST_RATE = 80.0  #: Greatest rate of damping of any motion [1/s]: half of what is stable with a delay of 10 ms.
PUSH_RATE = 2.0 * FREQUENCY_RANGE[0]  #: Rate of damping during pushes and strokes [1/s].
INTEGRAL_RATE = 5.0  #: Rate of the integral action [1/s].
WINDOW = (0.3, 0.55)  #: Range of the stroke in which efforts are measured, as ratio of its length [-].
SINE_AT = 0.25  #: Place of the stroke at which the sine begins during the return, as ratio of its length [-].
FREQUENCIES = (2.0 * np.pi, 8.0 * np.pi)  #: Least and greatest ω of the sine [rad/s].
SPEED = 0.25  #: Greatest speed of the sine [rad/s] or [m/s].
INERTIA_RATIO = 3.0  #: Desired ratio of inertial effort to friction during the sine [-].
HIDDEN_RATIO = 0.3  #: Ratio of inertial effort to friction below which the inertia cannot be measured [-].
PERIODS = 6  #: Number of periods of the sine; the first is not evaluated.
GRAVITY_FACTOR = 1.5  #: Greatest effort of a push as ratio of the gravity effort, if above ``push_effort`` [-].
PUSH_SPEED = 0.45  #: Ratio of the speed limit at which a push ends [-]: a light joint goes on speeding up for a time.
STILL = 0.3  #: Time without motion after which the arm counts as at rest [s].
DIFFERENCE = 1e-4  #: Step of a finite difference [rad] or [m].
DECAY = 5.0  #: Damping with gravity compensation: the rate at which a speed decays [1/s].
RELEASE_STEP = 0.1  #: Greatest reduction of the efforts from one state to the next, as ratio of the first ones [-].

Result = TypeVar("Result")

Script = Generator[Array, None, Result]  #: Yields the efforts until the next state, and returns its result.


class Moves:
    """The moves of an arm; its state t [s], q, qd (n,), and its present effort (n,).

    Attributes:
        damped: inertia of the damped joints, 0 for the others (n,) [kg m²] or [kg]; negative if its sign is wrong.
        proven: likewise, for the joints whose sign is known (n,).
        rate: desired rate of decay of the speeds of damped joints [1/s]; the arm may need a lower one.
    """

    def __init__(self, dynamics: Dynamics, config: CommissioningSettings, drives: DriveCompensation) -> None:
        self._sent_ratio = 1.0 - drives.gravity
        self.t = 0.0
        self.q, self.qd, self.effort, self.damped, self.proven = np.zeros((5, dynamics.robot.n))
        self.rate = PUSH_RATE
        self._dynamics, self._robot, self._config = dynamics, dynamics.robot, config

    def wait(self) -> Array:
        """The efforts between moves: damping of the joints whose sign is known.

        Joints that move against each other have a lower effective inertia than each alone, so the same damping acts at
        a higher rate, and delayed efforts destabilise this motion first. With damping d_j the greatest rate is the
        greatest eigenvalue of M⁻¹ diag d. It is at most r if d_j ≤ r Λ_j / Σ_k |c_jk|, with Λ_j = 1/(M⁻¹)_jj and the
        correlations c_jk of M⁻¹. Only the ratios Λ_j / M_jj and c_jk are from the model, which errors of gears, units
        or directions do not change.
        """
        mass = self._dynamics.mass_matrix(self.q)
        inverse = np.linalg.inv(mass)
        mobility = np.diagonal(inverse)
        coupling = np.abs(inverse) / np.sqrt(np.outer(mobility, mobility))
        coupled = np.maximum(coupling[:, self.damped != 0.0].sum(axis=1), 1.0)
        rates = np.minimum(self.rate, GREATEST_RATE / (np.diagonal(mass) * mobility * coupled))
        return -rates * self.damped * self.qd

    def greatest(self, index: int) -> float:
        """The greatest effort of a push [N·m] or [N]."""
        limit = float(self._robot.effort_limit[index])
        load = abs(float(self._dynamics.gravity(self.q)[index]))
        return min(limit, max(self._config.push_effort * limit, GRAVITY_FACTOR * load))

    def push(self, index: int, direction: int, found: JointFindings) -> Script[Push]:
        """Push a joint until it moves, and let it come to rest. The direction +1 or -1 is the sign of the effort;
        ``found`` gets the name of another joint that moves instead.
        """
        config, begun, start, most = self._config, self.t, self.q, self.greatest(index)
        rate, times, moves = most / config.push_time, [0.0], [0.0]
        slow = PUSH_SPEED * config.speed_limit
        while abs(moves[-1]) <= PUSH and abs(self.qd[index]) < slow and (effort := rate * times[-1]) <= most:
            yield self._with(index, direction * effort)
            times.append(self.t - begun)
            moves.append(float(self.q[index] - start[index]))
            others = np.abs(self.q - start)
            if abs(moves[-1]) < ONSET and others.max() > PUSH:
                found.instead = self._robot.joint_names[int(others.argmax())]
                break
        push = evaluate_push(direction, rate, times, moves)
        if np.isfinite(push.inertia):
            self.damped[index] = push.damper
        yield from self.release()
        return push

    def stroke(self, index: int, push: Push, found: JointFindings) -> Script[bool]:
        """Move a joint, after a push, slowly forth and back with a sine; ``found`` gets its friction, gravity and
        inertia. Returns False, with the present efforts, if the joint is blocked.
        """
        dynamics = self._dynamics
        # Efforts that act late let a joint without friction seem to need what the push had grown to by then; so much
        # effort, without feedback, would carry the joint away.
        late = LATENESS * self.greatest(index) / self._config.push_time
        least = push._replace(loose=float(np.copysign(max(abs(push.loose) - late, 0.0), push.loose)))
        q, joint = float(self.q[index]), self._robot.joints[index]
        room = joint.upper - q if push.moved > 0.0 else q - joint.lower
        # At a position limit, or outside, the joint goes about as far as it was pushed.
        stroke = Stroke(least, self.t, q, float(min(STROKE, 0.8 * (room if room > ONSET else abs(push.moved)))))
        while not stroke.over:
            if stroke.error > BLOCKED:
                return False
            load = float(dynamics.gravity(self.q)[index])
            yield self._with(index, stroke.effort(self.t, self.q, self.qd, index, load))
        found.friction = stroke.friction
        found.gravity, found.gravity_model = stroke.gravity
        scale = 1.0 if np.isnan(found.gravity_ratio) else found.gravity_ratio

        def model(q: Array, along: Array) -> tuple[float, float]:
            slope = dynamics.gravity(q + DIFFERENCE * along) - dynamics.gravity(q - DIFFERENCE * along)
            return float(dynamics.mass_matrix(q)[index] @ along), scale * float(slope[index]) / (2.0 * DIFFERENCE)

        found.inertia, modelled = stroke.inertia(index, model)
        found.inertia_ratio = found.inertia / modelled
        self.damped[index] = push.damper
        yield from self.release()
        return True

    def compensate_gravity(self, before: float, after: float) -> Script[Array]:
        """Raise the ratio of gravity that is compensated, and hold it; returns the drift of each joint then, (n,)."""
        begun, place, time = self.t, self.q, GRAVITY_TIME
        while (past := (self.t - begun) / time) < 1.0:
            if past < 0.5:
                place = self.q
            self.damped, self.rate = np.diagonal(self._dynamics.mass_matrix(self.q)), DECAY
            ratio = before + (after - before) * min(1.0, 2.0 * past)
            yield ratio * (self._sent_ratio * self._dynamics.gravity(self.q)) + self.wait()
        return np.abs(self.q - place) / (time / 2.0)

    def settle(self) -> Script[bool]:
        """Wait until the arm stands still; returns True if it does."""
        end, since, place = self.t + PATIENCE, self.t, self.q
        while self.t - since < STILL:
            if np.abs(self.q - place).max() > ONSET:
                since, place = self.t, self.q
            if self.t > end:
                return False
            yield self.wait()
        return True

    def release(self) -> Script[None]:
        """Return the efforts linearly to zero, by ``RELEASE_STEP`` at most from state to state."""
        last, effort, past = self.t, self.effort, 0.0
        while past < 1.0:
            yield (1.0 - past) * effort + self.wait()
            past += min((self.t - last) / RETREAT_TIME, RELEASE_STEP)
            last = self.t

    def _with(self, index: int, effort: float) -> Array:
        efforts = self.wait()
        efforts[index] = effort
        return efforts


class Push(NamedTuple):
    """The result of pushing one joint in one direction."""

    direction: int  # of the effort, +1 or -1
    moved: float  # displacement of the joint [rad] or [m]
    loose: float  # break-away effort, with its sign; nan if it did not move [N·m] or [N]
    inertia: float  # rough; nan if it did not move [kg m²] or [kg]

    @property
    def follows(self) -> bool:
        """True if the joint moved in the direction of the effort."""
        return self.moved * self.direction > 0.0

    @property
    def damper(self) -> float:
        """The inertia for the damping of the joint, with the measured sign."""
        return self.inertia if self.follows else -self.inertia


def evaluate_push(direction: int, rate: float, times: Sequence[float], moves: Sequence[float]) -> Push:
    """The result of a push in a direction: by the rate of its growth [N·m/s] or [N/s], times since its begin [s], and
    the distances from the start at these times [rad] or [m].
    """
    t, moved = np.array(times), np.array(moves)
    still = np.flatnonzero(np.abs(moved) <= ONSET)
    first = int(still[-1]) + 1 if still.size else 0  # from this sample on it moves without a pause
    end = int(np.argmax(np.abs(moved) >= EVALUATED * np.abs(moved).max())) + 1  # then it may be at a stop
    if end - first < LEAST_SAMPLES:
        return Push(direction, 0.0, np.nan, np.nan)
    slope, t_loose = np.polyfit(np.cbrt(np.abs(moved[first:end])), t[first:end], 1)
    inertia = rate * max(float(slope), 1e-9) ** 3 / 6.0
    return Push(direction, float(moved[-1]), direction * rate * float(t_loose), inertia)


class Stroke:
    """A stroke with position feedback, critically damped and with an integral, stiff enough to overcome friction."""

    def __init__(self, push: Push, begun: float, start: float, length: float) -> None:
        """A stroke in the direction in which a push moved the joint, with gains from its inertia: from ``start``, at
        the time ``begun`` [s], over a length, both in [rad] or [m].
        """
        self._direction, self._sign = float(np.sign(push.moved)), 1.0 if push.follows else -1.0
        self._bias, self._inertia = BELOW * push.loose, push.inertia
        inertia, stiff = push.inertia, abs(push.loose) / BREAK_LOOSE_ERROR
        omega = float(np.clip(np.sqrt(stiff / inertia), *FREQUENCY_RANGE))
        self._kp = inertia * (omega**2 + 2.0 * omega * INTEGRAL_RATE)
        self._kd, self._ki = inertia * (2.0 * omega + INTEGRAL_RATE), inertia * omega**2 * INTEGRAL_RATE
        self._start, self._length, self._speed = start, length, STROKE_SPEED * min(1.0, length / STROKE)
        self._omega, self._amplitude = FREQUENCIES[0], 0.0
        self._begun, self._time, self._integral, self._friction = begun, begun, 0.0, 0.0
        self.error = 0.0  # magnitude of the latest position error
        self._turn = begun + LEAD_IN + length / self._speed
        self._sine_begin = self._turn + (1.0 - SINE_AT) * length / self._speed
        self._sine_end = np.inf
        # direction → effort and load of the model
        self._slow: dict[float, list[tuple[float, float]]] = {1.0: [], -1.0: []}
        self._sine: list[tuple[float, float, Array]] = []  # time, effort, positions of all joints

    @property
    def over(self) -> bool:
        """True if the joint is back."""
        return self._time > self._sine_end + SINE_AT * self._length / self._speed

    @property
    def friction(self) -> float:
        """Measured friction [N·m] or [N]."""
        return abs(float(self._mean(1.0)[0] - self._mean(-1.0)[0])) / 2.0

    @property
    def gravity(self) -> tuple[float, float]:
        """The measured gravity effort, and the one of the model [N·m] or [N]."""
        there, back = self._mean(1.0), self._mean(-1.0)
        return float(there[0] + back[0]) / 2.0, float(there[1] + back[1]) / 2.0

    def inertia(self, index: int, model: Callable[[Array, Array], tuple[float, float]]) -> tuple[float, float]:
        """The measured inertia, nan if friction is too great for that, and the one of the model [kg m²] or [kg], of a
        joint.

        ``model``: positions (n,), and the ratios (n,) with which all joints take part in a motion → reflected inertia
        of the joint, and ∂g/∂q [N·m/rad] or [N/m].
        """
        t = np.array([row[0] for row in self._sine])
        values = np.column_stack([[row[1] for row in self._sine], np.array([row[2] for row in self._sine])])
        wave = np.column_stack([np.cos(self._omega * t), np.sin(self._omega * t), np.ones_like(t), t - t[0]])
        cos, sin, *_ = np.linalg.lstsq(wave, values, rcond=None)[0]
        effort, *positions = cos - 1j * sin
        along = (np.array(positions) / positions[index]).real
        modelled, stiffness = model(values[:, 1:].mean(axis=0), along)
        if modelled * self._omega**2 * self._amplitude < HIDDEN_RATIO * self._friction:
            return float("nan"), modelled
        ratio = self._sign * effort / positions[index]
        return float((stiffness - ratio.real) / self._omega**2), modelled

    def effort(self, t: float, q: Array, qd: Array, index: int, load: float) -> float:
        """The effort of a joint for a state at a time [s]; ``load`` is the model's gravity effort [N·m] or [N]."""
        dt, self._time = t - self._time, t
        if t < self._begun + LEAD_IN:  # damped, so that a joint without friction does not drift
            return self._bias * (t - self._begun) / LEAD_IN - self._sign * self._kd * float(qd[index])
        if t >= self._sine_begin and self._amplitude == 0.0:
            self._prepare(t)
        along, velocity, acceleration = self._reference(t)
        error = self._start + self._direction * along - float(q[index])
        self.error = abs(error)
        self._integral += error * dt
        rate = self._direction * velocity - float(qd[index])
        control = self._kp * error + self._kd * rate + self._ki * self._integral
        effort = self._bias + self._sign * (control + self._inertia * self._direction * acceleration)
        if self._sine_begin <= t < self._sine_end:
            # Friction is fed forward, so that the joint does not stick at the turning points of the sine.
            effort += self._sign * self._direction * self._friction * float(np.tanh(10.0 * velocity / SPEED))
            if t > self._sine_begin + 2.0 * np.pi / self._omega:
                self._sine.append((t, effort, q))
        elif WINDOW[0] * self._length < along < WINDOW[1] * self._length:
            self._slow[float(np.sign(velocity))].append((effort, load))
        return float(effort)

    def _prepare(self, t: float) -> None:
        """Choose the sine by the measured friction: quick enough for the inertial effort to exceed friction."""
        self._friction = float(np.nan_to_num(self.friction))
        self._omega = float(np.clip(INERTIA_RATIO * self._friction / (self._inertia * SPEED), *FREQUENCIES))
        self._amplitude = min(SHAKE, SPEED / self._omega, 0.35 * self._length)
        self._sine_begin, self._sine_end = t, t + PERIODS * 2.0 * np.pi / self._omega

    def _reference(self, t: float) -> tuple[float, float, float]:
        """Distance along the stroke, velocity and acceleration."""
        if t < self._turn:
            return self._length - (self._turn - t) * self._speed, self._speed, 0.0
        if t < self._sine_begin:
            return self._length - (t - self._turn) * self._speed, -self._speed, 0.0
        low = SINE_AT * self._length
        if t >= self._sine_end:
            return low - (t - self._sine_end) * self._speed, -self._speed, 0.0
        phase, a, omega = self._omega * (t - self._sine_begin), self._amplitude, self._omega
        sin, cos = float(np.sin(phase)), float(np.cos(phase))
        return low + a * (1.0 - cos), a * omega * sin, a * omega**2 * cos

    def _mean(self, direction: float) -> Array:
        rows = self._slow[direction]
        return np.mean(rows, axis=0) if rows else np.full(2, np.nan)
