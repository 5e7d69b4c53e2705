"""A fault that lasts, and what is sent meanwhile; the laws are those of :mod:`robodyn_ros.control.answers`."""

from __future__ import annotations

import numpy as np

from robodyn_ros.control.answers import Feedback, Kind, Response
from robodyn_ros.control.weight import Weight
from robodyn_ros.robot.pose import Array


class Emergency:
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
        self, t: float, sent: Array, weight: Weight, feedback: Feedback, state: tuple[Array, Array] | None = None
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
