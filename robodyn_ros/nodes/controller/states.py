# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Joint states: from the bytes of one or several messages to a state.

A state may come in several messages, each with some of the joints, as from the drivers of an arm and of its fingers;
they are merged by name. It is complete when values of every joint have come since the state before, and its stamp is
that of its newest message. If no values of a joint come for the state timeout, no state is complete, and the error
names the joint. A message with all joints is a state by itself; while such messages come, one with only some of the
joints is an error. The positions of locked joints are remembered too, because they change the model.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from sensor_msgs.msg import JointState

from robodyn_ros.errors import InputError, OrderError
from robodyn_ros.nodes.common.messages import NANO, decode
from robodyn_ros.nodes.controller.cdr import Measured, StateReader

KINDS = 8  #: Greatest number of sets of joints in messages whose layouts are remembered.


class StateMerger:
    """Reads serialized sensor_msgs/JointState, and merges messages with only some of the joints.

    Attributes:
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
        self._whole_at = -math.inf  # when a message with all joints came [ns]

    def read(self, data: bytes, now: int, timeout: float) -> Measured | None:
        """The state, if this message, which came at a time [ns], completes it; None if it does not, or has other joints
        only. A joint's values may be as old as the timeout [s]; a message without a stamp has that of its arrival.
        InputError: as :meth:`.StateReader.keep`, no message, or the values of a joint are too old. OrderError: the
        message is older than an earlier one with the same joints.
        """
        if (found := self.whole.quick(data)) is not None:
            self._whole_at = now
            return found
        for reader, columns in self._parts.values():
            if (part := reader.quick(data)) is not None:
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
        if len(message.position) != len(message.name):
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
        return Measured(divmod(newest, NANO), self._q.copy(), self._qd.copy() if self._moving.all() else None)
