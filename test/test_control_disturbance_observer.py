# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The disturbance observer: r follows what the model does not know of, with its time constant, and is taken away."""

import numpy as np
import pytest
import test_control_adaptive as adaptive

import robodyn_ros as rd
from robodyn_ros.control import ComputedTorque, ControlLoop, DisturbanceObserver, Reference
from robodyn_ros.simulation import FrictionSettings, Plant, PlantSettings

PRR = rd.load_robot("prr")
DYNAMICS = rd.create_dynamics("rnea", PRR)
PERIOD = 0.001
NONE = np.zeros(3)
POSE = np.array([1.0, 0.8, -0.4])
HELD = Reference(POSE, NONE, NONE, NONE)


def make(dynamics=DYNAMICS, **config):
    return adaptive.make(DisturbanceObserver, dynamics, **config)


def run(law, duration, true=DYNAMICS, wanted=lambda t: HELD, **more):
    """The errors (N, n) of an arm under the law, whose drives have no limit."""
    return adaptive.run(law, true, duration, wanted, limit=np.full(3, np.inf), step=PERIOD, **more)[0]


def test_a_constant_push_is_observed_with_the_time_constant():
    """ṙ = K (d - r), however the arm moves meanwhile: r = d (1 - exp(-K t))."""
    push = np.array([40.0, -7.0, 2.5])
    for duration in (0.01, 0.05, 0.4):
        law = make(gain=20.0, limit=1.0)
        run(law, duration, push=push)
        # One period of delay, in which the push has not shown yet, and a rule of first order.
        np.testing.assert_allclose(law.disturbance / push, 1.0 - np.exp(-20.0 * (duration - PERIOD)), atol=0.012)


def test_it_follows_a_moving_arm_and_leaves_no_error_at_rest():
    def wanted(t):
        w, size = np.pi * np.array([1.0, 2.0, 3.0]), np.array([0.2, 0.3, 0.2])  # at rest after 0 and 2 s
        s, c = np.sin(w * min(t, 2.0)) * (t < 2.0), np.cos(w * min(t, 2.0))
        return Reference(POSE + size * (1.0 - c), size * w * s, size * w**2 * c * (t < 2.0), NONE)

    payload = rd.Payload("hand", 2.0, (0.02, 0.0, 0.3))
    true = rd.create_dynamics("rnea", PRR, payload=payload)
    law = make()
    errors, usual = (run(each, 5.0, true, wanted) for each in (law, adaptive.make(ComputedTorque, DYNAMICS)))
    rms = np.sqrt(np.mean(errors[:2000] ** 2, axis=0))
    # The elevator's errors under computed torque happen to cancel each other.
    assert (rms < np.sqrt(np.mean(usual[:2000] ** 2, axis=0)) / [1.0, 2.0, 2.0]).all()
    np.testing.assert_allclose(errors[-1], 0.0, atol=1e-6)
    q = wanted(5.0).q
    np.testing.assert_allclose(law.disturbance, DYNAMICS.gravity(q) - true.gravity(q), rtol=1e-4, atol=1e-4)


def test_a_state_that_comes_twice_changes_nothing():
    """It ends no period: what was observed stays."""
    once, twice = (ControlLoop(make(), np.full(3, 1e3)) for _ in range(2))
    for k in range(100):  # it falls a little under the observer's eyes
        t, q, qd = PERIOD * k, POSE - [0.5 * (PERIOD * k) ** 2, 0.0, 0.0], np.array([-PERIOD * k, 0.0, 0.0])
        effort = once.update(t, t, q, qd).effort
        for _ in range(2):
            np.testing.assert_array_equal(twice.update(t, t, q, qd).effort, effort)
    assert abs(once.controller.disturbance[0]) > 1.0


def test_friction_that_is_fed_forward_is_no_disturbance():
    """The arm has the friction that the model knows, and it moves on without turning round."""
    viscous, coulomb = [20.0, 0.4, 0.2], [15.0, 2.0, 0.6]
    friction = [FrictionSettings(viscous=d, coulomb=f) for d, f in zip(viscous, coulomb, strict=True)]
    speed = np.array([0.2, -0.3, 0.4])
    known = rd.create_dynamics("rnea", PRR, viscous=viscous, coulomb=coulomb)
    law = make(known)
    run(law, 2.0, wanted=lambda t: Reference(POSE + speed * t, speed, NONE, NONE), friction=friction)
    assert (np.abs(law.disturbance) < 0.02 * np.array(coulomb)).all()


def test_what_is_taken_away_is_bounded():
    law = make(gain=50.0, limit=0.1)
    law.advance(0.0, POSE, NONE, HELD, NONE, NONE)
    for _ in range(500):  # the drives are asked to hold the arm, and send nothing, and it stays where it is
        law.advance(PERIOD, POSE, NONE, HELD, NONE, NONE)
    np.testing.assert_allclose(law.disturbance, DYNAMICS.gravity(POSE), rtol=1e-6)
    found = law.compute(POSE, NONE, HELD)
    np.testing.assert_allclose(found.total, sum(found[:-1]))
    taken = adaptive.make(ComputedTorque, DYNAMICS).compute(POSE, NONE, HELD).total - found.total
    np.testing.assert_allclose(taken, np.clip(law.disturbance, *(0.1 * PRR.effort_limit * s for s in (-1, 1))))


def test_a_broken_flow_of_states_begins_anew_and_a_change_of_gains_does_not():
    loop = ControlLoop(make(), np.full(3, np.inf))
    true = rd.create_dynamics("rnea", PRR, payload=rd.Payload("hand", 2.0))
    plant = Plant(true, PlantSettings(step=PERIOD), q0=POSE)
    for step in range(1500):
        plant.apply(loop.update(step * PERIOD, step * PERIOD, plant.q, plant.qd).effort)
        plant.step()
    observed = loop.controller.disturbance
    assert observed[0] == pytest.approx(-2.0 * 9.81, rel=1e-3)
    loop.apply(loop.settings._replace(controller=make(gain=30.0)))
    np.testing.assert_array_equal(loop.controller.disturbance, observed)
    assert loop.controller.estimates()["disturbance of elevator [N]"] == observed[0]
    observes = []
    for step, conflict in enumerate(("two of them", "", ""), 1500):  # a reaction, and the law again
        loop.set_publisher_conflict(conflict)
        loop.update(step * PERIOD, step * PERIOD, plant.q, plant.qd)
        observes.append(loop.controller.disturbance.any())
    assert observes == [True, False, True]
    loop.update(9.0, 9.0, plant.q, plant.qd)
    assert not loop.controller.disturbance.any()
