# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The content of a recording: joint positions over time, and the efforts that moved the joints."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from robodyn_ros.errors import InputError
from robodyn_ros.robot.pose import Array

BAG_FILES = (".mcap", ".db3")
"""Endings of the files of a rosbag2."""

TIMES = ("auto", "stamp", "received")
"""Time of a message: its header stamp if it has one (``auto``), always its stamp, or its time of receipt."""


class RecordedTrack(NamedTuple):
    """Values of all joints at N increasing times."""

    t: Array  # [s] (N,)
    values: Array  # (N, n), in the order of the recording's joints


@dataclass(frozen=True, eq=False)
class Recording:
    """Positions and efforts as recorded; the times of all tracks are on one clock.

    Attributes:
        name: the path as it was given, the name of the recording in messages.
        joints: names, in the order of every array of n.
        position: [rad] or [m].
        measured: effort that the arm reported [N·m] or [N]; None if it reported none.
        commanded: effort that was commanded, each value held until the next; None if no command was recorded.
    """

    name: str
    joints: tuple[str, ...]
    position: RecordedTrack
    measured: RecordedTrack | None = None
    commanded: RecordedTrack | None = None

    @property
    def duration(self) -> float:
        """Time from the first position to the last [s]."""
        return float(self.position.t[-1] - self.position.t[0])


@dataclass(frozen=True)
class RecordingSource:
    """The topics and times of a bag that are read.

    Attributes:
        states: topic of the states (JointState); if empty, ``joint_states`` is looked for in every namespace.
        commands: topic of the efforts (JointState or Float64MultiArray); if empty, ``joint_commands`` and ``commands``
            are looked for in the namespace of the states and below it.
        order: joints in the order of a Float64MultiArray; the arm's order if empty.
        times: one of :data:`TIMES`.
    """

    states: str = ""
    commands: str = ""
    order: tuple[str, ...] = ()
    times: str = "auto"

    def __post_init__(self) -> None:
        if self.times not in TIMES:
            raise InputError("times", f"must be one of {', '.join(TIMES)}, not {self.times!r}", self.times)


def unreadable(path: str | os.PathLike[str], problem: str) -> InputError:
    """The error about a recording."""
    return InputError("recording", f"{os.fspath(path)}: {problem}", os.fspath(path))


def checked_track(name: str, what: str, joints: Sequence[str], t: Array, values: Array) -> RecordedTrack:
    """A track of the values that were read, checked.

    Rows of the same time are one message that was recorded several times; the last row is kept.

    Args:
        name: name of the recording.
        what: name of the quantity, for messages.
        joints: names (n).
        t: times [s] (N,).
        values: (N, n).

    Raises:
        InputError: a value is not finite, or time goes back.
    """
    bad = ~np.isfinite(values)
    if bad.any():
        row, column = np.argwhere(bad)[0]
        problem = f"{what} of joint {joints[column]!r} is {values[row, column]} at {t[row]:.6f} s"
        raise unreadable(name, f"{problem}, and no number in {np.count_nonzero(bad.any(axis=1))} of {len(t)} rows")
    step = np.diff(t)
    if (step < 0.0).any():
        row = int(np.argmax(step < 0.0))
        raise unreadable(
            name,
            f"time goes back by {-step[row]:.6g} s after {t[row]:.6f} s ({what} {row + 1} of {len(t)}): a clock was "
            "set, a simulation was reset, or rows are out of order; cut the recording there",
        )
    kept = np.append(step > 0.0, True)
    return RecordedTrack(t[kept], values[kept])
