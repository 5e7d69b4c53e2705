# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Time scaling against closed forms, a fine grid of the path, and the limits on the curve itself."""

import numpy as np
import pytest
from arms import joint, link, robot
from numpy.testing import assert_allclose
from planned import HOME, PICK, assert_within, passing, prr, slider, solved, whole

import robodyn_ros as rd
from robodyn_ros.errors import InputError
from robodyn_ros.planning.collocation import collocation
from robodyn_ros.planning.obstacles import Capsule, sphere
from robodyn_ros.planning.problem import JointGoal, MotionLimits, Problem
from robodyn_ros.planning.time_scaling import TimeScalingSettings, plan


@pytest.fixture(scope="module")
def arm():
    return prr()


@pytest.mark.parametrize(("distance", "error"), [(1.7, 1e-3), (1.7e-5, 3e-3)])
def test_a_slider_in_minimum_time(distance, error):
    """Bang-bang, T = 2 √(m d / F): 1.3 s, or 4 ms."""
    cart = slider()
    found = solved(plan, Problem(cart, [0.2], JointGoal([0.2 + distance]), limits=whole(cart)))
    assert found.duration == pytest.approx(2.0 * np.sqrt(2.5 * distance / 10.0), rel=error)


def test_a_slider_with_coulomb_friction_in_minimum_time():
    """(F - f) / m until v, then F / m, because friction does not brake at rest: v² (1 / a + 1 / b) = 2 d."""
    cart = slider()
    cart.configure(coulomb=[4.0])
    found = solved(plan, Problem(cart, [0.2], JointGoal([1.2]), limits=whole(cart)))
    slow, fast = (10.0 - 4.0) / 2.5, 10.0 / 2.5
    assert found.duration == pytest.approx(np.sqrt(2.0 * (1.0 / slow + 1.0 / fast)), rel=3e-3)
    assert_within(cart, found, whole(cart))
    # where points were added, too, the positions are the integral of the velocities (Hermite's cubic rule)
    dt, (v, a) = np.diff(found.times), (found.qd[:, 0], found.qdd[:, 0])
    integral = dt * (v[:-1] + v[1:]) / 2.0 - dt**2 * np.diff(a) / 12.0
    assert len(dt) > 302  # three points for each of 100 pieces, without those added
    assert_allclose(np.diff(found.q[:, 0]), integral, atol=1e-12)


@pytest.mark.parametrize("planner", [plan, collocation.plan])
def test_a_joint_that_friction_holds_is_refused_by_name(planner):
    """The smooth friction of plans would let it creep."""
    cart = slider()
    cart.configure(coulomb=[10.5])
    found = planner(Problem(cart, [0.2], JointGoal([0.3]), limits=whole(cart)))
    assert not found.solved and "Coulomb friction is 10.5 N, allowed is 10 N: the joint cannot move" in found.reason


@pytest.mark.parametrize("planner", [plan, collocation.plan])
@pytest.mark.parametrize("velocity", [np.inf, [np.inf, 3.0, np.inf]])
def test_a_shortest_time_that_no_limit_keeps_above_0_is_refused(arm, planner, velocity):
    """The second joint, which has a limit, stays."""
    problem = Problem(arm, HOME, JointGoal([0.3, 0.0, -0.4]), limits=whole(arm, velocity=velocity, effort=np.inf))
    with pytest.raises(InputError, match=r"each joint that moves \('elevator', 'wrist'\) has none"):
        planner(problem)


@pytest.mark.parametrize("velocity", [1.0, 1e4])
def test_a_slider_whose_viscous_friction_is_beyond_its_effort_at_its_greatest_speed(velocity):
    """It creeps towards F / b = 0.5 m/s with the time constant m / b, and brakes at F / m: 2.1875 s for 1 m."""
    cart = slider(velocity=velocity)
    cart.configure(viscous=[20.0])
    problem = Problem(cart, [0.2], JointGoal([1.2]), limits=whole(cart))
    found = solved(plan, problem, TimeScalingSettings(grid=1000))
    assert found.duration == pytest.approx(2.1875, rel=3e-3)
    assert_within(cart, found, whole(cart))


@pytest.mark.parametrize("size", [1e-3, 1.0])
@pytest.mark.parametrize(("margin", "is_free"), [(0.055, False), (0.045, True)])
def test_an_obstacle_within_the_margin_is_a_refusal_however_large_the_arm_is(size, margin, is_free):
    """Its distance is 0.05, in the middle of the way: 50 µm of an arm of millimetres."""
    ball, cart = sphere("ball", (2.0 * size, 0.35 * size, 0.0), 0.2 * size), slider()
    body = Capsule("cart", np.zeros(3), np.zeros(3), 0.1 * size)
    given = {"obstacles": (ball,), "margin": margin * size, "bodies": (body,)}
    found = plan(Problem(cart, [0.0], JointGoal([4.0 * size]), limits=whole(cart), **given))
    assert found.solved is is_free, found.reason


def test_a_crane_of_tons_with_a_joint_without_effort_limit():
    """What holds its boom is 1.96 MN·m; and the other joint's limit is a limit."""
    size, inertia = 10.0, (1e3, 0, 0, 8e4, 0, 8e4)
    boom, jib = (link(name, 1e4, (size / 2, 0, 0), inertia) for name in ("boom", "jib"))
    lift = joint("lift", "revolute", "base", "boom", (0, -1, 0), limit=(-1.0, 1.0, 0.3, 1e300))
    fold = joint("fold", "revolute", "boom", "jib", (0, -1, 0), (size, 0, 0), limit=(-1.0, 1.0, 0.3, 6e5))
    crane = rd.create_dynamics("rnea", rd.load_robot(robot("crane", link("base"), boom, lift, jib, fold)))
    found = solved(plan, Problem(crane, [0.0, 0.0], JointGoal([0.3, 0.2])))
    assert np.abs(found.effort[:, 0]).max() > 1.9e6
    assert_within(crane, found, MotionLimits.of(crane.robot))


def test_a_straight_way_against_a_search_on_a_fine_grid(arm):
    """The phase plane (s, ṡ) integrated forwards and backwards at the greatest s̈ that the efforts allow (Bobrow,
    Dubowsky and Gibson, 1985), where the speed limits do not bind and no trap region lies on the way."""
    goal, limit = np.array([0.9, -0.6, 0.4]), 0.5 * arm.robot.effort_limit
    found = solved(plan, Problem(arm, HOME, JointGoal(goal), limits=whole(arm, velocity=1e3, effort=limit)))

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


@pytest.mark.parametrize("limits", [{}, {"jerk": 1e3}])
def test_a_via_point_where_the_motion_began_is_passed_later(arm, limits):
    """It is checked where it is passed, not at the start: the arm does not rest there. A stop twice in a row is one."""
    limits = MotionLimits.of(arm.robot, acceleration=60.0, **limits)
    first, there, goal = np.array([[1.0, 0.3, -0.2], [0.8, -0.5, 0.5], [0.9, -0.1, 0.3]])
    found = plan(Problem(arm, first, JointGoal(goal), via=(*passing(there), JointGoal(first)), limits=limits))
    assert not found.solved and "via point 2: velocity" in found.reason
    vias = JointGoal(first), *passing(there, there, first)
    solved(plan, Problem(arm, first, JointGoal(goal), via=vias, limits=limits))


def test_friction_and_payload_take_their_share(arm):
    loaded = {"payload": rd.Payload("tool", 2.0), "viscous": [5.0, 0.5, 0.2], "coulomb": [8.0, 1.0, 0.3]}
    dynamics = rd.create_dynamics("rnea", arm.robot, **loaded)
    found, without = (solved(plan, Problem(each, HOME, JointGoal(PICK))) for each in (dynamics, arm))
    assert found.duration > 1.05 * without.duration
    assert_within(dynamics, found, MotionLimits.of(arm.robot))


def test_what_cannot_be_is_refused_by_name(arm):
    ball = sphere("ball", (-0.55, 0.0, 0.55), 0.12)
    found = plan(Problem(arm, HOME, JointGoal(PICK), obstacles=(ball,)))
    assert not found.solved and "'ball'" in found.reason
    heavy = rd.create_dynamics("rnea", arm.robot, payload=rd.Payload("tool", 9.5))
    found = plan(Problem(heavy, [0.5, -0.5, 0.2], JointGoal([0.5, 0.0, 0.0]), via=passing([0.5, -1.6, 0.1])))
    assert not found.solved and "'shoulder'" in found.reason and "effort limit" in found.violation.constraint
    found = plan(Problem(arm, HOME, JointGoal(PICK), limits=whole(arm, acceleration=1e-9)))
    assert not found.solved and "limit" in found.reason  # rounding exceeds it by more than all of it
    for wrong in ({"duration": 2.0}, {"start_velocity": [0.1, 0.0, 0.0]}):
        with pytest.raises(InputError):
            plan(Problem(arm, HOME, JointGoal(PICK), **wrong))
    with pytest.raises(InputError, match="present position"):
        plan(Problem(arm, HOME, JointGoal(HOME)))


def test_the_efforts_of_the_plan_are_those_of_the_motion(arm):
    found = plan(Problem(arm, HOME, JointGoal(PICK)))
    assert_allclose(found.effort, arm.inverse(found.q, found.qd, found.qdd), atol=1e-9)
    assert found.dynamics_error < 0.005
