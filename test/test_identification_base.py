# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Base parameters: their number, what they are made of, and that nothing else can be seen."""

from functools import partial

import industrial
import numpy as np
import pinocchio
import pytest
from arms import mechanism, random_robot
from identified import AWKWARD, PRR, RR
from numpy.testing import assert_allclose
from puma import puma
from truth import Pinocchio

import robodyn_ros as rd
from robodyn_ros.dynamics.rnea import RNEA
from robodyn_ros.identification.estimation import base_parameters as module
from robodyn_ros.identification.estimation.base_parameters import parameter_names, parameter_units
from robodyn_ros.identification.estimation.identify import _listed
from robodyn_ros.identification.estimation.regression_model import arm_length

GRAVITY = (0.0, 0.0, -9.81)

base_parameters = partial(module.base_parameters, compiled=False)  # each arm is used once


def regressor(arm, q, qd, qdd):
    """Pinocchio's, of the inertial parameters (n, 10 · bodies)."""
    truth = Pinocchio(arm, GRAVITY)
    arguments = truth.configuration(q), truth.lead @ qd, truth.lead @ qdd
    found = pinocchio.computeJointTorqueRegressor(truth.model, truth.data, *arguments)
    order = [10 * (truth.model.getJointId(body.joint.name) - 1) + k for body in arm.bodies for k in range(10)]
    return truth.lead.T @ found[:, order]


def states(arm, count, seed=1):
    return np.random.default_rng(seed).normal(size=(count, 3, arm.n)) * np.array([1.0, 2.0, 5.0])[:, None]


def stacked(arm, count=60):
    return np.vstack([regressor(arm, *state) for state in states(arm, count)])


def test_long_lists_of_names_are_cut():
    assert _listed("abcd") == "a, b, c, d"
    assert _listed("abcde") == "a, b, c, d and 1 more"
    assert _listed("abcdef") == "a, b, c, d and 2 more"


@pytest.mark.parametrize(
    ("length", "centres", "size"), [(0.7, (0.2, 0.3), 0.7), (0.2, (0.9, 0.1), 0.9), (0.0, (0.0, 0.0), 1.0)]
)
def test_the_size_of_an_arm_is_not_that_of_its_pedestal(length, centres, size):
    text = mechanism("RR", lengths=(length, 0.4), coms=centres)
    pedestal = 'link1"/><origin xyz="0.0 0.0 0.0"', 'link1"/><origin xyz="0.0 0.0 3.0"'
    assert arm_length(rd.load_robot(text.replace(*pedestal, 1))) == pytest.approx(size)


@pytest.mark.parametrize(
    ("arm", "count"),
    [(PRR, 7), (RR, 6), (rd.load_robot(mechanism("PR", coms=(0.4, 0.3))), 4), (puma(), 36)],
    ids=lambda value: getattr(value, "name", value),
)
def test_known_numbers_of_base_parameters(arm, count):
    """PUMA 560: Gautier and Khalil (1990), 36 with gravity along the first axis; the others by hand."""
    base = base_parameters(arm)
    assert base.rank == count
    assert base.gap[0] > 0.1
    assert base.gap[1] < 1e-12
    assert np.linalg.matrix_rank(stacked(arm), tol=1e-8) == count


def test_the_panda_has_43():
    """Gaz, Cognetti, Oliva, Robuffo Giordano and De Luca, IEEE RA-L 4(4), 2019."""
    assert base_parameters(rd.load_robot(industrial.panda())).rank == 43
    with_joints = base_parameters(rd.load_robot(industrial.panda()), armature=True, viscous=True, coulomb=True)
    assert with_joints.rank == 43 + 5 + 7 + 7  # two rotors are seen together with their links


@pytest.mark.parametrize("name", sorted(AWKWARD))
def test_they_are_all_that_pinocchio_can_see(name):
    base, Y = base_parameters(AWKWARD[name]), stacked(AWKWARD[name])
    length = np.linalg.norm(Y, axis=0)
    assert base.rank == np.linalg.matrix_rank(Y[:, length > 1e-9] / length[length > 1e-9], tol=1e-8)
    theta = np.random.default_rng(2).normal(size=Y.shape[1])
    scale = np.abs(Y @ theta).max()
    assert_allclose(Y[:, base.columns[base.independent]] @ base.values(theta), Y @ theta, atol=1e-9 * scale)
    # What K does not see changes nothing, in no motion.
    _, _, rows = np.linalg.svd(base.combination)
    assert_allclose(Y @ rows[base.rank :].T, 0.0, atol=1e-9 * np.abs(Y).max())


@pytest.mark.parametrize("seed", range(4))
def test_of_random_arms(seed):
    arm = rd.load_robot(random_robot(seed, 4, mimic=0.2))
    base = base_parameters(arm, armature=True, viscous=True, coulomb=True)
    dynamics = RNEA(arm, compiled=False)
    theta = np.random.default_rng(seed).normal(size=len(dynamics.theta()))
    for q, qd, qdd in states(arm, 5):
        Y = dynamics.regressor(q, qd, qdd)
        assert_allclose(base.regressor(Y) @ base.values(theta), Y @ theta, atol=1e-9 * np.abs(Y).max())


def test_gravity_along_the_first_axis_hides_what_gravity_across_it_shows():
    assert (
        base_parameters(AWKWARD["branched"], gravity=(3.0, 0.0, -9.0)).rank > base_parameters(AWKWARD["branched"]).rank
    )
    assert base_parameters(RR, gravity=(0.0, 0.0, 0.0)).rank == 4


def test_text():
    base = base_parameters(PRR, armature=True)
    assert base.text()[:2] == ("m(carriage) + m(arm) + m(hand)", "Iyy(arm) + 0.25 m(hand) + armature(shoulder)")
    assert "mx(carriage)" in base.invisible
    names = list(base.names)
    assert base.partners(names.index("mz(hand)")) == ()
    assert set(base.partners(names.index("m(carriage)"))) == {"m(arm)", "m(hand)"}


def test_names_and_units():
    names, units = parameter_names(PRR), parameter_units(PRR)
    assert len(names) == len(units) == len(set(names)) == len(RNEA(PRR).theta())
    assert dict(zip(names, units, strict=True))["armature(elevator)"] == "kg"
    assert dict(zip(names, units, strict=True))["viscous(wrist)"] == "N·m·s/rad"
    assert units[:10] == ("kg", *["kg m"] * 3, *["kg m²"] * 6)
