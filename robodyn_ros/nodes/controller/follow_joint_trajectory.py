"""The action ``~/follow_joint_trajectory``, by which MoveIt drives an arm, where control_msgs is installed.

What a goal may ask for and how it ends is decided in :mod:`robodyn_ros.control.reference.action_goal`.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from rclpy.action import ActionServer, CancelResponse, GoalResponse
from rclpy.node import Node
from rclpy.task import Future

from robodyn_ros.control.reference.action_goal import ActionGoal, GoalResult, goal_tolerances
from robodyn_ros.control.reference.tolerances import Tolerances
from robodyn_ros.errors import RobodynError
from robodyn_ros.nodes.common.messages import seconds
from robodyn_ros.nodes.common.timers import steady_timer
from robodyn_ros.nodes.controller.closed_loop import ClosedLoop

PERIOD = 0.05
"""Time between two messages of feedback, and longest time from the end of a goal to its result [s]."""


def is_available() -> bool:
    """Return whether control_msgs is installed."""
    return find_spec("control_msgs") is not None


class FollowJointTrajectory:
    """The server of the action."""

    def __init__(self, node: Node, loop: ClosedLoop) -> None:
        """
        Args:
            node: who serves.
            loop: what follows.
        """
        self._type: Any = import_module("control_msgs.action").FollowJointTrajectory
        self._node, self._loop = node, loop
        self._accepted: list[ActionGoal] = []
        self._goals: list[tuple[Any, ActionGoal, Future]] = []
        self._server = ActionServer(
            node,
            self._type,
            "~/follow_joint_trajectory",
            execute_callback=self._execute,
            goal_callback=node.guarded(self._on_goal, lambda *_: GoalResponse.REJECT),
            cancel_callback=node.guarded(self._on_cancel, lambda *_: CancelResponse.REJECT),
        )
        self._timer = steady_timer(node, PERIOD, self._update)

    def destroy(self) -> None:
        """Withdraw the action."""
        self._node.destroy_timer(self._timer)
        self._server.destroy()

    def _on_goal(self, goal: Any) -> GoalResponse:
        """Follow the goal's trajectory, or refuse it."""
        if goal.multi_dof_trajectory.points:
            self._loop.faults.count("trajectory refused", "multi_dof_trajectory is not supported")
            return GoalResponse.REJECT
        try:
            following = self._loop.references.follow_message(goal.trajectory, self._tolerances(goal))
        except RobodynError as problem:
            self._loop.faults.count("trajectory refused", problem)
            return GoalResponse.REJECT
        self._accepted.append(ActionGoal(following))
        return GoalResponse.ACCEPT

    def _tolerances(self, goal: Any) -> Tolerances:
        path, end = (
            [(item.name, item.position) for item in items] for items in (goal.path_tolerance, goal.goal_tolerance)
        )
        time = seconds(goal.goal_time_tolerance)
        return goal_tolerances(self._loop.settings.tolerances, self._loop.robot.joint_names, path, end, time)

    def _on_cancel(self, handle: Any) -> CancelResponse:
        """Hold the arm, if the goal is still being followed."""
        for other, goal, _ in self._goals:
            if other.goal_id == handle.goal_id and goal.cancel():
                self._loop.hold()
                return CancelResponse.ACCEPT
        return CancelResponse.REJECT

    async def _execute(self, handle: Any) -> Any:
        """Wait for the end of a goal; nothing is blocked meanwhile. Goals are executed in the order of acceptance."""
        ended: Future = Future(executor=self._node.executor)
        self._goals.append((handle, self._accepted.pop(0), ended))
        result: GoalResult = await ended
        finish: dict[str, Callable[[], None]] = {
            "succeeded": handle.succeed,
            "aborted": handle.abort,
            "canceled": handle.canceled,
        }
        finish[result.status]()
        return self._type.Result(error_code=result.code, error_string=result.text)

    def _update(self) -> None:
        """Give feedback on goals under way, and the result of those that have ended."""
        for entry in list(self._goals):
            handle, goal, ended = entry
            result = goal.result
            if result is None:
                self._give_feedback(handle)
            else:
                self._goals.remove(entry)
                ended.set_result(result)

    def _give_feedback(self, handle: Any) -> None:
        latest = self._loop.latest
        if latest is None or latest[1].reference is None or latest[1].state is None:
            return
        reference, (q, qd) = latest[1].reference, latest[1].state
        feedback = self._type.Feedback(joint_names=list(self._loop.robot.joint_names))
        feedback.header.stamp = latest[0]
        for point, values in (
            (feedback.desired, reference[:3]),
            (feedback.actual, (q, qd)),
            (feedback.error, (reference.q - q, reference.qd - qd)),
        ):
            for field, value in zip(("positions", "velocities", "accelerations"), values, strict=False):
                setattr(point, field, value.tolist())
        handle.publish_feedback(feedback)
