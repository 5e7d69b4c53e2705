# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Singular values, manipulability and ellipsoids of Jacobians whose answers are known."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import robodyn_ros as rd
from robodyn_ros.errors import InputError
from robodyn_ros.kinematics import Kinematics
from robodyn_ros.kinematics.workspace import ANGULAR, LINEAR, analyse, manipulability

PLANE = (0, 2, 4)  # x, z and the turn about y


def test_manipulability_of_the_prr_arm_has_a_closed_form(prr: str) -> None:
    """Reference section 1: det J = l2 cos q2, in height, reach and pitch."""
    kinematics = Kinematics(rd.load_robot(prr), compiled=False)
    for q in np.random.default_rng(1).uniform(-1.4, 1.4, (20, 3)):
        found = analyse(kinematics.jacobian("tool", q), PLANE)
        assert_allclose(found.manipulability, 0.5 * abs(np.cos(q[1])), rtol=1e-12)
        assert found.rank == 3
        assert not found.singular
    level = analyse(kinematics.jacobian("tool", [0.3, np.pi / 2, 0.4]), PLANE)
    assert level.singular
    assert (level.rank, level.manipulability, level.isotropy, level.condition) == (2, 0.0, 0.0, np.inf)
    # With the first link level, lift and shoulder both raise the tool: what is lost keeps the wrist at its reach.
    lost = level.lost[:, 0] / level.lost[0, 0]
    assert_allclose(lost, [1, 0, -0.343 * np.cos(np.pi / 2 + 0.4)], atol=1e-12)
    moves = kinematics.jacobian("tool", [0.3, np.pi / 2, 0.4])[list(PLANE)]
    assert_allclose(moves @ level.null_space, 0, atol=1e-12)
    assert_allclose(lost @ moves, 0, atol=1e-12)


def test_two_links_are_isotropic_where_the_book_says() -> None:
    """Salisbury and Craig (1982): condition 1 at l1 = √2 l2, elbow at 135°; Yoshikawa: best at a right angle."""
    l2 = 0.7
    l1 = np.sqrt(2) * l2

    def jacobian(q2: float) -> np.ndarray:
        return np.array([[-l2 * np.sin(q2), -l2 * np.sin(q2)], [l1 + l2 * np.cos(q2), l2 * np.cos(q2)]])

    best = analyse(jacobian(3 * np.pi / 4))
    assert_allclose((best.condition, best.isotropy), 1.0, rtol=1e-12)
    angles = np.linspace(0.01, np.pi - 0.01, 101)
    measures = manipulability(np.stack([jacobian(q2) for q2 in angles]))
    assert_allclose(measures, l1 * l2 * np.sin(angles), rtol=1e-12)
    assert angles[np.argmax(measures)] == pytest.approx(np.pi / 2)
    assert manipulability(jacobian(np.pi)[None]) == 0.0


def test_ellipsoids_are_what_unit_rates_and_efforts_give() -> None:
    rng = np.random.default_rng(2)
    J = rng.normal(size=(3, 5))
    found = analyse(J)
    rates = rng.normal(size=(5, 1000))
    velocities = J @ (rates / np.linalg.norm(rates, axis=0))
    in_axes = found.velocity.axes.T @ velocities / found.velocity.lengths[:, None]
    assert (np.linalg.norm(in_axes, axis=0) <= 1 + 1e-12).all()
    pushed = J @ (J.T @ found.velocity.axes[:, 0]) / found.velocity.lengths[0]
    assert_allclose(pushed, found.velocity.lengths[0] * found.velocity.axes[:, 0], rtol=1e-12)
    forces = found.force.axes * found.force.lengths
    assert_allclose(np.linalg.norm(J.T @ forces, axis=0), 1.0, rtol=1e-12)  # each half axis takes unit efforts
    assert (np.diff(found.force.lengths) <= 0).all()
    assert_allclose(found.manipulability, np.sqrt(np.linalg.det(J @ J.T)), rtol=1e-12)
    assert_allclose(np.prod(found.velocity.lengths) * np.prod(found.force.lengths), 1.0, rtol=1e-12)
    assert_allclose(J @ found.null_space, 0, atol=1e-14)
    assert found.null_space.shape == (5, 2)


def test_rows_and_lengths() -> None:
    J = np.random.default_rng(3).normal(size=(6, 6))
    assert_allclose(analyse(J, LINEAR).manipulability, abs(np.linalg.det(J[:3] @ J[:3].T)) ** 0.5, rtol=1e-12)
    assert_allclose(analyse(J, ANGULAR, length=0.25).singular_values, 0.25 * analyse(J[3:]).singular_values, rtol=1e-12)
    assert_allclose(analyse(J, length=0.25).manipulability, 0.25**3 * abs(np.linalg.det(J)), rtol=1e-12)


def test_slow_axes_and_no_motion_at_all() -> None:
    """Isotropy is the ratio of least to greatest singular value, also where both are below one."""
    slow, found = analyse(np.diag([0.5, 0.2])), analyse(np.zeros((3, 2)))
    assert (slow.isotropy, slow.condition) == pytest.approx((0.4, 2.5))
    assert (found.rank, found.singular, found.manipulability, found.condition) == (0, True, 0.0, np.inf)
    assert found.isotropy == 0.0
    assert found.lost.shape == (3, 3)
    assert (found.force.lengths == np.inf).all()


def test_refusals() -> None:
    for jacobian, rows in ((np.zeros(3), None), ([[np.nan]], None), (np.eye(3), (3,)), (np.eye(3), ())):
        with pytest.raises(InputError):
            analyse(jacobian, rows)
