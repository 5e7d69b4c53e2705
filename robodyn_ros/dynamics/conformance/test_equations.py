"""Clauses about how the quantities hang together, whatever the arm."""

from __future__ import annotations

import numpy as np
import pytest

import robodyn_ros as rd
from robodyn_ros.dynamics.conformance.arms import ARMS
from robodyn_ros.dynamics.conformance.subject import DIFFERENCES, INPUTS, Subject, same
from robodyn_ros.dynamics.results import Terms
from robodyn_ros.robot.pose import Array

ROUND_TRIP = 1e-9
"""Solving M x = b loses some digits."""


def test_mass_matrix_is_symmetric(subject: Subject) -> None:
    """M = Mᵀ: both triangles are filled."""
    M = subject.dynamics.mass_matrix(subject.states(20)[0])
    same(M, M.swapaxes(1, 2), "mass_matrix: symmetric", 1e-12)


def test_mass_matrix_is_positive_definite(subject: Subject) -> None:
    """All eigenvalues are above zero: no motion is without energy."""
    least = np.linalg.eigvalsh(subject.dynamics.mass_matrix(subject.states(20)[0])).min()
    assert least > 0.0, f"mass_matrix: positive definite, but an eigenvalue is {least:g}"


def test_mass_rate_minus_twice_coriolis_is_skew(subject: Subject) -> None:
    """Ṁ - 2C is skew-symmetric, Ṁ by differences along q̇."""
    q, qd, _ = subject.states(20)
    h = 1e-3
    M = [subject.dynamics.mass_matrix(q + k * h * qd) for k in (-2, -1, 1, 2)]
    rate = (M[0] - 8 * M[1] + 8 * M[2] - M[3]) / (12 * h)
    skew = rate - 2 * subject.dynamics.coriolis_matrix(q, qd)
    same(skew + skew.swapaxes(1, 2), np.zeros_like(skew), "coriolis_matrix: Ṁ - 2C skew-symmetric", DIFFERENCES)


def test_terms_add_up_to_inverse_dynamics(subject: Subject) -> None:
    """M q̈ + C q̇ + g = τ."""
    q, qd, qdd = subject.states(20)
    dynamics = subject.dynamics
    terms = _times(dynamics.mass_matrix(q), qdd) + _times(dynamics.coriolis_matrix(q, qd), qd) + dynamics.gravity(q)
    same(dynamics.inverse(q, qd, qdd), terms, "inverse: the sum of M q̈, C q̇ and g")


def test_terms_of_a_control_law(subject: Subject) -> None:
    """``terms`` gives g, C q̇, M q̈ and M y, whatever friction the model was given."""
    q, qd, qdd = subject.states(20)
    dynamics, y = subject.dynamics, qdd[::-1]
    M, C, gravity = dynamics.mass_matrix(q), dynamics.coriolis_matrix(q, qd), dynamics.gravity(q)
    expected = gravity, _times(C, qd), _times(M, qdd), _times(M, y)
    before = dynamics.parameters
    dynamics.configure(viscous=np.full(subject.n, 2.0), coulomb=np.full(subject.n, 3.0))
    try:
        found = dynamics.terms(q, qd, qdd, y)
    finally:
        dynamics.configure(viscous=before.viscous, coulomb=before.coulomb)
    for name, value, known in zip(Terms._fields, found, expected, strict=True):
        same(value, known, f"terms: {name}")


def test_forward_dynamics_undo_inverse_dynamics(subject: Subject) -> None:
    """forward(q, q̇, inverse(q, q̇, q̈)) = q̈, and the other way round."""
    q, qd, given = subject.states(20)
    dynamics = subject.dynamics
    condition = np.linalg.cond(dynamics.mass_matrix(q)).max()
    found = dynamics.forward(q, qd, dynamics.inverse(q, qd, given))
    same(found, given, "forward: undoes inverse", ROUND_TRIP * max(1.0, condition / 1e3))
    found = dynamics.inverse(q, qd, dynamics.forward(q, qd, given))
    same(found, given, "inverse: undoes forward", ROUND_TRIP * max(1.0, condition / 1e3))


def test_energy_grows_by_the_power_of_the_efforts(subject: Subject) -> None:
    """d/dt (K + P) = q̇·τ along any motion: neither forces nor energies are lost."""
    q, qd, qdd = subject.states(20)

    def total(t: float) -> Array:
        energy = subject.dynamics.energy(q + t * qd + t**2 / 2 * qdd, qd + t * qdd)
        return energy.kinetic + energy.potential

    h = 1e-3
    rate = (total(-2 * h) - 8 * total(-h) + 8 * total(h) - total(2 * h)) / (12 * h)
    power = np.sum(qd * subject.dynamics.inverse(q, qd, qdd), axis=1)
    same(power, rate, "energy: its rate is the power q̇·τ", DIFFERENCES)


@pytest.mark.parametrize("method", INPUTS)
def test_agreement_with_the_reference_plugin(subject: Subject, method: str) -> None:
    """The same numbers as ``rnea``; ``rnea`` itself is held against ``lagrangian``."""
    gravity = subject.dynamics.gravity_vector
    reference = rd.create_dynamics("lagrangian" if subject.name == "rnea" else "rnea", subject.robot, gravity=gravity)
    values = subject.states(20)[: len(INPUTS[method])]
    expected = getattr(reference, method)(*values)
    condition = np.linalg.cond(subject.dynamics.mass_matrix(values[0])).max() if method == "forward" else 1.0
    tolerance = 1e-10 * max(1.0, condition / 1e3)
    found = subject.call(method, *values)
    same(found, tuple(expected) if method == "energy" else (expected,), f"{method}: as the reference", tolerance)


def test_large_positions_are_angles_like_others(name: str) -> None:
    """A revolute joint a hundred turns on is where it was."""
    arm = Subject(name, ARMS["tilted, negative and long axes"])
    q, turns = arm.state()[0], 2 * np.pi * 100 * np.array([1.0, 0.0, -1.0])
    same(arm.dynamics.gravity(q + turns), arm.dynamics.gravity(q), "gravity: has the period of a turn", 1e-9)


def _times(matrices: Array, vectors: Array) -> Array:
    products: Array = np.einsum("kij,kj->ki", matrices, vectors)
    return products
