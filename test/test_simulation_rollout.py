# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Rollouts: a motion in one compiled call, and the closed loop without ROS on the real arm's numbers."""

import numpy as np
import pytest

import robodyn_ros as rd
from robodyn_ros.control import Reference
from robodyn_ros.control.laws.computed_torque import ComputedTorque
from robodyn_ros.errors import SimulationError
from robodyn_ros.simulation import Plant, simulate
from robodyn_ros.simulation.rollout import rollout


def test_goes_on_from_where_the_plant_is():
    dynamics = rd.create_dynamics("rnea", rd.load_robot("prr"))
    plant, zero = Plant(dynamics, q0=[0.5, 0.2, 0.1]), np.zeros(3)
    hold = Reference(plant.q, zero, zero, zero)
    controller = rd.create_controller("gravity_compensation", dynamics, 100.0, 20.0)
    for start in (0.0, 0.25):
        run = simulate(plant, controller, lambda t: hold, 0.25)
        np.testing.assert_allclose(run.t, start + np.arange(251) * 1e-3, atol=1e-12)
    np.testing.assert_allclose(run.q, np.tile(hold.q, (251, 1)), atol=1e-12)
    np.testing.assert_allclose(run.effort, np.tile(dynamics.gravity(hold.q), (251, 1)), rtol=1e-10)


def test_the_integral_acts():
    """A law with integral action holds a payload that its model lacks."""
    dynamics = rd.create_dynamics("rnea", rd.load_robot("prr"))
    heavy = rd.create_dynamics("rnea", rd.load_robot("prr"), payload=rd.Payload("tool", 1.0))
    zero, q = np.zeros(3), np.array([0.5, 0.6, 0.2])
    hold = Reference(q, zero, zero, zero)
    law = rd.create_controller("computed_torque", dynamics, 400.0, 40.0, 2000.0)
    run = simulate(Plant(heavy, q0=q), law, lambda t: hold, 3.0, held=2)
    assert run.t[1] == pytest.approx(0.002) and len(run.t) == 1501
    assert np.abs(run.q[100] - q).max() > 1e-4
    np.testing.assert_allclose(run.q[-1], q, atol=1e-6)
    np.testing.assert_allclose(run.effort[-1], heavy.gravity(q), rtol=1e-4)


@pytest.mark.parametrize(
    ("given", "said"),
    [((-1.0,), "duration: must be 0 s"), ((np.nan,), "duration: is not finite"), ((1.0, 0), "held: must be 1 or more")],
)
def test_a_time_that_is_none_is_refused(given, said):
    dynamics = rd.create_dynamics("rnea", rd.load_robot("prr"))
    law, zero = rd.create_controller("pd", dynamics, 9.0, 6.0), np.zeros(3)
    with pytest.raises(rd.InputError, match=said):
        simulate(Plant(dynamics), law, lambda t: Reference(zero, zero, zero, zero), *given)


def test_nothing_is_summed_up_at_the_effort_limit():
    class Watched(ComputedTorque):
        def compute(self, q, qd, reference, integral=None):
            self.last = integral
            return super().compute(q, qd, reference, integral)

    dynamics, zero, q = rd.create_dynamics("rnea", rd.load_robot("prr")), np.zeros(3), np.array([0.5, 0.6, 0.2])
    law, far = Watched(dynamics, 400.0, 40.0, 100.0), Reference(q + [0.001, 1.0, 0.0], zero, zero, zero)
    simulate(Plant(dynamics, q0=q, effort_limit=[600.0, 1.0, 36.0]), law, lambda t: far, 0.1)
    assert law.last[1] == 0.0 and law.last[0] > 0.0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"dt": 0.0}, "dt: must be positive"),
        ({"dt": np.nan}, "dt: must be positive"),
        ({"steps": -1}, "steps: must be 0 or more, not -1"),
        ({"tau": np.zeros((4, 3))}, "tau: must be of shape"),
        ({"q": np.zeros(2)}, "q: must be of shape"),
        ({"qd": [0, np.inf, 0]}, "qd: must be finite"),
        ({"integrator": "verlet"}, "'verlet': unknown"),
    ],
)
def test_wrong_input(change, message):
    given = {"q": np.zeros(3), "qd": np.zeros(3), "tau": np.zeros(3), "dt": 1e-3, "steps": 5} | change
    with pytest.raises(rd.RobodynError, match=message):
        rollout(rd.create_dynamics("rnea", rd.load_robot("prr")), **given)


@pytest.mark.parametrize("compiled", [True, False])
def test_a_motion_beyond_the_range_of_numbers(compiled):
    """It ends with the step and the state that lead there, whoever does the steps."""
    dynamics = rd.create_dynamics("rnea", rd.load_robot("prr"), compiled=compiled)
    with pytest.raises(SimulationError, match=r"step 0 of 0.001 s, from q = \[.*leads beyond the range of numbers"):
        rollout(dynamics, [0, 0.3, 0], [0, 1e200, 0], np.zeros(3), 1e-3, 5)
    with pytest.raises(SimulationError, match=r"step [1-9]\d* of 10 s"):
        rollout(dynamics, [0, 0.3, 0], [0, 1.0, 0.2], np.zeros(3), 10.0, 500)
