"""Plans → trajectory_msgs/JointTrajectory, and to the markers that show them."""

from __future__ import annotations

import numpy as np
from builtin_interfaces.msg import Duration
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint
from visualization_msgs.msg import Marker, MarkerArray

from robodyn_ros.control.trajectory import Trajectory
from robodyn_ros.kinematics import Kinematics
from robodyn_ros.nodes.marker_messages import ghost, to_marker
from robodyn_ros.nodes.messages import NANO, stamp
from robodyn_ros.planning.plan import Plan
from robodyn_ros.robot import Robot
from robodyn_ros.robot.pose import Array
from robodyn_ros.view import Line
from robodyn_ros.view.marks import Color
from robodyn_ros.view.shapes import read_shapes

COLOR: Color = (0.55, 0.35, 0.85, 0.9)
"""Of the tool's way."""

WAY = 200
"""Points of the tool's way at most."""


def to_message(plan: Plan) -> JointTrajectory:
    """The trajectory with its efforts; it starts when it is received.

    Raises:
        NotReadyError: the plan has no motion.
    """
    plan.to_trajectory()
    points = []
    for t, q, qd, qdd, effort in zip(plan.times, plan.q, plan.qd, plan.qdd, plan.effort, strict=True):
        sec, nanosec = divmod(round(float(t) * NANO), NANO)
        points.append(
            JointTrajectoryPoint(
                positions=q.tolist(),
                velocities=qd.tolist(),
                accelerations=qdd.tolist(),
                effort=effort.tolist(),
                time_from_start=Duration(sec=sec, nanosec=nanosec),
            )
        )
    return JointTrajectory(joint_names=list(plan.joints), points=points)


class Preview:
    """A trajectory as markers: the way of the tool, and a ghost of the arm that goes along it."""

    def __init__(self, robot: Robot, link: str, trajectory: Trajectory) -> None:
        """
        Args:
            robot: the arm.
            link: whose way is shown.
            trajectory: of all joints.

        Raises:
            RobodynError: the URDF's shapes cannot be read.
        """
        self._kinematics, self._root = Kinematics(robot), robot.root
        moving = {each.name for each in robot.links if each.body >= 0}
        self._shapes = tuple(shape for shape in read_shapes(robot) if shape.link in moving)
        self.trajectory = trajectory
        self.way = way(self._kinematics, link, trajectory)

    def message(self, t: float, now: int) -> MarkerArray:
        """The markers.

        Args:
            t: time of the trajectory at which the ghost is [s].
            now: stamp [ns].
        """
        q, when = self.trajectory.sample(t).q, stamp(now)
        markers = [to_marker(Line("plan", "way", self.way, 0.006, COLOR), self._root, when)]
        for index, shape in enumerate(self._shapes):
            marker = ghost(shape, self._kinematics.pose(shape.link, q), self._root, when)
            marker.ns, marker.id = "plan_ghost", index
            markers.append(marker)
        return MarkerArray(markers=markers)

    def gone(self) -> MarkerArray:
        """What takes the markers away."""
        return MarkerArray(markers=[Marker(action=Marker.DELETEALL)])


def way(kinematics: Kinematics, link: str, trajectory: Trajectory) -> Array:
    """Where a link goes (K, 3) in [m]."""
    times = np.linspace(0.0, trajectory.duration, WAY)
    places = np.array([trajectory.sample(float(t)).q for t in times])
    found: Array = kinematics.pose(link, places)[:, :3, 3]
    return found
