# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""An arm that moves under the loop: soft limits, efforts that are cut, and tolerances.

The arm is integrated here, by semi-implicit Euler on the equations of motion.
"""

from dataclasses import replace

import arms
import numpy as np
import pytest

import robodyn_ros as rd
from robodyn_ros.control import ControlLoop, Reference, SafetySettings, Trajectory, rest_to_rest
from robodyn_ros.control.faults.settings import Feedback
from robodyn_ros.control.laws.gains import gains
from robodyn_ros.control.laws.gravity_compensation import GravityCompensation
from robodyn_ros.control.limits import HELD, POSES, StaticLoad, overload
from robodyn_ros.control.motion.goals import RESULTS, ActionGoal, GoalSettings, JointTolerances, Tolerances
from robodyn_ros.control.step import LEAD, soften, step_settings
from robodyn_ros.errors import ConfigurationError
from robodyn_ros.robot.configuration import random_positions

ROBOT = rd.load_robot(arms.PRR)
DYNAMICS = rd.create_dynamics("rnea", ROBOT)
Q, ZERO = np.array([0.3, -0.2, 0.5]), np.zeros(3)
STEP, OMEGA = 0.001, 12.0
HOME = np.zeros(3)


class Arm:
    """An arm and its loop, one command a step."""

    def __init__(self, law="computed_torque", limit=np.inf, q=Q, tolerances=None, **settings):
        kind = rd.plugins.load("controllers", law)
        controller = kind(DYNAMICS, *gains(kind, DYNAMICS, HOME, OMEGA, 1.0))
        feedback = Feedback(*gains(GravityCompensation, DYNAMICS, HOME, OMEGA, 1.0)[:2])
        limit, config = np.broadcast_to(limit, 3), SafetySettings(**settings)
        self.loop = ControlLoop(controller, limit, config, feedback=feedback, tolerances=tolerances)
        self.t, self.q, self.qd = 1.0, q, ZERO
        self.path, self.commands = [q], []

    def go(self, duration, push=ZERO):
        """Go on, with something that pushes the arm, (3,)."""
        for _ in range(round(duration / STEP)):
            command = self.loop.update(self.t, self.t, self.q, self.qd)
            self.qd = self.qd + STEP * DYNAMICS.forward(self.q, self.qd, command.effort + push)
            self.q = self.q + STEP * self.qd
            self.t += STEP
            self.path.append(self.q)
            self.commands.append(command)
        return np.array(self.path[-round(duration / STEP) :])


# Soft limits


def test_soft_limits_keep_their_law():
    """Nothing beyond a hold at the limit, towards it and within the margin; everything else is left alone."""
    feedback, margin = Feedback(np.array([50.0, 40.0, 30.0]), np.array([8.0, 7.0, 6.0])), 0.1
    settings = step_settings(Arm(soft_limit_margin=margin).loop.settings._replace(feedback=feedback))
    rng = np.random.default_rng(2)
    cut = 0
    for _ in range(2000):
        q = rng.choice([rng.uniform(ROBOT.lower, ROBOT.upper), ROBOT.upper - rng.uniform(-0.1, 0.15, 3)])
        q = q if rng.integers(2) else ROBOT.lower + (ROBOT.upper - q)
        qd, gravity, wanted = rng.uniform(-2, 2, 3), rng.uniform(-30, 30, 3), rng.uniform(-60, 60, 3)
        given = soften(wanted, q, qd, gravity, settings)
        for i in range(3):
            expected = wanted[i]
            for limit, sign in ((ROBOT.upper[i], 1.0), (ROBOT.lower[i], -1.0)):
                distance = sign * (limit - q[i])
                if distance < margin:
                    most = sign * gravity[i] + feedback.stiffness[i] * max(0.0, distance)
                    most -= feedback.damping[i] * sign * qd[i]
                    expected = sign * min(sign * expected, most)
            assert given[i] == pytest.approx(expected, rel=1e-12, abs=1e-12)
            cut += given[i] != wanted[i]
    assert cut > 500


def test_an_arm_is_held_at_its_limit_as_anywhere():
    """The weight is carried there too, also the one that pulls away from the limit."""
    for limit in (ROBOT.upper, ROBOT.lower):
        arm = Arm("gravity_compensation", q=limit - 1e-4 * np.sign(limit))
        path = arm.go(0.5)
        np.testing.assert_allclose(path, np.tile(path[0], (500, 1)), atol=1e-6)


def test_without_a_position_an_eighth_of_the_poses_has_to_be_held():
    """The rail's weight is the same in each of them."""
    weights = np.abs(DYNAMICS.gravity(np.array([ROBOT.home, *random_positions(ROBOT, POSES - 1)])))
    found = StaticLoad.anywhere(DYNAMICS, carried=False)
    assert HELD * POSES == 8.0
    assert np.count_nonzero(weights <= found.gravity, axis=0).tolist() == [POSES, 8, 8]


# Efforts that are cut


def test_a_trajectory_waits_for_an_arm_that_cannot_keep_up():
    """Its efforts are cut on the way; the reference keeps within the lead, and the end is still reached."""
    weight = DYNAMICS.gravity(Q)[0]
    arm = Arm(limit=[1.1 * weight, 1e3, 1e3])
    goal = Q + [1.0, 0.0, 0.0]
    arm.go(0.01)
    going = arm.loop.follow(rest_to_rest([goal], [0.9]))
    arm.go(0.9)
    lead = max(command.error[0] for command in arm.commands)
    assert any(command.saturated[0] for command in arm.commands)
    assert LEAD < lead < LEAD + 0.03
    while going.outcome is None:
        arm.go(STEP)
    assert going.outcome == "succeeded"
    np.testing.assert_allclose(arm.commands[-1].reference.q, goal, atol=1e-9)  # it is late, and so is its end
    arm.go(2.0)
    assert abs(arm.q[0] - goal[0]) < 0.02


# Tolerances


def test_a_tolerance_of_0_in_the_settings_is_none():
    arm, joints = GoalSettings(0.0, 0.5), [JointTolerances(0.1, 0.0), JointTolerances(0.0, 0.2)]
    found = Tolerances.of(arm, joints)
    assert (found.path.tolist(), found.goal.tolist()) == ([0.1, np.inf], [np.inf, 0.2])
    assert (found.speed, found.time, Tolerances.of(GoalSettings(0.3), joints).speed) == (np.inf, 0.5, 0.3)


@pytest.mark.parametrize(
    ("tolerance", "value", "of", "told"),
    [
        ("path", 0.02, lambda c: c.error, "{:.4g} rad from its reference; its path tolerance is 0.02 rad"),
        (
            "path_speed",
            0.1,
            lambda c: c.reference.qd - c.state[1],
            "{:.4g} rad/s from the velocity of its reference; its path tolerance is 0.1 rad/s",
        ),
    ],
)
def test_leaving_the_path_stops_the_arm_where_it_is(tolerance, value, of, told):
    arm = Arm(tolerances=replace(Tolerances.none(3), **{tolerance: np.array([np.inf, value, np.inf])}))
    arm.go(0.01)
    going = arm.loop.follow(rest_to_rest([Q + 0.3], [0.8]))
    arm.go(0.3, push=np.array([0.0, 20.0, 0.0]))
    assert going.outcome == "path tolerance violated"
    stopped = next(i for i, c in enumerate(arm.commands) if abs(of(c)[1]) > value)
    away = abs(of(arm.commands[stopped])[1])
    joint = arm.loop.robot.joint_names[1]
    assert ActionGoal(going).result.text == f"joint {joint!r} is {told.format(away)}; the arm is held where it was"
    assert arm.loop.mode == "hold"
    np.testing.assert_allclose(arm.commands[-1].reference.q, arm.path[stopped], atol=1e-12)


def test_how_else_a_trajectory_ends():
    arm = Arm()
    arm.go(0.01)
    way = rest_to_rest([Q + 0.1], [0.5])
    first = arm.loop.follow(way)
    second = arm.loop.follow(way)
    arm.loop.track(Reference(Q, ZERO, ZERO, ZERO), arm.t)
    third = arm.loop.follow(way)
    arm.loop.hold(arm.t)
    fourth = arm.loop.follow(way)
    arm.t += 0.2
    arm.go(STEP)
    fifth = arm.loop.follow(way)
    arm.loop.stop()
    ended = [going.outcome for going in (first, second, third, fourth, fifth)]
    assert ended == ["replaced", "replaced", "held", "interrupted", "stopped"]
    assert "deactivate" in RESULTS[ended[-1]].text
    with pytest.raises(ConfigurationError):
        JointTolerances(goal=-1.0)


def test_the_last_point_is_held_for_the_command_timeout():
    arm = Arm("pd", cmd_timeout=0.5)  # sags, so that where it is and where it should be differ
    arm.go(0.01)
    arm.loop.follow(rest_to_rest([Q + 0.1], [0.3]))
    arm.go(0.75)
    np.testing.assert_allclose(arm.commands[-1].reference.q, Q + 0.1, rtol=1e-12)
    arm.go(0.1)
    held = arm.commands[-1].reference.q
    assert np.abs(held - Q - 0.1).max() > 0.01
    assert min(np.abs(path - held).max() for path in arm.path) < 1e-12


def test_speed_between_points_is_found_exactly():
    rng = np.random.default_rng(8)
    for count, derivatives in ((6, 0), (5, 1), (4, 2)):
        times = np.cumsum(rng.uniform(0.2, 1.0, count))
        shape = (derivatives + 1, count, 2)
        trajectory = Trajectory(times, *rng.uniform(-1.0, 1.0, shape))
        dense = np.array([trajectory.sample(t).qd for t in np.linspace(times[0], times[-1] - 1e-9, 8001)])
        np.testing.assert_allclose(trajectory.speed(np.zeros(2)), np.abs(dense).max(axis=0), rtol=1e-6)
        bound = trajectory.speed(np.full(2, np.inf))
        assert (bound >= np.abs(dense).max(axis=0)).all()


def test_the_joint_that_gravity_overloads_the_most_is_named_and_not_the_strongest():
    robot = rd.load_robot("prr")
    said = overload(robot, np.array([200.0, 30.0, 4.0]), np.array([[100.0, 29.0, 3.0], [150.0, 33.0, 8.0]]))
    assert said.startswith("gravity and friction alone take up to 8 N·m of joint 'wrist', beyond its limit of 4")
    assert overload(robot, np.array([200.0, 34.0, 9.0]), np.array([[-150.0, -33.0, -8.0]])) == ""
