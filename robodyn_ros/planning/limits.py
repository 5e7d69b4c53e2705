"""What a motion has to keep to."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from robodyn_ros.errors import InputError
from robodyn_ros.robot import Robot
from robodyn_ros.robot.pose import Array, read_only

SHARE = 0.9
"""Of the limits of speed and effort that a plan uses unless told otherwise; the rest is left to feedback."""


@dataclass(frozen=True, eq=False)
class Limits:
    """Of n joints; inf where there is none.

    Attributes:
        lower: least positions (n,) in [rad] or [m].
        upper: greatest positions (n,).
        velocity: greatest speeds (n,) in [rad/s] or [m/s].
        acceleration: greatest accelerations (n,) in [rad/s²] or [m/s²].
        effort: greatest efforts (n,) in [N·m] or [N].
    """

    lower: Array
    upper: Array
    velocity: Array
    acceleration: Array
    effort: Array

    @classmethod
    def of(
        cls,
        robot: Robot,
        *,
        share: float = SHARE,
        velocity: ArrayLike | None = None,
        acceleration: ArrayLike | None = None,
        effort: ArrayLike | None = None,
    ) -> Limits:
        """Those of the URDF, or others in their place.

        Args:
            robot: the arm.
            share: of the limits of speed and effort that may be used, above 0 and up to 1.
            velocity: (n,) or one for all, of which the share is taken.
            acceleration: likewise, but all of it is used; none unless given, for a URDF has none.
            effort: likewise, of which the share is taken.

        Raises:
            InputError: a wrong shape, or a limit not above 0.
        """
        if not 0.0 < share <= 1.0:
            raise InputError("share", f"must be above 0 and at most 1, not {share!r}", share)
        return cls(
            robot.lower,
            robot.upper,
            share * _limit("velocity", robot.velocity_limit if velocity is None else velocity, robot),
            _limit("acceleration", np.inf if acceleration is None else acceleration, robot),
            share * _limit("effort", robot.effort_limit if effort is None else effort, robot),
        )


def _limit(name: str, value: ArrayLike, robot: Robot) -> Array:
    given = np.asarray(value, dtype=np.float64)
    if given.shape not in ((), (robot.n,)) or not (given > 0.0).all():
        raise InputError(f"{name} limit", f"must be above 0, one number or {robot.n}, not {value!r}", value)
    return read_only(np.broadcast_to(given, (robot.n,)))
