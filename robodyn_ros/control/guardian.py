"""The guardian: sees that something is wrong, and answers for as long as it is."""

from __future__ import annotations

import numpy as np

from robodyn_ros.control.answers import Kind
from robodyn_ros.control.checks import is_within
from robodyn_ros.control.command import Command
from robodyn_ros.control.emergency import Emergency
from robodyn_ros.control.shaping import Shaping
from robodyn_ros.control.tuning import Tuning
from robodyn_ros.control.weight import Weight
from robodyn_ros.robot import Robot
from robodyn_ros.robot.pose import Array


class Guardian:
    """See the module.

    Attributes:
        emergency: the fault that lasts; None while all is well.
        publishers: what is wrong with the publishers of commands or references; "" if nothing is.
    """

    def __init__(self, robot: Robot, shaping: Shaping, weight: Weight) -> None:
        """
        Args:
            robot: the arm.
            shaping: what becomes of the answers.
            weight: what carries the arm.
        """
        self.emergency: Emergency | None = None
        self.publishers = ""
        self._robot = robot
        self._shaping = shaping
        self._weight = weight

    def fault(self, qd: Array, tuning: Tuning) -> tuple[Kind, str] | None:
        """What forbids to go on as usual though the state, with the velocity qd (n,), is good."""
        greatest = tuning.config.overspeed * tuning.limits.velocity
        if not is_within(qd, greatest):
            joint = int(np.argmax(np.abs(qd) - greatest))
            name = self._robot.joint_names[joint]
            return "speed", f"joint {name!r} moves at {qd[joint]:.4g}; {greatest[joint]:.4g} is the limit"
        return ("publisher", self.publishers) if self.publishers else None

    def answer(
        self,
        t: float,
        age: float,
        fault: tuple[Kind, str],
        found: Array,
        state: tuple[Array, Array] | None,
        tuning: Tuning,
    ) -> Command | None:
        """What is sent because of a fault; None if nothing was sent before it, or the answer has come to its end.

        Args:
            t: time [s].
            age: of the state, or since the last one [s].
            fault: its class, and what exactly is wrong.
            found: where the arm was last, (n,).
            state: position and velocity, (n,) each, if there is a state.
            tuning: answers, gains and limits.
        """
        kind, problem = fault
        if self.emergency is None or self.emergency.kind != kind:
            response = getattr(tuning.answers, kind)
            self.emergency = Emergency(kind, response, tuning.config.ramp_down_time, t, found)
        if self._shaping.sent is None:
            return None
        effort = self.emergency.effort(t, self._shaping.sent, self._weight, tuning.feedback, state)
        if effort is None:
            self._shaping.forget()
            return None
        return Command(*self._shaping.urgent(t, effort, tuning), age, fault=kind, problem=problem, state=state)
