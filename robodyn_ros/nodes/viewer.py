"""The viewer node: the arm in a browser, for machines without RViz.

It shows what is on the topics, and what the panel asks for it sends as anyone else could: a trajectory to the
controller's ``~/joint_trajectory``, calls of the services of controller and simulator, parameters of the controller.
"""

from __future__ import annotations

import sys

from rclpy.clock import Clock, ClockType
from rclpy.node import Node

from robodyn_ros.errors import RobodynError
from robodyn_ros.nodes.description import Description, declare_description
from robodyn_ros.nodes.executor import Exit, run
from robodyn_ros.nodes.parameters import Values, declare, declare_settings
from robodyn_ros.nodes.ros_packages import share_folder
from robodyn_ros.nodes.view import View, ViewerConfig
from robodyn_ros.view.browser import Browser


class ViewerNode(Node):  # type: ignore[misc]
    """See the module."""

    def __init__(self, end: Exit) -> None:
        """
        Args:
            end: not used; this node ends when it is told to.

        Raises:
            RobodynError: the description or a parameter is wrong, viser is not installed, or the port is taken.
            ParameterException: a parameter was given a value of the wrong type or out of range.
        """
        super().__init__("viewer")
        declare_description(self, "the topic of this name is used if empty", read_only=True)
        declare_settings(self, ViewerConfig, read_only=True)
        declare(self, "host", "127.0.0.1", "address to listen at; 0.0.0.0 lets other machines in", read_only=True)
        declare(self, "port", 8080, "port to listen at", read_only=True)
        declare(self, "tip", "", "name of the link that is traced; the last that moves if empty", read_only=True)
        declare(self, "simulated", True, "whether there is a simulator to pause, step and reset", read_only=True)
        values = Values(self)
        self._config = values.settings(ViewerConfig)
        self._view: View | None = None
        self._description = Description(self, self._on_description)
        if self._description.known:
            self._view = self._made()
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        self.create_timer(1.0 / self._config.rate, self._draw, clock=steady)
        self.create_timer(1.0 / self._config.plot_rate, self._plot, clock=steady)

    def destroy_node(self) -> None:
        """Close the browser's server too."""
        if self._view is not None:
            self._view.browser.stop()
        super().destroy_node()

    def _on_description(self) -> None:
        if self._view is not None:
            self.get_logger().warning("a new robot_description: restart the viewer to see it")
            return
        try:
            self._view = self._made()
        except RobodynError as problem:
            self.get_logger().error(f"nothing to show: {problem}")

    def _made(self) -> View:
        values = Values(self)
        robot = self._description.robot()
        browser = Browser(robot, values["host"], values["port"], values["tip"], share_folder)
        for missing in browser.missing:
            self.get_logger().warning(f"not drawn: {missing}")
        self.get_logger().info(f"{robot.name} is at http://{values['host']}:{values['port']}")
        return View(self, robot, browser, self._config, values["simulated"])

    def _draw(self) -> None:
        if self._view is not None:
            self._view.draw()

    def _plot(self) -> None:
        if self._view is not None:
            self._view.plot()


def main() -> int:
    """Run the node."""
    return run(ViewerNode)


if __name__ == "__main__":
    sys.exit(main())
