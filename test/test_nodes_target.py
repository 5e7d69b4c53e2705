# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""``~/goal_pose`` and ``~/tool_pose`` of the controller, over real DDS: the arm goes there, or it is said why not."""

import math

import numpy as np
import pytest
from geometry_msgs.msg import PoseStamped, Quaternion
from numpy.testing import assert_allclose
from ros_graph import by_stamp
from scipy.spatial.transform import Rotation
from sensor_msgs.msg import JointState
from std_srvs.srv import SetBool

import robodyn_ros as rd
from robodyn_ros.errors import InputError
from robodyn_ros.kinematics import se3
from robodyn_ros.nodes.common.messages import to_matrix, to_pose

START = {"elevator": 0.3, "shoulder": -0.9, "wrist": 0.4}
TOOL = "controller/tool_pose"
THERE = np.array([0.6, 0.8, -0.5])


def test_the_tool_goes_where_it_is_asked_to_be_or_it_is_said_why_not(graph, prr):
    graph.start_arm(prr, {"initial_position": START})
    kinematics = rd.Kinematics(rd.load_robot(prr))
    states, tool = graph.listen(JointState, "joint_states", 1000), graph.listen(PoseStamped, TOOL, 1000)
    targets = graph.talk(PoseStamped, "controller/goal_pose")
    graph.wait(lambda: states and tool, "states, and a pose of the tool")

    def pose(q):
        return kinematics.pose("tool", q)

    def at():
        return np.array(states[-1].position)

    def ask(pose, frame="base"):
        message = PoseStamped(pose=to_pose(pose))
        message.header.frame_id = frame
        targets.publish(message)

    def refused(count):
        graph.wait(lambda: graph.count("controller", "target refused") == count, "the refusal")
        return graph.diagnostics("controller")["target"]

    # What cannot be is refused with the reason, and the arm stays where it is.
    far, broken, before = pose(THERE), PoseStamped(pose=to_pose(pose(THERE))), at()
    far[0, 3] = 9.0
    broken.pose.orientation.w = math.nan
    ask(far)
    assert "refused: target of 'tool': out of reach" in refused(1)
    ask(pose(THERE), "map")
    assert "refused: frame_id: 'map' is unknown; a target is in the frame of base, carriage" in refused(2)
    targets.publish(broken)
    assert "refused: orientation: is not finite" in refused(3)
    assert graph.call(SetBool, "controller/enable", data=False).success
    ask(pose(THERE))
    assert refused(4) == "refused: the controller is disabled"
    assert graph.call(SetBool, "controller/enable", data=True).success
    assert_allclose(at(), before, atol=0.02)
    graph.wait(lambda: graph.diagnostics("controller")["message"] == "hold", "it to hold the arm again")

    ask(pose(THERE))
    graph.wait(lambda: graph.diagnostics("controller")["target"] == "succeeded", "the end of the motion")
    graph.wait(lambda: abs(at() - THERE).max() < 1e-3, "the arm there")
    states.clear()
    tool.clear()
    graph.wait(lambda: by_stamp(states).keys() & by_stamp(tool), "a state and the pose of the tool at that time")
    time = min(by_stamp(states).keys() & by_stamp(tool))
    assert by_stamp(tool)[time].header.frame_id == "base"
    assert_allclose(to_matrix(by_stamp(tool)[time].pose), pose(by_stamp(states)[time].position), atol=1e-9)
    # Relative to the tool, and to elsewhere before it is there: the arm that moves is brought to rest first.
    further = np.eye(4)
    further[0, 3] = -0.2
    goal = pose(at()) @ further
    ask(pose([0.2, -0.5, 1.0]))
    graph.wait(lambda: abs(at() - THERE).max() > 0.1, "the arm on its way elsewhere")
    ask(goal)
    graph.wait(lambda: np.abs(pose(at()) - goal).max() < 2e-3, "the tool there after all")


def test_poses_survive_the_message_and_what_is_no_rotation_does_not():
    for twist in np.random.default_rng(6).uniform(-3.0, 3.0, (50, 6)):
        pose = se3.exp(twist)
        message = to_pose(pose)
        assert_allclose(to_matrix(message), pose, atol=1e-12)
        o = message.orientation
        assert_allclose(Rotation.from_quat([o.x, o.y, o.z, o.w]).as_matrix(), pose[:3, :3], atol=1e-12)
    message.orientation.w *= 1.005  # rounded by its sender: the rotation is that of the direction
    assert_allclose(np.linalg.det(to_matrix(message)), 1.0, atol=1e-12)
    for message.orientation in (Quaternion(w=0.98), Quaternion(w=1.02)):
        with pytest.raises(InputError, match="orientation: must be a quaternion of length 1"):
            to_matrix(message)
