"""A configured controller: states in, commands out.

A command is computed when a state comes, and for the time of that state's stamp; it goes out with that stamp, so that
whoever waits for the answer to a state (the simulator in lockstep) knows it. A state that cannot be used is counted as
a fault and not answered. When no usable state has come for ``state_timeout``, a timer sends what
:mod:`robodyn_ros.control.faults.settings` has for that; such a command has the stamp of the moment.

Time passes by a steady clock, and where time is simulated, as it does there: while a simulation stands still, nothing
is late. Silence is noticed by the steady clock in any case, and reported.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from time import perf_counter
from typing import Any

from builtin_interfaces.msg import Time
from rclpy.lifecycle import LifecycleNode
from rclpy.node import Node
from sensor_msgs.msg import JointState

from robodyn_ros.control.faults.supervisor import ActiveFault
from robodyn_ros.control.loop import ControlLoop
from robodyn_ros.control.loop_settings import LoopSettings
from robodyn_ros.control.step import Command
from robodyn_ros.control.transmission import Transmission
from robodyn_ros.errors import EffortError, JumpError, RobodynError, StaleStateError
from robodyn_ros.nodes.common.diagnostics import PAUSE, Faults
from robodyn_ros.nodes.common.messages import NANO
from robodyn_ros.nodes.common.qos import NEWEST
from robodyn_ros.nodes.common.timers import steady_timer
from robodyn_ros.nodes.controller.cdr import StateReader
from robodyn_ros.nodes.controller.output import LoopStatistics, Output
from robodyn_ros.nodes.controller.references import ReferenceInput

# Who else publishes where only one may.


class PublisherConflicts:
    """Looks for publishers that there should not be."""

    def __init__(self, node: Node, allowed: Mapping[str, int]) -> None:
        """
        Args:
            node: who looks.
            allowed: topic → how many publishers it may have, the node's own among them.
        """
        self._node = node
        self._allowed = {node.resolve_topic_name(topic): count for topic, count in allowed.items()}

    def problem(self) -> str:
        """What is wrong; "" if nothing is."""
        for topic, most in self._allowed.items():
            if self._node.count_publishers(topic) > most:
                names = sorted(info.node_name for info in self._node.get_publishers_info_by_topic(topic))
                return f"{topic} has {len(names)} publishers ({', '.join(names)}), not {most}"
        return ""


NAMES = {
    "states": "no joint states",
    "law": "control law failed",
    "speed": "too fast",
    "publisher": "second publisher",
}
"""Class of faults that have an answer → what its faults are counted as."""


class FaultReport:
    """What is said of a loop's faults: that one has begun, and that it is over."""

    def __init__(self, loop: ControlLoop, faults: Faults, log: Any) -> None:
        """
        Args:
            loop: whose faults.
            faults: where they are counted.
            log: the node's.
        """
        self._loop, self._faults, self._log = loop, faults, log
        self._last: ActiveFault | None = None

    @property
    def state(self) -> str:
        """The fault that lasts and the answer to it; "" if there is none."""
        fault = self._loop.fault
        return "" if fault is None else f"{NAMES[fault.kind]}: {fault.phase}"

    def tell(self, command: Command | None) -> None:
        """Count a fault that has just begun, and say when one is over; to be called with each command."""
        fault = self._loop.fault
        if fault is self._last:
            return
        if fault is not None and command is not None:
            self._faults.count(NAMES[fault.kind], f"{command.problem}; the answer is {fault.phase}")
        elif fault is None:
            self._log.info("the fault is over: the arm is held where it is", throttle_duration_sec=PAUSE)
        self._last = fault


LOOK = 0.02
"""How often to look who listens, at most [s]."""

FAULTS: dict[type[RobodynError], str] = {
    StaleStateError: "state too old",
    JumpError: "position jumped",
    EffortError: "control law failed",
}
"""What gives no command → what it is counted as; all else is a state that is refused."""


class StateCallback:
    """From a state to its command: the way on which every microsecond counts.

    The command goes out before anything else is done; what it came from, statistics and whoever wants to know come
    after.

    Attributes:
        open: whether states are answered.
        latest: stamp of the latest state that was answered, and the command; None before.
        listeners: called with both for each state that is answered.
        received: when the latest usable state came, by a clock that never goes back [s]; 0 before.
        stamped: its time [s].
        then: the time by the node's clock when it came [s].
    """

    latest: tuple[Time, Command] | None

    def __init__(
        self,
        node: LifecycleNode,
        loop: ControlLoop,
        transmission: Transmission,
        output: Output,
        faults: Faults,
        statistics: LoopStatistics,
        tell: Callable[[Command | None], None],
    ) -> None:
        """
        Args:
            node: whose clock.
            loop: what decides.
            transmission: what is between the joints and their motors.
            output: where commands go.
            faults: where faults are counted.
            statistics: of the commands.
            tell: called after each state that was used, with the command for it if there is one.
        """
        self.open = False
        self.listeners: list[Callable[[Time, Command], None]] = []
        self._clock = node.get_clock().handle  # what it wraps each time in objects that are not needed here
        self._loop, self._transmission, self._output = loop, transmission, output
        self._faults, self._statistics, self._tell = faults, statistics, tell
        self._reader = StateReader(loop.robot.joint_names)
        self._breath = self._look = 0.0
        self.forget()

    def forget(self) -> None:
        """No state has come yet."""
        self.received = self.stamped = self.then = 0.0
        self.latest = None

    def take(self, data: bytes) -> None:
        """Answer a state, as it comes over the wire."""
        begun = perf_counter()
        if not self.open or begun < self._breath:
            return
        now = self._clock.get_now().nanoseconds
        if now == 0:  # simulated time has not begun for this node, so nothing can be said of a state's age
            return
        loop, restarts = self._loop, self._loop.restarts
        try:
            measured = self._reader.read(data)
            if measured is None:
                return
            stamp, position, velocity = measured
            if stamp == (0, 0):
                stamp = divmod(now, NANO)
            q = self._transmission.joint_position(position)
            qd = None if velocity is None else self._transmission.joint_velocity(velocity)
            time = stamp[0] + stamp[1] / NANO
            command = loop.update(time, now / NANO, q, qd)
        except RobodynError as problem:
            self._faults.count(FAULTS.get(type(problem), "state refused"), problem)
            return
        if command is not None:
            self._output.send(stamp, self._transmission.motor_effort(command.effort))
        done = perf_counter()
        overrun = loop.settings.safety.overrun
        if done - begun > overrun:
            # The executor hands on as many states as have come meanwhile, each as new as can be. Were they answered as
            # slowly, everything else would wait for ever.
            self._breath = 2.0 * done - begun
        if loop.restarts > restarts:
            self._faults.count("states broke off", "missing, or their time jumped; the arm is held where it is")
        self.received, self.stamped, self.then = begun, time, now / NANO
        if command is not None:
            when = Time(sec=stamp[0], nanosec=stamp[1])
            self.latest = when, command
            for listen in self.listeners:
                listen(when, command)
            self._statistics.add(begun, done, command, overrun)
            self._output.explain(stamp, command)
        if begun >= self._look:  # now, while nobody waits for anything
            self._look = begun + LOOK
            self._output.refresh()
        self._tell(command)


WATCH = 0.02
"""How often to look whether states still come [s]; so often, too, answers go out where none come."""

LOOK_AROUND = 0.2
"""How often to look for second publishers [s]."""

ONE_OF_EACH = {"~/commands": 1, "~/joint_commands": 1, "~/reference": 1}
"""Topic → how many publishers it may have."""


class ClosedLoop:
    """The topics of a configured controller.

    Attributes:
        robot: the arm.
        loop: what decides.
        enabled: whether states are answered (``~/enable``); they are only while the node is active.
        faults: what went wrong, counted.
        statistics: of the commands.
        references: where references come from.
        listeners: called with stamp and command for each state that is answered.
    """

    def __init__(
        self,
        node: LifecycleNode,
        loop: ControlLoop,
        joints: tuple[str, ...],
        transmission: Transmission,
        faults: Faults,
    ) -> None:
        """
        Args:
            node: the node.
            loop: what decides.
            joints: names of the joints in the order of ``~/commands``.
            transmission: what is between the joints and their motors.
            faults: where faults are counted.
        """
        self.loop = loop
        self.faults = faults
        self.robot = loop.robot
        self.statistics = LoopStatistics(self.robot.joint_names)
        self.enabled = True
        self._active = False
        self._node = node
        self._clock = node.get_clock()
        self._log = node.get_logger()
        self._transmission = transmission
        self._output = Output(node, faults, self.robot.joint_names, joints)
        self._others = PublisherConflicts(node, ONE_OF_EACH)
        self.references = ReferenceInput(node, loop, lambda: "" if self._answers else self.state, faults)
        self._report = FaultReport(loop, faults, self._log)
        self._answering = StateCallback(
            node, loop, transmission, self._output, faults, self.statistics, self._report.tell
        )
        self.listeners: list[Callable[[Time, Command], None]] = self._answering.listeners
        self._states = node.create_subscription(JointState, "joint_states", self._answering.take, NEWEST, raw=True)
        self._silent = False
        self._forget()
        # By steady time, so that silence is noticed when the clock of a simulation has stopped with its states.
        self._timers = [
            steady_timer(node, WATCH, self._watch),
            steady_timer(node, LOOK_AROUND, self._look_around),
        ]

    def activate(self) -> None:
        """Answer states from now on; the arm is held where the first one finds it."""
        self._forget()
        self._look_around()
        self._output.refresh()
        self._active = True
        self._answering.open = self.enabled

    def deactivate(self) -> None:
        """Answer no state from now on. To be called before the node's publishers are deactivated."""
        self._part()
        self._active = self._answering.open = False

    def enable(self, enabled: bool) -> None:
        """Answer states, or do not; after a pause the arm is held where it is then."""
        if self.enabled and not enabled:
            self._part()
        self.enabled = enabled
        self._answering.open = self._answers

    def hold(self) -> None:
        """Stop at once, and stay.

        Raises:
            NotReadyError: no state has come yet.
        """
        self.loop.hold(self._now() / NANO)

    def apply(self, settings: LoopSettings) -> None:
        """Change what may change while the arm moves, from one command to the next."""
        self.loop.apply(settings)

    @property
    def latest(self) -> tuple[Time, Command] | None:
        """Stamp of the latest state that was answered, and the command; None before."""
        return self._answering.latest

    @property
    def state(self) -> str:
        """What it is doing, in a word or two."""
        if not self._active:
            return "inactive"
        if not self.enabled:
            return "disabled"
        return self._report.state or ("no joint states" if self._silent else self.loop.mode)

    def destroy(self) -> None:
        """Withdraw the topics."""
        self._node.destroy_subscription(self._states)
        self.references.destroy()
        for timer in self._timers:
            self._node.destroy_timer(timer)
        self._output.destroy()

    @property
    def _answers(self) -> bool:
        """Whether states are answered now."""
        return self._active and self.enabled

    def _now(self) -> int:
        return int(self._clock.now().nanoseconds)

    def _forget(self) -> None:
        """No state has come yet."""
        self.loop.stop()
        self._answering.forget()
        self._silent = False

    def _part(self) -> None:
        """Answer no more; drives that keep to their last command get one that carries the arm where it is."""
        effort = self.loop.stop()
        if effort is not None and self._answers:
            self._output.send(divmod(self._now(), NANO), self._transmission.motor_effort(effort))
        self.statistics.interrupted()
        self._forget()

    def _watch(self) -> None:
        """See whether states still come; answer if they do not."""
        last = self._answering
        if not self._answers or not last.received:
            return
        since = perf_counter() - last.received
        if since > WATCH:
            self._output.refresh()
        elapsed = self._now() / NANO - last.then if self._clock.ros_time_is_active else since
        command = self.loop.watch(last.stamped + elapsed)
        if command is not None:
            self._output.send(divmod(self._now(), NANO), self._transmission.motor_effort(command.effort))
            self.statistics.add_blind(command)
        self._report.tell(command)
        silent = since > self.loop.settings.safety.state_timeout
        if silent and not self._silent:
            self.statistics.interrupted()
            self._log.warning("no usable joint states")
        if self._silent and not silent:
            self._log.info("joint states are back: the arm is held where it is")
        self._silent = silent

    def _look_around(self) -> None:
        self.loop.set_publisher_conflict(self._others.problem())
