# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""A configured controller: joint states in, efforts out.

:meth:`.states.StateCallback.on_state` shows the full path of a state: read the bytes, validate the state and compute
the command, publish the command, and only then do the bookkeeping. :class:`ClosedLoop` owns the topics and the timers
around that.

A command is computed when a state comes, for the time of the state's stamp. It has the same stamp, so that a node which
waits for the command to a state (the simulator in lockstep) can recognise it. A state that cannot be used is counted as
a fault and gets no command. When no usable state has come for ``state_timeout``, a timer sends the reaction to that
fault (:mod:`robodyn_ros.control.faults.settings`); such a command has the present time as its stamp.

A thread in C runs the loop (``realtime/``), with real or simulated time, and Python reports its periods. Python
receives the states itself, and calls the same loop, if a state comes in several messages, if a law runs as Python, if
the drives are in MIT mode, or if the parameter ``realtime`` is ``off``.

Timers use the steady clock, so that missing states are detected and reported even while a simulation is paused. The
time without states is measured by simulated time if there is one: nothing is late while a simulation is paused.
"""

from __future__ import annotations

from time import perf_counter, sleep
from typing import Any

import numpy as np
from builtin_interfaces.msg import Time
from rclpy.lifecycle import LifecycleNode
from sensor_msgs.msg import JointState

from robodyn_ros.control.core_library import CODES, Core
from robodyn_ros.control.drives import MitSettings, Transmission
from robodyn_ros.control.faults.table import FAULTS, KINDS
from robodyn_ros.control.laws.base import Controller, Reference
from robodyn_ros.control.loop import ControlLoop
from robodyn_ros.control.loop_settings import LoopSettings
from robodyn_ros.control.step import Command
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.errors import (
    NotReadyError,
    RobodynError,
)
from robodyn_ros.nodes.common.diagnostics import Faults
from robodyn_ros.nodes.common.messages import NANO
from robodyn_ros.nodes.common.parameters import NodeParameters
from robodyn_ros.nodes.common.qos import NEWEST, PARTS
from robodyn_ros.nodes.common.scheduling import Scheduling
from robodyn_ros.nodes.common.timers import set_period, steady_timer
from robodyn_ros.nodes.controller.fault_report import FaultReport, PublisherConflicts
from robodyn_ros.nodes.controller.locked_model import LockedModel
from robodyn_ros.nodes.controller.output import LoopStatistics, Output
from robodyn_ros.nodes.controller.realtime.realtime_loop import (
    RealtimeLoop,
    command_of,
    problem_of,
    refusal,
    stamp_of,
)
from robodyn_ros.nodes.controller.realtime.thread import UNKNOWN, RealtimeThread, make_subscription
from robodyn_ros.nodes.controller.references import ReferenceInput
from robodyn_ros.nodes.controller.states import BROKE_OFF, REFUSALS, StateCallback
from robodyn_ros.robot import Robot

WATCH_PERIOD = 0.02
"""Time between two checks that states still come, and between two commands while none come [s]."""

REST_PERIOD = 0.05
"""Time between two checks while the thread runs the loop and no subscriber needs each of its periods [s]."""

FINAL_PERIOD = 0.002
"""Time between two commands of the transition to the final command [s]."""

FINAL_TIME = 0.5
"""Longest time of this transition [s]; the default rate limits allow any change within 0.02 s."""

PUBLISHER_PERIOD = 0.2
"""Time between two scans for conflicting publishers [s]."""


class ClosedLoop:
    """The topics and timers of a configured controller.

    Attributes:
        robot: the arm.
        enabled: False after ``~/enable`` was called with false; commands also need an active node.
        faults: counts of faults.
        statistics: of the commands.
        references: the topics of references.
        listeners: called with stamp and command for each state with a command.
        onlookers: called with the latest stamp and command, but not for each state; each returns True to be called
            more often.
        realtime: whether the loop runs in a thread of its own; if not, the reason.
    """

    def __init__(
        self,
        node: LifecycleNode,
        loop: ControlLoop,
        joints: tuple[str, ...],
        transmission: Transmission,
        faults: Faults,
        locked: LockedModel,
    ) -> None:
        """
        Args:
            node: the node.
            loop: validates states and computes commands.
            joints: names of the joints in the order of ``~/commands``.
            transmission: between the joints and their motors.
            faults: counts faults.
            locked: the model's locked joints.
        """
        self.robot: Robot = loop.robot
        self.enabled = True
        self.faults = faults
        self.statistics = LoopStatistics(self.robot.joint_names)
        self._node, self._clock, self._log = node, node.get_clock(), node.get_logger()
        self._loop, self._transmission, self._locked = loop, transmission, locked
        self._active = self._silent = False
        self._output = Output(node, faults, self.robot.joint_names, joints)
        self.references = ReferenceInput(node, loop, lambda: "" if self._answers else self.state, faults, locked.names)
        self._fault_report = FaultReport(loop, faults, self._log)
        self._callback = StateCallback(
            node, loop, transmission, self._output, faults, self.statistics, self._fault_report.update, locked
        )
        self.listeners, self.onlookers = self._callback.listeners, self._callback.onlookers
        self._conflicts = PublisherConflicts(node)
        self._qos = NEWEST  # of the joint states
        self._states: Any = None
        self._in_parts = False
        self._realtime: RealtimeLoop | None = None
        self.realtime = "off"
        self._scheduling: Scheduling | None = None
        self._told_fault = self._told_restarts = 0
        self._reset()
        self._is_looked_at = True
        self._timers = [
            steady_timer(node, WATCH_PERIOD, self._watch),
            steady_timer(node, PUBLISHER_PERIOD, self._scan_publishers),
        ]

    @property
    def law(self) -> Controller:
        """The control law, with its present memory."""
        self._loop.memory()
        return self._loop.controller

    @property
    def dynamics(self) -> Dynamics:
        """The control law's model of the arm."""
        return self._loop.dynamics

    @property
    def settings(self) -> LoopSettings:
        """The control law, its limits and all other settings of the loop."""
        return self._loop.settings

    @property
    def restarts(self) -> int:
        """How often the flow of states was interrupted."""
        return self._loop.restarts

    @property
    def latest(self) -> tuple[Time, Command] | None:
        """Stamp of the latest state with a command, and the command; None before the first."""
        if self._realtime is not None:
            self._realtime.read()
        return self._callback.latest

    @property
    def state(self) -> str:
        """State of the controller, in a word or two."""
        if not self._active:
            return "inactive"
        if not self.enabled:
            return "disabled"
        return self.problem or self._loop.mode

    @property
    def problem(self) -> str:
        """The active fault, and the reaction to it; "" if there is none."""
        if not self._answers:
            return ""
        return self._fault_report.state or ("no joint states" if self._silent else "")

    @property
    def is_realtime(self) -> bool:
        """True while the loop runs in a thread of its own."""
        return self._realtime is not None

    def activate(self, scheduling: Scheduling) -> None:
        """Send a command for each state from now on; the arm is held at the position of the first one.

        Args:
            scheduling: of the node; a thread of the loop's own gets the priority in place of Python's threads.
        """
        self._reset()
        self._scan_publishers()
        self._output.refresh()
        mit = NodeParameters(self._node).settings(MitSettings)
        self._callback.mit = mit if mit.is_used else None
        self._active, self._scheduling = True, scheduling
        self._callback.active = self.enabled
        self._begin()

    def deactivate(self) -> None:
        """Send no commands from now on. To be called before the node's publishers are deactivated."""
        self._hand_over()
        self._active = self._callback.active = False

    def wait_until_delivered(self) -> None:
        """Wait until subscribers have the last command; to be called before the process ends."""
        self._output.wait_until_delivered()

    def enable(self, enabled: bool) -> None:
        """Switch the commands on or off; after a pause the arm is held at its present position."""
        if self.enabled and not enabled:
            self._hand_over()
        self.enabled = enabled
        self._callback.active = self._answers
        self._begin()

    def hold(self) -> None:
        """Stop with the deceleration of the settings (at once if there is none), and hold.

        Raises:
            NotReadyError: no state has come yet.
        """
        self._loop.hold(self._now() / NANO)

    def expected(self, ahead: float) -> tuple[float, Reference]:
        """The time ``ahead`` [s] after the latest state, and the reference then, if no other is given until then.

        Raises:
            NotReadyError: no state has come yet, or a fault is active.
        """
        return self._loop.expected(ahead)

    def try_out(self, settings: LoopSettings) -> None:
        """Compute efforts by other settings at the arm's position, without sending them.

        Raises:
            EffortError: they are not n finite numbers.
            Exception: whatever the control law raises.
        """
        self._loop.try_out(settings)

    def apply(self, settings: LoopSettings, learnt: dict[str, Any] | None = None) -> None:
        """Use other settings from the next command on; the change of the efforts is blended in.

        Args:
            settings: the control law, its limits and all other settings of the loop.
            learnt: memory of the law, in the form of :meth:`Controller.memory`; None for its present memory.

        Raises:
            Exception: whatever the control law raises when it is tried; nothing is changed then.
        """
        self._loop.apply(settings, learnt)

    def destroy(self) -> None:
        """Withdraw the topics."""
        self._end()
        self.references.destroy()
        for timer in self._timers:
            self._node.destroy_timer(timer)
        self._output.destroy()

    @property
    def _answers(self) -> bool:
        """True if commands are sent for states now."""
        return self._active and self.enabled

    def _now(self) -> int:
        return int(self._clock.now().nanoseconds)

    def _reset(self) -> None:
        """Drop all states that have come."""
        self._loop.stop()
        self._callback.reset()
        self._silent = False

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
        last, begun = self._callback, perf_counter()
        while (step := self._loop.final_command(last.state_time + perf_counter() - last.received)) is not None:
            effort, has_come = step
            free = np.zeros(len(effort), dtype=np.bool_)
            last.publish(divmod(self._now(), NANO), last.state_time, Command(effort, free, free, 0.0))
            if has_come:
                return
            if perf_counter() - begun > FINAL_TIME:
                self._log.warning("the rate limits leave no time for the final command: the arm may not be held")
                return
            sleep(FINAL_PERIOD)

    def _watch_due(self) -> float:
        """Time until the next check [s]; longer if the thread checks and no subscriber needs each period."""
        if self._realtime is None:
            return self._loop.watch_due(WATCH_PERIOD)
        return WATCH_PERIOD if self._is_looked_at else REST_PERIOD

    def _watch(self) -> None:
        """Check that states still come; send the reaction to the fault if they do not."""
        last = self._callback
        if self._realtime is not None:
            self._poll_realtime(self._realtime, rests=not self._is_looked_at)
        set_period(self._timers[0], self._watch_due())
        self._in_parts |= last.states.partial
        if last.states.mixed and self._qos is NEWEST:  # the next message does not replace the one before
            self._qos = PARTS
            self._end()
            self._begin()
        if not self._answers or not last.received:
            return
        self.references.watch()
        missing = perf_counter() - last.received
        if missing > WATCH_PERIOD:
            self._output.refresh()
        elapsed = self._now() / NANO - last.node_time if self._clock.ros_time_is_active else missing
        if self._realtime is None:
            command = self._loop.watch(last.state_time + elapsed)
            if command is not None:
                last.publish(divmod(self._now(), NANO), last.state_time + elapsed, command)
                self.statistics.add_blind(command)
            self._fault_report.update(command)
        silent = missing > self._loop.settings.safety.state_timeout
        if silent and not self._silent:
            self.statistics.interrupted()
            self._log.warning("no usable joint states")
        if self._silent and not silent:
            self._log.info("joint states are back: the arm is held where it is")
        self._silent = silent

    def _begin(self) -> None:
        """Receive states: in a thread in C if it is wanted and possible, else in Python."""
        if not self._answers or self._realtime is not None or self._states is not None:
            return
        why = self._why_not_in_thread()
        if not why:
            try:
                self._enter_thread()
            except NotReadyError as reason:
                why = f"off: {reason}"
        if why:
            self._say_realtime(why, is_wrong=NodeParameters(self._node)["realtime"] == "on" and why != "off")
            self._subscribe()
        self._reschedule()

    def _why_not_in_thread(self) -> str:
        """Why no thread can run the loop; "" if one can."""
        if NodeParameters(self._node)["realtime"] == "off":
            return "off"
        if self._callback.mit is not None:
            return "off: Python publishes the commands of MIT mode (mit_limits)"
        if self._in_parts:
            return "off: joint states come in parts"
        if self._loop.compiled_step is None:
            return f"off: the law {type(self.law).__name__} runs as Python"
        return ""

    def _enter_thread(self) -> None:
        """Have a thread in C run the loop.

        Raises:
            NotReadyError: no thread can be started; the message has the reason.
        """

        def make_thread(core: Core) -> RealtimeThread:
            topics, order = self._output.command_topics(), self._output.order
            arriving = make_subscription(self._node, self._node.resolve_topic_name("joint_states"), self._qos)
            return RealtimeThread(self._node, core, self._transmission, order, topics, WATCH_PERIOD, arriving)

        entered = RealtimeLoop(self._loop, make_thread, self._callback.states, self._on_entries, self._on_end)
        entered.start(0 if self._scheduling is None else self._scheduling.priority)
        self._realtime = entered
        self._told_fault, self._told_restarts = self._fault_report.count, self._loop.restarts
        self._say_realtime(f"on, {entered.thread.scheduling}")

    def _subscribe(self) -> None:
        """Receive states in Python."""
        callback = self._callback.on_state
        self._states = self._node.create_subscription(JointState, "joint_states", callback, self._qos, raw=True)

    def _end(self) -> None:
        """Receive no states."""
        left, self._realtime = self._realtime, None
        if left is not None:
            left.stop()
            self._keep_state_time(left)
            self.realtime = "off"
        if self._states is not None:
            self._node.destroy_subscription(self._states)
            self._states = None

    def _reschedule(self) -> None:
        """Give the real-time priority to the thread that runs the loop."""
        if self._active and self._scheduling is not None:
            self._scheduling.begin(python=self._realtime is None)

    def _on_end(self, reason: str) -> None:
        """Receive states in Python, because the thread has ended: it cannot read the messages."""
        left, self._realtime = self._realtime, None
        if left is not None:
            self._keep_state_time(left)
            self._say_realtime(f"off: {reason}")
            self._subscribe()
            self._reschedule()

    def _say_realtime(self, text: str, *, is_wrong: bool = False) -> None:
        if text != self.realtime:
            self.realtime = text
            (self._log.warning if is_wrong else self._log.info)(f"realtime: {text}")

    def _keep_state_time(self, realtime: RealtimeLoop) -> None:
        last = self._callback
        received, state_time, node_time = realtime.thread.last_state
        if received:
            last.received, last.state_time, last.node_time = received, state_time, node_time

    def _poll_realtime(self, realtime: RealtimeLoop, *, rests: bool) -> None:
        """Report the periods of the thread, and read a message that it could not read."""
        states = self._callback.states
        letter = realtime.poll(wants_messages=bool(self._locked.names), rests=rests)
        for _ in range(realtime.new_refusals()):
            self.faults.count("message not published", "refused by the middleware")
        self._keep_state_time(realtime)
        if letter is None:
            return
        kind, data = letter
        try:
            states.note_locked(data)
            if kind == UNKNOWN:
                self._locked.check()
                realtime.learn(data, self._now())
            else:
                realtime.thread.drop_letter()
        except RobodynError as problem:
            realtime.thread.drop_letter()
            self.faults.count(REFUSALS.get(type(problem), "state refused"), problem)

    def _on_entries(self, entries: Any) -> None:
        """Report periods of the thread: all at once if no listener, topic or fault needs each of them."""
        plain = (entries["code"] == CODES["CORE_SEND"]) & (entries["kind"] < 0)
        plain &= entries["restarts"] == self._told_restarts
        told = self.listeners or self._output.tells_terms or self._fault_report.lasts or entries["blind"].any()
        self._is_looked_at = bool(told)
        if told or not plain.all():
            for entry in entries:
                self._on_entry(entry)
            return
        self._callback.latest = when, latest = stamp_of(entries[-1]), command_of(entries[-1])
        for look in self.onlookers:
            self._is_looked_at |= look(when, latest)
        self.statistics.add_many(entries, latest, self.settings.safety.overrun)

    def _on_entry(self, entry: Any) -> None:
        """Report a period of the thread."""
        problem = refusal(entry, self._loop)
        if problem is not None:
            self.faults.count(REFUSALS.get(type(problem), "state refused"), problem)
            if entry["repeats"]:
                self.statistics.add_blind(command_of(entry))
            return
        if int(entry["restarts"]) > self._told_restarts:
            self.faults.count("states broke off", BROKE_OFF)
        self._told_restarts = int(entry["restarts"])
        if int(entry["kind"]) >= 0:
            if int(entry["faults"]) != self._told_fault:
                self._told_fault = int(entry["faults"])
                self.faults.count(FAULTS[KINDS[int(entry["kind"])]].words, problem_of(entry, self._loop))
            self._fault_report.lasts = True
        elif self._fault_report.lasts:
            self._fault_report.say_over()
        if int(entry["code"]) != CODES["CORE_SEND"]:
            return
        command = command_of(entry)
        if entry["blind"]:
            self.statistics.add_blind(command)
            return
        when = stamp_of(entry)
        self._callback.latest = when, command
        for listen in (*self.listeners, *self.onlookers):
            listen(when, command)
        self.statistics.add(float(entry["begun"]), float(entry["done"]), command, self.settings.safety.overrun)
        self._output.publish_terms((when.sec, when.nanosec), command)

    def _scan_publishers(self) -> None:
        self._output.refresh()
        self._loop.set_publisher_conflict(self._conflicts.scan(self._loop.settings.safety.state_publishers))
