# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Chunks of trajectories: a policy sends trajectories many times a second, overlapping, late, some of them lost."""

import numpy as np
import pytest
from industrial import urdf

import robodyn_ros as rd
from robodyn_ros.control import ControlLoop, SafetySettings, Trajectory
from robodyn_ros.errors import RobodynError

MIDDLE = np.array([0.3, -1.2, 1.5, -1.8, -1.57, 0.2])
AMPLITUDE, FREQUENCY = np.linspace(0.3, 0.1, 6), np.pi
"""Of the path, a sine in each joint [rad], [rad/s]."""

BEGIN, PERIOD = 10.0, 0.002
"""Time of the first state, and between two [s]."""

KNOT, COUNT = 1.0 / 30.0, 16
"""Time between two points of a chunk [s], and how many it has."""

SETTLED = round(1.0 / PERIOD)
"""Periods after which the first chunk is caught up with."""

USUAL = 4.0
"""Greatest acceleration with which a reference goes where nobody planned how [rad/s²]."""


def path(t, order=0):
    """The path's derivative of that order, (..., 6)."""
    phase = FREQUENCY * np.asarray(t)[..., np.newaxis] + order * np.pi / 2.0
    return MIDDLE * (order == 0) + AMPLITUDE * FREQUENCY**order * np.sin(phase)


def chunk(begin, orders, offset=0.0):
    times = KNOT * np.arange(COUNT)
    rows = [path(begin + times, order) for order in range(orders)]
    return Trajectory(times, rows[0] + offset, *rows[1:])


def loop_of():
    robot = rd.load_robot(urdf("ur5_robot"))
    model = rd.create_dynamics("rnea", robot)
    law = rd.create_controller("computed_torque", model, 900.0, 60.0)
    safety = SafetySettings(plausibility=False, allow_nonzero_velocity_at_trajectory_end=True)
    return ControlLoop(law, robot.effort_limit, safety)


def streamed(orders, noise=0.0, rate=10.0, late=0.05, lasts=6.0):
    """The references at each period [(K, 6)], where chunks come late, by another 20 % of a period, and 5 % do not."""
    loop, random = loop_of(), np.random.default_rng(1)
    coming = [
        (k / rate + late + 0.2 / rate * random.random(), k / rate, noise * random.standard_normal(6))
        for k in range(round(lasts * rate))
        if random.random() > 0.05
    ]
    q, qd, found = MIDDLE, np.zeros(6), []
    for t in PERIOD * np.arange(round(lasts / PERIOD)):
        reference = loop.update(BEGIN + t, BEGIN + t, q, qd).reference
        q, qd = reference.q, reference.qd
        found.append(q)
        while coming and coming[0][0] <= t:
            _, begin, offset = coming.pop(0)
            loop.follow(chunk(begin, orders, offset), BEGIN + begin)
    return np.array(found)


def off_path(found):
    """The distance from the path at each period, once it is caught up with."""
    return found[SETTLED:] - path(PERIOD * np.arange(SETTLED, len(found)))


def accelerations(found):
    return np.diff(found, 2, axis=0) / PERIOD**2


@pytest.mark.parametrize("orders", [2, 3])
def test_chunks_that_agree_are_followed_as_one_trajectory(orders):
    found = streamed(orders)
    np.testing.assert_allclose(off_path(found), 0.0, atol=1e-6)
    ideal = AMPLITUDE * FREQUENCY**2
    assert (np.abs(accelerations(found[SETTLED:])) <= 1.01 * ideal).all()


@pytest.mark.parametrize("orders", [2, 3])
def test_where_chunks_differ_one_is_joined_from_the_other_gently(orders):
    found = streamed(orders, noise=3e-3)
    assert np.sqrt(np.mean(off_path(found) ** 2)) < 3e-3
    beyond = np.abs(accelerations(found)) - AMPLITUDE * FREQUENCY**2
    assert beyond[:SETTLED].max() < 2.0 * USUAL  # from rest: the first chunk has begun, and is caught up with
    assert beyond[SETTLED:].max() < USUAL


@pytest.mark.parametrize("noise", [0.0, 3e-3])
def test_between_positions_alone_are_lines_whose_corners_stay(noise):
    """As joint_trajectory_controller has them; but none of them is joined more abruptly."""
    found = streamed(1, noise)
    assert np.sqrt(np.mean(off_path(found) ** 2)) < 6e-3
    corner = np.abs(np.diff(path(KNOT * np.arange(60)), 2, axis=0)).max() / KNOT / PERIOD
    assert np.abs(accelerations(found)).max() < 1.1 * corner


def test_a_chunk_from_which_no_point_can_be_reached_is_refused():
    loop = loop_of()
    for t in (0.0, 0.4):
        loop.update(BEGIN + t, BEGIN + t, MIDDLE, np.zeros(6))
    with pytest.raises(RobodynError, match=r"trajectory, speed from the arm to its points: joint 'shoulder_pan_joint'"):
        loop.follow(chunk(0.0, 2, offset=-1.0), BEGIN)
    np.testing.assert_array_equal(loop.expected(0.5)[1].q, MIDDLE)


def test_a_trajectory_that_begins_from_rest_passes_its_next_point_however_hard_that_is():
    loop = loop_of()
    loop.update(BEGIN, BEGIN, MIDDLE, np.zeros(6))
    loop.follow(Trajectory([0.0, 0.1, 1.0], MIDDLE + [[0.02], [0.1], [0.0]], np.zeros((3, 6))), BEGIN)
    np.testing.assert_allclose(loop.expected(0.1)[1].q, MIDDLE + 0.1)


def test_a_motion_that_is_sent_again_goes_on_as_it_was_however_fast_it_is():
    """Its accelerations are planned, and beyond the usual ones."""
    loop, again = loop_of(), 0.1
    times = np.linspace(0.0, 1.0, 31)[:, np.newaxis]
    rows = [0.3 * 6.0**k * np.cos(6.0 * times + 0.5 * k * np.pi) + np.zeros(6) for k in range(2)]
    fast = Trajectory(times[:, 0], MIDDLE + rows[0] - 0.3, *rows[1:])
    loop.update(BEGIN, BEGIN, MIDDLE, np.zeros(6))
    loop.follow(fast, BEGIN)
    for t in PERIOD * np.arange(1, 1 + round(again / PERIOD)):
        loop.update(BEGIN + t, BEGIN + t, *loop.expected(PERIOD)[1][:2])
    loop.follow(fast, BEGIN)
    for ahead in (0.0, 0.01, 0.05, 0.3):
        wanted = MIDDLE + 0.3 * np.cos(6.0 * (again + ahead)) - 0.3
        np.testing.assert_allclose(loop.expected(ahead)[1].q, wanted, atol=1e-5)
