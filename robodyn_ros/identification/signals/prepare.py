"""Preparation of recordings: from recordings to samples of motion.

1. :func:`prepare_recording` puts positions and efforts on a uniform time grid, in segments without gaps, averages a
   motion that repeats over its periods, and finds the frequency up to which positions stand out of their noise.
2. :func:`find_delay` finds the delay of the efforts, one for all recordings of one kind of effort.
3. Each segment is filtered and differentiated without phase lag, with the efforts moved by the delay.

A command takes time to reach its drive and is then held for a period; a measured effort is older than its time says.
Both shift efforts against motion, and inertia then passes for friction. The delay d is the one with which the arm's
equations explain the efforts best, whatever the arm's parameters are: with P the projection onto what the regressor of
all parameters cannot explain, it minimises |P τ(t - d)|² by Gauss and Newton's method.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from robodyn_ros.dynamics.compiled import CompiledDynamics
from robodyn_ros.dynamics.parameters import STANDARD_GRAVITY
from robodyn_ros.dynamics.rnea import RNEA
from robodyn_ros.identification.recording.recording import Recording, unreadable
from robodyn_ros.identification.settings import IdentificationSettings, SignalSettings
from robodyn_ros.identification.signals.prepared_recording import PreparedRecording, prepare_recording
from robodyn_ros.identification.signals.samples import RecordedSamples, SegmentSamples
from robodyn_ros.robot import Robot
from robodyn_ros.robot.pose import Array

GREATEST_DELAY = 0.5
"""Greatest delay that is accepted [s]."""

PASSES = 2
"""Number of searches for the delay: the samples that it leaves between a segment's edges are known in the second."""

MAX_ROWS = 3000
"""Greatest number of samples in a search; more improve the estimate little."""

MAX_ITERATIONS = 20
"""Greatest number of iterations of a search."""

NEGLIGIBLE = 1e-2
"""Step of the iteration, over the standard error, at which it has converged."""

SMALL = 1e-12
"""Power of a direction of the parameters, over the greatest, below which the motion does not excite it."""


@dataclass(frozen=True, eq=False)
class PreparedSamples:
    """The samples of a recording, and how they were made.

    Attributes:
        name: name of the recording.
        samples: samples for :func:`identify`.
        effort: kind of the efforts, ``measured`` or ``commanded``.
        cutoff: frequency up to which positions count [Hz].
        delay: time by which the efforts act later than recorded [s].
        delay_error: its standard error [s]; 0 if the delay was given.
        periods: number of periods that were averaged; 0 if the motion does not repeat.
        used: time that the samples cover [s].
        duration: duration of the recording [s].
        still: joints that stand still all the time.
        notes: remarks for the user.
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


def prepare(
    recordings: Sequence[Recording],
    robot: Robot,
    settings: SignalSettings | None = None,
    *,
    gravity: ArrayLike = STANDARD_GRAVITY,
) -> list[PreparedSamples]:
    """Prepare recordings of one arm.

    Samples at which a command is at the effort limit get weight 0, for the drive may have given less.

    Args:
        recordings: recordings of the arm's joints.
        robot: the arm; its axes count, its inertial parameters do not.
        settings: how to prepare them.
        gravity: acceleration of free fall in the root link's frame, (3,) in [m/s²].

    Raises:
        InputError: there are no efforts, too little was recorded, or no joint moves; the message says what is missing.
    """
    settings = settings or SignalSettings()
    prepared = [prepare_recording(recording, robot, settings) for recording in recordings]
    delays = dict.fromkeys((one.effort_kind for one in prepared), (settings.delay, 0.0))
    if settings.align:
        dynamics = RNEA(robot, gravity=gravity)
        delays = {
            kind: _common_delay(dynamics, [one for one in prepared if one.effort_kind == kind], settings.delay)
            for kind in delays
        }
    return [
        _samples(recording, one, *delays[one.effort_kind], robot)
        for recording, one in zip(recordings, prepared, strict=True)
    ]


def _common_delay(dynamics: RNEA, recordings: list[PreparedRecording], start: float) -> tuple[float, float]:
    """The delay of the efforts of several recordings, and its standard error [s]."""
    delay, error = start, 0.0
    for _ in range(PASSES):
        pairs = [(recording, segment) for recording in recordings for segment in recording.segment_samples(delay)]
        segments = [segment for _, segment in pairs]
        fastest = np.max([np.abs(segment.motion[1]).max(axis=0) for segment in segments], axis=0)
        weights = [recording.weights(segment) for recording, segment in pairs]
        delay, error = find_delay(dynamics, segments, weights, IdentificationSettings.standstill * fastest, delay)
        if not abs(delay) < GREATEST_DELAY:
            problem = f"efforts would have to act {1e3 * delay:.0f} ms later than recorded to fit the motion"
            names = ", ".join(recording.name for recording in recordings)
            raise unreadable(names, f"{problem}: they are of another motion, or by another clock")
    return delay, error


def _samples(
    recording: Recording, prepared: PreparedRecording, delay: float, error: float, robot: Robot
) -> PreparedSamples:
    segments = prepared.segment_samples(delay)
    efforts = [one.segment.delayed_effort(delay, prepared.cutoff)[0][one.rows] for one in segments]
    samples = RecordedSamples.of(segments, efforts, [prepared.weights(one) for one in segments])
    return PreparedSamples(
        recording.name,
        samples,
        prepared.effort_kind,
        prepared.cutoff,
        delay,
        error,
        max(segment.periods for segment in prepared.segments),
        float(sum(len(segment.t) * segment.step * max(1, segment.periods) for segment in prepared.segments)),
        recording.duration,
        tuple(name for name, moves in zip(robot.joint_names, prepared.moving.tolist(), strict=True) if not moves),
        _notes(samples, len(prepared.segments)),
    )


def _notes(samples: RecordedSamples, segments: int) -> tuple[str, ...]:
    notes = []
    if segments > 1:
        notes.append(f"there are gaps in it; {segments} stretches without one are used")
    left_out = float(np.mean(samples.weights == 0.0))
    if left_out > 0.0:
        notes.append(f"{left_out:.0%} of the samples count nothing, for a command is at its limit")
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
    chosen = [np.flatnonzero(weight > 0.0)[::every] for weight in weights]
    columns = np.concatenate(
        [segment.regressor(dynamics)[rows] for segment, rows in zip(segments, chosen, strict=True)]
    )  # (N, n, p)
    used = np.concatenate([segment.moving(speed)[rows] for segment, rows in zip(segments, chosen, strict=True)])

    def efforts(delay: float) -> Array:
        """Efforts and their rates of change, (N, n, 2)."""
        found = []
        for one, rows in zip(segments, chosen, strict=True):
            acting = one.segment.delayed_effort(delay, one.cutoff)
            found.append(np.stack([values[one.rows[rows]] for values in acting], axis=-1))
        return np.concatenate(found)

    scale = np.ones(dynamics.robot.n)
    delay, error = start, np.inf
    for _ in range(2):  # the second time with each joint's noise known from the first
        weight = used * scale  # (N, n)
        unexplained = _unexplained(columns, weight)
        for _ in range(MAX_ITERATIONS):
            flat = (efforts(delay) * weight[:, :, None]).reshape(-1, 2)
            rest, change = unexplained(flat).T
            steepness = float(change @ change)
            if steepness == 0.0:
                return start, np.inf
            error = float(np.sqrt(rest @ rest / np.count_nonzero(used) / steepness))
            step = float(change @ rest) / steepness
            delay += step
            if abs(step) < NEGLIGIBLE * error:
                break
        noise = np.sqrt(np.sum((rest.reshape(used.shape) / scale) ** 2, axis=0) / np.maximum(1, used.sum(axis=0)))
        scale = 1.0 / np.maximum(noise, np.finfo(float).tiny)
    return delay, error


def _unexplained(columns: Array, weight: Array) -> Callable[[Array], Array]:
    """The projection P, a function of weighted efforts (N n, k), for weights (N, n)."""
    rows = (columns * weight[:, :, None]).reshape(-1, columns.shape[-1])
    length = np.linalg.norm(rows, axis=0)
    rows = rows[:, length > 0.0] / length[length > 0.0]
    power, directions = np.linalg.eigh(rows.T @ rows)
    shown = power > SMALL * power[-1]
    inverse = (directions[:, shown] / power[shown]) @ directions[:, shown].T

    def unexplained(efforts: Array) -> Array:
        left: Array = efforts - rows @ (inverse @ (rows.T @ efforts))
        return left

    return unexplained
