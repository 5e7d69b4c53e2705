"""The control loop: everything that a controller node decides, without ROS.

:meth:`ControlLoop.update` shows the whole path from a state of the arm to a command. Each state gets one command or one
refusal (an error), never a guess.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial, wraps
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike

from robodyn_ros.checks import finite_array, is_any
from robodyn_ros.control.compiled_loop import CompiledLoop
from robodyn_ros.control.compiled_step import CompiledStep, ControlStep
from robodyn_ros.control.contact.settings import Contact
from robodyn_ros.control.contact.watch import ContactWatch
from robodyn_ros.control.drive_compensation import DriveCompensation
from robodyn_ros.control.faults.holding import Holding, check_holding
from robodyn_ros.control.faults.plausibility import Plausibility
from robodyn_ros.control.faults.sampling import SamplingRate
from robodyn_ros.control.faults.settings import FaultKind, FaultReactions, Feedback, SafetySettings
from robodyn_ros.control.faults.state_validation import StateValidation
from robodyn_ros.control.faults.supervisor import ActiveFault, Fault, FaultSupervisor
from robodyn_ros.control.laws.base import Controller, Reference
from robodyn_ros.control.limits import Limits, Shaping, overload
from robodyn_ros.control.live_loop import LiveLoop
from robodyn_ros.control.loop_settings import LoopSettings, law_feedback
from robodyn_ros.control.motion.mit_mode import MitCommand, MitSettings, mit_command
from robodyn_ros.control.motion.trajectory import Trajectory
from robodyn_ros.control.reference.continuation import Continuation
from robodyn_ros.control.reference.manager import Following, Mode, PreparedTrajectory, ReferenceManager
from robodyn_ros.control.reference.tolerances import Tolerances
from robodyn_ros.control.step import Command, GravityEffort, checked_total
from robodyn_ros.dynamics.base import Dynamics
from robodyn_ros.errors import EffortError, HoldingError, InputError, NotReadyError
from robodyn_ros.plugins import raised
from robodyn_ros.robot import Robot
from robodyn_ros.robot.pose import Array, read_only

log = logging.getLogger("robodyn_ros")

Loop = TypeVar("Loop", bound="ControlLoop")
Method = TypeVar("Method", bound=Callable[..., Any])


def changes(method: Method) -> Method:
    """A method of the loop that changes what it remembers, wherever the memory is."""

    @wraps(method)
    def changed(self: ControlLoop, *args: Any, **named: Any) -> Any:
        if self.live is not None:
            return self.live.change(partial(method, self, *args, **named))
        self._take_back()
        return method(self, *args, **named)

    return cast(Method, changed)


OVERLOAD_SAMPLES = 21
"""Instants of a trajectory at which gravity and friction are compared with the effort limits before it is followed."""


class ControlLoop:
    """From the states of an arm to the efforts for its drives.

    - A state that is too old, from the future, not finite, of the wrong shape, without velocities, or that jumps gives
      no command. When no usable state has come for ``state_timeout``, :meth:`watch` gives the reaction to that fault.
    - The loop starts at the position of the arm: the first reference is a hold there, and gravity ramps in over
      ``ramp_time``. It starts there again whenever the flow of states was broken: their time went back (a simulation
      was reset, or a clock was set and states have continued each other since, for ``state_timeout``) or paused for
      longer than ``state_timeout`` (a driver restarted, a cable was pulled).
      The trajectory or stream is dropped then, because the arm is no longer where that left it. The same holds after
      every fault. The efforts are blended from the old to the new; they do not step.
    - Where an effort is limited, the integral of the error does not wind up, and a trajectory waits.
    - All settings are replaced as a whole between two updates, while the arm moves (:meth:`apply`).

    Attributes:
        settings: what the loop works with.
        restarts: how often the flow of states was broken, so that the loop had to start again at the arm's position.
        runs_in_c: False keeps the loop in Python, where its law is compiled as well.
        live: the loop in C while a thread of its own runs it; None while this object does.
    """

    runs_in_c = True

    def __init__(
        self,
        controller: Controller,
        effort_limit: ArrayLike,
        safety: SafetySettings | None = None,
        *,
        rate_limit: ArrayLike | None = None,
        velocity_limit: ArrayLike | None = None,
        feedback: Feedback | None = None,
        tolerances: Tolerances | None = None,
        reactions: FaultReactions | None = None,
        deceleration: ArrayLike | None = None,
        drives: DriveCompensation | None = None,
        contact: Contact | None = None,
    ) -> None:
        """
        Args:
            controller: the control law; called once, so that what it compiles on first use is ready.
            effort_limit: (n,), not negative, in [N·m] or [N]; inf where there is none.
            safety: timeouts, ramps and thresholds; the defaults unless given.
            rate_limit: of the effort, (n,) in [N·m/s] or [N/s]; none unless given.
            velocity_limit: (n,) in [rad/s] or [m/s]; the URDF's unless given.
            feedback: gains of the reactions to faults; the law's own unless given.
            tolerances: of trajectories that bring none of their own; none unless given.
            reactions: to faults, the defaults unless given.
            deceleration: of a motion that is told to hold, (n,) in [rad/s²] or [m/s²]; it stops at once unless given.
            drives: what they add by themselves; nothing unless given.
            contact: what is observed of contacts; nothing unless given.

        Raises:
            InputError: a limit of the wrong shape, negative or NaN.
        """
        robot = controller.dynamics.robot
        self.settings = LoopSettings(
            controller,
            Limits.of(robot, effort_limit, rate_limit, velocity_limit),
            feedback or law_feedback(controller),
            tolerances or Tolerances.none(robot.n),
            safety or SafetySettings(),
            reactions or FaultReactions(),
            None if deceleration is None else np.asarray(deceleration, dtype=np.float64),
            drives,
            contact,
        )
        self.restarts = 0
        self._clock_reset = False
        self._age = 0.0  # of the latest state [s]
        self._q = self._qd = read_only(np.zeros(robot.n))
        self._validation = StateValidation(robot)
        self._references = ReferenceManager(robot, self.settings.limits.velocity, self.settings.limits.effort)
        self._gravity = GravityEffort(controller.dynamics)
        self._shaping = Shaping(robot)
        self._step = ControlStep(self._references, self._shaping, self._gravity)
        self._sampling = SamplingRate(self.settings)
        self._plausibility = Plausibility(robot, self.settings)
        self._contact = ContactWatch(robot)
        self._supervisor = FaultSupervisor(
            robot, self._shaping, self._gravity, self._sampling, self._plausibility, self._contact
        )
        self._driving: Array | None = None
        self._speed = 1.0  # asked for while the arm moves
        self._mit_gains: tuple[LoopSettings, Feedback] | None = None  # of the law, with these settings
        self.live: LiveLoop | None = None
        self._compiled: CompiledLoop | None = None
        self._to_compile = True
        self.apply(self.settings)

    @classmethod
    def from_settings(cls: type[Loop], settings: LoopSettings) -> Loop:
        """A loop that works with given settings."""
        limits = settings.limits
        return cls(
            settings.controller,
            limits.effort,
            settings.safety,
            rate_limit=limits.rate,
            velocity_limit=limits.velocity,
            feedback=settings.feedback,
            tolerances=settings.tolerances,
            reactions=settings.reactions,
            deceleration=settings.deceleration,
            drives=settings.drives,
            contact=settings.contact,
        )

    @property
    def controller(self) -> Controller:
        """The control law."""
        return self.settings.controller

    @property
    def dynamics(self) -> Dynamics:
        """The arm's model, which the control law uses."""
        return self.settings.controller.dynamics

    @property
    def robot(self) -> Robot:
        """The arm."""
        return self.settings.controller.dynamics.robot

    @property
    def compiled_step(self) -> CompiledStep | None:
        """The control step as compiled code; None while the law runs as Python."""
        return self._step.compiled

    @property
    def step_memory(self) -> Array:
        """What the control step remembers now (:class:`robodyn_ros.control.step_numbers.StepMemory`), as one array."""
        self._take_back()
        memory: Array = self._shaping.numbers.copy()
        return memory

    @property
    def mode(self) -> Mode:
        """``waiting`` (for the first state), ``hold``, ``follow`` or ``track``."""
        self._take_back()
        return self._references.mode

    @property
    def requests(self) -> int:
        """How often the arm was asked for something else than before, or was stopped."""
        self._take_back()
        return self._references.requests

    @property
    def fault(self) -> ActiveFault | None:
        """The fault that lasts, if there is one."""
        if self.live is not None:  # else there is none while the loop runs in C
            self.live.refresh()
        return self._supervisor.active

    @property
    def fault_count(self) -> int:
        """How many faults there have been."""
        self._take_back()
        return self._supervisor.count

    @property
    def external(self) -> Array | None:
        """What acts from outside, (n + 8,): efforts, wrench, energy and mass, as :class:`.ExternalEfforts`; or None."""
        self._take_back()
        return self._contact.external

    # From a state to a command

    def update(self, t: float, now: float, q: ArrayLike, qd: ArrayLike | None) -> Command | None:
        """The command for a state; None where the reaction to a fault has ended, so that nothing is sent.

        Args:
            t: when the state was measured [s].
            now: the time now, by the same clock [s].
            q: positions (n,) in [rad] or [m].
            qd: velocities (n,) in [rad/s] or [m/s]; None where the drives measure none.

        Raises:
            StaleStateError: the state is too old, or from the future.
            OrderError: its time does not follow from that of the one before.
            JumpError: its position does not.
            InputError: it is not n finite numbers each, or has no velocities.
            HoldingError: it is the first, and the limits do not hold the arm there.
            EffortError: the control law gave no efforts and has given none since the loop was switched on: there is no
                effort that a reaction could begin with.
        """
        if self._compiled is not None:
            command = self._compiled.update(t, now, q, qd)
            if command is not None:
                return command
        return self._update(t, now, q, qd)

    # `update` in loop.c is the same in C, around the same compiled control step; test_control_compiled_loop.py compares
    # them. simulation/trial/trial.c calls it, for sweeps.
    def _update(self, t: float, now: float, q: ArrayLike, qd: ArrayLike | None) -> Command | None:
        """:meth:`update` in Python: as long as something is amiss, or the loop cannot be had in C."""
        self._take_back()
        self.compile()
        settings = self.settings
        measured = qd is not None
        q, qd = self._validation.validate(t, now, q, qd, settings.safety)
        dt = t - self._references.time
        if self.mode == "waiting":
            self._check_start(q)
        begins = self._clock_reset or not 0.0 <= dt <= settings.safety.state_timeout
        if begins:
            self._restart(t, q)
            dt = 0.0
        self._q, self._qd = q, qd
        self._note_age(now - t)
        with suppress(Exception):  # of a model: it is a fault of the law, below
            self._sampling.update(t, now - t, q)
            self._plausibility.update(t, q, qd, self._driving, measured=measured)
        self._driving = None
        self._contact.update(dt, q, qd, begins=begins)
        fault = self._supervisor.detect(t, qd, settings)
        if fault is not None:
            return self._react(t, now - t, fault, (q, qd))
        if self.fault is not None:  # it is over: the arm is held where it is
            self._references.start(t, q)
            self._shaping.blend(self.fault.blend_time(settings.safety))
            self._supervisor.forget_trail()
        try:
            reference = self._step.reference(t, dt, q)
            fault = self._supervisor.check_following(reference.q - q)
            if fault is not None:
                return self._react(t, now - t, fault, (q, qd))
            result = self._step.run(t, dt, q, qd, reference)
            self._step.check_tracking(t, q, qd, result.error)
        except Exception as cause:  # of a plugin: whatever it is, there are no efforts
            problem = f"{type(self.controller).__name__}: {raised(cause)}"
            if self.fault is None and self._shaping.sent is None:
                self.stop()
                raise EffortError(problem) from cause
            return self._react(t, now - t, Fault("law", problem), (q, qd))
        self._supervisor.active = None
        ramping = t - self._shaping.memory.switched_on < settings.safety.ramp_time
        applied = result.effort + self._shaping.memory.added
        self._driving, self._contact.applied = None if ramping else applied, applied
        self._supervisor.remember_trail(t, q)
        command = Command(*result[:3], now - t, result.efforts, reference, result.error, state=(q, qd))
        return command._replace(external=self._contact.external)

    def watch(self, t: float) -> Command | None:
        """The command where no usable state comes; None where none is due. To be called all the time.

        Args:
            t: the time now, by the clock of the states [s].
        """
        if self._compiled is not None and not self._compiled.is_missing(t):
            return None
        self._take_back()
        missing = t - self._references.time
        if self.mode == "waiting" or not missing > self.settings.safety.state_timeout:
            return None
        return self._react(t, missing, Fault("states", f"no usable joint states for {missing:.3g} s"))

    def in_mit_mode(self, command: Command, t: float, settings: MitSettings, q: Array | None = None) -> MitCommand:
        """A command that was just given, for drives that close a loop of their own.

        Args:
            command: of :meth:`update` or :meth:`watch`; or of :meth:`part`, without terms.
            t: its time [s].
            settings: greatest gains.
            q: the last position as the drives gave it, (n,), if its turns may be others than the loop's.
        """
        controller = self.settings.controller
        if self._mit_gains is None or self._mit_gains[0] is not self.settings:
            law = law_feedback(controller) if controller.follows else Feedback(*np.zeros((2, self.robot.n)))
            self._mit_gains = self.settings, law
        at = self._q if command.state is None else command.state[0]
        return mit_command(
            command,
            at,
            law=self._mit_gains[1],
            reactions=self.settings.feedback,
            settings=settings,
            turns=np.zeros(self.robot.n) if q is None else np.asarray(q) - at,
            fault=None if command.fault is None else self.fault,
            t=t,
        )

    @changes
    def reset_clock(self) -> None:
        """Accept the next state whatever its time and position: the clock went back, because a simulation was reset."""
        self._clock_reset = True
        self._validation.reset()

    def _check_start(self, q: Array) -> None:
        """Check that the arm can be held at q (n,), before anything is sent.

        Raises:
            HoldingError: it cannot.
        """
        try:
            self._check_holding(self.settings, q)
        except HoldingError:
            raise
        except Exception:  # of a model: that is a fault of the law
            return

    def _note_age(self, age: float) -> None:
        """Note how old the latest state is [s].

        The rate limit counts the time between commands by the stamps of the states. States that queued up are answered
        one right after the other, whatever their stamps say: so the last command counts as sent later by as much. No
        state comes before it is measured: one that is ahead of the clock says that the clock lags, as a simulation's
        does whose messages are late, and not that less time has passed.
        """
        age = max(age, 0.0)
        self._shaping.memory.sent_at[...] -= age - self._age
        self._age = age

    def _restart(self, t: float, q: Array) -> None:
        """Hold where the arm is.

        The efforts go on from what was sent last, unless this is another arm: a simulation that was reset.
        """
        self.restarts += self._references.mode != "waiting"
        if self._clock_reset and is_any(np.abs(q - self._q) > self.settings.safety.position_jump):
            self._shaping.reset()
        self._clock_reset = False
        self._references.start(t, q)
        self._supervisor.forget_trail()
        self._step.reset()
        self._shaping.blend(self.settings.safety.blend_time)

    def _react(self, t: float, age: float, fault: Fault, state: tuple[Array, Array] | None = None) -> Command | None:
        """What is sent because of a fault."""
        self._step.reset()
        self._driving = None
        if state is not None:
            self._references.start(t, state[0])
        command = self._supervisor.react(t, age, fault, (self._q, self._qd), state, self.settings)
        if command is None:
            self._contact.applied = None
            return None
        self._contact.applied = command.effort + self._gravity.added
        return command._replace(external=self._contact.external)

    # The memory, which Python and C hand each other

    def compile(self) -> None:
        """Have the loop in C from the next state on, if it can be had: else the first state waits for the compiler."""
        if not self._to_compile:
            return
        self._to_compile = False
        if not self.runs_in_c or self._step.compiled is None:
            return
        try:
            self._compiled = CompiledLoop(self)
        except NotReadyError as reason:
            log.debug("the loop runs as Python: %s", reason)

    @property
    def compiled(self) -> CompiledLoop | None:
        """The loop in C, made if need be; None where it cannot be had."""
        self.compile()
        return self._compiled

    def _take_back(self) -> None:
        """Have the memory here, not in C."""
        if self.live is not None:
            self.live.refresh()
        elif self._compiled is not None:
            self._compiled.give_back()

    def described(self, kind: FaultKind) -> str:
        """What is wrong, for the kinds of faults that only Python has words for."""
        if kind == "publisher":
            return self._supervisor.publisher_conflict
        if kind in ("collision", "touch"):
            return self._contact.told_problem
        return self._sampling.problem if kind == "rate" else ""

    def lend(self) -> CompiledLoop:
        """The loop in C with all of its memory, for a thread that runs it.

        Raises:
            NotReadyError: it cannot be had in C; the message says why.
        """
        self._take_back()
        if self._compiled is None:
            self._compiled, self._to_compile = CompiledLoop(self), False
        self._compiled.lend()
        return self._compiled

    def save(self, memory: Any, motion: Callable[[Continuation], int]) -> None:
        """Write what the loop remembers into the struct ``State`` of ``loop.c``; ``motion`` as there."""
        self._references.save(memory, memory.sources, motion)
        for part in self._parts:
            part.save(memory)
        memory.restarts[...], memory.clock_reset[...] = self.restarts, self._clock_reset
        memory.q[:], memory.qd[:], memory.state_age[...] = self._q, self._qd, self._age
        memory.driving[...] = self._driving is not None
        if self._driving is not None:
            memory.driving_effort[:] = self._driving

    def restore(self, memory: Any, motion: Callable[[int], Continuation | None]) -> None:
        """Read it from there."""
        self._references.restore(memory, memory.sources, motion)
        for part in self._parts:
            part.restore(memory)
        self.restarts, self._clock_reset = int(memory.restarts), bool(memory.clock_reset)
        self._q, self._qd, self._age = memory.q.copy(), memory.qd.copy(), float(memory.state_age)
        self._driving = memory.driving_effort.copy() if memory.driving else None

    @property
    def _parts(self) -> tuple[Any, ...]:
        """What remembers something that C and Python hand each other."""
        checks = self._validation, self._sampling, self._plausibility, self._contact
        return *checks, self._supervisor, self._step, self._gravity

    def judge_rate(self, memory: Any) -> None:
        """Judge the rate of the states that C has measured, in the struct ``State``."""
        self._sampling.restore(memory)
        self._sampling.assess(memory.q.copy())
        self._sampling.save_judgement(memory)

    # What the arm is to do

    @changes
    def start(self, t: float, q: ArrayLike) -> None:
        """Hold where the arm is, and forget everything else; the first update does this by itself.

        Args:
            t: time of the state [s].
            q: where the arm is, (n,) in [rad] or [m].

        Raises:
            InputError: q is not n finite numbers.
        """
        q = finite_array("q", q, self._q.shape)
        self.stop()
        self._references.start(t, q)

    @changes
    def hold(self, t: float, q: ArrayLike | None = None) -> None:
        """Stop with the deceleration of the settings, at once where they have none, and stay.

        A latched fault is acknowledged by this, so that it is over when its cause is.

        Args:
            t: time [s].
            q: where, at once, (n,) in [rad] or [m]; at the position of the present reference unless given.

        Raises:
            NotReadyError: no state has come yet.
            InputError: q is not n finite numbers.
            LimitError: q is outside the position limits.
        """
        self._references.hold(t, q)
        self._supervisor.acknowledge()
        self._plausibility.acknowledge()

    @changes
    def follow(
        self,
        trajectory: Trajectory,
        t_start: float | None = None,
        joints: Sequence[str] | None = None,
        tolerances: Tolerances | None = None,
    ) -> Following:
        """Follow a trajectory.

        Args:
            trajectory: of the joints named.
            t_start: when its time is 0 [s], now unless given; of one that has begun already, the rest is followed.
            joints: names of its joints, in its order; all unless given. The others stay where their reference is.
            tolerances: what it is judged by; those of the settings unless given.

        Returns:
            An object that says how it goes, and beforehand whether gravity and friction are too much for a joint.

        Raises:
            NotReadyError: no state has come yet, or a fault lasts.
            InputError: unknown, repeated or too few names; a trajectory that is over; a start that is not finite; an
                end in motion.
            LimitError: the trajectory leaves the position limits, or is too fast, at a point or between two; or it
                brings efforts beyond the limits.
        """
        self._refuse_during_fault()
        return self.follow_prepared(self.prepare(trajectory, t_start, joints), tolerances)

    def prepare(
        self, trajectory: Trajectory, t_start: float | None = None, joints: Sequence[str] | None = None
    ) -> PreparedTrajectory:
        """Do all of :meth:`follow` that takes time for a long trajectory, in a thread if need be; nothing changes.

        Arguments and errors are those of :meth:`follow`.
        """
        return self._references.prepare(trajectory, t_start, joints)

    @changes
    def follow_prepared(self, prepared: PreparedTrajectory, tolerances: Tolerances | None = None) -> Following:
        """Follow a prepared trajectory; this takes no longer for a long one.

        Raises:
            NotReadyError: no state has come yet, or a fault lasts.
            InputError: the trajectory is over, or the limits have changed since it was prepared.
            LimitError: the way to its next point leaves the limits.
        """
        self._refuse_during_fault()
        hold_time = self.settings.safety.cmd_timeout or np.inf
        following = self._references.follow(prepared, tolerances or self.settings.tolerances, hold_time)
        if not self.settings.safety.allow_sagging:
            following.judge_load = partial(self._overload, self.settings)
        return following

    def _overload(self, settings: LoopSettings, following: Following) -> str:
        """Where gravity and friction alone are too much for a joint on the way; "" if nowhere."""
        dynamics = settings.controller.dynamics
        q, qd = following.samples(OVERLOAD_SAMPLES)
        friction = dynamics.robot.damping * qd + dynamics.robot.friction * np.sign(qd)
        return overload(dynamics.robot, settings.limits.effort, friction + dynamics.gravity(q))

    @changes
    def track(self, reference: Reference, t: float, joints: Sequence[str] | None = None) -> None:
        """Keep to a streamed reference until the next one, for ``reference_timeout`` at most.

        A reference that jumps by more than ``reference_jump`` is not followed at once: it is led there within the
        velocity limits.

        Args:
            reference: of the joints named, each (m,).
            t: when it came [s].
            joints: names of its joints, in its order; all unless given. The others stay where their reference is.

        Raises:
            NotReadyError: no state has come yet, or a fault lasts.
            InputError: unknown, repeated or too few names, wrong shapes, something not finite.
            LimitError: its position, velocity or effort is outside the limits.
        """
        self._refuse_during_fault()
        safety = self.settings.safety
        self._references.track(reference, t + safety.reference_timeout, joints, safety.reference_jump)

    @changes
    def scale_speed(self, part: float) -> None:
        """Follow trajectories at a part of their speed, on top of ``speed_scaling``, from now on.

        Velocities and accelerations are those of the scaled motion (:mod:`robodyn_ros.control.reference.path_time`).
        The speed itself changes within half a second.

        Raises:
            InputError: it is not within 0 and 1.
        """
        if not 0.0 <= part <= 1.0:
            raise InputError("speed_scaling", f"must be within 0 and 1, not {part!r}", part)
        self._references.scale_speed(part * self.settings.safety.speed_scaling)
        self._speed = part

    def expected(self, ahead: float) -> tuple[float, Reference]:
        """A time that is so far ahead of the latest state [s], and the reference then, if nothing else is asked for.

        Raises:
            NotReadyError: no state has come yet, or a fault lasts.
        """
        self._take_back()
        self._refuse_during_fault()
        t = self._references.time + ahead
        return t, self._references.expected(t)

    @changes
    def part(self, t: float) -> tuple[Array, bool] | None:
        """The next command on the way to the parting one; None if nothing is being sent.

        The parting command carries the arm where it was last, for drives that keep to their last command. The way there
        keeps to the limits of efforts and rates, and takes no states: it is a matter of milliseconds.

        Args:
            t: time by the clock of the states [s].

        Returns:
            Efforts (n,) in [N·m] or [N], and True if they are the parting command.
        """
        if self._shaping.sent is None:
            return None
        to_send = self._gravity.to_send(self._q)
        shaped = self._shaping.shape_reaction(t, to_send, self._gravity.added)
        return shaped.effort, not is_any(shaped.rate_limited)

    @changes
    def stop(self) -> None:
        """Forget everything, and wait for a first state again."""
        self._validation.reset()
        self._shaping.reset()
        self._references.stop()
        self._step.reset()
        self._supervisor.reset()
        self._sampling.reset()
        self._plausibility.acknowledge()
        self._contact.reset()
        self._driving = None

    @changes
    def tare(self, efforts: Array | None = None) -> None:
        """Take what acts from outside for nothing from now on.

        Args:
            efforts: on the joints, as they were observed, (n,) in [N·m] or [N]; those of now unless given.

        Raises:
            NotReadyError: nothing is observed.
            InputError: they are not n finite numbers.
        """
        if self._contact.observer is None:
            raise NotReadyError("contacts are not observed: the value contact.observe says what is")
        self._contact.tare(None if efforts is None else finite_array("efforts", efforts, self._q.shape))

    @changes
    def set_contact(self, kind: str, problem: str = "") -> None:
        """State what contact somebody else has found, such as a force-torque sensor.

        Args:
            kind: ``touch``, ``collision``, or "" for none.
            problem: what exactly that is.
        """
        self._contact.told, self._contact.told_problem = kind, problem

    @property
    def contact(self) -> str:
        """The kind of contact that somebody else has found (:meth:`set_contact`); "" for none."""
        return self._contact.told

    def set_publisher_conflict(self, conflict: str) -> None:
        """State what is wrong with the publishers of states, commands or references; "" if nothing is."""
        if conflict != self._supervisor.publisher_conflict:
            self._change_publisher_conflict(conflict)

    @changes
    def _change_publisher_conflict(self, conflict: str) -> None:
        self._supervisor.publisher_conflict = conflict

    def _refuse_during_fault(self) -> None:
        if self.fault is not None:
            raise NotReadyError(f"the {self.fault.kind} fault lasts: the arm follows nothing")

    # What the loop works with

    @changes
    def apply(self, settings: LoopSettings) -> None:
        """Work with other settings from the next update on; the change of the efforts is blended in.

        Raises:
            Exception: whatever the control law raises when it is tried out; nothing is changed then.
        """
        self.try_out(settings)
        self._compiled, self._to_compile = None, True
        settings.controller.resume(self.controller)
        difference = None
        if type(settings.controller) is not type(self.controller):
            self._step.reset()
        elif settings.controller.dynamics is self.dynamics and _adds(settings) == _adds(self.settings):
            difference = self._step.change(settings.controller)
        self.settings = settings
        self._references.velocity_limit = settings.limits.velocity
        self._references.effort_limit = settings.limits.effort
        self._references.may_end_in_motion = settings.safety.allow_nonzero_velocity_at_trajectory_end
        if settings.deceleration is not None:
            self._references.deceleration = settings.deceleration
        self._references.scale_speed(self._speed * settings.safety.speed_scaling)
        self._gravity.dynamics = settings.controller.dynamics
        self._gravity.sent_part = 1.0 - (settings.drives or DriveCompensation.none(self.robot.n)).gravity
        self._step.apply(settings, self.robot)
        self._sampling.apply(settings)
        self._plausibility.apply(settings)
        self._contact.apply(settings.contact)
        self._supervisor.apply(settings)
        if difference is None:  # another law, or another model
            self._shaping.blend(settings.safety.blend_time)
        else:
            self._shaping.blend_change(difference, settings.safety.blend_time)

    def try_out(self, settings: LoopSettings) -> None:
        """Have a control law give efforts where the arm is, without sending them.

        Raises:
            EffortError: they are not n finite numbers.
            InputError: states come too rarely for its gains or for ``state_timeout``, more so than for those of now.
            HoldingError: the limits do not hold the arm where it is, less so than those of now.
            Exception: whatever the law raises.
        """
        self._take_back()
        law, rest = settings.controller, np.zeros(len(self._q))
        if self.mode != "waiting":  # else nobody knows where the arm is
            self._check_holding(settings, self._q, self._gravity.last)
        checked_total(law, law.compute(self._q, rest, Reference(self._q, rest, rest, rest)), len(rest))
        self._sampling.check(settings, self._q)

    def _check_holding(self, settings: LoopSettings, q: Array, gravity: Array | None = None) -> None:
        """Check that limits hold the arm at q (n,).

        Args:
            settings: with these limits.
            q: position (n,).
            gravity: the effort of gravity that the limits of now have to bear (n,), if any; no less may they bear.

        Raises:
            HoldingError: they do not; the message says what that takes.
        """
        dynamics, now = settings.controller.dynamics, self.settings
        adds = 0.0 if settings.drives is None else settings.drives.gravity
        needed, before = Holding.at(dynamics, q, 1.0 - adds, carried=settings.safety.allow_sagging), None
        if gravity is not None:
            carried = now.safety.allow_sagging
            before = needed._replace(gravity=np.abs(gravity) * (not carried), carried=carried).loads(now.limits)
        check_holding(dynamics, settings.limits, needed, before)


def _adds(settings: LoopSettings) -> list[list[float]]:
    """What the drives add by themselves, to be compared."""
    drives = settings.drives or DriveCompensation.none(settings.controller.dynamics.robot.n)
    return [term.tolist() for term in drives]
