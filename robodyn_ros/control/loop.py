# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The control loop: everything that a controller node decides, without ROS.

The loop itself is the core in C (``core/core.h``; ``core/loop.c`` shows a period from top to bottom). Its interface in
Python has three layers: :mod:`.running_core` passes settings to it, :mod:`.reference_manager` references, and this
module states. It translates the core's codes into messages: each state gives one command or one error.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from robodyn_ros import errors
from robodyn_ros.checks import as_real, check_choice, finite_array
from robodyn_ros.control.compiled_step import REST
from robodyn_ros.control.contact import Contact
from robodyn_ros.control.core_library import CODES, REACTION
from robodyn_ros.control.core_settings import StepInPython
from robodyn_ros.control.drives import DriveCompensation, MitCommand, MitSettings
from robodyn_ros.control.faults.active_fault import ActiveFault, FaultCause
from robodyn_ros.control.faults.sampling import sampling_problem
from robodyn_ros.control.faults.settings import Feedback, SafetySettings
from robodyn_ros.control.faults.table import KINDS, FaultReactions
from robodyn_ros.control.laws.base import Controller, Efforts, what_is_wrong
from robodyn_ros.control.limits import Limits, check_static_load
from robodyn_ros.control.loop_settings import LoopSettings, law_feedback
from robodyn_ros.control.motion.goals import Tolerances
from robodyn_ros.control.motion.streams import StreamedTool, StreamSettings
from robodyn_ros.control.reference_manager import ReferenceManager
from robodyn_ros.control.running_core import sampling_of
from robodyn_ros.control.step import Command
from robodyn_ros.plugins import raised
from robodyn_ros.robot.pose import Array

CONTACTS = ("", "collision", "touch")  #: Kinds of contact, in the order of ``core_set_contact``.

_new: Any = tuple.__new__


class ControlLoop(ReferenceManager):
    """From the states of an arm to the efforts for its drives.

    - A state that is too old, from the future, not finite, of the wrong shape, without velocities, or that jumps gives
      no command. When no usable state has come for ``state_timeout``, :meth:`watch` gives the reaction to that fault.
    - The loop starts at the position of the arm: the first reference is a hold there, and the first effort carries it.
      It restarts there, without the trajectory or stream, after every fault and whenever the flow of states was
      interrupted: they paused for longer than ``state_timeout`` (a driver restarted, a cable was pulled), or their time
      went back (a simulation was reset, or a clock was set and the states have been consistent again for
      ``state_timeout``). The efforts are blended from the old to the new; they do not step.
    - While an effort is limited, the integral of the error does not wind up, and a trajectory waits.
    - All settings are replaced as a whole between two updates, while the arm moves (:meth:`apply`).

    Attributes:
        contact: the kind of contact that was reported by :meth:`set_contact`; "" for none.
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
            InputError: a limit of the wrong shape, negative or NaN, or a deceleration that is not above 0.
            NotReadyError: there is no C compiler; the message says how to get one.
        """
        robot = controller.dynamics.robot
        if deceleration is not None:
            given, deceleration = deceleration, as_real("deceleration", deceleration, f"{robot.n} numbers above 0")
            if deceleration.shape != (robot.n,) or not (deceleration > 0.0).all():
                raise errors.InputError("deceleration", f"must be {robot.n} numbers above 0, not {given!r}", given)
        limits = Limits.of(robot, effort_limit, rate_limit, velocity_limit)
        gains, allowed = feedback or law_feedback(controller), tolerances or Tolerances.none(robot.n)
        more = safety or SafetySettings(), reactions or FaultReactions(), deceleration, drives, contact, tool
        self._begin(LoopSettings(controller, limits, gains, allowed, *more, stream=stream or StreamSettings()))

    def _begin(self, settings: LoopSettings) -> None:
        super()._begin(settings)
        self._conflict = self._contact_problem = self.contact = ""
        self._shape = (self.robot.n,)
        period = self.core.period
        self._q, self._qd, self._has_velocity = period.q.data, period.qd.data, period.has_velocity
        self._has_velocity[...] = 1
        self._times = self.core.times.data
        self._run, self._numbers, self._external = self.core.run, self.core.numbers, period.external

    @property
    def restarts(self) -> int:
        """How often the flow of states was interrupted, so that the loop restarted at the arm's position."""
        return int(self.memory().restarts)

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

    def update(self, t: float, now: float, q: ArrayLike, qd: ArrayLike | None) -> Command | None:
        """The command for a state; None after the reaction to a fault has ended, when nothing is sent.

        Args:
            t: when the state was measured [s].
            now: the present time, by the same clock [s].
            q, qd: positions (n,) in [rad] or [m], and velocities per [s]; None where the drives measure none.

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
        return _new(Command, (self._numbers.copy(), times[2], external, None, "", True))

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
        """The result of the latest period if it is no command of the law: a reaction to a fault, None, or an error, as
        of :meth:`update`; or a KeyboardInterrupt of a law in Python.
        """
        step = self._step
        if isinstance(step, StepInPython) and isinstance(step.problem, KeyboardInterrupt):
            step.problem = InterruptedError("by Ctrl-C")  # for the message of the fault; it is raised once
            raise KeyboardInterrupt
        if code == CODES["CORE_SILENT"]:
            return None
        if code in (REACTION, CODES["CORE_SEND"]):
            return self._reaction(has_state=has_state)
        period = self.core.period
        raise self.refusal(code, FaultCause.of(vars(self.core.state)), period.q, period.qd)

    def refusal(self, code: int, cause: FaultCause, q: Array, qd: Array) -> errors.RobodynError:
        """The error with which a state was refused."""
        if code == CODES["CORE_LAW_FAILED"]:
            error = errors.EffortError(self.described("law", cause))
            error.__cause__ = self._step.problem if isinstance(self._step, StepInPython) else None
            return error
        value, bound = cause.value, cause.bound
        name = self.robot.joint_names[cause.joint]
        if code == CODES["CORE_STALE"]:
            return (errors.FutureStateError if value < 0.0 else errors.StaleStateError)(value, bound)
        if code == CODES["CORE_OUT_OF_ORDER"]:
            if cause.joint:
                return errors.OrderError(f"is {value:.3g} s ahead of the clock, further than the ones before")
            return errors.OrderError(f"is {value:.3g} s older than the one before it")
        if code == CODES["CORE_JUMPED"]:
            return errors.JumpError(name, cause.text(self.robot), value)
        if code == CODES["CORE_NO_VELOCITY"]:
            return errors.InputError("velocity", "is missing; the parameter missing_velocity can have it estimated")
        if code == CODES["CORE_STATE_NOT_HELD"]:
            try:
                check_static_load(self.dynamics, self.settings.limits, self._needed(self.settings, q.copy()))
            except errors.HoldingError as problem:  # in more words, with the remedy
                return problem
            text = f"effort_limits.{name}: {bound:g} does not hold the arm, which takes {value:.4g}"
            return errors.HoldingError(text)
        what, given = ("qd", qd) if np.isfinite(q).all() else ("q", q)
        return errors.InputError(what, f"must be {self.robot.n} finite numbers", given)

    def repeat(self, t: float, now: float) -> Command | None:
        """The command before a state that :meth:`update` dropped with a :class:`JumpError`, to be sent again with the
        stamp t of that state at the time ``now`` [s], for drives that brake without commands; None if nothing is sent.
        """
        if not self.core.call("core_repeat", t, now):
            return None
        return Command(self._numbers.copy(), now - t, has_state=False)

    def watch_due(self, rests: float) -> float:
        """Time until :meth:`watch` is due again [s]: a period of the states while it sends, else ``rests``."""
        return float(self.core.call("core_watch_due", rests))

    def watch(self, t: float) -> Command | None:
        """The command due without a usable state at a time of the states [s], or None. To be called periodically."""
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
            return sampling_problem(self.settings, sampling_of(memory), memory.q)[1]
        return ""

    def in_mit_mode(self, effort: Array, t: float, settings: MitSettings, q: Array | None = None) -> MitCommand:
        """The efforts of the latest period (n,), for drives that close a loop of their own.

        Args:
            effort: of :meth:`update`, :meth:`watch` or :meth:`final_command`, at the time t [s] [N·m] or [N].
            settings: greatest gains.
            q: the latest position by the drives, (n,), if it may differ from the loop's by whole turns.
        """
        at = self.core.state.q.copy() if q is None else np.array(q, dtype=np.float64)
        greatest = np.array(settings.mit_limits)
        return MitCommand(*self.core.mit(t, at, np.ascontiguousarray(effort), greatest))

    def final_command(self, t: float) -> tuple[Array, bool] | None:
        """The next command of the transition to the final command, at a time by the clock of the states [s], and True
        if it is the final one; None if nothing is being sent.

        It holds the arm at its last position against gravity, for drives that keep their last command. The transition
        respects the limits of efforts (n,) [N·m] or [N] and rates, and uses no states: it takes milliseconds.
        """
        effort = np.zeros(self.robot.n)
        outcome = int(self._ask("FINAL_STEP", t=t, result=effort).fields.outcome)
        return (effort, outcome > 1) if outcome else None

    def stop(self) -> None:
        """Clear everything, and wait for a first state again."""
        self._ask("STOP")

    def tare(self) -> None:
        """Subtract the present estimate of the external efforts from now on; NotReadyError: there is none."""
        if self.settings.contact is None:
            raise errors.NotReadyError("contacts are not observed: set contact.observe")
        if self.mode == "waiting":
            raise errors.NotReadyError("no valid joint state has come yet: there is no estimate")
        self._ask("TARE")

    def judge_contact(self, efforts: Array, wrench: Array) -> None:
        """Report a contact (:meth:`set_contact`) by external efforts (n,) and a wrench (6,) that were estimated outside
        the core; InputError: they are not n and 6 real numbers.
        """
        external = as_real("efforts, wrench", [*efforts, *wrench], "real numbers")
        if external.shape != (self.robot.n + 6,):
            raise errors.InputError("efforts, wrench", f"must be {self.robot.n} and 6 numbers", external)
        found = self.core.structs.make("CoreRefusal")
        places = (self.core_settings.record.address, external.ctypes.data, found.address)
        kind = CONTACTS[self.core.library.core_judge_contact(*map(ctypes.c_void_p, places))]
        if kind != self.contact:
            problem = FaultCause(*(value.item() for value in vars(found.fields).values()))
            self.set_contact(kind, problem.text(self.robot) if kind else "")

    def set_contact(self, kind: str, problem: str = "") -> None:
        """Report a contact that was found outside, ``touch``, ``collision`` or "" (else InputError), and its text."""
        check_choice("kind", kind, CONTACTS)
        self.contact, self._contact_problem = kind, problem
        self._ask("SET_CONTACT", number=CONTACTS.index(kind))

    def set_publisher_conflict(self, conflict: str) -> None:
        """Report a conflict of publishers of states, commands or references; "" if there is none."""
        if conflict != self._conflict:
            self._conflict = conflict
            self._ask("SET_CONFLICT", number=bool(conflict))
