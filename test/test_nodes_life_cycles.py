# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Life cycles of the controller: what fails leaves nothing, what is destroyed is called no more, nothing leaks."""

import json
import os
import subprocess
import sys
import threading
import time
from collections import Counter
from functools import cached_property
from pathlib import Path

import life_cycles
import numpy as np
import pytest
from heap import heap_size
from rclpy.parameter import Parameter
from rclpy.serialization import serialize_message
from ros_graph import by_stamp
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from std_srvs.srv import SetBool, Trigger

import robodyn_ros as rd
from robodyn_ros.control import compiled_step
from robodyn_ros.control.compiled_step import CompiledStep
from robodyn_ros.control.faults.table import FAULTS
from robodyn_ros.nodes.common.diagnostics import UNFORESEEN
from robodyn_ros.nodes.controller import closed_loop
from robodyn_ros.nodes.controller.realtime import runner
from robodyn_ros.nodes.controller.realtime.runner import LoopRunner

ROOT = Path(__file__).parents[1]
COUNT = int(os.environ.get("ROBODYN_LIFE_CYCLES", "9"))
"""How many life cycles have to leave nothing behind; `make soak-life-cycles` has more."""

MAKERS = ("create_publisher", "create_lifecycle_publisher", "create_subscription", "create_service", "create_timer")
STAGES = {
    "the model": "robodyn_ros.nodes.controller.node:make_dynamics",
    "the law's constructor": "robodyn_ros.control.laws.computed_torque:ComputedTorque.__init__",
    "the loop": "robodyn_ros.control.loop:ControlLoop.from_settings",
    "the publishers": "robodyn_ros.nodes.controller.output:Output.__init__",
    "the states": "robodyn_ros.nodes.controller.closed_loop:Periods.__init__",
    "the switching": "robodyn_ros.nodes.controller.parameters:Switching.__init__",
    "a file read beside": "robodyn_ros.nodes.controller.estimates:read_memory",
    "what was learnt": "robodyn_ros.nodes.controller.estimates:Estimates._restore",
    "the payload": "robodyn_ros.nodes.controller.payload:PayloadEstimation.__init__",
}
"""Late stage of configure → what is called there; those that begin with an entity are among all entities below."""


class BrokenError(Exception):
    """What is raised where nobody expects it."""


@pytest.fixture(scope="module")
def there(tmp_path_factory):
    """A controller in this process, not configured, and its drivers."""
    folder = tmp_path_factory.mktemp("node")
    with life_cycles.running(folder, estimates_file=str(folder / "estimates.yaml")) as made:
        yield made


def graph_of(node):
    """What the node has in the graph: kind → number, and the publishers of each topic."""
    kinds = Counter(
        {
            kind: len(list(getattr(node, kind)))
            for kind in ("publishers", "subscriptions", "services", "timers", "waitables")
        }
    )
    topics = {name: node.count_publishers(name) for name, _ in node.get_topic_names_and_types()}
    return kinds, {name: count for name, count in topics.items() if count}


def holds(there):
    """Configure and activate: the arm is carried, and no second publisher is found."""
    node, carrying = there.node, rd.create_dynamics("rnea", rd.load_robot(ROOT / "urdf" / "prr.urdf"))
    there.commands.clear()
    there.change("configure", "activate")
    there.be_answered()
    np.testing.assert_allclose(there.commands[-1].effort, carrying.gravity(np.array([0.5, -1.0, 0.25])), atol=1e-9)
    assert node._configured.loop.state == "hold"
    there.change("deactivate", "cleanup")


def broken(monkeypatch, where, kind):
    """Have a function of the package raise the next time."""
    module, _, path = where.partition(":")
    owner = sys.modules[module]
    *classes, name = path.split(".")
    for part in classes:
        owner = getattr(owner, part)

    def fail(*args, **named):
        raise kind("broken")

    monkeypatch.setattr(owner, name, fail)


def sockets() -> set[str]:
    """The UDP sockets of this process: the middleware has some as long as it is in a graph."""
    lines = Path("/proc/self/net/udp").read_text().splitlines()[1:]
    own = {os.path.realpath(path).rpartition("/")[2] for path in Path("/proc/self/fd").iterdir()}
    return {f"socket:[{line.split()[9]}]" for line in lines} & own


def test_nothing_of_a_graph_is_on_the_wire_after_its_end(tmp_path):
    """Its domain is free for others then, so nothing of it may be left in this process, which ends later."""
    before = sockets()
    with life_cycles.running(tmp_path) as there:
        assert sockets() > before
    assert there.drives is not None  # it is still known here, as by a fixture or a traceback
    assert sockets() == before


@pytest.mark.parametrize("stage", STAGES)
def test_a_configure_that_fails_late_leaves_nothing_and_the_next_one_holds_the_arm(there, monkeypatch, stage):
    node = there.node
    law = "adaptive" if stage in ("a file read beside", "what was learnt") else "computed_torque"
    node.set_parameters([Parameter("controller", value=law)])
    there.drain()
    before = graph_of(node)
    with monkeypatch.context() as patch:
        broken(patch, STAGES[stage], BrokenError)
        assert node.trigger_configure().name == "FAILURE"
    assert "BrokenError: broken" in node._failure
    there.until(lambda: graph_of(node) == before)
    node.set_parameters([Parameter("controller", value="computed_torque")])
    holds(there)
    there.until(lambda: graph_of(node) == before)


def test_a_configure_that_fails_at_any_entity_leaves_nothing(there, monkeypatch):
    """The exception comes from the first thing that is made in the graph, from the second, and so on to the last."""
    node, made, at = there.node, 0, None

    def counting(name):
        make = getattr(type(node), name)

        def create(self, *args, **named):
            nonlocal made
            made += 1
            if made == at:
                raise BrokenError(name)
            return make(self, *args, **named)

        return create

    before = graph_of(node)
    with monkeypatch.context() as patch:
        for name in MAKERS:
            patch.setattr(type(node), name, counting(name))
        there.change("configure", "activate", "deactivate", "cleanup")
        whole = made
        for at in range(1, whole + 1):
            made = 0
            if node.trigger_configure().name == "SUCCESS":
                there.change("cleanup")  # it was made later than configure
                break
            there.drain()
            assert graph_of(node)[0] == before[0], at
    assert whole > 20
    there.until(lambda: graph_of(node) == before)
    holds(there)


def test_a_controller_that_is_configured_again_at_once_is_no_second_publisher(there):
    """The executor has had no time to let go of what was destroyed; but a publisher that stays is one."""
    node = there.node
    for _ in range(3):
        for transition in ("configure", "activate"):
            assert getattr(node, f"trigger_{transition}")().name == "SUCCESS"
        there.be_answered()  # or so it seems: commands of the time before may have been on their way
        there.until(lambda: node._configured.loop.state != "waiting" or there.send())
        assert node._configured.loop.state == "hold"
        for transition in ("deactivate", "cleanup"):
            assert getattr(node, f"trigger_{transition}")().name == "SUCCESS"
    there.change("configure", "activate")
    other = node.create_publisher(type(there.commands[-1]), "controller/joint_commands", 10)  # of the same name
    there.until(lambda: "second publisher" in node._configured.loop.state or there.send())
    node.destroy_publisher(other)
    there.until(lambda: node._configured.loop.state == "hold" or there.send())
    there.change("deactivate", "cleanup")


@pytest.mark.parametrize("kind", ["timer", "subscription", "service"])
def test_an_entity_that_is_destroyed_is_called_no_more(there, kind):
    """Three have an event in the executor's queue; the first one's callback destroys all of them, and what they use."""
    node, called, victims = there.node, [], []
    before = node.faults.counts[UNFORESEEN]
    talker = there.drives.create_publisher(String, "victim", 10)
    clients = [there.drives.create_client(Trigger, f"victim{k}") for k in range(3)]
    gone = node.create_publisher(String, "gone", 10)

    def callback(*args):
        called.append(kind)
        gone.publish(String(data="which a callback may do until its end"))
        for victim in victims:
            getattr(node, f"destroy_{kind}")(victim)
        node.destroy_publisher(gone)
        return args[-1] if args else None

    if kind == "timer":
        victims += [node.create_timer(1e-9, callback) for _ in range(3)]
    elif kind == "subscription":
        victims += [node.create_subscription(String, "victim", callback, 10) for _ in range(3)]
        there.until(lambda: called or talker.publish(String()))
    else:
        victims += [node.create_service(Trigger, f"victim{k}", callback) for k in range(3)]
        there.until(lambda: all(client.service_is_ready() for client in clients))
        for _ in range(2):
            for client in clients:
                client.call_async(Trigger.Request())
    there.until(lambda: called)
    for _ in range(50):
        there.drain()
    assert called == [kind]
    assert node.faults.counts[UNFORESEEN] == before
    there.drives.destroy_publisher(talker)
    for client in clients:
        there.drives.destroy_client(client)


def test_an_arm_that_is_not_held_is_not_moved_and_who_waits_for_a_service_is_answered_by_a_cleanup(there):
    """And a service that there is nothing for says so, instead of being no service."""
    node = there.node
    services = ("estimate_payload", "save_estimates", "hold", "enable")
    clients = {name: there.drives.create_client(node_kind(name), f"controller/{name}") for name in services}
    there.until(lambda: all(client.service_is_ready() for client in clients.values()))

    def answer(future):
        there.until(future.done)
        return future.result()

    def call(name, **fields):
        return answer(clients[name].call_async(clients[name].srv_type.Request(**fields)))

    for name in services:
        found = call(name)
        assert not found.success and "not configured" in found.message, name
    there.change("configure", "activate")
    for state in ("waiting", "disabled"):
        found = call("estimate_payload")
        assert not found.success and state in found.message
        assert call("enable", data=False).success
    assert call("enable", data=True).success
    there.be_answered()
    waiting = clients["estimate_payload"].call_async(Trigger.Request())
    there.until(lambda: node._configured.payload._response is not None)
    there.change("deactivate", "cleanup")
    found = answer(waiting)
    assert not found.success
    assert "interrupted" in found.message or "cleaned up" in found.message
    for client in clients.values():
        there.drives.destroy_client(client)


def node_kind(name):
    return SetBool if name == "enable" else Trigger


def test_a_state_of_a_new_layout_is_not_answered_after_a_newer_one(there, monkeypatch):
    """Python reads the first state's layout; the thread may answer the next state before it has that one back."""
    learn, layouts = LoopRunner.set_layout, []

    def set_layout(thread, layout):
        learn(thread, layout)
        layouts.append(layout)
        end = time.monotonic() + life_cycles.PATIENCE
        while not thread.last_state[0]:
            assert time.monotonic() < end
            there.send()
            time.sleep(0.002)

    monkeypatch.setattr(LoopRunner, "set_layout", set_layout)
    late = there.node.faults.counts["state out of order"]
    there.change("configure", "activate")
    there.be_answered()
    assert len(layouts) == 1
    assert there.node._configured.loop.latest is not None  # this reads all periods so far
    assert there.node.faults.counts["state out of order"] == late
    there.change("deactivate", "cleanup")


def test_a_second_publisher_is_known_before_the_first_command(there, monkeypatch):
    monkeypatch.setattr(closed_loop, "PUBLISHER_PERIOD", 1e4)  # of the later scans
    other = there.drives.create_publisher(JointState, "controller/joint_commands", 1)
    there.change("configure")
    there.until(lambda: there.node.count_publishers("controller/joint_commands") == 2)
    there.commands.clear()
    there.change("activate")
    there.until(lambda: there.node._configured.loop.state != "waiting" or there.commands or there.send())
    assert there.node._configured.loop.problem.startswith(FAULTS["publisher"].words) and not there.commands
    there.change("deactivate", "cleanup")
    there.drives.destroy_publisher(other)


def test_python_looks_after_a_thread_less_often_than_after_a_loop_that_it_calls(there):
    there.change("configure", "activate")
    there.be_answered()
    timer = there.node._configured.loop._timer
    there.until(lambda: there.send() or timer.timer_period_ns == 1e9 * closed_loop.REST_PERIOD)  # states keep coming
    there.change("deactivate")
    there.until(lambda: timer.timer_period_ns == 1e9 * closed_loop.WATCH_PERIOD)
    there.change("cleanup")


def test_whoever_subscribes_to_the_terms_while_states_stream_is_told_those_of_commands(there):
    """States that come all the time leave no gap in which somebody would look for subscribers."""
    there.change("configure", "activate")
    there.be_answered()
    told = []
    subscription = there.drives.create_subscription(JointState, "controller/efforts/gravity", told.append, 100)
    there.until(lambda: len(set(by_stamp(told))) > 20 or there.send())
    there.until(lambda: set(by_stamp(told)) <= set(by_stamp(there.commands)))
    there.drives.destroy_subscription(subscription)
    there.change("deactivate", "cleanup")


def test_the_priority_goes_to_the_thread_that_runs_the_loop(there, monkeypatch):
    """First to the loop's own; states in parts are Python's."""
    given = []
    monkeypatch.setattr(there.node._scheduling, "begin", lambda *, python: given.append(python))
    there.change("configure", "activate")
    assert given[0] is False

    def in_python():
        there._states.publish(JointState(name=["elevator"], position=[0.5]))
        return given[-1]

    there.until(in_python)
    there.change("deactivate", "cleanup")


def test_parts_of_a_state_that_came_before_a_pause_complete_none_after_it(there):
    def read(time, *names):
        message = JointState(name=names, position=[0.1] * len(names))
        return there.node._configured.loop._periods.states.read(serialize_message(message), time, 10.0)

    there.change("configure", "activate")
    assert read(1, "elevator", "shoulder") is None
    there.node._configured.loop.enable(False)
    there.node._configured.loop.enable(True)
    assert read(2, "wrist") is None
    assert read(3, "elevator", "shoulder").stamp == (0, 3)
    there.change("deactivate", "cleanup")


def test_a_thread_that_ends_gives_its_buffer_of_messages_back(there):
    """It has 64 KiB, from the allocator of rcl; they were lost whenever the loop was disabled."""
    there.change("configure", "activate")
    allocated = []
    for _ in range(24):
        there.node._configured.loop.enable(False)
        there.node._configured.loop.enable(True)
        allocated.append(heap_size())
    there.change("deactivate", "cleanup")
    assert (allocated[-1] - allocated[7]) / 16 < runner.LARGEST / 4


@pytest.mark.parametrize("what", ["a function of rcl", "a way to subscribe"])
def test_with_an_rclpy_that_the_thread_does_not_fit_python_calls_the_runner(there, monkeypatch, what):
    if what == "a function of rcl":
        monkeypatch.setitem(runner.FUNCTIONS, "take", "rcl_give")
        reason = "off: rcl has no rcl_give"
    else:
        monkeypatch.setattr(runner, "rclpy_implementation", None)
        reason = "off: rclpy makes no subscription of that kind"
    there.change("configure", "activate")
    there.be_answered()
    assert there.node._configured.loop.realtime.startswith(reason)
    there.until(lambda: there.drives.count_subscribers("joint_states") == 1)
    there.change("deactivate", "cleanup")


def test_a_refused_vector_is_named_as_the_parameter(there):
    node = there.node
    node.set_parameters([Parameter("controller", value="cartesian_impedance")])
    there.change("configure")
    [result] = node.set_parameters([Parameter("cartesian_impedance.stiffness", value=[1.0, 2.0])])
    assert not result.successful
    assert result.reason.startswith("cartesian_impedance.stiffness: must be 6 numbers within"), result.reason
    there.change("cleanup")
    node.set_parameters([Parameter("controller", value="computed_torque")])


def test_another_arm_has_its_own_parameters(there):
    """Joints that are gone have none, limits are this arm's, and what was set is kept if it still fits."""
    node = there.node
    prr = node.get_parameter("robot_description").value
    there.change("configure")
    assert node.set_parameters([Parameter("gains.shoulder.damping_ratio", value=0.9)])[0].successful
    assert node.set_parameters([Parameter("effort_limits.wrist", value=35.0)])[0].successful
    there.change("cleanup")
    other = prr.replace('name="elevator"', 'name="lift"').replace('effort="96"', 'effort="80"')
    other = other.replace('effort="36"', 'effort="30"')
    assert other.count('name="lift"') >= 1
    node.set_parameters([Parameter("robot_description", value=other)])
    if "joints" in node._parameters:
        node.set_parameters([Parameter("joints", value=["lift", "shoulder", "wrist"])])
    there.change("configure")
    names = node.list_parameters([], 0).names
    assert not [name for name in names if "elevator" in name]
    assert "gains.lift.natural_frequency" in names and "transmission.lift.gear_ratio" in names
    assert node.get_parameter("gains.shoulder.damping_ratio").value == 0.9
    assert node.get_parameter("effort_limits.shoulder").value == 80.0
    assert node.describe_parameter("effort_limits.shoulder").floating_point_range[0].to_value == 80.0
    assert node.get_parameter("effort_limits.wrist").value == 30.0
    assert node.get_parameter("effort_rate_limits.shoulder").value == 8000.0
    there.change("cleanup")
    node.set_parameters([Parameter("robot_description", value=prr)])
    node.set_parameters([Parameter("joints", value=["elevator", "shoulder", "wrist"])])
    there.change("configure")
    assert not [name for name in node.list_parameters([], 0).names if "lift" in name]
    assert node.get_parameter("effort_limits.shoulder").value == 96.0
    assert node.get_parameter("gains.shoulder.damping_ratio").value == 0.9
    node.set_parameters([Parameter("gains.shoulder.damping_ratio", value=1.0)])
    there.change("cleanup")
    holds(there)


def test_life_cycles_leave_nothing_behind():
    """Objects, threads and files, counted exactly: nothing grows with the number of life cycles.

    Memory may grow by what the middleware leaves behind; ``make soak-life-cycles`` shows it.
    """
    code = f"import json, life_cycles; print(json.dumps(life_cycles.of_controller({COUNT})))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT / "test")
    found = json.loads(done.stdout.splitlines()[-1])
    print(found)
    assert found["cycles"] == COUNT // 3 * 3
    assert found["grew"] == {}


def test_the_count_sees_what_leaks():
    kept = []

    def cycle():
        kept.append([object()])

    grew = life_cycles.leaks(cycle, 9)["grew"]
    assert grew["builtins.list"] == 1.0


def test_a_switch_compiles_nothing_in_the_loop_s_thread(there, monkeypatch):
    """The control step of another law is compiled beside the loop, which goes on meanwhile, and swapped in ready."""
    node, where = there.node, []
    compile_step = CompiledStep.kernel.func

    def compiled(step):
        if type(step.law).__name__ == "PD":
            where.append((threading.current_thread() is threading.main_thread(), step.program.key))
        return compile_step(step)

    there.change("configure")
    names = [f"gains.{joint}.natural_frequency" for joint in node._configured.loop.robot.joint_names]
    before = [Parameter(name, value=node.get_parameter(name).value) for name in names]
    # Which gains are refused depends on how old states are, by the machine's clock: these are not.
    assert all(result.successful for result in node.set_parameters([Parameter(name, value=0.5) for name in names]))
    there.change("activate")
    there.be_answered()
    kernel = cached_property(compiled)
    kernel.__set_name__(CompiledStep, "kernel")
    monkeypatch.setattr(CompiledStep, "kernel", kernel)
    monkeypatch.setattr(compiled_step, "_known", {})  # an earlier test may have compiled the same step
    monkeypatch.setattr("robodyn_ros.nodes.controller.parameters.dry_run", lambda *_: None)  # it is another process
    assert node.set_parameters([Parameter("controller", value="pd")])[0].successful
    there.until(lambda: node._configured.switching.running[1] == "pd")
    there.be_answered()
    (beside, *later) = where
    assert beside[0] is False
    assert all(key == beside[1] for _, key in later)  # the loop found what had been compiled
    there.change("deactivate")
    assert all(result.successful for result in node.set_parameters(before))
    there.change("cleanup")
    assert node.set_parameters([Parameter("controller", value="computed_torque")])[0].successful
