"""Gathers the messages of a run into a record."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import monotonic

import numpy as np
from sensor_msgs.msg import JointState

from robodyn_ros.control.run_record import RunRecord
from robodyn_ros.nodes.messages import JointOrder, seconds
from robodyn_ros.robot.pose import Array

Row = tuple[float, float, tuple[Array, ...]]
"""Stamp [s], receipt [s], and arrays (n,)."""


class Recorder:
    """Keeps the states and commands of an arm.

    Attributes:
        states: those since :meth:`clear`; of each, position and velocity.
        commands: likewise; of each, the effort.
    """

    def __init__(self, joints: Sequence[str], clock: Callable[[], float] = monotonic) -> None:
        """
        Args:
            joints: names, in the order of the record.
            clock: that never goes back [s].
        """
        self.states: list[Row] = []
        self.commands: list[Row] = []
        self._joints = tuple(joints)
        self._orders = JointOrder(joints), JointOrder(joints)
        self._clock = clock

    def clear(self) -> None:
        """Forget what came so far."""
        self.states.clear()
        self.commands.clear()

    def add_state(self, message: JointState) -> None:
        """Keep a state, unless it is of other joints.

        Raises:
            InputError: a joint is missing, or there twice.
        """
        received = self._clock()
        state = self._orders[0].state(message)
        if state is not None:
            self.states.append((seconds(message.header.stamp), received, state))

    def add_command(self, message: JointState) -> None:
        """Keep a command.

        Raises:
            InputError: its joints are not those of the record.
        """
        received = self._clock()
        effort = self._orders[1].effort(message)
        self.commands.append((seconds(message.header.stamp), received, (effort,)))

    def record(self, start: float, sent: int, taken: int) -> RunRecord:
        """What was kept; see :class:`RunRecord` for the arguments."""
        state_stamp, state_received, (q, qd) = self._arrays(self.states, 2)
        command_stamp, command_received, (effort,) = self._arrays(self.commands, 1)
        return RunRecord(
            self._joints,
            start,
            state_stamp,
            state_received,
            q,
            qd,
            command_stamp,
            command_received,
            effort,
            commands_sent=sent,
            commands_taken=taken,
        )

    def _arrays(self, rows: list[Row], count: int) -> tuple[Array, Array, list[Array]]:
        shape = (len(rows), len(self._joints))
        values = [np.array([row[2][index] for row in rows]).reshape(shape) for index in range(count)]
        return np.array([row[0] for row in rows]), np.array([row[1] for row in rows]), values
