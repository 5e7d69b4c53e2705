"""A slow motion of one joint there and back, a shake on the way, and what the efforts say.

At a slow, even speed the effort is load plus friction on the way there and load minus friction on the way back. So the
mean of the two is the load, and half their difference the friction.

Shaken by a sine, positions Q and effort U at its frequency ω obey U = Σ (K_k - ω² M_k) Q_k + i ω …, where M_k and K_k
are the joint's rows of M and ∂g/∂q. All friction is in step with the velocity, so it is in the imaginary part alone,
and Re U/Q_j tells the inertia that is felt, whether the other joints stand still or swing along.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from robodyn_ros.control.commissioning.push import Push
from robodyn_ros.control.commissioning.settings import CommissioningConfig
from robodyn_ros.robot.pose import Array

LEAD_IN = 1.0
"""Time in which the effort grows to just below what moves the joint [s]."""

BELOW = 0.8
"""Part of that effort [-]."""

GIVES = 0.02
"""Error that may be needed to overcome what the push had to overcome [rad] or [m]."""

STIFFEST = 40.0
"""Greatest natural frequency for that [rad/s]: slow enough for states at 200 Hz and drives with 10 ms of delay."""

INTEGRAL = 5.0
"""Rate of the integral action [1/s]."""

WINDOW = (0.3, 0.55)
"""Part of the way in which the efforts count [-]: long after the joint broke loose, and after it turned back."""

SHAKEN_AT = 0.25
"""Part of the way at which the joint is shaken [-], on its way back."""

FREQUENCIES = (2.0 * np.pi, 8.0 * np.pi)
"""Least and greatest ω of the shake [rad/s]."""

SPEED = 0.25
"""Speed of the shake [rad/s] or [m/s]."""

OUTWEIGHED = 3.0
"""How far inertia is to outweigh friction in it [-]."""

HIDDEN = 0.3
"""Effort of inertia over that of friction below which nothing can be said of it [-]."""

PERIODS = 6
"""Of the shake; the first does not count."""


class Stroke:
    """See the module. Feedback on position, critically damped, with an integral; so stiff that friction is overcome."""

    def __init__(self, config: CommissioningConfig, push: Push, begun: float, start: float, length: float) -> None:
        """
        Args:
            config: settings.
            push: what moved the joint; the stroke goes the way that it went, with gains by the inertia that it showed.
            begun: time now [s].
            start: where the joint is [rad] or [m].
            length: how far to go [rad] or [m].
        """
        self._way, self._sign = float(np.sign(push.moved)), 1.0 if push.follows else -1.0
        self._bias, self._inertia = BELOW * push.loose, push.inertia
        inertia, stiff = push.inertia, abs(push.loose) / GIVES
        omega = float(np.clip(np.sqrt(stiff / inertia), config.stiffness_frequency, STIFFEST))
        self._kp = inertia * (omega**2 + 2.0 * omega * INTEGRAL)
        self._kd, self._ki = inertia * (2.0 * omega + INTEGRAL), inertia * omega**2 * INTEGRAL
        self._start, self._length, self._speed = start, length, config.stroke_speed
        self._shake, self._omega, self._amplitude = config.shake, FREQUENCIES[0], 0.0
        self._begun, self._time, self._integral, self._friction = begun, begun, 0.0, 0.0
        self._turn = begun + LEAD_IN + length / self._speed
        self._shake_begin = self._turn + (1.0 - SHAKEN_AT) * length / self._speed
        self._shake_end = np.inf
        self._slow: dict[float, list[tuple[float, float]]] = {1.0: [], -1.0: []}  # way → effort and model's load
        self._shaken: list[tuple[float, float, Array]] = []  # time, effort, positions of all joints

    @property
    def over(self) -> bool:
        """Whether the joint is back."""
        return self._time > self._shake_end + SHAKEN_AT * self._length / self._speed

    @property
    def friction(self) -> float:
        """[N·m] or [N]."""
        return abs(float(self._mean(1.0)[0] - self._mean(-1.0)[0])) / 2.0

    @property
    def gravity(self) -> tuple[float, float]:
        """As measured, and as the model has it [N·m] or [N]."""
        there, back = self._mean(1.0), self._mean(-1.0)
        return float(there[0] + back[0]) / 2.0, float(there[1] + back[1]) / 2.0

    def inertia(self, index: int, model: Callable[[Array, Array], tuple[float, float]]) -> tuple[float, float]:
        """As measured, nan where friction hides it, and as the model has it [kg m²] or [kg].

        Args:
            index: of the joint.
            model: inertia that the joint feels, and ∂g/∂q [N·m/rad] or [N/m], at positions (n,) for a motion in which
                the joints go along by so much each (n,).
        """
        t = np.array([row[0] for row in self._shaken])
        values = np.column_stack([[row[1] for row in self._shaken], np.array([row[2] for row in self._shaken])])
        wave = np.column_stack([np.cos(self._omega * t), np.sin(self._omega * t), np.ones_like(t), t - t[0]])
        cos, sin, *_ = np.linalg.lstsq(wave, values, rcond=None)[0]
        effort, *positions = cos - 1j * sin
        along = (np.array(positions) / positions[index]).real
        felt, stiffness = model(values[:, 1:].mean(axis=0), along)
        if felt * self._omega**2 * self._amplitude < HIDDEN * self._friction:
            return float("nan"), felt
        ratio = self._sign * effort / positions[index]
        return float((stiffness - ratio.real) / self._omega**2), felt

    def effort(self, t: float, q: Array, qd: Array, index: int, load: float) -> float:
        """The effort for a state [N·m] or [N]; ``load`` is the model's gravity."""
        dt, self._time = t - self._time, t
        if t < self._begun + LEAD_IN:
            return self._bias * (t - self._begun) / LEAD_IN
        if t >= self._shake_begin and self._amplitude == 0.0:
            self._prepare(t)
        along, velocity, acceleration = self._reference(t)
        error = self._start + self._way * along - float(q[index])
        self._integral += error * dt
        control = self._kp * error + self._kd * (self._way * velocity - float(qd[index])) + self._ki * self._integral
        effort = self._bias + self._sign * (control + self._inertia * self._way * acceleration)
        if self._shake_begin <= t < self._shake_end:
            # With friction fed forward the joint follows the sine instead of sticking where it turns.
            effort += self._sign * self._way * self._friction * float(np.tanh(10.0 * velocity / SPEED))
            if t > self._shake_begin + 2.0 * np.pi / self._omega:
                self._shaken.append((t, effort, q))
        elif WINDOW[0] * self._length < along < WINDOW[1] * self._length:
            self._slow[float(np.sign(velocity))].append((effort, load))
        return float(effort)

    def _prepare(self, t: float) -> None:
        """Choose the shake by the friction that has been found: quick enough for inertia to outweigh it."""
        self._friction = float(np.nan_to_num(self.friction))
        self._omega = float(np.clip(OUTWEIGHED * self._friction / (self._inertia * SPEED), *FREQUENCIES))
        self._amplitude = min(self._shake, SPEED / self._omega, 0.35 * self._length)
        self._shake_begin, self._shake_end = t, t + PERIODS * 2.0 * np.pi / self._omega

    def _reference(self, t: float) -> tuple[float, float, float]:
        """How far along, how fast, and with what acceleration."""
        if t < self._turn:
            return self._length - (self._turn - t) * self._speed, self._speed, 0.0
        if t < self._shake_begin:
            return self._length - (t - self._turn) * self._speed, -self._speed, 0.0
        low = SHAKEN_AT * self._length
        if t >= self._shake_end:
            return low - (t - self._shake_end) * self._speed, -self._speed, 0.0
        phase, a, omega = self._omega * (t - self._shake_begin), self._amplitude, self._omega
        sin, cos = float(np.sin(phase)), float(np.cos(phase))
        return low + a * (1.0 - cos), a * omega * sin, a * omega**2 * cos

    def _mean(self, way: float) -> Array:
        rows = self._slow[way]
        return np.mean(rows, axis=0) if rows else np.full(2, np.nan)
