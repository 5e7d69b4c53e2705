# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Which gains a rate of states carries: against closed forms, simulation, and a loop that meets such states."""

import math
import re
from pathlib import Path

import arms
import numpy as np
import pytest
from industrial import urdfs

import robodyn_ros as rd
from robodyn_ros.control import (
    PD,
    ComputedTorque,
    ControlLoop,
    GravityCompensation,
    SafetySettings,
    rest_to_rest,
    running_core,
)
from robodyn_ros.control.faults.sampling import (
    GAIN_MARGIN,
    RETURN_MARGIN,
    Judgement,
    StateSampling,
    effort_gains,
    judged,
    sampling_problem,
    spectral_radius,
    stable_ratio,
)
from robodyn_ros.control.faults.settings import Feedback
from robodyn_ros.control.faults.table import FaultReactions
from robodyn_ros.control.laws.base import AccelerationGains
from robodyn_ros.control.laws.cartesian_impedance import CartesianImpedance, CartesianImpedanceSettings
from robodyn_ros.errors import InputError

HERE = Path(__file__).parent
ROBOT = rd.load_robot(arms.PRR)
DYNAMICS = rd.create_dynamics("rnea", ROBOT)
HOME = np.array([0.3, -0.2, 0.5])


@pytest.mark.parametrize("damping_ratio", [0.3, 0.7, 1.0, 2.0])
def test_without_delay_it_is_jurys_criterion(damping_ratio):
    """z² + (2ζx + x²/2 - 2) z + 1 - 2ζx + x²/2 with x = ωT is stable for x < 4ζ and x < 1/ζ."""
    limit = min(4.0 * damping_ratio, 1.0 / damping_ratio)
    for x in limit * np.array([0.1, 0.5, 0.99, 1.01, 1.5, 4.0]):
        gains = AccelerationGains(np.array([[x**2]]), np.array([[2.0 * damping_ratio * x]]), np.zeros((1, 1)))
        assert (spectral_radius(1.0, 0.0, gains) < 1.0) == (x < limit)
        roots = np.roots([1.0, 2.0 * damping_ratio * x + x**2 / 2 - 2.0, 1.0 - 2.0 * damping_ratio * x + x**2 / 2])
        assert spectral_radius(1.0, 0.0, gains) == pytest.approx(np.abs(roots).max())


def test_a_delay_that_is_a_rounding_error_is_none():
    loop = ControlLoop(ComputedTorque(DYNAMICS, 400.0, 40.0), ROBOT.effort_limit)
    problem = sampling_problem(loop.settings, StateSampling(0.004, 2.3e-18, 0.5), HOME)[1]
    assert "a state every 0.004 s, 0 s old, allows a natural frequency" in problem


def growth(period, delay, stiffness, damping, steps=400, parts=50):
    """How an error grows within a period, in a simulation."""
    h, n = period / parts, len(stiffness)
    q, v, u = np.array([1.0, -0.6, 0.3])[:n], np.zeros(n), np.zeros(n)
    due, sizes = [], []
    for step in range(steps * parts):
        if step % parts == 0:
            due.append((step + round(delay / h), -(stiffness @ q + damping @ v)))
            sizes.append(np.linalg.norm([q, v]))
        while due and due[0][0] <= step:
            u = due.pop(0)[1]
        q, v = q + h * v + 0.5 * h * h * u, v + h * u
    return (sizes[-1] / sizes[steps // 2]) ** (1.0 / (steps - 1 - steps // 2))


@pytest.mark.parametrize("delay", [0.0, 0.4, 1.0, 2.3, 7.5, 30.0])
def test_what_is_carried_is_just_stable_in_a_simulation_with_coupled_joints_and_delay(delay):
    """Effort gains, in periods of delay; a margin of one is the limit itself."""
    mass = DYNAMICS.mass_matrix(HOME)
    period, frequency = 0.01, 300.0
    diagonal = np.diagonal(mass)
    gains = effort_gains(Feedback(frequency**2 * diagonal, 2.0 * frequency * diagonal), mass)
    part = stable_ratio(period, delay * period, gains, 1.0)
    assert part < 1.0
    for share, stable in ((0.9, True), (1.15, False)):
        stiffness, damping = (share * part) ** 2 * gains[0], share * part * gains[1]
        assert (growth(period, delay * period, stiffness, damping) < 1.0) == stable
    learning = gains._replace(integral=frequency * gains.position)
    part = stable_ratio(period, delay * period, learning, 1.0)
    for share in (0.99, 1.01) if delay < 8.0 else (0.97, 1.03):  # beyond that, the system has longer periods
        orders = zip(learning, (2, 1, 3), strict=True)
        lowered = AccelerationGains(*((share * part) ** order * gain for gain, order in orders))
        assert (spectral_radius(period, delay * period, lowered) < 1.0) == (share < 1.0)


def loop(law, frequency, dynamics=DYNAMICS, **options):
    reflected = np.diagonal(dynamics.mass_matrix(dynamics.robot.home))
    inertia = 1.0 if law is ComputedTorque else reflected
    controller = law(dynamics, frequency**2 * inertia, 2.0 * frequency * inertia)
    inertia = reflected
    feedback = Feedback(frequency**2 * inertia, 2.0 * frequency * inertia)
    return ControlLoop(controller, np.full(3, 1e5), feedback=feedback, **options)


def run(loop, period, delay=0.0, count=200, push=0.01, t=10.0, before=lambda index: None, begin=HOME, **arm):
    """The arm under the loop, from a light touch on: commands, positions and the time at the end. Of the arm, the loop
    does not know the inertia of its ``rotors`` [kg m²], nor by how much its drives are ``late`` [s].
    """
    rotors, untold = arm.get("rotors", 0.0), arm.get("late", 0.0)
    q, v = begin.copy(), np.array([push, -push, push])
    commands, positions, efforts = [], [], [loop.dynamics.gravity(begin)]
    for index in range(count):
        before(index)
        command = loop.update(t, t + delay, q, v)
        commands.append(command)
        positions.append(q)
        efforts.append(command.effort)
        parts = 10
        for part in range(parts):
            h = period / parts
            late = max(math.ceil((delay + untold - part * h) / period - 1e-9), 0)
            applied = efforts[max(len(efforts) - 1 - late, 0)]
            inertia = loop.dynamics.mass_matrix(q) + rotors * np.eye(3)
            v = v + h * np.linalg.solve(inertia, applied - loop.dynamics.inverse(q, v, np.zeros(3)))
            q = q + h * v
        t += period
    return commands, np.array(positions), t


def test_the_gains_of_reactions_are_lowered_at_their_damping_ratio():
    settings = loop(ComputedTorque, 300.0).settings
    given, found = settings.feedback, judged(settings, StateSampling(0.01), HOME).feedback
    assert (found.damping < 0.5 * given.damping).all()
    np.testing.assert_allclose(found.stiffness / given.stiffness, (found.damping / given.damping) ** 2)


@pytest.mark.parametrize("law", [PD, GravityCompensation, ComputedTorque])
def test_states_too_rare_for_the_gains_are_held_with_what_they_carry(law):
    """At 10 Hz, 12 rad/s would shake the arm ever more after a light touch."""
    config = SafetySettings(state_timeout=0.25)
    commands, positions, _ = run(loop(law, 12.0, safety=config), 0.1)
    faults = [command.fault for command in commands]
    assert set(faults[4:]) == {"rate"}
    assert "a state every 0.1 s" in commands[-1].problem
    assert "natural frequency of at most" in commands[-1].problem
    moved = 0.5 if law is PD else 0.15  # PD does not carry the weight before it is held
    assert np.abs(positions - HOME).max() < moved
    steps = np.linalg.norm(np.diff([command.effort for command in commands[60:]], axis=0), axis=1)
    assert steps[-50:].max() < 1e-3 * np.linalg.norm(commands[-1].effort)


def test_a_single_gap_between_states_is_no_rate_and_gaps_that_recur_are():
    """A gap of 90 ms makes the plain mean of ten periods 10.8 ms, which the gains do not allow."""
    arm = loop(ComputedTorque, 120.0)
    assert judged(arm.settings, StateSampling(0.0108), HOME).carried < 1.0
    _, _, t = run(arm, 0.002, count=50)
    for gap in (0.09, 0.03, 0.09):  # far apart
        _, _, t = run(arm, gap, count=1, t=t)
        arm.update(t, t, HOME, np.zeros(3))
        assert float(arm.memory().period) == pytest.approx(0.0024, rel=0.01)  # 4 ms for as long
        commands, _, t = run(arm, 0.002, count=40, t=t + 0.002)
        assert {command.fault for command in commands} == {None}
    at_rest = [arm.update(t + 0.09 * k, t + 0.09 * k, HOME, np.zeros(3)).fault for k in range(8)]
    assert at_rest == [None] * 5 + ["rate"] * 3  # five such gaps are no chance
    assert float(arm.memory().period) == pytest.approx(0.09, rel=0.1)
    arm = loop(ComputedTorque, 120.0)
    _, _, t = run(arm, 0.002, count=50)
    speed = np.full(3, 0.05)
    times = [0.09 * k for k in range(4)]
    moving = [arm.update(t + dt, t + dt, HOME + speed * dt, speed).fault for dt in times]
    assert moving == [None] * 2 + ["rate"] * 2  # a deviation is amplified


@pytest.mark.parametrize(
    ("lost", "period", "late", "frequency"),
    [
        (0.5, 0.003, 0.0, 1.0 / (GAIN_MARGIN * 0.0034)),
        (0.97, 0.0657, 0.0, 1.0 / (GAIN_MARGIN * 0.012)),
        (0.5, 0.003, 0.005, 88.0),
    ],
)
def test_states_that_are_lost_at_random_are_a_rate_by_the_mean_time_between_those_that_come(
    lost, period, late, frequency
):
    """It is E(T²) / E(T); half of the states may well be lost twelve times in a row. The gains allow 3.4 ms, 12 ms
    and, with commands that are late, 4 ms.
    """
    arm = loop(ComputedTorque, frequency, safety=SafetySettings(state_timeout=0.5, command_delay=late))
    arm.update(0.0, 0.0, HOME, np.zeros(3))
    motion = rest_to_rest([HOME, HOME + 0.2], [0.0, 11.0])  # the arm is always on its reference
    arm.follow(motion)
    faults, periods = [], []
    for k in 1 + np.flatnonzero(np.random.default_rng(2).random(4000) >= lost):
        state = motion.sample(0.001 * k)
        faults.append(arm.update(0.001 * k, 0.001 * k, state.q, state.qd).fault)
        periods.append(float(arm.memory().period))
    assert (set(faults) == {None}) == (period < 0.01)
    assert faults[-1] == (None if period < 0.01 else "rate")
    assert np.mean(periods[20:]) == pytest.approx(period, rel=0.15)


def test_states_that_come_at_once_after_a_gap_are_no_delay_and_states_that_are_always_late_are():
    """Of thirty states the oldest is 60 ms old, and the latest is new: their plain mean has 17 ms."""
    arm = loop(ComputedTorque, 120.0)
    assert judged(arm.settings, StateSampling(0.002, 0.01), HOME).carried < 1.0
    _, _, t = run(arm, 0.002, count=50, delay=1e-4)
    for _ in range(3):
        commands = [arm.update(t + 0.002 * k, t + 0.06, HOME, np.zeros(3)) for k in range(30)]
        later, _, t = run(arm, 0.002, count=40, delay=1e-4, t=t + 0.06)
        assert {command.fault for command in (*commands, *later)} == {None}
        assert float(arm.memory().delay) < 5e-4
    commands, _, _ = run(arm, 0.002, count=20, delay=0.01, t=t)
    assert commands[-1].fault == "rate"
    assert float(arm.memory().delay) == pytest.approx(0.01, rel=0.2)


def test_states_that_always_come_in_bunches_are_as_old_as_the_first_of_each():
    """Its command acts until the next bunch comes; the others come at once after it."""
    arm = loop(ComputedTorque, 4.0, safety=SafetySettings(state_timeout=0.25))
    for k in range(1500):
        arm.update(0.002 * k, 0.002 * (k - k % 50 + 49), HOME, np.zeros(3))
    assert float(arm.memory().delay) == pytest.approx(0.098, rel=0.1)
    assert float(arm.memory().period) == pytest.approx(0.002)


def test_the_first_period_and_the_first_age_count_in_full():
    arm = loop(ComputedTorque, 12.0)
    for t, age in ((10.0, 0.0007), (10.002, 0.001), (10.008, 0.0015)):
        arm.update(t, t + age, HOME, np.zeros(3))
    assert float(arm.memory().period) == pytest.approx(2 * 0.002)  # half of it, for twice as long
    assert float(arm.memory().delay) == pytest.approx((0.001 + 0.0015) / 2)


def test_gains_that_are_carried_again_are_used_again():
    arm = loop(ComputedTorque, 12.0, safety=SafetySettings(state_timeout=0.25))
    _, _, t = run(arm, 0.1, count=60)
    assert arm.fault.kind == "rate"
    commands, _, _ = run(arm, 0.005, count=200, t=t)
    assert commands[-1].fault is None
    assert arm.mode == "hold"


def test_other_gains_and_a_loop_that_starts_again_are_judged_at_once():
    """Soon after a judgement, long before the next one would be due."""
    safety, again = SafetySettings(state_timeout=0.25), {}
    for name in ("other gains", "start"):
        arm = loop(ComputedTorque, 12.0, safety=safety)
        _, _, t = run(arm, 0.1, count=62)
        assert arm.fault.kind == "rate"
        arm.stop() if name == "start" else arm.apply(loop(ComputedTorque, 2.0, safety=safety).settings)
        again[name] = [command.fault for command in run(arm, 0.1, count=5, t=t)[0]]
    assert again["other gains"] == [None] * 5
    assert again["start"] == [None] * 2 + ["rate"] * 3  # two periods have to be measured


def test_new_settings_have_the_gains_of_reactions_that_the_rate_of_the_states_allowed_before():
    """Until they are judged themselves, with the next state."""
    arm = loop(ComputedTorque, 12.0, safety=SafetySettings(state_timeout=0.25))
    run(arm, 0.1, count=62)
    carried, given = float(arm.memory().carried), loop(ComputedTorque, 10.0, safety=arm.settings.safety).settings
    assert carried < 0.9
    arm.apply(given)
    np.testing.assert_allclose(arm.memory().carried_stiffness, carried**2 * given.feedback.stiffness, rtol=1e-12)
    np.testing.assert_allclose(arm.memory().carried_damping, carried * given.feedback.damping, rtol=1e-12)


def test_gains_that_were_not_carried_return_only_with_a_margin():
    """12 rad/s at ζ = 1 are carried up to a period of 1 / (12 GAIN_MARGIN), and again up to 1 / (12 RETURN_MARGIN)."""
    between = 2.0 / (12.0 * (GAIN_MARGIN + RETURN_MARGIN))
    safety = SafetySettings(state_timeout=0.25, command_delay=0.0)
    commands, _, _ = run(loop(ComputedTorque, 12.0, safety=safety), between, count=60)
    assert {command.fault for command in commands} == {None}
    arm = loop(ComputedTorque, 12.0, safety=safety)
    _, _, t = run(arm, 0.1, count=60)
    commands, _, t = run(arm, between, count=60, t=t)
    assert {command.fault for command in commands} == {"rate"}
    commands, _, _ = run(arm, 0.9 / (12.0 * RETURN_MARGIN), count=200, t=t)
    assert commands[-1].fault is None


@pytest.mark.parametrize("law", [GravityCompensation, ComputedTorque])
def test_gains_that_the_measured_rate_does_not_carry_are_refused_with_the_number(law):
    arm = loop(law, 12.0)
    run(arm, 0.01)
    wild = loop(law, 200.0).settings
    with pytest.raises(InputError, match=r"a state every 0\.01 s.*at most .* rad/s of joint.*not 200 rad/s"):
        arm.apply(arm.settings._replace(controller=wild.controller))
    assert arm.update(20.0, 20.0, HOME, np.zeros(3)).fault is None
    gains = wild.controller.acceleration_gains(HOME)
    carried = min(stable_ratio(0.01, delay, gains, 1.1) for delay in (0.0, arm.settings.safety.command_delay))
    fine = loop(law, 0.99 * 200.0 * carried).settings
    arm.apply(arm.settings._replace(controller=fine.controller))
    arm.try_out(arm.settings._replace(safety=SafetySettings(overspeed=2.0)))  # something else may change


def test_while_states_come_too_rarely_for_the_present_settings_others_that_are_no_worse_are_taken():
    """A state every 0.2 s: 1.5 of its periods exceed the state_timeout; and one every 0.1 s with gains that shake."""

    def tried(arm, frequency, **safety):
        controller = loop(ComputedTorque, frequency).settings.controller
        arm.try_out(arm.settings._replace(controller=controller, safety=SafetySettings(**safety)))

    arm = loop(ComputedTorque, 1.0, safety=SafetySettings(state_timeout=0.25))
    run(arm, 0.2, count=20)
    tried(arm, 1.0, state_timeout=0.25, overspeed=2.0)
    tried(arm, 1.0, state_timeout=0.28)
    with pytest.raises(InputError, match=r"state_timeout: .* set it to 0\.3 s or more"):
        tried(arm, 1.0, state_timeout=0.24)
    arm = loop(ComputedTorque, 12.0, safety=SafetySettings(state_timeout=0.25))
    run(arm, 0.1, count=60)
    assert arm.fault.kind == "rate"
    tried(arm, 12.0, state_timeout=0.25, overspeed=2.0)
    tried(arm, 11.0, state_timeout=0.25)
    with pytest.raises(InputError, match=r"not 12\.1 rad/s"):
        tried(arm, 12.1, state_timeout=0.25)


def test_the_answers_to_other_faults_have_gains_that_are_carried_too():
    reactions = FaultReactions(rate=("damp", 60.0))
    for answer in ("hold", "damp"):
        reactions = FaultReactions(**{**reactions, "publisher": (answer, 60.0)})
        arm = loop(GravityCompensation, 12.0, safety=SafetySettings(state_timeout=0.25), reactions=reactions)
        conflict = lambda i, arm=arm: arm.set_publisher_conflict("two" if i > 2 else "")  # noqa: E731
        commands = run(arm, 0.1, count=100, before=conflict)[0][3:]
        assert {command.fault for command in commands} <= {"publisher"}
        speeds = np.array([command.state[1] for command in commands])
        assert np.abs(speeds[-20:]).max() < (0.005 if answer == "hold" else 20.0)
        if answer == "hold":
            assert np.abs(np.diff(speeds[-20:], axis=0)).max() < 1e-3


def test_ages_that_vary_are_judged_anew_only_where_they_matter(monkeypatch):
    """Far below what the gains carry: once. Near it: whenever the mean age has changed by a tenth."""
    judged, judge = [], running_core.judged
    monkeypatch.setattr(running_core, "judged", lambda *given: judged.append(given[1].delay) or judge(*given))
    counts = {}
    for frequency in (4.0, 300.0):
        arm = loop(ComputedTorque, frequency, safety=SafetySettings(command_delay=0.0))
        judged.clear()
        for k in range(2000):
            t = 0.001 * k
            assert arm.update(t, t + 0.0005 + 0.0004 * math.sin(0.05 * k), HOME, np.zeros(3)).fault is None
        counts[frequency] = len(judged)
    assert counts[4.0] <= 2, counts
    assert counts[300.0] > 20, counts
    arm, found = loop(ComputedTorque, 30.0, safety=SafetySettings(state_timeout=0.5)), []
    for k in range(220):  # a rate that suddenly carries the gains no more
        t = 0.001 * min(k, 200) + 0.2 * max(k - 200, 0)
        found.append(arm.update(t, t, HOME, np.zeros(3)).fault)
    assert set(found[:201]) == {None}
    assert set(found[206:]) == {"rate"}


@pytest.mark.parametrize(("period", "delay", "frequency"), [(0.004, 0.002, 85.0), (0.001, 0.004, 58.0)])
def test_gains_that_a_pose_does_not_allow_are_a_fault_once_the_arm_shakes(period, delay, frequency):
    """They are stable with the wrist bent, and unstable with it straight, where shoulder and wrist are coupled most.
    Rotors that the model does not have make them stable there, too.
    """
    for rotors, faults in ((0.0, {None, "rate"}), (1.0, {None})):
        arm = loop(PD, frequency, safety=SafetySettings(command_delay=0.0, following_tolerance=0.0))
        straight = rest_to_rest([HOME * [1.0, 1.0, 0.0]], [0.8])
        count, bent = round(1.5 / period), np.array([*HOME[:2], 2.7])

        def begin(index, arm=arm, straight=straight):
            if index == 20:
                arm.follow(straight)

        commands, positions, _ = run(arm, period, delay, count, 0.0, before=begin, begin=bent, rotors=rotors)
        found = [command.fault for command in commands]
        assert set(found) == faults
        assert set(found[count // 2 :]) & faults
        assert judged(arm.settings, StateSampling(period, delay), positions[-1]).carried < 0.9
        assert np.abs(np.diff(positions, axis=0)).max() < 6.5 * period  # no faster than the motion


def test_an_arm_may_begin_in_a_pose_that_does_not_allow_its_gains_unless_it_shakes():
    """They are allowed at home, with the wrist at 2 rad."""
    before, _, after = arms.PRR.rpartition('lower="-2.5" upper="2.75"')
    dynamics = rd.create_dynamics("rnea", rd.load_robot(f'{before}lower="2" upper="7"{after}'))
    straight = np.array([0.3, -0.2, 6.28])
    for rotors, shakes in ((0.0, True), (1.0, False)):
        arm = loop(PD, 95.0, dynamics, safety=SafetySettings(command_delay=0.0))
        commands, positions, _ = run(arm, 0.004, begin=straight, rotors=rotors)
        assert {command.fault for command in commands} - {None} == ({"rate"} if shakes else set())
        assert np.abs(positions - straight).max() < 0.05


ALTERNATES = (-1.0) ** np.arange(12)
SHAKES = {  # velocity errors in such a pose [rad/s], and whether the arm shakes
    "within noise": (0.1 * ALTERNATES, False),
    "with noise": (0.2 * ALTERNATES, True),
    "less and less": (2.0 * 0.8 ** np.arange(12) * ALTERNATES, False),
    "without a reversal": (2.0 + ALTERNATES, False),
    "slowly": (np.repeat([1.0, -1.2, 1.4, -1.6], 5), False),
    "every third state": (np.repeat([1.0, -1.5, 2.0, -2.5], 3), True),
    "after a pause": (np.array([1.0, *np.zeros(4), -1.3, *np.zeros(4), 1.6, 0.0]), False),
    "greater but later": (np.array([2.0, *np.full(5, -1.0), *np.full(6, -2.5)]), False),
    "once": (np.array([*np.zeros(6), 1.0, -0.5, -1.0, 0.0, 0.0, 0.0]), True),
}


@pytest.mark.parametrize(("errors", "shakes"), SHAKES.values(), ids=SHAKES)
@pytest.mark.parametrize(("period", "moving"), [(0.004, False), (0.004, True), (0.002, True)])
def test_what_shakes(errors, shakes, period, moving):
    """Made-up states; velocities reverse, beyond their noise, within four periods, and do not become smaller."""
    config = SafetySettings(plausibility=False, following_tolerance=0.0, overspeed=100.0, command_delay=0.0)
    arm = loop(PD, 0.36 / period, safety=config)
    bent, wrist = np.array([*HOME[:2], 2.7]), np.array([0.0, 0.0, 1.0])
    q, v, found = bent, np.zeros(3), []
    for k, error in enumerate([*np.zeros(30), *errors]):
        if k == 10 and moving:
            arm.follow(rest_to_rest([bent - wrist], [80 * period]))
        command = arm.update(k * period, k * period, q - 2.7 * wrist * (k > 10), v + error * wrist)
        found.append(command.fault)
        if command.fault:
            break
        q, v = command.reference.q, command.reference.qd
    assert (np.abs(v).max() > 1.0) == moving
    assert arm.memory().carried < 1.0
    assert set(found[:-1]) == {None}
    assert (found[-1] == "rate") == shakes


@pytest.mark.parametrize("known", ["judged", "by the core alone"])
@pytest.mark.parametrize(
    ("frequency", "late", "moving"), [(120.0, 0.006, False), (90.0, 0.008, True), (200.0, 0.003, True)]
)
def test_drives_that_are_slower_than_stated_are_found_by_swings_that_grow(frequency, late, moving, known, monkeypatch):
    """The reaction knows from them how late its efforts are, and holds the arm; lower gains end the fault."""
    arm = loop(ComputedTorque, frequency)
    if known != "judged":
        monkeypatch.setattr(running_core, "judged", lambda *_: 1 / 0)

    def begin(index):
        if index == 3 and moving:
            arm.follow(rest_to_rest([HOME + [0.5, -0.4, 0.6]], [1.0]))

    commands, positions, t = run(arm, 0.002, count=500, push=0.05, before=begin, late=late)
    faults = [command.fault for command in commands]
    found = faults.index("rate")
    assert set(faults[:found]) == {None}
    assert set(faults[found:]) == {"rate"}
    speeds = np.abs(np.diff(positions, axis=0)).max(axis=1) / 0.002
    assert speeds.max() < 4.0  # a third of the limit
    assert speeds[-100:].max() < 0.05
    mean = 0.001 + late
    assert late < float(arm.memory().found_delay) < 2.4 * mean
    if known == "judged":
        assert re.search(r"at most .* with a command_delay of 0\.0\d+ s, as the arm shakes, not", commands[-1].problem)
        arm.apply(arm.settings._replace(controller=loop(ComputedTorque, 0.1 / mean).settings.controller))
    arm.hold(t)
    commands, _, _ = run(arm, 0.002, count=500, push=0.05, t=t, begin=positions[-1], late=late)
    assert (commands[-1].fault is None) == (known == "judged")


@pytest.mark.parametrize("bits", [None, 12, 14, 17])
def test_noise_is_no_swing_that_grows(bits):
    """Velocities with three times the stated noise; and those that are differences of counts between which encoders
    toggle, which may be another fault.
    """
    arm, rng, seen, scale = loop(ComputedTorque, 60.0), np.random.default_rng(7), HOME, np.array([0.1, 1.0, 1.0])
    for k in range(5000):
        q, v = HOME, 0.06 * rng.standard_normal(3) * scale
        if bits:
            q = HOME + 2.0 * np.pi / 2**bits * rng.integers(0, 3, 3) * scale
            v, seen = (q - seen) / 0.001 * (k > 0), q
        assert arm.update(0.001 * k, 0.001 * k, q, v).fault in (
            (None,) if bits is None else (None, "sensor", "following")
        )
    assert float(arm.memory().found_delay) == 0.0


def test_a_delay_of_a_part_of_the_period_is_no_reason_to_allow_greater_gains():
    """With a period T, and a delay d T of up to T, a damping D is stable for D T < 2 / (1 - 2 d) and D T d < 1. So less
    is stable without the delay than with half of the period.
    """
    period = 0.01
    for damping, delay, stable in (
        (1.9, 0.5, True),
        (2.1, 0.5, False),
        (2.1, 0.0, False),
        (1.2, 0.8, True),
        (1.3, 0.8, False),
    ):
        law = ComputedTorque(DYNAMICS, 0.0, damping / period / GAIN_MARGIN)
        settings = ControlLoop(law, np.full(3, 1e5), safety=SafetySettings(command_delay=delay * period)).settings
        assert (judged(settings, StateSampling(period), HOME).carried == 1.0) == stable, (damping, delay)


LIGHT = rd.create_dynamics(
    "rnea", rd.load_robot(arms.mechanism("PRR", (13, 1.5, 0.2), (1, 0.5, 0.001), (0.1, 0.2, 0.01), (0.0, 0.1, 1e-4)))
)
"""A wrist of 1.2e-4 kg m², as URDFs without the motors' rotors have it."""


def spring_loop(dynamics, turning, link="", **safety):
    """A loop with a spring at the tool, of the default stiffness but about the axes [N·m/rad]."""
    config = CartesianImpedanceSettings(link=link, stiffness=(500.0,) * 3 + (turning,) * 3)
    law = CartesianImpedance(dynamics, 900.0, 60.0, config=config)
    return ControlLoop(law, dynamics.robot.effort_limit, safety=SafetySettings(**safety))


def held_by_a_spring(arm, period, late, seen=0.0, duration=1.0):
    """The arm held where it is, with encoder noise, its efforts ``late`` [s]: commands, and the greatest speed."""
    model, step, rng = arm.dynamics, 0.25e-3, np.random.default_rng(3)
    q = model.robot.home.copy()
    v, effort, coming, commands, fastest = 0.0 * q, model.gravity(q), [], [], 0.0
    for index in range(round(duration / step)):
        t = 10.0 + index * step
        if index % round(period / step) == 0:
            noise = rng.standard_normal((2, len(q)))
            command = arm.update(t, t + seen, q + 1e-5 * noise[0], v + 1e-3 * noise[1])
            if command is None:  # nothing is sent any more
                break
            commands.append(command)
            coming.append((index + round(late / step), command.effort))
        while coming and coming[0][0] <= index:
            effort = coming.pop(0)[1]
        v = v + step * model.forward(q, v, effort)
        q = q + step * v
        fastest = max(fastest, float(np.abs(v).max()))
    return commands, fastest


@pytest.mark.parametrize(
    ("period", "turning", "late"), [(0.001, 30.0, 0.002), (0.002, 30.0, 0.002), (0.001, 15.0, 0.003)]
)
def test_a_spring_at_the_tool_that_a_light_wrist_cannot_carry_is_a_fault_before_the_wrist_is_fast(
    period, turning, late, monkeypatch
):
    """Without the judgement of the rate the wrist would shake; with it, it is braked by what is carried."""
    commands, fastest = held_by_a_spring(spring_loop(LIGHT, turning), period, late, seen=late)
    assert {command.fault for command in commands[3:]} == {"rate"}
    assert "cartesian_impedance.stiffness" in commands[-1].problem
    assert fastest < 0.5
    unjudged = spring_loop(LIGHT, turning, plausibility=False, following_tolerance=0.0, overspeed=100.0)
    monkeypatch.setattr(running_core, "judged", lambda settings, *_: Judgement(1.0, True, settings.feedback, 0.0, 0.0))
    assert held_by_a_spring(unjudged, period, late, seen=late, duration=0.3)[1] > 3.0


def test_the_default_spring_on_a_light_wrist_is_not_trusted_with_drives_of_an_unstated_delay():
    """The default of command_delay is of quick drives."""
    commands, fastest = held_by_a_spring(spring_loop(LIGHT, 30.0), 0.001, 0.002)
    assert {command.fault for command in commands[12:]} == {"rate"}
    assert fastest < 0.5


def test_a_spring_that_no_rate_of_states_carries_is_refused_with_the_greatest_that_would_be_carried():
    with pytest.raises(InputError, match=r"stiffness: any rate of states.*lower cartesian_impedance.* .r") as refused:
        spring_loop(LIGHT, 30.0, command_delay=0.003)
    greatest = float(re.search(r"ry to ([\d.]+) N·m/rad", str(refused.value)).group(1))
    assert 1.0 < greatest < 30.0
    spring_loop(LIGHT, 0.99 * greatest, command_delay=0.003)
    with pytest.raises(InputError, match="any rate of states"):
        spring_loop(LIGHT, 1.02 * greatest, command_delay=0.003)


def test_a_spring_that_the_measured_rate_does_not_carry_is_refused_while_the_arm_moves():
    arm = spring_loop(LIGHT, 2.0)
    held_by_a_spring(arm, 0.002, 0.001, duration=0.1)
    with pytest.raises(InputError, match=r"stiffness: a state every 0\.002 s.*lower cartesian_impedance.* .r.*N·m/rad"):
        arm.apply(spring_loop(LIGHT, 30.0).settings)
    assert arm.update(11.0, 11.0, LIGHT.robot.home, np.zeros(3)).fault is None


@pytest.mark.parametrize("period", [0.001, 0.002])
@pytest.mark.parametrize("name", ["prr", "panda", "ur5_robot"])
def test_the_default_spring_of_an_arm_with_rotors_is_carried(name, period):
    """With rotors where the URDF has none, drives a period late."""
    if name != "prr" and name not in urdfs():
        pytest.skip("example-robot-data is not installed")
    robot = rd.load_robot(HERE.parent / "urdf" / "prr.urdf" if name == "prr" else urdfs()[name])
    dynamics = rd.create_dynamics("rnea", robot)
    if name == "ur5_robot":
        dynamics.configure(armature=np.full(robot.n, 0.1))
    arm = spring_loop(dynamics, 30.0, command_delay=0.002)
    commands, fastest = held_by_a_spring(arm, period, 0.002, duration=0.5)
    assert {command.fault for command in commands} == {None}
    assert fastest < 0.05


def test_a_thread_that_asks_for_a_judgement_gets_it_once():
    """Whatever the judgement: while nothing changes, it asks again when the arm has moved, and not before."""
    made = ControlLoop(ComputedTorque(DYNAMICS, (100.0,) * 3, (20.0,) * 3), (1e3,) * 3)
    core, wrists = made.core, []
    made.release(core.request)  # which runs the periods below, and does at once what it is asked for
    for k in range(1, 1500):
        core.period.q[:], core.period.qd[:] = HOME + [0.0, 0.0, 1e-4 * k], [0.0, 0.0, 0.1]
        core.times[:2] = 0.001 * k, 0.001 * k + 1e-4
        assert core.run() == 0
        if core.state.to_judge:
            wrists.append(float(core.period.q[2]))
            made.judge_rate()
        assert not core.state.to_judge
    np.testing.assert_allclose(np.diff(wrists), 0.05, atol=2e-4)
    assert len(wrists) == 3
    assert float(core.state.carried) == 1.0


def test_gains_are_judged_again_once_the_sum_of_period_and_delay_has_changed_by_a_tenth():
    """The clock of the stamps is slow by 5 %, so that states become ever older."""
    made = ControlLoop(ComputedTorque(DYNAMICS, (100.0,) * 3, (20.0,) * 3), (1e3,) * 3)
    core, judged = made.core, []
    made.release(core.request)
    for k in range(1, 1200):
        core.period.q[:], core.period.qd[:] = HOME, 0.0
        core.times[:2] = 0.95 * 0.001 * k, 0.001 * k
        assert core.run() == 0
        if core.state.to_judge:
            judged.append(float(core.state.period + core.state.delay))
            made.judge_rate()
    assert max(judged) > 0.05
    assert len(judged) < 60  # 600 of a tenth of a period each
