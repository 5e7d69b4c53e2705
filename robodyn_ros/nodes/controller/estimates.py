"""What the control law has learnt: ``~/estimates``, ``~/save_estimates``, and the file that it is read from.

The file is read when the node is configured, and when another law takes over that remembers something; it is written
when the service asks for it, and when the node is cleaned up or ends, if one is named.
"""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from geometry_msgs.msg import InertiaStamped
from numpy.typing import ArrayLike
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.task import Future
from std_srvs.srv import Trigger

from robodyn_ros.control.laws.adaptive import Adaptive
from robodyn_ros.control.laws.base import Controller
from robodyn_ros.control.laws.memory_file import recall, save
from robodyn_ros.control.motion.payload_motion import PayloadSettings, payload_motion
from robodyn_ros.control.reference.manager import Following
from robodyn_ros.control.reference.tolerances import Tolerances
from robodyn_ros.control.step import Command
from robodyn_ros.dynamics.rnea import RNEA
from robodyn_ros.errors import ConfigurationError, NotReadyError, RobodynError
from robodyn_ros.nodes.common.messages import respond, seconds
from robodyn_ros.nodes.common.parameters import NodeParameters
from robodyn_ros.nodes.common.preparation import BackgroundTask
from robodyn_ros.nodes.common.qos import LATCHED
from robodyn_ros.nodes.common.timers import steady_timer
from robodyn_ros.nodes.controller.closed_loop import ClosedLoop
from robodyn_ros.robot.pose import Array
from robodyn_ros.robot.robot import tip

if TYPE_CHECKING:
    from robodyn_ros.identification.estimation.payload import PayloadEstimate

PERIOD = 0.5
"""Between two messages [s]."""

FILE = "estimates_file"
"""Name of the parameter with the path of the file."""


class Estimates:
    """What the control law has learnt: ``~/estimates``, ``~/save_estimates``, and the file that it is read from.

    The file is read when the node is configured, and when another law takes over that remembers something; it is
    written when the service asks for it, and when the node is cleaned up or ends, if one is named.
    """

    def __init__(self, node: Node, loop: ClosedLoop) -> None:
        """
        Args:
            node: who publishes.
            loop: whose law.

        Raises:
            ConfigurationError: there is such a file, and it cannot be used.
        """
        self._node, self._loop = node, loop
        self._known: type[Controller] | None = None
        self._said: dict[str, float] = {}
        try:
            self._recall()
        except RobodynError as problem:
            raise ConfigurationError(f"{FILE}: {problem}") from problem
        self._publisher = node.create_publisher(DiagnosticArray, "~/estimates", LATCHED)
        self._service = node.create_service(Trigger, "~/save_estimates", self._on_save)
        self._timer = steady_timer(node, PERIOD, self._look)

    def keep(self) -> None:
        """Save what was learnt, if there is a file for it."""
        if self._path and self._law.memory():
            try:
                save(self._path, self._law)
            except RobodynError as problem:
                self._node.get_logger().error(f"{FILE}: {problem}")

    def destroy(self) -> None:
        """Save what was learnt, and withdraw topic and service."""
        self.keep()
        self._node.destroy_timer(self._timer)
        self._node.destroy_service(self._service)
        self._node.destroy_publisher(self._publisher)

    @property
    def _law(self) -> Controller:
        return self._loop.loop.controller

    @property
    def _path(self) -> str:
        return str(NodeParameters(self._node)[FILE])

    def _on_save(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        def saved() -> str:
            if not self._path:
                raise NotReadyError(f"the parameter {FILE} names no file")
            save(self._path, self._law)
            return f"saved to {self._path}"

        return respond(response, saved)

    def _recall(self) -> bool:
        """Give a law that has just taken over what the file keeps of it; whether there was something."""
        if type(self._law) is self._known:
            return False
        self._known = type(self._law)
        return bool(self._path) and recall(self._path, self._law)

    def _look(self) -> None:
        """Publish what is believed now, if it is something else than before."""
        try:
            if self._recall():
                self._loop.loop.apply(self._loop.loop.settings)  # what it changes is blended in
        except RobodynError as problem:
            self._loop.faults.count("estimates refused", problem)
        found = self._law.estimates()
        if found == self._said:
            return
        self._said = found
        status = DiagnosticStatus(
            name=self._node.get_fully_qualified_name(),
            message=type(self._law).__name__,
            hardware_id=self._loop.robot.name,
            values=[KeyValue(key=name, value=f"{value:.6g}") for name, value in found.items()],
        )
        message = DiagnosticArray(status=[status])
        message.header.stamp = self._node.get_clock().now().to_msg()
        self._publisher.publish(message)


# What was found of a payload: as a message, as parameters, and in words.

MOMENTS = {"xx": (0, 0), "xy": (0, 1), "xz": (0, 2), "yy": (1, 1), "yz": (1, 2), "zz": (2, 2)}
"""Where the moments and products of inertia stand, in the order of the parameter ``payload.inertia``."""


def _com(found: PayloadEstimate) -> list[float]:
    """Centre of mass in the link's frame [m]; 0 along an axis that the motion did not show."""
    known = found.identified[1:4]
    return [value if sure else 0.0 for value, sure in zip(np.asarray(found.payload.com).tolist(), known, strict=True)]


def to_inertia(found: PayloadEstimate) -> InertiaStamped:
    """In the frame of the link that holds it; without a stamp."""
    message, payload = InertiaStamped(), found.payload
    message.header.frame_id = payload.link
    message.inertia.m = float(payload.mass)
    message.inertia.com.x, message.inertia.com.y, message.inertia.com.z = _com(found)
    for name, place in MOMENTS.items():
        setattr(message.inertia, f"i{name}", float(np.asarray(payload.inertia)[place]))
    return message


def to_parameters(found: PayloadEstimate) -> list[Parameter]:
    """The parameters ``payload.*`` of the controller."""
    payload, inertia = found.payload, np.asarray(found.payload.inertia)
    values = {
        "link": payload.link,
        "mass": float(payload.mass),
        "com": _com(found),
        "inertia": [float(inertia[place]) for place in MOMENTS.values()],
    }
    return [Parameter(f"payload.{name}", value=value) for name, value in values.items()]


def to_text(found: PayloadEstimate, adopted: bool) -> str:
    """JSON: link, mass [kg], centre of mass in the link's frame [m], and their standard errors.

    ``null`` stands for an axis along which the motion did not show the centre of mass.
    """

    def shown(values: ArrayLike) -> list[float | None]:
        pairs = zip(np.asarray(values).tolist(), found.identified[1:4], strict=True)
        return [round(value, 5) if known else None for value, known in pairs]

    said = {
        "link": found.payload.link,
        "mass": round(float(found.payload.mass), 5),
        "mass_error": round(found.mass_error, 5),
        "com": shown(found.payload.com),
        "com_error": shown(found.com_error),
        "adopted": adopted,
    }
    return json.dumps(said)


LOOK = 0.05
"""How often to see whether the motion or the calculation has ended [s]."""

STILL = 0.05
"""Greatest speed of an arm that is at rest [rad/s] or [m/s]."""

PREFIX = "payload_estimation."
"""Of the names of its parameters."""

Row = tuple[float, Array, Array, bool]
"""Time of a state [s], its position, what was sent for it, and whether that was all that the law wanted."""


class PayloadEstimation:
    """The controller's ``~/estimate_payload``: a short motion around where the arm is held, and what it holds by that.

    The answer comes when all is done. It begins only with an arm that is held, at rest; whatever ends the motion early
    (another reference, ``~/hold``, a fault, an arm too far from its reference) ends the estimation with it, and the arm
    is
    then led by what ended it, or held. The estimate is worked out beside the loop, in a thread, by a model of its own.
    """

    def __init__(self, node: Node, loop: ClosedLoop) -> None:
        """
        Args:
            node: who serves.
            loop: what moves the arm.
        """
        self._node, self._loop = node, loop
        self._ended: Future | None = None
        self._following: Following | None = None
        self._making: BackgroundTask[PayloadEstimate] | None = None
        self._rows: list[Row] = []
        self._service = node.create_service(Trigger, "~/estimate_payload", self._on_request)
        self._publisher = node.create_publisher(InertiaStamped, "~/payload", LATCHED)
        self._timer = steady_timer(node, LOOK, self._look)

    def destroy(self) -> None:
        """Withdraw service and topic."""
        self._answer(False, "the controller was cleaned up")
        self._node.destroy_timer(self._timer)
        self._node.destroy_service(self._service)
        self._node.destroy_publisher(self._publisher)

    async def _on_request(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        """Wait for the end; nothing is blocked meanwhile."""
        try:
            self._begin()
        except RobodynError as problem:
            response.success, response.message = False, str(problem)
            return response
        self._ended = Future(executor=self._node.executor)
        response.success, response.message = await self._ended
        return response

    def _begin(self) -> None:
        """Have the arm make the motion.

        Raises:
            RobodynError: it cannot, or must not; the message says why.
        """
        loop, command = self._loop.loop, self._held()
        assert command.reference is not None
        assert command.error is not None
        config = NodeParameters(self._node).settings(PayloadSettings, PREFIX)
        trajectory = payload_motion(
            loop.controller.dynamics, command.reference.q, command.effort, loop.settings.limits, config
        )
        anything = Tolerances.none(self._loop.robot.n)
        path = config.deviation * config.distances(self._loop.robot) + 2.0 * np.abs(command.error)
        tolerances = Tolerances(path, anything.goal, anything.speed, anything.time)
        self._following = self._loop.references.take(trajectory, None, None, tolerances)
        self._rows = []
        self._loop.listeners.append(self._keep)

    def _held(self) -> Command:
        """The latest command, if the arm is held and at rest.

        Raises:
            NotReadyError: it is not.
        """
        if self._ended is not None:
            raise NotReadyError("an estimation is under way")
        if self._loop.state != "hold" or self._loop.latest is None:
            raise NotReadyError(f"the arm has to be held, but the controller's state is: {self._loop.state}")
        command = self._loop.latest[1]
        if not self._loop.loop.controller.follows or command.reference is None or command.state is None:
            raise NotReadyError("the control law holds the arm nowhere: it takes one that follows")
        speed = np.abs(command.state[1]).max()
        if speed > STILL:
            raise NotReadyError(f"the arm is not at rest, but moves at up to {speed:.3g}")
        return command

    def _keep(self, when: Time, command: Command) -> None:
        """Keep a state and what was sent for it."""
        if command.state is not None:
            limited = any(command.saturated.tolist()) or any(command.rate_limited.tolist())
            self._rows.append((seconds(when), command.state[0], command.effort, not limited))

    def _look(self) -> None:
        """See whether the motion or the calculation has ended."""
        if self._following is not None and self._following.outcome is not None:
            outcome = self._following.outcome
            self._stop_keeping()
            if outcome == "succeeded":
                self._making = BackgroundTask("payload", partial(self._estimate, self._rows))
            else:
                self._answer(False, f"the motion did not come to its end: {outcome}")
        elif self._making is not None and self._making.done:
            try:
                self._answer(True, self._tell(self._making.result()))
            except Exception as problem:  # of the calculation: the arm is held, and who asked is told
                kind = "" if isinstance(problem, RobodynError) else f"{type(problem).__name__}: "
                self._answer(False, f"{kind}{problem}")

    def _stop_keeping(self) -> None:
        if self._following is not None:
            self._following = None
            self._loop.listeners.remove(self._keep)

    def _answer(self, success: bool, message: str) -> None:
        """Answer who asked."""
        self._stop_keeping()
        ended, self._ended, self._making = self._ended, None, None
        if ended is not None:
            ended.set_result((success, message))

    def _estimate(self, rows: list[Row]) -> PayloadEstimate:
        """In a thread: by a model that belongs to it."""
        from robodyn_ros.identification.estimation.payload import estimate_online  # SciPy would delay the node's start

        given = self._loop.loop.dynamics.parameters
        known = {name: getattr(given, name) for name in ("gravity", "armature", "inertial")}
        t, q, effort, usable = map(np.array, zip(*rows, strict=True))
        link = given.payload.link if given.payload is not None else tip(self._loop.robot)
        return estimate_online(RNEA(self._loop.robot, **known), link, t, q, effort, usable)

    def _tell(self, found: PayloadEstimate) -> str:
        """Publish what was found, adopt it if that is wished, and put it into words.

        Raises:
            NotReadyError: it cannot be adopted.
        """
        message = to_inertia(found)
        message.header.stamp = self._node.get_clock().now().to_msg()
        self._publisher.publish(message)
        adopt = NodeParameters(self._node).settings(PayloadSettings, PREFIX).adopt
        if adopt:
            self._adopt(found)
        return to_text(found, adopt)

    def _adopt(self, found: PayloadEstimate) -> None:
        """Make it the payload of the model; what a law has learnt of the bodies is in it."""
        result = self._node.set_parameters_atomically(to_parameters(found))
        if not result.successful:
            raise NotReadyError(f"found, but not adopted: {result.reason}; {to_text(found, False)}")
        law = self._loop.loop.controller
        if isinstance(law, Adaptive):
            law.forget_bodies()
