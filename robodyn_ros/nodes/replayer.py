# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The replayer node: lets a controller follow a saved motion, from any position of the arm.

:meth:`ReplayerNode._script` has all steps in order: the arm goes from point to point to the start of the motion, rests
there for a moment, and follows it, in one trajectory, under the present law of the controller.

Progress goes to stdout, one JSON object a line: ``{"stage": …}``, and at the end ``{"error": {"wrist": 0.001}}``, the
greatest distance from the motion, in [rad] or [m].
"""

from __future__ import annotations

import sys

import numpy as np
from rclpy.node import Node
from trajectory_msgs.msg import JointTrajectory

from robodyn_ros import create_dynamics
from robodyn_ros.control.motion.point_to_point import point_to_point
from robodyn_ros.control.motion.trajectory import Trajectory, read_trajectory
from robodyn_ros.dynamics.base import Dynamics
from robodyn_ros.errors import ConfigurationError
from robodyn_ros.nodes.common.description import DescriptionSource, declare_description
from robodyn_ros.nodes.common.diagnostics import ExceptionGuard
from robodyn_ros.nodes.common.executor import Exit, run, tell
from robodyn_ros.nodes.common.messages import from_rows
from robodyn_ros.nodes.common.parameters import NodeParameters, declare
from robodyn_ros.nodes.common.qos import RELIABLE
from robodyn_ros.nodes.common.script import Script, ScriptRunner, ScriptStep
from robodyn_ros.nodes.common.watch import CONTROLLER, Watch
from robodyn_ros.nodes.planner.messages import rest_position
from robodyn_ros.robot.pose import Array

PERIOD = 0.02
"""Time between two checks that the script can continue [s]."""

PATIENCE = 15.0
"""Longest wait for the arm, its controller, and the controller's answer [s]."""

PAUSE = 0.5
"""Time of rest at the start of the motion [s]."""

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
        """
        super().__init__("replayer")
        declare_description(self, read_only=True)
        declare(self, "motion", "", "path of a JointTrajectory as JSON or YAML", read_only=True)
        declare(self, "speed", 1.0, "ratio of the motion's own speed", read_only=True)
        parameters = NodeParameters(self)
        self._path, self._speed = parameters["motion"], float(parameters["speed"])
        if not 0.0 < self._speed <= 10.0:
            raise ConfigurationError(f"speed: must be above 0 and at most 10, not {self._speed:g}")
        self._description = DescriptionSource(self, lambda: None)
        self._publisher = self.create_publisher(JointTrajectory, f"{CONTROLLER}/joint_trajectory", RELIABLE)
        ScriptRunner(self, end, self._script(), PATIENCE, PERIOD)

    def _script(self) -> Script:
        """All steps, in order."""
        yield ScriptStep("a robot_description", lambda: self._description.known)
        robot = self._description.robot()
        motion = slower(read_trajectory(self._path, robot), self._speed)
        watch = Watch(self, robot)
        yield ScriptStep("joint states", lambda: watch.q is not None)
        yield ScriptStep("commands of the controller", lambda: watch.effort is not None)
        yield ScriptStep("a controller that takes trajectories", self._publisher.get_subscription_count)
        yield ScriptStep("a reference of the controller", lambda: watch.reference is not None)
        rest_position(watch)
        assert watch.reference is not None
        begin = watch.reference.copy()
        whole, start = approached(create_dynamics("rnea", robot), begin, motion)
        self._publisher.publish(_message(whole, robot.joint_names))
        yield ScriptStep("the beginning of the motion", lambda: watch.has_left(begin))
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
        error = dict(zip(robot.joint_names, greatest.tolist(), strict=True))
        tell({"error": error})


def slower(motion: Trajectory, speed: float) -> Trajectory:
    """The same path at a ratio of its speed, with velocities and accelerations at every point."""
    samples = [motion.sample(time) for time in motion.times.tolist()]
    q, qd, qdd = (np.array([getattr(sample, name) for sample in samples]) for name in ("q", "qd", "qdd"))
    return Trajectory(motion.times / speed, q, speed * qd, speed**2 * qdd)


def approached(dynamics: Dynamics, start: Array, motion: Trajectory) -> tuple[Trajectory, float]:
    """A motion after the approach to its start, and the time at which it begins [s].

    Raises:
        InputError: the arm cannot hold itself somewhere in the approach; the message names the joint.
    """
    way = point_to_point(dynamics, start, motion.positions[0], velocity_limit=APPROACH * dynamics.robot.velocity_limit)
    begin = way.duration + PAUSE
    parts = [
        np.concatenate((getattr(way, name), getattr(motion, name)))
        for name in ("positions", "velocities", "accelerations")
    ]
    return Trajectory(np.concatenate((way.times, begin + motion.times)), *parts), begin


def _message(trajectory: Trajectory, joints: tuple[str, ...]) -> JointTrajectory:
    assert trajectory.velocities is not None and trajectory.accelerations is not None
    return from_rows(
        joints,
        trajectory.times,
        positions=trajectory.positions,
        velocities=trajectory.velocities,
        accelerations=trajectory.accelerations,
    )


def main() -> int:
    """Run the replayer."""
    return run(ReplayerNode)


if __name__ == "__main__":
    sys.exit(main())
