"""The planner node: the best motion from where the arm is to where it is asked to be.

A target comes on ``~/plan_to/pose`` (of the tool, in the root link's frame) or ``~/plan_to/joints`` (of some joints or
all, by name). The search runs in a thread, so that the node answers meanwhile; a target that comes meanwhile is next,
and of several the newest. What is found is published on ``~/joint_trajectory``, efforts included, and shown by markers;
``~/execute`` sends it to the controller, if the arm is still where it begins. What is not found is said in the log and
in the diagnostics, with the constraint that is in the way.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from time import monotonic

import numpy as np
from geometry_msgs.msg import PoseStamped
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory
from visualization_msgs.msg import MarkerArray

from robodyn_ros import create_dynamics
from robodyn_ros.control.faults.settings import SafetySettings
from robodyn_ros.dynamics.base import Dynamics
from robodyn_ros.dynamics.parameters import Payload
from robodyn_ros.errors import InputError, NotReadyError, RobodynError
from robodyn_ros.nodes.common.arm_parameters import declare_gravity
from robodyn_ros.nodes.common.background_task import BackgroundTask
from robodyn_ros.nodes.common.description import DescriptionSource, declare_description
from robodyn_ros.nodes.common.diagnostics import Diagnostics, DiagnosticsSettings, Report
from robodyn_ros.nodes.common.executor import Exit, run
from robodyn_ros.nodes.common.messages import to_matrix
from robodyn_ros.nodes.common.parameters import NodeParameters, declare, declare_settings
from robodyn_ros.nodes.common.qos import LATCHED, RELIABLE
from robodyn_ros.nodes.common.timers import steady_timer
from robodyn_ros.nodes.common.watch import CONTROLLER, Watch
from robodyn_ros.nodes.planner.messages import Preview, check_there, standing_at, to_message
from robodyn_ros.planning.cost import Cost, read_cost
from robodyn_ros.planning.obstacles import Obstacle, read_obstacles
from robodyn_ros.planning.plan import Plan
from robodyn_ros.planning.problem import SHARE, Goal, JointGoal, ToolGoal
from robodyn_ros.robot import Robot
from robodyn_ros.robot.pose import Array
from robodyn_ros.robot.robot import tip
from robodyn_ros.settings import check_settings, choice, setting, switch

# The planner's settings, and the problem that they and a target make.

METHODS = ("collocation", "time-scaling")


@dataclass(frozen=True)
class PlannerSettings:
    """Settings of the node; each field's metadata say what it is."""

    method: str = choice("collocation", "how a motion is found", lambda: METHODS)
    share: float = setting(SHARE, "part of the limits of speed and effort that may be used", "-", 0.01, 1.0)
    time_limit: float = setting(20.0, "for a search", "s", 0.01, 3600.0)
    margin: float = setting(0.01, "distance to keep from obstacles", "m", 0.0, 10.0)
    limit_margin: float = setting(
        SafetySettings().soft_limit_margin, "distance to keep from position limits on the way", "rad or m", 0.0, 10.0
    )
    payload: float = setting(0.0, "mass that the tool carries", "kg", 0.0, 1e6)
    execute: bool = switch(False, "whether what is found is sent to the controller at once; see ~/execute")

    def __post_init__(self) -> None:
        check_settings(self)


def declare_planner(node: Node) -> None:
    """Declare the parameters."""
    declare_settings(node, PlannerSettings)
    declare(node, "cost", "time", "what is to be least: time, effort, smoothness, or a sum as time+1e-4*effort")
    declare(node, "obstacles", "", "file of what to keep clear of, as `robodyn plan` takes it; nothing if empty")
    declare(node, "tip", "", "name of the link that a pose is meant for; the last that moves if empty", read_only=True)
    declare_gravity(node, read_only=True)


@dataclass(frozen=True, eq=False)
class PlanGoal:
    """What the parameters say when a target comes."""

    config: PlannerSettings
    cost: Cost
    obstacles: tuple[Obstacle, ...]
    link: str
    dynamics: Dynamics


def read_wish(node: Node, robot: Robot) -> PlanGoal:
    """The present values.

    Raises:
        RobodynError: one of them is wrong.
    """
    values = NodeParameters(node)
    config = values.settings(PlannerSettings)
    link = values["tip"] or tip(robot)
    dynamics = create_dynamics(
        "rnea",
        robot,
        gravity=tuple(values["gravity"]),
        payload=Payload(link, config.payload) if config.payload > 0.0 else None,
        viscous=robot.damping,
        coulomb=robot.friction,
    )
    obstacles = read_obstacles(values["obstacles"]) if values["obstacles"] else ()
    return PlanGoal(config, read_cost(values["cost"]), obstacles, link, dynamics)


# What a target asks for, and the search for it.
ROUNDING = 1e-3
"""So far beyond its stop a sensor may see a joint [rad] or [m]."""


def pose_goal(message: PoseStamped, wish: PlanGoal, q: Array) -> Goal:
    """The tool at a pose.

    Raises:
        InputError: it is no pose, or not in the root link's frame.
    """
    root = wish.dynamics.robot.root
    if message.header.frame_id not in ("", root):
        raise InputError("frame_id", f"must be {root!r}, the root link, not {message.header.frame_id!r}")
    return ToolGoal(to_matrix(message.pose), wish.link)


def joint_goal(message: JointState, wish: PlanGoal, q: Array) -> Goal:
    """Some joints elsewhere, the others where they are, q (n,).

    Raises:
        InputError: positions that are not one for each name, or an unknown name.
    """
    names = wish.dynamics.robot.joint_names
    if len(message.position) != len(message.name) or not message.name:
        raise InputError("position", f"has {len(message.position)} values for {len(message.name)} joints")
    goal = q.copy()
    for name, position in zip(message.name, message.position, strict=True):
        if name not in names:
            raise InputError("name", f"there is no joint {name!r}; the arm has {', '.join(names)}", name)
        goal[names.index(name)] = position
    return JointGoal(goal)


def search(wish: PlanGoal, goal: Goal, start: Array) -> Plan:
    """The best motion from a position (n,); to be called in a thread.

    Raises:
        RobodynError: the problem is wrong in itself.
    """
    from robodyn_ros.planning.collocation.collocation import CollocationSettings, plan
    from robodyn_ros.planning.problem import MotionLimits, Problem

    robot, config = wish.dynamics.robot, wish.config
    inside = np.clip(start, robot.lower, robot.upper)
    limits = MotionLimits.of(robot, share=config.share)
    problem = Problem(
        wish.dynamics,
        np.where(np.abs(inside - start) < ROUNDING, inside, start),
        goal,
        wish.cost,
        limits=limits,
        obstacles=wish.obstacles,
        margin=config.margin,
        limit_margin=config.limit_margin,
    )
    if config.method == "time-scaling":
        from robodyn_ros.planning import time_scaling

        return time_scaling.plan(problem)
    return plan(problem, CollocationSettings(time_limit=config.time_limit))


LOOK = 0.05
"""How often to see whether a search has ended, and to move the ghost [s]."""

PAUSE = 1.0
"""How long the ghost rests at the end of its way [s]."""

Asked = Callable[[PlanGoal, Array], Goal]
"""What a target makes of the parameters and of where the arm is (n,)."""


class PlannerNode(Node):  # type: ignore[misc]
    """The planner node: the best motion from where the arm is to where it is asked to be.

    A target comes on ``~/plan_to/pose`` (of the tool, in the root link's frame) or ``~/plan_to/joints`` (of some joints
    or all, by name). The search runs in a thread, so that the node answers meanwhile; a target that comes meanwhile is
    next,
    and of several the newest. What is found is published on ``~/joint_trajectory``, efforts included, and shown by
    markers;
    ``~/execute`` sends it to the controller, if the arm is still where it begins. What is not found is said in the log
    and in the diagnostics, with the constraint that is in the way.
    """

    def __init__(self, end: Exit) -> None:
        """
        Args:
            end: not used; this node ends when it is told to.

        Raises:
            RobodynError: the description or a parameter is wrong.
            ParameterException: a parameter was given a value of the wrong type or out of range.
        """
        super().__init__("planner")
        declare_description(self, read_only=True)
        declare_planner(self)
        declare_settings(self, DiagnosticsSettings, read_only=True)
        self._watch: Watch | None = None
        self._search: BackgroundTask[Plan] | None = None
        self._next: Asked | None = None
        self._wish: PlanGoal | None = None
        self._plan: Plan | None = None
        self._preview: Preview | None = None
        self._shown, self._said, self._problem = monotonic(), "", ""
        self._searches = self._solved = 0
        self._trajectories = self.create_publisher(JointTrajectory, "~/joint_trajectory", LATCHED)
        self._markers = self.create_publisher(MarkerArray, "~/markers", RELIABLE)
        self._controller = self.create_publisher(JointTrajectory, f"{CONTROLLER}/joint_trajectory", RELIABLE)
        self._description = DescriptionSource(self, self._on_description)
        if self._description.known:
            self._on_description()
        self.create_subscription(PoseStamped, "~/plan_to/pose", self._on_pose, RELIABLE)
        self.create_subscription(JointState, "~/plan_to/joints", self._on_joints, RELIABLE)
        self.create_service(Trigger, "~/execute", self._on_execute)
        steady_timer(self, LOOK, self._look)
        self._diagnostics = Diagnostics(self, self._report)

    def _on_description(self) -> None:
        if self._watch is not None:
            self._watch.destroy()
        self._watch = self._plan = None
        try:
            self._watch = Watch(self, self._description.robot())
        except RobodynError as problem:
            self._refuse(problem)

    def _on_pose(self, message: PoseStamped) -> None:
        self._ask(partial(pose_goal, message))

    def _on_joints(self, message: JointState) -> None:
        self._ask(partial(joint_goal, message))

    def _ask(self, asked: Asked) -> None:
        """Search, or later if a search is under way."""
        if self._search is not None:
            self._next = asked
            return
        try:
            if self._watch is None:
                raise NotReadyError("no robot_description has come yet")
            q = standing_at(self._watch)
            self._wish = wish = read_wish(self, self._watch.robot)
            self._search = BackgroundTask("plan", partial(search, wish, asked(wish, q), q))
            self._searches += 1
            self._said, self._problem = "searching", ""
        except RobodynError as problem:
            self._refuse(problem)

    def _look(self) -> None:
        if self._search is not None and self._search.done:
            search, self._search = self._search, None
            try:
                self._take(search.result())
            except Exception as problem:  # of the search: it must not end the node
                self._refuse(problem)
            asked, self._next = self._next, None
            if asked is not None:
                self._ask(asked)
        if self._preview is not None and self._markers.get_subscription_count():
            t = (monotonic() - self._shown) % (self._preview.trajectory.duration + PAUSE)
            self._markers.publish(self._preview.message(t, self.get_clock().now().nanoseconds))

    def _take(self, plan: Plan) -> None:
        if not plan.solved:
            raise NotReadyError(plan.reason)
        assert self._wish is not None
        self._plan, self._solved = plan, self._solved + 1
        self._said = f"{plan.duration:.3g} s, found in {plan.solve_time:.2g} s"
        self.get_logger().info(f"a motion of {self._said}")
        self._trajectories.publish(to_message(plan))
        self._preview = Preview(self._wish.dynamics.robot, self._wish.link, plan.to_trajectory())
        self._shown = monotonic()
        if self._wish.config.execute:
            self._execute()
        self._diagnostics.publish()

    def _execute(self) -> None:
        """Send it.

        Raises:
            NotReadyError: there is none, nobody listens, or the arm is elsewhere.
        """
        if self._plan is None or self._watch is None:
            raise NotReadyError("there is no plan")
        check_there(self._watch, self._plan)
        if not self._controller.get_subscription_count():
            raise NotReadyError(f"nobody listens to {self._controller.topic_name}")
        self._controller.publish(to_message(self._plan))
        self._plan = None
        if self._preview is not None:
            self._markers.publish(self._preview.gone())
            self._preview = None
        self._said = "sent to the controller"

    def _on_execute(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        try:
            self._execute()
            response.success, response.message = True, self._said
        except RobodynError as problem:
            response.success, response.message = False, str(problem)
        return response

    def _refuse(self, problem: Exception) -> None:
        self._said, self._problem = "", str(problem)
        self.get_logger().error(f"no motion: {problem}")
        if hasattr(self, "_diagnostics"):
            self._diagnostics.publish()

    def _report(self) -> Report:
        name = "" if self._watch is None else self._watch.robot.name
        values = {"searches": self._searches, "found": self._solved}
        sees = self._watch is not None and self._watch.q is not None
        waits = f"waiting for {'a target' if sees else 'joint states'}"
        return Report(name, self._problem, self._said or waits, values)


def main() -> int:
    """Run the planner."""
    return run(PlannerNode)
