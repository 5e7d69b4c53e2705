# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""A prepared recording: its segments on a uniform grid, their periods, the efforts to use, and the moving joints.

Each choice of cutoff frequency and averaging of periods is one :class:`PreparedRecording`;
:mod:`robodyn_ros.identification.preparation` chooses between those of one recording.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.signal import correlate, welch

from robodyn_ros.identification.recording.recording import RecordedTrack, Recording, unreadable
from robodyn_ros.identification.samples import SegmentSamples
from robodyn_ros.identification.segments import SETTLING, STEPS, MeanPeriod, Segment, find_segments
from robodyn_ros.identification.settings import SignalSettings
from robodyn_ros.robot import Array, Robot

ABOVE_NOISE = 10.0
"""Ratio of the motion's power to the noise's at the cutoff frequency. It is the same for position, velocity and
acceleration, because differentiation scales motion and noise alike."""

FASTEST = 40.0
"""Greatest cutoff frequency that is chosen [Hz]; arms move no faster, and more samples only take more time."""

STEP_RATIO = 1.5
"""Ratio of neighbouring cutoff frequencies that are tried."""

HIGHEST = 0.2
"""Greatest cutoff frequency over the rate of the positions."""

LOWEST = 2.0
"""Least cutoff frequency [Hz]; arms move at least as fast."""

SPAN = 8.0
"""Length of the spans whose spectra are averaged [s]."""

RATE = 50.0
"""Rate at which a period is looked for [Hz]."""

SHORTEST = 1.0
"""Least period that is looked for [s]."""

EARLY = (0.15, 0.35)
"""Begin and end, as ratios of a segment, of the early section whose repetition is searched for."""

NEAR = 0.01
"""Power of the difference over that of the early section, below which a lag is a candidate."""

ALIKE = 0.02
"""Greatest difference of positions one period apart, over the standard deviation of their joint."""

REPEATING = 0.5
"""Least fraction of the motion's variance that must be in the periodic section."""

MOTION_CUTOFF = 4.0
"""Cutoff frequency of the positions over that of the regressor, whose filter removes the rest."""

PER_CYCLE = 2.5
"""Samples per period of the cutoff frequency: neighbours are then nearly independent."""

FULL = 0.999
"""Ratio of the effort limit above which a command may have been clamped."""


class Repetition(NamedTuple):
    """Where a segment repeats itself; times from its start [s]."""

    first: float
    last: float
    period: float


@dataclass(frozen=True, eq=False)
class PreparedRecording:
    """A recording before the delay of its efforts is known.

    Attributes:
        name: name of the recording.
        effort_kind: ``measured`` or ``commanded``.
        segments: segments without gaps, or means of periods.
        repetitions: where each segment repeats itself; None where it does not.
        moving: which joints move, (n,) of bool.
        cutoff: cutoff frequency of the filter [Hz].
        limit: effort from which on a sample is excluded (n,); inf where there is none.
    """

    name: str
    effort_kind: str
    segments: tuple[Segment, ...]
    repetitions: tuple[Repetition | None, ...]
    moving: Array
    cutoff: float
    limit: Array

    def filtered_at(self, cutoff: float) -> PreparedRecording:
        """The same segments, filtered at another cutoff frequency [Hz]."""
        return replace(self, cutoff=cutoff)

    def averaged(self) -> PreparedRecording | None:
        """The same recording with means of periods in place of the segments that repeat; None if none does."""
        margin = SETTLING / self.cutoff
        found: list[Segment] = []
        for segment, repetition in zip(self.segments, self.repetitions, strict=True):
            found.append(segment)
            if repetition is None:
                continue
            first = max(repetition.first, margin)
            last = min(repetition.last, float(segment.t[-1] - segment.t[0]) - margin)
            count = int((last - first) / repetition.period + 1e-6)
            if count >= 2:
                spare = max(0.0, last - first - count * repetition.period)
                found[-1] = MeanPeriod.of(segment, first + spare / 2.0, repetition.period, count)
        return replace(self, segments=tuple(found)) if any(segment.periods for segment in found) else None

    def segment_samples(self, delay: float) -> list[SegmentSamples]:
        """The segments with their motions and the samples that are used: those at which the filter has settled.

        Args:
            delay: time by which the efforts act later than recorded [s].

        Raises:
            InputError: there are none.
        """
        found = []
        for segment in self.segments:
            every = max(1, int(1.0 / (PER_CYCLE * self.cutoff * segment.step)))
            rows = np.arange(len(segment.t))[segment.settled(self.cutoff, delay)][::every]
            if len(rows):
                found.append(SegmentSamples(segment, segment.motion(MOTION_CUTOFF * self.cutoff), self.cutoff, rows))
        if not found:
            problem = f"left between its edges, into which a filter of {self.cutoff:.3g} Hz reaches"
            raise unreadable(self.name, f"it is too short: nothing is {problem}")
        return found

    def weights(self, samples: SegmentSamples) -> Array:
        """The weight of each row of a segment's samples (k,); 0 near a command at the effort limit."""
        segment = samples.segment
        reach = max(1, round(1.0 / (samples.cutoff * segment.step)))
        near = segment.near(segment.at_limit(self.limit), reach)
        return np.where(near, 0.0, float(max(1, segment.periods)))[samples.rows]


def prepare_recording(recording: Recording, robot: Robot, settings: SignalSettings) -> PreparedRecording:
    """Prepare a recording.

    Raises:
        InputError: it is of other joints, there are no efforts, too little was recorded, or no joint moves; the message
            names it.
    """
    if tuple(recording.joints) != robot.joint_names:
        joints, own = (", ".join(names) for names in (recording.joints, robot.joint_names))
        raise unreadable(recording.name, f"must be of the joints {own}, in this order, not of {joints}")
    kind, effort = _effort(recording, settings.effort)
    segments = _segments(recording.name, _unwrapped(recording, robot), effort, settings)
    moves = [np.ptp(segment.q, axis=0) > settings.least_motion for segment in segments]
    moving = np.any(moves, axis=0)
    if not moving.any():
        still = f"no joint moves by more than {settings.least_motion:g} {robot.position_unit}"
        why = "an arm at rest excites no parameter: record a motion, such as that of `robodyn excite`"
        raise unreadable(recording.name, f"{still}, and {why}")
    pairs = zip(segments, moves if settings.average else np.zeros_like(moves), strict=True)
    repetitions = [find_repetition(one, own, settings.period) if own.any() else None for one, own in pairs]
    cutoff = settings.cutoff or noise_frequency(segments, moving)
    limit = FULL * robot.effort_limit if kind == "commanded" else np.full(robot.n, np.inf)
    return PreparedRecording(recording.name, kind, tuple(segments), tuple(repetitions), moving, cutoff, limit)


def _effort(recording: Recording, wanted: str) -> tuple[str, RecordedTrack]:
    """The efforts to use, and their kind; zeros count as missing, and so do measured ones that never change beside
    commands.
    """
    tracks = recording.measured, recording.commanded
    measured, commanded = (track if track is not None and track.values.any() else None for track in tracks)
    changing = measured is not None and bool(np.ptp(measured.values, axis=0).any())
    if measured is not None and (wanted == "measured" or (wanted == "auto" and (changing or commanded is None))):
        return "measured", measured
    if wanted != "measured" and commanded is not None:
        return "commanded", commanded
    lacks = {"measured": "states without efforts", "commanded": "no commands"}
    missing = lacks.get(wanted, "neither efforts in the states nor commands")
    raise unreadable(recording.name, f"there are {missing} other than 0, and identification needs efforts")


def _unwrapped(recording: Recording, robot: Robot) -> RecordedTrack:
    """Positions without the jumps of continuous joints from π to -π."""
    values = recording.position.values.copy()
    for column, joint in enumerate(robot.joints):
        if joint.type == "continuous":
            values[:, column] = np.unwrap(values[:, column])
    return RecordedTrack(recording.position.t, values)


def _segments(name: str, position: RecordedTrack, effort: RecordedTrack, settings: SignalSettings) -> list[Segment]:
    """The segments that are long enough."""
    if len(position.t) < 2:
        raise unreadable(name, "there is only one state")
    step = float(np.median(np.diff(position.t)))
    shortest = max(settings.shortest, STEPS * step)
    segments = list(find_segments(position, effort, settings.gap, shortest))
    if segments:
        return segments
    whole = float(position.t[-1] - position.t[0])
    if step > settings.gap:
        problem = f"there is a state every {step:.3g} s only, and gaps above {settings.gap:g} s are not bridged"
    else:
        problem = f"in {whole:.3g} s there are no {shortest:g} s of states and efforts without a gap"
    raise unreadable(name, f"{problem}: it is too short, or too many messages are lost")


def noise_frequency(segments: Sequence[Segment], moving: Array) -> float:
    """The frequency above which the motion of some joint is not above the noise [Hz].

    The upper half of the spectrum is taken as noise: arms do not move this fast.

    Args:
        segments: segments of one recording.
        moving: which joints move, (n,) of bool.
    """
    longest = max(segments, key=lambda segment: len(segment.t))
    rate = 1.0 / longest.step
    size = min(len(longest.t), round(SPAN * rate))
    f, power = welch(longest.q[:, moving], rate, "hann", size, detrend="linear", axis=0)
    noise = np.median(power[f > 0.25 * rate], axis=0)
    lowest = min(FASTEST, HIGHEST * rate)
    for column, floor in zip(power.T, noise.tolist(), strict=True):
        peak = int(np.argmax(column))
        under = np.flatnonzero(column[peak:] < ABOVE_NOISE * floor)
        lowest = min(lowest, float(f[peak + under[0]]) if len(under) else np.inf)
    return float(max(lowest, min(LOWEST, HIGHEST * rate)))


def cutoff_frequencies(segments: Sequence[Segment]) -> Array:
    """The cutoff frequencies that may be chosen [Hz], rising."""
    highest = min(FASTEST, HIGHEST / max(segment.step for segment in segments))
    count = max(0, int(np.log(highest / LOWEST) / np.log(STEP_RATIO)))
    return np.asarray(LOWEST * STEP_RATIO ** np.arange(count + 1), dtype=np.float64)


def find_repetition(segment: Segment, moving: Array, period: float = 0.0) -> Repetition | None:
    """The periodic section of a segment; None if there is none.

    Args:
        segment: a segment as recorded.
        moving: which joints move in it, (n,) of bool; one at least.
        period: approximate period of the motion [s]; 0 to look for one.
    """
    every = max(1, round(1.0 / (RATE * segment.step)))
    x = segment.q[::every, moving]
    begin, end = _moving(x)
    motion = x[begin:end]
    x, motion = ((part - motion.mean(axis=0)) / motion.std(axis=0) for part in (x, motion))
    step = every * segment.step
    for lag in [round(period / step)] if period else _candidates(motion, round(SHORTEST / step)):
        length, before = _refined(motion, lag), max(0, begin - lag)
        around = x[before : end + lag]  # in which a rest is too short to repeat
        first, last = _longest(around, length)
        if last - first < lag or np.var(around[first : last + lag], axis=0).min() < REPEATING:
            continue
        return Repetition((before + first) * step, (before + last + length) * step, length * step)
    return None


def _moving(q: Array) -> tuple[int, int]:
    """First sample of the motion, and the one after its last: positions (N, n) without the rests at both ends."""
    away = ALIKE * q.std(axis=0)
    begin, rest = (int(np.argmax((np.abs(part - part[0]) > away).any(axis=1))) for part in (q, q[::-1]))
    return begin, len(q) - rest


def _candidates(x: Array, least: int) -> list[int]:
    """Lags after which an early section of the motion repeats, the shortest first.

    The section begins late enough and is short enough to exclude the motions into and out of the periods, even if there
    are only two periods.
    """
    first, last = int(EARLY[0] * len(x)), int(EARLY[1] * len(x))
    lags = np.arange(least, len(x) // 2)
    if last - first < least or len(lags) < 3:
        return []
    part = x[first:last]
    alike = np.sum([correlate(y[first:], y[first:last], "valid") for y in x.T], axis=0)[lags]
    power = np.concatenate([[0.0], np.cumsum(np.sum(x**2, axis=1))])
    apart = np.sum(part**2) + power[last + lags] - power[first + lags] - 2.0 * alike
    inner = (apart[1:-1] < apart[:-2]) & (apart[1:-1] <= apart[2:]) & (apart[1:-1] < NEAR * np.sum(part**2))
    return lags[1:-1][inner].tolist()


def _refined(x: Array, lag: int) -> float:
    """A lag to a small fraction of a sample, by Gauss and Newton's method."""
    spline, length = CubicSpline(np.arange(len(x)), x), float(lag)
    here = np.arange(int(EARLY[0] * len(x)), int(EARLY[1] * len(x)))  # one lag later, at most half of it, ends x
    for _ in range(5):
        slope = spline(here + length, 1)
        length -= float(np.sum((spline(here + length) - x[here]) * slope) / (np.sum(slope**2) or np.inf))
        length = float(np.clip(length, lag - 1.0, lag + 1.0))
    return length


def _longest(x: Array, length: float) -> tuple[int, int]:
    """First and last sample of the longest run of samples that repeat one period later."""
    here = np.arange(max(0, len(x) - 1 - int(np.ceil(length))))
    later = CubicSpline(np.arange(len(x)), x)(here + length)
    differs = np.abs(later - x[here]).max(axis=1, initial=0.0) > ALIKE
    edges = np.concatenate([[-1], np.flatnonzero(differs), [len(differs)]])
    widest = int(np.argmax(np.diff(edges)))
    return int(edges[widest]) + 1, int(edges[widest + 1])
