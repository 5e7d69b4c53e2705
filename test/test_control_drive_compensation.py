# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Drives that add gravity, Coriolis efforts or friction by themselves: what is sent, and what the arm gets of it."""

from argparse import ArgumentParser
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from test_control_safety import CONFIG, DYNAMICS, GRAVITY, PERIOD, QD, ROBOT, ZERO, Arm, Q, damping

import robodyn_ros as rd
from robodyn_ros.cli import commission
from robodyn_ros.control import PD, ComputedTorque, ControlLoop, GravityCompensation, Reference
from robodyn_ros.control.drives import DriveCompensation
from robodyn_ros.control.faults.table import FaultReactions
from robodyn_ros.control.loop_settings import MODEL, loop_default_values, make_loop_settings
from robodyn_ros.control.motion.point_to_point import rest_to_rest
from robodyn_ros.control.parameter_file import FileParameters, read_parameters
from robodyn_ros.errors import ConfigurationError, HoldingError, InputError
from robodyn_ros.simulation.hardware import default_values, make_hardware_settings
from robodyn_ros.simulation.trial_run import run_trial

PRR = rd.load_robot("prr")
ALL = DriveCompensation.of(ROBOT, ["gravity", "coriolis", "friction"])
WEIGHT = DriveCompensation.of(ROBOT, ["gravity"])


def trial(simulator, controller, duration=0.3):
    """A motion of the PRR arm; drives and states at the rate of the plant, so that both ends see the same arm."""
    given = {"state_rate": 1000.0} | simulator
    hardware = make_hardware_settings(FileParameters(given, MODEL | default_values(PRR)), PRR)
    values = FileParameters(controller, loop_default_values(PRR))
    model = rd.create_dynamics(values["dynamics"], PRR)
    loop = ControlLoop.from_settings(make_loop_settings(values, model))
    made = hardware.assemble()
    loop.start(0.0, made.plant.q)
    loop.follow(rest_to_rest([made.plant.q, made.plant.q + [0.05, -0.3, 0.2]], [0.0, 0.3]), 0.0)
    return run_trial(made, loop, duration)


# The law's efforts reach the joint, whoever adds what


@pytest.mark.parametrize(
    ("law", "terms"), [("computed_torque", ["gravity.shoulder", "gravity.wrist"]), ("adaptive", ["gravity"])]
)
def test_the_arm_moves_as_if_the_controller_did_it_all(law, terms):
    friction = {f"friction.{name}.viscous": 0.4 for name in PRR.joint_names}
    plain = trial(friction | {"mismatch.payload_mass": 0.3}, {"controller": law})
    both = {"controller": law, "drive_compensates": terms}
    helped = trial(friction | {"mismatch.payload_mass": 0.3, "drive_adds": terms}, both)
    assert plain.faults == helped.faults == {}
    # Brakes hold the arm until the first command; from then on the drives go on with every step of the plant.
    np.testing.assert_allclose(helped.truth.values["q"], plain.truth.values["q"], atol=3e-5)
    sent, all_sent = helped.commands.values["effort"], plain.commands.values["effort"]
    index = [PRR.joint_names.index(term.partition(".")[2]) for term in terms if "." in term] or [0, 1, 2]
    weight = np.array([rd.create_dynamics("rnea", PRR).gravity(q) for q in helped.states.values["q"]])
    np.testing.assert_allclose(sent[:, index], (all_sent - weight)[:, index], atol=0.3)
    assert np.abs(weight[:, index]).max() > 5.0


def test_friction_and_coriolis_of_the_law_are_left_out():
    model = rd.create_dynamics("rnea", ROBOT, viscous=[0.3, 0.1, 0.2], coulomb=[0.5, 0.2, 0.1])
    loops = [
        ControlLoop(ComputedTorque(model, 90.0, 19.0), np.full(3, 1e4), drives=drives)
        for drives in (None, ALL, DriveCompensation.of(ROBOT, ["friction.joint2", "coriolis.joint3"]))
    ]
    reference = Reference(Q, np.array([0.2, -0.4, 0.3]), ZERO, ZERO)
    commands = []
    for loop in loops:
        loop.update(1.0, 1.0, Q, QD)
        loop.track(reference, 1.0)
        commands.append(loop.update(1.01, 1.01, Q, QD))
    whole, efforts = commands[0].effort, commands[0].efforts
    assert (np.abs([efforts.gravity[0], efforts.friction[1], efforts.coriolis[2]]) > 5e-5).all()
    np.testing.assert_allclose(
        commands[1].effort, whole - efforts.gravity - efforts.coriolis - efforts.friction, atol=1e-12
    )
    left = np.array([0.0, efforts.friction[1], efforts.coriolis[2]])
    np.testing.assert_allclose(commands[2].effort, whole - left, atol=1e-12)
    for loop, added in zip(loops, (0.0, efforts.gravity + efforts.coriolis + efforts.friction, left), strict=True):
        np.testing.assert_allclose(loop.memory().memory.added, added, atol=1e-12)  # the effort limit counts it


def test_a_law_without_a_model_has_nothing_to_leave_out():
    alone, helped = Arm(PD), Arm(PD, drives=WEIGHT)
    np.testing.assert_array_equal(helped.state(Q + 0.02, -QD).effort, alone.state(Q + 0.02, -QD).effort)


# No reaction to a fault pushes the arm down


def test_a_fault_leaves_the_weight_to_the_drives():
    """Without states a reaction sends zero, for the drives carry the arm."""
    arm = Arm(drives=WEIGHT, reactions=FaultReactions(states=("hold", 1.0)))
    for _ in range(25):  # until it counts as an arm that stands
        np.testing.assert_allclose(arm.state(qd=ZERO).effort, 0.0, atol=1e-12)
    times, efforts = arm.watched(3.0)
    assert times[-1] - times[0] == pytest.approx(1.0, abs=1.5 * PERIOD)
    np.testing.assert_allclose(efforts, 0.0, atol=1e-12)


def test_a_fault_with_states_holds_by_feedback_alone_and_only_the_helped_joint():
    arm = Arm(drives=DriveCompensation.of(ROBOT, ["gravity.joint1"]))
    arm.loop.set_publisher_conflict("two of them")
    command = arm.state()
    weight = DYNAMICS.gravity(arm.q + PERIOD / 2 * arm.qd)
    assert command.fault == "publisher"
    np.testing.assert_allclose(command.effort, [0.0, *weight[1:]] + damping(arm.q, arm.qd), atol=1e-12)


def test_the_first_commands_and_the_final_command_send_no_weight():
    arm = Arm(drives=WEIGHT)
    for _ in range(8):
        np.testing.assert_allclose(arm.state(qd=ZERO).effort, 0.0, atol=1e-12)
    effort, done = arm.loop.final_command(arm.t + PERIOD)
    assert done
    np.testing.assert_allclose(effort, 0.0, atol=1e-12)


# Limits


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_what_is_sent_and_what_the_drive_gives_altogether_are_limited(sign):
    limit = 1.2 * np.abs(GRAVITY) + 1.0
    config = replace(CONFIG, command_delay=0.0)  # so stiff that no delay is borne
    arm = Arm(PD(DYNAMICS, 1e6, 20.0), config, limit=limit, drives=WEIGHT, rate_limit=np.full(3, 1e9))
    arm.loop.track(Reference(Q + sign * 0.04, ZERO, ZERO, ZERO), arm.t)
    sent = arm.state(qd=ZERO).effort
    altogether = sent + GRAVITY
    assert (np.abs(sent) <= limit * (1 + 1e-12)).all()
    assert (np.abs(altogether) <= limit * (1 + 1e-12)).all()
    assert (np.isclose(np.abs(sent), limit) | np.isclose(np.abs(altogether), limit)).all()


def test_the_rate_limit_need_not_raise_a_weight_that_the_drives_carry():
    """In 0.2 s an effort has to rise to what holds a joint, and accelerates it by 1 rad/s² or m/s²."""
    rate = 1.01 * np.diagonal(DYNAMICS.mass_matrix(Q)) / 0.2
    for drives in (WEIGHT, None):
        loop = ControlLoop(GravityCompensation(DYNAMICS, 100.0, 20.0), np.full(3, 1e4), drives=drives)
        loop.update(1.0, 1.0, Q, ZERO)
        lower = loop.settings._replace(limits=replace(loop.settings.limits, rate=rate))
        with nullcontext() if drives else pytest.raises(HoldingError, match="rate"):
            loop.apply(lower)


def test_soft_limits_count_with_the_weight_that_the_drive_carries():
    """At a limit nothing pushes outwards: altogether no more than what holds the arm there."""
    near = np.array([ROBOT.upper[0] - 1e-3, *Q[1:]])
    config = replace(CONFIG, soft_limit_margin=0.05, command_delay=0.0)
    arm = Arm(PD(DYNAMICS, 1e5, 20.0), config, start=False, drives=WEIGHT)
    arm.state(near, ZERO)
    arm.loop.track(Reference(np.array([ROBOT.upper[0], *Q[1:]]), ZERO, ZERO, ZERO), arm.t)
    sent = arm.state(qd=ZERO).effort
    stiffness = arm.loop.settings.feedback.stiffness
    assert sent[0] == pytest.approx(stiffness[0] * 1e-3)


# The setting


def test_a_change_while_the_arm_moves_is_blended_in():
    arm = Arm(GravityCompensation)
    before = arm.state(qd=ZERO).effort
    arm.loop.apply(arm.loop.settings._replace(drives=WEIGHT))
    efforts = [arm.state().effort for _ in range(30)]
    np.testing.assert_allclose(efforts[0], before, atol=1e-12)
    np.testing.assert_allclose(efforts[-1], 0.0, atol=1e-12)
    largest = np.abs(np.diff(efforts, axis=0)).max(axis=0)
    np.testing.assert_allclose(largest, np.abs(GRAVITY) * PERIOD / CONFIG.blend_time, rtol=1e-6)


@pytest.mark.parametrize(
    ("terms", "said"),
    [(["gravitiy"], "gravity, coriolis, friction, none"), (["gravity.elbow"], "joint1, joint2, joint3")],
)
def test_terms_that_do_not_exist_are_refused(terms, said):
    with pytest.raises(InputError, match=f"drive_compensates.*{said}"):
        DriveCompensation.of(ROBOT, terms)


@pytest.mark.parametrize(
    ("given", "wanted"), [("gravity", "a list of names"), (["none", "gravity"], "none alone, or names without it")]
)
def test_a_list_of_names_is_asked_for(given, wanted):
    values = FileParameters({"drive_compensates": given}, loop_default_values(PRR))
    with pytest.raises(ConfigurationError, match=f"drive_compensates: must be {wanted}"):
        make_loop_settings(values, rd.create_dynamics("rnea", PRR))


@pytest.mark.parametrize("file", sorted((Path(__file__).parents[1] / "config/drives").iterdir()), ids=lambda f: f.stem)
def test_each_preset_is_read_and_has_its_row_and_its_caution(file):
    page = (Path(__file__).parents[1] / "docs" / "how-to" / "drives.md").read_text(encoding="utf-8")
    assert f"`{file.name}` |" in page
    assert "Not tried on hardware" in file.read_text(encoding="utf-8")
    given = read_parameters(file, "controller")
    values = FileParameters(given, loop_default_values(PRR))
    found = make_loop_settings(values, rd.create_dynamics("rnea", PRR)).drives
    assert found.gravity.all() == ("gravity" in given["drive_compensates"])
    first = read_parameters(file, "commissioner")
    assert first["drive_compensates"] == given["drive_compensates"]
    parser = ArgumentParser()
    commission.add_arguments(parser)
    urdf = Path(__file__).parents[1] / "urdf" / "prr.urdf"
    assert first.items() <= commission._parameters(parser.parse_args([str(urdf), "--params", str(file)])).items()
