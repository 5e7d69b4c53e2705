# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The control loop: everything that a controller node decides, without ROS.

The loop itself is the core in C (``core/core.h``; ``core/loop.c`` shows a period from top to bottom). This module is
its interface in Python: it prepares settings and trajectories, passes them to the core, and translates the core's codes
into messages. Each state gives one command or one error.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Literal, NamedTuple, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike

from robodyn_ros.checks import finite_array
from robodyn_ros.control.compiled_step import REST, CompiledStep
from robodyn_ros.control.contact import Contact
from robodyn_ros.control.core_library import CODES, REACTION, Core
from robodyn_ros.control.core_settings import JUDGE, CoreSettings, StepInPython, make_step
from robodyn_ros.control.drives import DriveCompensation, MitCommand, MitSettings
from robodyn_ros.control.faults.active_fault import ActiveFault, FaultCause
from robodyn_ros.control.faults.sampling import Judgement, StateSampling, check_sampling, judged, sampling_problem
from robodyn_ros.control.faults.settings import Feedback, SafetySettings
from robodyn_ros.control.faults.table import KINDS, FaultReactions
from robodyn_ros.control.laws.base import Controller, Efforts, Reference, what_is_wrong
from robodyn_ros.control.limits import (
    Limits,
    StaticLoad,
    check_position_limits,
    check_static_load,
    overload,
)
from robodyn_ros.control.loop_settings import LoopSettings, law_feedback
from robodyn_ros.control.motion.goals import (
    MODES,
    OUTCOMES,
    Mode,
    Outcome,
    PreparedTrajectory,
    Refused,
    Tolerances,
    TrajectoryGoal,
    joint_columns,
)
from robodyn_ros.control.motion.streams import StreamedTool, StreamSettings
from robodyn_ros.control.motion.trajectory import Trajectory
from robodyn_ros.control.step import Command, checked_total
from robodyn_ros.dynamics.base import Dynamics
from robodyn_ros.engine.c_interface import Record, address_of
from robodyn_ros.errors import (
    EffortError,
    FutureStateError,
    HoldingError,
    InputError,
    JumpError,
    NotReadyError,
    OrderError,
    RobodynError,
    StaleStateError,
)
from robodyn_ros.plugins import raised
from robodyn_ros.robot import Robot
from robodyn_ros.robot.pose import Array

Loop = TypeVar("Loop", bound="ControlLoop")

OVERLOAD_SAMPLES = 21
"""Samples of a trajectory at which gravity and friction are compared with the effort limits before it is followed."""

ToolTarget = Literal["pose", "twist", "wrench"]  #: Kinds of targets that may be streamed to the tool.

TOOL_STATES = ("follows", "unreachable", "detour")
"""States of a streamed tool: it follows; it waits where its path ends; it moves to its target by a detour."""


class ToolStream(NamedTuple):
    """How the tool follows its stream."""

    state: str  # one of :data:`TOOL_STATES`
    distance: float  # from the tool's reference to its target [m]
    angle: float  # likewise [rad]
    delay: float  # after which a pose is due [s]
    is_running: bool


CONTACTS = ("", "collision", "touch")
"""Kinds of contact that the caller may have detected, in the order of ``core_set_contact``."""

_new: Any = tuple.__new__


class ControlLoop:
    """From the states of an arm to the efforts for its drives.

    - A state that is too old, from the future, not finite, of the wrong shape, without velocities, or that jumps gives
      no command. When no usable state has come for ``state_timeout``, :meth:`watch` gives the reaction to that fault.
    - The loop starts at the position of the arm: the first reference is a hold there, and the first effort carries
      the arm. It restarts there whenever the flow of states was interrupted. The states may have paused for
      longer than ``state_timeout`` (a driver restarted, a cable was pulled). Or their time went back: a simulation was
      reset, or a clock was set and the states have been consistent again for ``state_timeout``.
      A restart drops the trajectory or stream, because the arm is no longer where that left it. The same holds after
      every fault. The efforts are blended from the old to the new; they do not step.
    - While an effort is limited, the integral of the error does not wind up, and a trajectory waits.
    - All settings are replaced as a whole between two updates, while the arm moves (:meth:`apply`).

    Attributes:
        settings: the present settings.
        core: the core in C.
        contact: the kind of contact that was reported by :meth:`set_contact`; "" for none.
        requester: carries out a request between two periods, and waits until it is done, while another object runs
            these; else None.
    """

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
        tool: StreamedTool | None = None,
        stream: StreamSettings | None = None,
    ) -> None:
        """
        Args:
            controller: the control law; called once, so that code which it compiles on first use is ready.
            effort_limit: (n,), not negative, in [N·m] or [N]; inf where there is none.
            safety: this, and what is not named here, is as in :class:`.LoopSettings`, with its defaults, no tolerances,
                and the law's own gains for reactions.
            rate_limit: of the effort, (n,) in [N·m/s] or [N/s]; none unless given.
            velocity_limit: (n,) in [rad/s] or [m/s]; the URDF's unless given.
            deceleration: with which a moving arm comes to a hold, (n,) in [rad/s²] or [m/s²]; the URDF's unless given.
                Where neither has one, the reference stops at once.

        Raises:
            InputError: a limit of the wrong shape, negative or NaN.
            NotReadyError: there is no C compiler; the message says how to get one.
        """
        robot = controller.dynamics.robot
        self._begin(
            LoopSettings(
                controller,
                Limits.of(robot, effort_limit, rate_limit, velocity_limit),
                feedback or law_feedback(controller),
                tolerances or Tolerances.none(robot.n),
                safety or SafetySettings(),
                reactions or FaultReactions(),
                None if deceleration is None else np.asarray(deceleration, dtype=np.float64),
                drives,
                contact,
                tool,
                stream or StreamSettings(),
            )
        )

    @classmethod
    def from_settings(cls: type[Loop], settings: LoopSettings) -> Loop:
        """A loop with given settings."""
        made = cls.__new__(cls)
        made._begin(settings)
        return made

    def _begin(self, settings: LoopSettings) -> None:
        n = settings.controller.dynamics.robot.n
        self.settings = settings
        self._kept: list[Any] = []
        self.try_out(settings)
        step = make_step(settings, self._ahead)  # before the core, which may still be compiled
        self.core = Core(n)
        self.requester: Callable[[Record], None] | None = None
        self._is_judged = True
        self._judge = JUDGE(self.judge_rate)
        self._kept = self.core.kept
        self._copy = self.core.structs.make("State")
        self._conflict = self._contact_problem = self.contact = ""
        self._followed = 0
        self._shape = (n,)
        period = self.core.period
        self._q, self._qd, self._has_velocity = period.q.data, period.qd.data, period.has_velocity
        self._has_velocity[...] = 1
        self._times = self.core.times.data
        self._run, self._numbers, self._external = self.core.run, self.core.numbers, period.external
        self._hand_over(settings, step, "CORE_CONTINUE")

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
    def core_settings(self) -> CoreSettings:
        """The settings as the core has them."""
        return cast(CoreSettings, self._kept[-1])

    @property
    def compiled_step(self) -> CompiledStep | None:
        """The control step as compiled code; None while the law runs as Python."""
        return self._step if isinstance(self._step, CompiledStep) else None

    @property
    def restarts(self) -> int:
        """How often the flow of states was interrupted, so that the loop restarted at the arm's position."""
        return int(self.memory().restarts)

    @property
    def mode(self) -> Mode:
        """``waiting`` (for the first state), ``hold``, ``follow`` or ``track``."""
        return MODES[int(self.memory().references.source)]

    @property
    def requests(self) -> int:
        """Number of new references and stops so far."""
        return int(self.memory().references.requests)

    @property
    def fault(self) -> ActiveFault | None:
        """The active fault, if there is one."""
        return ActiveFault.of(self.memory())

    @property
    def fault_count(self) -> int:
        """How many faults there have been."""
        return int(self.memory().faults)

    @property
    def external(self) -> Array | None:
        """External efforts, wrench, energy and mass, (n + 8,), as :class:`.ExternalEfforts`; None if not observed."""
        return None if self.settings.contact is None else self.memory().external.copy()

    def memory(self) -> Any:
        """The struct ``State`` of the core; while another object runs the periods, a copy made between two periods."""
        if self.requester is None:
            return self.core.state
        settings = self.core_settings
        law = settings.law_memory.copy()
        self._ask("SNAPSHOT", object=self._copy.address, result=law)
        settings.step.restore_law(law)
        return self._copy.fields

    # From a state to a command

    def update(self, t: float, now: float, q: ArrayLike, qd: ArrayLike | None) -> Command | None:
        """The command for a state; None after the reaction to a fault has ended, when nothing is sent.

        Args:
            t: when the state was measured [s].
            now: the present time, by the same clock [s].
            q: positions (n,) in [rad] or [m].
            qd: velocities (n,) in [rad/s] or [m/s]; None where the drives measure none.

        Raises:
            StaleStateError: the state is too old, or from the future.
            OrderError: its time is inconsistent with that of the state before.
            JumpError: its position is inconsistent with that of the state before.
            InputError: q or qd is not n finite numbers, or velocities are missing.
            HoldingError: it is the first state, and the limits cannot hold the arm there.
            EffortError: the control law gave no efforts and has given none since the loop was switched on, so that
                there is no effort to begin a reaction with.
        """
        if self._dynamics.parameters is not self._seen:
            self.follow_model()
        times: Any = self._times
        times[0], times[1] = t, now
        try:
            self._q[:] = q
            self._qd[:] = q if qd is None else qd
        except (TypeError, ValueError, BufferError):  # no arrays (n,) of doubles
            self._q[:] = finite_array("q", q, self._shape)
            self._qd[:] = self._q if qd is None else finite_array("qd", qd, self._shape)
        plain = qd is not None and not self._remembers
        code = self._run() if plain else self._run_otherwise(measured=qd is not None)
        if code:
            return self.period_result(code)
        # `tuple.__new__` takes a third of the time that the constructors of named tuples take.
        external = None if self._observes_nothing else self._external.copy()
        command: Command = _new(Command, (self._numbers.copy(), times[2], external, None, "", True))
        return command

    def _run_otherwise(self, *, measured: bool) -> int:
        """A period for a state without velocities, or with a law that has memory."""
        settings = self.core_settings
        self._has_velocity[...] = measured
        settings.law_memory[:] = self._step.law_memory
        code = int(self._run())
        self._has_velocity[...] = 1
        self._step.restore_law(settings.law_memory)
        return code

    def period_result(self, code: int, *, has_state: bool = True) -> Command | None:
        """The result of the latest period if it is no command of the law: a reaction to a fault, None, or an error.

        Raises:
            RobodynError: as :meth:`update`.
        """
        if code == CODES["CORE_SILENT"]:
            return None
        if code in (REACTION, CODES["CORE_SEND"]):
            return self._reaction(has_state=has_state)
        period = self.core.period
        raise self.refusal(code, FaultCause.of(vars(self.core.state)), period.q, period.qd)

    def refusal(self, code: int, cause: FaultCause, q: Array, qd: Array) -> RobodynError:
        """The error with which a state was refused."""
        if code == CODES["CORE_LAW_FAILED"]:
            error = EffortError(self.described("law", cause))
            error.__cause__ = self._step.problem if isinstance(self._step, StepInPython) else None
            return error
        value, bound = cause.value, cause.bound
        name = self.robot.joint_names[cause.joint]
        if code == CODES["CORE_STALE"]:
            return (FutureStateError if value < 0.0 else StaleStateError)(value, bound)
        if code == CODES["CORE_OUT_OF_ORDER"]:
            if cause.joint:
                return OrderError(f"is {value:.3g} s ahead of the clock, further than the ones before")
            return OrderError(f"is {value:.3g} s older than the one before it")
        if code == CODES["CORE_JUMPED"]:
            return JumpError(name, cause.text(self.robot), value)
        if code == CODES["CORE_NO_VELOCITY"]:
            return InputError("velocity", "is missing; the parameter missing_velocity can have it estimated")
        if code == CODES["CORE_STATE_NOT_HELD"]:
            try:
                check_static_load(self.dynamics, self.settings.limits, self._needed(self.settings, q.copy()))
            except HoldingError as problem:  # in more words, with the remedy
                return problem
            return HoldingError(f"effort_limits.{name}: {bound:g} does not hold the arm, which takes {value:.4g}")
        what = "q" if not np.isfinite(q).all() else "qd"
        return InputError(what, f"must be {self.robot.n} finite numbers", q if what == "q" else qd)

    def repeat(self, t: float, now: float) -> Command | None:
        """The command before a state that :meth:`update` dropped with a :class:`JumpError`, to be sent again with the
        stamp of that state, for drives that brake without commands; None if nothing is sent.

        Args:
            t: when that state was measured [s].
            now: the present time, by the same clock [s].
        """
        if not self.core.call("core_repeat", t, now):
            return None
        return Command(self._numbers.copy(), now - t, has_state=False)

    def watch_due(self, rests: float) -> float:
        """Time until :meth:`watch` is due again [s]: a period of the states while it sends, else ``rests``."""
        return float(self.core.call("core_watch_due", rests))

    def watch(self, t: float) -> Command | None:
        """The command while no usable state comes; None if none is due. To be called periodically with the present
        time, by the clock of the states [s].
        """
        return self._reaction(has_state=False) if self.core.call("core_watch", t) == CODES["CORE_SEND"] else None

    def _reaction(self, *, has_state: bool) -> Command:
        """The reaction to a fault, as the latest period computed it."""
        kind, external = KINDS[int(self.core.period.kind)], None if self._observes_nothing else self._external.copy()
        problem = self.problem_of(kind, vars(self.core.state))
        return Command(self._numbers.copy(), float(self._times[2]), external, kind, problem, has_state)

    def problem_of(self, kind: str, members: Any) -> str:
        """The cause of a fault as a message, by the members of the struct ``State``, or of another one with it."""
        cause = FaultCause.of(members)
        problem = self.described(kind, cause) or cause.text(self.robot)
        if members["latched"]:
            settled = self.settings.safety.settled_time
            problem += f" (latched until ~/hold acknowledges it, or {settled:g} s without it)"
        return problem

    def described(self, kind: str, cause: FaultCause) -> str:
        """The cause of a fault as a message, if its details are outside the core; "" if they are not."""
        if kind == "publisher":
            return self._conflict
        if kind in CONTACTS and not cause.kind:
            return self._contact_problem
        if kind == "law":
            law = type(self.controller).__name__
            if isinstance(self._step, StepInPython) and self._step.problem is not None:
                return f"{law}: {raised(self._step.problem)}"
            problem = what_is_wrong(Efforts(*self.core_settings.rows[REST:]), self.robot.n)
            return f"{law}: {problem or 'its model gives no finite numbers'}"
        if kind == "rate":
            memory = self.memory()
            return sampling_problem(self.settings, _sampling(memory), memory.q)[1]
        return ""

    def in_mit_mode(self, command: Command, t: float, settings: MitSettings, q: Array | None = None) -> MitCommand:
        """The command of the latest period, for drives that close a loop of their own.

        Args:
            command: of :meth:`update`, :meth:`watch` or :meth:`final_command`.
            t: its time [s].
            settings: greatest gains.
            q: the latest position by the drives, (n,), if it may differ from the loop's by whole turns.
        """
        at = self.core.state.q.copy() if q is None else np.array(q, dtype=np.float64)
        greatest = np.array(settings.mit_limits)
        return MitCommand(*self.core.mit(t, at, np.ascontiguousarray(command.effort), greatest))

    def judge_rate(self) -> None:
        """Judge which gains the rate of the states allows, by the period and the delay that the core has measured."""
        memory = self.memory()
        with suppress(Exception):  # of a model; if the law uses it too, that becomes a fault of the law
            found: Judgement = judged(self.settings, _sampling(memory), memory.q.copy())
            stiffness, damping = (np.ascontiguousarray(part) for part in found.feedback)
            self._ask("SET_CARRIED", value=found.carried, limit=found.settled_until, numbers=(stiffness, damping))

    # References

    def start(self, t: float, q: ArrayLike) -> None:
        """Hold the arm's position, (n,) in [rad] or [m], at a time [s], and clear everything else; the first update
        does this, too.

        Raises:
            InputError: q is not n finite numbers.
        """
        q = finite_array("q", q, self._shape)
        self._ask("START", t=t, numbers=(q,))

    def hold(self, t: float) -> None:
        """Stop from a time [s] on with the deceleration of the settings (at once if there is none), and hold.

        This acknowledges a latched fault, which then ends as soon as its cause does.

        Raises:
            NotReadyError: no state has come yet.
        """
        self._ask("HOLD_STILL", "hold", t=t)

    def follow(
        self,
        trajectory: Trajectory,
        t_start: float | None = None,
        joints: Sequence[str] | None = None,
        tolerances: Tolerances | None = None,
    ) -> TrajectoryGoal:
        """Follow a trajectory.

        Args:
            trajectory: of the joints named.
            t_start: when its time is 0 [s], now unless given; if that is in the past, the rest is followed.
            joints: names of its joints, in its order; all unless given. The others stay where their reference is.
            tolerances: of this trajectory; those of the settings unless given.

        Returns:
            An object that has the outcome, and a check beforehand whether gravity and friction overload a joint.

        Raises:
            NotReadyError: no state has come yet, or a fault is active.
            InputError: unknown, repeated or too few names; a trajectory that is over; a start that is not finite; an
                end in motion.
            LimitError: the trajectory leaves the position limits, or is too fast, at a point or between two; or it
                has efforts beyond the limits.
        """
        memory = self.memory()
        if memory.active:  # before the slow work
            raise Refused(CODES["CORE_FAULT"], 0, float(memory.active_kind), 0.0).error("trajectory", self.robot)
        return self.follow_prepared(self.prepare(trajectory, t_start, joints), tolerances)

    def prepare(
        self, trajectory: Trajectory, t_start: float | None = None, joints: Sequence[str] | None = None
    ) -> PreparedTrajectory:
        """Do the slow work of :meth:`follow` for a long trajectory, if need be in a thread; the loop does not change.

        Arguments and errors are those of :meth:`follow`.
        """
        columns = joint_columns(self.robot, joints)
        if trajectory.n != len(columns):
            raise InputError("trajectory", f"has {trajectory.n} joints, not {len(columns)}", trajectory)
        start = None if t_start is None else float(finite_array("t_start", t_start, ()))
        check_position_limits("trajectory", self.robot, trajectory.positions, columns)
        settings = self.core_settings
        try:
            now = float(self.memory().time)
            return PreparedTrajectory(self.core, settings.record.address, trajectory, columns, start, now)
        except Refused as refused:
            raise refused.error("trajectory", self.robot) from None

    def follow_prepared(self, prepared: PreparedTrajectory, tolerances: Tolerances | None = None) -> TrajectoryGoal:
        """Follow a prepared trajectory; the time that this takes does not depend on its length.

        Raises:
            NotReadyError: no state has come yet, or a fault is active.
            InputError: the trajectory is over, or the limits have changed since it was prepared.
            LimitError: the path to its next point leaves the limits.
        """
        allowed, settings = tolerances or self.settings.tolerances, self.settings
        numbers = np.concatenate([allowed.path, allowed.goal, [allowed.speed, allowed.time]])
        address = prepared.hand_over()
        if not address:
            again = prepared.trajectory, prepared.start, [self.robot.joint_names[index] for index in prepared.columns]
            address = self.prepare(*again).hand_over()
        self._followed = number = self._followed + 1
        present = self.memory().q.copy()
        try:
            self._ask("FOLLOW", "trajectory", object=address, number=number, numbers=(numbers,))
        finally:  # frees the trajectories that the core no longer needs
            while address := int(self._ask("RETURNED").fields.object):
                self.core.library.core_trajectory_destroy(ctypes.c_void_p(address))
        return TrajectoryGoal(lambda: self._outcome(number), lambda: _overload(settings, prepared, present))

    def _outcome(self, number: int) -> Outcome | None:
        """How a trajectory ended; None if it has not."""
        references = self.memory().references
        place = number % CODES["OUTCOMES"]
        known = int(references.outcome_ids[place]) == number
        outcome = int(references.outcomes[place]) if known else CODES["CORE_SWITCHED_OFF"]
        return None if outcome == CODES["CORE_UNDER_WAY"] else OUTCOMES[outcome - 1]

    def track(self, reference: Reference, t: float, joints: Sequence[str] | None = None) -> None:
        """Use a streamed reference until the next one, for ``stream_timeout`` at most.

        A reference that jumps by more than ``reference_jump`` is rate-limited: the reference follows within the
        velocity limits.

        Args:
            reference: of the joints named, each (m,).
            t: when it came [s].
            joints: names of its joints, in its order; all unless given. The others stay where their reference is.

        Raises:
            NotReadyError: no state has come yet, or a fault is active.
            InputError: unknown, repeated or too few names, wrong shapes, something not finite.
            LimitError: its position, velocity or effort is outside the limits.
        """
        columns, n = joint_columns(self.robot, joints), self.robot.n
        shape = (len(columns),)
        given = [finite_array(f"reference.{key}", values, shape) for key, values in reference._asdict().items()]
        whole, named = np.zeros((len(given), n)), np.zeros(n, dtype=np.int64)
        whole[:, columns], named[columns] = given, 1
        self._ask("TRACK", "reference", t=t, numbers=tuple(whole), joints=named)

    def move_tool(self, what: ToolTarget, numbers: ArrayLike, t: float, stamp: float | None = None) -> None:
        """Take over a streamed target of the tool; every period moves the reference by it (``core/tool.c``).

        Args:
            what: ``pose``, ``twist`` or ``wrench``.
            numbers: in the root link's axes: a pose (4, 4); a twist (6,), the velocity of the tool's origin and its
                angular velocity; a wrench (6,) that the tool exerts in addition, force and torque about its origin.
            t: when it came [s].
            stamp: of a pose [s]; t unless given.

        Raises:
            NotReadyError: no state has come yet, or a fault is active.
            InputError: wrong shapes, something not finite, or the settings name no tool.
        """
        given = finite_array(what, numbers, (4, 4) if what == "pose" else (6,))
        if what == "pose":
            given = np.concatenate((given[:3, 3], given[:3, :3].ravel()))
        when = np.nan if stamp is None else stamp
        self._ask("MOVE_TOOL", what, t=t, number=CODES[f"CORE_{what.upper()}"], value=when, numbers=(given,))

    @property
    def tool_stream(self) -> ToolStream:
        """How the tool follows its stream."""
        memory = self.memory()
        tool = memory.tool
        state, runs = TOOL_STATES[int(tool.state)], int(memory.references.source) == CODES["TOOL"]
        distance, angle = map(float, tool.away)
        return ToolStream(state, distance, angle, float(tool.delay), runs)

    def scale_speed(self, ratio: float) -> None:
        """Follow trajectories at a ratio of their speed, multiplied by ``speed_scaling``, from now on.

        Velocities and accelerations are those of the scaled motion. The ratio itself changes within half a second.

        Raises:
            InputError: it is not within 0 and 1.
        """
        if not 0.0 <= ratio <= 1.0:
            raise InputError("speed_scaling", f"must be within 0 and 1, not {ratio!r}", ratio)
        self._ask("SCALE_SPEED", value=ratio)

    def expected(self, ahead: float) -> tuple[float, Reference]:
        """The time ``ahead`` [s] after the latest state, and the reference then, if no other is given until then.

        Raises:
            NotReadyError: no state has come yet, or a fault is active.
        """
        t, found = float(self.memory().time) + ahead, np.zeros((4, self.robot.n))
        self._ask("EXPECTED", "time", t=t, result=found)
        return t, Reference(*found)

    def _ahead(self, time: float) -> Reference:
        """The reference after a time [s]; a stream is extrapolated at its velocity."""
        if self.mode != "track":
            return self.expected(time)[1]
        now = self.expected(0.0)[1]
        return now._replace(q=now.q + time * now.qd)

    def final_command(self, t: float) -> tuple[Array, bool] | None:
        """The next command of the transition to the final command, at a time by the clock of the states [s]; None if
        nothing is being sent.

        The final command holds the arm at its last position against gravity, for drives that keep their last command.
        The transition respects the limits of efforts and rates. It uses no states, for it takes milliseconds only.

        Returns:
            Efforts (n,) in [N·m] or [N], and True if they are the final command.
        """
        effort = np.zeros(self.robot.n)
        outcome = int(self._ask("FINAL_STEP", t=t, result=effort).fields.outcome)
        return (effort, outcome > 1) if outcome else None

    def stop(self) -> None:
        """Clear everything, and wait for a first state again."""
        self._ask("STOP")

    def tare(self) -> None:
        """Zero the estimate of the external efforts: the present ones are subtracted from now on.

        Raises:
            NotReadyError: contacts are not observed.
        """
        if self.settings.contact is None:
            raise NotReadyError("contacts are not observed: set contact.observe")
        self._ask("TARE")

    def judge_contact(self, efforts: Array, wrench: Array) -> None:
        """:meth:`set_contact` by external efforts (n,) and a wrench (6,) that were estimated outside the core, if these
        change the kind of the contact.
        """
        external, found = np.concatenate((efforts, wrench)), self.core.structs.make("CoreRefusal")
        places = (self.core_settings.record.address, external.ctypes.data, found.address)
        kind = CONTACTS[self.core.library.core_judge_contact(*map(ctypes.c_void_p, places))]
        if kind != self.contact:
            problem = FaultCause(*(value.item() for value in vars(found.fields).values()))
            self.set_contact(kind, problem.text(self.robot) if kind else "")

    def set_contact(self, kind: str, problem: str = "") -> None:
        """Report a contact, ``touch`` or ``collision``, that was detected outside the core, for example by a
        force-torque sensor, with its description; "" for none.
        """
        self.contact, self._contact_problem = kind, problem
        self._ask("SET_CONTACT", number=CONTACTS.index(kind))

    def set_publisher_conflict(self, conflict: str) -> None:
        """Report a conflict of publishers of states, commands or references; "" if there is none."""
        if conflict != self._conflict:
            self._conflict = conflict
            self._ask("SET_CONFLICT", number=bool(conflict))

    def _ask(self, what: str, name: str = "", **arguments: Any) -> Record:
        """Send a request, with members of the struct ``Request``, to the core, between two periods. If the core may
        refuse it, ``name`` is that of the input, for the message.

        Raises:
            RobodynError: the core refuses it.
        """
        request = self.core.structs.make("Request")
        fields = request.fields
        fields.what[...] = CODES[what]
        for key, value in arguments.items():
            if key == "numbers":
                fields.numbers[: len(value)] = [array.ctypes.data for array in value]
            else:
                getattr(fields, key)[...] = value.ctypes.data if isinstance(value, np.ndarray) else value
        (self.requester or self.core.request)(request)
        if name and fields.outcome:
            refusal = int(fields.outcome), int(fields.joint), float(fields.value), float(fields.limit)
            raise Refused(*refusal).error(name, self.robot)
        return request

    # Settings

    def apply(self, settings: LoopSettings, learnt: dict[str, Any] | None = None) -> None:
        """Use other settings from the next update on; the change of the efforts is blended in. The law continues from
        ``learnt``, a result of :meth:`Controller.memory`, or else from its present memory.

        Raises:
            Exception: whatever the control law raises when it is tried out; nothing is changed then.
        """
        before = self.settings
        self.try_out(settings)
        self.memory()  # copies the law's memory from the core to the law
        settings.controller.resume(before.controller)
        if learnt is not None:
            settings.controller.restore(learnt)
        step = make_step(settings, self._ahead)
        how = "CORE_CONTINUE"
        if type(settings.controller) is not type(before.controller):
            how = "CORE_REPLACE"
        elif settings.controller.dynamics is not before.controller.dynamics or _adds(settings) != _adds(before):
            how = "CORE_BLEND"
        self._hand_over(settings, step, how)
        self.settings = settings

    def follow_model(self) -> None:
        """Use the present parameters of the model, if they have changed; :meth:`update` does this, too."""
        if self._dynamics.parameters is self._seen:
            return
        step = self._step
        self.memory()  # copies the law's memory from the core to the law
        if isinstance(step, StepInPython) or not step.read_settings():
            step = make_step(self.settings, self._ahead)
        self._hand_over(self.settings, step, "CORE_REFRESH")

    def _hand_over(self, settings: LoopSettings, step: CompiledStep | StepInPython, how: str) -> None:
        made = CoreSettings(self.core.structs, settings, step, self._judge if self._is_judged else None)
        self._ask("APPLY", object=made.record.address, number=CODES[how])
        self._kept[:] = [*self._kept[-2:], made]
        self._step = step
        self._remembers = len(made.law_memory) > 0
        self._observes_nothing = settings.contact is None
        self._dynamics = settings.controller.dynamics
        self._seen: Any = self._dynamics.parameters

    def release(self, requester: Callable[[Record], None] | None, *, judged: bool = False) -> None:
        """Have other code run the periods from now on; None for code in this thread that calls the core itself.
        Unless the rate of the states is judged at once, the caller has to do that; it need not if that rate is far
        above the need of all gains.
        """
        settings = self.core_settings
        settings.law_memory[:] = self._step.law_memory
        settings.record.fields.judge[...] = address_of(self._judge) if judged else 0
        self.requester, self._is_judged = requester, judged

    def acquire(self) -> None:
        """Run the periods in this object again."""
        settings = self.core_settings
        self._step.restore_law(settings.law_memory)
        settings.record.fields.judge[...] = address_of(self._judge)
        self.requester, self._is_judged = None, True

    @contextmanager
    def run_by_others(self, *, judged: bool) -> Iterator[None]:
        """Context in which other code in this thread calls the core, as :meth:`release`."""
        self.release(None, judged=judged)
        try:
            yield
        finally:
            self.acquire()

    def try_out(self, settings: LoopSettings) -> None:
        """Compute the efforts of a control law at the arm's position, without sending them.

        Raises:
            EffortError: they are not n finite numbers.
            InputError: states come too rarely for its gains or for ``state_timeout``, by more than with the present
                settings.
            HoldingError: the limits cannot hold the arm at its position, by more than the present limits.
            Exception: whatever the law raises.
        """
        law, rest = settings.controller, np.zeros(settings.controller.dynamics.robot.n)
        memory = None if not self._kept else self.memory()
        q = settings.controller.dynamics.robot.home if memory is None else memory.q.copy()
        if memory is not None and self.mode != "waiting":  # else the position of the arm is unknown
            needed, now, before = self._needed(settings, q), self.settings, None
            if memory.gravity_known:  # the limits have to bear as much of it as the present ones, or hold the arm
                carried = now.safety.externally_supported
                present = needed._replace(gravity=np.abs(memory.gravity_last) * (not carried), carried=carried)
                before = present.loads(now.limits)
            check_static_load(law.dynamics, settings.limits, needed, before)
        checked_total(law, law.compute(q, rest, Reference(q, rest, rest, rest)), len(rest))
        known_rate = memory is not None and memory.count >= 2
        sampling = _sampling(memory) if known_rate else StateSampling()
        check_sampling(settings, None if memory is None else self.settings, sampling, q)

    def _needed(self, settings: LoopSettings, q: Array) -> StaticLoad:
        """The efforts that hold the arm at q (n,)."""
        adds = 0.0 if settings.drives is None else settings.drives.gravity
        return StaticLoad.at(settings.controller.dynamics, q, 1.0 - adds, carried=settings.safety.externally_supported)


def _sampling(memory: Any) -> StateSampling:
    """Period and delay of the states, as the core has measured them."""
    return StateSampling(float(memory.period), float(memory.delay), float(memory.carried))


def _overload(settings: LoopSettings, prepared: PreparedTrajectory, present: Array) -> str:
    """Where along a trajectory gravity and friction alone exceed a joint's effort limit; "" if nowhere."""
    if settings.safety.externally_supported:
        return ""
    dynamics, trajectory, columns = settings.controller.dynamics, prepared.trajectory, prepared.columns
    q, qd = np.tile(present, (OVERLOAD_SAMPLES, 1)), np.zeros((OVERLOAD_SAMPLES, len(present)))
    for row, t in enumerate(np.linspace(0.0, trajectory.duration, OVERLOAD_SAMPLES)):
        found = trajectory.sample(t)
        q[row, columns], qd[row, columns] = found.q, found.qd
    friction = dynamics.robot.damping * qd + dynamics.robot.friction * np.sign(qd)
    return overload(dynamics.robot, settings.limits.effort, friction + dynamics.gravity(q))


def _adds(settings: LoopSettings) -> list[list[float]]:
    """The compensation that the drives add by themselves, as lists that can be compared."""
    drives = settings.drives or DriveCompensation.none(settings.controller.dynamics.robot.n)
    return [term.tolist() for term in drives]
