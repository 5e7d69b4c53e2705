# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Motions to a pose of the tool: they end there, keep to the limits by the model, and begin as the arm moves."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import robodyn_ros as rd
from robodyn_ros.control.limits import Limits
from robodyn_ros.control.motion.own_motions import PoseGoal, ToolMotion, ToolSettings
from robodyn_ros.control.motion.point_to_point import braking, point_to_point
from robodyn_ros.control.motion.trajectory import Sample
from robodyn_ros.errors import InputError
from robodyn_ros.kinematics import se3
from robodyn_ros.kinematics.target import UnreachableError
from robodyn_ros.robot.robot import tip

GOAL = np.array([0.9, 0.7, -0.8])
STILL = np.zeros(3)


class Rig:
    """The PRR arm, and what is asked of it."""

    def __init__(self, prr):
        self.robot = rd.load_robot(prr)
        self.kinematics = rd.Kinematics(self.robot)
        self.dynamics = rd.create_dynamics("rnea", self.robot, payload=rd.Payload("tool", 1.5))
        self.motion = ToolMotion(self.robot, "tool")
        self.limits = Limits.of(self.robot, self.robot.effort_limit)

    def plan(self, target, now, speed=0.5):
        config = ToolSettings(target_speed=speed)
        return self.motion.plan(PoseGoal(target, now, self.limits, self.dynamics.parameters, config))

    def pose(self, q):
        return self.kinematics.pose("tool", q)

    def efforts(self, trajectory):
        samples = [trajectory.sample(t) for t in np.linspace(0.0, trajectory.duration, 2000, endpoint=False)]
        q, qd, qdd = (np.array(values) for values in zip(*samples, strict=True))
        return np.abs(self.dynamics.inverse(q, qd, qdd)) / self.robot.effort_limit, np.abs(qd)


@pytest.fixture(scope="module")
def rig(prr):
    return Rig(prr)


def test_from_rest_it_goes_there_within_the_limits(rig):
    start = np.array([0.4, -0.6, 0.5])
    slow, fast = (rig.plan(rig.pose(GOAL), Sample(start, STILL, STILL), speed=speed) for speed in (0.1, 1.0))
    for trajectory, speed in ((slow, 0.1), (fast, 1.0)):
        assert_allclose(trajectory.positions, [start, GOAL], atol=1e-9)
        efforts, speeds = rig.efforts(trajectory)
        assert efforts.max() <= 0.801
        assert (speeds <= 1.001 * speed * rig.robot.velocity_limit).all()
    # The joint that has the furthest way to go, by its limit, is the one that decides.
    assert (rig.efforts(slow)[1] / rig.robot.velocity_limit).max() == pytest.approx(0.1, rel=1e-3)
    assert fast.duration < slow.duration


def test_friction_of_the_model_counts_once(prr):
    rig = Rig(prr.replace('effort="96"/>', 'effort="96"/><dynamics damping="0" friction="20"/>'))
    rig.dynamics.configure(coulomb=rig.robot.friction)
    assert rig.robot.friction.any()
    start = np.array([0.4, -0.6, 0.5])
    planned = rig.plan(rig.pose(GOAL), Sample(start, STILL, STILL), speed=1.0)
    speed = rig.limits.velocity / 0.8
    wanted = point_to_point(rig.dynamics, start, GOAL, velocity_limit=speed)
    assert planned.duration == pytest.approx(wanted.duration, rel=1e-3)


def test_an_arm_that_moves_is_brought_to_rest_first(rig):
    now = Sample(np.array([0.8, 0.2, 0.3]), np.array([0.4, 1.1, -2.0]), np.array([-0.5, 0.8, 1.5]))
    trajectory = rig.plan(rig.pose(GOAL), now)
    first = trajectory.sample(0.0)
    for found, wanted in zip(first, now, strict=True):
        assert_allclose(found, wanted, atol=1e-9)
    assert_allclose(trajectory.positions[-1], GOAL, atol=1e-9)
    assert not trajectory.velocities[1:].any()
    efforts, speeds = rig.efforts(trajectory)
    assert efforts.max() <= 0.905
    assert (speeds <= np.maximum(0.501 * rig.robot.velocity_limit, np.abs(now.qd) + 0.05)).all()


def test_braking_never_turns_back(rig):
    motion = Sample(np.array([0.8, 0.2, 0.3]), np.array([0.4, 1.1, -2.0]), STILL)
    brake = braking(rig.dynamics, motion, rig.robot.velocity_limit, rig.robot.effort_limit)
    speeds = np.array([brake.sample(t).qd for t in np.linspace(0.0, brake.duration, 500)])
    assert (speeds * np.sign(motion.qd) >= -1e-12).all()
    assert (np.diff(np.abs(speeds), axis=0) <= 1e-12).all()
    with pytest.raises(InputError, match="cannot be brought to rest"):
        braking(rig.dynamics, motion, rig.robot.velocity_limit, 0.1 * rig.robot.effort_limit)


def test_what_cannot_be_is_refused(rig):
    rest = Sample(np.array([0.4, -0.6, 0.5]), STILL, STILL)
    with pytest.raises(UnreachableError, match="out of the plane of the arm"):
        rig.plan(se3.motion(np.eye(3), [0.0, 0.2, 0.0]) @ rig.pose(GOAL), rest)
    limits = Limits.of(rig.robot, 0.3 * rig.robot.effort_limit)
    with pytest.raises(InputError, match="joint 'elevator' would need"):
        rig.motion.plan(PoseGoal(rig.pose(GOAL), rest, limits, rig.dynamics.parameters))
    with pytest.raises(InputError, match="'base' is fixed to the base"):
        ToolMotion(rig.robot, "base")
    assert tip(rig.robot) == "tool"
