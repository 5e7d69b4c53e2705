"""What the control law has learnt: ``~/estimates``, ``~/save_estimates``, and the file that it is read from.

The file is read when the node is configured, and when another law takes over that remembers something; it is written
when the service asks for it, and when the node is cleaned up or ends, if one is named.
"""

from __future__ import annotations

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from std_srvs.srv import Trigger

from robodyn_ros.control.base import Controller
from robodyn_ros.control.memory_file import recall, save
from robodyn_ros.errors import ConfigurationError, NotReadyError, RobodynError
from robodyn_ros.nodes.closed_loop import ClosedLoop
from robodyn_ros.nodes.parameters import Values
from robodyn_ros.nodes.qos import LATCHED
from robodyn_ros.nodes.services import respond

PERIOD = 0.5
"""Between two messages [s]."""

FILE = "estimates_file"
"""Name of the parameter with the path of the file."""


class Estimates:
    """See the module."""

    def __init__(self, node: Node, loop: ClosedLoop) -> None:
        """
        Args:
            node: who publishes.
            loop: whose law.

        Raises:
            ConfigurationError: there is such a file, and it cannot be used.
        """
        self._node, self._loop = node, loop
        self._known: type[Controller] | None = None
        self._said: dict[str, float] = {}
        try:
            self._recall()
        except RobodynError as problem:
            raise ConfigurationError(f"{FILE}: {problem}") from problem
        self._publisher = node.create_publisher(DiagnosticArray, "~/estimates", LATCHED)
        self._service = node.create_service(Trigger, "~/save_estimates", self._on_save)
        self._timer = node.create_timer(PERIOD, self._look, clock=Clock(clock_type=ClockType.STEADY_TIME))

    def keep(self) -> None:
        """Save what was learnt, if there is a file for it."""
        if self._path and self._law.memory():
            try:
                save(self._path, self._law)
            except RobodynError as problem:
                self._node.get_logger().error(f"{FILE}: {problem}")

    def destroy(self) -> None:
        """Save what was learnt, and withdraw topic and service."""
        self.keep()
        self._node.destroy_timer(self._timer)
        self._node.destroy_service(self._service)
        self._node.destroy_publisher(self._publisher)

    @property
    def _law(self) -> Controller:
        return self._loop.loop.controller

    @property
    def _path(self) -> str:
        return str(Values(self._node)[FILE])

    def _on_save(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        def saved() -> str:
            if not self._path:
                raise NotReadyError(f"the parameter {FILE} names no file")
            save(self._path, self._law)
            return f"saved to {self._path}"

        return respond(response, saved)

    def _recall(self) -> bool:
        """Give a law that has just taken over what the file keeps of it; whether there was something."""
        if type(self._law) is self._known:
            return False
        self._known = type(self._law)
        return bool(self._path) and recall(self._path, self._law)

    def _look(self) -> None:
        """Publish what is believed now, if it is something else than before."""
        try:
            if self._recall():
                self._loop.loop.tune(self._loop.loop.tuning)  # what it changes is blended in
        except RobodynError as problem:
            self._loop.faults.count("estimates refused", problem)
        found = self._law.estimates()
        if found == self._said:
            return
        self._said = found
        status = DiagnosticStatus(
            name=self._node.get_fully_qualified_name(),
            message=type(self._law).__name__,
            hardware_id=self._loop.robot.name,
            values=[KeyValue(key=name, value=f"{value:.6g}") for name, value in found.items()],
        )
        message = DiagnosticArray(status=[status])
        message.header.stamp = self._node.get_clock().now().to_msg()
        self._publisher.publish(message)
