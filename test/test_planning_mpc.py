# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The law ``mpc``: computed torque where no limit is near, better where one is, computed torque where it fails."""

import copy
import pickle
from functools import partial

import numpy as np
import pytest
from scipy.interpolate import CubicHermiteSpline

import robodyn_ros as rd
from robodyn_ros.control import ComputedTorque, ControlLoop, Reference, SafetySettings, gains, rest_to_rest
from robodyn_ros.planning.mpc import MPC, MPCPlan, MPCSettings
from robodyn_ros.simulation import Plant
from robodyn_ros.simulation.rollout import simulate

PATIENT = partial(MPCSettings, budget=60.0)  # no test depends on how fast the machine is
ZERO = np.zeros(3)
POSES = [[0.3, 0.0, 0.0], [0.3, -1.83, -0.12], [0.5, -1.83, 1.5], [0.2, 0.9, 0.3]]


@pytest.fixture(scope="module")
def dynamics(prr):
    return rd.create_dynamics("rnea", rd.load_robot(prr))


@pytest.fixture
def law(dynamics):
    """Makes a law with the usual gains."""

    def make(kind=MPC, ki=0.0, **options):
        kp, kd, _ = gains(ComputedTorque, dynamics, ZERO, [11.0, 12.0, 13.0], 1.0)
        config = {"config": PATIENT(**options)} if kind is MPC else {}
        return kind(dynamics, kp, kd, ki, **config)

    return make


def told(law, q, qd, reference, dt=0.0, limit=None):
    """A law that has been led to a state, under a reference that goes on as it moves."""
    limit = law.dynamics.robot.effort_limit if limit is None else limit
    law.look_ahead(lambda ahead: reference._replace(q=reference.q + ahead * reference.qd), np.asarray(limit, float))
    law.advance(dt, q, qd, reference, ZERO, ZERO)
    return law


def test_far_from_its_limits_it_is_computed_torque(law):
    """The shorter the step, the nearer: a third of it, a third of the difference."""
    q, qd = np.array([0.5, 0.4, -0.3]), np.array([0.1, -0.2, 0.3])
    reference = Reference(q + [0.01, -0.02, 0.03], np.array([0.2, 0.1, -0.1]), ZERO, ZERO)
    same = law(ComputedTorque).compute(q, qd, reference)
    off = []
    for step in (9e-3, 3e-3, 1e-3):
        ours = told(law(step=step, steps=int(0.3 / step)), q, qd, reference).compute(q, qd, reference)
        np.testing.assert_allclose(ours.gravity, same.gravity, rtol=1e-12)
        np.testing.assert_allclose(ours.total, np.sum(ours[:-1], axis=0), rtol=1e-10, atol=1e-10)
        off.append(np.linalg.norm((ours.feedback - same.feedback) / np.linalg.norm(same.feedback)))
    assert off[0] < 0.15
    assert off[1] < 0.4 * off[0]
    assert off[2] < 0.4 * off[1]


def test_integral_friction_payload_and_feed_forward_count_as_in_computed_torque(law, dynamics):
    q, reference = np.array([0.5, 0.4, -0.3]), Reference(np.array([0.5, 0.4, -0.3]), ZERO, ZERO, np.array([7.0, 2, 1]))
    integral = np.array([0.02, -0.01, 0.03])
    ours, theirs = law(ki=[30.0, 40.0, 50.0]), law(ComputedTorque, ki=[30.0, 40.0, 50.0])
    before = dynamics.parameters
    try:
        moving = reference._replace(qd=np.array([0.2, 0.3, -0.4]))
        for changes in ({}, {"payload": rd.Payload("tool", 2.0, (0.01, 0, 0.05))}, {"viscous": [20.0, 1.0, 0.5]}):
            dynamics.configure(**changes)
            told(ours, q, ZERO, reference)
            same = theirs.compute(q, ZERO, reference, integral)
            np.testing.assert_allclose(ours.compute(q, ZERO, reference, integral).total, same.total, atol=1e-3)
            # On a reference that moves, the error of holding an effort over a step is all there is between them.
            told(ours, q, moving.qd, moving)
            same = theirs.compute(q, moving.qd, moving)
            np.testing.assert_allclose(ours.compute(q, moving.qd, moving).total, same.total, rtol=0.01, atol=0.1)
    finally:
        dynamics.apply(before)
        dynamics.parameters = before


def followed(law, dynamics, duration, trajectory):
    run = simulate(Plant(dynamics, q0=POSES[0]), law, lambda t: Reference(*trajectory.sample(t), ZERO), duration)
    assert (np.abs(run.effort) <= dynamics.robot.effort_limit).all()
    return np.abs(run.reference - run.q).max(axis=0), run


def test_it_follows_what_no_effort_can_follow_far_more_closely(law, dynamics):
    trajectory = rest_to_rest(POSES, [0.0, 0.35, 0.75, 1.2])
    needed = [dynamics.inverse(*trajectory.sample(t)) for t in np.linspace(0, 1.2, 200)]
    assert (np.abs(needed).max(axis=0) > dynamics.robot.effort_limit)[1:].all(), "the limits play no part"
    theirs, _ = followed(law(ComputedTorque), dynamics, 1.4, trajectory)
    planner = law()
    ours, run = followed(planner, dynamics, 1.4, trajectory)
    assert (ours[1:] < 0.4 * theirs[1:]).all()
    np.testing.assert_allclose(run.q[-1], POSES[-1], atol=0.05)
    assert (planner.late, planner.failed) == (0, 0)
    assert planner.solved == 1 + 140
    assert len(planner.solve_times) == 141
    assert planner.report()["mpc solve time median [ms]"] == pytest.approx(1e3 * np.median(planner.solve_times))


def test_limits_are_those_it_is_told(law):
    q = np.array([0.5, 0.4, -0.3])
    for limit, added in (([300.0, 40.0, 12.0], ZERO), ([230.0, 20.0, 7.0], ZERO), ([300.0, 40.0, 12.0], [-50, -9, -3])):
        far = Reference(q + [0.5, 1.0, -1.0], ZERO, ZERO, np.array(added, float))
        sent = np.abs(told(law(), q, ZERO, far, limit=limit).plan.u + added)  # with the reference's own
        assert (sent <= np.array(limit) * (1 + 1e-9)).all()
        assert (sent >= np.array(limit) * (1 - 1e-9)).any(axis=0).sum() >= 2


def test_it_solves_once_a_period_and_feeds_back_in_between(law):
    planner, q = law(), np.array([0.5, 0.4, -0.3])
    reference = Reference(q + 0.05, ZERO, ZERO, ZERO)
    told(planner, q, ZERO, reference)
    for period in range(10):
        assert planner.solved == 1 + period // 5
        plan, t = planner.plan, 0.002 * (period % 5 + 1)
        x = plan.x[0] + t / 0.01 * (plan.x[1] - plan.x[0])
        if period % 5 < 4:
            efforts = []
            for d in (ZERO, np.array([1e-3, -2e-3, 1e-3])):
                told(planner, x[:3] + d, x[3:], reference, 0.002 if d is ZERO else 1e-12)
                efforts.append(planner.compute(x[:3] + d, x[3:], reference).total)
            np.testing.assert_allclose(efforts[1] - efforts[0], plan.K[0, :, :3] @ d, rtol=1e-6, atol=1e-8)
        else:
            told(planner, x[:3], x[3:], reference, 0.002)
    assert planner.solved == 3


def test_states_it_was_not_led_to_get_computed_torque(law):
    planner, same, q = law(), law(ComputedTorque), np.array([0.5, 0.4, -0.3])
    reference = Reference(q + 0.2, ZERO, ZERO, ZERO)
    np.testing.assert_array_equal(planner.compute(q, ZERO, reference).total, same.compute(q, ZERO, reference).total)
    told(planner, q, ZERO, reference)
    other = q + 0.01
    np.testing.assert_array_equal(
        planner.compute(other, ZERO, reference).total, same.compute(other, ZERO, reference).total
    )
    planner.forget()
    np.testing.assert_array_equal(planner.compute(q, ZERO, reference).total, same.compute(q, ZERO, reference).total)


def test_late_or_failed_it_is_computed_torque_and_says_so(law):
    q, same = np.array([0.5, 0.4, -0.3]), law(ComputedTorque)
    reference = Reference(q + 0.2, ZERO, ZERO, ZERO)
    hasty = told(law(budget=0.0), q, ZERO, reference)
    np.testing.assert_array_equal(hasty.compute(q, ZERO, reference).total, same.compute(q, ZERO, reference).total)
    assert hasty.report()["mpc solutions too late, computed torque instead"] == 1
    hasty = law(budget=0.0, step=1e-4)
    for part in (0.0, 6.0, 3.0, 2.0):  # ten times as long as it took there is no other try
        told(hasty, q, ZERO, reference, part * hasty.solve_times[0] if part else 0.0)
        assert len(hasty.solve_times) == (2 if part == 2.0 else 1)
    hasty = told(law(budget=0.0), q, ZERO, reference)
    wild = np.array([1e160, 0.0, 0.0])
    planner = told(law(), q, wild, reference)
    np.testing.assert_array_equal(planner.compute(q, wild, reference).total, same.compute(q, wild, reference).total)
    assert planner.report()["mpc solutions failed, computed torque instead"] == 1
    assert (hasty.complaint()[:1], planner.complaint()) == (
        "1",
        "0 solutions of mpc too late, 1 failed: computed torque instead",
    )
    assert hasty.complaint() == ""
    told(planner, q, ZERO, reference)
    assert planner.report()["mpc solutions used"] == 1
    assert not np.array_equal(planner.compute(q, ZERO, reference).total, same.compute(q, ZERO, reference).total)


def test_another_takes_over_what_it_goes_by(law):
    q = np.array([0.5, 0.4, -0.3])
    reference = Reference(q + 0.2, ZERO, ZERO, ZERO)
    first, second = told(law(), q, ZERO, reference), law()
    second.resume(first)
    np.testing.assert_array_equal(second.compute(q, ZERO, reference).total, first.compute(q, ZERO, reference).total)
    assert second.solved == len(second.solve_times) == 1


def test_a_copy_plans_with_a_solver_of_its_own(law, dynamics):
    q = np.array([0.5, 0.4, -0.3])
    reference = Reference(q + 0.2, ZERO, ZERO, ZERO)
    first = law()
    told(second := copy.deepcopy(first), q + 0.1, ZERO, reference)
    mine = told(first, q, ZERO, reference).compute(q, ZERO, reference).total
    np.testing.assert_allclose(told(law(), q, ZERO, reference).compute(q, ZERO, reference).total, mine, rtol=1e-9)
    other = told(law(), q + 0.1, ZERO, reference).compute(q + 0.1, ZERO, reference).total
    np.testing.assert_allclose(second.compute(q + 0.1, ZERO, reference).total, other, rtol=1e-9)
    again = pickle.loads(pickle.dumps(dynamics))  # which the law has a solver with
    np.testing.assert_array_equal(again.gravity(q), dynamics.gravity(q))


def test_the_control_loop_tells_it_what_is_to_come(law, dynamics):
    """It leans into a motion that has not begun; and a stream is taken to go on."""
    planner = law()
    loop = ControlLoop(planner, dynamics.robot.effort_limit)
    q = np.array(POSES[0])
    loop.update(1.0, 1.0, q, ZERO)
    still = planner.plan.u.copy()
    loop.follow(rest_to_rest(POSES[:2], [0.0, 0.35]), 1.1)
    loop.update(1.01, 1.01, q, ZERO)
    assert np.abs(planner.plan.u - still).max() > 10.0
    loop.hold(1.01)
    loop.track(Reference(q, np.array([0.5, 0.0, 0.0]), ZERO, ZERO), 1.015)
    loop.update(1.02, 1.02, q, ZERO)
    assert planner.plan.x[-1, 0] - q[0] == pytest.approx(0.3 * 0.5, abs=0.03)


def test_a_state_that_comes_twice_changes_nothing(law, dynamics):
    """It ends no period: the law neither forgets its plan nor thinks again, whoever repeats states and when."""
    q = np.array(POSES[0])
    safety = SafetySettings(plausibility=False)  # it says that it stands, and moves
    once, twice = (ControlLoop(law(), dynamics.robot.effort_limit, safety) for _ in range(2))
    for k in range(40):
        t, moved = 0.002 * k, q + 1e-3 * np.sin([k, 2.0 * k, 3.0 * k])
        effort = once.update(t, t, moved, ZERO).effort
        for _ in range(2):
            np.testing.assert_array_equal(twice.update(t, t, moved, ZERO).effort, effort)
        if k == 10:
            for loop in (once, twice):
                loop.follow(rest_to_rest(POSES[:2], [0.0, 0.35]), t)
    assert twice.controller.solved == once.controller.solved == 1 + 39 // 5


def test_without_compiled_dynamics_there_is_no_such_law(prr):
    slow = rd.create_dynamics("rnea", rd.load_robot(prr), compiled=False)
    with pytest.raises(rd.RobodynError, match="compiled=True"):
        rd.create_controller("mpc", slow, 1.0, 1.0)


def test_a_plan_goes_on_from_a_time_and_its_last_effort_stays():
    u = np.array([[0.0], [1.0], [2.0], [3.0]])
    plan = MPCPlan(0.01, np.zeros((5, 2)), u, np.zeros((4, 1, 2)))
    for t, expected in ((0.0, [0, 1, 2, 3]), (3 * 0.01, [3, 3, 3, 3]), (0.016, [1, 2, 3, 3]), (9.0, [3, 3, 3, 3])):
        np.testing.assert_allclose(plan.shifted(t)[:, 0], expected)


def test_between_its_steps_a_plan_is_the_cubic_through_its_states():
    rng, n, h = np.random.default_rng(1), 2, 0.05
    x, K = rng.normal(size=(4, 2 * n)), rng.normal(size=(3, n, 2 * n))
    planned = CubicHermiteSpline(h * np.arange(4), x[:, :n], x[:, n:])
    for t in rng.uniform(0.0, 3 * h, 20):
        feedback = K[int(t / h)] @ np.concatenate((planned(t), planned(t, 1)))
        np.testing.assert_allclose(MPCPlan(h, x, np.ones((3, n)), K).effort(t, *np.zeros((2, n))), 1.0 - feedback)
