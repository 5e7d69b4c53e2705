# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Trajectories as bytes: what is read past rclpy is what rclpy reads; and long ones cost no command."""

import re
import struct
from types import SimpleNamespace
from unittest.mock import Mock

import numpy as np
import pytest
from builtin_interfaces.msg import Duration, Time
from geometry_msgs.msg import PoseStamped
from hypothesis import given, settings
from hypothesis import strategies as st
from rclpy.serialization import deserialize_message, serialize_message
from sensor_msgs.msg import JointState
from test_nodes_wire import ARM, OTHERS, mutated
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from robodyn_ros.control.motion.trajectory import Trajectory
from robodyn_ros.errors import InputError
from robodyn_ros.nodes.common.diagnostics import Faults
from robodyn_ros.nodes.common.messages import NANO, decode, from_trajectory, to_trajectory
from robodyn_ros.nodes.controller.cdr import FIELDS, read_trajectory_message
from robodyn_ros.nodes.controller.references import ReferenceInput
from robodyn_ros.nodes.controller.states import StateMerger


@st.composite
def trajectories(draw):
    """Trajectory messages, most of them usable, with fields and lengths of every kind."""
    joints = draw(st.lists(st.sampled_from((*ARM, *OTHERS)), min_size=1, max_size=4, unique=True))
    lengths = [draw(st.sampled_from((0, len(joints), len(joints)))) for _ in range(4)]
    message = JointTrajectory(joint_names=joints)
    message.header.frame_id = draw(st.sampled_from(("", "a", "käfig", "world")))
    message.header.stamp = Time(sec=draw(st.integers(0, 5)), nanosec=draw(st.sampled_from((0, 1, 500_000_000))))
    time = 0
    for _ in range(draw(st.integers(0, 5))):
        rows = [draw(st.lists(st.floats(-3.0, 3.0), min_size=n, max_size=n)) for n in lengths]
        if draw(st.integers(0, 30)) == 0:  # now and then a point that is not like the others
            rows[draw(st.integers(0, 3))] = [0.0] * draw(st.integers(0, 5))
        time += draw(
            st.sampled_from((0, 1, 1_000_000_007, 70_000_000) if draw(st.integers(0, 9)) == 0 else (10**7, 10**9))
        )
        point = JointTrajectoryPoint(**dict(zip(FIELDS, rows, strict=True)))
        point.time_from_start = Duration(sec=time // NANO, nanosec=time % NANO)
        message.points.append(point)
    return message


def by_rclpy(message):
    return [message.joint_names, *to_trajectory(message)]


def same_trajectory(one, other):
    (names, a, begin), (others, b, start) = one, other
    assert (list(names), begin) == (list(others), start)
    for field in ("times", "positions", "velocities", "accelerations"):
        np.testing.assert_array_equal(getattr(a, field), getattr(b, field))
    assert (a.efforts is None) == (b.efforts is None)
    if a.efforts is not None:
        np.testing.assert_array_equal(a.efforts, b.efforts)


def refused(read, data):
    try:
        return read(data)
    except InputError:
        return None


@settings(max_examples=200, deadline=None)
@given(trajectories())
def test_trajectories_are_read_as_rclpy_reads_them(message):
    truth = refused(by_rclpy, message)
    found = refused(lambda data: read_trajectory_message(data, 100), bytes(serialize_message(message)))
    assert (truth is None) == (found is None)
    if truth is not None:
        same_trajectory(found, truth)


def swapped(data, names, count, fields):
    """The same trajectory message with its bytes in the other order, written here by the standard."""
    message, out = deserialize_message(data, JointTrajectory), bytearray(b"\x00\x00\x00\x00")

    def put(kind, *values):
        size = struct.calcsize(f">{kind}")
        out.extend(bytes(-(len(out) - 4) % size) + struct.pack(f">{len(values)}{kind}", *values))

    def text(value):
        put("I", len(value.encode()) + 1)
        out.extend(value.encode() + b"\0")

    put("i", message.header.stamp.sec)
    put("I", message.header.stamp.nanosec)
    text(message.header.frame_id)
    put("I", len(names))
    for name in names:
        text(name)
    put("I", count)
    for point in message.points:
        for field in FIELDS:
            values = getattr(point, field)
            put("I", len(values))
            if len(values):
                put("d", *values)
        put("i", point.time_from_start.sec)
        put("I", point.time_from_start.nanosec)
    return bytes(out)


def some_trajectory(joints=3, count=7, fields=3, seed=4):
    rng = np.random.default_rng(seed)
    message = JointTrajectory(joint_names=[f"j{index}" for index in range(joints)])
    for k in range(count):
        rows = rng.uniform(-1.0, 1.0, (fields, joints)).tolist()
        point = JointTrajectoryPoint(**dict(zip(FIELDS, rows, strict=False)))
        point.time_from_start = Duration(sec=k, nanosec=int(rng.integers(NANO)))
        message.points.append(point)
    return message


@pytest.mark.parametrize("fields", [1, 2, 3, 4])
def test_the_other_byte_order_is_read_too(fields):
    message = some_trajectory(fields=fields)
    data = bytes(serialize_message(message))
    other = swapped(data, message.joint_names, len(message.points), FIELDS)
    same_trajectory(read_trajectory_message(other, 100), read_trajectory_message(data, 100))
    if fields == 3:  # and it is what the middleware reads
        same_trajectory(read_trajectory_message(other, 100), by_rclpy(deserialize_message(other, JointTrajectory)))


def padded(message, byte):
    """A message with names of two letters in bytes; the serializer leaves arbitrary bytes between the values."""
    data = bytearray(re.sub(rb"(j\d\0).", rb"\1" + byte, bytes(serialize_message(message)), flags=re.DOTALL))
    data[17:20] = 3 * byte  # behind the frame, which is empty
    return bytes(data)


def test_a_name_ends_at_its_first_nul():
    data = padded(some_trajectory(), b" ").replace(b"\3\0\0\0j1", b"\4\0\0\0j1")
    found = read_trajectory_message(data, 100)
    assert found[0] == ["j0", "j1", "j2"]
    same_trajectory(found, by_rclpy(decode(data, JointTrajectory)))


@pytest.mark.parametrize("byte", [b"\0", b" ", b"\xff"])
def test_a_mutated_trajectory_is_read_as_rclpy_reads_it_or_refused(byte):
    rng, read = np.random.default_rng(9), 0
    data = padded(some_trajectory(), byte)
    for _ in range(1000):
        changed = mutated(rng, data)
        found = refused(lambda bytes_: read_trajectory_message(bytes_, 100), changed)
        if found is not None and changed[1] == 1:
            read += 1
            same_trajectory(found, by_rclpy(decode(changed, JointTrajectory)))
    assert read > 30


def test_more_points_than_are_taken_in_are_refused_before_they_are_read():
    data = bytes(serialize_message(some_trajectory(count=11)))
    assert len(read_trajectory_message(data, 11)[1].times) == 11
    with pytest.raises(InputError, match="are 11, more than the 10 that are taken in"):
        read_trajectory_message(data, 10)
    place = data.index(struct.pack("<I", 11), 24)
    with pytest.raises(InputError, match="4000000000, more than"):  # as many as it says, not as there are
        read_trajectory_message(data[:place] + struct.pack("<I", 4_000_000_000) + data[place + 4 :], 10)
    with pytest.raises(InputError, match="more than the 1048576 that are allowed"):
        decode(data + bytes(1 << 20), JointTrajectory)


def long_trajectory(points):
    """A slow wave of the elevator from 0, of so many points, 10 ms apart."""
    times = 0.01 * np.arange(1, points + 1)
    rate = 2.0 * np.pi * round(times[-1] / 20.0) / times[-1]
    wave = np.array([1.0 - np.cos(rate * times), rate * np.sin(rate * times), rate**2 * np.cos(rate * times)])
    wave[1, -1] = 0.0
    return from_trajectory(ARM[:1], Trajectory(times, *(0.1 * wave[:, :, np.newaxis])))


def test_a_trajectory_that_does_not_begin_at_its_start_time_or_is_aborted_is_counted():
    said = []
    told = ReferenceInput.__new__(ReferenceInput)
    far = "joint 'wrist' is 0.3 rad from its reference; its path tolerance is 0.2 rad"
    told._loop = SimpleNamespace(
        violations=0,
        violation=lambda: far,
        dropped=0,
        drop_reason=lambda: InputError("trajectory", "its last point has passed"),
    )
    told._dropped, told._positions_came, told._faults = 0, None, Faults(said.append)
    told._violations = 0
    for told._loop.dropped, told._loop.violations in ((0, 0), (1, 0), (1, 1), (1, 1)):
        told.watch()
    assert said == [
        "trajectory refused: at its start time: trajectory: its last point has passed (seen 1 times)",
        f"trajectory aborted: {far}; the arm is held where it was (seen 1 times)",
    ]


def test_a_trajectory_of_locked_joints_alone_or_overtaken_while_it_was_prepared_is_refused():
    told, prepared = ReferenceInput.__new__(ReferenceInput), []
    told.locked, told._node, told._closed = frozenset({"grip"}), Mock(), lambda: ""
    told._loop, told._requests, told._trajectories = SimpleNamespace(requests=4), -1, Mock()
    told._answer, told._follow = lambda follow: follow(), prepared.append
    with pytest.raises(InputError, match="names no joint that is controlled: grip"):
        told._moved(["grip"], Trajectory([0.0, 1.0], np.zeros((2, 1))))
    for later, own in ((4, -1), (5, -1), (5, 5)):  # nothing came; a hold; an earlier trajectory
        told._loop.requests, told._requests = 4, -1
        told._prepare = lambda data: "prepared"
        told._receive_trajectory(memoryview(bytes(1 << 16)))
        told._loop.requests, told._requests = later, own
        (follow,) = told._trajectories.hand_over.call_args.args
        if later == own or later == 4:
            follow()
        else:
            with pytest.raises(InputError, match="was replaced by another request while it was prepared"):
                follow()
    assert prepared == ["prepared"] * 2


def test_long_trajectories_and_messages_cost_no_command(graph, prr):
    """Commands go on while 100,000 points are prepared, and the arm follows them; what is longer is refused unread."""
    graph.start_arm(prr, {"state_rate": 200.0}, diagnostics_rate=50.0)
    commands = graph.listen(JointState, "controller/joint_commands", 100_000)
    graph.wait(lambda: len(commands) > 20, "commands")
    trajectories = graph.talk(JointTrajectory, "controller/joint_trajectory")
    long = bytes(serialize_message(long_trajectory(100_000)))
    before = len(commands)
    trajectories.publish(long)
    graph.wait(lambda: graph.diagnostics("controller")["message"].startswith("follow"), "the trajectory to be followed")
    assert len(commands) > before
    assert "trajectory refused" not in graph.diagnostics("controller")

    def refused(kind):
        graph.wait(lambda: kind in graph.diagnostics("controller"), kind)

    trajectories.publish(long.replace(struct.pack("<I", 100_000), struct.pack("<I", 100_001), 1))  # as it says
    refused("trajectory refused")
    many = JointState(name=["wrist"] * 80_000, position=np.zeros(80_000))
    stream = graph.talk(JointState, "controller/reference")  # best effort, so that one alone may be lost
    timer = graph.node.create_timer(0.1, lambda: stream.publish(many))
    refused("reference refused")
    graph.node.destroy_timer(timer)
    target = PoseStamped()
    target.header.frame_id = "x" * 2_000_000
    graph.talk(PoseStamped, "controller/goal_pose").publish(target)
    refused("target refused")
    assert graph.diagnostics("controller")["message"].startswith("follow")
    with pytest.raises(InputError, match="bytes, more than"):  # on joint_states; best effort loses so long a message
        StateMerger(ARM, (), {}).read(bytes(serialize_message(many)), 0, 1.0)
