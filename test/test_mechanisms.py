# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The mechanisms of urdf/ and of the reference: numbers, limits, and where their tips are."""

import numpy as np
import pytest
from arms import URDF, lesson_arm
from numpy.testing import assert_allclose

from robodyn_ros.kinematics.screws import screws
from robodyn_ros.robot import Robot, load_robot


@pytest.mark.parametrize(
    ("name", "joints"),
    [
        ("r", ("shoulder",)),
        ("pr", ("elevator", "shoulder")),
        ("rr", ("shoulder", "elbow")),
        ("prr", ("elevator", "shoulder", "wrist")),
    ],
)
def test_the_four_mechanisms(name: str, joints: tuple[str, ...]) -> None:
    path = URDF / f"{name}.urdf"
    arm = load_robot(path)
    assert (arm.name, arm.joint_names) == (name, joints)
    for limit in (arm.lower, arm.upper, arm.velocity_limit, arm.effort_limit):
        assert np.isfinite(limit).all()
    import pinocchio

    model = pinocchio.buildModelFromUrdf(str(path))
    assert list(model.names)[1:] == list(joints)
    assert_allclose(model.upperEffortLimit, arm.effort_limit, rtol=0)
    assert_allclose(model.upperVelocityLimit, arm.velocity_limit, rtol=0)
    import mujoco

    assert mujoco.MjModel.from_xml_path(str(path)).nv == arm.n
    # Everything points straight up at 0, along the axis that gravity pulls at: an equilibrium of the revolute joints.
    for found in arm.joints:
        assert found.axis.tolist() == ([0, 0, 1] if found.is_prismatic else [0, 1, 0])
    assert_allclose(screws(arm, "tool").home[:2, 3], 0, atol=1e-15)
    # The efforts hold the worst static load (one body after the other laid level) with twice as much to spare.
    gravity = np.array(
        [9.81 * sum(body.inertial.mass * reach(arm, i, j) for j, body in enumerate(arm.bodies)) for i in range(arm.n)]
    )
    assert (arm.effort_limit > 2 * gravity).all()


def reach(arm: Robot, joint_index: int, body_index: int) -> float:
    """How far a body's centre of mass is from a joint when everything is straight; 1 for a prismatic joint [m, -]."""
    if body_index < joint_index:
        return 0.0
    if arm.joints[joint_index].is_prismatic:
        return 1.0
    between = sum(arm.bodies[k].placement.translation[2] for k in range(joint_index + 1, body_index + 1))
    return float(between + arm.bodies[body_index].inertial.com[2])


def test_the_prr_arm_has_its_real_numbers() -> None:
    arm = load_robot(URDF / "prr.urdf")
    assert arm.lower.tolist() == [0.0, -2.0, -1.5]
    assert arm.upper.tolist() == [2.1, 2.0, 2.1]
    assert arm.velocity_limit.tolist() == [2.0, 12.0, 8.0]
    assert [body.inertial.mass for body in arm.bodies] == [13.0, 1.0, 6.0]
    assert [body.inertial.com[2] for body in arm.bodies[1:]] == [0.25, 0.14]
    moments = [body.inertial.inertia[1, 1] for body in arm.bodies[1:]]
    assert_allclose(moments, [0.5**2 / 12, 6 * 0.343**2 / 12], rtol=1e-10)
    assert arm.bodies[2].placement.translation.tolist() == [0.0, 0.0, 0.5]
    assert arm.link("tool").pose.translation.tolist() == [0.0, 0.0, 0.343]


def test_the_lessons_arm_lies_level_and_rises() -> None:
    found, q = screws(load_robot(lesson_arm()), "tool"), np.deg2rad([45.0, 30.0])
    assert_allclose(found.home[:3, 3], [0.9, 0, 0], atol=1e-15)
    expected = [0.5 * np.cos(q[0]) + 0.4 * np.cos(q.sum()), 0, 0.5 * np.sin(q[0]) + 0.4 * np.sin(q.sum())]
    assert_allclose(found.pose(q)[:3, 3], expected, rtol=1e-10, atol=1e-15)
