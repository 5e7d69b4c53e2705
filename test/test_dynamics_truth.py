# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Both formulations against Pinocchio, against MuJoCo, and against each other, on arms that trip implementations up."""

from __future__ import annotations

from pathlib import Path

import casadi as ca
import numpy as np
import pytest
from arms import awkward, random_robot
from numpy.testing import assert_allclose

import robodyn_ros as rd
from robodyn_ros.dynamics.compiled import CompiledDynamics
from robodyn_ros.dynamics.equations import solve_symmetric
from robodyn_ros.dynamics.rnea import forward_dynamics

pytest.importorskip("pinocchio", reason="Pinocchio (PyPI: pin) is the independent truth of these tests")
from truth import Pinocchio

URDF = Path(__file__).parent.parent / "urdf"
MECHANISMS = {path.stem: path.read_text() for path in sorted(URDF.glob("*.urdf"))}
GRAVITY = (0.4, -1.3, -9.6)  # [m/s²], along no axis


def check(xml: str, seed: int, compiled: bool, states: int = 5) -> None:
    """Every quantity of both formulations, relative to the largest number it is made of."""
    robot = rd.load_robot(xml)
    truth = Pinocchio(robot, GRAVITY)
    plugins = [rd.create_dynamics(name, robot, gravity=GRAVITY, compiled=compiled) for name in ("lagrangian", "rnea")]
    rng = np.random.default_rng(seed)
    for q, qd, qdd, tau in rng.uniform(-2, 2, (states, 4, robot.n)):
        mass, torque, energy = truth.mass_matrix(q), truth.inverse(q, qd, qdd), truth.energy(q, qd)
        acceleration, gravity = truth.forward(q, qd, tau), truth.inverse(q, 0 * q, 0 * q)
        bias = truth.inverse(q, qd, 0 * q) - gravity
        for dynamics in plugins:
            agree(dynamics.inverse(q, qd, qdd), torque)
            agree(dynamics.mass_matrix(q), mass)
            agree(dynamics.gravity(q), gravity)
            agree(dynamics.coriolis_matrix(q, qd) @ qd, bias, np.abs(torque).max())
            agree(dynamics.energy(q, qd), energy)
            # Solving M x = b loses digits in proportion to the condition of M, in Pinocchio as here.
            condition = max(1.0, float(np.linalg.cond(mass)) / 1e3)
            agree(dynamics.forward(q, qd, tau), acceleration, condition * np.abs(acceleration).max())


def agree(found: object, truth: object, scale: float = 1.0) -> None:
    scale = max(1.0, scale, float(np.abs(truth).max()))
    assert_allclose(np.asarray(found) / scale, np.asarray(truth) / scale, rtol=0, atol=1e-10)


@pytest.mark.parametrize("compiled", [True, False], ids=["compiled", "virtual machine"])
@pytest.mark.parametrize("name", [*MECHANISMS, *awkward()])
def test_named_arms(name: str, compiled: bool) -> None:
    check((MECHANISMS | awkward())[name], 1, compiled)


SOON = 10
"""So many random arms belong to every run, beside those of test_dynamics_scale.py."""


@pytest.mark.parametrize(
    "seed", [*range(SOON), *(pytest.param(seed, marks=pytest.mark.thorough) for seed in range(SOON, 40))]
)
def test_random_arms(seed: int) -> None:
    check(random_robot(seed, joints=2 + seed % 6), seed, compiled=False, states=2)


RECURSIVE = {name: xml for name, xml in awkward().items() if name != "mimic"}  # no recursion sees its closed loop
RECURSIVE |= {"chain": random_robot(4, joints=9, branching=0.0), "tree": random_robot(7, joints=9, branching=0.6)}


@pytest.mark.parametrize("algorithm", ["articulated bodies", "mass matrix"])
@pytest.mark.parametrize("name", RECURSIVE)
def test_each_forward_dynamics_by_itself(name: str, algorithm: str) -> None:
    """The plugin takes the shorter one for an arm, so that hardly an arm of the tests would show the other."""
    robot = rd.load_robot(RECURSIVE[name])
    armature = np.linspace(0.1, 0.2, robot.n)
    dynamics = rd.create_dynamics("rnea", robot, gravity=GRAVITY, compiled=False)
    assert isinstance(dynamics, CompiledDynamics)
    dynamics.configure(armature=armature)
    equations, symbols = dynamics.equations(), [ca.SX.sym(name, robot.n) for name in ("q", "qd", "tau")]
    p = equations.unpack(dynamics.symbols)
    if algorithm == "articulated bodies":
        bodies = equations.inertias(p)[0]
        expression = forward_dynamics(equations.tree, *symbols, p.gravity, p.armature, bodies)
    else:
        q, qd, tau = symbols
        rest = equations.efforts(q, qd, ca.SX.zeros(robot.n), p)
        expression = solve_symmetric(equations.mass_matrix(q, p), tau - rest)
    forward = ca.Function("forward", symbols, [expression])
    truth = Pinocchio(robot, GRAVITY)
    truth.model.armature = truth.lead @ armature
    for q, qd, tau in np.random.default_rng(5).uniform(-2, 2, (5, 3, robot.n)):
        expected = truth.forward(q, qd, tau)
        agree(forward(q, qd, tau).full().ravel(), expected, np.abs(expected).max())


@pytest.mark.parametrize("name", MECHANISMS)
def test_mujoco(name: str) -> None:
    mujoco = pytest.importorskip("mujoco", reason="MuJoCo is a second independent truth")
    robot = rd.load_robot(MECHANISMS[name])
    model = mujoco.MjModel.from_xml_string(MECHANISMS[name])
    model.opt.gravity[:] = GRAVITY
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT | mujoco.mjtDisableBit.mjDSBL_LIMIT
    model.dof_armature[:] = model.dof_damping[:] = model.dof_frictionloss[:] = 0
    data, dynamics = mujoco.MjData(model), rd.create_dynamics("rnea", robot, gravity=GRAVITY)
    rng = np.random.default_rng(4)
    for q, qd, qdd in rng.uniform(-2, 2, (5, 3, robot.n)):
        data.qpos[:], data.qvel[:], data.qacc[:] = q, qd, qdd
        mujoco.mj_inverse(model, data)
        agree(dynamics.inverse(q, qd, qdd), data.qfrc_inverse)
