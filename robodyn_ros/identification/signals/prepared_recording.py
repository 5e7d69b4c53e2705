"""A recording before its efforts are brought in time: which of them count, in which stretches, to which frequency."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.signal import correlate, welch

from robodyn_ros.identification.recording.recording import RecordedTrack, Recording, unreadable
from robodyn_ros.identification.settings import SignalSettings
from robodyn_ros.identification.signals.samples import SegmentSamples
from robodyn_ros.identification.signals.segments import Segment, stretches
from robodyn_ros.robot import Robot
from robodyn_ros.robot.pose import Array

# Up to which frequency recorded positions say something of the motion.

ABOVE = 10.0
"""Power of the motion over that of the noise at which the one ends. The ratio at a frequency is the same for position,
velocity and acceleration, for differentiating scales both alike."""

HIGHEST = 0.2
"""Of the rate of the positions; above it, there is no motion."""

LOWEST = 2.0
"""Cutoff frequency at least [Hz]: what moves an arm is not slower."""

SPAN = 8.0
"""Length of the pieces whose spectra are averaged [s]."""


def cutoff_frequency(parts: Sequence[Segment], moving: Array) -> float:
    """The frequency up to which the motion of some joint stands out of the noise [Hz].

    The noise is what is in the upper half of the spectrum, where encoders, not joints, are what moves.

    Args:
        parts: of one recording.
        moving: which joints move, (n,) of bool.
    """
    longest = max(parts, key=lambda part: len(part.t))
    rate = 1.0 / longest.step
    size = min(len(longest.t), round(SPAN * rate))
    f, power = welch(longest.q[:, moving], rate, "hann", size, detrend="linear", axis=0)
    noise = np.median(power[f > 0.25 * rate], axis=0)
    highest = LOWEST
    for column, floor in zip(power.T, noise.tolist(), strict=True):
        peak = int(np.argmax(column))
        under = np.flatnonzero(column[peak:] < ABOVE * floor)
        highest = max(highest, float(f[peak + under[0]]) if len(under) else np.inf)
    return float(min(highest, HIGHEST * rate))


# A motion that repeats, as the mean of its periods: what is noise differs from one to the next and averages out.
#
# Source: Swevers, Ganseman, Tukel, De Schutter and Van Brussel, Optimal robot excitation and identification (1997).

RATE = 50.0
"""At which a period is looked for [Hz]."""

SHORTEST = 1.0
"""Period that is looked for at least [s]."""

EARLY = (0.15, 0.35)
"""Where in a stretch the piece begins and ends that is looked for again, as shares of the whole."""

NEAR = 0.01
"""Power of the difference over that of the piece, at a lag that is worth a closer look."""

ALIKE = 0.02
"""How far positions one period apart may differ, over the standard deviation of their joint."""

SHARE = 0.5
"""Of the motion that must repeat."""


def averaged(part: Segment, moving: Array, period: float = 0.0) -> Segment | None:
    """The mean of the periods of a stretch; None if nothing in it repeats.

    Args:
        part: one stretch.
        moving: which joints move, (n,) of bool.
        period: of the motion [s], about; 0 to look for one.
    """
    every = max(1, round(1.0 / (RATE * part.step)))
    x = part.q[::every, moving]
    x = (x - x.mean(axis=0)) / x.std(axis=0)
    step = every * part.step
    for lag in [round(period / step)] if period else _candidates(x, round(SHORTEST / step)):
        length = _refined(x, lag)
        first, last = _longest(x, length)
        if last - first < lag or np.var(x[first : last + lag], axis=0).min() < SHARE:
            continue
        return _mean(part, length * step, first * step, (last + length) * step)
    return None


def _candidates(x: Array, least: int) -> list[int]:
    """Lags at which an early piece of the motion comes again, the shortest first.

    The piece begins late enough and is short enough that what leads into the motion and out of it is not in it, even if
    there are only two periods.
    """
    first, last = int(EARLY[0] * len(x)), int(EARLY[1] * len(x))
    lags = np.arange(least, len(x) // 2)
    if last - first < least or len(lags) < 3:
        return []
    piece = x[first:last]
    alike = np.sum([correlate(y[first:], y[first:last], "valid") for y in x.T], axis=0)[lags]
    power = np.concatenate([[0.0], np.cumsum(np.sum(x**2, axis=1))])
    apart = np.sum(piece**2) + power[last + lags] - power[first + lags] - 2.0 * alike
    inner = (apart[1:-1] < apart[:-2]) & (apart[1:-1] <= apart[2:]) & (apart[1:-1] < NEAR * np.sum(piece**2))
    found: list[int] = lags[1:-1][inner].tolist()
    return found


def _refined(x: Array, lag: int) -> float:
    """A lag to a small part of a sample, by Gauss and Newton's method."""
    spline, length = CubicSpline(np.arange(len(x)), x), float(lag)
    first, last = int(EARLY[0] * len(x)), min(int(EARLY[1] * len(x)), len(x) - lag - 2)
    here = np.arange(first, max(last, first + 2))
    for _ in range(5):
        slope = spline(here + length, 1)
        length -= float(np.sum((spline(here + length) - x[here]) * slope) / np.sum(slope**2))
        length = float(np.clip(length, lag - 1.0, lag + 1.0))
    return length


def _longest(x: Array, length: float) -> tuple[int, int]:
    """Where the longest piece begins and ends whose samples have their like one period later."""
    here = np.arange(max(0, len(x) - 1 - int(np.ceil(length))))
    later = CubicSpline(np.arange(len(x)), x)(here + length)
    differs = np.abs(later - x[here]).max(axis=1, initial=0.0) > ALIKE
    edges = np.concatenate([[-1], np.flatnonzero(differs), [len(differs)]])
    widest = int(np.argmax(np.diff(edges)))
    return int(edges[widest]) + 1, int(edges[widest + 1])


def _mean(part: Segment, period: float, first: float, last: float) -> Segment | None:
    """The mean over all whole periods between two times [s] from the start of the stretch."""
    last = min(last, float(part.t[-1] - part.t[0]))
    count = int((last - first) / period + 1e-6)
    if count < 2:
        return None
    size = round(period / part.step)
    at = first + (np.arange(count * size) / size) * period
    t = np.arange(len(part.t)) * part.step
    q = CubicSpline(t, part.q)(np.minimum(at, t[-1]))
    effort = np.column_stack([np.interp(at, t, column) for column in part.effort.T])
    n = q.shape[1]
    shape = (count, size, n)
    return Segment(
        part.t[0] + first + np.arange(size) * period / size,
        q.reshape(shape).mean(axis=0),
        effort.reshape(shape).mean(axis=0),
        count,
    )


WIDER = 4.0
"""Times the cutoff frequency, up to which positions are differentiated; the rest the regressor's filter takes away."""

PER_CYCLE = 2.5
"""Samples in a period of the cutoff frequency: neighbours are then nearly independent, and standard errors honest."""

FULL = 0.999
"""Share of the effort limit from which on a command may have been clamped to it."""


@dataclass(frozen=True, eq=False)
class PreparedRecording:
    """A recording before its efforts are brought in time: which of them count, in which stretches, to which frequency.

    Attributes:
        name: of the recording.
        kind: of the efforts, ``measured`` or ``commanded``.
        parts: stretches without gaps, or means of periods.
        moving: which joints move, (n,) of bool.
        cutoff: frequency up to which positions count [Hz].
        limit: effort from which on one is not to be trusted (n,), inf where there is none.
    """

    name: str
    kind: str
    parts: tuple[Segment, ...]
    moving: Array
    cutoff: float
    limit: Array

    def pieces(self, delay: float) -> list[SegmentSamples]:
        """The stretches with their motions, and at which samples they are used: those that the edges do not reach.

        Args:
            delay: how much later than recorded the efforts act [s].

        Raises:
            InputError: there are none.
        """
        found = []
        for part in self.parts:
            every = max(1, int(1.0 / (PER_CYCLE * self.cutoff * part.step)))
            rows = np.arange(len(part.t))[part.inner(self.cutoff, delay)][::every]
            if len(rows):
                found.append(SegmentSamples(part, part.motion(WIDER * self.cutoff), self.cutoff, rows))
        if not found:
            problem = f"left between its edges, into which a filter of {self.cutoff:.3g} Hz reaches"
            raise unreadable(self.name, f"it is too short: nothing is {problem}")
        return found

    def weights(self, piece: SegmentSamples) -> Array:
        """How much each row of a piece counts (k,)."""
        clamped = (np.abs(piece.stretch.effort) >= self.limit).any(axis=1).astype(float)
        reach = max(1, round(1.0 / (piece.cutoff * piece.stretch.step)))
        near = np.convolve(clamped, np.ones(2 * reach + 1), "same") > 0.5
        found: Array = np.where(near, 0.0, float(max(1, piece.stretch.periods)))[piece.rows]
        return found


def drafted(recording: Recording, robot: Robot, settings: SignalSettings) -> PreparedRecording:
    """The draft of a recording.

    Raises:
        InputError: there are no efforts, too little was recorded, or no joint moves; the message says what is missing.
    """
    kind, effort = _effort(recording, settings.effort)
    parts = _stretches(recording.name, _unwrapped(recording, robot), effort, settings)
    moving = np.any([np.ptp(part.q, axis=0) > settings.least_motion for part in parts], axis=0)
    if not moving.any():
        raise unreadable(
            recording.name,
            f"no joint moves by more than {settings.least_motion:g} rad or m, and an arm at rest tells nothing",
        )
    if settings.average:
        parts = [averaged(part, moving, settings.period) or part for part in parts]
    cutoff = settings.cutoff or cutoff_frequency(parts, moving)
    limit = FULL * robot.effort_limit if kind == "commanded" else np.full(robot.n, np.inf)
    return PreparedRecording(recording.name, kind, tuple(parts), moving, cutoff, limit)


def _effort(recording: Recording, wanted: str) -> tuple[str, RecordedTrack]:
    """The efforts that count, and what they are; measured ones that are always the same are none."""
    measured, commanded = recording.measured, recording.commanded
    alive = measured is not None and bool(np.ptp(measured.values, axis=0).any())
    if measured is not None and (wanted == "measured" or (wanted == "auto" and (alive or commanded is None))):
        return "measured", measured
    if wanted != "measured" and commanded is not None:
        return "commanded", commanded
    missing = {"measured": "states without efforts", "commanded": "no commands"}.get(
        wanted, "neither efforts in the states nor commands"
    )
    raise unreadable(recording.name, f"there are {missing}, and without efforts there is nothing to identify from")


def _unwrapped(recording: Recording, robot: Robot) -> RecordedTrack:
    """Positions of joints that turn on and on, without the jump from π to -π."""
    values = recording.position.values.copy()
    for column, joint in enumerate(robot.joints):
        if joint.type == "continuous":
            values[:, column] = np.unwrap(values[:, column])
    return RecordedTrack(recording.position.t, values)


def _stretches(name: str, position: RecordedTrack, effort: RecordedTrack, settings: SignalSettings) -> list[Segment]:
    """Those that are long enough."""
    if len(position.t) < 2:
        raise unreadable(name, "there is only one state")
    parts = list(stretches(position, effort, settings.gap, settings.shortest))
    if parts:
        return parts
    step = float(np.median(np.diff(position.t)))
    whole = float(position.t[-1] - position.t[0])
    if step > settings.gap:
        problem = f"there is a state every {step:.3g} s only, and gaps above {settings.gap:g} s are not bridged"
    else:
        problem = f"in {whole:.3g} s there are no {settings.shortest:g} s of states and efforts without a gap"
    raise unreadable(name, f"{problem}: it is too short, or too much is lost")
