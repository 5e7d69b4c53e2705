# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""A configured controller: joint states in, efforts out.

``realtime/runner.c`` has the full path of a state: read the bytes, validate the state and compute the command, publish
the command. :class:`.periods.Periods` reports the periods. :class:`ClosedLoop` owns the topics and the timers.

A command is computed when a state comes, for the time of the state's stamp, and has the same stamp: a node that waits
for the command to a state (the simulator in lockstep) recognises it. A state that cannot be used is counted as a fault
and gets no command. When none has come for ``state_timeout``, the reaction to that fault is sent, with the present time
as its stamp (:mod:`robodyn_ros.control.faults.settings`).

The code in C has a thread of its own. Python receives the states and calls it if a state comes in several messages, if
a law runs as Python, or if the parameter ``realtime`` is ``off``. Timers use the steady clock, so that missing states
are detected even while a simulation is paused; the time without states is simulated time if there is one.
"""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter, sleep
from typing import Any

from builtin_interfaces.msg import Time
from rclpy.lifecycle import LifecycleNode
from sensor_msgs.msg import JointState

from robodyn_ros.control import Command, Controller, ControlLoop, LoopSettings
from robodyn_ros.control.drives import Transmission
from robodyn_ros.errors import NotReadyError
from robodyn_ros.nodes.common.client_library import NEWEST, PARTS, RELIABLE, set_period, steady_timer
from robodyn_ros.nodes.common.diagnostics import Faults
from robodyn_ros.nodes.common.messages import NANO
from robodyn_ros.nodes.common.parameters import NodeParameters
from robodyn_ros.nodes.common.scheduling import Scheduling
from robodyn_ros.nodes.controller.locked_model import LockedModel
from robodyn_ros.nodes.controller.output import Output, PublisherConflicts
from robodyn_ros.nodes.controller.realtime.periods import Periods
from robodyn_ros.nodes.controller.realtime.runner import LoopRunner, make_subscription
from robodyn_ros.nodes.controller.references import ReferenceInput
from robodyn_ros.robot import Robot

WATCH_PERIOD = 0.02  #: Time between two checks that states still come, and between two commands while none come [s].
REST_PERIOD = 0.05  #: The same while the thread runs the loop and nobody needs each of its periods [s].
FINAL_PERIOD = 0.002  #: Time between two commands of the transition to the final command [s].
FINAL_TIME = 0.5  #: Longest time of this transition [s]; the default rate limits allow any change within 0.02 s.
NO_CLOCK = "no node publishes the simulated time (/clock)"  #: Simulated time has no source.

CLOCKLESS = f"{NO_CLOCK}, which use_sim_time asks for: time stops with the states, and nothing brakes the arm then"
"""The same while states come."""

PUBLISHER_PERIOD = 0.2  #: Time between two scans for conflicting publishers [s].


class ClosedLoop:
    """The topics and timers of a configured controller.

    Attributes:
        control: the control loop, which validates states and computes commands.
        enabled: False after ``~/enable`` was called with false; commands also need an active node.
        references: the topics of references.
        listeners, onlookers: as of :class:`.Periods`.
        realtime: whether the loop runs in a thread of its own; if not, the reason.
    """

    def __init__(
        self,
        node: LifecycleNode,
        loop: ControlLoop,
        joints: tuple[str, ...],
        transmission: Transmission,
        locked: LockedModel,
    ) -> None:
        self.robot: Robot = loop.robot
        self.enabled = True
        self.faults: Faults = node.faults
        self._node, self._clock, self._log = node, node.get_clock(), node.get_logger()
        self.control, self._transmission, self._locked = loop, transmission, locked
        self._active, self._late, self._silent = False, False, ""  # silent: what is missing, "" while states come
        self._clockless = 0  # scans in succession without a publisher of /clock while states come
        self._output = Output(node, self.robot.joint_names, joints)
        self.references = ReferenceInput(node, loop, lambda: "" if self._answers else self.state, locked.names)
        self._periods = Periods(node, loop, self._output, locked, self._on_end)
        self.statistics = self._periods.statistics
        self.listeners, self.onlookers = self._periods.listeners, self._periods.onlookers
        self._conflicts = PublisherConflicts(node)
        self._qos = NEWEST  # of the joint states
        self._states: Any = None
        self._in_parts = False
        self.realtime = "off"
        self._scheduling: Scheduling | None = None
        self._reset()
        self._timer = steady_timer(node, WATCH_PERIOD, self._watch)
        steady_timer(node, PUBLISHER_PERIOD, self._scan_publishers)

    @property
    def law(self) -> Controller:
        """The control law, with its present memory."""
        self.control.memory()
        return self.control.controller

    @property
    def latest(self) -> tuple[Time, Command] | None:
        """Stamp of the latest state with a command, and the command; None before the first."""
        self._periods.read()
        return self._periods.latest

    def read(self) -> None:
        """Report the periods until now."""
        self._periods.read()

    @property
    def state(self) -> str:
        """State of the controller, in a word or two."""
        if self._answers:
            return self.problem or self.control.mode
        return "disabled" if self._active else "inactive"

    @property
    def problem(self) -> str:
        """The active fault, and the reaction to it; "" if there is none."""
        return self._periods.fault or self._silent if self._answers else ""

    @property
    def clock_problem(self) -> str:
        """What is wrong with the clock while states come; "" if nothing is."""
        return CLOCKLESS if self._clockless > 1 else ""

    @property
    def is_realtime(self) -> bool:
        """True while the loop runs in a thread of its own."""
        return self._periods.in_thread

    def activate(self, scheduling: Scheduling) -> None:
        """Send a command for each state from now on; the arm is held at the position of the first one."""
        self._reset()
        self._scan_publishers()
        self._active, self._scheduling = True, scheduling
        self._begin()

    def deactivate(self) -> None:
        """Send no commands from now on. To be called before the node's publishers are deactivated."""
        self._hand_over()
        self._active = False

    def wait_until_delivered(self) -> None:
        """Wait until subscribers have the last command; to be called before the process ends."""
        self._output.wait_until_delivered()

    def enable(self, enabled: bool) -> None:
        """Switch the commands on or off; after a pause the arm is held at its present position."""
        if self.enabled and not enabled:
            self._hand_over()
        self.enabled = enabled
        self._begin()

    def hold(self) -> None:
        """Stop and hold, as :meth:`.ControlLoop.hold`."""
        self.control.hold(self._periods.now() / NANO)

    def apply(self, settings: LoopSettings) -> None:
        """Use other settings, as :meth:`.ControlLoop.apply`. A thread would wait for the requests of a law in Python,
        so it ends before such a law, and begins again after it.
        """
        if changes := self.control.runs_as_python(settings) != (self.control.compiled_step is None):
            self._end()
        try:
            self.control.apply(settings)
        finally:
            if changes:
                self._begin()

    @property
    def _has_clock(self) -> bool:
        """True if a node publishes the simulated time, or if time is not simulated."""
        topic = self._node.resolve_topic_name("/clock")
        return not self._clock.ros_time_is_active or self._node.count_publishers(topic) > 0

    @property
    def _answers(self) -> bool:
        """True if commands are sent for states now."""
        return self._active and self.enabled

    def _reset(self) -> None:
        """Drop all states that have come."""
        self.control.stop()
        self._periods.reset()
        self._silent, self._late = "", False

    def _hand_over(self) -> None:
        """Stop the commands; the final one holds the arm against gravity, for drives that keep their last command."""
        self._end()
        try:
            if self._answers:
                self._send_final_command()
        finally:
            self.statistics.interrupted()
            self._reset()

    def _send_final_command(self) -> None:
        """Send the transition to the final command, within the rate limits, for ``FINAL_TIME`` at most."""
        last, begun = self._periods.last, perf_counter()
        while (step := self.control.final_command(last.stamp + perf_counter() - last.received)) is not None:
            effort, has_come = step
            if self._periods.runner is not None:
                self._periods.runner.send(self._periods.now(), last.stamp, effort)
            if has_come:
                return
            if perf_counter() - begun > FINAL_TIME:
                self._log.warning("the rate limits leave no time for the final command: the arm may not be held")
                return
            sleep(FINAL_PERIOD)

    def _watch(self) -> None:
        """Report periods, and watch over the states and the references."""
        periods = self._periods
        periods.poll()
        rests = WATCH_PERIOD if periods.is_looked_at else REST_PERIOD
        set_period(self._timer, rests if periods.in_thread else self.control.watch_due(WATCH_PERIOD))
        self._in_parts |= periods.states.partial
        if periods.states.mixed and self._qos is NEWEST:  # the next message does not replace the one before
            self._qos = PARTS
            self._end()
            self._begin()
        if not self._answers or not periods.last.received:
            return
        self.references.watch()
        self._watch_states()

    def _watch_states(self) -> None:
        """Report whether states still come."""
        periods = self._periods
        missing = perf_counter() - periods.last.received
        timeout = self.control.settings.safety.state_timeout
        silent = missing > timeout
        if silent and not self._silent:
            self.statistics.interrupted()
        self._silent = "no joint states" if silent else ""
        # While simulated time stands still, no state is late. Without a publisher it has ended.
        stands = silent and self._clock.ros_time_is_active and periods.now() / NANO - periods.last.stamp <= timeout
        if stands and not self._has_clock:
            stands, self._silent = False, f"no joint states, and {NO_CLOCK}"
        late = silent and not stands
        if late and not self._late:
            self._log.warning(self._silent)
        if self._late and not late:
            self._log.info("joint states are back: the arm is held where it is")
        self._late = late

    def _begin(self) -> None:
        """Receive states: in a thread in C if it is wanted and possible, else in Python."""
        if not self._answers or self._periods.runs:
            return
        if NodeParameters(self._node)["realtime"] == "off":
            self._receive("off")
        else:
            try:
                self._enter_thread()
            except NotReadyError as reason:
                self._receive(f"off: {reason}")
        self._reschedule()

    def _enter_thread(self) -> None:
        """Have a thread in C run the loop; NotReadyError if none can."""
        if self._in_parts:
            raise NotReadyError("joint states come in parts")
        if self.control.compiled_step is None:
            raise NotReadyError(f"the law {type(self.law).__name__} runs as Python")
        runner = self._make_runner()
        try:
            runner.listen(make_subscription(self._node, self._node.resolve_topic_name("joint_states"), self._qos))
            self._periods.begin(runner, 0 if self._scheduling is None else self._scheduling.priority)
        except NotReadyError:
            runner.stop()
            raise
        self._say_realtime(f"on, {runner.scheduling}")

    def _make_runner(self) -> LoopRunner:
        return LoopRunner(self._node, self.control.core, self._transmission, self._output, WATCH_PERIOD)

    def _receive(self, why: str) -> None:
        """Receive states in Python, and say why."""
        self._say_realtime(why)
        self._periods.begin(self._make_runner())
        received = self._periods.on_state
        self._states = self._node.create_subscription(JointState, "joint_states", received, self._qos, raw=True)

    def _end(self) -> None:
        """Receive no states."""
        self._periods.end()
        self.realtime = "off"
        if self._states is not None:
            self._node.destroy_subscription(self._states)
            self._states = None

    def _reschedule(self) -> None:
        """Give the real-time priority to the thread that runs the loop."""
        if self._scheduling is not None:
            self._scheduling.begin(python=not self._periods.in_thread)

    def _on_end(self, reason: str) -> None:
        """Receive states in Python, because the thread has ended: it cannot read the messages."""
        self._receive(f"off: {reason}")
        self._reschedule()

    def _say_realtime(self, text: str) -> None:
        if text == self.realtime:
            return
        self.realtime = text
        if text.startswith("off") and NodeParameters(self._node)["realtime"] == "on":
            self._log.warning(f"realtime: {text}")
        else:
            self._log.info(f"realtime: {text}")

    def _scan_publishers(self) -> None:
        self._output.refresh()
        states_come = self._answers and self._periods.last.received and not self._silent
        self._clockless = self._clockless + 1 if states_come and not self._has_clock else 0
        if self._clockless == 2:  # not while the graph is being discovered
            self._log.warning(CLOCKLESS)
        self.control.set_publisher_conflict(self._conflicts.scan(self.control.settings.safety.state_publishers))


def show_latest(
    node: LifecycleNode, loop: ClosedLoop, topic: str, message: Any, period: float, fill: Callable[[Command], bool]
) -> None:
    """Publish a message about the latest command and its state, with the stamp of the state: while the topic has
    subscribers, after a period [s] at least. ``fill`` writes the other contents of the message; False to send none.
    """
    publisher: Any = node.create_lifecycle_publisher(type(message), topic, RELIABLE)
    due, is_wanted = 0.0, False

    def on_command(stamp: Time, command: Command) -> bool:
        nonlocal due, is_wanted
        now = perf_counter()
        if now < due or command.state is None:
            return is_wanted
        due, is_wanted = now + period, publisher.get_subscription_count() > 0
        message.header.stamp = stamp
        if is_wanted and fill(command):
            publisher.publish(message)
        return is_wanted

    loop.onlookers.append(on_command)
