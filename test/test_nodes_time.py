# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The simulator's time over real DDS: lockstep, faster than real time, steps, and clients that do not answer."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from rclpy.qos import QoSProfile
from ros_graph import nanoseconds, own_graph
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import SetBool, Trigger
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from robodyn_ros import load_robot
from robodyn_ros.control.parameter_file import FileParameters, flat
from robodyn_ros.nodes.common.messages import stamp
from robodyn_ros.simulation.hardware import default_values, make_hardware

START = {"elevator": 0.5, "shoulder": -0.6, "wrist": 0.3}
ANSWERED = ("-r", "joint_commands:=controller/joint_commands")
"""The simulator listens to the controller."""

NOISE = {name: {"resolution": 1e-4, "position_noise": 2e-4, "velocity_noise": 1e-3} for name in START}
ROUGH = {
    "sensors": NOISE,
    "actuators": {name: {"lag": 0.004, "rate_limit": 2e4, "resolution": 0.01} for name in START},
    "seed": 11,
    "state_delay": 0.003,
    "state_jitter": 0.002,
    "state_drop": 0.05,
    "state_repeat": 0.05,
    "command_delay": 0.0013,
}


def factor(graph):
    return float(graph.diagnostics("simulator")["real-time factor"])


def lockstep_run(folder, prr, end=1.2):
    """Stamp → position, velocity and effort, of a graph in which the controller moves the arm, up to a time [s]."""
    folder.mkdir()
    with own_graph(folder) as graph:
        states = graph.listen(JointState, "joint_states", QoSProfile(depth=5000))
        common = {"robot_description": prr}
        graph.start("simulator", *ANSWERED, lockstep=True, initial_position=START, state_rate=500.0, **common, **ROUGH)
        # No answer comes yet, so time stands still; from the first answer on it is the pause that holds it up.
        assert graph.call(SetBool, "simulator/pause", data=True).success
        graph.start("controller", use_sim_time=True, realtime="auto", **common)  # a thread sees the time as it comes
        graph.wait(lambda: graph.diagnostics("simulator")["commands since start"] == "1", "the first answer")
        publisher = graph.talk(JointTrajectory, "controller/joint_trajectory")
        message = JointTrajectory(joint_names=list(START))
        message.header.stamp = stamp(500_000_000)
        for at, way in ((0, 0.0), (600_000_000, 0.3)):
            point = JointTrajectoryPoint(positions=[q + way for q in START.values()], velocities=[0.0] * 3)
            point.time_from_start.nanosec = at
            message.points.append(point)
        publisher.publish(message)
        graph.wait(lambda: "reference age [s]" in graph.diagnostics("controller"), "the trajectory at the controller")
        assert graph.call(SetBool, "simulator/pause", data=False).success
        graph.wait(lambda: nanoseconds(states[-1].header.stamp) > end * 1e9, "the end of the motion")
        assert "command refused" not in graph.diagnostics("simulator")
    found = {}
    for state in states:
        values = np.array([state.position, state.velocity, state.effort])
        known = found.setdefault(nanoseconds(state.header.stamp), values)
        assert np.array_equal(known, values)  # a state that comes again is the same
    # That of time 0 comes once, without waiting for anybody: it may have come before this test listened.
    return {when: values for when, values in found.items() if 0 < when <= end * 1e9}


def test_a_run_in_lockstep_is_the_same_to_the_last_bit_when_repeated(tmp_path, prr):
    first, second = (lockstep_run(tmp_path / name, prr) for name in ("first", "second"))
    assert first.keys() == second.keys()
    assert len(first) > 500  # of 600, some are lost
    for when, values in first.items():
        assert np.array_equal(values, second[when]), f"at {when} ns"
    last = first[max(first)]
    np.testing.assert_allclose(last[0], [q + 0.3 for q in START.values()], atol=0.02)  # it has followed


def test_no_state_is_late_while_simulated_time_stands_still_and_without_a_clock_that_is_said(graph, prr):
    simulator, controller = graph.start_arm(prr, {"real_time_factor": 1.0}, lockstep=True)
    states = graph.listen(JointState, "joint_states")
    graph.wait(lambda: len(states) > 20, "states")
    assert graph.call(SetBool, "simulator/pause", data=True).success
    graph.wait(lambda: graph.diagnostics("controller")["message"] == "no joint states", "the end of the states")
    states.clear()
    assert graph.call(SetBool, "simulator/pause", data=False).success
    graph.wait(lambda: len(states) > 20, "states")
    graph.wait(lambda: graph.diagnostics("controller")["message"] == "hold", "the controller at work")
    assert "WARN" not in controller.output and "are back" not in controller.output, controller.output
    simulator.stop()
    said = "no joint states, and no node publishes the simulated time (/clock)"
    graph.wait(lambda: graph.diagnostics("controller")["message"] == said, "the end of the simulator")
    assert controller.output.count(said) == 1
    # As on a real arm that was told use_sim_time: time is that of the states, and nobody would know when they stop.
    states_that_go_on(graph, states[-1])
    said = "no node publishes the simulated time (/clock), which use_sim_time asks for"
    graph.wait(lambda: graph.diagnostics("controller")["message"].startswith(said), "a word about the clock")
    assert controller.output.count(said) == 1


def states_that_go_on(graph, state):
    """Publish a state again and again, with stamps as if time passed."""
    publisher = graph.talk(JointState, "joint_states")
    state.velocity = [0.0] * len(state.name)

    def send():
        time = nanoseconds(state.header.stamp) + 10_000_000
        state.header.stamp = stamp(time)
        publisher.publish(state)

    graph.node.create_timer(0.01, send)


def answer(q, qd):
    """The efforts that this test answers a state with."""
    return np.array([196.0, 25.0, 4.0]) - 40.0 * (np.array(q) - list(START.values())) - 5.0 * np.array(qd)


def test_the_node_does_what_the_library_does_to_the_last_bit(graph, prr):
    given = ROUGH | {"initial_position": START, "mismatch": {"mass_spread": 0.1}}
    publisher, found = graph.node.create_publisher(JointState, "joint_commands", 10), {}

    def on_state(state):
        values = np.array([state.position, state.velocity, state.effort])
        found.setdefault(nanoseconds(state.header.stamp), values)
        reply = JointState(name=state.name, effort=answer(*values[:2]).tolist())
        reply.header.stamp = state.header.stamp
        publisher.publish(reply)

    graph.node.create_subscription(JointState, "joint_states", on_state, 10)
    graph.start("simulator", robot_description=prr, lockstep=True, state_rate=500.0, **given)
    graph.wait(lambda: len(found) > 300, "300 states")

    robot = load_robot(prr)
    defaults = {"dynamics": "rnea", "gravity": (0.0, 0.0, -9.81)} | default_values(robot)
    hardware = make_hardware(FileParameters(dict(flat(given, "")), defaults), robot)
    last = max(found)
    while hardware.time < 1e-9 * last:
        for reading in hardware.readings():
            if reading.step > 0:  # that of time 0 is not answered
                assert np.array_equal(found[reading.step * 1_000_000], reading[1:])
                hardware.command(answer(reading.q, reading.qd))
        hardware.advance(1)


def test_lockstep_without_an_answer_says_so_and_blocks_nobody_and_with_answers_keeps_to_a_factor(graph, prr):
    states = graph.listen(JointState, "joint_states", 100)
    process = graph.start("simulator", robot_description=prr, lockstep=True, state_rate=50.0)
    graph.wait(lambda: graph.diagnostics("simulator")["message"].startswith("no answer"), "the complaint")
    assert "to the state at 0.02 s" in graph.diagnostics("simulator")["message"]
    assert "no answer in lockstep" in process.output
    assert nanoseconds(states[-1].header.stamp) == 20_000_000  # time stands still, and the state comes again and again
    plain, named = graph.talk(Float64MultiArray, "commands"), graph.talk(JointState, "joint_commands")
    message = JointState(name=list(START), effort=[200.0, 0.0, 0.0])
    message.header.stamp.nanosec = 7

    def neither_answers():
        plain.publish(Float64MultiArray(data=[0.0] * 3))
        named.publish(message)
        report = graph.diagnostics("simulator")
        assert report["commands since start"] == "0"
        return "for 7e-09 s" in report["message"] and int(report.get("command refused", 0)) > 0

    graph.wait(neither_answers, "what the last command was for, and a command that is none")
    assert graph.call(SetBool, "simulator/pause", data=True).success
    assert graph.call(Trigger, "simulator/step").message == "at 0.04 s"
    assert graph.call(Trigger, "simulator/reset").success
    assert graph.call(SetBool, "simulator/pause", data=False).success
    graph.wait(lambda: nanoseconds(states[-1].header.stamp) == 20_000_000, "the state after the reset")
    message.header.stamp.nanosec = 20_000_000
    graph.send(named, message, lambda: nanoseconds(states[-1].header.stamp) == 40_000_000, "the state after the answer")
    assert list(states[-1].effort) == [200.0, 0.0, 0.0]
    keeps_to_a_factor_where_there_is_one(graph, named, message)


def keeps_to_a_factor_where_there_is_one(graph, publisher, reply):
    """The simulator in lockstep, each of whose states is answered from now on."""
    stamps = []

    def on_state(state):
        stamps.append((time.monotonic(), 1e-9 * nanoseconds(state.header.stamp)))
        reply.header.stamp = state.header.stamp
        publisher.publish(reply)

    def pace():
        """Simulated time over real time, of the latest second."""
        recent = [row for row in stamps if row[0] > stamps[-1][0] - 1.0]
        return (recent[-1][1] - recent[0][1]) / max(recent[-1][0] - recent[0][0], 0.5)

    graph.node.create_subscription(JointState, "joint_states", on_state, 10)
    assert graph.set("simulator", real_time_factor=0.5)[0].successful
    graph.wait(lambda: len(stamps) > 20 and pace() == pytest.approx(0.5, rel=0.1), "half of real time")
    assert graph.set("simulator", real_time_factor=0.0)[0].successful
    graph.wait(lambda: pace() > 1.0, "as fast as the answers come")


def test_a_thousand_states_a_second_in_real_time(graph, prr):
    """/clock keeps to the wall clock but for the time that is reported as lost, on less than 40 % of one core."""
    process = graph.start("simulator", robot_description=prr, state_rate=1000.0, brake=False, diagnostics_rate=10.0)
    ticks = os.sysconf("SC_CLK_TCK")

    def processor():
        fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / ticks

    late = []  # wall - clock [s]; by its least values, for the rest are delays of messages and of this process
    graph.node.create_subscription(
        Clock, "/clock", lambda clock: late.append(time.monotonic() - nanoseconds(clock.clock) * 1e-9), 100
    )

    def seen():
        """Wall clock, processor time, lateness of /clock and time reported as lost, all in [s]."""
        late.clear()
        graph.wait(lambda: len(late) > 100, "the clock")
        return np.array(
            [time.monotonic(), processor(), min(late), float(graph.diagnostics("simulator")["lost time [s]"])]
        )

    def keeps_time():
        begin = seen()
        graph.wait(lambda: time.monotonic() - begin[0] > 1.0, "a second, before one more of the clock")
        elapsed, used, drift, lost = seen() - begin
        return abs(drift - lost) < 1e-3 * elapsed and used / elapsed < 0.4

    graph.wait(keeps_time, "two seconds in which /clock keeps to the wall clock", 180.0)


def test_ten_times_real_time_and_back_and_what_cannot_keep_up_says_so_and_still_answers(graph, prr):
    given = {"real_time_factor": 10.0, "diagnostics_rate": 2.0, "state_rate": 100.0}
    process = graph.start("simulator", robot_description=prr, **given)
    clocks = graph.listen(Clock, "/clock", 1000)
    graph.wait(lambda: factor(graph) == pytest.approx(10.0, rel=0.1), "ten times real time")
    assert set(np.diff([nanoseconds(clock.clock) for clock in clocks])) == {10_000_000}
    assert graph.set("simulator", real_time_factor=0.5)[0].successful
    graph.wait(lambda: factor(graph) == pytest.approx(0.5, rel=0.1), "half of real time")
    assert not graph.set("simulator", real_time_factor=-1.0)[0].successful
    assert graph.set("simulator", real_time_factor=0.0)[0].successful
    graph.wait(lambda: factor(graph) == pytest.approx(1.0, rel=0.1), "real time")
    assert graph.set("simulator", real_time_factor=1000.0)[0].successful
    graph.wait(lambda: graph.diagnostics("simulator")["message"].startswith("cannot keep up"), "the warning")
    assert 1.0 < factor(graph) < 1000.0
    assert graph.call(SetBool, "simulator/pause", data=True).success
    assert "lost against real time" in process.output


STOPPED = """
import rclpy, sys
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger
rclpy.init()
node = Node("stopped")
node.create_subscription(JointState, "joint_states", lambda message: print("heard", flush=True), 10)
client = node.create_client(Trigger, "simulator/step")
client.wait_for_service()
for _ in range(200):
    client.call_async(Trigger.Request())  # whose answers nobody ever takes
while rclpy.ok():
    rclpy.spin_once(node)
"""


def test_a_client_that_stops_listening_blocks_nobody(graph, prr):
    states = graph.listen(JointState, "joint_states", 1000)
    graph.start("simulator", robot_description=prr, diagnostics_rate=2.0)
    graph.wait(lambda: states, "states")
    client = subprocess.Popen([sys.executable, "-c", STOPPED], stdout=subprocess.PIPE, text=True)
    try:
        assert client.stdout.readline() == "heard\n"
        client.send_signal(signal.SIGSTOP)  # a reliable subscriber that takes nothing any more
        graph.wait(lambda: factor(graph) == pytest.approx(1.0, abs=0.1), "real time")
        before = nanoseconds(states[-1].header.stamp)
        graph.wait(lambda: nanoseconds(states[-1].header.stamp) > before + 500_000_000, "half a second more")
        for paused in (True, False):
            assert graph.call(SetBool, "simulator/pause", data=paused).success
    finally:
        client.send_signal(signal.SIGCONT)
        client.kill()
        client.wait()
