"""The controller's ``~/target_pose``: where its tool is to be, answered by a motion there or a refusal that says why.

What the joints have to do is worked out beside the loop, in a thread: it takes milliseconds, which no command waits
for. Meanwhile the arm goes on as before; of targets that come meanwhile the newest is next. An arm at rest then begins
at once. One that moves begins a moment later than planning takes (``AHEAD``), so that it is known from what; if it took
longer after all, it is planned again for twice as far ahead.

A target is in the root link's frame, or in that of another link of the arm, where that is when the target comes; other
frames are unknown to a controller.
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

from robodyn_ros.control.motion.tool_motion import PoseGoal, ToolMotion, ToolSettings
from robodyn_ros.control.motion.trajectory import Sample, Trajectory
from robodyn_ros.control.reference.manager import Following
from robodyn_ros.control.step import Command
from robodyn_ros.errors import NotReadyError, RobodynError
from robodyn_ros.kinematics import Kinematics
from robodyn_ros.nodes.common.messages import to_matrix, to_pose
from robodyn_ros.nodes.common.parameters import NodeParameters
from robodyn_ros.nodes.common.preparation import BackgroundTask
from robodyn_ros.nodes.common.qos import RELIABLE
from robodyn_ros.nodes.common.timers import steady_timer
from robodyn_ros.nodes.controller.closed_loop import ClosedLoop

LOOK = 0.02
"""How often to see whether a motion is ready [s]."""

AHEAD = 0.1
"""How far ahead of the latest state the motion of an arm that moves begins at first [s]."""


class TargetMotion(NamedTuple):
    """A motion that is being planned."""

    message: PoseStamped
    wish: PoseGoal
    start: float  # when it is to begin, by the time of the states [s]
    ahead: float  # how far ahead that was [s]
    making: BackgroundTask[Trajectory]


class TargetInput:
    """The controller's ``~/target_pose``: where its tool is to be, answered by a motion there or a refusal that says
    why.

    What the joints have to do is worked out beside the loop, in a thread: it takes milliseconds, which no command waits
    for. Meanwhile the arm goes on as before; of targets that come meanwhile the newest is next. An arm at rest then
    begins
    at once. One that moves begins a moment later than planning takes (``AHEAD``), so that it is known from what; if it
    took longer after all, it is planned again for twice as far ahead.

    A target is in the root link's frame, or in that of another link of the arm, where that is when the target comes;
    other frames are unknown to a controller.
    """

    def __init__(self, node: Node, loop: ClosedLoop, motion: ToolMotion, report: Callable[[], None]) -> None:
        """
        Args:
            node: who listens.
            loop: what follows.
            motion: plans; used in a thread, and by nobody else.
            report: publishes the diagnostics, where a refusal is told at once.
        """
        self._node, self._loop, self._motion, self._report = node, loop, motion, report
        self._newest: PoseStamped | None = None
        self._plan: TargetMotion | None = None
        self._following: Following | None = None
        self._refusal = ""
        self._subscription = node.create_subscription(PoseStamped, "~/target_pose", self._on_target, RELIABLE)
        self._timer = steady_timer(node, LOOK, self._look)
        self._timer.cancel()  # it runs while there is something to wait for

    @property
    def state(self) -> str:
        """What has become of the latest target; "" if there was none."""
        if self._plan is not None:
            return "being planned"
        if self._following is not None:
            return self._following.outcome or "under way"
        return self._refusal

    def destroy(self) -> None:
        """Withdraw the topic."""
        self._node.destroy_timer(self._timer)
        self._node.destroy_subscription(self._subscription)

    def _on_target(self, message: PoseStamped) -> None:
        if self._plan is None:
            self._begin(message)
        else:
            self._newest = message

    def _begin(self, message: PoseStamped, ahead: float = AHEAD) -> None:
        """Plan for a target."""
        try:
            self._loop.references.check_open()
            latest, loop = self._loop.latest, self._loop.loop
            if latest is None or latest[1].state is None:
                raise NotReadyError("no valid joint state has come yet")
            start, reference = loop.expected(ahead)
            wish = PoseGoal(
                to_matrix(message.pose),
                message.header.frame_id,
                latest[1].state[0],
                Sample(reference.q, reference.qd, reference.qdd),
                loop.settings.limits,
                loop.controller.dynamics.parameters,
                NodeParameters(self._node).settings(ToolSettings),
            )
        except RobodynError as problem:
            self._refuse(problem)
            return
        making = BackgroundTask("target", partial(self._motion.plan, wish))
        self._plan = TargetMotion(message, wish, start, ahead, making)
        self._timer.reset()

    def _look(self) -> None:
        """Have what is ready followed, and go on with what is newer."""
        plan = self._plan
        if plan is None or not plan.making.done:
            return
        self._plan = None
        self._timer.cancel()
        newest, self._newest = self._newest, None
        try:
            trajectory = plan.making.result()
            start = self._beginning(plan)
            if start is not None:
                self._following = self._loop.references.take(trajectory, start)
            elif newest is None:
                self._begin(plan.message, 2.0 * plan.ahead)
        except RobodynError as problem:
            self._refuse(problem)
        except Exception as problem:  # something unforeseen in the thread: the loop goes on
            self._refuse(f"{type(problem).__name__}: {problem}")
        if newest is not None:
            self._begin(newest)

    def _beginning(self, plan: TargetMotion) -> float | None:
        """When a motion begins [s]; None if what it was planned for is over.

        Raises:
            NotReadyError: no state has come yet, or a fault lasts.
        """
        now, reference = self._loop.loop.expected(0.0)
        if plan.wish.motion.qd.any():
            return plan.start if now <= plan.start <= now + plan.ahead else None
        return now if np.array_equal(reference.q, plan.wish.motion.q) else None

    def _refuse(self, problem: object) -> None:
        self._following, self._refusal = None, f"refused: {problem}"
        self._loop.faults.count("target refused", problem)
        self._report()


# The controller's ``~/tool_pose``: where its tool is, a few times a second, worked out when a command has gone out.

PERIOD = 0.04
"""How often it is published [s]: often enough to be looked at, and seldom enough to cost nothing."""


class ToolPose:
    """See the module. The pose is that of the latest state that was answered, and has its stamp."""

    def __init__(self, node: LifecycleNode, loop: ClosedLoop, link: str) -> None:
        """
        Args:
            node: who publishes.
            loop: whose states.
            link: name of the tool.
        """
        self._node, self._loop, self._link = node, loop, link
        self._kinematics = Kinematics(loop.robot)
        self._publisher: Any = node.create_lifecycle_publisher(PoseStamped, "~/tool_pose", RELIABLE)
        self._message = PoseStamped()
        self._message.header.frame_id = loop.robot.root
        self._due = 0.0
        loop.listeners.append(self._on_command)

    def destroy(self) -> None:
        """Withdraw the topic."""
        self._loop.listeners.remove(self._on_command)
        self._node.destroy_lifecycle_publisher(self._publisher)

    def _on_command(self, stamp: Time, command: Command) -> None:
        now = perf_counter()
        if now < self._due or command.state is None:
            return
        self._due = now + PERIOD
        if self._publisher.get_subscription_count():
            self._message.header.stamp = stamp
            self._message.pose = to_pose(self._kinematics.pose(self._link, command.state[0]))
            self._publisher.publish(self._message)
