# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The runtime parameters of the dynamics: they change while the arm runs, and nothing is compiled anew."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from robodyn_ros.checks import as_real, in_short
from robodyn_ros.errors import InputError
from robodyn_ros.robot import Inertial, Robot
from robodyn_ros.robot.pose import Array, read_only

STANDARD_GRAVITY = (0.0, 0.0, -9.81)
"""Gravity in the root link's frame unless told otherwise [m/s²]."""


@dataclass(frozen=True, eq=False)
class Payload:
    """A body held by a link; one that cannot be is refused when it is made.

    Attributes:
        link: name of the link that holds it.
        mass: [kg].
        com: centre of mass in the link's frame, (3,) in [m].
        inertia: about the centre of mass, axes parallel to the link's, (3, 3) in [kg m²].
    """

    link: str
    mass: float
    com: Sequence[float] | Array = (0.0, 0.0, 0.0)
    inertia: Sequence[Sequence[float]] | Array = field(default_factory=lambda: np.zeros((3, 3)))

    def __post_init__(self) -> None:
        """
        Raises:
            InputError: as :meth:`inertial`, or ``link`` is no name.
        """
        link: object = self.link  # of a caller without a type checker
        if not isinstance(link, str):
            raise InputError("payload link", f"must be the name of a link, not {in_short(self.link)}", self.link)
        self.inertial()

    def inertial(self) -> Inertial:
        """Return the body's inertial parameters, checked.

        Raises:
            InputError: a negative mass, an inertia that no body can have, a wrong shape, something not finite.
        """
        mass = float(_finite("payload mass", self.mass, (), "kg"))
        com = _finite("payload com", self.com, (3,), "m")
        inertia = _finite("payload inertia", self.inertia, (3, 3), "kg m²")
        if mass < 0.0:
            raise InputError("payload mass", f"must not be negative, it is {mass:g} kg", mass)
        moments = np.linalg.eigvalsh(inertia / 2 + inertia.T / 2)
        tolerance = 1e-9 * max(1e-9, abs(moments).max())
        skew = abs(inertia / 2 - inertia.T / 2).max()
        if skew > tolerance / 2 or moments[0] < -tolerance or moments[2] - moments[1] > moments[0] + tolerance:
            raise InputError(
                "payload inertia",
                f"must be symmetric, positive, and no principal moment greater than the sum of the others: {moments}",
                self.inertia,
            )
        return Inertial(mass, read_only(com), read_only(inertia))


@dataclass(frozen=True, eq=False)
class Parameters:
    """The runtime parameters of an arm's dynamics.

    Attributes:
        gravity: acceleration of free fall in the root link's frame, (3,) in [m/s²].
        payload: what a link holds, or None.
        armature: inertia of the motors' rotors, reflected through the gears, (n,) in [kg m²] or [kg].
        viscous: viscous friction, (n,) in [N·m·s/rad] or [N·s/m].
        coulomb: Coulomb friction, (n,) in [N·m] or [N].
        inertial: standard parameters of the bodies without payload, (10 · bodies,): see ``inertial_parameters``.
    """

    gravity: Array
    payload: Payload | None
    armature: Array
    viscous: Array
    coulomb: Array
    inertial: Array

    @classmethod
    def of(cls, robot: Robot, inertial: Array) -> Parameters:
        """Return the parameters of the URDF, without payload and friction, in standard gravity."""
        zero = read_only(np.zeros(robot.n))
        return cls(read_only(STANDARD_GRAVITY), None, robot.armature, zero, zero, read_only(inertial))

    def changed(self, changes: dict[str, Any]) -> Parameters:
        """Return a copy with some fields replaced, checked.

        Raises:
            InputError: no such parameter, a wrong shape, something not finite, or negative where that cannot be.
        """
        known = [item.name for item in fields(self)]
        checked: dict[str, Any] = {}
        for name, value in changes.items():
            if name not in known:
                raise InputError(name, f"is no parameter of the dynamics; they are {', '.join(known)}", value)
            if name == "payload":
                if value is not None and not isinstance(value, Payload):
                    raise InputError("payload", f"must be a Payload or None, not {type(value).__name__}", value)
                checked[name] = value
                continue
            checked[name] = read_only(_finite(name, value, getattr(self, name).shape, UNITS.get(name, "")))
            if name in {"armature", "viscous", "coulomb"} and (checked[name] < 0.0).any():
                raise InputError(name, f"must not be negative: {checked[name]}", value)
        return replace(self, **checked)


UNITS = {"gravity": "m/s²"}
"""Units of the parameters that have one unit for all joints."""


def _finite(name: str, value: ArrayLike, shape: tuple[int, ...], unit: str) -> Array:
    what = f"{shape[0]} finite numbers" if len(shape) == 1 else f"finite numbers of shape {shape}"
    what = (what if shape else "a finite number") + (f" [{unit}]" if unit else "")
    array = as_real(name, value, what)
    if array.shape != shape or not np.isfinite(array).all():
        raise InputError(name, f"must be {what}, not {in_short(value)}", value)
    return array
