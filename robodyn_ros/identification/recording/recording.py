# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The content of a recording: joint positions over time, and the efforts that moved the joints; read from CSV tables.

The first line of a table names the columns, which may be in any order:

    time [s]            [s], increasing
    elbow/position      [rad] or [m]; ``elbow/measured_position`` takes precedence where it exists
    elbow/effort        measured effort [N·m] or [N]; ``elbow/measured_effort`` takes precedence where it exists
    elbow/command       commanded effort [N·m] or [N]; one of the two efforts is enough

A unit in brackets may follow a name; it must be one of these. Commas, semicolons or tabs separate the columns. Columns
of other names are ignored. A row lacks a quantity if its cells are empty for all joints. ``robodyn simulate --out
run.csv`` writes such tables.
"""

from __future__ import annotations

import csv
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from robodyn_ros.checks import check_choice
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
        check_choice("times", self.times, TIMES)


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
        back = f"time goes back by {-step[row]:.6g} s after {t[row]:.6f} s ({what} {row + 1} of {len(t)})"
        why = "a clock was set, a simulation was reset, or rows are out of order"
        raise unreadable(name, f"{back}: {why}; cut the recording there")
    kept = np.append(step > 0.0, True)
    return RecordedTrack(t[kept], values[kept])


TIME_COLUMNS = ("time", "t", "timestamp", "stamp")
"""Names of the time column."""

POSITIONS, MEASURED, COMMANDED = ("measured_position", "position"), ("measured_effort", "effort"), ("command",)
"""Names of the columns of each quantity; the first that exists counts."""

UNITS = {"position": ("rad", "m"), "effort": ("N·m", "Nm", "N m", "N*m", "N"), "time": ("s",)}
"""Accepted units of each quantity; all are SI."""

HEAD = re.compile(r"(.*?)\s*(?:\[\s*([^\[\]]*?)\s*\])?", re.DOTALL)
"""Name of a column, which may hold brackets, and a unit."""


def read_csv(path: Path, joints: tuple[str, ...]) -> Recording:
    """Read a table.

    Args:
        path: the file.
        joints: names of the arm's joints, in the arm's order.

    Raises:
        InputError: the table cannot be read, or lacks data; the message names them.
    """
    name = str(path)
    heading, rows = _table(path)
    times = [key for key in TIME_COLUMNS if key in heading][:1]
    if not times:
        raise unreadable(name, f"has no column {' or '.join(TIME_COLUMNS)}; it has {', '.join(heading)}")
    t = _numbers(name, heading, rows, times, "time")[:, 0]
    if not np.isfinite(t).all():
        raise unreadable(name, f"line {2 + int(np.argmin(np.isfinite(t)))} has no time")

    def track(what: str, quantity: str, keys: list[str] | None) -> RecordedTrack | None:
        """The track of the rows that are not empty; None if all are, or if there are no columns of the quantity."""
        values = _numbers(name, heading, rows, keys or [], quantity)
        given = ~np.isnan(values).all(axis=1)
        return checked_track(name, what, joints, t[given], values[given]) if given.any() else None

    columns = [_columns(name, heading, joints, names) for names in (POSITIONS, MEASURED, COMMANDED)]
    position = track("position", "position", columns[0])
    if position is None:
        raise unreadable(name, "has no positions: their cells are empty")
    measured, commanded = track("effort", "effort", columns[1]), track("command", "effort", columns[2])
    return Recording(name, joints, position, measured, commanded)


Heading = dict[str, list[tuple[int, str]]]
"""Name of a column, without its unit → its places and units; more than one where the name is there again."""


def _table(path: Path) -> tuple[Heading, list[list[str]]]:
    """The heading, and the rows below it."""
    try:
        with open(path, newline="", encoding="utf-8-sig") as file:
            first = file.readline()
            file.seek(0)
            rows = list(csv.reader(file, delimiter=max(",;\t", key=first.count)))
    except (OSError, UnicodeDecodeError, csv.Error) as cause:
        raise unreadable(path, f"cannot be read as a table: {cause}") from cause
    if len(rows) < 2:
        raise unreadable(path, "is empty" if not rows else "has a heading and no rows")
    for number, row in enumerate(rows[1:], 2):
        if len(row) != len(rows[0]):
            cut = ": the file may be truncated" if number == len(rows) else ""
            raise unreadable(path, f"line {number} has {len(row)} cells under a heading of {len(rows[0])}{cut}")
    heading: Heading = {}
    for column, text in enumerate(rows[0]):
        key, unit = HEAD.fullmatch(text.strip()).groups("")  # type: ignore[union-attr]  # it matches every text
        heading.setdefault(key.lstrip("/"), []).append((column, unit))  # as PlotJuggler writes the names of topics
    return heading, rows[1:]


def _numbers(name: str, heading: Heading, rows: list[list[str]], keys: Sequence[str], quantity: str) -> Array:
    """The cells (N, k) of k columns of one quantity; NaN where a cell is empty."""
    cells = np.full((len(rows), len(keys)), np.nan)
    for place, key in enumerate(keys):
        (column, unit), *more = heading[key]
        if more:
            raise unreadable(name, f"has two columns {key!r}")
        if unit and unit not in UNITS[quantity]:
            wanted = " or ".join(UNITS[quantity])
            raise unreadable(name, f"column {f'{key} [{unit}]'!r} is in {unit}, and must be in {wanted}")
        for number, row in enumerate(rows):
            text = row[column].strip()
            try:
                cells[number, place] = float(text) if text else np.nan
            except ValueError as cause:
                raise unreadable(name, f"line {number + 2}, {key}: {text!r} is not a number") from cause
    return cells


def _columns(name: str, heading: Heading, joints: tuple[str, ...], names: tuple[str, ...]) -> list[str] | None:
    """The columns of a quantity, one for each joint; None if it does not exist, which positions must."""
    for quantity in names:
        keys = [f"{joint}/{quantity}".lstrip("/") for joint in joints]
        missing = [f"{joint}/{quantity}" for joint, key in zip(joints, keys, strict=True) if key not in heading]
        if not missing:
            return keys
        if len(missing) < len(joints) and quantity == names[-1]:
            raise unreadable(name, f"has no column {', '.join(missing)}")
    if names is POSITIONS:
        raise unreadable(name, f"has no columns {', '.join(missing)}; it has {', '.join(heading)}")
    return None
