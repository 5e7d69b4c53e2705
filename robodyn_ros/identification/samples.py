# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Samples of motion, from which identification estimates parameters.

:class:`Samples` are positions, velocities, accelerations and efforts of any origin. :class:`RecordedSamples` come from
segments of recordings (:class:`SegmentSamples`), and their regressor goes through the same filter as their efforts.
A filter is linear, so Y θ = τ holds after the filter as before it, whatever the filter removes (Khalil and Dombre,
Modeling, Identification and Control of Robots, section 12.6). With an unfiltered regressor, a reversing joint would
violate the equations until the filter has settled, because friction jumps at the reversal. Positions are filtered at a
higher frequency, only for differentiation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from robodyn_ros.checks import check, finite_array
from robodyn_ros.dynamics.compiled import CompiledDynamics
from robodyn_ros.errors import InputError
from robodyn_ros.identification.segments import SETTLING, Segment, lowpass
from robodyn_ros.robot.pose import Array, Flags, Indices, read_only


@dataclass(frozen=True, eq=False)
class Samples:
    """N samples of an arm of n joints, in the order of ``robot.joints``; the arrays are copied and read-only.

    Several motions follow one after the other; samples of one motion are in the order of time.

    Attributes:
        t: times (N,) in [s], rising within a motion.
        q: positions (N, n) in [rad] or [m].
        qd: velocities (N, n) in [rad/s] or [m/s].
        qdd: accelerations (N, n) in [rad/s²] or [m/s²].
        effort: efforts of the drives, (N, n) in [N·m] or [N].
        weight: weight of each sample, (N,); 0 excludes it, 1 unless given.
        motion: number of the motion to which each sample belongs, (N,) whole numbers; the samples of a motion are
            contiguous; one motion unless given.
    """

    t: Array
    q: Array
    qd: Array
    qdd: Array
    effort: Array
    weight: Array | None = None
    motion: Array | None = None
    rowwise: ClassVar[tuple[str, ...]] = ("t", "q", "qd", "qdd", "effort", "weight", "motion")
    """Names of the arrays with a row for each sample."""

    def __post_init__(self) -> None:
        """
        Raises:
            InputError: there are no samples, a shape is wrong, a value is not finite, times do not rise within a
                motion, the samples of a motion are not contiguous, or a weight is negative.
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
        """``weight``, never None, (N,)."""
        assert self.weight is not None
        return self.weight

    @property
    def motions(self) -> Array:
        """``motion``, never None, (N,)."""
        assert self.motion is not None
        return self.motion

    def regressor(self, dynamics: CompiledDynamics) -> Array:
        """Y with Y θ = effort, (N, n, p), for θ in the order of :meth:`CompiledDynamics.theta`."""
        return self.filtered(dynamics.regressor)

    def filtered(self, function: Callable[[Array, Array, Array], Array]) -> Array:
        """A function of q, q̇ and q̈ at the samples, (N, …), filtered as the efforts are."""
        return function(self.q, self.qd, self.qdd)

    def moving(self, speed: Array) -> Flags:
        """Which joints move faster than a speed (n,), (N, n). The friction of a joint at rest is not determined."""
        return np.abs(self.qd) > speed

    def __len__(self) -> int:
        """N."""
        return len(self.t)

    @classmethod
    def joined(cls, parts: Sequence[Samples]) -> Samples:
        """Several sets of samples as one; each part's motions stay apart.

        Raises:
            InputError: there is no part, or the parts are of different arms.
        """
        if not parts or len({part.n for part in parts}) > 1:
            raise InputError("parts", f"must be samples of one arm, not of {[part.n for part in parts]} joints", parts)
        numbers, count = [], 0.0
        for part in parts:
            found, index = np.unique(part.motions, return_inverse=True)
            numbers.append(count + index)
            count += len(found)
        columns = {name: np.concatenate([getattr(part, name) for part in parts]) for name in Samples.rowwise}
        return cls(**(columns | {"motion": np.concatenate(numbers)}))

    def chosen(self, rows: Flags | Indices | slice) -> Samples:
        """Some of the samples: a mask (N,), indices, or a slice."""
        return replace(self, **{name: getattr(self, name)[rows] for name in self.rowwise})

    def folds(self, count: int) -> list[Flags]:
        """Masks (N,) of the folds that cross-validation leaves out in turn.

        A fold has whole motions if there are at least ``count`` of them, else segments of time, because neighbouring
        samples are too similar to test each other.

        Args:
            count: number of folds, at least 2.

        Raises:
            InputError: there are fewer than 2 folds, or more folds than samples.
        """
        check(2 <= count <= len(self), "count", f"from 2 to {len(self)}, the number of samples", count)
        found, index = np.unique(self.motions, return_inverse=True)
        if len(found) < count:
            index = np.arange(len(self)) * count // len(self)
        return [index % count == k for k in range(count)]


BLOCK = 4000
"""Number of samples whose regressor is filtered at once, so that memory does not grow with the recording."""

REACH = 0.5
"""Periods of the cutoff frequency over which the filter spreads an event, to either side."""


@dataclass(frozen=True, eq=False)
class SegmentSamples:
    """A segment, its motion, and the samples of it that are used.

    Attributes:
        segment: N samples as recorded.
        motion: position, velocity and acceleration, (N, n) each.
        cutoff: cutoff frequency of the filter [Hz].
        rows: the samples that are used, rising, (k,).
    """

    segment: Segment
    motion: tuple[Array, ...]
    cutoff: float
    rows: Indices

    def filtered(self, function: Callable[[Array, Array, Array], Array]) -> Array:
        """A function of the motion, (N, …), filtered, at the rows, (k, …)."""
        count, step = len(self.segment.t), self.segment.step
        reach = round(2.0 * SETTLING / (self.cutoff * step))
        found = []
        for first in range(0, count, BLOCK):
            rows = self.rows[(self.rows >= first) & (self.rows < first + BLOCK)]
            if not len(rows):
                continue
            around = np.arange(first - reach, min(first + BLOCK, count) + reach)
            # In a mean of periods the beginning follows the end.
            around = around % count if self.segment.periods else around[(around >= 0) & (around < count)]
            start = reach if self.segment.periods else min(first, reach)
            values = function(*(part[around] for part in self.motion))
            found.append(lowpass(values, self.cutoff, step)[rows - first + start])
        return np.concatenate(found) if found else function(*(part[:0] for part in self.motion))

    def delayed_effort(self, delay: float) -> tuple[Array, Array]:
        """The filtered effort at the rows, which acts a delay [s] later than recorded, and its rate, (k, n) each."""
        effort, rate = self.segment.delayed_effort(delay, self.cutoff)
        return effort[self.rows], rate[self.rows]

    def moving(self, speed: Array) -> Flags:
        """Which joints move at the rows and within the filter's reach around them, (k, n) of bool.

        The friction of a joint at rest is not determined, and the filter spreads this error.

        Args:
            speed: speed above which a joint moves (n,) in [rad/s] or [m/s].
        """
        reach = max(1, round(REACH / (self.cutoff * self.segment.step)))
        return ~self.segment.near(np.abs(self.motion[1]) <= speed, reach)[self.rows]


@dataclass(frozen=True, eq=False)
class RecordedSamples(Samples):
    """Samples of recordings, whose regressor is filtered as their efforts are.

    Attributes:
        segments: the segments that the samples come from.
        rows: places of these samples among the samples of all segments, (N,).
    """

    segments: tuple[SegmentSamples, ...] = ()
    rows: Indices = field(default_factory=lambda: np.zeros(0, dtype=np.intp))
    rowwise = (*Samples.rowwise, "rows")

    def filtered(self, function: Callable[[Array, Array, Array], Array]) -> Array:
        """A function of the motion, (N, …), filtered as the efforts are."""
        return np.concatenate([segment.filtered(function) for segment in self.segments])[self.rows]

    def moving(self, speed: Array) -> Flags:
        """Which joints move, as :meth:`SegmentSamples.moving` defines it, (N, n) of bool; ``speed`` is (n,)."""
        return np.concatenate([segment.moving(speed) for segment in self.segments])[self.rows]

    @classmethod
    def of(cls, segments: Sequence[SegmentSamples], delay: float, weights: Sequence[Array]) -> RecordedSamples:
        """The samples of segments.

        Args:
            segments: each is a motion of its own.
            delay: time by which the efforts act later than recorded [s].
            weights: weights of the rows of each segment (k,).
        """
        t = [one.segment.t[one.rows] for one in segments]
        motion = ([one.motion[order][one.rows] for one in segments] for order in range(3))
        efforts = [one.delayed_effort(delay)[0] for one in segments]
        numbers = [np.full(len(part), float(number)) for number, part in enumerate(t)]
        columns = (np.concatenate(parts) for parts in (t, *motion, efforts, weights, numbers))
        times, q, qd, qdd, effort, weight, number = columns
        return cls(times, q, qd, qdd, effort, weight, number, tuple(segments), np.arange(len(times)))

    @classmethod
    def joined(cls, parts: Sequence[Samples]) -> RecordedSamples:
        """Samples of several recordings as one set, as :meth:`Samples.joined`.

        Raises:
            InputError: there is no part, or the parts are of different arms or not of recordings.
        """
        plain = Samples.joined(parts)
        segments: list[SegmentSamples] = []
        rows, before = [], 0
        for part in parts:
            if not isinstance(part, RecordedSamples):
                raise InputError("parts", f"must all be of recordings, not {type(part).__name__}", parts)
            segments += part.segments
            rows.append(before + part.rows)
            before += sum(len(segment.rows) for segment in part.segments)
        return cls(**vars(plain), segments=tuple(segments), rows=np.concatenate(rows))


def long_run_ratio(errors: Array) -> Array:
    """Long-run variance of each joint's errors (N, n) over their variance, (n,): 1 if they are independent.

    The long-run variance is the variance of the errors' mean, times their number. Errors of neighbouring samples are
    correlated, because they went through a filter. Their effect on an estimate depends on their spectral density at low
    frequency, where the motion is. This density is the long-run variance (Newey and West, A simple, positive
    semi-definite, heteroskedasticity and autocorrelation consistent covariance matrix, Econometrica 55(3), 1987).

    It has Bartlett's weights and as many lags as Newey and West, Automatic lag selection in covariance matrix
    estimation, Review of Economic Studies 61(4), 1994. It is never below 1: alternating errors come from encoders,
    through the acceleration. They are in the regressor too, where their effect is greater than this variance shows.
    """
    lags = min(int(4.0 * (len(errors) / 100.0) ** (2.0 / 9.0)), len(errors) - 1)
    parts = ((1.0 - lag / (lags + 1.0)) * np.sum(errors[lag:] * errors[:-lag], axis=0) for lag in range(1, lags + 1))
    power = np.sum(errors**2, axis=0)
    return np.maximum(1.0 + 2.0 * sum(parts) / np.where(power > 0.0, power, 1.0), 1.0)
