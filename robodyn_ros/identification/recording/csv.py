"""Recordings as tables: a column for the time and two for each joint, in any order, named in the first line.

    time [s]            [s], increasing
    elbow/position      [rad] or [m]; where there is ``elbow/measured_position`` too, that counts
    elbow/effort        what the arm measured [N·m] or [N]
    elbow/command       what it was told; one of the two is enough

A unit in brackets may follow a name; it must be one of these. Columns are separated by commas, semicolons or tabs;
others are left alone. Where the cells of a quantity are empty in all joints there was none at that time.
``robodyn simulate --out run.csv`` writes such tables.
"""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

from robodyn_ros.identification.recording.recording import RecordedTrack, Recording, track, unreadable
from robodyn_ros.robot.pose import Array

TIMES = ("time", "t", "timestamp", "stamp")

POSITIONS, MEASURED, COMMANDED = ("measured_position", "position"), ("measured_effort", "effort"), ("command",)
"""What the columns of a quantity are called, the best first."""

UNITS = {"position": ("rad", "m"), "effort": ("N·m", "Nm", "N m", "N*m", "N"), "time": ("s",)}
"""Units that are taken, as SI as everything here."""


def read_csv(path: Path, joints: tuple[str, ...]) -> Recording:
    """Read a table.

    Args:
        path: of the file.
        joints: names of the arm's joints, in its order.

    Raises:
        InputError: it cannot be read, or something is missing in it; the message says what.
    """
    name = str(path)
    heading, cells = _table(path)
    times = [heading[key] for key in TIMES if key in heading]
    if not times:
        raise unreadable(name, f"has no column {' or '.join(TIMES)}; it has {', '.join(heading)}")
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
    """Name → column, and the cells (N, columns), NaN where empty or not asked for."""
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
                if key in TIMES or "/" in key:
                    raise unreadable(path, f"line {number}, {key}: {text!r} is no number") from cause
    return heading, cells


def _heading(path: Path, names: list[str]) -> dict[str, int]:
    heading: dict[str, int] = {}
    for column, text in enumerate(names):
        key, _, unit = text.partition("[")
        key, unit = key.strip().lstrip("/"), unit.strip().rstrip("]").strip()
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
    """The columns of a quantity, one for each joint."""
    for quantity in names:
        found = {joint: heading[f"{joint}/{quantity}"] for joint in joints if f"{joint}/{quantity}" in heading}
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
    there = ~np.isnan(values).all(axis=1)
    return track(name, what, joints, t[there], values[there]) if there.any() else None
