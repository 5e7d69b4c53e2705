# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""MIT mode: the five numbers of each joint add up to the loop's effort, whatever the loop is doing."""

import arms
import numpy as np
import pytest

import robodyn_ros as rd
from robodyn_ros.control import PD, ComputedTorque, ControlLoop, SafetySettings, rest_to_rest
from robodyn_ros.control.drives import MitSettings
from robodyn_ros.control.faults.settings import Feedback
from robodyn_ros.control.faults.table import FaultReactions
from robodyn_ros.errors import JumpError
from robodyn_ros.simulation import Plant, PlantSettings

ROBOT = rd.load_robot(arms.mechanism("PRR", (4, 1.5, 0.6), (1, 0.5, 0.34), (0.1, 0.2, 0.15)))
DYNAMICS = rd.create_dynamics("rnea", ROBOT)
HOME, GOAL = np.array([0.3, -0.2, 0.5]), np.array([0.9, 0.5, -0.4])
QD = np.array([0.01, -0.05, 0.04])
BEGIN, PERIOD, STEP = 5.0, 4e-3, 0.5e-3  # of the states, of the states, and of the drives' own loop [s]
WIDE = MitSettings((1e9, 1e9))


def total(sent, q, qd):
    """The efforts of drives in MIT mode at a state."""
    return sent.effort + sent.stiffness * (sent.position - q) + sent.damping * (sent.velocity - qd)


class Arm:
    """A plant with drives in MIT mode, and its loop; or with drives that take efforts."""

    def __init__(self, law, effort=1e3, *, mit=WIDE, plant=DYNAMICS, **options):
        self.loop = ControlLoop(law, np.broadcast_to(effort, 3), **options)
        self.plant = Plant(plant, PlantSettings(step=STEP), q0=HOME, effort_limit=np.full(3, 1e4))
        self.mit, self.t = mit, BEGIN
        self.pairs = []  # a state, what the loop wants, and what the drives get

    def drive(self, command, in_mit_mode=True):
        """A period of the drives."""
        q, qd = self.plant.q, self.plant.qd
        sent = None if command is None else self.loop.in_mit_mode(command.effort, self.t, self.mit)
        if sent is not None:
            self.pairs.append((q, qd, command, sent))
        for _ in range(round(PERIOD / STEP)):
            if command is None:
                self.plant.apply(np.zeros(3))
            elif in_mit_mode:
                self.plant.apply(total(sent, self.plant.q, self.plant.qd))
            else:
                self.plant.apply(command.effort)
            self.plant.step()
        self.t += PERIOD
        return sent

    def update(self, q, qd):
        """The command for a state."""
        return self.loop.update(self.t, self.t, q, qd)

    def sent(self, command):
        """What drives in MIT mode without limits get."""
        return self.loop.in_mit_mode(command.effort, self.t, WIDE)

    def drop(self, jump=0.4, qd=None):
        """What the drives get for a state that jumps and is dropped."""
        with pytest.raises(JumpError):
            self.update(self.plant.q + [0.0, 0.0, jump], self.plant.qd if qd is None else qd)
        return self.sent(self.loop.repeat(self.t, self.t))

    def run(self, duration, *, states=True, in_mit_mode=True):
        for _ in range(round(duration / PERIOD)):
            command = self.update(self.plant.q, self.plant.qd) if states else self.loop.watch(self.t)
            self.drive(command, in_mit_mode)


def adds_up(arm):
    for q, qd, command, sent in arm.pairs:
        if command.state is None:
            continue
        np.testing.assert_allclose(total(sent, q, qd), command.effort, rtol=1e-11, atol=1e-9)


@pytest.mark.parametrize("law", [ComputedTorque(DYNAMICS, 100.0, 20.0, 30.0), PD(DYNAMICS, 300.0, 40.0, 50.0)])
@pytest.mark.parametrize("effort", [1e3, [70.0, 25.0, 3.0]], ids=["free", "limited"])
def test_the_numbers_add_up_to_the_effort_of_the_loop_with_the_gains_of_the_law(law, effort):
    safety = SafetySettings(externally_supported=True, plausibility=False, following_tolerance=0.0)
    arm = Arm(law, effort, safety=safety, rate_limit=np.full(3, 4e3))
    arm.run(0.1)
    arm.loop.follow(rest_to_rest([GOAL], [0.6]))
    arm.run(0.8)
    adds_up(arm)
    scale = np.ones(3)
    if law.feedback == "acceleration":
        scale = np.diagonal(DYNAMICS.mass_matrix(ROBOT.home))
    cuts = 0
    for _, _, command, sent in arm.pairs:
        cut = command.saturated | command.rate_limited
        cuts += cut.sum()
        np.testing.assert_allclose(sent.stiffness, np.where(cut, 0.0, scale * law.kp), rtol=1e-12)
        np.testing.assert_allclose(sent.damping, np.where(cut, 0.0, scale * law.kd), rtol=1e-12)
        np.testing.assert_array_equal(sent.position, command.reference.q)
        np.testing.assert_array_equal(sent.velocity, command.reference.qd)
    assert (cuts > 0) == (effort != 1e3)
    if effort == 1e3:
        assert np.abs(arm.plant.q - GOAL).max() < 0.02 if law.feedback == "acceleration" else True


def test_a_dropped_state_is_answered_by_the_effort_before_it():
    arm = Arm(ComputedTorque(DYNAMICS, 100.0, 20.0))
    arm.run(0.1)
    arm.loop.follow(rest_to_rest([GOAL], [1.0]))
    arm.run(0.4)
    q, qd = arm.plant.q, arm.plant.qd
    command = arm.update(q, qd)
    arm.drive(command)
    sent = arm.drop(qd=-arm.plant.qd)
    np.testing.assert_array_equal(arm.loop.repeat(arm.t, arm.t).effort, command.effort)
    np.testing.assert_allclose(total(sent, q, qd), command.effort, rtol=1e-9)  # not by the velocity of that state
    arm.loop.stop()
    assert arm.loop.repeat(arm.t, arm.t) is None


def test_a_state_that_is_dropped_during_a_reaction_keeps_its_gains():
    arm = Arm(ComputedTorque(DYNAMICS, 100.0, 20.0), reactions=FaultReactions(publisher=("damp", 10.0)))
    arm.run(0.3)
    arm.loop.set_publisher_conflict("two of them")
    command = arm.update(arm.plant.q, arm.plant.qd)
    assert arm.loop.fault.phase == "damp"
    before, sent = arm.drive(command), arm.drop()
    np.testing.assert_array_equal(before.stiffness, 0.0)
    np.testing.assert_array_equal(sent.stiffness, before.stiffness)
    np.testing.assert_array_equal(sent.damping, before.damping)


def test_a_state_that_is_dropped_after_others_were_missing_changes_no_command():
    """Its speed is not known, and that of the latest valid state counted again: the drives sped the arm up."""
    arm = Arm(ComputedTorque(DYNAMICS, 100.0, 20.0))
    arm.run(0.3)
    arm.loop.follow(rest_to_rest([arm.plant.q, GOAL], [0.0, 0.5]))
    arm.run(0.25)
    last = arm.pairs[-1][0]
    arm.run(0.15, states=False)
    command = arm.loop.watch(arm.t)
    before = arm.drive(command)
    np.testing.assert_allclose(total(before, last, 0.0), command.effort)
    sent = arm.drop(2.5)
    np.testing.assert_allclose(sent.effort, before.effort)
    np.testing.assert_array_equal(sent.damping, before.damping)
    effort, _ = arm.loop.final_command(arm.t)
    final = arm.loop.in_mit_mode(effort, arm.t, WIDE)
    np.testing.assert_allclose(total(final, last, 0.0), effort)


def test_gains_are_bounded_by_what_a_drive_takes():
    arm = Arm(PD(DYNAMICS, [300.0, 200.0, 100.0], [40.0, 4.0, 2.0]), mit=MitSettings((150.0, 3.0)))
    sent = arm.drive(arm.update(HOME, np.array([0.1, -0.2, 0.3])))
    np.testing.assert_array_equal(sent.stiffness, [150.0, 150.0, 100.0])
    np.testing.assert_array_equal(sent.damping, [3.0, 3.0, 2.0])


def test_while_no_states_come_the_drives_hold_the_arm_that_efforts_alone_let_sink():
    """The arm carries a kilogram that the model does not know."""
    heavy = rd.create_dynamics("rnea", ROBOT, payload=rd.Payload(ROBOT.links[-1].name, 1.0))
    sunk = {}
    for in_mit_mode in (True, False):
        arm = Arm(ComputedTorque(DYNAMICS, 400.0, 40.0), plant=heavy)
        arm.run(1.5, in_mit_mode=in_mit_mode)
        assert arm.loop.fault is None
        before = arm.plant.q
        arm.run(0.6, states=False, in_mit_mode=in_mit_mode)
        assert arm.loop.fault.phase == "hold"
        sunk[in_mit_mode] = np.abs(arm.plant.q - before).max()
    assert sunk[True] < 0.1 * sunk[False]


def test_hold_and_damp():
    arm = Arm(ComputedTorque(DYNAMICS, 100.0, 20.0), reactions=FaultReactions(states=("hold", 0.998)))
    arm.run(0.3)  # until it counts as an arm that stands
    arm.run(2.0, states=False)
    blind = [sent for _, _, command, sent in arm.pairs if command.fault == "states"]
    assert arm.loop.watch(arm.t) is None
    feedback = arm.loop.settings.feedback
    assert len(blind) == round(1.0 / PERIOD)
    for sent in blind:
        np.testing.assert_array_equal(sent.stiffness, feedback.stiffness)
        np.testing.assert_array_equal(sent.damping, feedback.damping)
        np.testing.assert_allclose(sent.position, HOME, atol=1e-3)
    damps = FaultReactions(speed=("damp",))
    fast = Arm(ComputedTorque(DYNAMICS, 100.0, 20.0), safety=SafetySettings(plausibility=False), reactions=damps)
    fast.run(0.1)
    velocity = np.array([0.0, 1.2 * ROBOT.velocity_limit[1], 0.0])
    command = fast.update(fast.plant.q, velocity)
    assert (command.fault, fast.loop.fault.phase) == ("speed", "damp")
    assert command.efforts is command.reference is command.error is None  # no law gave it
    sent = fast.sent(command)
    np.testing.assert_array_equal(sent.stiffness, 0.0)
    free = ~(command.saturated | command.rate_limited)
    np.testing.assert_array_equal(sent.damping, np.where(free, fast.loop.settings.feedback.damping, 0.0))
    np.testing.assert_allclose(total(sent, fast.plant.q, velocity), command.effort, rtol=1e-12)


def test_the_drives_count_turns_that_the_loop_does_not():
    arm = Arm(ComputedTorque(DYNAMICS, 100.0, 20.0))
    command = arm.update(HOME, np.zeros(3))
    turned = HOME + [0.0, 0.0, 4.0 * np.pi]
    plain, sent = (arm.loop.in_mit_mode(command.effort, arm.t, WIDE, q) for q in (HOME, turned))
    np.testing.assert_allclose(sent.position - plain.position, turned - HOME, rtol=1e-12)
    np.testing.assert_allclose(total(sent, turned, np.zeros(3)), command.effort, rtol=1e-9)
    unknown = arm.loop.in_mit_mode(command.effort, arm.t, WIDE, np.full(3, np.nan))
    np.testing.assert_array_equal(unknown.position, plain.position)


def test_drives_whose_states_are_not_trusted_get_efforts_alone():
    arm = Arm(ComputedTorque(DYNAMICS, 100.0, 20.0))
    arm.run(0.3)
    command = None
    while command is None:
        arm.t += PERIOD
        try:
            command = arm.update(arm.plant.q + [0.0, 0.0, 0.4], arm.plant.qd)
        except JumpError:
            assert arm.t < 5.35
    assert command.fault == "sensor"
    sent = arm.sent(command)
    np.testing.assert_array_equal([sent.stiffness, sent.damping], 0.0)
    np.testing.assert_allclose(sent.effort, command.effort, rtol=1e-12)


@pytest.mark.parametrize(("reaction", "springs"), [("float", False), ("hold", True)])
def test_a_drive_has_no_spring_while_its_arm_floats(reaction, springs):
    feedback = Feedback(np.array([110.0, 90.0, 70.0]), np.array([21.0, 19.0, 17.0]))
    law, reactions = ComputedTorque(DYNAMICS, 100.0, 20.0), FaultReactions(touch=(reaction, 10.0))
    arm = Arm(law, feedback=feedback, reactions=reactions)
    arm.run(0.3)
    scale, usual = np.diagonal(DYNAMICS.mass_matrix(ROBOT.home)), arm.pairs[-1][3]
    np.testing.assert_allclose([usual.stiffness, usual.damping], np.outer([100.0, 20.0], scale), rtol=1e-12)
    arm.loop.set_contact("touch")
    for _ in range(2):
        arm.t += PERIOD
        moved = arm.plant.q + (arm.t - 5.3) * QD
        command = arm.update(moved, QD)
    assert (command.fault, arm.loop.fault.phase) == ("touch", reaction)
    sent = arm.sent(command)
    np.testing.assert_array_equal(sent.stiffness, feedback.stiffness * springs)
    np.testing.assert_array_equal([sent.damping, sent.velocity], [feedback.damping, np.zeros(3)])
    assert np.array_equal(sent.position, moved) != springs
    np.testing.assert_allclose(total(sent, moved, QD), command.effort, rtol=1e-9)
