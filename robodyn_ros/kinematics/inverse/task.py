# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The task of the inverse kinematics: the components of a pose that count, and secondary goals.

A task is all of a pose, the position alone, a plane, a direction. A null-space objective is a secondary goal for the
degrees of freedom that a task leaves free: a function from positions (n,) to a small motion z (n,), a step down the
gradient of a cost (Liégeois, Automatic supervisory control of the configuration and behavior of multibody mechanisms,
IEEE Trans. SMC 7 (1977)). The solver projects it into the null space of the task.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from robodyn_ros.checks import as_real, check, finite_states
from robodyn_ros.robot import Array, ConfigurationSpace, Robot, read_only


@dataclass(frozen=True, eq=False)
class Task:
    """Directions along which the residual of a pose counts, with their weights.

    Attributes:
        weights: of the three linear and the three angular directions, (6,), 0 for a free one. The mean length of the
            arm's segments counts as much as one radian if their weights are equal.
        axes: the directions as rows, (3, 3), in the root link's axes.
        in_target: the directions are in the target's axes instead, so that they turn with it.
    """

    weights: Array
    axes: Array
    in_target: bool = False

    @classmethod
    def pose(cls, weights: Sequence[float] | Array = (1.0,) * 6) -> Task:
        """Position and orientation; other weights make it [x y z, about x, about y, about z] of the root link."""
        return cls.along(weights, np.eye(3))

    @classmethod
    def position(cls) -> Task:
        """Position alone."""
        return cls.along((1, 1, 1, 0, 0, 0), np.eye(3))

    @classmethod
    def planar(cls, normal: ArrayLike = (0.0, 1.0, 0.0)) -> Task:
        """Position in the plane with that normal (3,), in the root link's axes, and the turn about it."""
        return cls.along((1, 1, 0, 0, 0, 1), _basis("normal", normal))

    @classmethod
    def pointing(cls, axis: ArrayLike = (0.0, 0.0, 1.0)) -> Task:
        """Position and the direction of one axis (3,) of the tool, about which it may turn: a drill, a torch."""
        return cls.along((1, 1, 1, 1, 1, 0), _basis("axis", axis), in_target=True)

    @classmethod
    def along(cls, weights: Sequence[float] | Array, axes: ArrayLike, *, in_target: bool = False) -> Task:
        """Any weights along any orthonormal axes.

        Raises:
            InputError: weights that are not six finite numbers from 0 up, one at least above it, or axes that are not
                orthonormal.
        """
        numbers, rows = as_real("weights", weights, "six numbers"), as_real("axes", axes, "a rotation's rows")
        are_weights = np.isfinite(numbers).all() and (numbers >= 0).all() and numbers.any()
        check(numbers.shape == (6,) and are_weights, "weights", "six finite numbers from 0 up, not all 0", weights)
        are_axes = rows.shape == (3, 3) and np.allclose(rows @ rows.T, np.eye(3), rtol=0.0, atol=1e-9)
        check(are_axes, "axes", "three orthonormal rows", axes)
        return cls(read_only(numbers), read_only(rows), in_target)

    def directions(self, rotation: Array) -> Array:
        """The rows (3, 3) in the root link's axes, for a target of that rotation."""
        return self.axes @ rotation.T if self.in_target else self.axes


def _basis(name: str, axis: ArrayLike) -> Array:
    """Orthonormal rows, the last of them along the axis."""
    given = as_real(name, axis, "a direction")
    length = np.linalg.norm(given) if given.shape == (3,) else 0.0
    check(np.isfinite(length) and length > 0.0, name, "a direction (3,)", axis)
    z = given / length
    x = np.cross(np.eye(3)[np.argmin(np.abs(z))], z)
    x /= np.linalg.norm(x)
    return np.stack([x, np.cross(z, x), z])


NullSpaceObjective = Callable[[Array], Array]
"""Positions (n,) → motion z (n,)."""

RATIO = 0.1
"""Fraction of the distance to the goal in one step."""


def centred(robot: Robot, ratio: float = RATIO) -> NullSpaceObjective:
    """Return the objective to stay in the middle of each joint's range; joints without limits have none."""
    bounded = np.isfinite(robot.lower) & np.isfinite(robot.upper)
    pull = np.where(bounded, ratio, 0.0)
    return lambda q: pull * (robot.middle - q)


def posture(robot: Robot, rest: ArrayLike, ratio: float = RATIO) -> NullSpaceObjective:
    """Return the objective to reach a posture (n,), for a joint without limits by the shorter turn.

    Raises:
        InputError: the posture is not n finite numbers.
    """
    goal, space = read_only(finite_states("rest", rest, robot.n)), ConfigurationSpace(robot)
    return lambda q: ratio * space.difference(q, goal)
