# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The example for ros2_control: its files agree with each other and with the nodes, and the loop closes through it.

ros2_control is C++ and not on PyPI, so its side is played here, over real DDS, by a node that keeps to what its
documentation says: forward_command_controller takes as many numbers as it has joints, in their order;
joint_state_topic_hardware_interface gives and takes JointState by name; joint_state_broadcaster has an order of
its own.
"""

import re
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest
from closed_loop_scenario import START, follows_a_trajectory
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from robodyn_ros.errors import ConfigurationError, InputError
from robodyn_ros.nodes.common.launching import read_controller_manager, with_hardware
from robodyn_ros.robot import load_robot

EXAMPLE = Path(__file__).parents[1] / "examples/ros2_control"
CONTROLLERS, HARDWARE = EXAMPLE / "controllers.yaml", EXAMPLE / "prr.ros2_control.xml"


def topics():
    """The hardware's topics, by the name of the parameter."""
    return {param.get("name"): param.text for param in ET.parse(HARDWARE).getroot().iter("param")}


def test_the_files_agree(prr, tmp_path):
    anywhere = tmp_path / "anywhere.yaml"
    manager, hardware = read_controller_manager(CONTROLLERS), ET.parse(HARDWARE).getroot()
    robot = load_robot(with_hardware(prr, HARDWARE))
    assert manager.controllers == ("joint_state_broadcaster", "forward_effort_controller")
    assert manager.commands == "/forward_effort_controller/commands"
    assert manager.joints == robot.joint_names == tuple(joint.get("name") for joint in hardware.iter("joint"))
    for joint in hardware.iter("joint"):
        assert [tag.get("name") for tag in joint.iter("command_interface")] == ["effort"]
        assert {"position", "velocity"} <= {tag.get("name") for tag in joint.iter("state_interface")}
    assert float(topics()["trigger_joint_command_threshold"]) < 0.0
    text = (EXAMPLE / "README.md").read_text(encoding="utf-8")
    for name in (manager.efforts, *list(topics().values())[:2], CONTROLLERS.name, HARDWARE.name):
        assert name in text
    anywhere.write_text(re.sub(r"^(\w+:)", r"/**/\1", CONTROLLERS.read_text(encoding="utf-8"), flags=re.MULTILINE))
    assert read_controller_manager(anywhere)[1:] == manager[1:]
    xml = ET.fromstring(with_hardware(prr, HARDWARE))
    assert [child.tag for child in xml].count("ros2_control") == 1
    assert len(xml.findall("joint")) == len(ET.fromstring(prr).findall("joint"))


class Ros2Control:
    """Its side, see the module."""

    def __init__(self, graph, manager):
        self.refused, self._kind, self._joints = 0, JointState, manager.joints
        node, hardware = graph.node, topics()
        self._states = node.create_publisher(JointState, "joint_states", 10)
        self._commands = node.create_publisher(JointState, hardware["joint_commands_topic"], 10)
        node.create_subscription(Float64MultiArray, manager.commands, self._forward, 10)
        node.create_subscription(JointState, hardware["joint_states_topic"], self._read, 10)

    def _forward(self, message):
        """Update and write, as a command comes: it is for the state before, and the simulator waits for that."""
        if len(message.data) != len(self._joints):
            self.refused += 1
            return
        command = self._kind(name=list(self._joints), effort=message.data)
        command.header.stamp = self._stamp
        self._commands.publish(command)

    def _read(self, state):
        order, self._stamp = np.argsort(state.name), state.header.stamp
        broadcast = self._kind(name=[state.name[i] for i in order])
        broadcast.header.stamp = state.header.stamp
        broadcast.position, broadcast.velocity = (
            [values[i] for i in order] for values in (state.position, state.velocity)
        )
        self._states.publish(broadcast)


def test_the_loop_closes_through_it_whatever_its_order(graph, prr, tmp_path):
    order, path = ("wrist", "elevator", "shoulder"), tmp_path / "controllers.yaml"
    joints = ", ".join(read_controller_manager(CONTROLLERS).joints)
    path.write_text(CONTROLLERS.read_text(encoding="utf-8").replace(joints, ", ".join(order)), encoding="utf-8")
    manager, urdf, hardware = read_controller_manager(path), with_hardware(prr, HARDWARE), topics()
    assert manager.joints == order
    between = Ros2Control(graph, manager)
    graph.start(
        "simulator",
        "-r", f"joint_states:={hardware['joint_states_topic']}",
        "-r", f"joint_commands:={hardware['joint_commands_topic']}",
        robot_description=urdf, initial_position=START,
        state_rate=250.0, lockstep=True,
    )  # fmt: skip
    given = {"robot_description": urdf, "use_sim_time": True, "joints": list(manager.joints)}
    graph.start("controller", "-r", f"~/commands:={manager.commands}", **given)
    follows_a_trajectory(graph)
    assert between.refused == 0


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("effort\n", "position\n"), "interface_name: effort, it has none"),
        *(
            (("[elevator, shoulder, wrist]", other), f"must be a list of names, not {re.escape(other)}$")
            for other in ("[]", "[1, 'shoulder']", "'shoulder'")
        ),
        (("forward_command_controller/", "other/"), "it has none"),
        (("controller_manager:", "controller_manager: ["), "cannot be read"),
    ],
)
def test_a_wrong_parameter_file_is_refused(tmp_path, change, said):
    path = tmp_path / "controllers.yaml"
    path.write_text(CONTROLLERS.read_text(encoding="utf-8").replace(*change), encoding="utf-8")
    with pytest.raises((ConfigurationError, InputError), match=said):
        read_controller_manager(path)


def test_a_wrong_hardware_file_is_refused(prr, tmp_path):
    path = tmp_path / "hardware.xml"
    with pytest.raises(ConfigurationError, match="cannot be put into the URDF"):
        with_hardware(prr, path)
    path.write_text("<robot/>", encoding="utf-8")
    with pytest.raises(ConfigurationError, match="not <ros2_control>"):
        with_hardware(prr, path)
