# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Sends a saved plan to the controller, if the arm rests at its start; `robodyn plan --send` runs this node."""

from __future__ import annotations

import sys

from rclpy.node import Node
from trajectory_msgs.msg import JointTrajectory

from robodyn_ros.errors import NotReadyError
from robodyn_ros.nodes.common.description import DescriptionSource, declare_description
from robodyn_ros.nodes.common.diagnostics import ExceptionGuard
from robodyn_ros.nodes.common.executor import Exit, run
from robodyn_ros.nodes.common.parameters import NodeParameters, declare
from robodyn_ros.nodes.common.qos import RELIABLE
from robodyn_ros.nodes.common.script import Script, ScriptRunner, ScriptStep
from robodyn_ros.nodes.common.watch import CONTROLLER, Watch
from robodyn_ros.nodes.planner.messages import check_start, to_message
from robodyn_ros.planning.plan import Plan

PERIOD = 0.02
"""Time between two checks that the script can continue [s]."""

PATIENCE = 10.0
"""Longest wait for the arm, its controller, and the controller's answer [s]."""


class SenderNode(ExceptionGuard, Node):  # type: ignore[misc]
    """Runs the script, and ends with it."""

    def __init__(self, end: Exit) -> None:
        """
        Args:
            end: ends the process.

        Raises:
            RobodynError: the plan cannot be read, or has no motion.
        """
        super().__init__("planner_sender")
        declare_description(self, read_only=True)
        declare(self, "plan", "", "path of a plan, as `robodyn plan --out` writes it", read_only=True)
        self._plan = Plan.load(NodeParameters(self)["plan"])
        self._message = to_message(self._plan)
        self._description = DescriptionSource(self, lambda: None)
        self._publisher = self.create_publisher(JointTrajectory, f"{CONTROLLER}/joint_trajectory", RELIABLE)
        ScriptRunner(self, end, self._script(), PATIENCE, PERIOD)

    def _script(self) -> Script:
        """All steps, in order."""
        yield ScriptStep("a robot_description", lambda: self._description.known)
        robot = self._description.robot()
        if robot.joint_names != self._plan.joints:
            names = ", ".join(robot.joint_names), ", ".join(self._plan.joints)
            raise NotReadyError(f"the arm has the joints {names[0]}, the plan {names[1]}")
        watch = Watch(self, robot)
        yield ScriptStep("joint states", lambda: watch.q is not None)
        yield ScriptStep("commands of the controller", lambda: watch.effort is not None)
        yield ScriptStep("a controller that takes trajectories", self._publisher.get_subscription_count)
        check_start(watch, self._plan)
        yield ScriptStep("a reference of the controller", lambda: watch.reference is not None)
        assert watch.reference is not None
        before = watch.reference
        self._publisher.publish(self._message)
        yield ScriptStep("the beginning of the motion", lambda: watch.has_left(before))
        self.get_logger().info(f"the controller follows it: {self._plan.duration:.3g} s")


def main() -> int:
    """Run the sender."""
    return run(SenderNode)


if __name__ == "__main__":
    sys.exit(main())
