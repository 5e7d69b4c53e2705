# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""By which velocities a reaction brakes the arm, and when it lets go of a joint: state by state."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from test_control_safety import CONFIG, DYNAMICS, EXACT, PERIOD, ZERO, Arm, Q, carried, moved

from robodyn_ros.control.core_library import CODES
from robodyn_ros.control.faults.settings import Feedback
from robodyn_ros.control.faults.table import PROBLEMS, FaultReactions
from robodyn_ros.errors import JumpError

ONE = np.eye(3)
SLOWLY = Feedback(ZERO, np.array([1.7, 2.0, 2.3]))
"""Gains with which an arm that is braked moves for a while."""


def said(arm):
    """The problem that the core has, its joint and the measured value."""
    memory = arm.loop.memory()
    kind = next(name for name in PROBLEMS if CODES[name] == int(memory.problem) % CODES["PROBLEM_KINDS"])
    return kind, int(memory.problem_joint), float(memory.problem_value)


# Whether the drives obey


@pytest.mark.parametrize("side", [1.0, -1.0])
@pytest.mark.parametrize(
    ("first", "then", "lets_go"), [(1.0, 1.99, False), (1.0, 2.01, True), (2.5, 2.74, False), (2.5, 2.76, True)]
)
def test_a_joint_that_accelerates_although_it_is_braked_gets_no_more_effort(side, first, then, lets_go):
    """Beyond 1.1 times its first speed and half its velocity limit, for longer than 10 ms and a period."""
    arm = Arm(reactions=FaultReactions(publisher=("hold", 60.0)))
    arm.loop.set_publisher_conflict("two of them")
    slow, fast = side * first * ONE[1], side * then * ONE[1]
    for _ in range(4):
        for qd in (slow, fast):  # one state alone does not tell
            np.testing.assert_allclose(arm.state(qd=qd).effort, carried(Q, qd), rtol=1e-9)
    command = arm.state(qd=fast)
    if not lets_go:
        np.testing.assert_allclose(command.effort, carried(Q, fast), rtol=1e-9)
        return
    np.testing.assert_allclose(command.effort, DYNAMICS.gravity(Q + PERIOD / 2 * fast) * (1.0 - ONE[1]), rtol=1e-12)
    assert said(arm) == ("GROWS_FASTER", 1, fast[1])
    assert arm.state(qd=fast) is None
    arm.loop.set_publisher_conflict("")
    assert arm.state(qd=ZERO) is None  # at rest nobody knows
    assert (arm.loop.fault.kind, arm.loop.fault.latched) == ("publisher", True)


def test_a_joint_that_becomes_slower_is_not_let_go_of_however_fast_it_was_thrown():
    arm = Arm(reactions=FaultReactions(publisher=("hold", 60.0)))
    arm.loop.set_publisher_conflict("two of them")
    for speed in (0.5, 2.9, 2.8, 2.7, 2.6, 2.5):
        np.testing.assert_allclose(arm.state(qd=speed * ONE[1]).effort, carried(Q, speed * ONE[1]), rtol=1e-9)
    for speed in (2.5, 2.6):
        command = arm.state(qd=speed * ONE[1])
    assert command is None or command.effort[1] == 0.0
    assert said(arm)[:2] == ("GROWS_FASTER", 1)


def test_a_joint_that_is_let_go_of_gets_no_effort_again_while_its_effort_falls_at_the_rate_limit():
    """However slow it becomes meanwhile."""
    arm = Arm(reactions=FaultReactions(publisher=("hold", 60.0)), rate_limit=np.full(3, 1500.0))
    arm.loop.set_publisher_conflict("two of them")
    *commands, last = [arm.state(qd=speed * ONE[1]) for speed in (1.0, 1.0, 2.7, 2.8, 2.9, 2.0, 1.0)]
    efforts = [each.effort[1] for each in commands[-4:]]
    np.testing.assert_allclose(efforts, [efforts[0], efforts[0] + 15.0, efforts[0] + 30.0, 0.0], atol=1e-9)
    assert efforts[0] < -30.0 and last is None


@pytest.mark.parametrize("kind", ["publisher", "states"])
def test_what_a_joint_gains_while_no_state_comes_is_not_held_against_its_drive(kind):
    """Whether another fault follows, or the one of missing states, which recurred and is latched."""
    arm = Arm(reactions=FaultReactions(publisher=("hold", 60.0), states=("hold", 60.0)))

    def silence():
        for _ in range(15):
            arm.t += PERIOD
            arm.loop.watch(arm.t)

    while kind == "states" and arm.state().fault is None:
        for _ in range(4):
            arm.state()
        silence()
    arm.loop.set_publisher_conflict("two of them" if kind == "publisher" else "")
    for _ in range(4):
        arm.state(qd=ONE[1])
    silence()
    assert arm.loop.fault.kind == "states"
    for _ in range(6):
        assert arm.state(qd=2.5 * ONE[1]).fault == kind
        assert not int(arm.loop.memory().released)


def test_the_fastest_joint_that_does_not_obey_is_named_and_each_of_them_is_let_go_of():
    arm = Arm(reactions=FaultReactions(publisher=("hold", 60.0)))
    arm.loop.set_publisher_conflict("two of them")
    fast = np.array([-0.2, -2.7, 2.3])
    commands = [arm.state(qd=qd) for qd in (fast / 3.0, fast, fast)]
    assert said(arm) == ("GROWS_FASTER", 1, -2.7)
    expected = DYNAMICS.gravity(Q + PERIOD / 2 * fast) * ONE[0]
    np.testing.assert_allclose(commands[-1].effort, expected, rtol=1e-12)


@pytest.mark.parametrize(("speed", "lets_go"), [(0.41, False), (0.46, True), (1.5, True)])
def test_a_drive_that_was_found_to_disobey_is_let_go_of_at_once_if_its_joint_is_not_slow(speed, lets_go):
    """It turns its effort around; a tenth of the velocity limit is slow."""
    options = {"feedback": Feedback(ZERO, np.full(3, 9.0)), "reactions": FaultReactions(following=("hold", 60.0))}
    arm = Arm(config=replace(CONFIG, **EXACT), plausibility=True, start=False, **options)
    q, qd, step = Q, speed * ONE[1], 0
    while (command := arm.state(q, qd)).fault is None:
        q, qd = moved(q, qd, command.effort * (1.0 - 2.0 * ONE[1] * (step > 5)), PERIOD)
        step += 1
    assert command.fault == "following"
    assert said(arm)[:2] == ("GROWS_FASTER" if lets_go else "DISOBEYS", 1)
    assert (abs(qd[1]) > 0.4) == (command.effort[1] == 0.0) == lets_go, qd
    assert not int(arm.loop.memory().is_suspect)  # it moves, so its encoder is alive


@pytest.mark.parametrize(("gain", "is_carried"), [(0.0, True), (-0.15, True), (-0.4, False), (-1.0, False)])
def test_a_dead_drive_gets_the_effort_that_carries_its_joint_and_one_that_reverses_efforts_gets_none(gain, is_carried):
    """The drive may come back; at a quarter of the effort and less it counts as dead."""
    arm = Arm(config=replace(CONFIG, **EXACT), plausibility=True, start=False, feedback=Feedback(ZERO, np.full(3, 9.0)))
    q, qd, sent = Q, ZERO, []
    while (command := arm.state(q, qd)) is not None:
        sent.append(command.effort)
        at, (q, qd) = q, moved(q, qd, sent[-1] * np.where(ONE[1] * (len(sent) > 5), gain, 1.0), PERIOD)
    np.testing.assert_allclose(sent[-1][1], DYNAMICS.gravity(at)[1] * is_carried, atol=0.3)


# Velocities that are contradicted


class Braked:
    """An arm that moves as its model says, and whose states are wrong from a moment on."""

    def __init__(self, wrong, qd=1.6 * ONE[1], **options):
        given = {"feedback": SLOWLY, "reactions": FaultReactions(sensor=("hold", 5.0))} | options
        self.arm = Arm(config=replace(CONFIG, **EXACT, unknown_friction=1e-6), plausibility=True, start=False, **given)
        self.wrong, self.q, self.qd, self.since = wrong, Q, qd, None
        for _ in range(10):
            self.q, self.qd = moved(self.q, self.qd, self.arm.state(self.q, self.qd).effort, PERIOD)

    @property
    def velocity(self):
        """By which the arm is braked."""
        return np.array(self.arm.loop.memory().estimated_v)

    def state(self):
        """The command for a wrong state; the latest one again if that state is dropped."""
        self.since = self.arm.t if self.since is None else self.since
        try:
            self.command = self.arm.state(*self.wrong(self.arm.t + PERIOD - self.since, self.q, self.qd))
        except JumpError:
            self.command = self.arm.loop.repeat(self.arm.t, self.arm.t)
        now = self.q, self.qd  # where it is
        effort = ZERO if self.command is None else self.command.effort
        self.q, self.qd = moved(self.q, self.qd, effort, PERIOD)
        return now


def test_an_unexplained_effort_that_brakes_a_moving_joint_is_friction_and_one_that_drives_it_is_a_disturbance():
    """At rest it may be either, so it is a disturbance, too: no effort of the model explains 10 kN·m."""
    arm = Braked(None).arm
    memory = arm.loop.core.state
    memory.consistency.v[:], memory.consistency.residual[:] = [1.0, -1.0, 0.0], 1e4
    arm.loop.watch(arm.t + 1.0)
    assert arm.loop.fault.kind == "states"
    np.testing.assert_array_equal(memory.dry_friction > 5e3, [True, False, False])
    np.testing.assert_array_equal(memory.disturbance > 5e3, [False, True, True])


def braked_by(q, qd):
    """The effort of a reaction that brakes an arm with these velocities."""
    momentum = DYNAMICS.mass_matrix(q) @ qd
    return DYNAMICS.gravity(q) - SLOWLY.damping @ qd**2 / (qd @ momentum) * momentum


def test_an_arm_whose_velocities_are_wrong_is_braked_by_its_positions():
    """Also after a state whose velocity the positions do not contradict yet: it was damped by that, and sped up."""
    cell, found = Braked(lambda t, q, qd: (q, qd * [1.0, -1.0, 1.0])), 0
    for step in range(60):
        q, qd = cell.state()
        found += cell.command.fault == "sensor"
        assert abs(qd[1]) < 0.83
        if step > 7:  # once differences of positions have been filtered
            np.testing.assert_allclose(cell.velocity, qd, atol=0.02)
            np.testing.assert_allclose(cell.command.effort, braked_by(q, qd), atol=0.25)
    assert found > 55
    assert qd[1] > 0.3


def test_an_arm_whose_positions_and_velocities_are_wrong_is_braked_by_its_model_for_a_while():
    cell = Braked(lambda t, q, qd: (q + 0.5 * ONE[2], 3.0 * qd))
    cell.state()
    for _ in range(16):
        q, qd = cell.state()
        np.testing.assert_allclose(cell.command.effort, braked_by(q, qd), atol=0.25)  # 1.7 where nothing is braked
    q, qd = cell.state()
    np.testing.assert_allclose(cell.command.effort, DYNAMICS.gravity(q), atol=0.25)
    cell.state()
    assert cell.command is None
    assert qd[1] > 0.7


def test_without_states_the_predicted_motion_is_that_of_scipy():
    """A first-order method with the same steps errs by up to 0.02 rad/s."""
    cell, found = Braked(None), 0
    arm, y = cell.arm, np.array([cell.q, cell.qd])
    command = arm.state(*y)
    while command is not None:
        effort = command.effort

        def rate(t, y, effort=effort):
            return np.concatenate([y[3:], DYNAMICS.forward(y[:3], y[3:], effort)])

        y = solve_ivp(rate, (0.0, PERIOD), y.ravel(), rtol=1e-9, atol=1e-12).y[:, -1].reshape(2, 3)
        arm.t += PERIOD
        if (sent := arm.loop.watch(arm.t)) is not None or found:
            memory, command, found = arm.loop.memory(), sent, found + 1
            np.testing.assert_allclose([memory.predicted_q, memory.predicted_v], y, atol=0.004)
    assert found > 10 and abs(y[1, 1]) > 0.2


@pytest.mark.parametrize(("slip", "counts"), [(0.15, lambda v: v + 0.15), (-0.1, lambda v: v), (-0.38, lambda v: 0.0)])
def test_as_long_as_positions_and_velocities_differ_little_the_faster_one_counts(slip, counts):
    """None does where they have opposite signs; then damping by either could accelerate the joint."""
    cell, found = Braked(lambda t, q, qd: (q + slip * t * ONE[2], qd), qd=np.array([0.0, 1.6, 0.2])), 0
    for _ in range(30):
        _, qd = cell.state()
        found += cell.command.fault == "sensor"
        if found > 5:
            np.testing.assert_allclose(cell.velocity, [qd[0], qd[1], counts(qd[2])], atol=0.02)
    assert found > 10


def test_a_velocity_within_the_noise_has_no_sign():
    """An encoder stops: the trace of the velocity by its positions does not cancel the reported velocity."""
    cell, found = Braked(None, qd=np.array([0.0, 1.6, 0.3])), 0
    last = cell.q[2]
    cell.wrong = lambda t, q, qd: (np.array([*q[:2], last - 0.001 * t]), qd)
    for _ in range(40):
        _, qd = cell.state()
        found += cell.command.fault == "sensor"
        if found > 10:
            np.testing.assert_allclose(cell.velocity[2], qd[2], rtol=1e-9)
    assert found > 25 and 0.1 < qd[2] < 0.3


def test_an_arm_is_not_braked_by_the_velocities_of_another_arm_between_its_own():
    """They are not taken for noise of its velocities, which explains that none of them is what the model predicts."""
    of_both = iter(range(300))
    cell = Braked(lambda t, q, qd: (Q, 1.6 * ONE[1]) if next(of_both) % 2 else (q, qd))
    cell.state()
    while cell.command is not None:
        _, qd = cell.state()
        assert abs(qd[1]) < 1.6  # 6: two velocities in turn looked like a noisy one


@pytest.mark.parametrize(("states", "moves"), [(1, False), (2, False), (3, True)])
def test_an_arm_that_stood_moves_once_positions_and_velocities_agree_for_10_ms_and_a_state(states, moves):
    first, last = 0.5, 0.5 + PERIOD * (states + 0.5)

    def wrong(t, q, qd):
        way = min(max(t - first, 0.0), last - first)
        return Q + 0.5 * ONE[2] * (t > 0.4) + way * ONE[1], ONE[1] * (first < t < last)

    cell = Braked(wrong, qd=ZERO)
    for _ in range(120):
        cell.state()
    assert cell.command.fault == "sensor"
    assert int(cell.arm.loop.memory().predicts) == moves


@pytest.mark.parametrize("grows", [20.0, -3.0])
def test_velocities_are_trusted_until_no_effort_explains_their_growth(grows):
    """By 0.4 rad/s, a tenth of the velocity limit, within 0.1 s; then the model counts."""
    cell = Braked(lambda t, q, qd: (q + 0.5 * ONE[2], (1.0 + grows * max(t - 0.06, 0.0)) * qd))
    cell.state()
    excess = 0.0
    for step in range(2, 17):
        _, qd = cell.state()
        factor, before = 1.0 + grows * max(PERIOD * step - 0.06, 0.0), excess
        excess = (factor - 1.0) * qd[1]
        if not np.allclose(cell.velocity, factor * qd, rtol=1e-9):
            break
    if grows > 0.0:
        np.testing.assert_allclose(cell.velocity, qd, atol=0.02)
        assert 0.3 < before < 0.4 < excess < 0.5
        assert cell.state() and cell.velocity[1] < 0.8
    else:
        assert step == 16 and excess < -0.2
