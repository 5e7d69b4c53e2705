# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Streams for the tool over real DDS: a pose, a twist, a wrench and a stiffness, and what is refused."""

from types import SimpleNamespace
from unittest.mock import MagicMock

import numpy as np
from geometry_msgs.msg import PoseStamped, TwistStamped, WrenchStamped
from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String
from std_srvs.srv import Trigger
from test_control_tool_stream import Streamed

import robodyn_ros as rd
from robodyn_ros.nodes.common.messages import to_pose
from robodyn_ros.nodes.controller import references
from robodyn_ros.nodes.controller.references import ReferenceInput

START = {"elevator": 0.3, "shoulder": -0.9, "wrist": 0.4}


def test_the_tool_follows_what_is_streamed(graph, prr):
    graph.start_arm(prr, {"initial_position": START}, **{"controller": "cartesian_impedance", "stream.timeout": 0.3})
    kinematics = rd.Kinematics(rd.load_robot(prr))
    states, told = graph.listen(JointState, "joint_states"), graph.listen(JointState, "controller/efforts/total")
    said, poses = graph.listen(String, "controller/stream_state"), graph.talk(PoseStamped, "controller/target_pose")
    graph.wait(lambda: states and told, "commands")

    def tool():
        return kinematics.pose("tool", np.array(states[-1].position))

    def goes(goal, until, what):
        graph.send(poses, PoseStamped(pose=to_pose(goal)), until, what)

    # A pose out of reach is said to be, and the tool comes back with its target.
    start, far = tool(), tool()
    far[0, 3] += 1000.0
    goes(far, lambda: said and said[-1].data == "unreachable", "the tool at the edge")
    assert "stream unreachable" in str(graph.diagnostics("controller"))
    assert np.linalg.norm(tool()[:3, 3] - start[:3, 3]) > 0.1
    back = len(states)
    goes(start, lambda: np.linalg.norm(tool()[:3, 3] - start[:3, 3]) < 2e-3, "the tool at its start")
    assert max(np.abs(state.velocity).max() for state in states[back:]) < 2.0
    graph.wait(lambda: said[-1].data == "ended", "the end of the stream")

    # A twist in the tool's axes, which ends where the stream does.
    twists, twist, begin = graph.talk(TwistStamped, "controller/target_twist"), TwistStamped(), tool()
    twist.header.frame_id, twist.twist.linear.z = "tool", 0.05

    def moved():
        return (begin[:3, :3].T @ (tool()[:3, 3] - begin[:3, 3]))[2] > 0.02

    graph.send(twists, twist, moved, "the tool on its way")
    graph.wait(lambda: np.abs(states[-1].velocity).max() < 1e-3, "rest after the last message")

    # A wrench that the tool is to exert is an effort of the joints.
    wrench, sender = WrenchStamped(), graph.talk(WrenchStamped, "controller/target_wrench")
    wrench.header.frame_id, wrench.wrench.force.z = "base", 6.0
    before = np.array(told[-1].effort)[0]
    graph.send(sender, wrench, lambda: np.array(told[-1].effort)[0] > before + 3.0, "the wrench in the efforts")

    # A stiffness becomes parameters of the law.
    stiffness = graph.talk(Float64MultiArray, "controller/target_stiffness")
    wanted = [300.0, 310.0, 320.0, 20.0, 21.0, 22.0]

    def stiff():
        return graph.get("controller", "cartesian_impedance.stiffness") == [wanted]

    graph.send(stiffness, Float64MultiArray(data=wanted), stiff, "the stiffness")

    # What cannot be is refused, and the arm goes on.
    twist.header.frame_id = "nowhere"
    stiffness.publish(Float64MultiArray(data=[1.0]))
    twists.publish(twist)
    graph.wait(lambda: "stream refused" in str(graph.diagnostics("controller")), "the refusal")
    assert graph.call(Trigger, "controller/hold").success


def test_a_stream_to_the_tool_goes_on_where_a_stream_of_positions_ended_just_before(monkeypatch):
    """Once the joints' stream was silent, its last position was sent again, and the tool's stream ended."""
    monkeypatch.setattr(references, "LargeMessages", MagicMock())
    arm, now, node = Streamed("prr"), SimpleNamespace(nanoseconds=0), MagicMock()
    node.get_clock.return_value.now.return_value = now
    given = ReferenceInput(node, arm.loop, lambda: "")
    begin = arm.q.copy()
    for k in range(10):
        now.nanoseconds = round(arm.t * 1e9)
        message = JointState(name=arm.robot.joint_names, position=(begin + 0.001 * k).tolist())
        given._on_reference(serialize_message(message))
        arm.step()
    goal = arm.pose()
    goal[2, 3] += 0.1
    heights = []
    for _ in range(100):
        arm.loop.move_tool("pose", goal, arm.t)
        arm.step()
        now.nanoseconds = round(arm.t * 1e9)
        given.watch()
        heights.append((arm.loop.tool_stream.is_running, arm.pose()[2, 3]))
    assert all(running for running, _ in heights)
    assert np.diff([height for _, height in heights]).min() > -1e-6
