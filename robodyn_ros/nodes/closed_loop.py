"""A configured controller: states in, commands out.

A command is computed when a state comes, and for the time of that state's stamp; it goes out with that stamp, so that
whoever waits for the answer to a state (the simulator in lockstep) knows it. A state that cannot be used is counted as
a fault and not answered. When no usable state has come for ``state_timeout``, a timer sends what
:mod:`robodyn_ros.control.answers` has for that; such a command has the stamp of the moment.

Time passes by a steady clock, and where time is simulated, as it does there: while a simulation stands still, nothing
is late. Silence is noticed by the steady clock in any case, and reported.
"""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter

from builtin_interfaces.msg import Time
from rclpy.clock import Clock, ClockType
from rclpy.lifecycle import LifecycleNode
from sensor_msgs.msg import JointState

from robodyn_ros.control.command import Command
from robodyn_ros.control.loop import ControlLoop
from robodyn_ros.control.transmission import Transmission
from robodyn_ros.control.tuning import Tuning
from robodyn_ros.nodes.answering import Answering
from robodyn_ros.nodes.fault_report import FaultReport
from robodyn_ros.nodes.faults import Faults
from robodyn_ros.nodes.messages import NANO
from robodyn_ros.nodes.output import Output
from robodyn_ros.nodes.qos import NEWEST
from robodyn_ros.nodes.reference_input import ReferenceInput
from robodyn_ros.nodes.second_publishers import SecondPublishers
from robodyn_ros.nodes.statistics import LoopStatistics

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
        self.robot = loop.controller.dynamics.robot
        self.statistics = LoopStatistics(self.robot.joint_names)
        self.enabled = True
        self._active = False
        self._node = node
        self._clock = node.get_clock()
        self._log = node.get_logger()
        self._transmission = transmission
        self._output = Output(node, faults, self.robot.joint_names, joints)
        self._others = SecondPublishers(node, ONE_OF_EACH)
        self.references = ReferenceInput(node, loop, lambda: "" if self._answers else self.state, faults)
        self._report = FaultReport(loop, faults, self._log)
        self._answering = Answering(node, loop, transmission, self._output, faults, self.statistics, self._report.tell)
        self.listeners: list[Callable[[Time, Command], None]] = self._answering.listeners
        self._states = node.create_subscription(JointState, "joint_states", self._answering.take, NEWEST, raw=True)
        self._silent = False
        self._forget()
        # By steady time, so that silence is noticed when the clock of a simulation has stopped with its states.
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        self._timers = [
            node.create_timer(WATCH, self._watch, clock=steady),
            node.create_timer(LOOK_AROUND, self._look_around, clock=steady),
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

    def tune(self, tuning: Tuning) -> None:
        """Change what may change while the arm moves, from one command to the next."""
        self.loop.tune(tuning)

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
        silent = since > self.loop.tuning.config.state_timeout
        if silent and not self._silent:
            self.statistics.interrupted()
            self._log.warning("no usable joint states")
        if self._silent and not silent:
            self._log.info("joint states are back: the arm is held where it is")
        self._silent = silent

    def _look_around(self) -> None:
        self.loop.beware(self._others.problem())
