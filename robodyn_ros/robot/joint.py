"""A joint as the URDF gives it, every default applied."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from robodyn_ros.robot.pose import Array, Pose, read_only

JointType = Literal["revolute", "continuous", "prismatic", "fixed"]


@dataclass(frozen=True)
class Mimic:
    """``position = multiplier * position of joint + offset`` (offset in [rad] or [m])."""

    joint: str
    multiplier: float = 1.0
    offset: float = 0.0


@dataclass(frozen=True, eq=False)
class Joint:
    """A joint between two links. [x] stands for [rad] on a rotating joint and [m] on a prismatic one.

    Attributes:
        name: as in the URDF.
        type: ``revolute``, ``continuous``, ``prismatic`` or ``fixed``.
        parent: name of the link it starts from.
        child: name of the link it moves.
        origin: pose of the joint frame (the child link's frame at position 0) in the parent link's frame.
        axis: unit vector in the joint frame, (3,).
        lower: least position [x], -inf where there is none (continuous joints).
        upper: greatest position [x], inf where there is none.
        velocity: greatest speed [x/s], inf where the URDF names none.
        effort: greatest effort [N·m] or [N], inf where the URDF names none.
        damping: viscous friction [N·m·s/rad] or [N·s/m].
        friction: Coulomb friction [N·m] or [N].
        mimic: what it follows, or None for a joint that moves on its own.
    """

    name: str
    type: JointType
    parent: str
    child: str
    origin: Pose = field(default_factory=Pose)
    axis: Array = field(default_factory=lambda: read_only([1.0, 0.0, 0.0]))
    lower: float = -np.inf
    upper: float = np.inf
    velocity: float = np.inf
    effort: float = np.inf
    damping: float = 0.0
    friction: float = 0.0
    mimic: Mimic | None = None

    @property
    def is_prismatic(self) -> bool:
        """Whether it slides; every other movable joint turns."""
        return self.type == "prismatic"

    @property
    def position_unit(self) -> str:
        """``m`` or ``rad``."""
        return "m" if self.is_prismatic else "rad"

    @property
    def effort_unit(self) -> str:
        """``N`` or ``N·m``."""
        return "N" if self.is_prismatic else "N·m"
