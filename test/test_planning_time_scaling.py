# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Time scaling against closed forms, a fine grid of the path, and the limits on the curve itself."""

import numpy as np
import pytest
from arms import joint, link, robot
from numpy.testing import assert_allclose

import robodyn_ros as rd
from robodyn_ros.errors import InputError
from robodyn_ros.planning.obstacles import sphere
from robodyn_ros.planning.problem import JointGoal, MotionLimits, Problem
from robodyn_ros.planning.time_scaling import plan

HOME, PICK = np.zeros(3), np.array([0.0, -1.83, -0.12])


@pytest.fixture(scope="module")
def arm():
    from conftest import URDF

    return rd.create_dynamics("rnea", rd.load_robot(str(URDF / "prr.urdf")))


def curve(found, count=3000):
    trajectory = found.to_trajectory()
    samples = [trajectory.sample(float(t)) for t in np.linspace(0.0, found.duration * (1 - 1e-12), count)]
    return (np.array([sample[k] for sample in samples]) for k in range(3))


def test_a_slider_in_minimum_time():
    """Bang-bang, T = 2 √(m d / F)."""
    rail = joint("x", "prismatic", "base", "cart", axis=(1, 0, 0), limit=(-1.0, 5.0, 100.0, 10.0))
    cart = rd.load_robot(robot("slider", link("base"), link("cart", 2.5, (0.1, 0, 0)), rail))
    dynamics = rd.create_dynamics("rnea", cart)
    found = plan(Problem(dynamics, [0.2], JointGoal([1.9]), limits=MotionLimits.of(cart, share=1.0)))
    assert found.solved, found.reason
    assert found.duration == pytest.approx(2.0 * np.sqrt(2.5 * 1.7 / 10.0), rel=1e-3)


def test_a_straight_way_against_a_search_on_a_fine_grid(arm):
    """The phase plane (s, ṡ) integrated forwards and backwards at the greatest s̈ that the efforts allow (Bobrow,
    Dubowsky and Gibson, 1985), where the speed limits do not bind and no trap region lies on the way."""
    goal, limit = np.array([0.9, -0.6, 0.4]), 0.5 * arm.robot.effort_limit
    limits = MotionLimits.of(arm.robot, share=1.0, velocity=1e3, effort=limit)
    found = plan(Problem(arm, HOME, JointGoal(goal), limits=limits))
    assert found.solved, found.reason

    def range_of(s, x):  # x = ṡ²; τ = a s̈ + b x + g
        q, zero = s * goal, np.zeros(3)
        a = arm.inverse(q, zero, goal) - arm.gravity(q)
        rest = arm.inverse(q, np.sqrt(x) * goal, zero)
        ends = np.array([(-limit - rest) / a, (limit - rest) / a])
        return ends.min(axis=0).max(), ends.max(axis=0).min()

    count = 2000
    grid, ds = np.linspace(0.0, 1.0, count + 1), 1.0 / count
    forward, backward = np.zeros(count + 1), np.zeros(count + 1)
    for k in range(count):
        forward[k + 1] = forward[k] + 2 * ds * range_of(grid[k], forward[k])[1]
        backward[-k - 2] = backward[-k - 1] - 2 * ds * range_of(grid[-k - 1], backward[-k - 1])[0]
    speed = np.sqrt(np.minimum(forward, backward))
    duration = np.sum(2 * ds / (speed[1:] + speed[:-1]))
    assert found.duration == pytest.approx(duration, rel=5e-3)


def test_through_via_points_within_every_limit(arm):
    vias = [np.array([0.5, -0.5, 0.5]), np.array([0.7, -1.2, 0.3])]
    limits = MotionLimits.of(arm.robot, acceleration=60.0)
    found = plan(Problem(arm, HOME, JointGoal(PICK), via=tuple(JointGoal(via, None) for via in vias), limits=limits))
    assert found.solved, found.reason
    q, qd, qdd = curve(found)
    for via in vias:
        assert np.abs(found.q - via).max(axis=1).min() < 1e-5
    assert (np.abs(qd) <= limits.velocity * (1 + 1e-4)).all()
    assert (np.abs(qdd) <= 60.0 * (1 + 1e-4)).all()
    effort = np.abs(arm.inverse(q, qd, qdd)) / limits.effort
    assert effort.max() < 1.006
    assert np.abs(np.concatenate((found.qd[[0, -1]], q[:1], q[-1:] - PICK))).max() < 1e-6


def test_friction_and_payload_take_their_share(arm):
    loaded = {"payload": rd.Payload("tool", 2.0), "viscous": [5.0, 0.5, 0.2], "coulomb": [8.0, 1.0, 0.3]}
    dynamics = rd.create_dynamics("rnea", arm.robot, **loaded)
    found, without = plan(Problem(dynamics, HOME, JointGoal(PICK))), plan(Problem(arm, HOME, JointGoal(PICK)))
    assert found.solved and without.solved and found.duration > 1.05 * without.duration
    q, qd, qdd = curve(found)
    assert (np.abs(dynamics.inverse(q, qd, qdd)) <= 1.006 * 0.9 * arm.robot.effort_limit).all()


def test_what_cannot_be_is_refused_by_name(arm):
    ball = sphere("ball", (-0.55, 0.0, 0.55), 0.12)
    found = plan(Problem(arm, HOME, JointGoal(PICK), obstacles=(ball,)))
    assert not found.solved and "'ball'" in found.reason
    heavy = rd.create_dynamics("rnea", arm.robot, payload=rd.Payload("tool", 9.5))
    across = Problem(heavy, [0.5, -0.5, 0.2], JointGoal([0.5, 0.0, 0.0]), via=(JointGoal([0.5, -1.6, 0.1], None),))
    found = plan(across)
    assert not found.solved and "'shoulder'" in found.reason and "effort limit" in found.violation.constraint
    for wrong in ({"duration": 2.0}, {"start_velocity": [0.1, 0.0, 0.0]}):
        with pytest.raises(InputError):
            plan(Problem(arm, HOME, JointGoal(PICK), **wrong))
    with pytest.raises(InputError, match="present position"):
        plan(Problem(arm, HOME, JointGoal(HOME)))


def test_the_efforts_of_the_plan_are_those_of_the_motion(arm):
    found = plan(Problem(arm, HOME, JointGoal(PICK)))
    assert_allclose(found.effort, arm.inverse(found.q, found.qd, found.qdd), atol=1e-9)
    assert found.dynamics_error < 0.005
