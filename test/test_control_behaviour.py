# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""What the control loop promises, seen from outside: its public methods and the fields of its commands.

The law is compiled, or runs as Python: both keep to the same promises. States are made here, one a period.
"""

from dataclasses import replace

import arms
import numpy as np
import pytest
from numpy.testing import assert_allclose
from numpy.typing import ArrayLike

import robodyn_ros as rd
from robodyn_ros.control import Command, ControlLoop, GravityCompensation, SafetySettings, rest_to_rest
from robodyn_ros.control.motion.goals import Tolerances, TrajectoryGoal

ROBOT = rd.load_robot(arms.PRR)
DYNAMICS = rd.create_dynamics("rnea", ROBOT)
Q, ZERO = np.array([0.3, -0.2, 0.5]), np.zeros(3)
GOAL = np.array([0.5, 0.4, -0.1])
STIFFNESS, DAMPING, INTEGRAL = 1000.0, 20.0, 400.0
PERIOD = 0.01

BLOCKED = {"plausibility": False, "following_tolerance": 0.0, "externally_supported": True}
"""For an arm that stands or moves whatever drives it, with limits that do not carry it in every pose."""


class Arm:
    """A loop with a clock; the arm is where a test says."""

    def __init__(
        self,
        traced: bool,
        effort_limit: ArrayLike = (1e4, 1e4, 1e4),
        *,
        tolerances: Tolerances | None = None,
        **safety: float,
    ) -> None:
        law = GravityCompensation(DYNAMICS, STIFFNESS, DAMPING, INTEGRAL)
        law.traced = traced
        settings = replace(SafetySettings(**safety), blend_time=0.0, **BLOCKED)
        self.loop = ControlLoop(law, effort_limit, settings, tolerances=tolerances)
        self.t = 5.0
        self.loop.update(self.t, self.t, Q, ZERO)

    def state(self, q: np.ndarray, qd: np.ndarray = ZERO) -> Command:
        """The command for the next state."""
        self.t += PERIOD
        command = self.loop.update(self.t, self.t, q, qd)
        assert command is not None and command.fault is None, command
        return command

    def stay(self, q: np.ndarray, periods: int) -> list[Command]:
        """The commands for an arm that stands somewhere."""
        return [self.state(q) for _ in range(periods)]


both = pytest.mark.parametrize("traced", [True, False], ids=["compiled", "Python"])


# Integral action

SIDES = pytest.mark.parametrize("side", [1.0, -1.0])
JOINT, SPAN = 1, np.array([0.0, 0.05, 0.0])
LIMIT = np.array([1e3, 35.0, 1e3])  # an error of 0.05 rad asks for 50 N·m beside 3.8 N·m of weight


def integral(command: Command) -> float:
    """Of the error of a joint, as the effort of the law tells it [rad s]."""
    assert command.efforts is not None and command.error is not None
    return float((command.efforts.feedback - STIFFNESS * command.error)[JOINT] / INTEGRAL)


@both
@SIDES
def test_the_integral_grows_with_the_error_where_nothing_is_cut_to_its_limit(traced: bool, side: float) -> None:
    commands = Arm(traced, integral_limit=0.02).stay(Q - side * SPAN, 50)
    assert not any(command.saturated.any() for command in commands)
    grown = np.minimum(0.05 * PERIOD * np.arange(1, 51), 0.02)
    assert_allclose([integral(c) for c in commands], side * grown, rtol=1e-9)


@both
@SIDES
def test_the_integral_does_not_grow_where_the_effort_is_cut(traced: bool, side: float) -> None:
    """However long something holds the arm back, the loop goes on as if it had been for a moment."""
    found = []
    for periods in (5, 500):
        arm = Arm(traced, LIMIT, integral_limit=100.0)
        commands = arm.stay(Q - side * SPAN, periods)
        assert all(command.saturated[JOINT] for command in commands)
        assert_allclose([integral(c) for c in commands], side * 0.05 * PERIOD, rtol=1e-9)  # before the first was cut
        found.append([command.effort for command in arm.stay(Q, 20)])
    assert_allclose(found[0], found[1], rtol=1e-12)
    assert_allclose(found[0][-1][JOINT], DYNAMICS.gravity(Q)[JOINT] + side * INTEGRAL * 0.05 * PERIOD, rtol=1e-9)


@both
@SIDES
def test_the_integral_shrinks_while_the_effort_is_cut(traced: bool, side: float) -> None:
    """An error that asks for less is counted at once: only growth is held up."""
    arm = Arm(traced, LIMIT, integral_limit=100.0)
    grown = integral(arm.stay(Q - side * 0.4 * SPAN, 800)[-1])
    room = side * LIMIT[JOINT] - DYNAMICS.gravity(Q - side * 0.4 * SPAN)[JOINT]
    assert 0.0 <= side * (INTEGRAL * grown + side * 0.02 * STIFFNESS - room) <= INTEGRAL * 0.02 * PERIOD
    back = arm.stay(Q + side * 0.02 * SPAN, 100)
    assert_allclose([integral(c) for c in back], grown - side * 0.001 * PERIOD * np.arange(1, 101), rtol=1e-9)


@both
def test_after_a_fault_the_integral_begins_at_zero(traced: bool) -> None:
    arm = Arm(traced, integral_limit=100.0)
    assert integral(arm.stay(Q - SPAN, 50)[-1]) > 0.02
    arm.loop.set_publisher_conflict("two of them")
    arm.t += PERIOD
    reaction = arm.loop.update(arm.t, arm.t, Q - SPAN, ZERO)
    assert reaction is not None and reaction.fault is not None
    arm.loop.set_publisher_conflict("")
    arm.loop.hold(arm.t)
    assert_allclose([integral(command) for command in arm.stay(Q - SPAN, 5)], 0.0, rtol=0.0, atol=1e-15)


# The goal of a trajectory

JUDGED = Tolerances(np.full(3, np.inf), np.full(3, 0.02), speed=0.05, time=1.0)


def arrive(arm: Arm) -> TrajectoryGoal:
    """Follow a trajectory to the goal, up to the period before its end."""
    going = arm.loop.follow(rest_to_rest([GOAL], [1.0]))
    q, qd = Q, ZERO
    for _ in range(99):
        command = arm.state(q, qd)
        assert command.reference is not None and going.outcome is None
        q, qd = command.reference.q, command.reference.qd
    return going


def swing(arm: Arm, joint: int, speed: float, periods: int, going: TrajectoryGoal) -> list[str | None]:
    """One joint goes to and fro about the goal at constant speed, within the tolerance of position."""
    outcomes = []
    for k in range(periods):
        place, forth = (k % 10 - 5, 1.0) if k // 10 % 2 == 0 else (5 - k % 10, -1.0)
        q, qd = GOAL.copy(), np.zeros(3)
        q[joint] += speed * PERIOD * place
        qd[joint] = speed * forth
        arm.state(q, qd)
        outcomes.append(going.outcome)
    return outcomes


@both
@pytest.mark.parametrize("joint", range(3))
def test_a_goal_is_reached_only_at_rest(traced: bool, joint: int) -> None:
    """An arm that swings through its goal has not reached it, wherever it is."""
    arm = Arm(traced, tolerances=JUDGED)
    going = arrive(arm)
    assert set(swing(arm, joint, 0.06, 80, going)) == {None}
    assert swing(arm, joint, 0.04, 3, going)[-1] == "succeeded"
    arm = Arm(traced, tolerances=replace(JUDGED, speed=np.where(np.arange(3) == joint, np.inf, 0.05)))
    assert swing(arm, joint, 0.06, 3, arrive(arm))[-1] == "succeeded"


@both
def test_a_goal_is_reached_only_where_it_is(traced: bool) -> None:
    """An arm at rest beside its goal has not reached it either."""
    arm = Arm(traced, tolerances=JUDGED)
    going = arrive(arm)
    for joint in range(3):
        arm.stay(GOAL + 0.021 * np.eye(3)[joint], 20)
        assert going.outcome is None
    arm.stay(GOAL + 0.019, 3)
    assert going.outcome == "succeeded"


@both
def test_an_arm_that_does_not_come_to_rest_misses_its_goal(traced: bool) -> None:
    """After the time for it has passed, and not before."""
    arm = Arm(traced, tolerances=JUDGED)
    going = arrive(arm)
    outcomes = swing(arm, 1, 0.06, 120, going)
    assert set(outcomes[:99]) == {None}
    assert outcomes[-1] == "goal tolerance violated"
    joint = arm.loop.robot.joint_names[1]
    assert going.reason == f"joint {joint!r} moves at 0.06 rad/s at the goal; its goal tolerance is 0.05 rad/s"
