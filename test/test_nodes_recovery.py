# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Processes that die, are stopped and come back, and hosts that lose each other: without a hand, in either order."""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import threads_at_end
from fault_rig import DRIFT, FREQUENCY, NAMES, POSE, TIMEOUT, Rig
from sensor_msgs.msg import JointState
from std_srvs.srv import SetBool

import robodyn_ros as rd
from robodyn_ros.cli.processes import isolated

HANGING = {"elevator": 0.3, "shoulder": -1.83, "wrist": -0.12}
"""Arm and hand hang below their joints, so that a constant effort that carries them keeps them there, however long."""

PATIENCE = 60.0
"""How long anything may take where three processes start on a machine that is busy otherwise [s]."""


@pytest.mark.parametrize("node", ["controller", "simulator"])
def test_a_node_that_is_told_to_end_leaves_the_graph_at_once(graph, prr, node):
    """It tells the others, and not its lease: its participant is gone before its process."""
    process = graph.start(node, robot_description=prr, via=[threads_at_end.__file__])
    graph.wait(lambda: "prr: 3 joints" in process.output, "a node that is under way")
    alive = threads_at_end.thread_names(process.pid)
    process.stop(signal.SIGTERM)
    threads = process.output.partition(threads_at_end.HEADING)[2].split()
    assert threads
    for names, of_participants in ((alive, True), (threads, False)):
        assert any(name.startswith("dds.") for name in set(names) - {threads_at_end.OF_THE_PROCESS}) == of_participants


def test_either_side_killed_and_started_again(graph, prr):
    """The drives go on with the last command when the controller dies; whoever comes back is taken over by itself.

    How long anybody is away, or gets no processor, makes no difference: the arm stays where it is all the time.
    """

    wiring = ("-r", "commands:=controller/commands")
    start = np.array(list(HANGING.values()))
    carrying = rd.create_dynamics("rnea", rd.load_robot(prr)).gravity(start)

    def simulator():
        return graph.start("simulator", *wiring, robot_description=prr, initial_position=HANGING)

    def controller():
        return graph.start("controller", robot_description=prr, use_sim_time=True)

    states, commands, since = [], [], time.time_ns()

    def keep_in(messages):
        def keep(message, info):
            if info["source_timestamp"] > since:  # what was sent before may still come, and counts no more
                messages.append(message)

        return keep

    graph.node.create_subscription(JointState, "joint_states", keep_in(states), 1000)
    graph.node.create_subscription(JointState, "controller/joint_commands", keep_in(commands), 1000)

    def from_now():
        nonlocal since
        since = time.time_ns()
        states.clear()
        commands.clear()

    def flow(what):
        graph.wait(lambda: len(commands) > 100 and len(states) > 100, what, PATIENCE)
        np.testing.assert_allclose(states[-1].position, start, atol=0.03)

    def killed(*processes):
        for process in processes:
            process.kill()
            process.ended()
        from_now()

    plant, law = simulator(), controller()
    flow("commands at first")
    killed(law)
    graph.wait(lambda: len(states) > 50, "a simulation that goes on without commands", PATIENCE)
    assert not commands
    np.testing.assert_allclose(states[-1].effort, carrying, atol=0.1)
    law = controller()
    flow("commands of a new controller")
    killed(plant)
    plant = simulator()
    graph.wait(lambda: states, "a new simulator", PATIENCE)
    from_now()
    flow("commands to it")
    killed(law, plant)
    law = controller()  # before there is anything to control
    waiting = "waiting for usable joint states"
    graph.wait(lambda: waiting in graph.diagnostics("controller", PATIENCE)["message"], "the controller", PATIENCE)
    assert not commands
    plant = simulator()
    flow("commands of the controller that waited")
    graph.wait(lambda: graph.diagnostics("controller", PATIENCE)["message"] == "hold", "no fault any more", PATIENCE)


def test_it_parts_with_a_command_that_carries_the_arm(graph, prr):
    # A driver that gets no processor for a while is not what this is about.
    graph.frequency = FREQUENCY
    process = graph.start("controller", robot_description=prr, diagnostics_rate=50.0, state_timeout=5.0)
    rig = Rig(graph, prr)
    try:
        rig.as_usual()
        assert graph.call(SetBool, "controller/enable", data=False).success
        graph.wait(lambda: graph.diagnostics("controller")["message"] == "disabled", "it to be disabled")
        graph.wait(lambda: np.allclose(rig.commands[-1][1].effort, rig.blind, atol=1e-9), "the final command")
        count = len(rig.commands)
        graph.diagnostics("controller")
        assert len(rig.commands) == count
        assert graph.call(SetBool, "controller/enable", data=True).success
        rig.as_usual()
        begin = time.monotonic()
        process.stop(signal.SIGINT)
        rig.until("the final command", rig.blind, begin)
        np.testing.assert_allclose(rig.commands[-1][1].effort, rig.blind, atol=1e-9)
    finally:
        rig.close()


OBSERVER = """
import sys
import rclpy
from rclpy.node import Node
from sensor_msgs.msg import JointState
rclpy.init()
node = Node(sys.argv[1])
def say(message):
    print(message.header.stamp.sec + 1e-9 * message.header.stamp.nanosec, *message.effort, flush=True)
node.create_subscription(JointState, "controller/joint_commands", say, 1)
if node.get_name() == "driver":
    state = JointState(name=%r, position=%r, velocity=%r)
    states = node.create_publisher(JointState, "joint_states", 1)
    def publish():
        state.header.stamp = node.get_clock().now().to_msg()
        states.publish(state)
    node.create_timer(0.005, publish)
rclpy.spin(node)
"""
"""Prints stamps and efforts of commands; the one called driver sends states too, of an arm that stands and drifts."""


@contextlib.contextmanager
def two_hosts():
    """Two network namespaces with a wire between them; its ends."""
    if os.geteuid() != 0 or not shutil.which("ip"):
        pytest.skip("network namespaces need root and iproute2")
    hosts = [f"rd{os.getpid()}{side}" for side in "ab"]
    wires = [f"rdv{os.getpid() % 100000}{side}" for side in "ab"]

    def ip(*words):
        return subprocess.run(["ip", *words], capture_output=True, text=True, check=False)

    try:
        for host in hosts:
            made = ip("netns", "add", host)
            if made.returncode:
                pytest.skip(f"no network namespaces here: {made.stderr.strip()}")
        assert ip("link", "add", wires[0], "netns", hosts[0], "type", "veth", "peer", "name", wires[1], "netns",
                  hosts[1]).returncode == 0  # fmt: skip
        for number, (host, wire) in enumerate(zip(hosts, wires, strict=True), 1):
            ip("-n", host, "addr", "add", f"10.213.7.{number}/24", "dev", wire)
            for device in ("lo", wire):
                ip("-n", host, "link", "set", device, "up")
            ip("-n", host, "route", "add", "224.0.0.0/4", "dev", wire)
        yield hosts, lambda state: ip("-n", hosts[0], "link", "set", wires[0], state)
    finally:
        for host in hosts:
            ip("netns", "del", host)


GAINS = [word for name in NAMES for word in ("-p", f"gains.{name}.natural_frequency:=10.0")]


def test_a_cut_between_two_hosts(tmp_path, prr):
    """The controller gives its blind answer, the drives hear nothing; both go on when the network does, untouched."""
    urdf = tmp_path / "prr.urdf"
    urdf.write_text(prr)
    dynamics = rd.create_dynamics("rnea", rd.load_robot(prr))
    blind = dynamics.gravity(POSE)
    usual = dynamics.inverse(POSE, DRIFT, np.zeros(3)) - dynamics.mass_matrix(POSE) @ (20.0 * DRIFT)
    processes = []
    with isolated() as environment, two_hosts() as ((arm, law), wire):
        # Shared memory would go around the wire.
        environment = environment | {
            "FASTDDS_BUILTIN_TRANSPORTS": "UDPv4",
            "ROS_AUTOMATIC_DISCOVERY_RANGE": "SUBNET",
            "ROS_LOG_DIR": str(tmp_path),
        }

        def start(host, name, *words):
            log = Path(tmp_path / f"{name}.log")
            with open(log, "w") as out:
                command = ["ip", "netns", "exec", host, sys.executable, *words]
                processes.append(subprocess.Popen(command, env=environment, stdout=out, stderr=out))
            return log

        def wait(condition, what, deadline=120.0):
            end = time.monotonic() + deadline
            while not condition():
                logs = "\n".join(log.read_text()[-2000:] for log in tmp_path.glob("*.log"))
                assert time.monotonic() < end, f"no {what}\n{logs}"
                time.sleep(0.02)  # polling a file that another process writes

        def since(log, moment, effort=None, near=1e-6):
            """Stamps of commands from a moment on; of those with an effort, or near it, if one is given."""
            rows = (list(map(float, line.split())) for line in log.read_text().splitlines()[:-1] if line[:1].isdigit())
            return [
                when for when, *found in rows
                if when > moment and (effort is None or np.allclose(found, effort, atol=near))
            ]  # fmt: skip

        try:
            observer = OBSERVER % (NAMES, POSE.tolist(), DRIFT.tolist())
            driver, beside = (start(*where, "-c", observer, where[1]) for where in ((arm, "driver"), (law, "observer")))
            start(law, "controller", "-m", "robodyn_ros.nodes.start", "controller", "--ros-args",
                  "-p", f"robot_description:={urdf}", "-p", "plausibility:=false", *GAINS)  # fmt: skip
            wait(lambda: all(len(since(log, 0.0, usual)) > 100 for log in (driver, beside)), "commands on both hosts")
            wire("down")
            cut = time.time()  # stamps are of the same clock: nothing that has a later one can cross
            wait(lambda: since(beside, cut, blind), "blind answer of the controller that is cut off")
            took = since(beside, cut, blind)[0] - cut
            print(f"the blind answer {took:.3f} s after the cut")
            assert took > 0.5 * TIMEOUT  # not before states have been missing for a while
            wait(lambda: time.time() > cut + 0.5, "end of the cut")
            assert not since(driver, cut), f"{len(since(driver, cut))} commands came through a wire that is cut"
            mended = time.time()
            wire("up")
            wait(lambda: since(driver, mended, usual), "usual commands after the cut")
            print(f"commands again {since(driver, mended, usual)[0] - mended:.2f} s after the network")
            wait(lambda: len(since(driver, mended, usual)) > 100, "a flow of commands after the cut")
        finally:
            for process in processes:
                process.terminate()
            for process in processes:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(8.0)
                process.kill()
                process.wait()
