# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Frames that messages name: links, and what a stand-in of tf2_ros says, since tf2_ros comes with no wheel."""

import sys
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest
from geometry_msgs.msg import TransformStamped
from numpy.testing import assert_allclose

import robodyn_ros as rd
from robodyn_ros.control.motion.streams import OLDEST_FRAME
from robodyn_ros.errors import InputError, NotReadyError
from robodyn_ros.kinematics import so3
from robodyn_ros.nodes.common.messages import to_duration
from robodyn_ros.nodes.controller.tool import Frames, has_tf

NOW = 100.0
Q = np.array([0.6, 0.5, 0.9])


class StandInError(Exception):
    """Stands in for tf2_ros.TransformException."""


class StandInBuffer:
    """Stands in for tf2_ros.Buffer: transforms by target and source."""

    def __init__(self) -> None:
        self.told: dict[tuple[str, str], TransformStamped] = {}

    def lookup_transform(self, target: str, source: str, time: object) -> TransformStamped:
        assert time.nanoseconds == 0  # the latest
        if (target, source) not in self.told:
            raise StandInError(f'"{source}" passed to lookupTransform does not exist')
        return self.told[target, source]


class StandInListener:
    """Stands in for tf2_ros.TransformListener."""

    def __init__(self, buffer: StandInBuffer, node: object, *, spin_thread: bool) -> None:
        assert not spin_thread
        self.buffer = buffer


@pytest.fixture
def tf(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("tf2_ros")
    module.Buffer, module.TransformListener, module.TransformException = StandInBuffer, StandInListener, StandInError
    module.__spec__ = SimpleNamespace(name="tf2_ros", loader=None)
    monkeypatch.setitem(sys.modules, "tf2_ros", module)
    assert has_tf()


def frames(prr: str, q: np.ndarray | None = Q) -> Frames:
    node = SimpleNamespace(get_clock=lambda: SimpleNamespace(now=lambda: SimpleNamespace(nanoseconds=NOW * 1e9)))
    latest = None if q is None else (NOW, SimpleNamespace(state=(q, 0.0 * q)))
    return Frames(node, SimpleNamespace(robot=rd.load_robot(prr), latest=latest))


def transform(stamp: float) -> TransformStamped:
    """A camera that looks down, turned by 90 degrees about x."""
    message = TransformStamped()
    begins = to_duration(stamp)
    message.header.stamp.sec, message.header.stamp.nanosec = begins.sec, begins.nanosec
    place, turn = message.transform.translation, message.transform.rotation
    place.x, place.y, place.z = 1.0, -2.0, 3.0
    turn.x, turn.w = np.sqrt(0.5), np.sqrt(0.5)
    return message


def test_links_are_where_the_arm_is_with_tf_or_without(prr, tf, monkeypatch):
    truth = rd.Kinematics(rd.load_robot(prr)).pose("tool", Q)
    with_tf = frames(prr)
    assert_allclose(with_tf.pose("tool"), truth)
    monkeypatch.delitem(sys.modules, "tf2_ros")
    for each in (with_tf, frames(prr)):
        assert_allclose(each.pose("tool"), truth)
        assert_allclose(each.pose(""), np.eye(4))
        assert_allclose(each.pose("base"), np.eye(4))
    with pytest.raises(NotReadyError, match="no valid joint state"):
        frames(prr, None).pose("tool")


@pytest.mark.parametrize("stamp", [0.0, NOW - 0.5 * OLDEST_FRAME])
def test_another_frame_is_where_tf_says(prr, tf, stamp):
    """Zero is the stamp of a frame that never moves."""
    found = frames(prr)
    found._buffer.told["base", "camera"] = transform(stamp)
    expected = np.eye(4)
    expected[:3, :3], expected[:3, 3] = so3.exp(np.array([np.pi / 2.0, 0.0, 0.0])), (1.0, -2.0, 3.0)
    assert_allclose(found.pose("camera"), expected, atol=1e-12)


def test_what_tf_does_not_know_or_knew_long_ago_is_refused(prr, tf):
    found = frames(prr)
    with pytest.raises(InputError, match=r"'camera' is no link of the arm, and tf has no such frame: .*does not exist"):
        found.pose("camera")
    found._buffer.told["base", "camera"] = transform(NOW - 2.5)
    with pytest.raises(InputError, match=r"the transform of 'camera' from tf is 2.5 s old, more than 1 s"):
        found.pose("camera")


def test_without_tf_one_line_says_so(prr, monkeypatch):
    monkeypatch.setitem(sys.modules, "tf2_ros", None)
    monkeypatch.setattr("robodyn_ros.nodes.controller.tool.has_tf", lambda: False)
    found = frames(prr)
    with pytest.raises(InputError) as caught:
        found.pose("camera")
    known = "base, carriage, arm, hand, tool"
    assert str(caught.value) == (
        f"frame_id: 'camera' is unknown; a target is in the frame of {known}; "
        "other frames need tf2_ros, which is not installed"
    )
