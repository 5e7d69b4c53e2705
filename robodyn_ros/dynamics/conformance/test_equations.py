# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Clauses about how the quantities hang together, whatever the arm."""

from __future__ import annotations

import numpy as np
import pytest

import robodyn_ros as rd
from robodyn_ros.dynamics.base import Terms
from robodyn_ros.dynamics.conformance.subject import ARMS, INPUTS, Subject, same, tree
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
    """forward(q, q̇, inverse(q, q̇, q̈)) = q̈; as inverse is one-to-one, the other way round follows."""
    q, qd, given = subject.states(20)
    dynamics = subject.dynamics
    condition = np.linalg.cond(dynamics.mass_matrix(q)).max()
    found = dynamics.forward(q, qd, dynamics.inverse(q, qd, given))
    same(found, given, "forward: undoes inverse", ROUND_TRIP * max(1.0, condition / 1e3))


@pytest.mark.of_the_urdf
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


@pytest.mark.of_the_urdf
@pytest.mark.of_the_kit
def test_large_positions_are_angles_like_others(name: str) -> None:
    """A revolute joint a hundred turns on is where it was."""
    arm = Subject(name, ARMS["tilted, negative and long axes"])
    q, turns = arm.state()[0], 2 * np.pi * 100 * np.array([1.0, 0.0, -1.0])
    same(arm.dynamics.gravity(q + turns), arm.dynamics.gravity(q), "gravity: has the period of a turn", 1e-9)


def _times(matrices: Array, vectors: Array) -> Array:
    return np.einsum("kij,kj->ki", matrices, vectors)


# Clauses about the meaning of the numbers: order, units, and everything that a URDF may contain.


def test_the_robot_is_the_one_that_was_given(subject: Subject) -> None:
    """``dynamics.robot`` is the Robot that the constructor took."""
    assert subject.dynamics.robot is subject.robot, "dynamics.robot must be the very Robot that was given"


@pytest.mark.of_the_urdf
@pytest.mark.of_the_kit
def test_numbers_are_in_the_order_of_robot_joints(name: str) -> None:
    """Columns belong to ``robot.joints`` by name, whatever the order in which the URDF lists links and joints."""
    forwards, backwards = Subject(name, tree()), Subject(name, tree(reverse=True))
    order = [backwards.robot.joint_names.index(joint) for joint in forwards.robot.joint_names]
    assert order != sorted(order), "the kit's two trees must order their joints differently"
    q, qd, qdd = forwards.state()
    given = np.empty((3, forwards.n))
    given[:, order] = q, qd, qdd
    for method in ("inverse", "forward", "gravity"):
        expected, found = forwards.call(method, q, qd, qdd)[0], backwards.call(method, *given)[0]
        same(found[order], expected, f"{method}: the effort of a joint is found by its place in robot.joints")
    found = backwards.dynamics.mass_matrix(given[0])[np.ix_(order, order)]
    same(found, forwards.dynamics.mass_matrix(q), "mass_matrix: rows and columns are in the order of robot.joints")


def _as_defined(subject: Subject, method: str, clause: str) -> None:
    """A method gives the numbers of the definition."""
    for state in subject.states(5).swapaxes(0, 1):
        subject.check_defined(method, state, clause)


@pytest.mark.of_the_urdf
def test_mass_matrix_follows_from_the_kinetic_energy_of_the_bodies(subject: Subject) -> None:
    """M = Σ m Jvᵀ Jv + Jωᵀ I Jω."""
    _as_defined(subject, "mass_matrix", "mass_matrix")


@pytest.mark.of_the_urdf
def test_gravity_follows_from_the_weight_of_the_bodies(subject: Subject) -> None:
    """g(q) = -Σ m Jvᵀ g: the efforts that hold the arm, so that a lift's is positive."""
    _as_defined(subject, "gravity", "gravity: the efforts that hold the arm")


@pytest.mark.of_the_urdf
def test_energy_is_that_of_the_bodies(subject: Subject) -> None:
    """½ q̇·M q̇, and potential energy zero for centres of mass at the root link's origin."""
    _as_defined(subject, "energy", "energy: (kinetic, potential)")


@pytest.mark.of_the_urdf
def test_coriolis_matrix_is_of_christoffel_symbols(subject: Subject) -> None:
    """C_ij = ½ Σ_k (∂M_ij/∂q_k + ∂M_ik/∂q_j - ∂M_jk/∂q_i) q̇_k, and no other C with the same C q̇."""
    _as_defined(subject, "coriolis_matrix", "coriolis_matrix: Christoffel symbols")


@pytest.mark.of_the_urdf
def test_inverse_dynamics_follow_from_the_definition(subject: Subject) -> None:
    """τ = M q̈ + C q̇ + g; no friction unless it is asked for, although the URDF has some."""
    _as_defined(subject, "inverse", "inverse: M q̈ + C q̇ + g, without the friction of the URDF")
