"""What the adaptive law has learnt, in words for people and as plain data for a file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from robodyn_ros.control.checks import finite_array
from robodyn_ros.errors import InputError
from robodyn_ros.robot import Joint, Robot
from robodyn_ros.robot.pose import Array

LEAST = 1e-3
"""Mass from which on a centre of mass is told [kg]: of less it is the quotient of two errors."""


def described(
    robot: Robot, bodies: Sequence[int], changes: Array, joints: Sequence[Joint], friction: Array
) -> dict[str, float]:
    """Estimates by name.

    Args:
        robot: the arm.
        bodies: indices of those that are learnt.
        changes: of each body's standard parameters, (B, 10).
        joints: those whose friction is learnt: all, or none.
        friction: viscous and Coulomb friction, (2, n).
    """
    found: dict[str, float] = {}
    for body in bodies:
        name, change = robot.bodies[body].name, changes[body].tolist()
        found[f"mass added to {name} [kg]"] = change[0]
        for axis, moment in zip("xyz", change[1:4], strict=True):
            found[f"first moment {axis} added to {name} [kg m]"] = moment
            if abs(change[0]) >= LEAST:
                found[f"centre of mass {axis} of what was added to {name} [m]"] = moment / change[0]
    for index, joint in enumerate(joints):
        found[f"viscous friction of {joint.name} [{joint.effort_unit}·s/{joint.position_unit}]"] = float(
            friction[0, index]
        )
        found[f"Coulomb friction of {joint.name} [{joint.effort_unit}]"] = float(friction[1, index])
    return found


def to_memory(robot: Robot, bodies: Array, friction: Array) -> dict[str, Any]:
    """Plain data.

    Args:
        robot: the arm.
        bodies: change of each body's standard parameters, (B, 10).
        friction: change of viscous and Coulomb friction, (2, n).
    """
    return {
        "bodies": {body.name: change for body, change in zip(robot.bodies, bodies.tolist(), strict=True)},
        "viscous": dict(zip(robot.joint_names, friction[0].tolist(), strict=True)),
        "coulomb": dict(zip(robot.joint_names, friction[1].tolist(), strict=True)),
    }


def from_memory(robot: Robot, memory: dict[str, Any]) -> tuple[Array, Array]:
    """What :func:`to_memory` was given.

    Raises:
        InputError: names are missing or unknown, or values are no finite numbers.
    """
    bodies = _column("bodies", memory, tuple(body.name for body in robot.bodies), (10,))
    friction = [_column(name, memory, robot.joint_names, ()) for name in ("viscous", "coulomb")]
    return bodies, np.array(friction)


def _column(name: str, memory: dict[str, Any], keys: tuple[str, ...], shape: tuple[int, ...]) -> Array:
    given = memory.get(name)
    if not isinstance(given, dict) or sorted(given) != sorted(keys):
        has = ", ".join(map(str, given)) if isinstance(given, dict) else repr(given)
        raise InputError(name, f"must be of {', '.join(keys)}, not of {has}", given)
    return np.array([finite_array(f"{name}, {key}", given[key], shape) for key in keys])
