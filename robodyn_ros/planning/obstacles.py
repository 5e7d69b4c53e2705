# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Obstacles: spheres and boxes in the root link's frame."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from robodyn_ros.errors import InputError
from robodyn_ros.files import YamlError, read_yaml
from robodyn_ros.robot import Pose
from robodyn_ros.robot.pose import Array


@dataclass(frozen=True, eq=False)
class Sphere:
    """A sphere.

    Attributes:
        name: name for messages.
        center: (3,) in [m].
        radius: [m].
    """

    name: str
    center: Array
    radius: float


@dataclass(frozen=True, eq=False)
class Box:
    """A box.

    Attributes:
        name: name for messages.
        center: (3,) in [m].
        size: edge lengths along its axes (3,) in [m].
        rotation: its axes as columns (3, 3).
    """

    name: str
    center: Array
    size: Array
    rotation: Array = field(default_factory=lambda: np.eye(3))


Obstacle = Sphere | Box


def sphere(name: str, center: Sequence[float] | Array, radius: float) -> Sphere:
    """A sphere, checked.

    Raises:
        InputError: the center is not three finite numbers, or the radius is not above 0.
    """
    return Sphere(name, _three(name, "center", center), _positive(name, "radius", [radius], 1)[0])


def box(
    name: str, center: Sequence[float] | Array, size: Sequence[float] | Array, rpy: Sequence[float] = (0.0, 0.0, 0.0)
) -> Box:
    """A box, checked; ``rpy`` are fixed-axis roll, pitch and yaw in [rad], as in a URDF.

    Raises:
        InputError: a vector is not three finite numbers, or a length is not above 0.
    """
    turn = Pose.from_xyz_rpy((0.0, 0.0, 0.0), _three(name, "rpy", rpy).tolist()).rotation
    return Box(name, _three(name, "center", center), _positive(name, "size", size, 3), turn)


def read_obstacles(path: str | os.PathLike[str]) -> tuple[Obstacle, ...]:
    """Read obstacles from a YAML or JSON file.

    ``{ball: {center: [x, y, z], radius: r}, wall: {center: …, size: [a, b, c], rpy: …}}``

    Raises:
        InputError: the file cannot be read, or has another content.
    """
    try:
        content = read_yaml(path)
    except YamlError as cause:
        raise InputError("obstacles", f"{os.fspath(path)} cannot be read: {cause}", path) from cause
    if not isinstance(content, dict) or not all(isinstance(entry, dict) for entry in content.values()):
        raise InputError("obstacles", f"{os.fspath(path)} is not a mapping of names to obstacles", path)
    return tuple(_read(str(name), dict(entry)) for name, entry in content.items())


def _read(name: str, entry: dict[str, object]) -> Obstacle:
    make = {frozenset(("center", "radius")): sphere, frozenset(("center", "size")): box}.get(frozenset(entry) - {"rpy"})
    if make is None or (make is sphere and "rpy" in entry):
        problem = f"obstacle {name!r} has {', '.join(entry)}; it must have center and radius, or center, size (and rpy)"
        raise InputError("obstacles", problem, entry)
    return make(name, **entry)  # type: ignore[operator,no-any-return]


def _three(name: str, what: str, values: object) -> Array:
    array = _array(values)
    if array.shape != (3,) or not np.isfinite(array).all():
        raise InputError("obstacles", f"{what} of {name!r} must be three finite numbers, not {values!r}", values)
    return array


def _positive(name: str, what: str, values: object, count: int) -> Array:
    array = _array(values)
    if array.shape != (count,) or not (np.isfinite(array) & (array > 0.0)).all():
        raise InputError("obstacles", f"{what} of {name!r} must be above 0, not {values!r}", values)
    return array


def _array(values: object) -> Array:
    """The numbers; one NaN if they are none."""
    try:
        return np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        return np.full(1, np.nan)
