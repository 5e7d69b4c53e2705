"""The guide: which reference the arm is led by, and how one takes over from another.

- Before it is started there is no reference.
- A reference outside the position limits or faster than the velocity limits is refused and changes nothing; the one
  before it stays. So is a trajectory that would end in motion.
- A trajectory goes on from the reference of the moment it starts, so that the reference never jumps; until its start
  time comes, what was there before goes on. A newer trajectory, stream or hold replaces one that has not started yet.
- After its last point a trajectory holds that; a stream that dries up holds where the arm is then.
- A trajectory can be told to wait, where the arm cannot keep up with it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from robodyn_ros.checks import finite_array
from robodyn_ros.control.laws.base import Reference
from robodyn_ros.control.limits import check_position_limits, check_velocity_limits
from robodyn_ros.control.motion.trajectory import Sample, Trajectory
from robodyn_ros.control.reference.references import (
    HoldReference,
    Mode,
    ReferenceSource,
    StreamedReference,
    TrajectoryReference,
    completed,
)
from robodyn_ros.control.reference.tolerances import Following, Outcome, Tolerances
from robodyn_ros.errors import InputError, LimitError, NotReadyError
from robodyn_ros.robot import Robot
from robodyn_ros.robot.configuration import ConfigurationSpace
from robodyn_ros.robot.pose import Array

ROUNDING = 1e-7
"""How far beyond a limit a curve between two points may pass for a rounding error [rad] or [m]."""


class ReferenceManager:
    """The guide: which reference the arm is led by, and how one takes over from another.

    - Before it is started there is no reference.
    - A reference outside the position limits or faster than the velocity limits is refused and changes nothing; the one
      before it stays. So is a trajectory that would end in motion.
    - A trajectory goes on from the reference of the moment it starts, so that the reference never jumps; until its
      start
      time comes, what was there before goes on. A newer trajectory, stream or hold replaces one that has not started
      yet.
    - After its last point a trajectory holds that; a stream that dries up holds where the arm is then.
    - A trajectory can be told to wait, where the arm cannot keep up with it.

    Attributes:
        time: of the latest state [s].
        velocity_limit: of references, (n,) in [rad/s] or [m/s].
        following: the latest trajectory that was accepted.
    """

    def __init__(self, robot: Robot, velocity_limit: Array) -> None:
        """
        Args:
            robot: the arm.
            velocity_limit: of references, (n,) in [rad/s] or [m/s].
        """
        self.time = -np.inf
        self.velocity_limit = velocity_limit
        self.following: Following | None = None
        self._robot = robot
        self._space = ConfigurationSpace(robot)
        self._source: ReferenceSource | None = None
        self._next: tuple[float, ReferenceSource] | None = None

    @property
    def mode(self) -> Mode:
        """``waiting`` (for the first state), ``hold``, ``follow`` or ``track``."""
        return "waiting" if self._source is None else self._source.mode

    def start(self, t: float, q: Array) -> None:
        """Hold where the arm is, q (n,), at time t [s], and forget everything else."""
        self._ended("interrupted")
        self.time, self._source, self._next = t, HoldReference(q), None

    def stop(self) -> None:
        """Forget everything, and wait to be started."""
        self._ended("interrupted")
        self.time, self._source, self._next = -np.inf, None, None

    def hold(self, t: float, q: ArrayLike | None = None) -> None:
        """See :meth:`ControlLoop.hold`."""
        source = self._started()
        if q is None:
            q = source.sample(max(t, self.time)).q
        else:
            q = finite_array("q", q, (self._robot.n,))
            check_position_limits("q", self._robot, q, self._columns(None))
            q = self._space.near(source.sample(max(t, self.time)).q, q)
        self._source, self._next = HoldReference(q), None
        self._ended("held")

    def follow(
        self,
        trajectory: Trajectory,
        t_start: float | None,
        joints: Sequence[str] | None,
        tolerances: Tolerances,
        patience: float,
    ) -> Following:
        """See :meth:`ControlLoop.follow`; ``patience`` is how long the last point is held [s]."""
        source = self._started()
        columns = self._columns(joints)
        if trajectory.n != len(columns):
            raise InputError("trajectory", f"has {trajectory.n} joints, not {len(columns)}", trajectory)
        check_position_limits("trajectory", self._robot, trajectory.positions, columns)
        if trajectory.velocities is not None and trajectory.velocities[-1].any():
            raise InputError("trajectory", f"does not end at rest, but at {trajectory.velocities[-1]}", trajectory)
        start = self.time if t_start is None else float(finite_array("t_start", t_start, ()))
        begin = max(start, self.time)
        if isinstance(source, StreamedReference) and source.end <= begin:
            # Where the arm will be when the stream dries up cannot be known yet, so it is held from now on.
            source = HoldReference(source.sample(begin).q)
        before = source.sample(begin)
        whole = completed(trajectory, columns, before.q)
        turned = self._space.near(before.q, whole.positions[0]) - whole.positions[0]
        if turned.any():
            whole = whole.shifted(turned)
        whole = whole.continued_from(begin - start, Sample(before.q, before.qd, before.qdd))
        self._check_extent(whole, before.q)
        speed = whole.speed(self.velocity_limit)
        check_velocity_limits("trajectory, speed", self._robot, self.velocity_limit, speed, self._columns(None))
        follow = TrajectoryReference(whole, start, patience)
        self._source, self._next = source, (begin, follow)
        self._ended("replaced")
        self.following = Following(follow, tolerances)
        self._proceed(source, self.time, before.q)
        return self.following

    def track(self, reference: Reference, end: float, joints: Sequence[str] | None = None) -> None:
        """See :meth:`ControlLoop.track`; ``end`` is when the next must have come [s]."""
        source = self._started()
        columns = self._columns(joints)
        shape = (len(columns),)
        given = [finite_array(f"reference.{key}", values, shape) for key, values in reference._asdict().items()]
        check_position_limits("reference", self._robot, given[0], columns)
        check_velocity_limits("reference, speed", self._robot, self.velocity_limit, given[1], columns)
        whole = np.zeros((len(given), self._robot.n))
        whole[0] = source.sample(self.time).q
        whole[:, columns] = given
        whole[0] = self._space.near(source.sample(self.time).q, whole[0])
        self._source, self._next = StreamedReference(Reference(*whole), end), None
        self._ended("replaced")

    def reference(self, t: float, q: Array) -> Reference:
        """The reference at time t [s], with the arm at q (n,)."""
        self.time = t
        return self._proceed(self._started(), t, q).sample(t)

    def planned(self, t: float) -> Array | None:
        """See :meth:`ReferenceSource.planned`."""
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
        """As :meth:`expected`, so far ahead of the latest state [s]; but a stream is taken to go on as it moves."""
        if self._next is None and isinstance(self._source, StreamedReference):
            now = self._source.sample(self.time)
            return now._replace(q=now.q + time * now.qd)
        return self.expected(self.time + time)

    def judge(self, t: float, error: Array, qd: Array) -> bool:
        """See :meth:`Following.judge`."""
        return self.following is not None and self.following.judge(t, error, qd)

    def _ended(self, outcome: Outcome) -> None:
        if self.following is not None:
            self.following.end(outcome)

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

    def _columns(self, joints: Sequence[str] | None) -> list[int]:
        names = self._robot.joint_names
        if joints is None:
            return list(range(len(names)))
        for joint in joints:
            if joint not in names or list(joints).count(joint) > 1:
                raise InputError("joints", f"{joint!r} is unknown or repeated; the arm has {', '.join(names)}", joint)
        return [names.index(joint) for joint in joints]

    def _check_extent(self, trajectory: Trajectory, start: Array) -> None:
        """The curve between the points stays within the limits too, or between them and a start outside them."""
        least, greatest = trajectory.extent()
        below = least < np.minimum(self._robot.lower, start) - ROUNDING
        above = greatest > np.maximum(self._robot.upper, start) + ROUNDING
        for index in np.flatnonzero(below | above):
            joint = self._robot.joints[index]
            value = float(least[index] if below[index] else greatest[index])
            raise LimitError("trajectory, between its points", joint.name, value, joint.lower, joint.upper)
