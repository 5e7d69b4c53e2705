# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""A leader and a follower through the running nodes: the follower goes along, and the leader feels what holds it."""

import re
from types import SimpleNamespace

import numpy as np
import pytest
from builtin_interfaces.msg import Time
from geometry_msgs.msg import WrenchStamped
from sensor_msgs.msg import JointState
from std_msgs.msg import Header, String

import robodyn_ros as rd
from robodyn_ros.control.motion.teleoperation import TeleoperationSettings
from robodyn_ros.nodes import teleoperator
from robodyn_ros.nodes.common.client_library import LATCHED
from robodyn_ros.nodes.common.messages import JointOrder
from robodyn_ros.nodes.teleoperator import TeleoperatorNode

START = {"elevator": 0.6, "shoulder": 0.5, "wrist": 0.9}
SOFT = {name: {"natural_frequency": 6.0} for name in START}


def coupled(graph, prr, coupling="joints", **follower):
    """Two simulated arms in namespaces, each with its controller and its end of the coupling; the controllers."""
    controllers = []
    for arm, partner in (("leader", "follower"), ("follower", "leader")):
        place = ("-r", f"__ns:=/{arm}", "-r", "/clock:=clock")
        wiring = ("-r", "joint_commands:=controller/joint_commands")
        plant = follower if arm == "follower" else {}
        graph.start("simulator", *place, *wiring, robot_description=prr, initial_position=START, **plant)
        law = {"controller": "impedance", "gains": SOFT} if arm == "leader" else {}
        controllers.append(graph.start("controller", *place, robot_description=prr, use_sim_time=True, **law))
        topics = ("-r", f"~/received:=/{partner}/teleoperator/sent")
        settings = {"role": arm, "force_ratio": 1.0, "timeout": 5.0, "coupling": coupling}
        graph.start("teleoperator", *place, *topics, robot_description=prr, **settings)
    return controllers


@pytest.mark.thorough
@pytest.mark.parametrize("coupling", ["joints", "tool"])
def test_the_follower_goes_along_and_what_holds_it_is_felt(graph, prr, coupling):
    controllers = coupled(graph, prr, coupling)
    states = {arm: graph.listen(JointState, f"/{arm}/joint_states") for arm in ("leader", "follower")}
    references = {arm: graph.listen(JointState, f"/{arm}/controller/reference") for arm in states}
    graph.wait(lambda: all(references.values()), "both ends to stream", 120.0)
    assert not [process.output for process in controllers if "refused" in process.output]
    hand = graph.talk(WrenchStamped, "/leader/simulator/apply_wrench")
    push = WrenchStamped()
    push.header.frame_id = "carriage"
    push.wrench.force.z = 60.0
    begin = states["leader"][-1].position[0]

    def along():
        return abs(states["follower"][-1].position[0] - begin) > 0.1

    graph.send(hand, push, along, "the follower to go along", 120.0)
    assert states["leader"][-1].position[0] - begin > 0.05
    assert any(abs(message.effort[0]) > 1.0 for message in references["leader"] if len(message.effort))


def one_end(urdf, leads, others=()):
    """An end without its topics: what it publishes is in the lists ``sent`` and ``streamed``."""
    end, names = TeleoperatorNode.__new__(TeleoperatorNode), ["sent", "streamed"]
    end._own, end._settings = SimpleNamespace(coupling="joints"), TeleoperationSettings(force_ratio=1.0)
    end._whole, end._others, end._leads, end._timeout = rd.load_robot(urdf), others, leads, 0.2
    end._couple(end._whole)
    end._watch = SimpleNamespace(robot=end._whole, reference=None, q=np.zeros(3), qd=np.zeros(3), error=np.zeros(3))
    end._received, end._newest, end._time, end._heard = (-np.inf, None), 0.0, 0.0, -np.inf
    end.sent, end.streamed = [], []
    end._sent, end._references = (SimpleNamespace(publish=getattr(end, name).append) for name in names)
    return end


def message(end, when, **values):
    stamp = Time(sec=int(when), nanosec=round(1e9 * (when % 1.0)))
    return JointState(header=Header(stamp=stamp), name=list(end._whole.joint_names), **values)


@pytest.mark.parametrize("leads", [True, False])
def test_an_end_whose_controller_has_stopped_sends_nothing(monkeypatch, prr, leads):
    """A leader felt the last effort of a follower whose controller had stopped, or had a fault, for ever."""
    end, now = one_end(prr, leads), 10.0
    monkeypatch.setattr(teleoperator, "monotonic", lambda: now)
    end._on_feedback(message(end, 0.0, effort=[1.0] * 3))

    def states_come():
        for _ in range(2):
            before = end._end
            end._on_state(message(end, end._time + 0.01))
            assert end._end is not before or end._end is None  # both arms start where they are once the other end talks
        return len(end.sent)

    for wait, heard, sent in ((0.0, False, 0), (0.0, True, 2), (0.4, False, 4), (0.6, False, 4), (0.0, True, 6)):
        now += wait
        if heard:
            end._on_error(message(end, 0.0))
        assert states_come() == sent
    assert not end.streamed
    end._couple(end._whole)  # of other joints, whose efforts have not come yet
    assert states_come() == (8 if leads else 6)


def test_the_follower_goes_along_from_its_reference_and_the_leader_feels_its_effort(monkeypatch, prr):
    """Joints of other names, at other places; the follower hangs below its reference."""
    names, monotonic = ["lift", "shoulder", "wrist"], 10.0
    leader, follower = one_end(prr.replace("elevator", "lift"), True, list(START)), one_end(prr, False, names)
    monkeypatch.setattr(teleoperator, "monotonic", lambda: monotonic)
    begin, qd, felt = np.array([0.5, 0.3, -0.4]), np.array([0.1, -0.2, 0.3]), np.array([-2.0, 1.0, -3.0])
    leader._watch.qd, follower._watch.reference, follower._watch.q = qd, begin, begin - 0.05
    for end in (leader, follower):
        end._on_error(message(end, 0.0))
    for when in np.arange(1.0, 1.5, 0.01):
        leader._watch.q = np.array([0.2, 0.8, 0.9]) + (when - 1.0) * qd
        follower._on_feedback(message(follower, when, effort=felt.tolist()))
        for end, other in ((leader, follower), (follower, leader)):
            end._on_state(message(end, when))
            if end.sent:
                other._on_received(end.sent[-1])
    assert follower.streamed[-1].position == pytest.approx(begin + 0.48 * qd, abs=0.01)
    assert follower.streamed[-1].velocity == pytest.approx(qd, abs=0.03)
    assert follower.streamed[-1].name == list(START) and leader.streamed[-1].name == names
    assert leader.streamed[-1].position == pytest.approx(leader._watch.q)
    assert leader.streamed[-1].velocity == pytest.approx(qd)
    assert leader.streamed[-1].effort == pytest.approx(-felt, abs=0.1)


@pytest.mark.parametrize(
    ("when", "effort", "counts"),
    [(2.1, 0.0, True), (2.0, 0.0, False), (1.9, 0.0, False), (1.0, 0.0, True), (2.1, np.nan, False)],
)
def test_which_message_of_the_other_end_counts(prr, when, effort, counts):
    """Not one that comes twice, is late, or is no number; but one after a new start of the other end's clock."""
    end = one_end(prr, False)
    for stamp, value in ((2.0, 0.0), (when, effort)):
        before = end._received
        end._on_received(message(end, stamp, position=[0.0] * 3, velocity=[0.0] * 3, effort=[value] * 3))
    assert (end._received is not before) == counts


def test_a_continuous_joint_leads_across_the_seam_of_its_encoder(prr):
    """The follower went back by a whole turn, as fast as it could."""
    end = one_end(prr.replace("revolute", "continuous"), True)
    for angle in np.arange(3.0, 10.0, 0.1):
        end._lead(0.01, np.array([0.0, np.arctan2(np.sin(angle), np.cos(angle)), 0.0]), np.zeros(3), None, Time())
    np.testing.assert_allclose([sent.position[1] for sent in end.sent], np.arange(3.0, 10.0, 0.1))


def test_a_description_that_comes_late_ends_it_as_one_that_is_given(graph, prr):
    process = graph.start("teleoperator", role="leader", other_joints=["a", "b"])
    graph.talk(String, "robot_description", LATCHED).publish(String(data=prr))
    assert graph.ended(process) == 1
    assert "other_joints: must be 3 names, not 2" in process.output
    assert "Traceback" not in process.output


def test_the_coupling_goes_on_beside_other_messages_on_joint_states(prr):
    """Those of a gripper's driver, which may be older, states that come twice, and states in parts."""
    end, periods = one_end(prr, True), []

    def lead(dt, *_):
        periods.append((dt, end._end is not None))
        end._end = object()

    end._lead, end._heard, end._received = lead, np.inf, (np.inf, object())
    for count in range(4):
        for names, late in ((["elevator"], 0), (["shoulder", "wrist"], 0), (["finger"], 1_000_000)):
            message = JointState(name=names)
            message.header.stamp.sec, message.header.stamp.nanosec = 1, 2_000_000 * (count + 1) - late
            TeleoperatorNode._on_state(end, message)
    assert [goes_on for _, goes_on in periods] == [False, True, True]  # the very first state begins no period
    assert [dt for dt, _ in periods] == pytest.approx([0.002] * 3)


def test_some_joints_are_coupled_and_the_others_are_the_grippers(graph, prr):
    """The controller's terms and states name the joints that it controls alone."""
    end = graph.start("teleoperator", robot_description=prr, role="follower")
    some = {"name": ["elevator", "shoulder"], "position": [0.1, 0.2], "velocity": [0.0] * 2, "effort": [0.0] * 2}
    topics = ("joint_states", "controller/tracking_error", "controller/efforts/feedback", "teleoperator/received")
    publishers = [graph.talk(JointState, topic) for topic in topics]
    references, message, sent = graph.listen(JointState, "controller/reference"), JointState(**some), []

    def streams():
        sent.append(True)
        message.header.stamp.sec, message.header.stamp.nanosec = divmod(20_000_000 * len(sent), 10**9)
        for publisher in publishers:
            publisher.publish(message)
        return references

    graph.wait(streams, "references", 10.0)
    assert list(references[-1].name) == some["name"]
    assert "received:" not in end.output


@pytest.mark.parametrize("names", [["shoulder", "elbow"], [*"xyz", "rx", "ry", "rz"]], ids=["other arm", "tools"])
def test_joints_that_are_not_coupled_name_the_parameters_that_couple_them(names):
    """Once the controller has named its joints: the fingers of a gripper may be among the arm's before."""
    logged = []
    log = SimpleNamespace(warning=lambda text, **_: logged.append(text))
    end = SimpleNamespace(_newest=0.0, _timeout=0.2, _order=JointOrder(START), _waits=True, get_logger=lambda: log)
    message = JointState(name=names, position=[0.0] * len(names), velocity=[0.0] * len(names))
    message.header.stamp.sec = 1
    message.effort = message.position
    TeleoperatorNode._on_received(end, message)
    assert not logged
    end._waits = False
    TeleoperatorNode._on_received(end, message)
    (said,) = logged
    assert re.match(r"received: name: .*\. Both ends need the same coupling; .* other_joints", said)


def test_what_it_waits_for(graph, prr):
    """One after the other: states, the controller, and the other end, whose topic is easily named wrongly."""
    end = graph.start("teleoperator", "-r", "~/received:=/right/sent", robot_description=prr)
    message = JointState(name=list(START), position=[0.0] * 3, velocity=[0.0] * 3)
    publishers = []
    for topic, what in (
        ("joint_states", "joint states on the topic /joint_states"),
        ("controller/tracking_error", "commands of the controller on the topic /controller/tracking_error"),
        ("", "the other end on the topic /right/sent"),
    ):

        def said(text=f"waiting for {what}, which no node publishes"):
            for publisher in publishers:
                publisher.publish(message)
            return text in end.output

        graph.wait(said, what)
        if topic:
            publishers.append(graph.talk(JointState, topic))
