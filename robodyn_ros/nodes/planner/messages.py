# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Plans → trajectory_msgs/JointTrajectory and the markers that show them; the check of a plan's start."""

from __future__ import annotations

import numpy as np
from trajectory_msgs.msg import JointTrajectory
from visualization_msgs.msg import Marker, MarkerArray

from robodyn_ros.control.motion.trajectory import Trajectory
from robodyn_ros.errors import NotReadyError
from robodyn_ros.kinematics import Kinematics
from robodyn_ros.nodes.common.marker_messages import ghost, to_marker
from robodyn_ros.nodes.common.messages import from_rows, stamp
from robodyn_ros.nodes.common.watch import Watch
from robodyn_ros.planning.plan import Plan
from robodyn_ros.robot import Robot
from robodyn_ros.robot.pose import Array
from robodyn_ros.view import Line
from robodyn_ros.view.marks import Color, read_shapes

COLOR: Color = (0.55, 0.35, 0.85, 0.9)
"""Color of the tool's path."""

PATH_POINTS = 200
"""Number of points of the tool's path."""

STANDSTILL = 0.02
"""Greatest speed of each joint of an arm at rest [rad/s] or [m/s]."""

START_TOLERANCE = 0.02
"""Greatest distance of the arm from the start of a plan [rad] or [m]."""


def to_message(plan: Plan) -> JointTrajectory:
    """The trajectory with its efforts; it starts when it is received.

    Raises:
        NotReadyError: the plan has no motion.
    """
    plan.to_trajectory()
    return from_rows(
        plan.joints, plan.times, positions=plan.q, velocities=plan.qd, accelerations=plan.qdd, effort=plan.effort
    )


class Preview:
    """A trajectory as markers: the path of the tool, and a ghost of the arm that moves along it."""

    def __init__(self, robot: Robot, link: str, trajectory: Trajectory) -> None:
        """
        Args:
            robot: the arm.
            link: the link whose path is shown.
            trajectory: of all joints.

        Raises:
            RobodynError: the URDF's shapes cannot be read.
        """
        self._kinematics, self._root = Kinematics(robot), robot.root
        moving = {each.name for each in robot.links if each.body >= 0}
        self._shapes = tuple(shape for shape in read_shapes(robot) if shape.link in moving)
        self.trajectory = trajectory
        self.path = tool_path(self._kinematics, link, trajectory)

    def message(self, t: float, now: int) -> MarkerArray:
        """The markers.

        Args:
            t: time of the trajectory at which the ghost is [s].
            now: stamp [ns].
        """
        q, when = self.trajectory.sample(t).q, stamp(now)
        markers = [to_marker(Line("plan", "way", self.path, 0.006, COLOR), self._root, when)]
        for index, shape in enumerate(self._shapes):
            marker = ghost(shape, self._kinematics.pose(shape.link, q), self._root, when)
            marker.ns, marker.id = "plan_ghost", index
            markers.append(marker)
        return MarkerArray(markers=markers)

    def removal(self) -> MarkerArray:
        """The message that removes the markers."""
        return MarkerArray(markers=[Marker(action=Marker.DELETEALL)])


def tool_path(kinematics: Kinematics, link: str, trajectory: Trajectory) -> Array:
    """Positions of a link along a trajectory, (K, 3) in [m]."""
    times = np.linspace(0.0, trajectory.duration, PATH_POINTS)
    places = np.array([trajectory.sample(float(t)).q for t in times])
    found: Array = kinematics.pose(link, places)[:, :3, 3]
    return found


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
    return np.array(
        watch.q if reference is None or (np.abs(reference - watch.q) > START_TOLERANCE).any() else reference
    )


def check_start(watch: Watch, plan: Plan) -> None:
    """Check that the arm rests at the start of a plan.

    Raises:
        NotReadyError: it has another position, or moves.
    """
    away = np.abs(rest_position(watch) - plan.q[0])
    if (away > START_TOLERANCE).any():
        joint = int(np.argmax(away))
        raise NotReadyError(
            f"the arm is not at the start of the plan: joint {plan.joints[joint]!r} is {away[joint]:.3g} away"
        )
