# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Sampling: the gains that a rate of states allows.

An effort is computed from a state of the age δ, and is held until the effort for the next state, a period T later. So
the feedback q̈ = -K q - D q̇ - I ∫q dt acts on the arm as the discrete system ::

    x_k+1 = Φ x_k + Γ₀ u_k-d + Γ₁ u_k-d-1,     u_k = -(K q_k + D q̇_k + I z_k),     δ = d T + δ',  0 ≤ δ' < T
    z_k = z_k-1 + T q_k

of the double integrator x = (q, q̇) with a held input and a delay δ: the age of the state, and ``command_delay``, in
which the effort gets to the drives. It is stable if the spectral radius of its matrix is below one. Without a delay and
an integral, for one joint, the condition is ω T < 1 / ζ: a state every 0.1 s allows ω = 10 rad/s at ζ = 1 at most. A
law that learns or observes acts as an integral; a spring at the tool acts by M⁻¹ Jᵀ K J at the position of the arm
(:meth:`robodyn_ros.control.laws.base.Controller.acceleration_gains`).

Source: Åström and Wittenmark, Computer-Controlled Systems (3rd ed., 1997), §2.3 (sampling with time delay).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from robodyn_ros.control.faults.settings import Feedback
from robodyn_ros.control.laws.base import AccelerationGains, Controller, checked_result
from robodyn_ros.control.loop_settings import LoopSettings
from robodyn_ros.errors import InputError
from robodyn_ros.robot.pose import Array

GAIN_MARGIN = 1.1  #: Gain margin of the law: with gains greater by this factor the feedback must be stable.
REACTION_MARGIN = 2.0  #: Gain margin of the reactions: no velocity changes its sign within a period.
RETURN_MARGIN = 1.3  #: Gain margin at which gains that were reduced are used in full again.
PERIODS_IN_TIMEOUT = 1.5  #: Least ``state_timeout`` that may be set, in periods of the states.
SPREAD = 2.0  #: Factor on period plus delay up to which they are not judged again, where all gains are stable by far.
STEADY = 0.2  #: Bound of the feedback's greatest rate times period plus delay, below which it is stable by far.
BISECTIONS = 14  #: Number of bisections for the allowed ratio of the natural frequencies.
PERIODS = 8  #: Greatest delay, in periods, of the discrete system; for a longer one it has longer periods.
ROUNDING = 1e-6  #: Distance from one within which a pole stands for a joint without stiffness.


class StateSampling(NamedTuple):
    """Measured period and delay of the states, and the gains that they allow."""

    period: float = 0.0  # time between two states, a mean or the lesser of the last two [s]; 0 before it is known
    delay: float = 0.0  # mean age of a state when it is answered [s]
    carried: float = 1.0  # ratio of the law's natural frequencies that the states allow, in (0, 1]
    unstable: bool = False  # True from when the gaps have amplified a deviation until the states allow the gains again
    found_delay: float = 0.0  # delay of the commands that an unstable feedback has shown [s]


class Judgement(NamedTuple):
    """The gains that a period and a delay allow."""

    carried: float  # ratio of the law's natural frequencies, in (0, 1]
    is_allowed: bool  # whether the whole gains are allowed, in this pose or in the home pose
    feedback: Feedback  # the gains of the reactions, reduced where the states do not allow them
    stable_until: float  # greatest sum of period and delay, of commands too, known to be stable, with RETURN_MARGIN [s]
    command_delay: float  # delay of the commands that they were judged with [s]


def judged(settings: LoopSettings, sampling: StateSampling, q: Array) -> Judgement:
    """Judge the gains of settings by the measured period and delay, with the arm at q (n,)."""
    feedback, period = settings.feedback, sampling.period
    late = commands_late(settings, sampling)
    delay = sampling.delay + late

    def least_ratio(gains: AccelerationGains, margin: float) -> float:
        """That of the least delay and of the greatest: a part of a period averages two states, which may be stabler."""
        return min(stable_ratio(period, each, gains, margin) for each in {sampling.delay, delay})

    def law_gains(q: Array) -> AccelerationGains:
        return checked_result(settings.controller, "acceleration_gains", q, period)

    gains = law_gains(q)
    margin = RETURN_MARGIN if sampling.unstable else GAIN_MARGIN
    carried = least_ratio(gains, margin)
    is_allowed = carried == 1.0 or least_ratio(law_gains(settings.controller.dynamics.robot.home), margin) == 1.0
    own = effort_gains(feedback, settings.controller.dynamics.mass_matrix(q))
    ratio = least_ratio(own, REACTION_MARGIN)
    lowered = Feedback(ratio**2 * feedback.stiffness, ratio * feedback.damping)
    whole, steady = period + delay, RETURN_MARGIN * SPREAD * (period + delay)
    if carried < 1.0:  # a longer time allows natural frequencies that are lower by as much
        reach = carried * margin / RETURN_MARGIN * whole
    else:
        reach = SPREAD * whole if is_steady(gains, steady) and is_steady(own, steady) else 0.0
    return Judgement(carried, is_allowed, lowered, reach, late)


def commands_late(settings: LoopSettings, sampling: StateSampling) -> float:
    """The delay of the commands [s]: the stated one, or the one that was found if it is greater."""
    return max(settings.safety.command_delay, sampling.found_delay)


def check_sampling(settings: LoopSettings, now: LoopSettings | None, sampling: StateSampling, q: Array) -> None:
    """Refuse (InputError) settings that the measured rate of the states does not allow, and less so than the present
    ones ``now`` (None if there are none yet), with the arm at q (n,). Both are judged alike: while states come so
    rarely that the present settings would be refused too, a change for the better can be made. Before the rate is
    known, gains that no rate of states would allow are refused.
    """
    afresh = sampling._replace(carried=1.0, unstable=False)  # whatever was allowed before
    carried = judged(settings, afresh, q).carried
    name, problem = sampling_problem(settings, sampling._replace(carried=carried), q, PERIODS_IN_TIMEOUT)
    if not problem:
        return
    if now is not None and name == "state_timeout":
        is_worse = settings.safety.state_timeout < now.safety.state_timeout
    else:
        is_worse = now is None or carried < judged(now, afresh, q).carried
    if is_worse:
        raise InputError(name, problem)


def sampling_problem(
    settings: LoopSettings, sampling: StateSampling, q: Array, periods: float = 1.0
) -> tuple[str, str]:
    """The setting that is wrong for the rate of the states, and a message with a right value; "" twice if none is. The
    least ``state_timeout`` is given in periods.
    """
    timeout, period = settings.safety.state_timeout, sampling.period
    if periods * period > timeout:
        return "state_timeout", (
            f"a state comes every {period:.3g} s, too rarely for a state_timeout of {timeout:.3g} s: set it "
            f"to {PERIODS_IN_TIMEOUT * period:.3g} s or more, or send states more often"
        )
    if sampling.carried == 1.0:
        return "", ""
    law = settings.controller
    frequency = _frequencies(law, q, period)
    joint = int(np.argmax(frequency))
    asked, joint_name = frequency[joint], law.dynamics.robot.joint_names[joint]
    name, remedy = checked_result(law, "remedy", q, sampling.carried)
    old = round(sampling.delay, 6)  # a mean of differences of stamps: 1e-18 s is none
    every = f"a state every {period:.3g} s, {old:.2g} s old," if period else "any rate of states"
    late = commands_late(settings, sampling)
    seen = ", as the arm shakes," if sampling.found_delay == late > 0.0 else ","
    return name, (
        f"{every} allows a natural frequency of at most {sampling.carried * asked:.3g} rad/s of joint {joint_name!r} "
        f"with a command_delay of {late:.2g} s{seen} not {asked:.3g} rad/s: {remedy}, or "
        f"{'send states more often' if period else 'set command_delay to that of these drives'}"
    )


def _frequencies(law: Controller, q: Array, period: float) -> Array:
    """The natural frequency of each joint that moves alone, (n,) in [rad/s], for a damping ratio of one."""
    if law.feedback == "effort" and law.follows:
        inertia = np.diagonal(law.dynamics.mass_matrix(law.dynamics.robot.home))
        spring, damper = law.kp / inertia, law.kd / inertia
    else:
        gains = checked_result(law, "acceleration_gains", q, period)
        spring, damper = np.diagonal(gains.position), np.diagonal(gains.velocity)
    return np.maximum(np.sqrt(np.maximum(spring, 0.0)), 0.5 * damper)


def effort_gains(feedback: Feedback, mass: Array) -> AccelerationGains:
    """Stiffness and damping (n,) as accelerations of an arm with the mass matrix M (n, n)."""
    inverse = np.linalg.inv(mass)
    return AccelerationGains(inverse * feedback.stiffness, inverse * feedback.damping, np.zeros_like(mass))


def stable_ratio(period: float, delay: float, gains: AccelerationGains, margin: float) -> float:
    """The ratio of natural frequencies (0, 1] that a period and a delay to the effort [s] allow, with a gain margin."""
    stiffness, damping, integral = gains
    if is_steady(gains, margin * (period + delay)):
        return 1.0
    if delay > PERIODS * period:  # the same mean delay, half a period of the hold included, in fewer steps
        period, delay = delay / PERIODS, delay + 0.5 * (period - delay / PERIODS)

    def is_stable(ratio: float) -> bool:
        lowered = margin * ratio**2 * stiffness, margin * ratio * damping, margin * ratio**3 * integral
        return spectral_radius(period, delay, AccelerationGains(*lowered)) < 1.0

    if is_stable(1.0):
        return 1.0
    low, high = 0.0, 1.0
    for _ in range(BISECTIONS):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if is_stable(middle) else (low, middle)
    return max(low, 2.0**-BISECTIONS)


def is_steady(gains: AccelerationGains, time: float) -> bool:
    """True if a feedback with a period and a delay of this sum [s] is stable by far: its greatest rate, from the
    greatest magnitudes of the eigenvalues of the gains, is small for them.
    """
    for order, gain in ((2, gains.position), (1, gains.velocity), (3, gains.integral)):
        most = (STEADY / time) ** order if time > 0.0 else np.inf
        # A norm is an upper bound, and quicker.
        if np.abs(gain).sum(axis=1).max() >= most and np.abs(np.linalg.eigvals(gain)).max() >= most:
            return False
    return True


def spectral_radius(period: float, delay: float, gains: AccelerationGains) -> float:
    """The spectral radius of the sampled and delayed feedback; below one it is stable.

    A joint without stiffness has a pole at one, which does not count, nor does its rounding. Arguments are those of
    :func:`stable_ratio`.
    """
    stiffness, damping, integral = gains
    n, whole = len(stiffness), int(delay / period)
    late, one, summed = delay - whole * period, np.eye(n), bool(integral.any())
    early, count = period - late, 3 + whole + summed
    parts = np.zeros((count, n, count, n))  # of q, q̇ and the inputs before, the latest first; then the integral
    parts[2, :, 0], parts[2, :, 1] = -(stiffness + period * integral), -damping
    if summed:
        parts[2, :, -1], parts[-1, :, 0], parts[-1, :, -1] = -integral, period * one, one
    acting = parts[2].copy() if whole == 0 else np.zeros((n, count, n))
    if whole:
        acting[:, 1 + whole] = one
    parts[0], parts[1] = 0.5 * early**2 * acting, early * acting
    parts[0, :, 2 + whole], parts[1, :, 2 + whole] = late * (period - 0.5 * late) * one, late * one
    for row, column, gain in ((0, 0, 1.0), (0, 1, period), (1, 1, 1.0), *((3 + k, 2 + k, 1.0) for k in range(whole))):
        parts[row, :, column] += gain * one
    poles = np.abs(np.linalg.eigvals(parts.reshape(count * n, count * n)))
    return float(np.where(np.abs(poles - 1.0) < ROUNDING, 0.0, poles).max())
