"""The fault supervisor: detects that something is wrong, and reacts for as long as it is.

The reactions are those of :mod:`robodyn_ros.control.faults.settings`.
"""

from __future__ import annotations

import ctypes
from collections import deque
from collections.abc import Sequence
from typing import Any, NamedTuple, cast

import numpy as np

from robodyn_ros.checks import is_any, is_within
from robodyn_ros.control.contact.watch import ContactWatch
from robodyn_ros.control.faults.dead_reckoning import STOP, DeadReckoning
from robodyn_ros.control.faults.plausibility import Plausibility
from robodyn_ros.control.faults.problems import FAR_AWAY, TOO_FAST, FaultCause
from robodyn_ros.control.faults.sampling import SamplingRate
from robodyn_ros.control.faults.settings import (
    PHASES,
    FaultKind,
    FaultReaction,
    FaultReactions,
    Feedback,
    SafetySettings,
)
from robodyn_ros.control.limits import Shaping
from robodyn_ros.control.loop_settings import LoopSettings
from robodyn_ros.control.step import Command, GravityEffort
from robodyn_ros.robot import Robot
from robodyn_ros.robot.pose import Array

ACCELERATION = 150.0
"""Feedback that an arm in order does not ask for [rad/s²] or [m/s²]: a payload that nobody told of takes half of it."""

EFFORT = 0.5
"""The same, in effort limits."""

MOST_BEGINS = 1000
"""How many beginnings of faults are remembered, as in ``../loop.c``: the greatest value of ``recurrences``."""


TRAIL = 32
"""How many positions on the way of the arm are remembered for a retreat, as in ``../loop.c``."""

TRAIL_PERIOD = 0.02
"""Time between two of them [s]."""

EASE = 0.1
"""Time in which a retreat comes to the speed that the arm came with [s]."""

STEEP = 0.03
"""Time of a ramp to zero once a joint is faster than its limit, for then the drives' brakes are better [s]."""


class Fault(NamedTuple):
    """A fault of this moment."""

    kind: FaultKind
    problem: str  # what exactly is wrong
    present: bool = True  # False if it is latched, and its cause is away


class FaultSupervisor:
    """Detects faults, and gives the commands while one lasts.

    Attributes:
        active: the fault that lasts; None while all is well.
        count: how many faults there have been.
        publisher_conflict: what is wrong with the publishers of states, commands or references; "" if nothing is.
    """

    def __init__(
        self,
        robot: Robot,
        shaping: Shaping,
        gravity: GravityEffort,
        sampling: SamplingRate,
        plausibility: Plausibility,
        contact: ContactWatch,
    ) -> None:
        """
        Args:
            robot: the arm.
            shaping: what limits the reactions.
            gravity: what carries the arm.
            sampling: says which gains the states carry.
            plausibility: says whether the states can be true.
            contact: says what touches the arm.
        """
        self.publisher_conflict = ""
        self.count = 0  # of faults
        self._sampling, self._plausibility, self._contact = sampling, plausibility, contact
        self._trail: deque[Array] = deque(maxlen=TRAIL)
        self._trail_time = -np.inf
        self._robot = robot
        self._shaping = shaping
        self._gravity = gravity
        self._reckoning = DeadReckoning(robot, gravity)
        self.reset()

    def apply(self, settings: LoopSettings) -> None:
        """Judge by these settings from now on."""
        self._tolerance = following_tolerance(settings)
        self._fastest = settings.limits.velocity

    def reset(self) -> None:
        """No fault has been."""
        self.forget_trail()
        self.active: ActiveFault | None = None
        self._histories = {kind: FaultHistory() for kind in FaultReactions._fields}

    def forget_trail(self) -> None:
        """Forget the way of the arm: it is not to go back there."""
        self._trail.clear()

    def remember_trail(self, t: float, q: Array) -> None:
        """Remember that the arm is at q (n,) on its way, at a time t [s]."""
        if not self._trail or not 0.0 <= t - self._trail_time < TRAIL_PERIOD:
            self._trail.append(q)
            self._trail_time = t

    def acknowledge(self) -> None:
        """Forget what has been: a latched fault is over as soon as its cause is away."""
        self._histories = {kind: FaultHistory() for kind in FaultReactions._fields}

    def save(self, memory: Any) -> None:
        """Write what it remembers into the memory of ``../loop.c``."""
        memory.conflict[...] = bool(self.publisher_conflict)
        begins = beginnings(memory)
        for index, history in enumerate(self._histories.values()):
            history.save(memory, index, begins[index])
        memory.trail_count[...], memory.trail_time[...] = len(self._trail), self._trail_time
        memory.trail_last[...] = len(self._trail) - 1
        trail = memory.trail.reshape(TRAIL, -1)
        for row, q in zip(trail, self._trail, strict=False):
            row[:] = q
        memory.active[...], memory.faults[...] = self.active is not None, self.count
        self._reckoning.save(memory)
        if self.active is not None:
            self.active.save(memory)

    def restore(self, memory: Any) -> None:
        """Read it from there."""
        begins = beginnings(memory)
        for index, history in enumerate(self._histories.values()):
            history.restore(memory, index, begins[index])
        count, last = int(memory.trail_count), int(memory.trail_last)
        trail = memory.trail.reshape(TRAIL, -1)
        self._trail.clear()
        self._trail.extend(trail[(last - k) % TRAIL].copy() for k in reversed(range(count)))
        self._trail_time = float(memory.trail_time)
        if not memory.active:
            self.active = None
        elif self.active is None or int(memory.faults) != self.count:
            self.active = ActiveFault("states", "hold", 0.0, 0.0, 0.0, memory.found, self._trail)
        self.count = int(memory.faults)
        self._reckoning.restore(memory)
        if self.active is not None:
            self.active.restore(memory)

    def detect(self, t: float, qd: Array, settings: LoopSettings) -> Fault | None:
        """The fault of a usable state with the velocity qd (n,) at time t [s]; None if there is none."""
        if self._plausibility.problem:
            return Fault("sensor", self._plausibility.problem)
        greatest = settings.safety.overspeed * settings.limits.velocity
        if not is_within(qd, greatest):
            joint = int(np.argmax(np.abs(qd) - greatest))
            return Fault("speed", FaultCause(TOO_FAST, joint, qd[joint], greatest[joint]).text(self._robot))
        contact = self._contact.judgement()
        if contact is not None and contact[0] == "speed":
            return Fault("speed", contact[1].text(self._robot))
        if self.publisher_conflict:
            return Fault("publisher", self.publisher_conflict)
        if self._sampling.problem:
            return Fault("rate", self._sampling.problem)
        if self._contact.told or contact is not None:
            told, problem = self._contact.told, self._contact.told_problem
            if contact is not None and told != "collision":
                told, problem = contact[0], contact[1].text(self._robot)
            lasts = self.active is not None and self.active.kind == "collision"  # until it has been quiet
            return Fault("collision" if lasts else cast(FaultKind, told), problem)
        if self._plausibility.strike:
            return Fault("following", self._plausibility.strike)
        if self.active is None:
            return None
        for kind, history in self._histories.items():
            if history.is_latched(t, settings.safety.quiet_time):
                return Fault(cast(FaultKind, kind), "latched", present=False)
        return None

    def check_following(self, error: Array) -> Fault | None:
        """The fault of an arm whose error (n,), reference minus position, is too large; None if it follows."""
        if is_within(error, self._tolerance):
            return None
        joint = int(np.argmax(np.abs(error) - self._tolerance))
        problem = FaultCause(FAR_AWAY, joint, abs(error[joint]), self._tolerance[joint])
        return Fault("following", problem.text(self._robot))

    def react(
        self,
        t: float,
        age: float,
        fault: Fault,
        last: tuple[Array, Array],
        state: tuple[Array, Array] | None,
        settings: LoopSettings,
    ) -> Command | None:
        """The command because of a fault; None if nothing was sent before it, or the reaction has ended.

        Args:
            t: time [s].
            age: of the state, or since the last one [s].
            fault: what is wrong.
            last: position and velocity of the latest usable state, (n,) each.
            state: position and velocity, (n,) each, if there is a state.
            settings: reactions and their gains.
        """
        kind, problem, present = fault
        history, safety, before = self._histories[kind], settings.safety, self.active
        returns = present and before is not None and not before.present
        another = before is None or before.kind != kind
        history.continue_until(t, reacting=not another)
        reaction: FaultReaction = getattr(settings.reactions, kind)
        escalated = (another or returns) and present and history.repeat(t, safety)
        history.latched |= reaction.needs_quiet
        if before is None or another or escalated:
            answer = reaction.escalated(history.level)
            if before is not None and before.phase in ("ramp", "silent"):
                answer = before.phase  # there is no way back from there as long as anything is wrong
            left = np.inf if answer == "wait" else max(reaction.expiry - history.spent, 0.0)
            if before is not None and before.phase == "retreat":
                self.forget_trail()
            fades = answer == "ramp" and reaction.answer != "damp" and (before is None or before.carries)
            carries, part = answer not in ("damp", "ramp") or fades, 1.0 if before is None else before.left
            down, trail = safety.ramp_down_time, self._trail
            self.active = ActiveFault(kind, answer, left, down, t, last[0], trail, part, carries=carries)
            self.count += 1
        active = cast(ActiveFault, self.active)
        active.present, active.latched = present, history.latched
        if present:
            history.seen(t)
        if self._shaping.sent is None:
            return None
        believed = None if kind == "sensor" or self._plausibility.stunned else state
        if believed is None:
            if before is not None and before.blind:
                self._reckoning.advance(t, self._shaping.sent + self._gravity.added)
            elif state is not None:
                self._reckoning.begin(t, *self._plausibility.motion)
            else:  # the drives hold on to the last command
                self._reckoning.begin(t - age, *last)
                self._reckoning.advance(t, self._shaping.sent + self._gravity.added)
        feedback, gravity = self._sampling.feedback, self._gravity
        effort = active.effort(t, gravity, self._reckoning, feedback, self._fastest, believed)
        shaped = self._shaping.shape_reaction(t, effort, self._gravity.added)
        if active.left == 0.0 and not is_any(shaped.rate_limited):
            active.phase = "silent"
            self._shaping.fall_silent(t)
            return None
        if history.latched:
            problem += f" (latched until ~/hold acknowledges it, or {safety.quiet_time:g} s without it)"
        return Command(*shaped, age, fault=kind, problem=problem, state=state)


def beginnings(memory: Any) -> Array:
    """The times at which faults of each kind began, (kinds, most), in the memory of ``../loop.c``."""
    size = len(FaultReactions._fields) * MOST_BEGINS
    found = np.ctypeslib.as_array(ctypes.cast(int(memory.begins), ctypes.POINTER(ctypes.c_double)), (size,))
    return found.reshape(-1, MOST_BEGINS)


def following_tolerance(settings: LoopSettings) -> Array:
    """How far an arm may be from its reference that follows it (n,) in [rad] or [m].

    That is ``following_tolerance``; for a soft law more, because it carries a weight that it does not know by a large
    error: so far that its feedback asks for ``ACCELERATION``, or for ``EFFORT`` of the limit, whichever is less.
    """
    law, limits = settings.controller, settings.limits
    if settings.safety.following_tolerance == 0.0 or not law.follows:
        return np.full(law.dynamics.robot.n, np.inf)
    inertia = np.diagonal(law.dynamics.mass_matrix(law.dynamics.robot.home))
    stiffness = law.kp * (inertia if law.feedback == "acceleration" else 1.0)
    with np.errstate(divide="ignore"):
        soft = np.minimum(ACCELERATION * inertia, EFFORT * limits.effort) / stiffness
    return np.maximum(settings.safety.following_tolerance, soft)


class FaultHistory:
    """What there has been of one kind of fault, until it has been away for a while.

    Attributes:
        latched: True if it lasts until it has been away for a while, or is acknowledged.
        level: by how many levels its reaction has escalated.
        spent: how long the reaction has lasted on this level, over all repetitions [s].
    """

    def __init__(self) -> None:
        self._begins: deque[float] = deque()
        self._seen = self._reacted = -np.inf
        self._forget()

    def _forget(self) -> None:
        self.latched, self.level, self.spent = False, 0, 0.0

    def save(self, memory: Any, index: int, begins: Array) -> None:
        """Write it into the memory of ``../loop.c``: the fault's kind is that index."""
        memory.history_latched[index], memory.level[index], memory.spent[index] = self.latched, self.level, self.spent
        memory.seen[index], memory.reacted[index] = self._seen, self._reacted
        memory.begins_count[index] = len(self._begins)
        begins[: len(self._begins)] = self._begins

    def restore(self, memory: Any, index: int, begins: Array) -> None:
        """Read it from there."""
        self.latched, self.level = bool(memory.history_latched[index]), int(memory.level[index])
        self.spent = float(memory.spent[index])
        self._seen, self._reacted = float(memory.seen[index]), float(memory.reacted[index])
        self._begins = deque(begins[: memory.begins_count[index]].tolist())

    def is_latched(self, t: float, quiet_time: float) -> bool:
        """True if it is latched at a time t [s]; not any more once its cause has been away for a while."""
        self._seen = min(self._seen, t)  # time may go back
        if self.latched and t - self._seen >= quiet_time:
            self._forget()
        return self.latched

    def seen(self, t: float) -> None:
        """Its cause is there, at a time t [s]."""
        self._seen = t

    def continue_until(self, t: float, *, reacting: bool) -> None:
        """The reaction has gone on until t [s], or begins then."""
        if reacting:
            self.spent += max(t - self._reacted, 0.0)
        self._reacted = t

    def repeat(self, t: float, safety: SafetySettings) -> bool:
        """The fault begins again at a time t [s]; True if the reaction escalates."""
        if not 0.0 <= t - self._seen < safety.quiet_time:
            self._forget()
        begins = self._begins
        begins.append(t)
        while not 0.0 <= t - begins[0] <= safety.recurrence_time:
            begins.popleft()
        if len(begins) < safety.recurrences:
            return False
        begins.clear()
        self.latched, self.level, self.spent = True, self.level + 1, 0.0
        return True


class ActiveFault:
    """One fault, from its beginning, and what is sent as long as it lasts.

    Attributes:
        kind: the kind of the fault.
        phase: ``hold``, ``damp``, ``ramp``, or ``silent`` after that.
        present: True as long as its cause is there.
        latched: True if it lasts for a while after that.
        left: what is left of the efforts, of 1 before the ramp to zero.
        carries: True if the weight of the arm is carried, or fades; False for damping alone.
        blind: True if what was sent last was found without a state.
    """

    def __init__(
        self,
        kind: FaultKind,
        answer: str,
        expiry: float,
        ramp_down_time: float,
        t: float,
        q: Array,
        trail: Sequence[Array] = (),
        left: float = 1.0,
        *,
        carries: bool = True,
    ) -> None:
        """
        Args:
            kind: the kind of the fault.
            answer: to it.
            expiry: how long that lasts before the ramp [s].
            ramp_down_time: from then to zero [s].
            t: time [s].
            q: where the arm was last, (n,) in [rad] or [m].
            trail: where it was before, (n,) each, every ``TRAIL_PERIOD``, the latest last.
            left: what the fault before it has left of the efforts.
            carries: whether the weight of the arm is carried.
        """
        self.kind = kind
        self._trail = trail
        self.phase = answer
        self.present = True
        self.latched = False
        self.left, self.carries, self.blind = left, carries, False
        self._begin, self._q = t, q
        self._until = t if answer in ("ramp", "silent") else t + expiry
        self._ramp_down_time, self._ramped = ramp_down_time, self._until

    def save(self, memory: Any) -> None:
        """Write it into the memory of ``../loop.c``."""
        memory.active_kind[...] = FaultReactions._fields.index(self.kind)
        memory.phase[...], memory.present[...], memory.latched[...] = (
            PHASES.index(self.phase),
            self.present,
            self.latched,
        )
        memory.active_begin[...], memory.until[...], memory.found[:] = self._begin, self._until, self._q
        memory.ramp_down_time[...], memory.ramped[...] = self._ramp_down_time, self._ramped
        memory.left[...], memory.carries[...], memory.blind[...] = self.left, self.carries, self.blind

    def restore(self, memory: Any) -> None:
        """Read it from there."""
        self.kind = cast(FaultKind, FaultReactions._fields[int(memory.active_kind)])
        self.phase, self.present, self.latched = PHASES[int(memory.phase)], bool(memory.present), bool(memory.latched)
        self._begin, self._until, self._q = float(memory.active_begin), float(memory.until), memory.found.copy()
        self._ramp_down_time, self._ramped = float(memory.ramp_down_time), float(memory.ramped)
        self.left, self.carries, self.blind = float(memory.left), bool(memory.carries), bool(memory.blind)

    @property
    def found(self) -> Array:
        """Where it holds the arm, (n,) in [rad] or [m]."""
        return self._q

    def blend_time(self, safety: SafetySettings) -> float:
        """Time in which what it sends fades once it is over [s]: no longer than a blind stop, which would turn back."""
        return min(safety.blend_time, STOP) if self.blind else safety.blend_time

    def target(self, t: float) -> Array:
        """Where it is to hold the arm at a time t [s], (n,): on a retreat that goes back the way it came."""
        if self.phase != "retreat" or not self._trail:
            return self._q
        since = t - self._begin
        place = (since - EASE / 2.0 if since > EASE else since * since / (2.0 * EASE)) / TRAIL_PERIOD
        step = int(min(place, len(self._trail)))
        if step == len(self._trail):
            return self._trail[0]
        begin = self._q if step == 0 else self._trail[-step]
        reached: Array = begin + (place - step) * (self._trail[-step - 1] - begin)
        return reached

    def effort(
        self,
        t: float,
        gravity: GravityEffort,
        reckoning: DeadReckoning,
        feedback: Feedback,
        fastest: Array,
        state: tuple[Array, Array] | None = None,
    ) -> Array:
        """What to send, (n,) in [N·m] or [N]; zeros once the ramp has ended.

        Args:
            t: time [s]; if it ran backwards, the fault begins anew.
            gravity: what carries the arm.
            reckoning: where the arm is by its model, if there is no state.
            feedback: gains.
            fastest: the velocity limits (n,).
            state: position and velocity, (n,) each, if there is a state that can be believed.
        """
        if t < self._begin:
            self._until, self._begin, self.left = self._until + (t - self._begin), t, 1.0
            self._ramped = self._until
        if state is not None and self.blind:
            self._q = state[0]
        self.blind = state is None
        q, qd = (reckoning.q, reckoning.qd) if state is None else state
        if t >= self._until:
            self.phase = "ramp"
            time = self._ramp_down_time if is_within(qd, fastest) else min(STEEP, self._ramp_down_time)
            self.left, self._ramped = max(self.left - (t - self._ramped) / time, 0.0), t
            if self.left == 0.0:
                return np.zeros_like(qd)
        damping: Array = -feedback.damping * qd
        if not self.carries:
            return self.left * damping
        if state is None:
            return self.left * reckoning.stop()
        held = gravity.to_send(q)
        if self.phase != "float":
            held = held + feedback.stiffness * (self.target(t) - q)
        return self.left * (held + damping)
