# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The closed loop without ROS: the product's promise, that a model of the arm pays, on the real arm's numbers."""

from pathlib import Path

import numpy as np
import pytest

import robodyn_ros as rd
from robodyn_ros.control import Reference, gains, rest_to_rest
from robodyn_ros.plugins import load
from robodyn_ros.simulation import Plant, simulate

PRR = Path(__file__).parents[1] / "urdf" / "prr.urdf"
POSES = np.array([[0, 0, 0], [0.4, -1.0, 0], [0.8, 1.2, 0], [0.2, -1.83, -0.12], [0, 0, 0]])
TIMES = np.array([0.0, 1.2, 2.8, 4.6, 6.0])


@pytest.fixture(scope="module")
def errors():
    """Law → RMS tracking error of each joint over the reference's named poses."""
    dynamics = rd.create_dynamics("rnea", rd.load_robot(PRR))
    trajectory, none, home = rest_to_rest(POSES, TIMES), np.zeros(3), np.zeros(3)
    found = {}
    for name in ("pd", "gravity_compensation", "computed_torque"):
        law = load("controllers", name)
        controller = law(dynamics, *gains(law, dynamics, home, 20.0, 1.0))
        run = simulate(Plant(dynamics), controller, lambda t: Reference(*trajectory.sample(t), none), 6.0)
        assert run.t[-1] == pytest.approx(6.0)
        assert run.q.shape == run.qd.shape == run.effort.shape == run.reference.shape == (6001, 3)
        np.testing.assert_allclose(run.reference[1200], POSES[1], atol=1e-12)
        assert (np.abs(run.effort) <= dynamics.robot.effort_limit).all()
        found[name] = np.sqrt(np.mean((run.reference - run.q) ** 2, axis=0))
    return found


def test_each_law_is_better_than_the_one_before(errors):
    assert (errors["gravity_compensation"] < errors["pd"]).all()
    assert (errors["computed_torque"] < errors["gravity_compensation"]).all()


def test_computed_torque_keeps_the_promise(errors):
    assert (errors["computed_torque"][1:] * 10.0 < errors["pd"][1:]).all()
    assert errors["computed_torque"][0] < 2e-3
    assert (errors["computed_torque"][1:] < 5e-3).all()


def test_goes_on_from_where_the_plant_is():
    dynamics = rd.create_dynamics("rnea", rd.load_robot(PRR))
    plant, zero = Plant(dynamics, q0=[0.5, 0.2, 0.1]), np.zeros(3)
    hold = Reference(plant.q, zero, zero, zero)
    controller = rd.create_controller("gravity_compensation", dynamics, 100.0, 20.0)
    for start in (0.0, 0.25):
        run = simulate(plant, controller, lambda t: hold, 0.25)
        np.testing.assert_allclose(run.t, start + np.arange(251) * 1e-3, atol=1e-12)
    np.testing.assert_allclose(run.q, np.tile(hold.q, (251, 1)), atol=1e-12)
    np.testing.assert_allclose(run.effort, np.tile(dynamics.gravity(hold.q), (251, 1)), rtol=1e-10)
