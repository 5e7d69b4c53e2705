# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Part of the joints: an arm with a gripper, of which the arm is controlled and the fingers are locked."""

import gc
from contextlib import nullcontext
from itertools import combinations
from unittest.mock import MagicMock

import arms
import numpy as np
import pytest
from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState
from test_nodes_states import Arm
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

import robodyn_ros as rd
from robodyn_ros.errors import InputError, LimitError, NotReadyError, OrderError
from robodyn_ros.nodes.common.arm_parameters import locked_positions
from robodyn_ros.nodes.common.messages import JointOrder
from robodyn_ros.nodes.common.watch import merged_values
from robodyn_ros.nodes.controller import locked_model
from robodyn_ros.nodes.controller.cdr import StateReader
from robodyn_ros.nodes.controller.states import StateMerger
from robodyn_ros.nodes.simulator.topics import HeldJoints

ARM = ["elevator", "shoulder", "wrist"]
START = {"elevator": 0.3, "shoulder": -0.9, "wrist": 0.4}


def with_fingers(prr):
    """The PRR arm with two heavy fingers on its hand, the second of which mimics the first."""
    text = rd.load_robot(prr).urdf
    place = (1, 0, 0), (0, 0, 0.3), None, (0.0, 0.2, 0.5, 50)
    fingers = [
        arms.link("finger", 1.5, (0.0, 0.02, 0.1), (2e-3, 0, 0, 2e-3, 0, 1e-3)),
        arms.link("thumb", 1.2, (0.0, -0.02, 0.1), (2e-3, 0, 0, 2e-3, 0, 1e-3)),
        arms.joint("grip", "prismatic", "hand", "finger", *place),
        arms.joint("grip2", "prismatic", "hand", "thumb", *place, '<mimic joint="grip"/>'),
    ]
    return text.replace("</robot>", "\n".join([*fingers, "</robot>"]))


@pytest.mark.parametrize(("stands", "said"), [(-3.1415, ""), (3.0, "is locked at 3.142, but stands at 3")])
def test_a_continuous_joint_that_carries_the_arm_is_where_it_is_in_any_turn(prr, monkeypatch, stands, said):
    """At the seam of its encoder it was refused as another position."""
    monkeypatch.setattr(locked_model, "NodeParameters", lambda _: {"locked_joints.shoulder": np.pi})
    joints = rd.robot.LockedJoints(rd.load_robot(prr.replace("revolute", "continuous")), ["elevator", "wrist"])
    model = locked_model.LockedModel(MagicMock(), joints, {})
    model.known["shoulder"] = stands
    with pytest.raises(NotReadyError, match=said) if said else nullcontext():
        model.check()


def test_a_joint_is_locked_within_its_limits(prr):
    arm = rd.load_robot(prr)
    joints, most = rd.robot.LockedJoints(arm, ["elevator", "wrist"]), arm.upper[1]
    assert locked_positions({"locked_joints.shoulder": most}, joints) == {"shoulder": most}
    with pytest.raises(LimitError, match=r"^locked_joints\.shoulder: .*'shoulder'"):
        locked_positions({"locked_joints.shoulder": most + 1e-3}, joints)


def test_a_simulated_locked_joint_goes_within_its_limits_and_not_if_it_carries_the_arm(prr):
    arm, start = rd.load_robot(prr), np.array([0.5, 0.1])
    joints = rd.robot.LockedJoints(arm, ["shoulder"])
    held = HeldJoints(MagicMock(), joints, start)
    for name, position, why in (
        ("elevator", 0.6, "'elevator' carries the arm and cannot move"),
        ("shoulder", 0.1, "'shoulder' is not locked; locked are elevator, wrist"),
        ("wrist", arm.upper[2] + 1e-3, r"2.101 of 'wrist' must be within \[-1.5, 2.1\]"),
        ("wrist", arm.lower[2] - 1e-3, "must be within"),
    ):
        with pytest.raises(InputError, match=why):
            held._accepted(JointState(name=["wrist", name], position=[0.2, position]))
    held._on_goal(JointState(name=["wrist"], position=[arm.upper[2]]))
    held.advance(0.01, rd.create_dynamics("rnea", joints.robot(start)))
    np.testing.assert_allclose((held.q, held.qd), ([0.5, 0.18], [0.0, 8.0]))


@pytest.mark.parametrize("realtime", ["auto", "off"])
def test_an_arm_is_controlled_without_its_fingers(graph, prr, realtime):
    """In lockstep: the controller knows that the fingers move, and gravity stays compensated."""
    urdf = with_fingers(prr)
    start = {**START, "grip": 0.05}
    graph.start_arm(urdf, {"initial_position": start, "joints": ARM}, lockstep=True, realtime=realtime, joints=ARM)
    gravity = graph.listen(JointState, "controller/efforts/gravity", 10)
    states = graph.listen(JointState, "joint_states", 10)
    fingers = graph.talk(JointState, "locked_joints")

    def compensated(position):
        """True once the states have the finger there, and the controller compensates the gravity of the arm with it."""

        def check():
            fingers.publish(JointState(name=["grip"], position=[position]))
            if not states or not gravity or abs(states[-1].position[3] - position) > 1e-9:
                return False
            q = np.array(states[-1].position[:3])
            expected = rd.create_dynamics("rnea", rd.load_robot(urdf).reduced(locked={"grip": position})).gravity(q)
            return np.abs(np.array(gravity[-1].effort) - expected).max() < 0.02

        return check

    for position in (0.05, 0.19, 0.0):
        graph.wait(compensated(position), f"gravity with the finger at {position}")
    assert list(states[-1].name) == [*ARM, "grip"]
    follows_past_the_finger(graph, states)


def follows_past_the_finger(graph, states):
    """A trajectory names the finger too: it is told that this joint is locked, and the arm moves without it."""
    trajectories = graph.talk(JointTrajectory, "controller/joint_trajectory")
    at, finger = np.array(states[-1].position[:3]), states[-1].position[3]
    goal = at + [0.1, 0.2, -0.3]
    names = ["grip", "wrist", "elevator", "shoulder"]
    point = JointTrajectoryPoint(positions=[0.2, goal[2], goal[0], goal[1]])
    point.time_from_start.sec = 1
    trajectories.publish(JointTrajectory(joint_names=names, points=[point]))
    graph.wait(lambda: np.abs(np.array(states[-1].position[:3]) - goal).max() < 5e-3, "the end of the motion")
    assert states[-1].position[3] == finger
    said = "the reference names locked joints, which it does not move: grip"
    assert any(said in process.output for process in graph._processes)


@pytest.mark.thorough
def test_a_message_about_the_fingers_takes_the_place_of_no_state(graph, prr):
    """The arm's driver and the gripper's publish one right after the other, the gripper's five times."""
    common = {"robot_description": with_fingers(prr), "joints": ARM}
    wiring = ("-r", "joint_commands:=controller/joint_commands", "-r", "joint_states:=simulated")
    simulator = graph.start("simulator", *wiring, initial_position=START, lockstep=True, **common)
    graph.start("controller", use_sim_time=True, **common)
    commands = graph.listen(JointState, "controller/joint_commands", 10)
    states = graph.talk(JointState, "joint_states")

    def split(message):
        for index in ([0, 1, 2], *[[3]] * 5):
            part = JointState(header=message.header)
            for name in ("name", "position", "velocity"):
                setattr(part, name, [getattr(message, name)[i] for i in index])
            states.publish(part)

    graph.node.create_subscription(JointState, "simulated", split, 10)

    def stalls():
        return simulator.output.count("no answer in lockstep")

    graph.wait(lambda: len(commands) > 100, "commands in lockstep", 60.0)
    before = stalls()
    graph.wait(lambda: len(commands) > 1000, "more of them", 60.0)
    assert stalls() == before


def test_states_in_several_messages(graph, prr):
    """Elevator and shoulder in one message, the wrist in another, the finger in a third."""
    graph.start("controller", robot_description=with_fingers(prr), joints=ARM, state_timeout=0.3)
    arm, wrist, grip = Arm(graph), {"wrist": 0.4}, {"grip": 0.17}
    two = {"elevator": 0.3, "shoulder": -0.9}
    model = rd.create_dynamics("rnea", rd.load_robot(with_fingers(prr)).reduced(locked=grip))
    expected = model.gravity([0.3, -0.9, 0.4])

    def publish(*parts):
        for part in parts:
            arm.state(name=part, position=part.values(), velocity=[0.0] * len(part))

    def holds():
        publish(two, wrist, grip)
        return len(arm.commands) > 20 and np.abs(np.array(arm.commands[-1].effort) - expected).max() < 0.05

    graph.wait(holds, "the efforts that hold the arm with its fingers")
    assert list(arm.commands[-1].name) == ARM

    def missed():
        publish(two, grip)
        said = graph.diagnostics("controller")
        return said["message"].startswith("no joint states") and int(said.get("state refused", 0)) > 0

    graph.wait(missed, "the wrist to be missed")


@pytest.mark.parametrize("realtime", ["auto", "off"])
def test_a_joint_that_carries_the_arm_must_stand_where_the_model_has_it(graph, prr, realtime):
    """The elevator is left out: states are refused while it stands elsewhere, and the message says what to do."""
    parameters = {"robot_description": prr, "joints": ["wrist", "shoulder"], "state_timeout": 0.5}
    graph.start("controller", locked_joints={"elevator": 0.4}, realtime=realtime, **parameters)
    arm = Arm(graph)

    def refused():
        arm.state(position=[0.9, -0.9, 0.4])
        return graph.count("controller", "state refused") > 2

    graph.wait(refused, "states to be refused")
    assert not arm.commands
    (controller,) = graph._processes
    assert "joint 'elevator' carries the arm and is locked at 0.4, but stands at 0.9" in controller.output
    graph.wait(lambda: arm.state(position=[0.4005, -0.9, 0.4]) and len(arm.commands) > 5, "commands")
    assert list(arm.commands[-1].name) == ["wrist", "shoulder"]


class Clock:
    """Partial states for a merger, at times in [ms]."""

    def __init__(self, timeout=0.1):
        self.timeout, self.known = timeout, {}
        self.merger = StateMerger(["a", "b", "c"], ["finger"], self.known)

    def hear(self, time, velocity=True, stamped=True, **positions):
        message = JointState(name=list(positions), position=list(positions.values()))
        message.velocity = [10.0 * position for position in positions.values()] if velocity else []
        message.header.stamp.sec, message.header.stamp.nanosec = divmod(time * 1_000_000 * stamped, 10**9)
        return self.merger.read(serialize_message(message), time * 1_000_000, self.timeout)


def test_messages_are_merged_by_name():
    """A state when each joint has come since the one before; its stamp is the newest; values are the latest."""
    clock = Clock()
    assert not clock.merger.mixed
    assert clock.hear(1000, c=3.0, a=1.0) is None
    assert clock.hear(1002, finger=7.0) is None
    assert clock.hear(1003, a=1.5) is None
    found = clock.hear(1004, b=2.0)
    assert found.stamp == (1, 4_000_000)
    assert found.position.tolist() == [1.5, 2.0, 3.0]
    assert found.velocity.tolist() == [15.0, 20.0, 30.0]
    assert clock.known == {"finger": 7.0}
    assert clock.hear(1010, b=2.5) is None
    assert clock.hear(1011, a=1.6, c=3.5, velocity=False).velocity is None
    assert clock.merger.partial
    assert clock.hear(1012, a=1.6, c=3.5, stamped=False) is None
    assert clock.hear(1013, b=2.0, stamped=False).stamp == (1, 13_000_000)  # that of its arrival


def test_the_layouts_of_eight_sets_of_joints_are_remembered():
    merger, counts = StateMerger([*"abcdef"], (), {}), []
    for time, names in enumerate(combinations("abcdef", 3)):  # 20 sets
        merger.read(serialize_message(JointState(name=names, position=[0.1, 0.2, 0.3])), time, 1.0)
        counts.append(sum(isinstance(each, StateReader) for each in gc.get_objects()))
    assert max(counts) - counts[0] == 7


def test_a_message_about_other_joints_mixes_states_but_leaves_them_whole():
    clock = Clock()
    for time in (1000, 1002):
        assert clock.hear(time, a=1.0, b=2.0, c=time / 500.0).position.tolist() == [1.0, 2.0, time / 500.0]
    assert not clock.merger.mixed
    assert clock.hear(1003, finger=0.1) is None
    assert clock.merger.mixed
    assert not clock.merger.partial
    with pytest.raises(InputError, match="position: has 1 values for 4 joints"):
        clock.merger.read(serialize_message(JointState(name=["finger", *"abc"], position=[0.2])), 1004, 0.1)
    assert clock.known == {"finger": 0.1}


def test_each_joint_has_an_age_of_its_own():
    clock = Clock(timeout=0.1)
    clock.hear(1000, a=1.0, b=1.0)
    clock.hear(1001, c=1.0)
    for time in range(1010, 1100, 10):
        assert clock.hear(time, a=1.0, b=1.0) is None
    with pytest.raises(InputError, match=r"joint 'c' has not come for 0.109 s.*leave it out of the parameter joints"):
        clock.hear(1110, a=1.0, b=1.0)
    assert clock.hear(1111, c=2.0).position.tolist() == [1.0, 1.0, 2.0]
    clock = Clock(timeout=0.1)
    for time in range(10, 111, 10):  # as in a simulation that begins
        assert clock.hear(time, a=1.0, b=1.0) is None
    with pytest.raises(InputError, match=r"joint 'c' has not come for 0\.11 s"):  # since the first message
        clock.hear(120, a=1.0, b=1.0)


def test_a_message_that_is_older_than_the_one_before_is_refused_and_time_may_begin_again():
    clock = Clock()
    for _ in range(2):  # one that comes twice is not older
        assert clock.hear(1000, a=1.0, b=1.0) is None
    with pytest.raises(OrderError):
        clock.hear(990, a=2.0, b=2.0)
    assert clock.hear(1001, c=1.0).position.tolist() == [1.0, 1.0, 1.0]
    assert clock.hear(10, a=5.0, b=5.0) is None  # a simulation that was reset
    assert clock.hear(11, c=6.0).position.tolist() == [5.0, 5.0, 6.0]


def test_a_joint_that_is_missing_among_whole_states_is_an_error():
    clock = Clock()
    assert clock.hear(1000, a=1.0, b=2.0, c=3.0).position.tolist() == [1.0, 2.0, 3.0]
    said = "joint 'c' is missing among a, b; a joint that the parameter joints omits"
    for time in (1001, 1100):
        with pytest.raises(InputError, match=said):
            clock.hear(time, a=1.0, b=2.0)
    assert clock.hear(1101, a=1.5, b=2.5) is None  # whole states have ceased
    assert clock.hear(1102, c=3.5).position.tolist() == [1.5, 2.5, 3.5]


def test_an_observer_shows_the_joints_that_a_message_names():
    """The efforts of a controller that leaves the fingers out are shown, those of another arm are not."""
    order, before = JointOrder(["a", "b", "finger"]), np.array([9.0, 9.0, 9.0])

    def shown(names, values):
        return merged_values(JointState(name=names), values, order, before).tolist()

    assert shown(["b", "a"], [2.0, 1.0]) == [1.0, 2.0, 0.0]
    for names, values in ((["x"], [1.0]), (["a", "b"], [1.0]), (["a"], [np.nan])):
        assert shown(names, values) == [9.0, 9.0, 9.0]
