# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Streams of positions without velocities: the estimate, and where it begins anew."""

import arms
import numpy as np
import pytest

import robodyn_ros as rd
from robodyn_ros.control import ComputedTorque, ControlLoop, SafetySettings
from robodyn_ros.control.motion.streams import StreamVelocity

ROBOT = rd.load_robot(arms.mechanism("PRR", (4, 1.5, 0.6), (1, 0.5, 0.34), (0.1, 0.2, 0.15)))
FREE = np.full(3, np.inf)


class Estimate:
    """The estimate of the core, and the loop whose settings it reads."""

    def __init__(self, filter_time=0.005, timeout=0.5, jump=0.05, limit=FREE, robot=ROBOT):
        safety = SafetySettings(stream_timeout=timeout, reference_jump=jump, velocity_filter=filter_time)
        law = ComputedTorque(rd.create_dynamics("rnea", robot), 400.0, 40.0)
        effort = np.full(robot.n, 1e3)
        self.loop = ControlLoop(law, effort, safety, velocity_limit=limit)
        self.stream = StreamVelocity(self.loop.core)

    def update(self, t, q, columns):
        return self.stream.update(self.loop.core_settings.record.address, t, q, columns)


def stream(times, positions, limit=FREE, robot=ROBOT, **settings):
    """The velocity of the first joint after each message about it."""
    estimate = Estimate(limit=limit, robot=robot, **settings)
    return [estimate.update(t, np.array([q]), [0])[0] for t, q in zip(times, positions, strict=True)]


def test_a_steady_motion_has_its_velocity_and_rest_has_none():
    t = 3.0 + 0.01 * np.arange(100)
    moving = stream(t, 0.7 * t)
    assert [moving[0]] == stream([0.2], [0.03]) == [0.0]
    np.testing.assert_allclose(moving[40:], 0.7, rtol=1e-12)
    assert np.all(np.diff(moving[:20]) > 0.0)  # no overshoot
    stops = stream(t, 0.7 * np.minimum(t, t[50]))
    np.testing.assert_allclose(stops[-1], 0.0, atol=1e-12)
    np.testing.assert_allclose(stream(t, 0.7 * t, filter_time=0.0)[1:], 0.7, rtol=1e-10)


def test_the_estimate_lags_by_its_time_constant_and_half_a_period():
    """Under constant acceleration a, the velocity of filtered differentiation is a (t - T - Δt / 2)."""
    period, a, constant = 0.002, 1.3, 0.011
    t = period * np.arange(400)
    found = stream(t, 0.5 * a * t * t, filter_time=constant)
    np.testing.assert_allclose(found[-1], a * (t[-1] - constant - 0.5 * period), rtol=1e-9)


def test_it_keeps_to_the_velocity_limit_so_that_no_message_is_refused_for_its_estimate():
    t = 0.01 * np.arange(50)
    assert max(stream(t, 4.0 * t, limit=np.array([0.5, 9.0, 9.0]))) == 0.5


@pytest.mark.parametrize(
    ("t", "q"),
    [(0.2 + 0.6, 0.2), (0.2 + 0.01, 0.2 + 0.06), (0.2 + 0.01, 0.2 - 0.06), (0.2 - 0.15, 0.2)],
    ids=["after a pause", "after a jump", "after a jump back", "where time goes back"],
)
def test_it_begins_anew(t, q):
    before = np.linspace(0.0, 0.2, 21)
    assert stream([*before, t], [*before, q])[-1] == 0.0


def test_a_message_that_was_overtaken_or_repeated_changes_nothing():
    before = np.linspace(0.0, 0.2, 21)
    steady = stream([*before, 0.21], [*before, 0.21])
    disturbed = stream([*before, 0.195, 0.2, 0.21], [*before, 0.195, 0.2, 0.21])
    assert disturbed[21] == disturbed[22] == steady[20]
    assert disturbed[-1] == pytest.approx(steady[-1], rel=1e-12)
    corrected = stream([*before, 0.2, 0.21], [*before, 0.202, 0.21])  # of two of one time the later counts
    assert corrected[-1] == pytest.approx(1.0 - 0.002 / (0.005 + 0.01), rel=1e-9)


def test_two_joints_that_come_in_turns_have_their_own_velocities():
    estimate = Estimate()
    for index in range(60):
        t = 0.005 * index
        for column, speed in ((2, -0.3), (0, 0.8)):
            found = estimate.update(t, np.array([speed * t]), [column])
            if index == 59:
                assert found[0] == pytest.approx(speed, rel=1e-9)


def test_a_continuous_joint_goes_on_across_the_seam():
    robot = rd.load_robot(
        arms.robot(
            "turntable",
            arms.link("base"),
            arms.link("table", 2.0, None, (0.1, 0, 0, 0.1, 0, 0.1)),
            arms.joint("turn", "continuous", "base", "table", (0, 0, 1), None, None, (0, 0, 3.0, 20.0)),
        )
    )
    t = 0.01 * np.arange(100)
    angle = np.pi - 0.3 + 0.7 * t
    wrapped = np.arctan2(np.sin(angle), np.cos(angle))
    assert wrapped[-1] < 0.0
    free = np.full(1, np.inf)
    np.testing.assert_allclose(stream(t, wrapped, free, robot)[40:], 0.7, rtol=1e-9)
    for way in (3.0, -3.0):  # of less than half a turn, which is the shorter one
        assert stream([0.0, 0.1], [0.5, 0.5 + way], free, robot, filter_time=0.0, jump=3.1)[1] == pytest.approx(
            10 * way
        )


def test_a_stream_that_was_moving_is_silent_after_more_than_some_lost_messages():
    for period, silent in ((0.002, 0.1), (0.05, 0.25)):
        estimate = Estimate()
        for index in range(5):
            t = period * index
            columns = [1] if index < 4 else [0, 1]  # the message that begins another joint is no longer period
            estimate.update(t, np.full(len(columns), 0.5 * t), columns)
            assert estimate.stream.is_silent(9.0) == (index > 0)  # nothing moved by the first message
        estimate.update(t, np.array([0.1]), [2])  # one that begins another joint only
        estimate.update(t - 0.3 * period, np.array([0.5 * t]), [1])  # and one that was overtaken
        assert not estimate.stream.is_silent(silent * 0.99)
        assert estimate.stream.is_silent(silent * 1.01)
        estimate.stream.stop()
        assert not estimate.stream.is_silent(9.0)
