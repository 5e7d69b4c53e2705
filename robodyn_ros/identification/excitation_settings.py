"""How an exciting motion is made, unless told otherwise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from robodyn_ros.control.checks import finite_array
from robodyn_ros.control.settings import check_settings, setting, whole
from robodyn_ros.errors import InputError
from robodyn_ros.robot import Robot
from robodyn_ros.robot.pose import Array


@dataclass(frozen=True)
class ExcitationConfig:
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
