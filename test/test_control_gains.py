# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The default gains on public arms, whose URDFs have no motors' inertia, with loads that the model does not know."""

import numpy as np
import pytest
from industrial import urdf, urdfs

import robodyn_ros as rd
from robodyn_ros.cli.main import main
from robodyn_ros.control import JointGains
from robodyn_ros.control.faults.sampling import GAIN_MARGIN, spectral_radius, stable_ratio
from robodyn_ros.control.laws.base import AccelerationGains
from robodyn_ros.dynamics.parameters import Payload
from robodyn_ros.robot.robot import tip

OMEGA = JointGains().natural_frequency

RATED = {"ur3_robot": 3.0, "ur5_robot": 5.0, "ur10_robot": 10.0, "panda": 3.0, "kinova": 2.6, "xarm7": 3.5, "z1": 2.0}
"""URDF of example-robot-data → greatest payload that its maker allows [kg]."""

PERIOD = 0.002


def poses(robot, count=60):
    far = np.where([joint.is_prismatic for joint in robot.joints], 1.0, np.pi)
    lower, upper = np.maximum(robot.lower, -far), np.minimum(robot.upper, far)
    return np.random.default_rng(2).uniform(np.minimum(lower, upper), upper, (count, robot.n))


def feedback(dynamics, q, load, omega):
    """Computed torque of a model without the load, as accelerations of the arm that has it."""
    model = dynamics.mass_matrix(q)
    dynamics.configure(payload=load)
    real = dynamics.mass_matrix(q)
    dynamics.configure(payload=None)
    share = np.linalg.solve(real, model)
    return AccelerationGains(share * omega**2, share * 2.0 * omega, np.zeros_like(share))


@pytest.mark.parametrize("name", RATED)
def test_no_unknown_load_makes_the_default_gains_unstable(name):
    """M⁻¹ M̂ has real eigenvalues in (0, 1], so each mode has the damping √λ, and the sampled one a radius below one."""
    robot = rd.load_robot(urdf(name), accept=["repaired_inertia"])
    dynamics = rd.create_dynamics("rnea", robot, compiled=False)
    for mass in (0.5 * RATED[name], RATED[name], 3.0 * RATED[name]):
        for q in poses(robot):
            found = feedback(dynamics, q, Payload(tip(robot), mass), OMEGA)
            modes = np.linalg.eigvals(found.position) / OMEGA**2
            assert np.abs(modes.imag).max() < 1e-6 and modes.real.min() > 0.0 and modes.real.max() < 1.0 + 1e-6
            n = robot.n
            poles = np.linalg.eigvals(np.block([[np.zeros((n, n)), np.eye(n)], [-found.position, -found.velocity]]))
            damping = (-poles.real / np.abs(poles)).min()
            assert damping == pytest.approx(np.sqrt(modes.real.min()), rel=1e-3)
            assert spectral_radius(PERIOD, PERIOD, found) < 1.0


def test_states_10_ms_apart_and_10_ms_old_carry_the_default_gains():
    one, none = np.eye(3), np.zeros((3, 3))
    found = AccelerationGains(OMEGA**2 * one, 2.0 * OMEGA * one, none)
    assert stable_ratio(0.01, 0.01, found, GAIN_MARGIN) == 1.0


@pytest.mark.parametrize("mass", [0.0, 5.0])
def test_a_ur5_without_motors_moves_under_any_load_that_it_may_carry(mass, capsys):
    """Its maker allows 5 kg. The model knows of none."""
    urdf("ur5_robot")  # skips where the package is not installed
    pose = "elbow_joint=1.4,shoulder_lift_joint=-1.2"
    given = ["-p", f"simulator:mismatch.payload_mass:={mass}", "-p", "plausibility:=false"]
    assert main(["simulate", str(urdfs()["ur5_robot"]), "--to", pose, "--duration", "3", *given]) == 0
    assert "3 s under computed_torque" in capsys.readouterr().out
