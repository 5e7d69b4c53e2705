"""The fault supervisor: detects that something is wrong, and reacts for as long as it is.

The reactions are those of :mod:`robodyn_ros.control.faults.settings`.
"""

from __future__ import annotations

import numpy as np

from robodyn_ros.checks import is_within
from robodyn_ros.control.faults.settings import FaultKind, FaultReaction, Feedback
from robodyn_ros.control.limits import Shaping
from robodyn_ros.control.loop_settings import LoopSettings
from robodyn_ros.control.step import Command, GravityEffort
from robodyn_ros.robot import Robot
from robodyn_ros.robot.pose import Array


class FaultSupervisor:
    """Detects faults, and gives the commands while one lasts.

    Attributes:
        active: the fault that lasts; None while all is well.
        publisher_conflict: what is wrong with the publishers of commands or references; "" if nothing is.
    """

    def __init__(self, robot: Robot, shaping: Shaping, gravity: GravityEffort) -> None:
        """
        Args:
            robot: the arm.
            shaping: what limits the reactions.
            gravity: what carries the arm.
        """
        self.active: ActiveFault | None = None
        self.publisher_conflict = ""
        self._robot = robot
        self._shaping = shaping
        self._gravity = gravity

    def detect(self, qd: Array, settings: LoopSettings) -> tuple[FaultKind, str] | None:
        """The fault of a usable state with the velocity qd (n,): its kind, and what exactly is wrong; None if none."""
        greatest = settings.safety.overspeed * settings.limits.velocity
        if not is_within(qd, greatest):
            joint = int(np.argmax(np.abs(qd) - greatest))
            name = self._robot.joint_names[joint]
            return "speed", f"joint {name!r} moves at {qd[joint]:.4g}; {greatest[joint]:.4g} is the limit"
        return ("publisher", self.publisher_conflict) if self.publisher_conflict else None

    def react(
        self,
        t: float,
        age: float,
        fault: tuple[FaultKind, str],
        found: Array,
        state: tuple[Array, Array] | None,
        settings: LoopSettings,
    ) -> Command | None:
        """The command because of a fault; None if nothing was sent before it, or the reaction has ended.

        Args:
            t: time [s].
            age: of the state, or since the last one [s].
            fault: its kind, and what exactly is wrong.
            found: where the arm was last, (n,).
            state: position and velocity, (n,) each, if there is a state.
            settings: reactions and their gains.
        """
        kind, problem = fault
        if self.active is None or self.active.kind != kind:
            reaction = getattr(settings.reactions, kind)
            self.active = ActiveFault(kind, reaction, settings.safety.ramp_down_time, t, found)
        if self._shaping.sent is None:
            return None
        effort = self.active.effort(t, self._shaping.sent, self._gravity, settings.feedback, state)
        if effort is None:
            self._shaping.fall_silent(t)
            return None
        return Command(*self._shaping.shape_reaction(t, effort), age, fault=kind, problem=problem, state=state)


class ActiveFault:
    """One fault, from its beginning, and what is sent as long as it lasts.

    Attributes:
        kind: the kind of the fault.
        phase: ``hold``, ``damp``, ``ramp``, or ``silent`` after that.
    """

    def __init__(self, kind: FaultKind, reaction: FaultReaction, ramp_down_time: float, t: float, q: Array) -> None:
        """
        Args:
            kind: the kind of the fault.
            reaction: to it.
            ramp_down_time: from then to zero [s].
            t: time [s].
            q: where the arm was last, (n,) in [rad] or [m].
        """
        self.kind = kind
        self.phase = reaction.answer
        self._begin, self._q = t, q
        self._until = t if reaction.answer == "ramp" else t + reaction.expiry
        self._ramp_down_time = ramp_down_time
        self._from: Array | None = None

    def effort(
        self,
        t: float,
        sent: Array,
        gravity: GravityEffort,
        feedback: Feedback,
        state: tuple[Array, Array] | None = None,
    ) -> Array | None:
        """What to send, (n,) in [N·m] or [N]; None once the reaction has ended.

        Args:
            t: time [s]; if it ran backwards, the fault begins anew.
            sent: what was sent last, (n,).
            gravity: what carries the arm.
            feedback: gains.
            state: position and velocity, (n,) each, if there is a state.
        """
        if t < self._begin:
            self._until, self._begin, self._from = self._until + t - self._begin, t, None
        if t < self._until:
            if self.phase == "damp":
                return -feedback.damping * state[1] if state is not None else np.zeros_like(sent)
            weight = gravity.at_or_last(self._q if state is None else state[0])
            if state is None:
                return weight
            held: Array = weight + feedback.stiffness * (self._q - state[0]) - feedback.damping * state[1]
            return held
        if self._from is None:
            self._from, self.phase = sent, "ramp"
        left = 1.0 - (t - self._until) / self._ramp_down_time
        if left <= 0.0:
            self.phase = "silent"
            return None
        return left * self._from
