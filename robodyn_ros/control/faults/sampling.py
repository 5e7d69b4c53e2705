"""Sampling: which gains a rate of states carries.

An effort comes from a state that is δ old by then, and stays until the effort for the next state, a period T later. So
the feedback M q̈ = -K q - D q̇ acts on the arm as the discrete system ::

    x_k+1 = Φ x_k + Γ₀ u_k-d + Γ₁ u_k-d-1,     u_k = -M⁻¹ (K q_k + D q̇_k),     δ = d T + δ',  0 ≤ δ' < T

of the double integrator x = (q, q̇) with a held input and a delay. It is stable if the spectral radius of its matrix is
below one. Without a delay and for one joint that is ω T < 1 / ζ: a state every 0.1 s carries ω = 10 rad/s at ζ = 1,
and no more.

Source: Åström and Wittenmark, Computer-Controlled Systems (3rd ed., 1997), §2.3 (sampling with time delay).
"""

from __future__ import annotations

import numpy as np

from robodyn_ros.control.faults.settings import Feedback
from robodyn_ros.control.laws.base import Controller
from robodyn_ros.control.loop_settings import LoopSettings
from robodyn_ros.robot.pose import Array

GAIN_MARGIN = 1.1
"""By this factor the gains may be too high for the model, without being unstable."""

RETURN_MARGIN = 1.3
"""The same, for gains that were too high to be carried again."""

FIRST = 2
"""How many periods are measured before they count."""

MEMORY = 10.0
"""Over how many periods the measured ones are averaged."""

CHANGE = 0.1
"""By how much period and delay change before they are judged anew, as part of them."""

REASSESS = 0.5
"""Time after which they are judged anew in any case, for the arm may have moved [s]."""

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
        self._judged = (0.0, 0.0, -np.inf)

    def apply(self, settings: LoopSettings) -> None:
        """Judge these settings from now on."""
        self._settings = settings
        self.feedback = scaled(settings.feedback, self.carried) if self.carried < 1.0 else settings.feedback
        self._judged = (0.0, 0.0, -np.inf)

    def update(self, t: float, age: float, q: Array) -> None:
        """Take in a state.

        Args:
            t: when it was measured [s].
            age: of the state now [s].
            q: position (n,).
        """
        dt, self._last = t - self._last, t
        if not 0.0 < dt <= self._settings.safety.state_timeout:
            return
        self._count += 1
        part = 1.0 / min(self._count, MEMORY)
        self._mean += part * (dt - self._mean)
        # One gap is none of the rate, but two in a row are.
        self.period, self._before = max(self._mean, min(dt, self._before)), dt
        self.delay += part * (max(age, 0.0) - self.delay)
        period, delay, since = self._judged
        still = abs(self.period - period) <= CHANGE * period and abs(self.delay - delay) <= CHANGE * period
        if self._count < FIRST or (still and 0.0 <= t - since < REASSESS):
            return
        self._judged = (self.period, self.delay, t)
        self.carried = self.judge(self._settings, q, GAIN_MARGIN if self.carried == 1.0 else RETURN_MARGIN)
        feedback = self._settings.feedback
        mass = self._settings.controller.dynamics.mass_matrix(q)
        part = carried_part(self.period, self.delay, *rates(feedback.stiffness, feedback.damping, mass), GAIN_MARGIN)
        self.feedback = feedback if part == 1.0 else scaled(feedback, part)

    def judge(self, settings: LoopSettings, q: Array, margin: float = GAIN_MARGIN) -> float:
        """The part of a law's natural frequencies that the measured period and delay carry, with the arm at q (n,).

        It is 1 as long as they are not known.
        """
        if self._count < FIRST:
            return 1.0
        return carried_part(self.period, self.delay, *law_rates(settings.controller, q), margin)

    def problem(self, settings: LoopSettings, carried: float) -> str:
        """What is wrong where only a part of the natural frequencies is carried, with what would be right."""
        law = settings.controller
        robot = law.dynamics.robot
        inertia = np.diagonal(law.dynamics.mass_matrix(robot.home)) if law.feedback == "effort" else np.ones(robot.n)
        frequency = np.maximum(np.sqrt(law.kp / inertia), 0.5 * law.kd / inertia)  # the same for a damping ratio of one
        joint = int(np.argmax(frequency))
        asked, name = frequency[joint], robot.joint_names[joint]
        return (
            f"a state every {self.period:.3g} s, {self.delay:.2g} s old, carries a natural frequency of at most "
            f"{carried * asked:.3g} rad/s of joint {name!r}, not {asked:.3g} rad/s"
        )


def rates(stiffness: Array, damping: Array, mass: Array) -> tuple[Array, Array]:
    """M⁻¹ K and M⁻¹ D (n, n) of effort gains (n,)."""
    inverse = np.linalg.inv(mass)
    return inverse * stiffness, inverse * damping


def law_rates(controller: Controller, q: Array) -> tuple[Array, Array]:
    """The gains of a law as accelerations by position and by velocity, (n, n), with the arm at q (n,)."""
    if controller.feedback == "acceleration":
        return np.diag(controller.kp), np.diag(controller.kd)
    return rates(controller.kp, controller.kd, controller.dynamics.mass_matrix(q))


def scaled(feedback: Feedback, part: float) -> Feedback:
    """The gains that a part of the natural frequencies has, at the same damping ratio."""
    return Feedback(part**2 * feedback.stiffness, part * feedback.damping)


def carried_part(period: float, delay: float, stiffness: Array, damping: Array, margin: float) -> float:
    """The part of the natural frequencies that a period and a delay [s] carry, in (0, 1].

    Args:
        period: of the states [s].
        delay: from a state to its effort [s].
        stiffness: accelerations by position (n, n) in [1/s²].
        damping: accelerations by velocity (n, n) in [1/s].
        margin: by this factor the gains may be too high.
    """
    fastest = max(np.abs(np.linalg.eigvals(damping)).max(), np.sqrt(np.abs(np.linalg.eigvals(stiffness)).max()))
    if margin * fastest * (period + delay) < SURELY:
        return 1.0
    if delay > PERIODS * period:  # the same mean delay, half a period of the hold included, in fewer steps
        period, delay = delay / PERIODS, delay + 0.5 * (period - delay / PERIODS)

    def is_stable(part: float) -> bool:
        return spectral_radius(period, delay, margin * part**2 * stiffness, margin * part * damping) < 1.0

    if is_stable(1.0):
        return 1.0
    low, high = 0.0, 1.0
    for _ in range(BISECTIONS):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if is_stable(middle) else (low, middle)
    return max(low, 2.0**-BISECTIONS)


def spectral_radius(period: float, delay: float, stiffness: Array, damping: Array) -> float:
    """The spectral radius of the sampled and delayed feedback; below one it is stable.

    A joint without stiffness stays where it is: that pole at one does not count, nor does its rounding.

    Args:
        period: of the states [s].
        delay: from a state to its effort [s].
        stiffness: accelerations by position (n, n) in [1/s²].
        damping: accelerations by velocity (n, n) in [1/s].
    """
    n, whole = len(stiffness), int(delay / period)
    late = delay - whole * period
    early = period - late
    one, size = np.eye(n), n * (3 + whole)
    matrix = np.zeros((size, size))  # of q, q̇ and the inputs before, the latest first
    matrix[: 2 * n, : 2 * n] = np.block([[one, period * one], [0.0 * one, one]])
    feedback = -np.hstack([stiffness, damping])
    now, before = (
        np.vstack([0.5 * early**2 * one, early * one]),
        np.vstack([late * (period - 0.5 * late) * one, late * one]),
    )
    if whole == 0:
        matrix[: 2 * n, : 2 * n] += now @ feedback
    else:
        matrix[: 2 * n, n * (1 + whole) : n * (2 + whole)] = now
    matrix[: 2 * n, n * (2 + whole) :] = before
    matrix[2 * n : 3 * n, : 2 * n] = feedback
    for index in range(whole):
        row = n * (3 + index)
        matrix[row : row + n, row - n : row] = one
    poles = np.abs(np.linalg.eigvals(matrix))
    return float(np.where(np.abs(poles - 1.0) < ROUNDING, 0.0, poles).max())
