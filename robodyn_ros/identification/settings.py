"""What is identified, and how, unless told otherwise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from robodyn_ros.checks import finite_array
from robodyn_ros.errors import InputError
from robodyn_ros.robot import Robot
from robodyn_ros.robot.pose import Array
from robodyn_ros.settings import check_settings, choice, setting, switch, whole


@dataclass(frozen=True)
class IdentificationSettings:
    """Settings of :func:`identify`; each field's metadata say what it is. What is not identified stays as it is."""

    inertial: bool = switch(True, "identify masses, first moments and inertias")
    viscous: bool = switch(True, "identify viscous friction")
    coulomb: bool = switch(True, "identify Coulomb friction")
    stribeck: bool = switch(False, "identify static friction and the Stribeck velocity")
    armature: bool = switch(False, "identify what rotors add to the inertia of their joints; a URDF cannot hold it")
    robust: bool = switch(True, "let outliers count less (Huber)")
    huber: float = setting(1.345, "error beyond which a sample counts less, in standard deviations", "-", 0.1, 100.0)
    standstill: float = setting(
        0.01, "share of a joint's greatest speed below which friction hides its effort", "-", 0.0, 0.5
    )
    prior: float = setting(
        1.0, "weight of the URDF's numbers: 1 takes them to be right within a factor of e", "-", 1e-6, 1e6
    )
    folds: int = whole(5, "parts of the samples that are left out in turn for cross-validation", 2, 100)

    def __post_init__(self) -> None:
        check_settings(self)


# How recordings are made into samples, unless told otherwise.

EFFORTS = ("auto", "measured", "commanded")
"""Which effort counts: what the arm measured where it did and what it was told else, or one of the two."""


@dataclass(frozen=True)
class SignalSettings:
    """Settings of :func:`prepare`; each field's metadata say what it is."""

    effort: str = choice("auto", "which effort counts: measured where there is one, or one of the two", lambda: EFFORTS)
    cutoff: float = setting(0.0, "frequency above which nothing counts (0: where positions are noise)", "Hz", 0.0, 1e3)
    gap: float = setting(0.05, "longest time between two messages that belong together", "s", 1e-4, 10.0)
    shortest: float = setting(1.0, "shortest stretch without a gap that is used", "s", 0.1, 1000.0)
    align: bool = switch(True, "find out how much later than recorded the efforts act, and take it out")
    delay: float = setting(0.0, "that time, where it begins to be looked for or is known", "s", -0.5, 0.5)
    average: bool = switch(True, "average over the periods of a motion that repeats")
    period: float = setting(0.0, "period of the motion (0: look whether there is one)", "s", 0.0, 1000.0)
    least_motion: float = setting(0.01, "range of positions below which a joint stands still", "rad or m", 1e-6, 1.0)

    def __post_init__(self) -> None:
        check_settings(self)


# How an exciting motion is made, unless told otherwise.


@dataclass(frozen=True)
class ExcitationSettings:
    """Settings of :func:`excite`; each field's metadata say what it is."""

    period: float = setting(10.0, "period of the motion", "s", 0.1, 1000.0)
    harmonics: int = whole(5, "frequencies in the motion, multiples of that of its period", 2, 50)
    periods: int = whole(3, "how often the motion is made", 1, 1000)
    position_margin: float = setting(0.02, "share of a joint's range to be kept away from its limits", "-", 0.0, 0.45)
    velocity_share: float = setting(0.8, "share of the velocity limits to be used", "-", 0.01, 1.0)
    effort_share: float = setting(0.8, "share of the effort limits to be used, by the URDF's numbers", "-", 0.01, 1.0)
    tries: int = whole(2, "beginnings drawn at random, of which the best result is taken", 1, 1000)
    seed: int = whole(0, "what they are drawn by", 0, 2**31 - 1)

    def __post_init__(self) -> None:
        check_settings(self)


@dataclass(frozen=True)
class Workspace:
    """A box in the root link's frame within which the origins of links stay.

    Attributes:
        lower: (x, y, z) in [m], -inf where there is none.
        upper: likewise, inf where there is none.
        links: names; all that move unless given.
    """

    lower: Sequence[float] = (-np.inf, -np.inf, -np.inf)
    upper: Sequence[float] = (np.inf, np.inf, np.inf)
    links: tuple[str, ...] = ()

    def checked(self, robot: Robot) -> tuple[Array, Array, tuple[str, ...]]:
        """Bounds (3,) and (3,), and the links.

        Raises:
            InputError: not three numbers, none between them, no such link, or one that cannot move.
        """
        bounds = []
        for name, given in (("lower", self.lower), ("upper", self.upper)):
            finite = np.nan_to_num(np.asarray(given, dtype=np.float64), nan=np.nan, posinf=0.0, neginf=0.0)
            finite_array(name, finite, (3,))
            bounds.append(np.asarray(given, dtype=np.float64))
        if not (bounds[0] < bounds[1]).all():
            raise InputError("workspace", f"has nothing between {bounds[0]} and {bounds[1]}", self)
        for link in self.links:
            if robot.link(link).body < 0:
                raise InputError("workspace", f"link {link!r} cannot move", link)
        return bounds[0], bounds[1], self.links or tuple(link.name for link in robot.links if link.body >= 0)
