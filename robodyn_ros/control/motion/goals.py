# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Trajectories that a loop follows: their preparation, their tolerances, their outcome, and goals of the action.

Tolerances, and the results of a goal of the action FollowJointTrajectory, are those of joint_trajectory_controller.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np

from robodyn_ros.control.core_library import CODES, Core
from robodyn_ros.control.faults.table import KINDS
from robodyn_ros.control.limits import FARTHEST
from robodyn_ros.control.motion.trajectory import Trajectory
from robodyn_ros.errors import InputError, LimitError, NotReadyError, RobodynError, is_it
from robodyn_ros.robot import Array, Robot
from robodyn_ros.settings import CheckedSettings, setting


@dataclass(frozen=True)
class GoalSettings(CheckedSettings):
    """Tolerances of the whole arm."""

    stopped_velocity_tolerance: float = setting(0.01, "greatest speed at the goal", "rad/s or m/s", 0.0, 100.0)
    goal_time: float = setting(0.0, "longest wait for the goal after the last point (0: no limit)", "s", 0.0, 3600.0)


@dataclass(frozen=True)
class JointTolerances(CheckedSettings):
    """Tolerances of a joint, and its deceleration."""

    trajectory: float = setting(0.0, "greatest distance from the reference (0: no limit)", "rad or m", 0.0, 1000.0)
    goal: float = setting(0.0, "greatest distance from the last point (0: no limit)", "rad or m", 0.0, 1000.0)
    max_deceleration_on_cancel: float = setting(
        0.0,
        "deceleration after a cancel or a hold (0: the URDF's, or a stop at once if it has none)",
        "rad/s² or m/s²",
        0.0,
        1e4,
    )


@dataclass(frozen=True, eq=False)
class Tolerances:
    """The tolerances of a trajectory; inf where there is none."""

    path: Array  # (n,) in [rad] or [m]
    goal: Array  # (n,) in [rad] or [m]
    speed: float | Array  # at the goal, of all joints or (n,) in [rad/s] or [m/s]
    time: float  # after the last point [s]
    path_speed: float | Array = np.inf  # distance from the velocity of the reference, likewise

    @classmethod
    def none(cls, n: int) -> Tolerances:
        """No tolerances, for n joints."""
        return cls(np.full(n, np.inf), np.full(n, np.inf), np.inf, np.inf)

    @classmethod
    def of(cls, arm: GoalSettings, joints: list[JointTolerances]) -> Tolerances:
        """From settings, where 0 stands for no limit."""
        path, goal = (np.array([getattr(j, name) or np.inf for j in joints]) for name in ("trajectory", "goal"))
        return cls(path, goal, arm.stopped_velocity_tolerance or np.inf, arm.goal_time or np.inf)


Mode = Literal["waiting", "hold", "follow", "track"]  #: Source of the reference; ``waiting`` before the first state.

MODES: Mapping[int, Mode] = {
    CODES["WAITING"]: "waiting",
    CODES["HELD"]: "hold",
    CODES["TRAJECTORY"]: "follow",
    CODES["STOPPING"]: "hold",
    CODES["STREAM"]: "track",
    CODES["TOOL"]: "track",
}
"""The mode of each source of the core's reference (``memory.h``)."""

Outcome = Literal[
    "succeeded", "path tolerance violated", "goal tolerance violated", "replaced", "held", "interrupted", "stopped"
]
"""Ends of a trajectory; ``interrupted``: by a fault, a gap in the states, a law that follows no reference, or limits
that did not let it begin at the reference of its start time; ``stopped``: with the whole loop."""

OUTCOMES: Mapping[int, Outcome | None] = {
    CODES["CORE_UNDER_WAY"]: None,
    CODES["CORE_SUCCEEDED"]: "succeeded",
    CODES["CORE_OFF_PATH"]: "path tolerance violated",
    CODES["CORE_OFF_GOAL"]: "goal tolerance violated",
    CODES["CORE_REPLACED"]: "replaced",
    CODES["CORE_HELD"]: "held",
    CODES["CORE_INTERRUPTED"]: "interrupted",
    CODES["CORE_SWITCHED_OFF"]: "stopped",
}
"""The outcome of each code of the core (``core.h``)."""


def joint_columns(robot: Robot, joints: Sequence[str] | None) -> list[int]:
    """Index of each joint named, all unless given; InputError: a name is unknown or repeated, or there is none."""
    names = robot.joint_names
    if joints is None:
        return list(range(len(names)))
    if not len(joints):
        raise InputError("joints", f"names none that is controlled; the arm has {', '.join(names)}", joints)
    for joint in joints:
        if joint not in names or list(joints).count(joint) > 1:
            problem = f"{joint!r} is unknown or repeated; the arm has {', '.join(names)}"
            raise InputError("joints", problem + ("" if joint in names else is_it(joint, names)), joint)
    return [names.index(joint) for joint in joints]


class PreparedTrajectory:
    """A trajectory that can be followed at once, because all slow checks have been done: for joints with the index
    ``columns`` among the arm's, from ``start`` [s] on; now if None.
    """

    def __init__(
        self, core: Core, settings: int, trajectory: Trajectory, columns: list[int], start: float | None, now: float
    ) -> None:
        """By settings of the core at an address, and the time ``now`` of the latest state [s]. Refused: by the core."""
        self.trajectory, self.columns, self.start = trajectory, columns, start
        self._core, self._address = core, 0
        more = trajectory.velocities, trajectory.accelerations, trajectory.efforts
        rows = (trajectory.times, trajectory.positions, *more)
        arrays = [None if row is None else np.ascontiguousarray(row, dtype=np.float64) for row in rows]
        joints = np.array(columns, dtype=np.int64)
        refusal = core.structs.make("CoreRefusal")
        given = ctypes.c_void_p(settings), ctypes.c_int64(len(trajectory.times)), ctypes.c_int64(len(columns))
        places = (ctypes.c_void_p(0 if array is None else array.ctypes.data) for array in (joints, *arrays))
        times = ctypes.c_double(np.nan if start is None else start), ctypes.c_double(now)
        create = core.library.core_trajectory_create
        self._address = create(*given, *places, *times, ctypes.c_void_p(refusal.address)) or 0
        if not self._address:
            raise Refused(*(value.item() for value in vars(refusal.fields).values()))

    def hand_over(self) -> int:
        """The address in C, owned by the core from now on; 0 if it was handed over before."""
        address, self._address = self._address, 0
        return address

    def __del__(self) -> None:
        if getattr(self, "_address", 0):
            self._core.library.core_trajectory_destroy(ctypes.c_void_p(self._address))


ITS_CURVE, WAY_TO_IT = " at or between its points", " from the arm to its points"  #: What the core judges, and when.


class Refused(Exception):
    """A refusal of the core: reason, joint, value, and limit."""

    def error(self, name: str, robot: Robot, part: str = "") -> RobodynError:
        """The refusal of an input, such as ``trajectory``, as an error with a message; ``part`` of it was judged."""
        why, place, value, limit = self.args
        joint = robot.joints[place if place < robot.n else 0]
        if why == CODES["CORE_OUTSIDE"]:
            lower, upper = max(joint.lower, -FARTHEST), min(joint.upper, FARTHEST)
            what = f"{name}, position{part}" if part else name
            return LimitError(what, joint.name, value, lower, upper, joint.position_unit)
        units = {"speed": f"{joint.position_unit}/s", "acceleration": f"{joint.position_unit}/s²"}
        for code, quantity in (("TOO_FAST", "speed"), ("TOO_ABRUPT", "acceleration"), ("TOO_STRONG", "effort")):
            if why == CODES[f"CORE_{code}"]:
                unit = units.get(quantity, joint.effort_unit)
                return LimitError(f"{name}, {quantity}{part}", joint.name, value, -limit, limit, unit, quantity)
        if why == CODES["CORE_NOT_STARTED"]:
            return NotReadyError("no valid joint state has come yet: there is no reference to start from")
        if why == CODES["CORE_FAULT"]:
            return NotReadyError(f"the {KINDS[int(value)]} fault is active: references are refused until it ends")
        if why == CODES["CORE_BY_HAND"]:
            return NotReadyError("the control law follows no reference: under it the arm is moved by hand")
        texts: dict[int, str] = {
            CODES["CORE_UNREACHABLE"]: f"joint {joint.name!r} jumps from {limit:.6g} to {value:.6g}, and has no "
            "velocity limit with which the jump could be rate-limited",
            CODES["CORE_OVER"]: f"its last point, at {value:.6g} s, has passed or cannot be reached in time",
            CODES["CORE_NOT_NUMBERS"]: f"joint {joint.name!r} gets no finite numbers, or its curve is not finite",
            CODES["CORE_CHANGED"]: "the velocity limits have changed since it was prepared: send it again",
            CODES["CORE_NOT_RISING"]: f"point {place + 1}: times must be finite and rise strictly, not {value!r}",
            CODES["CORE_IN_MOTION"]: f"does not end at rest: joint {joint.name!r} has the velocity {value:.6g}; to "
            "accept it, set allow_nonzero_velocity_at_trajectory_end",
            CODES["CORE_NO_TOOL"]: "the settings of the loop name no tool",
            CODES["CORE_NO_MEMORY"]: f"there is no memory for {value:.0f} points",
        }
        return InputError(name, texts[why], value)


class TrajectoryGoal:
    """An accepted trajectory, judged as by joint_trajectory_controller.

    - On the path no joint may be further from the reference, or from its velocity, than its path tolerance.
    - After the last point the goal is reached as soon as every joint is within its goal tolerance and slower than
      ``stopped_velocity_tolerance``. The time limit is ``goal_time``; with 0 there is none.
    """

    def __init__(
        self, ask: Callable[[], Outcome | None], judge_load: Callable[[], str], explain: Callable[[], str] = str
    ) -> None:
        """``ask`` gives :attr:`outcome`, ``judge_load`` :attr:`overload`, and ``explain`` :attr:`reason`."""
        self._ask, self._judge_load, self._explain = ask, judge_load, explain
        self._outcome: Outcome | None = None

    @property
    def outcome(self) -> Outcome | None:
        """The outcome; None while it is being followed."""
        if self._outcome is None:
            self._outcome = self._ask()
        return self._outcome

    @cached_property
    def reason(self) -> str:
        """The tolerance that was violated, in words; "" if none was. To be asked for after the end."""
        return self._explain()

    @cached_property
    def overload(self) -> str:
        """Where gravity and friction alone exceed an effort limit; "" if nowhere. Computed on first access."""
        return self._judge_load()


VIOLATIONS = {
    CODES["CORE_PATH_ERROR"]: "is {value:.4g} {unit} from its reference; its path tolerance is {limit:.4g} {unit}",
    CODES["CORE_PATH_SPEED"]: "is {value:.4g} {unit}/s from the velocity of its reference; its path tolerance is "
    "{limit:.4g} {unit}/s",
    CODES["CORE_GOAL_ERROR"]: "is {value:.4g} {unit} from the goal; its goal tolerance is {limit:.4g} {unit}",
    CODES["CORE_GOAL_SPEED"]: "moves at {value:.4g} {unit}/s at the goal; its goal tolerance is {limit:.4g} {unit}/s",
}
"""Violations of the tolerances of a trajectory, in words."""


def violation_text(robot: Robot, why: int, joint: int, value: float, limit: float) -> str:
    """A violation of a tolerance, as the core has it (struct ``CoreRefusal``), in words."""
    of = robot.joints[joint]
    return f"joint {of.name!r} " + VIOLATIONS[why].format(value=abs(value), limit=limit, unit=of.position_unit)


class GoalResult(NamedTuple):
    """The result of a goal."""

    status: Literal["succeeded", "aborted", "canceled"]
    code: int  # error_code of FollowJointTrajectory's result
    text: str


HELD_THERE, CANCELLED = "; the arm is held where it was", "Current goal cancelled"

RESULTS: dict[Outcome, GoalResult] = {
    "succeeded": GoalResult("succeeded", 0, "the goal was reached"),
    "path tolerance violated": GoalResult("aborted", -4, f"a joint left its path tolerance{HELD_THERE}"),
    "goal tolerance violated": GoalResult("aborted", -5, f"the goal was not reached in time{HELD_THERE}"),
    "replaced": GoalResult("canceled", -1, f"{CANCELLED} due to new incoming action, trajectory or reference."),
    "held": GoalResult("aborted", -1, "replaced by a hold"),
    "interrupted": GoalResult(
        "aborted",
        -1,
        "interrupted by a fault, by a gap in the joint states, by a law that follows no reference, or by limits that "
        "did not let it begin",
    ),
    "stopped": GoalResult(
        "canceled", -1, f"{CANCELLED} during deactivate transition: the controller sends no commands now."
    ),
}
"""Outcome of a trajectory → result of its goal; statuses, codes and beginnings of texts as in
joint_trajectory_controller."""


class ActionGoal:
    """One goal, from its acceptance to its end."""

    def __init__(self, goal: TrajectoryGoal) -> None:
        self._goal = goal
        self._canceled = False

    def cancel(self, hold: Callable[[], object]) -> bool:
        """Cancel the goal, unless it has ended, by ``hold``, which may raise; True if it was cancelled."""
        if self._goal.outcome is not None:
            return False
        hold()
        self._canceled = True
        return True

    @property
    def result(self) -> GoalResult | None:
        """The result of the goal; None while it is active."""
        if (outcome := self._goal.outcome) is None:
            return None
        if self._canceled and outcome == "held":
            return GoalResult("canceled", 0, "canceled; the arm is held")
        result = RESULTS[outcome]
        return result._replace(text=f"{self._goal.reason}{HELD_THERE}") if self._goal.reason else result


def goal_tolerances(
    defaults: Tolerances,
    joints: Sequence[str],
    path: Iterable[tuple[str, float, float]],
    goal: Iterable[tuple[str, float, float]],
    time: float,
) -> Tolerances:
    """The tolerances of a goal.

    As in joint_trajectory_controller, 0 keeps the default, and a negative value means no limit.

    Args:
        defaults: tolerances that the goal does not give.
        joints: names of the arm's joints.
        path, goal: joint, and the tolerances of its position and velocity [rad] or [m], and per [s].
        time: for reaching the goal [s].

    Raises:
        InputError: an unknown joint, or something that is not finite.
    """

    def merged(place: Array, speed: float | Array, given: Iterable[tuple[str, float, float]]) -> Array:
        values = np.array([place, np.broadcast_to(speed, len(joints))])
        for name, *asked in given:
            if name not in joints or not np.isfinite(asked).all():
                raise InputError("tolerance", f"{asked} of joint {name!r}; the arm has {', '.join(joints)}", asked)
            column = values[:, joints.index(name)]
            column[:] = [_chosen(default, value) for default, value in zip(column.tolist(), asked, strict=True)]
        return values

    on_path, at_goal = merged(defaults.path, defaults.path_speed, path), merged(defaults.goal, defaults.speed, goal)
    return Tolerances(on_path[0], at_goal[0], at_goal[1], _chosen(defaults.time, time), on_path[1])


def _chosen(default: float, value: float) -> float:
    return default if value == 0.0 else np.inf if value < 0.0 else value
