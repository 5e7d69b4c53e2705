# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The controller's topics of its tool: goals of motions, streams, and its present pose.

A pose or a twist is in the frame of the root link, or in another frame, at its pose when the message comes
(:class:`Frames`): of a link by the latest state, of any other frame by the latest transform of tf, if tf2_ros is
installed, unless it is older than ``OLDEST_FRAME``. Static transforms have no age.

**Streams** come on ``~/target_pose``, ``~/target_twist``, ``~/target_wrench`` and ``~/target_stiffness``. The newest
message goes to the loop, which makes a joint reference from it in every period (``core/tool.c``). A twist is the
velocity of the tool's origin, and a wrench acts there. The time of a pose is its stamp, or the time of arrival if it
has none, or one that differs by more than ``STRANGE``. The state of the stream is published on ``~/stream_state``. A
stiffness is six numbers, for x, y, z, rx, ry and rz. It sets the stiffness parameter of the law
``cartesian_impedance``, at most ten times a second, and the law changes to it within ``blend_time``.

**Goals** come on ``~/goal_pose``. Each causes a motion to it, or a refusal with the reason. The motion of the joints is
planned in a thread beside the loop. Until then the arm continues as before, and only the newest goal that comes
meanwhile is planned next. An arm at rest then starts at once. The motion of a moving arm is planned to begin
``LEAD_TIME`` later, so that its initial state is known; if planning takes longer, it is planned again with twice that.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np
from geometry_msgs.msg import Point, Pose, PoseStamped, TwistStamped, WrenchStamped
from rclpy.lifecycle import LifecycleNode
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.time import Time as RclpyTime
from std_msgs.msg import Float64MultiArray, String

from robodyn_ros.control import Command, PoseGoal, Sample, ToolMotion, ToolSettings, Trajectory, TrajectoryGoal
from robodyn_ros.control.motion.streams import OLDEST_FRAME
from robodyn_ros.control.reference_manager import ToolTarget
from robodyn_ros.engine.casadi import missing
from robodyn_ros.errors import InputError, NotReadyError, RobodynError, is_it
from robodyn_ros.kinematics import Kinematics
from robodyn_ros.nodes.common.client_library import LATCHED, NEWEST, RELIABLE, steady_timer
from robodyn_ros.nodes.common.messages import decode, seconds, seconds_now, to_matrix, to_pose
from robodyn_ros.nodes.common.parameters import NodeParameters
from robodyn_ros.nodes.common.threads import BackgroundTask
from robodyn_ros.nodes.controller.closed_loop import ClosedLoop, show_latest
from robodyn_ros.plugins import raised
from robodyn_ros.robot.pose import Array

STREAMS: dict[ToolTarget, type[Any]] = {"pose": PoseStamped, "twist": TwistStamped, "wrench": WrenchStamped}
"""Stream → its messages; the topic is ``~/target_`` and the name, and so is the field of the message."""

STIFFNESS = "cartesian_impedance.stiffness"  #: The parameter that a message on ``~/target_stiffness`` sets.
STIFFNESS_PERIOD = 0.1  #: Shortest time between two changes of the stiffness [s].
STRANGE = 1.0  #: Difference between a stamp and the node's time beyond which the stamp is of another clock [s].
WATCH_PERIOD = 0.1  #: Time between two checks of a stream's state [s].
POLL_PERIOD = 0.02  #: Time between two checks that a motion is ready [s].
LEAD_TIME = 0.1  #: Time from the latest state to the begin of a moving arm's motion, in the first attempt [s].
TOOL_POSE_PERIOD = 0.04  #: Shortest time between two messages on ``~/tool_pose`` [s].


def has_tf() -> bool:
    """Return whether tf2_ros is installed."""
    return find_spec("tf2_ros") is not None


class Frames:
    """Looks up poses of frames; listens to tf if tf2_ros is installed."""

    def __init__(self, node: Node, closed: ClosedLoop) -> None:
        self._node, self._closed, self._robot = node, closed, closed.robot
        self._kinematics = Kinematics(self._robot)
        self._links = [link.name for link in self._robot.links]
        self._buffer: Any = None
        if has_tf():
            self._tf = import_module("tf2_ros")
            self._buffer = self._tf.Buffer()
            self._listener = self._tf.TransformListener(self._buffer, node, spin_thread=False)

    def pose(self, name: str) -> Array:
        """Pose of a frame in the root link's, (4, 4); of the root link if the name is empty. RobodynError: there is no
        such frame, its transform is too old, or no valid joint state has come yet.
        """
        if name in ("", self._robot.root):
            return np.eye(4)
        if name not in self._links:
            return self._told(name)
        latest = self._closed.latest
        if latest is None or latest[1].state is None:
            raise NotReadyError("no valid joint state has come yet")
        return self._kinematics.pose(name, latest[1].state[0])

    def _told(self, name: str) -> Array:
        """The pose of a frame by tf, (4, 4)."""
        if self._buffer is None:
            known = f"{', '.join(self._links)}{is_it(name, self._links)}"
            reason = f"{name!r} is unknown; a target is in the frame of {known}"
            raise InputError("frame_id", f"{reason}; other frames need tf2_ros, which is not installed", name)
        try:
            found = self._buffer.lookup_transform(self._robot.root, name, RclpyTime())
        except self._tf.TransformException as problem:
            reason = f"{name!r} is no link of the arm, and tf has no such frame: {problem}"
            raise InputError("frame_id", reason, name) from None
        stamp = seconds(found.header.stamp)
        age = seconds_now(self._node) - stamp
        if stamp > 0.0 and age > OLDEST_FRAME:
            text = f"the transform of {name!r} from tf is {age:.1f} s old, more than {OLDEST_FRAME:g} s"
            raise InputError("frame_id", text, name)
        at, rotation = found.transform.translation, found.transform.rotation
        return to_matrix(Pose(position=Point(x=at.x, y=at.y, z=at.z), orientation=rotation))


class StreamInput:
    """Has the loop follow the streams for the tool, and publishes the latest one's ``state``, "" if there was none."""

    def __init__(self, node: Node, closed: ClosedLoop, frames: Frames) -> None:
        self._node, self._closed, self._loop, self._frames = node, closed, closed.control, frames
        self.state = self._told = ""
        self._stiffness: list[float] | None = None
        for what, kind in STREAMS.items():
            node.create_subscription(kind, f"~/target_{what}", partial(self._take, what, kind), NEWEST, raw=True)
        node.create_subscription(Float64MultiArray, "~/target_stiffness", self._on_stiffness, NEWEST, raw=True)
        self._publisher = node.create_publisher(String, "~/stream_state", LATCHED)
        self._timer = steady_timer(node, WATCH_PERIOD, self._watch, autostart=False)  # it runs while there is a stream
        self._stiffness_timer = steady_timer(node, STIFFNESS_PERIOD, self._set_stiffness, autostart=False)

    def _take(self, what: ToolTarget, kind: type[Any], data: bytes) -> None:
        """Pass the numbers of a message, and the stamp of a pose if it counts, to the loop, or count its refusal."""
        with self._closed.faults.counting("stream refused"):
            self._closed.references.check_open()
            message = decode(data, kind)
            frame, content, stamp = self._frames.pose(message.header.frame_id), getattr(message, what), None
            if what == "pose":
                numbers, given = frame @ to_matrix(content), seconds(message.header.stamp)
                stamp = given if given > 0.0 and abs(seconds_now(self._node) - given) <= STRANGE else None
            else:
                vectors = (content.linear, content.angular) if what == "twist" else (content.force, content.torque)
                numbers = np.concatenate([frame[:3, :3] @ (each.x, each.y, each.z) for each in vectors])
            self._loop.move_tool(what, numbers, seconds_now(self._node), stamp)
            if self._timer.is_canceled():
                self._timer.reset()

    def _watch(self) -> None:
        """Publish the state of the stream, if it has changed."""
        stream = self._loop.tool_stream
        away = f"{stream.distance:.3f} m and {stream.angle:.3f} rad away"
        self.state = f"{stream.state}, {away}, {stream.delay:.3f} s late"
        word = stream.state if stream.is_running else "ended"
        if word != self._told:
            if word == "unreachable":
                self._closed.faults.count("stream unreachable", f"the tool waits {away}")
            self._publisher.publish(String(data=word))
        self._told = word
        if not stream.is_running:
            self.state = "ended"
            self._timer.cancel()

    def _on_stiffness(self, data: bytes) -> None:
        with self._closed.faults.counting("stream refused"):
            message = decode(data, Float64MultiArray)
            if len(message.data) != 6 or not all(np.isfinite(message.data)):
                raise InputError("stiffness", "must be 6 finite numbers: x, y, z, rx, ry, rz", list(message.data))
            self._stiffness = list(message.data)
            if self._stiffness_timer.is_canceled():
                self._set_stiffness()
                self._stiffness_timer.reset()

    def _set_stiffness(self) -> None:
        """Set the newest stiffness, if there is one."""
        given, self._stiffness = self._stiffness, None
        if given is None:
            self._stiffness_timer.cancel()
            return
        answer = self._node.set_parameters_atomically([Parameter(STIFFNESS, value=given)])
        if not answer.successful:
            self._closed.faults.count("stream refused", answer.reason)


class TargetMotion(NamedTuple):
    """A motion that is being planned."""

    message: PoseStamped
    goal: PoseGoal
    start: float  # when it begins, by the time of the states [s]
    lead: float  # time from the latest state to the start, when planning began [s]
    task: BackgroundTask[Trajectory]


class TargetInput:
    """Subscribes to ``~/goal_pose``, plans a motion to each target, and has it followed."""

    def __init__(
        self, node: Node, loop: ClosedLoop, motion: ToolMotion | None, frames: Frames, report: Callable[[], None]
    ) -> None:
        """``motion`` is for the planning thread only; None if none can be planned. ``report`` publishes diagnostics."""
        self._node, self._loop, self._motion, self._report = node, loop, motion, report
        self._frames = frames
        self._newest: PoseStamped | None = None
        self._planned: TargetMotion | None = None
        self._goal: TrajectoryGoal | None = None
        self._refusal = ""
        node.create_subscription(PoseStamped, "~/goal_pose", self._on_goal, RELIABLE, raw=True)
        # It runs while a motion is planned.
        self._timer = steady_timer(node, POLL_PERIOD, self._follow_if_ready, autostart=False)

    @property
    def state(self) -> str:
        """State of the latest target; "" if there was none."""
        if self._planned is not None:
            return "being planned"
        if self._goal is not None:
            return self._goal.outcome or "under way"
        return self._refusal

    def _on_goal(self, data: bytes) -> None:
        try:
            message = decode(data, PoseStamped)
            if self._motion is None:
                raise NotReadyError(f"motions cannot be planned: {missing()}")
        except RobodynError as problem:
            self._refuse(problem)
            return
        if self._planned is None:
            self._plan(message)
        else:
            self._newest = message

    def _plan(self, message: PoseStamped, lead: float = LEAD_TIME) -> None:
        """Plan a motion to a target in the background."""
        try:
            self._loop.references.check_open()
            start, reference = self._loop.control.expected(lead)
            pose = self._frames.pose(message.header.frame_id) @ to_matrix(message.pose)
            limits, model = self._loop.control.settings.limits, self._loop.control.dynamics.parameters
            settings = NodeParameters(self._node).settings(ToolSettings)
            goal = PoseGoal(pose, Sample(*reference[:3]), limits, model, settings)
        except RobodynError as problem:
            self._refuse(problem)
            return
        assert self._motion is not None  # a goal was refused otherwise
        task = BackgroundTask("target", partial(self._motion.plan, goal))
        self._planned = TargetMotion(message, goal, start, lead, task)
        self._timer.reset()

    def _follow_if_ready(self) -> None:
        """Follow the planned motion if it is ready, then plan a newer target if there is one."""
        planned = self._planned
        if planned is None or not planned.task.done():
            return
        self._planned = None
        self._timer.cancel()
        newest, self._newest = self._newest, None
        try:
            trajectory = planned.task.result()
            if (start := self._start_time(planned)) is not None:
                self._goal = self._loop.references.follow(trajectory, start)
            elif newest is None:
                self._plan(planned.message, 2.0 * planned.lead)
        except Exception as problem:  # also an unforeseen error in the thread: the loop continues
            self._refuse(problem if isinstance(problem, RobodynError) else raised(problem))
        if newest is not None:
            self._plan(newest)

    def _start_time(self, planned: TargetMotion) -> float | None:
        """When a planned motion begins [s]; None if the arm is no longer in its initial state."""
        now, reference = self._loop.control.expected(0.0)
        if planned.goal.motion.qd.any():
            return planned.start if now <= planned.start <= now + planned.lead else None
        return now if np.array_equal(reference.q, planned.goal.motion.q) else None

    def _refuse(self, problem: object) -> None:
        self._goal, self._refusal = None, f"refused: {problem}"
        self._loop.faults.count("target refused", problem)
        self._report()


def show_tool_pose(node: LifecycleNode, loop: ClosedLoop, link: str) -> None:
    """Publish ``~/tool_pose``: the pose of the tool at the latest state with a command, with its stamp."""
    kinematics, message = Kinematics(loop.robot), PoseStamped()
    message.header.frame_id = loop.robot.root

    def fill(command: Command) -> bool:
        assert command.state is not None
        message.pose = to_pose(kinematics.pose(link, command.state[0]))
        return True

    show_latest(node, loop, "~/tool_pose", message, TOOL_POSE_PERIOD, fill)
