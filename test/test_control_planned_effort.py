# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Efforts in a trajectory: an arm that is on its reference gets what was planned, under every law."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import robodyn_ros as rd
from robodyn_ros.control.faults.settings import SafetySettings
from robodyn_ros.control.loop import ControlLoop
from robodyn_ros.control.motion.trajectory import Trajectory
from robodyn_ros.errors import LimitError

LAWS = ("pd", "gravity_compensation", "computed_torque", "impedance")
TIMES = np.linspace(0.0, 0.5, 26)


@pytest.fixture
def dynamics(prr):
    return rd.create_dynamics("rnea", rd.load_robot(prr))


def motion(dynamics, extra=0.0, efforts=True, first=0.0):
    """From rest to rest, by the quintic's derivatives; with the efforts that it takes, and so much more."""
    way, u = np.array([0.4, -0.6, 0.5]), (TIMES / TIMES[-1])[:, None]
    T = TIMES[-1]
    q = np.array([0.5, 0.2, 0.1]) + (10 * u**3 - 15 * u**4 + 6 * u**5) * way
    qd = (30 * u**2 - 60 * u**3 + 30 * u**4) * way / T
    qdd = (60 * u - 180 * u**2 + 120 * u**3) * way / T**2
    return Trajectory(TIMES + first, q, qd, qdd, dynamics.inverse(q, qd, qdd) + extra if efforts else None)


def loop(dynamics, law):
    # The arm of these tests is on its reference wherever that is, so that no effort drives it.
    config = SafetySettings(soft_limit_margin=0.0, plausibility=False)
    return ControlLoop(rd.create_controller(law, dynamics, 1.0, 0.5), np.full(3, np.inf), config)


def followed(control, trajectory, **options):
    """The commands of an arm that is always exactly on its reference."""
    control.start(0.0, trajectory.positions[0])
    control.update(0.0, 0.0, trajectory.positions[0], np.zeros(3))
    control.follow(trajectory, 0.0, **options)
    samples = [trajectory.sample(float(t)) for t in TIMES[1:-1]]
    return np.array(
        [control.update(float(t), float(t), s.q, s.qd).effort for t, s in zip(TIMES[1:], samples, strict=False)]
    )


@pytest.mark.parametrize("law", LAWS)
def test_on_the_reference_the_command_is_what_was_planned(dynamics, law):
    extra = np.array([7.0, -1.5, 0.4])  # friction, say, that the law's model lacks
    trajectory = motion(dynamics, extra)
    assert_allclose(followed(loop(dynamics, law), trajectory), trajectory.efforts[1:-1], atol=1e-9)


@pytest.mark.parametrize("first", [0.0, 0.09])
def test_between_two_points_the_command_is_on_the_straight_line(dynamics, first):
    """Before the first point nothing is planned."""
    trajectory = motion(dynamics, np.array([7.0, -1.5, 0.4]), first=first)
    control, begin = loop(dynamics, "gravity_compensation"), 3.0
    control.update(begin, begin, trajectory.positions[0], np.zeros(3))
    control.follow(trajectory, begin)
    for t in np.arange(0.007, 0.49 + first, 0.007):
        sample = trajectory.sample(t)
        left = dynamics.gravity(sample.q)
        planned = [np.interp(t, TIMES + first, column, g) for column, g in zip(trajectory.efforts.T, left, strict=True)]
        assert_allclose(control.update(begin + t, begin + t, sample.q, sample.qd).effort, planned, atol=1e-9)


def test_joints_that_the_plan_leaves_out_get_what_the_law_gives(dynamics):
    whole = motion(dynamics)
    part = Trajectory(*(x if x.ndim == 1 else x[:, [2]] for x in (whole.times, whole.positions, whole.velocities)))
    part = Trajectory(part.times, part.positions, part.velocities, whole.accelerations[:, [2]], np.full((26, 1), 3.0))
    control = loop(dynamics, "gravity_compensation")
    control.start(0.0, whole.positions[0])
    control.update(0.0, 0.0, whole.positions[0], np.zeros(3))
    control.follow(part, 0.0, ["wrist"])
    q, qd = whole.positions[0].copy(), np.zeros(3)
    sample = part.sample(0.08)
    q[2], qd[2] = sample.q[0], sample.qd[0]
    effort = control.update(0.08, 0.08, q, qd).effort
    assert_allclose(effort, [*dynamics.gravity(q)[:2], 3.0], atol=1e-9)


def test_at_the_end_a_hold_takes_over(dynamics):
    """The last effort of a motion may brake the arm; held, it would drive it away."""
    trajectory = motion(dynamics, extra=np.array([50.0, 5.0, 2.0]))
    control = loop(dynamics, "gravity_compensation")
    followed(control, trajectory)
    end = trajectory.positions[-1]
    assert_allclose(control.update(0.5, 0.5, end, np.zeros(3)).effort, dynamics.gravity(end), atol=1e-9)


def test_other_gains_change_no_effort_of_an_arm_on_a_planned_reference(dynamics):
    """What is blended in is the difference of the laws' efforts; on the reference both give what was planned."""
    trajectory, control = motion(dynamics, np.array([7.0, -1.5, 0.4])), loop(dynamics, "pd")
    control.start(0.0, trajectory.positions[0])
    control.update(0.0, 0.0, trajectory.positions[0], np.zeros(3))
    control.follow(trajectory, 0.0)
    for k, t in enumerate(TIMES[1:-1].tolist(), 1):
        if k in (6, 9):
            control.apply(control.settings._replace(controller=rd.create_controller("pd", dynamics, float(k), 0.7)))
        sample = trajectory.sample(t)
        assert_allclose(control.update(t, t, sample.q, sample.qd).effort, trajectory.efforts[k], atol=1e-9)


@pytest.mark.parametrize(("joint", "side"), [(0, 1.0), (1, -1.0), (2, 1.0)])
def test_planned_efforts_beyond_what_a_drive_gives_are_refused(dynamics, joint, side):
    """By more than a thousandth, the tolerance of a planner."""
    whole, limit = motion(dynamics), np.array([2e3, 500.0, 90.0])
    law, safety = rd.create_controller("pd", dynamics, 1.0, 0.5), SafetySettings(externally_supported=True)

    def follow(limits, effort):
        efforts = whole.efforts.copy()
        efforts[7, joint] = side * effort
        control = ControlLoop(law, limits, safety)
        control.start(0.0, whole.positions[0])
        control.follow(Trajectory(whole.times, whole.positions, whole.velocities, whole.accelerations, efforts), 0.0)

    name, most = dynamics.robot.joint_names[joint], limit[joint]
    follow(limit, 1.0009 * most)
    with pytest.raises(LimitError, match=f"joint '{name}' at {side * 1.0011 * most:.5g}.*{most:.4g}"):
        follow(limit, 1.0011 * most)
