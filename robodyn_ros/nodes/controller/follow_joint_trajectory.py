# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The interface of joint_trajectory_controller, if control_msgs is installed.

- The action ``~/follow_joint_trajectory``, with which MoveIt moves an arm (:mod:`robodyn_ros.control.motion.goals`).
  The server exists as long as the node: a goal that is interrupted by a cleanup gets its result, and goals are refused
  while the node is not configured.
- ``~/controller_state``: reference, state, error and command, for plots and for panels of rqt.
- ``~/query_state``: the reference at a time.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from time import monotonic
from typing import Any

from rclpy.action import ActionServer, CancelResponse, GoalResponse
from rclpy.lifecycle import LifecycleNode
from rclpy.node import Node
from rclpy.task import Future

from robodyn_ros.control.faults.table import FAULTS
from robodyn_ros.control.motion.goals import RESULTS, ActionGoal, GoalResult, goal_tolerances
from robodyn_ros.control.step import Command
from robodyn_ros.errors import InputError, NotReadyError, RobodynError
from robodyn_ros.nodes.common.client_library import rclpy_implementation, steady_timer
from robodyn_ros.nodes.common.messages import seconds
from robodyn_ros.nodes.controller.closed_loop import ClosedLoop, show_latest
from robodyn_ros.nodes.controller.realtime.periods import BROKE_OFF

STATE_PERIOD = 0.02  #: Least period of ``~/controller_state`` [s], as of joint_trajectory_controller.
INTERRUPTIONS = {BROKE_OFF, *(fault.words for fault in FAULTS.values())}  #: Kinds of counted faults that end a goal.
PERIOD = 0.05  #: Time between two messages of feedback, and longest time from the end of a goal to its result [s].


def is_available() -> bool:
    """Return whether control_msgs is installed."""
    return find_spec("control_msgs") is not None


@dataclass(eq=False)
class RunningGoal:
    """A goal from its acceptance to its result; a client that did not get the answer gives it no handle."""

    request: Any
    goal: ActionGoal
    handle: Any = None
    ended: Any = None  # the future of its result


class FollowJointTrajectory:
    """The server of the action."""

    def __init__(self, node: Node, loop: Callable[[], ClosedLoop]) -> None:
        """``loop`` returns the loop that follows goals; it raises NotReadyError if there is none."""
        self._type: Any = import_module("control_msgs.action").FollowJointTrajectory
        self._node, self._loop = node, loop
        self._goals: list[RunningGoal] = []
        self._server = ActionServer(
            node,
            self._type,
            "~/follow_joint_trajectory",
            execute_callback=self._execute,
            goal_callback=node.guarded(self._on_goal, lambda *_: GoalResponse.REJECT),
            cancel_callback=node.guarded(self._on_cancel, lambda *_: CancelResponse.REJECT),
        )
        self._timer = steady_timer(node, PERIOD, self.update, autostart=False)  # it runs while there are goals

    def destroy(self) -> None:
        """Withdraw the action."""
        self._node.destroy_timer(self._timer)
        self._server.destroy()

    def _on_goal(self, goal: Any) -> GoalResponse:
        """Follow the goal's trajectory, or refuse it."""
        try:
            if goal.multi_dof_trajectory.points:
                raise InputError("multi_dof_trajectory", "is not supported", len(goal.multi_dof_trajectory.points))
            loop, ends = self._loop(), (goal.path_tolerance, goal.goal_tolerance)
            path, end = (
                [(item.name, item.position, item.velocity) for item in items if item.name not in loop.references.locked]
                for items in ends
            )
            usual, time = loop.control.settings.tolerances, seconds(goal.goal_time_tolerance)
            tolerances = goal_tolerances(usual, loop.robot.joint_names, path, end, time)
            followed = ActionGoal(loop.references.follow_message(goal.trajectory, tolerances))
        except RobodynError as problem:
            self._node.faults.count("trajectory refused", problem)
            return GoalResponse.REJECT
        self._goals.append(RunningGoal(goal, followed))
        return GoalResponse.ACCEPT

    def _on_cancel(self, handle: Any) -> CancelResponse:
        """Hold the arm, if the goal is still being followed. A goal that has just ended is accepted as well: rclpy
        skips the goal after a refused one when all are to be cancelled.
        """
        for running in self._goals:
            if running.request is handle.request:
                running.goal.cancel(lambda: self._loop().hold())
        return CancelResponse.ACCEPT

    async def _execute(self, handle: Any) -> Any:
        """Wait for the end of a goal, without blocking. Goals are executed in the order of acceptance."""
        running = next(each for each in self._goals if each.request is handle.request)
        older = self._goals[: self._goals.index(running)]  # those without a handle never get one
        self._goals = [each for each in self._goals if each.handle is not None or each not in older]
        running.handle, running.ended = handle, Future(executor=self._node.executor)
        self._timer.reset()
        self.update()  # it may have ended already
        return self._finish(handle, await running.ended)

    def _finish(self, handle: Any, result: GoalResult) -> Any:
        """Put a goal into its final state; the message of its result."""
        if result.status == "canceled" and not handle.is_cancel_requested:
            # rclpy has no public function for a server that cancels
            handle._update_state(rclpy_implementation.GoalEvent.CANCEL_GOAL)
        {"succeeded": handle.succeed, "aborted": handle.abort, "canceled": handle.canceled}[result.status]()
        return self._type.Result(error_code=result.code, error_string=result.text)

    def update(self) -> None:
        """Publish feedback on active goals, and give the result of those that have ended."""
        for running in [each for each in self._goals if each.ended is not None]:
            if (result := running.goal.result) is None:
                self._give_feedback(running.handle)
            else:
                self._goals.remove(running)
                running.ended.set_result(self._explained(result))
                self._node.answered = monotonic()
        if all(each.ended is None for each in self._goals):
            self._timer.cancel()

    def _explained(self, result: GoalResult) -> GoalResult:
        """A result with the fault that interrupted the goal."""
        if result != RESULTS["interrupted"]:
            return result
        with suppress(NotReadyError):
            loop = self._loop()
            loop.read()  # a fault that is over already has been counted then
            over = (kind for kind in self._node.faults.recent if kind in INTERRUPTIONS)
            if problem := loop.problem or next(over, ""):
                return result._replace(text=f"interrupted: {problem}")
        return result

    def _give_feedback(self, handle: Any) -> None:
        loop = self._loop()
        latest = loop.latest
        if latest is None or latest[1].reference is None or latest[1].state is None:
            return
        feedback = self._type.Feedback(joint_names=list(loop.robot.joint_names))
        feedback.header.stamp = latest[0]
        fill(latest[1], feedback.desired, feedback.actual, feedback.error)
        handle.publish_feedback(feedback)


def show_state(node: LifecycleNode, loop: ClosedLoop) -> None:
    """Publish ``~/controller_state``, with the stamp of its joint state; not during the reaction to a fault."""
    kind: Any = import_module("control_msgs.msg").JointTrajectoryControllerState
    message = kind(joint_names=list(loop.robot.joint_names))

    def fill_in(command: Command) -> bool:
        if command.reference is None:
            return False
        fill(command, message.reference, message.feedback, message.error)
        message.output.effort = command.effort.tolist()
        if hasattr(message, "speed_scaling_factor"):  # control_msgs has it from 5.3 on
            message.speed_scaling_factor = loop.control.speed
        return True

    show_latest(node, loop, "~/controller_state", message, STATE_PERIOD, fill_in)


def serve_query(node: Node, loop: ClosedLoop) -> Any:
    """The service ``~/query_state``: the reference at a time, if no other is given until then."""

    def on_query(request: Any, response: Any) -> Any:
        try:
            loop.references.check_open()
            reference = loop.control.planned(seconds(request.time))
        except RobodynError as problem:
            response.success, response.message = False, str(problem)
            return response
        response.success, response.name = True, list(loop.robot.joint_names)
        for field, value in zip(("position", "velocity", "acceleration"), reference, strict=False):
            setattr(response, field, value.tolist())
        return response

    return node.create_service(import_module("control_msgs.srv").QueryTrajectoryState, "~/query_state", on_query)


def fill(command: Command, reference: Any, state: Any, error: Any) -> None:
    """Fill three trajectory_msgs/JointTrajectoryPoint from a command that has a reference and a state."""
    assert command.reference is not None
    assert command.state is not None
    wanted, (q, qd) = command.reference, command.state
    for point, values in ((reference, wanted[:3]), (state, (q, qd)), (error, (wanted.q - q, wanted.qd - qd))):
        for field, value in zip(("positions", "velocities", "accelerations"), values, strict=False):
            setattr(point, field, value.tolist())
