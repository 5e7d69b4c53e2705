# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The control loop in its thread of C: what the parameter ``realtime`` takes, and what the thread costs."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from rclpy.parameter import Parameter
from sensor_msgs.msg import JointState
from test_nodes_scheduling import permitted, policies
from test_nodes_states import NAMES, POSE, Arm
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from robodyn_ros.nodes.common.parameters import declare_settings
from robodyn_ros.nodes.controller.parameters import RealtimeSettings

HERE = Path(__file__).parent

FUNCTIONS = ("malloc", "calloc", "realloc", "free", "memalign", "mmap", "mutex", "rwlock", "semaphore")
"""As the enum of ``count_calls.c``."""


def test_on_and_off_may_be_booleans(graph):
    """YAML reads on and off as booleans; when the node starts, and when a parameter is set."""
    node = graph.node
    for given, taken in ((True, "on"), (False, "off"), ("auto", "auto")):
        node._parameter_overrides["realtime"] = Parameter("realtime", value=given)
        declare_settings(node, RealtimeSettings)
        assert node.get_parameter("realtime").value == taken
        for before in ("auto", "on"):
            assert node.set_parameters([Parameter("realtime", value=before)])[0].successful
            assert node.set_parameters([Parameter("realtime", value=given)])[0].successful
            assert node.get_parameter("realtime").value == taken
        refused = node.set_parameters([Parameter("realtime", value="sometimes")])[0]
        assert not refused.successful
        assert "realtime: must be one of auto, on, off, not 'sometimes'" in refused.reason
        node.undeclare_parameter("realtime")


def test_messages_of_a_gripper_leave_the_loop_in_its_thread_and_states_in_parts_are_answered_outside_of_it(graph, prr):
    """A gripper's come before the first state and between the states. A loop that had to be in its thread warns."""
    controller = graph.start("controller", robot_description=prr, realtime="on")
    publisher = graph.talk(JointState, "joint_states")

    def send(*names):
        message = JointState(name=list(names), position=[0.1] * len(names), velocity=[0.0] * len(names))
        message.header.stamp = graph.node.get_clock().now().to_msg()
        publisher.publish(message)

    said = "waiting for usable joint states"
    graph.wait(lambda: send("finger") or said in controller.output, "a controller that waits")
    commands = graph.listen(JointState, "controller/joint_commands")
    graph.wait(lambda: send(*NAMES) or send("finger") or len(commands) > 10, "commands")
    assert graph.diagnostics("controller")["realtime"].startswith("on")
    assert "[controller]: realtime: on" in controller.output and "realtime: off" not in controller.output
    warning = r"\[WARN\] \[\S+\] \[controller\]: realtime: off: joint states come in parts"
    graph.wait(lambda: send(*NAMES[:1]) or send(*NAMES[1:]) or re.search(warning, controller.output), "a warning")
    count = len(commands)
    graph.wait(lambda: send(*NAMES[:1]) or send(*NAMES[1:]) or len(commands) > count + 10, "commands again")


@pytest.fixture
def counted(tmp_path, monkeypatch):
    """What the thread of a controller allocates and locks: (2, functions), its own and the middleware's; takes."""
    compiler = shutil.which("cc")
    library, counts = tmp_path / "count_calls.so", tmp_path / "counts"
    flags = ("-shared", "-fPIC", "-O1", "-Wall", "-Wextra", "-Werror")
    subprocess.run([compiler, *flags, "-o", library, HERE / "count_calls.c", "-ldl"], check=True)
    counts.write_bytes(bytes(8 * (2 * len(FUNCTIONS) + 1)))
    monkeypatch.setenv("COUNT_CALLS", str(counts))
    return library, np.memmap(counts, np.int64, "r")


def test_the_thread_allocates_nothing_and_locks_nothing(fresh, prr, counted, monkeypatch):
    """On the way from a state to a command; while a trajectory is followed, settings change, and states are missing.

    What the middleware does below is printed (``pytest -s``). Python's threads are ordinary meanwhile.
    """

    library, counts = counted
    with monkeypatch.context() as preloaded:
        preloaded.setenv("LD_PRELOAD", str(library))
        via = [str(HERE / "counted_controller.py")]
        given = {"robot_description": prr, "thread_priority": 1, "state_timeout": 1.0}
        controller = fresh.start("controller", via=via, realtime="on", **given)
    publisher = fresh.talk(JointTrajectory, "controller/joint_trajectory")
    arm = Arm(fresh)

    def says(key, text):
        arm.state()
        return fresh.diagnostics("controller")[key].startswith(text)

    fresh.wait(lambda: says("realtime", "on"), "a loop in C")
    may = permitted()
    assert fresh.diagnostics("controller")["realtime"] == ("on, SCHED_FIFO 1" if may else "on, ordinary")
    assert policies(controller.pid)[controller.pid] == (os.SCHED_OTHER, 0)
    if may:
        assert list(policies(controller.pid).values()).count((os.SCHED_FIFO, 1)) > 1
    goal = JointTrajectoryPoint(positions=[POSE[0] + 0.01], velocities=[0.0])
    goal.time_from_start.sec = 600
    arm.settle()
    publisher.publish(JointTrajectory(joint_names=NAMES[:1], points=[goal]))
    fresh.wait(lambda: says("message", "follow"), "a motion")
    assert fresh.set("controller", blend_time=0.3)[0].successful
    taken = int(counts[-1])

    def enough():
        arm.state()
        return counts[-1] > taken + 100

    fresh.wait(enough, "states taken by the thread")
    fresh.wait(lambda: arm.commands[-1].header.stamp not in arm.sent, "a reaction to missing states")
    own, middleware = counts[:-1].reshape(2, -1).copy()
    rates = zip(FUNCTIONS, middleware / counts[-1], strict=True)
    per_message = ", ".join(f"{name} {rate:.2f}" for name, rate in rates)
    print(f"\nown code, calls in all: {dict(zip(FUNCTIONS, own.tolist(), strict=True))} in {counts[-1]} states")
    print(f"middleware, calls a state: {per_message}")
    assert middleware[FUNCTIONS.index("mutex")] > counts[-1]  # else nothing is counted
    assert not own.any(), dict(zip(FUNCTIONS, own.tolist(), strict=True))
