"""What the arm is: URDF → an immutable Robot."""

from robodyn_ros.robot.pose import Pose
from robodyn_ros.robot.robot import Body, Inertial, Joint, Link, Mimic, Robot
from robodyn_ros.robot.urdf import load_robot

__all__ = ["Body", "Inertial", "Joint", "Link", "Mimic", "Pose", "Robot", "load_robot"]
