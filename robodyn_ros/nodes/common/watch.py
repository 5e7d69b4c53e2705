"""What an observer knows of the arm and of its tool, from the topics of the graph.

Messages that do not fit the arm are ignored: an observer has no say in them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

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

MOVED = 1e-4
"""Distance of the reference from where it was that shows that a motion has begun [rad] or [m]."""


class Watch:
    """The latest state, effort and reference of the arm; states may come in several messages, merged by name.

    Attributes:
        robot: the arm.
        time: stamp of the latest state [s].
        q: its positions (n,) in [rad] or [m]; None before the first.
        qd: its velocities (n,); 0 where the drivers give none.
        effort: the effort that the controller last commanded (n,) in [N·m] or [N]; None before the first command.
        error: reference minus position (n,); None before the first.
        restarts: how often time ran backwards, as it does when a simulator starts again.
        known: name → latest position of joints that are not the arm's [rad] or [m].
    """

    def __init__(self, node: Node, robot: Robot, rest: Array | None = None) -> None:
        """
        Args:
            node: who subscribes.
            robot: the arm.
            rest: where joints are taken to be that no state has named yet (n,); None to wait for all.
        """
        self.known: dict[str, float] = {}
        self._rest = np.full(robot.n, np.nan) if rest is None else rest
        self._latest = np.full(robot.n, np.nan)
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

    def is_told_to_leave(self, place: Array) -> bool:
        """True once the reference is elsewhere than at a place (n,): a motion has begun."""
        return self.reference is not None and bool((np.abs(self.reference - place) > MOVED).any())

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
        here, there = order.part(message.name)
        if len(message.position) != len(message.name):
            return
        position = np.array(message.position)
        if len(here) < len(message.name):
            others = zip(message.name, message.position, strict=True)
            self.known |= {name: value for name, value in others if name not in order.names}
        if not len(here) or not np.isfinite(position[there]).all():
            return
        time, velocity = seconds(message.header.stamp), np.array(message.velocity)
        self.restarts += time < self.time and len(here) == len(order.names)
        self._latest[here], self.time = position[there], time
        moving = len(velocity) == len(message.name) and np.isfinite(velocity).all()
        self.qd = self.qd.copy()
        self.qd[here] = velocity[there] if moving else 0.0
        q = np.where(np.isnan(self._latest), self._rest, self._latest)
        self.q = q if np.isfinite(q).all() else None

    def _on_command(self, message: JointState, order: JointOrder) -> None:
        self.effort = merged_values(message, message.effort, order, self.effort)

    def _on_error(self, message: JointState, order: JointOrder) -> None:
        self.error = merged_values(message, message.position, order, self.error)


def merged_values(message: JointState, values: Any, order: JointOrder, before: Array | None) -> Array | None:
    """Values of the arm's joints (n,), 0 for those that a message does not name; those before if it has none."""
    here, there = order.part(message.name)
    if not len(here) or len(values) != len(message.name):
        return before
    found = np.zeros(len(order.names))
    found[here] = np.array(values)[there]
    return found if np.isfinite(found).all() else before


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
