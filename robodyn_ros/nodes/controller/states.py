# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Joint states: from the bytes of a message to its command.

:meth:`StateCallback.on_state` shows the full path of a state: read the bytes, validate the state and compute the
command, publish the command, and only then do the bookkeeping.

A state may come in several messages, each with some of the joints; they are merged by name. For example, one driver
publishes the arm's joints and another one the fingers, or each half of an arm has its own driver. A state is complete
when values of every joint have come since the state before. Its stamp is that of its newest message. The age of each
joint is checked too: if no values of a joint come for the state timeout, no state is complete, and the error names the
joint. A message with all joints is a state by itself. While such messages come, a message with only some of the joints
is an error: a joint is missing. The positions of locked joints are remembered too, because they change the model.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import perf_counter

import numpy as np
from builtin_interfaces.msg import Time
from numpy.typing import NDArray
from rclpy.lifecycle import LifecycleNode
from sensor_msgs.msg import JointState

from robodyn_ros.control.drives import MitSettings, Transmission
from robodyn_ros.control.loop import ControlLoop
from robodyn_ros.control.step import Command
from robodyn_ros.errors import (
    EffortError,
    FutureStateError,
    HoldingError,
    InputError,
    JumpError,
    OrderError,
    RobodynError,
    StaleStateError,
)
from robodyn_ros.nodes.common.diagnostics import Faults
from robodyn_ros.nodes.common.messages import NANO, Stamp, decode
from robodyn_ros.nodes.controller.cdr import Measured, StateReader
from robodyn_ros.nodes.controller.locked_model import LockedModel
from robodyn_ros.nodes.controller.output import LoopStatistics, Output
from robodyn_ros.robot.pose import Array

SUBSCRIBER_PERIOD = 0.02  #: Shortest time between two checks of which topics have subscribers [s].

BROKE_OFF = "missing, or their time jumped; the arm is held where it is"

REFUSALS: dict[type[RobodynError], str] = {
    StaleStateError: "state too old",
    FutureStateError: "state from the future",
    OrderError: "state out of order",
    JumpError: "position jumped",
    EffortError: "control law failed",
    HoldingError: "limits too low",
}
"""Error of a state without a command → the name under which it is counted; "state refused" for all others."""

KINDS = 8  #: Greatest number of sets of joints in messages whose layouts are remembered.


class StateMerger:
    """Reads serialized sensor_msgs/JointState, and merges messages with only some of the joints.

    Attributes:
        locked: name → latest position of each locked joint that was in a message [rad] or [m].
        whole: reads messages with all joints.
        partial: True once a message with some of the joints has come.
        mixed: True once a message with none or some of the joints has come: a single message may be no full state.
    """

    def __init__(self, joints: Sequence[str], locked: Sequence[str], known: dict[str, float]) -> None:
        """``known`` has the latest known position of joints by name; this object updates it."""
        self.locked = known
        self.partial = self.mixed = False
        self._joints, self._others = tuple(joints), frozenset(locked)
        self.whole = StateReader(joints)
        self._parts: dict[tuple[str, ...], tuple[StateReader, NDArray[np.intp]]] = {}
        self.reset()

    def reset(self) -> None:
        """Drop all messages that have come."""
        n = len(self._joints)
        self._times = np.full(n, -1, dtype=np.int64)  # stamps of the latest values [ns]; -1 before the first
        self._q, self._qd = np.zeros((2, n))
        self._moving, self._fresh = np.zeros((2, n), dtype=bool)  # has a velocity; came since the last complete state
        self._begin = -1
        self._whole_at = -(2**62)  # when a message with all joints came [ns]

    def read(self, data: bytes, now: int, timeout: float) -> Measured | None:
        """The state, if this message, which came at a time [ns], completes it; None if it does not, or has other joints
        only. A joint's values may be as old as the timeout [s]; a message without a stamp has that of its arrival.

        Raises:
            InputError: as :meth:`.StateReader.read`, or the values of a joint are too old.
            OrderError: the message is older than an earlier one with the same joints.
        """
        found = self.whole.quick(data)
        if found is not None:
            self._whole_at = now
            return found
        for reader, columns in self._parts.values():
            part = reader.quick(data)
            if part is not None:
                return self._merged(part, columns, now, timeout)
        message = decode(data, JointState)
        self._note(message)
        present = tuple(name for name in self._joints if name in message.name)
        whole = len(present) == len(self._joints)
        self.mixed |= not whole
        if whole or not present or abs(now - self._whole_at) <= timeout * NANO:
            state = self.whole.keep(message, data)
            self._whole_at = now if whole else self._whole_at
            return state
        if present not in self._parts:
            if len(self._parts) >= KINDS:
                self._parts.clear()
            columns = np.array([self._joints.index(name) for name in present], dtype=np.intp)
            self._parts[present] = StateReader(present), columns
        self.partial = True
        reader, columns = self._parts[present]
        part = reader.keep(message, data)
        assert part is not None  # some of its joints are present
        return self._merged(part, columns, now, timeout)

    def note_locked(self, data: bytes) -> None:
        """Remember the positions of locked joints in a message that :meth:`read` has accepted."""
        if self._others:
            self._note(decode(data, JointState))

    def _note(self, message: JointState) -> None:
        if not self._others or len(message.position) != len(message.name):
            return
        for name, position in zip(message.name, message.position, strict=True):
            if name in self._others and np.isfinite(position):
                self.locked[name] = position

    def _merged(self, part: Measured, columns: NDArray[np.intp], now: int, timeout: float) -> Measured | None:
        stamp = part.stamp[0] * NANO + part.stamp[1] or now
        before = int(self._times[columns].max())
        if stamp < before:
            if before - stamp <= timeout * NANO:
                late = (before - stamp) / NANO
                raise OrderError(f"of {self._joints[columns[0]]!r} is {late:.3g} s older than the one before it")
            self.reset()  # the clock was reset
        if self._begin < 0:
            self._begin = stamp
        self._times[columns], self._q[columns], self._fresh[columns] = stamp, part.position, True
        self._moving[columns] = part.velocity is not None
        if part.velocity is not None:
            self._qd[columns] = part.velocity
        heard = np.maximum(self._times, self._begin)
        oldest = int(np.argmin(heard))
        newest = int(heard.max())
        if newest - heard[oldest] > timeout * NANO:
            age = (newest - int(heard[oldest])) / NANO
            raise InputError(
                "name",
                f"joint {self._joints[oldest]!r} has not come for {age:.3g} s, but others have; if nobody publishes "
                "it, leave it out of the parameter joints: it is locked then",
                self._joints[oldest],
            )
        if not self._fresh.all():
            return None
        self._fresh[:] = False
        velocity = self._qd.copy() if self._moving.all() else None
        return Measured(divmod(newest, NANO), self._q.copy(), velocity)


class StateCallback:
    """The callback of ``joint_states``: from a state to its command, as fast as possible.

    Attributes:
        loop, output, faults, statistics, locked: as given.
        active: True if commands are sent for states.
        mit: settings of commands in MIT mode; None if there are no such commands.
        position: of the latest state with a command, with the drives' count of turns, (n,); None before the first.
        latest: stamp of the latest state with a command, and the command; None before the first.
        listeners: called with stamp and command of each state with a command.
        onlookers: called with the latest stamp and command, but not for each state; each returns True to be called
            more often.
        received: when the latest usable state came, by the steady clock [s]; 0 before the first.
        state_time: its stamp [s].
        node_time: the time by the node's clock when it came [s].
        data: the latest message, usable or not.
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
        report_fault: Callable[[Command | None], None],
        locked: LockedModel,
    ) -> None:
        self.active = False
        self.mit: MitSettings | None = None
        self.position: Array | None = None
        self.listeners: list[Callable[[Time, Command], None]] = []
        self.onlookers: list[Callable[[Time, Command], bool]] = []
        self._ros_clock = node.get_clock()
        self._clock = self._ros_clock.handle  # without the objects that rclpy makes around each time
        self.loop, self.output, self.faults, self.statistics, self.locked = loop, output, faults, statistics, locked
        self._transmission, self._report_fault = transmission, report_fault
        self.states = StateMerger(loop.robot.joint_names, locked.names, locked.known)
        self._ignore_until = self._next_refresh = 0.0
        self.reset()

    def reset(self) -> None:
        """Drop all states that have come."""
        self.received = self.state_time = self.node_time = 0.0
        self.data = b""
        self.latest = None
        self.states.reset()

    def now(self) -> int:
        """The time by the node's clock [ns]."""
        return int(self._clock.get_now().nanoseconds)

    def on_state(self, data: bytes) -> None:
        """Publish the command for a serialized sensor_msgs/JointState."""
        begun, self.data = perf_counter(), data
        if not self.active or begun < self._ignore_until:
            return
        now = self.now()
        loop, restarts = self.loop, self.loop.restarts
        try:
            # Read the bytes.
            measured = self.states.read(data, now, loop.settings.safety.state_timeout)
            if measured is None:  # only other joints, or the state is not complete yet
                return
            if self.latest is None:
                self.states.note_locked(data)
                self.locked.check()
            stamp, position, velocity = measured
            if stamp == (0, 0):
                stamp = divmod(now, NANO)
            is_simulated = self._ros_clock.ros_time_is_active
            if is_simulated:
                now = loop.core.simulated_time(now, stamp[0] * NANO + stamp[1])
            # From motors to joints.
            q = self._transmission.joint_position(position)
            qd = None if velocity is None else self._transmission.joint_velocity(velocity)
            # Validate the state, and compute its command.
            time = stamp[0] + stamp[1] / NANO
            command = loop.update(time, now / NANO, q, qd)
        except RobodynError as problem:
            repeated = loop.repeat(time, now / NANO) if isinstance(problem, JumpError) else None
            if repeated is not None:
                self.publish(stamp, time, repeated)
                self.statistics.add_blind(repeated)
            self.faults.count(REFUSALS.get(type(problem), "state refused"), problem)
            return
        # Publish the command.
        if command is not None:
            self.position = q
            self.publish(stamp, time, command)
        self.received, self.state_time = begun, time
        self.node_time = (int(loop.core.state.newest) if is_simulated else now) / NANO
        self._account(begun, stamp, command, loop.restarts > restarts)

    def _account(self, begun: float, stamp: Stamp, command: Command | None, has_restarted: bool) -> None:
        """Do what is not urgent: bookkeeping, statistics, and the terms of the command."""
        done, overrun = perf_counter(), self.loop.settings.safety.overrun
        if done - begun > overrun:
            # The executor passes on all states that have come in the meantime, and all of them look new. If each took
            # as long as this one, the other callbacks would never run. Therefore ignore states for as long as it took.
            self._ignore_until = 2.0 * done - begun
        if has_restarted:
            self.faults.count("states broke off", BROKE_OFF)
        if command is not None:
            when = Time(sec=stamp[0], nanosec=stamp[1])
            self.latest = when, command
            for listen in (*self.listeners, *self.onlookers):
                listen(when, command)
            self.statistics.add(begun, done, command, overrun)
            self.output.publish_terms(stamp, command)
        if begun >= self._next_refresh:
            self._next_refresh = begun + SUBSCRIBER_PERIOD
            self.output.refresh()
            self.states.note_locked(self.data)
        self._report_fault(command)

    def publish(self, stamp: Stamp, t: float, command: Command) -> None:
        """Publish a command for a time t [s]."""
        self.output.publish_command(stamp, self._transmission.motor_effort(command.effort))
        if self.mit is not None and self.output.tells_mit:
            mit = self.loop.in_mit_mode(command, t, self.mit, self.position)
            self.output.publish_mit(stamp, mit.at_motors(self._transmission))
