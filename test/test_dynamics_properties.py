# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""What every right answer has in common: symmetry, definiteness, skewness, power, linearity."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from arms import awkward, random_robot
from numpy.testing import assert_allclose

import robodyn_ros as rd

PRR = (Path(__file__).parent.parent / "urdf" / "prr.urdf").read_text()
ARMS = {"prr": PRR, **awkward(), "random": random_robot(11, joints=6)}


@pytest.fixture(params=[(name, arm) for name in rd.available("dynamics") for arm in ARMS], ids="-".join)
def dynamics(request: pytest.FixtureRequest) -> rd.Dynamics:
    name, arm = request.param
    return rd.create_dynamics(name, rd.load_robot(ARMS[arm]), gravity=(0.2, 1.1, -9.7))


@pytest.fixture
def states(dynamics: rd.Dynamics) -> np.ndarray:
    """Positions, velocities and accelerations, (3, 50, n)."""
    return np.random.default_rng(5).uniform(-3, 3, (3, 50, dynamics.robot.n))


def test_mass_matrix_is_symmetric_and_positive_definite(dynamics: rd.Dynamics, states: np.ndarray) -> None:
    mass = dynamics.mass_matrix(states[0])
    assert_allclose(mass, mass.transpose(0, 2, 1), rtol=1e-12, atol=1e-12)
    assert (np.linalg.eigvalsh(mass) > 0).all()


def test_mass_rate_minus_twice_coriolis_is_skew(dynamics: rd.Dynamics, states: np.ndarray) -> None:
    """Ṁ by central differences of O(h⁴), so that the check owes nothing to how C is made."""
    q, qd, _ = states
    h = 1e-3
    m = [dynamics.mass_matrix(q + k * h * qd) for k in (-2, -1, 1, 2)]
    rate = (m[0] - 8 * m[1] + 8 * m[2] - m[3]) / (12 * h)
    skew = rate - 2 * dynamics.coriolis_matrix(q, qd)
    scale = np.abs(rate).max()
    assert_allclose((skew + skew.transpose(0, 2, 1)) / scale, 0, atol=1e-8)


def test_terms_add_up(dynamics: rd.Dynamics, states: np.ndarray) -> None:
    q, qd, qdd = states
    tau = dynamics.inverse(q, qd, qdd)
    inertia = np.einsum("kij,kj->ki", dynamics.mass_matrix(q), qdd)
    coriolis = np.einsum("kij,kj->ki", dynamics.coriolis_matrix(q, qd), qd)
    assert_allclose(inertia + coriolis + dynamics.gravity(q), tau, rtol=1e-10, atol=1e-10 * np.abs(tau).max())


def test_forward_undoes_inverse(dynamics: rd.Dynamics, states: np.ndarray) -> None:
    q, qd, qdd = states
    again = dynamics.forward(q, qd, dynamics.inverse(q, qd, qdd))
    assert_allclose(again, qdd, rtol=1e-9, atol=1e-9 * np.linalg.cond(dynamics.mass_matrix(q)).max())


def test_energies(dynamics: rd.Dynamics, states: np.ndarray) -> None:
    """K = ½ q̇ᵀ M q̇, g = ∂P/∂q, and the power that goes in is the rate at which energy grows."""
    q, qd, qdd = states
    kinetic, potential = dynamics.energy(q, qd)
    assert kinetic.shape == potential.shape == (50,)
    assert_allclose(kinetic, np.einsum("ki,kij,kj->k", qd, dynamics.mass_matrix(q), qd) / 2, rtol=1e-10)

    def along(steps: float) -> np.ndarray:
        return sum(dynamics.energy(q + steps * qd + steps**2 / 2 * qdd, qd + steps * qdd))

    h = 1e-4
    rate = (along(-2 * h) - 8 * along(-h) + 8 * along(h) - along(2 * h)) / (12 * h)
    power = np.einsum("ki,ki->k", qd, dynamics.inverse(q, qd, qdd))
    assert_allclose(rate, power, atol=1e-7 * np.abs(kinetic).max())
    assert potential.std() > 0


def test_gravity_is_data() -> None:
    """Turn gravity, or take it away, and the arm answers."""
    robot = rd.load_robot(PRR)
    q = np.array([0.3, 0.5, -0.7])
    for name in rd.available("dynamics"):
        floating = rd.create_dynamics(name, robot, gravity=(0, 0, 0))
        assert_allclose(floating.gravity(q), 0, atol=1e-15)
        moon, earth = (rd.create_dynamics(name, robot, gravity=(0, 0, -g)) for g in (1.62, 9.81))
        assert_allclose(moon.gravity(q) / 1.62, earth.gravity(q) / 9.81, rtol=1e-12)
        sideways = rd.create_dynamics(name, robot, gravity=(0, 9.81, 0))
        assert_allclose(sideways.gravity(q), 0, atol=1e-13)  # along the revolute axes, across the elevator
