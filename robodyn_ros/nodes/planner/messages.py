"""Plans → trajectory_msgs/JointTrajectory, and to the markers that show them."""

from __future__ import annotations

import numpy as np
from builtin_interfaces.msg import Duration
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint
from visualization_msgs.msg import Marker, MarkerArray

from robodyn_ros.control.motion.trajectory import Trajectory
from robodyn_ros.errors import NotReadyError
from robodyn_ros.kinematics import Kinematics
from robodyn_ros.nodes.common.marker_messages import ghost, to_marker
from robodyn_ros.nodes.common.messages import NANO, stamp
from robodyn_ros.nodes.common.watch import Watch
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


# Where a plan begins: where the arm stands, and still stands when it is sent.

STANDS = 0.02
"""An arm of which no joint is faster stands [rad/s] or [m/s]."""

NEAR = 0.02
"""So far the arm may be from where a plan begins [rad] or [m]."""


def standing_at(watch: Watch) -> Array:
    """Where the arm stands: its reference as far as that is known, else its position, (n,) in [rad] or [m].

    Raises:
        NotReadyError: nothing is known of it yet, or it moves.
    """
    if watch.q is None:
        raise NotReadyError("no joint states have come yet")
    fast = np.abs(watch.qd)
    if (fast > STANDS).any():
        joint = int(np.argmax(fast))
        name = watch.robot.joint_names[joint]
        raise NotReadyError(f"the arm moves: joint {name!r} by {watch.qd[joint]:.3g} per s; a plan begins at rest")
    reference = watch.reference
    return np.array(watch.q if reference is None or (np.abs(reference - watch.q) > NEAR).any() else reference)


def check_there(watch: Watch, plan: Plan) -> None:
    """See that the arm is where a plan begins.

    Raises:
        NotReadyError: it is elsewhere, or moves.
    """
    away = np.abs(standing_at(watch) - plan.q[0])
    if (away > NEAR).any():
        joint = int(np.argmax(away))
        raise NotReadyError(
            f"the arm is not where the plan begins: joint {plan.joints[joint]!r} is {away[joint]:.3g} away"
        )
