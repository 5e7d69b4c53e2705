"""The viewer node: the arm in a browser, for machines without RViz.

The path of the data, in :meth:`View.draw`, which a timer calls: what the panel of the page asked for is sent, then the
latest state of the arm (:class:`~robodyn_ros.nodes.common.watch.Watch`) is drawn. The node has no privileges: it sends
trajectories to the controller's ``~/joint_trajectory``, calls services of controller and simulator, and sets parameters
of the controller.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any

import numpy as np
from rcl_interfaces.srv import GetParameters, SetParameters
from rclpy.node import Node
from rclpy.parameter import Parameter
from sensor_msgs.msg import JointState
from std_srvs.srv import SetBool, Trigger
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from robodyn_ros.errors import InputError, RobodynError
from robodyn_ros.nodes.common.description import DescriptionSource, declare_description
from robodyn_ros.nodes.common.diagnostics import ExceptionGuard
from robodyn_ros.nodes.common.executor import Exit, run
from robodyn_ros.nodes.common.messages import JointOrder, to_duration
from robodyn_ros.nodes.common.parameters import NodeParameters, declare, declare_settings
from robodyn_ros.nodes.common.qos import NEWEST, RELIABLE
from robodyn_ros.nodes.common.timers import steady_timer
from robodyn_ros.nodes.common.watch import CONTROLLER, Watch
from robodyn_ros.nodes.viewer.interaction import ViewPlan, ViewTarget, share_folder
from robodyn_ros.plugins import available
from robodyn_ros.robot import Robot
from robodyn_ros.robot.pose import Array
from robodyn_ros.settings import check_settings, setting
from robodyn_ros.view.browser import Browser
from robodyn_ros.view.gate import EXPOSED, is_exposed
from robodyn_ros.view.panel import TERMS, History, Panel, Requests

SIMULATOR = "simulator"
"""Name of the simulator whose services are called; remap them for another."""

QUINTIC_PEAK = 1.875
"""Greatest speed of a quintic from rest to rest, divided by its mean speed (15/8)."""


@dataclass(frozen=True)
class ViewerSettings:
    """Settings of the node; each field's metadata say what it is."""

    rate: float = setting(25.0, "rate of the picture", "Hz", 1.0, 60.0)
    plot_rate: float = setting(5.0, "rate of the plots", "Hz", 0.1, 30.0)
    span: float = setting(10.0, "time span of the plots", "s", 1.0, 120.0)
    speed: float = setting(0.3, "speed of a slider's motion, as part of the velocity limit", "-", 0.01, 1.0)
    patience: float = setting(0.4, "shortest duration of a slider's motion", "s", 0.05, 10.0)

    def __post_init__(self) -> None:
        check_settings(self)


class View:
    """One arm in the browser, and the requests of its panel.

    Attributes:
        browser: the picture.
    """

    def __init__(self, node: Node, robot: Robot, browser: Browser, settings: ViewerSettings, simulated: bool) -> None:
        """
        Args:
            node: whose topics and services.
            robot: the arm.
            browser: the picture.
            settings: of the node.
            simulated: True if there is a simulator.
        """
        self.browser = browser
        self._robot = robot
        self._settings = settings
        self._watch = Watch(node, robot, robot.home)
        self._target = ViewTarget(node, self._watch, browser)
        self._plan = ViewPlan(node, self._watch, browser)
        self._history = History(settings.span, robot.n)
        self._restarts = 0
        self._initialised = False
        self._terms: dict[str, Array] = {}
        self._requests: SimpleQueue[Callable[[], None]] = SimpleQueue()  # from the threads of the browser's server
        self._reference: Array | None = None
        self._answer = ""
        self._trajectories = node.create_publisher(JointTrajectory, f"{CONTROLLER}/joint_trajectory", RELIABLE)
        for term in TERMS:
            listen = partial(self._on_term, term, JointOrder(robot.joint_names))
            node.create_subscription(JointState, f"{CONTROLLER}/efforts/{term}", listen, NEWEST)
        services: dict[str, type[Any]] = {
            f"{CONTROLLER}/hold": Trigger,
            f"{CONTROLLER}/get_parameters": GetParameters,
            f"{CONTROLLER}/set_parameters": SetParameters,
            f"{SIMULATOR}/pause": SetBool,
            f"{SIMULATOR}/reset": Trigger,
            f"{SIMULATOR}/step": Trigger,
        }
        self._clients = {name: node.create_client(kind, name) for name, kind in services.items()}
        requests = Requests(
            reference=self._request_reference,
            hold=self._requesting(f"{CONTROLLER}/hold", Trigger.Request()),
            pause=lambda paused: self._request(f"{SIMULATOR}/pause", SetBool.Request(data=paused)),
            reset=self._requesting(f"{SIMULATOR}/reset", Trigger.Request()),
            step=self._requesting(f"{SIMULATOR}/step", Trigger.Request()),
            choose=self._request_plugin,
        )
        choices = {"controller": available("controllers"), "dynamics": available("dynamics")}
        self._panel = Panel(browser.server.gui, robot, requests, choices, simulated)

    def draw(self) -> None:
        """Send what the panel asked for, and draw the latest state."""
        self._send_requests()
        watch = self._watch
        if watch.q is None:
            return
        if watch.restarts != self._restarts:
            self._restarts = watch.restarts
            self.browser.overlay.forget()
        reference = watch.reference
        if not self._initialised:
            self._initialise(watch.q if reference is None else reference)
        self._target.draw()
        self._plan.draw()
        self.browser.show(watch.q, watch.qd, watch.effort, reference, self._panel.layers)
        signals = {"position": watch.q, "reference": reference, "error": watch.error, **self._terms}
        self._history.add(watch.time, signals)
        target = f" — target {self._target.status}" if self._target.status else ""
        self._panel.say(self._robot.name, f"at {watch.time:.1f} s{target}{self._answer}")

    def plot(self) -> None:
        """Draw the plots."""
        self._panel.plot(self._history)

    def _initialise(self, q: Array) -> None:
        """Set the sliders to where the arm is, and the choices to what the controller runs."""
        self._initialised = True
        self._panel.set_sliders(q)
        client = self._clients[f"{CONTROLLER}/get_parameters"]
        if client.service_is_ready():
            names = ("controller", "dynamics")

            def set_choices(future: Any) -> None:
                for kind, value in zip(names, future.result().values, strict=True):
                    self._panel.set_choice(kind, value.string_value)

            client.call_async(GetParameters.Request(names=names)).add_done_callback(set_choices)
        else:
            self._initialised = False

    def _send_requests(self) -> None:
        """Call the services that were asked for, and send a motion to the latest reference."""
        while True:
            try:
                self._requests.get_nowait()()
            except Empty:
                break
        goal, self._reference = self._reference, None
        if goal is not None and self._watch.q is not None:
            self._move_to(goal, self._watch.q)

    def _move_to(self, goal: Array, q: Array) -> None:
        """Send a quintic to rest at the goal, as fast as the slowest joint allows."""
        allowed = self._settings.speed * np.minimum(self._robot.velocity_limit, 10.0)
        duration = max(self._settings.patience, float((QUINTIC_PEAK * np.abs(goal - q) / allowed).max()))
        zero = [0.0] * self._robot.n
        point = JointTrajectoryPoint(positions=goal.tolist(), velocities=zero, accelerations=zero)
        point.time_from_start = to_duration(duration)
        self._trajectories.publish(JointTrajectory(joint_names=list(self._robot.joint_names), points=[point]))

    def _request_reference(self, q: Array) -> None:
        self._reference = q  # only the latest since the last picture counts

    def _request_plugin(self, kind: str, name: str) -> None:
        value = Parameter(kind, Parameter.Type.STRING, name).to_parameter_msg()
        self._request(f"{CONTROLLER}/set_parameters", SetParameters.Request(parameters=[value]))

    def _requesting(self, name: str, request: Any) -> Callable[[], None]:
        return lambda: self._request(name, request)

    def _request(self, name: str, request: Any) -> None:
        self._requests.put(lambda: self._call(name, request))

    def _call(self, name: str, request: Any) -> None:
        client = self._clients[name]
        if not client.service_is_ready():
            self._answer = f" — {name}: there is no such service now"
            return
        client.call_async(request).add_done_callback(partial(self._show_answer, name))

    def _show_answer(self, name: str, future: Any) -> None:
        answer = future.result()
        results = getattr(answer, "results", [answer])
        reasons = [getattr(one, "reason", "") or getattr(one, "message", "") for one in results]
        verdict = "done" if all(getattr(one, "success", getattr(one, "successful", True)) for one in results) else "no"
        self._answer = f" — {name}: {'; '.join(filter(None, reasons)) or verdict}"

    def _on_term(self, term: str, order: JointOrder, message: JointState) -> None:
        try:
            self._terms[term] = order.effort(message)
        except InputError:
            return


class ViewerNode(ExceptionGuard, Node):  # type: ignore[misc]
    """Opens the page when the arm is known, and draws it at a fixed rate."""

    def __init__(self, end: Exit) -> None:
        """
        Args:
            end: not used; this node ends when it is told to.

        Raises:
            RobodynError: the description or a parameter is wrong, viser is not installed, or the port is taken.
            ParameterException: a parameter was given a value of the wrong type or out of range.
        """
        super().__init__("viewer")
        declare_description(self, read_only=True)
        declare_settings(self, ViewerSettings, read_only=True)
        declare(self, "host", "127.0.0.1", "address to listen at; 0.0.0.0 lets other machines in", read_only=True)
        declare(self, "port", 8080, "port to listen at", read_only=True)
        declare(self, "tip", "", "name of the link that is traced; the last that moves if empty", read_only=True)
        declare(self, "simulated", True, "whether there is a simulator to pause, step and reset", read_only=True)
        self._settings = NodeParameters(self).settings(ViewerSettings)
        self._view: View | None = None
        self._description = DescriptionSource(self, self._on_description)
        if self._description.known:
            self._view = self._make_view()
        steady_timer(self, 1.0 / self._settings.rate, self._draw)
        steady_timer(self, 1.0 / self._settings.plot_rate, self._plot)

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
            self._view = self._make_view()
        except RobodynError as problem:
            self.get_logger().error(f"nothing to show: {problem}")

    def _make_view(self) -> View:
        parameters = NodeParameters(self)
        robot = self._description.robot()
        browser = Browser(robot, parameters["host"], parameters["port"], parameters["tip"], share_folder)
        for missing in browser.missing:
            self.get_logger().warning(f"not drawn: {missing}")
        if is_exposed(parameters["host"]):
            self.get_logger().warning(EXPOSED)
        print(browser.url, flush=True)  # and not in the log, which others may read
        return View(self, robot, browser, self._settings, parameters["simulated"])

    def _draw(self) -> None:
        if self._view is not None:
            self._view.draw()

    def _plot(self) -> None:
        if self._view is not None:
            self._view.plot()


def main() -> int:
    """Run the node."""
    return run(ViewerNode)
