"""The guardian: sees that something is wrong, and answers for as long as it is."""

from __future__ import annotations

import numpy as np

from robodyn_ros.checks import is_within
from robodyn_ros.control.faults.reactions import Feedback, Kind, Response
from robodyn_ros.control.loop_settings import LoopSettings
from robodyn_ros.control.shaping import Shaping
from robodyn_ros.control.step import Command, GravityEffort
from robodyn_ros.robot import Robot
from robodyn_ros.robot.pose import Array

# A fault that lasts, and what is sent meanwhile; the laws are those of :mod:`robodyn_ros.control.faults.reactions`.


class ActiveFault:
    """One fault, from its beginning: what is sent as long as it lasts.

    Attributes:
        kind: the class of the fault.
        phase: ``hold``, ``damp``, ``ramp``, or ``silent`` after that.
    """

    def __init__(self, kind: Kind, response: Response, ramp_down_time: float, t: float, q: Array) -> None:
        """
        Args:
            kind: the class of the fault.
            response: the answer to it.
            ramp_down_time: from then to zero [s].
            t: time [s].
            q: where the arm was last, (n,) in [rad] or [m].
        """
        self.kind = kind
        self.phase = response.answer
        self._begin, self._q = t, q
        self._until = t if response.answer == "ramp" else t + response.expiry
        self._down = ramp_down_time
        self._from: Array | None = None

    def effort(
        self, t: float, sent: Array, weight: GravityEffort, feedback: Feedback, state: tuple[Array, Array] | None = None
    ) -> Array | None:
        """What to send (n,) [N·m] or [N]; None once it has come to its end.

        Args:
            t: time [s]; if it ran backwards, the fault begins anew.
            sent: what was sent last, (n,).
            weight: of the arm.
            feedback: gains.
            state: position and velocity, (n,) each, if there is a state.
        """
        if t < self._begin:
            self._until, self._begin, self._from = self._until + t - self._begin, t, None
        if t < self._until:
            if self.phase == "damp":
                return -feedback.damping * state[1] if state is not None else np.zeros_like(sent)
            gravity = weight.known(self._q if state is None else state[0])
            if state is None:
                return gravity
            held: Array = gravity + feedback.stiffness * (self._q - state[0]) - feedback.damping * state[1]
            return held
        if self._from is None:
            self._from, self.phase = sent, "ramp"
        left = 1.0 - (t - self._until) / self._down
        if left <= 0.0:
            self.phase = "silent"
            return None
        return left * self._from


class FaultSupervisor:
    """The guardian: sees that something is wrong, and answers for as long as it is.

    Attributes:
        emergency: the fault that lasts; None while all is well.
        publishers: what is wrong with the publishers of commands or references; "" if nothing is.
    """

    def __init__(self, robot: Robot, shaping: Shaping, weight: GravityEffort) -> None:
        """
        Args:
            robot: the arm.
            shaping: what becomes of the answers.
            weight: what carries the arm.
        """
        self.emergency: ActiveFault | None = None
        self.publishers = ""
        self._robot = robot
        self._shaping = shaping
        self._weight = weight

    def fault(self, qd: Array, tuning: LoopSettings) -> tuple[Kind, str] | None:
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
        tuning: LoopSettings,
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
            self.emergency = ActiveFault(kind, response, tuning.config.ramp_down_time, t, found)
        if self._shaping.sent is None:
            return None
        effort = self.emergency.effort(t, self._shaping.sent, self._weight, tuning.feedback, state)
        if effort is None:
            self._shaping.forget()
            return None
        return Command(*self._shaping.urgent(t, effort, tuning), age, fault=kind, problem=problem, state=state)
