# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""An exception that nobody foresaw, in callbacks of every kind and node: a counted fault, and the node goes on."""

import ast
import signal
import subprocess
import sys
from functools import partial
from importlib.util import find_spec
from pathlib import Path

from changed_node import MESSAGE, changed, fail
from free_port import free_port
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger
from visualization_msgs.msg import MarkerArray

from robodyn_ros.nodes.common.diagnostics import UNFORESEEN

ROOT = Path(__file__).parents[1]
CONTROLLER = {
    "control.loop:ControlLoop.track": "1-1",  # a subscription
    "nodes.controller.output:Output.publish_terms": "20-22",  # the callback of the states, after the command
    "nodes.controller.states:StateMerger.read": "60-62",  # the same, before it
    "nodes.controller.closed_loop:ClosedLoop._scan_publishers": "3-4",  # a timer
    "nodes.controller.closed_loop:ClosedLoop.hold": "1-1",  # a service
    "nodes.controller.parameters:Switching.check": "1-1",  # a change of parameters: its check
    "control.loop:ControlLoop.apply": "1-1",  # and the change itself
    "nodes.controller.estimates:Estimates._publish": "2-2",
    "nodes.controller.payload:PayloadEstimation._start_motion": "1-1",  # a service that answers later
}
SIMULATOR = {
    "simulation.hardware:Hardware.advance": "100-102",
    "simulation.hardware:Hardware.command": "20-22",
    "simulation.hardware:Hardware.reset": "2-2",
}


def counted(graph, node, least):
    """Wait until a node has counted so many exceptions, and then until it warns of none any more."""
    graph.wait(lambda: graph.count(node, UNFORESEEN) >= least, f"{least} exceptions of {node}")
    graph.wait(lambda: UNFORESEEN not in graph.diagnostics(node)["message"], "no warning any more")


def said(process):
    return UNFORESEEN in process.output and MESSAGE in process.output


def test_it_is_counted_with_its_traceback_and_the_arm_goes_on(graph, prr):
    """Everything raises once or some times; whoever waits for an answer gets one, and no change is made by half."""
    both = {"robot_description": prr}
    simulator = graph.start("simulator", "-r", "commands:=controller/commands", via=changed(fail, SIMULATOR), **both)
    controller = graph.start(
        "controller", via=changed(fail, CONTROLLER), use_sim_time=True, realtime="off", state_timeout=5.0, **both
    )
    commands = graph.listen(JointState, "controller/joint_commands")
    graph.listen(JointState, "controller/efforts/gravity")
    graph.wait(lambda: len(commands) > 100, "commands")

    def answered(kind, name):
        answer = graph.call(kind, name)
        return answer.success, answer.message

    for service in ("controller/hold", "controller/estimate_payload", "simulator/reset"):
        success, message = answered(Trigger, service)
        assert not success and f"{UNFORESEEN}: KeyError" in message and MESSAGE in message
    assert answered(Trigger, "controller/hold") == (True, "held")
    (refused,) = graph.set("controller", gains__wrist__damping_ratio=0.9)
    assert not refused.successful and MESSAGE in refused.reason
    graph.set("controller", gains__wrist__damping_ratio=0.8)  # what cannot be made is not what the parameter says
    assert graph.get("controller", "gains.wrist.damping_ratio") == [1.0]
    assert graph.set("controller", gains__wrist__damping_ratio=0.7)[0].successful
    assert graph.get("controller", "gains.wrist.damping_ratio") == [0.7]
    graph.talk(JointState, "controller/reference").publish(JointState(name=["wrist"], position=[0.0]))
    for node, process, least in (("controller", controller, 14), ("simulator", simulator, 7)):
        counted(graph, node, least)
        assert "Traceback (most recent call last)" in process.output and MESSAGE in process.output
    assert graph.diagnostics("controller")["message"] == "hold"
    count = len(commands)
    graph.wait(lambda: len(commands) > count + 100, "more commands")
    for process in (controller, simulator):
        process.send(signal.SIGINT)
        assert process.ended() == 0


def test_the_observers_and_the_planner_go_on_too(graph, prr):
    planner = graph.start("planner", robot_description=prr, via=changed(fail, {"nodes.planner:rest_position": "1-1"}))
    markers = graph.start(
        "markers", robot_description=prr, via=changed(fail, {"nodes.common.watch:Watch._on_state": "2-3"})
    )
    others = [planner, markers]
    if find_spec("viser") is not None:
        broken = {"nodes.viewer.node:View.draw": "2-3"}
        others.append(graph.start("viewer", robot_description=prr, port=free_port(), via=changed(fail, broken)))
    pictures = graph.listen(MarkerArray, "markers/markers")
    states = graph.node.create_publisher(JointState, "joint_states", 10)
    state = JointState(name=["elevator", "shoulder", "wrist"], position=[0.1, 0.2, 0.3], velocity=[0.0] * 3)
    graph.node.create_timer(0.05, lambda: states.publish(state))
    targets = graph.talk(JointState, "planner/plan_to/joints")
    targets.publish(JointState(name=["wrist"], position=[0.1]))
    for process in others:
        graph.wait(partial(said, process), f"{process.name} to raise")
    graph.wait(lambda: len(pictures) > 5, "more markers")
    targets.publish(JointState(name=["wrist"], position=[9.0]))  # beyond its limit: an answer that needs the planner
    graph.wait(lambda: "no motion:" in planner.output, "the planner's next answer")
    for process in others:
        process.send(signal.SIGINT)
        assert process.ended() == 0


def test_every_node_and_every_callback_of_a_future_is_guarded():
    """No node is made of rclpy's classes alone; rclpy's EventsExecutor crashes where a callback raises."""
    nodes = callbacks = 0
    for path in (ROOT / "robodyn_ros" / "nodes").rglob("*.py"):
        for item in ast.walk(ast.parse(path.read_text())):
            bases = [ast.unparse(base) for base in item.bases] if isinstance(item, ast.ClassDef) else []
            if {"Node", "LifecycleNode"} & set(bases):
                nodes += 1
                assert bases[0] == "ExceptionGuard", f"{path}: {item.name}"
            if isinstance(item, ast.Call) and ast.unparse(item.func).endswith(".add_done_callback"):
                callbacks += 1
                (callback,) = item.args
                assert isinstance(callback, ast.Call), f"{path}:{item.lineno}"
                assert ast.unparse(callback.func).endswith(".guarded"), f"{path}:{item.lineno}"
    assert nodes == 10 and callbacks


LAST = """
import sys, time
from rclpy.node import Node
from rclpy.task import Future
from robodyn_ros.nodes.common import executor
from robodyn_ros.nodes.common.client_library import once_running, steady_timer
from robodyn_ros.nodes.common.diagnostics import ExceptionGuard

class Last(ExceptionGuard, Node):
    def __init__(self, end):
        super().__init__("last")
        once_running(self, lambda: end(self.begin()))

    def begin(self):
        self.waits = Future(executor=self.executor)
        self.executor.create_task(self.send)
        steady_timer(self, 0.001, lambda: self.waits.done() and print("a command"))
        return 0

    async def send(self):
        await self.waits
        print("the result of an action")

    def finish(self):
        self.waits.set_result(True)
        self.answered = time.monotonic() - {ago}
        super().finish()

sys.exit(executor.run(Last))
"""


def test_a_node_that_ends_stays_only_to_deliver_its_last_answers(graph):
    for ago, said in ((0.0, "the result of an action\n"), (60.0, "")):
        done = subprocess.run([sys.executable, "-c", LAST.format(ago=ago)], capture_output=True, text=True, timeout=60)
        assert (done.returncode, done.stdout, done.stderr) == (0, said, "")
