# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Preparation of recordings: from recordings to samples of motion.

1. :func:`prepare_recording` puts positions and efforts on a uniform time grid, in segments without gaps, and finds the
   periodic section of each.
2. :func:`choose` chooses the cutoff frequency of the filter, and whether periods are averaged, so that the recording
   determines the arm's parameters best.
3. :func:`find_delay` finds the delay of the efforts, one for all recordings of one kind of effort.
4. Each segment is filtered and differentiated without phase lag, with the efforts moved by the delay.

A command takes time to reach its drive and is then held for a period; a measured effort is older than its time stamp.
Both delays shift efforts against motion, so that inertia is mistaken for friction. The estimated delay d makes the
arm's equations explain the efforts best, whatever the arm's parameters are. It minimises |P τ(t - d)|² by Gauss and
Newton's method, where P projects onto the orthogonal complement of the columns of the regressor of all parameters. The
rate of change of the efforts has noise too, which makes the minimum no sharper. The standard error therefore comes from
the curvature of the minimum and from the long-run variance of the terms of its gradient.

A low cutoff frequency removes motion. A high one passes the noise of encoders, which grows with the square of the
frequency when positions are differentiated. The better choice depends on the arm, its encoders and its motion, and is
visible in the residuals of the equations. It is the one with the smallest standard errors: the largest determinant of
the information matrix (D-optimality; Swevers et al., 1997, section III). The noise in this matrix is that of the
residuals, and the number of independent samples follows from their autocorrelation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from robodyn_ros.dynamics import STANDARD_GRAVITY, CompiledDynamics
from robodyn_ros.dynamics.rnea import RNEA
from robodyn_ros.errors import InputError
from robodyn_ros.identification.prepared_recording import PreparedRecording, cutoff_frequencies, prepare_recording
from robodyn_ros.identification.recording.recording import Recording, unreadable
from robodyn_ros.identification.samples import BLOCK, RecordedSamples, SegmentSamples, long_run_ratio
from robodyn_ros.identification.settings import IdentificationSettings, SignalSettings
from robodyn_ros.robot import Array, Robot

GREATEST_DELAY = 0.5
"""Greatest delay that is accepted [s]."""

PASSES = 2
"""Number of searches for the delay. The delay decides which samples lie between a segment's edges, so the second search
uses the delay of the first."""

MAX_ROWS = 3000
"""Greatest number of samples in a search; more improve the estimate little."""

MAX_ITERATIONS = 20
"""Greatest number of iterations of a search."""

NEGLIGIBLE = 1e-2
"""Step of the iteration, over the standard error, below which it has converged."""

SMALL = 1e-12
"""Power of a direction of the parameters, over the greatest, below which the motion does not excite it."""

ROUNDING = 1e-9
"""Least accepted noise, over the effort."""

DELAY_CUTOFF = 5.0
"""Least cutoff frequency at which a delay is looked for before the choice [Hz]."""

TRIED_SAMPLES = 12000
"""Greatest number of samples on which a choice of cutoff frequency and averaging is tried."""

DIFFERENCE = 1e-3
"""Step of the finite difference of the gradient with respect to the delay [s]."""

EXCITED = 1e-8
"""Power of a direction of the parameters, over the greatest, above which the choice uses it."""

EQUATIONS = 3.0
"""Least number of equations per parameter for judging a choice."""

AS_GOOD = 0.2
"""Difference of the mean logarithm of standard errors below which two choices are equally good."""


@dataclass(frozen=True, eq=False)
class PreparedSamples:
    """The samples of a recording, and the figures of their preparation.

    Attributes:
        name: name of the recording.
        samples: samples for :func:`identify`.
        effort: kind of the efforts, ``measured`` or ``commanded``.
        cutoff: cutoff frequency of the filter [Hz].
        delay: time by which the efforts act later than recorded [s].
        delay_error: its standard error [s]; 0 if the delay was given.
        periods: number of periods that were averaged; 0 if the motion does not repeat.
        used: time that the samples cover [s].
        duration: duration of the recording [s].
        still: joints that are at rest all the time.
        notes: remarks for the user.
        noise: standard deviation of the noise of the recorded positions, (n,) in [rad] or [m].
    """

    name: str
    samples: RecordedSamples
    effort: str
    cutoff: float
    delay: float
    delay_error: float
    periods: int
    used: float
    duration: float
    still: tuple[str, ...]
    notes: tuple[str, ...]
    noise: Array


def prepare(
    recordings: Sequence[Recording],
    robot: Robot,
    settings: SignalSettings | None = None,
    *,
    gravity: ArrayLike = STANDARD_GRAVITY,
) -> list[PreparedSamples]:
    """Prepare recordings of one arm.

    Samples with a command at the effort limit get weight 0, because the drive may have given less.

    Args:
        recordings: recordings of the arm's joints, in its order.
        robot: the arm; its axes matter, its inertial parameters do not.
        settings: settings of the preparation.
        gravity: acceleration of free fall in the root link's frame, (3,) in [m/s²].

    Raises:
        InputError: a recording is of other joints, there are no efforts, too little was recorded, or no joint moves;
            the message names it.
    """
    settings = settings or SignalSettings()
    dynamics = RNEA(robot, gravity=gravity)
    wide = [prepare_recording(recording, robot, settings) for recording in recordings]
    prepared = [choose(dynamics, one, settings) for one in wide]
    delays = dict.fromkeys((one.effort_kind for one in prepared), (settings.delay, 0.0))
    if settings.align:  # a delay is visible in fast motion: use all frequencies above the noise
        banded = [one.filtered_at(max(one.cutoff, first.cutoff)) for one, first in zip(prepared, wide, strict=True)]
        for kind in delays:
            alike = [one for one in banded if one.effort_kind == kind]
            delays[kind] = _common_delay(dynamics, alike, settings.delay)
    pairs = zip(recordings, prepared, strict=True)
    return [_samples(recording, one, *delays[one.effort_kind]) for recording, one in pairs]


def _common_delay(dynamics: RNEA, recordings: list[PreparedRecording], start: float) -> tuple[float, float]:
    """The delay of the efforts of several recordings, and its standard error [s]."""
    delay, error = start, 0.0
    for _ in range(PASSES):
        pairs = [(recording, segment) for recording in recordings for segment in recording.segment_samples(delay)]
        segments = [segment for _, segment in pairs]
        weights = [recording.weights(segment) for recording, segment in pairs]
        delay, error = find_delay(dynamics, segments, weights, _standstill(segments), delay)
        if not abs(delay) < GREATEST_DELAY:
            problem = f"efforts would have to act {1e3 * delay:.0f} ms later than recorded to fit the motion"
            names = ", ".join(recording.name for recording in recordings)
            raise unreadable(names, f"{problem}: they are of another motion, or on another clock")
    return delay, error


def choose(dynamics: RNEA, recording: PreparedRecording, settings: SignalSettings) -> PreparedRecording:
    """The recording with the choice of cutoff frequency and averaging of periods that determines the arm best.

    The search starts at the frequency where the motion meets the noise, and raises and lowers it while the result
    improves. Among equally good choices, means of periods are preferred, and then the highest cutoff frequency: it
    keeps the most samples, in which the errors of the model differ.

    Args:
        dynamics: dynamics of the arm; its inertial parameters do not matter.
        recording: a recording, at the cutoff frequency to begin with.
        settings: a cutoff frequency above 0, and ``average``, leave less to choose.
    """
    frequencies = [recording.cutoff] if settings.cutoff else cutoff_frequencies(recording.segments).tolist()
    start = int(np.argmin(np.abs(np.log(frequencies) - np.log(recording.cutoff))))
    choices = [recording.filtered_at(frequencies[start])]
    if choices[0].averaged() is None and len(frequencies) == 1:
        return recording
    delay = settings.delay
    if settings.align:
        delay = _common_delay(dynamics, [recording.filtered_at(max(recording.cutoff, DELAY_CUTOFF))], delay)[0]
    judge = _Judge(dynamics, choices[0], delay, settings.align)
    scores: dict[tuple[int, bool], tuple[float, PreparedRecording]] = {}

    def score(place: int) -> float:
        plain = recording.filtered_at(frequencies[place])
        for one in (plain, plain.averaged()):
            if one is not None and (place, one is plain) not in scores:
                scores[place, one is plain] = judge.mean_log_error(one), one
        return min(value for (at, _), (value, _) in scores.items() if at == place)

    best = score(start)
    for direction in (1, -1):
        place, worse = start, 0
        while worse < 2 and 0 <= place + direction < len(frequencies):
            place += direction
            found = score(place)
            worse = 0 if found < best else worse + 1
            best = min(best, found)
    if not np.isfinite(best):
        return recording
    good = [(not plain, place) for (place, plain), (value, _) in scores.items() if value <= best + AS_GOOD]
    mean, place = max(good)
    return scores[place, not mean][1]


class _Judge:
    """Judges choices for one recording by the standard errors that each would give.

    If the delay is to be found, it is one more parameter: its column is the rate of change of the efforts.
    """

    def __init__(self, dynamics: CompiledDynamics, recording: PreparedRecording, delay: float, align: bool) -> None:
        self._dynamics, self._delay, self._align = dynamics, delay, align
        segments = recording.segment_samples(delay)
        self._speed = _standstill(segments)
        every = max(1, sum(len(segment.rows) for segment in segments) // MAX_ROWS)
        motion = [np.concatenate([one.motion[order][one.rows][::every] for one in segments]) for order in range(3)]
        regressor = dynamics.regressor(*motion)
        efforts = [one.delayed_effort(delay)[0][::every] for one in segments]
        size = np.sqrt(np.mean(np.concatenate(efforts) ** 2, axis=0))
        rows = (regressor / np.where(size > 0.0, size, 1.0)[:, None]).reshape(-1, regressor.shape[-1])
        self._reduction = _excited(rows, EXCITED)[0]  # (p, r)
        """Takes parameters to the directions that the motion excites."""

    def mean_log_error(self, recording: PreparedRecording) -> float:
        """Mean logarithm of the standard errors along all directions; inf if there are too few samples."""
        try:
            segments = recording.segment_samples(self._delay)
        except InputError:
            return np.inf
        parts = []
        total = sum(len(segment.segment.t) for segment in segments)
        for number, segment in enumerate(segments):
            part = _some(segment, max(1, TRIED_SAMPLES * len(segment.segment.t) // total))
            columns = part.filtered(lambda *motion: self._dynamics.regressor(*motion) @ self._reduction)
            effort, rate = part.delayed_effort(self._delay)
            regressor = np.concatenate([columns, rate[:, :, None]], axis=2) if self._align else columns
            weight = part.moving(self._speed) * recording.weights(part)[:, None]
            parts.append((regressor, effort, weight, np.full(len(part.rows), number)))
        Y, tau, weight, series = (np.concatenate(values) for values in zip(*parts, strict=True))
        ratio = len(series) / sum(len(segment.rows) for segment in segments)
        return self._mean_log_error(Y, tau, weight / ratio, series)

    @staticmethod
    def _mean_log_error(Y: Array, tau: Array, weight: Array, series: Array) -> float:
        used, r = weight > 0.0, Y.shape[2]
        if used.sum() < EQUATIONS * r:
            return np.inf
        gram = np.einsum("kir,ki,kis->irs", Y, weight, Y, optimize=True)
        right = np.einsum("kir,ki,ki->ir", Y, weight, tau, optimize=True)
        power = np.sum(tau**2, axis=0)
        variance = np.where(power > 0.0, power, 1.0)
        for _ in range(3):  # each joint's noise is known from the solution before
            information = np.einsum("irs,i->rs", gram, 1.0 / variance)
            inverse = np.linalg.pinv(information, rcond=SMALL, hermitian=True)
            rest = tau - Y @ (inverse @ np.einsum("ir,i->r", right, 1.0 / variance))
            lost = np.einsum("irs,rs->i", gram, inverse) / variance  # degrees of freedom
            free = np.maximum(used.sum(axis=0) - lost, 1.0)
            residual = np.sum(weight * rest**2, axis=0) / free
            variance = np.maximum(residual, ROUNDING**2 * power / np.maximum(used.sum(axis=0), 1))
            variance = np.where(power > 0.0, variance, 1.0)
        same = (series[1:] == series[:-1])[:, None] & used[1:] & used[:-1]
        together = np.sum(same * rest[1:] * rest[:-1], axis=0)
        correlation = np.clip(together / np.maximum(np.sum(used * rest**2, axis=0), 1e-300), 0.0, 0.99)
        information = np.einsum("irs,i->rs", gram, (1.0 - correlation) / (1.0 + correlation) / variance)
        sign, logarithm = np.linalg.slogdet(information)
        return float(-0.5 * logarithm / r) if sign > 0.0 else np.inf


def _some(segment: SegmentSamples, count: int) -> SegmentSamples:
    """A segment with fewer rows: evenly spread blocks that hold a given number of samples in total."""
    blocks = -(-len(segment.segment.t) // BLOCK)
    kept = max(1, min(blocks, count // BLOCK))
    chosen = np.unique(np.linspace(0, blocks - 1, kept + 2)[1:-1].round()) if kept < blocks else np.arange(blocks)
    rows = segment.rows[np.isin(segment.rows // BLOCK, chosen)]
    return replace(segment, rows=rows if len(rows) else segment.rows)


def _samples(recording: Recording, prepared: PreparedRecording, delay: float, error: float) -> PreparedSamples:
    segments = prepared.segment_samples(delay)
    samples = RecordedSamples.of(segments, delay, [prepared.weights(one) for one in segments])
    return PreparedSamples(
        recording.name,
        samples,
        effort=prepared.effort_kind,
        cutoff=prepared.cutoff,
        delay=delay,
        delay_error=error,
        periods=max(one.periods for one in prepared.segments),
        used=float(sum(len(one.t) * one.step * max(1, one.periods) for one in prepared.segments)),
        duration=recording.duration,
        still=tuple(name for name, moves in zip(recording.joints, prepared.moving, strict=True) if not moves),
        notes=_notes(samples, prepared),
        noise=position_noise(*recording.position),
    )


def _notes(samples: RecordedSamples, prepared: PreparedRecording) -> tuple[str, ...]:
    notes = []
    if len(prepared.segments) > 1:
        notes.append(f"there are gaps in it; {len(prepared.segments)} stretches without one are used")
    if prepared.effort_kind == "commanded":
        notes.append("commands lack what the drives add by themselves: with gravity or friction, use measured efforts")
    left_out = float(np.mean(samples.weights == 0.0))
    if left_out > 0.0:
        notes.append(f"{left_out:.0%} of the samples have weight 0, because a command is at its limit")
    return tuple(notes)


def find_delay(
    dynamics: CompiledDynamics, segments: Sequence[SegmentSamples], weights: Sequence[Array], speed: Array, start: float
) -> tuple[float, float]:
    """The delay of the efforts [s] and its standard error [s].

    Args:
        dynamics: dynamics of the arm; its inertial parameters do not matter.
        segments: segments of recordings.
        weights: weights of the rows of each segment (k,).
        speed: speed of each joint up to which friction hides its effort (n,) in [rad/s] or [m/s].
        start: delay at which the search starts [s].
    """
    every = max(1, sum(len(segment.rows) for segment in segments) // MAX_ROWS)
    chosen = [(one, np.flatnonzero(w > 0.0)[::every]) for one, w in zip(segments, weights, strict=True)]
    columns = np.concatenate([one.filtered(dynamics.regressor)[rows] for one, rows in chosen])  # (N, n, p)
    used = np.concatenate([one.moving(speed)[rows] for one, rows in chosen])

    def efforts(delay: float) -> Array:
        """Efforts and their rates of change, (N, n, 2)."""
        return np.concatenate([np.stack(one.delayed_effort(delay), axis=-1)[rows] for one, rows in chosen])

    def left(delay: float, weight: Array, unexplained: Callable[[Array], Array]) -> Array:
        """Residuals of the weighted efforts and of their rates of change, (2, N n)."""
        return unexplained((efforts(delay) * weight[:, :, None]).reshape(-1, 2)).T

    scale, delay = np.ones(dynamics.robot.n), start
    for _ in range(2):  # the second time with each joint's noise known from the first
        weight = used * scale  # (N, n)
        unexplained = _unexplained(columns, weight)
        for _ in range(MAX_ITERATIONS):
            rest, change = left(delay, weight, unexplained)
            steepness = float(change @ change)
            if steepness == 0.0:
                return start, np.inf
            step = float(change @ rest) / steepness
            delay += step
            if abs(step) < NEGLIGIBLE * np.sqrt(rest @ rest / np.count_nonzero(used) / steepness):
                break
        noise = np.sqrt(np.sum((rest.reshape(used.shape) / scale) ** 2, axis=0) / np.maximum(1, used.sum(axis=0)))
        scale = 1.0 / np.maximum(noise, np.finfo(float).tiny)
    near = [left(delay + step, weight, unexplained) for step in (-DIFFERENCE, DIFFERENCE)]
    curvature = (near[0][0] @ near[0][1] - near[1][0] @ near[1][1]) / (2.0 * DIFFERENCE)
    gradient = (rest * change).reshape(used.shape)
    variance = np.sum(long_run_ratio(gradient) * np.sum(gradient**2, axis=0))
    return delay, float(np.sqrt(variance) / curvature) if curvature > 0.0 else np.inf


def _unexplained(columns: Array, weight: Array) -> Callable[[Array], Array]:
    """The projection P, a function of weighted efforts (N n, k), for weights (N, n)."""
    rows = (columns * weight[:, :, None]).reshape(-1, columns.shape[-1])
    combinations, power = _excited(rows, SMALL)
    shown = rows @ combinations

    def unexplained(efforts: Array) -> Array:
        return efforts - shown @ ((shown.T @ efforts) / power[:, None])

    return unexplained


def _excited(rows: Array, least: float) -> tuple[Array, Array]:
    """The combinations (p, r) of columns that rows (N, p) excite, orthogonal in these, and their powers (r,).

    Args:
        rows: of a regressor.
        least: power of a combination that counts, over the greatest, with all columns of length 1.
    """
    length = np.linalg.norm(rows, axis=0)
    scale = np.divide(1.0, length, out=np.zeros_like(length), where=length > 0.0)
    power, directions = np.linalg.eigh((rows * scale).T @ (rows * scale))
    shown = power > least * power[-1]
    return scale[:, None] * directions[:, shown], power[shown]


def _standstill(segments: Sequence[SegmentSamples]) -> Array:
    """Speed of each joint up to which friction hides its effort (n,) in [rad/s] or [m/s]."""
    fastest: Array = np.max([np.abs(segment.motion[1]).max(axis=0) for segment in segments], axis=0)
    return IdentificationSettings.standstill * fastest


NORMAL = 0.6745
"""Median of |x| of a normal distribution, in standard deviations [-]."""


def position_noise(t: Array, q: Array) -> Array:
    """Standard deviation of the noise of positions at equal intervals, (n,) in [rad] or [m].

    The third difference of white noise σ has the variance 20 σ², and that of a motion is small at the rate of states;
    the median ignores the few greater values. The result is at least the resolution over √12.

    Args:
        t: times (N,) in [s].
        q: positions (N, n).
    """
    step = np.diff(t)
    even = np.abs(step - np.median(step)) < 0.5 * np.median(step)
    rows = even[:-2] & even[1:-1] & even[2:]
    bent = np.abs(np.diff(q, 3, axis=0))[rows]
    moved = np.abs(np.diff(q, axis=0))
    resolution = np.min(np.where(moved > 0.0, moved, np.inf), axis=0, initial=np.inf)
    least = np.where(np.isfinite(resolution), resolution, 0.0) / np.sqrt(12.0)
    return np.maximum(np.median(bent, axis=0) / NORMAL / np.sqrt(20.0) if len(bent) else 0.0, least)
