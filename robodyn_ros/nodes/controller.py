"""The controller node: joint states in, efforts out.

A lifecycle node. ``configure`` reads the description and the parameters and makes the model and the controller,
``activate`` starts to answer states, ``deactivate`` stops to (a last command carries the arm where it is, and what the
drives then do is theirs to decide), ``cleanup`` forgets the arm, so that ``configure`` can see another one. With the
parameter ``autostart`` it does the first two by itself once there is a description.

Parameters change while the arm moves: gains, limits and payload from one command to the next, another control law or
model once it has been made and tried beside the loop. If that fails, what runs goes on, and the parameter says so.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable

from rcl_interfaces.msg import SetParametersResult
from rclpy.exceptions import ParameterException
from rclpy.lifecycle import LifecycleNode, LifecycleState, TransitionCallbackReturn
from rclpy.parameter import Parameter
from std_srvs.srv import SetBool, Trigger

from robodyn_ros.errors import NotReadyError, RobodynError
from robodyn_ros.nodes.autostart import Autostart
from robodyn_ros.nodes.closed_loop import ClosedLoop
from robodyn_ros.nodes.configured_controller import ConfiguredController
from robodyn_ros.nodes.controller_parameters import FIXED_WHILE_CONFIGURED, declare_node_parameters
from robodyn_ros.nodes.description import Description
from robodyn_ros.nodes.diagnostics import Diagnostics, DiagnosticsConfig, Report
from robodyn_ros.nodes.executor import Exit, run
from robodyn_ros.nodes.faults import Faults
from robodyn_ros.nodes.parameters import Values
from robodyn_ros.nodes.scheduling import Scheduling
from robodyn_ros.nodes.services import respond


class ControllerNode(LifecycleNode):  # type: ignore[misc]
    """See the module."""

    def __init__(self, end: Exit) -> None:
        """
        Args:
            end: ends the process.

        Raises:
            ParameterException: a parameter was given a value of the wrong type or out of range.
        """
        super().__init__("controller")
        self._configured: ConfiguredController | None = None
        declare_node_parameters(self)
        self._next: Callable[[], None] | None = None
        self._faults = Faults(self.get_logger().warning)
        self._faults_reported = 0
        self._scheduling = Scheduling(self)
        self._description = Description(self, self._on_description)
        self.create_service(SetBool, "~/enable", self._on_enable)
        self.create_service(Trigger, "~/hold", self._on_hold)
        self.add_on_set_parameters_callback(self._check_change)
        self.add_post_set_parameters_callback(self._apply_change)
        self._diagnostics = Diagnostics(self, Values(self).settings(DiagnosticsConfig), self._report)
        starts_itself = self.get_parameter("autostart").value
        self._autostart = Autostart(self, lambda: self._description.known, end) if starts_itself else None

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Make the model and the controller."""
        try:
            robot = self._description.robot()
            self._configured = ConfiguredController(self, robot, self._faults, self._diagnostics.publish)
        except (RobodynError, ParameterException) as problem:
            self.get_logger().error(f"cannot configure: {problem}")
            return TransitionCallbackReturn.FAILURE
        except Exception as problem:  # of a plugin; rclpy would keep it to itself
            self.get_logger().error(f"cannot configure: {type(problem).__name__}: {problem}")
            return TransitionCallbackReturn.FAILURE
        return super().on_configure(state)

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Answer states from now on."""
        answer = super().on_activate(state)
        self._loop().activate()
        # What was made since the start lives on as well: see the executor.
        gc.collect()
        gc.freeze()
        self._scheduling.begin()
        return answer

    def destroy_node(self) -> None:
        """Part from the drives as in :meth:`on_deactivate`, then end."""
        if self._configured is not None and self.context.ok():
            self._configured.loop.deactivate()
            self._configured.estimates.keep()
        super().destroy_node()

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Send no command from now on."""
        self._loop().deactivate()
        self._scheduling.end()
        return super().on_deactivate(state)

    def on_cleanup(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Forget the arm."""
        self._forget()
        return super().on_cleanup(state)

    def on_shutdown(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Forget the arm, for good."""
        self._forget()
        return super().on_shutdown(state)

    def on_error(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Forget the arm; another configure may help."""
        self._forget()
        return super().on_error(state)

    def _loop(self) -> ClosedLoop:
        if self._configured is None:
            raise NotReadyError("the node is not configured")
        return self._configured.loop

    def _forget(self) -> None:
        self._scheduling.end()
        if self._configured is not None:
            self._configured.destroy()
            self._configured = None

    def _on_description(self) -> None:
        if self._configured is not None:
            text = "the model stays as it is; a new one is read when the node is configured the next time"
            self._faults.count("robot_description changed", text)
        elif self._autostart is not None:
            self._autostart.attempt()

    def _on_enable(self, request: SetBool.Request, response: SetBool.Response) -> SetBool.Response:
        def enable() -> str:
            self._loop().enable(request.data)
            return "enabled" if request.data else "disabled: no commands are sent"

        return respond(response, enable)

    def _on_hold(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        def hold() -> str:
            self._loop().hold()
            return "held"

        return respond(response, hold)

    def _check_change(self, parameters: list[Parameter]) -> SetParametersResult:
        """Make what the change asks for, or say why not; nothing has changed yet."""
        self._next = None
        if self._configured is None:
            return SetParametersResult(successful=True)
        for parameter in parameters:
            if parameter.name in FIXED_WHILE_CONFIGURED:
                reason = f"{parameter.name} is read when the node is configured: deactivate and clean it up first"
                return SetParametersResult(successful=False, reason=reason)
        try:
            self._next = self._configured.switching.check(Values(self, parameters))
        except RobodynError as problem:
            return SetParametersResult(successful=False, reason=str(problem))
        return SetParametersResult(successful=True)

    def _apply_change(self, parameters: list[Parameter]) -> None:
        change, self._next = self._next, None
        if change is not None:
            change()

    def _report(self) -> Report:
        configured = self._configured
        values: dict[str, object] = {"scheduling": self._scheduling.state}
        values |= {} if configured is None else configured.report()
        total = self._faults.counts.total()
        new, self._faults_reported = total - self._faults_reported, total
        values.update(sorted(self._faults.counts.items()))
        state = "unconfigured" if configured is None else configured.loop.state
        problem = f"{state}; {new} new faults" if new else state if state == "no joint states" else ""
        hardware = "" if configured is None else configured.loop.robot.name
        return Report(hardware, problem, state, values)


def main() -> int:
    """Run the controller."""
    return run(ControllerNode)


if __name__ == "__main__":
    sys.exit(main())
