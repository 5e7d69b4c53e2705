# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The state of the arm and of its tool for an observer, from the topics of the graph.

Messages that do not fit the arm are ignored: the controller reports them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import partial
from time import monotonic
from typing import Any

import numpy as np
from geometry_msgs.msg import PoseStamped, WrenchStamped
from rcl_interfaces.srv import GetParameters
from rclpy.node import Node
from rclpy.parameter import parameter_value_to_python
from sensor_msgs.msg import JointState

from robodyn_ros.control.laws.hand_guiding import FAR
from robodyn_ros.dynamics.parameters import STANDARD_GRAVITY
from robodyn_ros.errors import InputError, NotReadyError
from robodyn_ros.kinematics import Kinematics
from robodyn_ros.nodes.common.client_library import NEWEST, RELIABLE, on_topic
from robodyn_ros.nodes.common.messages import JointOrder, seconds, to_matrix
from robodyn_ros.robot import Array, ConfigurationSpace, Robot, tip
from robodyn_ros.settings import TOOL
from robodyn_ros.view.marks import Mark, box_lines, foot_on_wall, force_arrow, stiffness_ball, wall_lines

CONTROLLER = "controller"
"""Name of the controller whose topics are subscribed to; remap them for another."""

SIMULATOR = "simulator"
"""Name of the simulator whose services are called; remap them for another."""

WRENCH_TIMEOUT = 0.5
"""Time for which an external wrench is shown without another message [s]."""

RENEWAL, LOST = 1.0, 3.0
"""Time between two requests for parameters, and timeout of an answer [s]."""

IMPEDANCE, GUIDING = "cartesian_impedance", "hand_guiding"
"""Laws whose parameters can be seen."""

ASKED = {
    CONTROLLER: ("gravity", "controller", TOOL.name, "task.frame", f"{IMPEDANCE}.stiffness", f"{GUIDING}.walls"),
    SIMULATOR: ("gravity", "wall.link", "wall.point", "wall.normal"),
}
"""Node → its parameters that can be seen."""

STATES = 200
"""Number of states among which that of an error is found; errors come every 0.02 s."""

MOVED = 1e-4
"""Displacement of the reference that shows that a motion has begun [rad] or [m]."""

STANDSTILL = 0.02
"""Greatest speed of each joint of an arm at rest [rad/s] or [m/s]."""

START_TOLERANCE = 0.02
"""Greatest distance of the arm from the start of a plan [rad] or [m]."""


class Watch:
    """The latest state, effort and reference of the arm; states may come in several messages, merged by name.

    Attributes:
        robot: the arm.
        space: its configuration space, for differences of positions.
        time: latest stamp of a joint's state [s].
        q: its positions (n,) in [rad] or [m]; None before the first.
        qd: its velocities (n,); 0 if the drivers give none.
        effort: the effort that the controller last commanded (n,) in [N·m] or [N]; None before the first command.
        commanded: names of the arm's joints in that command.
        error: reference minus position (n,); None before the first.
        reference: positions of the reference (n,): the latest error, and the state that it belongs to; None before.
        restarts: number of times that time went back, as when a simulator starts again.
        known: name → latest position of joints that are not the arm's [rad] or [m].
        subscriptions: those that :meth:`destroy` destroys, those of other watches of the arm included.
        clients: likewise.
    """

    def __init__(self, node: Node, robot: Robot, rest: Array | None = None) -> None:
        """
        Args:
            node: the subscriber.
            robot: the arm.
            rest: assumed positions of joints without a state so far (n,); None to wait for all.
        """
        self.known: dict[str, float] = {}
        self._rest = np.full(robot.n, np.nan) if rest is None else rest
        self._latest = np.full(robot.n, np.nan)
        self._stamps = np.zeros(robot.n)
        self.robot, self.space = robot, ConfigurationSpace(robot)
        self.time = 0.0
        self.q: Array | None = None
        self.qd: Array = np.zeros(robot.n)
        self.effort: Array | None = None
        self.commanded: tuple[str, ...] = ()
        self.error: Array | None = None
        self.reference: Array | None = None
        self._states: deque[tuple[float, Array]] = deque(maxlen=STATES)  # time and positions, the newest first
        self.restarts = 0
        self._node = node
        topics: dict[str, Callable[[JointState, JointOrder], None]] = {
            "joint_states": self._on_state,
            f"{CONTROLLER}/joint_commands": self._on_command,
            f"{CONTROLLER}/tracking_error": self._on_error,
        }
        self.clients: list[Any] = []
        self.subscriptions = [
            node.create_subscription(JointState, topic, self._ignoring_misfits(handler), NEWEST)
            for topic, handler in topics.items()
        ]

    @property
    def awaited(self) -> str:
        """The missing joint states, in words; "" once every joint has a position."""
        return "" if self.q is not None else f"joint states {on_topic(self._node, 'joint_states')}"

    def has_left(self, place: Array) -> bool:
        """True once the reference has left a position (n,): a motion has begun."""
        moved = self.reference is not None and np.abs(self.space.difference(place, self.reference)) > MOVED
        return bool(np.any(moved))

    def destroy(self) -> None:
        """Unsubscribe, from what the other watches of the arm subscribe to as well."""
        for subscription in self.subscriptions:
            self._node.destroy_subscription(subscription)
        for client in self.clients:
            self._node.destroy_client(client)

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
            self.known |= {name: value for name, value in others if name not in order.names and np.isfinite(value)}
        if not len(here) or not np.isfinite(position[there]).all():
            return
        time, velocity = seconds(message.header.stamp), np.array(message.velocity)
        self._latest[here], self._stamps[here] = position[there], time
        newest = float(self._stamps.max())
        self.restarts += newest < self.time
        self.time = newest
        moving = len(velocity) == len(message.name) and np.isfinite(velocity).all()
        self.qd = self.qd.copy()
        self.qd[here] = velocity[there] if moving else 0.0
        q = np.where(np.isnan(self._latest), self._rest, self._latest)
        self.q = q if np.isfinite(q).all() else None
        if self.q is not None:
            self._states.appendleft((time, self.q))

    def _on_command(self, message: JointState, order: JointOrder) -> None:
        self.effort = merged_values(message, message.effort, order, self.effort)
        self.commanded = tuple(order.names[index] for index in order.part(message.name)[0])

    def _on_error(self, message: JointState, order: JointOrder) -> None:
        error, when = merged_values(message, message.position, order, None), seconds(message.header.stamp)
        if error is not None:
            self.error = error
            q = next((q for time, q in self._states if time == when), self.q)  # with others noise would be a motion
            self.reference = None if q is None else q + error


def merged_values(message: JointState, values: Any, order: JointOrder, before: Array | None) -> Array | None:
    """Values of the arm's joints (n,), 0 for those that a message does not name; the previous ones if it has none."""
    here, there = order.part(message.name)
    if not len(here) or len(values) != len(message.name):
        return before
    found = np.zeros(len(order.names))
    found[here] = np.array(values)[there]
    return found if np.isfinite(found).all() else before


def rest_position(watch: Watch) -> Array:
    """The position of the arm at rest: its reference if that is known, else its position, (n,) in [rad] or [m].

    Raises:
        NotReadyError: there is no state yet, or it moves.
    """
    if watch.q is None:
        raise NotReadyError("no joint states have come yet")
    fast = np.abs(watch.qd)
    if (fast > STANDSTILL).any():
        joint = int(np.argmax(fast))
        name = watch.robot.joint_names[joint]
        raise NotReadyError(f"the arm moves: joint {name!r} by {watch.qd[joint]:.3g} per s; a plan begins at rest")
    reference = watch.reference
    is_near = reference is not None and (np.abs(reference - watch.q) <= START_TOLERANCE).all()
    return np.array(reference if is_near else watch.q)


def check_start(watch: Watch, start: Array) -> None:
    """Check that the arm rests at the start (n,) of a plan.

    Raises:
        NotReadyError: it has another position, or moves.
    """
    away = np.abs(watch.space.difference(start, rest_position(watch)))
    if (away > START_TOLERANCE).any():
        joint = int(np.argmax(away))
        name = watch.robot.joint_names[joint]
        raise NotReadyError(f"the arm is not at the start of the plan: joint {name!r} is {away[joint]:.3g} away")


class PoseWatch:
    """The pose of the controller's tool, and the latest target for it.

    Attributes:
        tool: pose of the tool in the root link's frame (4, 4); None before the first.
        target: pose of the latest target, likewise.
    """

    def __init__(self, node: Node, watch: Watch) -> None:
        """
        Args:
            node: the subscriber.
            watch: the state of the arm, for targets in the frame of a link; its end ends this too.
        """
        self.tool: Array | None = None
        self.target: Array | None = None
        self._watch, self._kinematics = watch, Kinematics(watch.robot)
        topics = ("tool", "tool_pose", NEWEST), ("target", "target_pose", NEWEST), ("target", "goal_pose", RELIABLE)
        for name, topic, qos in topics:
            keep = partial(self._keep, name)
            watch.subscriptions.append(node.create_subscription(PoseStamped, f"{CONTROLLER}/{topic}", keep, qos))

    def reset(self) -> None:
        """Forget both poses."""
        self.tool = self.target = None

    def _keep(self, name: str, message: PoseStamped) -> None:
        setattr(self, name, self._in_root_frame(message))

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


def weight(robot: Robot) -> float:
    """The weight of all moving links [N]: a force that is drawn, or pulled at a handle, as long as the arm."""
    mass = sum(body.inertial.mass for body in robot.bodies) or 1.0
    return float(np.linalg.norm(STANDARD_GRAVITY) * mass)


class ToolWatch:
    """The external wrench on the tool, its stiffness, the walls around it; gravity and the limits of the efforts."""

    def __init__(self, node: Node, watch: Watch) -> None:
        """
        Args:
            node: subscribes, and requests parameters.
            watch: the state of the arm; its end ends this too.
        """
        self._watch, robot = watch, watch.robot
        self._kinematics = Kinematics(robot)
        self._weight = weight(robot)
        self._links = {link.name for link in robot.links}
        self._last = tip(robot)
        self._wrench: tuple[float, str, Array] | None = None  # time of arrival, link and force in its axes
        topic = f"{CONTROLLER}/external_wrench"
        watch.subscriptions.append(node.create_subscription(WrenchStamped, topic, self._on_wrench, NEWEST))
        self._clients = {name: node.create_client(GetParameters, f"{name}/get_parameters") for name in ASKED}
        watch.clients += self._clients.values()
        self._asked = dict.fromkeys(ASKED, -np.inf)
        self._names: dict[str, tuple[str, ...]] = {}
        self._answers: dict[str, Any] = {}
        self._values: dict[str, dict[str, Any]] = {name: {} for name in ASKED}

    @property
    def gravity(self) -> Array:
        """Acceleration of free fall in the root link's frame (3,) in [m/s²]: that of the simulator, else that of the
        controller, else standard gravity.
        """
        known = (self._values[name].get("gravity") for name in (SIMULATOR, CONTROLLER))
        return np.array(next((value for value in known if value is not None), STANDARD_GRAVITY))

    @property
    def effort_limit(self) -> Array:
        """Limits of the efforts (n,) in [N·m] or [N]: those of the controller, else the URDF's."""
        robot, known = self._watch.robot, self._values[CONTROLLER]
        pairs = zip(robot.joint_names, robot.effort_limit, strict=True)
        return np.array([known.get(f"effort_limits.{name}", own) for name, own in pairs])

    def marks(self, size: float) -> list[Mark]:
        """The present marks; also requests the parameters that may have changed.

        Args:
            size: of the arm [m].
        """
        self._ask()
        q = self._watch.q
        if q is None:
            return []
        return [*self._force(q, size), *self._stiffness(q, size), *self._walls(q, size)]

    def _force(self, q: Array, size: float) -> list[Mark]:
        if self._wrench is None or monotonic() - self._wrench[0] > WRENCH_TIMEOUT:
            return []
        _, link, force = self._wrench
        pose = self._kinematics.pose(link, q)
        return [*force_arrow(pose[:3, 3], pose[:3, :3] @ force, self._weight / size, size)]

    def _stiffness(self, q: Array, size: float) -> list[Mark]:
        values = self._values[CONTROLLER]
        stiffness = values.get(f"{IMPEDANCE}.stiffness")
        if stiffness is None or values.get("controller") != IMPEDANCE:
            return []
        pose = self._pose(values.get(TOOL.name), q)
        axes = pose[:3, :3] if values.get("task.frame") == "tool" else np.eye(3)
        return [stiffness_ball(pose[:3, 3], axes, np.array(stiffness[:3]), size)]

    def _walls(self, q: Array, size: float) -> list[Mark]:
        found: list[Mark] = []
        values = self._values[CONTROLLER]
        walls = values.get(f"{GUIDING}.walls")
        if walls is not None and values.get("controller") == GUIDING:
            place = self._pose(values.get(TOOL.name), q)[:3, 3]
            found += box_lines(np.array(walls[:3]), np.array(walls[3:]), place, FAR, size)
        values = self._values[SIMULATOR]
        point, normal = values.get("wall.point"), values.get("wall.normal")
        if values.get("wall.link") and point is not None and any(normal or ()):
            place = self._pose(values["wall.link"], q)[:3, 3]
            foot = foot_on_wall(place, np.array(point), np.array(normal))
            found += wall_lines("surface", foot, np.array(normal), 0.4 * size)
        return found

    def _pose(self, link: str | None, q: Array) -> Array:
        return self._kinematics.pose(link if link in self._links else self._last, q)

    def _ask(self) -> None:
        now = monotonic()
        for name, client in self._clients.items():
            answer = self._answers.get(name)
            if answer is not None and answer.done():
                values = answer.result().values
                self._values[name] = dict(zip(self._names[name], map(parameter_value_to_python, values), strict=False))
                self._answers[name] = None
            elif answer is not None and now - self._asked[name] > LOST:
                client.remove_pending_request(answer)
                self._answers[name], self._values[name] = None, {}
            if self._answers.get(name) is None and now - self._asked[name] >= RENEWAL:
                self._asked[name] = now
                if client.service_is_ready():
                    # One name that the node does not have, as of a locked joint, leaves the answer empty.
                    limits = [f"effort_limits.{joint}" for joint in self._watch.commanded if name == CONTROLLER]
                    self._names[name] = *ASKED[name], *limits
                    self._answers[name] = client.call_async(GetParameters.Request(names=self._names[name]))
                else:
                    self._values[name] = {}

    def _on_wrench(self, message: WrenchStamped) -> None:
        force = np.array([message.wrench.force.x, message.wrench.force.y, message.wrench.force.z])
        if message.header.frame_id in self._links and np.isfinite(force).all():
            self._wrench = monotonic(), message.header.frame_id, force
