# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Free motion: against Pinocchio's equations under SciPy's integrator, and the reference's figures of drift."""

import arms
import numpy as np
import pinocchio as pin
import pytest
from scipy.integrate import solve_ivp

import robodyn_ros as rd
from robodyn_ros.simulation import Plant, PlantSettings
from robodyn_ros.simulation.rollout import rollout


def free_prr():
    """The PRR arm of the reference, section 1, without anything that could stop it."""
    return arms.mechanism(
        "PRR", (13.0, 1.0, 6.0), (1.0, 0.5, 0.343), (0.1, 0.25, 0.14), (0.1, 1 / 48, 6 * 0.343**2 / 12)
    )


@pytest.mark.parametrize("name", ["lagrangian", "rnea"])
@pytest.mark.parametrize(
    ("gravity", "q", "qd", "swing"),
    [
        # Down the rail the whole arm is in free fall, and nothing swings unless it was turning before.
        ((0, 0, -9.81), (0.0, 0.5, -0.3), (0.0, 2.0, -3.0), 2 * np.pi),
        # Across the rail it is a double pendulum on a sliding carriage.
        ((9.81, 0, 0), (0.0, 0.5, -0.3), (0.0, 0.0, 0.0), 2.0),
        ((9.81, 0, 0), (0.0, 0.1, 0.0), (0.0, 0.0, 0.0), 3.0),
        ((9.81, 0, 0), (0.8, 0.6, -0.4), (0.3, -1.2, 2.0), 2.0),
    ],
)
def test_passive_prr_keeps_its_energy(name, gravity, q, qd, swing):
    """Reference, section 5: RK4 at 1 ms over 10 s, against the potential energy's scale Σ m g l of what can turn."""
    dynamics = rd.create_dynamics(name, rd.load_robot(free_prr()), gravity=gravity)
    motion = rollout(dynamics, q, qd, np.zeros(3), 1e-3, 10_000)
    energy = np.add(*dynamics.energy(*motion))
    scale = np.linalg.norm(gravity) * (1.0 * 0.25 + 6.0 * (0.5 + 0.14))
    assert np.abs(energy - energy[0]).max() < 2e-7 * scale
    assert np.ptp(motion.q[:, 1]) > swing


@pytest.mark.parametrize(
    ("integrator", "published", "digits"), [("semi_implicit_euler", 0.489, 5e-4), ("rk4", 3.3e-9, 5e-11)]
)
def test_lesson_drop_from_horizontal(integrator, published, digits):
    """Reference, section 3: 2 s at 1 ms; the largest change of energy [J]."""
    dynamics = rd.create_dynamics("lagrangian", rd.load_robot(arms.lesson_arm()))
    energy = np.add(*dynamics.energy(*rollout(dynamics, *np.zeros((3, 2)), 1e-3, 2000, integrator)))
    assert np.abs(energy - energy[0]).max() == pytest.approx(published, abs=digits)


@pytest.mark.parametrize("arm", ["tilted", "welded", "branched"])
def test_plant_agrees_with_pinocchio_and_dop853(arm):
    """Under constant efforts and within the limits: nothing but M q̈ + C q̇ + g = τ."""
    urdf = arms.awkward()[arm]
    dynamics = rd.create_dynamics("rnea", rd.load_robot(urdf))
    robot, n = dynamics.robot, dynamics.robot.n
    theirs = pin.buildModelFromXML(urdf)
    data = theirs.createData()
    order = np.array([theirs.idx_vs[theirs.getJointId(name)] for name in robot.joint_names])
    q0, qd0 = np.linspace(0.2, -0.3, n), np.linspace(-0.4, 0.6, n)
    effort = dynamics.gravity(q0) + np.linspace(0.5, -0.7, n)

    def spread(values):
        out = np.empty(n)
        out[order] = values
        return out

    def slope(_, state):
        qdd = pin.aba(theirs, data, spread(state[:n]), spread(state[n:]), spread(effort))
        return np.concatenate((state[n:], qdd[order]))

    truth = solve_ivp(slope, (0.0, 0.25), np.concatenate((q0, qd0)), method="DOP853", rtol=1e-12, atol=1e-13).y[:, -1]
    assert (robot.lower < truth[:n]).all() and (truth[:n] < robot.upper).all()
    errors = []
    for step in (2.5e-3, 1.25e-3):
        plant = Plant(dynamics, PlantSettings(step=step), velocity_limit=np.full(n, np.inf))
        plant.reset(q0, qd0)
        plant.apply(effort)
        plant.advance(0.25)
        errors.append(np.abs(np.concatenate((plant.q, plant.qd)) - truth).max())
    assert errors[1] < 2e-8
    assert np.log2(errors[0] / errors[1]) == pytest.approx(4.0, abs=0.25)
