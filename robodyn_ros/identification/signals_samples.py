"""Samples of a recording, whose regressor is filtered as its efforts are.

Efforts and regressor go through the same filter: Y θ = τ then holds as before, whatever it takes away, for a filter is
linear (Khalil and Dombre, Modeling, Identification and Control of Robots, section 12.6). Without that, a joint that
turns round would contradict the equations for as long as the filter takes, as friction jumps there at once. Positions
are filtered at a higher frequency, only so that they can be differentiated.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.dynamics.compiled import CompiledDynamics
from robodyn_ros.errors import InputError
from robodyn_ros.identification.samples import Samples
from robodyn_ros.identification.signals_stretch import SETTLING, Stretch, lowpass
from robodyn_ros.robot.pose import Array

Indices = NDArray[np.intp]
Moving = NDArray[np.bool_]

BLOCK = 4000
"""Samples whose regressor is filtered at a time, so that memory does not grow with the recording."""

REACH = 0.5
"""Periods of the cutoff frequency over which the filter spreads what happens at a moment, to either side."""


@dataclass(frozen=True, eq=False)
class Piece:
    """A stretch and its motion.

    Attributes:
        stretch: N samples.
        motion: position, velocity and acceleration, (N, n) each.
        cutoff: of the filter [Hz].
        rows: which samples are used, rising, (k,).
    """

    stretch: Stretch
    motion: tuple[Array, Array, Array]
    cutoff: float
    rows: Indices

    def regressor(self, dynamics: CompiledDynamics) -> Array:
        """Y of the rows, filtered, (k, n, p)."""
        return self.filtered(dynamics.regressor)

    def filtered(self, function: Callable[[Array, Array, Array], Array]) -> Array:
        """A function of the motion, (N, …), at the rows, filtered, (k, …)."""
        count, step = len(self.stretch.t), self.stretch.step
        reach = round(2.0 * SETTLING / (self.cutoff * step))
        found = []
        for first in range(0, count, BLOCK):
            rows = self.rows[(self.rows >= first) & (self.rows < first + BLOCK)]
            if not len(rows):
                continue
            around = np.arange(first - reach, min(first + BLOCK, count) + reach)
            # Where the motion is the mean of periods, the end is followed by the beginning.
            around = around % count if self.stretch.periods else around[(around >= 0) & (around < count)]
            start = reach if self.stretch.periods else min(first, reach)
            values = function(*(part[around] for part in self.motion))
            found.append(lowpass(values, self.cutoff, step)[rows - first + start])
        return np.concatenate(found) if found else function(*(part[:0] for part in self.motion))

    def moving(self, speed: Array) -> Moving:
        """Which joints move faster than a speed (n,) in [rad/s] or [m/s] at all times that the filter reaches from a
        row, (k, n) of bool: friction at rest may be anything, and the filter spreads that.
        """
        reach = max(1, round(REACH / (self.cutoff * self.stretch.step)))
        slow = (np.abs(self.motion[1]) <= speed).astype(float)
        if self.stretch.periods:
            slow = np.concatenate([slow[-reach:], slow, slow[:reach]])
        near = np.column_stack([np.convolve(column, np.ones(2 * reach + 1), "same") for column in slow.T])
        if self.stretch.periods:
            near = near[reach:-reach]
        found: Moving = near[self.rows] < 0.5
        return found


@dataclass(frozen=True, eq=False)
class RecordedSamples(Samples):
    """See the module.

    Attributes:
        pieces: what the samples are of.
        rows: which of the pieces' samples these are, (N,); all unless given.
    """

    pieces: tuple[Piece, ...] = ()
    rows: Indices = field(default_factory=lambda: np.zeros(0, dtype=np.intp))

    def filtered(self, function: Callable[[Array, Array, Array], Array]) -> Array:
        """A function of the motion, (N, …), filtered as the efforts are."""
        whole = np.concatenate([piece.filtered(function) for piece in self.pieces])
        found: Array = whole[self.rows]
        return found

    def moving(self, speed: Array) -> Moving:
        """Which joints move faster than a speed (n,) at all times that the filter reaches, (N, n) of bool."""
        whole = np.concatenate([piece.moving(speed) for piece in self.pieces])
        found: Moving = whole[self.rows]
        return found

    def chosen(self, rows: Array | slice) -> Samples:
        """Some of the samples: a mask (N,), indices, or a slice."""
        plain = Samples.chosen(self, rows)
        assert isinstance(plain, RecordedSamples)
        return replace(plain, rows=self.rows[rows])

    @classmethod
    def of(cls, pieces: Sequence[Piece], efforts: Sequence[Array], weights: Sequence[Array]) -> RecordedSamples:
        """The samples of pieces.

        Args:
            pieces: each a motion of its own.
            efforts: of each piece's rows (k, n), filtered as the piece says.
            weights: of each piece's rows (k,).
        """
        motion = [np.concatenate([piece.motion[order][piece.rows] for piece in pieces]) for order in range(3)]
        counts = [len(piece.rows) for piece in pieces]
        return cls(
            np.concatenate([piece.stretch.t[piece.rows] for piece in pieces]),
            motion[0],
            motion[1],
            motion[2],
            np.concatenate(efforts),
            np.concatenate(weights),
            np.repeat(np.arange(len(pieces), dtype=float), counts),
            tuple(pieces),
            np.arange(sum(counts)),
        )

    @classmethod
    def joined(cls, parts: Sequence[Samples], weights: Sequence[float] | None = None) -> RecordedSamples:
        """Several recordings as one set of samples; see :meth:`Samples.joined`.

        Raises:
            InputError: no part, of different arms, or not of recordings.
        """
        plain = Samples.joined(parts, weights)
        pieces: list[Piece] = []
        rows, before = [], 0
        for part in parts:
            if not isinstance(part, RecordedSamples):
                raise InputError("parts", f"must all be of recordings, not {type(part).__name__}", parts)
            pieces += part.pieces
            rows.append(before + part.rows)
            before += sum(len(piece.rows) for piece in part.pieces)
        return cls(
            plain.t, plain.q, plain.qd, plain.qdd, plain.effort, plain.weight, plain.motion,
            tuple(pieces), np.concatenate(rows),
        )  # fmt: skip
