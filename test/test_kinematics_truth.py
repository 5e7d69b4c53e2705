# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Poses and Jacobians against Pinocchio, three routes against each other, and derivatives against differences."""

import numpy as np
import pytest
from arms import OURS, awkward, lesson_arm, mechanism, random_robot
from industrial import urdfs
from numpy.testing import assert_allclose
from truth import Pinocchio

import robodyn_ros as rd
from robodyn_ros.engine import Kernel
from robodyn_ros.errors import InputError, RobotDescriptionError
from robodyn_ros.kinematics import Kinematics, se3
from robodyn_ros.kinematics.dh import read_dh
from robodyn_ros.kinematics.screws import screws

INDUSTRIAL = urdfs()

ARMS = {
    **OURS,
    "lesson": lesson_arm(),
    "unit": mechanism("PRR", lengths=(0, 2, 1)),
    **awkward(),
    **{f"random{seed}": random_robot(seed, 2 + seed % 6, mimic=0.2 if seed % 2 else 0.0) for seed in range(5)},
    **{name: INDUSTRIAL[name].read_text() for name in ("ur5_robot", "panda", "kinova") if name in INDUSTRIAL},
}
TIPS = {"ur5_robot": "tool0", "panda": "panda_hand_tcp", "kinova": "j2s6s200_end_effector"}
FRAMES = {"aligned": "LOCAL_WORLD_ALIGNED", "body": "LOCAL", "space": "WORLD"}


def tip(name: str, robot: rd.Robot) -> str:
    """The link at the end: an industrial arm's flange, else the last one in the URDF."""
    return TIPS.get(name, robot.links[-1].name)


def states(robot: rd.Robot, count: int) -> tuple[np.ndarray, np.ndarray]:
    return tuple(np.random.default_rng(11).uniform(-1.5, 1.5, (2, count, robot.n)))


@pytest.mark.parametrize("name", ARMS)
def test_pinocchio(name: str) -> None:
    """Every link: pose, Jacobian and its time derivative in all three frames, at its origin, and at its COM.

    And the poses of all links at once.
    """
    robot = rd.load_robot(ARMS[name])
    kinematics, truth = Kinematics(robot, compiled=False), Pinocchio(robot, (0, 0, -9.81))
    links = robot.links if len(robot.links) < 6 else [robot.links[1], robot.links[-2], robot.link(tip(name, robot))]
    all_poses = Kernel(kinematics.poses_program(), np.zeros(0), compiled=False)
    for q, qd in zip(*states(robot, 2), strict=True):
        poses = {link.name: truth.pose(link.name, q) for link in robot.links}
        assert_allclose(all_poses.call(q), np.concatenate(list(poses.values())), atol=1e-12, rtol=0)
        for link in links:
            pose = poses[link.name]
            assert_allclose(kinematics.pose(link.name, q), pose, atol=1e-12, rtol=0)
            for ours, theirs in FRAMES.items():
                jacobian, variation = truth.jacobians(link.name, q, qd, theirs)
                assert_allclose(kinematics.jacobian(link.name, q, ours), jacobian, atol=1e-12, rtol=0)
                assert_allclose(kinematics.jacobian_derivative(link.name, q, qd, ours), variation, atol=1e-12, rtol=0)
                if ours == "aligned":
                    assert_allclose(kinematics.drift(link.name, q, qd), variation @ qd, atol=1e-12, rtol=0)
            if link.inertial is not None and link.inertial.mass > 0.0:
                shift = pose[:3, :3] @ link.inertial.com
                assert_allclose(kinematics.com(link.name, q), pose[:3, 3] + shift, atol=1e-12, rtol=0)
                world = kinematics.jacobian(link.name, q)  # compared above
                world[:3] += np.cross(world[3:], shift, axis=0)
                assert_allclose(kinematics.jacobian(link.name, q, point=link.inertial.com), world, atol=1e-12, rtol=0)


@pytest.mark.parametrize("name", ARMS)
def test_three_routes(name: str) -> None:
    """The compiled frames, the product of exponentials and both forms of the table give the same pose."""
    robot = rd.load_robot(ARMS[name])
    kinematics, link = Kinematics(robot, compiled=False), tip(name, robot)
    q, _ = states(robot, 20)
    poses, found = kinematics.pose(link, q), screws(robot, link)
    assert_allclose(found.pose(q), poses, atol=1e-12, rtol=0)
    assert_allclose(found.jacobian(q), kinematics.jacobian(link, q, "space"), atol=1e-12, rtol=0)
    home = np.broadcast_to(found.home, poses.shape).copy()  # in the body's frame: T = M Π exp([B] s)
    for axis, column, ratio, offset in zip(
        found.body_axes, found.coordinates, found.ratios, found.offsets, strict=True
    ):
        home = home @ se3.exp((ratio * q[:, column] + offset)[:, None] * axis)
    assert_allclose(home, poses, atol=1e-12, rtol=0)
    if (found.ratios != 1.0).any() or len(set(found.coordinates)) < len(found.coordinates):
        with pytest.raises(RobotDescriptionError, match="mimics"):
            read_dh(robot, link)
        return
    for convention in ("standard", "modified"):
        reading = read_dh(robot, link, convention)
        assert_allclose(reading.table.pose(q[:, reading.coordinates]), poses, atol=1e-12, rtol=0)
        assert [robot.joint_names[i] for i in reading.coordinates] == list(reading.joints)


def test_jacobians_are_derivatives() -> None:
    """Each frame's twist from central differences of the pose, and the derivative from differences of the Jacobian."""
    robot = rd.load_robot(ARMS["tilted"])
    kinematics, point, h = Kinematics(robot, compiled=False), np.array([0.3, -0.2, 0.5]), 1e-6
    for q, qd in zip(*states(robot, 3), strict=True):
        T, later, earlier = (kinematics.pose("c", q + s * h * qd, point) for s in (0, 1, -1))
        rate = (later - earlier) / (2 * h)
        spatial, body = se3.vee(rate @ se3.inverse(T)), se3.vee(se3.inverse(T) @ rate)
        assert_allclose(kinematics.jacobian("c", q, "space", point) @ qd, spatial, atol=1e-8, rtol=0)
        assert_allclose(kinematics.jacobian("c", q, "body", point) @ qd, body, atol=1e-8, rtol=0)
        aligned = np.concatenate([rate[:3, 3], spatial[3:]])
        assert_allclose(kinematics.jacobian("c", q, "aligned", point) @ qd, aligned, atol=1e-8, rtol=0)
        for frame in FRAMES:
            ahead, behind = (kinematics.jacobian("c", q + s * h * qd, frame, point) for s in (1, -1))
            derivative = kinematics.jacobian_derivative("c", q, qd, frame, point)
            assert_allclose(derivative, (ahead - behind) / (2 * h), atol=1e-8, rtol=0)


def test_compiled_is_the_same_one_by_one_and_in_batches() -> None:
    robot = rd.load_robot(ARMS["gantry"])
    compiled, plain = Kinematics(robot), Kinematics(robot, compiled=False)
    q, qd = states(robot, 37)
    for frame in FRAMES:
        expected = plain.jacobian("d", q, frame, (0.1, 0.2, 0.3))
        assert_allclose(compiled.jacobian("d", q, frame, (0.1, 0.2, 0.3)), expected, atol=1e-14, rtol=0)
        assert_allclose(compiled.jacobian("d", q[5], frame, (0.1, 0.2, 0.3)), expected[5], atol=1e-14, rtol=0)
        derivative = plain.jacobian_derivative("d", q, qd, frame)
        assert_allclose(compiled.jacobian_derivative("d", q, qd, frame), derivative, atol=1e-13, rtol=0)
    assert_allclose(compiled.pose("d", q), plain.pose("d", q), atol=1e-15, rtol=0)  # the point of before is forgotten


def test_refusals() -> None:
    kinematics = Kinematics(rd.load_robot(ARMS["prr"]), compiled=False)
    q = [0.1, 0.2, 0.3]
    for call, message in (
        (lambda: kinematics.jacobian("tool", q, "world"), "must be one of aligned, body, space"),
        (lambda: kinematics.pose("tool", q, (1, 2)), r"must be of shape \(3,\)"),
        (lambda: kinematics.pose("tool", q, (1, 2, np.inf)), "point: must be finite"),
        (lambda: kinematics.pose("tool", q, np.zeros((2, 3))), r"must be of shape \(3,\)"),
        (lambda: kinematics.com("tool", q), "has no mass"),
        (lambda: kinematics.pose("gripper", q), "is not in the robot"),
        (lambda: kinematics.jacobian_derivative("tool", q, [1, 2]), "qd"),
    ):
        with pytest.raises(InputError, match=message):
            call()
