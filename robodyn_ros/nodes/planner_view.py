"""The viewer's side of the planner: a plan is shown before it runs, as a ghost on its way and the way of its tool."""

from __future__ import annotations

from time import monotonic

import numpy as np
from rclpy.node import Node
from trajectory_msgs.msg import JointTrajectory

from robodyn_ros.control.trajectory import Trajectory
from robodyn_ros.errors import InputError
from robodyn_ros.kinematics import Kinematics
from robodyn_ros.nodes.messages import to_trajectory
from robodyn_ros.nodes.planner_messages import COLOR, way
from robodyn_ros.nodes.qos import LATCHED
from robodyn_ros.nodes.ros_packages import share_folder
from robodyn_ros.nodes.watch import Watch
from robodyn_ros.view import Line
from robodyn_ros.view.browser import Browser
from robodyn_ros.view.drawing import ArmDrawing, MarkDrawing

PLANNER = "planner"
"""Name of the planner whose plans are shown; remap its topic for another."""

PAUSE = 1.0
"""How long the ghost rests at the end of its way [s]."""

AWAY = 0.03
"""An arm that is so far from where a plan begins has set out, or does something else [rad] or [m]."""

GHOST = (0.55, 0.35, 0.85, 0.35)


class ViewPlan:
    """See the module."""

    def __init__(self, node: Node, watch: Watch, browser: Browser) -> None:
        """
        Args:
            node: who listens.
            watch: the arm's state.
            browser: the picture.
        """
        self._watch, self._tip = watch, browser.overlay.tip
        scene = browser.server.scene
        self._ghost = ArmDrawing(scene, watch.robot, "/plan_ghost", share_folder, GHOST)
        self._ghost.show(False)
        self._way = MarkDrawing(scene, "/plan_way")
        self._trajectory: Trajectory | None = None
        self._line: list[Line] = []
        self._since = 0.0
        node.create_subscription(JointTrajectory, f"{PLANNER}/joint_trajectory", self._on_plan, LATCHED)

    def draw(self) -> None:
        """Draw the plan, as long as the arm is where it begins."""
        if self._trajectory is None or self._watch.q is None:
            return
        if (np.abs(self._watch.q - self._trajectory.positions[0]) > AWAY).any():
            self._trajectory = None
            self._way.draw(())
            self._ghost.show(False)
            return
        t = (monotonic() - self._since) % (self._trajectory.duration + PAUSE)
        self._way.draw(self._line)
        self._ghost.move(self._trajectory.sample(t).q)
        self._ghost.show(True)

    def _on_plan(self, message: JointTrajectory) -> None:
        if tuple(message.joint_names) != self._watch.robot.joint_names:
            return
        try:
            trajectory, _ = to_trajectory(message)
        except InputError:
            return
        places = way(Kinematics(self._watch.robot), self._tip, trajectory)
        self._line = [Line("plan", "way", places, 0.006, COLOR)]
        self._trajectory, self._since = trajectory, monotonic()
