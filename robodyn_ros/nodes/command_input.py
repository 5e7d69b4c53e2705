"""The simulator's topics of commands: what comes there is taken or refused, and both are counted."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from robodyn_ros.errors import InputError, RobodynError
from robodyn_ros.nodes.faults import Faults
from robodyn_ros.nodes.lockstep import Lockstep
from robodyn_ros.nodes.messages import NANO, JointOrder
from robodyn_ros.nodes.qos import NEWEST
from robodyn_ros.robot.pose import Array


class CommandInput:
    """See the module. In lockstep only what answers a state is a command.

    Attributes:
        taken: how many commands were taken.
    """

    def __init__(
        self,
        node: Node,
        arm: Sequence[str],
        joints: Sequence[str],
        take: Callable[[Array], None],
        faults: Faults,
        lockstep: Lockstep | None,
    ) -> None:
        """
        Args:
            node: who listens.
            arm: names of the arm's joints, in its order.
            joints: the same in the order of ``commands``.
            take: takes efforts (n,) in the arm's order, or raises RobodynError.
            faults: where commands that are refused are counted.
            lockstep: who waits for answers, if anyone.
        """
        self.taken = 0
        self._order = np.array([list(joints).index(name) for name in arm], dtype=np.intp)
        self._names = JointOrder(arm)
        self._take = take
        self._faults = faults
        self._lockstep = lockstep
        node.create_subscription(Float64MultiArray, "commands", self._on_commands, NEWEST)
        node.create_subscription(JointState, "joint_commands", self._on_joint_commands, NEWEST)

    def _on_commands(self, message: Float64MultiArray) -> None:
        def effort() -> Array:
            if self._lockstep:
                raise InputError("commands", "have no stamp; in lockstep a command needs one, on joint_commands")
            if len(message.data) != len(self._order):
                raise InputError("data", f"has {len(message.data)} values for {len(self._order)} joints", message.data)
            return np.array(message.data)[self._order]

        self._try(effort)

    def _on_joint_commands(self, message: JointState) -> None:
        when = message.header.stamp
        if self._lockstep and not self._lockstep.is_answer(when.sec * NANO + when.nanosec):
            return
        if self._try(lambda: self._names.effort(message)) and self._lockstep:
            self._lockstep.answered()

    def _try(self, effort: Callable[[], Array]) -> bool:
        """Whether a command was taken."""
        try:
            self._take(effort())
        except RobodynError as problem:
            self._faults.count("command refused", problem)
            return False
        self.taken += 1
        return True
