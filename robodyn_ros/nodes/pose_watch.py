"""What an onlooker knows of the controller's tool: where it is, and where it was last asked to be."""

from __future__ import annotations

from geometry_msgs.msg import PoseStamped
from rclpy.node import Node

from robodyn_ros.errors import InputError
from robodyn_ros.kinematics import Kinematics
from robodyn_ros.nodes.pose_messages import to_matrix
from robodyn_ros.nodes.qos import NEWEST, RELIABLE
from robodyn_ros.nodes.watch import CONTROLLER, Watch
from robodyn_ros.robot.pose import Array


class PoseWatch:
    """See the module. Messages that do not fit the arm are left out: an onlooker has no say in them.

    Attributes:
        tool: pose of the tool in the root link's frame (4, 4); None before the first.
        target: of the latest target, likewise.
    """

    def __init__(self, node: Node, watch: Watch) -> None:
        """
        Args:
            node: who listens.
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

    def forget(self) -> None:
        """Nothing is known."""
        self.tool = self.target = None

    def destroy(self) -> None:
        """Listen no longer."""
        for subscription in self._subscriptions:
            self._node.destroy_subscription(subscription)

    def _on_tool(self, message: PoseStamped) -> None:
        self.tool = self._placed(message)

    def _on_target(self, message: PoseStamped) -> None:
        self.target = self._placed(message)

    def _placed(self, message: PoseStamped) -> Array | None:
        frame, q = message.header.frame_id, self._watch.q
        try:
            matrix = to_matrix(message.pose)
            if not frame or frame == self._watch.robot.root:
                return matrix
            placed: Array | None = None if q is None else self._kinematics.pose(frame, q) @ matrix
        except InputError:
            return None
        return placed
