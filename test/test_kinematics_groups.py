# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""SO(3) and SE(3) against SciPy and against mpmath at fifty digits, close to 0 and to π."""

from itertools import product

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose
from scipy.linalg import expm
from scipy.spatial.transform import Rotation

from robodyn_ros.errors import InputError
from robodyn_ros.kinematics import se3, so3
from robodyn_ros.robot import Pose
from robodyn_ros.robot.pose import read_only

ANGLES = (0.0, 1e-300, 1e-12, 1e-8, 1e-5, 1e-3, 0.049, 0.051, 0.7, 2.0, 3.0, np.pi - 1e-4, np.pi - 1e-8, np.pi - 1e-12)

vectors = arrays(np.float64, 3, elements=st.floats(-1.0, 1.0)).filter(lambda v: np.linalg.norm(v) > 1e-3)
angles = st.one_of(st.floats(0.0, np.pi), st.floats(0.0, 1e-6), st.floats(0.0, 1e-6).map(lambda x: np.pi - x))


def precise_exponential(matrix: np.ndarray) -> np.ndarray:
    """The matrix exponential at fifty digits, rounded once."""
    with mpmath.workdps(50):
        found = mpmath.expm(mpmath.matrix(matrix.tolist()), method="taylor")
        return np.array(found.tolist(), dtype=float)


@settings(max_examples=200, deadline=None)
@given(vectors, angles)
def test_rotations_agree_with_scipy_and_come_back(axis: np.ndarray, angle: float) -> None:
    phi = angle * axis / np.linalg.norm(axis)
    rotation = so3.exp(phi)
    rounding = 1e-15 + 1e-15 * angle
    assert_allclose(rotation, Rotation.from_rotvec(phi).as_matrix(), atol=rounding, rtol=0)
    # Twice that times the sum of a row of a rotation, which is at most the root of 3.
    assert_allclose(rotation @ rotation.T, np.eye(3), atol=2.0 * np.sqrt(3.0) * rounding, rtol=0)
    back = so3.log(rotation)
    if angle > np.pi - 1e-6 and back @ phi < 0.0:  # at half a turn either sign is right
        back -= 2.0 * np.pi * back / np.linalg.norm(back)
    assert_allclose(back, phi, atol=3e-15, rtol=0)
    q = so3.quaternion(rotation)
    assert_allclose(np.abs(q @ np.roll(Rotation.from_matrix(rotation).as_quat(), 1)), 1.0, rtol=1e-14)


@pytest.mark.parametrize("angle", ANGLES)
def test_exponentials_are_exact_to_rounding(angle: float) -> None:
    axis = np.array([2.0, -1.0, 0.5])
    axis /= np.linalg.norm(axis)
    twist = np.concatenate([[0.7, -1.1, 0.4], angle * axis])
    found = se3.exp(twist)
    assert_allclose(found, precise_exponential(se3.hat(twist)), rtol=1e-14, atol=2e-16)
    back = se3.log(found)
    # Also 1e-300 rad comes back: arccos of a trace gives 0 from 1e-8 down.
    assert_allclose(back[3:], twist[3:], rtol=1e-12, atol=1e-16 * angle)
    assert_allclose(back[:3], twist[:3], rtol=1e-13)


def test_half_turns_about_every_axis() -> None:
    for axis in np.random.default_rng(2).normal(size=(200, 3)):
        axis /= np.linalg.norm(axis)
        rotation = 2.0 * np.outer(axis, axis) - np.eye(3)
        phi = so3.log(rotation)
        assert_allclose(np.linalg.norm(phi), np.pi, rtol=1e-15)
        assert_allclose(so3.exp(phi), rotation, atol=2e-15, rtol=0)


@pytest.mark.parametrize("angle", ANGLES)
def test_left_jacobian(angle: float) -> None:
    """J(φ) is the integral of exp(s φ) over s from 0 to 1, and its inverse its inverse."""
    phi = angle * np.array([-2.0, 3.0, 6.0]) / 7.0
    nodes, weights = np.polynomial.legendre.leggauss(20)
    integral = sum(w / 2 * so3.exp((s + 1) / 2 * phi) for s, w in zip(nodes, weights, strict=True))
    assert_allclose(so3.left_jacobian(phi), integral, atol=3e-15, rtol=0)
    assert_allclose(so3.left_jacobian(phi) @ so3.left_jacobian_inverse(phi), np.eye(3), atol=3e-15, rtol=0)


@settings(max_examples=100, deadline=None)
@given(arrays(np.float64, (2, 6), elements=st.floats(-3.0, 3.0)))
def test_the_group_and_its_adjoint(twists: np.ndarray) -> None:
    one, other = se3.exp(twists)
    assert_allclose(one @ se3.inverse(one), np.eye(4), atol=1e-14, rtol=0)
    # Ad is a homomorphism, and T exp(ξ) T⁻¹ = exp(Ad(T) ξ).
    assert_allclose(se3.adjoint(one @ other), se3.adjoint(one) @ se3.adjoint(other), atol=1e-12, rtol=0)
    assert_allclose(one @ other @ se3.inverse(one), se3.exp(se3.adjoint(one) @ twists[1]), atol=1e-12, rtol=0)
    assert_allclose(se3.vee(se3.hat(twists)), twists, rtol=1e-14)
    assert_allclose(one, expm(se3.hat(twists[0])), atol=1e-12, rtol=0)


def test_many_at_once_are_each_alone() -> None:
    twists = np.random.default_rng(5).normal(size=(50, 6))
    log, adjoint, inverse = ((lambda x, f=f: f(se3.exp(x))) for f in (se3.log, se3.adjoint, se3.inverse))
    for function in (se3.exp, log, adjoint, inverse):
        assert_allclose(function(twists), [function(twist) for twist in twists], atol=1e-14, rtol=0)


def test_the_error_of_a_pose_is_what_is_missing() -> None:
    actual, wanted = se3.exp(np.random.default_rng(6).normal(size=(2, 6)))
    missing = se3.error(actual, wanted)
    assert_allclose(actual[:3, 3] + missing[:3], wanted[:3, 3], rtol=1e-14)
    assert_allclose(Rotation.from_rotvec(missing[3:]).as_matrix() @ actual[:3, :3], wanted[:3, :3], atol=1e-14, rtol=0)


def test_poses() -> None:
    pose = Pose.from_xyz_rpy((0.1, 0.2, 0.3), (0.4, 0.5, 0.6))
    assert_allclose(se3.as_pose(pose), se3.from_pose(pose), rtol=1e-14)
    assert_allclose(se3.as_pose(se3.from_pose(pose)), se3.from_pose(pose), rtol=1e-14)
    mirrored, T = np.diag([1.0, 1.0, -1.0, 1.0]), se3.from_pose(pose)
    spoilt = []  # by one entry, or by the length of one axis: none makes up for another
    for row, off in product(np.eye(4)[:3], (-1e-3, 1e-3)):
        spoilt += [T + off * np.outer(row, column) for column in np.eye(4)[:3]]
        spoilt += [T @ np.diag(1.0 + off * row), np.diag(1.0 + off * row) @ T]
    others = mirrored, 2.0 * np.eye(4), np.full((4, 4), np.nan), read_only(np.ones((4, 4)))
    for wrong in (*spoilt, *others, np.eye(3), "pose"):
        with pytest.raises(InputError, match="homogeneous matrix"):
            se3.as_pose(wrong)
