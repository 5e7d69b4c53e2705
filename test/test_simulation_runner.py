# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Compiled steps: results are the same to the last bit however they are cut, and failures."""

import sys

import arms
import numpy as np
import pytest
from plants import FRICTION, plant_of

from robodyn_ros.errors import SimulationError
from robodyn_ros.simulation import StopSettings
from robodyn_ros.simulation.integrators.rk4 import RK4
from robodyn_ros.simulation.rollout import rollout


def prr_plant(**options):
    return plant_of("prr", q0=[0.5, 0.6, -0.4], friction=FRICTION, stops=StopSettings(restitution=0.4), **options)


def test_a_motion_of_a_compiled_arm_never_goes_through_python(monkeypatch):
    """Neither a bare rollout, nor one with friction, stops and bounces."""
    arm, called = prr_plant(), set()
    monkeypatch.setattr(RK4, "step", lambda *_: pytest.fail("a step in Python"))
    sys.setprofile(lambda frame, event, _: called.add(frame.f_code.co_name))
    try:
        rollout(arm.dynamics, [0.5, 0.4, 0.3], np.zeros(3), np.zeros(3), 1e-3, 5000)
        arm.advance(10.0)
    finally:
        sys.setprofile(None)
    assert "rollout" in called
    assert not called & {"forward", "mass_matrix", "inverse"}
    np.testing.assert_array_equal(arm.qd, 0.0)


def test_however_it_is_cut_it_is_the_same_to_the_last_bit():
    """One step at a time, all at once, and again after a reset; over sliding, sticking, bouncing and braking."""
    arm, ends = prr_plant(), []
    for cut in (1, 7, 200, 1):
        arm.reset()
        rng = np.random.default_rng(3)
        for _ in range(20):
            arm.apply(arm.dynamics.gravity([0.5, 0.6, -0.4]) + rng.normal(size=3) * [40.0, 10.0, 3.0])
            left = 200
            while left:
                arm.step(min(cut, left))
                left -= min(cut, left)
        ends.append((arm.time, arm.q.tobytes(), arm.qd.tobytes()))
    assert len(set(ends)) == 1


def test_a_step_that_is_not_solved_says_so():
    plant = plant_of(arms.mechanism("R"), 0.1, integrator="implicit_midpoint", velocity_limit=[np.inf])
    plant.advance(1.0)
    plant.dynamics.configure(gravity=(0.0, 0.0, 5e4))
    plant.reset([0.5])
    with pytest.raises(SimulationError, match="ImplicitMidpoint did not converge from q = "):
        plant.step(10)


class Tripping(RK4):
    """An integrator in Python that fails once."""

    code = ""
    failing = False

    def step(self, acceleration, q, qd, dt):
        if self.failing:
            self.failing = False
            raise SimulationError("the integrator tripped")
        return super().step(acceleration, q, qd, dt)


def test_what_is_raised_in_a_model_or_an_integrator_comes_out_and_the_state_stays(monkeypatch):
    """An integrator in Python on a compiled model, then a model in Python: both are called back by C."""
    arm = prr_plant(integrator=Tripping())
    same = prr_plant()
    for plant in (arm, same):
        plant.advance(0.05)
    np.testing.assert_allclose(arm.q, same.q, rtol=0.0, atol=1e-9)
    arm.integrator.failing, before = True, (arm.time, arm.q)
    with pytest.raises(SimulationError, match="the integrator tripped"):
        arm.step(10)
    assert (arm.time, arm.q.tobytes()) == (before[0], before[1].tobytes())
    arm.step(10)
    assert arm.time == pytest.approx(before[0] + 10 * arm.settings.step)

    arm = plant_of("prr", q0=[0.5, 0.6, -0.4], compiled=False)
    arm.step(5)
    before = arm.time, arm.q
    with monkeypatch.context() as broken:
        broken.setattr(arm.dynamics, "forward", lambda *_: {}["lost"])
        with pytest.raises(KeyError, match="lost"):
            arm.step(10)
    assert (arm.time, arm.q.tobytes()) == (before[0], before[1].tobytes())
    arm.step(10)
