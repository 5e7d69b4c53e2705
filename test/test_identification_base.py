"""Base parameters: their number, what they are made of, and that nothing else can be seen."""

from __future__ import annotations

import numpy as np
import pinocchio
import pytest
from arms import joint, lesson_arm, link, mechanism, random_robot, robot
from identified import AWKWARD, PRR, RR, panda
from industrial import urdfs
from numpy.testing import assert_allclose
from puma import puma
from truth import Pinocchio

import robodyn_ros as rd
from robodyn_ros.dynamics.rnea import RNEA
from robodyn_ros.identification.estimation.base_parameters import base_parameters, parameter_names, parameter_units
from robodyn_ros.identification.grouping import grouping

GRAVITY = (0.0, 0.0, -9.81)


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


@pytest.mark.skipif("panda" not in urdfs(), reason="example-robot-data is not installed")
def test_the_panda_has_43():
    """Gaz, Cognetti, Oliva, Robuffo Giordano and De Luca, IEEE RA-L 4(4), 2019."""
    assert base_parameters(panda()).rank == 43
    with_joints = base_parameters(panda(), armature=True, viscous=True, coulomb=True)
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
    dynamics = RNEA(arm)
    theta = np.random.default_rng(seed).normal(size=len(dynamics.theta()))
    for q, qd, qdd in states(arm, 5):
        Y = dynamics.regressor(q, qd, qdd)
        assert_allclose(base.regressor(Y) @ base.values(theta), Y @ theta, atol=1e-9 * np.abs(Y).max())


def test_gravity_along_the_first_axis_hides_what_gravity_across_it_shows():
    assert (
        base_parameters(AWKWARD["branched"], gravity=(3.0, 0.0, -9.0)).rank > base_parameters(AWKWARD["branched"]).rank
    )
    assert base_parameters(RR, gravity=(0.0, 0.0, 0.0)).rank == 4


def test_text_and_letters():
    base = base_parameters(PRR, armature=True)
    assert base.text()[:2] == ("m(carriage) + m(arm) + m(hand)", "Iyy(arm) + 0.25 m(hand) + armature(shoulder)")
    assert grouping(PRR, base, armature=True) == (
        "m(carriage) + m(arm) + m(hand)",
        "Iyy(arm) + l(wrist)² m(hand) + armature(shoulder)",
        "mx(arm)",
        "mz(arm) + l(wrist) m(hand)",
        "Iyy(hand)",
        "mx(hand)",
        "mz(hand)",
        "armature(elevator)",
        "armature(wrist)",
    )
    assert "mx(carriage)" in base.invisible
    names = list(base.names)
    assert base.partners(names.index("mz(hand)")) == ()
    assert set(base.partners(names.index("m(carriage)"))) == {"m(arm)", "m(hand)"}


def test_letters_of_an_arm_whose_lengths_are_one():
    """Where 1 = 1², letters must not be guessed from numbers."""
    arm = rd.load_robot(lesson_arm((5, 3, 2), (1.0, 1.0, 0.3), (0.25, 0.2, 0.1), (0.1, 0.05, 0.02)))
    found = grouping(arm, base_parameters(arm))
    assert found[0] == "Iyy(link1) + l(joint2)² m(link2) + l(joint2)² m(link3)"
    assert found[1] == "mx(link1) + l(joint2) m(link2) + l(joint2) m(link3)"


def test_letters_hold_for_all_lengths():
    """Two tilted arms that differ in their lengths alone: other numbers, the same letters."""
    inertia = (0.02, 0.001, 0.002, 0.03, 0.003, 0.04)
    arms = []
    for offset in ((0.3, 0.0, 0.5), (0.7, 0.0, 0.2)):
        parts = [link("base"), link("a", 2.0, (0.1, 0.2, 0.3), inertia), link("b", 1.0, (0.3, 0.1, 0.2), inertia)]
        parts += [joint("ja", "revolute", "base", "a", (0, 0, 1))]
        parts += [joint("jb", "revolute", "a", "b", (0, 1, 2), offset, (0.4, 0.5, 0.6))]
        arms.append(rd.load_robot(robot("tilted", *parts)))
    bases = [base_parameters(arm) for arm in arms]
    assert bases[0].text() != bases[1].text()
    letters = grouping(arms[0], bases[0])
    assert letters == grouping(arms[1], bases[1])
    assert "+ lx(jb)² m(b)" in letters[0]  # about the upright axis, whatever the height


def test_names_and_units():
    names, units = parameter_names(PRR), parameter_units(PRR)
    assert len(names) == len(units) == len(set(names)) == len(RNEA(PRR).theta())
    assert dict(zip(names, units, strict=True))["armature(elevator)"] == "kg"
    assert dict(zip(names, units, strict=True))["viscous(wrist)"] == "N·m·s/rad"
    assert units[:10] == ("kg", *["kg m"] * 3, *["kg m²"] * 6)
