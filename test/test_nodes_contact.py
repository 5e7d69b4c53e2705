"""What touches the arm, over real DDS: ``~/external_wrench``, ``~/external_efforts`` and ``~/tare``."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

pytest.importorskip("rclpy", reason="ROS 2 (rclpy) is not installed")

from geometry_msgs.msg import WrenchStamped
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger

import robodyn_ros as rd

START = {"elevator": 0.3, "shoulder": -0.9, "wrist": 0.4}


def wrench_of(message):
    force, torque = message.wrench.force, message.wrench.torque
    return np.array([force.x, force.y, force.z, torque.x, torque.y, torque.z])


def push(force, frame="tool"):
    message = WrenchStamped()
    message.header.frame_id = frame
    message.wrench.force.x, message.wrench.force.y, message.wrench.force.z = force
    return message


@pytest.mark.parametrize("source", ["commanded", "thread", "measured", "sensor"])
def test_a_push_is_told(graph, prr, source):
    """By the loop in Python, by the loop in C in its thread, by the efforts of joint_states, and by a sensor."""
    contact = {"contact.observe": "tool", "contact.link": "tool", "contact.effort_source": source}
    if source == "thread":
        contact |= {"contact.effort_source": "commanded", "realtime": "thread"}
    if source == "sensor":
        contact |= {"contact.sensor_mass": 0.5, "contact.sensor_com_x": 0.1}
    graph.start("simulator", "-r", "commands:=controller/commands", robot_description=prr, initial_position=START,
                wrench_timeout=60.0)  # fmt: skip
    graph.start("controller", robot_description=prr, use_sim_time=True, **contact)
    efforts = graph.listen(JointState, "controller/external_efforts")
    wrenches = graph.listen(WrenchStamped, "controller/external_wrench")
    states = graph.listen(JointState, "joint_states")
    kinematics, force = rd.Kinematics(rd.load_robot(prr)), np.array([3.0, 0.0, -5.0])
    if source == "sensor":
        sensor = graph.talk(WrenchStamped, "controller/force_torque")
        graph.wait(lambda: states, "states")

        def feel():
            rotation = kinematics.pose("tool", states[-1].position)[:3, :3]
            weight = 0.5 * rotation.T @ [0.0, 0.0, -9.80665]
            message = push(force + weight)
            torque = message.wrench.torque
            torque.x, torque.y, torque.z = np.cross([0.1, 0.0, 0.0], weight)
            sensor.publish(message)
            return bool(wrenches)
    else:
        graph.wait(lambda: efforts and wrenches, "what acts from outside")
        graph.talk(WrenchStamped, "simulator/apply_wrench").publish(push(force))

        def feel():
            return np.abs(wrench_of(wrenches[-1])[[0, 2]] - force[[0, 2]]).max() < 0.05

    graph.wait(feel, "the push")
    assert wrenches[-1].header.frame_id == "tool"
    assert_allclose(wrench_of(wrenches[-1])[[0, 2]], force[[0, 2]], atol=0.06)
    graph.wait(lambda: efforts and (source != "sensor" or feel()), "efforts")
    expected = kinematics.jacobian("tool", states[-1].position, "body").T[:, :3] @ force
    assert_allclose(efforts[-1].effort, expected, atol=0.1)
    assert list(efforts[-1].name) == list(START)
    assert graph.call(Trigger, "controller/tare").success

    def nothing():
        if source == "sensor":
            feel()
        return np.abs(wrench_of(wrenches[-1])).max() < 0.1

    graph.wait(nothing, "nothing after ~/tare")


def test_tare_without_an_observer_is_refused(graph, prr):
    graph.start("controller", robot_description=prr)
    answer = graph.call(Trigger, "controller/tare")
    assert not answer.success
    assert "contact.observe" in answer.message


def test_the_viewer_draws_the_wrench_where_it_acts(prr):
    """An arrow at the link, as long as the arm for a force of its weight; none for a faint or an old one."""
    from types import SimpleNamespace

    from robodyn_ros.nodes.viewer import interaction

    robot, heard = rd.load_robot(prr), []
    node = SimpleNamespace(create_subscription=lambda kind, topic, call, qos: heard.append(call))
    watch = SimpleNamespace(robot=robot, q=np.array([0.3, -0.9, 0.4]))
    view = interaction.ViewWrench(node, watch, 2.0)
    assert view.draw() == []
    weight = interaction.G * sum(body.inertial.mass for body in robot.bodies)
    heard[0](push((0.0, 0.0, 0.5 * weight)))
    (arrow,) = view.draw()
    pose = rd.Kinematics(robot).pose("tool", watch.q)
    assert_allclose(arrow.start, pose[:3, 3])
    assert_allclose(arrow.end - arrow.start, 0.5 * 2.0 * pose[:3, 2], atol=1e-12)
    heard[0](push((0.0, 0.0, 1e-3 * weight)))
    assert view.draw() == []
    heard[0](push((0.0, 0.0, weight), frame="nowhere"))  # it is not the arm's: the one before stays
    assert view.draw() == []
