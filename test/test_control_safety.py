# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""What the loop sends when something is wrong, and how it gets there and back: without ROS, state by state."""

import re
from dataclasses import replace

import arms
import numpy as np
import pytest
from test_control_loop import set_clock_back

import robodyn_ros as rd
from robodyn_ros.control import (
    PD,
    ComputedTorque,
    ControlLoop,
    GravityCompensation,
    Reference,
    SafetySettings,
    rest_to_rest,
)
from robodyn_ros.control.faults.dry_run import check_model, dry_run
from robodyn_ros.control.faults.settings import Feedback
from robodyn_ros.control.faults.table import FaultReactions
from robodyn_ros.dynamics import Payload
from robodyn_ros.errors import (
    EffortError,
    InputError,
    JumpError,
    LimitError,
    ModelError,
    NotReadyError,
    OrderError,
    RobodynError,
)

ROBOT = rd.load_robot(arms.PRR)
DYNAMICS = rd.create_dynamics("rnea", ROBOT)
Q, QD, ZERO = np.array([0.3, -0.2, 0.5]), np.array([0.01, -0.02, 0.03]), np.zeros(3)
GRAVITY = DYNAMICS.gravity(Q)
STIFFNESS, DAMPING = np.array([110.0, 90.0, 70.0]), np.array([21.0, 19.0, 17.0])
FAST = np.array([0.0, 5.0, 0.0])
PERIOD = 0.01
STOOD = 25
"""States of an arm that stands, until it counts as standing."""

EXACT = {"velocity_noise": 1e-6, "model_error": 0.0, "unknown_payload": 0.0, "push_force": 0.0}
"""Nothing but friction is unknown."""

CONFIG = SafetySettings(blend_time=0.2)
REACTIONS = FaultReactions(states=("hold", 0.295), law=("hold", 0.395), speed=("damp", 0.195), publisher=("hold", 0.6))


def damping(q, qd, age=PERIOD / 2):
    """The damping of a reaction, -λ M v, of the middle of a command: with the power of -D v, and without overshoot."""
    momentum = DYNAMICS.mass_matrix(q + age * qd) @ qd
    return -min(DAMPING @ qd**2 / (qd @ momentum), 1.0 / (np.e * age)) * momentum


def carried(q, qd, age=PERIOD / 2):
    """The effort of a hold that does not pull back."""
    return DYNAMICS.gravity(q + age * qd) + damping(q, qd, age)


class Arm:
    """A loop with a clock, and an arm that stays where it is put."""

    def __init__(
        self, law=GravityCompensation, config=CONFIG, start=True, reactions=REACTIONS, plausibility=False, **options
    ):
        given = {"feedback": Feedback(STIFFNESS, DAMPING), "velocity_limit": np.full(3, 4.0)} | options
        controller = law(DYNAMICS, 100.0, 20.0) if isinstance(law, type) else law
        # No arm stands still whatever drives it, with limits far too low for it.
        config = replace(config, plausibility=plausibility, following_tolerance=0.0, externally_supported=True)
        self.loop = ControlLoop(controller, given.pop("limit", np.full(3, 1e4)), config, reactions=reactions, **given)
        self.t, self.age, self.q, self.qd = 5.0, 0.0, Q, ZERO if plausibility else QD
        if start:
            self.state()

    def state(self, q=None, qd=None, after=PERIOD):
        self.t += after
        self.q, self.qd = (self.q if q is None else q), (self.qd if qd is None else qd)
        return self.loop.update(self.t, self.t + self.age, self.q, self.qd)

    def watched(self, duration):
        """What is sent while no state comes: times since the last one, and efforts."""
        found = []
        for step in range(1, round(duration / PERIOD) + 1):
            command = self.loop.watch(self.t + step * PERIOD)
            if command is not None:
                assert (command.fault, command.efforts) == ("states", None)
                found.append((step * PERIOD, command.effort))
        return np.array([time for time, _ in found]), np.array([effort for _, effort in found])


def moved(q, qd, effort, duration):
    """Where the arm is after a time under an effort, and how fast: an integration of its own, within 0.1 ms."""
    for _ in range(round(duration / 1e-4)):
        qd = qd + 1e-4 * DYNAMICS.forward(q, qd, effort)
        q = q + 1e-4 * qd
    return q, qd


BLIND_STEP = 1e-3
"""Between two commands without states [s]."""


def blindly(arm, command, extra=0.0):
    """An arm that moves on without states: speeds of its joints, and the step with which the reaction begins."""
    q, qd, speeds, begin = arm.q, arm.qd, [np.abs(arm.qd)], None
    for count in range(1, 1000):
        blind = arm.loop.watch(arm.t + count * BLIND_STEP)
        if arm.loop.fault is not None and blind is None:
            break
        begin = begin or (blind and count)
        command = blind or command
        q, qd = moved(q, qd, command.effort + extra, BLIND_STEP)
        speeds.append(np.abs(qd))
    return np.array(speeds), begin


# No usable states


def test_without_states_the_weight_of_an_arm_that_stood_is_carried_and_then_nothing_is_sent():
    arm = Arm()
    for _ in range(STOOD):
        arm.state(qd=ZERO)
    timeout = arm.loop.settings.safety.state_timeout
    times, efforts = arm.watched(3.0)
    assert times[0] == pytest.approx(timeout + PERIOD)
    np.testing.assert_allclose(efforts, np.tile(GRAVITY, (30, 1)), rtol=1e-12)  # for its max_duration
    assert arm.loop.fault.phase == "silent"


def test_without_states_a_payload_that_the_model_does_not_know_is_carried_on():
    arm, payload = Arm(PD, replace(CONFIG, unknown_payload=4.0), plausibility=True), np.array([7.0, 0.3, -0.4])
    arm.loop.track(Reference(Q, ZERO, ZERO, GRAVITY + payload), arm.t + 100.0)
    for _ in range(150):
        command = arm.state()
    np.testing.assert_allclose(command.effort, GRAVITY + payload)
    _, efforts = arm.watched(0.3)
    np.testing.assert_allclose(efforts - GRAVITY, np.tile(payload, (len(efforts), 1)), atol=1e-3)
    assert len(efforts) > 3


def test_without_states_nothing_is_sent_if_that_is_chosen():
    arm = Arm(reactions=FaultReactions(**{**REACTIONS, "states": ("silent",)}))
    arm.state(qd=ZERO)
    times, _ = arm.watched(3.0)
    assert (len(times), arm.loop.fault.phase) == (0, "silent")


@pytest.mark.parametrize("moment", [0.5, 0.8, 1.2], ids=["that gets faster", "at full speed", "that gets slower"])
@pytest.mark.parametrize("share", [0.0, 0.03, -0.03], ids=["exact", "helped", "hindered"])
def test_without_states_an_arm_that_moves_is_braked_by_the_motion_that_the_model_expects(moment, share):
    """An effort of which the model does not know acts before and after: it makes no joint too fast."""
    config = replace(CONFIG, unknown_payload=4.0, state_timeout=0.05)
    limit, velocity_limit = np.array([400.0, 60.0, 20.0]), np.full(3, 3.0)
    options = {"limit": limit, "velocity_limit": velocity_limit, "reactions": FaultReactions()}
    arm, extra = Arm(ComputedTorque, config, plausibility=True, **options), share * limit
    arm.loop.follow(rest_to_rest([Q + [0.3, 1.2, -1.6]], [1.6]))
    command = arm.state()
    while arm.t < 5.0 + moment:
        command = arm.state(*moved(arm.q, arm.qd, command.effort + extra, PERIOD))
        assert command.fault is None, command.problem
    speeds, _ = blindly(arm, command, extra)
    assert (len(speeds) - 1) * BLIND_STEP > config.state_timeout + 0.1  # it is braked for a while
    assert speeds.max() < 3.0
    if not share:
        assert speeds[-1].max() < 0.15 * 3.0  # and brakes have to close now: it stands on its head


@pytest.mark.parametrize(("limit", "begins"), [(0.5, 0.3), (0.4, 0.3), (0.6, 0.2)])
def test_without_states_an_arm_that_accelerates_until_its_efforts_have_changed_is_braked_to_the_end(limit, begins):
    """The efforts need 80 ms to carry the arm again. That it accelerates so long does not mean that it disobeys."""
    config, velocity_limit = replace(CONFIG, state_timeout=0.021), np.array([limit, 3.0, 3.0])
    options = {"velocity_limit": velocity_limit, "rate_limit": np.array([1100.0, 1e4, 1e4])}
    arm = Arm(ComputedTorque, config, plausibility=True, reactions=FaultReactions(), **options)
    command = arm.state()
    while abs(arm.qd[0]) < begins * limit:
        arm.loop.track(Reference(arm.q, arm.qd, np.array([-4.0, 0.0, 0.0]), ZERO), arm.t + 100.0)
        command = arm.state(*moved(arm.q, arm.qd, command.effort, PERIOD))
        assert command.fault is None, command.problem
    speeds, begin = blindly(arm, command)
    lift = speeds[:, 0]
    assert lift[-1] < 0.95 * lift.max() < 0.95 * limit
    assert lift.max() > 1.15 * lift[begin]
    assert len(lift) - begin == pytest.approx(150, abs=1)  # BRAKING; it was let go of after 60 ms, as it decelerated


def test_states_that_come_back_are_answered_from_what_was_sent_last():
    arm = Arm(reactions=FaultReactions(**{**REACTIONS, "states": ("hold", 0.3)}))
    arm.loop.follow(rest_to_rest([[1.0, 0.4, -0.6]], [2.0]))
    for _ in range(30):
        arm.state(qd=ZERO)
    _, efforts = arm.watched(0.2)
    elsewhere = Q + 0.02
    first = arm.state(elsewhere, after=0.2)
    np.testing.assert_allclose(first.effort, efforts[-1], rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(first.reference.q, elsewhere)
    assert (arm.loop.mode, arm.loop.fault, arm.loop.restarts) == ("hold", None, 1)
    for _ in range(21):
        last = arm.state()
    np.testing.assert_allclose(last.effort, last.efforts.total, rtol=1e-12)


def test_before_the_first_state_and_while_time_stands_still_nothing_is_sent():
    arm = Arm(start=False)
    assert arm.loop.watch(100.0) is None
    arm.state()
    for t in (arm.t, arm.t + 0.05, arm.t - 3.0):
        assert arm.loop.watch(t) is None


@pytest.mark.parametrize(("kind", "said"), [("states", "reaction"), ("speeed", r"speeed: .* \(is it 'speed'\?\)")])
def test_damping_needs_states_and_a_reaction_a_kind_of_fault_that_exists(kind, said):
    with pytest.raises(RobodynError, match=said):
        FaultReactions(**{kind: ("damp",)})


# States that come, and something is wrong


@pytest.mark.parametrize("rate", [None, np.array([1100.0, 2500.0, 700.0])])
def test_an_overspeed_is_damped_then_carried_by_the_last_command_and_over_when_it_is_over(rate):
    """However low the rate limit is: commands go on until the last one carries the arm."""
    arm = Arm(rate_limit=rate)
    last = arm.state(qd=ZERO).effort
    sent = []
    while (command := arm.state(qd=FAST)) is not None:
        sent.append(command.effort)
        assert (command.fault, arm.loop.fault.phase) == ("speed", "damp" if len(sent) <= 20 else arm.loop.fault.phase)
        assert "'joint2'" in command.problem
    damped, weight = -DAMPING * FAST, DYNAMICS.gravity(Q + PERIOD / 2 * FAST)
    np.testing.assert_allclose(sent[19], damped, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(sent[-1], weight, rtol=1e-12)
    assert arm.loop.fault.phase == "silent"
    if rate is None:
        assert len(sent) == 21
    else:
        steps = np.abs(np.diff([last, *sent], axis=0))
        assert (steps <= rate * PERIOD * (1.0 + 1e-9)).all()
        assert len(sent) == 20 + np.ceil((np.abs(weight - damped) / rate / PERIOD).max())
    slow = arm.state(qd=ZERO)
    assert (slow.fault, arm.loop.fault, arm.loop.mode) == (None, None, "hold")
    np.testing.assert_allclose(slow.effort, GRAVITY if rate is None else weight, rtol=1e-8)


@pytest.mark.parametrize(("speed", "states"), [(0.166, None), (0.2, 9), (0.3, 2), (0.5, 1)])
def test_a_speed_is_a_fault_once_noise_does_not_explain_it(speed, states):
    """ln K σ / 2 = 0.245 rad/s of a sum that grows by what a velocity exceeds the limit by, less σ = 0.02 rad/s."""
    arm = Arm(velocity_limit=np.full(3, 0.15))
    found = [arm.state(qd=np.array([0.0, -speed, 0.0])).fault for _ in range(10)]
    assert found == [None] * 10 if states is None else found == [None] * (states - 1) + ["speed"] * (11 - states)
    assert arm.state(qd=ZERO).fault is None


def test_hold_pulls_back_to_where_the_fault_found_the_arm():
    arm = Arm(reactions=FaultReactions(**{**REACTIONS, "speed": ("hold", 0.2)}))
    arm.state(qd=FAST)
    moved = Q + [0.0, 0.05, 0.0]
    command = arm.state(moved, FAST)
    expected = DYNAMICS.gravity(moved + PERIOD / 2 * FAST) + STIFFNESS * (Q - moved) - DAMPING * FAST
    np.testing.assert_allclose(command.effort, expected, rtol=1e-12)


@pytest.mark.parametrize("side", [1.0, -1.0])
@pytest.mark.parametrize(
    ("stiffness", "bounds"), [(100.0, np.array([4.0, 0.8, 0.5])), (0.8, np.array([500.0, 100.0, 25.0]))]
)
def test_an_arm_that_is_too_far_from_its_reference_is_a_fault_with_the_joint_and_its_bound(side, stiffness, bounds):
    """The tolerance, or the error at which the spring of the law gives the whole effort limit if that is greater."""

    def fault(away):
        safety = replace(CONFIG, plausibility=False, externally_supported=True)
        loop = ControlLoop(GravityCompensation(DYNAMICS, stiffness, 20.0), np.array([400.0, 80.0, 20.0]), safety)
        loop.update(5.0, 5.0, Q, ZERO)
        command = loop.update(5.0 + PERIOD, 5.0 + PERIOD, Q + side * np.asarray(away), ZERO)
        return command.fault, command.problem

    assert fault(0.999 * bounds) == (None, "")
    for joint, unit in enumerate(("m", "rad", "rad")):
        kind, problem = fault(bounds * np.where(np.arange(3) == joint, 1.02, 0.9))
        assert kind == "following"
        said = f"{1.02 * bounds[joint]:.3g} {unit} from its reference; {bounds[joint]:.3g} {unit} is allowed"
        assert f"joint 'joint{joint + 1}' is {said}" in problem
    for most in range(3):
        assert f"'joint{most + 1}'" in fault(bounds + 0.1 + 0.2 * np.eye(3)[most])[1]


def test_the_next_command_without_states_is_due_a_period_of_the_states_later():
    """The gains of a reaction are designed for that; `rests` where nothing is sent without states, or if it is less."""
    arm = Arm()
    arm.loop.watch(arm.t + 0.2)
    assert arm.loop.watch_due(0.05) == 0.05  # the period is not known yet
    arm = Arm()
    for _ in range(20):
        arm.state(qd=ZERO)
    assert arm.loop.watch_due(0.05) == 0.05
    arm.loop.watch(arm.t + 0.2)
    assert arm.loop.watch_due(0.05) == pytest.approx(PERIOD)
    assert arm.loop.watch_due(0.004) == 0.004
    for step in range(100):
        arm.loop.watch(arm.t + 0.2 + step * PERIOD)
    assert (arm.loop.fault.phase, arm.loop.watch_due(0.05)) == ("silent", 0.05)


def test_while_a_fault_lasts_nothing_is_followed():
    arm = Arm()
    going = arm.loop.follow(rest_to_rest([[1.0, 0.4, -0.6]], [2.0]))
    arm.loop.set_publisher_conflict("/x has 2 publishers")
    command = arm.state()
    assert (command.fault, command.problem, going.outcome) == ("publisher", "/x has 2 publishers", "interrupted")
    np.testing.assert_allclose(command.effort, carried(Q, QD), rtol=1e-12)
    with pytest.raises(NotReadyError, match="publisher"):
        arm.loop.follow(rest_to_rest([Q], [1.0]))
    with pytest.raises(NotReadyError, match="publisher"):
        arm.loop.track(Reference(Q, ZERO, ZERO, ZERO), arm.t)
    arm.loop.set_publisher_conflict("")
    command = arm.state(Q + 0.03)
    assert command.fault is None
    np.testing.assert_array_equal(command.reference.q, Q + 0.03)


@pytest.mark.parametrize("age", [0.0, 0.04])
def test_a_hold_is_that_of_the_middle_of_its_command_however_old_the_states_are(age):
    arm = Arm()
    arm.age = age
    for _ in range(400):
        arm.state(Q, ZERO)
    arm.loop.set_publisher_conflict("/x has 2 publishers")
    velocity = np.array([0.2, -0.9, 1.3])
    command = arm.state(Q, velocity)
    assert command.fault == "publisher"
    np.testing.assert_allclose(command.effort, carried(Q, velocity, age + PERIOD / 2), rtol=1e-9)


GARBAGE = {
    "raises": lambda efforts: 1 / 0,
    "not finite": lambda efforts: efforts._replace(total=efforts.total * np.nan),
    "too few": lambda efforts: efforts._replace(total=efforts.total[:2]),
    "no array": lambda efforts: efforts._replace(total=None),
    "nothing": lambda efforts: None,
}


class Moody(GravityCompensation):
    """A law that can be made to fail while it runs, in Python."""

    traced = False
    spoil = staticmethod(lambda efforts: efforts)

    def compute(self, q, qd, reference, integral=None):
        return self.spoil(super().compute(q, qd, reference, integral))


@pytest.mark.parametrize("garbage", GARBAGE)
def test_a_law_that_fails_is_answered_by_hold_and_silence(garbage):
    law = Moody(DYNAMICS, 100.0, 20.0)
    arm = Arm(law)
    law.spoil = GARBAGE[garbage]
    for _ in range(40):
        command = arm.state()
        assert command.fault == "law"
        assert "Moody" in command.problem
        np.testing.assert_allclose(command.effort, carried(Q, QD), rtol=1e-12)
    np.testing.assert_allclose(arm.state().effort, DYNAMICS.gravity(Q + PERIOD / 2 * QD), rtol=1e-12)
    assert (arm.state(), arm.loop.fault.phase) == (None, "silent")
    law.spoil = Moody.spoil
    np.testing.assert_allclose(arm.state().effort, GRAVITY - 20.0 * QD, rtol=1e-12)


class Rooted(GravityCompensation):
    """A traced law whose efforts are numbers on one side only."""

    def compute(self, q, qd, reference, integral=None):
        efforts = super().compute(q, qd, reference, integral)
        return efforts._replace(total=efforts.total + 1e-300 * np.sqrt(0.35 - q[0]))


class Summing(Rooted):
    """Its memory, too, is no number from such a pose on."""

    remembers = ("total",)

    def __init__(self, *given):
        super().__init__(*given)
        self.total = 0.0

    def advance(self, dt, q, qd, reference, asked, sent):
        self.total = self.total + np.sqrt(0.35 - q[0])

    def compute(self, q, qd, reference, integral=None):
        efforts = super().compute(q, qd, reference, integral)
        return efforts._replace(total=efforts.total + 1e-300 * self.total)


@pytest.mark.parametrize("law", [Rooted, Summing])
def test_a_compiled_law_that_gives_no_numbers_is_answered_as_well(law):
    arm = Arm(law(DYNAMICS, 100.0, 20.0))
    assert arm.loop.compiled_step is not None
    there = np.array([0.36, -0.2, 0.5])
    command = arm.state(there)
    assert (command.fault, arm.loop.fault.kind) == ("law", "law")
    assert f"{law.__name__}: the term total of compute is not finite" in command.problem
    np.testing.assert_allclose(command.effort, carried(there, QD), rtol=1e-12)
    assert arm.state(Q).fault is None


@pytest.mark.parametrize(
    "gravity", [lambda q: 1 / 0, lambda q: np.full(3, np.nan), lambda q: None], ids=["raises", "nan", "no"]
)
def test_a_model_that_fails_leaves_the_gravity_it_gave_last(gravity, monkeypatch):
    class Failing(type(DYNAMICS)):  # what is compiled does not ask a method
        fails = False

        def gravity(self, q):
            return gravity(q) if self.fails else super().gravity(q)

    arm = Arm(PD(Failing(DYNAMICS.robot), 100.0, 20.0))  # a law without a gravity term
    monkeypatch.setattr(Failing, "fails", True)
    command = arm.state(Q + 0.01)
    assert command.fault == "law"
    np.testing.assert_allclose(command.effort, GRAVITY + damping(Q + 0.01, QD), rtol=1e-12)


def test_a_law_that_fails_on_the_first_state_sends_nothing():
    law = Moody(DYNAMICS, 100.0, 20.0)
    arm = Arm(law, start=False)
    law.spoil = GARBAGE["not finite"]
    for _ in range(3):
        with pytest.raises(EffortError, match="Moody"):
            arm.state()
    assert arm.loop.watch(arm.t + 1.0) is None
    law.spoil = Moody.spoil
    assert arm.state().fault is None


def test_the_final_command_carries_the_arm_where_it_is():
    arm = Arm(limit=[50.0, 50.0, 50.0])
    arm.loop.follow(rest_to_rest([[1.0, 0.4, -0.6]], [2.0]))
    arm.state(Q + 0.01)
    effort, has_come = arm.loop.final_command(arm.t)
    assert has_come
    np.testing.assert_allclose(effort, np.clip(DYNAMICS.gravity(Q + 0.01), -50.0, 50.0))
    arm.loop.stop()
    assert arm.loop.final_command(arm.t) is None
    assert arm.loop.watch(arm.t + 1.0) is None


def test_the_transition_to_the_final_command_keeps_the_rate_limits():
    """From a reaction that brakes with all its might, downwards: most of the effort changes."""
    rates = np.array([2000.0, 500.0, 300.0])
    arm = Arm(limit=np.full(3, 400.0), rate_limit=rates, velocity_limit=np.full(3, 1e3))
    for _ in range(60):
        sent = arm.state(Q, np.array([30.0, -20.0, 10.0])).effort
    target, t = np.clip(DYNAMICS.gravity(Q), -400.0, 400.0), arm.t
    assert (np.abs(target - sent) > 100.0).all()
    has_come, count = False, 0
    while not has_come:
        t, count = t + 0.002, count + 1
        effort, has_come = arm.loop.final_command(t)
        assert (np.abs(effort - sent) <= 0.002 * rates * (1.0 + 1e-9)).all()
        sent = effort
    np.testing.assert_allclose(effort, target)
    assert 50 < count < 2000


def test_the_first_command_after_silence_begins_where_the_last_one_was_and_keeps_the_rate_limits():
    """At the weight, for drives may have kept to it."""
    rates = np.array([2000.0, 300.0, 100.0])
    arm = Arm(rate_limit=rates, reactions=FaultReactions(**{**REACTIONS, "states": ("hold", 0.3)}))
    for _ in range(STOOD):
        arm.state(qd=ZERO)
    times, efforts = arm.watched(3.0)
    assert times[-1] < 2.0
    assert arm.loop.fault.phase == "silent"
    sent, commands = efforts[-1], []
    np.testing.assert_allclose(sent, GRAVITY, atol=1e-12)
    for k in range(60):
        commands.append(arm.state(qd=ZERO, after=1.0 if k == 0 else PERIOD).effort)
        assert (np.abs(commands[-1] - sent) <= (PERIOD if k else 1e-9) * rates * (1.0 + 1e-9)).all()
        sent = commands[-1]
    np.testing.assert_allclose(sent, GRAVITY, atol=1e-9)


def test_parameters_that_are_set_all_the_time_change_what_they_change_and_no_more():
    """At 500 Hz and faster than the states: neither a step, nor an effort that stands still while the arm moves."""
    rates = np.full(3, 1e6)
    still, busy = (Arm(PD, rate_limit=rates) for _ in range(2))
    for arm in (still, busy):
        arm.loop.track(Reference(Q + 0.02, ZERO, ZERO, GRAVITY), arm.t + 10.0)
        arm.state()
    for k in range(70):
        for _ in range(3):
            law = PD(DYNAMICS, 100.0, 20.0)
            busy.loop.apply(busy.loop.settings._replace(controller=law))
        q = Q + 0.01 * np.sin(0.1 * k)
        np.testing.assert_allclose(busy.state(q).effort, still.state(q).effort, rtol=1e-12)
    for arm in (still, busy):
        arm.loop.apply(arm.loop.settings._replace(controller=PD(DYNAMICS, 150.0, 20.0)))
        for _ in range(12):
            arm.state(q)
    busy.loop.apply(busy.loop.settings)  # what is left of a blend goes on
    gap = np.abs(busy.state(q).effort - still.state(q).effort)
    assert (gap < 0.05 * 50.0 * np.abs(Q + 0.02 - q)).all()
    last = busy.state(q)
    for k in range(100):  # now they do change, to and fro between two laws that differ, and the efforts do not jump
        stiff = 100.0 + 50.0 * (k % 2)
        busy.loop.apply(busy.loop.settings._replace(controller=PD(DYNAMICS, stiff, 20.0)))
        command = busy.state(q)
        between = [GRAVITY + gain * (Q + 0.02 - q) - 20.0 * QD for gain in (100.0, 150.0)]
        assert (np.abs(command.effort - last.effort) <= 0.06 * np.abs(between[1] - between[0]) + 1e-9).all()
        last = command
    assert (np.minimum(*between) - 1e-9 <= last.effort).all()
    assert (last.effort <= np.maximum(*between) + 1e-9).all()
    safety = replace(busy.loop.settings.safety, blend_time=0.0)
    for laws in ([PD(DYNAMICS, stiff, 20.0) for stiff in (100.0, 150.0)], [ComputedTorque(DYNAMICS, 150.0, 30.0)]):
        for law in laws:
            busy.loop.apply(busy.loop.settings._replace(controller=law, safety=safety))
        command = busy.state(q)
        np.testing.assert_allclose(command.effort, command.efforts.total)  # at once


# States that cannot be


def test_a_jump_that_stays_is_a_fault_until_somebody_acknowledges_it_and_one_that_jumps_back_is_none():
    arm = Arm(plausibility=True)
    there, safety = Q + 0.5, SafetySettings()
    arm.loop.track(Reference(Q, ZERO, ZERO, ZERO), arm.t + 100.0)
    for joint in (2, 1, 0):
        with pytest.raises(JumpError, match=r"is 0.3 \w+ from where its velocities lead") as caught:
            arm.state(Q + 0.3 * np.eye(3)[joint])
        assert caught.value.joint == f"joint{joint + 1}"
        assert arm.state(Q).fault is None
    assert (arm.loop.mode, arm.loop.restarts) == ("track", 0)
    said = r"'joint1' is 0.5 m from where its velocities lead; position_noise and the rest explain 0.0015\d+ m"
    with pytest.raises(JumpError, match=said):
        arm.state(there)
    begin = arm.t
    for _ in range(round(2.0 * safety.state_timeout / PERIOD)):
        command = arm.state(there)
        assert command is None or (command.fault == "sensor" and re.search(said, command.problem))
        if arm.t - begin < 0.1:
            np.testing.assert_allclose(command.effort, GRAVITY, atol=1e-9)  # where it was trusted last
    arm.loop.hold(arm.t)
    command = arm.state(there)
    assert command.fault is None
    np.testing.assert_array_equal(command.reference.q, there)
    rng = np.random.default_rng(3)
    for step in range(100):
        try:
            command = arm.state(there + rng.uniform(0.5, 0.9, 3) * (-1) ** step)
            assert command is None or command.fault == "sensor"
        except JumpError:
            assert step == 0


def test_an_arm_whose_positions_jumped_is_braked_by_its_velocities_for_as_long_as_the_reaction_lasts():
    """A load acts from then on of which the model does not know: the error that it makes does not add up."""
    feedback, reactions = Feedback(ZERO, np.array([1.7, 2.0, 2.3])), FaultReactions(sensor=("hold", 5.0))
    arm = Arm(config=replace(CONFIG, **EXACT), plausibility=True, start=False, reactions=reactions, feedback=feedback)
    q, qd, load, off = Q, np.array([0.0, 0.8, 0.0]), np.array([0.0, 0.6, 0.0]), np.array([0.0, 0.0, 0.5])
    for _ in range(10):
        command = arm.state(q, qd)
        q, qd = moved(q, qd, command.effort, PERIOD)
    with pytest.raises(JumpError):
        arm.state(q + off, qd)
    q, qd = moved(q, qd, command.effort, PERIOD)
    for _ in range(100):
        command = arm.state(q + off, qd)
        assert command is not None
        momentum = DYNAMICS.mass_matrix(q) @ qd
        braking = feedback.damping @ qd**2 / (qd @ momentum) * momentum
        np.testing.assert_allclose(command.effort, DYNAMICS.gravity(q) - braking, atol=0.05)
        q, qd = moved(q, qd, command.effort + load, PERIOD)
    assert qd[1] > 0.3


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_noise_is_no_contradiction_of_the_velocities_that_brake_a_slow_arm(seed):
    given = EXACT | {"velocity_noise": 0.02, "unknown_friction": 1e-6}
    slow = {"feedback": Feedback(ZERO, np.full(3, 2.0)), "velocity_limit": np.full(3, 0.15)}
    reactions = FaultReactions(sensor=("hold", 5.0))
    arm = Arm(config=replace(CONFIG, **given), plausibility=True, start=False, reactions=reactions, **slow)
    random, q, qd, faults = np.random.default_rng(seed), Q, np.array([0.0, 0.1, 0.0]), 0
    for step in range(200):
        noise = 0.02 * random.standard_normal(3) * [0.1, 1.0, 1.0]
        try:
            command = arm.state(q + [0.0, 0.0, 0.5 * (step >= 20)], qd + noise)
        except JumpError:
            assert step == 20
        assert command is not None, step
        faults += command.fault == "sensor"
        q, qd = moved(q, qd, command.effort, PERIOD)
    assert faults == 179


@pytest.mark.parametrize(("speed", "least"), [(0.35, 0.12), (0.9, 0.38)], ids=["slow", "fast"])
def test_an_arm_whose_states_agree_again_is_braked_to_a_tenth_of_its_velocity_limit(speed, least):
    feedback, reactions = Feedback(ZERO, np.full(3, 9.0)), FaultReactions(sensor=("hold", 5.0))
    arm = Arm(config=replace(CONFIG, **EXACT), plausibility=True, start=False, reactions=reactions, feedback=feedback)
    q, qd, off, faults = Q, np.array([0.0, speed, 0.0]), np.array([0.0, 0.0, 0.5]), []
    load = np.array([0.0, 0.1, 0.0])  # of which the model does not know
    for step in range(60):
        try:
            command = arm.state(q + off * (3 <= step < 6), qd)
        except JumpError:
            assert step == 3
        faults.append((command.fault, np.abs(qd).max()))
        if step >= 6 and command.fault is not None:
            np.testing.assert_allclose(arm.loop.memory().estimated_v, qd, rtol=1e-12)
        q, qd = moved(q, qd, command.effort + load, PERIOD)
    assert faults[5][0] == "sensor"
    over = next(at for fault, at in faults[6:] if fault is None)
    assert least < over <= 0.1 * 4.0


def test_velocities_that_are_missing_are_refused_or_estimated():
    arm = Arm()
    with pytest.raises(InputError, match="missing_velocity"):
        arm.loop.update(arm.t + PERIOD, arm.t + PERIOD, Q, None)
    config = SafetySettings(missing_velocity="estimate", velocity_filter=0.02, plausibility=False)
    loop = ControlLoop(GravityCompensation(DYNAMICS, 0.0, 1.0), np.full(3, 1e4), config)
    for step in range(400):  # q = sin t: velocity and lag of a first-order filter are known
        t = step * 0.001
        command = loop.update(t, t, Q + 0.3 * np.sin(5.0 * t), None)
        if step == 0:
            np.testing.assert_array_equal(command.efforts.feedback, ZERO)
    gain, lag = 1.0 / np.hypot(1.0, 5.0 * 0.02), np.arctan(5.0 * 0.02)
    expected = 0.3 * 5.0 * gain * np.cos(5.0 * t - lag)
    np.testing.assert_allclose(-command.efforts.feedback, expected, atol=0.01)
    there = Q + 0.3 * np.sin(5.0 * t)
    late = loop.update(t + 1.0, t + 1.0, there, None)  # after a gap: at rest, not a quotient over the gap
    np.testing.assert_array_equal(late.efforts.feedback, ZERO)


@pytest.mark.parametrize("ratio", [0.7, 0.6])
def test_an_arm_that_something_else_carries_gets_no_more_than_its_effort_limit(ratio):
    """The model needs more than that, and the joints stand without it, so that less and less counts as explained."""
    there, safety = np.array([0.3, 0.9, 0.5]), SafetySettings(following_tolerance=0.0, externally_supported=True)
    limit = ratio * np.abs(DYNAMICS.gravity(there)) + 1.0
    loop = ControlLoop(ComputedTorque(DYNAMICS, 400.0, 40.0), limit, safety, velocity_limit=np.full(3, 1.0))
    for step in range(1500):
        command = loop.update(0.002 * step, 0.002 * step, there, ZERO)
        assert command.fault is None
        assert (np.abs(command.effort) <= limit).all()


def test_the_effort_on_a_joint_that_stands_changes_no_faster_than_its_rate_limit():
    rate, safety = np.array([3000.0, 600.0, 150.0]), SafetySettings(following_tolerance=0.0)
    law, limit = ComputedTorque(DYNAMICS, 400.0, 40.0), np.array([600.0, 200.0, 36.0])
    loop = ControlLoop(law, limit, safety, velocity_limit=np.full(3, 1.0), rate_limit=rate)
    efforts, limited = [loop.update(0.0, 0.0, Q, ZERO).effort], False
    loop.follow(rest_to_rest([Q, Q + [0.0, 0.12, 0.0]], [0.3, 1.3]))
    for step in range(1, 500):
        command = loop.update(0.002 * step, 0.002 * step, Q, ZERO)
        efforts.append(command.effort)
        limited |= command.fault is None and command.saturated.any()
    assert limited
    assert (np.abs(np.diff(efforts, axis=0)) <= 0.002 * rate * (1.0 + 1e-9)).all()


def test_without_plausibility_a_joint_that_stood_although_driven_is_no_fault_any_more():
    loop = ControlLoop(
        ComputedTorque(DYNAMICS, 400.0, 40.0), np.full(3, 300.0), SafetySettings(following_tolerance=0.0)
    )
    loop.update(0.0, 0.0, Q, ZERO)
    loop.follow(rest_to_rest([Q, Q + [0.0, 0.8, 0.0]], [0.0, 1.0]))
    for step in range(1, 700):
        loop.update(0.002 * step, 0.002 * step, Q, ZERO)
    assert loop.fault.kind == "sensor"
    loop.apply(loop.settings._replace(safety=replace(loop.settings.safety, plausibility=False)))
    loop.update(1.4, 1.4, Q, ZERO)
    assert loop.fault is None


@pytest.mark.parametrize("joint", [0, 1])
@pytest.mark.parametrize(("part", "is_over"), [(0.97, False), (1.03, True)])
def test_a_joint_that_stood_although_driven_is_suspect_until_it_has_moved_by_a_hundredth_of_a_radian(
    joint, part, is_over
):
    """Or by a millimetre; and the fault lasts for `settled_time` at most otherwise."""
    one, life = (np.arange(3) == joint) * 1.0, (0.001, 0.01)[joint]
    law, q, t = ComputedTorque(DYNAMICS, 400.0, 40.0), Q, 0.0
    loop = ControlLoop(law, np.array([400.0, 300.0, 300.0]), SafetySettings(following_tolerance=0.0))
    loop.update(0.0, 0.0, Q, ZERO)
    loop.follow(rest_to_rest([Q, Q + 0.8 * one], [0.0, 1.0]))
    while loop.fault is None:
        t += 0.002
        loop.update(t, t, Q, ZERO)
    assert loop.fault.kind == "sensor"
    for _ in range(300):
        t, q = t + 0.002, q + part * life / 300 * one
        loop.update(t, t, q, part * life / 0.6 * one)
    assert (loop.fault is None) == is_over


def test_a_refused_state_does_not_change_the_estimated_velocity():
    config = SafetySettings(missing_velocity="estimate", plausibility=False)
    loop = ControlLoop(GravityCompensation(DYNAMICS, 0.0, 1.0), np.full(3, 1e4), config)
    for step in range(100):
        t = step * PERIOD
        before = loop.update(t, t, Q + QD * t, None).efforts.feedback
    with pytest.raises(OrderError, match="older than the one before it"):
        loop.update(t - 0.003, t, Q + QD * (t - 0.003), None)
    t += PERIOD
    np.testing.assert_allclose(loop.update(t, t, Q + QD * t, None).efforts.feedback, before, rtol=1e-9)


# From one effort to the next


@pytest.mark.parametrize("traced", [True, False])
def test_a_clock_that_lags_behind_the_states_freezes_no_effort(traced):
    """A simulation's /clock comes late now and then: the state is ahead of it then, and time has passed still."""
    rng = np.random.default_rng(12)
    law = ComputedTorque(rd.create_dynamics("rnea", ROBOT), 90.0, 19.0)
    law.traced = traced
    limits = {"limit": np.array([150.0, 40.0, 20.0]), "rate_limit": np.array([300.0, 90.0, 60.0])}
    arms = [Arm(law, start=False, **limits) for _ in range(2)]
    lag, limited = 0.0, 0
    for _ in range(300):
        q, qd = Q + rng.uniform(-0.02, 0.02, 3), rng.uniform(-0.2, 0.2, 3)
        lag = rng.choice([0.0, lag, lag + PERIOD]) % 0.02  # the clock stands still, and goes on again
        arms[1].age = -lag
        true, late = (arm.state(q, qd) for arm in arms)
        np.testing.assert_array_equal(late.effort, true.effort)
        limited += true.rate_limited.any()
    assert limited > 100


@pytest.mark.parametrize(("rate", "late"), [(60.0, 0.05), (700.0, 0.0)])
def test_no_step_is_ever_larger_than_the_rate_limit(rate, late):
    """Whatever happens: faults, gaps, other laws and gains, references that jump, another payload, and states that come
    up to ``late`` seconds after their stamps, so that some wait and are then answered one right after the other.
    """
    rng = np.random.default_rng(11)
    limits, rates = np.array([150.0, 40.0, 20.0]), rate * np.array([3.0, 2.0, 1.0])
    dynamics = rd.create_dynamics("rnea", ROBOT)
    soft = 0.1 if late else 1.0  # stiff gains would be refused
    laws = [
        law(dynamics, soft * kp, 0.2 * np.sqrt(soft) * kp)
        for law, kp in ((PD, 300.0), (GravityCompensation, 90.0), (ComputedTorque, 150.0))
    ]
    arm = Arm(laws[0], limit=limits, rate_limit=rates, start=False)
    sent, when, kinds = None, 0.0, set()
    for step in range(1200):
        event = rng.integers(120)
        if event == 0:
            arm.loop.apply(arm.loop.settings._replace(controller=laws[rng.integers(3)]))
            kinds.add("law")
        elif event == 1:
            dynamics.configure(payload=Payload(ROBOT.links[-1].name, rng.uniform(0.0, 3.0)))
            arm.loop.apply(arm.loop.settings)
        elif event == 2 and arm.loop.mode != "waiting":
            arm.loop.set_publisher_conflict(("", "two")[rng.integers(2)])
        elif event == 3 and arm.loop.mode != "waiting" and not arm.loop.fault:
            arm.loop.track(Reference(rng.uniform(-1.0, 1.0, 3), ZERO, ZERO, rng.uniform(-20, 20, 3)), arm.t)
        qd = FAST if event == 4 else rng.uniform(-0.1, 0.1, 3)
        gap = rng.uniform(0.2, 0.5) if event == 5 else PERIOD * rng.uniform(0.5, 1.5)
        commands, before = [], arm.age
        if gap > 0.1:
            commands += [(t + before, arm.loop.watch(t)) for t in np.arange(arm.t + 0.02, arm.t + gap, 0.02)]
        arm.age = late * rng.uniform() if rng.integers(3) == 0 else max(0.0, before - 0.9 * gap)
        gap = max(gap, 1.01 * (arm.age - before))  # by the clock; stamps rise
        command = arm.state(arm.q + rng.uniform(-0.01, 0.01, 3), qd, after=gap + before - arm.age)
        commands.append((arm.t + arm.age, command))
        for t, command in commands:
            if command is None:
                continue
            kinds.add(command.fault)
            assert (np.abs(command.effort) <= limits).all()
            if sent is not None:
                assert (np.abs(command.effort - sent) <= rates * (t - when) * (1.0 + 1e-9) + 1e-9).all(), step
            sent, when = command.effort, t
    assert kinds - {"rate"} == {None, "law", "speed", "publisher", "states"}


def test_rate_and_absolute_limit_are_reported_apart():
    arm = Arm(limit=[50.0, 1e4, 1e4], rate_limit=[1e9, 1e9, 100.0])
    command = arm.state()
    np.testing.assert_array_equal(command.saturated, [True, False, False])
    assert command.effort[0] == 50.0 < GRAVITY[0]
    np.testing.assert_allclose(command.efforts.total, GRAVITY - 20.0 * QD, rtol=1e-12)
    np.testing.assert_array_equal(command.rate_limited, [False, False, False])
    arm.loop.track(Reference(Q, ZERO, ZERO, np.array([0.0, 0.0, 5.0])), arm.t)
    command = arm.state()
    np.testing.assert_array_equal(command.rate_limited, [False, False, True])


def test_another_law_is_blended_in():
    arm = Arm(PD)
    arm.loop.track(Reference(Q + 0.02, ZERO, ZERO, GRAVITY), arm.t + 10.0)
    before = arm.state()
    arm.loop.apply(arm.loop.settings._replace(controller=ComputedTorque(DYNAMICS, 150.0, 30.0)))
    first = arm.state()
    np.testing.assert_allclose(first.effort, before.effort, rtol=1e-12)  # another law may differ by anything
    difference = np.linalg.norm(before.effort - first.efforts.total)
    assert difference > 0.1 * np.linalg.norm(GRAVITY)
    path = [first.effort, *(arm.state().effort for _ in range(20))]
    steps = np.linalg.norm(np.diff(path, axis=0), axis=1)
    np.testing.assert_allclose(steps, difference / 20.0, rtol=1e-6)
    last = arm.state()
    np.testing.assert_allclose(last.effort, last.efforts.total, rtol=1e-12)


def test_gains_that_change_twice_between_two_states_are_those_of_the_second_change():
    efforts = []
    for gains in ([(150.0, 30.0)], [(400.0, 11.0), (150.0, 30.0)]):
        arm = Arm(ComputedTorque(DYNAMICS, 100.0, 20.0))
        arm.loop.track(Reference(Q + 0.02, ZERO, ZERO, ZERO), arm.t + 10.0)
        arm.state()
        for kp, kd in gains:
            arm.loop.apply(arm.loop.settings._replace(controller=ComputedTorque(DYNAMICS, kp, kd)))
        efforts.append([arm.state().effort for _ in range(8)])
    np.testing.assert_allclose(*efforts, rtol=1e-12)


# References


def test_references_faster_than_the_limit_are_refused():
    arm = Arm()
    with pytest.raises(LimitError, match=r"speed: joint 'joint2' at -4.1 .*4"):
        arm.loop.track(Reference(Q, np.array([0.0, -4.1, 0.0]), ZERO, ZERO), arm.t)
    with pytest.raises(LimitError, match="'joint1'"):
        arm.loop.follow(rest_to_rest([Q + [1.0, 0.0, 0.0]], [15 / 8 / 4.1]))
    arm.loop.follow(rest_to_rest([Q + [1.0, 0.0, 0.0]], [15 / 8 / 3.9]))


# Models


def test_a_model_is_tried_before_it_is_trusted(monkeypatch):
    dynamics = rd.create_dynamics("lagrangian", ROBOT)
    check_model(dynamics)
    wrongs = [
        ("mass_matrix", lambda q: np.diag([1.0, -1.0, 1.0])),
        ("mass_matrix is not positive definite", lambda q: np.diag([1.0, 0.0, 1.0])),
        ("gravity", lambda q: -DYNAMICS.gravity(q)),
        ("inverse", lambda q, qd, qdd: np.full(3, np.nan)),
    ]
    for said, wrong in wrongs:
        with monkeypatch.context() as patch:
            patch.setattr(dynamics, said.split()[0], wrong, raising=False)
            with pytest.raises(ModelError, match=said):
                check_model(dynamics)
    for more, said in ((np.triu(np.ones((3, 3)), 1), "symmetric"), (np.eye(3), "inverse does not add M q̈")):
        patched = {"mass_matrix": lambda q, more=more: DYNAMICS.mass_matrix(q) + more}
        monkeypatch.setattr(dynamics, "mass_matrix", patched["mass_matrix"], raising=False)
        with pytest.raises(ModelError, match=said):
            check_model(dynamics)
    light = rd.create_dynamics(
        "rnea", rd.load_robot(arms.mechanism("R", (1e-4,), (0.01,), (5e-3,), (1e-8,))), compiled=False
    )
    monkeypatch.setattr(light, "gravity", lambda q: np.zeros(1))
    with pytest.raises(ModelError, match="gravity"):
        check_model(light)


def test_a_dry_run_makes_it_or_says_why_not(monkeypatch):
    dry_run("lagrangian", "computed_torque", ROBOT.urdf)
    with pytest.raises(NotReadyError, match="magic"):
        dry_run("rnea", "magic", ROBOT.urdf)
    monkeypatch.setattr("robodyn_ros.control.faults.dry_run.TIMEOUT", 1e-3)
    with pytest.raises(NotReadyError, match=r"pd on rnea was not made within 0\.001 s"):
        dry_run("rnea", "pd", ROBOT.urdf)


@pytest.mark.parametrize("back", [1e-9, 0.004, 0.09])
def test_a_stamp_out_of_order_is_dropped_and_changes_nothing(back):
    arm = Arm(rate_limit=np.full(3, 700.0))
    arm.loop.follow(rest_to_rest([Q + 0.1], [1.0]))
    before = arm.state()
    latest = arm.t
    with pytest.raises(OrderError, match=rf"is {back:.3g} s older"):
        arm.loop.update(latest - back, latest, Q + 0.05, ZERO)
    for _ in range(8):  # one after another, each in order with the one before it
        back -= 1e-10
        with pytest.raises(OrderError):
            arm.loop.update(latest - back, latest, Q + 0.05, ZERO)
    again = arm.state()
    assert (arm.loop.mode, arm.loop.restarts, again.fault) == ("follow", 0, None)
    assert (np.abs(again.effort - before.effort) <= 700.0 * PERIOD + 1e-9).all()


def test_a_stamp_ahead_of_the_clock_is_dropped_unless_it_always_is():
    arm = Arm()
    with pytest.raises(OrderError, match="ahead of the clock"):
        arm.loop.update(arm.t + 0.05, arm.t + PERIOD, Q, ZERO)
    assert arm.state().fault is None
    ahead = Arm(start=False)
    for _ in range(20):
        ahead.t += PERIOD
        assert ahead.loop.update(ahead.t + 0.05, ahead.t, Q, ZERO).fault is None


def test_a_clock_that_was_set_back_is_accepted_after_a_while_and_no_arm_is_dropped():
    """States that continue each other for state_timeout are where the arm is; the effort does not step."""
    arm = Arm(config=SafetySettings(blend_time=0.2))
    for _ in range(110):
        before = arm.state(qd=ZERO)
    np.testing.assert_allclose(before.effort, GRAVITY, rtol=1e-12)
    arm.loop.follow(rest_to_rest([Q + 0.1], [1.0]))
    arm.t -= 600.0
    begin, refused, command = arm.t, 0, None
    while command is None:
        try:
            command = arm.state()
        except OrderError:
            refused += 1
    assert (refused, arm.loop.mode, arm.loop.restarts) == (10, "hold", 1)
    assert arm.t - begin == pytest.approx(SafetySettings().state_timeout + PERIOD)
    np.testing.assert_allclose(command.effort, GRAVITY, rtol=1e-12)


def test_a_loop_that_was_stopped_begins_anew_and_not_in_the_middle_of_a_blend():
    arm = Arm(config=SafetySettings(blend_time=0.2))
    before = arm.state(qd=ZERO)
    there = Q + 0.5
    blended = [arm.state(there, after=after) for after in (1.0, PERIOD)][-1]
    assert np.abs(blended.effort - before.effort).max() < 0.2 * np.abs(DYNAMICS.gravity(there) - before.effort).max()
    arm.loop.stop()
    for _ in range(3):
        np.testing.assert_allclose(arm.state(there).effort, DYNAMICS.gravity(there), atol=1e-9)


@pytest.mark.parametrize(
    ("moved", "goes_on"), [((0.005, 0.05, 0.0), True), ((0.02, 0.0, 0.0), False), ((0.0, 0.2, 0.0), False)]
)
def test_after_a_reset_the_efforts_go_on_unless_the_arm_is_elsewhere(moved, goes_on):
    """A tenth of a radian is another position, and a hundredth of a metre."""
    arm = Arm(config=SafetySettings(blend_time=0.2))
    pushed = np.array([30.0, 5.0, 1.0])
    for _ in range(110):
        arm.state(qd=ZERO)
        arm.loop.track(Reference(Q, ZERO, ZERO, pushed), arm.t)
    before = arm.state(qd=ZERO)
    set_clock_back(arm.loop)
    there = Q + np.array(moved)
    expected = before.effort if goes_on else DYNAMICS.gravity(there)
    np.testing.assert_allclose(arm.state(there, ZERO, after=-3.0).effort, expected, atol=1e-9)
    assert arm.loop.restarts == 1
    assert arm.state().fault is None


def test_a_hold_whose_clock_is_set_back_lasts_its_longest_time_from_then_on():
    arm = Arm(reactions=FaultReactions(**{**REACTIONS, "publisher": ("hold", 0.5)}))
    arm.state(qd=ZERO)
    arm.loop.set_publisher_conflict("two")
    for _ in range(20):
        arm.state(qd=ZERO)
    set_clock_back(arm.loop)
    arm.state(qd=ZERO, after=-3.0)
    begin = arm.t
    while arm.loop.fault.phase == "hold" and arm.t < begin + 1.0:
        arm.state(qd=ZERO)
    assert arm.t - begin == pytest.approx(0.5, abs=2.0 * PERIOD)


def test_an_arm_that_stands_again_is_held_without_states_as_if_it_had_never_moved():
    """Its velocity is not predicted by the model, as it was when states were missing while it moved."""
    found = []
    for moves in (False, True):
        arm = Arm(reactions=FaultReactions(**{**REACTIONS, "states": ("hold", 1.0)}))
        for _ in range(50):
            arm.state(arm.q + PERIOD * QD * moves, QD * moves)
        arm.watched(0.3)
        for _ in range(200):
            arm.state(Q, ZERO)
        found.append(arm.watched(2.0))
    (times, efforts), (times_then, efforts_then) = found
    np.testing.assert_allclose(np.subtract(times_then, times_then[0]), np.subtract(times, times[0]), atol=1e-9)
    np.testing.assert_allclose(efforts_then, efforts, rtol=1e-9)


@pytest.mark.parametrize("offset", [0.3, -0.3, 1.5])
@pytest.mark.parametrize("late", [-0.004, -1e-9, 0.0, 0.004])
@pytest.mark.parametrize("times", [1, 5])
def test_a_second_source_of_states_never_takes_over(offset, late, times):
    """Whatever its stamps, and however often it comes: only the first source is answered, and each of its states is."""
    arm = Arm(plausibility=True)
    for _ in range(60):
        assert arm.state().fault is None
        for _ in range(times):
            with pytest.raises((OrderError, JumpError)):
                arm.loop.update(arm.t + late, arm.t + max(late, 0.0), Q + offset, ZERO)
    assert (arm.loop.restarts, arm.loop.mode) == (0, "hold")


def test_without_unknown_friction_an_arm_without_effort_limits_is_held():
    law = GravityCompensation(DYNAMICS, 100.0, 20.0)
    loop = ControlLoop(law, np.full(3, np.inf), replace(CONFIG, unknown_friction=0.0))
    for t in np.arange(0.0, 0.1, PERIOD):
        assert loop.update(t, t, Q, ZERO).fault is None
    loop.set_contact("touch")
    assert np.isfinite(loop.update(0.1, 0.1, Q, ZERO).effort).all()
