# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The markers node: masses, efforts and more, drawn in RViz beside the arm (:mod:`robodyn_ros.view.overlay`).

It sends nothing to the arm. Markers are in the root link's frame, so they need no transforms of links.
"""

from __future__ import annotations

from rclpy.node import Node
from visualization_msgs.msg import Marker, MarkerArray

from robodyn_ros.errors import ConfigurationError, RobodynError, is_it
from robodyn_ros.kinematics import Kinematics
from robodyn_ros.nodes.common.arm_parameters import declare_tool, observe_description
from robodyn_ros.nodes.common.client_library import RELIABLE, say_awaited, steady_timer
from robodyn_ros.nodes.common.diagnostics import ExceptionGuard
from robodyn_ros.nodes.common.executor import Exit
from robodyn_ros.nodes.common.marker_messages import ghost, to_marker
from robodyn_ros.nodes.common.messages import NANO, stamp
from robodyn_ros.nodes.common.parameters import NodeParameters, declare, mention_unknown
from robodyn_ros.nodes.common.watch import PoseWatch, ToolWatch, Watch
from robodyn_ros.robot import Robot
from robodyn_ros.view import LAYERS, Overlay
from robodyn_ros.view.marks import TOOL_LAYERS, moving_shapes, triad
from robodyn_ros.view.overlay import SKELETON

GHOST = "reference"
"""The layer that shows the arm at its reference."""

TOOL, TARGET = "tool", "target"
"""The layers that show the tool's frame, and the latest target for it."""

AXIS = {TOOL: 0.15, TARGET: 0.25}
"""Length of the axes of these frames, relative to the arm's size."""

RATE = 20.0
"""Rate of the markers [Hz]."""


class Picture:
    """The markers of one arm."""

    def __init__(self, node: Node, robot: Robot, tool: str, layers: frozenset[str]) -> None:
        """
        Args:
            node: the subscriber.
            robot: the arm.
            tool: name of the link that is traced; empty for the last one.
            layers: the layers to show.

        Raises:
            RobodynError: there is no link of that name, or the URDF's shapes cannot be read.
        """
        self.watch = Watch(node, robot, robot.home)
        self.poses, self.at_tool = PoseWatch(node, self.watch), ToolWatch(node, self.watch)
        self.overlay = Overlay(robot, tool)
        self._layers = layers
        self._kinematics = Kinematics(robot)
        self._root = robot.root
        self._shapes = moving_shapes(robot) if GHOST in layers else ()
        self._restarts = 0
        self._shown: dict[tuple[str, int], Marker] = {}

    def message(self) -> MarkerArray | None:
        """The present markers, and the removal of former ones; None before the first state."""
        watch = self.watch
        if watch.q is None:
            return None
        if watch.restarts != self._restarts:
            self._restarts = watch.restarts
            self.overlay.forget()
            self.poses.reset()
        now, reference = stamp(round(watch.time * NANO)), watch.reference
        marks = self.at_tool.marks(self.overlay.size)
        self.overlay.gravity, self.overlay.effort_limit = self.at_tool.gravity, self.at_tool.effort_limit
        marks += self.overlay.marks(watch.q, watch.qd, watch.effort, reference)
        for layer, pose in ((TOOL, self.poses.tool), (TARGET, self.poses.target)):
            if pose is not None:
                marks += triad(layer, pose, AXIS[layer] * self.overlay.size)
        markers = [to_marker(mark, self._root, now) for mark in marks if mark.layer in self._layers]
        if reference is not None:
            poses = (self._kinematics.pose(shape.link, reference) for shape in self._shapes)
            markers += [ghost(*drawn, self._root, now) for drawn in zip(self._shapes, poses, strict=True)]
        counts: dict[str, int] = {}
        shown = {}
        for marker in markers:
            marker.id = counts[marker.ns] = counts.get(marker.ns, -1) + 1
            shown[marker.ns, marker.id] = marker
        gone = [Marker(header=old.header, ns=old.ns, id=old.id, action=Marker.DELETE)
                for key, old in self._shown.items() if key not in shown]  # fmt: skip
        self._shown = shown
        return MarkerArray(markers=[*gone, *markers])


class MarkersNode(ExceptionGuard, Node):  # type: ignore[misc]
    """Publishes the markers of the arm at a fixed rate."""

    def __init__(self, end: Exit) -> None:
        """
        Args:
            end: not used; this node ends only by a signal or a shutdown.

        Raises:
            RobodynError: the description or a parameter is wrong.
            ParameterException: a parameter was given a value of the wrong type or out of range.
        """
        super().__init__("markers")
        self._description = observe_description(self, self._on_description)
        declare_tool(self)
        known = (*LAYERS, GHOST, TOOL, TARGET, *TOOL_LAYERS)
        some = f"some of {', '.join(known)}"
        shown = [layer for layer in known if layer != SKELETON]
        declare(self, "layers", shown, "layers to show", constraints=some, read_only=True)
        mention_unknown(self)
        parameters = NodeParameters(self)
        self._layers = frozenset(parameters["layers"])
        if unknown := sorted(self._layers - set(known)):
            choices = f"there are {', '.join(known)}{is_it(unknown[0], known)}"
            raise ConfigurationError(f"layers: {', '.join(unknown)}: {choices}")
        self._tool: str = parameters["tool"]
        self._picture: Picture | None = None
        self._publisher = self.create_publisher(MarkerArray, "~/markers", RELIABLE)
        say_awaited(self, self._awaited)
        if self._description.known:
            self._picture = self._make_picture()
        steady_timer(self, 1.0 / RATE, self._publish)

    def _awaited(self) -> str:
        return self._description.awaited if self._picture is None else self._picture.watch.awaited

    def _on_description(self) -> None:
        if self._picture is not None:
            self._picture.watch.destroy()
            self._picture = None
            self._publisher.publish(MarkerArray(markers=[Marker(action=Marker.DELETEALL)]))  # of another arm
        try:
            self._picture = self._make_picture()
        except RobodynError as problem:
            self.get_logger().error(f"nothing to show: {problem}")

    def _make_picture(self) -> Picture:
        robot = self._description.robot()
        if self._tool:
            robot.link(self._tool, "tool")
        picture = Picture(self, robot, self._tool, self._layers)
        self.get_logger().info(f"{robot.name}: markers of {robot.n} joints")
        return picture

    def _publish(self) -> None:
        if self._picture is not None and self._publisher.get_subscription_count():
            message = self._picture.message()
            if message is not None:
                self._publisher.publish(message)
