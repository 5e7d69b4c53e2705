"""What the control law has learnt: ``~/estimates``, ``~/save_estimates``, and the file that keeps it.

The file is read when the node is configured, and when another law that remembers something takes over. It is written
when the service asks for it, and when the node is cleaned up or ends, if the parameter names one.
"""

from __future__ import annotations

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rclpy.node import Node
from std_srvs.srv import Trigger

from robodyn_ros.control.laws.base import Controller
from robodyn_ros.control.laws.memory_file import restore_memory, save_memory
from robodyn_ros.errors import ConfigurationError, NotReadyError, RobodynError
from robodyn_ros.nodes.common.messages import respond
from robodyn_ros.nodes.common.parameters import NodeParameters
from robodyn_ros.nodes.common.qos import LATCHED
from robodyn_ros.nodes.common.timers import steady_timer
from robodyn_ros.nodes.controller.closed_loop import ClosedLoop

PERIOD = 0.5
"""Time between two messages [s]."""

FILE = "estimates_file"
"""Name of the parameter with the path of the file."""


class Estimates:
    """Publishes, saves and restores what the control law has learnt."""

    def __init__(self, node: Node, loop: ClosedLoop) -> None:
        """
        Args:
            node: who publishes.
            loop: whose law.

        Raises:
            ConfigurationError: there is such a file, and it cannot be used.
        """
        self._node, self._loop = node, loop
        self._restored: type[Controller] | None = None  # the law that has been given its memory
        self._published: dict[str, float] = {}
        try:
            self._restore()
        except RobodynError as problem:
            raise ConfigurationError(f"{FILE}: {problem}") from problem
        self._publisher = node.create_publisher(DiagnosticArray, "~/estimates", LATCHED)
        self._service = node.create_service(Trigger, "~/save_estimates", self._on_save)
        self._timer = steady_timer(node, PERIOD, self._publish)

    def save_if_named(self) -> None:
        """Save what was learnt, if the parameter names a file."""
        law = self._loop.law
        if self._path and law.memory():
            try:
                save_memory(self._path, law)
            except RobodynError as problem:
                self._node.get_logger().error(f"{FILE}: {problem}")

    def destroy(self) -> None:
        """Save what was learnt, and withdraw topic and service."""
        self.save_if_named()
        self._node.destroy_timer(self._timer)
        self._node.destroy_service(self._service)
        self._node.destroy_publisher(self._publisher)

    @property
    def _path(self) -> str:
        return str(NodeParameters(self._node)[FILE])

    def _on_save(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        def saved() -> str:
            if not self._path:
                raise NotReadyError(f"the parameter {FILE} names no file")
            save_memory(self._path, self._loop.law)
            return f"saved to {self._path}"

        return respond(response, saved)

    def _restore(self) -> bool:
        """Give a law that has just taken over what the file keeps of it; True if there was something."""
        law = self._loop.law
        if type(law) is self._restored:
            return False
        self._restored = type(law)
        return bool(self._path) and restore_memory(self._path, law)

    def _publish(self) -> None:
        """Publish the estimates if they have changed."""
        try:
            if self._restore():
                self._loop.apply(self._loop.settings)  # what it changes is blended in
        except RobodynError as problem:
            self._loop.faults.count("estimates refused", problem)
        law = self._loop.law
        found = law.estimates()
        if found == self._published:
            return
        self._published = found
        status = DiagnosticStatus(
            name=self._node.get_fully_qualified_name(),
            message=type(law).__name__,
            hardware_id=self._loop.robot.name,
            values=[KeyValue(key=name, value=f"{value:.6g}") for name, value in found.items()],
        )
        message = DiagnosticArray(status=[status])
        message.header.stamp = self._node.get_clock().now().to_msg()
        self._publisher.publish(message)
