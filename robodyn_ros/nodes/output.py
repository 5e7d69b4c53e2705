"""What the controller publishes for each command: first the command, then what somebody listens to."""

from __future__ import annotations

from array import array
from typing import Any

import numpy as np
from builtin_interfaces.msg import Time
from rclpy.lifecycle import LifecycleNode
from rclpy.qos import QoSProfile
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from robodyn_ros.control.loop import Command
from robodyn_ros.nodes.qos import RELIABLE
from robodyn_ros.robot.pose import Array

TERMS = ("gravity", "coriolis", "inertia", "friction", "feedback", "total")
"""The terms of the control law with a topic ``~/efforts/<term>`` of their own."""


class JointTopic:
    """A JointState topic with one message that is used over and over."""

    def __init__(self, node: LifecycleNode, topic: str, names: list[str], qos: QoSProfile) -> None:
        """
        Args:
            node: who publishes.
            topic: name of the topic.
            names: of the joints, in the order of what is published.
            qos: of the topic.
        """
        self.publisher: Any = node.create_lifecycle_publisher(JointState, topic, qos)
        self._message = JointState(name=names)

    def publish(self, stamp: Time, **values: Array) -> None:
        """Publish arrays (n,) under the names of the message's fields."""
        self._message.header.stamp = stamp
        for field, array_ in values.items():
            setattr(self._message, field, array("d", array_.tobytes()))
        self.publisher.publish(self._message)


class Output:
    """The publishers of the controller. They publish only while the node is active."""

    def __init__(self, node: LifecycleNode, arm: tuple[str, ...], joints: tuple[str, ...]) -> None:
        """
        Args:
            node: who publishes.
            arm: names of the arm's joints, in its order.
            joints: the same in the order of ``~/commands``.
        """
        self._node = node
        self._order = np.array([arm.index(name) for name in joints], dtype=np.intp)
        self._commands: Any = node.create_lifecycle_publisher(Float64MultiArray, "~/commands", RELIABLE)
        self._message = Float64MultiArray()
        self._joint_commands = JointTopic(node, "~/joint_commands", list(joints), RELIABLE)
        self._terms = [(term, JointTopic(node, f"~/efforts/{term}", list(arm), RELIABLE)) for term in TERMS]
        self._error = JointTopic(node, "~/tracking_error", list(arm), RELIABLE)
        self._heard: list[tuple[str, JointTopic]] = []
        self._error_heard = False
        self.refresh()

    def refresh(self) -> None:
        """See anew who listens; to be called now and then, since asking for every message would cost time."""
        self._heard = [item for item in self._terms if item[1].publisher.get_subscription_count()]
        self._error_heard = self._error.publisher.get_subscription_count() > 0

    def send(self, stamp: Time, effort: Array) -> None:
        """Publish efforts (n,) in the arm's order; a command is stamped like the state that it answers."""
        effort = effort[self._order]
        # Who listens is asked each time, at a tenth of the cost of publishing: no command may miss a new listener.
        if self._joint_commands.publisher.get_subscription_count():
            self._joint_commands.publish(stamp, effort=effort)
        if self._commands.get_subscription_count():
            self._message.data = array("d", effort.tobytes())
            self._commands.publish(self._message)

    def explain(self, stamp: Time, command: Command) -> None:
        """Publish where the command came from, to those who listen; an answer to a fault comes from no law."""
        if command.efforts is None or command.reference is None or command.error is None or command.state is None:
            return
        for term, topic in self._heard:
            topic.publish(stamp, effort=getattr(command.efforts, term))
        if self._error_heard:
            self._error.publish(stamp, position=command.error, velocity=command.reference.qd - command.state[1])

    def destroy(self) -> None:
        """Withdraw the topics."""
        topics = [self._joint_commands, self._error, *(topic for _, topic in self._terms)]
        for publisher in (self._commands, *(topic.publisher for topic in topics)):
            self._node.destroy_lifecycle_publisher(publisher)
