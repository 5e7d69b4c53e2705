# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""What the laws promise of a whole arm: poles, passivity, compliance, and an arm that can be led by hand."""

import copy
import pickle

import arms
import numpy as np
import pytest
from scipy.linalg import expm

import robodyn_ros as rd
from robodyn_ros.control import ComputedTorque, ControlLoop, FreeDrive, Impedance, Reference, gains
from robodyn_ros.control.compiled_step import LawStep
from robodyn_ros.control.laws.base import FrictionCompensation
from robodyn_ros.control.motion.trajectory import Trajectory
from robodyn_ros.simulation.plant.native import Plant

PRR = arms.mechanism("PRR", (13, 1.5, 6), (1, 0.5, 0.34), (0.1, 0.2, 0.15), (1.0, 0.06, 0.09))


def rough(damping=(40.0, 0.4, 0.2), friction=(30.0, 4.0, 0.7)):
    """The PRR arm with friction in each joint."""
    urdf = PRR
    for axis, d, f in zip(("0 0 1", "0 1 0", "0 1 0"), damping, friction, strict=True):
        axis = f'<axis xyz="{" ".join(str(float(word)) for word in axis.split())}"/>'
        assert axis in urdf
        urdf = urdf.replace(axis, f'{axis[:-2]} /><dynamics damping="{d}" friction="{f}"/>', 1)
    return rd.load_robot(urdf)


def test_the_integral_adds_a_pole_and_leaves_the_others():
    """A constant disturbance of the acceleration: the error is that of (s² + 2ζω s + ω²)(s + ρ), by its exponential."""
    dynamics = rd.create_dynamics("rnea", rd.load_robot(arms.awkward()["gantry"]), compiled=False)
    n = 4
    omega, zeta, rho = np.array([4.0, 6.0, 8.0, 10.0]), np.array([1.0, 0.8, 0.9, 0.7]), np.array([1.0, 2.0, 3.0, 0.5])
    controller = ComputedTorque(dynamics, *gains(ComputedTorque, dynamics, np.zeros(n), omega, zeta, rho))
    target, push = np.array([0.4, -0.3, 0.2, 0.9]), np.array([1.0, -2.0, 1.5, 3.0])
    zero = np.zeros(n)
    reference = Reference(target, zero, zero, zero)

    def rate(q, qd, integral):
        tau = controller.compute(q, qd, reference, integral).total - dynamics.mass_matrix(q) @ push
        return qd, dynamics.forward(q, qd, tau), target - q

    state, dt, steps = (zero, zero, zero), 1e-3, 500
    for _ in range(steps):
        k = [rate(*state)]
        for weight in (dt / 2, dt / 2, dt):
            k.append(rate(*(x + weight * dx for x, dx in zip(state, k[-1], strict=True))))
        state = tuple(x + dt / 6 * (a + 2 * b + 2 * c + d) for x, a, b, c, d in zip(state, *k, strict=True))
    for joint in range(n):
        a, b, c = np.poly([-rho[joint], *np.roots([1.0, 2 * zeta[joint] * omega[joint], omega[joint] ** 2])])[1:]
        # d/dt (∫e, e, ė, 1), with ë = -a ė - b e - c ∫e + push
        system = np.array([[0, 1, 0, 0], [0, 0, 1, 0], [-c, -b, -a, push[joint]], [0, 0, 0, 0]])
        integral, e, ed, _ = expm(system * steps * dt) @ np.array([0.0, target[joint], 0.0, 1.0])
        found = state[2][joint], target[joint] - state[0][joint], -state[1][joint]
        np.testing.assert_allclose(found, (integral, e, ed), rtol=1e-7, atol=1e-9)


def test_stiffness_alone_keeps_the_damping_ratio():
    dynamics = rd.create_dynamics("rnea", rd.load_robot(PRR))
    felt = np.diag(dynamics.mass_matrix(np.zeros(3)))
    kp, kd, ki = gains(Impedance, dynamics, np.zeros(3), 99.0, 0.7, stiffness=[900.0, 45.0, 17.0])
    np.testing.assert_allclose(kp, [900.0, 45.0, 17.0], rtol=1e-12)
    np.testing.assert_allclose(kd, 2 * 0.7 * np.sqrt(kp * felt), rtol=1e-12)
    assert not ki.any()  # without a rate


def test_known_friction_is_the_models_else_the_urdfs():
    robot = rough()
    dynamics = rd.create_dynamics("rnea", robot)
    known = FrictionCompensation(dynamics)
    np.testing.assert_array_equal(known.coulomb, [30.0, 4.0, 0.7])
    dynamics.configure(viscous=[1.0, 2.0, 3.0], coulomb=[4.0, 5.0, 6.0])
    np.testing.assert_array_equal(known.viscous, [1.0, 2.0, 3.0])
    np.testing.assert_array_equal(known.coulomb, [4.0, 5.0, 6.0])


def test_friction_of_the_model_is_not_compensated_twice():
    """A model that was told of friction has it in its inverse dynamics as well; the Coriolis term stays without it."""
    dynamics = rd.create_dynamics("rnea", rd.load_robot(PRR))
    q, qd, qr, qdr, qddr = np.random.default_rng(5).uniform(-1.0, 1.0, (5, 3))
    controller, reference = ComputedTorque(dynamics, 25.0, 10.0), Reference(qr, qdr, qddr, np.zeros(3))
    before = controller.compute(q, qd, reference)
    dynamics.configure(viscous=[1.0, 2.0, 3.0], coulomb=[4.0, 5.0, 6.0])
    after = controller.compute(q, qd, reference)
    np.testing.assert_allclose(after.coriolis, before.coriolis, atol=1e-12)
    np.testing.assert_allclose(after.total - before.total, after.friction, atol=1e-11)
    np.testing.assert_allclose(after.friction, [1, 2, 3] * qdr + [4, 5, 6] * np.tanh(qdr / 0.01), rtol=1e-12)


def led(law, true, q0, seconds, qd0=0.0, hand=0.0, noise=(0.0, 0.0)):
    """A plant under a law without reference and a hand, with noise of position and velocity; the plant in the end."""
    rng, zero = np.random.default_rng(11), np.zeros(3)
    plant = Plant(true, q0=q0, effort_limit=np.full(3, np.inf))
    plant.reset(q0, zero + qd0)
    for _ in range(round(seconds / plant.settings.step)):
        q, qd = plant.q + noise[0] * rng.standard_normal(3), plant.qd + noise[1] * rng.standard_normal(3)
        plant.apply(law.compute(q, qd, Reference(q, zero, zero, zero)).total + hand)
        plant.step()
    return plant


def test_free_drive_stays_where_it_is_left():
    """With 5 % wrong masses and noise of the encoders: less than 1 mrad/s, over 5 s."""
    robot, pose = rough(), np.array([0.6, -1.1, 0.5])
    true, model = rd.create_dynamics("rnea", robot), rd.create_dynamics("rnea", robot)
    model.configure(inertial=1.05 * model.parameters.inertial)
    plant = led(FreeDrive(model, 0.0, 0.0), true, pose, 5.0, noise=(1e-4, 5e-3))
    assert np.abs(plant.q - pose).max() / 5.0 < 1e-3


def test_free_drive_makes_the_arm_light():
    """A hand that could not move the arm against its friction alone keeps it moving once it moves, and not faster and
    faster: what is left of the friction is the speed's limit."""
    dynamics, pose = rd.create_dynamics("rnea", rough()), np.array([0.9, 0.0, 0.0])
    law, hand = FreeDrive(dynamics, 0.0, 0.0), np.array([0.0, 0.0, 0.6 * 0.7])  # less than the wrist's Coulomb friction
    assert not led(law, dynamics, pose, 1.0, hand=hand).qd.any()
    speed, alone = np.array([0.0, 0.0, 0.3]), rd.create_controller("gravity_compensation", dynamics, 0.0, 0.0)
    assert 0.3 < led(law, dynamics, pose, 0.4, speed, hand).qd[2] < 0.8
    assert not led(alone, dynamics, pose, 0.4, speed, hand).qd.any()


@pytest.mark.parametrize("name", rd.available("controllers"))
def test_a_copy_of_a_law_has_memory_and_model_of_its_own(name):
    robot = rough()
    law = rd.create_controller(name, rd.create_dynamics("rnea", robot), 9.0, 6.0)
    q, qd, zero = np.array([0.5, 0.1, 0.2]), np.array([0.1, -0.2, 0.3]), np.zeros(3)
    reference = Reference(q + 0.1, zero, zero, zero)

    def used(one, change):
        for _ in range(3):
            one.advance(0.01, q + change, qd, reference, zero + change, zero + change)
        one.dynamics.configure(gravity=(0.0, 0.0, -9.0 + change))
        return one.compute(q, qd, reference).total

    used(law, 0.1)
    other = copy.deepcopy(law)
    before = other.compute(q, qd, reference).total
    np.testing.assert_allclose(law.compute(q, qd, reference).total, before, rtol=1e-12)
    moved = np.abs(used(law, 0.3) - before).max()
    assert moved > 1e-3 or name == "pd"  # which has neither
    np.testing.assert_allclose(other.compute(q, qd, reference).total, before, rtol=1e-12)
    mine = law.compute(q, qd, reference).total
    used(other, -0.4)
    np.testing.assert_allclose(law.compute(q, qd, reference).total, mine, rtol=1e-12)


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda step: pickle.loads(pickle.dumps(step))])
def test_a_copy_of_a_control_step_has_memory_of_its_own_and_goes_on_alike(copied):
    step = LawStep(rd.create_controller("disturbance_observer", rd.create_dynamics("rnea", rough()), 9.0, 6.0))

    def made(one, q):
        one.q[:], one.qd[:] = q, 0.1
        one.evaluate(0.001)
        return one.effort.copy()

    made(step, 0.2)
    other = copied(step)
    np.testing.assert_array_equal(other.effort, step.effort)
    expected = made(copy.deepcopy(step), 0.3)
    assert np.abs(made(other, 0.5) - expected).max() > 0.1
    np.testing.assert_array_equal(made(step, 0.3), expected)


def test_free_drive_leaves_the_reference_to_whoever_moves_the_arm():
    """In the loop: carried elsewhere by hand, the arm is held there by the law that comes next, not drawn back."""
    robot = rough()
    dynamics = rd.create_dynamics("rnea", robot)
    loop = ControlLoop(FreeDrive(dynamics, 0.0, 0.0), 2.0 * robot.effort_limit)
    hand, step = np.array([0.1, -0.2, 0.3]), 0.002
    for index in range(500):
        t, q = index * step, np.array([0.5, 0.1, 0.2]) + index * step * hand
        command = loop.update(t, t, q, hand)
        np.testing.assert_array_equal(command.reference.q, q)
    motion, still = Trajectory([0.5], [q + 0.01]), Reference(q, hand, hand, np.zeros(3))
    for move in (lambda: loop.follow(motion), lambda: loop.track(still, t)):
        with pytest.raises(rd.errors.NotReadyError, match="follows no reference"):
            move()
    law = Impedance(dynamics, *gains(Impedance, dynamics, np.zeros(3), 10.0, 1.0))
    loop.apply(loop.settings._replace(controller=law))
    held = loop.update(t + step, t + step, q, np.zeros(3))
    np.testing.assert_array_equal(held.reference.q, q)
    assert np.abs(held.efforts.feedback).max() < 1e-9
    assert loop.mode == "hold"
    loop.follow(motion)
    assert loop.mode == "follow"
