# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The controller's topics of its tool: ``~/goal_pose``, the goal of a motion, and ``~/tool_pose``, the present pose.

A stream of poses comes on ``~/target_pose`` (:mod:`.streams`).

Each target causes a motion to it, or a refusal with the reason. The motion of the joints is planned in a thread beside
the loop: this takes milliseconds, and delays no command. Until then the arm continues as before, and only the newest
target that comes in this time is planned next. An arm at rest then starts at once. The motion of a moving arm is
planned to begin ``LEAD_TIME`` later, so that its initial state is known; if planning takes longer than that, the motion
is planned again with twice that time.

A goal is in the root link's frame, or in another frame (:mod:`.frames`), at its pose when the target comes.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from builtin_interfaces.msg import Time
from geometry_msgs.msg import PoseStamped
from rclpy.lifecycle import LifecycleNode
from rclpy.node import Node

from robodyn_ros.control.motion.following import Following
from robodyn_ros.control.motion.own_motions import PoseGoal, ToolMotion, ToolSettings
from robodyn_ros.control.motion.trajectory import Sample, Trajectory
from robodyn_ros.control.step import Command
from robodyn_ros.engine.casadi import missing
from robodyn_ros.errors import NotReadyError, RobodynError
from robodyn_ros.kinematics import Kinematics
from robodyn_ros.nodes.common.messages import decode, to_matrix, to_pose
from robodyn_ros.nodes.common.parameters import NodeParameters
from robodyn_ros.nodes.common.qos import RELIABLE
from robodyn_ros.nodes.common.threads import BackgroundTask
from robodyn_ros.nodes.common.timers import steady_timer
from robodyn_ros.nodes.controller.closed_loop import ClosedLoop
from robodyn_ros.nodes.controller.tool.frames import Frames

POLL_PERIOD = 0.02
"""Time between two checks that a motion is ready [s]."""

LEAD_TIME = 0.1
"""Time from the latest state to the begin of a moving arm's motion, in the first attempt [s]."""

TOOL_POSE_PERIOD = 0.04
"""Shortest time between two messages on ``~/tool_pose`` [s]: smooth enough for a display, at little cost."""


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
        self,
        node: Node,
        loop: ClosedLoop,
        motion: ToolMotion | None,
        frames: Frames,
        report: Callable[[], None],
    ) -> None:
        """
        Args:
            node: whose topics.
            loop: follows the motions.
            motion: the planner, used by the planning thread only; None if motions cannot be planned.
            frames: of targets.
            report: publishes the diagnostics, so that a refusal is reported at once.
        """
        self._node, self._loop, self._motion, self._report = node, loop, motion, report
        self._frames = frames
        self._newest: PoseStamped | None = None
        self._planned: TargetMotion | None = None
        self._following: Following | None = None
        self._refusal = ""
        self._subscription = node.create_subscription(PoseStamped, "~/goal_pose", self._on_goal, RELIABLE, raw=True)
        self._timer = steady_timer(node, POLL_PERIOD, self._follow_if_ready)
        self._timer.cancel()  # it runs while a motion is planned

    @property
    def state(self) -> str:
        """State of the latest target; "" if there was none."""
        if self._planned is not None:
            return "being planned"
        if self._following is not None:
            return self._following.outcome or "under way"
        return self._refusal

    def destroy(self) -> None:
        """Withdraw the topic."""
        self._node.destroy_timer(self._timer)
        self._node.destroy_subscription(self._subscription)

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
            latest = self._loop.latest
            if latest is None or latest[1].state is None:
                raise NotReadyError("no valid joint state has come yet")
            start, reference = self._loop.expected(lead)
            goal = PoseGoal(
                self._frames.pose(message.header.frame_id) @ to_matrix(message.pose),
                "",  # of the root link
                latest[1].state[0],
                Sample(reference.q, reference.qd, reference.qdd),
                self._loop.settings.limits,
                self._loop.dynamics.parameters,
                NodeParameters(self._node).settings(ToolSettings),
            )
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
        if planned is None or not planned.task.done:
            return
        self._planned = None
        self._timer.cancel()
        newest, self._newest = self._newest, None
        try:
            trajectory = planned.task.result()
            start = self._start_time(planned)
            if start is not None:
                self._following = self._loop.references.follow(trajectory, start)
            elif newest is None:
                self._plan(planned.message, 2.0 * planned.lead)
        except RobodynError as problem:
            self._refuse(problem)
        except Exception as problem:  # an unforeseen error in the thread: the loop continues
            self._refuse(f"{type(problem).__name__}: {problem}")
        if newest is not None:
            self._plan(newest)

    def _start_time(self, planned: TargetMotion) -> float | None:
        """When a planned motion begins [s]; None if the arm is no longer in its initial state.

        Raises:
            NotReadyError: no state has come yet, or a fault is active.
        """
        now, reference = self._loop.expected(0.0)
        if planned.goal.motion.qd.any():
            return planned.start if now <= planned.start <= now + planned.lead else None
        return now if np.array_equal(reference.q, planned.goal.motion.q) else None

    def _refuse(self, problem: object) -> None:
        self._following, self._refusal = None, f"refused: {problem}"
        self._loop.faults.count("target refused", problem)
        self._report()


class ToolPose:
    """Publishes ``~/tool_pose``: the pose of the tool at the latest state with a command, with its stamp.

    It is computed after the command has been published.
    """

    def __init__(self, node: LifecycleNode, loop: ClosedLoop, link: str) -> None:
        """
        Args:
            node: publishes.
            loop: has the states.
            link: name of the tool.
        """
        self._node, self._loop, self._link = node, loop, link
        self._kinematics = Kinematics(loop.robot)
        self._publisher: Any = node.create_lifecycle_publisher(PoseStamped, "~/tool_pose", RELIABLE)
        self._message = PoseStamped()
        self._message.header.frame_id = loop.robot.root
        self._due, self._is_wanted = 0.0, False
        loop.onlookers.append(self._on_command)

    def destroy(self) -> None:
        """Withdraw the topic."""
        self._loop.onlookers.remove(self._on_command)
        self._node.destroy_lifecycle_publisher(self._publisher)

    def _on_command(self, stamp: Time, command: Command) -> bool:
        now = perf_counter()
        if now < self._due or command.state is None:
            return self._is_wanted
        self._due = now + TOOL_POSE_PERIOD
        self._is_wanted = self._publisher.get_subscription_count() > 0
        if self._is_wanted:
            self._message.header.stamp = stamp
            self._message.pose = to_pose(self._kinematics.pose(self._link, command.state[0]))
            self._publisher.publish(self._message)
        return self._is_wanted
