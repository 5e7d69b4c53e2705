"""What becomes of a state before it is used: its age, its numbers, its velocities, and whether it can be true."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from robodyn_ros.control.checks import finite_array
from robodyn_ros.control.continuity import Continuity
from robodyn_ros.control.loop_config import LoopConfig
from robodyn_ros.control.velocity import VelocityEstimate
from robodyn_ros.errors import InputError, StaleStateError
from robodyn_ros.robot import Robot
from robodyn_ros.robot.configuration import ConfigurationSpace
from robodyn_ros.robot.pose import Array


class Intake:
    """Takes states in, or refuses them."""

    def __init__(self, robot: Robot) -> None:
        """
        Args:
            robot: the arm.
        """
        self._shape = (robot.n,)
        self._space = ConfigurationSpace(robot)
        self._last = np.zeros(robot.n)
        self._continuity = Continuity(robot)
        self._estimate = VelocityEstimate(robot.n)

    def forget(self) -> None:
        """Take the next state without regard to those before."""
        self._continuity.forget()
        self._estimate.forget()

    def take(self, t: float, now: float, q: ArrayLike, qd: ArrayLike | None, config: LoopConfig) -> tuple[Array, Array]:
        """Position and velocity (n,); see :meth:`ControlLoop.update` for arguments and errors."""
        age = now - t
        if not abs(age) <= config.state_timeout:
            raise StaleStateError(age, config.state_timeout)
        # What is kept of it must not follow the caller's array; on a circle it goes on where the last one was.
        position = self._space.near(self._last, finite_array("q", q, self._shape)).copy()
        if qd is not None:
            velocity = finite_array("qd", qd, self._shape).copy()
        elif config.missing_velocity == "refuse":
            raise InputError("velocity", "is missing; the parameter missing_velocity can have it estimated")
        else:
            velocity = self._estimate.update(t, position, config.velocity_filter, config.state_timeout)
        self._continuity.check(t, position, velocity, config.position_jump, config.state_timeout)
        self._last = position
        return position, velocity
