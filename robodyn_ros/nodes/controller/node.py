# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The controller node: joint states in, efforts out.

It is a lifecycle node:

- ``configure`` reads the description and the parameters, and makes the model and the controller.
- ``activate`` starts to send a command for each state (:mod:`robodyn_ros.nodes.controller.closed_loop`).
- ``deactivate`` stops the commands. The final command holds the arm against gravity; after it the drives decide.
- ``cleanup`` drops the arm, so that ``configure`` can read another one.

With the parameter ``autostart`` the node configures and activates itself once there is a description. Parameters may
change while the arm moves (:mod:`robodyn_ros.nodes.controller.parameters`).
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from functools import partial
from time import perf_counter
from typing import Any

from rcl_interfaces.msg import SetParametersResult
from rclpy.exceptions import ParameterException
from rclpy.lifecycle import LifecycleNode, LifecycleState, TransitionCallbackReturn
from rclpy.parameter import Parameter
from std_srvs.srv import SetBool, Trigger

from robodyn_ros.control.core_library import start_core
from robodyn_ros.control.laws.base import checked_result
from robodyn_ros.control.loop import ControlLoop
from robodyn_ros.control.loop_settings import make_loop_settings, with_streams
from robodyn_ros.control.motion.own_motions import ToolMotion, start_tool_motion
from robodyn_ros.errors import NotReadyError, RobodynError
from robodyn_ros.nodes.common.arm_parameters import DescriptionSource, joint_order, make_transmission
from robodyn_ros.nodes.common.client_library import on_topic, once_running, say_awaited
from robodyn_ros.nodes.common.diagnostics import UNFORESEEN, Diagnostics, ExceptionGuard, Report, library_log
from robodyn_ros.nodes.common.executor import Exit
from robodyn_ros.nodes.common.messages import serve, serve_later
from robodyn_ros.nodes.common.parameters import NodeParameters, begin_arm, end_arm, mention_unknown
from robodyn_ros.nodes.common.scheduling import Scheduling
from robodyn_ros.nodes.controller import follow_joint_trajectory as jtc
from robodyn_ros.nodes.controller import parameters as own
from robodyn_ros.nodes.controller.closed_loop import ClosedLoop
from robodyn_ros.nodes.controller.contact import ContactTopics
from robodyn_ros.nodes.controller.estimates import Estimates
from robodyn_ros.nodes.controller.locked_model import LockedModel
from robodyn_ros.nodes.controller.parameters import Switching, is_fixed_while_configured, make_dynamics
from robodyn_ros.nodes.controller.payload import PayloadEstimation
from robodyn_ros.nodes.controller.realtime import runner
from robodyn_ros.nodes.controller.tool import Frames, StreamInput, TargetInput, show_tool_pose
from robodyn_ros.plugins import raised
from robodyn_ros.robot import LockedJoints, Robot, tip

DESTROY: dict[str, Callable[[Any, Any], object]] = {
    "large_messages": lambda node, entity: entity.destroy(),
    "publishers": lambda node, entity: node.destroy_lifecycle_publisher(entity),
    "subscriptions": lambda node, entity: node.destroy_subscription(entity),
    "services": lambda node, entity: node.destroy_service(entity),
    "clients": lambda node, entity: node.destroy_client(entity),
    "timers": lambda node, entity: node.destroy_timer(entity),
    "waitables": lambda node, entity: entity.destroy(),
}
"""Kind of a node's entities → function that destroys one; waitables come last, since other entities own some."""


def entities(node: LifecycleNode, *kinds: str) -> set[Any]:
    """Entities of a node in the graph, of some kinds or of all."""
    return {entity for kind in kinds or DESTROY for entity in getattr(node, kind)}


COMPLAINT = "control law could not do its best"  #: Name under which complaints of the control law are counted.


class ControllerNode(ExceptionGuard, LifecycleNode):  # type: ignore[misc]
    """The lifecycle of the controller."""

    _configured: ConfiguredController | None = None  # what the end of a node needs whose parameters are refused
    _action: jtc.FollowJointTrajectory | None = None

    def __init__(self, end: Exit) -> None:
        """InputError, ParameterException: a parameter of an earlier version, of the wrong type or out of range."""
        super().__init__("controller")
        self._lasting: set[Any] = set()  # entities of the node, configured or not
        own.declare_node_parameters(self)
        self._change: Callable[[], None] | None = None  # of parameters, once it has been checked
        self._undo: Callable[[], object] | None = None  # reverses this change
        self._is_undoing = False
        self._failure = ""  # why the node could not be configured
        self._frozen = False  # True while the objects of a configured arm are exempt from garbage collection
        self._known: dict[str, float] = {}  # positions of locked joints, kept after a cleanup
        self._scheduling = Scheduling(self)
        self._description = DescriptionSource(self, self._on_description)
        serve(self, SetBool, "~/enable", self._on_enable)
        serve(self, Trigger, "~/hold", self._on_hold)
        serve(self, Trigger, "~/tare", lambda _: self._parts().contact.tare())
        serve_later(self, "~/estimate_payload", lambda: self._parts().payload.begin())
        serve_later(self, "~/save_estimates", lambda: self._parts().estimates.begin_to_save())
        self._action = jtc.FollowJointTrajectory(self, self._loop) if jtc.is_available() else None
        self.add_on_set_parameters_callback(self._check_change)
        self.add_post_set_parameters_callback(self._apply_change)
        self._diagnostics = Diagnostics(self, self._report)
        say_awaited(self, self._awaited, self._diagnostics.publish)
        self._end, self._has_started = end, False
        self._starts_itself: bool = self.get_parameter("autostart").value
        once_running(self, self._start_if_ready)

    @property
    def may_be_cut_off(self) -> bool:
        """True while no arm is configured."""
        return self._configured is None

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Make the model and the controller; if that fails, nothing of them remains."""
        self._lasting = entities(self)
        try:
            robot = self._description.robot()
            self._configured = ConfiguredController(self, robot, self._known, self._diagnostics.publish)
        except Exception as problem:
            known = isinstance(problem, (RobodynError, ParameterException))
            if not known:  # for example of a plugin
                self.faults.unforeseen(problem)
            self._failure = f"cannot configure: {problem if known else raised(problem)}"
            if self._end.code is None:  # else Ctrl-C has ended the compiler, too
                self.get_logger().error(self._failure)
            self._cleanup()
            return TransitionCallbackReturn.FAILURE
        self._failure = ""
        return super().on_configure(state)

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Send a command for each state from now on."""
        answer = super().on_activate(state)
        try:
            self._loop().activate(self._scheduling)
        except Exception as problem:
            self.faults.unforeseen(problem)
            self.on_deactivate(state)
            return TransitionCallbackReturn.FAILURE
        # Objects made since the start live until the cleanup: freeze them. The executor has frozen the earlier ones.
        gc.collect()
        gc.freeze()
        self._frozen = True
        # Once more: the middleware's threads for the loop's topics may have started after the first time.
        self._scheduling.begin(python=not self._loop().is_realtime)
        return answer

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Send no command from now on."""
        self.guarded(self._loop().deactivate)()
        self._scheduling.end()
        return super().on_deactivate(state)

    def on_cleanup(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Drop the arm."""
        self._cleanup()
        return super().on_cleanup(state)

    def on_shutdown(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Drop the arm, for good."""
        self._cleanup()
        return super().on_shutdown(state)

    def on_error(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Drop the arm; the node can be configured again."""
        self._cleanup()
        return super().on_error(state)

    def finish(self) -> None:
        """Send the final command as in :meth:`on_deactivate`, save the law's memory, and answer all clients."""
        if self._configured is not None:
            self.guarded(self._configured.end)()
            self._configured.loop.wait_until_delivered()
        if self._action is not None:
            self._action.update()
        self._configured = None
        super().finish()

    def destroy_node(self) -> None:
        """Finish, if that has not been done, then end."""
        if self.context.ok():
            self.finish()
        if self._action is not None:
            self._action.destroy()
        super().destroy_node()
        self._state_machine.destroy_when_not_in_use()  # rclpy does not, and the node would stay in the graph

    def _parts(self) -> ConfiguredController:
        if self._configured is None:
            raise NotReadyError("the node is not configured")
        return self._configured

    def _loop(self) -> ClosedLoop:
        return self._parts().loop

    def _cleanup(self) -> None:
        """Destroy all entities made since the node was configured, even if some fail to be destroyed."""
        self._scheduling.end()
        configured, self._configured = self._configured, None
        if configured is not None:
            self.guarded(configured.end)()
        del configured
        for kind, destroy in DESTROY.items():
            for entity in entities(self, kind) - self._lasting:
                self.guarded(destroy)(self, entity)
        self.forget_destroyed()
        if self._frozen:  # the configured arm has reference cycles
            gc.unfreeze()
        gc.collect()
        if self._frozen:  # the remaining objects live as long as the node
            gc.freeze()
            self._frozen = False

    def _on_description(self) -> None:
        if self._configured is not None:
            text = "the model stays as it is; the new description is used when the node is configured again"
            self.faults.count("robot_description changed", text)
        else:
            self._start_if_ready()

    def _start_if_ready(self) -> None:
        """Configure and activate the node once, when it is to start itself and there is a description; else end it."""
        if self._has_started or not self._starts_itself or not self._description.known:
            return
        self._has_started = True
        for step in (self.trigger_configure, self.trigger_activate):
            if self._end.code is None and step() != TransitionCallbackReturn.SUCCESS:
                self._end(1)

    def _on_enable(self, request: SetBool.Request) -> str:
        self._loop().enable(request.data)
        return "enabled" if request.data else "disabled: no commands are sent"

    def _on_hold(self, request: Trigger.Request) -> str:
        self._loop().hold()
        return "held"

    def _check_change(self, parameters: list[Parameter]) -> SetParametersResult:
        """Prepare a change of parameters, or refuse it; nothing has changed yet."""
        self._change = None
        if self._configured is None:
            return SetParametersResult(successful=True)
        try:
            for given in parameters:  # the same value, as in a file of all parameters, changes nothing
                name, same = given.name, self.get_parameter(given.name).to_parameter_msg()
                if is_fixed_while_configured(name) and given.to_parameter_msg() != same:
                    raise NotReadyError(f"{name} is read when the node is configured: deactivate and clean it up first")
            self._change = self._configured.switching.check(NodeParameters(self, parameters))
        except RobodynError as problem:
            return SetParametersResult(successful=False, reason=str(problem))
        except Exception as problem:
            self.faults.unforeseen(problem)
            return SetParametersResult(successful=False, reason=f"{UNFORESEEN}: {raised(problem)}")
        before = [self.get_parameter_or(parameter.name, Parameter(parameter.name)) for parameter in parameters]
        self._undo = partial(self.set_parameters_atomically, before)
        return SetParametersResult(successful=True)

    def _apply_change(self, parameters: list[Parameter]) -> None:
        """Make the prepared change; if it fails, set the parameters back."""
        change, self._change = self._change, None
        undo, self._undo = self._undo, None
        if change is None:
            if self._starts_itself and not self._has_started:  # one of them may be the description
                once_running(self, self._start_if_ready)
            return
        try:
            change()
        except Exception as problem:  # of a plugin that had accepted these parameters when they were checked
            self.faults.unforeseen(problem)
            self._is_undoing, again = True, self._is_undoing
            if undo is not None and not again:
                undo()
            self._is_undoing = again

    def _awaited(self) -> str:
        """Inputs that are missing before the arm can be controlled; "" if none, or if there is a problem."""
        if self._configured is None:
            return "" if self._failure or not self._starts_itself else self._description.awaited
        is_waiting = self._configured.loop.state == "waiting"
        return f"usable joint states {on_topic(self, 'joint_states')}" if is_waiting else ""

    def _report(self) -> Report:
        values: dict[str, object] = {"scheduling": self._scheduling.state}
        configured = self._configured
        awaited = self._awaited()
        waiting = f"waiting for {awaited}" if awaited else ""
        if configured is None:
            state = self._state_machine.current_state[1]  # "unconfigured", or "finalized" after a shutdown
            return Report("", self._failure or waiting, state, values, failed=bool(self._failure))
        loop, problem = configured.loop, configured.loop.problem
        values |= configured.report()
        failed = bool(problem)
        if not problem and self._description.changed:
            problem = f"{loop.state}; another robot_description has come since the node was configured"
        problem = problem or waiting or loop.clock_problem or loop.statistics.problem
        return Report(loop.robot.name, problem, loop.state, values, failed)


class ConfiguredController:
    """The parts of a controller node while it is configured."""

    def __init__(self, node: LifecycleNode, whole: Robot, known: dict[str, float], report: Callable[[], None]) -> None:
        """RobodynError, ParameterException: a parameter is wrong; or whatever a plugin raises."""
        begin_arm(node)
        own.declare_choice_of_joints(node, whole)
        parameters = NodeParameters(node)
        self._locked = LockedModel(node, LockedJoints(whole, parameters["joints"]), known)
        robot = self._locked.robot
        own.declare_joint_parameters(node, robot)
        end_arm(node)
        mention_unknown(node)
        joints, transmission = joint_order(parameters, robot), make_transmission(parameters, robot)
        tool = robot.link(parameters["tool"] or tip(robot), "tool").name
        with library_log(node):
            start_core(robot.n, runner.CODE)
            dynamics = make_dynamics(parameters, robot)
            start_tool_motion(robot, tool)
            loop = ControlLoop.from_settings(with_streams(make_loop_settings(parameters, dynamics), parameters))
            motion: ToolMotion | None = None
            try:
                motion = ToolMotion(robot, tool)
            except NotReadyError as problem:  # there is no CasADi, and it was not compiled ahead for the arm
                node.get_logger().warning(f"no ~/goal_pose: {problem}")
            runner.prepare_runner(robot.n)  # now, because compiling it later would delay commands
        made = f"{parameters['controller']} on {parameters['dynamics']} dynamics"
        node.get_logger().info(f"{robot.name}: {robot.n} joints, {made}")
        self.loop = ClosedLoop(node, loop, joints, transmission, self._locked)
        self._locked.follow(lambda: self.loop.control.dynamics)
        self.switching = Switching(node, self.loop)
        frames = Frames(node, self.loop)
        self._streams = StreamInput(node, self.loop, frames)
        self._target = TargetInput(node, self.loop, motion, frames, report)
        show_tool_pose(node, self.loop, tool)
        if jtc.is_available():
            jtc.show_state(node, self.loop)
            jtc.serve_query(node, self.loop)
        self.contact = ContactTopics(node, self.loop, transmission)
        self.estimates = Estimates(node, self.loop)
        self.payload = PayloadEstimation(node, self.loop)

    def report(self) -> dict[str, object]:
        """Name with unit → value, for the diagnostics."""
        names = zip(("dynamics", "controller"), self.switching.running, strict=True)
        values = {**dict(names), "realtime": self.loop.realtime, **self.loop.statistics.report()}
        try:
            values.update(checked_result(self.loop.law, "report"))
            complaint = checked_result(self.loop.law, "complaint")
        except Exception as problem:  # of a law: the other values are reported nevertheless
            complaint = raised(problem)
        if complaint:
            self.loop.faults.count(COMPLAINT, complaint)
        if self.loop.references.latest is not None:
            values["reference age [s]"] = perf_counter() - self.loop.references.latest
        values.update(self.contact.report())
        states = {"target": self._target.state, "stream": self._streams.state}
        values |= {name: state for name, state in states.items() if state}
        values["restarts"] = self.loop.control.restarts
        return values

    def end(self) -> None:
        """Send the final command, answer the services that wait, and save the learnt values; the topics stay."""
        self.loop.deactivate()
        self.payload.end()
        self.estimates.end()
