"""The viewer's side of ``~/target_pose``: a handle at the tool asks for it, and what became of it is told."""

from __future__ import annotations

from queue import Empty, SimpleQueue

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import PoseStamped
from rclpy.node import Node

from robodyn_ros.nodes.pose_messages import to_pose
from robodyn_ros.nodes.pose_watch import PoseWatch
from robodyn_ros.nodes.qos import RELIABLE
from robodyn_ros.nodes.watch import CONTROLLER, Watch
from robodyn_ros.robot.pose import Array
from robodyn_ros.view.browser import Browser
from robodyn_ros.view.gizmo import Gizmo

STANDS = 0.01
"""An arm of which no joint is faster stands [rad/s] or [m/s]."""

SIZE = 0.6
"""Of the handle, by the size of the arm."""


class ViewTarget:
    """See the module.

    Attributes:
        said: what the controller says of the latest target; "" if there was none.
    """

    def __init__(self, node: Node, watch: Watch, browser: Browser) -> None:
        """
        Args:
            node: who talks to the graph.
            watch: the arm's state.
            browser: the picture.
        """
        self.said = ""
        self._watch, self._poses = watch, PoseWatch(node, watch)
        self._name = node.resolve_topic_name(CONTROLLER)
        self._asked: SimpleQueue[Array] = SimpleQueue()  # from the threads of the browser's server
        self._gizmo = Gizmo(browser.server.scene, SIZE * browser.overlay.size, self._asked.put)
        self._targets = node.create_publisher(PoseStamped, f"{CONTROLLER}/target_pose", RELIABLE)
        node.create_subscription(DiagnosticArray, "/diagnostics", self._on_diagnostics, RELIABLE)

    def draw(self) -> None:
        """Send what was asked for, and draw the handle."""
        try:
            while True:
                message = PoseStamped(pose=to_pose(self._asked.get_nowait()))
                message.header.frame_id = self._watch.robot.root
                self._targets.publish(message)
        except Empty:
            pass
        self._gizmo.show(self._poses.tool, bool((np.abs(self._watch.qd) > STANDS).any()))

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        for status in message.status:
            if status.name == self._name:
                self.said = next((item.value for item in status.values if item.key == "target"), "")
