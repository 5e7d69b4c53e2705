"""A trial as one table, and that as CSV: a row for each time at which the sensors measured.

A column's name is ``joint/quantity [unit]``, which PlotJuggler shows as a tree. States and commands are the latest that
had come by the time of the row; where there was none yet, the cell is empty. Numbers are written with as many digits as
it takes to read the same number again.
"""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

from robodyn_ros.errors import InputError
from robodyn_ros.robot import Joint, Robot
from robodyn_ros.robot.pose import Array
from robodyn_ros.simulation.trial import Samples, Trial

QUANTITIES = (
    ("reference", "commands", "q"),
    ("position", "truth", "q"),
    ("velocity", "truth", "qd"),
    ("effort", "truth", "effort"),
    ("measured_position", "states", "q"),
    ("measured_velocity", "states", "qd"),
    ("command", "commands", "effort"),
)
"""Quantity of a joint, and where it stands in the trial."""


def table(trial: Trial, robot: Robot) -> dict[str, Array]:
    """Heading → column (N,), the time first.

    Args:
        trial: what happened.
        robot: the arm.
    """
    t = trial.truth.t
    columns = {"time [s]": t}
    for index, joint in enumerate(robot.joints):
        for quantity, kind, name in QUANTITIES:
            samples: Samples = getattr(trial, kind)
            columns[f"{joint.name}/{quantity} [{_unit(joint, name)}]"] = _latest(samples, t, name, index)
    return columns


def write_csv(path: Path, trial: Trial, robot: Robot) -> None:
    """Write the table.

    Args:
        path: of the file; one that is there is replaced.
        trial: what happened.
        robot: the arm.

    Raises:
        InputError: the file cannot be written.
    """
    columns = table(trial, robot)
    try:
        with open(path, "w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(columns)
            for row in zip(*(column.tolist() for column in columns.values()), strict=True):
                writer.writerow(["" if value != value else value for value in row])  # NaN differs from itself
    except OSError as cause:
        raise InputError("file", f"{path} cannot be written: {cause.strerror}", path) from cause


def _unit(joint: Joint, name: str) -> str:
    units = {"q": joint.position_unit, "qd": f"{joint.position_unit}/s", "effort": joint.effort_unit}
    return units[name]


def _latest(samples: Samples, t: Array, name: str, index: int) -> Array:
    """The latest value of a joint at each time, NaN where there was none yet."""
    row = np.searchsorted(samples.t, t, side="right")
    padded = np.concatenate(([np.nan], samples.values[name][:, index]))
    found: Array = padded[row]
    return found
