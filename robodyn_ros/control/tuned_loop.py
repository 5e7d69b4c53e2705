"""What a control loop is made of, and what it works by.

Its parts share one tuning, which is swapped as a whole between two updates, while the arm moves.
"""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike

from robodyn_ros.control.answers import Answers, Feedback
from robodyn_ros.control.base import Controller, Reference
from robodyn_ros.control.emergency import Emergency
from robodyn_ros.control.following import Tolerances
from robodyn_ros.control.guardian import Guardian
from robodyn_ros.control.guide import Guide
from robodyn_ros.control.intake import Intake
from robodyn_ros.control.lead import Lead, total
from robodyn_ros.control.limits import Limits, saturate
from robodyn_ros.control.loop_config import LoopConfig
from robodyn_ros.control.reference import Mode
from robodyn_ros.control.shaping import Shaping
from robodyn_ros.control.tuning import Tuning, own_feedback
from robodyn_ros.control.weight import Weight
from robodyn_ros.robot.pose import Array, read_only

Loop = TypeVar("Loop", bound="TunedLoop")


class TunedLoop:
    """The parts of :class:`~robodyn_ros.control.loop.ControlLoop`.

    Attributes:
        tuning: what it works by.
        restarts: how often the flow of states was broken, so that the loop had to start again where the arm was.
    """

    def __init__(
        self,
        controller: Controller,
        effort_limit: ArrayLike,
        config: LoopConfig | None = None,
        *,
        rate_limit: ArrayLike | None = None,
        velocity_limit: ArrayLike | None = None,
        feedback: Feedback | None = None,
        tolerances: Tolerances | None = None,
        answers: Answers | None = None,
    ) -> None:
        """
        Args:
            controller: the control law; called once, so that what it compiles on first use is ready.
            effort_limit: (n,), not negative, in [N·m] or [N]; inf where there is none.
            config: settings, the defaults unless given.
            rate_limit: of the effort, (n,) in [N·m/s] or [N/s]; none unless given.
            velocity_limit: (n,) in [rad/s] or [m/s]; the URDF's unless given.
            feedback: gains of the answers to faults; the law's own unless given.
            tolerances: of trajectories that bring none of their own; none unless given.
            answers: to faults, the defaults unless given.

        Raises:
            InputError: a limit of the wrong shape, negative or NaN.
        """
        robot = controller.dynamics.robot
        self.tuning = Tuning(
            controller,
            Limits.of(robot, effort_limit, rate_limit, velocity_limit),
            feedback or own_feedback(controller),
            tolerances or Tolerances.none(robot.n),
            config or LoopConfig(),
            answers or Answers(),
        )
        self.restarts = 0
        self._q = read_only(np.zeros(robot.n))
        self._intake = Intake(robot)
        self._guide = Guide(robot, self.tuning.limits.velocity)
        self._shaping = Shaping(robot)
        self._weight = Weight(controller.dynamics)
        self._lead = Lead(robot, self._guide, self._shaping, self._weight)
        self._guardian = Guardian(robot, self._shaping, self._weight)
        self.tune(self.tuning)

    @classmethod
    def tuned(cls: type[Loop], tuning: Tuning) -> Loop:
        """A loop that works by something made before."""
        limits = tuning.limits
        return cls(
            tuning.controller,
            limits.effort,
            tuning.config,
            rate_limit=limits.rate,
            velocity_limit=limits.velocity,
            feedback=tuning.feedback,
            tolerances=tuning.tolerances,
            answers=tuning.answers,
        )

    @property
    def controller(self) -> Controller:
        """The control law."""
        return self.tuning.controller

    @property
    def mode(self) -> Mode:
        """``waiting`` (for the first state), ``hold``, ``follow`` or ``track``."""
        return self._guide.mode

    @property
    def fault(self) -> Emergency | None:
        """The fault that lasts, if one does."""
        return self._guardian.emergency

    def tune(self, tuning: Tuning) -> None:
        """Work by something else from the next update on; what that changes of the efforts is blended in.

        Raises:
            Exception: whatever the control law raises when it is called once; nothing is changed then.
        """
        self.attempt(tuning)
        if type(tuning.controller) is not type(self.controller):
            self._lead.begin()
        tuning.controller.resume(self.controller)
        self.tuning = tuning
        self._guide.velocity_limit = tuning.limits.velocity
        self._weight.dynamics = tuning.controller.dynamics
        self._shaping.blend(tuning.config.blend_time)

    def attempt(self, tuning: Tuning) -> None:
        """Have a control law give efforts where the arm is, without sending them.

        Raises:
            EffortError: they are not n finite numbers.
            Exception: whatever the law raises.
        """
        law, still = tuning.controller, np.zeros(len(self._q))
        total(law, law.compute(self._q, still, Reference(self._q, still, still, still)), len(still))

    def stop(self) -> Array | None:
        """Forget everything, and wait for a first state again.

        Returns:
            The effort to part with, (n,) in [N·m] or [N]: what carries the arm where it was last, for drives that keep
            to their last command. None if nothing was being sent.
        """
        parting = None
        if self._shaping.sent is not None:
            parting = saturate(self._weight.known(self._q), self.tuning.limits.effort)[0]
        for part in (self._intake, self._shaping):
            part.forget()
        self._guide.stop()
        self._lead.begin()
        self._guardian.emergency = None
        return parting
