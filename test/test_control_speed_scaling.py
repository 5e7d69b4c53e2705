# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Speed scaling: trajectories at a part of their speed, with the derivatives of what is asked for."""

from dataclasses import replace

import arms
import numpy as np
import pytest

import robodyn_ros as rd
from robodyn_ros.control import ControlLoop, GravityCompensation, Reference, SafetySettings, rest_to_rest
from robodyn_ros.errors import InputError

ROBOT = rd.load_robot(arms.PRR)
DYNAMICS = rd.create_dynamics("rnea", ROBOT)
Q, GOAL = np.array([0.4, -0.3, 0.2]), np.array([0.7, 0.6, -0.9])
DURATION, STEP = 2.0, 1e-3


class Arm:
    """A loop whose arm is where it should be."""

    def __init__(self, **safety):
        config = SafetySettings(plausibility=False, following_tolerance=0.0, **safety)
        law = GravityCompensation(DYNAMICS, 1.0, 1.0)
        self.loop = ControlLoop(law, np.full(3, 1e4), config, velocity_limit=np.full(3, 50.0))
        self.t, self.q, self.qd = 0.0, Q, np.zeros(3)
        self.step()

    def step(self):
        reference = self.loop.update(self.t, self.t, self.q, self.qd).reference
        self.q, self.qd = reference.q, reference.qd
        self.t += STEP
        return reference

    def go(self, duration):
        """Rows of t, q, q̇ and q̈."""
        return np.array([[self.t, *np.concatenate(self.step()[:3])] for _ in range(round(duration / STEP))])


def check_derivatives(rows):
    """Velocities are the derivatives of positions, accelerations those of velocities; nothing jumps."""
    t, q, qd, qdd = rows[:, 0], rows[:, 1:4], rows[:, 4:7], rows[:, 7:10]
    middle = (q[2:] - q[:-2]) / (t[2:] - t[:-2])[:, None]
    np.testing.assert_allclose(qd[1:-1], middle, atol=2e-3)
    change = (qd[2:] - qd[:-2]) / (t[2:] - t[:-2])[:, None]
    off = np.abs(qdd[1:-1] - change).max(axis=1)
    assert (off > 0.05).sum() <= 8  # at the ends of a ramp of the speed q̈ steps, as s̈ does
    assert np.abs(np.diff(qd, axis=0)).max() < 6.0 * STEP


@pytest.mark.parametrize(("part", "late"), [(0.5, 0.0), (0.13, 0.0), (0.13, 0.3)])
def test_a_trajectory_at_a_part_of_its_speed_takes_as_much_longer(part, late):
    """Of one that comes late, the rest does."""
    arm = Arm(speed_scaling=part)
    way = rest_to_rest([Q, Q, GOAL], [0.0, late + 0.05, DURATION])
    begin = arm.t - STEP
    goal = arm.loop.follow(way, begin - late)
    rows = arm.go(1.0)
    expected = way.sample(late + part * (rows[-1, 0] - begin))
    np.testing.assert_allclose(rows[-1, 1:4], expected.q, atol=1e-12)
    np.testing.assert_allclose(rows[-1, 4:7], part * expected.qd, atol=1e-12)
    np.testing.assert_allclose(rows[-1, 7:10], part**2 * expected.qdd, atol=1e-12)
    check_derivatives(rows)
    rest = (DURATION - late) / part - 1.0
    arm.go(rest - 0.01)
    assert goal.outcome is None
    last = arm.go(0.02)[-1]
    np.testing.assert_allclose(last[1:4], GOAL, atol=1e-12)
    assert goal.outcome == "succeeded"


def test_the_speed_changes_on_the_way_without_a_jump_and_the_path_stays():
    arm = Arm()
    way = rest_to_rest([Q, GOAL], [0.0, DURATION])
    goal = arm.loop.follow(way)
    rows = [arm.go(0.6)]
    arm.loop.scale_speed(0.3)
    rows.append(arm.go(0.1))
    arm.loop.scale_speed(0.8)  # before 0.3 is reached
    rows.append(arm.go(0.5))
    arm.loop.scale_speed(0.0)
    rows.append(arm.go(0.7))
    assert np.abs(rows[-1][-1, 4:10]).max() == 0.0
    assert goal.outcome is None
    arm.go(3.0)  # it stands as long as it is told to
    assert goal.outcome is None
    arm.loop.scale_speed(1.0)
    rows.append(arm.go(3.0))
    for part in rows:
        check_derivatives(part)
    moving = np.concatenate(rows)
    assert goal.outcome == "succeeded"
    np.testing.assert_allclose(moving[-1, 1:4], GOAL, atol=1e-12)
    # The joints keep together: the path is that of the trajectory.
    along = (moving[:, 1:4] - Q) / (GOAL - Q)
    np.testing.assert_allclose(along - along[:, :1], 0.0, atol=1e-12)


def test_the_speed_changes_before_the_start_and_the_goal_counts_at_the_end():
    arm = Arm()
    goal = arm.loop.follow(rest_to_rest([Q, GOAL], [0.0, DURATION]), arm.t + 0.9)
    arm.go(0.4)
    arm.loop.scale_speed(0.3)
    while goal.outcome is None:
        reference = arm.step()
    assert goal.outcome == "succeeded"
    np.testing.assert_allclose(reference.q, GOAL, atol=1e-9)


def test_a_trajectory_that_replaces_a_scaled_motion_goes_on_from_it():
    arm = Arm(speed_scaling=0.4)
    arm.loop.follow(rest_to_rest([Q, GOAL], [0.0, DURATION]))
    rows = arm.go(1.5)
    arm.loop.follow(rest_to_rest([arm.q, Q], [0.0, 1.0]))
    rows = np.concatenate((rows, arm.go(4.0)))
    assert np.abs(np.diff(rows[:, 4:7], axis=0)).max() < 20.0 * STEP
    np.testing.assert_allclose(rows[-1, 1:4], Q, atol=1e-12)


HALFWAY = Q + 0.5 * (GOAL - Q)


def test_a_trajectory_accepted_for_later_begins_at_the_reference_of_that_time():
    arm = Arm()
    arm.loop.follow(rest_to_rest([Q, GOAL], [0.0, DURATION]))
    arm.go(0.5)
    goal = arm.loop.follow(rest_to_rest([HALFWAY, Q], [0.0, DURATION]), arm.t + 0.5)
    arm.loop.scale_speed(0.2)  # so that the arm is not halfway then
    rows = arm.go(1.0)
    arm.loop.scale_speed(1.0)
    rows = np.concatenate((rows, arm.go(3.0)))
    assert np.abs(np.diff(rows[:, 1:4], axis=0)).max() < 2.0 * STEP
    assert np.abs(np.diff(rows[:, 4:7], axis=0)).max() < 20.0 * STEP
    np.testing.assert_allclose(rows[-1, 1:4], Q, atol=1e-12)
    assert goal.outcome == "succeeded"


def test_a_trajectory_accepted_for_later_begins_where_a_stream_has_led_the_reference():
    arm, still = Arm(), np.zeros(3)
    arm.loop.track(Reference(Q + 1.0, still, still, still), arm.t)
    arm.loop.follow(rest_to_rest([Q, Q + 0.3], [0.0, 1.0]), arm.t + 0.1)
    rows = arm.go(1.5)
    assert np.abs(np.diff(rows[:, 1:4], axis=0)).max() < 2.0 * STEP
    np.testing.assert_allclose(rows[-1, 1:4], Q + 0.3, atol=1e-12)


def test_a_trajectory_that_can_no_longer_be_joined_is_interrupted_and_the_motion_before_it_goes_on():
    arm = Arm()
    arm.loop.follow(rest_to_rest([Q, GOAL], [0.0, DURATION]))
    arm.go(0.5)
    goal = arm.loop.follow(rest_to_rest([HALFWAY, HALFWAY], [0.0, 0.004]), arm.t + 0.5 - STEP)
    arm.loop.scale_speed(0.5)
    rows = arm.go(4.0)
    assert goal.outcome == "interrupted"
    assert (arm.loop.dropped, "trajectory, speed from the arm to its points" in str(arm.loop.drop_reason())) == (
        1,
        True,
    ), arm.loop.drop_reason()
    assert np.abs(np.diff(rows[:, 1:4], axis=0)).max() < 2.0 * STEP
    np.testing.assert_allclose(rows[-1, 1:4], GOAL, atol=1e-12)


def test_a_trajectory_accepted_for_later_does_not_begin_with_velocity_limits_that_are_lower_by_then():
    arm = Arm()
    goal = arm.loop.follow(rest_to_rest([Q, Q + 1e-3, GOAL], [0.0, 0.5, 0.5 + DURATION]), arm.t + 0.2)
    settings = arm.loop.settings
    arm.loop.apply(settings._replace(limits=replace(settings.limits, velocity=np.full(3, 0.1))))
    rows = arm.go(DURATION + 1.0)
    assert np.abs(rows[:, 4:7]).max() <= 0.1
    assert (goal.outcome, "limits have changed" in str(arm.loop.drop_reason())) == ("interrupted", True)


def test_a_thread_prepares_a_trajectory_beside_the_loop_without_its_snapshot():
    """That, and the memory of the law which comes with it, is read and written by the thread of the node."""
    arm, asked = Arm(), []
    arm.loop.requester = asked.append
    prepared = arm.loop.prepare(rest_to_rest([Q, GOAL], [0.0, DURATION]), arm.t)
    assert (prepared.columns, arm.loop.requests >= 0, asked) == ([0, 1, 2], True, [])


def test_parts_of_parts_and_what_is_refused():
    arm = Arm(speed_scaling=0.5)
    arm.loop.scale_speed(0.5)
    way = rest_to_rest([Q, GOAL], [0.0, DURATION])
    arm.loop.follow(way)
    begin = arm.t - STEP
    np.testing.assert_allclose(arm.go(2.0)[-1, 1:4], way.sample(0.25 * (arm.t - STEP - begin)).q, atol=1e-12)
    for part in (-0.1, 1.01, np.nan):
        with pytest.raises(InputError, match="speed_scaling"):
            arm.loop.scale_speed(part)


def test_a_motion_that_is_told_to_hold_brakes_at_full_speed():
    arm = Arm(speed_scaling=0.5)
    loop = arm.loop
    loop.apply(loop.settings._replace(deceleration=np.full(3, 2.0)))
    loop.follow(rest_to_rest([Q, GOAL], [0.0, DURATION]))
    rows = arm.go(1.5)
    speed = np.abs(rows[-1, 4:7]).max()
    loop.hold(arm.t)
    rows = arm.go(speed / 2.0 + 0.05)
    assert not rows[-1, 4:7].any()


@pytest.mark.parametrize(("before", "after"), [(1.0, 0.5), (0.3, 1.0), (0.4, 0.1)])
def test_a_trajectory_may_end_while_its_speed_still_changes(before, after):
    """The speed changes by 2 in a second: at v + 2 u it takes v u + u² = 0.1 s of the path."""
    arm, side = Arm(speed_scaling=before), np.sign(after - before)
    goal, begin = arm.loop.follow(rest_to_rest([Q, GOAL], [0.0, DURATION])), arm.t
    arm.go((DURATION - 0.03) / before)
    left = DURATION - before * (arm.t - begin)
    arm.loop.apply(arm.loop.settings._replace(safety=replace(arm.loop.settings.safety, speed_scaling=after)))
    expected = 2.0 * left / (before + np.sqrt(before**2 + 4.0 * side * left))
    assert expected < abs(after - before) / 2.0
    begin = arm.t
    while goal.outcome is None:
        arm.step()
    assert goal.outcome == "succeeded"
    assert arm.t - begin == pytest.approx(expected, abs=2.5 * STEP)
    np.testing.assert_allclose(arm.q, GOAL, atol=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_a_scaled_trajectory_ends_when_its_path_does(seed):
    """Whatever the speed was on the way: the goal counts once the reference is there, and in the same period."""
    rng, arm = np.random.default_rng(seed), Arm()
    goal = arm.loop.follow(rest_to_rest([Q, GOAL], [0.0, DURATION]))
    for _ in range(6):
        arm.loop.scale_speed(rng.choice([0.0, 1.0, rng.uniform()]))
        arm.go(rng.uniform(0.0, 0.3))
    arm.loop.scale_speed(0.7)
    for _ in range(round(DURATION / 0.3 / STEP)):
        there = np.abs(arm.step().q - GOAL).max() < 1e-12
        assert (goal.outcome == "succeeded") == there
        if there:
            return
    pytest.fail("it did not get there")
