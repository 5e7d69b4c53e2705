# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Recordings as CSV tables.

The first line names the columns, which may be in any order:

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
import re
from pathlib import Path

import numpy as np

from robodyn_ros.identification.recording.recording import RecordedTrack, Recording, checked_track, unreadable
from robodyn_ros.robot.pose import Array

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
    heading, cells = _table(path)
    times = [heading[key] for key in TIME_COLUMNS if key in heading]
    if not times:
        raise unreadable(name, f"has no column {' or '.join(TIME_COLUMNS)}; it has {', '.join(heading)}")
    t = cells[:, times[0]]
    if np.isnan(t).any():
        raise unreadable(name, f"line {2 + int(np.argmax(np.isnan(t)))} has no time")
    position = _columns(name, heading, joints, POSITIONS, required=True)
    found = [_columns(name, heading, joints, names, required=False) for names in (MEASURED, COMMANDED)]
    made = [
        None if columns is None else _track(name, what, joints, t, cells[:, columns])
        for what, columns in zip(("position", "effort", "command"), (position, *found), strict=True)
    ]
    if made[0] is None:
        raise unreadable(name, "has no positions: their cells are empty")
    return Recording(name, joints, made[0], *made[1:])


def _table(path: Path) -> tuple[dict[str, int], Array]:
    """Name → column, and the cells (N, columns); NaN where a cell is empty or belongs to an ignored column."""
    try:
        with open(path, newline="", encoding="utf-8-sig") as file:
            first = file.readline()
            file.seek(0)
            rows = list(csv.reader(file, delimiter=max(",;\t", key=first.count)))
    except (OSError, UnicodeDecodeError, csv.Error) as cause:
        raise unreadable(path, f"cannot be read as a table: {cause}") from cause
    if len(rows) < 2:
        raise unreadable(path, "is empty" if not rows else "has a heading and no rows")
    heading = _heading(path, rows[0])
    cells = np.full((len(rows) - 1, len(rows[0])), np.nan)
    for number, row in enumerate(rows[1:], 2):
        if len(row) != len(rows[0]):
            cut = ": the file may be truncated" if number == len(rows) else ""
            raise unreadable(path, f"line {number} has {len(row)} cells under a heading of {len(rows[0])}{cut}")
        for key, column in heading.items():
            text = row[column].strip()
            try:
                cells[number - 2, column] = float(text) if text else np.nan
            except ValueError as cause:
                if key in TIME_COLUMNS or "/" in key:
                    raise unreadable(path, f"line {number}, {key}: {text!r} is not a number") from cause
    return heading, cells


def _heading(path: Path, names: list[str]) -> dict[str, int]:
    """Name without unit → column."""
    heading: dict[str, int] = {}
    for column, text in enumerate(names):
        key, unit = HEAD.fullmatch(text.strip()).groups("")  # type: ignore[union-attr]  # it matches every text
        key = key.lstrip("/")  # as PlotJuggler writes the names of topics
        quantity = next((kind for kind in UNITS if key.endswith(kind)), "effort" if key.endswith("command") else "")
        if unit and quantity and unit not in UNITS[quantity]:
            raise unreadable(path, f"column {text!r} is in {unit}, and must be in {' or '.join(UNITS[quantity])}")
        if key in heading:
            raise unreadable(path, f"has two columns {key!r}")
        heading[key] = column
    return heading


def _columns(
    name: str, heading: dict[str, int], joints: tuple[str, ...], names: tuple[str, ...], required: bool
) -> list[int] | None:
    """The columns of a quantity, one for each joint; None if it is not required and does not exist."""
    for quantity in names:
        keys = {joint: f"{joint}/{quantity}".lstrip("/") for joint in joints}
        found = {joint: heading[key] for joint, key in keys.items() if key in heading}
        missing = [joint for joint in joints if joint not in found]
        if not missing:
            return list(found.values())
        if found and quantity == names[-1]:
            raise unreadable(name, f"has no column {', '.join(f'{joint}/{quantity}' for joint in missing)}")
    if required:
        wanted = ", ".join(f"{joint}/{names[-1]}" for joint in joints)
        raise unreadable(name, f"has no columns {wanted}; it has {', '.join(heading)}")
    return None


def _track(name: str, what: str, joints: tuple[str, ...], t: Array, values: Array) -> RecordedTrack | None:
    """The track of the rows that are not empty; None if all are."""
    given = ~np.isnan(values).all(axis=1)
    return checked_track(name, what, joints, t[given], values[given]) if given.any() else None
