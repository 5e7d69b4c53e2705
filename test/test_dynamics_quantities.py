# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Everything beyond M, C, g: runtime parameters, derivatives, the regressor, momentum, power, external wrenches."""

import copy
import pickle
import re
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pinocchio
import pytest
from arms import OURS, URDF, awkward, mechanism, random_robot
from numpy.testing import assert_allclose, assert_equal
from truth import Pinocchio

import robodyn_ros as rd
from robodyn_ros.dynamics import Dynamics, Payload
from robodyn_ros.dynamics.rnea import RNEA
from robodyn_ros.dynamics.sensitivity import sensitivity_parameters, sensitivity_program, tools
from robodyn_ros.engine import Kernel
from robodyn_ros.kinematics import Kinematics

GRAVITY = (0.4, -1.3, -9.6)  # [m/s²], along no axis
ARMS = {"prr": OURS["prr"], **awkward(), "random": random_robot(11, joints=6)}
FREE = [name for name in ARMS if name != "mimic"]
FORMULATIONS = ("lagrangian", "rnea")
COMPILED = "tilted"
"""The arm whose functions are compiled; those of the others, by the same statements, run on the virtual machine."""


def make(formulation: str, arm: str, **options: Any) -> rd.Dynamics:
    chosen = {"gravity": GRAVITY, "compiled": arm == COMPILED} | options
    return rd.create_dynamics(formulation, rd.load_robot(ARMS[arm]), **chosen)


def state(n: int, seed: int = 7) -> np.ndarray:
    """q, q̇, q̈."""
    return np.random.default_rng(seed).uniform(-1.5, 1.5, (3, n))


@pytest.fixture(params=FORMULATIONS)
def formulation(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(params=ARMS)
def arm(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.mark.parametrize(("compiled", "arm"), [*product([False], ARMS), (True, COMPILED)])
def test_terms_follow_from_each_other(formulation: str, arm: str, compiled: bool) -> None:
    n = rd.load_robot(ARMS[arm]).n
    friction = {"viscous": np.linspace(0.3, 0.9, n), "coulomb": np.linspace(2.1, 1.1, n)}
    dynamics = make(formulation, arm, compiled=compiled, armature=np.linspace(0.2, 0.5, n), **friction)
    q, qd, qdd = state(n)
    mass, coriolis = dynamics.mass_matrix(q), dynamics.coriolis_matrix(q, qd)
    slip = friction["viscous"] * qd + friction["coulomb"] * np.sign(qd)
    assert_allclose(dynamics.coriolis(q, qd), coriolis @ qd, rtol=1e-10, atol=1e-11)
    assert_allclose(dynamics.bias(q, qd), coriolis @ qd + dynamics.gravity(q) + slip, rtol=1e-10, atol=1e-10)
    tau = dynamics.inverse(q, qd, qdd)
    assert_allclose(tau, mass @ qdd + dynamics.bias(q, qd), rtol=1e-10, atol=1e-10)
    assert_allclose(dynamics.forward(q, qd, tau), qdd, rtol=1e-9, atol=1e-10)
    terms = dynamics.terms(q, qd, qdd, -0.7 * qd)
    for found, known in zip(terms, (dynamics.gravity(q), coriolis @ qd, mass @ qdd, -0.7 * mass @ qd), strict=True):
        assert_allclose(found, known, rtol=1e-10, atol=1e-11)
    for found, known in zip(terms, Dynamics.terms(dynamics, q, qd, qdd, -0.7 * qd), strict=True):
        assert_allclose(found, known, rtol=1e-10, atol=1e-10)
    assert_allclose(dynamics.mass_matrix_inverse(q) @ mass, np.eye(n), atol=1e-9)
    power = dynamics.power(q, qd, qdd)
    assert_allclose(power.actuators, qd @ tau, rtol=1e-10)
    assert_allclose(power.friction, qd @ slip, rtol=1e-10)
    assert_allclose(power.kinetic + power.potential + power.friction, power.actuators, rtol=1e-10, atol=1e-10)
    assert_allclose(dynamics.energy(q, qd).kinetic, qd @ mass @ qd / 2, rtol=1e-10)


def test_the_regressor_times_theta_is_the_effort(formulation: str, arm: str) -> None:
    n = rd.load_robot(ARMS[arm]).n
    payload = Payload(rd.load_robot(ARMS[arm]).bodies[-1].name, 1.3, (0.1, -0.2, 0.3), np.diag([0.03, 0.04, 0.05]))
    options = {"armature": np.linspace(0.2, 0.5, n), "viscous": np.full(n, 0.7), "coulomb": np.full(n, 1.9)}
    dynamics = make(formulation, arm, payload=payload, **options)
    states = np.random.default_rng(8).uniform(-2, 2, (3, 20, n))
    regressor, theta = dynamics.regressor(*states), dynamics.theta()
    assert regressor.shape == (20, n, 10 * len(dynamics.robot.bodies) + 3 * n)
    tau = dynamics.inverse(*states)
    assert_allclose(regressor @ theta, tau, rtol=1e-12, atol=1e-12 * np.abs(tau).max())
    assert_allclose(regressor[:, :, -3 * n : -2 * n], np.eye(n) * states[2][:, None, :], atol=1e-15)


def test_the_regressor_of_slotine_and_li(formulation: str, arm: str) -> None:
    """M q̈_r + C(q, q̇) q̇_r + g + friction(q̇_r); of the arm's own motion it is the regressor."""
    n = rd.load_robot(ARMS[arm]).n
    options = {"armature": np.linspace(0.2, 0.5, n), "viscous": np.full(n, 0.7), "coulomb": np.full(n, 1.9)}
    dynamics = make(formulation, arm, **options)
    q, qd, qd_r, qdd_r = np.random.default_rng(8).uniform(-2, 2, (4, n))
    friction = options["viscous"] * qd_r + options["coulomb"] * np.sign(qd_r)
    expected = dynamics.mass_matrix(q) @ qdd_r + dynamics.coriolis_matrix(q, qd) @ qd_r + dynamics.gravity(q) + friction
    found = dynamics.slotine_li_regressor(q, qd, qd_r, qdd_r) @ dynamics.theta()
    assert_allclose(found, expected, rtol=1e-11, atol=1e-11 * np.abs(expected).max())
    own = dynamics.regressor(q, qd, qdd_r)
    assert_allclose(dynamics.slotine_li_regressor(q, qd, qd, qdd_r), own, atol=1e-12 * np.abs(own).max())


def test_the_sensitivity_is_that_of_each_body_of_a_payload_and_of_a_force(arm: str) -> None:
    model, alone = make("rnea", arm), make("rnea", arm)
    robot, n = model.robot, model.robot.n
    q, qd, qdd = state(n)
    kernel = Kernel(sensitivity_program(model), sensitivity_parameters(model), compiled=arm == COMPILED)
    rows = np.asarray(kernel.call(q, qd, qdd)).reshape(3, n)
    inertial, bodies = model.parameters.inertial, np.zeros(n)
    for body in range(len(robot.bodies)):
        only = np.where(np.arange(len(inertial)) // 10 == body, inertial, 0.0)
        alone.configure(inertial=only, armature=np.zeros(n))
        bodies += np.abs(alone.inverse(q, qd, qdd))
    ends = (set(re.findall(f'<{tag}="(.*?)"', ARMS[arm])) for tag in ("link name", "parent link"))
    kinematics, tips = Kinematics(robot, compiled=False), set.difference(*ends)
    jacobians = np.array([kinematics.jacobian(tip, q) for tip in tips])
    rates = [kinematics.jacobian_derivative(tip, q, qd)[:3] @ qd for tip in tips]
    efforts = [J[:3].T @ (J[:3] @ qdd + rate - GRAVITY) for J, rate in zip(jacobians, rates, strict=True)]
    levers = 0.1 * np.linalg.norm(jacobians[:, 3:], axis=1)
    payload = np.abs(efforts).max(axis=0) + np.linalg.norm(GRAVITY) * levers.max(axis=0)
    force = (np.linalg.norm(jacobians[:, :3], axis=1) + levers).max(axis=0)
    assert_allclose(rows, (bodies, payload, force), rtol=1e-9, atol=1e-9)
    assert [link.name for link in tools(rd.load_robot(mechanism("R")))] == ["tool"]


def test_derivatives_against_finite_differences(formulation: str, arm: str) -> None:
    """With friction, armature and a mimic joint, where Pinocchio has other rules."""
    n = rd.load_robot(ARMS[arm]).n
    dynamics = make(formulation, arm, viscous=np.full(n, 0.4), armature=np.full(n, 0.2), coulomb=np.full(n, 0.9))
    q, qd, qdd = state(n)
    tau = dynamics.inverse(q, qd, qdd)
    for method, values, found in (
        (dynamics.inverse, (q, qd, qdd), dynamics.inverse_derivatives(q, qd, qdd)),
        (dynamics.forward, (q, qd, tau), dynamics.forward_derivatives(q, qd, tau)),
    ):
        for position, derivative in enumerate(found):
            scale, h = max(1.0, np.abs(derivative).max()), 1e-5
            for j in range(n):
                steps = h * np.eye(3)[position][:, None] * np.eye(n)[j]  # of one element of one input
                ahead, behind = np.array(values) + steps, np.array(values) - steps
                difference = (method(*ahead) - method(*behind)) / (2 * h)
                assert_allclose(derivative[:, j] / scale, difference / scale, atol=2e-8)


@pytest.mark.parametrize("arm", FREE)
def test_momentum_against_pinocchio(formulation: str, arm: str) -> None:
    dynamics = make(formulation, arm)
    truth = Pinocchio(dynamics.robot, GRAVITY)
    q, qd, _ = state(dynamics.robot.n)
    hg = pinocchio.computeCentroidalMomentum(truth.model, truth.data, truth.configuration(q), truth.lead @ qd)
    ours = dynamics.momentum(q, qd)
    assert_allclose(ours.linear, hg.linear, rtol=1e-10, atol=1e-10)
    assert_allclose(ours.angular, hg.angular, rtol=1e-10, atol=1e-9)
    com = pinocchio.centerOfMass(truth.model, truth.data, truth.configuration(q))
    assert_allclose(dynamics.center_of_mass(q), com, rtol=1e-10, atol=1e-10)


def test_a_payload_is_a_heavier_link(formulation: str, arm: str) -> None:
    """Held or built in, the same body has the same dynamics; no code is made anew for it."""
    robot = rd.load_robot(ARMS[arm])
    dynamics = make(formulation, arm)
    q, qd, qdd = state(robot.n)
    before = dynamics.inverse(q, qd, qdd)
    inertia = [[0.03, 0.004, 0], [0.004, 0.05, 0.002], [0, 0.002, 0.06]]
    for link in robot.links:
        payload = Payload(link.name, 1.7, (0.11, -0.07, 0.19), inertia)
        if link.body < 0:
            with pytest.raises(rd.InputError, match="fixed to the base"):
                dynamics.configure(payload=payload)
            continue
        dynamics.configure(payload=payload)
        truth = Pinocchio(robot, GRAVITY)
        joint = truth.model.getJointId(robot.bodies[link.body].joint.name)
        held = pinocchio.Inertia(payload.mass, np.array(payload.com), np.array(payload.inertia))
        place = pinocchio.SE3(link.pose.rotation.copy(), link.pose.translation.copy())
        truth.model.appendBodyToJoint(joint, held, place)
        truth.data = truth.model.createData()
        tau = truth.inverse(q, qd, qdd)
        assert_allclose(dynamics.inverse(q, qd, qdd), tau, rtol=1e-10, atol=1e-10 * np.abs(tau).max())
        assert_allclose(dynamics.forward(q, qd, tau), truth.forward(q, qd, tau), rtol=1e-8, atol=1e-8)
    dynamics.configure(payload=None)
    assert_allclose(dynamics.inverse(q, qd, qdd), before, rtol=0)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (("tool", -1.0), "payload mass: must not be negative"),
        (("tool", np.inf), r"payload mass: must be a finite number \[kg\], not inf"),
        (("tool", "x"), r"payload mass: must be a finite number \[kg\], not 'x'"),
        (("tool", None), r"payload mass: must be a finite number \[kg\], not None"),
        (("tool", 1.0, (0, 0)), r"payload com: must be 3 finite numbers \[m\], not \(0, 0\)"),
        (("tool", 1.0, "tip"), r"payload com: must be 3 finite numbers \[m\], not 'tip'"),
        (("tool", 1.0, (0, 0, 0), [1, 2]), r"inertia: must be finite numbers of shape \(3, 3\) \[kg m²\], not \[1, 2"),
        (("tool", 1.0, (0, 0, 0), np.triu(np.ones((3, 3)))), "payload inertia: must be symmetric"),
        (("tool", 1.0, (0, 0, 0), np.diag([1, 1, 3])), "payload inertia: inertia breaks the triangle inequality"),
        (("tool", 1.0, (0, 0, 0), np.diag([1, 1, -1])), "payload inertia: izz = -1 kg m² is negative"),
        ((3, 1.0), "payload link: must be the name of a link"),
    ],
)
def test_a_wrong_payload_is_refused_where_it_is_made(values: tuple[Any, ...], message: str) -> None:
    with pytest.raises(rd.InputError, match=message):
        Payload(*values)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        *(
            ({"gravity": wrong}, "gravity: must be 3 finite numbers")
            for wrong in ((0, 0), (0, 0, np.nan), "down", (0, 0, -9.81, 0), None)
        ),
        ({"armature": (0, 0, -1)}, "armature: must not be negative"),
        ({"viscous": (0, np.nan, 1)}, "viscous: must be 3 finite numbers"),
        ({"coulomb": 1.0}, "coulomb: must be 3 finite numbers"),
        ({"payload": 2.0}, "payload: must be a Payload or None"),
        ({"payload": Payload("elbow", 1.0)}, "link: 'elbow' is not in the robot"),
        ({"mass": 3.0}, "mass: is no parameter of the dynamics; they are gravity, payload"),
    ],
)
def test_wrong_parameters_are_refused(formulation: str, change: dict[str, object], message: str) -> None:
    """That nothing changes then is a clause of the conformance kit."""
    dynamics = make(formulation, "prr")
    with pytest.raises(rd.InputError, match=message):
        dynamics.configure(**change)
    with pytest.raises(rd.InputError, match=message):
        rd.create_dynamics(formulation, dynamics.robot, **change)


def test_an_external_wrench_acts_by_the_jacobian_of_its_link(formulation: str, arm: str) -> None:
    dynamics = make(formulation, arm)
    kinematics, q = Kinematics(dynamics.robot, compiled=False), state(dynamics.robot.n)[0]
    force, moment = np.array([3.0, -5.0, 7.0]), np.array([0.4, 0.6, -0.9])
    for link in dynamics.robot.links:
        expected = kinematics.jacobian(link.name, q).T @ np.concatenate((force, moment))
        assert_allclose(dynamics.external(link.name, q, force, moment), expected, atol=1e-12)


def test_a_kernel_calls_without_allocating(formulation: str) -> None:
    dynamics = make(formulation, COMPILED)
    kernel = dynamics.kernel("inverse")
    q, qd, qdd = state(3)
    expected = dynamics.inverse(q, qd, qdd)
    for own, value in zip(kernel.inputs, (q, qd, qdd), strict=True):
        own[:] = value
    kernel.evaluate()
    assert_allclose(kernel.results[0], expected, rtol=0)
    dynamics.inverse(-q, qd, qdd)  # the plain way has memory of its own
    assert_allclose(kernel.results[0], expected, rtol=0)
    dynamics.configure(armature=[0.1, 0.2, 0.3], gravity=(0, 0, 0))  # counts for what is compiled already
    kernel.evaluate()
    fresh = make(formulation, COMPILED, armature=[0.1, 0.2, 0.3], gravity=(0, 0, 0)).inverse(q, qd, qdd)
    for changed in (kernel.results[0], dynamics.inverse(q, qd, qdd)):
        assert_allclose(changed, fresh, rtol=0)
    with pytest.raises(rd.InputError, match=r"must be one of inverse, forward"):
        dynamics.kernel("torque")


@pytest.mark.parametrize("count", [1, 7, 8, 9, 4095, 20_001])
def test_many_states_at_once(formulation: str, count: int) -> None:
    """Lanes that are not full, and shares of several threads."""
    alone, shared = make(formulation, COMPILED, threads=1), make(formulation, COMPILED, threads=3)
    states = np.random.default_rng(9).uniform(-3, 3, (3, count, alone.robot.n))
    tau = alone.inverse(*states)
    assert_allclose(shared.inverse(*states), tau, rtol=0)
    for k in {0, count // 2, count - 1}:
        assert_allclose(tau[k], alone.inverse(*states[:, k]), rtol=1e-12, atol=1e-12)
    states[1, count - 1, 0] = np.nan
    with pytest.raises(rd.InputError, match=r"^qd: must be finite"):
        shared.inverse(*states)


def test_every_quantity_takes_its_arguments_by_name() -> None:
    dynamics = RNEA(rd.load_robot(OURS["rr"]), compiled=False)
    for name, quantity in dynamics.quantities().items():
        values = dict(zip(quantity.inputs.split(), np.random.default_rng(3).normal(size=(4, 2)), strict=False))
        assert_equal(getattr(dynamics, name)(**values), getattr(dynamics, name)(*values.values()))


def test_a_formulation_takes_the_path_of_a_urdf() -> None:
    assert RNEA(URDF / "prr.urdf", compiled=False).robot.joint_names == ("elevator", "shoulder", "wrist")


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))])
def test_a_copy_has_parameters_of_its_own(formulation: str, copied: Callable[[rd.Dynamics], rd.Dynamics]) -> None:
    model = make(formulation, "prr")
    q = state(3)[0]
    before = model.gravity(q)
    other = copied(model)
    assert_allclose(other.gravity(q), before, rtol=1e-14)
    other.configure(gravity=(0, 0, 0))
    assert not other.gravity(q).any()
    assert_allclose(model.gravity(q), before, rtol=0.0)


def test_a_payload_stays_as_it_was_made() -> None:
    """Its inertia may be rounded as in a URDF."""
    com, plate = np.array([0.1, 0.2, 0.3]), np.diag([0.501, 0.505, 1.01])  # of 0.5006, 0.5046, 1.0052 kg m²
    payload = Payload("tool", 2.0, com, plate)
    com[:] = plate[:] = 7.0
    assert payload.com.tolist() == [0.1, 0.2, 0.3]
    assert_equal(payload.inertia, np.diag([0.501, 0.505, 1.01]))
