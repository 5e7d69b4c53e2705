# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""What the loop answers to each kind of state and reference."""

import ctypes
import dataclasses
from dataclasses import replace

import arms
import numpy as np
import pytest
from heap import heap_size

import robodyn_ros as rd
from robodyn_ros.control import ControlLoop, GravityCompensation, Reference, SafetySettings, Trajectory, rest_to_rest
from robodyn_ros.control.loop_settings import MODEL
from robodyn_ros.control.parameter_file import FileParameters
from robodyn_ros.errors import (
    EffortError,
    FutureStateError,
    HoldingError,
    InputError,
    JumpError,
    LimitError,
    NotReadyError,
    OrderError,
    StaleStateError,
)
from robodyn_ros.simulation.hardware import default_values, make_hardware
from robodyn_ros.simulation.trial_run import run_trial

NAMES = ("joint1", "joint2", "joint3")
DYNAMICS = rd.create_dynamics("rnea", rd.load_robot(arms.PRR))
Q, QD, ZERO = np.array([0.3, -0.2, 0.5]), np.array([0.01, -0.02, 0.03]), np.zeros(3)
GOAL = np.array([1.0, 0.4, -0.6])
PERIOD = 0.01


UNMOVED = {"plausibility": False, "following_tolerance": 0.0, "externally_supported": True}
"""For an arm that stands still whatever drives it, which no arm does, with limits far too low for it."""


def simulated_time(core, clock, stamp):
    """``core_simulated_time``, as the thread of the nodes calls it [ns]."""
    call = core.library.core_simulated_time
    call.restype = ctypes.c_int64
    return call(ctypes.c_void_p(core.address), ctypes.c_int64(clock), ctypes.c_int64(stamp))


def set_clock_back(loop):
    """As a node does that meets a clock which went back: the simulation was reset."""
    for clock in (3, 2):
        simulated_time(loop.core, clock, clock)


def test_simulated_time_is_the_newest_of_the_clock_and_of_stamps_that_are_near():
    core, ms = Arm(start=False).loop.core, 10**6

    def time(clock, stamp):
        return simulated_time(core, clock * ms, stamp * ms) / ms

    assert time(0, 50_000) == 50_000  # there is no clock yet
    assert time(49_998, 50_000) == 50_000
    assert time(50_010, 50_000) == 50_000  # a delay is none: it depends on which topic is quicker
    assert time(50_010, 49_900) == 50_010 == core.state.newest / ms  # too old
    assert time(50_010, 60_000) == 50_010 == core.state.newest / ms  # a stamp from afar is no time
    assert time(50_010, 50_050) == 50_050
    assert (time(50_012, 49_951), time(50_012, 49_949)) == (49_951, 50_050)
    assert not core.state.clock_reset
    assert time(3, 4) == 4
    assert core.state.clock_reset


class Arm:
    """A loop with a clock: each state comes one period after the one before it, and is answered at once."""

    def __init__(self, limit=1e4, config=None, start=True, unmoved=None, **options):
        limit = np.broadcast_to(limit, 3)
        config = replace(config or SafetySettings(), **{**UNMOVED, **(unmoved or {})})
        self.loop = ControlLoop(GravityCompensation(DYNAMICS, 100.0, 20.0), limit, config, **options)
        self.t, self.q, self.qd = 5.0, Q, ZERO if unmoved else QD
        if start:
            self.state()

    def state(self, q=None, qd=None, after=PERIOD):
        """Where it was last, unless told otherwise."""
        self.t += after
        command = self.loop.update(self.t, self.t, self.q if q is None else q, self.qd if qd is None else qd)
        self.q = self.q if q is None else q
        return command

    def until(self, t):
        commands = []
        while self.t < t - 0.5 * PERIOD:
            commands.append(self.state())
        return commands


def is_smooth(commands, before, speed):
    """Whether the reference position moves from ``before`` on no faster than a speed."""
    path = np.array([before.reference.q, *(command.reference.q for command in commands)])
    return np.abs(np.diff(path, axis=0)).max() <= speed * PERIOD * 1.001


def test_first_reference_is_where_the_arm_is():
    arm = Arm(start=False)
    assert arm.loop.mode == "waiting"
    command = arm.state()
    assert arm.loop.mode == "hold"
    for ours, expected in zip(command.reference, (Q, ZERO, ZERO, ZERO), strict=True):
        np.testing.assert_array_equal(ours, expected)
    np.testing.assert_array_equal(command.error, ZERO)
    np.testing.assert_allclose(command.effort, DYNAMICS.gravity(Q) - 20.0 * QD, rtol=1e-12)
    moved = arm.state(Q + 0.1)
    np.testing.assert_array_equal(moved.reference.q, Q)
    np.testing.assert_allclose(moved.error, -0.1, rtol=1e-12)
    assert arm.loop.restarts == 0


def test_the_reference_does_not_follow_the_callers_array():
    arm, q = Arm(start=False), Q.copy()
    arm.state(q)
    q[:] = 9.0
    np.testing.assert_array_equal(arm.state(Q).reference.q, Q)


@pytest.mark.parametrize("ask", ["hold", "follow", "track"])
def test_nothing_can_be_asked_before_the_first_state(ask):
    arm = Arm(start=False)
    arguments = {
        "hold": (5.0,), "follow": (rest_to_rest([GOAL], [1.0]),), "track": (Reference(GOAL, ZERO, ZERO, ZERO), 5.0)
    }  # fmt: skip
    with pytest.raises(NotReadyError):
        getattr(arm.loop, ask)(*arguments[ask])
    assert arm.loop.mode == "waiting"


@pytest.mark.parametrize("limit", [-1.0, np.nan])
def test_effort_limit_must_be_a_limit(limit):
    with pytest.raises(InputError, match="effort_limit"):
        Arm(limit=limit, start=False)
    with pytest.raises(InputError, match="effort_limit"):
        ControlLoop(GravityCompensation(DYNAMICS, 1.0, 1.0), [1.0, 2.0])


@pytest.mark.parametrize("age", [0.11, -0.11, 1e9, -1e9, np.nan, np.inf])
def test_no_command_for_a_state_too_old_or_from_the_future(age):
    arm = Arm()
    with pytest.raises(StaleStateError) as caught:
        arm.loop.update(arm.t + PERIOD, arm.t + PERIOD + age, Q, QD)
    assert caught.value.timeout == SafetySettings().state_timeout
    assert isinstance(caught.value, FutureStateError) == (age < 0.0) == ("from the future" in str(caught.value))
    assert ("another clock" in str(caught.value)) == (abs(age) >= 1e9)
    assert arm.state().state_age == 0.0
    assert arm.loop.update(arm.t, arm.t + 0.09, Q, QD).state_age == pytest.approx(0.09)


@pytest.mark.parametrize(
    ("q", "qd"),
    [
        ([0.0, np.nan, 0.0], ZERO),
        (ZERO, [0.0, 0.0, np.inf]),
        ([0.0, 0.0], ZERO),
        (ZERO, []),
        ([None, 0.0, 0.0], ZERO),
        ("abc", ZERO),
    ],
)
def test_no_command_for_a_state_that_is_not_one(q, qd):
    arm = Arm()
    with pytest.raises(InputError):
        arm.state(q, qd)
    with pytest.raises(InputError, match="qd") as refused:
        arm.state(ZERO, np.array([0.0, 0.0, np.inf]))
    assert np.isinf(refused.value.value).any()
    np.testing.assert_array_equal(arm.state(Q + 0.1).reference.q, Q)
    fresh = Arm(start=False)
    with pytest.raises(InputError):
        fresh.state(q, qd)
    assert fresh.loop.mode == "waiting"


@pytest.mark.parametrize("gap", [-5.0, 0.101, 60.0])
@pytest.mark.parametrize("doing", ["hold", "follow", "track", "about to follow"])
@pytest.mark.parametrize("reset", [True, False])
def test_holds_where_the_arm_is_after_a_break(gap, doing, reset):
    """A clock was set or reset, or no state came for longer than the timeout.

    States are accepted where the arm can have gone within its velocity limits, and anywhere if a reset was announced.
    """
    arm = Arm(unmoved={"plausibility": True})
    if doing == "track":
        arm.loop.track(Reference(GOAL, ZERO, ZERO, ZERO), arm.t)
    elif doing != "hold":
        arm.loop.follow(rest_to_rest([GOAL], [3.0]), arm.t + (1.0 if "about" in doing else 0.0))
    arm.state()
    fallen = Q - 0.2
    if reset:
        set_clock_back(arm.loop)
    if reset or gap > 0.0:
        command = arm.state(fallen, after=gap)
    else:
        with pytest.raises(OrderError):
            arm.state(fallen, after=gap)
        refused, command = 1, None
        while command is None and refused < 13:
            try:
                command = arm.state(fallen)
            except (JumpError, OrderError):
                refused += 1
        assert refused <= 12
    assert arm.loop.mode == "hold"
    assert arm.loop.restarts == 1
    for state in (command, *arm.until(arm.t + 4.0)):
        np.testing.assert_array_equal(state.reference.q, fallen)
    assert arm.loop.restarts == 1


def test_stop_forgets_and_start_holds():
    """Without a fault and without a goal."""
    arm = Arm()
    for end, begins in ((arm.loop.stop, Q + 0.2), (lambda: arm.loop.start(arm.t, Q), Q)):
        goal = arm.loop.follow(rest_to_rest([GOAL], [1.0]))
        end()
        assert goal.outcome == "stopped"
        assert arm.loop.mode == ("waiting" if end == arm.loop.stop else "hold")
        np.testing.assert_array_equal(arm.state(Q + 0.2).reference.q, begins)
    assert arm.loop.restarts == 0
    arm.loop.set_publisher_conflict("two publishers")
    arm.state()
    assert arm.loop.fault.kind == "publisher"
    arm.loop.start(arm.t, Q)
    assert (arm.loop.fault, arm.loop.mode) == (None, "hold")
    with pytest.raises(InputError):
        arm.loop.start(arm.t, [np.nan, 0.0, 0.0])


class Spoilt(type(DYNAMICS)):
    """A model in Python whose gravity becomes no number."""

    factor = 1.0

    def gravity(self, q):
        return self.factor * super().gravity(q)


def test_a_model_that_gives_no_numbers_for_the_first_state_is_said_and_not_that_the_limits_are_too_low():
    model = Spoilt(DYNAMICS.robot, compiled=False)
    loop = ControlLoop(GravityCompensation(model, 100.0, 20.0), np.full(3, 1e4))
    model.factor = np.nan
    with pytest.raises(EffortError, match="finite"):
        loop.update(5.0, 5.0, Q, ZERO)
    model.factor = 1e6
    with pytest.raises(HoldingError):
        loop.update(5.0, 5.0, Q, ZERO)


class Interrupted(GravityCompensation):
    """A law in Python during which somebody presses Ctrl-C."""

    periods = 0

    def compute(self, q, qd, reference):
        float(q[0])
        self.periods += 1
        if self.periods == 20:
            raise KeyboardInterrupt
        return super().compute(q, qd, reference)


def test_ctrl_c_while_a_law_in_python_computes_is_not_lost():
    loop = ControlLoop(Interrupted(DYNAMICS, 100.0, 20.0), np.full(3, 1e4))
    for k in range(18):  # it was called once before, when the loop was made
        loop.update(PERIOD * k, PERIOD * k, Q, ZERO)
    with pytest.raises(KeyboardInterrupt):
        loop.update(PERIOD * 18, PERIOD * 18, Q, ZERO)
    assert loop.fault.kind == "law"
    command = loop.update(PERIOD * 19, PERIOD * 19, Q, ZERO)
    assert command.fault is None  # the law computes again
    arm = DYNAMICS.robot
    hardware = make_hardware(FileParameters({}, MODEL | default_values(arm)), arm)
    with pytest.raises(KeyboardInterrupt):
        run_trial(hardware, ControlLoop(Interrupted(DYNAMICS, 100.0, 20.0), np.full(3, 1e4)), 1.0)
    assert hardware.time < 0.5


@pytest.mark.parametrize("again", ["start", "stop", "stop, and another clock", "clock"])
def test_estimated_velocities_begin_anew_with_the_loop(again):
    """Two positions of two beginnings are no motion."""
    arm = Arm(config=SafetySettings(missing_velocity="estimate"), start=False)
    arm.loop.update(arm.t, arm.t, Q, None)
    begin = {
        "start": lambda: arm.loop.start(arm.t, Q),
        "stop": arm.loop.stop,
        "clock": lambda: set_clock_back(arm.loop),
    }
    begin[again.partition(",")[0]]()
    t = 1.0 if "another" in again else arm.t + PERIOD
    command = arm.loop.update(t, t, Q + 0.1, None)
    assert command.fault is None
    rest = DYNAMICS.gravity(Q + 0.1) + (-100.0 * 0.1 if again == "start" else 0.0)
    np.testing.assert_allclose(command.effort, rest, atol=1e-9)


def test_a_state_that_comes_twice_keeps_its_estimated_velocity():
    arm = Arm(config=SafetySettings(missing_velocity="estimate"), start=False)
    first, once, again = (arm.loop.update(t, t, Q + 0.1 * (t - 5.0), None).effort for t in (5.0, 5.01, 5.01))
    assert (np.abs(once - first) > 0.1).all()
    np.testing.assert_array_equal(again, once)


def test_one_gap_after_the_first_state_is_no_period():
    arm = Arm()
    arm.state(after=0.2)
    assert float(arm.loop.memory().period) == 0.0


@pytest.mark.parametrize("first", [0.0, 0.5])
def test_follows_a_trajectory_and_holds_its_end(first):
    """Whether the first point is at time 0 and elsewhere, or later: the reference never jumps."""
    arm = Arm()
    before, begin = arm.state(), arm.t
    arm.loop.follow(rest_to_rest([Q + 0.3, GOAL], [first, 2.0]), begin)
    assert arm.loop.mode == "follow"
    commands = arm.until(begin + 2.5)
    assert is_smooth(commands, before, speed=15 / 8 * 1.4 / 1.5)
    assert arm.loop.mode == "hold"
    np.testing.assert_allclose(commands[-1].reference.q, GOAL, rtol=1e-12)
    np.testing.assert_array_equal(commands[-1].reference.qd, ZERO)
    middle = commands[99].reference  # one second after the start
    if first:
        expected = rest_to_rest([Q, Q + 0.3, GOAL], [0.0, first, 2.0]).sample(1.0)
        np.testing.assert_allclose(middle.q, expected.q, rtol=1e-9)
        np.testing.assert_allclose(middle.qd, expected.qd, rtol=1e-7)
        np.testing.assert_allclose(middle.qdd, expected.qdd, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("velocities", [None, np.zeros((1, 3))])
def test_a_single_point_at_time_0_is_reached_at_once_or_refused_for_its_distance(velocities):
    """MoveIt sends one where the arm already is at its goal; joint_trajectory_controller reports success."""
    arm = Arm()
    arm.until(arm.t + 0.1)
    near = Q + 0.004 * np.array([1.0, -0.5, 0.25])
    goal = arm.loop.follow(Trajectory([0.0], [near], velocities))
    np.testing.assert_array_equal(arm.until(arm.t + 0.1)[-1].reference.q, near)
    assert goal.outcome == "succeeded"
    with pytest.raises(LimitError, match="speed"):
        arm.loop.follow(Trajectory([0.0], [Q + 0.5], velocities))


def test_the_rest_of_a_trajectory_that_began_in_the_past():
    arm = Arm()
    arm.loop.follow(rest_to_rest([GOAL, Q, GOAL], [1.0, 2.0, 4.0]), arm.t - 1.5)
    np.testing.assert_allclose(arm.until(arm.t + 0.5)[-1].reference.q, Q, rtol=1e-9)
    np.testing.assert_allclose(arm.until(arm.t + 2.0)[-1].reference.q, GOAL, rtol=1e-9)
    with pytest.raises(InputError, match="cannot be reached in time"):
        arm.loop.follow(rest_to_rest([GOAL], [1.0]), arm.t - 1.5)
    with pytest.raises(InputError, match="cannot be reached in time"):
        arm.loop.follow(rest_to_rest([Q], [-1.0]))
    with pytest.raises(InputError, match="t_start"):
        arm.loop.follow(rest_to_rest([Q], [1.0]), np.nan)
    with pytest.raises(InputError, match=r"begins in 1\.79e\+09 s: its stamp is of another clock \(use_sim_time\)"):
        arm.loop.follow(rest_to_rest([Q], [1.0]), arm.t + 1.79e9)
    np.testing.assert_allclose(arm.state().reference.q, GOAL, rtol=1e-9)


def test_a_trajectory_that_begins_after_the_end_of_the_one_before_it_begins_at_rest():
    arm = Arm()
    arm.loop.follow(rest_to_rest([GOAL], [1.0]))
    begin, way = arm.t + 1.5, rest_to_rest([GOAL, Q], [0.0, 1.0])
    arm.loop.follow(way, begin)
    arm.until(begin)
    for _ in range(99):
        reference, expected = arm.state().reference, way.sample(arm.t - begin)
        np.testing.assert_allclose(reference.q, expected.q, atol=1e-9)
        np.testing.assert_allclose(reference.qd, expected.qd, atol=1e-9)


@pytest.mark.parametrize("newer", ["follow", "track", "hold"])
def test_what_is_newer_replaces_what_has_not_started(newer):
    arm = Arm()
    arm.loop.follow(rest_to_rest([GOAL], [1.0]), arm.t + 0.2)
    other = Q + 0.1 * (newer != "hold")
    if newer == "follow":
        arm.loop.follow(rest_to_rest([other], [0.1]))
    elif newer == "track":
        arm.loop.track(Reference(other, ZERO, ZERO, ZERO), arm.t + 100.0)
    else:
        arm.loop.hold(arm.t)
    np.testing.assert_allclose(arm.until(arm.t + 2.0)[-1].reference.q, other, rtol=1e-12)


def test_some_joints_move_and_the_others_stay():
    arm = Arm()
    arm.loop.follow(rest_to_rest([[-0.7, 1.1]], [1.0]), joints=["joint3", "joint1"])
    arm.until(arm.t + 1.1)
    np.testing.assert_allclose(arm.state().reference.q, [1.1, Q[1], -0.7], rtol=1e-12)
    one = np.array([Q[1] + 0.04])
    arm.loop.track(Reference(one, one, one, one), arm.t, joints=["joint2"])
    reference = arm.state().reference
    np.testing.assert_allclose(reference.q, [1.1, one[0], -0.7], rtol=1e-12)
    for values in reference[1:]:
        np.testing.assert_array_equal(values, [0.0, one[0], 0.0])


@pytest.mark.parametrize(
    ("joints", "count"),
    [(["joint1", "elbow"], 2), (["joint1", "joint1"], 2), (["joint1"], 2), (None, 2), ([*NAMES, ""], 4)],
)
def test_joints_that_do_not_fit(joints, count):
    arm = Arm()
    with pytest.raises(InputError):
        arm.loop.follow(rest_to_rest(np.zeros((1, count)), [1.0]), joints=joints)
    with pytest.raises(InputError):
        arm.loop.track(Reference(*np.zeros((4, count))), arm.t, joints=joints)
    np.testing.assert_array_equal(arm.state().reference.q, Q)


def test_a_reference_of_no_joint_changes_nothing():
    """An empty message, or one that names locked joints only, must not stop a motion."""
    arm = Arm()
    following = arm.loop.follow(rest_to_rest([Q + 0.3], [1.0]))
    arm.until(arm.t + 0.5)
    before = arm.state().reference
    with pytest.raises(InputError, match="names none that is controlled; the arm has joint1, joint2, joint3"):
        arm.loop.track(Reference(*np.zeros((4, 0))), arm.t, joints=[])
    after = arm.state().reference
    assert following.outcome is None and (after.q > before.q).all() and (after.qd > 0.0).all()


def test_a_reference_does_not_jump_where_there_is_no_velocity_limit():
    arm = Arm(velocity_limit=np.full(3, np.inf))
    with pytest.raises(InputError, match=r"'joint2' jumps from -0.2 to 0.8.*no velocity limit"):
        arm.loop.track(Reference(Q + [0.0, 1.0, 0.0], ZERO, ZERO, ZERO), arm.t)
    arm.loop.track(Reference(Q + 0.04, ZERO, ZERO, ZERO), arm.t)
    np.testing.assert_array_equal(arm.state().reference.q, Q + 0.04)


def test_a_speed_before_the_clock_went_back_is_not_recent():
    """Else an arm that stands is predicted to move, and is let go without states."""
    arm = Arm()
    arm.until(arm.t + 1.0)
    set_clock_back(arm.loop)
    arm.t = 0.0
    arm.state()
    np.testing.assert_array_equal(arm.loop.memory().recent_speed, np.abs(QD))


def test_a_loop_starts_at_a_column_of_a_matrix():
    arm = Arm(start=False)
    arm.loop.start(arm.t, np.column_stack((Q, GOAL))[:, 0])
    np.testing.assert_array_equal(arm.loop.expected(0.0)[1].q, Q)


@pytest.mark.parametrize("limit", [0.5, 2.0])
def test_a_stream_under_way_keeps_to_velocity_limits_that_change(limit):
    arm = Arm(config=SafetySettings(stream_timeout=10.0), velocity_limit=np.ones(3))
    arm.loop.track(Reference(Q + [0.0, 2.5, 0.0], ZERO, ZERO, ZERO), arm.t)
    arm.until(arm.t + 1.0)
    settings = arm.loop.settings
    arm.loop.apply(settings._replace(limits=replace(settings.limits, velocity=np.full(3, limit))))
    assert arm.until(arm.t + 0.5)[-1].reference.qd[1] == pytest.approx(0.9 * limit, rel=0.2)


@pytest.mark.parametrize("effort", [1e308, 20.1, -20.1])
def test_a_feed_forward_effort_beyond_the_limit_is_refused(effort):
    arm = Arm(limit=[500.0, 500.0, 20.0])
    with pytest.raises(LimitError, match=r"effort: joint 'joint3' .*20"):
        arm.loop.track(Reference(Q, ZERO, ZERO, np.array([0.0, 0.0, effort])), arm.t)
    assert arm.loop.mode == "hold"


def test_after_its_timeout_a_stream_is_expected_to_stay_where_it_is():
    arm = Arm()
    arm.loop.track(Reference(Q + 0.02, QD, ZERO, ZERO), arm.t)
    now = arm.state().reference.q
    after = arm.loop.planned(arm.t + 60.0)
    np.testing.assert_array_equal(after.q, now)
    assert not after.qd.any()


def test_of_two_targets_between_two_states_the_later_one_counts():
    """They are no motion of the target within no time."""
    paths = []
    for targets in (([0.2], [0.4, 0.4005]), ([0.2], [0.4005])):
        arm = Arm(config=SafetySettings(stream_timeout=10.0))
        for part in targets:
            for away in part:
                arm.loop.track(Reference(Q + away, ZERO, ZERO, ZERO), arm.t)
            arm.state()
        paths.append([command.reference.q for command in arm.until(arm.t + 1.5)])
    assert np.isfinite(paths[0]).all()
    np.testing.assert_array_equal(paths[0], paths[1])


@pytest.mark.parametrize("targets", [(0.0, 0.3), (0.3, 0.03)])
def test_a_stream_that_has_just_jumped_is_led_to_where_it_stays(targets):
    """Its jump is no velocity, and it has not arrived because a step back is short."""
    arm, path = Arm(config=SafetySettings(stream_timeout=10.0)), [Q, Q]
    for away in targets:
        arm.loop.track(Reference(Q + away, ZERO, ZERO, ZERO), arm.t)
        path.append(arm.state().reference.q)
    path += [command.reference.q for command in arm.until(arm.t + 1.0)]
    assert np.abs(np.diff(path, 2, axis=0)).max() == pytest.approx(4.0 * PERIOD**2)
    np.testing.assert_array_equal(path[-1], Q + targets[-1])


def test_a_stream_is_tracked_until_it_dries_up():
    arm = Arm(config=SafetySettings(stream_timeout=0.2, reference_jump=10.0))
    reference = Reference(GOAL, np.full(3, 0.1), np.full(3, 0.2), np.full(3, 5.0))
    arm.loop.track(reference, arm.t)
    begin = arm.t
    command = arm.until(begin + 0.19)[-1]
    assert arm.loop.mode == "track"
    for ours, given in zip(command.reference, reference, strict=True):
        np.testing.assert_array_equal(ours, given)
    np.testing.assert_array_equal(command.efforts.feedforward, 5.0)
    arm.loop.stand_still()
    standing = arm.state(after=0.0).reference
    np.testing.assert_array_equal([standing.q, standing.qd, standing.effort], [GOAL, ZERO, np.full(3, 5.0)])
    arm.t = begin + 0.2 - PERIOD
    there = Q + 0.05
    late = arm.state(there, after=PERIOD * 1.01)
    assert arm.loop.mode == "hold"
    np.testing.assert_array_equal(late.reference.q, there)
    np.testing.assert_array_equal(late.reference.effort, ZERO)
    assert arm.loop.restarts == 0


class Foresight(GravityCompensation):
    """It keeps what the loop tells laws that plan."""

    def look_ahead(self, expected, effort_limit):
        self.expected = expected


def test_a_law_that_plans_is_told_the_references_to_come():
    law = Foresight(DYNAMICS, 100.0, 20.0)
    arm = Arm(start=False)
    arm.loop.apply(arm.loop.settings._replace(controller=law))
    arm.state()
    way, begin = rest_to_rest([Q, GOAL], [0.0, 1.0]), arm.t
    arm.loop.follow(way)
    arm.until(begin + 0.2)
    for ahead in (0.0, 0.3, 2.0):
        reference, expected = law.expected(ahead), way.sample(0.2 + ahead)
        np.testing.assert_allclose([reference.q, reference.qd], [expected.q, expected.qd], atol=1e-9)
    arm.until(begin + 1.1)
    velocity = np.array([0.2, -0.3, 0.1])
    arm.loop.track(Reference(GOAL, velocity, ZERO, ZERO), arm.t + 1.0)
    arm.state()
    np.testing.assert_allclose(law.expected(0.4).q, GOAL + 0.4 * velocity, atol=1e-9)


def test_a_trajectory_takes_over_from_a_stream():
    """At once, from its motion; later than it would last, from a hold."""
    arm = Arm()
    moving = Reference(Q, np.array([0.5, 0.0, -0.5]), ZERO, ZERO)
    arm.loop.track(moving, arm.t)
    arm.loop.follow(rest_to_rest([GOAL], [1.0]))
    np.testing.assert_allclose(arm.state(after=0.0).reference.qd, moving.qd, rtol=1e-9, atol=1e-15)
    arm = Arm()
    arm.loop.track(moving, arm.t)
    begin = arm.t + 2.0
    arm.loop.follow(rest_to_rest([GOAL], [1.0]), begin)
    assert arm.loop.mode == "hold"
    waiting = arm.until(begin)
    assert is_smooth([*waiting, *arm.until(begin + 1.0)], waiting[0], speed=15 / 8 * 1.1)
    arm.loop.track(Reference(GOAL, np.array([0.0, -2.0, 0.0]), ZERO, ZERO), arm.t)
    fast = GOAL + 0.1 * DYNAMICS.robot.velocity_limit / 1.9  # within the limits from rest, 15 / 8 of the mean speed
    arm.loop.follow(rest_to_rest([fast], [0.1]), arm.t + 2.0)


def test_loops_that_end_leave_no_memory_behind():
    sizes = []
    for _ in range(60):
        arm = Arm()
        arm.state()
        arm.loop.follow(rest_to_rest([Q + 0.1], [0.5]))
        arm.loop.hold(arm.t)
        del arm
        sizes.append(heap_size())
    assert (sizes[-1] - sizes[19]) / 40 < 500  # the memory of the loop alone has 6 kB


def test_each_trajectory_is_freed_when_it_is_used_no_more(monkeypatch):
    arm, freed = Arm(), []
    destroy = arm.loop.core.library.core_trajectory_destroy
    freeing = lambda address: (destroy(address), freed.append(address))  # noqa: E731
    monkeypatch.setattr(arm.loop.core.library, "core_trajectory_destroy", freeing)
    for start in [None, arm.t + 5.0] * 6:  # the one that is followed, and the next
        arm.loop.follow(rest_to_rest([GOAL], [1.0]), start)
    assert len(freed) == 10


@pytest.mark.parametrize(
    "bad",
    [
        {"q": np.array([0.0, np.nan, 0.0])},
        {"qd": np.zeros(2)},
        {"qdd": np.full(3, np.inf)},
        {"effort": np.full(3, np.nan)},
    ],
)
def test_a_stream_of_bad_references_is_refused(bad):
    arm = Arm()
    with pytest.raises(InputError, match=f"reference.{next(iter(bad))}"):
        arm.loop.track(Reference(Q, ZERO, ZERO, ZERO)._replace(**bad), arm.t)
    assert arm.loop.mode == "hold"


def test_references_outside_the_limits_are_refused():
    """The limits of every joint are -2.5 and 2.75."""
    arm = Arm()
    outside = np.array([0.0, 2.76, 0.0])
    asks = [
        lambda: arm.loop.track(Reference(outside, ZERO, ZERO, ZERO), arm.t),
        lambda: arm.loop.follow(rest_to_rest([GOAL, outside, GOAL], [1.0, 2.0, 3.0])),
        lambda: arm.loop.follow(rest_to_rest([[2.76]], [1.0]), joints=["joint2"]),
    ]
    for ask in asks:
        with pytest.raises(LimitError, match=r"'joint2' at 2.76 .*\[-2.5, 2.75\]") as caught:
            ask()
        assert (caught.value.joint, caught.value.value) == ("joint2", 2.76)
        assert (caught.value.lower, caught.value.upper) == (-2.5, 2.75)
        assert arm.loop.mode == "hold"
    at_limits = np.array([-2.5, 2.75, 0.0])
    arm.loop.follow(rest_to_rest([at_limits], [1.0]))
    np.testing.assert_array_equal(arm.until(arm.t + 1.1)[-1].reference.q, at_limits)


def test_a_joint_without_limits_is_asked_for_no_place_that_a_number_cannot_name():
    robot = rd.load_robot(arms.mechanism("R", (2.0,), (0.4,), (0.1,)).replace('"revolute"', '"continuous"'))
    loop = ControlLoop(GravityCompensation(rd.create_dynamics("rnea", robot), 100.0, 20.0), [1e4])
    loop.update(1.0, 1.0, [0.3], [0.0])
    for far in (2e6, 1e17, -1e308):
        with pytest.raises(LimitError, match="1e\\+06"):
            loop.follow(Trajectory([1.0], [[far]]))
        with pytest.raises(LimitError, match="1e\\+06"):
            loop.track(Reference(np.array([far]), np.zeros(1), np.zeros(1), np.zeros(1)), 1.0)


def test_a_prepared_trajectory_is_followed_from_wherever_the_arm_is_by_then():
    """Prepared from one state, followed from another, moving: the same path as if it had come then."""
    points = [[0.1, -0.4, 0.6], GOAL, [0.2, 0.0, 0.1]]
    ways = []
    for prepared_first in (True, False):
        arm = Arm()
        way = rest_to_rest(points, [1.0, 2.0, 3.5])
        ready = arm.loop.prepare(way) if prepared_first else None
        arm.loop.follow(rest_to_rest([GOAL], [1.0]))
        arm.until(arm.t + 0.4)
        arm.loop.follow_prepared(ready or arm.loop.prepare(way))
        ways.append([command.reference for command in arm.until(arm.t + 3.6)])
    np.testing.assert_array_equal(*ways)
    np.testing.assert_allclose(ways[0][-1].q, points[-1], rtol=1e-12)
    ready = arm.loop.prepare(way)
    limits = dataclasses.replace(arm.loop.settings.limits, velocity=np.full(3, 2.0))
    arm.loop.apply(arm.loop.settings._replace(limits=limits))
    with pytest.raises(InputError, match="limits have changed"):
        arm.loop.follow_prepared(ready)


def test_an_arm_outside_its_limits_holds_there_and_can_be_led_back():
    arm = Arm(start=False)
    beyond = np.array([-2.5003, 0.1, 0.2])
    np.testing.assert_array_equal(arm.state(beyond).reference.q, beyond)
    arm.loop.follow(rest_to_rest([[0.5]], [1.0]), joints=["joint2"])
    arm.loop.follow(rest_to_rest([GOAL], [1.0]))
    np.testing.assert_allclose(arm.until(arm.t + 1.1)[-1].reference.q, GOAL, rtol=1e-12)


def test_a_motion_that_gravity_overloads_is_told_beforehand():
    """An arm that hangs is lifted to where its weight takes m g l of its drive."""
    text = """<robot name="lifter"><link name="base"/><link name="beam"><inertial><origin xyz="0 0 -0.7"/>
      <mass value="3"/><inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
      <joint name="lift" type="continuous"><parent link="base"/><child link="beam"/><axis xyz="0 1 0"/></joint>
      </robot>"""
    robot = rd.load_robot(text)
    needed = 3.0 * 9.81 * 0.7
    for limit, goal, allow, expected in (
        (1.01 * needed, np.pi / 2, False, ""),
        (0.8 * needed, 0.9, False, ""),
        (0.8 * needed, np.pi / 2, False, "joint 'lift', beyond its limit of 16.48, from 65% of the motion on, also at"),
        (0.8 * needed, 3.1, False, "from 40% of the motion on: the arm will not follow there"),
        (0.8 * needed, np.pi / 2, True, ""),
        (np.inf, np.pi / 2, False, ""),
    ):
        config = SafetySettings(externally_supported=allow)
        law = GravityCompensation(rd.create_dynamics("rnea", robot, compiled=False), 100.0, 20.0)
        loop = ControlLoop(law, [limit], config)
        loop.start(0.0, [0.0])
        goal = loop.follow(Trajectory([1.0, 9.0], [[0.0], [goal]]))
        assert expected in goal.overload
        assert bool(expected) == bool(goal.overload)
    stiff = rd.load_robot(text.replace("</joint>", '<dynamics damping="2" friction="7"/></joint>'))
    loop = ControlLoop(GravityCompensation(rd.create_dynamics("rnea", stiff, compiled=False), 100.0, 20.0), [10.0])
    loop.start(0.0, [0.0])
    # 7 N·m, 2 N·m·s times 0.1 rad/s, and the weight at 95 % of the way: 5.79 N·m at 0.285 rad.
    assert "take up to 12.99 N·m of joint 'lift'" in loop.follow(Trajectory([0.0, 3.0], [[0.0], [0.3]])).overload


def test_a_law_takes_what_it_remembers_to_others_that_run_the_periods_and_back():
    found = [], []
    for others in (0, 1):
        law = rd.create_controller("disturbance_observer", DYNAMICS, 100.0, 20.0)
        loop = ControlLoop(law, np.full(3, 1e3), SafetySettings(**UNMOVED))
        for first in (0, 20, 40):
            law.disturbance = 0.5 * law.disturbance  # as whoever knows better may say
            by_others = others and first == 20
            if by_others:
                loop.release(loop.core.request, judged=True)
            for k in range(first, first + 20):
                q, qd, t = Q + 1e-3 * k, QD * (k % 3), PERIOD * k
                if by_others:
                    loop.core.period.q[:], loop.core.period.qd[:], loop.core.times[:2] = q, qd, t
                    assert loop.core.run() == 0
                else:
                    loop.update(t, t, q, qd)
                found[others].append(loop.core_settings.rows[0].copy())
                if k == first + 10:
                    loop.memory()
                    found[others].append(law.disturbance.copy())
            if by_others:
                loop.acquire()
    np.testing.assert_array_equal(*found)


@pytest.mark.parametrize("name", ["adaptive", "disturbance_observer", "hand_guiding"])
def test_a_law_that_was_replaced_is_not_changed_by_the_one_that_took_over(name):
    before, after = (rd.create_controller(name, DYNAMICS, kp, 20.0) for kp in (100.0, 121.0))
    loop, known = ControlLoop(before, np.full(3, 1e3), SafetySettings(**UNMOVED)), {}
    for k in range(100):
        if k == 50:
            loop.apply(loop.settings._replace(controller=after))
            known = {item: np.array(getattr(before, item)) for item in before.remembers}
        loop.update(PERIOD * k, PERIOD * k, Q + 1e-3 * k, QD * (k % 3))
    for item, value in known.items():
        np.testing.assert_array_equal(getattr(before, item), value)
    assert any((value != getattr(after, item)).any() for item, value in known.items())
