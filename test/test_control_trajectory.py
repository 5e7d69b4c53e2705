# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Trajectories against SciPy's own interpolants and against the extremes of the quintic."""

from itertools import pairwise
from types import SimpleNamespace

import arms
import numpy as np
import pytest
from scipy.interpolate import BPoly, CubicHermiteSpline, interp1d
from scipy.optimize import minimize_scalar

import robodyn_ros as rd
from robodyn_ros.control import ComputedTorque, ControlLoop, SafetySettings, Trajectory, durations, rest_to_rest
from robodyn_ros.control.core_library import CODES
from robodyn_ros.control.motion.goals import PreparedTrajectory, Refused
from robodyn_ros.errors import InputError, LimitError

RNG = np.random.default_rng(3)
TIMES = np.array([0.4, 1.0, 1.3, 2.9, 3.1])
Y, V, A = RNG.uniform(-2, 2, (3, 5, 4))
INSIDE = RNG.uniform(TIMES[0], TIMES[-1], 200)


def truth(degree):
    if degree == 1:
        return interp1d(TIMES, Y, axis=0)
    if degree == 3:
        return CubicHermiteSpline(TIMES, Y, V)
    return BPoly.from_derivatives(TIMES, np.stack((Y, V, A), axis=1))


@pytest.mark.parametrize(("degree", "rest"), [(1, ()), (3, (V,)), (5, (V, A))])
def test_sample_agrees_with_scipy(degree, rest):
    trajectory, expected = Trajectory(TIMES, Y, *rest), truth(degree)
    for t in INSIDE:
        q, qd, qdd = trajectory.sample(t)
        np.testing.assert_allclose(q, expected(t), rtol=1e-10, atol=1e-12)
        if degree == 1:
            piece = np.searchsorted(TIMES, t) - 1
            np.testing.assert_allclose(qd, (Y[piece + 1] - Y[piece]) / (TIMES[piece + 1] - TIMES[piece]), rtol=1e-10)
            np.testing.assert_array_equal(qdd, 0.0)
        else:
            np.testing.assert_allclose(qd, expected.derivative(1)(t), rtol=1e-9, atol=1e-10)
            np.testing.assert_allclose(qdd, expected.derivative(2)(t), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("rest", [(), (V,), (V, A)])
def test_passes_through_its_points_and_rests_outside(rest):
    trajectory = Trajectory(TIMES, Y, *rest)
    assert trajectory.duration == TIMES[-1]
    for t, given in [(0.0, Y[0]), (TIMES[0], Y[0]), (TIMES[2], Y[2]), (TIMES[-1], Y[-1]), (100.0, Y[-1])]:
        np.testing.assert_allclose(trajectory.sample(t).q, given, rtol=1e-12)
    for t in (-5.0, 0.39, TIMES[-1], 100.0):
        np.testing.assert_array_equal(trajectory.sample(t).qd, 0.0)
        np.testing.assert_array_equal(trajectory.sample(t).qdd, 0.0)
    single = Trajectory([1.0], [[0.5, 0.7]])
    np.testing.assert_array_equal(single.sample(0.3).q, [0.5, 0.7])
    np.testing.assert_array_equal(single.extent()[1], [0.5, 0.7])


@pytest.mark.parametrize("rest", [(), (V,), (V, A)])
def test_among_more_joints_the_others_stand(rest):
    own, q = Trajectory(TIMES, Y, *rest), np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.6])
    columns = [4, 0, 5, 2]
    whole = own.of_more_joints(columns, q)
    for t in INSIDE[:20]:
        for found, part, still in zip(whole.sample(t)[:3], own.sample(t)[:3], (q, 0 * q, 0 * q), strict=True):
            assert found[columns] == pytest.approx(part, abs=1e-13)
            assert found[[1, 3]] == pytest.approx(still[[1, 3]], abs=1e-13)
    np.testing.assert_allclose(whole.of_joints(columns).positions, own.positions)


def test_does_not_change_with_its_inputs():
    positions = Y.copy()
    trajectory = Trajectory(TIMES, positions)
    positions[:] = 9.0
    np.testing.assert_array_equal(trajectory.sample(0.0).q, Y[0])
    with pytest.raises(ValueError, match="read-only"):
        trajectory.positions[0] = 1.0


@pytest.mark.parametrize("rest", [(), (V,), (V, A)])
def test_extent_is_that_of_the_curve(rest):
    trajectory = Trajectory(TIMES, Y, *rest)
    least, greatest = trajectory.extent()
    for joint in range(4):

        def at(t, joint=joint):
            return trajectory.sample(float(t)).q[joint]

        grid = np.union1d(TIMES, np.linspace(TIMES[0], TIMES[-1], 4000))  # a curve may have corners at its points
        values = np.array([at(t) for t in grid])
        for sign, ours in ((1.0, least[joint]), (-1.0, greatest[joint])):
            near = grid[np.argmin(sign * values)]
            bounds = (max(near - 2e-3, TIMES[0]), min(near + 2e-3, TIMES[-1]))
            best = minimize_scalar(
                lambda t, s=sign: s * at(t), bounds=bounds, method="bounded", options={"xatol": 1e-12}
            )
            assert ours == pytest.approx(sign * min(best.fun, (sign * values).min()), abs=1e-9)


def test_rest_to_rest_stops_at_each_waypoint_and_never_overshoots():
    trajectory = rest_to_rest(Y, TIMES)
    for t, y in zip(TIMES, Y, strict=True):
        q, qd, qdd = trajectory.sample(t)
        np.testing.assert_allclose(q, y, rtol=1e-12)
        np.testing.assert_allclose(qd, 0.0, atol=1e-12)
        np.testing.assert_allclose(qdd, 0.0, atol=1e-12)
    np.testing.assert_array_equal(trajectory.extent(), (Y.min(axis=0), Y.max(axis=0)))


def test_durations_reach_a_limit_and_pass_none():
    velocity, acceleration = np.array([1.0, 0.6, np.inf, 2.0]), np.array([3.0, np.inf, 5.0, 4.0])
    needed = durations(Y, velocity, acceleration)
    times = np.concatenate(([0.0], np.cumsum(needed)))
    trajectory = rest_to_rest(Y, times)
    for start, end in pairwise(times):
        samples = [trajectory.sample(t) for t in np.linspace(start, end, 2001)[:-1]]
        v = np.abs([s.qd for s in samples]).max(axis=0)
        a = np.abs([s.qdd for s in samples]).max(axis=0)
        assert max((v / velocity).max(), (a / acceleration).max()) == pytest.approx(1.0, abs=1e-5)


def test_durations_of_equal_waypoints_and_errors():
    np.testing.assert_array_equal(durations([[1.0], [1.0], [2.0]], 1.0, np.inf), [0.0, 15 / 8])
    for arguments, named in [
        (([[0.0], [1.0]], np.inf, np.inf), "neither"),
        (([[0.0], [1.0]], 0.0, 1.0), "velocity_limit"),
        (([[0.0], [1.0]], 1.0, [1.0, 2.0]), "acceleration_limit"),
        (([[0.0]], 1.0, 1.0), "waypoints"),
        (([[0.0], [np.nan]], 1.0, 1.0), "waypoints"),
    ]:
        with pytest.raises(InputError, match=named):
            durations(*arguments)


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (([0.0, 1.0], [[0.0], [np.nan]]), "positions"),
        (([0.0, np.inf], [[0.0], [1.0]]), "times"),
        (([0.0, 1e-300], [[0.0], [1.0]], [[0.0], [0.0]]), "joint 1 from 0 s to 1e-300 s has no finite"),
        (([-1e308, 1e308], [[0.0], [1.0]]), "no finite coefficients"),
        (([0.0, 1.0], [[0.0, 0.0], [1.0, 1.0]], [[0.0, 1e308], [0.0, 0.0]]), "joint 2 .* no finite coefficients"),
        (([0.0, 1.0], [[0.0], [1.0]], None, None, [[1e308], [-1e308]]), "efforts"),
        (([0.0, 1.0], [[0.0], [1.0]], None, None, [[0.0]]), "efforts"),
        (([0.0, 1.0], [[0.0], [1.0]], None, None, [[0.0], [np.inf]]), "efforts"),
        (([0.0, 0.0], [[0.0], [1.0]]), "times: must rise"),
        (([1.0, 0.5], [[0.0], [1.0]]), "times: must rise"),
        (([0.0], [[0.0], [1.0]]), "times"),
        (([0.0, 1.0], [0.0, 1.0]), "positions"),
        (([], np.empty((0, 2))), "positions"),
        (([0.0, 1.0], np.empty((2, 0))), "positions"),
        (([0.0, 1.0], [[0.0], [1.0]], [[0.0]]), "velocities"),
        (([0.0, 1.0], [[0.0], [1.0]], [[0.0], [np.inf]]), "velocities"),
        (([0.0, 1.0], [[0.0], [1.0]], [[0.0], [0.0]], [[0.0, 1.0]]), "accelerations"),
        (([0.0, 1.0], [[0.0], [1.0]], None, [[0.0], [0.0]]), "need velocities"),
        (([0.0, 1.0], [["a"], ["b"]]), "positions"),
    ],
)
def test_errors(arguments, named):
    with pytest.raises(InputError, match=named):
        Trajectory(*arguments)


GREAT = np.array([0.0, 5e-324, 1e-300, 1e-150, 1e-12, 1.0, 3.0, 1e12, 1e150, 1e299, 1e307, 1.79e308])
"""Finite numbers that a message can bring."""


def test_whatever_finite_numbers_come_the_curve_is_finite_or_refused():
    """No RuntimeWarning either: what overflows is looked for, not met by chance."""
    rng, made = np.random.default_rng(16), 0
    for case in range(600):
        count, n = rng.integers(2, 5), rng.integers(1, 4)
        times = np.cumsum(rng.choice(GREAT[1:-2] if case % 3 else [1e-9, 0.1, 1.0, 1e3], count))
        scale = GREAT[: 8 if case % 2 else None]  # half of them without the greatest, so that some are possible
        rows = rng.choice(scale, (3, count, n)) * rng.choice([-1.0, 1.0], (3, count, n))
        rows[rng.uniform(size=rows.shape) < 0.6] *= 0.0
        try:
            trajectory = Trajectory(times, *rows[: rng.integers(1, 4)])
        except InputError:
            continue
        made += 1
        limit = np.full(n, 1e6)
        least, greatest = trajectory.extent()
        assert np.isfinite([least, greatest, trajectory.speed(limit), trajectory.speed(0.0 * limit)]).all()
        for before, after in pairwise(times):
            for t in (before, before + (after - before) / 3.0, after):
                assert np.isfinite(trajectory.sample(t)).all()
    assert made > 100


PRR = rd.load_robot(arms.PRR)
WEAKLY = SafetySettings(plausibility=False, allow_nonzero_velocity_at_trajectory_end=True)


def prr_loop(velocity_limit):
    law = ComputedTorque(rd.create_dynamics("rnea", PRR), 100.0, 20.0)
    loop = ControlLoop(law, PRR.effort_limit, WEAKLY, velocity_limit=velocity_limit)
    loop.start(0.0, PRR.home)
    return loop


@pytest.mark.parametrize("degree", [3, 5])
def test_what_leaves_the_limits_between_two_points_is_refused(degree):
    """By the core, against samples by SciPy: a little less is taken, a little more is not."""
    rng, fast, said = np.random.default_rng(4), np.full(3, 50.0), []
    times = np.array([0.3, 0.7, 1.2, 1.6])
    rows = [PRR.home + rng.uniform(-0.05, 0.05, (4, 3)), *rng.uniform(-0.4, 0.4, ((degree - 1) // 2, 4, 3))]
    curve = Trajectory(times, *rows)
    samples = [curve.sample(t) for t in np.linspace(times[0], times[-1] - 1e-9, 20001)]
    highest, fastest = (np.max(part, axis=0) for part in ([x.q for x in samples], np.abs([x.qd for x in samples])))
    for joint in range(3):
        for more in (-1e-3, 1e-3):
            limit = fast.copy()
            limit[joint] = fastest[joint] / ((1.0 + more) * 1.01)
            moved = rows[0].copy()
            moved[:, joint] += PRR.upper[joint] - highest[joint] + (2e-7 if more > 0.0 else -1e-7)
            for loop, positions, most in ((prr_loop(limit), rows[0], fastest), (prr_loop(fast), moved, PRR.upper)):
                trajectory = Trajectory(times, positions, *rows[1:])
                if more < 0.0:
                    loop.prepare(trajectory, 0.0)
                    continue
                with pytest.raises(LimitError, match=PRR.joint_names[joint]) as refused:
                    loop.prepare(trajectory, 0.0)
                said.append(str(refused.value))
                assert 0.98 * most[joint] < abs(refused.value.value) < 1.001 * most[joint]
    assert any("between its points" in text for text in said)


@pytest.mark.parametrize(("points", "columns"), [(0, 3), (2, 0), (2, 4)])
def test_the_core_takes_no_trajectory_without_points_or_without_joints(points, columns):
    """Whoever calls it: in Python no such trajectory is made."""
    loop, numbers = prr_loop(np.full(3, 50.0)), np.zeros((points, columns))
    made = SimpleNamespace(times=1.0 + np.arange(points), positions=numbers, velocities=None, accelerations=None)
    made.efforts = None
    with pytest.raises(Refused) as refused:
        PreparedTrajectory(loop.core, loop.core_settings.record.address, made, [0, 1, 2, 2][:columns], None, 0.0)
    assert refused.value.args[0] == CODES["CORE_NOT_NUMBERS"]


@pytest.mark.parametrize("degree", [1, 3, 5])
def test_the_way_from_one_motion_to_another_takes_in_both(degree):
    """By the core, against the polynomial of SciPy through the motion now and the next point."""
    rng, kept = np.random.default_rng(6), (degree + 1) // 2
    loop = prr_loop(np.full(3, 50.0))
    first, then = (PRR.home + rng.uniform(-0.2, 0.2, (2, 3)) for _ in range(2))
    rates = rng.uniform(-0.3, 0.3, (4, 2, 3))
    loop.follow(Trajectory([0.0, 2.0], first, *rates[:2]), 0.0)
    for t in (0.0, 0.05, 0.1):
        loop.update(t, t, *loop.expected(0.0)[1][:2])
    before = loop.expected(0.0)[1][:3]
    next_motion = Trajectory([0.4, 1.0], then, *rates[2 : 1 + kept])
    loop.follow(next_motion, loop.expected(0.0)[0])
    ends = [[part[0] for part in (then, *rates[2 : 1 + kept])], before[:kept]]
    way = BPoly.from_derivatives([0.0, 0.4], [np.array(ends[1]), np.array(ends[0])])
    for ahead in np.linspace(0.0, 0.399, 8):
        found = loop.expected(ahead)[1]
        for place, part in enumerate(found[:3]):
            wanted = way(ahead, nu=place) if place <= degree else np.zeros(3)
            np.testing.assert_allclose(part, wanted, rtol=1e-9, atol=1e-9)
    for ahead in (0.4, 0.7, 0.99, 1.1):
        for part, wanted in zip(loop.expected(ahead)[1][:3], next_motion.sample(ahead), strict=True):
            np.testing.assert_allclose(part, wanted, rtol=1e-9, atol=1e-9)


def test_from_rest_a_trajectory_of_positions_is_followed_as_it_is():
    """Line by line; an arm that moves goes over to the line with its velocity, by a cubic."""
    velocities = []
    for first in (np.zeros(3), np.array([0.1, -0.2, 0.3])):
        loop = prr_loop(np.full(3, 50.0))
        loop.follow(Trajectory([0.0, 4.0], [PRR.home, PRR.home + 4.0 * first], [first, first]), 0.0)
        for t in (0.0, 0.05, 0.1):
            loop.update(t, t, *loop.expected(0.0)[1][:2])
        now, (q, before, *_) = loop.expected(0.0)
        loop.follow(Trajectory([0.0, 1.0, 2.0], [q, q + 0.2, q + 0.3]), now)
        velocities.append([loop.expected(ahead)[1][1] for ahead in (1e-9, 0.25, 0.5, 0.999)])
    np.testing.assert_allclose(velocities[0], 0.2, rtol=1e-9)
    assert np.abs(before).min() > 0.005
    np.testing.assert_allclose(velocities[1][0], before, rtol=1e-5)
    assert np.ptp(velocities[1], axis=0).min() > 0.05


@pytest.mark.parametrize("degree", [1, 3, 5])
def test_a_late_trajectory_is_joined_at_the_first_point_that_the_limits_let_the_arm_reach(degree):
    """0.2 s late, 0.1 off, with at most 1 rad/s: the points of the next tenths of a second come too early."""
    loop = prr_loop(np.full(3, 1.0))
    loop.update(0.0, 0.0, PRR.home, np.zeros(3))
    times = np.arange(0.0, 2.01, 0.05)
    rates = [np.full((len(times), 3), 0.1), np.zeros((len(times), 3))][: degree // 2]
    late = Trajectory(times, PRR.home + 0.1 + 0.1 * times[:, None], *rates)
    loop.follow(late, -0.2)
    speeds = [np.abs(loop.expected(ahead)[1][1]).max() for ahead in np.linspace(0.0, 0.5, 101)]
    assert 0.2 < max(speeds) <= 1.0
    for ahead in (0.81, 1.2):
        np.testing.assert_allclose(loop.expected(ahead)[1][0], late.sample(0.2 + ahead)[0], rtol=0.0, atol=1e-9)


def test_a_long_trajectory_is_sampled_as_its_parts():
    """Power coefficients come block by block, in whatever order they are asked for."""
    rng = np.random.default_rng(5)
    times = np.cumsum(rng.uniform(0.01, 0.02, 1000))
    y, v, a = rng.uniform(-1.0, 1.0, (3, 1000, 2))
    trajectory, truth = Trajectory(times, y, v, a), BPoly.from_derivatives(times, np.stack((y, v, a), axis=1))
    for t in (*rng.uniform(times[0], times[-1], 300), *times[:-1]):
        q, qd, _ = trajectory.sample(t)
        np.testing.assert_allclose(q, truth(t), rtol=1e-9, atol=1e-10)
        np.testing.assert_allclose(qd, truth.derivative()(t), rtol=1e-6, atol=1e-7)
