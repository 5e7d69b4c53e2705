# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Control laws and gains against formulas worked out with Pinocchio; figures of theirs are in the lessons."""

import arms
import numpy as np
import pytest
from truth import Pinocchio

import robodyn_ros as rd
from robodyn_ros.control import (
    PD,
    Adaptive,
    ComputedTorque,
    DisturbanceObserver,
    FreeDrive,
    GravityCompensation,
    Impedance,
    JointGains,
    Reference,
    gains,
    saturate,
)
from robodyn_ros.control.laws import computed_torque, free_drive
from robodyn_ros.control.laws.gains import joint_gains

LAWS = {
    "pd": PD,
    "gravity_compensation": GravityCompensation,
    "computed_torque": ComputedTorque,
    "impedance": Impedance,
    "free_drive": FreeDrive,
    "adaptive": Adaptive,
    "disturbance_observer": DisturbanceObserver,
}


@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize("arm", ["tilted", "welded", "branched", "gantry"])
def test_law_is_the_published_formula(name, arm):
    dynamics = rd.create_dynamics("rnea", rd.load_robot(arms.awkward()[arm]), compiled=False)
    truth, n = Pinocchio(dynamics.robot, (0.0, 0.0, -9.81)), dynamics.robot.n
    q, qd, *wanted = np.random.default_rng(7).uniform(-1.3, 1.3, (6, n))
    reference = Reference(*wanted)
    kp, kd, ki = np.linspace(31.0, 57.0, n), np.linspace(5.0, 9.0, n), np.linspace(2.0, 3.0, n)
    integral, zero = np.linspace(-0.7, 0.9, n), np.zeros(n)
    efforts = rd.create_controller(name, dynamics, kp, kd, ki).compute(q, qd, reference, integral)
    M, C = truth.mass_matrix(q), truth.coriolis_matrix(q, qd)
    g, bias = truth.inverse(q, zero, zero), truth.inverse(q, qd, zero)
    pid = kp * (reference.q - q) + kd * (reference.qd - qd) + ki * integral

    def friction(velocity, smoothing):
        return dynamics.robot.damping * velocity + dynamics.robot.friction * np.tanh(velocity / smoothing)

    # Slotine and Li's law, whose two gains are the roots of λ² - kd λ + kp, or half of kd twice and a stiffness.
    slope = np.array([min(np.roots([1.0, -d, p]).real) for p, d in zip(kp, kd, strict=True)])
    e, ed = reference.q - q, reference.qd - qd
    pull = (kd - slope) * (ed + slope * e) + (kp - slope * (kd - slope)) * e + ki * integral
    learnt = M @ (slope * ed) + C @ (slope * e) + np.diagonal(M) * pull

    ahead, felt = friction(reference.qd, computed_torque.SMOOTHING), friction(qd, free_drive.SMOOTHING)
    expected = {
        "pd": (zero, zero, zero, zero, pid),
        "gravity_compensation": (g, zero, zero, zero, pid),
        "computed_torque": (g, bias - g, M @ reference.qdd, ahead, M @ pid),
        "impedance": (g, C @ reference.qd, M @ reference.qdd, ahead, pid),
        "free_drive": (g, zero, zero, free_drive.FRICTION_RATIO * felt, zero),
        "adaptive": (g, C @ reference.qd, M @ reference.qdd, ahead, learnt),
        "disturbance_observer": (g, bias - g, M @ reference.qdd, ahead, M @ pid),
    }[name]
    for key, ours, right in zip(efforts._fields, efforts, (*expected, reference.effort), strict=False):
        np.testing.assert_allclose(ours, right, rtol=1e-10, atol=1e-10, err_msg=key)
    np.testing.assert_allclose(efforts.total, sum(efforts[:-1]), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("law", [law for law in LAWS.values() if law.follows])
def test_gains_mean_the_same_for_every_law(law):
    """One joint alone, disturbed at home: its error accelerates by -(2 ζ ω ė + ω² e), or its stiffness is felt."""
    dynamics = rd.create_dynamics("rnea", rd.load_robot(arms.PRR))
    home, zero = np.array([0.3, -1.2, 0.7]), np.zeros(3)
    omega, zeta = np.array([11.0, 17.0, 23.0]), np.array([0.7, 1.0, 1.3])
    inertia = np.diagonal(dynamics.mass_matrix(home))
    chosen = [JointGains(stiffness=K, damping=D) for K, D in ((900.0, 110.0), (45.0, 7.0), (17.0, 3.0))]
    stiffness, damping = np.array([[joint.stiffness, joint.damping] for joint in chosen]).T
    for given, spring, damper in (
        (gains(law, dynamics, home, omega, zeta), omega**2 * inertia, 2 * zeta * omega * inertia),
        (joint_gains(law, dynamics, home, chosen), stiffness, damping),
    ):
        controller = law(dynamics, *given)
        for one in np.eye(3):
            e, ed = 0.01 * one, -0.2 * one
            feedback = controller.compute(home, zero, Reference(home + e, ed, zero, zero)).feedback
            np.testing.assert_allclose(one @ feedback, one @ (spring * e + damper * ed), rtol=1e-12)


@pytest.mark.parametrize(
    ("kp", "kd", "named"),
    [
        ([1.0, 2.0], 1.0, "kp: has shape"),
        (1.0, [1.0, np.nan], "kd"),
        (-1.0, 1.0, "kp: must not be negative"),
        (1.0, np.inf, "kd"),
        (1.0, 1.0, "ki"),
        ("stiff", 1.0, "kp: must be real numbers"),
        (["1", "2", "3"], 1.0, "kp: must be real numbers"),
        (1.0, [True, False, True], "kd: must be real numbers"),
        ([1j, 1.0, 1.0], 1.0, "kp: must be real numbers"),
        ([[1.0, 1.0, 1.0]], 1.0, "kp"),
    ],
)
@pytest.mark.parametrize("name", LAWS)
def test_gain_errors(name, kp, kd, named):
    dynamics = rd.create_dynamics("rnea", rd.load_robot(arms.mechanism("PRR")))
    with pytest.raises(rd.InputError, match=named):
        rd.create_controller(name, dynamics, kp, kd, -1.0 if named == "ki" else 0.0)


def test_gains_errors():
    dynamics = rd.create_dynamics("rnea", rd.load_robot(arms.mechanism("RR")))
    with pytest.raises(rd.InputError, match="natural_frequency"):
        gains(PD, dynamics, np.zeros(2), -1.0, 1.0)
    with pytest.raises(rd.InputError, match="damping_ratio"):
        gains(PD, dynamics, np.zeros(2), 1.0, [1.0, 1.0, 1.0])
    for name in ("integral_rate", "stiffness", "damping"):
        with pytest.raises(rd.InputError, match=f"{name}: must not be negative"):
            gains(PD, dynamics, np.zeros(2), 1.0, 1.0, **{name: [0.0, -1.0]})
    with pytest.raises(rd.InputError, match="home"):
        gains(PD, dynamics, [0.0, np.nan], 1.0, 1.0)


def test_settings_of_a_law_that_takes_none():
    with pytest.raises(rd.InputError, match="config: PD takes no settings"):
        PD(rd.create_dynamics("rnea", rd.load_robot(arms.mechanism("RR"))), 1.0, 1.0, config={"rate": 1.0})


def test_saturate():
    effort, mask = saturate(np.array([-7.0, 2.0, 5.0, 1e300]), np.array([3.0, 2.0, np.inf, 4.0]))
    np.testing.assert_array_equal(effort, [-3.0, 2.0, 5.0, 4.0])
    np.testing.assert_array_equal(mask, [True, False, False, True])
