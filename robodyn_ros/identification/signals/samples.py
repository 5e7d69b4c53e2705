"""Samples of motion: what the equations of motion are held against."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.checks import finite_array
from robodyn_ros.dynamics.compiled import CompiledDynamics
from robodyn_ros.errors import InputError
from robodyn_ros.identification.signals.segments import SETTLING, Segment, lowpass
from robodyn_ros.robot.pose import Array, read_only


@dataclass(frozen=True, eq=False)
class Samples:
    """N samples of an arm of n joints, in the order of ``robot.joints``; read-only copies of what is given.

    Several motions stand one after the other; samples of one motion follow each other in time.

    Attributes:
        t: times (N,) in [s], rising within a motion.
        q: positions (N, n) in [rad] or [m].
        qd: velocities (N, n) in [rad/s] or [m/s].
        qdd: accelerations (N, n) in [rad/s²] or [m/s²].
        effort: what the drives give, (N, n) in [N·m] or [N].
        weight: how much each sample counts, (N,), 0 for not at all; 1 unless given.
        motion: which motion each belongs to, (N,) whole numbers, each motion in one piece; all one unless given.
    """

    t: Array
    q: Array
    qd: Array
    qdd: Array
    effort: Array
    weight: Array | None = None
    motion: Array | None = None

    def __post_init__(self) -> None:
        """
        Raises:
            InputError: nothing in it, wrong shapes, something not finite, times that do not rise within a motion, a
                motion in several pieces, or a negative weight.
        """
        shape = np.shape(self.q)
        if len(shape) != 2 or 0 in shape:
            raise InputError("q", f"must be N samples of n joints, neither 0, not of shape {shape}", self.q)
        weight = np.ones(shape[0]) if self.weight is None else self.weight
        motion = np.zeros(shape[0]) if self.motion is None else self.motion
        for name, value in (("t", self.t), ("weight", weight), ("motion", motion)):
            object.__setattr__(self, name, read_only(finite_array(name, value, shape[:1])))
        for name in ("q", "qd", "qdd", "effort"):
            object.__setattr__(self, name, read_only(finite_array(name, getattr(self, name), shape)))
        if (self.weights < 0.0).any():
            raise InputError("weight", "must not be negative", self.weight)
        same = np.diff(self.motions) == 0.0
        if len(np.unique(self.motions)) != 1 + np.count_nonzero(~same):
            raise InputError("motion", "must be in one piece each", self.motion)
        late = np.flatnonzero(same & (np.diff(self.t) <= 0.0))
        if len(late):
            k = int(late[0])
            raise InputError("t", f"must rise, but {self.t[k]:.9g} s is followed by {self.t[k + 1]:.9g} s", self.t)

    @property
    def n(self) -> int:
        """Number of joints."""
        return int(self.q.shape[1])

    @property
    def weights(self) -> Array:
        """``weight``, also for a type checker, (N,)."""
        assert self.weight is not None
        return self.weight

    @property
    def motions(self) -> Array:
        """``motion``, also for a type checker, (N,)."""
        assert self.motion is not None
        return self.motion

    def regressor(self, dynamics: CompiledDynamics) -> Array:
        """Y with Y θ = effort, (N, n, p), for θ as :meth:`CompiledDynamics.theta` has it."""
        return self.filtered(dynamics.regressor)

    def filtered(self, function: Callable[[Array, Array, Array], Array]) -> Array:
        """A function of q, q̇ and q̈ at the samples, (N, …), through the filter that the efforts went through."""
        return function(self.q, self.qd, self.qdd)

    def moving(self, speed: Array) -> NDArray[np.bool_]:
        """Which joints move faster than a speed (n,), (N, n): friction at rest may be anything."""
        found: NDArray[np.bool_] = np.abs(self.qd) > speed
        return found

    def __len__(self) -> int:
        """N."""
        return len(self.t)

    @classmethod
    def joined(cls, parts: Sequence[Samples], weights: Sequence[float] | None = None) -> Samples:
        """Several motions as one set; each part's motions stay apart.

        Args:
            parts: of the same arm.
            weights: factor of each part's weights; 1 unless given.

        Raises:
            InputError: no part, or of different arms.
        """
        if not parts or len({part.n for part in parts}) > 1:
            raise InputError("parts", f"must be samples of one arm, not of {[part.n for part in parts]} joints", parts)
        factors = [1.0] * len(parts) if weights is None else weights
        numbers, count = [], 0.0
        for part in parts:
            found, index = np.unique(part.motions, return_inverse=True)
            numbers.append(count + index)
            count += len(found)
        columns = {
            name: np.concatenate([getattr(part, name) for part in parts]) for name in ("t", "q", "qd", "qdd", "effort")
        }
        weight = np.concatenate([factor * part.weights for factor, part in zip(factors, parts, strict=True)])
        return cls(**columns, weight=weight, motion=np.concatenate(numbers))

    def chosen(self, rows: NDArray[Any] | slice) -> Samples:
        """Some of the samples: a mask (N,), indices, or a slice."""
        names = ("t", "q", "qd", "qdd", "effort", "weight", "motion")
        return replace(self, **{name: getattr(self, name)[rows] for name in names})

    def folds(self, count: int) -> list[NDArray[np.bool_]]:
        """Masks (N,) of parts to be left out in turn: whole motions where there are at least ``count`` of them, else
        stretches of time, for neighbouring samples are too alike to test each other.

        Args:
            count: how many parts, 2 or more.

        Raises:
            InputError: fewer than 2 parts, or more than samples.
        """
        if not 2 <= count <= len(self):
            raise InputError("count", f"must be from 2 to {len(self)}, the number of samples, not {count}", count)
        found, index = np.unique(self.motions, return_inverse=True)
        if len(found) < count:
            index = np.arange(len(self)) * count // len(self)
        return [index % count == k for k in range(count)]


Indices = NDArray[np.intp]

Moving = NDArray[np.bool_]

BLOCK = 4000
"""Samples whose regressor is filtered at a time, so that memory does not grow with the recording."""

REACH = 0.5
"""Periods of the cutoff frequency over which the filter spreads what happens at a moment, to either side."""


@dataclass(frozen=True, eq=False)
class SegmentSamples:
    """A stretch and its motion.

    Attributes:
        stretch: N samples.
        motion: position, velocity and acceleration, (N, n) each.
        cutoff: of the filter [Hz].
        rows: which samples are used, rising, (k,).
    """

    stretch: Segment
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
    """Samples of a recording, whose regressor is filtered as its efforts are.

    Efforts and regressor go through the same filter: Y θ = τ then holds as before, whatever it takes away, for a filter
    is
    linear (Khalil and Dombre, Modeling, Identification and Control of Robots, section 12.6). Without that, a joint that
    turns round would contradict the equations for as long as the filter takes, as friction jumps there at once.
    Positions are filtered at a higher frequency, only so that they can be differentiated.

    Attributes:
        pieces: what the samples are of.
        rows: which of the pieces' samples these are, (N,); all unless given.
    """

    pieces: tuple[SegmentSamples, ...] = ()
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
    def of(
        cls, pieces: Sequence[SegmentSamples], efforts: Sequence[Array], weights: Sequence[Array]
    ) -> RecordedSamples:
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
        pieces: list[SegmentSamples] = []
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
