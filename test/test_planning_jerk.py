# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Limits of acceleration and jerk in plans: closed forms of one joint, and every limit along the curves of an arm."""

import numpy as np
import pytest
from planned import HOME, PICK, assert_within, curve, passing, prr, slider, solved, whole

import robodyn_ros as rd
from robodyn_ros.control.motion.point_to_point import braking, point_to_point
from robodyn_ros.control.motion.trajectory import Sample
from robodyn_ros.planning import time_scaling
from robodyn_ros.planning.collocation import collocation
from robodyn_ros.planning.demonstration import demonstration
from robodyn_ros.planning.problem import JointGoal, MotionLimits, Problem
from robodyn_ros.planning.verification import jerks

PLANNERS = {"time scaling": time_scaling.plan, "collocation": collocation.plan}


@pytest.mark.parametrize("planner", PLANNERS)
def test_one_joint_takes_the_least_time_that_jerk_allows(planner):
    """T³ = 32 d / J, in four pieces of ±J."""
    found = solved(PLANNERS[planner], Problem(slider(50.0, jerk=40), [0.2], JointGoal([1.4])))
    assert found.duration == pytest.approx(np.cbrt(32.0 * 1.2 / 40.0), rel=2e-3)


@pytest.mark.parametrize("planner", PLANNERS)
@pytest.mark.parametrize("kind", ["acceleration", "effort"])
def test_one_joint_with_limits_of_jerk_and_of_acceleration_or_effort(planner, kind):
    """T = a / J + √((a / J)² + 4 d / a), in seven pieces (Biagiotti and Melchiorri, 2008, section 3.4)."""
    a, jerk, d = 4.0, 40.0, 3.0
    dynamics = slider(50.0, **({"acceleration": 9, "deceleration": a} if kind == "acceleration" else {}), jerk=jerk)
    limits = whole(dynamics, **({"effort": 2.5 * a} if kind == "effort" else {}))
    found = solved(PLANNERS[planner], Problem(dynamics, [0.2], JointGoal([0.2 + d]), limits=limits))
    assert found.duration == pytest.approx(a / jerk + np.sqrt((a / jerk) ** 2 + 4.0 * d / a), rel=1e-2)


@pytest.mark.parametrize(("rate", "into", "out"), [(0.0, 20.0, 15.0), (0.1, 0.0, 0.0)])
def test_an_acceleration_at_rest_comes_within_the_step_beside_it(rate, into, out):
    problem = Problem(slider(), [0.2], JointGoal([1.4], rate), start_velocity=[rate])
    found = jerks(problem, np.array([0.0, 0.1, 0.3]), np.array([[2.0], [1.0], [-3.0]]))
    assert found.ravel() == pytest.approx([into, -10.0, -20.0, out])


@pytest.fixture(scope="module")
def arm():
    return prr(payload=rd.Payload("tool", 0.7), viscous=[5.0, 0.5, 0.2])


@pytest.mark.parametrize("planner", PLANNERS)
@pytest.mark.parametrize("jerk", [np.inf, 400.0, [np.inf, 150.0, np.inf]])
def test_an_arm_keeps_to_every_limit_between_its_points(arm, planner, jerk):
    vias = [np.array([0.5, -0.5, 0.5]), np.array([0.7, -1.2, 0.3])]
    limits = MotionLimits.of(arm.robot, acceleration=[5.0, np.inf, 40.0], jerk=jerk)
    problem = Problem(arm, HOME, JointGoal(PICK), via=passing(*vias), limits=limits)
    found = solved(PLANNERS[planner], problem)
    for via in vias:
        assert np.abs(found.q - via).max(axis=1).min() < 1e-5
    assert_within(arm, found, limits, margin=2e-4)
    q, _, qdd, _ = curve(found)
    assert np.abs(np.concatenate((found.qd[[0, -1]], q[:1], q[-1:] - PICK))).max() < 1e-5
    assert np.abs(qdd[[0, -1]][:, np.isfinite(limits.jerk)]).max(initial=0.0) < 0.5  # at rest nothing jumps
    if planner == "time scaling":  # stays on its path
        dense = time_scaling.spline(problem.stops)(np.linspace(0.0, 1.0, 20001))
        assert max(np.abs(dense - row).max(axis=1).min() for row in curve(found, 301)[0]) < 1e-4


def test_the_timing_with_a_high_limit_of_jerk_is_that_of_topp_ra_and_a_lower_one_takes_longer():
    """But for friction, which helps to brake in the one and not in the other, and for the length of pieces."""
    arm, fine = prr(viscous=[5.0, 0.5, 0.2], coulomb=[8.0, 1.0, 0.3]), time_scaling.TimeScalingSettings(grid=120)
    limits = [MotionLimits.of(arm.robot, acceleration=30.0, jerk=jerk) for jerk in (np.inf, 3e4, 300.0)]
    problems = [Problem(arm, HOME, JointGoal(PICK), via=passing([0.5, -0.5, 0.5]), limits=own) for own in limits]
    grids = (fine, fine, None)
    durations = [solved(time_scaling.plan, *given).duration for given in zip(problems, grids, strict=True)]
    assert durations[1] == pytest.approx(durations[0], rel=0.01)
    assert 1.01 * durations[1] < durations[2]


def test_a_jerk_too_low_for_gravity_is_no_plan_of_efforts_beyond_their_limits(arm):
    heavy = rd.create_dynamics("rnea", arm.robot, payload=rd.Payload("tool", 9.5))
    limits = MotionLimits.of(arm.robot, jerk=100.0)
    goal, via = JointGoal([0.5, 0.0, 0.0]), passing([0.5, -1.6, 0.1])
    found = time_scaling.plan(Problem(heavy, [0.5, -0.5, 0.2], goal, via=via, limits=limits))
    assert not found.solved and "'shoulder'" in found.reason


LIMITED = {"acceleration": 3.0, "deceleration": 2.0, "jerk": 30.0}


def test_point_to_point_keeps_to_the_limits_of_the_urdf():
    """Each limit by itself: the motion reaches the ratio of it that may be used, and no more."""
    for limits, place, least in (({"acceleration": 3.0}, 2, 3.0), (LIMITED, 2, 2.0), ({"jerk": 30.0}, 3, 30.0)):
        motion = point_to_point(slider(50.0, **limits), [0.2], [1.4], limit_ratio=0.8)
        assert np.abs(curve(motion)[place]).max() == pytest.approx(0.8 * least, rel=3e-3)
    assert point_to_point(slider(50.0), [0.2], [1.4]).duration < 0.9


def test_braking_is_no_harder_than_the_urdf_allows():
    moving = Sample(np.array([0.0]), np.array([0.6]), np.array([0.0]))
    for limits, most in (({}, 20.0), ({"deceleration": 2.0}, 2.0)):
        dynamics = slider(50.0, **limits)
        stop = braking(dynamics, moving, dynamics.robot.velocity_limit, dynamics.robot.effort_limit)
        greatest = np.abs(curve(stop)[2]).max()
        assert most / 4.0 < greatest <= most


def test_a_demonstration_is_slowed_down_to_the_limits_of_the_urdf():
    times = np.linspace(0.0, 2.0, 401)
    shown = (0.6 - 0.6 * np.cos(np.pi * times / 2.0))[:, np.newaxis]
    quick = demonstration(slider(50.0), times, shown).trajectory
    assert np.abs(curve(quick)[2]).max() > 1.2
    for name, place, most in (("acceleration", 2, 0.6), ("jerk", 3, 3.0)):
        slow = demonstration(slider(50.0, **{name: most}), times, shown)
        assert slow.slowed > 1.1
        assert 0.7 * most < np.abs(curve(slow.trajectory)[place]).max() <= 1.01 * most
