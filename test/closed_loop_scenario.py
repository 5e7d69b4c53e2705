# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The closed loop from outside, as any client sees it; whoever started the nodes.

The nodes may have been started as processes of the test's own or by a launch file; what is asserted is the same.
"""

import numpy as np
from numpy.typing import NDArray
from ros_graph import Graph
from sensor_msgs.msg import JointState
from std_srvs.srv import SetBool
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from robodyn_ros.nodes.common.messages import NANO, seconds, stamp, to_duration

JOINTS = ("elevator", "shoulder", "wrist")
START = {"elevator": 0.3, "shoulder": -0.9, "wrist": 0.4}
"""Where the PRR arm stands first [m, rad, rad]."""

POSES = np.array([[0.6, -0.8, 0.5], [0.2, 0.7, -0.4]])
"""Where the PRR arm goes [m, rad, rad], one pose after the other."""

AHEAD = 0.3
"""How long after the state at which it is sent the trajectory starts [s]."""

PATIENCE = 120.0
"""How long the whole way may take on a machine that is busy otherwise [s]; in lockstep nobody is late."""

ROUNDING = 1e-4
"""What a time in the diagnostics is rounded by, at most [s]."""


def states_of(messages: list[JointState]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Times (K,) in [s] and positions (K, 3), in the order of JOINTS."""
    times = np.array([seconds(message.header.stamp) for message in messages])
    order = [messages[0].name.index(joint) for joint in JOINTS]
    return times, np.array([message.position for message in messages])[:, order]


def trajectory(start: float, leg: float) -> JointTrajectory:
    """Through POSES, at rest in each, from a time [s] on; joints in another order than the arm's."""
    message = JointTrajectory(joint_names=JOINTS[::-1])
    message.header.stamp = stamp(round(start * NANO))
    for index, pose in enumerate(POSES):
        rest = [0.0, 0.0, 0.0]
        point = JointTrajectoryPoint(positions=pose[::-1].tolist(), velocities=rest, accelerations=rest)
        point.time_from_start = to_duration((index + 1) * leg)
        message.points.append(point)
    return message


def quintic(times: NDArray[np.float64], start: float, leg: float, begin: NDArray[np.float64]) -> NDArray[np.float64]:
    """Where the arm should be: from rest to rest, 10 s³ - 15 s⁴ + 6 s⁵ of each leg."""
    wanted = np.tile(begin, (len(times), 1))
    here = begin
    for index, pose in enumerate(POSES):
        s = np.clip((times - start) / leg - index, 0.0, 1.0)[:, np.newaxis]
        wanted += (10.0 * s**3 - 15.0 * s**4 + 6.0 * s**5) * (pose - here)
        here = pose
    return wanted


def flows(commands: list[JointState]) -> bool:
    """Whether commands have come for half a second without a gap of half the ``state_timeout``.

    While processes find each other on a busy machine the states may pause for longer than the controller's
    ``state_timeout``; it then holds the arm, and rightly drops a trajectory that it was sent before.
    """
    stamps = np.array([seconds(message.header.stamp) for message in commands[-100:]])
    return len(stamps) == 100 and bool(np.diff(stamps).max() < 0.05)


def follows_a_trajectory(graph: Graph, leg: float = 1.0) -> None:
    """The arm goes where a JointTrajectory leads it, in time, and stays there; ``leg`` is the time to each pose [s].

    Time stands still while the trajectory is on its way, so that it comes in time on a busy machine too.
    """
    states = graph.listen(JointState, "joint_states", 1000)
    commands = graph.listen(JointState, "controller/joint_commands", 1000)
    publisher = graph.talk(JointTrajectory, "controller/joint_trajectory")
    graph.wait(lambda: states and flows(commands), "a steady flow of commands")
    assert graph.call(SetBool, "simulator/pause", data=True).success
    # The answer overtakes states that are still on their way, and this process may be behind by more than AHEAD. When
    # the simulation stood still, the simulator knows.
    now = float(graph.diagnostics("simulator")["simulated time [s]"])
    graph.wait(lambda: seconds(states[-1].header.stamp) > now - ROUNDING, "the last state before time stood still")
    begin = states_of(states[-1:])[1][0]
    start = seconds(states[-1].header.stamp) + AHEAD
    publisher.publish(trajectory(start, leg))
    graph.wait(lambda: "reference age [s]" in graph.diagnostics("controller"), "the trajectory at the controller")
    assert graph.call(SetBool, "simulator/pause", data=False).success
    end = start + leg * len(POSES) + 0.3
    graph.wait(lambda: seconds(states[-1].header.stamp) > end, "the end of the trajectory", PATIENCE)
    times, positions = states_of(states)
    error = positions - quintic(times, start, leg, begin)
    moving = (times > start) & (times < end)
    rms = np.sqrt(np.mean(error[moving] ** 2, axis=0))
    assert (rms < [2e-3, 5e-3, 5e-3]).all(), f"RMS tracking error {rms} [m, rad, rad]"
    np.testing.assert_allclose(positions[-1], POSES[-1], atol=2e-3)
    graph.node.destroy_publisher(publisher)
