# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""From a pose to a motion: goals within limits or refusals with reasons, and the trajectory there."""

import re

import numpy as np
import pytest
from arms import joint, link, mechanism, resized, robot
from industrial import urdfs
from numpy.testing import assert_allclose

import robodyn_ros as rd
from robodyn_ros.control.motion.point_to_point import point_to_point
from robodyn_ros.errors import InputError
from robodyn_ros.kinematics import Kinematics, se3
from robodyn_ros.kinematics.inverse import Task
from robodyn_ros.kinematics.target import ToolTarget, UnreachableError
from robodyn_ros.planning.problem import SmoothModel, ToolGoal
from robodyn_ros.robot.configuration import random_positions


@pytest.mark.parametrize("wide", [False, True])
def test_a_planar_arm_at_its_limits_is_found_again(prr: str, wide: bool) -> None:
    """Rounding in the closed form does not put it beyond them, nor a turn away where the range is more than a turn."""
    limits = 'lower="-3.5" upper="3.5"'
    arm = rd.load_robot(re.sub('lower="-[^"]*" upper="[^"]*"', limits, prr) if wide else prr)
    kinematics, target = Kinematics(arm), ToolTarget(Kinematics(arm), "tool")
    for q, index in zip(random_positions(arm, 60), np.arange(60) % arm.n, strict=True):
        for limit in (arm.lower, arm.upper):
            q[index] = limit[index]
            pose = kinematics.pose("tool", q)
            goal = target.goal(pose, q + 0.01)
            assert_allclose(goal.q, q, atol=1e-9)
            assert_allclose(goal.pose, pose, atol=1e-12)
            assert goal.position_error < 1e-12
            assert ((arm.lower <= goal.q) & (goal.q <= arm.upper)).all()


def test_refusals_of_a_planar_arm(prr: str) -> None:
    arm = rd.load_robot(prr)
    kinematics = Kinematics(arm)
    target, pose, q = ToolTarget(kinematics, "tool"), kinematics.pose("tool", [0.7, 0.5, 0.9]), [0, 0, 0]
    beside = "out of reach: the wrist would be 5.16696 m beside the lift's axis; the first link has 0.5 m"
    for moved, message in (
        ([0, 0, 5, 0, 0, 0], beside),
        ([0, 0.1, 0, 0, 0, 0], "out of the plane of the arm by 0.1 m"),
        ([0, 0, 0, 0.3, 0, 0], "tilt out of the plane by 0.3 rad"),
        ([0, 0, -0.9, 0, 2.0, 0], "reachable only outside the position limits, at"),
    ):
        with pytest.raises(UnreachableError, match="target of 'tool'") as refused:
            target.goal(pose @ se3.exp(moved), q)
        assert message in refused.value.reason
    with pytest.raises(UnreachableError, match=r"limits, at \[-0\.05 -?0\. +-?0\. +\]"):  # without a rest of 1e-17
        target.goal(kinematics.pose("tool", [-0.05, 0, 0]), q)
    close = target.goal(pose @ se3.exp([0, 0.005, 0, 0.01, 0, 0]), q)  # within the slack: as near as the plane allows
    assert_allclose((close.position_error, close.rotation_error), (0.005, 0.01), rtol=1e-3)
    with pytest.raises(InputError, match="q"):
        target.goal(pose, [0, np.nan, 0])


def test_what_a_task_does_not_count_is_free_for_a_planar_arm_too(prr: str) -> None:
    """A tool that points out of the plane cannot have the axes of the root link; a goal of its position needs not."""
    text = prr.replace('xyz="0 0 0.343"', 'xyz="0 0 0.343" rpy="1.2 0 0"')
    dynamics = rd.create_dynamics("rnea", rd.load_robot(text), compiled=False)
    kinematics, q = Kinematics(dynamics.robot, compiled=False), np.array([1.0, 0.5, -0.3])
    place = kinematics.pose("tool", q)[:3, 3]
    for found in (
        ToolTarget(kinematics, "tool", task=Task.position()).goal(se3.motion(np.eye(3), place), q + 0.1).q,
        ToolGoal.at(place, "tool").positions(SmoothModel(dynamics), q + 0.1),
    ):
        assert_allclose(kinematics.pose("tool", found)[:3, 3], place, atol=1e-6)
    with pytest.raises(UnreachableError, match=r"tilt out of the plane by 1\.2 rad"):
        ToolTarget(kinematics, "tool").goal(se3.motion(np.eye(3), place), q)


def test_a_two_link_arm_is_asked_for_a_position_only() -> None:
    arm = rd.load_robot(mechanism("RR", lengths=(0.55, 0.45)))
    kinematics = Kinematics(arm, compiled=False)
    pose = kinematics.pose("tool", [0.4, -0.9])
    pose[:3, :3] = pose[:3, :3] @ se3.exp([0, 0, 0, 0, 0.7, 0])[:3, :3]
    goal = ToolTarget(kinematics, "tool").goal(pose, [0.3, -0.8])
    assert_allclose(goal.q, [0.4, -0.9], atol=1e-9)
    assert_allclose(goal.rotation_error, 0.7, rtol=1e-9)


@pytest.mark.parametrize("size", [1.0, 1e-3])
def test_a_planar_arm_of_six_joints_is_refused_what_is_out_of_its_plane(size: float) -> None:
    arm = rd.load_robot(resized(mechanism("RRRRRR"), size))
    kinematics, q = Kinematics(arm, compiled=False), np.full(6, 0.3)
    target, pose = ToolTarget(kinematics, "tool"), kinematics.pose("tool", q)
    pose[1, 3] = 0.015 * size
    assert_allclose(target.goal(pose, q).position_error, 0.015 * size, rtol=1e-3)
    pose[1, 3] = 0.5 * size
    with pytest.raises(UnreachableError, match=f"out of the plane of the arm by {0.5 * size:.3g} m"):
        target.goal(pose, q)


@pytest.mark.skipif(not urdfs(), reason="example-robot-data is not installed")
def test_a_six_joint_arm_takes_the_nearest_posture() -> None:
    arm = rd.load_robot(urdfs()["ur5_robot"])
    kinematics = Kinematics(arm)
    target = ToolTarget(kinematics, "tool0")
    for q in np.random.default_rng(1).uniform(-2, 2, (10, 6)):
        goal = target.goal(kinematics.pose("tool0", q), q + 0.05)
        assert_allclose(goal.q, q, atol=1e-4)
        assert goal.position_error < 1e-6
    with pytest.raises(UnreachableError, match="beyond reach"):
        target.goal(se3.motion(np.eye(3), [2, 0, 0]), np.zeros(6))
    with pytest.raises(UnreachableError, match=r"not found|limits"):
        target.goal(se3.motion(np.eye(3), [0, 0, 0.09]), np.zeros(6))  # in its own base


def test_the_motion_is_as_quick_as_the_limits_allow(prr: str) -> None:
    """Speeds and efforts within that ratio of the limits, and one of them all but reached; at rest at both ends."""
    arm = rd.load_robot(prr)
    dynamics = rd.create_dynamics("rnea", arm)
    dynamics.configure(viscous=[5.0, 0.2, 0.1], coulomb=[3.0, 0.2, 0.1])
    rng = np.random.default_rng(3)
    efforts_count = 0
    for _ in range(10):
        start, goal = rng.uniform(arm.lower, arm.upper, (2, 3))
        limit = np.array([350.0, 50.0, 10.0])
        made = point_to_point(dynamics, start, goal, effort_limit=limit, limit_ratio=0.9)
        states = [made.sample(t) for t in np.linspace(0, made.duration, 400)]
        q, qd, qdd = (np.array([getattr(state, name) for state in states]) for name in ("q", "qd", "qdd"))
        assert_allclose(q[[0, -1]], [start, goal], atol=1e-12)
        assert_allclose(qd[[0, -1]], 0, atol=1e-9)
        speed = (np.abs(qd) / arm.velocity_limit).max()
        effort = (np.abs(dynamics.inverse(q, qd, qdd)) / limit).max()
        assert speed <= 0.9 + 1e-9
        assert effort <= 0.9 * 1.01  # between the instants that were looked at
        assert max(speed, effort) > 0.9 * 0.98
        efforts_count += effort > speed
    assert efforts_count > 0  # some motions are bound by efforts


def test_efforts_too_low_to_hold_the_arm_are_refused_with_the_joint(prr: str) -> None:
    dynamics = rd.create_dynamics("rnea", rd.load_robot(prr))
    with pytest.raises(InputError, match=r"joint 'elevator' would need 196.*however slowly"):
        point_to_point(dynamics, [0, 0, 0], [2, -1, 1], effort_limit=[190, 96, 36])
    for call, message in (
        (lambda: point_to_point(dynamics, [0, 0], [2, -1, 1]), "start"),
        (lambda: point_to_point(dynamics, [0, 0, 0], [2, np.inf, 1]), "goal"),
        (lambda: point_to_point(dynamics, [0, 0, 0], [2, 0, 1], limit_ratio=0.0), "limit_ratio: must be above 0"),
        (lambda: point_to_point(dynamics, [0, 0, 0], [2, 0, 1], velocity_limit=[1, 0, 1]), "velocity_limit"),
    ):
        with pytest.raises(InputError, match=message):
            call()
    nowhere = point_to_point(dynamics, [0.5, 0.1, 0.2], [0.5, 0.1, 0.2])
    assert 0.0 < nowhere.duration < 0.1


def test_a_continuous_joint_goes_the_shorter_way() -> None:
    turret = joint("turret", "continuous", "base", "a", (0, 0, 1), limit=(0, 0, 2.0, 5.0))
    arm = robot("turret", link("base"), link("a", 2.0, (0.1, 0, 0), (0.01, 0, 0, 0.02, 0, 0.03)), turret)
    made = point_to_point(rd.create_dynamics("rnea", rd.load_robot(arm), compiled=False), [3.0], [-3.0])
    assert_allclose(made.positions[:, 0], [3.0, 2 * np.pi - 3.0])
    assert made.duration < 0.5
