# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The planner node: the best motion from the present position of the arm to a target.

The path of the data, in :class:`PlannerNode`:

1. A target comes on ``~/plan_to/pose`` (of the tool, in the root link's frame) or ``~/plan_to/joints`` (of some joints
   or all, by name).
2. The search runs in a thread, so that the node answers meanwhile. Of the targets that come meanwhile, the newest is
   next.
3. The plan is published on ``~/joint_trajectory``, efforts included, and shown by markers.
4. ``~/execute`` sends it to the controller, if the arm is still at its start. The next target drops it.

If there is no motion, the log and the diagnostics name the constraint that prevents it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from time import monotonic
from typing import Any

import numpy as np
from geometry_msgs.msg import PoseStamped
from rclpy.node import Node
from rclpy.parameter import Parameter
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory
from visualization_msgs.msg import MarkerArray

from robodyn_ros import create_dynamics
from robodyn_ros.checks import check, finite_array
from robodyn_ros.control.faults.settings import SafetySettings
from robodyn_ros.dynamics import Dynamics, Payload
from robodyn_ros.engine.casadi import need_casadi
from robodyn_ros.errors import InputError, NotReadyError, RobodynError
from robodyn_ros.nodes.common.arm_parameters import declare_gravity, declare_tool, observe_description
from robodyn_ros.nodes.common.client_library import LATCHED, RELIABLE, say_awaited, steady_timer
from robodyn_ros.nodes.common.diagnostics import Diagnostics, DiagnosticsSettings, ExceptionGuard, Report
from robodyn_ros.nodes.common.executor import Exit
from robodyn_ros.nodes.common.marker_messages import Preview
from robodyn_ros.nodes.common.messages import check_joints, from_trajectory, serve, to_matrix, values_of
from robodyn_ros.nodes.common.parameters import NodeParameters, add_check, declare, declare_settings, mention_unknown
from robodyn_ros.nodes.common.threads import BackgroundTask
from robodyn_ros.nodes.common.watch import CONTROLLER, Watch, check_start, rest_position
from robodyn_ros.planning.cost import SMOOTH, Cost, read_cost
from robodyn_ros.planning.obstacles import Obstacle, read_obstacles
from robodyn_ros.planning.plan import METHODS, Plan
from robodyn_ros.planning.problem import LIMIT_RATIO, Goal, JointGoal, MotionLimits, Problem, ToolGoal
from robodyn_ros.robot import Array, LockedJoints, Robot, tip
from robodyn_ros.settings import CheckedSettings, choice, setting, switch

need_casadi()  # the start of the node says so before ROS starts

LIMIT_MARGIN = SafetySettings().soft_limit_margin
"""Distance to keep from position limits along the path [rad] or [m]."""

POLL_PERIOD = 0.05
"""Time between two checks that a search has ended, and between two pictures of the ghost [s]."""

PAUSE = 1.0
"""Time of rest of the ghost at the end of its path [s]."""

STOP_ROUNDING = 1e-3
"""Greatest measured distance of a joint beyond its stop [rad] or [m]."""

Target = Callable[["SearchSettings", Array], Goal]
"""Makes the goal of a target from the search settings and the arm's position (n,)."""


@dataclass(frozen=True)
class PlannerSettings(CheckedSettings):
    """Settings of the node; each field's metadata describe it."""

    method: str = choice("collocation", "method that finds a motion", lambda: METHODS)
    limit_ratio: float = setting(
        LIMIT_RATIO, "ratio of the velocity and effort limits that may be used", "-", 0.01, 1.0
    )
    time_limit: float = setting(20.0, "longest time for a search", "s", 0.01, 3600.0)
    margin: float = setting(0.01, "distance to keep from obstacles", "m", 0.0, 10.0)
    payload: float = setting(0.0, "mass that the tool carries", "kg", 0.0, 1e6, shared="payload.mass")
    execute: bool = switch(False, "whether a plan is sent to the controller at once, without ~/execute")


class PlannerNode(ExceptionGuard, Node):  # type: ignore[misc]
    """The planner: its topics, its service, and one search at a time."""

    def __init__(self, end: Exit) -> None:
        """
        Args:
            end: not used; this node ends only by a signal or a shutdown.

        Raises:
            RobodynError: the description or a parameter is wrong.
            ParameterException: a parameter was given a value of the wrong type or out of range.
        """
        super().__init__("planner")
        self._description = observe_description(self, self._on_description)
        declare_planner(self)
        mention_unknown(self)
        self._watch: Watch | None = None
        self._search: BackgroundTask[Plan] | None = None
        self._newest: Target | None = None  # a target that came during a search
        self._settings: SearchSettings | None = None
        self._plan: Plan | None = None
        self._preview: Preview | None = None
        self._preview_start, self._state, self._problem = monotonic(), "", ""
        self._searches = self._solved = 0
        self._trajectories = self.create_publisher(JointTrajectory, "~/joint_trajectory", LATCHED)
        self._markers = self.create_publisher(MarkerArray, "~/markers", RELIABLE)
        self._controller = self.create_publisher(JointTrajectory, f"{CONTROLLER}/joint_trajectory", RELIABLE)
        if self._description.known:
            self._begin()
        for kind, topic, goal in ((PoseStamped, "pose", pose_goal), (JointState, "joints", joint_goal)):
            self.create_subscription(kind, f"~/plan_to/{topic}", partial(self._on_target, goal), RELIABLE)
        serve(self, Trigger, "~/execute", lambda _: self._execute())
        add_check(self, self._check_change)
        steady_timer(self, POLL_PERIOD, self._poll)
        self._diagnostics = Diagnostics(self, self._report, DiagnosticsSettings())
        say_awaited(self, self._awaited, self._diagnostics.publish)

    # From a target to a plan

    def _on_target(self, goal: Callable[..., Goal], message: PoseStamped | JointState) -> None:
        self._plan_to(partial(goal, message))

    def _plan_to(self, target: Target) -> None:
        """Search a motion to a target; later if a search is running."""
        if self._search is not None:
            self._newest = target
            return
        self._drop_plan()
        try:
            if self._watch is None:
                raise NotReadyError("no robot_description has come yet")
            q = rest_position(self._watch)
            self._settings = settings = read_search_settings(self, self._robot(self._watch))
            self._search = BackgroundTask("plan", partial(search, settings, target(settings, q), q))
            self._searches += 1
            self._state, self._problem = "searching", ""
        except RobodynError as problem:
            self._refuse(problem)

    def _poll(self) -> None:
        """Publish the plan of a search that has ended, begin the next search, and move the ghost."""
        if self._search is not None and self._search.done():
            ended, self._search = self._search, None
            try:
                self._publish_plan(ended.result())
            except Exception as problem:  # of the search: it must not end the node
                self._refuse(problem)
            newest, self._newest = self._newest, None
            if newest is not None:
                self._plan_to(newest)
        if self._preview is not None and self._markers.get_subscription_count():
            t = (monotonic() - self._preview_start) % (self._preview.trajectory.duration + PAUSE)
            self._markers.publish(self._preview.message(t, self.get_clock().now().nanoseconds))

    def _publish_plan(self, plan: Plan) -> None:
        """Publish and show a plan; send it to the controller if the parameters ask for that.

        Raises:
            NotReadyError: it has no motion, or cannot be sent.
        """
        if not plan.solved:
            raise NotReadyError(plan.reason)
        assert self._settings is not None
        self._plan, self._solved = plan, self._solved + 1
        self._state = f"{plan.duration:.3g} s, found in {plan.solve_time:.2g} s"
        self.get_logger().info(f"a motion of {self._state}")
        trajectory = plan.to_trajectory()
        self._trajectories.publish(from_trajectory(plan.joints, trajectory))
        try:
            self._preview = Preview(self._settings.dynamics.robot, self._settings.link, trajectory)
        except RobodynError as problem:  # of the pictures of the links: the motion is what it is
            self.get_logger().warning(f"the motion is not shown: {problem}")
        self._preview_start = monotonic()
        if self._settings.planner.execute and self._newest is None:
            self._execute()
        self._diagnostics.publish()

    # From a plan to the controller

    def _execute(self) -> str:
        """Send the plan to the controller, and return a sentence about it.

        Raises:
            NotReadyError: there is no plan, no subscriber, or the arm is not at its start.
        """
        if self._plan is None or self._watch is None:
            raise NotReadyError("there is no plan")
        check_start(self._watch, self._plan.q[0])
        if not self._controller.get_subscription_count():
            raise NotReadyError(f"{self._controller.topic_name} has no subscriber")
        self._controller.publish(from_trajectory(self._plan.joints, self._plan.to_trajectory()))
        self._drop_plan()
        self._state, self._problem = "sent to the controller", ""
        return self._state

    def _drop_plan(self) -> None:
        """Forget the plan, and remove its picture."""
        if self._preview is not None:
            self._markers.publish(self._preview.removal())
        self._plan = self._preview = None

    # The arm, and the report

    def _on_description(self) -> None:
        """Plan for the arm of a new description from now on; what was found or is sought for another one is dropped."""
        if self._watch is not None:
            self._watch.destroy()
        self._drop_plan()
        self._watch = self._search = self._newest = None
        self._state = self._problem = ""
        try:
            self._begin()
        except RobodynError as problem:
            self._refuse(problem)

    def _begin(self) -> None:
        """Watch the arm of the description, and say whether the options fit it.

        Raises:
            RobodynError: it does not describe an arm, or one without the joints that the parameters name.
        """
        whole = self._description.robot()
        joints = NodeParameters(self)["joints"]
        self._locked = LockedJoints(whole, whole.joint_names if joints == [""] else joints)
        self._watch = Watch(self, self._locked.robot(self._locked.middle))
        try:
            read_options(NodeParameters(self), self._watch.robot)
        except RobodynError as problem:  # they may change
            self._refuse(problem)

    def _check_change(self, changes: list[Parameter]) -> None:
        """Refuse a change that no search could use."""
        if self._watch is not None:
            read_options(NodeParameters(self, changes), self._watch.robot)

    def _robot(self, watch: Watch) -> Robot:
        """The arm; joints that are not planned are locked at their present position."""
        locked = self._locked
        return locked.robot([watch.known.get(name, mid) for name, mid in zip(locked.names, locked.middle, strict=True)])

    def _refuse(self, problem: Exception) -> None:
        self._state, self._problem = "", str(problem)
        self.get_logger().error(f"no motion: {problem}")
        if hasattr(self, "_diagnostics"):
            self._diagnostics.publish()

    def _awaited(self) -> str:
        """The missing input for a plan, in words; "" if there is none, or if there is a problem."""
        return self._description.awaited if self._watch is None else self._watch.awaited

    def _report(self) -> Report:
        name = "" if self._watch is None else self._watch.robot.name
        values = {"searches": self._searches, "found": self._solved}
        awaited = self._awaited()
        problem = self._problem or (f"waiting for {awaited}" if awaited else "")
        return Report(name, problem, self._state or "waiting for a target", values)


@dataclass(frozen=True, eq=False)
class SearchSettings:
    """The settings of one search, as the parameters give them when its target comes."""

    planner: PlannerSettings
    cost: Cost
    obstacles: tuple[Obstacle, ...]
    link: str
    dynamics: Dynamics


def read_search_settings(node: Node, robot: Robot) -> SearchSettings:
    """The search settings that the parameters give now.

    Raises:
        RobodynError: one of them is wrong.
    """
    parameters = NodeParameters(node)
    settings = parameters.settings(PlannerSettings)
    link, obstacles, cost = read_options(parameters, robot)
    payload = Payload(link, settings.payload) if settings.payload > 0.0 else None
    loads = {"gravity": tuple(parameters["gravity"]), "payload": payload}
    dynamics = create_dynamics("rnea", robot, **loads, viscous=robot.damping, coulomb=robot.friction)
    return SearchSettings(settings, cost, obstacles, link, dynamics)


def read_options(parameters: NodeParameters, robot: Robot) -> tuple[str, tuple[Obstacle, ...], Cost]:
    """The link, the obstacles and the cost that the parameters name.

    Raises:
        RobodynError: one of them is wrong.
    """
    link = robot.link(parameters["tool"] or tip(robot), "tool").name
    obstacles = read_obstacles(parameters["obstacles"]) if parameters["obstacles"] else ()
    return link, obstacles, read_cost(parameters["cost"], robot.effort_limit, robot.velocity_limit)


def pose_goal(message: PoseStamped, settings: SearchSettings, q: Array) -> Goal:
    """The goal of a pose: the tool at that pose.

    Raises:
        InputError: it is no pose, or not in the root link's frame.
    """
    frame, root = message.header.frame_id, settings.dynamics.robot.root
    check(frame in ("", root), "frame_id", f"{root!r}, the root link", frame)
    return ToolGoal(to_matrix(message.pose), settings.link)


def joint_goal(message: JointState, settings: SearchSettings, q: Array) -> Goal:
    """The goal of joint positions: the named joints, the others at their present position, q (n,).

    Raises:
        InputError: positions that are not a finite one for each name, or an unknown or repeated name.
    """
    names = settings.dynamics.robot.joint_names
    if not message.name or len(set(message.name)) < len(message.name):
        raise InputError("name", f"must name joints, each once, not {list(message.name)}", message.name)
    check_joints(message.name, names)
    goal = q.copy()
    given = finite_array("position", values_of(message, "position"), (len(message.name),))  # NaN would be anywhere
    goal[[names.index(name) for name in message.name]] = given
    return JointGoal(goal)


def search(settings: SearchSettings, goal: Goal, start: Array) -> Plan:
    """Search the best motion from a position (n,); to be called in a thread.

    Raises:
        RobodynError: the problem is contradictory.
    """
    from robodyn_ros.planning.collocation.collocation import plan_by

    robot, planner = settings.dynamics.robot, settings.planner
    inside = np.clip(start, robot.lower, robot.upper)
    begin = np.where(np.abs(inside - start) < STOP_ROUNDING, inside, start)
    limits = MotionLimits.of(robot, limit_ratio=planner.limit_ratio)
    bounds: dict[str, Any] = {"limits": limits, "margin": planner.margin, "limit_margin": LIMIT_MARGIN}
    problem = Problem(settings.dynamics, begin, goal, settings.cost, obstacles=settings.obstacles, **bounds)
    return plan_by(planner.method, problem, planner.time_limit)


def declare_planner(node: Node) -> None:
    """Declare the parameters.

    Raises:
        ParameterException: a value given has the wrong type or is out of range.
    """
    declare_settings(node, PlannerSettings)
    text = "names of the joints that are planned, all if it is one empty name; the others are locked where they are"
    declare(node, "joints", [""], text, constraints="joints of the arm, each at most once", read_only=True)
    declare(node, "cost", SMOOTH, "cost to minimise: time, effort, smoothness, or a sum such as time+0.1*effort")
    declare(node, "obstacles", "", "path of a file of obstacles, as `robodyn plan` takes it; none if empty")
    declare_tool(node)
    declare_gravity(node, read_only=True)
