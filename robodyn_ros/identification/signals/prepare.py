"""From recordings to samples: position, velocity, acceleration and effort of the same moments."""

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
from robodyn_ros.identification.signals.prepared_recording import PreparedRecording, drafted
from robodyn_ros.identification.signals.samples import RecordedSamples, SegmentSamples
from robodyn_ros.robot import Robot
from robodyn_ros.robot.pose import Array

# How much later than recorded the efforts act.
#
# A command takes time to reach its drive and is then held for a period; what a drive reports as measured is older than
# it says. Both shift effort against motion, and inertia then passes for friction. The shift is the one with which the
# arm's
# equations, whatever its numbers are, explain the efforts best: with W the regressor of all parameters and P what is
# left of a vector when all that W explains is taken away, it minimises |P τ(t - d)|², by Gauss and Newton's method.

ROWS = 3000
"""Samples of the motion at most; more do not make the estimate better by much."""

ITERATIONS = 20

NEGLIGIBLE = 1e-2
"""Share of the standard error below which a step of the iteration is of no account."""

SMALL = 1e-12
"""Power over the greatest below which a direction of the parameters is not in the motion."""


def find_delay(
    dynamics: CompiledDynamics, pieces: Sequence[SegmentSamples], weights: Sequence[Array], speed: Array, start: float
) -> tuple[float, float]:
    """The delay [s] and its standard error [s].

    Args:
        dynamics: of the arm; its numbers do not matter.
        pieces: of one recording.
        weights: of the rows of each piece (k,).
        speed: of each joint up to which friction hides its effort (n,) in [rad/s] or [m/s].
        start: where to begin [s].
    """
    every = max(1, sum(len(piece.rows) for piece in pieces) // ROWS)
    chosen = [np.flatnonzero(weight > 0.0)[::every] for weight in weights]
    columns = np.concatenate(
        [piece.regressor(dynamics)[rows] for piece, rows in zip(pieces, chosen, strict=True)]
    )  # (N, n, p)
    used = np.concatenate([piece.moving(speed)[rows] for piece, rows in zip(pieces, chosen, strict=True)])

    def efforts(delay: float) -> Array:
        """Efforts and how fast they change, (N, n, 2)."""
        found = []
        for piece, rows in zip(pieces, chosen, strict=True):
            acting = piece.stretch.acting(delay, piece.cutoff)
            found.append(np.stack([values[piece.rows[rows]] for values in acting], axis=-1))
        return np.concatenate(found)

    scale = np.ones(dynamics.robot.n)
    delay, error = start, np.inf
    for _ in range(2):  # the second time with each joint's noise known from the first
        weight = used * scale  # (N, n)
        unexplained = _unexplained(columns, weight)
        for _ in range(ITERATIONS):
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
    """What takes away from efforts (N n, k) all that parameters can explain, each effort times its weight (N, n)."""
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


GREATEST_DELAY = 0.5
"""Delay that may be found [s]."""

PASSES = 2
"""How often the delay is looked for: what it leaves between the edges of a stretch is known the second time."""


@dataclass(frozen=True, eq=False)
class PreparedSamples:
    """Samples, and how they came about.

    Attributes:
        name: of the recording.
        samples: for :func:`identify`.
        effort: ``measured`` or ``commanded``: where the efforts are from.
        cutoff: frequency up to which positions count [Hz].
        delay: how much later than recorded the efforts act [s].
        delay_error: its standard error [s]; 0 where it was given.
        periods: how many periods were averaged; 0 where the motion does not repeat.
        used: time that the samples stand for [s].
        duration: of the recording [s].
        still: joints that stand still all the time.
        notes: what else is to be said.
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
    """Samples of recordings of one arm.

    Positions are put on a uniform grid, filtered up to where they are noise, and differentiated, all without phase lag;
    a motion that repeats is averaged over its periods; the time by which efforts lag is found, one for all recordings,
    and taken out. Samples at which a command is at the effort limit count nothing, for the drive may have given less.

    Args:
        recordings: whose joints are the arm's.
        robot: the arm; its numbers do not matter, but its axes do.
        settings: how.
        gravity: acceleration of free fall in the root link's frame, (3,) in [m/s²].

    Raises:
        InputError: there are no efforts, too little was recorded, or no joint moves; the message says what is missing.
    """
    settings = settings or SignalSettings()
    drafts = [drafted(recording, robot, settings) for recording in recordings]
    delays = dict.fromkeys((draft.kind for draft in drafts), (settings.delay, 0.0))
    if settings.align:
        dynamics = RNEA(robot, gravity=gravity)
        delays = {
            kind: _delay(dynamics, [one for one in drafts if one.kind == kind], settings.delay) for kind in delays
        }
    return [
        _prepared(recording, draft, *delays[draft.kind], robot)
        for recording, draft in zip(recordings, drafts, strict=True)
    ]


def _delay(dynamics: RNEA, drafts: list[PreparedRecording], start: float) -> tuple[float, float]:
    """By how much the efforts of recordings lag, and the standard error [s]."""
    delay, error = start, 0.0
    for _ in range(PASSES):
        pairs = [(draft, piece) for draft in drafts for piece in draft.pieces(delay)]
        pieces = [piece for _, piece in pairs]
        fastest = np.max([np.abs(piece.motion[1]).max(axis=0) for piece in pieces], axis=0)
        weights = [draft.weights(piece) for draft, piece in pairs]
        delay, error = find_delay(dynamics, pieces, weights, IdentificationSettings.standstill * fastest, delay)
        if not abs(delay) < GREATEST_DELAY:
            problem = f"efforts would have to act {1e3 * delay:.0f} ms later than recorded to fit the motion"
            names = ", ".join(draft.name for draft in drafts)
            raise unreadable(names, f"{problem}: they are of another motion, or by another clock")
    return delay, error


def _prepared(
    recording: Recording, draft: PreparedRecording, delay: float, error: float, robot: Robot
) -> PreparedSamples:
    pieces, parts = draft.pieces(delay), draft.parts
    efforts = [piece.stretch.acting(delay, draft.cutoff)[0][piece.rows] for piece in pieces]
    samples = RecordedSamples.of(pieces, efforts, [draft.weights(piece) for piece in pieces])
    return PreparedSamples(
        recording.name,
        samples,
        draft.kind,
        draft.cutoff,
        delay,
        error,
        max(part.periods for part in parts),
        float(sum(len(part.t) * part.step * max(1, part.periods) for part in parts)),
        recording.duration,
        tuple(name for name, moves in zip(robot.joint_names, draft.moving.tolist(), strict=True) if not moves),
        _notes(samples, len(parts)),
    )


def _notes(samples: RecordedSamples, stretches: int) -> tuple[str, ...]:
    notes = []
    if stretches > 1:
        notes.append(f"there are gaps in it; {stretches} stretches without one are used")
    left_out = float(np.mean(samples.weights == 0.0))
    if left_out > 0.0:
        notes.append(f"{left_out:.0%} of the samples count nothing, for a command is at its limit")
    return tuple(notes)
