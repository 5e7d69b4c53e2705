# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Integrators: their orders, their drift of energy, and closed forms of motion."""

import arms
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import robodyn_ros as rd
from robodyn_ros.errors import SimulationError
from robodyn_ros.plugins import create
from robodyn_ros.simulation.integrators.dop853 import DOP853
from robodyn_ros.simulation.integrators.sdirk4 import SDIRK4
from robodyn_ros.simulation.rollout import rollout

STEPWISE = ("explicit_euler", "semi_implicit_euler", "rk4", "implicit_midpoint")
ACROSS = (9.81, 0.0, 0.0)
SCALE = 9.81 * (1.0 * 0.25 + 6.0 * (0.5 + 0.14))
"""Σ m g l of what can turn, the scale of the potential energy of the PRR arm across the rail [J]."""


def prr(**options):
    return rd.create_dynamics("rnea", rd.load_robot("prr"), **{"gravity": ACROSS, **options})


def drift(dynamics, motion):
    energy = np.add(*dynamics.energy(*motion))
    return np.abs(energy - energy[0])


@pytest.mark.parametrize("name", rd.available("integrators"))
@pytest.mark.parametrize("arm", ["tilted"])
def test_compiled_and_not_are_the_same(name, arm):
    robot = rd.load_robot(arms.awkward()[arm])
    rng = np.random.default_rng(5)
    q, qd = rng.uniform(-1, 1, (2, robot.n))
    tau = rng.uniform(-5, 5, (40, robot.n))
    fast, slow = (
        rollout(rd.create_dynamics("rnea", robot, compiled=compiled), q, qd, tau, 1e-3, 40, name)
        for compiled in (True, False)
    )
    assert_array_equal([fast.q[0], fast.qd[0]], [q, qd])
    assert_allclose(slow.q, fast.q, rtol=1e-11, atol=1e-11)
    assert_allclose(slow.qd, fast.qd, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("rule", [*(create("integrators", name) for name in STEPWISE), SDIRK4()])
def test_each_has_its_order(rule):
    """The error after 0.4 s against DOP853 falls by 2ᵖ when the step is halved; on an arm with tilted axes."""
    dynamics = rd.create_dynamics("rnea", rd.load_robot(arms.awkward()["tilted"]))
    q, qd, tau = np.array([0.3, 0.1, -0.2]), np.array([-0.4, 0.2, 0.6]), np.array([0.5, -0.3, 0.1])
    truth = rollout(dynamics, q, qd, tau, 0.4, 1, DOP853(1e-13))
    steps = {1: 12800, 2: 1600, 4: 200}[rule.order]
    errors = []
    for count in (steps, 2 * steps):
        found = rollout(dynamics, q, qd, tau, 0.4 / count, count, rule)
        errors.append(np.abs(np.concatenate((found.q[-1] - truth.q[-1], found.qd[-1] - truth.qd[-1]))).max())
    assert np.log2(errors[0] / errors[1]) == pytest.approx(rule.order, abs=0.1)


def test_dop853_has_its_order():
    """With steps of one length. What is left of order nine differs from motion to motion: the mean of forty."""
    dynamics = rd.create_dynamics("rnea", rd.load_robot(arms.awkward()["branched"]))
    found = []
    for seed in range(40):
        q, qd, tau = np.random.default_rng(seed).uniform(-0.5, 0.5, (3, 4))
        truth = rollout(dynamics, q, qd, tau, 0.6, 1, DOP853(1e-13))
        errors = []
        for count in (20, 40):
            coarse = rollout(dynamics, q, qd, tau, 0.6, 1, DOP853(1e3, max_step=0.6 / count))
            errors.append(np.abs([coarse.q[-1] - truth.q[-1], coarse.qd[-1] - truth.qd[-1]]).max())
        found.append(np.log2(errors[0] / errors[1]))
    assert np.mean(found) == pytest.approx(DOP853.order, abs=0.1)


def test_dense_output_of_dop853_is_as_good_as_its_steps():
    dynamics, state = prr(), (np.array([0.0, 0.4, 0.3]), np.zeros(3), np.zeros(3))
    dense = rollout(dynamics, *state, 1e-3, 500, "dop853")
    alone = rollout(dynamics, *state, 0.25, 2, "dop853")
    assert_allclose(dense.q[[250, 500]], alone.q[1:], rtol=0, atol=1e-11)
    assert drift(dynamics, dense).max() < 1e-11 * SCALE


DRIFT = {
    "explicit_euler": (2.1, 0.24),
    "semi_implicit_euler": (0.86, 5.8e-2),
    "implicit_midpoint": (3.0e-2, 3.2e-4),
    "rk4": (3.5e-3, 1.5e-7),
}
"""Reference, section 5: max |ΔE| over the scale of the potential energy in 10 s, at 10 ms and at 1 ms."""

START = [0.0, -2.85, -1.7]
"""The reference does not say from where its arm starts, and its figures depend on that: the motion is chaotic. At rest,
across the rail, this pose has all eight of them; it was found by trying all poses in steps of 0.05 rad."""


@pytest.mark.parametrize("name", DRIFT)
def test_the_drift_table(name):
    for step, published in zip((1e-2, 1e-3), DRIFT[name], strict=True):
        motion = rollout(prr(), START, np.zeros(3), np.zeros(3), step, round(10.0 / step), name)
        assert drift(prr(), motion).max() / SCALE == pytest.approx(published, rel=0.25)


@pytest.mark.parametrize(("rtol", "published"), [(1e-6, 4.3e-6), (1e-9, 3.2e-9), (1e-12, 4.6e-12)])
def test_the_drift_of_dop853(rtol, published):
    motion = rollout(prr(), START, np.zeros(3), np.zeros(3), 1e-2, 1000, DOP853(rtol, 1e-12))
    assert drift(prr(), motion).max() / SCALE == pytest.approx(published, rel=0.4)


@pytest.mark.parametrize("name", ["implicit_midpoint", "dop853"])
def test_time_runs_backwards_as_well(name):
    """The motion with its velocities turned round leads back to where it began."""
    dynamics, steps = prr(), 2000
    there = rollout(dynamics, [0.0, 0.4, 0.3], [0.1, -0.5, 0.8], np.zeros(3), 1e-3, steps, name)
    back = rollout(dynamics, there.q[-1], -there.qd[-1], np.zeros(3), 1e-3, steps, name)
    assert_allclose(back.q[-1], there.q[0], rtol=0, atol=1e-10)
    assert_allclose(-back.qd[-1], there.qd[0], rtol=0, atol=1e-9)


@pytest.mark.parametrize("rule", [create("integrators", "implicit_midpoint"), SDIRK4()])
@pytest.mark.parametrize("problem", [ValueError("beyond the table"), KeyboardInterrupt()])
def test_what_the_equation_of_motion_raises_comes_through_c(rule, problem):
    def acceleration(q, qd):
        raise problem

    with pytest.raises(type(problem)) as raised:
        rule.step(acceleration, np.zeros(2), np.ones(2), 1e-3)
    assert raised.value is problem


@pytest.mark.parametrize("compiled", [True, False])
def test_a_step_too_long_for_the_midpoint_rule_is_an_error(compiled):
    pendulum = rd.create_dynamics("rnea", rd.load_robot(arms.mechanism("R")), compiled=compiled)
    with pytest.raises(SimulationError, match="did not converge"):
        rollout(pendulum, [1.0], [0.0], [0.0], 2.0, 5, "implicit_midpoint")
