"""What the simulator publishes as time goes by: readings as joint_states, and /clock."""

from __future__ import annotations

from array import array
from collections import deque
from collections.abc import Sequence

from rclpy.node import Node
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState

from robodyn_ros.nodes.messages import NANO
from robodyn_ros.nodes.qos import RELIABLE
from robodyn_ros.simulation.transport import Reading


class SimulatorOutput:
    """The two topics. A state's stamp is the time of its measurement, however late it comes.

    Attributes:
        states: how many were published.
        waiting: readings that have come and are not published yet, the earliest first.
    """

    def __init__(self, node: Node, joints: Sequence[str], step: float) -> None:
        """
        Args:
            node: who publishes.
            joints: names, in the order of the readings.
            step: of the plant [s].
        """
        self.states = 0
        self.waiting: deque[Reading] = deque()
        self._step = step
        self._publisher = node.create_publisher(JointState, "joint_states", RELIABLE)
        self._clocks = node.create_publisher(Clock, "/clock", RELIABLE)
        self._state, self._clock = JointState(name=list(joints)), Clock()  # made once, filled anew for each message

    def tell_time(self, steps: int) -> None:
        """Publish the time, counted in steps."""
        time = self._clock.clock
        time.sec, time.nanosec = divmod(self._nanoseconds(steps), NANO)
        self._clocks.publish(self._clock)

    def tell_state(self) -> int:
        """Publish the next reading; its stamp [ns]."""
        reading, message = self.waiting.popleft(), self._state
        stamp, when = message.header.stamp, self._nanoseconds(reading.step)
        stamp.sec, stamp.nanosec = divmod(when, NANO)
        message.position = array("d", reading.q.tobytes())
        message.velocity = array("d", reading.qd.tobytes())
        message.effort = array("d", reading.effort.tobytes())
        self._publisher.publish(message)
        self.states += 1
        return when

    def repeat(self, steps: int) -> None:
        """Publish the time, counted in steps, and the latest state once more."""
        self.tell_time(steps)
        self._publisher.publish(self._state)
        self.states += 1

    def _nanoseconds(self, steps: int) -> int:
        return round(steps * self._step * NANO)
