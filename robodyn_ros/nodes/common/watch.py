"""What an observer knows of the arm and of its tool, from the topics of the graph.

Messages that do not fit the arm are ignored: an observer has no say in them.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from geometry_msgs.msg import PoseStamped
from rclpy.node import Node
from sensor_msgs.msg import JointState

from robodyn_ros.errors import InputError
from robodyn_ros.kinematics import Kinematics
from robodyn_ros.nodes.common.messages import JointOrder, seconds, to_matrix
from robodyn_ros.nodes.common.qos import NEWEST, RELIABLE
from robodyn_ros.robot import Robot
from robodyn_ros.robot.pose import Array

CONTROLLER = "controller"
"""Name of the controller whose topics are subscribed to; remap them for another."""


class Watch:
    """The latest state, effort and reference of the arm.

    Attributes:
        robot: the arm.
        time: stamp of the latest state [s].
        q: its positions (n,) in [rad] or [m]; None before the first.
        qd: its velocities (n,); 0 where the drivers give none.
        effort: the effort that the controller last commanded (n,) in [N·m] or [N]; None before the first command.
        error: reference minus position (n,); None before the first.
        restarts: how often time ran backwards, as it does when a simulator starts again.
    """

    def __init__(self, node: Node, robot: Robot) -> None:
        """
        Args:
            node: who subscribes.
            robot: the arm.
        """
        self.robot = robot
        self.time = 0.0
        self.q: Array | None = None
        self.qd: Array = np.zeros(robot.n)
        self.effort: Array | None = None
        self.error: Array | None = None
        self.restarts = 0
        self._node = node
        topics: dict[str, Callable[[JointState, JointOrder], None]] = {
            "joint_states": self._on_state,
            f"{CONTROLLER}/joint_commands": self._on_command,
            f"{CONTROLLER}/tracking_error": self._on_error,
        }
        self._subscriptions = [
            node.create_subscription(JointState, topic, self._ignoring_misfits(handler), NEWEST)
            for topic, handler in topics.items()
        ]

    @property
    def reference(self) -> Array | None:
        """Positions of the reference (n,); None as long as they are unknown."""
        return None if self.q is None or self.error is None else self.q + self.error

    def destroy(self) -> None:
        """Unsubscribe."""
        for subscription in self._subscriptions:
            self._node.destroy_subscription(subscription)

    def _ignoring_misfits(self, handler: Callable[[JointState, JointOrder], None]) -> Callable[[JointState], None]:
        order = JointOrder(self.robot.joint_names)

        def receive(message: JointState) -> None:
            try:
                handler(message, order)
            except InputError:
                return

        return receive

    def _on_state(self, message: JointState, order: JointOrder) -> None:
        columns = order.columns(message.name)
        if columns is None or len(message.position) != len(message.name):
            return
        time, q = seconds(message.header.stamp), np.array(message.position)[columns]
        if not np.isfinite(q).all():
            return
        self.restarts += time < self.time
        self.time, self.q = time, q
        qd = np.array(message.velocity)
        self.qd = qd[columns] if len(qd) == len(message.name) and np.isfinite(qd).all() else np.zeros(len(q))

    def _on_command(self, message: JointState, order: JointOrder) -> None:
        effort = order.effort(message)
        if np.isfinite(effort).all():
            self.effort = effort

    def _on_error(self, message: JointState, order: JointOrder) -> None:
        columns = order.columns(message.name)
        if columns is not None and len(message.position) == len(message.name):
            error = np.array(message.position)[columns]
            if np.isfinite(error).all():
                self.error = error


class PoseWatch:
    """The pose of the controller's tool, and the latest target for it.

    Attributes:
        tool: pose of the tool in the root link's frame (4, 4); None before the first.
        target: pose of the latest target, likewise.
    """

    def __init__(self, node: Node, watch: Watch) -> None:
        """
        Args:
            node: who subscribes.
            watch: where the arm is, for targets in the frame of a link.
        """
        self.tool: Array | None = None
        self.target: Array | None = None
        self._node, self._watch = node, watch
        self._kinematics = Kinematics(watch.robot)
        self._subscriptions = [
            node.create_subscription(PoseStamped, f"{CONTROLLER}/tool_pose", self._on_tool, NEWEST),
            node.create_subscription(PoseStamped, f"{CONTROLLER}/target_pose", self._on_target, RELIABLE),
        ]

    def reset(self) -> None:
        """Forget both poses."""
        self.tool = self.target = None

    def destroy(self) -> None:
        """Unsubscribe."""
        for subscription in self._subscriptions:
            self._node.destroy_subscription(subscription)

    def _on_tool(self, message: PoseStamped) -> None:
        self.tool = self._in_root_frame(message)

    def _on_target(self, message: PoseStamped) -> None:
        self.target = self._in_root_frame(message)

    def _in_root_frame(self, message: PoseStamped) -> Array | None:
        frame, q = message.header.frame_id, self._watch.q
        try:
            matrix = to_matrix(message.pose)
            if not frame or frame == self._watch.robot.root:
                return matrix
            placed: Array | None = None if q is None else self._kinematics.pose(frame, q) @ matrix
        except InputError:
            return None
        return placed
