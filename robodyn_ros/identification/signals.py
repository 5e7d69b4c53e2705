"""From recordings to samples: position, velocity, acceleration and effort of the same moments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from robodyn_ros.dynamics.parameters import STANDARD_GRAVITY
from robodyn_ros.dynamics.rnea import RNEA
from robodyn_ros.identification.recording import Recording, unreadable
from robodyn_ros.identification.settings import IdentificationConfig
from robodyn_ros.identification.signals_delay import find_delay
from robodyn_ros.identification.signals_draft import Draft, drafted
from robodyn_ros.identification.signals_samples import RecordedSamples
from robodyn_ros.identification.signals_settings import Preparation
from robodyn_ros.robot import Robot

GREATEST_DELAY = 0.5
"""Delay that may be found [s]."""

PASSES = 2
"""How often the delay is looked for: what it leaves between the edges of a stretch is known the second time."""


@dataclass(frozen=True, eq=False)
class Prepared:
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
    config: Preparation | None = None,
    *,
    gravity: ArrayLike = STANDARD_GRAVITY,
) -> list[Prepared]:
    """Samples of recordings of one arm.

    Positions are put on a uniform grid, filtered up to where they are noise, and differentiated, all without phase lag;
    a motion that repeats is averaged over its periods; the time by which efforts lag is found, one for all recordings,
    and taken out. Samples at which a command is at the effort limit count nothing, for the drive may have given less.

    Args:
        recordings: whose joints are the arm's.
        robot: the arm; its numbers do not matter, but its axes do.
        config: how.
        gravity: acceleration of free fall in the root link's frame, (3,) in [m/s²].

    Raises:
        InputError: there are no efforts, too little was recorded, or no joint moves; the message says what is missing.
    """
    config = config or Preparation()
    drafts = [drafted(recording, robot, config) for recording in recordings]
    delays = dict.fromkeys((draft.kind for draft in drafts), (config.delay, 0.0))
    if config.align:
        dynamics = RNEA(robot, gravity=gravity)
        delays = {kind: _delay(dynamics, [one for one in drafts if one.kind == kind], config.delay) for kind in delays}
    return [
        _prepared(recording, draft, *delays[draft.kind], robot)
        for recording, draft in zip(recordings, drafts, strict=True)
    ]


def _delay(dynamics: RNEA, drafts: list[Draft], start: float) -> tuple[float, float]:
    """By how much the efforts of recordings lag, and the standard error [s]."""
    delay, error = start, 0.0
    for _ in range(PASSES):
        pairs = [(draft, piece) for draft in drafts for piece in draft.pieces(delay)]
        pieces = [piece for _, piece in pairs]
        fastest = np.max([np.abs(piece.motion[1]).max(axis=0) for piece in pieces], axis=0)
        weights = [draft.weights(piece) for draft, piece in pairs]
        delay, error = find_delay(dynamics, pieces, weights, IdentificationConfig.standstill * fastest, delay)
        if not abs(delay) < GREATEST_DELAY:
            problem = f"efforts would have to act {1e3 * delay:.0f} ms later than recorded to fit the motion"
            names = ", ".join(draft.name for draft in drafts)
            raise unreadable(names, f"{problem}: they are of another motion, or by another clock")
    return delay, error


def _prepared(recording: Recording, draft: Draft, delay: float, error: float, robot: Robot) -> Prepared:
    pieces, parts = draft.pieces(delay), draft.parts
    efforts = [piece.stretch.acting(delay, draft.cutoff)[0][piece.rows] for piece in pieces]
    samples = RecordedSamples.of(pieces, efforts, [draft.weights(piece) for piece in pieces])
    return Prepared(
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
