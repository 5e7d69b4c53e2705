"""The controller's topics of references: ``~/joint_trajectory`` and ``~/reference``.

What comes there is followed, or refused and counted.
"""

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
    """Subscribes to references, and hands them to the loop.

    Attributes:
        latest: when the latest reference was accepted, by the steady clock [s]; None before the first.
    """

    def __init__(self, node: LifecycleNode, loop: ControlLoop, closed: Callable[[], str], faults: Faults) -> None:
        """
        Args:
            node: who subscribes.
            loop: what follows.
            closed: why no reference is accepted now; "" if one can be.
            faults: where refused references are counted.
        """
        self.latest: float | None = None
        self._node, self._loop, self._closed, self._faults = node, loop, closed, faults
        self._clock: Clock = node.get_clock()
        self._subscriptions = [
            node.create_subscription(JointTrajectory, "~/joint_trajectory", self._on_trajectory, RELIABLE),
            node.create_subscription(JointState, "~/reference", self._on_reference, NEWEST),
        ]

    def follow_message(self, message: JointTrajectory, tolerances: Tolerances | None = None) -> Following:
        """Follow a trajectory message; the answer says how it goes.

        Raises:
            NotReadyError: no reference is accepted now.
            RobodynError: the message holds no trajectory, or see :meth:`ControlLoop.follow`.
        """
        return self.follow(*to_trajectory(message), message.joint_names, tolerances)

    def follow(
        self,
        trajectory: Trajectory,
        start: float | None,
        joints: Sequence[str] | None = None,
        tolerances: Tolerances | None = None,
    ) -> Following:
        """Follow a trajectory; the answer says how it goes.

        Args:
            trajectory: of the joints named.
            start: when it begins, by the time of the states [s]; now if None.
            joints: names of its joints, in its order; all unless given.
            tolerances: what it is judged by; those of the loop's settings unless given.

        Raises:
            NotReadyError: no reference is accepted now.
            RobodynError: see :meth:`ControlLoop.follow`.
        """
        self.check_open()
        following = self._loop.follow(trajectory, start, joints, tolerances)
        self.latest = perf_counter()
        return following

    def check_open(self) -> None:
        """Check that references are accepted now.

        Raises:
            NotReadyError: they are not; the message says why.
        """
        why = self._closed()
        if why:
            raise NotReadyError(f"the controller is {why}")

    def destroy(self) -> None:
        """Withdraw the topics."""
        for subscription in self._subscriptions:
            self._node.destroy_subscription(subscription)

    def _on_trajectory(self, message: JointTrajectory) -> None:
        try:
            self.follow_message(message)
        except RobodynError as problem:
            self._faults.count("trajectory refused", problem)

    def _on_reference(self, message: JointState) -> None:
        try:
            self.check_open()
            self._loop.track(to_reference(message), self._clock.now().nanoseconds / NANO, message.name)
            self.latest = perf_counter()
        except RobodynError as problem:
            self._faults.count("reference refused", problem)
