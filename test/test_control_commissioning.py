# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The procedure against simulated arms whose mistakes are known: signs, gears, torque constants, masses, friction."""

import re
from dataclasses import replace

import arms
import industrial
import numpy as np
import pytest

import robodyn_ros as rd
from robodyn_ros.control.commissioning import moves, procedure
from robodyn_ros.control.commissioning.findings import DRIFT, MIRROR, CommissioningSettings, report
from robodyn_ros.control.commissioning.procedure import Commissioning
from robodyn_ros.control.drives import DriveCompensation, Transmission, TransmissionSettings
from robodyn_ros.document.html import html
from robodyn_ros.document.latex import markdown
from robodyn_ros.simulation.plant.joint_effects import FrictionSettings
from robodyn_ros.simulation.plant.native import Plant

PRR = arms.mechanism("PRR", (13, 1.5, 6), (1, 0.5, 0.34), (0.1, 0.2, 0.15), (1.0, 0.06, 0.09))
FRICTION = np.array([20.0, 2.0, 0.8])
QUICK = CommissioningSettings(push_time=2.0)
PERIOD = 16
"""Steps of the plant between two states: 62.5 Hz."""


@pytest.fixture(autouse=True)
def _in_a_hurry(monkeypatch):
    for name, value in {"GRAVITY_TIME": 0.6, "STROKE": 0.08, "RETREAT_TIME": 0.5}.items():
        monkeypatch.setattr(moves, name, value)
    monkeypatch.setattr(procedure, "REST_TIME", 0.3)


def arm(friction=FRICTION, limits=((0, 2.1, 2, 600), (-2, 2, 12, 96), (-1.5, 2.1, 8, 36))):
    text = PRR
    for index, (least, greatest, velocity, effort) in enumerate(limits):
        limit = f'<limit lower="{least}" upper="{greatest}" velocity="{velocity}" effort="{effort}"/>'
        old = text.index("<limit", text.index(f'"joint{index + 1}"'))
        text = text[:old] + limit + f'<dynamics friction="{friction[index]}"/>' + text[text.index("/>", old) + 2 :]
    return rd.load_robot(text)


class Bench:
    """A simulated arm between a true transmission and the one that is set, at rest on its stops, the hand hanging."""

    def __init__(
        self,
        true=None,
        given=None,
        friction=FRICTION,
        static=1.0,
        scale=1.0,
        effort_sign=(1, 1, 1),
        noise=0.0,
        helps=(0, 0, 0),
        period=PERIOD,
        **more,
    ):
        direct = [TransmissionSettings()] * 3
        self.robot = arm(friction)
        self.true, self.given = Transmission(true or direct), Transmission(given or direct)
        joints = [FrictionSettings(0.05 * f, f, static * f, 0.02) for f in friction]
        self.plant = Plant(rd.create_dynamics("rnea", self.robot), q0=[0.0, 2.0, np.pi - 2.0], friction=joints)
        model = rd.create_dynamics("rnea", self.robot)
        model.configure(inertial=scale * model.parameters.inertial)
        self.procedure = Commissioning(model, QUICK, **more)
        self.helps = np.array(helps)  # drives that add gravity by themselves
        self.effort_sign, self.noise, self.rng = np.array(effort_sign), noise, np.random.default_rng(0)
        self.efforts, self.positions, self.period = [], [], period
        self.missing = 0.0  # time without states, in which the arm stood [s]

    def step(self, disturb=0.0):
        plant = self.plant
        q = self.given.joint_position((plant.q - self.true.offset) * self.true.ratio)
        qd = self.given.joint_velocity(plant.qd * self.true.ratio)
        q, qd = q + self.noise * self.rng.standard_normal(3), qd + 50 * self.noise * self.rng.standard_normal(3)
        effort = self.procedure.update(self.missing + plant.time, q, qd)
        command = self.effort_sign * self.true.joint_effort(self.given.motor_effort(effort)) + disturb
        plant.apply(command + self.helps * plant.dynamics.gravity(plant.q))
        plant.step(self.period)
        self.efforts.append(effort)
        self.positions.append(plant.q)

    def run(self, until=lambda bench: False):
        while not self.procedure.finished and not until(self):
            assert self.plant.time < 150.0, self.procedure.stage
            self.step()
        return {joint.name: joint for joint in self.procedure.outcome.joints}


def commissioned(dynamics, plant, settings=None, *, steps=PERIOD, late=0):
    """The outcome of the procedure where efforts act some periods after their state, and the efforts it asked for."""
    procedure = Commissioning(dynamics, settings)
    efforts = [np.zeros(dynamics.robot.n)] * late
    while not procedure.finished:
        assert plant.time < 300.0, procedure.stage
        efforts.append(procedure.update(plant.time, plant.q, plant.qd).copy())
        plant.apply(efforts[-1 - late])
        plant.step(steps)
    return procedure.outcome, np.array(efforts)


def one(index, **changes):
    """A transmission for one joint, the others direct."""
    return [TransmissionSettings(**changes) if i == index else TransmissionSettings() for i in range(3)]


def test_an_arm_that_is_right():
    """With noise of the encoders, and joints that stick before they slide."""
    bench = Bench(noise=1e-4, static=1.3, period=4)
    with pytest.raises(rd.InputError, match="q: is not finite"):
        bench.procedure.update(0.0, np.array([0.0, np.nan, 0.0]), np.zeros(3))
    found = bench.run()
    outcome = bench.procedure.outcome
    assert outcome.good, markdown(report(outcome))
    assert [joint.name for joint in outcome.joints] == ["joint3", "joint2", "joint1"]
    friction = [found[name].friction for name in ("joint1", "joint2", "joint3")]
    np.testing.assert_allclose(friction, FRICTION, rtol=0.1)
    np.testing.assert_allclose([found["joint1"].gravity_ratio, found["joint2"].gravity_ratio], 1.0, atol=0.01)
    np.testing.assert_allclose([joint.inertia_ratio for joint in found.values()], 1.0, atol=0.15)
    assert [step.ratio for step in outcome.gravity] == [0.0, 0.25, 0.5, 0.75, 1.0]
    assert outcome.gravity[-1].drift < DRIFT
    # Low effort, short ways, and nothing left in the end.
    assert np.abs(np.array(bench.positions) - [0.0, 2.0, np.pi - 2.0]).max() < 0.15
    assert not bench.efforts[-1].any()
    assert MIRROR in markdown(report(outcome))


@pytest.mark.parametrize(
    ("name", "bench", "joint", "said"),
    [
        ("reversed lift", {"given": one(0, gear_ratio=-1.0)}, "joint1", "turns the other way"),
        ("effort reversed", {"effort_sign": (-1, 1, 1)}, "joint1", "opposite signs"),
        ("gear", {"given": one(0, gear_ratio=0.5)}, "joint1", "gear ratio of 2 times"),
        ("torque constant", {"given": one(1, torque_constant=0.5)}, "joint2", "holds its load with 0.5 times"),
        ("masses", {"scale": 1.3}, "joint1", "holds its load with 0.77 times"),
        ("no drive", {"effort_sign": (0, 1, 1)}, "joint1", "did not move"),
        ("swapped", {"swap": True}, "joint2", "joint3 moved in its place"),
    ],
)
def test_a_mistake_is_found_and_gravity_is_left_alone(name, bench, joint, said):
    swap = bench.pop("swap", False)
    made = Bench(friction=0.2 * FRICTION, **bench)
    if swap:  # two drives exchanged, but not their encoders: what is meant for one moves the other
        made.true.joint_effort = lambda effort: np.array(effort)[[0, 2, 1]]
    found = made.run()
    assert any(said in problem for problem in found[joint].problems), markdown(report(made.procedure.outcome))
    assert not made.procedure.outcome.good
    assert not made.procedure.outcome.gravity
    assert joint in markdown(report(made.procedure.outcome))
    assert not made.efforts[-1].any()
    assert np.abs(np.array(made.positions)[:, 0]).max() < QUICK.travel_limit


WEIGHT = ["gravity.joint1", "gravity.joint2"]
"""Gravity hardly acts on the third joint, which hangs."""


@pytest.mark.parametrize(
    ("helps", "told", "wrong", "said"),
    [
        ((1, 1, 1), ["none"], {"joint1", "joint2"}, "compensates gravity by itself"),
        ((0, 1, 0), ["none"], {"joint2"}, r"set drive_compensates to \[gravity\], or to \[gravity.joint2\]"),
        ((0, 0, 0), ["gravity"], {"joint1", "joint2"}, "its drive adds none: remove it from drive_compensates"),
        ((1, 0, 0), WEIGHT, {"joint2"}, "its drive adds none"),
    ],
)
def test_drives_that_carry_the_arm_are_found_and_gravity_is_left_alone(helps, told, wrong, said):
    bench = Bench(helps=helps, drives=DriveCompensation.of(arm(), told))
    found = bench.run()
    assert {name for name, joint in found.items() if joint.tried and joint.problems} == wrong
    assert re.search(said, found["joint2"].problems[0])
    assert not bench.procedure.outcome.good
    assert not bench.procedure.outcome.gravity
    assert re.search(said, markdown(report(bench.procedure.outcome)).replace("\\", ""))


def test_drives_that_carry_the_arm_as_told_are_right():
    bench = Bench(helps=(1, 1, 1), drives=DriveCompensation.of(arm(), ["gravity"]))
    found = bench.run()
    outcome = bench.procedure.outcome
    assert outcome.good, markdown(report(outcome))
    assert all(joint.unsure for joint in found.values())  # what is not pulled at shows no direction in space
    assert outcome.gravity[-1].drift < DRIFT


def lets_go(bench, why, joints=(0, 1, 2), greatest=0.02):
    """From now on the efforts go back evenly: no step beyond a part of the effort limit from one state to the next."""
    before = len(bench.efforts)
    bench.run()
    assert why in bench.procedure.outcome.stopped
    steps = np.abs(np.diff(np.array(bench.efforts[before - 1 :]), axis=0)) / bench.robot.effort_limit
    assert steps[:, joints].max() < greatest, steps.max(axis=0)
    assert not bench.efforts[-1].any()


def test_an_interruption_lets_go_evenly_even_if_states_are_missing_meanwhile():
    bench = Bench(period=8)
    bench.run(until=lambda b: b.procedure.stage.startswith("gravity at 75%"))
    assert np.abs(bench.efforts[-1])[0] > 90.0
    bench.procedure.stop("interrupted")
    bench.step()
    bench.missing = 10.0 * moves.RETREAT_TIME
    lets_go(bench, "interrupted")


def test_a_joint_that_is_carried_off_ends_it():
    bench = Bench(period=8)
    bench.run(until=lambda b: b.procedure.stage.startswith("joint2: slowly"))
    while not bench.procedure.outcome.stopped:  # somebody takes hold of the arm
        assert bench.plant.time < 150.0
        bench.step(disturb=np.array([0.0, -45.0, 0.0]))
    assert "joint2" in bench.procedure.outcome.stopped
    lets_go(bench, "more than", (0, 1))  # the hand, which swings when the arm falls back, is damped besides


def test_too_heavy_a_model_is_noticed_before_all_of_gravity_acts():
    """Too little friction to hide it, and a tolerance that lets it pass until then."""
    bench = Bench(friction=0.1 * FRICTION, scale=1.15)
    outcome = bench.procedure.outcome
    bench.run(until=lambda _: outcome.stopped)
    assert bench.efforts[-1][0] > 200.0  # it carries the arm, which sinks, until the next state
    at = len(bench.efforts)
    bench.run()
    assert np.array(bench.efforts[at:])[:, 0].min() >= 0.0
    assert not outcome.good
    assert "of gravity" in outcome.stopped or "more than" in outcome.stopped
    assert not bench.efforts[-1].any()


def test_an_arm_that_does_not_rest_is_not_begun_with():
    bench = Bench(friction=0.0 * FRICTION)
    bench.plant.reset([0.5, 0.3, 0.2])
    bench.run()
    assert "moves without effort" in bench.procedure.outcome.stopped
    assert not np.array(bench.efforts).any()


@pytest.mark.parametrize("speed", [0.0, 0.1])
def test_an_arm_at_the_seam_of_its_encoder_rests_or_moves_whatever_array_its_states_come_in(speed):
    """A continuous joint was a whole turn from its start; in one array for all states, none ever moved."""
    robot, q = rd.load_robot(arm().urdf.replace("revolute", "continuous")), np.zeros(3)
    commissioning = Commissioning(rd.create_dynamics("rnea", robot), QUICK)
    for t in np.arange(0.0, 0.25, 0.004):
        angle = np.pi + speed * t + 1e-4 * np.sin(1e3 * t)
        q[1] = np.arctan2(np.sin(angle), np.cos(angle))
        commissioning.update(t, q, np.zeros(3))
    assert commissioning.outcome.stopped.partition(":")[0] == ("joint2 moves without effort" if speed else "")


def test_an_arm_that_begins_to_move_at_the_last_moment_is_asked_nothing():
    procedure = Commissioning(rd.create_dynamics("rnea", arm()), QUICK, guided=True)
    q = np.array([0.1, 0.2, 0.3])
    for t in (1.0, 1.2, 1.31):  # it is watched for 0.3 s
        assert not procedure.update(t, q + 0.01 * (t > 1.3), np.zeros(3)).any()
    assert "moves without effort" in procedure.outcome.stopped
    for t in np.arange(1.32, 4.0, 0.01):
        assert procedure.question is None and procedure.stage == "releasing the efforts"
        procedure.update(t, q + 0.01, np.zeros(3))
        if procedure.finished:
            break
    assert procedure.finished and not procedure.outcome.joints


@pytest.mark.parametrize(("start", "end", "stop"), [(0.03, 0.04, 0.04), (0.02, 0.04, 0.04), (0.0, 0.15, 0.03)])
def test_a_finger_is_not_pressed_against_its_stop(monkeypatch, start, end, stop):
    """It ends at its limit, which is near, or at a stop that is not in the URDF."""
    monkeypatch.setattr(moves, "STROKE", 0.1)

    def finger(upper):
        limit = (0.0, upper, 0.5, 20.0)
        slide = arms.joint("finger", "prismatic", "hand", "tip", axis=(1, 0, 0), limit=limit)
        tip = arms.link("tip", 0.3, (0, 0, 0.01), (1e-4, 0, 0, 2e-4, 0, 3e-4))
        return rd.create_dynamics("rnea", rd.load_robot(arms.robot("gripper", arms.link("hand"), tip, slide)))

    plant = Plant(finger(stop), q0=[start], friction=[FrictionSettings(0.5, 1.0)])
    outcome, efforts = commissioned(finger(end), plant)
    assert np.abs(efforts).max() < 9.0  # of 20; a push has 4
    if end == stop:
        assert outcome.good, markdown(report(outcome))
        assert outcome.joints[0].friction == pytest.approx(1.0, rel=0.05)
    else:
        assert outcome.stopped == "finger does not follow its slow motion: something is in its way"
        assert markdown(report(outcome)).lower().count(outcome.stopped) == 1  # with the joint's name as it is


def test_guided_it_asks_and_takes_no_for_an_answer():
    bench = Bench(guided=True)
    bench.run(until=lambda b: b.procedure.question)
    assert "joint3: pushing" in bench.procedure.question
    assert "clear" in bench.procedure.question
    bench.procedure.answer(True)
    bench.run(until=lambda b: b.procedure.question)
    assert "positive direction" in bench.procedure.question or "negative direction" in bench.procedure.question
    bench.procedure.answer(False)  # it went the other way
    bench.run(until=lambda b: b.procedure.question)
    bench.procedure.answer(False)  # and that is enough
    bench.run()
    (found,) = bench.procedure.outcome.joints
    assert "the sign of transmission.joint3.gear_ratio" in found.problems[0]
    assert "stopped by the user" in html(report(bench.procedure.outcome)).lower()


def test_an_arm_without_effort_limits_is_refused():
    robot = rd.load_robot(PRR.replace(' effort="150.0"', "", 1))
    with pytest.raises(rd.ConfigurationError, match="effort limit"):
        Commissioning(rd.create_dynamics("rnea", robot))


def ur5():
    return rd.create_dynamics("rnea", rd.load_robot(industrial.urdf("ur5_robot")))


@pytest.mark.thorough
@pytest.mark.parametrize("friction", [0.0, 1.0])
@pytest.mark.parametrize("lateness", [5, 10])
def test_efforts_that_come_late_commission_light_wrists_too(friction, lateness):
    """A UR5 whose efforts act some ms after the state that they answer, without friction and with some."""
    dynamics = ur5()
    dry = [FrictionSettings(0.1 * f, f) for f in friction * np.array([4.0, 4.0, 3.0, 1.5, 1.5, 0.8])]
    plant = Plant(dynamics, q0=[0, np.pi / 2, 0, -np.pi / 2, 0, 0], friction=dry)
    outcome, _ = commissioned(dynamics, plant, steps=1, late=lateness)  # periods of 1 ms
    assert not outcome.stopped
    assert all(joint.follows for joint in outcome.joints)


def test_an_arm_of_six_joints_hanging_down():
    """A UR5: joints that gravity does not act on, and a last one so light that friction hides its inertia."""
    dynamics, friction = ur5(), [4.0, 4.0, 3.0, 1.5, 1.5, 0.8]
    plant = Plant(dynamics, q0=[0, np.pi / 2, 0, 0, 0, 0], friction=[FrictionSettings(0.1 * f, f) for f in friction])
    outcome, _ = commissioned(dynamics, plant, replace(QUICK, push_time=3.0), steps=8)
    assert outcome.good, markdown(report(outcome))
    np.testing.assert_allclose([joint.friction for joint in outcome.joints], friction[::-1], rtol=0.05)
    assert np.isnan(outcome.joints[0].inertia)
    np.testing.assert_allclose([joint.inertia_ratio for joint in outcome.joints[1:]], 1.0, atol=0.25)


def test_joints_without_friction_do_not_drift_away_before_their_stroke(monkeypatch):
    """The rehearsal of docs/how-to/ur5-panda.md: a hanging UR5e with rotors, whose joints only the procedure damps."""
    monkeypatch.undo()  # at its real times
    models = pytest.importorskip("airo_models")
    dynamics = rd.create_dynamics("rnea", rd.load_robot(models.get_urdf_path("ur5e")), armature=np.full(6, 0.1))
    plant = Plant(dynamics, q0=[0, np.pi / 2, 0, -np.pi / 2, 0, 0])
    outcome, _ = commissioned(dynamics, plant, steps=4)
    assert outcome.good, markdown(report(outcome))
