# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Limits of acceleration and jerk in plans: closed forms of one joint, and every limit along the curves of an arm."""

import numpy as np
import pytest
from arms import joint, link, robot

import robodyn_ros as rd
from robodyn_ros.control.motion.point_to_point import braking, point_to_point
from robodyn_ros.control.motion.trajectory import Sample
from robodyn_ros.planning import time_scaling
from robodyn_ros.planning.collocation import collocation
from robodyn_ros.planning.demonstration import demonstration
from robodyn_ros.planning.problem import JointGoal, MotionLimits, Problem

HOME, PICK = np.zeros(3), np.array([0.0, -1.83, -0.12])

PLANNERS = {"time scaling": time_scaling.plan, "collocation": collocation.plan}


def slider(**limits):
    """2.5 kg on a rail, without gravity along it: F = m a."""
    rail = joint("x", "prismatic", "base", "cart", axis=(1, 0, 0), limit=(-1.0, 5.0, 100.0, 50.0))
    more = " ".join(f'{name}="{value}"' for name, value in limits.items())
    cart = rd.load_robot(
        robot("slider", link("base"), link("cart", 2.5, (0.1, 0, 0)), rail.replace("<limit", f"<limit {more}"))
    )
    return rd.create_dynamics("rnea", cart)


def curve(found, count=4001):
    """Times, and positions to jerks, along a plan; the jerk between two instants is their mean."""
    trajectory = found.to_trajectory() if hasattr(found, "to_trajectory") else found
    times = np.linspace(0.0, trajectory.duration * (1 - 1e-12), count)
    q, qd, qdd = (np.array(part) for part in zip(*(trajectory.sample(float(t)) for t in times), strict=True))
    return q, qd, qdd, np.diff(qdd, axis=0) / times[1]


@pytest.mark.parametrize("planner", PLANNERS)
def test_one_joint_takes_the_least_time_that_jerk_allows(planner):
    """T³ = 32 d / J, in four pieces of ±J."""
    dynamics = slider(jerk=40)
    found = PLANNERS[planner](Problem(dynamics, [0.2], JointGoal([1.4])))
    assert found.solved, found.reason
    assert found.duration == pytest.approx(np.cbrt(32.0 * 1.2 / 40.0), rel=2e-3)


@pytest.mark.parametrize("planner", PLANNERS)
@pytest.mark.parametrize("kind", ["acceleration", "effort"])
def test_one_joint_with_limits_of_jerk_and_of_acceleration_or_effort(planner, kind):
    """T = a / J + √((a / J)² + 4 d / a), in seven pieces (Biagiotti and Melchiorri, 2008, section 3.4)."""
    a, jerk, d = 4.0, 40.0, 3.0
    dynamics = slider(**({"acceleration": 9, "deceleration": a} if kind == "acceleration" else {}), jerk=jerk)
    limits = MotionLimits.of(dynamics.robot, share=1.0, **({"effort": 2.5 * a} if kind == "effort" else {}))
    found = PLANNERS[planner](Problem(dynamics, [0.2], JointGoal([0.2 + d]), limits=limits))
    assert found.solved, found.reason
    assert found.duration == pytest.approx(a / jerk + np.sqrt((a / jerk) ** 2 + 4.0 * d / a), rel=1e-2)


@pytest.fixture(scope="module")
def arm():
    return rd.create_dynamics("rnea", rd.load_robot("prr"), payload=rd.Payload("tool", 0.7), viscous=[5.0, 0.5, 0.2])


@pytest.mark.parametrize("planner", PLANNERS)
@pytest.mark.parametrize("jerk", [400.0, [np.inf, 150.0, np.inf]])
def test_an_arm_keeps_to_every_limit_between_its_points(arm, planner, jerk):
    vias = [np.array([0.5, -0.5, 0.5]), np.array([0.7, -1.2, 0.3])]
    limits = MotionLimits.of(arm.robot, acceleration=[5.0, np.inf, 40.0], jerk=jerk)
    problem = Problem(arm, HOME, JointGoal(PICK), via=tuple(JointGoal(via, None) for via in vias), limits=limits)
    found = PLANNERS[planner](problem)
    assert found.solved, found.reason
    for via in vias:
        assert np.abs(found.q - via).max(axis=1).min() < 1e-5
    q, qd, qdd, qddd = curve(found)
    assert (np.abs(qd) <= limits.velocity * (1 + 2e-4)).all()
    assert (np.abs(qdd) <= limits.acceleration * (1 + 2e-4)).all()
    assert (np.abs(qddd) <= limits.jerk * (1 + 2e-3)).all()
    assert (np.abs(arm.inverse(q, qd, qdd)) <= 1.006 * limits.effort).all()
    assert np.abs(qdd[[0, -1]][:, np.isfinite(limits.jerk)]).max() < 0.5  # out of rest and into it nothing jumps


def test_the_timing_with_a_high_limit_of_jerk_is_that_of_topp_ra_and_a_lower_one_takes_longer():
    """Without viscous friction, which TOPP-RA takes at its greatest."""
    arm = rd.create_dynamics("rnea", rd.load_robot("prr"), coulomb=[8.0, 1.0, 0.3])
    limits = [MotionLimits.of(arm.robot, acceleration=30.0, jerk=jerk) for jerk in (np.inf, 3e4, 300.0)]
    problems = [
        Problem(arm, HOME, JointGoal(PICK), via=(JointGoal([0.5, -0.5, 0.5], None),), limits=own) for own in limits
    ]
    found = [time_scaling.plan(problem) for problem in problems]
    assert all(each.solved for each in found)
    durations = [each.duration for each in found]
    assert durations[1] == pytest.approx(durations[0], rel=0.01)
    assert 1.01 * durations[1] < durations[2]


def test_the_timing_with_a_limit_of_jerk_stays_on_the_path(arm):
    stops = [np.array(HOME), np.array([0.5, -0.5, 0.5]), np.array(PICK)]
    problem = Problem(
        arm, HOME, JointGoal(PICK), via=(JointGoal(stops[1], None),), limits=MotionLimits.of(arm.robot, jerk=200.0)
    )
    found = time_scaling.plan(problem)
    assert found.solved, found.reason
    dense = time_scaling.spline(problem.stops)(np.linspace(0.0, 1.0, 20001))
    q = curve(found, 301)[0]
    assert max(np.abs(dense - row).max(axis=1).min() for row in q) < 1e-4


def test_a_jerk_too_low_for_gravity_is_no_plan_of_efforts_beyond_their_limits(arm):
    heavy = rd.create_dynamics("rnea", arm.robot, payload=rd.Payload("tool", 9.5))
    limits = MotionLimits.of(arm.robot, jerk=100.0)
    across = Problem(
        heavy, [0.5, -0.5, 0.2], JointGoal([0.5, 0.0, 0.0]), via=(JointGoal([0.5, -1.6, 0.1], None),), limits=limits
    )
    found = time_scaling.plan(across)
    assert not found.solved and "'shoulder'" in found.reason


LIMITED = {"acceleration": 3.0, "deceleration": 2.0, "jerk": 30.0}


def test_point_to_point_keeps_to_the_limits_of_the_urdf():
    """Each limit by itself: the motion reaches the ratio of it that may be used, and no more."""
    for limits, place, least in (({"acceleration": 3.0}, 2, 3.0), (LIMITED, 2, 2.0), ({"jerk": 30.0}, 3, 30.0)):
        motion = point_to_point(slider(**limits), [0.2], [1.4], share=0.8)
        assert np.abs(curve(motion)[place]).max() == pytest.approx(0.8 * least, rel=3e-3)
    assert point_to_point(slider(), [0.2], [1.4]).duration < 0.9


def test_braking_is_no_harder_than_the_urdf_allows():
    moving = Sample(np.array([0.0]), np.array([0.6]), np.array([0.0]))
    for limits, most in (({}, 20.0), ({"deceleration": 2.0}, 2.0)):
        dynamics = slider(**limits)
        stop = braking(dynamics, moving, dynamics.robot.velocity_limit, dynamics.robot.effort_limit)
        greatest = np.abs(curve(stop)[2]).max()
        assert most / 4.0 < greatest <= most


def test_a_demonstration_is_slowed_down_to_the_limits_of_the_urdf():
    times = np.linspace(0.0, 2.0, 401)
    shown = (0.6 - 0.6 * np.cos(np.pi * times / 2.0))[:, np.newaxis]
    quick = demonstration(slider(), times, shown).trajectory
    assert np.abs(curve(quick)[2]).max() > 1.2
    for name, place, most in (("acceleration", 2, 0.6), ("jerk", 3, 3.0)):
        slow = demonstration(slider(**{name: most}), times, shown)
        assert slow.slowed > 1.1
        assert 0.7 * most < np.abs(curve(slow.trajectory)[place]).max() <= 1.01 * most
