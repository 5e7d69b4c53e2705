# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The user's actions in the viewer: requests of the panel, handles that drag and push the tool, the planner's plan."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from queue import SimpleQueue
from time import monotonic
from typing import Any

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import PoseStamped, Vector3, WrenchStamped
from rcl_interfaces.msg import Log, ParameterEvent, ParameterType
from rcl_interfaces.srv import GetParameters, SetParameters
from rclpy.logging import LoggingSeverity
from rclpy.node import Node
from rclpy.parameter import Parameter
from std_srvs.srv import SetBool, Trigger
from trajectory_msgs.msg import JointTrajectory

from robodyn_ros.control import Trajectory, durations, rest_to_rest
from robodyn_ros.errors import InputError
from robodyn_ros.kinematics import Kinematics
from robodyn_ros.nodes.common.client_library import LATCHED, NEWEST, RELIABLE
from robodyn_ros.nodes.common.marker_messages import PLAN_COLOR, tool_path
from robodyn_ros.nodes.common.messages import from_trajectory, to_pose, to_trajectory
from robodyn_ros.nodes.common.watch import CONTROLLER, SIMULATOR, PoseWatch, Watch, weight
from robodyn_ros.robot import Array, Robot
from robodyn_ros.view import Line, Mark
from robodyn_ros.view.browser import Browser, Gizmo, Pusher
from robodyn_ros.view.drawing import ArmDrawing, MarkDrawing
from robodyn_ros.view.panel import Requests

STANDSTILL = 0.01
"""Greatest speed of each joint of an arm at rest [rad/s] or [m/s]."""

HANDLE_SIZE = 0.6
"""Size of the handle, relative to the arm's size."""

PLANNER = "planner"
"""Name of the planner whose plans are shown; remap its topic for another."""

PAUSE = 1.0
"""Time of rest of the ghost at the end of its path [s]."""

START_TOLERANCE = 0.03
"""Distance from the start of a plan beyond which its execution, or another motion, has begun [rad] or [m]."""

GHOST = (0.55, 0.35, 0.85, 0.35)
"""Color and opacity of the ghost."""


SHORTEST = 0.4
"""Shortest duration of a motion [s]."""

FASTEST = 10.0
"""Velocity limit of a joint that has none, or a greater one [rad/s] or [m/s]."""

DEMO_RANGE = 0.3
"""Distance by which the demo moves a joint from home, as a fraction of its range, and at most [rad] or [m]."""

DEMO_MARGIN = 1.1
"""Distance of the middle of the demo from a limit, relative to its motion."""

DEMO_SIGNS = ((1.0, 1.0, -1.0), (-1.0, 1.0, 1.0), (1.0, -1.0, 1.0), (-1.0, -1.0, -1.0))
"""Directions of the joints in the poses of the demo, in cycles."""

ANSWER_TIME = 3.0
"""Time after the request of a motion in which a warning of the controller refers to it [s]."""

PLUGINS = ("controller", "dynamics")
"""Parameters of the controller that the panel shows."""


class ViewTarget:
    """A handle at the tool, whose poses go to the controller as a goal, or as a stream if the tool is to follow it.

    Attributes:
        status: the state of the latest target, by the controller's diagnostics; "" if there was none.
    """

    def __init__(self, node: Node, watch: Watch, browser: Browser) -> None:
        """
        Args:
            node: its topics are used.
            watch: the arm's state.
            browser: the picture.
        """
        self.status = ""
        self._watch, self._poses = watch, PoseWatch(node, watch)
        self._name = node.resolve_topic_name(CONTROLLER)
        self._requests: SimpleQueue[Array] = SimpleQueue()  # from the threads of the browser's server
        self._gizmo = Gizmo(browser.server.scene, HANDLE_SIZE * browser.overlay.size, self._requests.put)
        self._goals = node.create_publisher(PoseStamped, f"{CONTROLLER}/goal_pose", RELIABLE)
        self._targets = node.create_publisher(PoseStamped, f"{CONTROLLER}/target_pose", NEWEST)
        node.create_subscription(DiagnosticArray, "/diagnostics", self._on_diagnostics, RELIABLE)

    def draw(self, visible: bool, *, streams: bool) -> None:
        """Send the requested poses, and draw the handle.

        Args:
            visible: False to hide it.
            streams: True if the tool is to follow the handle while it is dragged; False if a motion to the pose at
                which it is released is to be planned.
        """
        self._gizmo.streams = streams
        while not self._requests.empty():
            message = PoseStamped(pose=to_pose(self._requests.get()))
            message.header.frame_id = self._watch.robot.root
            (self._targets if streams else self._goals).publish(message)
        tool = self._poses.tool if visible else None
        self._gizmo.show(tool, bool((np.abs(self._watch.qd) > STANDSTILL).any()))

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        for status in message.status:
            if status.name == self._name:
                self.status = next((item.value for item in status.values if item.key == "target"), "")


class ViewPush:
    """A handle at the tool that pushes a simulated arm, by the simulator's ``~/apply_wrench``.

    Attributes:
        shown: True while the panel wants it.
    """

    def __init__(self, node: Node, watch: Watch, browser: Browser) -> None:
        """
        Args:
            node: its publisher is used.
            watch: the arm's state.
            browser: the picture.
        """
        self.shown = False
        self._watch, self._tip = watch, browser.overlay.tip
        self._kinematics = Kinematics(watch.robot)
        size = browser.overlay.size
        self._handle = Pusher(browser.server.scene, HANDLE_SIZE * size, weight(watch.robot) / size)
        self._wrenches = node.create_publisher(WrenchStamped, f"{SIMULATOR}/apply_wrench", RELIABLE)

    def allow(self, shown: bool) -> None:
        """Show the handle, or hide it."""
        self.shown = shown

    def draw(self) -> list[Mark]:
        """Send the force of the handle while it is held; the arrow of the force."""
        q = self._watch.q
        if q is None:
            return []
        self._handle.shown = self.shown
        tool = self._kinematics.pose(self._tip, q)
        force = self._handle.force(tool[:3, 3])
        if force is None:
            return []
        message = WrenchStamped()
        message.header.frame_id = self._tip
        push = tool[:3, :3].T @ force
        message.wrench.force = Vector3(x=float(push[0]), y=float(push[1]), z=float(push[2]))
        self._wrenches.publish(message)
        return [self._handle.mark(tool[:3, 3], force)]


class ViewPlan:
    """A plan of the planner until it runs: the path of the tool, and a ghost of the arm that moves along it."""

    def __init__(self, node: Node, watch: Watch, browser: Browser) -> None:
        """
        Args:
            node: the subscriber.
            watch: the arm's state.
            browser: the picture.
        """
        self._watch, self._tip = watch, browser.overlay.tip
        self._browser = browser
        self._ghost: ArmDrawing | None = None  # until there is a plan: its meshes are as large as the arm's
        self._path = MarkDrawing(browser.server.scene, "/plan_way")
        self._trajectory: Trajectory | None = None
        self._line: list[Line] = []
        self._since = 0.0
        self._received: JointTrajectory | None = None  # a plan of before the viewer comes at once, maybe before a state
        node.create_subscription(JointTrajectory, f"{PLANNER}/joint_trajectory", self._on_plan, LATCHED)

    def draw(self) -> None:
        """Draw the plan while the arm is at its start."""
        if self._watch.q is None:
            return
        if self._received is not None:
            self._take(self._received, self._watch.q)
            self._received = None
        if self._trajectory is None:
            return
        if (np.abs(self._watch.q - self._trajectory.positions[0]) > START_TOLERANCE).any():
            self._trajectory = None
            self._path.draw(())
            if self._ghost is not None:
                self._ghost.show(False)
            return
        if self._ghost is None:
            scene, meshes = self._browser.server.scene, self._browser.meshes
            self._ghost = ArmDrawing(scene, self._watch.robot, "/plan_ghost", meshes, GHOST)
        t = (monotonic() - self._since) % (self._trajectory.duration + PAUSE)
        self._path.draw(self._line)
        self._ghost.move(self._trajectory.sample(t).q)
        self._ghost.show(True)

    def _on_plan(self, message: JointTrajectory) -> None:
        self._received = message

    def _take(self, message: JointTrajectory, q: Array) -> None:
        """Make the picture of a plan; the joints that it leaves out are at their positions in ``q`` (n,)."""
        names = self._watch.robot.joint_names
        if len(set(message.joint_names)) < len(message.joint_names):
            return
        try:
            planned, _ = to_trajectory(message)
            columns = [names.index(name) for name in message.joint_names]
        except (InputError, ValueError):  # another arm's
            return
        trajectory = planned.of_more_joints(columns, q)
        places = tool_path(Kinematics(self._watch.robot), self._tip, trajectory)
        self._line = [Line("plan", "path", places, 0.006, PLAN_COLOR)]
        self._trajectory, self._since = trajectory, monotonic()


def demo_poses(robot: Robot) -> list[Array]:
    """Positions (n,) between which the demo moves every joint around home, and home at the end."""
    span = np.where(np.isfinite(robot.upper - robot.lower), robot.upper - robot.lower, 2.0 * np.pi)
    reach = DEMO_RANGE * np.minimum(span, np.pi)
    room = DEMO_MARGIN * reach  # a pose at the limit itself would be beyond it by rounding
    middle = np.clip(robot.home, robot.lower + room, robot.upper - room)
    signs = np.resize(np.array(DEMO_SIGNS).T, (robot.n, len(DEMO_SIGNS))).T
    return [*(middle + reach * row for row in signs), robot.home]


class ArmRequests:
    """Sends the requests of the panel, which come from the threads of the browser's server.

    Attributes:
        answer: the answer to the latest request, as the end of a sentence; "" if there was none.
    """

    def __init__(self, node: Node, watch: Watch, speed: float) -> None:
        """
        Args:
            node: its publisher and clients are used.
            watch: the arm's state.
            speed: of a motion, as a fraction of the velocity limits.
        """
        self.answer = ""
        self._node, self._watch, self._robot = node, watch, watch.robot
        self._speed = speed
        self._waiting: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self._reference: Array | None = None
        self._asked = -np.inf
        self._frequencies: dict[str, float] = {}
        self._stiffness = 1.0  # the factor that the panel asked for last
        self._plugins_known = False
        self._told = False  # True while the controller's model has the payload of the panel
        self._trajectories = node.create_publisher(JointTrajectory, f"{CONTROLLER}/joint_trajectory", RELIABLE)
        services: dict[type[Any], tuple[str, ...]] = {
            Trigger: (f"{CONTROLLER}/hold", f"{SIMULATOR}/reset", f"{SIMULATOR}/step"),
            SetBool: (f"{SIMULATOR}/pause",),
            GetParameters: (f"{CONTROLLER}/get_parameters",),
            SetParameters: (f"{CONTROLLER}/set_parameters", f"{SIMULATOR}/set_parameters"),
        }
        self._clients = {name: node.create_client(kind, name) for kind, some in services.items() for name in some}
        self._controller = node.resolve_topic_name(CONTROLLER)
        self._logger = self._controller.strip("/").replace("/", ".")
        node.create_subscription(ParameterEvent, "/parameter_events", self._on_parameters, RELIABLE)
        node.create_subscription(Log, "/rosout", self._on_log, RELIABLE)

    def for_panel(
        self, simulated: bool, posed: bool, push: Callable[[bool], None] | None, picture: Callable[[Any], None]
    ) -> Requests:
        """The functions that a panel calls.

        Args:
            simulated: True if there is a simulator.
            posed: True if the viewer poses the arm by itself.
            push: shows the handle that pushes the arm.
            picture: sends a picture.
        """

        def trigger(name: str) -> Callable[[], None]:
            return lambda: self._request(name, Trigger.Request())

        def demo() -> None:
            self._waiting.put(lambda: self._move(demo_poses(self._robot)))

        return Requests(
            reference=self._request_reference,
            hold=None if posed else trigger(f"{CONTROLLER}/hold"),
            pause=lambda paused: self._request(f"{SIMULATOR}/pause", SetBool.Request(data=paused)),
            reset=trigger(f"{SIMULATOR}/reset"),
            step=trigger(f"{SIMULATOR}/step"),
            choose=lambda kind, name: self._set(CONTROLLER, {kind: name}),
            demo=demo if simulated or posed else None,
            stiffness=None if posed else lambda factor: self._waiting.put(lambda: self._stiffen(factor)),
            payload=self._load if simulated else None,
            push=push,
            picture=picture,
        )

    def send(self) -> None:
        """Send the requests since the last call; of references only the latest."""
        while not self._waiting.empty():
            self._waiting.get()()
        goal, self._reference = self._reference, None
        if goal is not None:
            self._move([goal])

    def ask_plugins(self, show: Callable[[str, str], None]) -> None:
        """Ask the controller for its plugins, as soon as it runs, and again after others may have been chosen.

        Args:
            show: takes kind and name of each.
        """
        client = self._clients[f"{CONTROLLER}/get_parameters"]
        if self._plugins_known or not client.service_is_ready():
            return
        self._plugins_known = True

        def answered(future: Any) -> None:
            for kind, value in zip(PLUGINS, future.result().values, strict=False):  # another controller has fewer
                show(kind, value.string_value)

        self._send(client, GetParameters.Request(names=PLUGINS), answered)

    def _send(self, client: Any, request: Any, answered: Callable[[Any], None]) -> None:
        """Call a service. The callback is guarded: rclpy's EventsExecutor crashes where that of a future raises."""
        client.call_async(request).add_done_callback(self._node.guarded(answered))

    def _on_log(self, message: Log) -> None:
        """Show the controller's log about a motion: a refused trajectory has no other answer."""
        is_recent = monotonic() - self._asked < ANSWER_TIME
        if message.name == self._logger and message.level >= LoggingSeverity.WARN and is_recent:
            self.answer = f" — {CONTROLLER}: {message.msg}"

    def _on_parameters(self, message: ParameterEvent) -> None:
        """Ask for the plugins again when the controller has others, or has been started again."""
        given = {one.name for one in (*message.new_parameters, *message.changed_parameters)}
        if message.node == self._controller and given.intersection(PLUGINS):
            self._plugins_known = False

    def _request_reference(self, q: Array) -> None:
        self._reference = q

    def _move(self, goals: list[Array]) -> None:
        """Send quintics from rest to rest through goals, as fast as the slowest joint allows."""
        q = self._watch.q
        if q is None:
            return
        allowed = self._speed * np.minimum(self._robot.velocity_limit, FASTEST)
        times = np.cumsum(np.maximum(SHORTEST, durations([q, *goals], allowed, np.inf)))
        self.answer, self._asked = "", monotonic()
        self._trajectories.publish(from_trajectory(self._robot.joint_names, rest_to_rest(goals, times)))

    def _stiffen(self, factor: float) -> None:
        """Multiply the stiffness of every joint at the start by a factor, and their damping by its root."""
        self._stiffness = factor
        if self._frequencies:
            self._set(CONTROLLER, {name: value * factor**0.5 for name, value in self._frequencies.items()})
            return
        client = self._clients[f"{CONTROLLER}/get_parameters"]
        if not client.service_is_ready():
            self.answer = f" — {CONTROLLER}: there is no such node now"
            return

        for joint in self._robot.joint_names:  # one by one: those that are locked have none, and spoil the whole answer
            name = f"gains.{joint}.natural_frequency"
            self._send(client, GetParameters.Request(names=[name]), partial(self._on_frequency, name))

    def _on_frequency(self, name: str, future: Any) -> None:
        """Keep a natural frequency of the start, and change it as the panel asks."""
        for value in future.result().values:
            if value.type == ParameterType.PARAMETER_DOUBLE and name not in self._frequencies:
                self._frequencies[name] = value.double_value
                self._set(CONTROLLER, {name: value.double_value * self._stiffness**0.5})

    def _load(self, mass: float, told: bool) -> None:
        """Give the simulated arm a payload, and if wanted the controller's model too.

        A payload that the model has otherwise, from a parameter file or an estimate, is left alone.
        """
        self._set(SIMULATOR, {"mismatch.payload_mass": float(mass)})
        if told or self._told:
            self._set(CONTROLLER, {"payload.mass": float(mass) if told else 0.0})
        self._told = told

    def _set(self, node: str, values: Mapping[str, str | float]) -> None:
        messages = [Parameter(name, value=value).to_parameter_msg() for name, value in values.items()]
        self._request(f"{node}/set_parameters", SetParameters.Request(parameters=messages))

    def _request(self, name: str, request: Any) -> None:
        self._waiting.put(lambda: self._call(name, request))

    def _call(self, name: str, request: Any) -> None:
        client = self._clients[name]
        if not client.service_is_ready():
            self.answer = f" — {name}: there is no such service now"
            return
        self._send(client, request, partial(self._show_answer, name))

    def _show_answer(self, name: str, future: Any) -> None:
        if name == f"{CONTROLLER}/set_parameters":
            self._plugins_known = False  # the panel shows the choice, which may be refused
        answer = future.result()
        results = getattr(answer, "results", [answer])
        reasons = [getattr(one, "reason", "") or getattr(one, "message", "") for one in results]
        verdict = "done" if all(getattr(one, "success", getattr(one, "successful", True)) for one in results) else "no"
        self.answer = f" — {name}: {'; '.join(filter(None, reasons)) or verdict}"
