"""A trial as one table, and that as CSV: a row for each time at which the sensors measured.

A column's name is ``joint/quantity [unit]``, which PlotJuggler shows as a tree. States and commands are the latest that
had come by the time of the row; where there was none yet, the cell is empty. Numbers are written with as many digits as
it takes to read the same number again.
"""

from __future__ import annotations

import csv
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from robodyn_ros.errors import ConfigurationError, InputError
from robodyn_ros.robot import Joint, Robot
from robodyn_ros.robot.pose import Array
from robodyn_ros.simulation.trial.trial import Trial, TrialSamples

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
            samples: TrialSamples = getattr(trial, kind)
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


def _latest(samples: TrialSamples, t: Array, name: str, index: int) -> Array:
    """The latest value of a joint at each time, NaN where there was none yet."""
    row = np.searchsorted(samples.t, t, side="right")
    padded = np.concatenate(([np.nan], samples.values[name][:, index]))
    found: Array = padded[row]
    return found


# A trial as a rosbag2: as MCAP, one file that Foxglove and PlotJuggler open, or as a folder like ``ros2 bag`` writes.
#
# The topics are those of the nodes, with what only a simulation knows beside them. A message's time in the bag is when
# it came, its stamp when what it is about was measured; both count from the start of the simulation.
#
# Written by the ``rosbags`` library, without ROS.

TOPICS = {
    "/joint_states": ("states", {"position": "q", "velocity": "qd", "effort": "effort"}),
    "/controller/joint_commands": ("commands", {"effort": "effort"}),
    "/controller/reference": ("commands", {"position": "q", "velocity": "qd"}),
    "/simulator/truth": ("truth", {"position": "q", "velocity": "qd", "effort": "effort"}),
}
"""Topic of JointState → where its values stand in the trial, and field → which of them."""

VERSION = 9
"""Of the rosbag2 format: that of Iron and every distribution since."""

NANO = 1e9


def check(path: Path, kind: str) -> None:
    """See ahead whether a bag can be written.

    Args:
        path: where.
        kind: ``mcap`` or ``rosbag2``.

    Raises:
        ConfigurationError: rosbags is not installed.
        InputError: the folder of a rosbag2 is there already.
    """
    if find_spec("rosbags") is None:
        raise ConfigurationError("bags need rosbags: pip install 'robodyn_ros[recording]'")
    if kind == "rosbag2" and path.exists():
        raise InputError("folder", f"{path} is there already, and a bag is not written over", path)


def write_mcap(path: Path, trial: Trial, robot: Robot) -> None:
    """Write one MCAP file; one that is there is replaced.

    Raises:
        ConfigurationError: rosbags is not installed.
        InputError: the file cannot be written.
    """
    check(path, "mcap")
    try:
        with TemporaryDirectory(prefix=".robodyn-", dir=path.parent) as folder:
            bag = Path(folder) / path.stem
            _write(bag, "MCAP", trial, robot)
            next(bag.glob("*.mcap")).replace(path)
    except OSError as cause:
        raise InputError("file", f"{path} cannot be written: {cause.strerror}", path) from cause


def write_rosbag2(path: Path, trial: Trial, robot: Robot) -> None:
    """Write the folder of a rosbag2 with SQLite storage.

    Raises:
        ConfigurationError: rosbags is not installed.
        InputError: the folder is there already, or cannot be written.
    """
    check(path, "rosbag2")
    try:
        _write(path, "SQLITE3", trial, robot)
    except OSError as cause:
        raise InputError("folder", f"{path} cannot be written: {cause.strerror}", path) from cause


def _write(folder: Path, storage: str, trial: Trial, robot: Robot) -> None:
    from rosbags.rosbag2 import StoragePlugin, Writer
    from rosbags.typesys import Stores, get_typestore

    types = get_typestore(Stores.ROS2_KILTED)
    rows: list[tuple[int, Any, bytes]] = []
    with Writer(folder, version=VERSION, storage_plugin=StoragePlugin[storage]) as bag:
        for topic, (kind, fields) in TOPICS.items():
            connection = bag.add_connection(topic, "sensor_msgs/msg/JointState", typestore=types)
            rows += [(time, connection, data) for time, data in _messages(types, getattr(trial, kind), fields, robot)]
        connection = bag.add_connection("/robot_description", "std_msgs/msg/String", typestore=types)
        text = types.types["std_msgs/msg/String"](data=robot.urdf)
        rows.append((0, connection, bytes(types.serialize_cdr(text, "std_msgs/msg/String"))))
        for time, connection, data in sorted(rows, key=lambda row: row[0]):
            bag.write(connection, time, data)


def _messages(types: Any, samples: TrialSamples, fields: dict[str, str], robot: Robot) -> list[tuple[int, bytes]]:
    """Time [ns] and content of each message, with the values that there are."""
    state, header, stamp = (
        types.types[name]
        for name in ("sensor_msgs/msg/JointState", "std_msgs/msg/Header", "builtin_interfaces/msg/Time")
    )
    names, nothing, found = list(robot.joint_names), np.zeros(0), []
    for row, (time, measured) in enumerate(zip(samples.t.tolist(), samples.stamp.tolist(), strict=True)):
        values = {field: samples.values[name][row] for field, name in fields.items()}
        if any(np.isnan(value).any() for value in values.values()):
            continue
        sec, nanosec = divmod(round(measured * NANO), round(NANO))
        message = state(
            header=header(stamp=stamp(sec=sec, nanosec=nanosec), frame_id=""),
            name=names,
            **({"position": nothing, "velocity": nothing, "effort": nothing} | values),
        )
        found.append((round(time * NANO), bytes(types.serialize_cdr(message, "sensor_msgs/msg/JointState"))))
    return found
