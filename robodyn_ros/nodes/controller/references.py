"""The controller's topics of references: what comes there is followed, or refused and counted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import perf_counter

from rclpy.clock import Clock
from rclpy.lifecycle import LifecycleNode
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory

from robodyn_ros.control.loop import ControlLoop
from robodyn_ros.control.motion.trajectory import Trajectory
from robodyn_ros.control.reference.manager import Following
from robodyn_ros.control.reference.tolerances import Tolerances
from robodyn_ros.errors import NotReadyError, RobodynError
from robodyn_ros.nodes.common.diagnostics import Faults
from robodyn_ros.nodes.common.messages import NANO, to_reference, to_trajectory
from robodyn_ros.nodes.common.qos import NEWEST, RELIABLE


class ReferenceInput:
    """The controller's topics of references: what comes there is followed, or refused and counted.

    Attributes:
        latest: when the latest reference was taken, by a clock that never goes back [s]; None before.
    """

    def __init__(self, node: LifecycleNode, loop: ControlLoop, closed: Callable[[], str], faults: Faults) -> None:
        """
        Args:
            node: who listens.
            loop: what follows.
            closed: why nothing is followed now; "" if something can be.
            faults: where references that are refused are counted.
        """
        self.latest: float | None = None
        self._node, self._loop, self._closed, self._faults = node, loop, closed, faults
        self._clock: Clock = node.get_clock()
        self._subscriptions = [
            node.create_subscription(JointTrajectory, "~/joint_trajectory", self._on_trajectory, RELIABLE),
            node.create_subscription(JointState, "~/reference", self._on_reference, NEWEST),
        ]

    def follow(self, message: JointTrajectory, tolerances: Tolerances | None = None) -> Following:
        """Follow a trajectory; the answer says how it goes.

        Raises:
            NotReadyError: nothing is followed now.
            RobodynError: see :meth:`ControlLoop.follow`.
        """
        return self.take(*to_trajectory(message), message.joint_names, tolerances)

    def take(
        self,
        trajectory: Trajectory,
        start: float | None,
        joints: Sequence[str] | None = None,
        tolerances: Tolerances | None = None,
    ) -> Following:
        """As :meth:`follow`, of a trajectory that came another way."""
        self.check_open()
        following = self._loop.follow(trajectory, start, joints, tolerances)
        self.latest = perf_counter()
        return following

    def destroy(self) -> None:
        """Withdraw the topics."""
        for subscription in self._subscriptions:
            self._node.destroy_subscription(subscription)

    def check_open(self) -> None:
        """See that references are followed now.

        Raises:
            NotReadyError: they are not; the message says why.
        """
        why = self._closed()
        if why:
            raise NotReadyError(f"the controller is {why}")

    def _on_trajectory(self, message: JointTrajectory) -> None:
        try:
            self.follow(message)
        except RobodynError as problem:
            self._faults.count("trajectory refused", problem)

    def _on_reference(self, message: JointState) -> None:
        try:
            self.check_open()
            self._loop.track(to_reference(message), self._clock.now().nanoseconds / NANO, message.name)
            self.latest = perf_counter()
        except RobodynError as problem:
            self._faults.count("reference refused", problem)
