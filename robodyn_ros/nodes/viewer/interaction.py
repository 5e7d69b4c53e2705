# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Pictures beside the arm: a handle that drags the tool, a handle that pushes it, and the plan of the planner."""

from __future__ import annotations

from queue import Empty, SimpleQueue
from time import monotonic

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import PoseStamped, Vector3, WrenchStamped
from rclpy.node import Node
from trajectory_msgs.msg import JointTrajectory

from robodyn_ros.control.motion.trajectory import Trajectory
from robodyn_ros.errors import InputError
from robodyn_ros.kinematics import Kinematics
from robodyn_ros.nodes.common.messages import to_pose, to_trajectory
from robodyn_ros.nodes.common.qos import LATCHED, NEWEST, RELIABLE
from robodyn_ros.nodes.common.watch import CONTROLLER, SIMULATOR, PoseWatch, Watch, weight
from robodyn_ros.nodes.planner.messages import COLOR, tool_path
from robodyn_ros.robot.pose import Array
from robodyn_ros.view import Line, Mark
from robodyn_ros.view.browser import Browser, Gizmo, Pusher
from robodyn_ros.view.drawing import ArmDrawing, MarkDrawing

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
        try:
            while True:
                message = PoseStamped(pose=to_pose(self._requests.get_nowait()))
                message.header.frame_id = self._watch.robot.root
                (self._targets if streams else self._goals).publish(message)
        except Empty:
            pass
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
        node.create_subscription(JointTrajectory, f"{PLANNER}/joint_trajectory", self._on_plan, LATCHED)

    def draw(self) -> None:
        """Draw the plan while the arm is at its start."""
        if self._trajectory is None or self._watch.q is None:
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
        names, q = self._watch.robot.joint_names, self._watch.q
        if q is None or len(set(message.joint_names)) < len(message.joint_names):
            return
        try:
            planned, _ = to_trajectory(message)
            columns = [names.index(name) for name in message.joint_names]
        except (InputError, ValueError):  # another arm's
            return
        trajectory = planned.of_more_joints(columns, q)
        places = tool_path(Kinematics(self._watch.robot), self._tip, trajectory)
        self._line = [Line("plan", "way", places, 0.006, COLOR)]
        self._trajectory, self._since = trajectory, monotonic()
