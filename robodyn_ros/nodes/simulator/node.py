# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The simulator node: efforts in, joint states out.

The path of the data, in :class:`SimulatorNode`:

1. A command comes on ``commands`` or ``joint_commands`` (:class:`~robodyn_ros.nodes.simulator.topics.CommandInput`)
   and goes to the simulated hardware, :class:`~robodyn_ros.simulation.hardware.Hardware`: the arm, its drives
   and its sensors.
2. Time passes (:mod:`robodyn_ros.nodes.simulator.pace`) in real time, at a multiple of it, or in lockstep with the
   controller. At each beat the hardware advances by some steps.
3. The readings of its sensors are published on ``joint_states``, and the time on ``/clock``
   (:class:`~robodyn_ros.nodes.simulator.topics.SimulatorOutput`).

Time is simulated: stamps and ``/clock`` start at 0, also after ``~/reset``. A state has the stamp of its measurement.
"""

from __future__ import annotations

from dataclasses import dataclass
from time import monotonic

import numpy as np
from rclpy.node import Node
from rclpy.parameter import Parameter
from std_msgs.msg import String
from std_srvs.srv import SetBool, Trigger

from robodyn_ros.errors import NotReadyError
from robodyn_ros.nodes.common import arm_parameters
from robodyn_ros.nodes.common import parameters as own
from robodyn_ros.nodes.common.client_library import LATCHED
from robodyn_ros.nodes.common.diagnostics import Diagnostics, DiagnosticsSettings, ExceptionGuard, Report
from robodyn_ros.nodes.common.executor import Exit
from robodyn_ros.nodes.common.messages import serve
from robodyn_ros.nodes.simulator.pace import Lockstep, RealTime
from robodyn_ros.nodes.simulator.topics import CommandInput, HeldJoints, SimulatorOutput, WrenchInput
from robodyn_ros.robot import LockedJoints, Robot, tip
from robodyn_ros.settings import CheckedSettings, parameter_specs, setting, switch
from robodyn_ros.simulation.hardware import arm_groups, initial_positions, joint_groups, make_hardware
from robodyn_ros.simulation.plant.mismatch import Mismatch

CLOCK_RATE = 100.0
"""Rate of /clock [Hz], or that of the states if they are slower."""

WRENCH_TIMEOUT = 0.2
"""Duration of a push [s]."""

PAYLOAD = "mismatch.payload_mass"
"""The parameter that may be changed while the arm moves: its payload."""


@dataclass(frozen=True)
class SimulatorSettings(CheckedSettings):
    """Settings of the simulator node; each field's metadata describe it."""

    lockstep: bool = switch(
        False, "whether to wait for the command to each state on joint_commands, instead of running in real time"
    )


@dataclass(frozen=True)
class PaceSettings(CheckedSettings):
    """Settings of the pace of time; each field's metadata describe it."""

    real_time_factor: float = setting(
        0.0, "simulated time per real time; 0: real time, or in lockstep as fast as the commands come", "-", 0.0, 1e3
    )


class SimulatorNode(ExceptionGuard, Node):  # type: ignore[misc]
    """The simulator: its topics, its services, and its pace of time."""

    def __init__(self, end: Exit) -> None:
        """
        Args:
            end: not used; this node ends only by a signal or a shutdown.

        Raises:
            RobodynError: the description or a parameter is wrong.
            ParameterException: a parameter was given a value of the wrong type or out of range.
        """
        super().__init__("simulator")
        declare_node_parameters(self)
        parameters = own.NodeParameters(self)
        whole = arm_parameters.read_description(self, parameters[arm_parameters.DESCRIPTION])
        declare_choice_of_joints(self, whole)
        locked = LockedJoints(whole, parameters["joints"])
        start = np.array([parameters[f"initial_position.{name}"] for name in locked.names])
        robot = locked.robot(start)
        declare_joint_parameters(self, robot)
        own.mention_unknown(self)
        settings, pace = parameters.settings(SimulatorSettings), parameters.settings(PaceSettings)
        self._hardware = make_hardware(parameters, robot)
        self._step, self._steps = self._hardware.plant.settings.step, self._hardware.period
        self._beat = self._hardware.interval
        self._clock_steps = clock_steps(parameters["state_rate"], self._steps)
        self._paused = False
        self._held = HeldJoints(self, locked, start)
        self._output = SimulatorOutput(self, robot.joint_names, self._held, self._step)
        if parameters["publish_robot_description"]:
            self._descriptions = self.create_publisher(String, arm_parameters.DESCRIPTION, LATCHED)
            self._descriptions.publish(String(data=whole.urdf))
        given = self, self._beat * self._step, pace.real_time_factor, self._next_beat
        self._lockstep = (
            Lockstep(*given, lambda: self._output.repeat(self._hardware.now)) if settings.lockstep else None
        )
        self._time: Lockstep | RealTime = self._lockstep or RealTime(*given)
        order = arm_parameters.joint_order(parameters, robot)
        self._commands = CommandInput(self, self._hardware, order, self._lockstep)
        outside = self._hardware.plant.outside
        outside.prepare()  # so that time does not pass while the first push waits for a compiler
        self._wrenches = WrenchInput(self, outside, tip(robot), WRENCH_TIMEOUT)
        serve(self, SetBool, "~/pause", self._on_pause)
        serve(self, Trigger, "~/reset", self._on_reset)
        serve(self, Trigger, "~/step", self._on_step)
        own.add_check(self, self._check_parameters)
        self.add_post_set_parameters_callback(self._on_parameters)
        self._restart_report()
        self._diagnostics = Diagnostics(self, self._report)
        self.get_logger().info(f"{robot.name}: {robot.n} joints, states at {parameters['state_rate']:g} Hz")
        self._begin()

    # From the commands that have come to the next states

    def _next_beat(self) -> None:
        """Advance by one beat; in lockstep, states that came together are published one by one before that."""
        if self._output.waiting:
            self._publish_state()
        else:
            self._advance(self._steps_to_beat())

    def _advance(self, steps: int) -> None:
        """Advance by some steps of the plant, and publish the states that arrive meanwhile."""
        hardware = self._hardware
        failures, end = hardware.failures, hardware.now + steps
        while hardware.now < end:
            beat = min(self._steps_to_beat(), end - hardware.now)
            if self._held.names:
                self._held.advance(beat * self._step, hardware.plant.dynamics)
            self._wrenches.expire(hardware.time)
            hardware.advance(beat)
            self._publish(clock=hardware.now % self._clock_steps == 0 or self._paused)
        if hardware.failures > failures:
            self.faults.count("step failed", hardware.failure)

    def _steps_to_beat(self) -> int:
        """Steps to the next beat; ~/step may end between two beats."""
        return self._beat - self._hardware.now % self._beat

    def _publish(self, clock: bool) -> None:
        """Publish the states that have come, in lockstep the first of them, and the time if it is due."""
        output = self._output
        output.waiting.extend(self._hardware.readings())
        if clock or (self._lockstep and output.waiting):
            output.publish_clock(self._hardware.now)
        while output.waiting:
            self._publish_state()
            if self._lockstep and not self._paused:
                break

    def _publish_state(self) -> None:
        stamp = self._output.publish_state()
        if self._lockstep:
            self._lockstep.expect(stamp)

    # The pace of time

    def _begin(self) -> None:
        """Publish the state at time 0, and start time from there, unless it is paused."""
        self._publish(clock=True)
        self._restart_report()
        if not self._paused:
            self._time.start()

    def _on_pause(self, request: SetBool.Request) -> str:
        before, self._paused = self._paused, request.data
        if self._paused:
            self._time.stop()
        elif before:
            self._restart_report()
            self._time.start()
        return "paused" if request.data else "running"

    def _on_reset(self, request: Trigger.Request) -> str:
        self._held.reset(self._hardware.plant.dynamics)
        self._hardware.reset()
        self._output.waiting.clear()
        self._commands.restart()
        self._time.restart()
        self._begin()
        return "back at the start, at time 0"

    def _on_step(self, request: Trigger.Request) -> str:
        if not self._paused:
            raise NotReadyError("only a paused simulation can be stepped")
        self._advance(self._steps)
        return f"at {self._hardware.time:.9g} s"

    def _restart_report(self) -> None:
        """Measure the rate of time from here on."""
        self._since = monotonic(), self._hardware.now, self._time.lost

    def _report(self) -> Report:
        """The report since the last one: above all the rate of time."""
        hardware, (then, steps, lost) = self._hardware, self._since
        self._restart_report()
        values: dict[str, object] = {
            "lockstep": self._lockstep is not None,
            "real-time factor": (hardware.now - steps) * self._step / (self._since[0] - then),
            "simulated time [s]": hardware.time,
            "states since start": self._output.states,
            "commands since start": self._commands.accepted,
            "longest time without a command [ms]": 1e3 * self._commands.take_gap(),
            "lost time [s]": self._time.lost,
        }
        problem = self._time.problem or ("cannot keep up with real time" if self._time.lost > lost else "")
        problem = self._output.clock_conflict() or problem
        failure = hardware.failure
        if failure is not None:
            problem = f"the motion has ended: {failure}; call ~/reset to begin again"
        return Report(hardware.plant.dynamics.robot.name, problem, self._state, values, failure is not None)

    @property
    def _state(self) -> str:
        """The state of the simulator, in a few words."""
        if self._paused:
            return "paused"
        if self._hardware.drives.held:
            return "braked" if self._hardware.drives.silent else "braked until the first command"
        return "running, without commands" if self._hardware.drives.silent else "running"

    def _check_parameters(self, parameters: list[Parameter]) -> None:
        if not self._hardware.plant.carries and any(parameter.name == PAYLOAD for parameter in parameters):
            raise NotReadyError(f"{PAYLOAD}: fixed when this plant starts")

    def _on_parameters(self, parameters: list[Parameter]) -> None:
        for parameter in parameters:
            if parameter.name == PAYLOAD:
                self._hardware.plant.carry(parameter.value)
            if parameter.name == "real_time_factor":
                self._time.set_factor(parameter.value)
                self._restart_report()


def declare_node_parameters(node: Node) -> None:
    """Declare the parameters that do not depend on the arm; those of the hardware are fixed when the node starts.

    Raises:
        ParameterException: a value given has the wrong type or is out of range.
    """
    arm_parameters.declare_description(node, "must be given", read_only=True)
    arm_parameters.declare_model(node, read_only=True)
    for group in arm_groups():
        own.declare_settings(node, group.defaults, group.prefix, read_only=True)
    # Of the arm's mismatch, only the payload may change while it moves: it is declared anew.
    own.declare_spec(node, next(spec for spec in parameter_specs(Mismatch, "mismatch.") if spec.name == PAYLOAD))
    own.declare_settings(node, SimulatorSettings, read_only=True)
    own.declare_settings(node, PaceSettings)
    own.declare_settings(node, DiagnosticsSettings, read_only=True)
    text = "whether to publish the topic robot_description; false where robot_state_publisher does"
    own.declare(node, "publish_robot_description", True, text, read_only=True)


def declare_choice_of_joints(node: Node, whole: Robot) -> None:
    """Declare the commanded joints of a robot, and their initial positions.

    Raises:
        ParameterException: a value given has the wrong type or is out of range.
    """
    arm_parameters.declare_joints(node, whole, "commands", read_only=True)
    greatest = np.finfo(float).max
    for joint, (name, default) in zip(whole.joints, initial_positions(whole).items(), strict=True):
        bounds = max(joint.lower, -greatest), min(joint.upper, greatest)
        text = f"initial position of joint {joint.name} [{joint.position_unit}]"
        own.declare(node, name, default, text, bounds=bounds, read_only=True)


def declare_joint_parameters(node: Node, robot: Robot) -> None:
    """Declare the parameters of the joints that are commanded.

    Raises:
        ParameterException: a value given has the wrong type or is out of range.
    """
    for group in joint_groups(robot):
        assert group.joint is not None
        own.declare_settings(node, group.defaults, group.prefix, f" of joint {group.joint.name}", read_only=True)


def clock_steps(state_rate: float, state_steps: int) -> int:
    """Steps of the plant between two messages on /clock, a whole number of periods of the states."""
    return max(1, round(state_rate / CLOCK_RATE)) * state_steps
