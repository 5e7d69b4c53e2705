# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Stiff friction: light joints with much damping, as in URDFs, against SciPy's Radau, MuJoCo and closed forms."""

import arms
import numpy as np
import pytest
from plants import plant_of
from scipy.integrate import solve_ivp
from trials import PRR, hardware_of, loop_of
from truth import Pinocchio

import robodyn_ros as rd
from robodyn_ros.control.loop import ControlLoop
from robodyn_ros.control.motion.point_to_point import rest_to_rest
from robodyn_ros.dynamics import Payload
from robodyn_ros.simulation import Plant, PlantSettings
from robodyn_ros.simulation.plant.joint_effects import FrictionSettings, decay_rates, fastest_rate, is_stiff
from robodyn_ros.simulation.plant.mujoco import MuJoCoPlant
from robodyn_ros.simulation.rollout import rollout
from robodyn_ros.simulation.trial_run import run_until_fault

GRAVITY = (0.7, -1.1, -9.81)
FIXED_STEP = ("explicit_euler", "semi_implicit_euler", "rk4", "implicit_midpoint")


def wrist(damping=(0.9, 10.0, 8.0, 10.0), friction=(0.0, 0.0, 0.0, 0.0), scale=1.0):
    """Four joints; the last has 3e-4 kg m² and a damping of 10 N·m·s/rad, as that of a LBR iiwa: a decay in 30 µs."""
    masses = (4.0, 2.2, 1.3, 0.3)
    inertias = (
        (0.05, 0.002, -0.001, 0.06, 0.003, 0.02),
        (0.01, 0.0005, 0.0003, 0.012, -0.0004, 0.006),
        (0.004, 0.0001, 0.0002, 0.005, 0.0003, 0.003),
        (4e-4 * scale, 1e-5 * scale, 0.0, 5e-4 * scale, 2e-5 * scale, 3e-4 * scale),
    )
    parts = [arms.link("base")]
    places = ((0, 0, 0.3), (0.02, 0.01, 0.25), (0.3, 0.04, 0.0), (0.05, -0.02, 0.2))
    axes = ((0, 0, 1), (0, 1, 0), (0.6, 0.8, 0), (0, 0, 1))
    for i in range(4):
        com = (0.0, 0.0, 0.04) if i == 3 else (0.03 + 0.01 * i, -0.02, 0.1)
        parts.append(arms.link(f"link{i}", masses[i] * (scale if i == 3 else 1.0), com, inertias[i]))
        parent = f"link{i - 1}" if i else "base"
        extra = f'<dynamics damping="{damping[i]}" friction="{friction[i]}"/>'
        parts.append(
            arms.joint(f"joint{i}", "revolute", parent, f"link{i}", axes[i], places[i], None, (-9, 9, 50, 300), extra)
        )
    return rd.load_robot(arms.robot("wrist", *parts))


def radau(robot, q, qd, efforts, dt):
    """The states after each step, by SciPy's Radau on Pinocchio's forward dynamics."""
    pinocchio, damping, n = Pinocchio(robot, GRAVITY), np.array(robot.damping), robot.n
    state, states = np.concatenate((q, qd)), []
    for effort in efforts:

        def slope(_, y, effort=effort):
            return np.concatenate((y[n:], pinocchio.forward(y[:n], y[n:], effort - damping * y[n:])))

        state = solve_ivp(slope, (0.0, dt), state, method="Radau", rtol=1e-9, atol=1e-11).y[:, -1]
        states.append(state)
    return np.array(states)


def efforts_of(robot, count):
    """Efforts that change every 20 steps."""
    draws = np.random.default_rng(4).normal(size=(count // 20, robot.n)) * [20.0, 30.0, 10.0, 3.0]
    return np.repeat(draws, 20, axis=0)


START = np.array([0.3, -0.5, 0.8, 0.2]), np.array([0.4, 0.0, -0.7, 2.5])


@pytest.fixture(scope="module")
def truth():
    robot = wrist()
    efforts = efforts_of(robot, 80)
    return robot, efforts, radau(robot, *START, efforts, 1e-3)


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("integrator", FIXED_STEP)
def test_every_fixed_step_integrator_takes_stiff_friction(truth, integrator, compiled):
    """At 1 ms, 33 to 45 times as long as the friction takes to decay."""
    robot, efforts, states = truth
    plant = plant_of(robot, gravity=GRAVITY, compiled=compiled, integrator=integrator)
    assert 1e-3 * fastest_rate(plant.dynamics, robot.damping) > 30.0
    plant.reset(*START)
    found = []
    for effort in efforts if compiled else efforts[:30]:
        plant.apply(effort)
        plant.step()
        found.append(np.concatenate((plant.q, plant.qd)))
    found, states = np.array(found), states[: len(found)]
    assert np.ptp(states[:, :4], axis=0).min() > (0.02 if compiled else 0.001)
    error = np.abs(found - states)
    assert error[:, :4].max() < 1e-7
    assert error[:, 4:].max() < 1e-4


def test_mujoco_implicitfast_takes_the_same_motion():
    """Of first order: its error falls with the step. MuJoCo's RK4 explodes on this arm as any other."""
    robot = wrist()
    efforts, apart = efforts_of(robot, 100), []
    for step in (1e-3, 1e-4):
        plants = [
            kind(rd.create_dynamics("rnea", robot, gravity=GRAVITY), PlantSettings(step))
            for kind in (Plant, MuJoCoPlant)
        ]
        for plant in plants:
            plant.reset(*START)
            for effort in efforts:
                plant.apply(effort)
                plant.advance(1e-3)
        apart.append(np.abs(plants[0].q - plants[1].q).max())
    assert apart[0] < 5e-3
    assert apart[1] < 0.2 * apart[0]


def wheel(viscous, coulomb=0.0, inertia=0.5, **options):
    return plant_of(arms.wheel(inertia), friction=[FrictionSettings(viscous, coulomb)], **options)


@pytest.mark.parametrize("inertia", [0.5, 3e-4, 1e-7])
@pytest.mark.parametrize("rate", [1.5e3, 1e4, 1e6, 1e8])
def test_any_rate_of_decay(rate, inertia):
    """J v + d q keeps its value while friction alone acts; the steady velocity under an effort is τ/d."""
    viscous, start = rate * inertia, 7.0
    plant = wheel(viscous, inertia=inertia)
    plant.reset([0.0], [start])
    plant.step()
    assert abs(plant.qd[0]) < 0.6 * start
    assert plant.q[0] + plant.qd[0] / rate == pytest.approx(start / rate, rel=1e-9)
    plant.step(60)
    assert plant.q[0] == pytest.approx(start / rate, rel=1e-6)
    plant.apply([2.5 * viscous])
    plant.step(60)
    assert plant.qd[0] == pytest.approx(2.5, rel=1e-9)


def test_an_integrator_stays_where_friction_is_not_stiff():
    """To the last bit: 0.999 of the limit is the rule itself, and 1.001 is not."""
    for share, kept in ((0.999, True), (1.001, False)):
        plant = wheel(share * 0.5 / 1e-3)
        plant.reset([0.0], [7.0])
        plant.step()
        z = -share
        assert (plant.qd[0] == pytest.approx(7.0 * (1 + z + z**2 / 2 + z**3 / 6 + z**4 / 24), rel=1e-15)) == kept
        assert plant.qd[0] == pytest.approx(7.0 * np.exp(z), rel=0.03)


def test_an_adaptive_integrator_stays_as_it_is():
    plant = wheel(2e4 * 0.5, integrator="dop853")
    plant.reset([0.0], [7.0])
    plant.step()
    assert plant.qd[0] == pytest.approx(7.0 * np.exp(-20.0), rel=1e-4)


@pytest.mark.parametrize("start", [3.0, 1e-3])
@pytest.mark.parametrize("rate", [2e3, 4e4])
def test_coming_to_rest_within_a_step(rate, start):
    """J v̇ = - d v - Fc until v = 0: q = (J v₀ - Fc t)/d with t = ln(1 + d v₀/Fc)/rate; then it stays."""
    inertia, coulomb = 3e-4, 0.4
    plant = wheel(rate * inertia, coulomb, inertia=inertia)
    plant.reset([0.0], [start])
    plant.step(10)
    duration = np.log1p(rate * inertia * start / coulomb) / rate
    assert duration < 1e-2
    assert plant.qd[0] == 0.0
    assert plant.q[0] == pytest.approx((inertia * start - coulomb * duration) / (rate * inertia), rel=1e-4)


def test_an_arm_that_puts_its_payload_down_stays_stable():
    """Its last joint's friction decays in more than a step with it, in a third of one without."""
    dynamics = rd.create_dynamics("rnea", wrist(damping=(0.9, 1.0, 1.0, 1.0)))
    dynamics.configure(payload=Payload("link3", 2.0, (0.1, 0.0, 0.0)))
    plant = Plant(dynamics)
    assert dynamics.parameters.payload.mass == 2.0
    plant.reset()
    plant.carry(0.0)
    plant.apply([0.0, 0.0, 0.0, 0.5])
    plant.step(500)
    assert plant.qd[3] == pytest.approx(0.5, rel=1e-2)


def test_a_rollout_of_stiff_dynamics():
    """Friction that belongs to the dynamics themselves."""
    robot = wrist()
    dynamics = rd.create_dynamics("rnea", robot, gravity=GRAVITY, viscous=robot.damping)
    efforts = efforts_of(robot, 40)
    found, truth = rollout(dynamics, *START, efforts, 1e-3, 40), radau(robot, *START, efforts, 1e-3)
    np.testing.assert_allclose(found.q[-1], truth[-1, :4], rtol=0.0, atol=2e-7)


def test_rates():
    """Those of a wheel, and of the last joint of the arm, which is between d/J and both of its neighbours free."""
    plant = wheel(3.0)
    assert decay_rates(plant.dynamics, np.array([3.0]))[0] == pytest.approx(6.0, rel=1e-12)
    assert fastest_rate(plant.dynamics, np.array([3.0])) == pytest.approx(6.0, rel=1e-12)
    dynamics = rd.create_dynamics("rnea", wrist(), compiled=False)
    rates = decay_rates(dynamics, np.array([0.9, 10.0, 8.0, 10.0]))
    assert rates.max() == rates[3] > 10.0 / 3e-4
    assert rates.max() <= fastest_rate(dynamics, np.array([0.9, 10.0, 8.0, 10.0])) <= rates.sum()
    assert not is_stiff(dynamics, np.zeros(4), 0.1)


@pytest.mark.parametrize("compiled", [True, False])
def test_an_arm_that_is_held_stays(compiled):
    """Nothing moves but by the rounding errors of effort and gravity, and the steps converge nevertheless."""
    plant = plant_of(wrist(), gravity=GRAVITY, compiled=compiled)
    plant.reset(START[0])
    plant.apply(plant.dynamics.gravity(START[0]) + 1e-13)
    plant.step(2000 if compiled else 20)
    np.testing.assert_allclose(plant.q, START[0], rtol=0.0, atol=1e-9)


def test_a_held_arm_under_computed_torque_runs_compiled():
    """The arm of the package, with a wrist like that: at rest, in motion and at rest again."""
    given = {f"friction.{joint}.viscous": value for joint, value in zip(PRR.joint_names, (3e3, 40.0, 3e3), strict=True)}
    settings, dynamics = hardware_of(given)._replace(start=(0.3, 0.2, 0.1)), rd.create_dynamics("rnea", PRR)
    # Friction that the model does not know, and that holds the wrist: it is not for the controller to judge here.
    loop = ControlLoop.from_settings(loop_of({"plausibility": False}))
    motion = rest_to_rest([[0.3, 0.2, 0.1], [0.5, -0.2, 0.3]], np.array([0.0, 1.0]))
    found = run_until_fault(settings, dynamics, loop, motion, 1.5)
    assert found.compiled
    assert found.trial.faults == {}
