# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Motions from rest to rest: as quick as speed, effort with friction, and the rate of the commands allow."""

import re

import numpy as np
import pytest
from arms import joint, link, robot
from truth import Pinocchio

from robodyn_ros import create_dynamics, load_robot, simulate
from robodyn_ros.control.motion.point_to_point import LAG, point_to_point
from robodyn_ros.errors import InputError
from robodyn_ros.simulation.trial import tracking_error


def arm(friction: str = "", effort: tuple[float, float, float] = (31.0, 23.0, 7.0), speed: float = 900.0) -> str:
    """Three joints, whose axes, masses and limits all differ; the last one is light."""
    bodies = [
        link("base"),
        link("upper", 2.1, (0.02, -0.03, 0.21), (0.031, 0.001, 0.002, 0.029, -0.001, 0.004)),
        link("fore", 1.3, (0.16, 0.02, -0.01), (0.003, 0.0004, 0.0, 0.017, 0.0002, 0.016)),
        link("hand", 0.07, (0.03, 0.004, 0.011), (2e-5, 1e-6, 0.0, 4e-5, 2e-6, 5e-5)),
    ]
    places = ((0.0, 0.1, 0.2), (0.05, 0.0, 0.4), (0.33, -0.02, 0.01))
    axes = ((0.1, 0.2, 0.97), (0.05, 1.0, -0.1), (0.3, 0.9, 0.4))
    names = ("base", "upper", "fore", "hand")
    joints = [
        joint(
            f"j{i}",
            "revolute",
            names[i],
            names[i + 1],
            axes[i],
            places[i],
            (0.1 * i, 0.0, -0.2 * i),
            (-2.0 - 0.1 * i, 2.2 + 0.1 * i, speed + i, effort[i]),
            extra=friction,
        )
        for i in range(3)
    ]
    return robot("strong", *bodies, *joints)


GOAL = np.array([0.8, -0.9, 1.1])
"""Where the arm goes from zero [rad]."""


def needed(dynamics, motion, damping, friction):
    """The efforts of a motion against everything, (K, n), by Pinocchio."""
    truth = Pinocchio(dynamics.robot, (0.0, 0.0, -9.81))
    samples = [motion.sample(t) for t in np.linspace(0.0, motion.duration, 401)]
    rigid = np.array([truth.inverse(*sample) for sample in samples])
    qd = np.array([sample.qd for sample in samples])
    return rigid + damping * qd + friction * np.sign(qd)


@pytest.mark.parametrize("of_the_model", [False, True])
def test_efforts_include_the_friction_of_the_model_or_else_of_the_urdf(of_the_model):
    text = arm("" if of_the_model else '<dynamics damping="0.7" friction="3.1"/>')
    parameters = {"viscous": [0.7] * 3, "coulomb": [3.1] * 3} if of_the_model else {}
    dynamics = create_dynamics("rnea", load_robot(text), compiled=False, **parameters)
    motion = point_to_point(dynamics, np.zeros(3), GOAL)
    used = np.abs(needed(dynamics, motion, 0.7, 3.1)) / (0.8 * dynamics.robot.effort_limit)
    assert 0.98 < used.max() < 1.003


def test_a_joint_that_cannot_overcome_its_friction_is_named():
    dynamics = create_dynamics("rnea", load_robot(arm('<dynamics friction="6.1"/>')), compiled=False)
    said = re.escape("joint 'j2' would need") + r" 6\.\d+ N·m \(6\.1 of it against friction\), and may use 5\.6 N·m"
    with pytest.raises(InputError, match=said):
        point_to_point(dynamics, np.zeros(3), GOAL)


def test_without_any_limit_no_time_is_the_shortest():
    """It was 0.02 s. A limit of one joint is enough, or the rate of the commands, or a joint that stays."""
    dynamics, goal = create_dynamics("rnea", load_robot(arm()), compiled=False), np.array([0.8, 0.0, 1.1])
    none = {"velocity_limit": np.array([np.inf, 9.0, np.inf]), "effort_limit": np.inf}
    with pytest.raises(InputError, match=r"velocity_limit: each joint that moves \('j0', 'j2'\) has none"):
        point_to_point(dynamics, np.zeros(3), goal, **none)
    assert point_to_point(dynamics, goal, goal, **none).duration == 0.02
    limited = none | {"velocity_limit": np.array([np.inf, np.inf, 2.0])}
    assert point_to_point(dynamics, np.zeros(3), goal, **limited).duration == pytest.approx(15 / 8 * 1.1 / 1.6)
    assert point_to_point(dynamics, np.zeros(3), goal, **none, period=2e-3).duration > 0.1


@pytest.mark.parametrize("rate", [200.0, 500.0])
@pytest.mark.parametrize("friction", ["", '<dynamics damping="0.9" friction="1.1"/>'], ids=["free", "viscous"])
def test_commands_at_a_rate_keep_a_light_and_strong_arm_on_its_path(rate, friction):
    robot = load_robot(arm(friction, effort=(310.0, 230.0, 70.0)))
    result = simulate(robot, GOAL, parameters={"state_rate": rate})
    errors = np.abs(tracking_error(result.trial)[1]).max(axis=0)
    assert 0.7 * LAG < max(errors) < 1.2 * LAG  # it is as quick as that allows, and no quicker


def test_the_period_slows_only_what_is_too_quick_for_it():
    dynamics = create_dynamics("rnea", load_robot(arm(effort=(310.0, 230.0, 70.0))))
    free = point_to_point(dynamics, np.zeros(3), GOAL).duration
    slow, slower = (point_to_point(dynamics, np.zeros(3), GOAL, period=T).duration for T in (0.002, 0.004))
    assert free < 0.5 * slow < 0.5 * slower
    assert point_to_point(dynamics, np.zeros(3), GOAL, period=1e-7).duration == free
    with pytest.raises(InputError, match="period: must be 0 s or more, not -1"):
        point_to_point(dynamics, np.zeros(3), GOAL, period=-1.0)


def test_light_joints_with_friction_do_not_stick_at_the_ends_of_a_motion():
    result = simulate(load_robot(arm('<dynamics damping="0.9" friction="1.1"/>', speed=0.2)), GOAL)
    assert np.abs(tracking_error(result.trial)[1]).max() < 2e-3
