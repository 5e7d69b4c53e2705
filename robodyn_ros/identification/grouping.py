"""Base parameters in letters: ``Iyy(arm) + l(wrist)² m(hand)`` instead of ``Iyy(arm) + 0.25 m(hand)``.

What stands before a parameter is a polynomial of the distances between joints, homogeneous and of a degree that the
units say: 0 between parameters of one kind, 1 from a mass to a first moment or from that to an inertia, 2 from a mass
to an inertia. So its coefficients follow from as many arms as it has terms, alike but for these distances, which are
drawn at random; more arms than that prove it. What fails the proof stays a number.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations_with_replacement
from typing import Any

import numpy as np

from robodyn_ros.identification.estimation.base_parameters import MOMENT_DEGREE, BaseParameters, base_parameters
from robodyn_ros.robot import Pose, Robot
from robodyn_ros.robot.pose import Array, read_only

GREATEST = 4
"""Distances that an arm may have; beyond it letters explain less than numbers do."""
PROOF = 3
"""Arms beyond those that determine the coefficients."""
ROUNDING = 1e-8
"""Relative error of the proof that is rounding."""

Distance = tuple[int, int]
"""Index of a body, and along which axis of its parent's frame."""


def grouping(robot: Robot, base: BaseParameters, **parameters: Any) -> tuple[str, ...]:
    """Each base parameter as a sum with letters; numbers, as ``BaseParameters.text`` has them, if there are too many.

    Args:
        robot: the arm.
        base: its base parameters.
        **parameters: with what :func:`base_parameters` was called besides, the same gravity included.
    """
    distances = [
        (index, axis)
        for index, body in enumerate(robot.bodies)
        for axis in range(3)
        if body.parent >= 0 and body.placement.translation[axis] != 0.0
    ]
    if len(distances) > GREATEST:
        return base.text()
    count = len(list(_monomials(2, len(distances)))) + PROOF
    rng = np.random.default_rng(0)
    lengths = rng.uniform(0.5, 2.0, (count, len(distances)))
    arms = [base_parameters(_stretched(robot, distances, row), compiled=False, **parameters) for row in lengths]
    if any(not np.array_equal(arm.independent, base.independent) for arm in arms):
        return base.text()
    letters = [_letter(robot, distances, item) for item in distances]
    entries = np.array([arm.combination for arm in arms])
    lines = []
    for row, own in enumerate(base.independent):
        terms = [base.names[own]]
        for k in np.flatnonzero(base.combination[row]):
            if k != own:
                degree = _degree(robot, int(base.columns[own])) - _degree(robot, int(base.columns[k]))
                factor = _polynomial(entries[:, row, k], degree, lengths, letters)
                terms.append(_term(factor or f"{base.combination[row, k]:+.6g}", base.names[k]))
        lines.append(" ".join(terms))
    return tuple(lines)


def _monomials(degree: int, count: int) -> list[tuple[int, ...]]:
    return list(combinations_with_replacement(range(count), degree))


def _stretched(robot: Robot, distances: list[Distance], lengths: Array) -> Robot:
    """The same arm with other distances."""
    bodies = list(robot.bodies)
    for (index, axis), length in zip(distances, lengths, strict=True):
        placement = bodies[index].placement
        translation = placement.translation.copy()
        translation[axis] = length
        bodies[index] = replace(bodies[index], placement=Pose(placement.rotation, read_only(translation)))
    return replace(robot, bodies=tuple(bodies))


def _letter(robot: Robot, distances: list[Distance], item: Distance) -> str:
    """Of the distance to a joint: with its axis where there are several."""
    alone = sum(index == item[0] for index, _ in distances) == 1
    return f"l{'' if alone else 'xyz'[item[1]]}({robot.bodies[item[0]].joint.name})"


def _degree(robot: Robot, column: int) -> int:
    """With which power of length a parameter grows."""
    inertial = 10 * len(robot.bodies)
    if column < inertial:
        return MOMENT_DEGREE[column % 10]
    return 0 if robot.joints[(column - inertial) % robot.n].is_prismatic else 2


def _polynomial(values: Array, degree: int, lengths: Array, letters: list[str]) -> str | None:
    """The polynomial that takes these values, with the sign before each term; None if none does."""
    if degree < 0:
        return None
    monomials = _monomials(degree, len(letters))
    table = np.array([[np.prod(row[list(monomial)]) for monomial in monomials] for row in lengths])
    found = np.linalg.lstsq(table, values, rcond=None)[0]
    if np.abs(table @ found - values).max() > ROUNDING * np.abs(values).max():
        return None
    parts = []
    for coefficient, monomial in zip(found, monomials, strict=True):
        if abs(coefficient) > ROUNDING * np.abs(found).max():
            name = " ".join(letters[k] + ("²" if monomial.count(k) == 2 else "") for k in sorted(set(monomial)))
            one = abs(abs(coefficient) - 1.0) < ROUNDING
            parts.append(
                f"{'-' if coefficient < 0.0 else '+'}{'' if one else f'{abs(coefficient):.6g} '}{name}".strip()
            )
    return " ".join(parts)


def _term(factor: str, name: str) -> str:
    """A factor and a parameter, with the sign apart."""
    if " +" in factor or " -" in factor:
        inner = factor.removeprefix("+").replace(" +", " + ").replace(" -", " - ")
        return f"+ ({inner}) {name}"
    return f"{factor[0]} {factor[1:]} {name}".replace("  ", " ")
