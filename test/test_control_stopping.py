# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""How motions end: a hold that decelerates, trajectories that end in motion, a trajectory without points."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

import robodyn_ros as rd
from robodyn_ros.control import ControlLoop, SafetySettings
from robodyn_ros.control.motion.trajectory import Trajectory
from robodyn_ros.errors import InputError

PRR = rd.load_robot("prr")
START = np.array([0.5, 0.2, -0.3])
RATE = np.array([0.4, -0.9, 1.5])
DECELERATION = np.array([0.8, 3.0, 10.0])


def moving(deceleration=DECELERATION, position=START, rate=RATE, **safety) -> ControlLoop:
    """A loop whose reference goes at a constant rate, at time 0.1 s."""
    law = rd.create_controller("computed_torque", rd.create_dynamics("rnea", PRR, compiled=False), 100.0, 20.0)
    limits = {"effort_limit": PRR.effort_limit, "deceleration": deceleration}
    loop = ControlLoop(law, safety=SafetySettings(plausibility=False, cmd_timeout=0.4, **safety), **limits)
    loop.update(0.0, 0.0, position, rate)
    loop.follow(
        Trajectory([0.0, 0.5], [position, position + 0.5 * rate], np.tile(rate, (2, 1)))
        if safety
        else Trajectory(
            [0.0, 0.5, 1.5], [position, position + 0.5 * rate, position + 0.5 * rate], np.vstack((rate, rate, 0 * rate))
        )
    )
    loop.update(0.1, 0.1, position, rate)
    return loop


def references(loop, end, period=0.01):
    """What the reference is at every period from 0.1 s on, with an arm that is where it was last."""
    found = [loop.expected(0.0)[1]]
    for t in np.arange(0.1, end + period / 2.0, period)[1:]:
        found.append(loop.update(t, t, found[-1].q, found[-1].qd).reference)
    return found


def test_a_hold_decelerates_each_joint_as_it_may() -> None:
    loop = moving()
    before = loop.expected(0.0)[1]
    loop.hold(0.1)
    found = references(loop, 0.8)
    elapsed = np.arange(len(found))[:, np.newaxis] * 0.01
    durations = np.ceil(1e3 * np.abs(before.qd) / DECELERATION) / 1e3
    braked = np.minimum(elapsed, durations)
    slowing = before.qd / durations
    assert (np.abs(slowing) <= DECELERATION).all()
    assert_allclose([r.qd for r in found], before.qd - slowing * braked, atol=1e-9)
    path = before.q + before.qd * braked - slowing * braked**2 / 2.0
    assert_allclose([r.q for r in found], path, atol=1e-9)
    assert loop.mode == "hold"
    assert not found[-1].qdd.any()
    for t in np.arange(0.81, 1.2, 0.01):  # cmd_timeout is for the end of a trajectory
        held = loop.update(t, t, found[-1].q + 1e-3, np.zeros(3)).reference.q
    assert_allclose(held, found[-1].q)


@pytest.mark.parametrize("deceleration", [[-1.0, 1.0, 1.0], [0.0, 1.0, 1.0], [np.nan, 1.0, 1.0], [1.0]])
def test_a_deceleration_that_is_none_is_refused(deceleration: list[float]) -> None:
    with pytest.raises(InputError, match="deceleration: must be 3 numbers above 0"):
        moving(deceleration)


def test_one_joint_without_a_deceleration_stops_at_once_and_the_others_brake() -> None:
    loop = moving(np.array([0.8, np.inf, 10.0]))
    before = loop.expected(0.0)[1]
    loop.hold(0.1)
    found = references(loop, 0.5)
    assert_allclose([r.q[1] for r in found], before.q[1])
    assert found[1].qd[0] > 0.1
    assert abs(found[1].qd[1]) < 1e-12


def test_it_stops_before_a_limit_that_is_near() -> None:
    position = np.array([PRR.upper[0] - 0.1, 0.2, -0.3])
    rate = np.array([0.4, 0.0, 0.0])
    loop = moving(np.array([0.1, 1.0, 1.0]), position - 0.3 * rate, rate, allow_nonzero_velocity_at_trajectory_end=True)
    loop.hold(0.1)
    found = [reference.q[0] for reference in references(loop, 3.0)]
    assert max(found) <= PRR.upper[0] + 1e-9
    assert found[-1] == pytest.approx(PRR.upper[0], abs=1e-3)


def test_a_second_hold_changes_nothing() -> None:
    once, twice = moving(), moving()
    for loop in (once, twice):
        loop.hold(0.1)
    references(twice, 0.2)
    twice.hold(0.2)
    assert_allclose(twice.expected(0.3)[1].q, once.expected(0.4)[1].q, atol=2e-4)  # durations are whole ticks


def test_trajectories_that_end_at_rest_or_nearly() -> None:
    loop = moving()
    end = START + 0.1
    for speed in (1e-9, 1.19e-7):
        loop.follow(Trajectory([0.0, 1.0], [START, end], [0.0 * RATE, np.full(3, speed)], [RATE, 0.0 * RATE]))
    with pytest.raises(InputError, match="allow_nonzero_velocity_at_trajectory_end"):
        loop.follow(Trajectory([0.0, 1.0], [START, end], [0.0 * RATE, np.full(3, 1.3e-7)]))


def test_a_trajectory_that_may_end_in_motion_is_held_at_its_end() -> None:
    loop = moving(allow_nonzero_velocity_at_trajectory_end=True)
    found = references(loop, 0.65)[-1]
    assert_allclose(found.q, START + 0.5 * RATE, atol=1e-9)
    assert not found.qd.any()
    assert replace(SafetySettings()).allow_nonzero_velocity_at_trajectory_end is False
