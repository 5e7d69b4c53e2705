# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The adaptive law: it learns what is there, never what cannot be, and nothing when it must not."""

import arms
import numpy as np
import pytest
from broken_dynamics import Faultless
from industrial import urdf

import robodyn_ros as rd
from robodyn_ros.control import Adaptive, ComputedTorque, ControlLoop, Reference, gains
from robodyn_ros.control.faults.dry_run import check_model
from robodyn_ros.control.laws.adaptation import MASS_RATIO, PossibleBody
from robodyn_ros.control.laws.memory_file import restore_memory, save_memory
from robodyn_ros.dynamics.parameters import parameters_of, to_pseudo
from robodyn_ros.robot import Inertial
from robodyn_ros.simulation import FrictionSettings, Plant, PlantSettings

PRR = rd.load_robot("prr")
PERIOD = 0.002
NONE = np.zeros(3)


def swing(t):
    """A reference that moves every joint of the PRR arm, each at a frequency of its own."""
    w, size = 2 * np.pi * np.array([0.25, 0.4, 0.55]), np.array([0.4, 0.8, 0.6])
    s, c = size * np.sin(w * t), size * np.cos(w * t)
    return Reference(np.array([1.0, 0.0, 0.3]) + s, w * c, -(w**2) * s, NONE)


def make(law, dynamics, **config):
    """A law with ω = 12 rad/s and ζ = 1."""
    n = dynamics.robot.n
    own = {"config": law.settings(**config)} if config else {}
    return law(dynamics, *gains(law, dynamics, np.zeros(n), 12.0, 1.0), **own)


def model(**parameters):
    return rd.create_dynamics("rnea", PRR, **parameters)


@pytest.mark.parametrize(("lower", "upper"), [(4.0, 6.0), (4.0, 1.7976931348623157e308), (-9.0, -3.5)])
def test_the_poses_of_its_gain_and_of_the_check_of_a_model_are_in_the_range_of_the_joints(monkeypatch, lower, upper):
    """A joint whose range is beyond half a turn was always at half a turn, where it cannot be."""
    seen = []
    robot = rd.load_robot(arms.PRR.replace('lower="-2.5" upper="2.75"', f'lower="{lower}" upper="{upper}"'))
    dynamics = rd.create_dynamics("rnea", robot)
    for check in (check_model, lambda dynamics: make(Adaptive, dynamics)):
        mass_matrix = dynamics.mass_matrix
        monkeypatch.setattr(dynamics, "mass_matrix", lambda q, of=mass_matrix: seen.append(q) or of(q), raising=False)
        check(dynamics)
        monkeypatch.undo()
        among = np.array([q for q in seen if q.ndim == 1 and q.any()])  # not the home
        assert (among >= lower).all() and (among <= upper).all() and np.ptp(among, axis=0).min() > 0.5
        seen.clear()


def run(law, true, duration, wanted=swing, *, friction=None, noise=0.0, limit=None, push=0.0, step=PERIOD):
    """Errors (N, n) and efforts (N, n), sampled each period, of an arm under a law and a push at the joints."""
    rng, n = np.random.default_rng(5), true.robot.n
    start = wanted(0.0)
    plant = Plant(true, PlantSettings(step=step), friction=friction, q0=start.q, effort_limit=limit)
    plant.reset(start.q, start.qd)
    asked, period, errors, efforts = np.zeros(n), 0.0, [], []
    for _ in range(round(duration / step)):
        now = wanted(plant.time)
        q = plant.q + noise * 1e-4 * rng.standard_normal(n)
        qd = plant.qd + noise * 5e-3 * rng.standard_normal(n)
        law.advance(period, q, qd, now, asked, plant.effort - push)
        asked, period = law.compute(q, qd, now).total, step
        plant.apply(asked + push)
        errors.append(now.q - plant.q)
        efforts.append(asked)
        plant.step()
    return np.array(errors), np.array(efforts)


def rms(values):
    return np.sqrt(np.mean(values**2, axis=0))


@pytest.fixture(scope="module")
def loaded():
    """The arm with a payload that no model here knows of, and what it is, (10,)."""
    payload = rd.Payload(PRR.bodies[-1].name, 2.0, (0.03, 0.0, 0.3), np.diag([0.004, 0.005, 0.006]))
    return model(payload=payload), parameters_of(payload.inertial())


def test_an_unknown_payload_is_learnt(loaded):
    """Of what computed torque leaves a fifth is asked for; the payload is found as far as the motion shows it."""
    true, payload = loaded
    law = make(Adaptive, model())
    learnt, efforts = run(law, true, 9.0)
    taken, _ = run(make(ComputedTorque, model()), true, 9.0)
    late = slice(round(6.0 / PERIOD), None)
    assert (rms(learnt[late]) < rms(taken[late]) / 10.0).all()
    assert (np.abs(efforts) <= PRR.effort_limit).all()
    change = law.bodies[-1]
    np.testing.assert_allclose(change[[0, 1, 3]], payload[[0, 1, 3]], atol=0.07)  # mass, x and z of the first moment
    assert abs(change[2]) < 1e-12  # y is across the plane
    assert not law.bodies[:-1].any()
    assert law.estimates()[f"mass added to {PRR.bodies[-1].name} [kg]"] == change[0]


def test_noise_of_the_encoders_neither_chatters_nor_drifts(loaded):
    true, _ = loaded
    law = make(Adaptive, model())
    run(law, true, 10.0, noise=1.0)
    before = law.bodies[-1, 0]
    learnt, efforts = run(law, true, 6.0, noise=1.0)
    taken, usual = run(make(ComputedTorque, model()), true, 6.0, noise=1.0)
    assert (np.diff(efforts, axis=0).std(axis=0) < 1.3 * np.diff(usual, axis=0).std(axis=0)).all()
    assert (rms(learnt) < rms(taken) / 20.0).all()
    assert abs(law.bodies[-1, 0] - before) < 0.1


def test_friction_is_learnt():
    friction = [FrictionSettings(viscous=60.0, coulomb=20.0), FrictionSettings(1.5, 2.5), FrictionSettings(0.6, 0.9)]
    law = make(Adaptive, model(), unknown="friction", rate=4.0)
    learnt, _ = run(law, model(), 15.0, friction=friction)
    taken, _ = run(make(ComputedTorque, model()), model(), 15.0, friction=friction)
    late = slice(round(10.0 / PERIOD), None)
    assert (rms(learnt[late]) < rms(taken[late]) / 4.0).all()
    # Viscous and Coulomb friction of a motion of one speed are hard to tell apart; together they are what is there.
    for joint, (found, true) in enumerate(zip(law.friction.T, friction, strict=True)):
        speed = np.abs(swing(0.0).qd[joint])
        assert found @ [speed, 1.0] == pytest.approx(true.viscous * speed + true.coulomb, rel=0.15)
    assert not law.bodies.any()


@pytest.mark.parametrize("formulation", ["rnea", "lagrangian"])
def test_a_spatial_arm_learns_everything(formulation):
    """Six joints: every mass is wrong, and the error falls."""
    robot = rd.load_robot(urdf("ur5_robot"))
    true = rd.create_dynamics(formulation, robot)
    wrong = rd.create_dynamics(formulation, robot, inertial=0.7 * true.parameters.inertial)
    middle = np.clip(np.zeros(6), robot.lower, robot.upper)
    w = np.linspace(1.5, 3.0, 6)

    def wanted(t):
        s, c = 0.2 * np.sin(w * t), 0.2 * np.cos(w * t)
        return Reference(middle + s, w * c, -(w**2) * s, np.zeros(6))

    law = make(Adaptive, wrong, unknown="everything", rate=6.0)
    learnt, _ = run(law, true, 5.0, wanted, limit=np.full(6, np.inf))
    taken, _ = run(make(ComputedTorque, wrong), true, 5.0, wanted, limit=np.full(6, np.inf))
    assert np.linalg.norm(rms(learnt[-1000:])) < np.linalg.norm(rms(taken[-1000:])) / 5.0
    for body, change in zip(wrong.theta()[: -3 * 6].reshape(-1, 10), law.bodies, strict=True):
        assert np.linalg.eigvalsh(to_pseudo(body + change))[0] > 0.0


def test_nonsense_teaches_nothing_impossible():
    """Errors of any size, at the greatest rate: bodies stay possible and not too heavy, friction within bounds."""
    dynamics, rng = model(), np.random.default_rng(2)
    law = make(Adaptive, dynamics, unknown="everything", rate=100.0)
    known = dynamics.theta()[: -3 * 3].reshape(-1, 10)
    most = MASS_RATIO * sum(body.inertial.mass for body in PRR.bodies)
    for _ in range(400):
        q, qd, qr, qdr, qddr = rng.standard_normal((5, 3)) * 10.0 ** rng.uniform(-3, 3)
        law.advance(0.01, q, qd, Reference(qr, qdr, qddr, NONE), NONE, NONE)
        for body, change in zip(known, law.bodies, strict=True):
            assert np.linalg.eigvalsh(to_pseudo(body + change))[0] > 0.0
            assert body[0] + change[0] >= 0.1 * body[0]
            assert change[0] <= most * (1 + 1e-9)
        assert (law.friction >= 0.0).all()
        assert (law.friction[1] <= 0.3 * PRR.effort_limit).all()
    assert np.isfinite(law.compute(q, qd, Reference(qr, qdr, qddr, NONE)).total).all()


@pytest.mark.parametrize("seed", range(3))
def test_the_nearest_possible_body_is_the_nearest(seed):
    """The variational inequality, which only the projection onto a convex set fulfils: ⟨x - y, z - y⟩ ≤ 0 for all z."""
    rng = np.random.default_rng(seed)
    inertia = rng.standard_normal((3, 3))
    inertia = inertia @ inertia.T
    inertia = np.trace(inertia) * np.eye(3) - inertia
    possible = PossibleBody(parameters_of(Inertial(3.0, rng.standard_normal(3), inertia)), 2.0, 0.3)
    root = np.linalg.inv(np.linalg.cholesky(possible.greatest))
    inner = np.linalg.inv(possible.metric)
    for _ in range(20):
        x = 5.0 * rng.standard_normal(10)
        y, was_possible = possible.nearest(x)
        assert not was_possible
        scaled = np.linalg.eigvalsh(root @ to_pseudo(y) @ root.T)
        assert scaled[0] > 0.0
        assert scaled[-1] < 1.0 + 1e-9
        for _ in range(20):
            z, _ = possible.nearest(5.0 * rng.standard_normal(10))
            assert (x - y) @ inner @ (z - y) <= 1e-9 * np.abs(inner).max()


def test_what_must_not_teach():
    """A frozen law, a period of no length, an error in the dead zone, friction at a standstill, a limited effort."""
    q, qd = swing(0.3).q, swing(0.3).qd
    still = Reference(q, NONE, NONE, NONE)
    moving = Reference(q + 0.01, qd, NONE, NONE)

    def learnt(law, dt, state, reference, asked=NONE, sent=NONE):
        law.advance(dt, *state, reference, asked, sent)
        return bool(law.bodies.any() or law.friction.any())

    assert learnt(make(Adaptive, model()), PERIOD, (q, qd), moving)
    assert not learnt(make(Adaptive, model(), rate=0.0), PERIOD, (q, qd), moving)
    assert not learnt(make(Adaptive, model()), 0.0, (q, qd), moving)
    assert learnt(make(Adaptive, model(), dead_zone=1e-3), PERIOD, (q - 2e-3, NONE), still)
    assert not learnt(make(Adaptive, model(), dead_zone=1e-3), PERIOD, (q - 0.9e-3, NONE), still)
    # Coulomb friction that is known may hold the arm where it is: K_D s below it says nothing.
    sticky = make(Adaptive, model(coulomb=[30.0, 4.0, 1.0]), unknown="payload")
    felt = np.diagonal(model().mass_matrix(q))
    edge = np.array([30.0, 4.0, 1.0]) / (felt * 12.0 * 12.0)
    sticky.advance(PERIOD, q - 0.9 * edge, NONE, still, NONE, NONE)
    assert not sticky.bodies.any()
    sticky.advance(PERIOD, q - 1.2 * edge, NONE, still, NONE, NONE)
    assert sticky.bodies.any()
    # Where more was asked for than was sent, the arm lags because of that; in the other direction it may teach.
    behind = (q - 0.02, NONE)
    assert not learnt(make(Adaptive, model()), PERIOD, behind, still, np.full(3, 9.0), np.full(3, 8.0))
    assert learnt(make(Adaptive, model()), PERIOD, behind, still, np.full(3, -9.0), np.full(3, -8.0))


def test_in_the_loop_a_change_of_gains_forgets_nothing_and_a_payload_that_is_told_counts(loaded):
    true, _ = loaded
    dynamics = model()
    loop = ControlLoop(make(Adaptive, dynamics), PRR.effort_limit)
    plant = Plant(true, PlantSettings(step=PERIOD), q0=[1.0, 0.8, -0.3])
    for step in range(3000):
        command = loop.update(step * PERIOD, step * PERIOD, plant.q, plant.qd)
        plant.apply(command.effort)
        plant.step()
    law = loop.controller
    learnt = law.bodies.copy()
    assert learnt[-1, 0] > 1.0
    assert np.abs(command.error).max() < 3e-3
    stiffer = Adaptive(dynamics, *gains(Adaptive, dynamics, np.zeros(3), 20.0, 1.0))
    loop.apply(loop.settings._replace(controller=stiffer))
    assert loop.controller is stiffer
    np.testing.assert_array_equal(stiffer.bodies, learnt)
    told = rd.Payload(PRR.bodies[-1].name, 0.5)
    before = stiffer.compute(plant.q, NONE, command.reference).gravity
    dynamics.configure(payload=told)
    more = stiffer.compute(plant.q, NONE, command.reference).gravity - before
    np.testing.assert_allclose(more, model(payload=told).gravity(plant.q) - model().gravity(plant.q), atol=1e-9)
    stiffer.forget_bodies()
    np.testing.assert_allclose(stiffer.compute(plant.q, NONE, command.reference).gravity, dynamics.gravity(plant.q))
    for step, before in ((3000, 0.0), (3001, learnt[-1, 0])):
        loop.update(step * PERIOD, step * PERIOD, plant.q, plant.qd)
        assert abs(stiffer.bodies[-1, 0] - before) < 0.1 * learnt[-1, 0]
        stiffer.restore(law.memory())  # from outside: the loop takes it over


def test_memory_is_plain_data_and_comes_back():
    law = make(Adaptive, model(), rate=20.0)
    run(law, model(payload=rd.Payload(PRR.bodies[-1].name, 1.0)), 1.0)
    other = make(Adaptive, model())
    other.restore(law.memory())
    np.testing.assert_allclose(other.bodies, law.bodies, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(other.friction, law.friction, rtol=1e-12)
    now = swing(0.4)
    np.testing.assert_allclose(other.compute(now.q, NONE, now).total, law.compute(now.q, NONE, now).total, rtol=1e-10)
    # What is learnt is what differs from the model: a friction that the model is told of later is added to it.
    other.dynamics.configure(coulomb=[8.0, 0.5, 0.2])
    np.testing.assert_allclose(other.learnt_friction, law.learnt_friction, atol=1e-12)
    other.compute(now.q, NONE, now)
    np.testing.assert_allclose(other.friction - law.friction, [[0.0] * 3, [8.0, 0.5, 0.2]], atol=1e-12)
    other.forget()
    np.testing.assert_array_equal(other.compute(now.q, NONE, now).gravity, model().gravity(now.q))


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"bodies": {"hand": [0.0] * 10}}, "bodies: must be of"),
        ({"viscous": [1.0, 2.0, 3.0]}, "viscous: must be of"),
        ({"coulomb": dict.fromkeys(PRR.joint_names, np.nan)}, "coulomb, elevator: is not finite"),
    ],
)
def test_a_memory_of_something_else_is_refused(change, named):
    law = make(Adaptive, model())
    with pytest.raises(rd.InputError, match=named):
        law.restore(law.memory() | change)


def test_the_file_keeps_what_was_learnt(tmp_path):
    """Of several laws, of one arm."""
    file = tmp_path / "learnt.yaml"
    law, other = make(Adaptive, model(), rate=20.0), make(Adaptive, model())
    assert not restore_memory(file, other)
    run(law, model(payload=rd.Payload(PRR.bodies[-1].name, 1.0)), 1.0)
    file.write_text("{robot: prr, Another: {mass: 3}}")
    assert not restore_memory(file, other)
    save_memory(file, law)
    assert restore_memory(file, other)
    np.testing.assert_allclose(other.bodies, law.bodies, rtol=1e-12, atol=1e-12)
    assert "Another" in file.read_text()
    assert [path.name for path in tmp_path.iterdir()] == [file.name]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{robot: panda}", "is of 'panda', not of the arm 'prr'"),
        ("[1, 2]", "has no key 'robot'"),
        ("{robot: prr", "cannot be read"),
        ("{robot: prr, Adaptive: 3}", "the memory of Adaptive must be a mapping, not 3"),
        ("{robot: prr, Adaptive: {bodies: {}}}", "bodies: must be of carriage, arm, hand"),
    ],
)
def test_a_file_of_something_else_is_refused(tmp_path, text, said):
    file = tmp_path / "learnt.yaml"
    file.write_text(text)
    with pytest.raises(rd.InputError, match=said):
        restore_memory(file, make(Adaptive, model()))
    with pytest.raises(rd.InputError, match="cannot be written"):
        save_memory(tmp_path / "nowhere" / "learnt.yaml", make(Adaptive, model()))
    with pytest.raises(rd.InputError, match="learns nothing that could be saved"):
        save_memory(file, make(ComputedTorque, model()))


def test_laws_that_learn_nothing_say_so():
    law = make(ComputedTorque, model())
    assert (law.memory(), law.estimates()) == ({}, {})
    with pytest.raises(rd.InputError, match="ComputedTorque learns nothing"):
        law.restore({})


def test_a_model_without_regressor_is_refused():
    with pytest.raises(rd.InputError, match="needs one with a regressor, such as rnea"):
        make(Adaptive, Faultless(PRR))
