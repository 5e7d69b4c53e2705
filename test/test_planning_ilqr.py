# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""iLQR against independent truth: enumeration, finite differences, Riccati's equation, rollouts, collocation."""

import itertools
from dataclasses import replace
from types import SimpleNamespace

import arms
import numpy as np
import pytest
from scipy.linalg import solve_discrete_are

import robodyn_ros as rd
from robodyn_ros.errors import NotReadyError
from robodyn_ros.planning.collocation.collocation import CollocationSettings, plan
from robodyn_ros.planning.cost import Cost, Effort, MinimumTime, Smoothness, Tracking
from robodyn_ros.planning.ddp.ilqr import ILQR, ILQRSettings
from robodyn_ros.planning.ddp.passes import _identity
from robodyn_ros.planning.problem import JointGoal, MotionLimits, Problem
from robodyn_ros.simulation.rollout import rollout

PENDULUM = arms.lesson_arm((2.0,), (0.5,), (0.25,), (0.02,))
TWO_LINK = arms.lesson_arm()
TILTED = arms.awkward()["tilted"]


def model(urdf, **options):
    return rd.create_dynamics("rnea", rd.load_robot(urdf), **options)


@pytest.fixture(scope="module")
def tilted():
    """An arm of three different joints, with friction, and a problem of it."""
    friction = {"viscous": [0.31, 5.2, 0.7], "armature": [0.01, 0.02, 0.03]}
    target = Tracking(np.linspace(0.4, -0.3, 6), np.linspace(1, 3, 6), np.linspace(0.1, 0.2, 3), np.full(6, 50.0))
    return model(TILTED, **friction), target + 0.02 * Smoothness()


def posed(dynamics, cost, steps=12, seed=3):
    """A solver with a random trajectory of unequal steps in its memory, and everything derived from it."""
    solver, rng = ILQR(dynamics, cost, steps).ddp, np.random.default_rng(seed)
    m = solver.memory
    m.h[:, 0], m.u[:] = rng.uniform(0.01, 0.03, steps), rng.uniform(-3, 3, m.u.shape)
    m.r[:] = cost.reference(np.zeros(steps + 1), m.n)
    assert solver.begin(rng.uniform(-0.5, 0.5, 2 * m.n))
    solver.derive()
    return solver


def best_of_all_faces(H, g, lower, upper):
    """The solution of the program by trying each set of bounds that might hold."""
    best, least = None, np.inf
    for held in itertools.product((-1, 0, 1), repeat=len(g)):
        held = np.array(held)
        x, free = np.where(held < 0, lower, np.where(held > 0, upper, 0.0)), held == 0
        if not np.isfinite(x).all():
            continue
        if free.any():
            x[free] = np.linalg.solve(H[np.ix_(free, free)], -(g + H @ x)[free])
        if ((x >= lower - 1e-12) & (x <= upper + 1e-12)).all() and x @ g + x @ H @ x / 2 < least:
            best, least = x, x @ g + x @ H @ x / 2
    return best


def test_efforts_within_bounds_are_the_best_of_all_faces(tilted):
    """Steps that lead nowhere are programs of their own: the efforts of one are the first guess of the one before."""
    solver, rng, steps = ILQR(*tilted, 150).ddp, np.random.default_rng(1), 150
    m = solver.memory
    n = m.n
    roots = rng.normal(size=(steps, n, n))
    m.luu[:], m.lu[:] = roots @ roots.transpose(0, 2, 1) + 0.01 * np.eye(n), 3 * rng.normal(size=(steps, n))
    m.lux[:], m.u[:] = rng.normal(size=m.lux.shape), rng.normal(size=m.u.shape)
    lower, upper = -rng.uniform(0, 2, (steps, n)), rng.uniform(0, 2, (steps, n))
    upper[rng.random((steps, n)) < 0.2] = np.inf
    pinned = rng.random((steps, n)) < 0.1
    upper[pinned] = lower[pinned]
    m.lower[:], m.upper[:] = m.u + lower, m.u + upper
    assert solver._passes.backward(0.0)
    for H, g, low, high, k, K, lux in zip(m.luu, m.lu, m.lower - m.u, m.upper - m.u, m.k, m.K, m.lux, strict=True):
        np.testing.assert_allclose(k, best_of_all_faces(H, g, low, high), rtol=1e-7, atol=1e-9)
        free = (k > low) & (k < high)
        np.testing.assert_allclose((g + H @ k)[free], 0.0, atol=1e-8)
        feedback = np.zeros_like(K)
        feedback[free] = -np.linalg.solve(H[np.ix_(free, free)], lux[free])
        np.testing.assert_allclose(K, feedback, rtol=1e-7, atol=1e-8)
    m.luu[70] = np.diag(np.arange(n) - 1.0)
    m.lower[:], m.upper[:] = -np.inf, np.inf
    assert not solver._passes.backward(0.0)


def gradient_of(m):
    """∂cost/∂u (steps, n) along the trajectory in a solver's memory, by the costate."""
    found, costate = np.empty_like(m.u), m.vx[0]
    for t in reversed(range(m.steps)):
        found[t] = m.lu[t] + m.B[t].T @ costate
        costate = m.lx[t] + m.A[t].T @ costate
    return found


@pytest.mark.parametrize("fast", range(4))
def test_a_last_state_that_is_not_finite_is_noticed_in_each_joint(fast):
    """Two crossed rails have no part in each other's motion: h/6 (v + 2 v + 2 v + v) is too much for one of them."""
    rails = arms.robot(
        "rails",
        arms.link("base"),
        arms.link("bridge", 3.1, (0.1, 0.2, 0.3), (0.1, 0, 0, 0.2, 0, 0.3)),
        arms.link("carriage", 1.7, (0.2, 0.1, 0.4), (0.2, 0, 0, 0.3, 0, 0.1)),
        arms.joint("long", "prismatic", "base", "bridge", (1, 0, 0)),
        arms.joint("across", "prismatic", "bridge", "carriage", (0, 1, 0), (0.1, 0.3, 0.2)),
    )
    solver, start = ILQR(model(rails), Effort(), 1).ddp, np.zeros(4)
    solver.memory.h[:], solver.memory.u[:] = 0.01, 0.3
    assert solver.begin(start)
    start[fast] = 1.7e308
    solver.memory.x_new[0] = start
    assert solver._passes.forward(0.0) == (fast < 2)  # a position that is merely great stays where it is


def test_derivatives_against_finite_differences(tilted):
    dynamics, cost = tilted
    solver = posed(dynamics, cost)
    m, e = solver.memory, 1e-6
    A, B, found = m.A.copy(), m.B.copy(), gradient_of(solver.memory)
    x0, u0 = m.x.copy(), m.u.copy()

    def following(t, x, u):
        """The state after step t from a state and an effort; and the cost of that step."""
        m.x_new[:], m.x[:], m.u[:], m.k[:], m.K[:] = x0, x0, u0, 0.0, 0.0
        m.u[0], m.h[0], m.x_new[0] = u, h[t], x
        solver._passes.forward(0.0)
        return m.x_new[1].copy()

    h = m.h.copy()
    for t in (0, 5, 11):
        for j in range(6):
            d = e * np.eye(6)[j]
            numeric = (following(t, x0[t] + d, u0[t]) - following(t, x0[t] - d, u0[t])) / (2 * e)
            np.testing.assert_allclose(A[t, :, j], numeric, rtol=1e-6, atol=1e-8)
        for j in range(3):
            d = e * np.eye(3)[j]
            numeric = (following(t, x0[t], u0[t] + d) - following(t, x0[t], u0[t] - d)) / (2 * e)
            np.testing.assert_allclose(B[t, :, j], numeric, rtol=1e-6, atol=1e-8)
    m.h[:] = h

    def cost_of(u):
        m.u[:] = u
        assert solver.begin(x0[0])
        return solver.cost

    for t, j in ((0, 0), (4, 2), (11, 1)):
        step = np.zeros_like(u0)
        step[t, j] = 1e-4
        numeric = (cost_of(u0 + step) - cost_of(u0 - step)) / 2e-4
        assert found[t, j] == pytest.approx(numeric, rel=1e-6, abs=1e-9)


def test_the_backward_pass_finds_the_minimum_of_the_whole_model(tilted):
    """By one system of equations for the efforts of all steps, without bounds."""
    solver = posed(*tilted)
    m, size = solver.memory, solver.memory.u.size
    m.lower[:], m.upper[:] = -np.inf, np.inf
    assert solver._passes.backward(0.0)
    n, moved = m.n, np.zeros((2 * m.n, size))  # the state by all efforts
    H, g = np.zeros((size, size)), np.zeros(size)
    for t in range(m.steps):
        own = np.eye(size)[t * n : (t + 1) * n]
        cross = own.T @ m.lux[t] @ moved
        H += moved.T @ m.lxx[t] @ moved + cross + cross.T + own.T @ m.luu[t] @ own
        g += moved.T @ m.lx[t] + own.T @ m.lu[t]
        moved = m.A[t] @ moved + m.B[t] @ own
    H += moved.T @ m.vxx[0] @ moved
    g += moved.T @ m.vx[0]
    best = np.linalg.solve(H, -g)
    x, found = np.zeros(2 * n), np.zeros_like(m.u)
    for t in range(m.steps):
        found[t] = m.k[t] + m.K[t] @ x
        x = m.A[t] @ x + m.B[t] @ found[t]
    np.testing.assert_allclose(found.ravel(), best, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(m.expected.sum(), g @ best / 2, rtol=1e-8)
    np.testing.assert_allclose(m.expected[0], -2.0 * m.expected[1], rtol=1e-8)


def test_the_regularisation_pulls_towards_the_known_trajectory(tilted):
    """At the last step, where the value function is the final cost: within bounds, by trying all sets of them."""
    solver, mu = posed(*tilted), 0.3
    m = solver.memory
    m.lower[:], m.upper[:] = m.u - [2.5, 0.2, 0.1], m.u + [2.0, 0.3, 0.1]
    assert solver._passes.backward(mu)
    A, B, V = m.A[-1], m.B[-1], m.vxx[0]
    H = m.luu[-1] + B.T @ (V + mu * np.eye(6)) @ B
    G, g = m.lux[-1] + B.T @ (V + mu * np.eye(6)) @ A, m.lu[-1] + B.T @ m.vx[0]
    k = best_of_all_faces(H, g, m.lower[-1] - m.u[-1], m.upper[-1] - m.u[-1])
    free = (k > m.lower[-1] - m.u[-1]) & (k < m.upper[-1] - m.u[-1])
    assert free.any() and not free.all(), "both have to be tried"
    np.testing.assert_allclose(m.k[-1], k, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(m.K[-1][free], -np.linalg.solve(H[np.ix_(free, free)], G[free]), rtol=1e-8)
    assert (m.K[-1][~free] == 0.0).all()


def test_the_forward_pass_follows_the_feedback_within_the_limits(tilted):
    solver = posed(*tilted)
    m = solver.memory
    m.lower[:], m.upper[:] = -2.5, 2.0
    assert solver._passes.backward(0.3)
    m.x_new[0] = m.x[0] + 0.01
    assert solver._passes.forward(0.7)
    wanted = m.u + 0.7 * m.k + np.einsum("tij,tj->ti", m.K, m.x_new[:-1] - m.x[:-1])
    np.testing.assert_allclose(m.u_new, np.clip(wanted, -2.5, 2.0), rtol=1e-12, atol=1e-13)
    assert (wanted != m.u_new).any(), "no limit was reached, and so none was tested"
    for x, u, (h,), after in zip(m.x_new, m.u_new, m.h, m.x_new[1:], strict=False):
        step = rollout(tilted[0], x[: m.n], x[m.n :], u, h, 1)
        np.testing.assert_allclose(after, np.concatenate([step.q[1], step.qd[1]]), rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("size", [1.0, 1e-9])
def test_linear_quadratic_problem_is_solved_at_once_as_riccati_has_it(size):
    """A carriage on a level rail is a double integrator; QT is what is left after the end, for ever. And so is one of
    micrograms, on which nanonewtons act.
    """
    mass, h, Q, R = 3.7, 0.05, np.diag([7.0, 0.4]), np.array([[0.3]])
    carriage = arms.slider((-5.0, 5.0, 9.0, 1e9), mass * size)
    A, B = np.array([[1.0, h], [0.0, 1.0]]), np.array([[h * h / 2], [h]]) / mass
    P = solve_discrete_are(A, B, h * Q, h * R)
    gain = np.linalg.solve(h * R + B.T @ P @ B, B.T @ P @ A)
    solver = ILQR(model(carriage), Tracking([0.0, 0.0], Q, R / size**2, P), 30)
    start = np.array([0.8, -0.5])
    found = solver.solve(start, 30 * h, guess=[0.4 * size])
    assert found.solved
    assert found.iterations <= 2
    assert found.cost == pytest.approx(start @ P @ start, rel=1e-12)
    np.testing.assert_allclose(found.feedback, np.broadcast_to(-gain * size, (30, 1, 2)), rtol=1e-10)


@pytest.fixture(scope="module")
def swing_up():
    """The two-link arm from hanging to upright: the problem's solver, where to, and how long."""
    goal = np.array([np.pi / 2, 0, 0, 0])
    solver = ILQR(model(TWO_LINK), Effort() + Tracking(goal, np.zeros(4), QT=np.full(4, 1e6)), 200)
    return solver, goal, 2.0


def test_two_link_arm_swings_up_and_its_feedback_holds_it(swing_up):
    solver, goal, duration = swing_up
    limit = np.array([15.0, 7.0])
    found = solver.solve(-goal, duration, effort_limit=limit)
    assert found.solved, found.reason
    assert (np.diff(found.history) < 0).all()
    np.testing.assert_allclose(found.states[-1], goal, atol=1e-3)
    assert (np.abs(found.efforts) <= limit).all()
    m, ends = solver.ddp.memory, []
    for K in (0.0, found.feedback):  # pushed off the way
        m.k[:], m.K[:], m.x_new[0] = 0.0, K, found.states[0] + [0.02, -0.01, 0.03, 0.02]
        m.lower[:], m.upper[:] = -np.inf, np.inf
        assert solver.ddp._passes.forward(0.0)
        ends.append(np.linalg.norm(m.x_new[-1] - goal))
    assert ends[1] < 0.1 * ends[0]


def test_collocation_finds_the_same_minimum():
    dynamics, n, limit, duration = model(TWO_LINK), 2, [20.0, 10.0], 2.0
    start, far = np.array([-np.pi / 2, 0.0]), np.full(n, 1e3)
    known = MotionLimits.of(dynamics.robot, limit_ratio=1.0, velocity=1e3, effort=limit)
    limits = replace(known, lower=-far, upper=far)
    theirs = plan(
        Problem(dynamics, start, JointGoal(-start), Effort(), duration, limits),
        CollocationSettings(intervals=12, tolerance=0.02, time_limit=600.0),
    )
    assert theirs.solved, theirs.reason
    steps, motion = 300, theirs.to_trajectory()
    guess = [dynamics.inverse(*motion.sample((k + 0.5) * duration / steps)) for k in range(steps)]
    cost = Effort() + Tracking(np.r_[-start, 0 * start], np.zeros(2 * n), QT=np.full(2 * n, 1e6))
    ours = ILQR(dynamics, cost, steps).solve(np.r_[start, 0 * start], duration, guess=guess, effort_limit=limit)
    assert ours.solved, ours.reason
    np.testing.assert_allclose(ours.states[-1, :n], -start, atol=2e-4)
    assert ours.cost == pytest.approx(theirs.cost, rel=0.01)


def test_without_compiled_dynamics_it_says_how_to_get_them():
    with pytest.raises(NotReadyError, match="iLQR needs compiled dynamics: create them with compiled=True"):
        ILQR(model(TWO_LINK, compiled=False), Effort(), 20)


def test_what_cannot_be_solved_is_said(swing_up):
    solver, goal, duration = swing_up
    assert "within the time" in solver.solve(-goal, duration, time_limit=0.0).reason
    few = ILQR(
        model(TWO_LINK), Effort() + Tracking(goal, np.zeros(4), QT=np.full(4, 1e6)), 50, ILQRSettings(iterations=2)
    )
    found = few.solve(-goal, duration)
    assert (found.solved, found.iterations) == (False, 2)
    assert "within 2 iterations" in found.reason
    few.solve(-goal, duration)
    wild = few.solve(-goal, duration, guess=[1e200, -1e200])
    assert np.isnan(wild.states).all()
    assert not wild.solved
    assert "beyond the range" in wild.reason


def test_cost_may_have_a_reference_of_its_own_and_moves_with_it():
    """A cost by somebody else, of another width of reference; following it costs nothing when the arm can."""

    class Bead(Cost):
        def running(self, at):
            return (at.q - at.reference) ** 2

        def reference(self, times, n):
            return np.cos(np.atleast_1d(times))[:, np.newaxis]

    dynamics = model(PENDULUM)
    for cost in (Bead(), 2.0 * Bead() + 0.0 * Effort()):
        found = ILQR(dynamics, cost, 40).solve([1.0, 0.0], 1.0)
        assert found.cost < 1e-6
        np.testing.assert_allclose(found.states[:-1, 0], np.cos(found.times)[:-1], atol=2e-3)  # the end costs nothing
    with pytest.raises(rd.InputError, match="can track one reference"):
        Bead() + Bead()


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"start": [0, 0]}, "start"),
        ({"start": [0, 0, np.nan, 0]}, "start"),
        ({"duration": 0.0}, "duration"),
        ({"guess": np.zeros((3, 2))}, "guess"),
        ({"effort_limit": [1.0, np.nan]}, "effort_limit: "),
        ({"effort_limit": [1.0, -1.0]}, "effort_limit: must be at least 0"),
    ],
)
def test_wrong_arguments_are_named(swing_up, change, named):
    with pytest.raises(rd.InputError, match=named):
        swing_up[0].solve(**{"start": np.zeros(4), "duration": 1.0, **change})


def test_dynamics_without_expressions_are_refused():
    class Other:
        robot = None

    with pytest.raises(rd.InputError, match="expressions"):
        ILQR(Other(), MinimumTime(), 3)
    with pytest.raises(rd.InputError, match="steps"):
        ILQR(model(PENDULUM), MinimumTime(), 0)


def test_costs_are_told_apart_by_their_identity():
    assert [_identity(SimpleNamespace(identity=one), 2, 4) for one in (7, "seven")] == ["7", "seven"]
