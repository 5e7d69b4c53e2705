"""One clock for all messages of a bag.

A message has two times: that in its header, when what it says was measured, and that of its receipt by the recorder.
They may be by different clocks, as in a simulation. Commands without a header are put on the clock of the states'
headers by the states that were received before and after them; what they were under way shows as a delay.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from robodyn_ros.identification.recording import unreadable
from robodyn_ros.robot.pose import Array

NANO = 1_000_000_000
"""Nanoseconds in a second."""


class Row(NamedTuple):
    """What a message says of the joints."""

    received: int  # [ns]
    stamp: int  # [ns]; 0 where the message has none
    position: Array | None  # (n,)
    effort: Array | None  # (n,)


def common_times(name: str, states: list[Row], commands: list[Row], times: str) -> tuple[Array, Array, list[Row]]:
    """Times from the first state on.

    Args:
        name: of the recording.
        states: at least one.
        commands: any number of them.
        times: which count, see :class:`Source`.

    Returns:
        Times [s] of the states (N,), times [s] of the commands (M,), and those M commands that have one.

    Raises:
        InputError: states have no stamps where these were asked for, or commands and states have no time in common.
    """
    received, stamp = _from(states[0].received, states, "received"), _from(states[0].stamp, states, "stamp")
    missing = sum(row.stamp == 0 for row in states)
    if times == "stamp" and missing:
        raise unreadable(name, f"{missing} of {len(states)} states have no stamp in their header")
    if times == "received" or missing:
        own = _from(states[0].received, commands, "received")
        return received, own, commands
    own = _from(states[0].stamp, commands, "stamp")
    arrived = _from(states[0].received, commands, "received")
    stamped = np.array([row.stamp != 0 for row in commands], dtype=bool)
    known = stamped | ((arrived >= received[0]) & (arrived <= received[-1]))
    own = np.where(stamped, own, np.interp(arrived, received, stamp))[known]
    if len(commands) and not ((own >= stamp[0]) & (own <= stamp[-1])).any():
        problem = "states and commands have no time in common: "
        problem += f"their stamps begin at {_first(states):.3f} s and {_first(commands):.3f} s"
        raise unreadable(name, f"{problem}; if that is because of two clocks, the times of receipt may do")
    return stamp, own, [row for row, there in zip(commands, known.tolist(), strict=True) if there]


def _from(origin: int, rows: list[Row], field: str) -> Array:
    """Times since another [s]; the difference is taken of whole numbers, which keep every nanosecond."""
    return np.array([getattr(row, field) - origin for row in rows], dtype=np.int64) / NANO


def _first(rows: list[Row]) -> float:
    return rows[0].stamp / NANO
