# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""``~/goal_pose`` and ``~/tool_pose`` of the controller, over real DDS: the arm goes there, or it is said why not."""

import math

import numpy as np
import pytest
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import PoseStamped
from numpy.testing import assert_allclose
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


class Rig:
    """A simulated arm under control, and where its tool is asked to be."""

    def __init__(self, graph, prr):
        self.graph, self.kinematics = graph, rd.Kinematics(rd.load_robot(prr))
        graph.start_arm(prr, {"initial_position": START})
        self.states = graph.listen(JointState, "joint_states")
        tool = graph.listen(PoseStamped, TOOL)
        self.reports = graph.listen(DiagnosticArray, "/diagnostics")
        self.targets = graph.talk(PoseStamped, "controller/goal_pose")
        graph.wait(lambda: self.states and tool, "states, and a pose of the tool")

    def ask(self, pose, frame="base"):
        message = PoseStamped(pose=to_pose(pose))
        message.header.frame_id = frame
        self.targets.publish(message)

    def pose(self, q):
        return self.kinematics.pose("tool", q)

    @property
    def said(self):
        """What the controller says of targets, in its latest diagnostics."""
        found = [status for message in self.reports for status in message.status if status.name == "/controller"]
        return {"message": found[-1].message} | {i.key: i.value for i in found[-1].values} if found else {}

    @property
    def q(self):
        return np.array(self.states[-1].position)


@pytest.fixture
def rig(graph, prr):
    return Rig(graph, prr)


def test_the_tool_goes_where_it_is_asked_to_be(rig):
    rig.ask(rig.pose(THERE))
    rig.graph.wait(lambda: rig.said.get("target") == "succeeded", "the end of the motion")
    rig.graph.wait(lambda: abs(rig.q - THERE).max() < 1e-3, "the arm there")
    states, tools = rig.graph.listen(JointState, "joint_states", 1000), rig.graph.listen(PoseStamped, TOOL, 1000)

    def at(messages):
        return {(m.header.stamp.sec, m.header.stamp.nanosec): m for m in messages}

    rig.graph.wait(lambda: at(states).keys() & at(tools), "a state and the pose of the tool at that time")
    time = min(at(states).keys() & at(tools))
    assert at(tools)[time].header.frame_id == "base"
    assert_allclose(to_matrix(at(tools)[time].pose), rig.pose(at(states)[time].position), atol=1e-9)
    # Relative to the tool, and to elsewhere before it is there: the arm that moves is brought to rest first.
    further = np.eye(4)
    further[0, 3] = -0.2
    goal = rig.pose(rig.q) @ further
    rig.ask(rig.pose([0.2, -0.5, 1.0]))
    rig.graph.wait(lambda: abs(rig.q - THERE).max() > 0.1, "the arm on its way elsewhere")
    rig.ask(goal)
    rig.graph.wait(lambda: np.abs(rig.pose(rig.q) - goal).max() < 2e-3, "the tool there after all")


def test_what_cannot_be_is_refused_with_the_reason(rig):
    far, broken = rig.pose(THERE), PoseStamped(pose=to_pose(rig.pose(THERE)))
    far[0, 3] = 9.0
    broken.pose.orientation.w = math.nan
    before = rig.q

    def refused(count):
        rig.graph.wait(lambda: rig.said.get("target refused") == str(count), "the refusal")
        return rig.said["target"]

    rig.ask(far)
    assert "refused: target of 'tool': out of reach" in refused(1)
    rig.ask(rig.pose(THERE), "map")
    assert "refused: frame_id: 'map' is unknown; a target is in the frame of base, carriage" in refused(2)
    rig.targets.publish(broken)
    assert "refused: orientation: is not finite" in refused(3)
    assert rig.graph.call(SetBool, "controller/enable", data=False).success
    rig.ask(rig.pose(THERE))
    assert refused(4) == "refused: the controller is disabled"
    assert rig.graph.call(SetBool, "controller/enable", data=True).success
    assert_allclose(rig.q, before, atol=0.02)
    rig.graph.wait(lambda: rig.said["message"] == "hold", "it to hold the arm again")
    rig.ask(rig.pose(THERE))
    rig.graph.wait(lambda: abs(rig.q - THERE).max() < 0.01, "the arm there at last")


def test_poses_survive_the_message_and_what_is_no_rotation_does_not():
    for twist in np.random.default_rng(6).uniform(-3.0, 3.0, (50, 6)):
        pose = se3.exp(twist)
        message = to_pose(pose)
        assert_allclose(to_matrix(message), pose, atol=1e-12)
        o = message.orientation
        assert_allclose(Rotation.from_quat([o.x, o.y, o.z, o.w]).as_matrix(), pose[:3, :3], atol=1e-12)
    message.orientation.w *= 1.005  # rounded by its sender: the rotation is that of the direction
    assert_allclose(np.linalg.det(to_matrix(message)), 1.0, atol=1e-12)
    message.orientation.x = 2.0
    with pytest.raises(InputError, match="orientation: must be a quaternion of length 1"):
        to_matrix(message)
