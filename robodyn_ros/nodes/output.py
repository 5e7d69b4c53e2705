"""What the controller publishes for each command: first the command, then what somebody listens to."""

from __future__ import annotations

from typing import Any

import numpy as np
from rclpy._rclpy_pybind11 import RCLError  # which rclpy exports nowhere else
from rclpy.lifecycle import LifecycleNode
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from robodyn_ros.control.command import Command
from robodyn_ros.nodes.faults import Faults
from robodyn_ros.nodes.messages import Stamp
from robodyn_ros.nodes.qos import RELIABLE
from robodyn_ros.nodes.stencil import Stencil
from robodyn_ros.robot.pose import Array

TERMS = ("gravity", "coriolis", "inertia", "friction", "feedback", "total")
"""The terms of the control law with a topic ``~/efforts/<term>`` of their own."""


class Topic:
    """A topic whose messages differ in a stamp and some numbers.

    Attributes:
        heard: whether somebody listened when that was last looked at.
    """

    def __init__(self, node: LifecycleNode, faults: Faults, topic: str, message: Any, n: int, *fields: str) -> None:
        """
        Args:
            node: who publishes.
            faults: where it is counted that a message could not be published.
            topic: name of the topic.
            message: what stays the same.
            n: how many numbers each field has.
            fields: names of those that change.
        """
        self.heard = False
        self._faults, self._topic = faults, topic
        self.publisher: Any = node.create_lifecycle_publisher(type(message), topic, RELIABLE)
        self._stencil = Stencil(message, n, *fields)
        # What the publisher wraps in checks that are made here already: the loop sends only while the node is active.
        self._write = self.publisher.handle.publish_raw

    def look(self) -> None:
        """See whether somebody listens."""
        self.heard = self.publisher.get_subscription_count() > 0

    def publish(self, stamp: Stamp, **values: Array) -> None:
        """Publish arrays (n,) under the names of the message's fields.

        The middleware may refuse a message, for instance while a subscriber that it must reach takes none. That is
        counted, and the arm goes on being controlled.
        """
        try:
            self._write(self._stencil.fill(stamp, **values))
        except RCLError as problem:
            self._faults.count("message not published", f"{self._topic}: {problem}")


class Output:
    """The publishers of the controller. They publish only while the node is active."""

    def __init__(self, node: LifecycleNode, faults: Faults, arm: tuple[str, ...], joints: tuple[str, ...]) -> None:
        """
        Args:
            node: who publishes.
            faults: where it is counted that a message could not be published.
            arm: names of the arm's joints, in its order.
            joints: the same in the order of ``~/commands``.
        """
        self._node = node
        n = len(arm)
        self._order = None if arm == joints else np.array([arm.index(name) for name in joints], dtype=np.intp)
        self._joint_commands = Topic(node, faults, "~/joint_commands", JointState(name=joints), n, "effort")
        self._commands = Topic(node, faults, "~/commands", Float64MultiArray(), n, "data")
        self._terms = {
            term: Topic(node, faults, f"~/efforts/{term}", JointState(name=arm), n, "effort") for term in TERMS
        }
        self._error = Topic(node, faults, "~/tracking_error", JointState(name=arm), n, "position", "velocity")
        self._all = (self._joint_commands, self._commands, self._error, *self._terms.values())
        self._heard: list[tuple[str, Topic]] = []
        self.refresh()

    def refresh(self) -> None:
        """See anew who listens; to be called now and then, since asking for every message would cost time."""
        for topic in self._all:
            topic.look()
        self._heard = [(term, topic) for term, topic in self._terms.items() if topic.heard]

    def send(self, stamp: Stamp, effort: Array) -> None:
        """Publish efforts (n,) in the arm's order; a command is stamped like the state that it answers."""
        if self._order is not None:
            effort = effort[self._order]
        if self._joint_commands.heard:
            self._joint_commands.publish(stamp, effort=effort)
        if self._commands.heard:
            self._commands.publish(stamp, data=effort)

    def explain(self, stamp: Stamp, command: Command) -> None:
        """Publish where the command came from, to those who listen; an answer to a fault comes from no law."""
        # Who listens to commands is looked at every time, but when there is time: a new listener misses one at most.
        self._joint_commands.look()
        self._commands.look()
        if command.efforts is None or command.reference is None or command.error is None or command.state is None:
            return
        for term, topic in self._heard:
            topic.publish(stamp, effort=getattr(command.efforts, term))
        if self._error.heard:
            self._error.publish(stamp, position=command.error, velocity=command.reference.qd - command.state[1])

    def destroy(self) -> None:
        """Withdraw the topics."""
        for topic in self._all:
            self._node.destroy_lifecycle_publisher(topic.publisher)
