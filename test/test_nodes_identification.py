# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""An unknown arm: simulated, controlled and recorded over DDS, read from files, identified, and controlled better.

The simulator stands in for the arm. Masses, centres of mass and inertias differ from the URDF by a draw; there is
friction that the URDF has not; encoders are coarse, states and commands late, and the efforts that are measured noisy.
It runs in lockstep, so that what is found does not depend on how busy the machine is.
"""

import json
from pathlib import Path
from time import monotonic
from typing import Any

import numpy as np
import pytest
from closed_loop_scenario import states_of
from rclpy.qos import QoSProfile
from recordings import Bag, rms
from ros_graph import Graph
from sensor_msgs.msg import JointState
from std_srvs.srv import SetBool
from trajectory_msgs.msg import JointTrajectory

import robodyn_ros as rd
from robodyn_ros.cli.main import main
from robodyn_ros.control.motion.point_to_point import rest_to_rest
from robodyn_ros.control.motion.trajectory import Trajectory
from robodyn_ros.identification.excitation import excite
from robodyn_ros.identification.settings import ExcitationSettings
from robodyn_ros.nodes.common.messages import NANO, from_trajectory, seconds, stamp
from robodyn_ros.robot.pose import Array

START = {"elevator": 0.5, "shoulder": -0.6, "wrist": 0.3}
RATE = 200.0
"""Of the states [Hz]."""

SIMULATED: dict[str, Any] = {
    "initial_position": START,
    "lockstep": True,
    "seed": 3,
    "mismatch": {"mass_spread": 0.2, "com_spread": 0.03, "inertia_spread": 0.3},
    "friction": {
        "elevator": {"viscous": 25.0, "coulomb": 12.0},
        "shoulder": {"viscous": 0.8, "coulomb": 1.1},
        "wrist": {"viscous": 0.3, "coulomb": 0.35},
    },
    # Of encoders with 62,800 and 41,900 lines a turn.
    "sensors": {
        "elevator": {"resolution": 2e-5},
        "shoulder": {"resolution": 1e-4},
        "wrist": {"resolution": 1.5e-4},
    },
    "state_rate": RATE,
    "state_delay": 0.002,
    "command_delay": 0.003,
}
GAINS = {name: {"natural_frequency": 12.0} for name in START}
NOISE = 0.01
"""Standard deviation of the measured efforts, over the root mean square of each joint's [-]."""

FOLLOWED = 0.5
"""Greatest distance to a trajectory that is followed [m] or [rad]; from rest, both lead shoulder and wrist further."""

PATIENCE = 60.0
"""How long a process on a busy machine may take for anything [s]."""

LEAD = 1.0
"""From where time goes on to where the trajectory begins [s]: the controller prepares it meanwhile."""

APPROACH = 1.0
"""Time to where the unseen motion begins [s]."""


class Arm:
    """The simulated arm under a controller. Its time stands still between motions, so that nothing is sent that nobody
    takes.
    """

    def __init__(self, graph: Graph, urdf: str) -> None:
        """Start the simulator."""
        self.graph = graph
        self._states, self._commands = (
            graph.listen(JointState, topic, QoSProfile(depth=20000))
            for topic in ("joint_states", "controller/joint_commands")
        )
        self._begun = 0.0
        graph.start("simulator", "-r", "joint_commands:=controller/joint_commands", robot_description=urdf, **SIMULATED)

    def control(self, urdf: str) -> None:
        """Start a controller that takes this for the arm."""
        before = len(self._commands)
        self._pause(False)
        self._controller = self.graph.start(
            "controller", robot_description=urdf, use_sim_time=True, gains=GAINS, state_timeout=10.0
        )
        self._publisher = self.graph.talk(JointTrajectory, "controller/joint_trajectory")
        self.graph.wait(lambda: len(self._commands) > before + 0.3 * RATE, "commands for a while", PATIENCE)
        self._pause(True)

    def leave(self) -> None:
        """End the controller."""
        self._controller.stop()
        self.graph.node.destroy_publisher(self._publisher)

    def follow(self, way: Trajectory, moving: float = 0.0) -> Array:
        """Have the controller follow a trajectory, which moves at the latest from a time of it [s] on.

        Returns:
            The errors from then on, (N, n) in [rad] or [m].
        """
        self._begun = float(self.graph.diagnostics("simulator")["simulated time [s]"])
        start = self._begun + LEAD
        end = start + float(way.times[-1])
        message = from_trajectory(START, way)
        message.header.stamp = stamp(round(start * NANO))
        sent = monotonic()
        self._publisher.publish(message)
        self.graph.wait(lambda: self._reference_age() < monotonic() - sent, "the trajectory at the controller")
        self._pause(False)
        self.graph.wait(lambda: self._now() > end + 0.1, "the end of the trajectory", 3.0 * PATIENCE)
        self._pause(True)
        t, q = states_of(self._states)
        chosen = (t > start + moving) & (t < end)
        errors = np.array([way.sample(time - start).q for time in t[chosen]]) - q[chosen]
        assert np.abs(errors).max() < FOLLOWED, self._controller.output[-3000:]
        return errors

    def save(self, path: Path) -> Path:
        """Write what was received since the trajectory was sent, with noise on the measured efforts, as a bag."""
        rng, bag = np.random.default_rng(7), Bag()
        for topic, messages in (("/joint_states", self._states), ("/controller/joint_commands", self._commands)):
            chosen = [message for message in messages if seconds(message.header.stamp) > self._begun]
            t = np.array([seconds(message.header.stamp) for message in chosen])
            fields = {name: np.array([getattr(one, name) for one in chosen]) for name in ("position", "effort")}
            if topic == "/joint_states":
                fields["effort"] += NOISE * rms(fields["effort"]) * rng.normal(size=fields["effort"].shape)
            bag.states(topic, chosen[0].name, t, **fields)
        return bag.write(path)

    def _pause(self, paused: bool) -> None:
        assert self.graph.call(SetBool, "simulator/pause", PATIENCE, data=paused).success

    def _reference_age(self) -> float:
        """Time since the controller received a reference, by the clock on the wall [s]."""
        return float(self.graph.diagnostics("controller").get("reference age [s]", np.inf))

    def _now(self) -> float:
        """The simulated time [s], as far as the controller has come."""
        return seconds(self._commands[-1].header.stamp)


def unseen(start):
    """From rest to rest, fast."""
    q = np.array([start, [0.9, 0.5, -0.5], [0.3, -0.3, 0.9], start])
    way = rest_to_rest(q, APPROACH + np.array([0.0, 1.1, 2.2, 3.3]))
    rest = np.zeros_like(q)
    return Trajectory(way.times, q, rest, rest)


@pytest.mark.timeout(300)
def test_an_unknown_arm_is_recorded_identified_and_controlled(graph, prr, tmp_path, capsys):
    start = list(START.values())
    settings = ExcitationSettings(period=6.0, periods=1, harmonics=4, velocity_ratio=0.4, tries=1)
    motion = excite(rd.load_robot(prr), settings, start=start)
    arm = Arm(graph, prr)
    arm.control(prr)
    arm.follow(motion.trajectory)
    used = arm.save(tmp_path / "used")
    before = arm.follow(unseen(start), APPROACH)
    test = arm.save(tmp_path / "test.mcap")
    arm.leave()

    urdf = tmp_path / "prr.urdf"
    urdf.write_text(prr)
    out = tmp_path / "arm.urdf"
    arguments = ["identify", urdf, used, "--validate", test, "--out", out]
    assert main([*map(str, arguments), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    for joint in START:
        assert found["errors"]["validation"][joint]["relative"] < 0.02
        assert found["errors"]["validation_urdf"][joint]["relative"] > 0.05
    (recording,) = found["recordings"]
    # What is measured at a state was held since the state before: on the average, it is half a period old.
    assert recording["effort"] == "measured"
    assert recording["delay"] == pytest.approx(-0.5 / RATE, abs=5e-4)

    arm.control(out.read_text())
    after = arm.follow(unseen(start), APPROACH)
    print(f"\nRMS errors {rms(before)} by the URDF, {rms(after)} identified, {rms(before) / rms(after)} times less")
    assert (rms(after) < rms(before) / 5.0).all()
