"""A recording of a moving arm: where its joints were, and which efforts moved them.

Recordings are read without ROS: rosbag2 (SQLite or MCAP) by :mod:`.recording_bag`, tables by :mod:`.recording_csv`.
"""

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
"""Which time of a message counts: that in its header where there is one, that in its header, or that of its receipt."""


class RecordedTrack(NamedTuple):
    """Values of all joints at N times, which increase."""

    t: Array  # [s] (N,)
    values: Array  # (N, n), in the order of the recording's joints


@dataclass(frozen=True, eq=False)
class Recording:
    """What was recorded, as it came; times of all tracks are by one clock.

    Attributes:
        name: what it is called in messages, the path as it was given.
        joints: names, in the order of every array of n.
        position: [rad] or [m].
        measured: effort that the arm reported [N·m] or [N]; None if it reported none.
        commanded: effort that it was told, each until the next; None if that was not recorded.
    """

    name: str
    joints: tuple[str, ...]
    position: RecordedTrack
    measured: RecordedTrack | None = None
    commanded: RecordedTrack | None = None

    @property
    def duration(self) -> float:
        """From the first position to the last [s]."""
        return float(self.position.t[-1] - self.position.t[0])


@dataclass(frozen=True)
class RecordingSource:
    """Where in a recording the numbers stand.

    Attributes:
        states: topic of the states (JointState); empty to look for ``joint_states``, in any namespace.
        commands: topic of the efforts (JointState or Float64MultiArray); empty to look for ``joint_commands`` and
            ``commands``, in the namespace of the states or below it.
        order: joints in the order of a Float64MultiArray; empty for that of the arm.
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


def track(name: str, what: str, joints: Sequence[str], t: Array, values: Array) -> RecordedTrack:
    """A track of what was read, checked; of rows of the same time, which are one message that came twice, the last.

    Args:
        name: of the recording.
        what: the values are, for messages.
        joints: names (n).
        t: times [s] (N,).
        values: (N, n).

    Raises:
        InputError: a value is no finite number, or time goes back.
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
