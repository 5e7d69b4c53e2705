"""The conductor node: has a controller follow a trajectory, and records what the arm does.

It waits until states and commands flow, sends the trajectory with a start a little later, and saves a
:class:`~robodyn_ros.control.run_record.RunRecord` when it is over. Before and after, the simulator is paused for a
moment: while nothing is under way, what the controller has sent can be compared with what the simulator has received.

Progress goes to stdout, one JSON object a line: ``{"time": 1.25, "error": [0.001, 0.02, 0.01]}``, the trajectory's time
[s] and reference minus position [rad] or [m].
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Callable

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from rclpy.clock import Clock, ClockType
from rclpy.duration import Duration
from rclpy.node import Node
from rclpy.qos import QoSProfile
from sensor_msgs.msg import JointState
from std_srvs.srv import SetBool
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from robodyn_ros.errors import ConfigurationError, NotReadyError, RobodynError
from robodyn_ros.nodes.conductor_parameters import ConductorConfig, declare_parameters, make_trajectory
from robodyn_ros.nodes.executor import Exit, run
from robodyn_ros.nodes.messages import NANO, stamp
from robodyn_ros.nodes.parameters import Values
from robodyn_ros.nodes.qos import RELIABLE
from robodyn_ros.nodes.recorder import Recorder
from robodyn_ros.nodes.script import Player, Script, Step

EVERY_ONE = QoSProfile(depth=5000, reliability=RELIABLE.reliability)
"""For what is recorded without a gap."""

ATTEMPTS = 3
"""How often the trajectory is sent: a subscriber that was discovered a moment ago may miss the first."""

COUNT = "commands since start"
"""The diagnostics' name of it, of the controller and of the simulator."""


class ConductorNode(Node):  # type: ignore[misc]
    """See the module."""

    def __init__(self, end: Exit) -> None:
        """
        Args:
            end: ends the process.

        Raises:
            RobodynError: a parameter is wrong.
            ParameterException: a parameter was given a value of the wrong type or out of range.
        """
        super().__init__("conductor")
        declare_parameters(self)
        values = Values(self)
        self._config = values.settings(ConductorConfig)
        self._path: str = values["record"]
        self._joints = list(values["joints"])
        self._trajectory = make_trajectory(values)
        self._recorder = Recorder(self._joints)
        self._start, self._told = np.inf, -np.inf
        self._counts: list[int] = []
        self._diagnostics: dict[str, DiagnosticStatus] = {}
        self._heard: Counter[str] = Counter()
        self._end = end
        self._publisher = self.create_publisher(JointTrajectory, "controller/joint_trajectory", RELIABLE)
        self._pause = self.create_client(SetBool, "simulator/pause")
        self.create_subscription(JointState, "joint_states", self._on_state, EVERY_ONE)
        self.create_subscription(JointState, "controller/joint_commands", self._on_command, EVERY_ONE)
        self.create_subscription(DiagnosticArray, "/diagnostics", self._on_diagnostics, RELIABLE)
        self.create_timer(0.1, self._go_on, clock=Clock(clock_type=ClockType.STEADY_TIME))
        self._player = Player(self._play(), self._config.patience)

    def _play(self) -> Script:
        """All that happens, in order."""
        recorder, duration = self._recorder, self._trajectory.duration
        yield Step("joint states", lambda: recorder.states)
        yield Step("commands of the controller", lambda: recorder.commands)
        yield Step("a controller that takes trajectories", self._publisher.get_subscription_count)
        yield Step("a simulator that can be paused", self._pause.service_is_ready)
        yield from self._count()
        for _ in range(ATTEMPTS):
            self._send()
            yield Step("the start of the trajectory", lambda: self._time() > 0.0)
            yield from self._news("controller")
            if self._diagnostics["controller"].message.startswith("follow"):
                break
        else:
            message = self._diagnostics["controller"].message
            raise NotReadyError(f"the controller does not follow the trajectory; it reports: {message}")
        yield Step("the end of the trajectory", lambda: self._time() > duration, longer=duration)
        yield from self._count()
        before, after = self._counts[:2], self._counts[2:]
        sent, taken = (late - early for early, late in zip(before, after, strict=True))
        recorder.record(self._start, sent, taken).save(self._path)

    def _count(self) -> Script:
        """Pause the simulator, and add to the counts how many commands were sent and how many taken."""
        for paused in (True, False):
            answer = self._pause.call_async(SetBool.Request(data=paused))
            yield Step("an answer of the simulator", answer.done)
            if paused:
                for name in ("controller", "simulator"):
                    yield from self._news(name)
                    values = {item.key: item.value for item in self._diagnostics[name].values}
                    self._counts.append(int(values[COUNT]))

    def _news(self, name: str) -> Script:
        """Wait for diagnostics of a node that were surely made after now: the second from now."""
        enough = self._heard[name] + 2
        yield Step(f"diagnostics of the {name}", lambda: self._heard[name] >= enough)

    def _send(self) -> None:
        """Send the trajectory, to start a little later."""
        now, _, (q, _) = self._recorder.states[-1]
        for name, at, first in zip(self._joints, q, self._trajectory.positions[0], strict=True):
            if not abs(at - first) <= self._config.tolerance:
                raise ConfigurationError(f"waypoints: {name} is at {at:.6g}, not at the first waypoint {first:.6g}")
        start = stamp(round((now + self._config.lead) * NANO))
        self._start = start.sec + start.nanosec / NANO
        self._recorder.clear()
        none = [0.0] * len(self._joints)
        points = [
            JointTrajectoryPoint(
                positions=position.tolist(),
                velocities=none,
                accelerations=none,
                time_from_start=Duration(seconds=time).to_msg(),
            )
            for time, position in zip(self._trajectory.times.tolist(), self._trajectory.positions, strict=True)
        ]
        message = JointTrajectory(joint_names=self._joints, points=points)
        message.header.stamp = start
        self._publisher.publish(message)

    def _time(self) -> float:
        """The trajectory's time [s] at the latest state."""
        states = self._recorder.states
        return states[-1][0] - self._start if states else -np.inf

    def _on_command(self, message: JointState) -> None:
        self._keep(self._recorder.add_command, message)

    def _on_state(self, message: JointState) -> None:
        self._keep(self._recorder.add_state, message)
        time = self._time()
        if time >= 0.0 and time - self._told >= 1.0 / self._config.progress_rate:
            self._told = time
            error = self._trajectory.sample(time).q - self._recorder.states[-1][2][0]
            print(json.dumps({"time": round(time, 6), "error": error.round(9).tolist()}), flush=True)
        self._go_on()

    def _keep(self, add: Callable[[JointState], None], message: JointState) -> None:
        try:
            add(message)
        except RobodynError as problem:
            self._fail(problem)

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        for status in message.status:
            name = status.name.rpartition("/")[2]
            self._diagnostics[name] = status
            self._heard[name] += 1
        self._go_on()

    def _go_on(self) -> None:
        """Go on with the script as far as what it waits for has come."""
        if self._end.code is not None:
            return
        try:
            if self._player.go_on():
                self._end(0)
        except (RobodynError, OSError) as problem:
            self._fail(problem)

    def _fail(self, problem: Exception) -> None:
        self.get_logger().error(str(problem))
        self._end(1)


def main() -> int:
    """Run the conductor."""
    return run(ConductorNode)


if __name__ == "__main__":
    sys.exit(main())
