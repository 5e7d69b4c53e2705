# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The mechanisms of urdf/: numbers and limits."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from robodyn_ros.kinematics.screws import screws
from robodyn_ros.robot import Robot, load_robot

JOINTS = {"r": "shoulder", "pr": "elevator shoulder", "rr": "shoulder elbow", "prr": "elevator shoulder wrist"}


@pytest.mark.parametrize("name", JOINTS)
def test_the_four_mechanisms(name: str) -> None:
    arm = load_robot(name)
    assert (arm.name, " ".join(arm.joint_names)) == (name, JOINTS[name])
    for limit in (arm.lower, arm.upper, arm.velocity_limit, arm.effort_limit):
        assert np.isfinite(limit).all()
    # Everything points straight up at 0, along the axis that gravity pulls at: an equilibrium of the revolute joints.
    for found in arm.joints:
        assert found.axis.tolist() == ([0, 0, 1] if found.is_prismatic else [0, 1, 0])
    assert_allclose(screws(arm, "tool").home[:2, 3], 0, atol=1e-15)
    # The efforts hold the worst static load (one body after the other laid level) with twice as much to spare.
    for i, limit in enumerate(arm.effort_limit):
        assert limit > 2 * 9.81 * sum(body.inertial.mass * reach(arm, i, j) for j, body in enumerate(arm.bodies))


def reach(arm: Robot, joint_index: int, body_index: int) -> float:
    """How far a body's centre of mass is from a joint when everything is straight; 1 for a prismatic joint [m, -]."""
    if body_index < joint_index:
        return 0.0
    if arm.joints[joint_index].is_prismatic:
        return 1.0
    between = sum(arm.bodies[k].placement.translation[2] for k in range(joint_index + 1, body_index + 1))
    return float(between + arm.bodies[body_index].inertial.com[2])


def test_the_prr_arm_has_its_real_numbers() -> None:
    arm = load_robot("prr")
    assert arm.lower.tolist() == [0.0, -2.0, -1.5]
    assert arm.upper.tolist() == [2.1, 2.0, 2.1]
    assert arm.velocity_limit.tolist() == [2.0, 12.0, 8.0]
    assert [body.inertial.mass for body in arm.bodies] == [13.0, 1.0, 6.0]
    assert [body.inertial.com[2] for body in arm.bodies[1:]] == [0.25, 0.14]
    moments = [body.inertial.inertia[1, 1] for body in arm.bodies[1:]]
    assert_allclose(moments, [0.5**2 / 12, 6 * 0.343**2 / 12], rtol=1e-10)
    assert arm.bodies[2].placement.translation.tolist() == [0.0, 0.0, 0.5]
    assert arm.link("tool").pose.translation.tolist() == [0.0, 0.0, 0.343]
