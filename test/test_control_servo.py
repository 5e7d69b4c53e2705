# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""What MoveIt Servo sends by default, taken as it comes: joint trajectories without a filter.

Servo (moveit_servo, composeTrajectoryMessage and updateSlidingWindow) sends a JointTrajectory each ``publish_period``
of 34 ms, with positions and velocities, so that each ends in motion. Up to ROS 2 Iron it has one point and no stamp,
and begins where the arm was measured. From Jazzy on it is a window of points with the stamp of the first, which goes on
from what was sent before, and begins in the past. Where Servo halts, velocities of 1e-9 are left.
"""

from collections import deque
from collections.abc import Callable

import numpy as np
import pytest
from numpy.testing import assert_allclose
from rclpy.serialization import serialize_message
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

import robodyn_ros as rd
from robodyn_ros.control import ComputedTorque, ControlLoop, Trajectory
from robodyn_ros.errors import InputError
from robodyn_ros.kinematics import Kinematics
from robodyn_ros.nodes.common.messages import to_duration
from robodyn_ros.nodes.controller.cdr import read_trajectory_message
from robodyn_ros.robot.robot import tip
from robodyn_ros.simulation import Plant, PlantSettings

PRR, START = rd.load_robot("prr"), np.array([0.6, 0.5, 0.9])
PERIOD, BEGIN = 1e-3, 5.0
PUBLISHED, LATENCY = 34, 0.1
"""Servo's publish_period [periods], and its max_expected_latency [s]."""
RESIDUE = 1e-9
SPEED = 0.08
NOISE = 2e-5


class Servo:
    """Servo's output for twists of the tool, in one of its two forms."""

    def __init__(self, robot: rd.Robot, q: np.ndarray, form: str) -> None:
        self.robot, self.form, self.kinematics, self.link = robot, form, Kinematics(robot), tip(robot)
        self.q, self.window = q.copy(), deque()

    def message(self, t: float, measured: np.ndarray, twist: np.ndarray) -> JointTrajectory | None:
        """What it sends at a time, or nothing yet."""
        period = PUBLISHED * PERIOD
        begin = measured if self.form == "point" else self.q
        jacobian = self.kinematics.jacobian(self.link, begin)
        qd = np.linalg.pinv(jacobian, rcond=1e-6) @ twist if twist.any() else np.full(self.robot.n, RESIDUE)
        self.q = begin + period * qd
        message = JointTrajectory(joint_names=list(self.robot.joint_names))
        message.header.frame_id = self.robot.root
        if self.form == "point":
            message.points = [point(period, self.q, qd)]
            return message
        window, now = self.window, t + LATENCY
        while window and window[0][0] < t - LATENCY:
            window.popleft()
        if len(window) > 1:
            (first, before, _), (last, positions, velocities) = list(window)[-2:]
            onward, past = (self.q - positions) / (now - last), (positions - before) / (last - first)
            turns = np.sign(before - positions) == np.sign(self.q - positions)
            velocities[:] = np.where(turns, 0.0, np.where(np.abs(onward) < np.abs(past), onward, past))
            qd = velocities.copy()
        window.append((now, self.q.copy(), qd.copy()))
        if len(window) < 3:
            return None
        begins = to_duration(window[0][0])
        message.header.stamp.sec, message.header.stamp.nanosec = begins.sec, begins.nanosec
        message.points = [point(stamp - window[0][0], q, v) for stamp, q, v in list(window)[:-1]]
        return message


def point(time: float, q: np.ndarray, qd: np.ndarray) -> JointTrajectoryPoint:
    return JointTrajectoryPoint(positions=q.tolist(), velocities=qd.tolist(), time_from_start=to_duration(time))


def closed() -> tuple[ControlLoop, Plant]:
    dynamics, limit = rd.create_dynamics("rnea", PRR), np.full(3, 1e3)
    loop = ControlLoop(ComputedTorque(dynamics, 400.0, 40.0), limit)
    return loop, Plant(dynamics, PlantSettings(step=PERIOD), q0=START, effort_limit=limit)


def asked(t: float, direction: np.ndarray) -> np.ndarray:
    """Twists as a joystick gives them, in steps: on, the other way, and released; then Servo halts."""
    return SPEED * direction * (1.0 if t < 0.5 else -0.5 if t < 0.8 else 0.0)


def direction_of(robot: rd.Robot, q: np.ndarray) -> np.ndarray:
    """A twist that the arm can do."""
    twist = Kinematics(robot).jacobian(tip(robot), q) @ np.linspace(1.0, -0.6, robot.n)
    return twist / np.linalg.norm(twist[:3])


def led(loop: ControlLoop, plant: Plant, send: Callable[..., None]) -> tuple[np.ndarray, ...]:
    """The arm while ``send(t, measured, twist)`` is called for each twist, for a second.

    Returns:
        The tool's way along the direction of the twists and its distance from it, q̇ and the efforts; a row per period.
    """
    robot, rng, kinematics = loop.robot, np.random.default_rng(3), Kinematics(loop.robot)
    link, direction = tip(robot), direction_of(robot, plant.q)
    start, rows = kinematics.pose(link, plant.q)[:3, 3], []
    for index in range(1500):
        t = BEGIN + index * PERIOD
        measured = plant.q + NOISE * rng.normal(size=robot.n)
        command = loop.update(t, t, measured, plant.qd)
        assert command.fault is None, command.problem
        if index % PUBLISHED == 7 and index < 1000:
            send(t, measured, asked(index * PERIOD, direction))
        rows.append((kinematics.pose(link, plant.q)[:3, 3] - start, plant.qd, command.effort))
        plant.apply(command.effort)
        plant.step()
    assert loop.mode == "hold"
    way, qd, effort = map(np.array, zip(*rows, strict=True))
    along = way @ direction[:3]
    return along, np.linalg.norm(way - np.outer(along, direction[:3]), axis=1), qd, effort


@pytest.mark.parametrize("form", ["point", "window"])
def test_servo_leads_the_arm_and_nothing_of_it_is_refused(form: str) -> None:
    loop, plant = closed()
    servo, in_motion = Servo(loop.robot, START, form), []

    def send(t: float, measured: np.ndarray, twist: np.ndarray) -> None:
        message = servo.message(t, measured, twist)
        if message is not None:
            joints, trajectory, start = read_trajectory_message(serialize_message(message), 100)
            in_motion.append(np.abs(trajectory.velocities[-1]).max() > 1e-3)
            loop.follow(trajectory, start, joints)

    along, across, qd, effort = led(loop, plant, send)
    assert len(in_motion) > 25
    assert sum(in_motion) > 15  # most of its messages end in motion
    assert along.max() == pytest.approx(SPEED * 0.5, rel=0.05)
    assert along[-1] == pytest.approx(SPEED * (0.5 - 0.3 / 2.0), rel=0.05)
    assert across.max() < 1e-3
    assert np.abs(qd[-1]).max() < 1e-3
    assert (np.abs(effort) < loop.settings.limits.effort).all()


def test_a_stream_that_breaks_off_in_motion_comes_to_rest_a_little_further() -> None:
    loop, plant = closed()
    rate, begin = np.array([0.1, -0.3, 0.4]), plant.q.copy()
    for index in range(400):
        t = BEGIN + index * PERIOD
        command = loop.update(t, t, plant.q, plant.qd)
        assert command.fault is None, command.problem
        plant.apply(command.effort)
        if index < 200 and index % PUBLISHED == 0:  # the last of six messages is for 170 to 204 ms
            target = begin + (index + PUBLISHED) * PERIOD * rate
            loop.follow(Trajectory([PUBLISHED * PERIOD], [target], [rate]))
        reference = loop.expected(0.0)[1]
        if 50 < index < 204:  # it does not falter between two messages, though each comes when the last is over
            assert_allclose(reference.qd, rate, atol=1e-9)
        plant.step()
    assert_allclose(reference.q, begin + (0.204 + 0.1 / 2.0) * rate, atol=1e-9)
    assert not reference.qd.any()


def test_near_a_position_limit_a_stream_comes_to_rest_before_it() -> None:
    loop, plant = closed()
    loop.update(BEGIN, BEGIN, plant.q, plant.qd)
    upper = loop.robot.upper[1]
    for room, refused in ((0.02, False), (1e-5, True)):
        target = plant.q.copy()
        target[1] = upper - room
        motion = Trajectory([0.2], [target], [[0.0, 1.0, 0.0]])
        if refused:
            with pytest.raises(InputError, match="does not end at rest"):
                loop.prepare(motion)
            continue
        loop.follow(motion)
        way = np.array([loop.expected(ahead)[1].q[1] for ahead in np.linspace(0.2, 0.4, 41)])
        assert (np.diff(way) >= 0.0).all()
        assert way[-1] == pytest.approx(upper, abs=1e-9)
        assert not loop.expected(0.4)[1].qd.any()


def test_beside_a_position_limit_no_set_point_is_refused_by_rounding_or_by_a_joint_that_rests_at_its_limit() -> None:
    urdf = PRR.urdf.replace('lower="-1.5" upper="2.1"', 'lower="-1.5" upper="0.04"')
    law = ComputedTorque(rd.create_dynamics("rnea", rd.load_robot(urdf)), 100.0, 20.0)
    loop, rng = ControlLoop(law, np.full(3, 1e3)), np.random.default_rng(1)
    lower, upper = loop.robot.lower, loop.robot.upper
    assert upper[2] == 0.04
    for room, speed in rng.uniform([0.02, 0.5], [0.04, 2.0], (200, 2)):
        loop.prepare(Trajectory([0.01], [[lower[0], 0.5, upper[2] - room]], [[0.0, 0.0, speed]]))
