# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Identification from samples: exact without noise, honest about errors with it, and never impossible."""

from dataclasses import replace

import industrial
import numpy as np
import pytest
from arms import mechanism
from identified import AWKWARD, PRR, RR, Unknown
from numpy.testing import assert_allclose
from recordings import rms
from scipy.optimize import minimize

import robodyn_ros as rd
from robodyn_ros.dynamics.parameters import (
    STANDARD_GRAVITY,
    least_eigenvalues,
    made_possible,
    to_inertial,
    to_parameters,
    to_pseudo,
)
from robodyn_ros.dynamics.rnea import RNEA
from robodyn_ros.errors import InputError
from robodyn_ros.identification import IdentificationSettings, Samples, identify
from robodyn_ros.identification.estimation.base_parameters import parameter_names
from robodyn_ros.identification.estimation.physical import fit_physical
from robodyn_ros.identification.estimation.regression import _LeastSquares, estimate, matvec, tsqr
from robodyn_ros.identification.estimation.regression_model import RegressionModel
from robodyn_ros.identification.report import improved, joints
from robodyn_ros.identification.segments import lowpass
from robodyn_ros.robot.tree import check_inertial

FRICTION = IdentificationSettings(inertial=False)

SOLID = np.array([2.0, 0.2, -0.1, 0.3, 0.2, 0.01, 0.25, -0.02, 0.03, 0.3])
"""Parameters of a body."""

NOMINAL = np.concatenate([SOLID, 1.3 * SOLID, [0.4, 0.7]])
"""Those of two bodies, and two coefficients of friction."""


@pytest.mark.parametrize("name", ["prr", "rr", *sorted(AWKWARD)])
def test_exact_without_noise(name):
    robot = {"prr": PRR, "rr": RR, **AWKWARD}[name]
    arm = Unknown(robot)
    found = identify(robot, arm.motion(200), IdentificationSettings(folds=2), validation=arm.motion(50, seed=9))
    truth = found.base.values(arm.theta)
    assert found.rank == found.base.rank
    assert_allclose(found.base_values, truth, atol=1e-10 * np.abs(truth).max())
    assert_allclose(found.base.values(found.theta), truth, atol=1e-10 * np.abs(truth).max())
    assert_allclose(found.viscous, arm.dynamics.parameters.viscous, rtol=1e-9)
    assert found.validation.relative.max() < 1e-10
    assert found.validation_before.relative.max() > 0.1
    assert found.cross_validation.relative.max() < 1e-10


def test_a_seven_axis_arm_with_rotors():
    robot = rd.load_robot(industrial.panda())
    arm = Unknown(robot, armature=True)
    found = identify(robot, arm.motion(400), IdentificationSettings(armature=True, folds=2))
    truth = found.base.values(arm.theta)
    assert_allclose(found.base.values(found.theta), truth, atol=1e-10 * np.abs(truth).max())
    assert (least_eigenvalues(found.inertial.reshape(-1, 10)) > 0.0).all()
    noisy = identify(robot, arm.motion(1000, noise=0.01), IdentificationSettings(armature=True, folds=2))
    unseen = arm.motion(100, seed=5)
    predicted = RNEA(robot, inertial=noisy.inertial, armature=noisy.armature).inverse(unseen.q, unseen.qd, unseen.qdd)
    predicted += noisy.viscous * unseen.qd + noisy.coulomb * np.sign(unseen.qd)
    assert (rms(predicted - unseen.effort) < 0.01 * rms(unseen.effort)).all()


def test_one_percent_of_noise():
    arm = Unknown(PRR)
    samples = arm.motion(2000, noise=0.01)
    found = identify(PRR, samples, validation=arm.motion(300, seed=8))
    truth = found.base.values(arm.theta)
    inertial = slice(0, 7)  # of each, but that which is no more than a hundredth of its arm's greatest
    large = np.abs(truth[inertial]) > 0.03 * np.abs(truth[inertial]).max()
    assert_allclose(found.base.values(found.theta)[inertial][large], truth[inertial][large], rtol=0.01)
    assert found.validation.relative.max() < 0.005
    assert_allclose(found.noise, 0.01 * rms(arm.motion(2000).effort), rtol=0.05)


def filtered_noise(rng, count):
    """Noise that has gone through a filter of 9 Hz, at samples at 30 Hz."""
    fine = rng.normal(size=(10 * count + 1000, 3))
    return lowpass(fine, 9.0, 1.0 / 300.0)[500:-500:10] * np.sqrt(150.0 / 9.0)


@pytest.mark.parametrize(
    ("draw", "count"),
    [(lambda rng, count: rng.normal(size=(count, 3)), 300), (filtered_noise, 600)],
    ids=["independent", "filtered"],
)
def test_standard_errors_are_those_of_repetition(draw, count):
    """Over 150 repetitions the errors spread as each of them says, within what chance does to 150 draws."""
    arm, rng = Unknown(PRR), np.random.default_rng(5)
    clean = arm.motion(count, duration=count / 30.0)
    model = RegressionModel(PRR, IdentificationSettings(), STANDARD_GRAVITY, 0.0)
    Y, truth = model.regressor(clean), model.base.values(arm.theta)
    problem = model.regression(clean, Y, model.used(clean, np.abs(clean.qd).max(axis=0)))
    scale, z, found = 0.02 * rms(clean.effort), [], []
    for k in range(150):
        noisy = replace(problem, effort=problem.effort + scale * draw(rng, count))
        one = estimate(noisy, model.base.values(model.nominal), model.settings)
        z.append((one.values - truth) / one.errors)
        if k < 40:
            found.append(model.solve(noisy, model.scales(clean)))
    assert_allclose(np.std(z, axis=0), 1.0, atol=0.2)
    assert_allclose(rms(np.ravel(z)), 1.0, atol=0.1)
    assert np.abs(np.mean(z, axis=0)).max() < 4.0 / np.sqrt(150)
    column = parameter_names(PRR).index("mz(hand)")
    place = model.base.columns.tolist().index(column)
    spread = np.std([one.theta[column] for one in found])
    assert_allclose(found[0].errors[place], spread, rtol=0.4)


def test_outliers_count_little():
    arm = Unknown(PRR)
    samples = arm.motion(600, noise=0.005)
    rng = np.random.default_rng(4)
    spoilt = samples.effort.copy()
    hit = rng.random(spoilt.shape) < 0.05
    spoilt[hit] += 3.0 * np.abs(samples.effort).max()
    truth = identify(PRR, samples).base.values(arm.theta)

    def error(robust):
        found = identify(PRR, replace(samples, effort=spoilt), IdentificationSettings(robust=robust))
        return np.abs(found.base_values - truth) / np.abs(truth).max(), found.outliers

    (with_huber, outliers), (without, _) = error(True), error(False)
    assert with_huber.max() < 0.02
    assert without.max() > 10.0 * with_huber.max()
    assert_allclose(outliers, 0.05, atol=0.02)


def test_never_impossible():
    """Short motions drowned in noise, of which most would give masses and inertias that no body has."""
    rng = np.random.default_rng(6)
    config, bad, impossible = IdentificationSettings(folds=2), 0, 0
    for seed in range(12):
        robot = (PRR, RR, AWKWARD["tilted"])[seed % 3]
        arm = Unknown(robot, seed)
        clean = arm.motion(30, seed=seed, duration=rng.uniform(0.5, 5.0))
        noise = rng.uniform(0.1, 3.0) * rms(clean.effort) * rng.standard_t(2.0, size=clean.effort.shape)
        found = identify(robot, replace(clean, effort=clean.effort + noise), config)
        bad += not (least_eigenvalues(found.inertial.reshape(-1, 10)) > 0.0).all()
        bad += not (np.concatenate([found.viscous, found.coulomb]) >= 0.0).all()
        for body in found.robot.bodies:
            check_inertial(body.name, body.inertial)
            bad += body.inertial.mass <= 0.0
        impossible += (found.base_values[-2 * robot.n :] < 0.0).any()  # by least squares, friction would drive the arm
    assert bad == 0
    assert impossible > 8  # or the test shows nothing


def test_the_minimum_is_one():
    """Against a general-purpose minimiser, over Cholesky factors."""
    rng = np.random.default_rng(7)
    K, A = rng.normal(size=(6, 22)), np.triu(rng.normal(size=(6, 6))) * 3.0
    c = A @ (K @ (NOMINAL * rng.uniform(0.6, 1.5, 22))) + rng.normal(size=6)
    fit = fit_physical(A, K, c, NOMINAL, 2, 0.7)
    inverse = np.linalg.inv(to_pseudo(NOMINAL[:20].reshape(-1, 10)))
    lower = np.tril_indices(4)

    def unpacked(y):
        factors = np.zeros((2, 4, 4))
        factors[:, lower[0], lower[1]] = y[:20].reshape(2, 10)
        return np.concatenate([to_parameters(factors @ factors.transpose(0, 2, 1)).ravel(), np.exp(y[20:])])

    def of(x):
        pseudo, ratio = inverse @ to_pseudo(x[:20].reshape(-1, 10)), x[20:] / NOMINAL[20:]
        distance = np.trace(pseudo, axis1=1, axis2=2).sum() - np.linalg.slogdet(pseudo)[1].sum()
        return 0.5 * np.sum((A @ K @ x - c) ** 2) + 0.7 * (distance + np.sum(ratio - np.log(ratio)))

    start = np.linalg.cholesky(to_pseudo(NOMINAL[:20].reshape(-1, 10)))[:, lower[0], lower[1]].ravel()
    found = minimize(
        lambda y: of(unpacked(y)), np.concatenate([start, np.log(NOMINAL[20:])]), method="BFGS", options={"gtol": 1e-7}
    )
    assert_allclose(fit.x, unpacked(found.x), atol=1e-5)
    step = 1e-4 * rng.normal(size=22)  # and the covariance is the inverse of the Hessian

    curvature = of(fit.x + step) + of(fit.x - step) - 2.0 * of(fit.x)
    assert_allclose(curvature, step @ np.linalg.solve(fit.covariance, step), rtol=1e-4)


def test_what_is_not_shown_stays():
    arm = Unknown(PRR)
    found = identify(PRR, arm.motion(200, noise=0.01))
    before, after = PRR.bodies[0].inertial, found.robot.bodies[0].inertial
    assert_allclose(after.com, before.com, atol=1e-9)
    assert_allclose(after.inertia, before.inertia, atol=1e-9)
    reason = {p.name: p.reason for p in found.parameters}
    assert reason["Izz(carriage)"] == "no motion of this arm excites it"
    assert reason["m(hand)"] == "seen only together with m(carriage), m(arm), mz(arm), Iyy(arm)"
    assert reason["armature(wrist)"] == "taken as known"
    assert found.parameter("armature(wrist)").standard_error == 0.0
    assert reason["mz(hand)"] == reason["viscous(wrist)"] == ""
    assert found.parameter("mz(hand)").identified
    with pytest.raises(InputError, match="must be one of m\\(carriage\\)"):
        found.parameter("mass")


def test_a_joint_without_a_drive_is_identified_from_its_motion():
    """A pendulum at the end of an arm: its efforts are 0, whatever they are compared with."""
    arm, rng = Unknown(RR), np.random.default_rng(5)
    q, qd, effort = rng.normal(size=(3, 400, 2)) * [[[1.5]], [[3.0]], [[20.0]]]
    effort[:, 1] = 0.0
    samples = Samples(0.01 * np.arange(400), q, qd, arm.dynamics.forward(q, qd, effort), effort)
    found = identify(RR, samples, IdentificationSettings(folds=2))
    truth = found.base.values(arm.theta)
    assert_allclose(found.base.values(found.theta), truth, atol=1e-9 * np.abs(truth).max())
    assert np.isnan(found.fit.relative).tolist() == [False, True]
    assert [row[3].partition(" (")[0] for row in joints(found)[1]] == ["0.00%", "no effort"]
    assert improved(found)
    # Friction that the model leaves out: the smaller the second link, the smaller its error.
    found = identify(RR, samples, IdentificationSettings(viscous=False, coulomb=False, folds=2))
    truth = found.base.values(arm.theta)
    assert_allclose(found.base_values, truth, rtol=0.15, atol=0.005)
    assert_allclose(found.base.values(found.theta), truth, rtol=0.15, atol=0.005)


def test_a_joint_that_did_not_move_is_said_so():
    arm = Unknown(RR)
    samples = arm.motion(200, noise=0.01)
    still = samples.qd.copy(), samples.qdd.copy(), np.tile(samples.q[0], (200, 1))
    for values, given in zip(still, (samples.qd, samples.qdd, samples.q), strict=True):
        values[:, 0] = given[:, 0]
    still[0][:, 1] = still[1][:, 1] = 0.0
    effort = arm.dynamics.inverse(still[2], still[0], still[1])
    found = identify(RR, Samples(samples.t, still[2], still[0], still[1], effort))
    assert found.rank < found.base.rank
    reason = {p.name: p.reason for p in found.parameters}
    assert reason["viscous(joint2)"] == reason["coulomb(joint2)"] == "this motion excites it too little"
    assert np.isnan(found.noise[1])
    assert np.isinf(found.base_errors).any()


@pytest.mark.parametrize(("seed", "precision"), [(0, 1e4), (2, 1e7), (2, 1e12)])
def test_data_that_want_an_impossible_body_leave_it_clear_of_the_boundary(seed, precision):
    """However precise they are: beyond, rounding decides what is possible."""
    wanted = SOLID.copy()
    wanted[4:] *= -np.random.default_rng(seed).uniform(0.5, 2.0, 6)  # second moments
    fit = fit_physical(np.diag(np.full(10, precision)), np.eye(10), precision * wanted, SOLID, 1, 0.7)
    assert least_eigenvalues(fit.x[np.newaxis]).min() >= 1e-12


def test_only_what_the_rows_do_not_tell_apart_has_an_infinite_error():
    """Two columns that are alike share their sum; the third has its own error of ordinary least squares."""
    a, b, right = np.random.default_rng(3).normal(size=(3, 50))
    found = _LeastSquares(np.column_stack([a, a, b]), right)
    apart = np.column_stack([a, b])
    assert found.rank == 2
    assert_allclose(found.change, np.linalg.lstsq(apart, right, rcond=None)[0][[0, 0, 1]] * [0.5, 0.5, 1.0])
    assert_allclose(found.errors, [np.inf, np.inf, np.sqrt(np.linalg.inv(apart.T @ apart)[1, 1])])


def test_stribeck_friction():
    """Static friction and the speed at which it fades, without noise to the last digits and with noise within it."""
    arm, excess, velocity = Unknown(PRR), np.array([6.0, 1.5, 0.7]), np.array([0.08, 0.3, 0.2])
    config = IdentificationSettings(stribeck=True)
    for noise, tolerance in ((0.0, 1e-8), (0.003, 0.1)):
        samples = arm.motion(1500, noise=noise)
        more = excess * np.sign(samples.qd) * np.exp(-((samples.qd / velocity) ** 2))
        found = identify(PRR, replace(samples, effort=samples.effort + more), config)
        assert_allclose(found.stribeck_amplitude, excess, rtol=tolerance)
        assert_allclose(found.stribeck_velocity, velocity, rtol=tolerance)
        errors = np.array([found.parameter(f"stribeck_velocity({name})").standard_error for name in PRR.joint_names])
        assert (np.abs(found.stribeck_velocity - velocity) < 4.0 * errors + 1e-12).all()
        for joint, units in zip(PRR.joints, (("N", "m/s"), ("N·m", "rad/s"), ("N·m", "rad/s")), strict=True):
            for quantity, unit in zip(("excess", "stribeck_velocity"), units, strict=True):
                parameter = found.parameter(f"{quantity}({joint.name})")
                assert (parameter.identified, parameter.reason, parameter.unit) == (True, "", unit)
    without = identify(PRR, replace(samples, effort=samples.effort + more))
    assert (found.fit.rms < without.fit.rms).all() and found.rank == without.rank
    assert not without.stribeck_amplitude.any()


def test_friction_alone_and_held_numbers():
    arm = Unknown(PRR)
    inertial = RNEA(PRR).parameters.inertial
    known = RNEA(PRR, armature=0.05 * np.arange(1.0, 4.0), viscous=(3.0, 0.2, 0.1), coulomb=(2.0, 0.5, 0.3))
    motion = arm.motion(100)
    samples = replace(motion, effort=known.inverse(motion.q, motion.qd, motion.qdd))
    found = identify(PRR, samples, FRICTION, armature=(0.05, 0.1, 0.15))
    assert_allclose(found.inertial, inertial)
    assert_allclose(found.viscous, (3.0, 0.2, 0.1), rtol=1e-9)
    assert_allclose(found.coulomb, (2.0, 0.5, 0.3), rtol=1e-9)
    assert found.robot.bodies[1].inertial.mass == PRR.bodies[1].inertial.mass


@pytest.mark.parametrize("viscous", [(3.0, 0.0, 0.0), (0.0, 0.0, 0.0)])
def test_friction_alone_that_joints_do_not_have(viscous):
    """Fewer parameters are left than there are equations; none at all in the end."""
    motion = Unknown(PRR).motion(200)
    clean = RNEA(PRR, viscous=viscous).inverse(motion.q, motion.qd, motion.qdd)
    noisy = clean + 0.01 * np.random.default_rng(3).normal(size=clean.shape)
    found = identify(PRR, replace(motion, effort=noisy), FRICTION)
    assert_allclose(found.viscous, viscous, rtol=1e-2)
    assert_allclose(found.coulomb, 0.0)


def test_weights_and_motions():
    arm = Unknown(RR)
    good, bad = (arm.motion(100, seed=seed, noise=1e-3) for seed in (1, 2))
    bad = replace(bad, effort=bad.effort + 50.0, weight=np.zeros(100))
    both = Samples.joined([good, bad])
    assert both.motions.tolist() == [0.0] * 100 + [1.0] * 100
    found, alone = (identify(RR, samples, IdentificationSettings(robust=False)) for samples in (both, good))
    assert_allclose(found.base_values, alone.base_values, rtol=1e-10)
    assert_allclose(found.base_values, found.base.values(arm.theta), rtol=0.05, atol=0.01)
    folds = Samples.joined([good, bad, good]).folds(3)
    assert [int(fold.sum()) for fold in folds] == [100, 100, 100]
    assert (sum(folds) == 1).all()
    stretches = good.folds(4)
    assert all(np.ptp(np.flatnonzero(fold)) == 24 for fold in stretches)


@pytest.mark.parametrize("shape", [(1, 3), (5, 3), (700, 7), (5000, 60), (300, 95)])
def test_tsqr_of_tall_matrices(shape):
    matrix = np.random.default_rng(8).normal(size=shape) * 10.0 ** np.linspace(-3, 3, shape[1])
    found = tsqr(matrix)
    assert found.shape == (shape[1], shape[1])
    assert (np.tril(found, -1) == 0.0).all()
    scale = np.linalg.norm(matrix, axis=0)
    assert_allclose(found.T @ found / np.outer(scale, scale), matrix.T @ matrix / np.outer(scale, scale), atol=1e-13)
    vector = np.ones(shape[1])
    assert_allclose(matvec(matrix, vector), matrix @ vector, rtol=1e-9)


def test_bodies_without_mass_or_extent_get_some():
    rod = np.array([1.0, 0.0, 0.0, 0.25, 1 / 12 + 1 / 16, 0.0, 1 / 12 + 1 / 16, 0.0, 0.0, 0.0])
    new = made_possible(np.array([rod, np.zeros(10), SOLID]), 0.5, 1e-4)
    assert (least_eigenvalues(new) > 0.0).all()
    assert_allclose(new[0], rod, atol=1e-4)
    assert_allclose(new[2], SOLID)
    assert 0.0 < new[1, 0] < 1e-3
    body = to_inertial(new[0])
    assert_allclose(body.com, (0.0, 0.0, 0.25), atol=1e-3)
    massless = rd.load_robot(mechanism("RR", inertias=(1e-9, 1e-9)))  # point masses
    arm = Unknown(massless)
    found = identify(massless, arm.motion(100), IdentificationSettings(folds=2))
    truth = found.base.values(arm.theta)
    assert_allclose(found.base.values(found.theta), truth, atol=1e-9)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"t": [0.0, 0.0, 1.0]}, "must rise"),
        ({"q": np.zeros(3)}, "N samples of n joints"),
        ({"qd": np.zeros((3, 3))}, "qd"),
        ({"effort": np.full((3, 2), np.nan)}, "effort"),
        ({"weight": [1.0, -1.0, 1.0]}, "must not be negative"),
        ({"motion": [0.0, 1.0, 0.0]}, "in one piece"),
    ],
)
def test_samples_that_are_none(change, message):
    given = {"t": [0.0, 0.1, 0.2], **dict.fromkeys(("q", "qd", "qdd", "effort"), np.zeros((3, 2)))}
    Samples(**given)
    with pytest.raises(InputError, match=message):
        Samples(**(given | change))


def test_what_cannot_be_identified_is_refused():
    arm = Unknown(RR)
    samples = arm.motion(100)
    with pytest.raises(InputError, match="of 2 joints; 'prr' has 3"):
        identify(PRR, samples)
    with pytest.raises(InputError, match="samples: have no efforts other than 0"):
        identify(RR, replace(samples, effort=0.0 * samples.effort))
    with pytest.raises(InputError, match="validation: are of 3 joints"):
        identify(RR, samples, validation=Unknown(PRR).motion(10))
    with pytest.raises(InputError, match="to find 10 parameters: record a longer motion"):
        identify(RR, arm.motion(5))
    with pytest.raises(InputError, match="the joints move in too few of them"):
        identify(RR, replace(samples, qd=np.zeros((100, 2))))
    with pytest.raises(InputError, match="nothing to identify"):
        identify(RR, samples, IdentificationSettings(inertial=False, viscous=False, coulomb=False))
    with pytest.raises(InputError, match="count: must be from 2 to 100"):
        Samples.folds(samples, 101)


def test_the_effect_of_a_base_parameter_is_the_effort_that_its_change_makes():
    """By inverse dynamics with the one change only, over the effort of the joint where that is most."""
    arm = Unknown(PRR)
    samples = arm.motion(100, noise=0.01)
    found = identify(PRR, samples)
    nominal = RegressionModel(PRR, IdentificationSettings(), STANDARD_GRAVITY, 0.0).nominal
    used = found.before.used  # not where a joint stands still
    whole = rms(samples.effort * used)
    model = RNEA(PRR)

    def effort(theta):
        inertial, _, viscous, coulomb = np.split(theta, np.cumsum([theta.size - 9, 3, 3]))
        model.configure(inertial=inertial)
        friction = viscous * samples.qd + coulomb * np.sign(samples.qd)
        return model.inverse(samples.q, samples.qd, samples.qdd) + friction

    before = effort(nominal)
    for k, effect in enumerate(found.base_effects):
        own = found.base.columns[found.base.independent[k]]
        changed = nominal.copy()
        changed[own] += found.base_values[k] - found.base_nominal[k]
        assert effect == pytest.approx((rms((effort(changed) - before) * used) / whole).max(), rel=1e-6, abs=1e-12)
    assert found.base_effects.max() > 0.05
