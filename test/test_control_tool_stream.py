# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Streams for the tool: lost and jittered messages, limits, singular poses, the way to rest."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from arms import random_robot
from industrial import urdfs
from numpy.testing import assert_allclose

import robodyn_ros as rd
from robodyn_ros.control.motion.tool_stream import LimitedMotion, StreamSettings, ToolStream
from robodyn_ros.errors import ConfigurationError, InputError
from robodyn_ros.kinematics import Kinematics, so3

URDF = Path(__file__).parents[1] / "urdf"
DT = 0.004
ARMS = {
    "prr": ((URDF / "prr.urdf").read_text(), [0.6, 0.5, 0.9]),
    "eight joints": (random_robot(7, 8, branching=0.0), [0.3, -0.4, 0.5, 0.6, -0.3, 0.4, 0.2, 0.5]),
}
ARMS |= {
    name: (urdfs()[name].read_text(), q)
    for name, q in (
        ("ur5_robot", [0.3, -1.1, 1.5, 0.4, 1.2, 0.2]),
        ("panda", [0.1, -0.6, 0.2, -2.1, 0.1, 1.6, 0.7, 0.02]),
    )
    if name in urdfs()
}


def stream_of(name: str, velocity_limit: float = 20.0, **settings: float) -> ToolStream:
    text, q = ARMS[name]
    robot = rd.load_robot(text)
    stream = ToolStream(
        rd.create_dynamics("rnea", robot), "", StreamSettings(**settings), np.full(robot.n, velocity_limit)
    )
    stream.begin(np.array(q), np.zeros(robot.n))
    return stream


def poses_of(stream: ToolStream, positions: np.ndarray) -> np.ndarray:
    return Kinematics(stream._robot).pose(stream.link, positions)


def run(stream: ToolStream, duration: float, feed=None, t: float = 0.0):
    """Times and references; ``feed`` is called with the stream and the time of each period."""
    found, times = [], []
    for _ in range(round(duration / DT)):
        if feed is not None:
            feed(stream, t)
        t += DT
        found.append(stream.advance(t, DT))
        times.append(t)
    return np.array(times), [np.array(rows) for rows in zip(*found, strict=True)]


def direction(stream: ToolStream) -> np.ndarray:
    """A twist that the arm can do, (6,)."""
    jacobian = Kinematics(stream._robot).jacobian(stream.link, stream.q)
    twist = jacobian @ np.linspace(1.0, -0.5, stream._robot.n)
    return 0.05 * twist / np.linalg.norm(twist)


@pytest.mark.parametrize("name", ARMS)
def test_a_twist_moves_the_tool_as_it_says(name: str) -> None:
    stream = stream_of(name)
    twist = direction(stream)
    _, (q, qd, _, effort) = run(stream, 1.0, lambda stream, t: stream.take_twist(t, twist))
    jacobian = Kinematics(stream._robot).jacobian(stream.link, q[-1])
    assert_allclose(jacobian @ qd[-1], twist, atol=2e-4)
    assert_allclose(np.diff(q, axis=0), DT * qd[1:], atol=1e-12)
    assert not effort.any()


@pytest.mark.parametrize("name", ARMS)
def test_a_twist_that_ends_brings_the_arm_to_rest_within_the_limits(name: str) -> None:
    stream = stream_of(name, timeout=0.05, acceleration=0.5, turn_acceleration=2.0)
    twist = direction(stream)
    run(stream, 0.5, lambda stream, t: stream.take_twist(t, twist))
    times, (_, qd, _, _) = run(stream, 1.0, t=0.5)
    assert not stream.is_over(0.5)
    assert stream.is_over(times[-1])
    assert_allclose(qd[-1], 0.0, atol=1e-3)


@pytest.mark.parametrize("name", ARMS)
def test_a_pose_is_reached_without_overshoot(name: str) -> None:
    stream = stream_of(name, filter_time=0.0)
    goal = poses_of(stream, stream.q + 0.1)
    away = []

    def feed(stream: ToolStream, t: float) -> None:
        stream.take_pose(t, goal)
        away.append(np.linalg.norm(goal[:3, 3] - stream.pose[:3, 3]))

    _, (q, *_) = run(stream, 3.0, feed)
    assert_allclose(poses_of(stream, q[-1]), goal, atol=1e-4)
    assert (np.diff(away) <= 1e-9).all()


@pytest.mark.parametrize("filter_time", [0.0, 0.02])
def test_speed_acceleration_and_jerk_keep_to_their_limits(filter_time: float) -> None:
    linear, angular = (0.2, 1.0, 10.0), (0.7, 5.0, 60.0)
    names = ("speed", "acceleration", "jerk")
    limits = dict(zip((*names, *(f"turn_{name}" for name in names)), (*linear, *angular), strict=True))
    stream = stream_of("eight joints", filter_time=filter_time, **limits)
    rng, poses = np.random.default_rng(1), []

    def feed(stream: ToolStream, t: float) -> None:
        if round(t / DT) % 75 == 0:  # jumps of the target, one while the tool is still on its way to the last
            goal = stream.pose.copy()
            goal[:3, 3] += rng.uniform(-0.04, 0.04, 3)
            goal[:3, :3] = so3.exp(rng.uniform(-0.3, 0.3, 3)) @ goal[:3, :3]
            stream.take_pose(t, goal)
        poses.append(np.concatenate((stream._linear.velocity, stream._angular.velocity)))

    run(stream, 3.0, feed)
    for part, bounds in ((slice(3), linear), (slice(3, 6), angular)):
        rate = np.array(poses)[:, part]
        for order, limit in enumerate(bounds):
            assert np.linalg.norm(rate, axis=1).max() <= limit * (1.02 if order == 0 else 1.0 + 1e-9)
            rate = np.diff(rate, axis=0) / DT
    assert np.linalg.norm(np.array(poses)[:, :3], axis=1).max() > 0.1


@pytest.mark.parametrize("name", ["prr", "panda"])
def test_lost_and_late_messages_of_a_circle(name: str) -> None:
    """500 Hz with a fifth of the messages lost and 10 ms of jitter: the reference stays near the circle, and smooth."""
    if name not in ARMS:
        pytest.skip("example-robot-data is not installed")
    whole, lost = stream_of(name), stream_of(name)
    rng, centre = np.random.default_rng(5), whole.pose.copy()
    plane = [0, 2] if np.abs(whole._task.axes[:, 1]).max() < 1e-9 else [0, 1]

    def circle(t: float) -> np.ndarray:
        pose = centre.copy()
        pose[plane, 3] += 0.05 * np.array([np.sin(np.pi * t), 1.0 - np.cos(np.pi * t)])
        return pose

    arrivals = sorted((t + rng.uniform(0.0, 0.01), t) for t in np.arange(0.0, 2.0, 0.002) if rng.random() > 0.2)
    sent = iter(arrivals)
    following = next(sent)

    def feed_lost(stream: ToolStream, t: float) -> None:
        nonlocal following
        while following is not None and following[0] <= t:
            stream.take_pose(t, circle(following[1]))
            following = next(sent, None)

    _, (ideal, *_) = run(whole, 1.9, lambda stream, t: stream.take_pose(t, circle(t)))
    _, (found, _, qdd, _) = run(lost, 1.9, feed_lost)
    apart = np.linalg.norm(poses_of(whole, ideal)[:, :3, 3] - poses_of(whole, found)[:, :3, 3], axis=1)
    assert apart.max() < 0.004  # 0.16 m/s times the jitter is 1.6 mm
    assert np.abs(qdd).max() < 40.0


@pytest.mark.parametrize("name", ["prr", "panda"])
def test_a_singular_pose_is_passed_without_a_fleeing_joint(name: str) -> None:
    """The tool is asked to go further out than the arm is long, and back."""
    if name not in ARMS:
        pytest.skip("example-robot-data is not installed")
    stream = stream_of(name, velocity_limit=2.0)
    out = stream.pose[:3, 3] / np.linalg.norm(stream.pose[:3, 3])
    if name == "prr":
        out = np.array([1.0, 0.0, 0.0])
    there = stream.pose.copy()
    there[:3, 3] += 2.0 * out
    _, (q, qd, _, _) = run(stream, 6.0, lambda stream, t: stream.take_pose(t, there))
    values = stream._singular(q[-1])[1]
    assert values[-1] < 0.3 * stream.floor / 0.2
    back = poses_of(stream, np.array(ARMS[name][1]))
    _, (q, other, _, _) = run(stream, 9.0, lambda stream, t: stream.take_pose(t, back), t=6.0)
    speeds = np.vstack((qd, other))
    assert np.abs(speeds).max() <= 0.9 * 2.0 + 1e-9
    assert np.abs(np.diff(speeds, axis=0)).max() <= 2.0 / 0.1 * DT + 1e-9
    assert_allclose(poses_of(stream, q[-1])[:3, 3], back[:3, 3], atol=1e-3)


def test_position_limits_are_never_passed() -> None:
    stream = stream_of("prr")
    robot = stream._robot
    _, (q, *_) = run(stream, 6.0, lambda stream, t: stream.take_twist(t, [0.0, 0.0, 0.4, 0.0, 0.0, 0.0]))
    assert (q <= robot.upper).all()
    assert (q >= robot.lower).all()
    assert (np.abs(q[-1] - robot.upper) < 0.01).any()


def test_a_wrench_is_an_effort_of_the_joints_and_fades_when_the_stream_ends() -> None:
    stream = stream_of("eight joints")
    wrench = np.array([3.0, -2.0, 5.0, 0.2, -0.1, 0.3])
    times, (q, qd, _, effort) = run(stream, 0.3, lambda stream, t: stream.take_wrench(t, wrench))
    assert_allclose(effort[-1], Kinematics(stream._robot).jacobian(stream.link, q[-1]).T @ wrench, rtol=1e-5)
    assert not qd.any()
    times, (*_, effort) = run(stream, 0.8, t=times[-1])
    assert not effort[-1].any()
    assert stream.is_over(times[-1])


def test_what_is_no_twist_is_refused() -> None:
    stream = stream_of("prr")
    for take in (stream.take_twist, stream.take_wrench):
        with pytest.raises(InputError):
            take(0.0, [0.0, 0.0, np.nan, 0.0, 0.0, 0.0])
    with pytest.raises(ConfigurationError, match="target_pose"):
        StreamSettings(target_pose="something")


def test_a_limited_motion_brakes_in_time() -> None:
    """One metre at most 0.5 m/s and 1 m/s²: it takes the time that it must, and little more."""
    motion, x, t = LimitedMotion(0.5, 1.0, 20.0), np.zeros(3), 0.0
    goal = np.array([0.6, -0.8, 0.0])
    while np.linalg.norm(goal - x) > 1e-3:
        x, t = x + motion.advance(0.002, goal - x, np.zeros(3)), t + 0.002
        assert t < 4.0
    assert 2.5 < t < 3.5  # 1 / 0.5 + 0.5 / 1 is the least without a limit of jerk
