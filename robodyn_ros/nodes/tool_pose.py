"""The controller's ``~/tool_pose``: where its tool is, a few times a second, worked out when a command has gone out."""

from __future__ import annotations

from time import perf_counter
from typing import Any

from builtin_interfaces.msg import Time
from geometry_msgs.msg import PoseStamped
from rclpy.lifecycle import LifecycleNode

from robodyn_ros.control.command import Command
from robodyn_ros.kinematics import Kinematics
from robodyn_ros.nodes.closed_loop import ClosedLoop
from robodyn_ros.nodes.pose_messages import to_pose
from robodyn_ros.nodes.qos import RELIABLE

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
