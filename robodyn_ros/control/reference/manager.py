"""The reference manager: which reference the arm follows, and how one takes over from another.

There are three kinds: a hold at one position, a trajectory, and a stream of references. Time is that of the states [s].
``proceed``, ``sample`` and ``judge`` in ``../loop.c`` are the same in C.

- There is no reference before the start.
- A reference outside the position limits or faster than the velocity limits is refused and changes nothing; the one
  before it stays. So is a trajectory that would end in motion, unless that is allowed: then its last position is held.
- A short trajectory that ends in motion is a set-point of a stream, as MoveIt Servo sends them. Beyond its last point
  it comes to rest, so that the next one, a little late, finds the reference still moving.
- A motion that is told to hold comes to rest with a given deceleration, or at once where none is given.
- A trajectory goes on from the reference of the moment it starts, so that the reference never jumps. Until its start
  time comes, the reference before it goes on. A newer trajectory, stream or hold replaces one that has not started yet.
- A stream that jumps, by more than ``reference_jump``, is not followed at once: the reference is led there within the
  velocity limits (:mod:`robodyn_ros.control.reference.lead`).
- After its last point a trajectory holds that point. A stream that dries up holds the position of the arm then.
- A trajectory can be told to wait, where the arm cannot keep up with it, and to go on at a part of its speed
  (:mod:`robodyn_ros.control.reference.path_time`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, ClassVar, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike

from robodyn_ros.checks import finite_array, is_any
from robodyn_ros.control.laws.base import Reference
from robodyn_ros.control.limits import (
    SPEED_TOLERANCE,
    check_effort_limits,
    check_position_limits,
    check_velocity_limits,
)
from robodyn_ros.control.motion.trajectory import Sample, Trajectory
from robodyn_ros.control.reference.continuation import Continuation
from robodyn_ros.control.reference.lead import Lead
from robodyn_ros.control.reference.path_time import PathTime
from robodyn_ros.control.reference.tolerances import Tolerances
from robodyn_ros.errors import InputError, LimitError, NotReadyError
from robodyn_ros.robot import Robot
from robodyn_ros.robot.configuration import ConfigurationSpace
from robodyn_ros.robot.pose import Array, read_only
from robodyn_ros.suggestions import is_it

Mode = Literal["waiting", "hold", "follow", "track"]

Outcome = Literal[
    "succeeded", "path tolerance violated", "goal tolerance violated", "replaced", "held", "interrupted", "stopped"
]
"""How a trajectory ended; ``interrupted`` by a fault or by a gap in the states, ``stopped`` with the whole loop."""

OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)

ROUNDING = 1e-7
"""How far beyond a limit a curve between two points may pass for a rounding error [rad] or [m]."""

AT_REST = float(np.finfo(np.float32).eps)
"""Greatest velocity at the end of a trajectory that ends at rest, as joint_trajectory_controller has it [rad/s]."""

SET_POINT = 0.25
"""A trajectory no longer than this is a set-point of a stream [s]."""

REST, LEAST_REST = 0.1, 0.005
"""How long one that ends in motion goes on until it rests [s]; at least, where a position limit is near."""

TICK = 1e-3
"""Durations of stopping are multiples of this [s]."""


class ReferenceManager:
    """Holds the present reference and the next one; the module's text states the rules.

    Attributes:
        time: of the latest state [s].
        velocity_limit: of references, (n,) in [rad/s] or [m/s].
        effort_limit: of feed-forward efforts, (n,) in [N·m] or [N].
        deceleration: of a motion that is told to hold, (n,) in [rad/s²] or [m/s²]; inf stops at once.
        may_end_in_motion: True if a trajectory may end in motion.
        speed: of trajectories, as part of the planned one.
        following: the latest trajectory that was accepted.
        requests: how often the arm was asked for something else than before, or was stopped.
    """

    def __init__(self, robot: Robot, velocity_limit: Array, effort_limit: Array) -> None:
        """
        Args:
            robot: the arm.
            velocity_limit: of references, (n,) in [rad/s] or [m/s].
            effort_limit: of feed-forward efforts, (n,) in [N·m] or [N].
        """
        self.time = -np.inf
        self.velocity_limit, self.effort_limit = velocity_limit, effort_limit
        self.deceleration = np.full(robot.n, np.inf)
        self.may_end_in_motion = False
        self.speed = 1.0
        self.following: Following | None = None
        self.requests = 0
        self._robot = robot
        self._space = ConfigurationSpace(robot)
        self._source: ReferenceSource | None = None
        self._next: tuple[float, TrajectoryReference] | None = None

    @property
    def mode(self) -> Mode:
        """``waiting`` (for the first state), ``hold``, ``follow`` or ``track``."""
        return "waiting" if self._source is None else self._source.mode

    def start(self, t: float, q: Array) -> None:
        """Hold where the arm is, q (n,), at time t [s], and forget everything else."""
        self._end("interrupted")
        self.time, self._source, self._next = t, HoldReference(q), None

    def stop(self) -> None:
        """Forget everything, and wait to be started."""
        self._end("stopped")
        self.time, self._source, self._next = -np.inf, None, None

    def hold(self, t: float, q: ArrayLike | None = None) -> None:
        """Stop, and stay (:meth:`robodyn_ros.control.loop.ControlLoop.hold`)."""
        source = self._started()
        begin = max(t, self.time)
        now = Sample(*source.sample(begin)[:3])
        if q is not None:
            q = finite_array("q", q, (self._robot.n,))
            check_position_limits("q", self._robot, q, self._columns(None))
            self._source = HoldReference(self._space.near(now.q, q))
        else:
            self._source = self._stopping(begin, now)
        self._next = None
        self._end("held")

    def _stopping(self, begin: float, now: Sample) -> ReferenceSource:
        """Come to rest from a motion at a time [s], each joint with its deceleration, and sooner before its limit."""
        lower, upper = np.minimum(self._robot.lower, now.q), np.maximum(self._robot.upper, now.q)
        room, speed = np.where(now.qd > 0.0, upper - now.q, now.q - lower), np.abs(now.qd)
        longest = 2.0 * room / np.maximum(speed, AT_REST)
        # Whole ticks, so that no two joints come to rest almost at the same time: between them there would be no curve.
        durations = TICK * np.minimum(np.ceil(speed / self.deceleration / TICK), np.floor(longest / TICK))
        durations[speed < AT_REST] = 0.0
        stops = durations > 0.0
        if not stops.any():
            return HoldReference(now.q)
        times = np.concatenate(([0.0], np.unique(durations[stops])))
        braked = np.minimum(times[:, np.newaxis], durations)  # how long each joint has braked
        rate = np.where(stops, now.qd, 0.0)
        slowing = rate / np.where(stops, durations, 1.0)
        positions = now.q + rate * braked - slowing * braked**2 / 2.0
        stop = Trajectory(times, positions, rate - slowing * braked)
        whole = Continuation(stop, self._columns(None), 0.0, now._replace(qd=rate), self._space)
        return StoppingReference(whole, begin)

    def prepare(
        self, trajectory: Trajectory, t_start: float | None, joints: Sequence[str] | None
    ) -> PreparedTrajectory:
        """Check a trajectory as far as that does not depend on the motion of the arm.

        It changes nothing, and may be called in another thread: a long trajectory takes a while.
        """
        columns = self._columns(joints)
        if trajectory.n != len(columns):
            raise InputError("trajectory", f"has {trajectory.n} joints, not {len(columns)}", trajectory)
        check_position_limits("trajectory", self._robot, trajectory.positions, columns)
        if trajectory.planned is not None:
            most = np.abs(trajectory.planned.efforts).max(axis=0)
            check_effort_limits("trajectory, effort", self._robot, self.effort_limit, most, columns)
        trajectory = self._brought_to_rest(trajectory, columns)
        if (
            not self.may_end_in_motion
            and trajectory.velocities is not None
            and is_any(np.abs(trajectory.velocities[-1]) > AT_REST)
        ):
            text = f"does not end at rest, but at {trajectory.velocities[-1]}; to take it all the same, set "
            raise InputError("trajectory", f"{text}allow_nonzero_velocity_at_trajectory_end", trajectory)
        start = None if t_start is None else float(finite_array("t_start", t_start, ()))
        limit = self.velocity_limit
        first = trajectory.later(0.0 if start is None else max(0.0, self.time - start))
        self._check_curve(trajectory, first, columns, self._robot.lower, self._robot.upper, limit)
        return PreparedTrajectory(trajectory, columns, start, limit)

    def _brought_to_rest(self, trajectory: Trajectory, columns: list[int]) -> Trajectory:
        """A set-point of a stream that ends in motion, with its way to rest; any other trajectory as it is.

        ``brought_to_rest`` in ``../export/ros2_control/src/references.c`` is the same.
        """
        if trajectory.velocities is None or trajectory.planned is not None or trajectory.duration > SET_POINT:
            return trajectory
        q, qd = trajectory.positions[-1], trajectory.velocities[-1]
        speed = np.abs(qd)
        room = np.where(qd > 0.0, self._robot.upper[columns] - q, q - self._robot.lower[columns])
        time = min(REST, float((2.0 * room / np.maximum(speed, AT_REST)).min()))
        if time < LEAST_REST or not is_any(speed > AT_REST):
            return trajectory
        rows = trajectory.velocities, trajectory.accelerations
        still = (None if row is None else np.concatenate((row, np.zeros((1, len(q))))) for row in rows)
        end = np.append(trajectory.times, trajectory.duration + time)
        return Trajectory(end, np.concatenate((trajectory.positions, [q + time * qd / 2.0])), *still)

    def follow(self, prepared: PreparedTrajectory, tolerances: Tolerances, hold_time: float) -> Following:
        """Follow a trajectory (:meth:`robodyn_ros.control.loop.ControlLoop.follow`).

        ``hold_time`` is how long its last point is held [s].
        """
        source = self._started()
        if not np.array_equal(prepared.velocity_limit, self.velocity_limit):
            raise InputError("trajectory", "the velocity limits changed while it was prepared: send it again")
        start = self.time if prepared.start is None else prepared.start
        begin = max(start, self.time)
        if isinstance(source, StreamedReference) and source.end <= begin:
            # Where the arm will be when the stream dries up cannot be known yet, so it is held from now on.
            source = HoldReference(source.sample(begin).q)
        before = Sample(*source.sample(begin)[:3])
        motion = Continuation(prepared.trajectory, prepared.columns, begin - start, before, self._space)
        # A start outside the limits widens them, so that the arm can come back.
        lower, upper = np.minimum(self._robot.lower, before.q), np.maximum(self._robot.upper, before.q)
        self._check_curve(motion.way, 0, self._columns(None), lower, upper, self.velocity_limit)
        # At once at the scaled speed, unless the arm is moving: then q' would have to jump.
        speed = 1.0 if before.qd.any() else self.speed
        follow = TrajectoryReference(motion, start, hold_time, PathTime(begin, begin - start, speed, self.speed))
        self._source, self._next = source, (begin, follow)
        self._end("replaced")
        self.following = Following(follow, tolerances)
        self._proceed(source, self.time, before.q)
        return self.following

    def track(self, reference: Reference, end: float, joints: Sequence[str] | None, jump: float) -> None:
        """Keep to a streamed reference until ``end`` [s] (:meth:`robodyn_ros.control.loop.ControlLoop.track`).

        A reference that is further than ``jump`` [rad] or [m] from the present one is reached within the limits.
        """
        source = self._started()
        columns = self._columns(joints)
        shape = (len(columns),)
        given = [finite_array(f"reference.{key}", values, shape) for key, values in reference._asdict().items()]
        check_position_limits("reference", self._robot, given[0], columns)
        check_velocity_limits("reference, speed", self._robot, self.velocity_limit, given[1], columns)
        check_effort_limits("reference, effort", self._robot, self.effort_limit, given[3], columns)
        present = source.sample(self.time)
        whole = np.zeros((len(given), self._robot.n))
        whole[0] = present.q
        whole[:, columns] = given
        whole[0] = self._space.near(present.q, whole[0])
        for index in np.flatnonzero((np.abs(whole[0] - present.q) > jump) & np.isinf(self.velocity_limit)):
            name, value = self._robot.joint_names[index], whole[0, index]
            text = f"joint {name!r} jumps from {present.q[index]:.6g} to {value:.6g}, and has no velocity limit"
            raise InputError("reference", f"{text} within which it could be led there", value)
        if isinstance(source, StreamedReference):
            lead = source.lead
        else:
            lead = Lead(self.time, present.q, present.qd, self.velocity_limit, jump)
        lead.aim(Reference(*map(read_only, whole)), self.time)
        self._source, self._next = StreamedReference(lead, end), None
        self._end("replaced")

    def save(self, memory: Any, sources: Any, motion: Callable[[Continuation], int]) -> None:
        """Write what it remembers into the memory of ``../loop.c``.

        Args:
            memory: the struct ``State``.
            sources: the struct ``Sources``.
            motion: gives the address of a trajectory there.
        """
        source, following = self._source, self.following
        memory.time[...], sources.requests[...] = self.time, self.requests
        sources.source[...] = SOURCES.index(type(source))
        if source is not None:
            sources.end[...] = source.end
        if isinstance(source, HoldReference):
            sources.hold_q[:] = source.sample(self.time).q
        elif isinstance(source, TrajectoryReference):
            sources.motion[...] = motion(source.motion)
            sources.start[...], sources.hold_time[...] = source.start, source.hold_time
            _save_time(sources.time, source.time)
        elif isinstance(source, StreamedReference):
            source.lead.save(sources)
        sources.has_next[...] = self._next is not None
        if self._next is not None:
            begin, then = self._next
            sources.next_motion[...], sources.next_begin[...] = motion(then.motion), begin
            sources.next_start[...], sources.next_end[...] = then.start, then.end
            sources.next_hold_time[...] = then.hold_time
            _save_time(sources.next_time, then.time)
        judged = following is not None and following.outcome is None
        sources.following[...], sources.outcome[...] = int(judged), 0
        if following is not None and judged:
            if self._next is not None and following.source is self._next[1]:
                sources.following[...] = 2
            sources.following_start[...], sources.following_end[...] = following.source.start, following.source.end
            allowed = following.tolerances
            sources.path[:], sources.goal[:] = allowed.path, allowed.goal
            sources.goal_speed[...], sources.goal_time[...] = allowed.speed, allowed.time

    def restore(self, memory: Any, sources: Any, motion: Callable[[int], Continuation | None]) -> None:
        """Read it from there; ``motion`` gives the trajectory at an address."""
        self.time, self.requests = float(memory.time), int(sources.requests)
        kind, following = SOURCES[int(sources.source)], self.following
        has_next, source = bool(sources.has_next), self._source
        if self._next is not None and not has_next:
            if kind is TrajectoryReference and motion(int(sources.motion)) is self._next[1].motion:
                source = self._next[1]
            self._next = None
        if following is not None and sources.following:
            following.source.start, following.source.end = float(sources.following_start), float(sources.following_end)
            if sources.outcome:
                following.end(OUTCOMES[int(sources.outcome) - 1])
        if kind is HoldReference:
            source = HoldReference(sources.hold_q.copy(), float(sources.end))
        elif isinstance(source, TrajectoryReference):
            source.start, source.end = float(sources.start), float(sources.end)
            if source.time is not None:
                source.time = source.time._replace(t=float(sources.time.t))
        elif isinstance(source, StreamedReference):
            source.lead.restore(sources)
        self._source = None if kind is type(None) else source

    def reference(self, t: float, q: Array) -> Reference:
        """The reference at time t [s], with the arm at q (n,)."""
        self.time = t
        source = self._proceed(self._started(), t, q)
        source.advance(t)
        return source.sample(t)

    def planned(self, t: float) -> Array | None:
        """The planned efforts (n,) at time t [s] (:meth:`ReferenceSource.planned`)."""
        return self._started().planned(t)

    def expected(self, t: float) -> Reference:
        """What the reference will be at a later time t [s], if nothing else is asked for."""
        source = self._started()
        if self._next is not None and t >= self._next[0]:
            source = self._next[1]
        if t >= source.end:
            source = source.successor(source.sample(self.time).q)
        return source.sample(t)

    def ahead(self, time: float) -> Reference:
        """As :meth:`expected`, so far ahead of the latest state [s]; a stream is taken to go on at its velocity."""
        if self._next is None and isinstance(self._source, StreamedReference):
            now = self._source.sample(self.time)
            return now._replace(q=now.q + time * now.qd)
        return self.expected(self.time + time)

    def judge(self, t: float, error: Array, qd: Array) -> bool:
        """True if the trajectory violates a tolerance, so that the arm should stop (:meth:`Following.judge`)."""
        return self.following is not None and self.following.judge(t, error, qd)

    def scale_speed(self, part: float) -> None:
        """Follow trajectories at a part of their speed, from the latest state on."""
        if part == self.speed:
            return
        self.speed = part
        for source in (self._source, None if self._next is None else self._next[1]):
            if isinstance(source, TrajectoryReference) and not isinstance(source, StoppingReference):
                source.scale_speed(self.time, part)

    def wait(self, dt: float) -> None:
        """Let the time of the trajectory that is being followed stand still for a while [s]."""
        if isinstance(self._source, TrajectoryReference):
            self._source.wait(dt)

    def _proceed(self, source: ReferenceSource, t: float, q: Array) -> ReferenceSource:
        """Let the next source take over when its time has come, and end the present one when its time is up."""
        if self._next is not None and t >= self._next[0]:
            source, self._next = self._next[1], None
        if t >= source.end:
            source = source.successor(q)
        self._source = source
        return source

    def _started(self) -> ReferenceSource:
        if self._source is None:
            raise NotReadyError("no valid joint state has come yet: there is no reference to start from")
        return self._source

    def _end(self, outcome: Outcome) -> None:
        self.requests += 1
        if self.following is not None:
            self.following.end(outcome)

    def _columns(self, joints: Sequence[str] | None) -> list[int]:
        names = self._robot.joint_names
        if joints is None:
            return list(range(len(names)))
        for joint in joints:
            if joint not in names or list(joints).count(joint) > 1:
                problem = f"{joint!r} is unknown or repeated; the arm has {', '.join(names)}"
                raise InputError("joints", problem + ("" if joint in names else is_it(joint, names)), joint)
        return [names.index(joint) for joint in joints]

    def _check_curve(
        self, trajectory: Trajectory, first: int, columns: list[int], lower: Array, upper: Array, speed: Array
    ) -> None:
        """Refuse a curve that, from its first segment on, leaves the limits (n,) between its points."""
        found = trajectory.violation(
            first, lower[columns] - ROUNDING, upper[columns] + ROUNDING, SPEED_TOLERANCE * speed[columns]
        )
        if found is None:
            return
        index = columns[found.joint]
        joint = self._robot.joints[index]
        if found.what == "position":
            raise LimitError("trajectory, between its points", joint.name, found.value, joint.lower, joint.upper)
        greatest = float(speed[index])
        raise LimitError("trajectory, speed", joint.name, found.value, -greatest, greatest)


class PreparedTrajectory(NamedTuple):
    """A trajectory that can be followed at once: what is slow about that has been done."""

    trajectory: Trajectory
    columns: list[int]  # index among the arm's joints of each of its joints
    start: float | None  # when its time is 0 [s]; now if None
    velocity_limit: Array  # that it was checked by, (n,) in [rad/s] or [m/s]


class ReferenceSource(ABC):
    """A reference over time, until its end; after that comes a hold.

    Attributes:
        mode: its public name.
        end: from this time on it no longer counts [s].
    """

    mode: ClassVar[Mode]
    end: float = np.inf

    @abstractmethod
    def sample(self, t: float) -> Reference:
        """The reference at time t [s]."""

    def advance(self, t: float) -> None:  # noqa: B027
        """Time has come to t [s]; for references with a memory."""

    def planned(self, t: float) -> Array | None:
        """The efforts (n,) that its motion needs at time t [s] as far as a plan says them; NaN where it does not."""
        return None

    @abstractmethod
    def successor(self, q: Array) -> HoldReference:
        """The hold that takes over at the end, with the arm at q (n,)."""


class HoldReference(ReferenceSource):
    """Stay at one position."""

    mode = "hold"

    def __init__(self, q: Array, end: float = np.inf) -> None:
        """
        Args:
            q: the position, (n,) in [rad] or [m].
            end: from this time on, hold where the arm is then [s].
        """
        self.end = end
        still = read_only(np.zeros(len(q)))
        self._reference = Reference(read_only(q), still, still, still)

    def sample(self, t: float) -> Reference:
        """The same at every time."""
        return self._reference

    def successor(self, q: Array) -> HoldReference:
        """Hold where the arm is."""
        return HoldReference(q)


class TrajectoryReference(ReferenceSource):
    """Follow a trajectory of all joints; after its last point, hold that.

    Attributes:
        start: when the trajectory's time is 0 [s].
        motion: of all joints of the arm.
        hold_time: how long its last point is held; then the arm is held where it is [s].
        time: its time under speed scaling; None at full speed.
    """

    mode: ClassVar[Mode] = "follow"

    def __init__(
        self, motion: Continuation, start: float, hold_time: float = np.inf, time: PathTime | None = None
    ) -> None:
        """
        Args:
            motion: of all joints of the arm.
            start: when its time is 0 [s], at full speed.
            hold_time: how long its last point is held; then the arm is held where it is [s].
            time: its time under speed scaling; at full speed unless given.
        """
        self.start = start
        self.time = None if time is None or time.speed == time.target == 1.0 else time
        self.end = start + motion.duration if self.time is None else self.time.reaches(motion.duration)
        self.motion = motion
        self.hold_time = hold_time
        self._no_effort = read_only(np.zeros_like(motion.goal))

    def sample(self, t: float) -> Reference:
        """The trajectory at time t [s]; at rest outside its points' times."""
        if self.time is None:
            return Reference(*self.motion.sample(t - self.start), self._no_effort)
        s, speed, change = self.time.at(t)
        q, qd, qdd = self.motion.sample(s)
        return Reference(q, qd * speed, qdd * (speed * speed) + qd * change, self._no_effort)

    # `planned_at` in ../loop.c is the same in C.
    def planned(self, t: float) -> Array | None:
        """The efforts (n,) of the plan at time t [s]; none at another speed, for which they were not planned."""
        return self.motion.planned(t - self.start) if self.time is None else None

    def successor(self, q: Array) -> HoldReference:
        """Hold the last point, for ``hold_time``."""
        return HoldReference(self.motion.goal, self.end + self.hold_time)

    def wait(self, dt: float) -> None:
        """Let its time stand still for a while [s]."""
        self.start += dt
        self.end += dt
        self.time = None if self.time is None else self.time.delayed(dt)

    def scale_speed(self, t: float, part: float) -> None:
        """Go on at a part of its speed from a time t [s] on, or from its start if that is later."""
        before = self.time or PathTime(self.start)
        self.time = before.changed(max(t, before.t), part)
        self.end = self.time.reaches(self.motion.duration)


class StoppingReference(TrajectoryReference):
    """Come to rest where a motion was told to hold, and hold there."""

    mode = "hold"


class StreamedReference(ReferenceSource):
    """Keep to the last reference of a stream; if the next does not come in time, hold where the arm is then.

    Attributes:
        lead: leads to it, where the stream jumps.
    """

    mode = "track"

    def __init__(self, lead: Lead, end: float) -> None:
        """
        Args:
            lead: leads to the reference.
            end: when the next must have come [s].
        """
        self.lead = lead
        self.end = end

    def advance(self, t: float) -> None:
        """Be led on until t [s]."""
        self.lead.advance(t)

    def sample(self, t: float) -> Reference:
        """The same until the next, once it is reached."""
        return self.lead.present

    def successor(self, q: Array) -> HoldReference:
        """Hold where the arm is."""
        return HoldReference(q)


class Following:
    """An accepted trajectory, judged as joint_trajectory_controller does.

    - On the path no joint may be further from the reference than its path tolerance.
    - After the last point the goal counts as reached once every joint is within its goal tolerance of it and slower
      than ``stopped_velocity_tolerance``; within ``goal_time`` if that is not 0, else however long it takes.

    Attributes:
        outcome: how it ended; None until then.
        judge_load: says where gravity and friction alone will be too much for a joint on its way.
        source: what gives the reference.
        tolerances: what it is judged by.
    """

    def __init__(self, source: TrajectoryReference, tolerances: Tolerances) -> None:
        """
        Args:
            source: what gives the reference.
            tolerances: what it is judged by.
        """
        self.outcome: Outcome | None = None
        self.source = source
        self.tolerances = tolerances
        self.judge_load: Callable[[Following], str] = lambda _: ""

    @cached_property
    def overload(self) -> str:
        """Where gravity and friction alone will be too much for a joint; "" if nowhere. It is found when asked for."""
        return self.judge_load(self)

    def samples(self, count: int) -> tuple[Array, Array]:
        """Positions and velocities along the motion, at equal distances in time, (count, n) each."""
        source = self.source
        found = [source.sample(t) for t in np.linspace(source.start, source.end, count)]
        return np.array([each.q for each in found]), np.array([each.qd for each in found])

    def end(self, outcome: Outcome) -> None:
        """Set the outcome, unless it has ended already."""
        self.outcome = self.outcome or outcome

    def judge(self, t: float, error: Array, qd: Array) -> bool:
        """Compare the arm with the tolerances.

        Args:
            t: time [s].
            error: reference minus position, (n,).
            qd: velocity, (n,).

        Returns:
            True if a tolerance is violated, so that the arm should stop.
        """
        allowed, distance = self.tolerances, np.abs(error)
        if self.outcome is not None or t < self.source.start:
            return False
        if t < self.source.end:
            if is_any(distance > allowed.path):
                self.end("path tolerance violated")
        elif (distance <= allowed.goal).all() and (np.abs(qd) <= allowed.speed).all():
            self.end("succeeded")
        elif t > self.source.end + allowed.time:
            self.end("goal tolerance violated")
        return self.outcome in ("path tolerance violated", "goal tolerance violated")


def _save_time(place: Any, time: PathTime | None) -> None:
    """Write the time of a trajectory, None at full speed, into the struct ``PathTime`` of ``../loop.c``."""
    place.is_scaled[...] = time is not None
    for name, value in (time or PathTime(0.0))._asdict().items():
        getattr(place, name)[...] = value


SOURCES = (type(None), HoldReference, TrajectoryReference, StoppingReference, StreamedReference)
"""Kinds of sources, as in the enum of ``../loop.c``."""
