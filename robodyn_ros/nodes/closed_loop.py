"""A configured controller: states in, commands out.

A command is computed when a state comes, and for the time of that state's stamp. A state that cannot be answered is
counted as a fault and answered with nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter

from rclpy.clock import Clock, ClockType
from rclpy.lifecycle import LifecycleNode
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory

from robodyn_ros.control.loop import ControlLoop
from robodyn_ros.errors import RobodynError, StaleStateError
from robodyn_ros.nodes.controller_parameters import Tuning
from robodyn_ros.nodes.faults import Faults
from robodyn_ros.nodes.messages import NANO, JointOrder, seconds, stamp, to_reference, to_trajectory
from robodyn_ros.nodes.output import Output
from robodyn_ros.nodes.qos import NEWEST, RELIABLE
from robodyn_ros.nodes.statistics import LoopStatistics

WATCH = 0.05
"""How often to look whether states still come, and who listens [s]."""


class ClosedLoop:
    """The topics of a configured controller.

    Attributes:
        robot: the arm.
        loop: what decides.
        enabled: whether states are answered (``~/enable``); they are only while the node is active.
        faults: what went wrong, counted.
        statistics: of the commands.
    """

    def __init__(self, node: LifecycleNode, loop: ControlLoop, joints: tuple[str, ...], faults: Faults) -> None:
        """
        Args:
            node: the node.
            loop: what decides.
            joints: names of the joints in the order of ``~/commands``.
            faults: where faults are counted.
        """
        self.loop = loop
        self.faults = faults
        self.statistics = LoopStatistics()
        self.enabled = True
        self._active = False
        self._node = node
        self._clock = node.get_clock()
        self._log = node.get_logger()
        self.robot = loop.controller.dynamics.robot
        self._order = JointOrder(self.robot.joint_names)
        self._output = Output(node, self.robot.joint_names, joints)
        self._subscriptions = [
            node.create_subscription(JointState, "joint_states", self._on_state, NEWEST),
            node.create_subscription(JointTrajectory, "~/joint_trajectory", self._on_trajectory, RELIABLE),
            node.create_subscription(JointState, "~/reference", self._on_reference, NEWEST),
        ]
        self._received: float | None = None
        self._silent = False
        # By steady time, so that silence is noticed when the clock of a simulation has stopped with its states.
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        self._watchdog = node.create_timer(WATCH, self._watch, clock=steady)

    def activate(self) -> None:
        """Answer states from now on; the arm is held where the first one finds it."""
        self.loop.stop()
        self._active, self._silent, self._received = True, False, None

    def deactivate(self) -> None:
        """Answer no state from now on."""
        self._active = False
        self.loop.stop()
        self.statistics.interrupted()

    def enable(self, enabled: bool) -> None:
        """Answer states, or do not; after a pause the arm is held where it is then."""
        if enabled and not self.enabled:
            self.loop.stop()
        if not enabled:
            self.statistics.interrupted()
        self.enabled = enabled

    def hold(self) -> None:
        """Stop at once, and stay.

        Raises:
            NotReadyError: no state has come yet.
        """
        self.loop.hold(self._now() / NANO)

    def tune(self, tuning: Tuning) -> None:
        """Change what may change while the arm moves, from one command to the next."""
        self.loop.controller, self.loop.effort_limit, self.loop.config = tuning

    @property
    def state(self) -> str:
        """What it is doing, in a word or two."""
        if not self._active:
            return "inactive"
        if not self.enabled:
            return "disabled"
        return "no joint states" if self._silent else self.loop.mode

    def destroy(self) -> None:
        """Withdraw the topics."""
        for subscription in self._subscriptions:
            self._node.destroy_subscription(subscription)
        self._node.destroy_timer(self._watchdog)
        self._output.destroy()

    def _now(self) -> int:
        return int(self._clock.now().nanoseconds)

    def _on_state(self, message: JointState) -> None:
        begun = perf_counter()
        if not (self._active and self.enabled):
            return
        now = self._now()
        if now == 0:  # simulated time has not begun for this node, so nothing can be said of a state's age
            return
        when = message.header.stamp
        if when.sec == 0 and when.nanosec == 0:
            when = stamp(now)
        try:
            state = self._order.state(message)
            if state is None:
                return
            command = self.loop.update(seconds(when), now / NANO, *state)
        except StaleStateError as problem:
            self.faults.count("state too old", problem)
            return
        except RobodynError as problem:
            self.faults.count("state refused", problem)
            return
        except Exception as problem:  # a plugin's own error: whatever it is, there is no command to send
            self.faults.count("control law failed", f"{type(problem).__name__}: {problem}")
            return
        self._output.send(when, command)
        done = perf_counter()
        self._received = begun
        self.statistics.add(begun, done, command.state_age, bool(command.saturated.any()))
        self._output.explain(when, command, state[1])

    def _on_trajectory(self, message: JointTrajectory) -> None:
        def follow() -> None:
            trajectory, start = to_trajectory(message)
            self.loop.follow(trajectory, start, message.joint_names)

        self._accept("trajectory refused", follow)

    def _on_reference(self, message: JointState) -> None:
        self._accept(
            "reference refused", lambda: self.loop.track(to_reference(message), self._now() / NANO, message.name)
        )

    def _accept(self, kind: str, take: Callable[[], None]) -> None:
        if not (self._active and self.enabled):
            self.faults.count(kind, f"the controller is {self.state}")
            return
        try:
            take()
        except RobodynError as problem:
            self.faults.count(kind, problem)

    def _watch(self) -> None:
        """See who listens, and whether states still come."""
        self._output.refresh()
        if not (self._active and self.enabled) or self._received is None:
            return
        silent = perf_counter() - self._received > self.loop.config.state_timeout
        if silent and not self._silent:
            self.statistics.interrupted()
            self._log.warning("no usable joint states: no commands are sent until they come back")
        if self._silent and not silent:
            self._log.info("joint states are back: the arm is held where it is")
        self._silent = silent
