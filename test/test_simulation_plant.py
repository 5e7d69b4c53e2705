# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The plant: stops, friction, limits, time, and what it refuses."""

from unittest.mock import Mock

import arms
import numpy as np
import pytest
from plants import FRICTION, energy, on_a_rail, plant_of
from scipy.integrate import solve_ivp
from truth import Pinocchio

import robodyn_ros as rd
from robodyn_ros.dynamics.parameters import STANDARD_GRAVITY
from robodyn_ros.dynamics.rnea import RNEA
from robodyn_ros.errors import InputError, LimitError, SimulationError
from robodyn_ros.simulation import Plant, StopSettings
from robodyn_ros.simulation.plant.base import unstable
from robodyn_ros.simulation.plant.mujoco import MuJoCoPlant
from robodyn_ros.simulation.rollout import rollout

PRR = arms.OURS["prr"]
KINDS = [Plant, MuJoCoPlant]


@pytest.mark.parametrize("arm", ["tilted", "welded", "branched"])
def test_it_moves_as_pinocchio_and_dop853_say(arm):
    """Under constant efforts and within the limits: nothing but M q̈ + C q̇ + g = τ."""
    robot = rd.load_robot(arms.awkward()[arm])
    pinocchio, n = Pinocchio(robot, STANDARD_GRAVITY), robot.n
    q0, qd0 = np.linspace(0.2, -0.3, n), np.linspace(-0.4, 0.6, n)
    effort = pinocchio.inverse(q0, 0.0 * q0, 0.0 * q0) + np.linspace(0.5, -0.7, n)

    def slope(_, x):
        return np.concatenate((x[n:], pinocchio.forward(x[:n], x[n:], effort)))

    truth = solve_ivp(slope, (0.0, 0.25), np.concatenate((q0, qd0)), method="DOP853", rtol=1e-12, atol=1e-13).y[:, -1]
    assert (robot.lower < truth[:n]).all() and (truth[:n] < robot.upper).all()
    errors = []
    for step in (2.5e-3, 1.25e-3):
        plant = plant_of(robot, step, velocity_limit=np.full(n, np.inf))
        plant.reset(q0, qd0)
        plant.apply(effort)
        plant.advance(0.25)
        errors.append(np.abs(np.concatenate((plant.q, plant.qd)) - truth).max())
    assert errors[1] < 2e-8
    assert np.log2(errors[0] / errors[1]) == pytest.approx(4.0, abs=0.25)


def test_an_arm_without_effort_falls_onto_its_stops_and_lies_there_for_good():
    """The hand swings on until friction has stopped it; before, it is fast enough to lift the elevator off its stop."""
    rough = '<axis xyz="0 1 0"/><dynamics damping="0.3" friction="0.1"/>'
    arm = plant_of(PRR.replace('<axis xyz="0 1 0"/>', rough), q0=[1.5, 0.3, 0.2])
    robot, before, lifted = arm.dynamics.robot, energy(arm), False
    for _ in range(8000):
        q = arm.q
        arm.step()
        lifted |= bool(q[0] == 0.0 < arm.q[0])
        assert (robot.lower <= arm.q).all() and (arm.q <= robot.upper).all()
        now = energy(arm)
        assert now <= before + 1e-7  # what RK4 makes of 30 rad/s
        before = now
    assert lifted
    np.testing.assert_array_equal(arm.qd, 0.0)
    assert (arm.q[0], arm.q[1]) == (0.0, 2.0)
    q = arm.q
    arm.advance(2.0)
    np.testing.assert_array_equal(arm.q, q)
    np.testing.assert_array_equal(arm.qd, 0.0)


@pytest.mark.parametrize("restitution", [0.0, 0.6])
def test_hitting_a_stop_acts_on_the_other_joints_through_the_mass_matrix(restitution):
    """The elbow of a passive arm hits its stop, seen by SciPy's event detection and the textbook's impact equation."""
    arm = plant_of(arms.lesson_arm(), gravity=(0, 0, 0), stops=StopSettings(restitution=restitution))
    dynamics, stop = arm.dynamics, float(arm.dynamics.robot.upper[1])
    start = np.array([0.2, stop - 0.3, 1.0, 2.0])

    def slope(_, x):
        return np.concatenate((x[2:], dynamics.forward(x[:2], x[2:], np.zeros(2))))

    def reached(_, x):
        return x[1] - stop

    reached.terminal = True
    options = {"method": "DOP853", "rtol": 1e-12, "atol": 1e-13}
    hit = solve_ivp(slope, (0.0, 1.0), start, events=reached, **options)
    q, qd = hit.y[:2, -1], hit.y[2:, -1]
    M = dynamics.mass_matrix(q)
    # M q̇ of joint 1 is kept; joint 2 obeys Newton's law.
    qd = np.array([qd[0] + M[0, 1] / M[0, 0] * (1.0 + restitution) * qd[1], -restitution * qd[1]])
    arm.reset(start[:2], start[2:])
    arm.advance(0.25)
    assert hit.t[-1] < 0.25
    # From then on an arm that does not bounce is rigid where the stop bears load, if q̈₂ would be outward.
    after = solve_ivp(slope, (hit.t[-1], 0.25), np.concatenate((q, qd)), **options).y[:, -1]
    rigid = np.array([q[0] + qd[0] * (0.25 - hit.t[-1]), stop, qd[0], 0.0])
    expected = after if restitution or dynamics.forward(q, qd, np.zeros(2))[1] < 0 else rigid
    np.testing.assert_allclose(np.concatenate((arm.q, arm.qd)), expected, rtol=1e-8, atol=1e-9)


def test_a_joint_at_a_stop_leaves_it_when_pulled():
    rail = plant_of(arms.slider((0, 1, 10, 100)), q0=[0.0])
    rail.apply([-50.0])
    rail.advance(0.1)
    assert (rail.q[0], rail.qd[0]) == (0.0, 0.0)
    rail.apply([4.0])
    rail.advance(0.1)
    assert rail.q[0] == pytest.approx(0.5 * 2.0 * 0.1**2, rel=1e-12)
    rail.apply([80.0])
    rail.advance(1.0)
    assert (rail.q[0], rail.qd[0]) == (1.0, 0.0)
    rail.reset([0.0], [3.0])
    assert rail.qd[0] == 3.0


def test_a_reset_into_a_stop_raises_the_error_of_the_model(monkeypatch):
    """And the arm goes on from where it was."""
    rail = plant_of(arms.slider((0, 1, 10, 100)), compiled=False)
    rail.reset([0.25], [0.5])
    with monkeypatch.context() as broken:
        broken.setattr(rail.dynamics, "mass_matrix", Mock(side_effect=ZeroDivisionError("told to")))
        with pytest.raises(ZeroDivisionError, match="told to"):
            rail.reset([0.0], [-3.0])
    assert (rail.q[0], rail.qd[0]) == (0.25, 0.5)
    rail.advance(0.1)
    assert (rail.q[0], rail.qd[0]) == pytest.approx((0.3, 0.5))


def test_a_plugin_that_replaces_forward_dynamics_moves_by_its_own():
    class Uniform(RNEA):
        def forward(self, q, qd, tau):
            return np.full(np.shape(q), 0.5)

    dynamics = Uniform(rd.load_robot("rr"))
    plant = Plant(dynamics)
    plant.reset()
    plant.step(100)
    np.testing.assert_allclose(plant.qd, [0.05, 0.05])
    np.testing.assert_allclose(rollout(dynamics, *np.zeros((3, 2)), 1e-3, 100).qd[-1], [0.05, 0.05])


def test_effort_is_clamped_to_the_limit():
    rail = plant_of(arms.slider((-10, 10, 100, 7)))
    rail.apply([1e300])
    assert rail.effort[0] == 7.0
    rail.apply([-8.0])
    assert rail.effort[0] == -7.0
    narrow = Plant(rail.dynamics, effort_limit=[0.5])
    narrow.apply([2.0])
    narrow.advance(1.0)
    assert narrow.qd[0] == pytest.approx(0.25, rel=1e-12)


@pytest.mark.parametrize("effort", [[np.nan, 0, 0], [0, np.inf, 0], [0.0, 0.0], 3.0, [[0, 0, 0]], "abc"])
def test_bad_efforts_are_refused_and_change_nothing(effort):
    arm = plant_of(PRR)
    arm.apply([200.0, 1.0, 2.0])
    with pytest.raises(InputError, match="effort"):
        arm.apply(effort)
    np.testing.assert_array_equal(arm.effort, [200.0, 1.0, 2.0])


@pytest.mark.parametrize("kind", KINDS)
def test_state_stays_finite(kind):
    arm = kind(rd.create_dynamics("rnea", rd.load_robot(arms.lesson_arm())), effort_limit=[np.inf, np.inf])
    arm.apply([1.0, 2.0])
    arm.advance(0.01)
    time, q, qd = arm.time, arm.q, arm.qd
    arm.apply([1e300, -1e300])
    with pytest.raises(SimulationError, match="beyond the range"):
        arm.step()
    assert arm.time == time and arm.q is q and arm.qd is qd
    arm.apply([1.0, 2.0])
    arm.step()
    assert np.isfinite(arm.q).all() and np.isfinite(arm.qd).all()


def test_starts_as_near_to_zero_as_the_limits_allow():
    arm = plant_of(arms.slider((0.3, 1.0, 1, 1)))
    assert arm.q[0] == 0.3
    with pytest.raises(LimitError, match="'slide'"):
        arm.reset([0.2])
    with pytest.raises(InputError):
        arm.reset([np.nan])
    with pytest.raises(InputError):
        arm.reset([0.5], [0.0, 0.0])
    with pytest.raises(LimitError):
        plant_of(arms.slider((0.3, 1.0, 1, 1)), q0=[2.0])


@pytest.mark.parametrize("kind", KINDS)
def test_time_counts_steps_and_reset_brings_back_the_start(kind):
    arm = kind(rd.create_dynamics("rnea", rd.load_robot(PRR)), q0=[1.0, 0.2, 0.1])
    arm.apply([600.0, 3.0, 2.0])
    arm.advance(0.7)
    assert arm.time == 700 * 1e-3
    first = arm.q
    arm.reset()
    assert arm.time == 0.0
    np.testing.assert_array_equal(arm.q, [1.0, 0.2, 0.1])
    np.testing.assert_array_equal(arm.qd, 0.0)
    np.testing.assert_array_equal(arm.effort, 0.0)
    arm.apply([600.0, 3.0, 2.0])
    arm.advance(0.7)
    np.testing.assert_array_equal(arm.q, first)
    arm.halt()
    np.testing.assert_array_equal(arm.qd, 0.0)
    for duration in (-1.0, np.nan):
        with pytest.raises(InputError, match="duration"):
            arm.advance(duration)


@pytest.mark.parametrize("kind", KINDS)
def test_what_it_gives_out_is_not_its_state(kind):
    arm = kind(rd.create_dynamics("rnea", rd.load_robot(PRR)), q0=[1.0, 0.2, 0.1])
    q, kept = arm.q, arm.q.copy()
    with pytest.raises(ValueError, match="read-only"):
        q[0] = 9.0
    arm.step()
    with pytest.raises(ValueError, match="read-only"):
        arm.qd[0] = 9.0
    np.testing.assert_array_equal(q, kept)
    given = np.array([1.0, 0.2, 0.1])
    arm.reset(given, given)
    given[:] = 5.0
    assert arm.q[0] == 1.0 and arm.qd[0] == 1.0


@pytest.mark.parametrize("name", ["effort_limit", "velocity_limit"])
@pytest.mark.parametrize("limit", [[1.0, 2.0], [-1.0], [np.nan], "much"])
def test_a_limit_must_be_one(name, limit):
    with pytest.raises(InputError, match=name):
        on_a_rail(**{name: limit})


@pytest.mark.parametrize(
    "given", [{"friction": []}, {"friction": [FRICTION[0]] * 2}, {"friction": [0.3]}, {"stops": [StopSettings()] * 2}]
)
def test_one_for_each_joint(given):
    with pytest.raises(InputError, match=r"must be one (Friction|Stop)Settings for each of 1 joints"):
        on_a_rail(**given)


@pytest.mark.parametrize(
    ("before", "after", "effort", "named"),
    [
        ((9.0, 1.0, 2.0), (3e6, -9e6, 4e6), (50.0, 0.0, 0.0), "shoulder"),
        ((1.0, -5.0, 2.0), (np.inf, np.nan, -np.inf), (0.1, 0.2, -0.3), "shoulder"),
        ((1.0, 2.0, 0.5), (np.nan, np.nan, np.nan), (-0.1, 0.2, -40.0), "wrist"),
    ],
)
def test_the_fastest_joint_is_named_and_of_several_the_one_that_moved_or_was_driven_most(before, after, effort, named):
    robot, numbers = rd.load_robot("prr"), (np.array(given) for given in (before, after, effort))
    assert f"joint {named!r} goes beyond" in str(unstable(robot, 1e-3, *numbers))
