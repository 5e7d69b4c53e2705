# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""How the nodes start and end, what they refuse to start with, and the controller's lifecycle."""

import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState, GetState
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String
from std_srvs.srv import Trigger

from robodyn_ros.cli.processes import isolated
from robodyn_ros.nodes.common.client_library import LATCHED

ONE_JOINT = Path(__file__).parents[1] / "urdf/r.urdf"

NO_LIMIT = """<robot name="bare"><link name="base"/><link name="arm"><inertial><origin xyz="0 0 0.2"/><mass value="1"/>
<inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link><joint name="hinge" type="continuous">
<parent link="base"/><child link="arm"/><axis xyz="0 1 0"/></joint></robot>"""

MOTION = {"joints": ["a", "b"], "times": [0.0, 1.0], "waypoints": [0.0] * 4, "record": "nowhere/record.npz"}

BAD = {
    ("controller", "not XML"): ({"robot_description": "<robot"}, "robot"),
    ("controller", "no such joint"): ({"joints": ["elevator", "shoulder", "elbow"]}, "elbow"),
    ("controller", "unknown plugin"): ({"controller": "magic"}, "computed_torque"),
    ("controller", "a limit above the URDF's"): ({"effort_limits": {"wrist": 36.5}}, "effort_limits.wrist"),
    ("controller", "no effort limit"): ({"robot_description": NO_LIMIT}, "effort_limits.hinge"),
    ("controller", "locked beyond its limits"): (
        {"joints": ["wrist", "shoulder"], "locked_joints": {"elevator": 40.0}},
        "locked_joints.elevator: joint 'elevator' at 40 is outside its limits",
    ),
    ("controller", "wrong type"): ({"state_timeout": "soon"}, "state_timeout"),
    ("controller", "a parameter file that is none"): ({}, "test_nodes_start.py", "--params-file", __file__),
    ("controller", "no such tool"): (
        {"tool": "gripper"},
        "cannot configure: tool: 'gripper' is not in the robot; it has base, carriage, arm, hand",
    ),
    ("controller", "a former parameter"): ({"stream": {"jerk": [100.0, 400.0]}}, "use 'stream.acceleration'"),
    ("viewer", "wrong type"): ({"port": "http"}, "port"),
    ("markers", "no such layer"): ({"layers": ["com", "masses"]}, "layers: masses: there are com, gravity"),
    ("markers", "no such tool"): ({"tool": "gripper"}, "error: tool: 'gripper' is not in the robot"),
    ("simulator", "a misspelt description"): (
        {"robot_description": "", "robot_descripton": "prr"},
        "the parameter is empty ('robot_descripton' is no parameter)",
    ),
    ("simulator", "no whole number of steps"): ({"state_rate": 300.0}, "state_rate"),
    ("planner", "no file"): ({"robot_description": "nope.urdf"}, "nope.urdf: cannot be read"),
    ("planner", "no such joint"): ({"joints": ["elbow"]}, "elbow"),
    ("teleoperator", "too few joints of the other end"): (
        {"role": "leader", "other_joints": ["a", "b"]},
        "other_joints: must be 3 names, not 2",
    ),
    ("teleoperator", "joints of the other end where tools are coupled"): (
        {"coupling": "tool", "other_joints": ["a", "b", "c"]},
        "other_joints: must be empty if the tools are coupled",
    ),
    ("conductor", "a former parameter"): (MOTION | {"patience": 0.2}, "patience: there is no such parameter any more"),
    ("conductor", "too few numbers"): (MOTION | {"waypoints": [0.0] * 3}, "waypoints: has 3 numbers, not 2 times by 2"),
    ("conductor", "times that fall"): (MOTION | {"times": [1.0, 0.0]}, "times: must rise strictly"),
    **{("conductor", f"no {name}"): ({k: v for k, v in MOTION.items() if k != name}, f"'{name}'") for name in MOTION},
}
"""Node and case → parameters, what the error must name, and more arguments."""


def test_a_node_that_cannot_do_what_it_is_asked_to_says_why_in_one_line(graph, prr):
    waiting = list(BAD.items())
    while waiting:  # a few at a time: there are more than there are cores
        some, waiting, started = waiting[:3], waiting[3:], []
        for case, (bad, wanted, *words) in some:
            graph.fresh = case == ("controller", "wrong type")  # one as a new process; the others are forked
            started.append((case, wanted, graph.start(case[0], *words, **({"robot_description": prr} | bad))))
        for case, wanted, process in started:
            code = process.ended()
            # So do rcl of a file, and Fast DDS if two participants look at a port of shared memory at the same moment.
            said = process.output.strip().splitlines()
            lines = [line for line in said if not re.search(r"compiling |RTPS_|\[rcl\]", line)]
            assert (code, len(lines)) == (1, 1), f"{case} ended with {code}:\n{process.output}"
            assert wanted in lines[0], f"{case}: {lines[0]}"


def test_parameters_are_taken_as_they_are_meant_and_a_misspelt_one_is_not_passed_over_in_silence(graph, prr):
    """YAML and the command line make integers of 10 and [0, 0, -10]; so does ``ros2 param set``.

    An effort limit makes up for one that the URDF lacks, and a description may be set while the node waits for one.
    """
    silent = {"robot_description": prr, "publish_robot_description": False}
    simulator = graph.start("simulator", friction={"shouldr": {"coulomb": 1.0}}, **silent)
    words = ("-p", "gravity:=[0, 0, -10]", "-p", "stream.timeout:=2", "-r", "joint_states:=nothing")
    given = {"payload": {"mass": 1, "com": [0, 0, 1]}, "effort_limits": {"hinge": 20}}
    controller = graph.start("controller", *words, **given, gains={"hinge": {"freq": 5.0}})
    said = "this node has no such parameter: 'friction.shouldr.coulomb' (is it 'friction.shoulder.coulomb'?)"
    graph.wait(lambda: said in simulator.output, "a warning of the simulator")
    said = "waiting for a robot_description: the parameter is empty, and nothing has come on the topic"
    graph.wait(lambda: said in controller.output, "what it waits for")
    assert said in graph.diagnostics("controller")["message"]
    assert graph.set("controller", robot_description=NO_LIMIT)[0].successful
    graph.wait(lambda: "waiting for usable joint states" in controller.output, "what it waits for then", 30.0)
    assert graph.call(GetState, "controller/get_state").current_state.label == "active"
    assert "'gains.hinge.freq' (is it 'gains.hinge.natural_frequency'?)" in controller.output
    names = ("gravity", "payload.com", "payload.mass", "stream.timeout", "effort_limits.hinge")
    assert graph.get("controller", *names) == [[0.0, 0.0, -10.0], [0.0, 0.0, 1.0], 1.0, 2.0, 20.0]
    changes = {"payload__com": [0, 0, 2], "payload__mass": 2, "gravity": [0, 0, -9], "effort_limits__hinge": 99}
    results = graph.set("controller", **changes)
    assert all(result.successful for result in results), results
    assert graph.get("controller", *names) == [[0.0, 0.0, -9.0], [0.0, 0.0, 2.0], 2.0, 2.0, 99.0]


def test_it_says_what_it_compiles(fresh, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    controller = fresh.start("controller", robot_description=str(ONE_JOINT))
    everything = "its start, after eleven compilations"
    fresh.wait(lambda: "computed_torque on rnea" in controller.output, everything, 300.0)
    told = re.findall(r"compiling (\w+) for this arm \((\d+) of \d+\)", controller.output)
    names = {name for name, _ in told}
    assert {"runner", "step", "inverse"} <= names
    assert "loop" not in names, "the runner's code has the loop in it"
    assert told[0][1] == "1"


def test_lifecycle(graph, prr):
    def change(what):
        transition = Transition(id=getattr(Transition, f"TRANSITION_{what}"))
        return graph.call(ChangeState, "controller/change_state", transition=transition).success

    def state():
        return graph.call(GetState, "controller/get_state").current_state.label

    controller = graph.start("controller", "-r", "robot_description:=late", autostart=False, use_sim_time=True)
    graph.start("simulator", "-r", "commands:=controller/commands", robot_description=prr, diagnostics_rate=50.0)
    commands = graph.listen(Float64MultiArray, "controller/commands", 1000)
    assert not change("CONFIGURE")
    assert state() == "unconfigured"
    assert "no robot_description" in controller.output
    assert not graph.call(Trigger, "controller/hold").success
    graph.talk(String, "late", LATCHED).publish(String(data=prr))
    graph.wait(lambda: change("CONFIGURE"), "the description, and a controller made of it")
    states = graph.listen(JointState, "joint_states", 1000)
    graph.wait(lambda: len(states) > 50, "states")
    assert not commands  # it is not active
    assert change("ACTIVATE")
    graph.wait(lambda: len(commands) > 50, "commands")
    assert graph.call(Trigger, "controller/hold").success
    result = graph.set("controller", robot_description="urdf/pr.urdf")[0]
    assert not result.successful
    assert "clean it up" in result.reason
    result = graph.set("controller", blend_time="0.1")[0]
    assert (result.successful, result.reason) == (False, "blend_time: must be of type double, not string")
    same = {"joints": ["elevator", "shoulder", "wrist"], "tool": "", "robot_description": "", "mit_limits": [0.0, 0.0]}
    assert all(result.successful for result in graph.set("controller", **same))
    assert change("DEACTIVATE")
    graph.wait(lambda: graph.diagnostics("controller")["message"] == "inactive", "it to be inactive")
    later = graph.listen(Float64MultiArray, "controller/commands", 1000)  # without those that wait to be received
    states.clear()
    graph.wait(lambda: len(states) > 50, "more states")
    assert not later
    assert change("CLEANUP")
    assert graph.set("controller", controller="pd")[0].successful
    assert change("CONFIGURE")
    assert change("ACTIVATE")
    graph.wait(lambda: len(later) > 50, "commands of the other controller")
    assert graph.diagnostics("controller")["controller"] == "pd"
    assert change("ACTIVE_SHUTDOWN")
    assert state() == "finalized"
    graph.wait(lambda: graph.diagnostics("controller")["message"] == "finalized", "a report of that")
    controller.stop()


TOLD_MEANWHILE = """
import os, sys

class Signal:
    "Sends this process a signal when a module is about to be imported."

    @staticmethod
    def find_spec(name, path=None, target=None):
        if name == "{reached}":
            os.kill(os.getpid(), {number})

sys.meta_path.insert(0, Signal)
from robodyn_ros.nodes.start import {name}
raise SystemExit({name}() + 10)
"""


@pytest.mark.parametrize(
    ("name", "number", "reached"),
    [
        ("controller", signal.SIGINT, "robodyn_ros.errors"),
        ("controller", signal.SIGINT, "numpy.linalg"),
        ("simulator", signal.SIGTERM, "rclpy.node"),
    ],
)
def test_a_node_that_is_told_to_end_while_it_starts(name: str, number: signal.Signals, reached: str) -> None:
    script = TOLD_MEANWHILE.format(reached=reached, number=int(number), name=name)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


CONFIGURES = """
import os, sys, threading
from robodyn_ros.engine.library import CompilationError
from robodyn_ros.nodes.common import executor
from robodyn_ros.nodes.controller import node
from robodyn_ros.nodes.start import controller

def told(*given):
    os.kill(os.getpid(), {number})
    {then}
    return make(*given)

make, node.make_dynamics = node.make_dynamics, told
executor.SHUTDOWN_LIMIT = {limit}
sys.argv = ["controller", "--ros-args", "-p", "robot_description:={path}"]
raise SystemExit(controller())
"""


@pytest.mark.parametrize(
    ("then", "limit"),
    [("threading.Event().wait()", 0.1), ("pass", 60.0), ("raise CompilationError('cc failed: ')", 60.0)],
)
def test_a_controller_that_is_told_to_end_while_it_compiles_ends_soon_and_moves_nothing(then, limit):
    """Ctrl-C ends its compiler, too: that is no error."""
    path = Path(__file__).parents[1] / "urdf" / "prr.urdf"
    script = CONFIGURES.format(number=int(signal.SIGINT), then=then, limit=limit, path=path)
    with isolated() as env:
        done = subprocess.run(
            [sys.executable, "-c", script], capture_output=True, text=True, timeout=60, env=env, check=False
        )
    said = done.stdout + done.stderr
    assert done.returncode == 0, said
    assert ("prr: 3 joints" in said) == (then == "pass")
    assert "realtime" not in said and "ERROR" not in said


ENDS = """
import ctypes, os, signal, sys, rclpy
from functools import partial
from rclpy.node import Node
from robodyn_ros.errors import ConfigurationError
from robodyn_ros.nodes.common import executor
from robodyn_ros.nodes.common.client_library import once_running
from robodyn_ros.nodes.common.diagnostics import ExceptionGuard

refused, code, hangs, told = {case}
tell = partial(os.kill, os.getpid()) if told else int

class Ending(ExceptionGuard, Node):
    def destroy_node(self):
        tell(signal.SIGINT)
        super().destroy_node()

class Last:
    def __del__(self, tell=tell, numbers=(signal.SIGTERM, signal.SIGINT)):
        for number in numbers:
            tell(number)

def create(end):
    if refused:
        raise ConfigurationError("refused")
    tell(signal.SIGINT)
    node = Ending("ending")
    once_running(node, lambda: None if told else end(code))
    return node

if hangs:  # PyDLL keeps the interpreter's lock during the call
    executor.SHUTDOWN_LIMIT = 0.5
    rclpy.try_shutdown = lambda: ctypes.PyDLL(None).pause()
sys.last = Last()  # goes with the interpreter
sys.exit(executor.run(create))
"""


def test_signals_and_a_middleware_that_hangs_with_the_lock_held_change_nothing_but_the_time_of_an_end(graph):
    """A node that is told to end several times ends once."""
    cases = [  # whether it is refused, its exit code, whether the middleware hangs, and whether it is told to end
        (False, 3, False, False), (False, 0, True, False), (True, 1, True, False),
        (False, 0, False, True), (True, 1, False, True),
    ]  # fmt: skip
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    scripts = [ENDS.format(case=case) for case in cases]
    processes = [subprocess.Popen([sys.executable, "-c", script], **pipes) for script in scripts]
    for (refused, code, *_), process in zip(cases, processes, strict=True):
        out, err = process.communicate(timeout=60)
        assert (process.returncode, out, err) == (code, "", "error: refused\n" if refused else "")
