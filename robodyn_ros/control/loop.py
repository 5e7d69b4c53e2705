"""The control loop: all that a controller node decides, without ROS.

Each state of the arm gets one command or one refusal (an error), never a guess, and what goes wrong gets the answer
that :mod:`robodyn_ros.control.faults.reactions` states:

- A state that is too old, from the future, not finite, of the wrong shape, without velocities or that jumps gives no
  command of its own. When there was no usable one for ``state_timeout``, :meth:`ControlLoop.watch` gives the answer.
- The first reference is where the arm is, and gravity ramps in over ``ramp_time``. It starts there again whenever the
  flow of states was broken: its time ran backwards (a simulator restarted, a clock was set) or paused for longer than
  ``state_timeout`` (a driver restarted, a cable was pulled). What was being followed or tracked is dropped then, for
  the arm is no longer where that left it. So it is after every fault; the way back is blended, not a step.
- What the arm is to do, :mod:`robodyn_ros.control.reference.manager` decides; what it takes, the controller; how much
  of it is sent, :mod:`robodyn_ros.control.shaping`.
- Where an effort is cut, the integral of the error does not wind up, and a trajectory waits.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike

from robodyn_ros.checks import finite_array, is_any
from robodyn_ros.control.faults.reactions import FaultReactions, Feedback, Kind
from robodyn_ros.control.faults.state_validation import StateValidation
from robodyn_ros.control.faults.supervisor import ActiveFault, FaultSupervisor
from robodyn_ros.control.laws.base import Controller, Reference
from robodyn_ros.control.limits import Limits, saturate
from robodyn_ros.control.loop_settings import BehaviourSettings, LoopSettings, own_feedback
from robodyn_ros.control.motion.trajectory import Trajectory
from robodyn_ros.control.reference.manager import ReferenceManager
from robodyn_ros.control.reference.references import Mode
from robodyn_ros.control.reference.tolerances import Following, Tolerances
from robodyn_ros.control.shaping import Shaping
from robodyn_ros.control.step import Command, ControlStep, GravityEffort, total
from robodyn_ros.errors import EffortError, NotReadyError
from robodyn_ros.robot.pose import Array, read_only

# What a control loop is made of, and what it works by.
#
# Its parts share one tuning, which is swapped as a whole between two updates, while the arm moves.

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
        config: BehaviourSettings | None = None,
        *,
        rate_limit: ArrayLike | None = None,
        velocity_limit: ArrayLike | None = None,
        feedback: Feedback | None = None,
        tolerances: Tolerances | None = None,
        answers: FaultReactions | None = None,
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
        self.tuning = LoopSettings(
            controller,
            Limits.of(robot, effort_limit, rate_limit, velocity_limit),
            feedback or own_feedback(controller),
            tolerances or Tolerances.none(robot.n),
            config or BehaviourSettings(),
            answers or FaultReactions(),
        )
        self.restarts = 0
        self._q = read_only(np.zeros(robot.n))
        self._intake = StateValidation(robot)
        self._guide = ReferenceManager(robot, self.tuning.limits.velocity)
        self._shaping = Shaping(robot)
        self._weight = GravityEffort(controller.dynamics)
        self._lead = ControlStep(robot, self._guide, self._shaping, self._weight)
        self._guardian = FaultSupervisor(robot, self._shaping, self._weight)
        self.tune(self.tuning)

    @classmethod
    def tuned(cls: type[Loop], tuning: LoopSettings) -> Loop:
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
    def fault(self) -> ActiveFault | None:
        """The fault that lasts, if one does."""
        return self._guardian.emergency

    def tune(self, tuning: LoopSettings) -> None:
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

    def attempt(self, tuning: LoopSettings) -> None:
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


class ControlLoop(TunedLoop):
    """The control loop: all that a controller node decides, without ROS.

    Each state of the arm gets one command or one refusal (an error), never a guess, and what goes wrong gets the answer
    that :mod:`robodyn_ros.control.faults.reactions` states:

    - A state that is too old, from the future, not finite, of the wrong shape, without velocities or that jumps gives
      no command of its own. When there was no usable one for ``state_timeout``, :meth:`ControlLoop.watch` gives the
      answer.
    - The first reference is where the arm is, and gravity ramps in over ``ramp_time``. It starts there again whenever
      the
      flow of states was broken: its time ran backwards (a simulator restarted, a clock was set) or paused for longer
      than
      ``state_timeout`` (a driver restarted, a cable was pulled). What was being followed or tracked is dropped then,
      for the arm is no longer where that left it. So it is after every fault; the way back is blended, not a step.
    - What the arm is to do, :mod:`robodyn_ros.control.reference.manager` decides; what it takes, the controller; how
      much of it is sent, :mod:`robodyn_ros.control.shaping`.
    - Where an effort is cut, the integral of the error does not wind up, and a trajectory waits.
    """

    def beware(self, publishers: str) -> None:
        """Take in what is wrong with the publishers of commands or references; "" if nothing is."""
        self._guardian.publishers = publishers

    def start(self, t: float, q: ArrayLike) -> None:
        """Hold where the arm is, and forget everything else; the first update does it by itself.

        Args:
            t: time of the state [s].
            q: where the arm is, (n,) in [rad] or [m].

        Raises:
            InputError: q is not n finite numbers.
        """
        q = finite_array("q", q, self._q.shape)
        self.stop()
        self._guide.start(t, q)

    def hold(self, t: float, q: ArrayLike | None = None) -> None:
        """Stop at once, and stay.

        Args:
            t: time [s].
            q: where, (n,) in [rad] or [m]; at the position of the present reference unless given.

        Raises:
            NotReadyError: no state has come yet.
            InputError: q is not n finite numbers, or outside the position limits.
        """
        self._guide.hold(t, q)

    def follow(
        self,
        trajectory: Trajectory,
        t_start: float | None = None,
        joints: Sequence[str] | None = None,
        tolerances: Tolerances | None = None,
    ) -> Following:
        """Follow a trajectory; the answer says how it goes.

        Args:
            trajectory: of the joints named.
            t_start: when its time is 0 [s], now unless given; of one that has begun already, the rest is followed.
            joints: names of its joints, in its order; all unless given. The others stay where their reference is.
            tolerances: what it is judged by; those of the tuning unless given.

        Raises:
            NotReadyError: no state has come yet, or a fault lasts.
            InputError: unknown, repeated or too few names; a trajectory that is over; a start that is not finite; an
                end in motion.
            LimitError: the trajectory leaves the position limits, or is too fast, at a point or between two.
        """
        self._refuse_during_fault()
        patience = self.tuning.config.cmd_timeout or np.inf
        return self._guide.follow(trajectory, t_start, joints, tolerances or self.tuning.tolerances, patience)

    def track(self, reference: Reference, t: float, joints: Sequence[str] | None = None) -> None:
        """Keep to a streamed reference until the next one, for ``reference_timeout`` at most.

        Args:
            reference: of the joints named, each (m,).
            t: when it came [s].
            joints: names of its joints, in its order; all unless given. The others stay where their reference is.

        Raises:
            NotReadyError: no state has come yet, or a fault lasts.
            InputError: unknown, repeated or too few names, wrong shapes, something not finite.
            LimitError: its position or its velocity is outside the limits.
        """
        self._refuse_during_fault()
        self._guide.track(reference, t + self.tuning.config.reference_timeout, joints)

    def expected(self, ahead: float) -> tuple[float, Reference]:
        """A time that is so far ahead of the latest state [s], and the reference then, if nothing else is asked for.

        Raises:
            NotReadyError: no state has come yet, or a fault lasts.
        """
        self._refuse_during_fault()
        t = self._guide.time + ahead
        return t, self._guide.expected(t)

    def update(self, t: float, now: float, q: ArrayLike, qd: ArrayLike | None) -> Command | None:
        """The command for a state; None where a fault's answer has come to its end, so that nothing is sent.

        Args:
            t: when the state was measured [s].
            now: the time now, by the same clock [s].
            q: positions (n,) in [rad] or [m].
            qd: velocities (n,) in [rad/s] or [m/s]; None where the drives measure none.

        Raises:
            StaleStateError: the state is too old, or from the future.
            JumpError: it does not follow from the one before.
            InputError: it is not n finite numbers each, or has no velocities.
            EffortError: the control law gave no efforts and has given none since the loop was switched on: there is
                nothing that an answer could begin with.
        """
        tuning = self.tuning
        state = q, qd = self._intake.take(t, now, q, qd, tuning.config)
        dt = t - self._guide.time
        if not 0.0 <= dt <= tuning.config.state_timeout:
            self._begin(t, dt, q)
            dt = 0.0
        self._q = q
        fault = self._guardian.fault(qd, tuning)
        if fault is not None:
            return self._answer(t, now - t, fault, state)
        if self.fault is not None:
            self._guide.start(t, q)
            self._shaping.blend(tuning.config.blend_time)
        try:
            shaped, led = self._lead.command(t, dt, q, qd, tuning)
        except Exception as cause:  # of a plugin: whatever it is, it gave no efforts
            problem = f"{type(self.controller).__name__}: {type(cause).__name__}: {cause}"
            if self.fault is None and self._shaping.sent is None:
                self.stop()
                raise EffortError(problem) from cause
            return self._answer(t, now - t, ("law", problem), state)
        self._guardian.emergency = None
        return Command(*shaped, now - t, *led, state=state)

    def watch(self, t: float) -> Command | None:
        """The command where no usable state comes, to be asked for all the time; None where none is due.

        Args:
            t: the time now, by the clock of the states [s].
        """
        missing = t - self._guide.time
        if self.mode == "waiting" or not missing > self.tuning.config.state_timeout:
            return None
        return self._answer(t, missing, ("states", f"no usable joint states for {missing:.3g} s"))

    def _begin(self, t: float, since: float, q: Array) -> None:
        """Hold where the arm is; from what was sent last, unless it is another arm: a simulation that was reset."""
        self.restarts += self._guide.mode != "waiting"
        if since < 0.0 and is_any(np.abs(q - self._q) > self.tuning.config.position_jump):
            self._shaping.forget()
        self._guide.start(t, q)
        self._lead.begin()
        self._shaping.blend(self.tuning.config.blend_time)

    def _answer(
        self, t: float, age: float, fault: tuple[Kind, str], state: tuple[Array, Array] | None = None
    ) -> Command | None:
        """What is sent because of a fault."""
        self._lead.begin()
        if state is not None:
            self._guide.start(t, state[0])
        return self._guardian.answer(t, age, fault, self._q, state, self.tuning)

    def _refuse_during_fault(self) -> None:
        if self.fault is not None:
            raise NotReadyError(f"the {self.fault.kind} fault lasts: the arm follows nothing")
