# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The same URDF text read by Pinocchio gives the same tree, bodies and limits."""

import pinocchio
import pytest
from arms import OURS, awkward, random_robot
from numpy.testing import assert_allclose

from robodyn_ros.robot import load_robot

MANY = {
    **{name: OURS[name] for name in ("r", "pr", "rr", "prr")},
    **awkward(),
    **{f"random{seed}": random_robot(seed, joints=2 + seed % 7) for seed in range(20)},
}


@pytest.mark.parametrize("name", MANY)
def test_pinocchio_reads_the_same_tree(name: str) -> None:
    arm, model = load_robot(MANY[name]), pinocchio.buildModelFromXML(MANY[name])
    assert {body.joint.name for body in arm.bodies} == set(model.names) - {"universe"}
    for body in arm.bodies:
        index = model.getJointId(body.joint.name)
        parent = "universe" if body.parent < 0 else arm.bodies[body.parent].joint.name
        assert model.names[model.parents[index]] == parent
        placement, inertia = model.jointPlacements[index], model.inertias[index]
        assert_allclose(body.placement.rotation, placement.rotation, rtol=1e-10, atol=1e-12)
        assert_allclose(body.placement.translation, placement.translation, rtol=1e-10, atol=1e-12)
        assert_allclose(body.inertial.mass, inertia.mass, rtol=1e-10)
        assert_allclose(body.inertial.com, inertia.lever, rtol=1e-10, atol=1e-12)
        assert_allclose(body.inertial.inertia, inertia.inertia, rtol=1e-10, atol=1e-12)
    pairs = [(i, model.joints[model.getJointId(found.name)].idx_v) for i, found in enumerate(arm.joints)]
    for i, v in pairs:
        assert (arm.lower[i], arm.upper[i]) == (model.lowerPositionLimit[v], model.upperPositionLimit[v])
        assert (arm.velocity_limit[i], arm.effort_limit[i]) == (model.upperVelocityLimit[v], model.upperEffortLimit[v])
        assert (arm.joints[i].damping, arm.joints[i].friction) == (model.damping[v], model.upperDryFrictionLimit[v])
