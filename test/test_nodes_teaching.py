# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""A motion that is shown to the running nodes, recorded, thinned out and played back."""

import io
import json
import signal
import subprocess
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import MagicMock

import numpy as np
import pytest
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory

import robodyn_ros as rd
from robodyn_ros.cli import teach as verb
from robodyn_ros.cli.verb import VerbParser
from robodyn_ros.control.motion.point_to_point import rest_to_rest
from robodyn_ros.control.motion.trajectory import Trajectory
from robodyn_ros.errors import ConfigurationError, NotReadyError
from robodyn_ros.nodes import replayer, teacher
from robodyn_ros.nodes.common.messages import JointOrder, from_trajectory
from robodyn_ros.robot.configuration import ConfigurationSpace

PRR = Path(__file__).parents[1] / "urdf/prr.urdf"
MOTION = np.array([[0.0, 0.0, 0.0], [0.15, 0.4, -0.5], [0.05, -0.3, 0.4], [0.1, 0.1, 0.2]])


def teach(graph, *arguments):
    """The command, when the arm can be guided."""
    command = graph.command("teach", PRR, *arguments)
    graph.wait(lambda: "Guide the arm by hand now" in command.output, "the arm to be guided")
    return command


def follow(graph, positions, step):
    """Have the controller follow a motion from rest to rest, beginning where the arm is."""
    rest = np.zeros_like(positions)
    way = Trajectory(step * np.arange(1, len(positions) + 1), positions, rest, rest)
    publisher = graph.talk(JointTrajectory, "controller/joint_trajectory")
    publisher.publish(from_trajectory(["elevator", "shoulder", "wrist"], way))


def test_ctrl_c_ends_it_while_there_is_no_controller(graph, tmp_path):
    command = graph.command("teach", PRR, "--out", tmp_path / "nothing.json", "--namespace", "/left")
    graph.wait(lambda: graph.has("left/teacher"), "the teacher")
    command.send(signal.SIGINT)
    assert command.ended() == 130
    assert command.said == ("", "  waiting for the controller\ninterrupted\n")


@pytest.mark.parametrize("said", ["", '{"stage": "playing"}'])
def test_a_node_that_is_ended_from_outside_before_its_result_is_an_error(monkeypatch, said):
    @contextmanager
    def ended(*_):
        with subprocess.Popen(["printf", said], stdout=subprocess.PIPE, text=True) as process:
            yield process

    monkeypatch.setattr(verb, "reporting_node", ended)
    with pytest.raises(NotReadyError, match="the replayer was ended from outside"):
        verb._follow("replayer", {}, {})


def teacher_of(prr, monkeypatch):
    """A teacher whose controller is answered for, and the answer."""
    answer = SimpleNamespace(values=[SimpleNamespace(string_value="pd")], result=SimpleNamespace(successful=True))
    request = SimpleNamespace(done=lambda: True, result=lambda: answer)
    monkeypatch.setattr(teacher, "RepeatedRequest", lambda *_: request)
    node = teacher.TeacherNode.__new__(teacher.TeacherNode)
    node._description = SimpleNamespace(known=True, robot=lambda: rd.load_robot(prr))
    node._get = node._set = SimpleNamespace(service_is_ready=lambda: True, call_async=lambda request: None)
    return node, answer


def test_the_arm_is_to_be_guided_once_the_law_runs(prr, monkeypatch):
    """The controller agrees at once, and holds the arm by the former law until the other one is made."""
    node, _ = teacher_of(prr, monkeypatch)
    node._law, node._running, node._controller, node._signalled, node._rows = "free_drive", "", "/controller", False, []

    def told(law, name="/controller"):
        values = [KeyValue(key="controller", value=law)]
        node._on_diagnostics(DiagnosticArray(status=[DiagnosticStatus(name=name, values=values)]))
        return step.is_met()

    script = node._script()
    while (step := next(script)).what != "the law free_drive":
        assert step.is_met(), step.what
    assert not told("pd") and not told("free_drive", "/other/controller") and told("free_drive")
    assert next(script).what == "joint states"
    node._rows = ["of before"]
    assert next(script).what == "the end of the demonstration" and not node._rows


@pytest.mark.parametrize("last", ["the controller to change to free_drive", "the law free_drive", "joint states"])
def test_a_controller_that_does_not_answer_gets_its_former_law_back(prr, monkeypatch, last):
    """It may carry out late what it was asked for."""
    node, _ = teacher_of(prr, monkeypatch)
    node._law = node._running = "free_drive"
    node._signalled, node._rows, asked = False, [], []
    node._set = SimpleNamespace(service_is_ready=lambda: True, call_async=asked.append)
    script = node._script()
    while next(script).what != last:
        assert not asked
    script.close()  # as its runner does when its patience is over
    assert [request.parameters[0].value.string_value for request in asked] == ["pd"]


def test_a_controller_without_a_law_is_named(prr, monkeypatch):
    """One of another package: ROS answers with no value for a parameter that does not exist."""
    node, answer = teacher_of(prr, monkeypatch)
    node._law, node._controller, node._signalled, answer.values = "free_drive", "/controller", False, []
    with pytest.raises(ConfigurationError, match="law: /controller has no parameter controller: leave the law empty"):
        list(node._script())


def test_a_state_that_comes_in_parts_is_recorded(prr):
    """As of a driver of the arm and another one of its gripper. Each stamp has one row, with the newest positions."""
    node = teacher.TeacherNode.__new__(teacher.TeacherNode)
    node._order, node._latest, node._rows = JointOrder(rd.load_robot(prr).joint_names), np.full(3, np.nan), []
    for when, names, position in (
        (1, ["shoulder", "elevator"], [0.2, 0.1]),
        (1, ["wrist"], [0.3]),
        (1, ["wrist"], [0.3, 0.4]),
        (2, ["wrist", "other"], [0.6, 9.9]),
        (2, ["elevator", "shoulder"], [0.4, 0.5]),
        (1, ["elevator"], [7.7]),
        (3, ["other"], [9.9]),
        (3, ["wrist"], [np.nan]),
        (4, ["wrist", "shoulder", "elevator"], [0.9, 0.8, 0.7]),
    ):
        message = JointState(name=names, position=position)
        message.header.stamp.sec = when
        node._on_state(message)
    assert [(when, *q) for when, q in node._rows] == [(1, 0.1, 0.2, 0.3), (2, 0.4, 0.5, 0.6), (4, 0.7, 0.8, 0.9)]


@pytest.mark.parametrize("told", [True, False])
def test_a_motion_is_kept_where_the_controller_refuses_its_former_law(prr, monkeypatch, tmp_path, told):
    """Also one that nobody ends, which ends itself after the longest time."""
    node, answer = teacher_of(prr, monkeypatch)
    node._law = node._running = "free_drive"
    node._signalled, node._told, node._rows = False, told, []
    monkeypatch.setattr(teacher, "LONGEST", teacher.LONGEST if told else -1.0)

    def show(name, parameters, namespace):  # the node's part of the command
        node._path = Path(parameters["record"])
        for step in node._script():
            node._rows = [(0.1 * k, (1.0 - np.cos(0.2 * k)) * np.array([0.1, 0.2, 0.3])) for k in range(30)]
            answer.result = SimpleNamespace(successful="to pd" not in step.what, reason="too weak")
            assert step.is_met(), step.what

    monkeypatch.setattr(verb, "namespace_of", lambda *_: {})
    monkeypatch.setattr(verb, "_follow", show)
    parser = VerbParser()
    verb.add_arguments(parser)
    with pytest.raises(ConfigurationError, match="refuses pd: too weak"):
        verb.run(parser.parse_args([str(PRR), "--out", str(tmp_path / "wave.json")]))
    assert (tmp_path / "wave.json").exists()


@pytest.mark.parametrize("end", [[0.4] * 3, [0.4, 0.4 - 2.0 * np.pi, 0.4], [0.1] * 3])
def test_a_motion_that_did_not_come_to_its_end_is_an_error(prr, monkeypatch, end):
    """As after a hold, a fault, or with speed_scaling below 1: the arm is elsewhere, or still under way."""
    motion = rest_to_rest([[0.0] * 3, [0.4] * 3], [0.0, 1.0])
    watch, told = SimpleNamespace(q=1, effort=1, error=np.zeros(3), time=0.0, has_left=lambda place: True), []
    monkeypatch.setattr(replayer, "tell", told.append)
    robot = rd.load_robot(prr.replace("revolute", "continuous"))
    watch.reference, watch.space = np.zeros(3), ConfigurationSpace(robot)
    node = replayer.ReplayerNode.__new__(replayer.ReplayerNode)
    node._description = SimpleNamespace(known=True, robot=lambda: robot)
    node._plan = node._planned = None
    node._path, node._speed, node._publisher = "", 1.0, MagicMock()
    for name, result in (("read_trajectory", motion), ("Watch", watch), ("rest_position", None)):
        monkeypatch.setattr(replayer, name, lambda *_, result=result: result)
    monkeypatch.setattr(replayer, "approached", lambda dynamics, begin, motion: (motion, 0.0))
    script = node._script()
    while (step := next(script)).what != "the end of the motion":
        watch.time += 0.1
        assert step.is_met(), step.what
    for watch.error in np.array([[0.1, -0.2, 0.0], [-0.3, 0.1, 0.0]]):
        assert not step.is_met()
    watch.time, watch.reference = 9.0, np.array(end)
    assert step.is_met()
    if end[0] == 0.4:
        assert next(script, None) is None
        assert told[-1] == {"error": {"elevator": 0.3, "shoulder": 0.2, "wrist": 0.0}}
    else:
        with pytest.raises(NotReadyError, match="the motion is not over"):
            next(script)


@pytest.mark.parametrize("fields", [(), ("velocities",), ("velocities", "accelerations")])
def test_a_motion_keeps_its_path_at_any_speed_and_after_the_approach(prr, fields):
    """Lines and cubics became quintics with the derivatives at their points, and left their path by a tenth of it."""
    given = {"velocities": 0.3 * MOTION, "accelerations": 0.8 * MOTION}
    motion, times = Trajectory(range(4), MOTION, **{name: given[name] for name in fields}), np.linspace(0.0, 3.0, 61)
    start = np.array([0.2, -0.1, 0.3])
    whole, begin = replayer.approached(
        rd.create_dynamics("rnea", rd.load_robot(prr)), start, replayer.slower(motion, 0.5)
    )
    np.testing.assert_allclose(whole.samples(begin + 2.0 * times).q, motion.samples(times).q, atol=1e-12)
    np.testing.assert_allclose(whole.sample(0.0).q, start)
    late = np.linspace(begin - replayer.PAUSE, begin, 5)
    np.testing.assert_allclose(whole.samples(late).q, np.tile(MOTION[0], (5, 1)), atol=1e-12)  # it rests there


@pytest.mark.parametrize("fields", [(), ("velocities",), ("velocities", "accelerations")])
def test_a_motion_is_followed_in_the_turn_in_which_its_approach_ends(prr, fields):
    """A continuous joint was sent back by a whole turn within half a second before the motion began."""
    robot = rd.load_robot(prr.replace("revolute", "continuous"))
    motion = Trajectory(range(4), MOTION + np.array([0.0, -3.0, 0.0]), **dict.fromkeys(fields, 0.1 * MOTION))
    whole, begin = replayer.approached(rd.create_dynamics("rnea", robot), np.array([0.2, 3.1, 0.3]), motion)
    assert (np.abs(whole.samples(np.linspace(0.0, begin, 500)).qd) <= 0.31 * robot.velocity_limit).all()
    late = np.linspace(0.0, 3.0, 61)
    moved = whole.samples(begin + late).q - motion.samples(late).q
    np.testing.assert_allclose(moved, np.tile([0.0, 2.0 * np.pi, 0.0], (61, 1)), atol=1e-12)


@pytest.mark.parametrize(("typed", "told"), [("\n", True), ("", False)])
def test_enter_ends_it_and_not_the_end_of_stdin(monkeypatch, typed, told):
    node = teacher.TeacherNode.__new__(teacher.TeacherNode)
    node._told = False
    monkeypatch.setattr("sys.stdin", io.StringIO(typed))
    node._read_lines()
    assert node._told is told


def test_an_arm_whose_description_was_accepted_is_recorded(graph, prr, tmp_path):
    """The controller judges the description, and the command has; the recording needs its joints alone."""
    description = prr.replace('iyy="0.020833333333333332"', 'iyy="5.0"')
    teacher = graph.start("teacher", robot_description=description, record=str(tmp_path / "shown.csv"), law="")
    publisher, message = graph.talk(JointState, "joint_states"), JointState(name=["elevator", "shoulder", "wrist"])

    def recording():
        message.header.stamp.sec += 1
        message.position = [0.1] * 3
        publisher.publish(message)
        return "recording" in teacher.output

    graph.wait(recording, "the recording")
    begun = message.header.stamp.sec
    graph.wait(lambda: recording() and message.header.stamp.sec > begun + 20, "some states")
    teacher.type("\n")
    assert graph.ended(teacher) == 0, teacher.output


def test_a_plan_of_some_joints_is_sent_to_an_arm_with_more(prr, monkeypatch):
    """As ``robodyn plan --joints`` makes it; a plan of other joints is none of the arm's."""
    watched = []
    monkeypatch.setattr(replayer, "Watch", lambda node, robot: watched.append(robot) or SimpleNamespace(q=None))
    node = replayer.ReplayerNode.__new__(replayer.ReplayerNode)
    node._description, node._publisher = SimpleNamespace(known=True, robot=lambda: rd.load_robot(prr)), MagicMock()
    monkeypatch.setattr(replayer, "check_start", MagicMock(side_effect=NotReadyError("not at the start")))
    for joints in (("shoulder", "wrist"), ("wrist", "shoulder"), ("shoulder", "finger")):
        node._plan, node._planned = SimpleNamespace(joints=joints), MagicMock()
        script = node._script()
        assert next(script).what.startswith("a robot_description from")
        if joints == ("shoulder", "wrist"):
            assert next(script).what == "joint states"
            assert watched[-1].joint_names == joints
            with pytest.raises(NotReadyError, match="not at the start"):
                list(script)
        else:
            with pytest.raises(NotReadyError, match=f"the plan {', '.join(joints)}"):
                next(script)


def test_a_motion_is_shown_thinned_out_and_played_back(graph, prr, tmp_path):
    # So fast that nobody waits for it for long, and so slowly that no recorder is outrun.
    graph.start_arm(prr, {"real_time_factor": 1.0, "state_rate": 100.0}, lockstep=True)
    states = graph.listen(JointState, "joint_states", 100)
    errors = graph.listen(JointState, "controller/tracking_error")
    graph.wait(lambda: errors, "a controller that works")

    # Nobody leads the arm: the law changes, and comes back.
    before = graph.get("controller", "controller")
    command = teach(graph, "--out", tmp_path / "nothing.json", "--controller", "free_drive")
    assert graph.get("controller", "controller") == ["free_drive"]
    command.send(signal.SIGINT)
    assert (command.ended(), "nothing was shown" in command.output) == (2, True), command.output
    assert graph.get("controller", "controller") == before
    # What comes before that law runs is dropped.
    graph.wait(lambda: [graph.diagnostics("controller")["controller"]] == before, "that law")

    # The controller itself shows a motion.
    begin = np.array(states[-1].position)
    command = teach(graph, "--out", tmp_path / "shown.json", "--controller", "", "--json")
    follow(graph, begin + MOTION, 0.8)
    end = begin + MOTION[-1]
    graph.wait(lambda: np.abs(np.array(states[-1].position) - end).max() < 1e-3, "the end of the motion", 60.0)
    command.type("\n")
    assert command.ended() == 0, command.output
    found = json.loads(command.said[0])
    assert found["points"] < 60
    assert found["states"] > 200
    assert found["distance"] <= 0.002

    states.clear()  # before it is played: on a busy machine what the command prints is read late
    play = graph.command("teach", PRR, "--play", tmp_path / "shown.json", "--json")
    graph.wait(lambda: "playing" in play.output, "the motion")
    assert graph.ended(play) == 0, play.output
    assert max(json.loads(play.said[0])["error"].values()) < 0.1
    low = np.min([state.position for state in states], axis=0)
    high = np.max([state.position for state in states], axis=0)
    np.testing.assert_allclose(low, (begin + MOTION).min(axis=0), atol=0.05)
    np.testing.assert_allclose(high, (begin + MOTION).max(axis=0), atol=0.05)
