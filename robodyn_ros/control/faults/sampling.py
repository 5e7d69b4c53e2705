"""Sampling: which gains a rate of states carries.

An effort comes from a state that is δ old by then, and stays until the effort for the next state, a period T later. So
the feedback q̈ = -K q - D q̇ - I ∫q dt acts on the arm as the discrete system ::

    x_k+1 = Φ x_k + Γ₀ u_k-d + Γ₁ u_k-d-1,     u_k = -(K q_k + D q̇_k + I z_k),     δ = d T + δ',  0 ≤ δ' < T
    z_k = z_k-1 + T q_k

of the double integrator x = (q, q̇) with a held input and a delay. It is stable if the spectral radius of its matrix is
below one. Without a delay and an integral and for one joint that is ω T < 1 / ζ: a state every 0.1 s carries
ω = 10 rad/s at ζ = 1, and no more. A law that learns or observes acts as an integral
(:meth:`robodyn_ros.control.laws.base.Controller.acceleration_gains`).

Source: Åström and Wittenmark, Computer-Controlled Systems (3rd ed., 1997), §2.3 (sampling with time delay).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from robodyn_ros.control.faults.settings import Feedback
from robodyn_ros.control.laws.base import AccelerationGains, Controller, checked_result
from robodyn_ros.control.loop_settings import LoopSettings
from robodyn_ros.errors import InputError
from robodyn_ros.robot.pose import Array

GAIN_MARGIN = 1.1
"""By this factor the gains may be too high for the model, without being unstable."""

RETURN_MARGIN = 1.3
"""The same, for gains that were too high to be carried again."""

PERIODS_IN_TIMEOUT = 1.5
"""How many periods of the states must fit into a ``state_timeout`` that is set."""

FIRST = 2
"""How many periods are measured before they count."""

MEMORY = 10.0
"""Over how many periods the measured ones are averaged."""

CHANGE = 0.1
"""By how much period and delay change before they are judged anew, as part of them."""

REASSESS = 0.5
"""Time after which they are judged anew in any case, for the arm may have moved [s]."""

SURE = 2.0
"""Up to this factor of period and delay together they need not be judged anew, where all gains are surely carried."""

SURELY = 0.2
"""Where the greatest rate of the feedback, times period and delay, is below this, it is stable by far."""

BISECTIONS = 14
"""How often the interval is halved in which the part lies that is carried."""

PERIODS = 8
"""A delay of more periods than this is computed with longer periods."""

ROUNDING = 1e-6
"""How near to one a pole is that stands for a joint without stiffness."""


class SamplingRate:
    """Measures period and delay of the states, and judges the gains by them.

    Attributes:
        period: time between two states, a mean or the lesser of the last two [s]; 0 before it is known.
        delay: mean age of a state when it is answered [s].
        carried: the part of the law's natural frequencies that the states carry, in (0, 1].
        feedback: the gains of the reactions, as far as they are carried.
    """

    def __init__(self, settings: LoopSettings) -> None:
        """
        Args:
            settings: whose gains are judged.
        """
        self._settings = settings
        self.reset()

    def reset(self) -> None:
        """Measure anew."""
        self.period = self.delay = 0.0
        self.carried = 1.0
        self.feedback = self._settings.feedback
        self._last = -np.inf
        self._count = 0
        self._mean = self._before = 0.0
        self._judged, self._sure = (0.0, 0.0, -np.inf), 0.0
        self._q = self._settings.controller.dynamics.robot.home

    def apply(self, settings: LoopSettings) -> None:
        """Judge these settings from now on."""
        self._settings = settings
        self.feedback = scaled(settings.feedback, self.carried) if self.carried < 1.0 else settings.feedback
        self._judged, self._sure = (0.0, 0.0, -np.inf), 0.0

    @property
    def problem(self) -> str:
        """Why the states are too rare for what the arm works with; "" if they are not."""
        return self._problem(self._settings, self.carried)[1]

    def update(self, t: float, age: float, q: Array) -> None:
        """Take in a state.

        Args:
            t: when it was measured [s].
            age: of the state now [s].
            q: position (n,).
        """
        dt, self._last = t - self._last, t
        if not 0.0 < dt < np.inf:
            return
        # One gap is none of the rate, but two in a row are; one that was a fault of its own has no part in the mean.
        least, self._before = min(dt, self._before), dt
        if dt > self._settings.safety.state_timeout:
            self.period = max(self.period, least)
        else:
            self._count += 1
            part = 1.0 / min(self._count, MEMORY)
            self._mean += part * (dt - self._mean)
            self.period = max(self._mean, least)
            self.delay += part * (max(age, 0.0) - self.delay)
        period, delay, since = self._judged
        still = self.period + self.delay <= self._sure or (
            abs(self.period - period) <= CHANGE * period and abs(self.delay - delay) <= CHANGE * period
        )
        if not self._is_known or (still and 0.0 <= t - since < REASSESS):
            return
        self._judged = (self.period, self.delay, t)
        self.assess(q)

    def assess(self, q: Array) -> None:
        """Judge the gains by the period and delay that were measured, with the arm at q (n,)."""
        self._q = q
        settings, feedback = self._settings, self._settings.feedback
        self.carried = self._judge(settings, q, GAIN_MARGIN if self.carried == 1.0 else RETURN_MARGIN)
        gains = effort_gains(feedback, settings.controller.dynamics.mass_matrix(q))
        part = carried_part(self.period, self.delay, gains, GAIN_MARGIN)
        self.feedback = feedback if part == 1.0 else scaled(feedback, part)
        reach = SURE * (self.period + self.delay)
        both = gains, checked_result(settings.controller, "acceleration_gains", q, self.period)
        self._sure = reach if RETURN_MARGIN * max(map(fastest, both)) * reach < SURELY else 0.0

    def save(self, memory: Any) -> None:
        """Write what it remembers into the memory of ``../loop.c``."""
        memory.count[...], memory.sampling_last[...] = self._count, self._last
        memory.period[...], memory.delay[...], memory.mean[...], memory.before[...] = (
            self.period, self.delay, self._mean, self._before
        )  # fmt: skip
        memory.judged_period[...], memory.judged_delay[...], memory.judged_t[...] = self._judged
        self.save_judgement(memory)

    def save_judgement(self, memory: Any) -> None:
        """Write there which gains are carried."""
        memory.carried[...], memory.carried_stiffness[:], memory.carried_damping[:] = self.carried, *self.feedback
        memory.sure[...], memory.to_judge[...] = self._sure, 0

    def restore(self, memory: Any) -> None:
        """Read it from there."""
        self._count, self._last = int(memory.count), float(memory.sampling_last)
        names = ("period", "delay", "mean", "before", "judged_period", "judged_delay", "judged_t", "carried")
        self.period, self.delay, self._mean, self._before, *judged, self.carried = (
            float(getattr(memory, name)) for name in names
        )
        self._judged, self._sure = (judged[0], judged[1], judged[2]), float(memory.sure)
        self.feedback = Feedback(memory.carried_stiffness.copy(), memory.carried_damping.copy())

    def check(self, settings: LoopSettings, q: Array) -> None:
        """Check that settings can be worked with at the measured rate, or better than with those of now.

        Args:
            settings: other ones.
            q: where the arm is, (n,).

        Raises:
            InputError: states come too rarely for the gains or for ``state_timeout``; the message has the numbers.
        """
        carried = self._judge(settings, q)
        name, problem = self._problem(settings, carried, PERIODS_IN_TIMEOUT)
        if problem and (carried < 0.99 * self.carried or not self.problem):
            raise InputError(name, problem)

    @property
    def _is_known(self) -> bool:
        """True if period and delay have been measured."""
        return self._count >= FIRST or self.period > self._settings.safety.state_timeout

    def _judge(self, settings: LoopSettings, q: Array, margin: float = GAIN_MARGIN) -> float:
        """The part of a law's natural frequencies that the measured period and delay carry, with the arm at q (n,).

        It is 1 as long as they are not known.
        """
        if not self._is_known:
            return 1.0
        gains = checked_result(settings.controller, "acceleration_gains", q, self.period)
        return carried_part(self.period, self.delay, gains, margin)

    def _problem(self, settings: LoopSettings, carried: float, periods: float = 1.0) -> tuple[str, str]:
        """Which settings are wrong, and why, with what would be right; "" twice if none are.

        Args:
            settings: that states are too rare for.
            carried: the part of the natural frequencies that is carried.
            periods: how many periods ``state_timeout`` must have.
        """
        timeout = settings.safety.state_timeout
        if periods * self.period > timeout:
            return "state_timeout", (
                f"a state comes every {self.period:.3g} s, too rarely for a state_timeout of {timeout:.3g} s: set it "
                f"to {PERIODS_IN_TIMEOUT * self.period:.3g} s or more, or send states more often"
            )
        if carried == 1.0:
            return "", ""
        law = settings.controller
        frequency = _frequencies(law, self._q, self.period)
        joint = int(np.argmax(frequency))
        asked, name = frequency[joint], law.dynamics.robot.joint_names[joint]
        return "gains", (
            f"a state every {self.period:.3g} s, {self.delay:.2g} s old, carries a natural frequency of at most "
            f"{carried * asked:.3g} rad/s of joint {name!r}, not {asked:.3g} rad/s: lower {law.quickness}, or send "
            "states more often"
        )


def _frequencies(law: Controller, q: Array, period: float) -> Array:
    """The natural frequency of each joint that moves alone, (n,) in [rad/s], for a damping ratio of one."""
    if law.feedback == "effort" and law.follows:
        inertia = np.diagonal(law.dynamics.mass_matrix(law.dynamics.robot.home))
        spring, damper = law.kp / inertia, law.kd / inertia
    else:
        gains = checked_result(law, "acceleration_gains", q, period)
        spring, damper = np.diagonal(gains.position), np.diagonal(gains.velocity)
    frequencies: Array = np.maximum(np.sqrt(np.maximum(spring, 0.0)), 0.5 * damper)
    return frequencies


def effort_gains(feedback: Feedback, mass: Array) -> AccelerationGains:
    """Stiffness and damping (n,) as accelerations of an arm with the mass matrix M (n, n)."""
    inverse = np.linalg.inv(mass)
    return AccelerationGains(inverse * feedback.stiffness, inverse * feedback.damping, np.zeros_like(mass))


def scaled(feedback: Feedback, part: float) -> Feedback:
    """The gains that a part of the natural frequencies has, at the same damping ratio."""
    return Feedback(part**2 * feedback.stiffness, part * feedback.damping)


def carried_part(period: float, delay: float, gains: AccelerationGains, margin: float) -> float:
    """The part of the natural frequencies that a period and a delay [s] carry, in (0, 1].

    Args:
        period: of the states [s].
        delay: from a state to its effort [s].
        gains: of the feedback.
        margin: by this factor they may be too high.
    """
    stiffness, damping, integral = gains
    if margin * fastest(gains) * (period + delay) < SURELY:
        return 1.0
    if delay > PERIODS * period:  # the same mean delay, half a period of the hold included, in fewer steps
        period, delay = delay / PERIODS, delay + 0.5 * (period - delay / PERIODS)

    def is_stable(part: float) -> bool:
        lowered = AccelerationGains(margin * part**2 * stiffness, margin * part * damping, margin * part**3 * integral)
        return spectral_radius(period, delay, lowered) < 1.0

    if is_stable(1.0):
        return 1.0
    low, high = 0.0, 1.0
    for _ in range(BISECTIONS):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if is_stable(middle) else (low, middle)
    return max(low, 2.0**-BISECTIONS)


def fastest(gains: AccelerationGains) -> float:
    """The greatest rate of a feedback [1/s]."""
    stiffness, damping, integral = map(greatest, gains)
    return float(max(damping, stiffness**0.5, integral ** (1.0 / 3.0)))


def greatest(gain: Array) -> float:
    """The greatest magnitude of an eigenvalue."""
    return float(np.abs(np.linalg.eigvals(gain)).max()) if gain.any() else 0.0


def spectral_radius(period: float, delay: float, gains: AccelerationGains) -> float:
    """The spectral radius of the sampled and delayed feedback; below one it is stable.

    A joint without stiffness stays where it is: that pole at one does not count, nor does its rounding.

    Args:
        period: of the states [s].
        delay: from a state to its effort [s].
        gains: of the feedback.
    """
    stiffness, damping, integral = gains
    n, whole = len(stiffness), int(delay / period)
    late = delay - whole * period
    early = period - late
    one, summed = np.eye(n), integral.any()
    inputs = n * (3 + whole)
    size = inputs + n * summed
    matrix = np.zeros((size, size))  # of q, q̇ and the inputs before, the latest first; then the integral
    matrix[: 2 * n, : 2 * n] = np.block([[one, period * one], [0.0 * one, one]])
    feedback = np.zeros((n, size))
    feedback[:, : 2 * n] = -np.hstack([stiffness + period * integral, damping])
    if summed:
        feedback[:, inputs:] = -integral
        matrix[inputs:, :n], matrix[inputs:, inputs:] = period * one, one
    now, before = (
        np.vstack([0.5 * early**2 * one, early * one]),
        np.vstack([late * (period - 0.5 * late) * one, late * one]),
    )
    if whole == 0:
        matrix[: 2 * n] += now @ feedback
    else:
        matrix[: 2 * n, n * (1 + whole) : n * (2 + whole)] = now
    matrix[: 2 * n, n * (2 + whole) : inputs] = before
    matrix[2 * n : 3 * n] = feedback
    for index in range(whole):
        row = n * (3 + index)
        matrix[row : row + n, row - n : row] = one
    poles = np.abs(np.linalg.eigvals(matrix))
    return float(np.where(np.abs(poles - 1.0) < ROUNDING, 0.0, poles).max())
