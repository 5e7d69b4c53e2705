"""What a controller node is made of while it is configured: an arm, its loop, and all that serves it."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter

from rclpy.lifecycle import LifecycleNode

from robodyn_ros.control.loop import ControlLoop
from robodyn_ros.control.tool_motion import ToolMotion
from robodyn_ros.control.tuning_options import make_tuning
from robodyn_ros.errors import NotReadyError
from robodyn_ros.nodes.closed_loop import ClosedLoop
from robodyn_ros.nodes.controller_parameters import (
    declare_joint_parameters,
    joint_order,
    make_dynamics,
    make_transmission,
)
from robodyn_ros.nodes.estimates import Estimates
from robodyn_ros.nodes.faults import Faults
from robodyn_ros.nodes.follow_joint_trajectory import FollowJointTrajectory, is_available
from robodyn_ros.nodes.parameters import Values, mention_unknown
from robodyn_ros.nodes.payload import PayloadEstimation
from robodyn_ros.nodes.switching import Switching
from robodyn_ros.nodes.target_input import TargetInput
from robodyn_ros.nodes.tool_pose import ToolPose
from robodyn_ros.robot import Robot
from robodyn_ros.robot.tip import tip

COMPLAINT = "control law could not do its best"
"""What complaints of the control law are counted as."""


class ConfiguredController:
    """See the module.

    Attributes:
        loop: the topics of states and commands.
        switching: changes what the loop works by.
        estimates: what the law has learnt.
    """

    def __init__(self, node: LifecycleNode, robot: Robot, faults: Faults, report: Callable[[], None]) -> None:
        """
        Args:
            node: whose topics and parameters.
            robot: the arm.
            faults: where faults are counted.
            report: publishes the diagnostics at once.

        Raises:
            RobodynError: a parameter is wrong.
            ParameterException: a parameter of a joint was given a value of the wrong type or out of range.
            Exception: whatever a plugin raises.
        """
        declare_joint_parameters(node, robot)
        mention_unknown(node)
        values = Values(node)
        joints, transmission = joint_order(values, robot), make_transmission(values, robot)
        loop = ControlLoop.tuned(make_tuning(values, make_dynamics(values, robot)))
        tool = values["tool"] or tip(robot)
        motion = _tool_motion(node, robot, tool)
        node.get_logger().info(
            f"{robot.name}: {robot.n} joints, {values['controller']} on {values['dynamics']} dynamics"
        )
        self._faults = faults
        self.loop = ClosedLoop(node, loop, joints, transmission, faults)
        self.switching = Switching(node, self.loop, faults)
        self._target = None if motion is None else TargetInput(node, self.loop, motion, report)
        self._tool = ToolPose(node, self.loop, tool)
        self._action = FollowJointTrajectory(node, self.loop) if is_available() else None
        self.estimates = Estimates(node, self.loop)
        self._payload = PayloadEstimation(node, self.loop)

    def report(self) -> dict[str, object]:
        """Name with unit → value, for the diagnostics."""
        values: dict[str, object] = {}
        values["dynamics"], values["controller"] = self.switching.running
        values.update(self.loop.statistics.take())
        law = self.loop.loop.controller
        values.update(law.report())
        complaint = law.complaint()
        if complaint:
            self._faults.count(COMPLAINT, complaint)
        if self.loop.references.latest is not None:
            values["reference age [s]"] = perf_counter() - self.loop.references.latest
        if self._target is not None and self._target.state:
            values["target"] = self._target.state
        values["restarts"] = self.loop.loop.restarts
        return values

    def destroy(self) -> None:
        """Part from the drives, and withdraw the topics."""
        self.loop.deactivate()
        for part in (self._payload, self.estimates, self._action, self._tool, self._target, self.switching, self.loop):
            if part is not None:
                part.destroy()


def _tool_motion(node: LifecycleNode, robot: Robot, tool: str) -> ToolMotion | None:
    """What plans motions to a pose; None on a robot without CasADi for which that was not compiled ahead."""
    try:
        return ToolMotion(robot, tool)
    except NotReadyError as problem:
        node.get_logger().warning(f"no ~/target_pose: {problem}")
        return None
