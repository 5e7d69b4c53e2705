"""A recording before its efforts are brought in time: which of them count, in which stretches, to which frequency."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from robodyn_ros.identification.recording import Recording, Track, unreadable
from robodyn_ros.identification.signals_noise import cutoff_frequency
from robodyn_ros.identification.signals_period import averaged
from robodyn_ros.identification.signals_samples import Piece
from robodyn_ros.identification.signals_settings import Preparation
from robodyn_ros.identification.signals_stretch import Stretch, stretches
from robodyn_ros.robot import Robot
from robodyn_ros.robot.pose import Array

WIDER = 4.0
"""Times the cutoff frequency, up to which positions are differentiated; the rest the regressor's filter takes away."""

PER_CYCLE = 2.5
"""Samples in a period of the cutoff frequency: neighbours are then nearly independent, and standard errors honest."""

FULL = 0.999
"""Share of the effort limit from which on a command may have been clamped to it."""


@dataclass(frozen=True, eq=False)
class Draft:
    """See the module.

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
    parts: tuple[Stretch, ...]
    moving: Array
    cutoff: float
    limit: Array

    def pieces(self, delay: float) -> list[Piece]:
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
                found.append(Piece(part, part.motion(WIDER * self.cutoff), self.cutoff, rows))
        if not found:
            problem = f"left between its edges, into which a filter of {self.cutoff:.3g} Hz reaches"
            raise unreadable(self.name, f"it is too short: nothing is {problem}")
        return found

    def weights(self, piece: Piece) -> Array:
        """How much each row of a piece counts (k,)."""
        clamped = (np.abs(piece.stretch.effort) >= self.limit).any(axis=1).astype(float)
        reach = max(1, round(1.0 / (piece.cutoff * piece.stretch.step)))
        near = np.convolve(clamped, np.ones(2 * reach + 1), "same") > 0.5
        found: Array = np.where(near, 0.0, float(max(1, piece.stretch.periods)))[piece.rows]
        return found


def drafted(recording: Recording, robot: Robot, config: Preparation) -> Draft:
    """The draft of a recording.

    Raises:
        InputError: there are no efforts, too little was recorded, or no joint moves; the message says what is missing.
    """
    kind, effort = _effort(recording, config.effort)
    parts = _stretches(recording.name, _unwrapped(recording, robot), effort, config)
    moving = np.any([np.ptp(part.q, axis=0) > config.least_motion for part in parts], axis=0)
    if not moving.any():
        raise unreadable(
            recording.name,
            f"no joint moves by more than {config.least_motion:g} rad or m, and an arm at rest tells nothing",
        )
    if config.average:
        parts = [averaged(part, moving, config.period) or part for part in parts]
    cutoff = config.cutoff or cutoff_frequency(parts, moving)
    limit = FULL * robot.effort_limit if kind == "commanded" else np.full(robot.n, np.inf)
    return Draft(recording.name, kind, tuple(parts), moving, cutoff, limit)


def _effort(recording: Recording, wanted: str) -> tuple[str, Track]:
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


def _unwrapped(recording: Recording, robot: Robot) -> Track:
    """Positions of joints that turn on and on, without the jump from π to -π."""
    values = recording.position.values.copy()
    for column, joint in enumerate(robot.joints):
        if joint.type == "continuous":
            values[:, column] = np.unwrap(values[:, column])
    return Track(recording.position.t, values)


def _stretches(name: str, position: Track, effort: Track, config: Preparation) -> list[Stretch]:
    """Those that are long enough."""
    if len(position.t) < 2:
        raise unreadable(name, "there is only one state")
    parts = list(stretches(position, effort, config.gap, config.shortest))
    if parts:
        return parts
    step = float(np.median(np.diff(position.t)))
    whole = float(position.t[-1] - position.t[0])
    if step > config.gap:
        problem = f"there is a state every {step:.3g} s only, and gaps above {config.gap:g} s are not bridged"
    else:
        problem = f"in {whole:.3g} s there are no {config.shortest:g} s of states and efforts without a gap"
    raise unreadable(name, f"{problem}: it is too short, or too much is lost")
