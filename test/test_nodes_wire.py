# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""States and commands as bytes: what is read and written past rclpy is what rclpy reads and writes."""

from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from rclpy.serialization import deserialize_message, serialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String

from robodyn_ros.errors import InputError
from robodyn_ros.nodes.common.arm_parameters import DescriptionSource
from robodyn_ros.nodes.common.client_library import RCLError, RMWError
from robodyn_ros.nodes.common.diagnostics import Faults
from robodyn_ros.nodes.common.messages import JointOrder, decode
from robodyn_ros.nodes.controller.cdr import CdrTemplate, StateReader, Topic, _whole

ARM = ("elevator", "shoulder", "wrist")
OTHERS = ("gripper", "käfig", "")  # a name of two bytes a letter, and an empty one
NUMBERS = st.floats(width=64)


@st.composite
def messages(draw):
    """Any JointState of some of these joints, its fields of whatever length."""
    names = draw(st.permutations([*ARM, *OTHERS[: draw(st.integers(0, 3))]]))
    names = names[: draw(st.integers(max(0, len(names) - 1), len(names)))]
    count = len(names)
    lengths = st.sampled_from([count, count, count, 0, count + 1])
    message = JointState(name=names)
    message.header.frame_id = draw(st.sampled_from(["", "base", "wörld"]))
    message.header.stamp.sec = draw(st.integers(-(2**31), 2**31 - 1))
    message.header.stamp.nanosec = draw(st.integers(0, 2**32 - 1))
    for field in ("position", "velocity", "effort"):
        length = draw(lengths)
        setattr(message, field, draw(st.lists(NUMBERS, min_size=length, max_size=length)))
    return message


def plainly(message):
    """What is in it, by rclpy."""
    motors = JointOrder(ARM).measured(message)
    stamp = message.header.stamp
    return None if motors is None else ((stamp.sec, stamp.nanosec), *motors)


def read(reader, data):
    """As the controller reads a message about all joints."""
    found = reader.quick(data)
    return reader.keep(decode(data, JointState), data) if found is None else found


def said(way, message):
    """What a way of reading finds in it, or the error."""
    try:
        return way(message)
    except InputError as problem:
        return str(problem)


@settings(max_examples=150, deadline=None)
@given(st.lists(messages(), min_size=1, max_size=3))
def test_states_are_read_as_rclpy_reads_them(batch):
    """Whatever came before: each of a few messages twice, then the same with other numbers."""
    reader = StateReader(ARM)
    for message in [*batch, *batch]:
        for _ in range(2):
            expected, found = said(plainly, message), said(partial(read, reader), serialize_message(message))
            if expected is None or isinstance(expected, str):
                assert found == expected
            else:
                assert found.stamp == expected[0]
                assert_array_equal(found.position, expected[1])
                assert (found.velocity is None) == (expected[2] is None)
                if expected[2] is not None:
                    assert_array_equal(found.velocity, expected[2])
            message.position = [2.0 * value for value in message.position]


def test_the_second_message_of_a_kind_goes_the_short_way():
    reader = StateReader(ARM)
    for velocity in ([0.1, 0.2, 0.3], []):
        message = JointState(name=ARM[::-1], position=[1.0, 2.0, 3.0], velocity=velocity, effort=[7.0, 8.0, 9.0])
        data = serialize_message(message)
        read(reader, data)
        layout = reader.layout
        assert layout.read(data).position.tolist() == [3.0, 2.0, 1.0]
        assert layout.read(data[: layout.end - 1]) is None  # cut off
        assert layout.read(b"\0\0" + data[2:]) is None  # the greatest byte first
        for place in range(12, layout.constant[-1][0].stop):  # any other name, or number of numbers
            other = data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :]
            in_numbers = any(start <= place < start + kind.size for start, kind in layout.numbers)
            between = not any(part.start <= place < part.stop for part, _ in layout.constant)
            assert (layout.read(other) is not None) == (in_numbers or between)
    with pytest.raises(InputError, match="message: 30 bytes that are no JointState"):
        read(reader, data[:30])


def mutated(rng, data):
    """Some bytes of a message changed, cut or added, its header among them."""
    data = bytearray(data)
    for _ in range(rng.integers(1, 4)):
        place, kind = int(rng.integers(len(data) + 1)), rng.integers(6)
        word = slice(place // 4 * 4, place // 4 * 4 + 4)
        if kind == 0:
            data[place : place + 1] = bytes([rng.integers(256)])
        elif kind == 1:
            count = rng.choice([0, 1, 2, 3, 4, 2**28, 2**31 - 1, 2**32 - 1, rng.integers(2**32)])
            data[word] = int(count).to_bytes(4, "little")
        elif kind == 2:
            del data[place:]
        elif kind == 3:
            del data[place : place + int(rng.integers(9))]
        elif kind == 4:
            data[place:place] = rng.bytes(int(rng.integers(9)))
        else:
            data[2:4] = rng.bytes(2)
    return bytes(data)


def verdict(read, data):
    """What a way of reading makes of the bytes, for comparison."""
    try:
        found = read(data)
    except InputError:
        return "refused"
    if found is None:
        return "of other joints"
    stamp, position, velocity = found
    return tuple(stamp), position.tobytes(), None if velocity is None else velocity.tobytes()


def by_the_middleware(data):
    """By rclpy, which must never see a header that asks for more padding than there is."""
    more = data[3] & 3 if len(data) > 3 else 0
    if more > len(data) - 4:
        raise InputError("message", "is all padding")
    try:
        message = deserialize_message(data[:2] + b"\0\0" + data[4 : len(data) - more] if more else data, JointState)
    except RMWError as cause:
        raise InputError("message", "is none") from cause
    return plainly(message)


def test_every_way_gives_mutated_bytes_the_same_verdict():
    """The middleware, a reader that knows the layout, and one that does not; refused and accepted are both frequent."""
    rng, verdicts = np.random.default_rng(16), []
    for velocity in ([0.1, 0.2, 0.3], []):
        for effort in ([], [7.0, 8.0, 9.0], [7.0]):
            for names in (ARM, ARM[::-1], (*ARM, "käfig")):
                numbers = np.arange(1.0, len(names) + 1.0).tolist()
                message = JointState(name=names, position=numbers, effort=effort)
                message.velocity = numbers if velocity else []
                message.header.frame_id = "base"
                whole, knowing = serialize_message(message), StateReader(ARM)
                for _ in range(150):
                    read(knowing, whole)
                    data = mutated(rng, whole)
                    truth = verdict(by_the_middleware, data)
                    assert verdict(partial(read, knowing), data) == truth, data.hex()
                    assert verdict(partial(read, StateReader(ARM)), data) == truth, data.hex()
                    verdicts.append(truth)
    accepted = sum(isinstance(one, tuple) for one in verdicts)
    assert 0.1 < accepted / len(verdicts) < 0.9


@pytest.mark.parametrize("header", [b"\0\1\0", b"\1\0\0", b"\0\3\0", b"\0\7\0", b"\xff\xff\xff"])
@pytest.mark.parametrize("kind", [JointState, Float64MultiArray])
def test_a_header_that_asks_for_more_padding_than_there_is_never_gets_to_the_middleware(header, kind):
    """Fast CDR would read beyond the end of these; it ended the process in 5 of 11 starts."""
    for options in range(256):
        for body in range(options & 3):
            with pytest.raises(InputError, match=f"message: has {options & 3} bytes of padding in {body} bytes"):
                decode(header + bytes([options]) + bytes(body), kind)
    for data in (b"", b"\0", b"\0\1\0"):
        with pytest.raises(InputError, match="the encapsulation header alone has 4"):
            decode(data, kind)


def test_padding_is_no_part_of_a_message():
    message = JointState(name=ARM, position=[1.0, 2.0, 3.0])
    whole = _whole(serialize_message(message), JointState)
    for more in range(4):
        padded = whole[:3] + bytes([more]) + whole[4:] + bytes(more)
        assert decode(padded, JointState) == deserialize_message(whole, JointState)
        if more:
            with pytest.raises(InputError, match="bytes that are no JointState"):
                decode(padded[:-more], JointState)


def test_a_template_writes_what_rclpy_writes():
    rng = np.random.default_rng(8)
    for n in (1, 3, 7):
        names = [f"joint_{k}" for k in range(n)]
        plain = CdrTemplate(Float64MultiArray(), n, "data")
        command = CdrTemplate(JointState(name=names), n, "effort")
        error = CdrTemplate(JointState(name=names), n, "position", "velocity")
        for _ in range(5):
            stamp, (a, b) = (int(rng.integers(2**31)), int(rng.integers(10**9))), rng.normal(size=(2, n))
            assert deserialize_message(plain.fill(stamp, data=a), Float64MultiArray) == Float64MultiArray(data=a)
            for filled, fields in (
                (command.fill(stamp, effort=a), {"effort": a}),
                (error.fill(stamp, position=a, velocity=b), {"position": a, "velocity": b}),
            ):
                expected = JointState(name=names, **{field: values.tolist() for field, values in fields.items()})
                expected.header.stamp.sec, expected.header.stamp.nanosec = stamp
                assert deserialize_message(filled, JointState) == expected


def test_a_template_ends_where_the_message_ends():
    """rclpy leaves up to 8 bytes of anything behind a message with empty sequences, which strict readers refuse."""
    header = 4 + 8 + 8  # encapsulation, stamp, frame "" (padded)
    names = 4 + 8 + 4  # count, length and "wrist\0", padding
    command = CdrTemplate(JointState(name=["wrist"]), 1, "effort")
    assert len(command.fill((1, 2), effort=np.ones(1))) == header + names + 3 * 4 + 4 + 8  # lengths, padding, a number
    error = CdrTemplate(JointState(name=["wrist"]), 1, "position", "velocity")
    filled = error.fill((1, 2), position=np.ones(1), velocity=np.full(1, 2.0))
    assert filled.endswith(np.full(1, 2.0).tobytes() + bytes(4))


def test_a_message_that_cannot_be_published_is_counted_and_nothing_else():
    class Publisher:
        handle = property(lambda self: self)

        def publish_raw(self, data):
            raise RCLError("Failed to publish: cannot publish data")

    class Node:
        faults = Faults(lambda _: None)

        def create_lifecycle_publisher(self, *_):
            return Publisher()

    Topic(Node(), "~/tracking_error", JointState(name=ARM), 3, "position").publish((1, 2), position=np.ones(3))
    assert Node.faults.counts == {"message not published": 1}


@pytest.mark.parametrize(
    "text", ["/dev/zero", "panda_description", "", "prr", "/tmp/arm.urdf.xacro a:=b", "  /etc/passwd", "<mujoco/>"]
)
def test_a_description_on_the_topic_is_xml_and_chooses_no_file(text):
    """One that is new and counts is told; the parameter comes first."""
    said, received, told, parameter = [], [], [], SimpleNamespace(value="")
    node = SimpleNamespace(
        create_subscription=lambda kind, topic, receive, qos: received.append(receive),
        get_parameter=lambda name: parameter,
        faults=Faults(said.append),
    )
    source = DescriptionSource(node, lambda: told.append(parameter.value))
    received[0](String(data=text))
    assert not source.known
    assert said == [f"robot_description refused: the topic must have a URDF's XML, not {text!r} (seen 1 times)"]
    for parameter.value, urdf in (("", "\n<robot/>"), ("", "\n<robot/>"), ("own", "<robot/>")):
        received[0](String(data=urdf))
    assert told == [""]
