# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The controller's parameters, the model that is made from them, and their changes while the arm moves.

The parameters of the node are declared when it starts, those of the joints when it is configured. All that do not
select the arm may change while it moves: between two commands, as a whole or not at all, and the change of the efforts
is blended in. Another control law or dynamics plugin is made beside the loop, after a dry run in a process of its own,
and swapped in when it is ready. If that fails, the running one stays in use, and the parameter is set back to it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rclpy.node import Node
from rclpy.parameter import Parameter

from robodyn_ros import create_dynamics
from robodyn_ros.control import ControlLoop, PayloadSettings, ToolSettings, loop_settings
from robodyn_ros.control.contact import FIXED
from robodyn_ros.control.core_settings import start_model
from robodyn_ros.control.drives import MitSettings
from robodyn_ros.control.faults.dry_run import check_model, dry_run
from robodyn_ros.control.loop_settings import LoopSettings, make_loop_settings, model_parameters, with_streams
from robodyn_ros.control.motion.streams import StreamSettings
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.errors import NotReadyError, RobodynError
from robodyn_ros.nodes.common import arm_parameters
from robodyn_ros.nodes.common.client_library import steady_timer
from robodyn_ros.nodes.common.diagnostics import DiagnosticsSettings
from robodyn_ros.nodes.common.parameters import NodeParameters, declare, declare_settings, declare_spec
from robodyn_ros.nodes.common.scheduling import SchedulingSettings, declare_scheduling
from robodyn_ros.nodes.common.threads import BackgroundTask
from robodyn_ros.nodes.controller.closed_loop import ClosedLoop
from robodyn_ros.plugins import available, find, raised
from robodyn_ros.robot import Robot
from robodyn_ros.settings import TOOL, CheckedSettings, choice

FIXED_WHILE_CONFIGURED = (arm_parameters.DESCRIPTION, "accept", "joints", "tool", "mit_limits", *FIXED, "realtime")
"""Parameters that are read by the next configure; changing them while configured is refused."""

REALTIME = ("auto", "on", "off")  #: ``on`` is as ``auto``, with a warning if there is no thread in C.
POLL_PERIOD = 0.05  #: Time between two checks that a new law or model is ready [s].
FAULT = "switch failed"  #: Name under which accepted changes that fail are counted.


@dataclass(frozen=True)
class RealtimeSettings(CheckedSettings):
    """Where the control loop runs."""

    realtime: str = choice(
        "auto",
        "whether a thread in C, which does not wait for Python, runs the loop; auto: if possible",
        choices=lambda: REALTIME,
    )


def is_fixed_while_configured(name: str) -> bool:
    """Return whether a parameter is read by the next configure only."""
    return name in FIXED_WHILE_CONFIGURED or name.startswith("locked_joints.")


def declare_node_parameters(node: Node) -> None:
    """Declare the parameters that do not depend on the arm."""
    arm_parameters.declare_description(node)
    arm_parameters.declare_model(node)
    choices = f"one of {', '.join(available('controllers'))}"
    declare(node, "controller", "computed_torque", "controller plugin", constraints=choices)
    declare(node, "autostart", True, "configure and activate as soon as there is a description", read_only=True)
    for spec in (*loop_settings.PAYLOAD, TOOL):
        declare_spec(node, spec)
    declare(node, "estimates_file", "", "path of the YAML file for the learnt values of the law; none if empty")
    own = (PayloadSettings, "payload_estimation."), (MitSettings, ""), (ToolSettings, ""), (StreamSettings, "stream.")
    laws = ((settings, prefix) for prefix, settings in loop_settings.law_settings().items())
    for settings, prefix in (*own, *loop_settings.ARM_SETTINGS, *laws, (RealtimeSettings, "")):
        declare_settings(node, settings, prefix)
    declare_settings(node, DiagnosticsSettings, read_only=True)
    declare_scheduling(node, SchedulingSettings())


def declare_choice_of_joints(node: Node, whole: Robot) -> None:
    """Declare which joints of a robot are controlled, and where the others are locked."""
    arm_parameters.declare_joints(node, whole, "~/commands")
    arm_parameters.declare_locked(node, whole, "its last known position, or else the middle of its range")


def declare_joint_parameters(node: Node, robot: Robot) -> None:
    """Declare the parameters of the joints that are controlled."""
    arm_parameters.declare_transmissions(node, robot)
    for joint in robot.joints:
        for settings, prefix, of in loop_settings.JOINT_SETTINGS:
            declare_settings(node, settings, f"{prefix}{joint.name}.", f"{of} joint {joint.name}")
        effort, *_ = loop_settings.limit_specs(joint)
        declare_spec(node, effort)
        for spec in loop_settings.limit_specs(joint, NodeParameters(node).get(effort.name, 0.0))[1:]:
            declare_spec(node, spec)


def make_dynamics(parameters: NodeParameters, robot: Robot) -> Dynamics:
    """The model selected by the parameters, checked at a few states. RobodynError: there is no such plugin, it refuses
    the arm or a parameter, or the model contradicts itself.
    """
    dynamics = create_dynamics(parameters["dynamics"], robot, **model_parameters(parameters, robot))
    start_model(dynamics)
    check_model(dynamics)
    return dynamics


class Switching:
    """Changes the settings, the law and the model of a controller while the arm moves. ``running`` are the names of
    the dynamics plugin and of the control law in use.
    """

    def __init__(self, node: Node, loop: ClosedLoop) -> None:
        parameters = NodeParameters(node)
        self.running: tuple[str, str] = (parameters["dynamics"], parameters["controller"])
        self._node, self._loop, self._faults = node, loop, loop.faults
        self._task: BackgroundTask[tuple[tuple[str, str], Dynamics]] | None = None
        self._timer = steady_timer(node, POLL_PERIOD, self._swap_if_ready, autostart=False)  # it runs while a task does

    def check(self, parameters: NodeParameters) -> Callable[[], None]:
        """Check a change of parameters, and return the function that makes it; RobodynError if it cannot be made."""
        names = parameters["dynamics"], parameters["controller"]
        settings, model = self._tried(parameters)

        def change() -> None:
            dynamics = settings.controller.dynamics
            before = {name: getattr(dynamics.parameters, name) for name in model}
            try:
                dynamics.configure(**model)
                self._loop.apply(settings)
            except Exception:
                dynamics.configure(**before)
                raise
            if names == self.running:
                self._task = None
            elif self._task is None:
                self._start_task(*names)

        if names != self.running:
            for kind, name in zip(("dynamics", "controllers"), names, strict=True):
                find(kind, name)  # the dry run imports it
            if self._task is not None and self._task.name != " and ".join(names):
                raise NotReadyError(f"a switch to {self._task.name} is under way")
        return change

    def _tried(self, parameters: NodeParameters) -> tuple[LoopSettings, dict[str, Any]]:
        """The loop's settings and the model's runtime parameters, after a trial at the arm's position. RobodynError: a
        value is wrong, or the law or the model fails with it.
        """
        dynamics, model = self._loop.control.dynamics, model_parameters(parameters, self._loop.robot)
        before = {name: getattr(dynamics.parameters, name) for name in model}
        dynamics.configure(**model)
        try:
            settings = with_streams(make_loop_settings(parameters, dynamics, self.running[1]), parameters)
            self._loop.control.try_out(settings)
        except RobodynError:
            raise
        except Exception as problem:  # of a plugin
            raise NotReadyError(f"the model fails with these parameters: {raised(problem)}") from problem
        finally:
            dynamics.configure(**before)
        return settings, model

    def _start_task(self, dynamics: str, controller: str) -> None:
        """Make and try another model in the background."""
        robot, given = self._loop.robot, model_parameters(NodeParameters(self._node), self._loop.robot)

        def make() -> tuple[tuple[str, str], Dynamics]:
            dry_run(dynamics, controller, robot.urdf)
            model = create_dynamics(dynamics, robot, **given)
            check_model(model)
            # Making another loop compiles everything; the running loop finds it compiled then.
            ControlLoop.from_settings(make_loop_settings(NodeParameters(self._node), model, controller))
            return (dynamics, controller), model

        self._task = BackgroundTask(f"{dynamics} and {controller}", make)
        self._timer.reset()

    def _swap_if_ready(self) -> None:
        """Swap in the new law and model if they are ready; if they failed, set the parameters back."""
        task = self._task
        if task is not None and not task.done():
            return
        self._timer.cancel()
        if task is None:
            return
        self._task = None
        try:
            names, model = task.result()
            parameters = NodeParameters(self._node)
            model.configure(**model_parameters(parameters, self._loop.robot))
            self._loop.apply(with_streams(make_loop_settings(parameters, model, names[1]), parameters))
        except Exception as problem:  # of a plugin
            self._faults.counts[FAULT] += 1
            self._node.get_logger().error(f"{FAULT}: {raised(problem)}; the law and the model stay as they are")
            dynamics, controller = self.running
            back = [Parameter("dynamics", value=dynamics), Parameter("controller", value=controller)]
            self._node.set_parameters_atomically(back)
            return
        self.running = names
        self._node.get_logger().info(f"switched to {task.name}")
