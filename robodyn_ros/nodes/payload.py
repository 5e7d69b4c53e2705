"""The controller's ``~/estimate_payload``: a short motion around where the arm is held, and what it holds by that.

The answer comes when all is done. It begins only with an arm that is held, at rest; whatever ends the motion early
(another reference, ``~/hold``, a fault, an arm too far from its reference) ends the estimation with it, and the arm is
then led by what ended it, or held. The estimate is worked out beside the loop, in a thread, by a model of its own.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from builtin_interfaces.msg import Time
from geometry_msgs.msg import InertiaStamped
from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from rclpy.task import Future
from std_srvs.srv import Trigger

from robodyn_ros.control.adaptive import Adaptive
from robodyn_ros.control.command import Command
from robodyn_ros.control.following import Following, Tolerances
from robodyn_ros.control.payload_motion import PayloadConfig, payload_motion
from robodyn_ros.dynamics.rnea import RNEA
from robodyn_ros.errors import NotReadyError, RobodynError
from robodyn_ros.nodes.closed_loop import ClosedLoop
from robodyn_ros.nodes.messages import seconds
from robodyn_ros.nodes.parameters import Values
from robodyn_ros.nodes.payload_messages import to_inertia, to_parameters, to_text
from robodyn_ros.nodes.preparation import Preparation
from robodyn_ros.nodes.qos import LATCHED
from robodyn_ros.robot.pose import Array
from robodyn_ros.robot.tip import tip

if TYPE_CHECKING:
    from robodyn_ros.identification.payload import PayloadEstimate

LOOK = 0.05
"""How often to see whether the motion or the calculation has ended [s]."""

STILL = 0.05
"""Greatest speed of an arm that is at rest [rad/s] or [m/s]."""

PREFIX = "payload_estimation."
"""Of the names of its parameters."""

Row = tuple[float, Array, Array, bool]
"""Time of a state [s], its position, what was sent for it, and whether that was all that the law wanted."""


class PayloadEstimation:
    """See the module."""

    def __init__(self, node: Node, loop: ClosedLoop) -> None:
        """
        Args:
            node: who serves.
            loop: what moves the arm.
        """
        self._node, self._loop = node, loop
        self._ended: Future | None = None
        self._following: Following | None = None
        self._making: Preparation[PayloadEstimate] | None = None
        self._rows: list[Row] = []
        self._service = node.create_service(Trigger, "~/estimate_payload", self._on_request)
        self._publisher = node.create_publisher(InertiaStamped, "~/payload", LATCHED)
        self._timer = node.create_timer(LOOK, self._look, clock=Clock(clock_type=ClockType.STEADY_TIME))

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
        config = Values(self._node).settings(PayloadConfig, PREFIX)
        trajectory = payload_motion(
            loop.controller.dynamics, command.reference.q, command.effort, loop.tuning.limits, config
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
                self._making = Preparation("payload", partial(self._estimate, self._rows))
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
        from robodyn_ros.identification.payload_online import estimate_online  # SciPy would delay the node's start

        given = self._loop.loop.controller.dynamics.parameters
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
        adopt = Values(self._node).settings(PayloadConfig, PREFIX).adopt
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
