# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Settings that would defeat the net: what cannot hold the arm, or shakes it at the rate of the states, is refused.

At configure, where the arm is not known to be; with the first state; and when set while the arm moves. Against
Pinocchio, closed forms and simulated arms.
"""

from dataclasses import replace

import arms
import industrial
import numpy as np
import pytest

import robodyn_ros as rd
from robodyn_ros.control import ControlLoop, SafetySettings
from robodyn_ros.control.faults.sampling import stable_ratio
from robodyn_ros.control.limits import RISE, START
from robodyn_ros.control.loop_settings import loop_default_values, make_loop_settings, model_parameters
from robodyn_ros.control.parameter_file import FileParameters
from robodyn_ros.errors import HoldingError, InputError, RobodynError
from robodyn_ros.plugins import load

PRR = rd.load_robot(arms.PRR)
LIMIT, HOME = np.array([600.0, 96.0, 36.0]), np.array([0.3, -0.2, 0.5])
TIP = PRR.joints[-1].child
USUAL = ("ur5_robot", "panda")
ARMS = {"prr": rd.load_robot("prr")} | {
    name: rd.load_robot(path) for name, path in industrial.urdfs().items() if name in USUAL
}


def configured(robot, limit, changes):
    """The settings of a loop, as the node makes them."""
    known = loop_default_values(robot) | {"tool": ""}
    for joint, most in zip(robot.joint_names, limit, strict=True):
        known |= {f"effort_limits.{joint}": most, f"effort_rate_limits.{joint}": 100.0 * most}
    assert not changes.keys() - known.keys()
    values = FileParameters(changes, known)
    dynamics = rd.create_dynamics("rnea", robot, **model_parameters(values, robot))
    return make_loop_settings(values, dynamics)


def each(robot, kind, value):
    return {f"{kind}.{name}": value for name in robot.joint_names}


NEVER = {
    "gravity": {"gravity": [0.0, 0.0, -1e4]},
    "gravity upwards": {"gravity": [3e3, -2e3, 1e4]},
    "gravity beyond numbers": {"gravity": [0.0, 0.0, -1e308]},
    "a payload": {"payload.mass": 1e6},
    "a lever": {"payload.mass": 5.0, "payload.com": [1e3, 0.0, 0.0]},
    "no effort": each(PRR, "effort_limits", 0.0),
    "no effort of one": {"effort_limits.joint3": 0.0},
    "next to none": {"effort_limits.joint3": 1e-12},
    "no rate": each(PRR, "effort_rate_limits", 1e-9),
    "no rate of one": {"effort_rate_limits.joint2": 1e-9},
    "a rate of seconds": {"effort_rate_limits.joint1": 150.0},
    "a payload and a limit": {"payload.mass": 25.0, "effort_limits.joint1": 300.0},
}


@pytest.mark.parametrize("case", NEVER)
def test_what_holds_the_arm_nowhere_is_not_configured(case):
    with pytest.raises(HoldingError, match=r"effort(_rate)?_limits\.joint\d: \S+ N.*(holds|hold) the arm"):
        configured(PRR, LIMIT, NEVER[case])


@pytest.mark.parametrize("name", ARMS)
def test_arms_as_they_are_are_configured(name):
    robot = ARMS[name]
    settings = configured(robot, np.where(np.isfinite(robot.effort_limit), robot.effort_limit, 1e3), {})
    assert settings.controller.dynamics.robot is robot


@pytest.mark.parametrize("name", [name for name in ARMS if name in USUAL])
@pytest.mark.parametrize(
    "changes", [{"gravity": [0.0, 0.0, -1e4]}, {"payload.mass": 1e6}, {"payload.mass": 3.0, "payload.com": [1e3, 0, 0]}]
)
def test_joints_that_stand_upright_by_chance_do_not_let_it_pass(name, changes):
    robot = ARMS[name]
    with pytest.raises(HoldingError):
        configured(robot, robot.effort_limit, changes)


def test_a_rate_says_how_long_it_takes_and_what_is_enough():
    with pytest.raises(HoldingError) as refused:
        configured(PRR, LIMIT, {"effort_rate_limits.joint1": 1e-9})
    mass = rd.create_dynamics("rnea", PRR).mass_matrix(HOME)[0, 0]
    needed = 9.81 * mass + START * mass  # the first joint is vertical
    assert f"it takes {needed / 1e-9:.3g} s" in str(refused.value)
    assert f"make it {needed / RISE:.4g} N/s or more" in str(refused.value)
    configured(PRR, LIMIT, {"effort_rate_limits.joint1": 1.001 * needed / RISE})


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"payload.mass": -1.0}, "payload mass"),
        ({"payload.com": [0.0, 0.0]}, "payload com"),
        ({"payload.inertia": [1.0, 0.0]}, "payload.inertia"),
        ({"payload.mass": 1.0, "tool": "link0"}, "tool: 'link0' is fixed to the base"),
        ({"payload.mass": 1.0, "tool": "nowhere"}, "tool: 'nowhere' is not in the robot"),
        ({"gravity": [0.0, 0.0, np.nan]}, "gravity"),
        ({"payload.inertia": 1.0}, "payload.inertia"),
    ],
)
def test_a_payload_and_the_tool_that_holds_it_are_checked(changes, said):
    with pytest.raises(RobodynError, match=said):
        configured(PRR, LIMIT, changes)


def test_gravity_that_the_drives_add_need_not_rise():
    slow = {"effort_rate_limits.joint1": 500.0}
    with pytest.raises(HoldingError, match="effort_rate_limits"):
        configured(PRR, LIMIT, slow)
    settings = configured(PRR, LIMIT, slow | {"drive_compensates": ["gravity"]})
    started(settings)


def started(settings, period=0.002, delay=0.0, count=20, q=HOME):
    """A loop that has had states, with an arm at rest, and the time."""
    loop, t = ControlLoop.from_settings(settings), 10.0
    for _ in range(count):
        t += period
        command = loop.update(t, t + delay, q, np.zeros(len(q)))
    assert command.fault is None
    return loop, t


ARM_THERE = {
    "gravity": {"gravity": (0.0, 0.0, -40.0)},
    "gravity on its side": {"gravity": (900.0, 900.0, 0.0)},
    "gravity beyond numbers": {"gravity": (0.0, 0.0, -1e308)},
    "a payload": {"payload": rd.Payload(TIP, 60.0)},
    "a lever": {"payload": rd.Payload(TIP, 2.0, (9.0, -9.0, 7.0)), "gravity": (6.0, 5.0, -8.0)},
}


@pytest.mark.parametrize("case", ARM_THERE)
def test_a_model_that_the_limits_do_not_hold_is_refused_and_the_loop_goes_on_unchanged(case):
    settings = configured(PRR, LIMIT, {})
    dynamics, (loop, t) = settings.controller.dynamics, started(settings)
    before = loop.update(t + 0.002, t + 0.002, HOME, np.zeros(3))
    kept = {name: getattr(dynamics.parameters, name) for name in ("gravity", "payload")}
    dynamics.configure(**ARM_THERE[case])
    with pytest.raises(HoldingError, match=r"effort_limits\.joint\d.*where the arm is"):
        loop.apply(loop.settings)
    dynamics.configure(**kept)
    after = loop.update(t + 0.004, t + 0.004, HOME, np.zeros(3))
    np.testing.assert_allclose(after.effort, before.effort, rtol=1e-9)


def limits_of(settings, **changed):
    return settings._replace(limits=replace(settings.limits, **changed))


def test_limits_below_what_holds_the_arm_where_it_is_are_refused_each_with_its_number():
    settings = configured(PRR, LIMIT, {})
    loop, _ = started(settings)
    weight = np.abs(settings.controller.dynamics.gravity(HOME))
    for joint in np.flatnonzero(weight > 1e-6):
        for factor, refused in ((0.0, True), (0.99, True), (1.01, False)):
            effort = LIMIT.copy()
            effort[joint] = factor * weight[joint]
            if refused:
                with pytest.raises(HoldingError, match=f"takes {weight[joint]:.4g} "):
                    loop.try_out(limits_of(loop.settings, effort=effort))
            else:
                loop.try_out(limits_of(loop.settings, effort=effort))
    for rate in (np.full(3, 1e-9), np.array([1e5, 1e-9, 1e5]), np.zeros(3)):
        with pytest.raises(HoldingError, match="effort_rate_limits"):
            loop.apply(limits_of(loop.settings, rate=rate))
    sagging = loop.settings._replace(safety=replace(loop.settings.safety, externally_supported=True))
    loop.apply(limits_of(sagging, effort=np.array([10.0, 0.0, 5.0])))


def test_the_way_out_of_limits_that_are_too_low_is_open():
    """The arm was carried where its limits do not hold it: whatever is no worse may be set."""
    dynamics = rd.create_dynamics("rnea", PRR, gravity=(5.9, -3.0, -7.0))
    poses = np.array([[0.1, angle, 0.1] for angle in np.linspace(-1.5, 1.5, 61)])
    weights = np.abs([dynamics.gravity(q)[1] for q in poses])
    hanging, stretched = poses[weights.argmin()], poses[weights.argmax()]
    limit = np.array([10.0, 0.6, 10.0]) * weights.max()
    law = load("controllers", "computed_torque")(dynamics, 100.0, 20.0)
    loop = ControlLoop(law, limit, SafetySettings(plausibility=False, following_tolerance=0.0))
    with pytest.raises(HoldingError):
        ControlLoop.from_settings(loop.settings).update(1.0, 1.0, stretched, np.zeros(3))
    t = 2.0
    for part in np.linspace(0.0, 1.0, 400):
        t += 0.005
        loop.update(t, t, hanging + part * (stretched - hanging), (stretched - hanging) / 2.0)
    loop.apply(loop.settings)
    loop.apply(limits_of(loop.settings, effort=1.1 * limit))
    with pytest.raises(HoldingError):
        loop.apply(limits_of(loop.settings, effort=limit))


@pytest.mark.parametrize("weak", [0, 1, 2])
@pytest.mark.parametrize("what", ["effort_limits", "effort_rate_limits"])
def test_the_first_state_is_refused_where_the_limits_do_not_hold_the_arm_or_its_efforts_rise_too_slowly(what, weak):
    """In 0.2 s they have to carry it and to accelerate each joint by 1 rad/s²; gravity pulls it sideways."""
    dynamics, q = rd.create_dynamics("rnea", PRR, gravity=(0.3, -9.81, 0.1)), np.array([0.1, 0.2, -0.1])
    law, needed = load("controllers", "gravity_compensation")(dynamics, 100.0, 20.0), np.abs(dynamics.gravity(q))
    if what == "effort_rate_limits":
        needed = (needed + START * np.diagonal(dynamics.mass_matrix(q))) / RISE

    def loop_of(factor):
        limit = needed * np.where(np.arange(3) == weak, factor, 1.5)
        return (
            ControlLoop(law, limit) if what == "effort_limits" else ControlLoop(law, np.full(3, 1e3), rate_limit=limit)
        )

    assert loop_of(1.001).update(1.0, 1.0, q, np.zeros(3)).fault is None
    loop = loop_of(0.999)
    with pytest.raises(HoldingError, match=rf"{what}\.joint{weak + 1}: .*where the arm is"):
        loop.update(1.0, 1.0, q, np.zeros(3))
    assert loop.mode == "waiting"
    assert loop.watch(2.0) is None


# The rate of the states


def test_a_state_timeout_below_the_period_is_refused_and_says_what_is_enough():
    loop, _ = started(configured(PRR, LIMIT, {}), period=0.01)
    for timeout in (1e-3, 0.009, 0.012):
        with pytest.raises(InputError, match=r"a state comes every 0\.01 s.*state_timeout.*set it to 0\.015 s"):
            loop.apply(loop.settings._replace(safety=replace(loop.settings.safety, state_timeout=timeout)))
    loop.apply(loop.settings._replace(safety=replace(loop.settings.safety, state_timeout=0.0151)))


SLOW = {f"gains.{name}.natural_frequency": 10.0 for name in PRR.joint_names}
"""Gains that a state every 0.02 s carries."""


@pytest.mark.parametrize("period", [0.002, 0.01, 0.03])
def test_a_state_timeout_below_the_period_from_the_start_is_a_fault_and_the_arm_is_held(period):
    """Each state would find the arm anew, and hold it wherever it has fallen to."""
    settings = configured(PRR, LIMIT, {"state_timeout": 1e-3, "plausibility": False} | SLOW)
    loop, t, q = ControlLoop.from_settings(settings), 10.0, HOME
    commands = []
    for _ in range(40):
        t += period
        q = q + [1e-4, 0.0, 0.0]
        commands.append(loop.update(t, t, q, np.zeros(3)))
    assert [command.fault for command in commands[3:]] == ["rate"] * 37
    assert "too rarely for a state_timeout" in commands[-1].problem
    lower = commands[-1].effort[0] - commands[4].effort[0]
    if period < 0.02:
        stiffness = loop.settings.feedback.stiffness[0]
        assert lower == pytest.approx(-35e-4 * stiffness, rel=0.1)  # back to where it was found
    for _ in range(30):  # with states that come in time all is well
        t += 5e-4
        command = loop.update(t, t, q, np.zeros(3))
    assert command.fault is None


QUICK = {
    "computed_torque": {f"gains.{name}.natural_frequency": 1e3 for name in PRR.joint_names},
    "pd": {"gains.joint2.natural_frequency": 1e3},
    "gravity_compensation": {"gains.joint3.stiffness": 1e9},
    "impedance": {"gains.joint1.damping": 1e9},
    "computed_torque with an integral": {f"gains.{name}.integral_rate": 100.0 for name in PRR.joint_names},
    "adaptive": {"adaptive.rate": 100.0},
    "adaptive gains": {"gains.joint1.natural_frequency": 1e3},
    "disturbance_observer": {"disturbance_observer.gain": 1e3},
    "operational_space": {"operational_space.natural_frequency": 1e3},
    "hand_guiding": {"hand_guiding.stiffness": [1e5] * 6, "hand_guiding.free_directions": "x"},
    "cartesian_impedance": {"cartesian_impedance.stiffness": [1e6, 500.0, 500.0, 30.0, 30.0, 30.0]},
}


@pytest.mark.parametrize("case", QUICK)
def test_gains_of_any_law_that_the_measured_rate_does_not_carry_are_refused(case):
    name = case.split()[0]
    delay = {"adaptive": 0.008, "disturbance_observer": 0.02}.get(case, 0.0)
    # The arm stands, whatever it is commanded.
    values = {"controller": name, "plausibility": False} | SLOW
    loop, t = started(configured(PRR, LIMIT, values), period=0.02, delay=delay)
    with pytest.raises(InputError, match=r"a state every 0\.02 s.*allows.*at most.*: lower .*, or send"):
        loop.apply(configured(PRR, LIMIT, values | QUICK[case]))
    assert loop.update(t + 0.02, t + 0.02, HOME, np.zeros(3)).fault is None


@pytest.mark.parametrize("name", ["operational_space", "cartesian_impedance", "computed_torque", "pd", "impedance"])
def test_what_a_law_says_of_its_feedback_are_its_derivatives(name):
    """By central differences of its efforts."""
    law = configured(PRR, LIMIT, {"controller": name}).controller
    said, dynamics, n = law.acceleration_gains(HOME), law.dynamics, 3
    rest, step = np.zeros(n), 1e-6

    def effort(q, qd):
        asked = law.compute(q, qd, rd.control.Reference(HOME, rest, rest, rest)).total
        return asked - dynamics.gravity(q) * (name != "pd")

    inverse = np.linalg.inv(dynamics.mass_matrix(HOME))
    for column, one in enumerate(step * np.eye(n)):
        by_position = (effort(HOME + one, rest) - effort(HOME - one, rest)) / (2.0 * step)
        by_velocity = (effort(HOME, one) - effort(HOME, -one)) / (2.0 * step)
        scale = np.abs(said.position).max()
        np.testing.assert_allclose(-inverse @ by_position, said.position[:, column], atol=1e-5 * scale)
        np.testing.assert_allclose(-inverse @ by_velocity, said.velocity[:, column], atol=1e-5 * scale)


RATES = {"computed_torque": "gains.{}.integral_rate", "disturbance_observer": "disturbance_observer.gain"}


@pytest.mark.parametrize(
    ("name", "delay", "value", "stable"),
    [
        ("computed_torque", 0.0, 60.0, True),
        ("computed_torque", 0.0, 100.0, False),
        ("computed_torque", 1.0, 10.0, True),
        ("computed_torque", 1.0, 40.0, False),
        ("disturbance_observer", 0.0, 200.0, True),
        ("disturbance_observer", 1.0, 15.0, True),
        ("disturbance_observer", 1.0, 60.0, False),
    ],
)
def test_what_acts_as_an_integral_shakes_a_simulated_arm_where_that_is_said(name, delay, value, stable):
    """States every 0.02 s, of an arm with a small error; the delay is in periods."""
    period = 0.02
    given = {RATES[name].format(joint): value for joint in PRR.joint_names}
    law = configured(PRR, LIMIT, {"controller": name} | SLOW | given).controller
    assert (stable_ratio(period, delay * period, law.acceleration_gains(HOME, period), 1.0) == 1.0) == stable
    assert (growth(law, period, delay) < 0.01) == stable


def growth(law, period, delay):
    """How much faster the arm moves in the end than in the beginning, after 4 s."""
    dynamics, parts = law.dynamics, 10
    q, qd, rest = HOME + 1e-3, np.zeros(3), np.zeros(3)
    reference, integral = rd.control.Reference(HOME, rest, rest, rest), np.zeros(3)
    sent, before, speeds = rest, dynamics.gravity(HOME), []
    for step in range(round(4.0 / period)):
        law.advance(period if step else 0.0, q, qd, reference, sent, sent)
        integral = integral + period * (HOME - q)
        sent = law.compute(q, qd, reference, integral if law.ki.any() else None).total
        for part in range(parts):
            effort = sent if part >= delay * parts else before
            qd = qd + period / parts * dynamics.forward(q, qd, effort)
            q = q + period / parts * qd
        before = sent
        speeds.append(np.abs(qd).max())
        if speeds[-1] > 100.0:
            return np.inf
    return max(speeds[-20:]) / max(speeds[:20])


@pytest.mark.parametrize("law", ["free_drive", "computed_torque"])
def test_a_joint_without_effort_and_without_a_spring_is_not_too_far_away(law):
    """Its drive is off: a spring of 0 N·m/rad that would give 0 N·m says nothing about an error."""
    given = {"externally_supported": True, "effort_limits.joint2": 0.0, "gains.joint2.natural_frequency": 0.0}
    values = FileParameters(given, loop_default_values(PRR))
    loop = ControlLoop.from_settings(make_loop_settings(values, rd.create_dynamics("rnea", PRR), law))
    for t in (5.0, 5.001, 5.002):
        command = loop.update(t, t, PRR.home + 0.1, np.zeros(3))
        assert command is not None and command.fault is None
        assert command.effort[1] == 0.0


def test_free_drive_has_no_gains_that_a_rate_could_not_carry():
    quick = {f"gains.{name}.natural_frequency": 1e3 for name in PRR.joint_names}
    loop, t = started(configured(PRR, LIMIT, {"controller": "free_drive"} | quick), period=0.02)
    assert loop.update(t + 0.02, t + 0.02, HOME, np.zeros(3)).fault is None
