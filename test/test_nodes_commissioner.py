# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The commissioner over real DDS, started by the command, on a simulated arm that waits for each answer."""

import json
import re
import signal
import subprocess
from queue import SimpleQueue
from unittest.mock import Mock

import numpy as np
import pytest
from changed_node import changed, shorten
from rclpy.clock import ROSClock
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from robodyn_ros.checks import finite_array
from robodyn_ros.cli.commission import _follow
from robodyn_ros.control.commissioning.findings import CommissionerSettings
from robodyn_ros.control.drives import Transmission, TransmissionSettings
from robodyn_ros.files import find
from robodyn_ros.nodes.commissioner import CommissionerNode
from robodyn_ros.nodes.common.messages import JointOrder, stamp

REST = {"elevator": 0.0, "shoulder": 2.0, "wrist": float(np.pi - 2.0)}
"""On its stops, with the hand hanging."""

FRICTION = {"elevator": 20.0, "shoulder": 2.0, "wrist": 0.8}
"""That of Coulomb [N] and [N·m]."""

MARS = [0.0, 0.0, -3.7]
"""Gravity there, which the model has too [m/s²]."""

QUICK = ("push_time=2.0", "state_timeout=5.0")

TOPIC = "controller/joint_commands"


def simulate(graph, urdf, topic=TOPIC, rest=REST, coulomb=FRICTION, **wishes):
    """Start a simulated arm with friction, which gets its efforts from a topic."""
    friction = {name: {"coulomb": effort} for name, effort in coulomb.items()}
    graph.start(
        "simulator",
        "-r", f"joint_commands:={topic}", "-r", "commands:=nobody",
        robot_description=urdf, initial_position=rest, friction=friction, lockstep=True, state_rate=50.0, **wishes,
    )  # fmt: skip


def commission(graph, tmp_path, urdf, *arguments, **transmissions):
    """The command, running."""
    parameters = tmp_path / "arm.yaml"
    parameters.write_text(json.dumps({"commissioner": {"ros__parameters": {"transmission": transmissions}}}))
    description = tmp_path / "prr.urdf"
    description.write_text(urdf, encoding="utf-8")
    settings = [word for setting in QUICK for word in ("-p", setting)]
    written = ["--params", parameters, "--report", tmp_path / "report.md"]
    return graph.command("commission", description, *settings, *written, *arguments)


def test_an_answer_to_a_commissioner_that_has_ended_is_dropped(monkeypatch):
    """States may be missing while the question is open: its verdict says so."""
    said = '{"question": "Did it move?"}\n{"verdict": "Not ready: no joint states.", "good": false}\n'
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(["printf", "%s", said], **pipes) as process:
        process.wait()
        monkeypatch.setattr("builtins.input", lambda question: "y")
        last, interrupted = _follow(process)
    assert (last["verdict"], interrupted) == ("Not ready: no joint states.", False)


def switched_on():
    """A node without its topics, with a procedure whose efforts are the positions; the commands go to ``sent``."""
    node, settings = CommissionerNode.__new__(CommissionerNode), TransmissionSettings(gear_ratio=2.0)
    node._order, node._columns, node._transmission = JointOrder(["a", "b"]), [1, 0], Transmission([settings] * 2)
    node._procedure, node._settings = Mock(question=None, finished=False, stage=""), CommissionerSettings()
    node._procedure.update.side_effect = lambda when, q, qd: node.moments.append(when) or finite_array("q", q, (2,))
    node._last, node._blind, node._signalled, node._received, node._told = None, False, False, -np.inf, None
    node._answers, node._named, node._plain, node._finish = SimpleQueue(), JointState(), Float64MultiArray(), Mock()
    node.moments, node.sent, node._begun = [], [], -np.inf
    node._joint_commands, node._commands = Mock(), Mock(publish=lambda message: node.sent.append(list(message.data)))
    node.get_clock = Mock(return_value=ROSClock())
    return node


@pytest.mark.parametrize(
    ("stamps", "passed_on", "said"),
    [
        ([1.0, 1.1, 1.1, 1.3], [1.0, 1.1, 1.1, 1.3], ""),
        ([0.0, 1.0], [1.0], ""),  # the first of a simulation
        ([1.0, 0.9, 1.0], [1.0], "has jumped"),
        ([1.0, 1.21, 1.22], [1.0], "has jumped"),
        ([1.0, np.nan, 1.1], [1.0, 1.05], "a joint state is not usable: q: is not finite"),
        ([np.nan, 1.0], [1.05, 1.0], "a joint state is not usable: q: is not finite"),
        ([1.0, np.inf, 1.1], [1.0, 1.01], "no joint states for 0.2 s"),
        ([np.inf], [], "no joint states with a stamp came"),
    ],
)
def test_states_that_jump_in_time_or_are_none_end_it_for_good(stamps, passed_on, said):
    """Not a number stands for a state with a position like that, infinity for a silence."""
    node = switched_on()
    for when in stamps:
        if when == np.inf:
            node._received -= 0.3
            node._watch()
            continue
        state = JointState(name=["b", "a"], position=[4.0 if when == when else np.nan, 6.0], velocity=[0.0] * 2)
        state.header.stamp = stamp(round(1e9 * np.nan_to_num(when, nan=1.05)))
        node._on_state(state)
    if not said:
        node._watch()
    assert node.moments == pytest.approx(passed_on)
    assert said in str(node._procedure.stop.call_args) and bool(said) == node._procedure.stop.called
    assert node._finish.called == (not passed_on)
    # The joint is half of its motor, whose effort is half of the joint's; b is commanded first.
    assert node.sent == [[1.0, 1.5]] * len([when for when in passed_on if when != 1.05])


@pytest.mark.parametrize("question", [None, "Did it move?"])
def test_an_answer_counts_if_there_is_a_question(question):
    node = switched_on()
    node._procedure.question, node._last, node._received = question, (1.0, np.zeros(2)), np.inf
    for answer in ("yes", "no", "y", ""):
        node._answers.put(answer)
    node._watch()
    given = [call.args[0] for call in node._procedure.answer.call_args_list]
    assert given == ([True, False, True, False] if question else [])


def test_a_reversed_transmission_is_found(graph, prr, tmp_path):
    simulate(graph, prr)
    states = graph.listen(JointState, "joint_states", 1000)
    process = commission(graph, tmp_path, prr, "--yes", elevator={"gear_ratio": -1.0})
    assert graph.ended(process, 300.0) == 1, process.output
    report = (tmp_path / "report.md").read_text(encoding="utf-8")
    assert "Not ready: elevator is not right." in report
    assert "change the sign of transmission.elevator.gear_ratio" in report.replace("\\_", "_")
    rows = {
        cells[0]: cells for cells in (re.findall(r"[^|]+", line) for line in report.splitlines()) if len(cells) == 7
    }
    rows = {name.strip(): [cell.strip() for cell in cells] for name, cells in rows.items()}
    assert rows["wrist"][1] == rows["shoulder"][1] == "right"
    for name, friction in FRICTION.items():
        assert float(rows[name][2].split()[0]) == pytest.approx(friction, rel=0.15)
    assert "wrist: slowly there and back" in process.output
    positions = np.array([message.position for message in states])
    order = [states[0].name.index(joint) for joint in REST]
    assert np.abs(positions[:, order] - list(REST.values())).max() < 0.2  # nothing went far, nothing dropped


def test_guided_by_somebody_who_says_yes_to_all(graph, tmp_path):
    urdf = find("urdf/r.urdf").read_text(encoding="utf-8")
    simulate(graph, urdf, rest={"shoulder": 2.5}, coulomb={"shoulder": 0.5}, gravity=MARS)
    process = commission(graph, tmp_path, urdf, "-p", f"gravity:={MARS}")
    process.type("y\n" * 2)
    assert graph.ended(process, 300.0) == 0, process.output
    assert process.output.count("Is everybody clear?") == process.output.count("direction, ") == 1
    assert "the arm stands under gravity compensation" in process.output
    assert "| 100% |" in (tmp_path / "report.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL], ids=["ctrl-c", "killed"])
def test_a_command_that_ends_early_lets_go_evenly(graph, prr, tmp_path, number):
    """On Ctrl-C; and if the command is killed, the node that it has started lets go by itself, and ends.

    The efforts reach the arm through this process, so that no time passes for the arm that is not seen here.
    """
    commands = graph.listen(JointState, TOPIC, 10_000)
    simulate(graph, prr, "passed_on")
    graph.node.create_subscription(JointState, TOPIC, graph.talk(JointState, "passed_on").publish, 10)
    process = commission(graph, tmp_path, prr, "--yes")

    def carried():
        return commands and commands[-1].effort[commands[-1].name.index("shoulder")] < -15.0

    graph.wait(carried, "a shoulder that is lifted", 60.0)
    process.send(number)
    code = graph.ended(process)
    if number == signal.SIGINT:
        assert code == 130, process.output
        assert "Not finished: interrupted" in process.output.replace("\n", " ")
    graph.wait(lambda: not graph.node.count_publishers(TOPIC), "the end of the node")
    assert "Not finished: interrupted" in (tmp_path / "report.md").read_text(encoding="utf-8").replace("\n", " ")
    graph.wait(lambda: not any(commands[-1].effort), "nothing in the end")
    efforts = np.array([message.effort for message in commands])
    carrying = int(np.flatnonzero(efforts.any(axis=1))[-1])
    # From all that carries the shoulder to nothing, in even steps, and no joint ends with a great one: a drop would be
    # one step. A tenth is released from state to state at most, and the damping of an arm that begins to sink comes to
    # that. Before these steps the procedure goes on until the signal has arrived, and its own efforts do jump.
    # What this process has missed of them, the stamps tell.
    shoulder = efforts[:, commands[-1].name.index("shoulder")]
    stamps = np.array([message.header.stamp.sec + 1e-9 * message.header.stamp.nanosec for message in commands])
    between = np.maximum(np.diff(stamps) / np.diff(stamps)[np.diff(stamps) > 0.0].min(), 1.0)
    begin, most = carrying + 1, 0.2 * np.abs(shoulder).max()
    while shoulder[begin] > -10.0 and abs(shoulder[begin] - shoulder[begin - 1]) < most * between[begin - 1]:
        begin -= 1
    assert shoulder[begin] < -10.0
    assert np.abs(efforts[carrying]).max() < most * between[carrying]


def test_states_that_stay_away_end_it(graph, prr, tmp_path):
    via = changed(shorten, {"nodes.commissioner:START_TIMEOUT": 0.5})
    process = graph.start("commissioner", robot_description=prr, via=via)
    assert process.ended() == 0
    (told,) = (json.loads(line) for line in process.output.splitlines() if line.startswith('{"verdict"'))
    assert not told["good"]
    assert "no joint states with a stamp came" in told["verdict"]
