"""The simulator node: efforts in, joint states out, in real time by a steady clock.

Time is simulated: stamps and /clock start at 0, also after ``~/reset``. The last command acts until the next one comes,
as in a real drive; before the first one the arm is held by its brakes (parameter ``brake``) or falls.
"""

from __future__ import annotations

import sys
from array import array
from collections.abc import Callable
from time import monotonic

import numpy as np
from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from rosgraph_msgs.msg import Clock as ClockMessage
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String
from std_srvs.srv import SetBool, Trigger

from robodyn_ros.errors import InputError, NotReadyError, RobodynError
from robodyn_ros.nodes.controller_parameters import joint_order
from robodyn_ros.nodes.description import NAME as DESCRIPTION
from robodyn_ros.nodes.description import read_description
from robodyn_ros.nodes.diagnostics import Diagnostics, DiagnosticsConfig, Report
from robodyn_ros.nodes.executor import Exit, run
from robodyn_ros.nodes.faults import Faults
from robodyn_ros.nodes.messages import NANO, JointOrder, stamp
from robodyn_ros.nodes.pacer import Pacer
from robodyn_ros.nodes.parameters import Values
from robodyn_ros.nodes.qos import LATCHED, NEWEST, RELIABLE
from robodyn_ros.nodes.services import respond
from robodyn_ros.nodes.simulator_parameters import (
    SimulatorConfig,
    declare_joint_parameters,
    declare_node_parameters,
    make_plant,
    whole_steps,
)
from robodyn_ros.robot.pose import Array

CATCH_UP = 2
"""How many periods of the states may be made up for at once."""

PATIENCE = 0.5
"""How far behind real time the simulation may fall before it gives up making up for it, and says so [s]."""


class SimulatorNode(Node):  # type: ignore[misc]
    """See the module."""

    def __init__(self, end: Exit) -> None:
        """
        Args:
            end: not used; this node ends when it is told to.

        Raises:
            RobodynError: the description or a parameter is wrong.
            ParameterException: a parameter was given a value of the wrong type or out of range.
        """
        super().__init__("simulator")
        declare_node_parameters(self)
        values = Values(self)
        robot = read_description(values[DESCRIPTION])
        declare_joint_parameters(self, robot)
        config = values.settings(SimulatorConfig)
        self._plant = make_plant(values, robot)
        self._steps = whole_steps(1.0 / config.state_rate, self._plant.config.step)
        self._period = round(self._steps * self._plant.config.step * NANO)
        self._clock_every = max(1, round(config.state_rate / config.clock_rate))
        self._order = np.array([joint_order(values, robot).index(name) for name in robot.joint_names], dtype=np.intp)
        self._names = JointOrder(robot.joint_names)
        self._brake: bool = values["brake"]
        self._held = self._brake
        self._paused = False
        self._ticks = self._commands = self._refused = 0
        self._faults = Faults(self.get_logger().warning)
        self._pacer = Pacer(self._period / NANO, CATCH_UP, PATIENCE)
        self._states = self.create_publisher(JointState, "joint_states", RELIABLE)
        self._state = JointState(name=list(robot.joint_names))
        self._clocks = self.create_publisher(ClockMessage, "/clock", RELIABLE)
        if values["publish_robot_description"]:
            self._descriptions = self.create_publisher(String, DESCRIPTION, LATCHED)
            self._descriptions.publish(String(data=robot.urdf))
        self.create_subscription(Float64MultiArray, "commands", self._on_commands, NEWEST)
        self.create_subscription(JointState, "joint_commands", self._on_joint_commands, NEWEST)
        self.create_service(SetBool, "~/pause", self._on_pause)
        self.create_service(Trigger, "~/reset", self._on_reset)
        self.create_service(Trigger, "~/step", self._on_step)
        self._measured = (monotonic(), 0, 0.0)
        self._diagnostics = Diagnostics(self, values.settings(DiagnosticsConfig), self._report)
        self._timer = self.create_timer(self._period / NANO, self._tick, clock=Clock(clock_type=ClockType.STEADY_TIME))
        self._publish()
        self.get_logger().info(f"{robot.name}: {robot.n} joints, states at {config.state_rate:g} Hz")

    def _tick(self) -> None:
        if self._paused:
            return
        lost = self._pacer.lost
        for _ in range(self._pacer.due(monotonic())):
            self._advance()
        if self._pacer.lost > lost:
            self._faults.count("cannot keep up", f"{self._pacer.lost:.3g} s lost against real time so far")

    def _advance(self) -> None:
        """Go on by one period of the states, and publish."""
        self._ticks += 1
        try:
            for _ in range(0 if self._held else self._steps):
                self._plant.step()
        except RobodynError as problem:
            self._faults.count("step failed", problem)
        self._publish()

    def _publish(self) -> None:
        plant, now = self._plant, stamp(self._ticks * self._period)
        if self._ticks % self._clock_every == 0 or self._paused:
            self._clocks.publish(ClockMessage(clock=now))
        self._state.header.stamp = now
        self._state.position = array("d", plant.q.tobytes())
        self._state.velocity = array("d", plant.qd.tobytes())
        self._state.effort = array("d", plant.effort.tobytes())
        self._states.publish(self._state)

    def _on_commands(self, message: Float64MultiArray) -> None:
        def effort() -> Array:
            if len(message.data) != len(self._order):
                raise InputError("data", f"has {len(message.data)} values for {len(self._order)} joints", message.data)
            return np.array(message.data)[self._order]

        self._command(effort)

    def _on_joint_commands(self, message: JointState) -> None:
        self._command(lambda: self._names.effort(message))

    def _command(self, effort: Callable[[], Array]) -> None:
        try:
            self._plant.apply(effort())
        except RobodynError as problem:
            self._faults.count("command refused", problem)
            return
        self._commands += 1
        self._held = False

    def _on_pause(self, request: SetBool.Request, response: SetBool.Response) -> SetBool.Response:
        if self._paused and not request.data:
            self._resume()
        self._paused = request.data
        response.success, response.message = True, "paused" if request.data else "running"
        return response

    def _on_reset(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        self._plant.reset()
        self._held, self._ticks = self._brake, 0
        self._resume()
        self._publish()
        response.success, response.message = True, "back at the start, at time 0"
        return response

    def _on_step(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        def step() -> str:
            if not self._paused:
                raise NotReadyError("only a paused simulation can be stepped")
            self._advance()
            return f"at {self._ticks * self._period / NANO:.6g} s"

        return respond(response, step)

    def _resume(self) -> None:
        """Count real time from here on."""
        self._pacer.restart()
        self._measured = (monotonic(), self._ticks, self._pacer.lost)

    def _report(self) -> Report:
        then, ticks, lost = self._measured
        now = monotonic()
        self._measured = (now, self._ticks, self._pacer.lost)
        factor = (self._ticks - ticks) * self._period / NANO / (now - then)
        values: dict[str, object] = {
            "real-time factor": factor,
            "simulated time [s]": self._ticks * self._period / NANO,
            "states since start": self._ticks,
            "commands since start": self._commands,
            "lost time [s]": self._pacer.lost,
            **dict(sorted(self._faults.counts.items())),
        }
        state = "paused" if self._paused else "braked until the first command" if self._held else "running"
        problem = "cannot keep up with real time" if self._pacer.lost > lost else ""
        return Report(self._plant.dynamics.robot.name, problem, state, values)


def main() -> int:
    """Run the simulator."""
    return run(SimulatorNode)


if __name__ == "__main__":
    sys.exit(main())
