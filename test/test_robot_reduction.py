# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""A robot with joints locked, against Pinocchio's ``buildReducedModel`` and the whole arm's own equations."""

import re
import sys

import arms
import numpy as np
import pinocchio
import pytest
from truth import Pinocchio

import robodyn_ros as rd
from robodyn_ros.dynamics.parameters import parameters_of, standard_parameters
from robodyn_ros.errors import InputError
from robodyn_ros.kinematics import Kinematics
from robodyn_ros.robot.reduction import LockedJoints, chosen_joints

GRAVITY = (1.1, -0.7, -9.81)


def drawn(seed, mimic):
    """A random robot, some of its joints to lock, and their positions."""
    robot = rd.load_robot(arms.random_robot(seed, joints=8, mimic=mimic))
    rng = np.random.default_rng([seed, 7])
    locked = rng.permutation(robot.n)[: rng.integers(1, robot.n)]
    return robot, {robot.joint_names[i]: float(rng.uniform(-2, 2)) for i in locked}, rng


def assert_same_motion(found, expected):
    """Both are (M, g, τ) at one state."""
    for ours, theirs in zip(found, expected, strict=True):
        scale = max(1.0, np.abs(theirs).max())
        np.testing.assert_allclose(ours, theirs, rtol=0.0, atol=1e-12 * scale)


def motion(dynamics, q, qd, qdd):
    return dynamics.mass_matrix(q), dynamics.gravity(q), dynamics.inverse(q, qd, qdd)


@pytest.mark.parametrize("seed", range(4))
def test_it_is_pinocchios_reduced_model(seed):
    robot, locked, rng = drawn(seed, mimic=0.0)
    whole = pinocchio.buildModelFromXML(robot.urdf)
    whole.gravity.linear = np.array(GRAVITY)
    at = pinocchio.neutral(whole)
    for name, position in locked.items():
        at[whole.joints[whole.getJointId(name)].idx_q] = position
    model = pinocchio.buildReducedModel(whole, [whole.getJointId(name) for name in locked], at)
    data, left = model.createData(), robot.reduced(locked=locked)
    order = [model.joints[model.getJointId(name)].idx_v for name in left.joint_names]
    assert sorted(order) == list(range(left.n)) and left.n == robot.n - len(locked)
    q, qd, qdd = rng.uniform(-1, 1, (3, left.n))
    state = np.zeros((3, left.n))
    state[:, order] = q, qd, qdd
    upper = np.triu(pinocchio.crba(model, data, state[0]))
    mass = (upper + np.triu(upper, 1).T)[np.ix_(order, order)]
    gravity = pinocchio.rnea(model, data, state[0], np.zeros(left.n), np.zeros(left.n))[order]
    expected = mass, gravity, pinocchio.rnea(model, data, *state)[order]
    for made in (left, rd.load_robot(left.urdf)):  # what is written into the URDF is the same robot
        dynamics = rd.create_dynamics("rnea", made, gravity=GRAVITY, compiled=False)
        assert made.joint_names == left.joint_names
        assert_same_motion(motion(dynamics, q, qd, qdd), expected)


@pytest.mark.parametrize("seed", range(20, 23))
def test_joints_that_mimic_a_locked_one_are_locked_with_it(seed):
    robot, locked, rng = drawn(seed, mimic=0.5)
    assert any(body.joint.mimic is not None for body in robot.bodies)
    left = robot.reduced(locked=locked)
    free = [robot.joint_names.index(name) for name in left.joint_names]
    state = np.zeros((3, robot.n))
    state[:, free] = q, qd, qdd = rng.uniform(-1, 1, (3, left.n))
    for name, position in locked.items():
        state[0, robot.joint_names.index(name)] = position
    whole, rest = Pinocchio(robot, GRAVITY), np.zeros(robot.n)
    expected = whole.mass_matrix(state[0])[np.ix_(free, free)], whole.inverse(state[0], rest, rest)[free]
    dynamics = rd.create_dynamics("lagrangian", left, gravity=GRAVITY, compiled=False)
    assert_same_motion(motion(dynamics, q, qd, qdd), (*expected, whole.inverse(*state)[free]))
    tip, (one, other) = robot.links[-1].name, (Kinematics(each, compiled=False) for each in (left, robot))
    np.testing.assert_allclose(one.pose(tip, q), other.pose(tip, state[0]), atol=1e-12)


@pytest.mark.parametrize("seed", [42, 43, 44])
def test_inertials_follow_locked_joints_that_move(seed):
    """Nothing is made anew: the parameters of the model become those of the robot with the joints elsewhere."""
    robot, locked, rng = drawn(seed, mimic=0.3)
    joints = LockedJoints(robot, [name for name in robot.joint_names if name not in locked])
    loose = [index for index, name in enumerate(joints.names) if name not in joints.carrying]
    first = np.array([locked[name] for name in joints.names])
    then = first.copy()
    then[loose] += rng.uniform(-1, 1, len(loose))
    left, other = joints.robot(first), joints.robot(then)
    theta = np.concatenate([parameters_of(own) for own in joints.inertials(then)])
    np.testing.assert_allclose(theta, standard_parameters(other), rtol=0.0, atol=1e-13)
    assert np.abs(theta - standard_parameters(left)).max() > 1e-6
    dynamics = rd.create_dynamics("rnea", left, gravity=GRAVITY, compiled=False)
    dynamics.configure(inertial=theta)
    state = rng.uniform(-1, 1, (3, left.n))
    expected = rd.create_dynamics("rnea", other, gravity=GRAVITY, compiled=False)
    assert_same_motion(motion(dynamics, *state), motion(expected, *state))


def test_what_carries():
    robot = rd.load_robot(arms.awkward()["branched"])
    bodies = {body.joint.name: body for body in robot.bodies}
    last = robot.joint_names[-1]
    joints = LockedJoints(robot, [last])
    chain, body = set(), bodies[last]
    while body.parent >= 0:
        body = robot.bodies[body.parent]
        chain.add(body.joint.name)
    assert set(joints.carrying) == chain
    assert joints.names == robot.joint_names[:-1]
    assert LockedJoints(robot, robot.joint_names[:1]).carrying == ()


def test_the_middle_of_the_range():
    parts = [
        *(arms.link(name, 1.0, None, arms.BODY) for name in ("base", "arm", "finger", "wheel", "hook", "plumb")),
        arms.joint("lift", "revolute", "base", "arm", (0, 1, 0)),
        arms.joint("grip", "prismatic", "arm", "finger", (0, 1, 0), limit=(0.01, 0.05, 1, 1)),
        arms.joint("roll", "continuous", "arm", "wheel", (0, 1, 0), limit=None),
        arms.joint("hang", "prismatic", "arm", "hook", (0, 0, 1), limit=(0.02, sys.float_info.max, 1, 1)),
        arms.joint("sink", "prismatic", "arm", "plumb", (0, 0, 1), limit=(-sys.float_info.max, -0.04, 1, 1)),
    ]
    joints = LockedJoints(rd.load_robot(arms.robot("gripper", *parts)), ["lift"])
    assert joints.names == ("grip", "roll", "hang", "sink")
    np.testing.assert_allclose(joints.middle, [0.03, 0.0, 0.02, -0.04], rtol=1e-15)  # within its one limit


@pytest.mark.parametrize(
    ("locked", "said"),
    [
        ({"elbow": 0.0}, "'elbow' is not in the robot; its joints are elevator, shoulder, wrist"),
        ({"wrist": np.nan}, "finite"),
        ({"wrist": None}, "must be a finite position for each of wrist, not [None]"),
        ({"elevator": 0.1, "shoulder": 0.2, "wrist": 0.3}, "must name at least one of elevator, shoulder, wrist"),
    ],
)
def test_what_cannot_be_locked(prr, locked, said):
    with pytest.raises(InputError, match=re.escape(said)):
        rd.load_robot(prr).reduced(locked=locked)


def test_joints_that_are_neither_controlled_nor_placed_stand_in_the_middle(prr):
    robot = rd.load_robot(prr)
    found = chosen_joints(robot, ["wrist"], {"shoulder": 0.2})
    assert found.robot.joint_names == ("wrist",)
    middle = (robot.lower[0] + robot.upper[0]) / 2.0
    assert found.locked == {"elevator": pytest.approx(middle), "shoulder": 0.2}
    assert found.assumed == ("elevator",)
    assert chosen_joints(robot, None, {"shoulder": 0.2}).robot.joint_names == ("elevator", "wrist")
    with pytest.raises(InputError, match="'wrist' is among the joints that are controlled"):
        chosen_joints(robot, ["wrist"], {"wrist": 0.2})


def test_a_joint_that_mimics_cannot_be_locked_by_itself():
    robot = rd.load_robot(arms.awkward()["mimic"])
    follower = next(body for body in robot.bodies if body.joint.mimic is not None)
    leader = robot.joint_names[follower.coordinate]
    with pytest.raises(InputError, match=f"{follower.joint.name!r} mimics {leader!r}"):
        robot.reduced(locked={follower.joint.name: 0.1})


def test_nothing_locked_is_the_same_robot(prr):
    robot = rd.load_robot(prr)
    same = robot.reduced(locked={})
    assert same.urdf == robot.urdf and same.joint_names == robot.joint_names
