# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Drives that speak in units of their motors: between them and the simulated joints a node converts, as gears do."""

from pathlib import Path

import numpy as np
import pytest
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from robodyn_ros.control.drives import Transmission, TransmissionSettings
from robodyn_ros.control.parameter_file import read_parameters

REAL = Path(__file__).parents[1] / "config/prr_real.yaml"
START = {"elevator": 0.3, "shoulder": -0.9, "wrist": 0.4}
GEARS = {
    "elevator": {"gear_ratio": 250.0, "offset": 0.1},
    "shoulder": {"gear_ratio": -40.0, "torque_constant": 0.05},
    "wrist": {"gear_ratio": 30.0, "offset": -0.2},
}


def test_the_controller_holds_the_arm_through_its_gears(graph, prr):
    gears, names = Transmission([TransmissionSettings(**gear) for gear in GEARS.values()]), list(GEARS)
    states, commands, errors = [], [], graph.listen(JointState, "controller/tracking_error", 1000)
    motors = graph.node.create_publisher(JointState, "motor_states", 10)
    efforts = graph.node.create_publisher(JointState, "joint_commands", 10)

    def moved(message):
        states.append(message)
        order = [message.name.index(name) for name in names]
        position, velocity = (np.array(values)[order] for values in (message.position, message.velocity))
        turned = JointState(
            name=names, position=(position - gears.offset) * gears.ratio, velocity=velocity * gears.ratio
        )
        turned.header.stamp = message.header.stamp
        motors.publish(turned)

    def driven(message):
        commands.append(np.array(message.data))
        efforts.publish(JointState(name=names, effort=gears.joint_effort(commands[-1])))

    graph.node.create_subscription(JointState, "joint_states", moved, 10)
    graph.node.create_subscription(Float64MultiArray, "controller/commands", driven, 10)
    graph.start("simulator", robot_description=prr, initial_position=START, state_rate=250.0)
    given = {"robot_description": prr, "use_sim_time": True, "transmission": GEARS}
    graph.start("controller", "-r", "joint_states:=motor_states", **given)
    graph.wait(lambda: len(commands) > 300, "commands")
    held = [states[-1].position[states[-1].name.index(name)] for name in names]
    np.testing.assert_allclose(held, list(START.values()), atol=0.02)
    # 20 kg on the elevator, by a gear of 250 rad/m; what the controller says of itself is in joint units.
    assert np.mean(commands[-50:], axis=0)[0] == pytest.approx(20 * 9.81 / 250.0, rel=0.05)
    assert np.abs(errors[-1].position).max() < 0.02


def test_the_file_for_a_first_day_is_taken_and_gears_are_fixed_while_the_arm_is_controlled(graph, prr):
    """Every parameter in it exists, and has the value that the file says."""
    graph.start("controller", "--params-file", str(REAL), robot_description=prr)
    graph.wait(lambda: graph.node.count_publishers("/controller/commands"), "a configured controller")
    expected = read_parameters(REAL, "controller")
    assert len(expected) == 19
    assert dict(zip(expected, graph.get("controller", *expected), strict=True)) == expected
    (result,) = graph.set("controller", transmission__wrist__gear_ratio=2.0)
    assert not result.successful
    assert "transmission.wrist.gear_ratio" in result.reason
