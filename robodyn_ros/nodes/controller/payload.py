# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The controller's ``~/estimate_payload``: the payload, from a short motion around the position where the arm is held.

The response comes at the end. The motion begins only if the arm is held, at rest. Any event that ends the motion early
(another reference, ``~/hold``, a fault, an arm too far from its reference) also ends the estimation; the arm then
follows the other reference, or is held. The estimate is computed beside the loop, in a thread with its own model.
"""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from builtin_interfaces.msg import Time
from geometry_msgs.msg import InertiaStamped
from numpy.typing import ArrayLike
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.task import Future

from robodyn_ros.control import Adaptive, Command, Tolerances, TrajectoryGoal
from robodyn_ros.control.motion.own_motions import DEVIATION, PayloadSettings, payload_motion
from robodyn_ros.dynamics.rnea import RNEA
from robodyn_ros.errors import NotReadyError, RobodynError
from robodyn_ros.nodes.common.client_library import LATCHED, steady_timer
from robodyn_ros.nodes.common.messages import seconds
from robodyn_ros.nodes.common.parameters import NodeParameters
from robodyn_ros.nodes.common.threads import BackgroundTask
from robodyn_ros.nodes.controller.closed_loop import ClosedLoop
from robodyn_ros.plugins import raised
from robodyn_ros.robot import Array, tip
from robodyn_ros.robot.pose import MOMENTS
from robodyn_ros.settings import TOOL

if TYPE_CHECKING:
    from robodyn_ros.identification.estimation.payload import PayloadEstimate

POLL_PERIOD = 0.05  #: Time between two checks that the motion or the calculation has ended [s].
REST_SPEED = 0.05  #: Joint speed up to which the arm counts as at rest [rad/s] or [m/s].
PREFIX = "payload_estimation."  #: Prefix of the parameters' names.

Row = tuple[float, Array, Array, bool]
"""Time of a state [s], its position (n,), the effort at the joints for it, with what the drives add by themselves (n,),
and True if nothing limited that effort."""


class PayloadEstimation:
    """The service ``~/estimate_payload``, and the topic ``~/payload``."""

    def __init__(self, node: Node, loop: ClosedLoop) -> None:
        self._node, self._loop = node, loop
        self._response: Future | None = None
        self._goal: TrajectoryGoal | None = None
        self._task: BackgroundTask[PayloadEstimate] | None = None
        self._rows: list[Row] = []
        self._publisher = node.create_publisher(InertiaStamped, "~/payload", LATCHED)
        self._timer = steady_timer(node, POLL_PERIOD, self._poll, autostart=False)  # it runs while a service call waits

    def end(self) -> None:
        """Answer the service call that waits."""
        self._respond(False, "the controller was cleaned up, or has ended")

    def begin(self) -> Future:
        """Start the motion; the result is a future of success and message. RobodynError: it cannot be started."""
        self._start_motion()
        self._response = Future()
        self._timer.reset()
        return self._response

    def _start_motion(self) -> None:
        """Have the arm follow the motion, and keep its states."""
        command = self._held()
        assert command.reference is not None
        assert command.error is not None
        assert command.efforts is not None
        settings = NodeParameters(self._node).settings(PayloadSettings, PREFIX)
        loop = self._loop.control
        total, limits = command.efforts.total, loop.settings.limits
        trajectory = payload_motion(loop.dynamics, command.reference.q, total, limits, settings)
        anything = Tolerances.none(self._loop.robot.n)
        path = DEVIATION * settings.distances(self._loop.robot) + 2.0 * np.abs(command.error)
        tolerances = Tolerances(path, anything.goal, anything.speed, anything.time)
        self._goal = self._loop.references.follow(trajectory, None, None, tolerances)
        self._rows = []
        self._loop.listeners.append(self._keep)

    def _held(self) -> Command:
        """The latest command, if the arm is held and at rest; else NotReadyError."""
        if self._response is not None:
            raise NotReadyError("an estimation is under way")
        if self._loop.state != "hold" or self._loop.latest is None:
            raise NotReadyError(f"the arm has to be held, but the controller's state is: {self._loop.state}")
        command = self._loop.latest[1]
        if not self._loop.law.follows or command.reference is None or command.state is None:
            raise NotReadyError("the control law does not hold the arm: use one that follows a reference")
        if (speed := np.abs(command.state[1]).max()) > REST_SPEED:
            raise NotReadyError(f"the arm is not at rest, but moves at up to {speed:.3g}")
        return command

    def _keep(self, when: Time, command: Command) -> None:
        """Keep a state and the effort for it."""
        if command.state is not None and command.efforts is not None:
            limited = any(command.saturated.tolist()) or any(command.rate_limited.tolist())
            self._rows.append((seconds(when), command.state[0], command.efforts.total, not limited))

    def _poll(self) -> None:
        """Estimate when the motion has ended; respond when the estimate is there."""
        if self._goal is not None and self._goal.outcome is not None:
            outcome, reason = self._goal.outcome, self._goal.reason
            self._stop_keeping()
            if outcome == "succeeded":
                self._task = BackgroundTask("payload", partial(self._estimate, self._rows))
            else:
                self._respond(False, f"the motion ended early: {reason or outcome}")
        elif self._task is not None and self._task.done():
            try:
                self._respond(True, self._publish(self._task.result()))
            except Exception as problem:  # of the calculation: the arm is held, and the client gets the problem
                self._respond(False, str(problem) if isinstance(problem, RobodynError) else raised(problem))

    def _stop_keeping(self) -> None:
        if self._goal is not None:
            self._goal = None
            self._loop.listeners.remove(self._keep)

    def _respond(self, success: bool, message: str) -> None:
        """Respond to the client, if one waits."""
        self._stop_keeping()
        self._timer.cancel()
        response, self._response, self._task = self._response, None, None
        if response is not None:
            response.set_result((success, message))

    def _estimate(self, rows: list[Row]) -> PayloadEstimate:
        """Estimate the payload, in a thread, with a model of its own."""
        from robodyn_ros.identification.estimation.payload import estimate_online  # SciPy would delay the node's start

        given = self._loop.control.dynamics.parameters
        known = {name: getattr(given, name) for name in ("gravity", "armature", "inertial")}
        t, q, effort, usable = map(np.array, zip(*rows, strict=True))
        link = NodeParameters(self._node)[TOOL.name] or tip(self._loop.robot)
        return estimate_online(RNEA(self._loop.robot, **known), link, t, q, effort, usable)

    def _publish(self, found: PayloadEstimate) -> str:
        """Publish an estimate, adopt it if the parameters say so, and return its message."""
        message, payload = InertiaStamped(), found.payload
        message.header.stamp, message.header.frame_id = self._node.get_clock().now().to_msg(), payload.link
        message.inertia.m = float(payload.mass)
        message.inertia.com.x, message.inertia.com.y, message.inertia.com.z = _com(found)
        for name, place in MOMENTS.items():
            setattr(message.inertia, name, float(np.asarray(payload.inertia)[place]))
        self._publisher.publish(message)
        if not NodeParameters(self._node).settings(PayloadSettings, PREFIX).adopt:
            return to_text(found, False)
        result = self._node.set_parameters_atomically(to_parameters(found))
        if not result.successful:
            raise NotReadyError(f"found, but not adopted: {result.reason}; {to_text(found, False)}")
        if isinstance(law := self._loop.law, Adaptive):
            law.forget_bodies()  # the payload contains what the law has learnt of them
        return to_text(found, True)


def to_parameters(found: PayloadEstimate) -> list[Parameter]:
    """The controller's parameters ``payload.*`` for an estimate; the moments of inertia are in the order of a URDF."""
    payload, inertia = found.payload, np.asarray(found.payload.inertia)
    moments = [float(inertia[place]) for place in MOMENTS.values()]
    values = {"mass": float(payload.mass), "com": _com(found), "inertia": moments}
    return [Parameter(f"payload.{name}", value=value) for name, value in values.items()]


def to_text(found: PayloadEstimate, adopted: bool) -> str:
    """An estimate as JSON: link, mass [kg], centre of mass in the link's frame [m], and their standard errors; ``null``
    for an axis along which the centre of mass is not identifiable from the motion.
    """

    def shown(values: ArrayLike) -> list[float | None]:
        pairs = zip(np.asarray(values).tolist(), found.identified[1:4], strict=True)
        return [round(value, 5) if known else None for value, known in pairs]

    content = {
        "link": found.payload.link,
        "mass": round(float(found.payload.mass), 5),
        "mass_error": round(found.mass_error, 5),
        "com": shown(found.payload.com),
        "com_error": shown(found.com_error),
        "adopted": adopted,
    }
    return json.dumps(content)


def _com(found: PayloadEstimate) -> list[float]:
    """Centre of mass in the link's frame [m]; 0 along an axis where it is not identifiable from the motion."""
    return np.where(found.identified[1:4], found.payload.com, 0.0).tolist()
