"""From a state to its command: the way on which every microsecond counts.

The command goes out before anything else is done; what it came from, statistics and whoever wants to know come after.
"""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter

from builtin_interfaces.msg import Time
from rclpy.lifecycle import LifecycleNode

from robodyn_ros.control.command import Command
from robodyn_ros.control.loop import ControlLoop
from robodyn_ros.control.transmission import Transmission
from robodyn_ros.errors import EffortError, JumpError, RobodynError, StaleStateError
from robodyn_ros.nodes.faults import Faults
from robodyn_ros.nodes.messages import NANO
from robodyn_ros.nodes.output import Output
from robodyn_ros.nodes.state_reader import StateReader
from robodyn_ros.nodes.statistics import LoopStatistics

LOOK = 0.02
"""How often to look who listens, at most [s]."""

FAULTS: dict[type[RobodynError], str] = {
    StaleStateError: "state too old",
    JumpError: "position jumped",
    EffortError: "control law failed",
}
"""What gives no command → what it is counted as; all else is a state that is refused."""


class Answering:
    """See the module.

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
        self._reader = StateReader(loop.controller.dynamics.robot.joint_names)
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
        overrun = loop.tuning.config.overrun
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
