"""A short motion around where the arm is held, that shows what it holds.

Every joint goes there and back on both sides of where it is held, as far as its limits let it, in another order than
the others: gravity pulls in different directions, and friction, which turns with the velocity, averages out. It begins
and ends at rest where the arm is held.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from robodyn_ros.control.limits import Limits
from robodyn_ros.control.motion.point_to_point import durations, rest_to_rest
from robodyn_ros.control.motion.trajectory import Trajectory
from robodyn_ros.dynamics.base import Dynamics
from robodyn_ros.errors import NotReadyError
from robodyn_ros.robot import Robot
from robodyn_ros.robot.pose import Array
from robodyn_ros.settings import check_settings, setting, switch

LEGS = 8
"""How many waypoints there are before the way back."""

LEAST = 0.2
"""Part of the way that a joint must have room for, to move at all [-]."""

CHECKS = 20
"""How many times of each leg efforts are predicted for."""


@dataclass(frozen=True)
class PayloadSettings:
    """Settings of the estimation of a payload; each field's metadata say what it is."""

    angle: float = setting(0.3, "how far a revolute joint goes to either side", "rad", 0.01, 1.5)
    way: float = setting(0.05, "how far a prismatic joint goes to either side", "m", 0.001, 1.0)
    speed: float = setting(0.25, "greatest speed, as part of the velocity limit", "-", 0.01, 1.0)
    acceleration: float = setting(3.0, "greatest acceleration", "rad/s² or m/s²", 0.01, 100.0)
    margin: float = setting(0.05, "distance kept from the position limits", "rad or m", 0.0, 1.0)
    strain: float = setting(0.9, "greatest effort expected, as part of the effort limit", "-", 0.01, 1.0)
    deviation: float = setting(2.0, "error that ends it, as part of how far the joint goes", "-", 0.1, 100.0)
    adopt: bool = switch(False, "take what was found for the payload.* parameters")

    def __post_init__(self) -> None:
        check_settings(self)

    def distances(self, robot: Robot) -> Array:
        """How far each joint goes to either side, (n,) in [rad] or [m]."""
        return np.array([self.way if joint.is_prismatic else self.angle for joint in robot.joints])


def payload_motion(
    dynamics: Dynamics, held: Array, effort: Array, limits: Limits, config: PayloadSettings
) -> Trajectory:
    """The motion.

    Args:
        dynamics: the arm's model.
        held: where the arm is held, (n,) in [rad] or [m].
        effort: that holds it there, (n,) in [N·m] or [N]. What the model does not explain of it is taken to be needed
            on the way as well.
        limits: of the arm.
        config: settings.

    Raises:
        NotReadyError: there is no room for it, or no effort; the message names the joint.
    """
    robot = dynamics.robot
    most = config.distances(robot)
    above = np.clip(robot.upper - config.margin - held, 0.0, most)
    below = np.clip(held - robot.lower - config.margin, 0.0, most)
    above, below = (np.where(room >= LEAST * most, room, 0.0) for room in (above, below))
    if not (above + below).any():
        raise NotReadyError("no joint has room to move: each is at its position limits")
    leg, joint = np.arange(LEGS)[:, None], np.arange(robot.n)[None, :]
    turn = leg + joint
    side = np.where(turn // 2 ** (joint % 3) % 2 == 0, 1.0, -1.0) * np.where((turn + turn // 2) % 2 == 0, 1.0, 0.5)
    there = held - below + (1.0 + side) / 2.0 * (above + below)
    waypoints = np.vstack([held, there, held])
    speed = np.where(np.isfinite(limits.velocity), config.speed * limits.velocity, np.inf)
    legs = durations(waypoints, speed, config.acceleration)
    kept = np.concatenate([[True], legs > 0.0])
    trajectory = rest_to_rest(waypoints[kept], np.concatenate([[0.0], np.cumsum(legs[legs > 0.0])]))
    unexplained = np.abs(effort - dynamics.gravity(held))
    for t in np.linspace(0.0, trajectory.duration, CHECKS * len(legs)):
        needed = np.abs(dynamics.inverse(*trajectory.sample(t))) + unexplained
        too_much = np.flatnonzero(needed > config.strain * limits.effort)
        if len(too_much):
            joint = robot.joints[too_much[0]]
            raise NotReadyError(
                f"{joint.name} would need about {needed[too_much[0]]:.3g} {joint.effort_unit} on the way, and "
                f"{config.strain:g} of its limit are {config.strain * limits.effort[too_much[0]]:.3g}"
            )
    return trajectory
