# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The limits of acceleration, deceleration and jerk of a URDF in the loop: streams that jump, and stops."""

from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import brentq

import robodyn_ros as rd
from robodyn_ros.control import ControlLoop, Reference, SafetySettings
from robodyn_ros.control.loop_settings import loop_default_values, make_loop_settings
from robodyn_ros.control.motion.trajectory import Trajectory
from robodyn_ros.control.parameter_file import FileParameters
from robodyn_ros.errors import LimitError

URDF = (Path(__file__).parents[1] / "urdf/prr.urdf").read_text()
START = np.array([0.5, 0.2, -0.3])
PERIOD = 0.002


def arm(**limits):
    """The arm with the same limits of each joint."""
    more = "".join(f' {name}="{value}"' for name, value in limits.items())
    return rd.load_robot(URDF.replace("<limit ", f"<limit{more} "))


def loop_of(robot, **options) -> ControlLoop:
    """A loop whose arm is always where its reference is."""
    law = rd.create_controller("computed_torque", rd.create_dynamics("rnea", robot, compiled=False), 100.0, 20.0)
    loop = ControlLoop(law, robot.effort_limit, SafetySettings(plausibility=False), **options)
    loop.update(0.0, 0.0, START, np.zeros(3))
    return loop


def streamed(loop, target, duration, rate=None, every=5):
    """References of each period while a target is streamed, one that moves with a rate if given."""
    found, rate = [loop.expected(0.0)[1]], np.zeros(3) if rate is None else rate
    for t in np.arange(PERIOD, duration, PERIOD):
        if (round(t / PERIOD) - 1) % every == 0:
            loop.track(Reference(target + rate * t, rate, 0.0 * rate, 0.0 * rate), t)
        found.append(loop.update(t, t, found[-1].q, found[-1].qd).reference)
    return [np.array([getattr(each, name) for each in found]) for name in ("q", "qd")]


def changes(qd):
    """Accelerations, and decelerations, of each period (K, n), positive."""
    change = np.diff(qd, axis=0) / PERIOD
    speeds_up = change * qd[1:] > 0.0
    return np.where(speeds_up, np.abs(change), 0.0), np.where(speeds_up, 0.0, np.abs(change))


JUMP = np.array([0.3, -0.9, 0.8])


def least_time(distance, speed, acceleration, deceleration, jerk):
    """The shortest time from rest to rest (Biagiotti & Melchiorri 2008, section 3.4)."""

    def ramp(v, a):
        return v / a + a / jerk if v >= a**2 / jerk else 2.0 * np.sqrt(v / jerk)

    def ramps(v):
        return ramp(v, acceleration) + ramp(v, deceleration)

    if 0.5 * speed * ramps(speed) > distance:
        speed = brentq(lambda v: 0.5 * v * ramps(v) - distance, 1e-9, speed)
    return 0.5 * ramps(speed) + distance / speed


@pytest.mark.parametrize("velocity", [np.array([0.3, 0.5, 0.6]), np.array([2.0, 6.0, 12.0])])
@pytest.mark.parametrize(
    "limits",
    [
        {"acceleration": 1.5, "deceleration": 0.8, "jerk": 12.0},
        {"acceleration": 0.7, "deceleration": 3.0, "jerk": 6.0},
        {"acceleration": 1.5, "deceleration": 0.8},
    ],
)
def test_a_stream_that_jumps_is_led_there_in_the_least_time(limits, velocity):
    """By 90 % of the velocity limits, and by accelerations with which this takes half a second or longer."""
    q, _ = streamed(loop_of(arm(**limits), velocity_limit=velocity), START + JUMP, 3.0, every=1)
    for moved, goal, limit in zip((q - START).T, JUMP, velocity, strict=True):
        by = [min(limits[name], 2.0 * limit) for name in ("acceleration", "deceleration")]
        arrives = PERIOD * np.flatnonzero(np.abs(goal - moved) > 1e-9)[-1]
        least = least_time(abs(goal), 0.9 * limit, *by, limits.get("jerk", 1e6))
        assert -PERIOD <= arrives - least <= 4 * PERIOD


@pytest.mark.parametrize(
    "limits",
    [
        {"acceleration": 1.5},
        {"acceleration": 1.5, "deceleration": 0.8},
        {"deceleration": 3.0, "acceleration": 0.7},
        {"acceleration": 1.5, "deceleration": 0.8, "jerk": 12.0},
        {"jerk": 8.0},
    ],
)
def test_a_stream_that_jumps_is_led_there_within_the_limits_of_the_urdf(limits):
    loop = loop_of(arm(**limits))
    q, qd = streamed(loop, START + JUMP, 6.0)
    up, down = changes(qd)
    greatest = limits.get("acceleration", 4.0), limits.get("deceleration", limits.get("acceleration", 4.0))
    for found, most in zip((up, down), greatest, strict=True):
        assert 0.55 * most < found.max() <= most * (1 + 1e-9)
    jerk = np.abs(np.diff(qd, 2, axis=0)).max() / PERIOD**2
    leaps = jerk * PERIOD > 1.0
    assert leaps != ("jerk" in limits)
    if "jerk" in limits:
        assert jerk <= limits["jerk"] * (1 + 1e-6)
    beyond = (np.sign(JUMP) * (q - START - JUMP)).max()
    assert beyond < 5e-3
    np.testing.assert_allclose(q[-1], START + JUMP, atol=1e-12)


def test_a_stream_that_jumps_is_led_there_no_faster_than_the_velocity_limit_however_low_the_jerk_is():
    """The acceleration fades before the greatest speed is reached, so that it is not passed meanwhile."""
    limit = np.array([0.4, 0.5, 0.6])
    _, qd = streamed(loop_of(arm(jerk=3.0), velocity_limit=limit), START + JUMP, 4.0)
    np.testing.assert_allclose(np.abs(qd).max(axis=0)[1:], 0.9 * limit[1:], rtol=0.01)
    assert (np.abs(qd).max(axis=0) < limit).all()


@pytest.mark.parametrize("every", [1, 5])
def test_a_stream_that_moves_on_is_not_overtaken_and_is_led_to_until_it_is_a_step_away(every):
    """A step is what the stream moves from message to message, or a tenth of what would not be led."""
    rate = np.array([0.2, -0.9, 1.5])
    side, step = np.sign(rate), np.abs(rate) * every * PERIOD
    q, _ = streamed(loop_of(arm()), START + 0.2 * side, 1.2, rate, every)
    message = PERIOD * (1 + (np.arange(len(q)) - 1) // every * every)  # the time of the latest one
    behind = (START + 0.2 * side + rate * message[:, np.newaxis] - q) * side
    assert (behind >= -step).all()
    led = [np.flatnonzero(column[6:] < 1e-12)[0] + 5 for column in behind.T]
    last = behind[led, np.arange(3)] / np.maximum(step, 0.005)
    assert ((last > 0.3) & (last <= 1.0)).all()


def test_limits_that_are_not_there_change_nothing():
    free, high = (streamed(loop_of(arm(**limits)), START + JUMP, 3.0)[0] for limits in ({}, {"acceleration": 50.0}))
    np.testing.assert_array_equal(free, high)


@pytest.mark.parametrize(
    ("limits", "most"),
    [({"acceleration": 1.5, "deceleration": 0.8}, 0.8), ({"acceleration": 1.5, "jerk": 12.0}, 1.5), ({}, 4.0)],
)
def test_joints_that_a_stream_does_not_name_come_to_rest_within_the_limits(limits, most):
    """Out of the motion of a trajectory; without a velocity limit too, where a far target is refused."""
    loop = loop_of(arm(**limits), velocity_limit=np.array([2.0, 12.0, np.inf]))
    rate, found = np.array([0.2, -0.45, 0.7]), [loop.expected(0.0)[1]]
    loop.follow(Trajectory([0.0, 1.0, 3.0], [START, START, START + rate], [0.0 * rate, rate, 0.0 * rate]))
    for t in np.arange(PERIOD, 4.0, PERIOD):
        if t >= 1.0 and round(t / PERIOD) % 5 == 1:
            loop.track(Reference(*np.array([[START[0]], [0.0], [0.0], [0.0]])), t, joints=["elevator"])
        found.append(loop.update(t, t, found[-1].q, found[-1].qd).reference)
    qd = np.array([each.qd[1:] for each in found])[round(1.0 / PERIOD) :]
    _, down = changes(qd)
    assert 0.9 * most < down.max() <= most * (1 + 1e-9)
    if "jerk" in limits:
        assert np.abs(np.diff(qd, 2, axis=0)).max() / PERIOD**2 <= limits["jerk"] * (1 + 1e-6)
    assert not qd[-1].any()


def test_a_joint_that_cannot_come_to_rest_before_its_limit_stops_at_once():
    loop = loop_of(arm(deceleration=0.8))
    end, found = np.array([0.5, 0.2, 2.099]), [loop.expected(0.0)[1]]
    loop.follow(Trajectory([2.0], [end]))
    for t in np.arange(PERIOD, 3.0, PERIOD):
        if found[-1].q[2] > 1.9:
            loop.track(Reference(*np.array([[0.5], [0.0], [0.0], [0.0]])), t, joints=["elevator"])
        found.append(loop.update(t, t, found[-1].q, found[-1].qd).reference)
    q, qd = (np.array([getattr(each, name)[2] for each in found]) for name in ("q", "qd"))
    assert qd.max() > 1.0 and not qd[-1]
    assert 1.9 < q.max() < 1.91


def test_joints_that_come_in_turns_are_followed_with_their_velocities():
    """Between two messages about a joint its velocity was 0: half of the time."""
    loop = loop_of(arm())
    found, times = [loop.expected(0.0)[1]], np.arange(0.0, 3.0, PERIOD)
    for t in times[1:]:
        if round(t / PERIOD) % 5 == 1:
            joint = round(t / PERIOD) // 5 % 3
            target = START[joint] + 0.1 * (1.0 - np.cos(2.0 * t)), 0.2 * np.sin(2.0 * t), 0.0, 0.0
            loop.track(Reference(*np.array(target)[:, np.newaxis]), t, joints=[loop.robot.joint_names[joint]])
        found.append(loop.update(t, t, found[-1].q, found[-1].qd).reference)
    away = np.array([each.qd for each in found]) - 0.2 * np.sin(2.0 * times)[:, np.newaxis]
    assert np.sqrt((away**2).mean(axis=0)).max() < 0.04


def motion_then_hold(loop):
    """The velocities of the periods after a hold in the middle of a motion."""
    rate = np.array([0.2, -0.45, 0.7])
    loop.follow(Trajectory([0.0, 0.5, 1.5], [START, START, START + rate], [0.0 * rate, rate, 0.0 * rate]))
    last = loop.expected(0.0)[1]
    for t in np.arange(PERIOD, 1.0, PERIOD):
        last = loop.update(t, t, last.q, last.qd).reference
    loop.hold(1.0)
    found = [last]
    for t in np.arange(1.0, 4.0, PERIOD):
        found.append(loop.update(t, t, found[-1].q, found[-1].qd).reference)
    return np.array([each.qd for each in found])


def test_a_hold_brakes_as_the_urdf_says_and_as_a_setting_says_instead():
    robot = arm(acceleration=5.0, deceleration=1.2)
    for options, most in (({}, 1.2), ({"deceleration": np.full(3, 0.6)}, 0.6)):
        qd = motion_then_hold(loop_of(robot, **options))
        change = np.abs(np.diff(qd[2:], axis=0)).max() / PERIOD
        assert 0.8 * most < change <= most * 1.01
        assert not qd[-1].any()
    assert not motion_then_hold(loop_of(arm()))[2:].any()  # without either it stops at once


def test_the_parameter_of_the_node_is_that_of_the_urdf_unless_given():
    robot = arm(deceleration=1.2)
    dynamics, known = rd.create_dynamics("rnea", robot), loop_default_values(robot)
    given = {"constraints.shoulder.max_deceleration_on_cancel": 0.7}
    for values, wanted in ((FileParameters({}, known), [1.2] * 3), (FileParameters(given, known), [1.2, 0.7, 1.2])):
        assert make_loop_settings(values, dynamics, "computed_torque").deceleration.tolist() == wanted


@pytest.mark.parametrize(("qd", "qdd", "limit"), [(0.1, 1.6, 1.5), (-0.1, -1.6, 1.5), (0.1, -0.9, 0.8), (0, 1.6, 1.5)])
def test_a_streamed_reference_beyond_the_acceleration_of_the_urdf_is_refused(qd, qdd, limit):
    loop = loop_of(arm(acceleration=1.5, deceleration=0.8))

    def target(acceleration):
        return Reference(START, [0.0, qd, 0.0], [0.0, acceleration, 0.0], np.zeros(3))

    before = loop.expected(0.0)[1]
    with pytest.raises(LimitError, match=f"reference, acceleration: .*'shoulder'.*{limit}"):
        loop.track(target(qdd), 0.0)
    np.testing.assert_array_equal(loop.expected(0.0)[1].q, before.q)
    most = np.copysign(limit, qdd)
    loop.track(target(most), 0.0)
    assert loop.update(PERIOD, PERIOD, START, np.zeros(3)).reference.qdd[1] == most
