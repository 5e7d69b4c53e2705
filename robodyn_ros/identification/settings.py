# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The settings of identification: of the estimation, of the preparation of recordings, and of exciting motions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from robodyn_ros.checks import as_real, check
from robodyn_ros.errors import ConfigurationError, InputError
from robodyn_ros.robot import Array, Robot
from robodyn_ros.settings import CheckedSettings, choice, setting, switch, whole


@dataclass(frozen=True)
class IdentificationSettings(CheckedSettings):
    """Settings of :func:`identify`; each field's metadata describe it. Other parameters keep their values."""

    inertial: bool = switch(True, "identify masses, first moments and inertias")
    viscous: bool = switch(True, "identify viscous friction")
    coulomb: bool = switch(True, "identify Coulomb friction")
    stribeck: bool = switch(False, "identify static friction and the Stribeck velocity")
    armature: bool = switch(False, "identify the reflected inertia of the rotors")
    robust: bool = switch(True, "let outliers count less (Huber)")
    huber: float = setting(1.345, "error beyond which a sample counts less, in standard deviations", "-", 0.1, 100.0)
    standstill: float = setting(
        0.01, "ratio of a joint's greatest speed below which friction hides its effort", "-", 0.0, 0.5
    )
    prior: float = setting(
        1.0, "weight of the URDF's numbers: 1 assumes that they are right within a factor of e", "-", 1e-6, 1e6
    )
    folds: int = whole(5, "folds of the samples that cross-validation leaves out in turn", 2, 100)

    @property
    def kinds(self) -> dict[str, bool]:
        """Which kinds of parameters are identified, as ``base_parameters`` takes them."""
        return {name: getattr(self, name) for name in ("inertial", "armature", "viscous", "coulomb")}


LEAST_PERIOD = 0.1
"""Least period of a motion [s]."""

EFFORTS = ("auto", "measured", "commanded")
"""Which effort is used: the measured one, else the commanded one (``auto``), or always the named one."""


@dataclass(frozen=True)
class SignalSettings(CheckedSettings):
    """Settings of :func:`prepare`; each field's metadata describe it."""

    effort: str = choice("auto", "which effort counts: measured where there is one, or one of the two", lambda: EFFORTS)
    cutoff: float = setting(0.0, "cutoff frequency (0: chosen by the data)", "Hz", 0.0, 1e3)
    gap: float = setting(0.05, "longest time between two messages of one segment", "s", 1e-4, 10.0)
    shortest: float = setting(1.0, "shortest segment without a gap that is used", "s", 0.1, 1000.0)
    align: bool = switch(True, "find the delay of the efforts and remove it")
    delay: float = setting(0.0, "known delay of the efforts, or the start of the search for it", "s", -0.5, 0.5)
    average: bool = switch(True, "average over the periods of a motion that repeats, where the data say so")
    period: float = setting(0.0, "period of the motion (0: look for one)", "s", 0.0, 1000.0)
    least_motion: float = setting(0.01, "range of positions below which a joint stands still", "rad or m", 1e-6, 1.0)

    def __post_init__(self) -> None:
        """Check the values."""
        super().__post_init__()
        if 0.0 < self.period < LEAST_PERIOD:
            raise ConfigurationError(f"period: must be 0, or {LEAST_PERIOD:g} s at least, not {self.period:g} s")


@dataclass(frozen=True)
class ExcitationSettings(CheckedSettings):
    """Settings of :func:`excite`; each field's metadata describe it."""

    period: float = setting(10.0, "period of the motion", "s", LEAST_PERIOD, 1000.0)
    harmonics: int = whole(5, "frequencies in the motion, multiples of that of its period", 2, 50)
    periods: int = whole(3, "number of periods of the motion", 1, 1000)
    position_margin: float = setting(0.02, "ratio of a joint's range that is kept clear at each limit", "-", 0.0, 0.45)
    velocity_ratio: float = setting(0.8, "ratio of the velocity limits that may be used", "-", 0.01, 1.0)
    effort_ratio: float = setting(
        0.8, "ratio of the effort limits that may be used, by the URDF's numbers", "-", 0.01, 1.0
    )
    tries: int = whole(2, "number of random initial motions; the best result is taken", 1, 1000)
    seed: int = whole(0, "seed of the random initial motions", 0, 2**31 - 1)


@dataclass(frozen=True)
class Workspace:
    """A box in the root link's frame within which the origins of links stay.

    Attributes:
        lower: lower bounds (x, y, z) in [m]; -inf where there is none.
        upper: upper bounds (x, y, z) in [m]; inf where there is none.
        links: names of the links; all that move unless given.
    """

    lower: Sequence[float] = (-np.inf, -np.inf, -np.inf)
    upper: Sequence[float] = (np.inf, np.inf, np.inf)
    links: tuple[str, ...] = ()

    def checked(self, robot: Robot) -> tuple[Array, Array, tuple[str, ...]]:
        """Lower and upper bounds (3,), and the names of the links.

        Raises:
            InputError: a bound is not three numbers, the box is empty, or a link does not exist or cannot move.
        """
        bounds = []
        for given in (self.lower, self.upper):
            bounds.append(as_real("workspace", given, "three numbers"))
            check(bounds[-1].shape == (3,), "workspace", "three numbers", given)
            if np.isnan(bounds[-1]).any():
                raise InputError("workspace", "has a bound that is no number", given)
        if not (bounds[0] < bounds[1]).all():
            raise InputError("workspace", f"has nothing between {bounds[0]} and {bounds[1]}", self)
        for link in self.links:
            if robot.link(link).body < 0:
                raise InputError("workspace", f"link {link!r} cannot move", link)
        return bounds[0], bounds[1], self.links or tuple(link.name for link in robot.links if link.body >= 0)
