# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Friction: Stribeck's curve, sticking and sliding, and energy, against closed forms and SciPy."""

from unittest.mock import Mock

import arms
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from plants import FRICTION, MASS, energy, on_a_rail, plant_of
from scipy.integrate import solve_ivp

import robodyn_ros as rd
from robodyn_ros.simulation.plant.joint_effects import FrictionSettings, urdf_friction

ROUGH = FrictionSettings(viscous=0.3, coulomb=1.5, static_friction=2.5, stribeck_velocity=0.05)


def rail(friction=ROUGH, **options):
    return on_a_rail(friction=[friction], **options)


def prr_plant(friction, **options):
    return plant_of("prr", q0=[0.5, 0.6, -0.4], friction=friction, **options)


def test_from_the_urdf():
    robot = rd.load_robot(arms.awkward()["gantry"])
    found = [(item.viscous, item.coulomb) for item in urdf_friction(robot)]
    assert found == [(0.31, 0.12), (5.2, 0.0), (0.0, 1.9), (0.0, 0.0)]


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_breaking_away(sign):
    """Below static friction nothing moves; above it the mass slides as Stribeck's curve says, after SciPy."""
    mass = rail()
    mass.apply([sign * 2.4999])
    mass.advance(5.0)
    assert (mass.q[0], mass.qd[0]) == (0.0, 0.0)
    mass.apply([sign * 2.6])
    mass.advance(0.5)

    def slope(_, x):
        dry = 1.5 + 1.0 * np.exp(-((x[1] / 0.05) ** 2))
        return x[1], (2.6 - dry - 0.3 * x[1]) / MASS

    truth = solve_ivp(slope, (0.0, 0.5), [0.0, 0.0], method="DOP853", rtol=1e-12, atol=1e-14).y[:, -1]
    np.testing.assert_allclose([mass.q[0], mass.qd[0]], sign * truth, rtol=1e-9)


def test_coming_to_rest_and_staying():
    """The mass slides until SciPy's event says that it stands, and then bears a load that kept it sliding before.

    Its friction is the curve of Armstrong-Hélouvry et al.: Fc + (Fs - Fc) exp(-(v/vs)²) + d v.
    """
    mass = rail()
    mass.reset([0.0], [0.8])

    def slope(_, x):
        return x[1], (-1.5 - 1.0 * np.exp(-((x[1] / 0.05) ** 2)) - 0.3 * x[1]) / MASS

    def stands(_, x):
        return x[1]

    stands.terminal, stands.direction = True, -1
    truth = solve_ivp(slope, (0.0, 5.0), [0.0, 0.8], events=stands, method="DOP853", rtol=1e-12, atol=1e-14)
    mass.advance(truth.t[-1] - 2e-3)
    assert mass.qd[0] > 0.0
    mass.advance(4e-3)
    assert mass.qd[0] == 0.0
    # The crossing is found to the fourth order of a step of 1 ms, within which Stribeck's curve bends.
    assert mass.q[0] == pytest.approx(truth.y[0, -1], abs=1e-8)
    at = mass.q[0]
    mass.apply([-2.0])
    mass.advance(10.0)
    assert mass.q[0] == at


@pytest.mark.parametrize("compiled", [True, False])
def test_an_arm_at_rest_stays_where_it_is_for_an_hour(compiled):
    """3,600,000 steps under gravity less compensation that is off by less than what friction bears; and the reason: a
    step gives back the very same bits, so any number of them does.
    """
    arm = prr_plant(FRICTION, compiled=compiled)
    load = arm.dynamics.gravity(arm.q)
    start = arm.q.copy()
    arm.apply(load + np.array([11.9, -0.89, 0.49]))
    arm.step()
    np.testing.assert_array_equal(arm.q, start)
    np.testing.assert_array_equal(arm.qd, 0.0)
    arm.advance(3600.0)
    assert arm.time == pytest.approx(3600.001)
    np.testing.assert_array_equal(arm.q, start)
    np.testing.assert_array_equal(arm.qd, 0.0)
    for joint, excess in enumerate((12.1, 0.91, 0.51)):
        arm.reset()
        arm.apply(load + excess * np.eye(3)[joint])
        arm.advance(0.1)
        assert arm.q[joint] > start[joint]


def test_one_joint_moves_while_others_are_held():
    """The compiled loop holds joints step by step as well: elevator and shoulder stand while the hand swings."""
    held = FrictionSettings(coulomb=300.0), FrictionSettings(coulomb=60.0)
    arm = prr_plant((*held, FrictionSettings(viscous=0.01)))
    start = [0.5, 1.9, 1.0]
    arm.reset(start, [0.0, 0.0, 1.0])
    arm.advance(60.0)
    np.testing.assert_array_equal(arm.q[:2], start[:2])
    np.testing.assert_array_equal(arm.qd[:2], 0.0)
    # The hand alone is a pendulum: m g lc sin about hanging, and 0.01 N·m·s/rad of friction.
    moment, load = 6 * 0.343**2 / 12 + 6 * 0.14**2, 6 * 9.81 * 0.14

    def slope(_, x):
        return x[1], (load * np.sin(1.9 + x[0]) - 0.01 * x[1]) / moment

    truth = solve_ivp(slope, (0.0, 60.0), [1.0, 1.0], method="DOP853", rtol=1e-11, atol=1e-12).y[:, -1]
    np.testing.assert_allclose([arm.q[2], arm.qd[2]], truth, rtol=0, atol=1e-6)


@pytest.mark.parametrize(
    ("held", "points", "load"), [(0, 4, 0.0), (1, 5, 0.0), (2, 5, 0.0), (3, 1, 0.0), (1, 5, -1e3), (1, 5, 1e3)]
)
def test_which_joints_are_held_is_not_asked_while_it_stays_so(monkeypatch, held, points, load):
    """RK4 needs accelerations at four points, and the forces on held joints at the first; at rest, these are all.
    At each point, the model is asked for its motion, and for the effect of a force on each held joint. A load presses
    the first joint on a stop.
    """
    arm = prr_plant([FrictionSettings(coulomb=1e4 * (k < held and not load)) for k in range(3)], compiled=False)
    if load:
        robot = arm.dynamics.robot
        arm.reset(np.where([True, False, False], robot.upper if load > 0.0 else robot.lower, arm.q))
        arm.apply([load, 0.0, 0.0])
    arm.step()
    counts = []
    for name in ("forward", "mass_matrix"):
        counts.append(Mock(wraps=getattr(arm.dynamics, name)))
        monkeypatch.setattr(arm.dynamics, name, counts[-1])
    arm.step()
    assert [each.call_count for each in counts] == [points, points * held]


def test_a_joint_that_breaks_loose_and_gets_less_friction_may_turn_another_around():
    """By the inverse dynamics, Coulomb friction is against each motion; the shoulder moves against its effort."""
    coulomb, effort, none = [1.0, 1.0, 0.05], np.array([-0.45, -1.8, -1.18]), np.zeros(3)
    friction = [FrictionSettings(coulomb=each, static_friction=1.0) for each in coulomb]
    arm = plant_of("prr", 1e-6, gravity=none, q0=[0.5, 0.57, 0.39], friction=friction)
    arm.apply(effort)
    arm.step()
    force = effort - arm.dynamics.inverse(arm.q, none, arm.qd / 1e-6)
    np.testing.assert_allclose(force, coulomb * np.sign(arm.qd), rtol=1e-4)
    assert np.sign(arm.qd).tolist() == [-1.0, 1.0, -1.0]


coefficients = st.floats(0.0, 5.0)
FRICTIONS = st.builds(
    FrictionSettings, coefficients, coefficients, coefficients, st.sampled_from([0.0, 0.01, 0.1, 1.0])
)


@settings(max_examples=25, deadline=None, derandomize=True)
@given(
    frictions=st.tuples(FRICTIONS, FRICTIONS, FRICTIONS),
    rates=st.tuples(*[st.floats(-3.0, 3.0)] * 3),
    gravity=st.sampled_from([(0.0, 0.0, 0.0), (9.81, 0.0, 0.0), (0.0, 0.0, -9.81)]),
)
def test_friction_only_takes_energy(frictions, rates, gravity):
    """Energy never grows, but for what the integrator makes of it: as much as it makes without friction, and little."""
    arm = plant_of("prr", 5e-4, gravity=gravity, friction=frictions, velocity_limit=np.full(3, np.inf))
    arm.reset([0.3, 0.6, -0.4], rates)
    before = energy(arm)
    for _ in range(150):
        arm.step(2)
        now = energy(arm)
        assert now <= before + 1e-7
        before = now


def test_a_model_in_python_is_called_back():
    """It gives the motion of the compiled one, over sticking, sliding, stops and speed limits."""
    robot = rd.load_robot(arms.awkward()["tilted"])
    n = robot.n
    frictions = [FrictionSettings(0.2 + 0.1 * i, 0.5 + 0.2 * i, 0.8 + 0.3 * i, 0.1 * (i % 2)) for i in range(n)]
    limit = np.full(n, 1.3)
    plants = [plant_of(robot, compiled=way, friction=frictions, velocity_limit=limit) for way in (True, False)]
    rng = np.random.default_rng(4)
    held = limited = False
    for _ in range(60):
        effort = rng.uniform(-25, 25, n) * rng.integers(0, 2, n)
        for plant in plants:
            plant.apply(effort)
            plant.advance(0.02)
        fast, slow = plants
        np.testing.assert_allclose(fast.q, slow.q, rtol=0, atol=1e-8)
        np.testing.assert_allclose(fast.qd, slow.qd, rtol=0, atol=1e-6)
        assert (np.sign(fast.qd) == np.sign(slow.qd)).all()
        held |= bool((fast.qd == 0.0).any() and (fast.qd != 0.0).any())
        limited |= bool((np.abs(fast.qd) == 1.3).any())
        fast.reset(slow.q, slow.qd)
        slow.reset(slow.q, slow.qd)
    assert held and limited
