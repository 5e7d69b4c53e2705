# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The viewer node: the arm in a browser, for machines without RViz.

The path of the data, in :meth:`View.draw`, which a timer calls: the requests of the page's panel are sent
(:class:`~robodyn_ros.nodes.viewer.interaction.ArmRequests`), then the latest state of the arm
(:class:`~robodyn_ros.nodes.common.watch.Watch`) is drawn. The node has no privileges: it sends trajectories to the
controller's ``~/joint_trajectory``, calls services of controller and simulator, and sets parameters of both.

An arm without masses has no simulator and no controller. :class:`PosedArm` poses it instead.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from time import monotonic

import numpy as np
from rclpy.node import Node
from rclpy.parameter import Parameter
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory

from robodyn_ros.checks import finite_array
from robodyn_ros.control.limits import check_position_limits
from robodyn_ros.control.motion.trajectory import Trajectory
from robodyn_ros.errors import RobodynError
from robodyn_ros.nodes.common.arm_parameters import DESCRIPTION, declare_tool, observe_description
from robodyn_ros.nodes.common.client_library import NEWEST, RELIABLE, say_awaited, steady_timer
from robodyn_ros.nodes.common.diagnostics import ExceptionGuard
from robodyn_ros.nodes.common.executor import Exit
from robodyn_ros.nodes.common.messages import NANO, JointOrder, joint_state, stamp, to_trajectory
from robodyn_ros.nodes.common.parameters import NodeParameters, declare, declare_settings, mention_unknown
from robodyn_ros.nodes.common.watch import CONTROLLER, ToolWatch, Watch, merged_values
from robodyn_ros.nodes.viewer.interaction import ArmRequests, ViewPlan, ViewPush, ViewTarget
from robodyn_ros.plugins import available
from robodyn_ros.robot import Array, Robot
from robodyn_ros.robot.xacro import split_arguments
from robodyn_ros.settings import CheckedSettings, setting
from robodyn_ros.view.browser import PORT, Browser
from robodyn_ros.view.gate import EXPOSED, is_exposed
from robodyn_ros.view.panel import AT_FIRST, TERMS, History, Panel

CALENDAR = 1e8
"""Greater stamps are of a clock that counts from 1970; the page then counts from the first state on [s]."""

POSED_RATE = 50.0
"""Rate of the states of an arm that the viewer poses [Hz]."""

RATE, PLOT_RATE = 25.0, 5.0
"""Rates of the picture and of the plots [Hz]."""

SPAN = 10.0
"""Time span of the plots [s]."""

POSES = "poses."
"""Prefix of the parameters that are poses of the panel."""


@dataclass(frozen=True)
class ViewerSettings(CheckedSettings):
    """Settings of the node; each field's metadata describe it."""

    speed: float = setting(0.3, "speed of a slider's motion, as ratio of the velocity limit", "-", 0.01, 1.0)


class PosedArm:
    """An arm without masses, forces and errors: it follows every trajectory exactly, and publishes its states."""

    def __init__(self, node: Node, robot: Robot) -> None:
        """
        Args:
            node: the publisher.
            robot: the arm.
        """
        self._names, self._q = robot.joint_names, robot.home
        self._trajectory: Trajectory | None = None
        self._begun, self._since = monotonic(), 0.0
        self._publisher = node.create_publisher(JointState, "joint_states", RELIABLE)
        node.create_subscription(JointTrajectory, f"{CONTROLLER}/joint_trajectory", self._follow, RELIABLE)
        steady_timer(node, 1.0 / POSED_RATE, self._publish)

    def _follow(self, message: JointTrajectory) -> None:
        try:
            columns = [self._names.index(name) for name in message.joint_names]
            given = to_trajectory(message)[0].of_more_joints(columns, self._q)
        except ValueError:  # another arm's, or none
            return
        times, positions, more = given.times, given.positions, [given.velocities, given.accelerations]
        if times[0] > 0.0:  # from where the arm is
            times, positions = np.append(0.0, times), np.vstack([self._q, positions])
            more = [None if rows is None else np.vstack([np.zeros(len(self._q)), rows]) for rows in more]
        self._trajectory = Trajectory(times, positions, *more)
        self._since = monotonic()

    def _publish(self) -> None:
        now = monotonic()
        qd = np.zeros(len(self._q))
        if self._trajectory is not None:
            time = min(now - self._since, self._trajectory.duration)
            sample = self._trajectory.sample(time)
            self._q, qd = sample.q, sample.qd
        when = stamp(round((now - self._begun) * NANO))
        self._publisher.publish(joint_state(self._names, when, position=self._q, velocity=qd))


class View:
    """One arm in the browser, and the requests of its panel.

    Attributes:
        browser: the picture.
        watch: the state of the arm.
    """

    def __init__(self, node: Node, robot: Robot, browser: Browser, speed: float, poses: Mapping[str, Array]) -> None:
        """
        Args:
            node: its topics, services and parameters are used.
            robot: the arm.
            browser: the picture.
            speed: of a slider's motion, as ratio of the velocity limit.
            poses: name → positions (n,) that the panel offers.
        """
        parameters = NodeParameters(node)
        simulated, posed = parameters["use_sim_time"], parameters["posed"]
        self.browser = browser
        self._robot = robot
        self.watch = Watch(node, robot, robot.home)
        self._posed = PosedArm(node, robot) if posed else None
        self._target = ViewTarget(node, self.watch, browser)
        self._push = ViewPush(node, self.watch, browser) if simulated else None
        self._tool = ToolWatch(node, self.watch)
        self._plan = ViewPlan(node, self.watch, browser)
        self._history = History(SPAN, robot.n)
        self._restarts, self._begun = -1, 0.0
        self._terms: dict[str, Array] = {}
        for term in TERMS:
            listen = partial(self._on_term, term, JointOrder(robot.joint_names))
            node.create_subscription(JointState, f"{CONTROLLER}/efforts/{term}", listen, NEWEST)
        self._arm = ArmRequests(node, self.watch, speed)
        push = self._push.allow if self._push else None
        requests = self._arm.for_panel(simulated, posed, push, browser.send_picture)
        choices = {} if posed else {"controller": available("controllers"), "dynamics": available("dynamics")}
        layers, notes = {*AT_FIRST, *browser.at_first}, browser.meshes.missing
        self._panel = Panel(browser.server.gui, robot, requests, choices, simulated, poses, layers, notes)

    def draw(self) -> None:
        """Send the requests of the panel, and draw the latest state."""
        self._arm.send()
        watch = self.watch
        if watch.q is None:
            return
        if watch.restarts != self._restarts:
            self._restarts = watch.restarts
            self.browser.overlay.forget()
            self._begun = watch.time if watch.time > CALENDAR else 0.0
        reference = watch.reference
        self._panel.follow(watch.q if reference is None else reference, monotonic())
        if not self._posed:
            self._arm.ask_plugins(self._panel.set_choice)
        overlay = self.browser.overlay
        at_tool = self._tool.marks(overlay.size)
        overlay.gravity, overlay.effort_limit = self._tool.gravity, self._tool.effort_limit
        self._target.draw(not (self._push and self._push.shown), streams=self._panel.follows_handle)
        self._plan.draw()
        more = [*(self._push.draw() if self._push else ()), *at_tool]
        self.browser.show(watch.q, watch.qd, watch.effort, reference, self._panel.layers, more)
        signals = {"position": watch.q, "reference": reference, "error": watch.error, **self._terms}
        self._history.add(watch.time, signals)
        target = f" — target {self._target.status}" if self._target.status else ""
        self._panel.say(self._robot.name, f"at {watch.time - self._begun:.1f} s{target}{self._arm.answer}")

    def plot(self) -> None:
        """Draw the plots."""
        self._panel.plot(self._history)

    def _on_term(self, term: str, order: JointOrder, message: JointState) -> None:
        values = merged_values(message, message.effort, order, None)
        if values is not None:
            self._terms[term] = values


class ViewerNode(ExceptionGuard, Node):  # type: ignore[misc]
    """Opens the page when the arm is known, and draws it at a fixed rate."""

    _view: View | None = None  # what the end of a node needs whose parameters are refused

    def __init__(self, end: Exit) -> None:
        """
        Args:
            end: not used; this node ends only by a signal or a shutdown.

        Raises:
            RobodynError: the description or a parameter is wrong, viser is not installed, or the port is taken.
            ParameterException: a parameter was given a value of the wrong type or out of range.
        """
        super().__init__("viewer")
        self._description = observe_description(self, self._on_description)
        declare_settings(self, ViewerSettings, read_only=True)
        declare(self, "host", "127.0.0.1", "address to listen at; 0.0.0.0 lets other machines in", read_only=True)
        declare(self, "port", 0, f"port to listen at; the first free one from {PORT} on if 0", read_only=True)
        declare_tool(self)
        text = "path of the URDF; packages of meshes are looked for around it too (robot_description, if it is a path)"
        declare(self, "urdf_file", "", text, read_only=True)
        text = "whether the viewer itself poses the arm, by joint_states: for an arm without masses"
        declare(self, "posed", False, text, read_only=True)
        for name in self._pose_names():
            text = f"positions of all joints in pose {name}, which the panel offers [rad or m]"
            declare(self, f"{POSES}{name}", Parameter.Type.DOUBLE_ARRAY, text, read_only=True)
        mention_unknown(self)
        self._settings = NodeParameters(self).settings(ViewerSettings)
        say_awaited(self, lambda: self._description.awaited if self._view is None else self._view.watch.awaited)
        if self._description.known:
            self._view = self._make_view()

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
        poses, given = self._poses(robot), parameters[DESCRIPTION]  # the port stays free if a pose does not fit the arm
        near = parameters["urdf_file"] or ("" if given.lstrip().startswith("<") else split_arguments(given)[0])
        namespace = self.get_namespace().strip("/")
        title = f"{robot.name} ({namespace})" if namespace else robot.name
        browser = Browser(robot, parameters["host"], parameters["port"], parameters["tool"], near, title)
        for missing in browser.meshes.missing:
            print(missing, flush=True)
        if is_exposed(parameters["host"]):
            self.get_logger().warning(EXPOSED)
        self.get_logger().info(f"{robot.name}: {robot.n} joints, shown at port {browser.server.get_port()}")
        print(browser.url, flush=True)  # and not in the log, which others may read
        view = View(self, robot, browser, self._settings.speed, poses)
        steady_timer(self, 1.0 / RATE, view.draw)
        steady_timer(self, 1.0 / PLOT_RATE, view.plot)
        return view

    def _pose_names(self) -> list[str]:
        """The names of the poses that are given as parameters."""
        return [name.removeprefix(POSES) for name in self._parameter_overrides if name.startswith(POSES)]

    def _poses(self, robot: Robot) -> dict[str, Array]:
        """The poses that every arm has, and those of the parameters.

        Raises:
            InputError: one has not n finite numbers.
            LimitError: one is outside the position limits.
        """
        poses = {"home": robot.home}
        if robot.home.any() and (robot.lower <= 0.0).all() and (robot.upper >= 0.0).all():
            poses["zero"] = np.zeros(robot.n)
        if np.isfinite(robot.lower).all() and np.isfinite(robot.upper).all():
            poses["middle of the limits"] = (robot.lower + robot.upper) / 2.0
        for name in self._pose_names():
            q = finite_array(f"{POSES}{name}", NodeParameters(self)[f"{POSES}{name}"], (robot.n,))
            check_position_limits(f"{POSES}{name}", robot, q, list(range(robot.n)))
            poses[name] = q
        return poses
