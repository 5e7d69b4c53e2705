# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""References of the control loop: a hold, a trajectory, or a stream of references or of targets of the tool."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from functools import partial
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from robodyn_ros.checks import check, finite_array
from robodyn_ros.control.core_library import CODES
from robodyn_ros.control.laws.base import Reference
from robodyn_ros.control.limits import check_position_limits, overload
from robodyn_ros.control.loop_settings import LoopSettings
from robodyn_ros.control.motion import goals
from robodyn_ros.control.motion.goals import PreparedTrajectory, Refused, Tolerances, TrajectoryGoal
from robodyn_ros.control.motion.trajectory import Trajectory
from robodyn_ros.control.running_core import RunningCore
from robodyn_ros.errors import InputError, RobodynError
from robodyn_ros.kinematics.se3 import as_pose
from robodyn_ros.robot.pose import Array

OVERLOAD_SAMPLES = 21  #: Samples of a trajectory at which gravity and friction are compared with limits.
LONGEST_WAIT = 3600.0  #: Longest time until a trajectory may begin [s].
ToolTarget = Literal["pose", "twist", "wrench"]  #: Kinds of targets that may be streamed to the tool.

TOOL_STATES = {
    CODES["TOOL_FOLLOWS"]: "follows",
    CODES["TOOL_STANDS"]: "unreachable",
    CODES["TOOL_DETOUR"]: "detour",
}
"""States of a streamed tool: it follows; it waits where its path ends; it moves to its target by a detour."""


class ToolStream(NamedTuple):
    """How the tool follows its stream."""

    state: str  # one of :data:`TOOL_STATES`
    distance: float  # from the tool's reference to its target [m]
    angle: float  # likewise [rad]
    delay: float  # after which a pose is due [s]
    is_running: bool


class ReferenceManager(RunningCore):
    """The references of a control loop, which ``core/references.c`` and ``core/tool.c`` compute in each period."""

    def _begin(self, settings: LoopSettings) -> None:
        super()._begin(settings)
        self._followed = 0

    @property
    def mode(self) -> goals.Mode:
        """``waiting`` (for the first state), ``hold``, ``follow`` or ``track``."""
        return goals.MODES[int(self.memory().references.source)]

    @property
    def requests(self) -> int:
        """Number of new references and stops so far; any thread may ask for it."""
        return int(self.core.state.references.requests)

    def start(self, t: float, q: ArrayLike) -> None:
        """Hold the arm's position, (n,) in [rad] or [m], at a time [s], and clear everything else, as the first update
        does. InputError: q is not n finite numbers.
        """
        q = finite_array("q", q, (self.robot.n,))
        self._ask("START", t=t, numbers=(q,))

    def hold(self, t: float) -> None:
        """Stop from a time [s] on with the deceleration of the settings (at once if there is none), and hold. This
        acknowledges a latched fault, which then ends as soon as its cause does. NotReadyError: no state has come yet.
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
            NotReadyError: no state has come yet, a fault is active, or the law follows no reference.
            InputError: unknown, repeated or too few names; a trajectory that is over; a start that is not finite, or in
                more than an hour; an end in motion.
            LimitError: the trajectory leaves the position limits, or is too fast, at a point or between two; or it
                has efforts beyond the limits.
        """
        if (memory := self.memory()).active:  # before the slow work
            raise Refused(CODES["CORE_FAULT"], 0, float(memory.active_kind), 0.0).error("trajectory", self.robot)
        return self.follow_prepared(self.prepare(trajectory, t_start, joints), tolerances)

    def prepare(
        self, trajectory: Trajectory, t_start: float | None = None, joints: Sequence[str] | None = None
    ) -> PreparedTrajectory:
        """Do the slow work of :meth:`follow`, with its arguments and errors, perhaps in a thread; nothing changes."""
        columns = goals.joint_columns(self.robot, joints)
        if trajectory.n != len(columns):
            raise InputError("trajectory", f"has {trajectory.n} joints, not {len(columns)}", trajectory)
        start = None if t_start is None else float(finite_array("t_start", t_start, ()))
        check_position_limits("trajectory", self.robot, trajectory.positions, columns)
        settings = self.core_settings
        now = float(self.core.state.time)  # without a snapshot, which the thread of the node reads
        if start is not None and LONGEST_WAIT < start - now < np.inf:
            problem = f"begins in {start - now:.3g} s: its stamp is of another clock (use_sim_time)"
            raise InputError("trajectory", problem, start)
        try:
            return PreparedTrajectory(self.core, settings.record.address, trajectory, columns, start, now)
        except Refused as refused:
            raise refused.error("trajectory", self.robot, goals.ITS_CURVE) from None

    def follow_prepared(self, prepared: PreparedTrajectory, tolerances: Tolerances | None = None) -> TrajectoryGoal:
        """Follow a prepared trajectory; the time that this takes does not depend on its length. Errors are those of
        :meth:`follow`; an InputError also if the limits have changed since it was prepared.
        """
        allowed, settings = tolerances or self.settings.tolerances, self.settings
        rows = np.broadcast_arrays(allowed.path, allowed.goal, allowed.path_speed, allowed.speed)
        numbers = np.append(rows, allowed.time)
        if not (address := prepared.hand_over()):
            again = prepared.trajectory, prepared.start, [self.robot.joint_names[index] for index in prepared.columns]
            address = self.prepare(*again).hand_over()
        self._followed = number = self._followed + 1
        present = self.memory().q.copy()
        try:
            self._ask("FOLLOW", "trajectory", goals.WAY_TO_IT, object=address, number=number, numbers=(numbers,))
        finally:  # frees the trajectories that the core no longer needs
            while address := int(self._ask("RETURNED").fields.object):
                self.core.library.core_trajectory_destroy(ctypes.c_void_p(address))
        judge_load = partial(_overload, settings, prepared, present)
        return TrajectoryGoal(partial(self._outcome, number), judge_load, partial(self._violation, number))

    def _outcome(self, number: int) -> goals.Outcome | None:
        """How a trajectory ended; None if it has not."""
        references = self.memory().references
        place = number % CODES["OUTCOMES"]
        known = int(references.outcome_ids[place]) == number
        return goals.OUTCOMES[int(references.outcomes[place]) if known else CODES["CORE_SWITCHED_OFF"]]

    def _violation(self, number: int) -> str:
        """The tolerance for which a trajectory was aborted, if it was the latest of those; "" otherwise."""
        return self.violation() if int(self.memory().references.violated_id) == number else ""

    @property
    def violations(self) -> int:
        """Number of trajectories that were aborted for a tolerance; any thread may ask for it."""
        return int(self.core.state.references.violations)

    def violation(self) -> str:
        """The tolerance for which the latest of them was aborted."""
        how = (value.item() for value in vars(self.memory().references.violation).values())
        return goals.violation_text(self.robot, *how)

    @property
    def dropped(self) -> int:
        """Number of trajectories that the limits did not let begin at their start time; any thread may ask for it."""
        return int(self.core.state.references.dropped)

    def drop_reason(self) -> RobodynError:
        """Why the latest of them did not begin."""
        refused = vars(self.memory().references.refused)
        return Refused(*(value.item() for value in refused.values())).error("trajectory", self.robot, goals.WAY_TO_IT)

    def track(self, reference: Reference, t: float, joints: Sequence[str] | None = None) -> None:
        """Use a streamed reference until the next one, for ``stream_timeout`` at most.

        A reference that jumps by more than ``reference_jump`` is rate-limited: the reference follows within the
        velocity limits.

        Args:
            reference: of the joints named, each (m,).
            t: when it came [s].
            joints: names of its joints, in its order; all unless given. The others come to rest, rate-limited too.

        Raises:
            NotReadyError: no state has come yet, a fault is active, or the law follows no reference.
            InputError: unknown, repeated or too few names, wrong shapes, something not finite.
            LimitError: its position, velocity or effort is outside the limits.
        """
        columns, n = goals.joint_columns(self.robot, joints), self.robot.n
        shape = (len(columns),)
        given = [finite_array(f"reference.{key}", values, shape) for key, values in reference._asdict().items()]
        whole, named = np.zeros((len(given), n)), np.zeros(n, dtype=np.int64)
        whole[:, columns], named[columns] = given, 1
        self._ask("TRACK", "reference", t=t, numbers=tuple(whole), joints=named)

    def stand_still(self) -> None:
        """Keep the reference at the last position of a stream of :meth:`track`, if there is one, until it times out."""
        self._ask("STAND_STILL")

    def move_tool(self, what: ToolTarget, numbers: ArrayLike, t: float, stamp: float | None = None) -> None:
        """Take over a streamed target of the tool; every period moves the reference by it (``core/tool.c``).

        Args:
            what: ``pose``, ``twist`` or ``wrench``.
            numbers: in the root link's axes: a pose (4, 4); a twist (6,), the velocity of the tool's origin and its
                angular velocity; a wrench (6,) that the tool exerts in addition, force and torque about its origin.
            t: when it came [s].
            stamp: of a pose [s]; t unless given.

        Raises:
            NotReadyError: no state has come yet, a fault is active, or the law follows no reference.
            InputError: wrong shapes, something not finite, a pose without a rotation, or the settings name no tool.
        """
        if what == "pose":
            pose = as_pose(numbers)
            given = np.concatenate((pose[:3, 3], pose[:3, :3].ravel()))
        else:
            given = finite_array(what, numbers, (6,))
        when = np.nan if stamp is None else stamp
        self._ask("MOVE_TOOL", what, t=t, number=CODES[f"CORE_{what.upper()}"], value=when, numbers=(given,))

    @property
    def tool_stream(self) -> ToolStream:
        """How the tool follows its stream."""
        memory = self.memory()
        tool, runs = memory.tool, int(memory.references.source) == CODES["TOOL"]
        distance, angle = map(float, tool.away)
        return ToolStream(TOOL_STATES[int(tool.state)], distance, angle, float(tool.delay), runs)

    @property
    def speed(self) -> float:
        """Ratio of speed at which trajectories are followed: ``speed_scaling`` times that of :meth:`scale_speed`."""
        return float(self.core.state.references.speed)

    def scale_speed(self, ratio: float) -> None:
        """Follow trajectories at a ratio of their speed, multiplied by ``speed_scaling``, from now on; the ratio
        changes within half a second. InputError: it is not within 0 and 1.
        """
        check(0.0 <= ratio <= 1.0, "speed_scaling", "within 0 and 1", ratio)
        self._ask("SCALE_SPEED", value=ratio)

    def expected(self, ahead: float) -> tuple[float, Reference]:
        """The time ``ahead`` [s] after the latest state, and the reference then, if no other is given until then.
        NotReadyError: no state has come yet, or a fault is active.
        """
        t = float(self.memory().time) + ahead
        return t, self.planned(t)

    def planned(self, t: float) -> Reference:
        """The reference at a time [s], if no other is given until then; errors are those of :meth:`expected`."""
        found = np.zeros((4, self.robot.n))
        self._ask("EXPECTED", "time", t=t, result=found)
        return Reference(*found)

    def _ahead(self, time: float) -> Reference:
        if self.mode != "track":
            return self.expected(time)[1]
        now = self.expected(0.0)[1]
        return now._replace(q=now.q + time * now.qd)


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
