# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""An arm that nobody knows, found out: simulator and controller nodes, recorded to files, identified, and used.

The simulator stands in for the arm. Masses, centres of mass and inertias differ from the URDF by a draw; there is
friction that the URDF has not; encoders are coarse, states and commands late, and the efforts that are measured noisy.
It runs in lockstep, so that what is found does not depend on how busy the machine is.
"""

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from rclpy.qos import QoSProfile
from rclpy.time import Time
from recordings import NANO, STATE
from ros_graph import Graph, Process
from rosbags.rosbag2 import StoragePlugin, Writer
from rosbags.typesys import Stores, get_typestore
from sensor_msgs.msg import JointState
from std_srvs.srv import SetBool
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

import robodyn_ros as rd
from robodyn_ros.control.motion.trajectory import Trajectory
from robodyn_ros.nodes.common.messages import seconds
from robodyn_ros.robot import Robot
from robodyn_ros.robot.pose import Array
from robodyn_ros.tasks import make_simulated

START = {"elevator": 0.5, "shoulder": -0.6, "wrist": 0.3}
FRICTION = {"elevator": (25.0, 12.0), "shoulder": (0.8, 1.1), "wrist": (0.3, 0.35)}
"""Viscous and Coulomb friction of each joint."""

RESOLUTION = {"elevator": 2e-5, "shoulder": 1e-4, "wrist": 1.5e-4}
"""Of the encoders [m] or [rad]: 62,800 and 41,900 lines a turn."""

TRUTH: dict[str, Any] = {
    "seed": 3,
    "mismatch": {"mass_spread": 0.2, "com_spread": 0.03, "inertia_spread": 0.3},
    "friction": {name: {"viscous": d, "coulomb": c} for name, (d, c) in FRICTION.items()},
}
HARDWARE: dict[str, Any] = {
    "sensors": {name: {"resolution": value} for name, value in RESOLUTION.items()},
    "state_delay": 0.002,
    "command_delay": 0.003,
}
GAINS = {name: {"natural_frequency": 12.0} for name in START}
RATE = 200.0
"""Of the states [Hz]."""

TOPICS = ("joint_states", "controller/joint_commands")
ATTEMPTS = 5
"""How often a trajectory is sent: a subscriber that was discovered a moment ago may miss the first."""

FAR = 0.01
"""Way of the reference in half a second that is a motion, not a hold somewhere else [m] or [rad]."""

PATIENCE = 60.0
"""How long a process on a busy machine may take for anything [s]."""

LEAD = 1.0
"""From where time goes on to where the trajectory begins [s]: the controller prepares it meanwhile."""


class Truth(NamedTuple):
    """What is to be found."""

    theta: Array  # all parameters, as ``CompiledDynamics.theta``
    robot: Robot  # of the URDF


def truth(urdf: str) -> Truth:
    """The arm that the simulator makes of it."""
    robot = rd.load_robot(urdf)
    flat = {"seed": TRUTH["seed"]} | {f"mismatch.{name}": value for name, value in TRUTH["mismatch"].items()}
    hardware, _ = make_simulated(flat, robot)
    theta = hardware.plant.dynamics.theta()
    theta[-2 * robot.n :] = np.array(list(FRICTION.values())).T.ravel()
    return Truth(theta, robot)


class Arm:
    """The simulated arm under a controller. Its time stands still between motions, so that nothing is sent that nobody
    takes.

    Attributes:
        graph: where they are.
        rows: what was received: time [ns], topic, and the bytes that came.
        errors: what the controller says of its tracking.
    """

    def __init__(self, graph: Graph, urdf: str) -> None:
        """Start the simulator."""
        self.graph = graph
        self.rows: list[tuple[int, str, bytes]] = []
        self.errors = graph.listen(JointState, "controller/tracking_error", QoSProfile(depth=20000))
        self._publisher: Any = None
        self._controller: Process | None = None
        self._clock = graph.node.get_clock()
        self._types = get_typestore(Stores.ROS2_KILTED)
        for topic in TOPICS:
            graph.node.create_subscription(
                JointState, topic, lambda data, topic=topic: self._keep(topic, data), QoSProfile(depth=20000), raw=True
            )
        graph.start(
            "simulator", "-r", "joint_commands:=controller/joint_commands", robot_description=urdf,
            initial_position=START, lockstep=True, state_rate=RATE, **TRUTH, **HARDWARE,
        )  # fmt: skip

    def control(self, urdf: str) -> None:
        """Start a controller that takes this for the arm."""
        before = len(self.errors)
        self._pause(False)
        self._controller = self.graph.start(
            "controller", robot_description=urdf, use_sim_time=True, gains=GAINS, state_timeout=10.0
        )
        self._publisher = self.graph.node.create_publisher(JointTrajectory, "controller/joint_trajectory", 10)
        self.graph.wait(self._publisher.get_subscription_count, "the controller", PATIENCE)  # it compiles the new arm
        self.graph.wait(lambda: len(self.errors) > before + 0.3 * RATE, "commands for a while", PATIENCE)
        self._pause(True)

    def leave(self) -> None:
        """End the controller."""
        assert self._controller is not None
        self._controller.stop()
        self.graph.node.destroy_publisher(self._publisher)

    def follow(self, way: Trajectory, moving: float = 0.0) -> Array:
        """Have the controller follow a trajectory, which moves at the latest from a time of it [s] on.

        Returns:
            The errors from then on, (N, n) in [rad] or [m].
        """
        assert way.velocities is not None and way.accelerations is not None
        message = JointTrajectory(joint_names=list(START))
        for time, *point in zip(way.times.tolist(), way.positions, way.velocities, way.accelerations, strict=True):
            q, qd, qdd = (values.tolist() for values in point)
            made = JointTrajectoryPoint(positions=q, velocities=qd, accelerations=qdd)
            made.time_from_start.sec, made.time_from_start.nanosec = divmod(round(time * NANO), NANO)
            message.points.append(made)
        for _ in range(ATTEMPTS):
            before, begun, rest = len(self.errors), self._now(), self._reference()
            message.header.stamp = Time(nanoseconds=round((begun + LEAD) * NANO)).to_msg()
            self._publisher.publish(message)
            self._publisher.wait_for_all_acked()
            self.rows.clear()
            self._pause(False)
            under_way = begun + LEAD + moving + 0.5
            self.graph.wait(lambda: self._now() > under_way, "time to pass", PATIENCE)  # noqa: B023
            if np.abs(self._reference() - rest).max() > FAR:
                break
        else:
            raise AssertionError("the controller does not follow the trajectory")
        end = begun + LEAD + float(way.times[-1]) + 0.1
        self.graph.wait(lambda: self._now() > end, "the end of the trajectory", 3.0 * PATIENCE)
        self._pause(True)
        if np.abs(self._reference() - way.positions[-1]).max() > FAR:
            said = "" if self._controller is None else self._controller.output
            raise AssertionError(f"the controller gave the trajectory up: {said[-3000:]}")
        return np.array([
            [message.position[message.name.index(name)] for name in START]
            for message in self.errors[before:]
            if begun + LEAD + moving < seconds(message.header.stamp) < end - 0.1
        ])  # fmt: skip

    def save(self, path: Path, noise: float) -> Path:
        """Write what was received since the trajectory was sent, with noise on the measured efforts.

        Args:
            path: of the folder, or of an MCAP file's without its ending.
            noise: standard deviation of each joint's over the root mean square of its effort.
        """
        kind = StoragePlugin.MCAP if path.suffix == ".mcap" else StoragePlugin.SQLITE3
        folder = path.with_suffix("")
        states = [data for _, topic, data in self.rows if topic == TOPICS[0]]
        efforts = [self._types.deserialize_cdr(data, STATE).effort for data in states]
        sigma = noise * np.sqrt(np.mean(np.square(efforts), axis=0))
        rng = np.random.default_rng(7)
        with Writer(folder, version=9, storage_plugin=kind) as bag:
            found = {topic: bag.add_connection(f"/{topic}", STATE, typestore=self._types) for topic in TOPICS}
            for time, topic, data in self.rows:
                if topic == TOPICS[0]:
                    message = self._types.deserialize_cdr(data, STATE)
                    message.effort = message.effort + sigma * rng.normal(size=len(sigma))
                    data = bytes(self._types.serialize_cdr(message, STATE))
                bag.write(found[topic], time, data)
        return next(folder.glob("*.mcap")).rename(path) if path.suffix == ".mcap" else folder

    def _pause(self, paused: bool) -> None:
        assert self.graph.call(SetBool, "simulator/pause", PATIENCE, data=paused).success

    def _keep(self, topic: str, data: bytes) -> None:
        self.rows.append((self._clock.now().nanoseconds, topic, data))

    def _reference(self) -> Array:
        """Where the controller wants the arm (n,) [m] or [rad]: where it is, and the error."""
        by_stamp = {(m.header.stamp.sec, m.header.stamp.nanosec): m.position for m in self.errors[-100:]}
        for _, topic, data in reversed(self.rows):
            if topic == TOPICS[0]:
                state = self._types.deserialize_cdr(data, STATE)
                error = by_stamp.get((state.header.stamp.sec, state.header.stamp.nanosec))
                if error is not None:
                    found: Array = state.position + np.array(error)
                    return found
        raise AssertionError("no error of a state that was received")

    def _now(self) -> float:
        """The simulated time [s], as far as the controller has come."""
        return seconds(self.errors[-1].header.stamp) if self.errors else 0.0
