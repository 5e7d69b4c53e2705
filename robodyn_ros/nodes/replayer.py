# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The replayer node: lets a controller follow a saved motion from any position, or a plan from its start.

:meth:`ReplayerNode._script` has all steps in order. For a motion, the arm goes from point to point to its start, rests
there for a moment, and follows it, in one trajectory, under the present law of the controller. A plan is sent only if
the arm rests at its start, and the node ends once the plan runs.

Progress of a motion goes to stdout, one JSON object a line: ``{"stage": …}``, and at the end
``{"error": {"wrist": 0.001}}``, the greatest distance from the motion, in [rad] or [m].
"""

from __future__ import annotations

import numpy as np
from rclpy.node import Node
from trajectory_msgs.msg import JointTrajectory

from robodyn_ros import create_dynamics
from robodyn_ros.control import Trajectory, point_to_point, read_trajectory
from robodyn_ros.dynamics.base import Dynamics
from robodyn_ros.errors import ConfigurationError, NotReadyError
from robodyn_ros.nodes.common.arm_parameters import observe_description
from robodyn_ros.nodes.common.client_library import RELIABLE
from robodyn_ros.nodes.common.diagnostics import ExceptionGuard
from robodyn_ros.nodes.common.executor import Exit, tell
from robodyn_ros.nodes.common.messages import from_trajectory
from robodyn_ros.nodes.common.parameters import NodeParameters, declare
from robodyn_ros.nodes.common.script import Script, ScriptRunner, ScriptStep
from robodyn_ros.nodes.common.watch import CONTROLLER, START_TOLERANCE, Watch, check_start, rest_position
from robodyn_ros.planning.plan import Plan
from robodyn_ros.robot import Array, LockedJoints

PERIOD = 0.02
"""Time between two checks that the script can continue [s]."""

PATIENCE = 15.0
"""Longest wait for the arm, its controller, and the controller's answer [s]."""

PAUSE = 0.5
"""Time of rest at the start of the motion [s]."""

STEP = 0.01
"""Time between two points of the approach to a motion of lines or cubics [s]."""

APPROACH = 0.3
"""Ratio of the velocity limits for the approach to the start."""


class ReplayerNode(ExceptionGuard, Node):  # type: ignore[misc]
    """Runs the script, and ends with it."""

    def __init__(self, end: Exit) -> None:
        """
        Args:
            end: ends the process.

        Raises:
            ConfigurationError: the speed is not above 0.
            RobodynError: the plan cannot be read, or has no motion.
        """
        super().__init__("replayer")
        self._description = observe_description(self)
        declare(self, "motion", "", "path of a JointTrajectory as JSON or YAML", read_only=True)
        declare(self, "speed", 1.0, "ratio of the motion's own speed", read_only=True)
        text = "path of a plan, as `robodyn plan --out` writes it, in place of a motion"
        declare(self, "plan", "", text, read_only=True)
        parameters = NodeParameters(self)
        self._path, self._speed = parameters["motion"], float(parameters["speed"])
        if not 0.0 < self._speed <= 10.0:
            raise ConfigurationError(f"speed: must be above 0 and at most 10, not {self._speed:g}")
        self._plan = Plan.load(parameters["plan"]) if parameters["plan"] else None
        self._planned = None if self._plan is None else self._plan.to_trajectory()
        self._publisher = self.create_publisher(JointTrajectory, f"{CONTROLLER}/joint_trajectory", RELIABLE)
        ScriptRunner(self, end, self._script(), PATIENCE, PERIOD)

    def _script(self) -> Script:
        """All steps, in order."""
        arm = "a robot_description from a simulator or a robot_state_publisher"
        yield ScriptStep(arm, lambda: self._description.known)
        robot, plan, planned = self._description.robot(), self._plan, self._planned
        if plan is not None and set(plan.joints) < set(robot.joint_names):  # the others rest, as they were locked in it
            locked = LockedJoints(robot, plan.joints)
            robot = locked.robot(locked.middle)
        if plan is not None and robot.joint_names != plan.joints:
            names = ", ".join(robot.joint_names), ", ".join(plan.joints)
            raise NotReadyError(f"the arm has the joints {names[0]}, the plan {names[1]}")
        motion = planned or slower(read_trajectory(self._path, robot), self._speed)
        watch = Watch(self, robot)
        yield ScriptStep("joint states", lambda: watch.q is not None)
        yield ScriptStep("commands of the controller", lambda: watch.effort is not None)
        yield ScriptStep("a controller that takes trajectories", self._publisher.get_subscription_count)
        if planned is not None:
            check_start(watch, planned.positions[0])
        yield ScriptStep("a reference of the controller", lambda: watch.reference is not None)
        rest_position(watch)
        assert watch.reference is not None
        begin = watch.reference.copy()
        whole, start = (motion, 0.0) if planned else approached(create_dynamics("rnea", robot), begin, motion)
        self._publisher.publish(from_trajectory(robot.joint_names, whole))
        yield ScriptStep("the beginning of the motion", lambda: watch.has_left(begin))
        if planned is not None:
            self.get_logger().info(f"the controller follows it: {planned.duration:.3g} s")
            return
        begun = watch.time
        tell({"stage": "moving to the beginning"})
        yield ScriptStep("the beginning of the saved motion", lambda: watch.time - begun > start, extra_time=start)
        tell({"stage": "playing", "duration": motion.duration})
        greatest = np.zeros(robot.n)

        def is_over() -> bool:
            if watch.error is not None:
                np.maximum(greatest, np.abs(watch.error), out=greatest)
            return watch.time - begun > whole.duration

        yield ScriptStep("the end of the motion", is_over, extra_time=2.0 * motion.duration)
        assert watch.reference is not None
        away = watch.space.difference(motion.positions[-1], watch.reference)
        if (np.abs(away) > START_TOLERANCE).any():
            raise NotReadyError("the motion is not over: another reference, a fault or speed_scaling has kept it")
        error = dict(zip(robot.joint_names, greatest.tolist(), strict=True))
        tell({"error": error})


def slower(motion: Trajectory, speed: float) -> Trajectory:
    """The same path at a ratio of its speed; lines, cubics and quintics between the points stay what they are."""
    velocities = None if motion.velocities is None else speed * motion.velocities
    accelerations = None if motion.accelerations is None else speed**2 * motion.accelerations
    return Trajectory(motion.times / speed, motion.positions, velocities, accelerations)


def approached(dynamics: Dynamics, start: Array, motion: Trajectory) -> tuple[Trajectory, float]:
    """A motion after the approach to its start, in the turn in which that ends, and the time at which it begins [s].

    Raises:
        InputError: the arm cannot hold itself somewhere in the approach; the message names the joint.
    """
    limit = APPROACH * dynamics.robot.velocity_limit
    approach = point_to_point(dynamics, start, motion.positions[0], velocity_limit=limit)
    if motion.accelerations is None:  # all points of a trajectory have the same: many lines or cubics then
        times = np.linspace(0.0, approach.duration, 2 + int(approach.duration / STEP))
        samples = approach.samples(times)
        approach = Trajectory(times, samples.q, None if motion.velocities is None else samples.qd)
    begin = approach.duration + PAUSE
    turned = approach.positions[-1] - motion.positions[0]
    parts = [
        np.concatenate((getattr(approach, name), getattr(motion, name) + shift))
        for name, shift in (("positions", turned), ("velocities", 0.0), ("accelerations", 0.0))
        if getattr(motion, name) is not None
    ]
    return Trajectory(np.concatenate((approach.times, begin + motion.times)), *parts), begin
