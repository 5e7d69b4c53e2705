"""Samples of motion: what the equations of motion are held against."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.control.checks import finite_array
from robodyn_ros.dynamics.compiled import CompiledDynamics
from robodyn_ros.errors import InputError
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
