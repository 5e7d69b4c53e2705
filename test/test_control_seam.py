# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""A continuous joint under control, whose encoder counts from -π to π: nothing happens at the seam."""

import numpy as np
import pytest
from arms import joint, link, robot
from numpy.testing import assert_allclose

import robodyn_ros as rd
from robodyn_ros.control import ControlLoop
from robodyn_ros.control.laws.base import Reference
from robodyn_ros.control.motion.point_to_point import point_to_point
from robodyn_ros.control.motion.trajectory import Trajectory

DT = 0.002

TURRET = robot(
    "turret",
    link("base"),
    link("a", 2.0, (0.1, 0, 0), (0.01, 0, 0, 0.02, 0, 0.03)),
    joint("turret", "continuous", "base", "a", (0, 0, 1), limit=(0, 0, 4.0, 20.0)),
)


def wrapped(angle: float) -> float:
    return float(np.arctan2(np.sin(angle), np.cos(angle)))


class Turret:
    """A loop around exact integration of one joint, seen through an encoder that wraps."""

    def __init__(self, angle: float) -> None:
        self.dynamics = rd.create_dynamics("rnea", rd.load_robot(TURRET), compiled=False)
        law = rd.create_controller("computed_torque", self.dynamics, 400.0, 40.0)
        self.loop = ControlLoop(law, [20.0])
        self.angle, self.rate, self.time, self.errors = angle, 0.0, 0.0, []
        self.advance(0.2)

    def advance(self, duration: float) -> None:
        for _ in range(round(duration / DT)):
            command = self.loop.update(self.time, self.time, [wrapped(self.angle)], [self.rate])
            assert command is not None
            assert command.fault is None, command.problem
            acceleration = float(self.dynamics.forward([self.angle], [self.rate], command.effort)[0])
            self.rate += DT * acceleration
            self.angle += DT * self.rate
            self.time += DT
            self.errors.append(float(command.error[0]))


def test_a_motion_across_the_seam_takes_the_shorter_way() -> None:
    turret = Turret(3.0)
    turret.loop.follow(point_to_point(turret.dynamics, [3.0], [-3.0]))
    turret.advance(1.5)
    assert_allclose(turret.angle, 2 * np.pi - 3.0, atol=1e-4)
    assert np.abs(turret.errors).max() < 0.01
    # And back, by a trajectory written in the other turn, whose first point and start come later.
    way = Trajectory([0.1, 1.0], [[-3.0], [3.0 - 2 * np.pi]], [[0.0], [0.0]], [[0.0], [0.0]])
    turret.loop.follow(way, turret.time + 0.2)
    turret.advance(1.5)
    assert_allclose(turret.angle, 3.0, atol=1e-4)
    assert np.abs(turret.errors).max() < 0.01


def test_it_is_held_on_the_seam() -> None:
    turret = Turret(np.pi - 1e-4)
    turret.rate = 0.5
    turret.advance(1.0)
    assert_allclose(wrapped(turret.angle - np.pi), 0.0, atol=0.03)
    assert np.abs(turret.errors).max() < 0.05


def test_a_stream_in_another_turn() -> None:
    turret = Turret(3.0)
    for _ in range(100):
        turret.loop.track(Reference(*(np.array([value]) for value in (3.02 - 2 * np.pi, 0.0, 0.0, 0.0))), turret.time)
        turret.advance(0.01)
    assert_allclose(turret.angle, 3.02, atol=1e-3)


def test_turns_of_a_trajectory_are_kept() -> None:
    """Two turns forwards are two turns, not none."""
    turret = Turret(0.5)
    turret.loop.follow(Trajectory([0.0, 6.0], [[0.5], [0.5 + 4 * np.pi]], [[0.0], [0.0]]))
    turret.advance(6.5)
    assert turret.angle == pytest.approx(0.5 + 4 * np.pi, abs=1e-3)


@pytest.mark.parametrize("turns", [0, -1])
def test_a_trajectory_of_turns_that_is_sent_again_under_way_goes_on_from_where_it_is(turns: int) -> None:
    """It was taken for one that begins in the turn of the arm, which had to make up for the turns before."""
    turret = Turret(0.5)
    begin, shift = turret.time, 2.0 * np.pi * turns
    for place in (0.0, shift):
        turret.loop.follow(Trajectory([0.0, 6.0], [[0.5 + place], [0.5 + 4.0 * np.pi + place]], [[0.0], [0.0]]), begin)
        turret.advance(3.0)
    turret.advance(0.5)
    assert turret.angle == pytest.approx(0.5 + 4 * np.pi, abs=1e-3)
    assert np.abs(turret.errors).max() < 0.01


@pytest.mark.parametrize("angle", [4.0, -10.0])
def test_an_arm_that_is_started_in_another_turn_is_held_there(angle: float) -> None:
    """Its first state was a turn away from where it was started: no effort was sent."""
    turret = Turret(0.0)
    turret.loop.start(turret.time, [angle])
    command = turret.loop.update(turret.time + DT, turret.time + DT, [angle + 1e-3], [0.0])
    assert command is not None and command.fault is None and command.error is not None
    assert_allclose(command.error, [-1e-3], atol=1e-12)
