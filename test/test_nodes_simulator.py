# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The simulator node by itself: time, brakes, commands good and bad, and its services."""

import math
from collections import deque
from types import SimpleNamespace
from unittest.mock import Mock

import numpy as np
import pytest
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import Vector3, WrenchStamped
from ros_graph import nanoseconds
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String
from std_srvs.srv import SetBool, Trigger

from robodyn_ros.nodes.common.client_library import LATCHED
from robodyn_ros.nodes.simulator.topics import CommandInput

START = {"elevator": 0.5, "shoulder": -0.6, "wrist": 0.3}
HELD = [20.0 * 9.81, 30.0, 5.0]
"""Some efforts [N, N·m, N·m]."""


@pytest.fixture(autouse=True)
def rate_of_the_node(graph):
    graph.state_rate = 0.0


@pytest.fixture
def simulator(graph, prr):
    return graph.start("simulator", robot_description=prr, initial_position=START, diagnostics_rate=50.0)


def test_states_come_with_simulated_time_and_the_clock_with_them(graph, simulator):
    states, clocks = graph.listen(JointState, "joint_states", 1000), graph.listen(Clock, "/clock", 1000)
    graph.wait(lambda: len(states) > 500 and len(clocks) > 20, "a second of states")
    stamps = np.array([nanoseconds(state.header.stamp) for state in states])
    assert stamps[0] < 10e9  # counted from the start, not from 1970
    assert (np.diff(stamps) == 2_000_000).all()  # 500 Hz, without a drift and without a gap
    assert (np.diff([nanoseconds(clock.clock) for clock in clocks]) == 10_000_000).all()
    # Nobody has commanded anything: the brakes hold.
    assert states[-1].name == list(START)
    assert list(states[-1].position) == list(START.values())
    factors = deque(maxlen=20)

    def steady():  # after the machine stood still, time goes faster until it has made up for that
        factors.append(float(graph.diagnostics("simulator")["real-time factor"]))
        return len(factors) == factors.maxlen and np.mean(factors) == pytest.approx(1.0, abs=0.2)

    graph.wait(steady, "simulated time that passes as real time does")


def test_pause_step_and_reset(graph, prr):
    """A step is one period of the states; all stamps are whole numbers of periods."""
    given = {"initial_position": START, "diagnostics_rate": 50.0, "brake": False, "state_rate": 100.0}
    graph.start("simulator", robot_description=prr, **given)
    states, clocks = graph.listen(JointState, "joint_states", 1000), graph.listen(Clock, "/clock", 1000)
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
    assert graph.call(SetBool, "simulator/pause", data=False).success
    graph.wait(lambda: len(states) > count + 100, "states after the pause")
    stamps = np.array([nanoseconds(state.header.stamp) for state in states[count + 4 :]])
    assert (np.diff(stamps) == 10_000_000).all()  # what the pause took is not made up for


def test_commands_act_until_the_next_and_bad_ones_are_refused_and_counted(graph, simulator):
    states = graph.listen(JointState, "joint_states", 10)
    plain = graph.talk(Float64MultiArray, "commands")
    named = graph.talk(JointState, "joint_commands")
    names = list(START)

    def acts(publisher, message, effort):
        def check():
            publisher.publish(message)
            return states and list(states[-1].effort) == effort

        graph.wait(check, f"{effort} to act")

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
        before = graph.count("simulator", "command refused")

        def counted(publisher=publisher, message=message, before=before):
            publisher.publish(message)
            return graph.count("simulator", "command refused") > before

        graph.wait(counted, f"the refusal of {message}")
        states.clear()
        graph.wait(lambda: states, "another state")
        assert list(states[-1].effort) == HELD
        assert np.isfinite(states[-1].position).all()


def test_the_description_is_there_for_late_comers_unless_another_publishes_it(graph, prr):
    graph.start("simulator", robot_description=prr)
    graph.wait(lambda: graph.node.count_publishers("robot_description"), "the description")
    late = graph.listen(String, "robot_description", LATCHED)
    graph.wait(lambda: late, "the description, published before")
    assert late[0].data == prr
    names = ("-r", "__node:=silent", "-r", "joint_states:=others")
    graph.start("simulator", *names, robot_description=prr, publish_robot_description=False)
    graph.wait(lambda: graph.node.count_publishers("others"), "the other simulator")
    assert graph.node.count_publishers("robot_description") == 1


def test_time_does_not_go_backwards_in_the_report_after_a_reset(graph, simulator):
    said = graph.listen(DiagnosticArray, "/diagnostics", 1000)
    graph.wait(lambda: float(graph.diagnostics("simulator")["simulated time [s]"]) > 0.3, "time")
    assert graph.call(SetBool, "simulator/pause", data=True).success
    assert graph.call(Trigger, "simulator/reset").success
    graph.wait(lambda: float(graph.diagnostics("simulator")["simulated time [s]"]) == 0.0, "the reset")
    reports = [{item.key: item.value for item in message.status[0].values} for message in said]
    assert min(float(report["real-time factor"]) for report in reports) == 0.0


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


def test_an_explosion_is_an_error_until_the_reset(graph, prr):
    """A fall with 1e10 m/s² is beyond every step; it begins when a command opens the brakes."""
    fall = {"gravity": [0.0, 0.0, -1e10], "diagnostics_rate": 50.0}
    graph.start("simulator", robot_description=prr, initial_position=START, **fall)
    commands = graph.talk(Float64MultiArray, "commands")

    def has_failed():
        commands.publish(Float64MultiArray(data=[0.0] * 3))
        return graph.diagnostics("simulator")["level"] == "2"

    graph.wait(has_failed, "the error")
    said = graph.diagnostics("simulator")["message"]
    assert "the motion has ended: at " in said and "goes beyond the range" in said and "call ~/reset" in said
    assert graph.call(Trigger, "simulator/reset").success
    graph.wait(lambda: graph.diagnostics("simulator")["level"] != "2", "the end of the error")


def test_a_push_moves_the_arm_and_ends_by_itself(graph, prr):
    """Without gravity the arm rests until it is pushed; time passes in steps of the test."""
    graph.start("simulator", robot_description=prr, initial_position=START, brake=False, gravity=[0.0, 0.0, 0.0],
                state_rate=50.0, diagnostics_rate=50.0)  # fmt: skip
    states, pushes = graph.listen(JointState, "joint_states", 1000), graph.talk(WrenchStamped, "simulator/apply_wrench")
    graph.wait(lambda: states and graph.call(SetBool, "simulator/pause", data=True).success, "the pause")

    def step():
        count, begun = len(states), states[-1].header.stamp
        assert graph.call(Trigger, "simulator/step").success
        graph.wait(lambda: len(states) > count and states[-1].header.stamp != begun, "the state of a step")
        return np.array(states[-1].velocity)

    assert not step().any()
    message = WrenchStamped()
    message.header.frame_id, message.wrench.force = "hand", Vector3(z=80.0)

    def pushed():
        pushes.publish(message)
        return step().any()

    graph.wait(pushed, "the push to arrive")
    speeds = [np.abs(step()).max() for _ in range(30)]
    assert max(speeds) > speeds[-1]  # damping alone: the push has ended
    assert (np.diff(speeds[12:]) <= 0.0).all()
    message.header.frame_id = "nothing"

    def refused():
        pushes.publish(message)
        return graph.count("simulator", "wrench refused") > 0

    graph.wait(refused, "the refusal")
