# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Arms that are not their model: reproducible, within what was asked for, and possible."""

import arms
import numpy as np
import pytest

import robodyn_ros as rd
from robodyn_ros.dynamics.parameters import standard_parameters, to_pseudo
from robodyn_ros.simulation import create_plant
from robodyn_ros.simulation.plant.joint_effects import FrictionSettings, urdf_friction
from robodyn_ros.simulation.plant.mismatch import Mismatch

EVERYTHING = Mismatch(1.2, 0.3, 0.02, 0.4, 1.5, 0.8)


def test_no_mismatch_is_the_urdf():
    robot = rd.load_robot(arms.awkward()["gantry"])
    drawn = Mismatch().draw(robot, seed=3)
    np.testing.assert_allclose(drawn.inertial, standard_parameters(robot), rtol=0, atol=1e-15)
    assert drawn.payload is None
    assert drawn.friction == urdf_friction(robot)


@pytest.mark.parametrize("arm", ["tilted", "welded", "branched", "gantry", "mimic"])
def test_whatever_is_drawn_is_possible(arm):
    robot = rd.load_robot(arms.awkward()[arm])
    for seed in range(50):
        drawn = EVERYTHING.draw(robot, seed)
        assert np.linalg.eigvalsh(to_pseudo(drawn.inertial.reshape(-1, 10))).min() > -1e-12
        dynamics = rd.create_dynamics("rnea", robot, compiled=False, **drawn.parameters)
        M = dynamics.mass_matrix(np.linspace(0.3, -0.2, robot.n))
        assert np.linalg.eigvalsh(M)[0] > 0.0


def test_the_same_seed_gives_the_same_arm_and_another_another():
    robot = rd.load_robot(arms.awkward()["gantry"])
    one, same, other = (EVERYTHING.draw(robot, seed) for seed in (7, 7, 8))
    np.testing.assert_array_equal(one.inertial, same.inertial)
    assert one.friction == same.friction
    assert (one.inertial != other.inertial).any()


def test_masses_and_inertias_are_within_their_spreads():
    robot = rd.load_robot(arms.awkward()["tilted"])
    masses, shifts, seconds = [], [], []
    for seed in range(300):
        drawn = EVERYTHING.draw(robot, seed).inertial.reshape(-1, 10)
        for pseudo, body in zip(to_pseudo(drawn), robot.bodies, strict=True):
            mass = pseudo[3, 3]
            com = pseudo[:3, 3] / mass
            masses.append(mass / body.inertial.mass)
            shifts.append(np.linalg.norm(com - body.inertial.com))
            about_com = pseudo[:3, :3] - mass * np.outer(com, com)
            was = 0.5 * np.trace(body.inertial.inertia) * np.eye(3) - body.inertial.inertia
            axes = np.linalg.eigh(was)[1]
            seconds.append(np.diag(axes.T @ about_com @ axes) / np.linalg.eigvalsh(was) / masses[-1])
    for found, scale, spread in ((masses, 1.2, 0.3), (np.ravel(seconds), 1.0, 0.4)):
        assert scale * (1 - spread) - 1e-9 <= np.min(found) < scale * (1 - 0.97 * spread)
        assert scale * (1 + 0.97 * spread) < np.max(found) <= scale * (1 + spread) + 1e-9
        assert np.mean(found) == pytest.approx(scale, rel=0.02)
    assert np.abs(np.corrcoef(np.transpose(seconds))[0, 1:]).max() < 0.2  # each axis by itself
    assert 0.019 < max(shifts) <= 0.02
    assert np.mean(shifts) == pytest.approx(0.75 * 0.02, rel=0.02)  # as in a ball that is filled evenly


def test_friction_is_scaled():
    robot = rd.load_robot(arms.awkward()["gantry"])
    given = [FrictionSettings(0.1 * i + 0.1, i + 1.0, i + 2.0, 0.05) for i in range(robot.n)]
    for before, after in zip(given, EVERYTHING.draw(robot, 3, given).friction, strict=True):
        assert after.coulomb == pytest.approx(1.5 * before.coulomb)
        assert after.viscous == pytest.approx(1.5 * before.viscous)
        assert after.static_friction == pytest.approx(1.5 * before.static_friction)
        assert after.stribeck_velocity == before.stribeck_velocity


def test_the_payload_hangs_at_the_default_tool(prr):
    """Where the model of the controller has its own: before the arm branches, as into fingers."""
    branched = rd.load_robot(arms.awkward()["branched"])
    plant = create_plant("native", rd.create_dynamics("rnea", branched, compiled=False))
    plant.carry(0.5)
    payload = plant.dynamics.parameters.payload
    assert (payload.link, payload.mass) == ("torso", 0.5)
    assert Mismatch(payload_mass=1.5).draw(branched, 0).payload.link == "torso"
    robot = rd.load_robot(prr)
    drawn = Mismatch(payload_mass=1.5).draw(robot, 0)
    assert drawn.payload.link == "tool"
    q = [0.5, 0.7, -0.2]
    loaded = rd.create_dynamics("rnea", robot, **drawn.parameters)
    extra = loaded.gravity(q) - rd.create_dynamics("rnea", robot).gravity(q)
    s2, s23 = np.sin(0.7), np.sin(0.5)
    np.testing.assert_allclose(extra, 1.5 * 9.81 * np.array([1.0, -0.5 * s2 - 0.343 * s23, -0.343 * s23]), rtol=1e-12)
