# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Arms whose axes are almost parallel, as right angles written with four digits make them: as true as any other arm.

The common normal of two axes that are parallel but for 1e-6 rad may lie kilometres away.
"""

import numpy as np
import pytest
from arms import joint, link, robot
from numpy.testing import assert_allclose
from truth import Pinocchio

import robodyn_ros as rd
from robodyn_ros.kinematics.tree import build_tree

JOINTS = 6


def chain(exponent: int, seed: int) -> str:
    """Six joints, the axis of each off the one before by about 10^-exponent rad, in every direction."""
    rng = np.random.default_rng([exponent, seed])
    angle, parts = 10.0**-exponent, [link("link0")]
    for i in range(JOINTS):
        points = rng.normal(size=(3, 3)) * 0.1
        second = points @ points.T
        inertia = np.trace(second) * np.eye(3) - second
        six = inertia[np.triu_indices(3)]
        parts.append(link(f"link{i + 1}", rng.uniform(0.5, 4.0), 0.2 * rng.normal(size=3), six, rng.normal(size=3)))
        kind = "prismatic" if rng.random() < 0.2 else "revolute"
        direction = rng.normal(size=3)
        axis = np.array([0.0, 0.0, 1.0]) + angle * direction / np.linalg.norm(direction)
        rpy = rng.normal(size=3) * angle if i % 2 else (0.0, 0.0, rng.normal())
        parts.append(joint(f"joint{i}", kind, f"link{i}", f"link{i + 1}", axis, 0.3 * rng.normal(size=3), rpy))
    return robot("nearly parallel", *parts)


@pytest.mark.parametrize("exponent", [1, 4, 6, 9])
@pytest.mark.parametrize("plugin", ["rnea", "lagrangian"])
def test_efforts_and_mass_matrix_are_those_of_pinocchio(plugin: str, exponent: int) -> None:
    robot = rd.load_robot(chain(exponent, exponent))
    truth, dynamics = Pinocchio(robot, (0, 0, -9.81)), rd.create_dynamics(plugin, robot, compiled=False)
    for q, qd, qdd in np.random.default_rng(exponent).uniform(-2.0, 2.0, (3, 3, JOINTS)):
        expected, M = truth.inverse(q, qd, qdd), truth.mass_matrix(q)
        assert_allclose(dynamics.inverse(q, qd, qdd), expected, atol=1e-10 * abs(expected).max())
        assert_allclose(dynamics.mass_matrix(q), M, atol=1e-10 * abs(M).max())


@pytest.mark.parametrize("exponent", [1, 4, 6, 9])
def test_frames_stay_near_the_arm(exponent: int) -> None:
    for seed in range(6):
        arm = rd.load_robot(chain(exponent, seed))
        reach = sum(np.linalg.norm(body.placement.translation) for body in arm.bodies)
        for node in build_tree(arm).nodes:
            assert np.linalg.norm(node.frame.translation) <= 10.0 * reach
            assert_allclose(node.frame.rotation.T @ node.frame.rotation, np.eye(3), atol=1e-14)
