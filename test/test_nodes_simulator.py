# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The simulator node by itself: time, brakes, commands good and bad, and its services."""

import math
from types import SimpleNamespace
from unittest.mock import Mock

import numpy as np
import pytest
from diagnostic_msgs.msg import DiagnosticArray
from rclpy.parameter import Parameter
from ros_graph import nanoseconds
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String
from std_srvs.srv import SetBool, Trigger

from robodyn_ros.errors import NotReadyError
from robodyn_ros.nodes.common.client_library import LATCHED
from robodyn_ros.nodes.simulator.node import SimulatorNode
from robodyn_ros.nodes.simulator.topics import CommandInput

START = {"elevator": 0.5, "shoulder": -0.6, "wrist": 0.3}
HELD = [20.0 * 9.81, 30.0, 5.0]
"""Some efforts [N, N·m, N·m]."""


@pytest.fixture(autouse=True)
def rate_of_the_node(graph):
    graph.state_rate = 0.0


def test_states_come_with_simulated_time_and_commands_act_until_the_next_if_they_are_good(graph, prr):
    graph.start("simulator", robot_description=prr, initial_position=START, diagnostics_rate=50.0)
    states, clocks = graph.listen(JointState, "joint_states", 1000), graph.listen(Clock, "/clock", 1000)
    graph.wait(lambda: len(states) > 500 and len(clocks) > 20, "a second of states")
    stamps = np.array([nanoseconds(state.header.stamp) for state in states])
    assert stamps[0] < 10e9  # counted from the start, not from 1970
    assert (np.diff(stamps) == 2_000_000).all()  # 500 Hz, without a drift and without a gap
    assert (np.diff([nanoseconds(clock.clock) for clock in clocks]) == 10_000_000).all()
    # Nobody has commanded anything: the brakes hold.
    assert states[-1].name == list(START)
    assert list(states[-1].position) == list(START.values())
    commands_act_and_bad_ones_are_refused_and_counted(graph)


def commands_act_and_bad_ones_are_refused_and_counted(graph):
    states = graph.listen(JointState, "joint_states", 10)
    plain = graph.talk(Float64MultiArray, "commands")
    named = graph.talk(JointState, "joint_commands")
    names = list(START)

    def refusals():
        return graph.count("simulator", "command refused")

    def acts(publisher, message, effort):
        graph.send(publisher, message, lambda: states and list(states[-1].effort) == effort, f"{effort} to act")

    acts(plain, Float64MultiArray(data=HELD), HELD)
    acts(named, JointState(name=names[::-1], effort=[1.0, 2.0, 3.0]), [3.0, 2.0, 1.0])
    acts(plain, Float64MultiArray(data=[1e5, -1e5, 0.0]), [600.0, -96.0, 0.0])  # the URDF's limits
    acts(plain, Float64MultiArray(data=HELD), HELD)
    bad = [
        (plain, Float64MultiArray(data=[math.nan, 0.0, 0.0])),
        (plain, Float64MultiArray(data=[0.0, math.inf, 0.0])),
        (plain, Float64MultiArray(data=[1e300, 0.0, 0.0])),
        (plain, Float64MultiArray(data=[0.0, 0.0])),
        (plain, Float64MultiArray(data=[0.0] * 4)),
        (plain, Float64MultiArray()),
        (named, JointState(name=["elbow", *names[1:]], effort=[0.0] * 3)),
        (named, JointState(name=names[:2], effort=[0.0] * 2)),
        (named, JointState(name=names, effort=[0.0] * 2)),
        (named, JointState(name=names, effort=[0.0, 0.0, math.nan])),
    ]
    for publisher, message in bad:
        before = refusals()
        graph.send(publisher, message, lambda before=before: refusals() > before, f"the refusal of {message}")
        states.clear()
        graph.wait(lambda: states, "another state")
        assert list(states[-1].effort) == HELD
        assert np.isfinite(states[-1].position).all()


def test_pause_step_and_reset(graph, prr):
    """A step is one period of the states; all stamps are whole numbers of periods."""
    given = {"initial_position": START, "diagnostics_rate": 50.0, "brake": False, "state_rate": 100.0}
    graph.start("simulator", robot_description=prr, **given)
    states, clocks = graph.listen(JointState, "joint_states", 1000), graph.listen(Clock, "/clock", 1000)
    reports = graph.listen(DiagnosticArray, "/diagnostics", 1000)
    graph.wait(lambda: len(states) > 20 and clocks, "states")
    assert not graph.call(Trigger, "simulator/step").success
    assert graph.call(SetBool, "simulator/pause", data=True).success
    graph.wait(lambda: graph.diagnostics("simulator")["message"] == "paused", "the pause")
    stopped = round(float(graph.diagnostics("simulator")["simulated time [s]"]) * 1e9)
    graph.wait(lambda: nanoseconds(states[-1].header.stamp) == stopped, "the states from before the pause")
    count, last = len(states), stopped
    graph.diagnostics("simulator")
    assert len(states) == count
    for step in (1, 2, 3):
        now = last + step * 10_000_000
        assert graph.call(Trigger, "simulator/step").message == f"at {now / 1e9:.9g} s"
        graph.wait(lambda step=step: len(states) == count + step, "one state for each step")
        assert nanoseconds(states[-1].header.stamp) == now
        graph.wait(lambda: nanoseconds(clocks[-1].clock) == nanoseconds(states[-1].header.stamp), "the clock with it")
    assert list(states[-1].position) != list(START.values())  # it falls
    assert graph.call(Trigger, "simulator/reset").success
    graph.wait(lambda: nanoseconds(states[-1].header.stamp) == 0, "time 0")
    assert list(states[-1].position) == list(START.values())
    assert list(states[-1].velocity) == [0.0, 0.0, 0.0]
    graph.wait(lambda: float(graph.diagnostics("simulator")["simulated time [s]"]) == 0.0, "a report of the reset")
    told = [{item.key: item.value for item in report.status[0].values} for report in reports]
    assert min(float(report["real-time factor"]) for report in told) == 0.0  # in no report time goes backwards
    assert graph.call(SetBool, "simulator/pause", data=False).success
    graph.wait(lambda: len(states) > count + 100, "states after the pause")
    stamps = np.array([nanoseconds(state.header.stamp) for state in states[count + 4 :]])
    assert (np.diff(stamps) == 10_000_000).all()  # what the pause took is not made up for


def test_the_description_is_there_for_late_comers_unless_another_publishes_it_and_two_clocks_are_named(graph, prr):
    graph.start("simulator", robot_description=prr)
    graph.wait(lambda: graph.node.count_publishers("robot_description"), "the description")
    late = graph.listen(String, "robot_description", LATCHED)
    graph.wait(lambda: late, "the description, published before")
    assert late[0].data == prr
    assert graph.diagnostics("simulator")["level"] == "0"
    graph.start("simulator", "-r", "__ns:=/left", robot_description=prr, publish_robot_description=False)

    def said():
        message = graph.diagnostics("simulator")["message"]
        return "/clock has 2 publishers, /left/simulator and /simulator" in message and "namespace:=" in message

    graph.wait(said, "the other clock to be named")
    graph.wait(lambda: graph.node.count_publishers("left/joint_states"), "the other simulator")
    assert not graph.node.count_publishers("left/robot_description")


def test_the_time_without_a_command_counts_from_the_first_one_after_a_reset():
    """It was that since a command of the time before, once the new time had passed this."""
    hardware = SimpleNamespace(time=5.0, command=Mock(), plant=Mock(**{"dynamics.robot.joint_names": ("a",)}))
    commands = CommandInput(Mock(), hardware, ["a"], None)
    commands._on_commands(Float64MultiArray(data=[1.0]))
    hardware.time = 0.0
    commands.restart()
    hardware.time = 7.0
    assert commands.take_gap() == 0.0
    commands._on_commands(Float64MultiArray(data=[1.0]))
    hardware.time = 7.5
    assert commands.take_gap() == 0.5


def test_what_the_arm_holds_changes_while_it_moves_where_the_plant_can():
    node, held, other = (
        SimulatorNode.__new__(SimulatorNode),
        Parameter("mismatch.payload_mass", value=2.5),
        Parameter("x"),
    )
    node._hardware = Mock(**{"plant.carries": False})
    node._check_parameters([other])
    with pytest.raises(NotReadyError, match=r"^mismatch\.payload_mass: fixed when this plant starts"):
        node._check_parameters([other, held])
    node._hardware.plant.carries = True
    node._check_parameters([other, held])
    node._on_parameters([other, held])
    node._hardware.plant.carry.assert_called_once_with(2.5)


def test_an_explosion_is_an_error_until_the_reset(graph, prr):
    """A fall with 1e10 m/s² is beyond every step; it begins when a command opens the brakes."""
    fall = {"gravity": [0.0, 0.0, -1e10], "diagnostics_rate": 50.0}
    graph.start("simulator", robot_description=prr, initial_position=START, **fall)
    commands = graph.talk(Float64MultiArray, "commands")
    opening = Float64MultiArray(data=[0.0] * 3)
    graph.send(commands, opening, lambda: graph.diagnostics("simulator")["level"] == "2", "the error")
    said = graph.diagnostics("simulator")["message"]
    assert "the motion has ended: at " in said and "goes beyond the range" in said and "call ~/reset" in said
    assert graph.call(Trigger, "simulator/reset").success
    graph.wait(lambda: graph.diagnostics("simulator")["level"] != "2", "the end of the error")
