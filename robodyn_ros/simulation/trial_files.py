# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Files of a trial: CSV, MCAP, rosbag2, and the figure of how well each joint was controlled.

The CSV file has one row for each time of a measurement. A column's name is ``joint/quantity [unit]``, which PlotJuggler
shows as a tree. States and commands are the latest ones that had arrived by the time of the row; before the first one
the cell is empty. Numbers have as many digits as it takes to read the same number again.

MCAP is one file, which Foxglove and PlotJuggler open; rosbag2 is a folder as ``ros2 bag`` writes it. The topics are
those of the nodes, and the truth, which only a simulation knows. The time of a message in the bag is that of its
arrival, its stamp that of the measurement; both count from the start of the simulation. The ``rosbags`` library writes
both formats without ROS.
"""

from __future__ import annotations

import csv
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from robodyn_ros.document import plotting
from robodyn_ros.errors import InputError, need
from robodyn_ros.robot import Array, Joint, Robot
from robodyn_ros.simulation.trial import Trial, TrialSamples, tracking_error

QUANTITIES = (
    ("reference", "commands", "q"),
    ("position", "truth", "q"),
    ("velocity", "truth", "qd"),
    ("effort", "truth", "effort"),
    ("measured_position", "states", "q"),
    ("measured_velocity", "states", "qd"),
    ("command", "commands", "effort"),
)
"""Columns of a joint: quantity, samples of the trial, and name in the samples."""

TOPICS = {
    "/joint_states": ("states", {"position": "q", "velocity": "qd", "effort": "effort"}),
    "/controller/joint_commands": ("commands", {"effort": "effort"}),
    "/controller/reference": ("commands", {"position": "q", "velocity": "qd"}),
    "/simulator/truth": ("truth", {"position": "q", "velocity": "qd", "effort": "effort"}),
}
"""Topic of JointState → samples of the trial, and field of the message → name in the samples."""

VERSION = 9
"""Version of the rosbag2 format: that of Iron and every distribution since."""

STATE = "sensor_msgs/msg/JointState"

NANO = 1e9

TRUTH = plotting.COLOURS[2]

WIDE: dict[str, Any] = {"color": plotting.COLOURS[1], "linewidth": 2.6, "alpha": 0.5}
"""Style of measured positions and commanded efforts, which lie behind the true ones."""


def table(trial: Trial, robot: Robot) -> dict[str, Array]:
    """Return the columns of the CSV file: heading → column (N,), the time first."""
    columns = {"time [s]": trial.truth.t}
    for index, joint in enumerate(robot.joints):
        units = {"q": joint.position_unit, "qd": f"{joint.position_unit}/s", "effort": joint.effort_unit}
        for quantity, kind, name in QUANTITIES:
            latest = _latest(getattr(trial, kind), trial.truth.t, name, index)
            columns[f"{joint.name}/{quantity} [{units[name]}]"] = latest
    return columns


def write_csv(path: Path, trial: Trial, robot: Robot) -> None:
    """Write a CSV file; it replaces an existing file.

    Raises:
        OSError: the file cannot be written.
    """
    columns = table(trial, robot)
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        for row in zip(*(column.tolist() for column in columns.values()), strict=True):
            writer.writerow(["" if value != value else value for value in row])  # NaN differs from itself


def _latest(samples: TrialSamples, t: Array, name: str, index: int) -> Array:
    """The latest value of a joint at each time, NaN before the first one."""
    padded = np.concatenate(([np.nan], samples.values[name][:, index]))
    return padded[np.searchsorted(samples.t, t, side="right")]


def check(path: Path, kind: str) -> None:
    """Check that a bag can be written.

    Args:
        path: path of the file or folder.
        kind: ``mcap`` or ``rosbag2``.

    Raises:
        ConfigurationError: rosbags is not installed.
        InputError: the folder of the rosbag2 exists.
    """
    need("rosbags", "bags need rosbags", "robodyn_ros[recording]")
    if kind == "rosbag2" and path.exists():
        raise InputError("folder", f"{path} exists already, and a bag is not overwritten", path)


def write_mcap(path: Path, trial: Trial, robot: Robot) -> None:
    """Write an MCAP file, for which :func:`check` has been called; it replaces an existing file.

    Raises:
        OSError: the file cannot be written.
    """
    with TemporaryDirectory(prefix=".robodyn-", dir=path.parent) as folder:
        bag = Path(folder) / path.stem
        write_rosbag2(bag, trial, robot, "MCAP")
        next(bag.glob("*.mcap")).replace(path)


def write_rosbag2(folder: Path, trial: Trial, robot: Robot, storage: str = "SQLITE3") -> None:
    """Write the folder of a rosbag2, for which :func:`check` has been called.

    Raises:
        OSError: it cannot be written.
    """
    from rosbags.rosbag2 import StoragePlugin, Writer
    from rosbags.typesys import Stores, get_typestore

    types = get_typestore(Stores.ROS2_KILTED)
    rows: list[tuple[int, Any, bytes]] = []
    with Writer(folder, version=VERSION, storage_plugin=StoragePlugin[storage]) as bag:
        for topic, (kind, fields) in TOPICS.items():
            connection = bag.add_connection(topic, STATE, typestore=types)
            rows += [(time, connection, data) for time, data in _messages(types, getattr(trial, kind), fields, robot)]
        connection = bag.add_connection("/robot_description", "std_msgs/msg/String", typestore=types)
        text = types.types["std_msgs/msg/String"](data=robot.urdf)
        rows.append((0, connection, bytes(types.serialize_cdr(text, "std_msgs/msg/String"))))
        for time, connection, data in sorted(rows, key=lambda row: row[0]):
            bag.write(connection, time, data)


def _messages(types: Any, samples: TrialSamples, fields: dict[str, str], robot: Robot) -> list[tuple[int, bytes]]:
    """Time [ns] and content of each message; rows with NaN are left out."""
    state, header, stamp = (types.types[name] for name in (STATE, "std_msgs/msg/Header", "builtin_interfaces/msg/Time"))
    nothing = dict.fromkeys(("position", "velocity", "effort"), np.zeros(0))
    found = []
    for row, (time, measured) in enumerate(zip(samples.t.tolist(), samples.stamp.tolist(), strict=True)):
        values = {field: samples.values[name][row] for field, name in fields.items()}
        if any(np.isnan(value).any() for value in values.values()):
            continue
        sec, nanosec = divmod(round(measured * NANO), round(NANO))
        head = header(stamp=stamp(sec=sec, nanosec=nanosec), frame_id="")
        message = state(header=head, name=list(robot.joint_names), **(nothing | values))
        found.append((round(time * NANO), bytes(types.serialize_cdr(message, STATE))))
    return found


def plot_trial(trial: Trial, robot: Robot, title: str, path: Path | None = None) -> Any:
    """Draw position, tracking error and effort of each joint, and return the axes, (n, 3).

    Args:
        trial: the trial.
        robot: the arm.
        title: title of the picture.
        path: file of the picture, whose ending says the format; None for the screen.
    """
    with plotting.joint_figure(path, robot.n, foot=1.2) as (figure, grid):
        figure.get_layout_engine().set(hspace=0.06, wspace=0.04)
        for index, (row, joint) in enumerate(zip(grid, robot.joints, strict=True)):
            _position(row[0], trial, joint, index)
            _error_or_velocity(row[1], trial, joint, index)
            _effort(row[2], trial, joint, index)
            row[0].set_title(joint.name, loc="left", weight="bold", fontsize=12)
        for axes in grid.flat:
            axes.grid(visible=True, axis="y")
            axes.set_xlim(0.0, max(trial.truth.t[-1], 1e-9))
        plotting.add_legend(figure, *plotting.gather_legend(grid[0]))
        plotting.finish_joint_figure(figure, grid, title)
    return grid


def _position(axes: Any, trial: Trial, joint: Joint, index: int) -> None:
    _draw(axes, trial.states, "q", index, **WIDE, label="measured position, commanded effort")
    _draw(axes, trial.truth, "q", index, color=TRUTH, label="true")
    _draw(axes, trial.commands, "q", index, **plotting.REFERENCE_LINE, label="reference")
    axes.set_ylabel(f"position [{joint.position_unit}]")


def _error_or_velocity(axes: Any, trial: Trial, joint: Joint, index: int) -> None:
    """Draw the tracking error, or the velocity where there is no reference."""
    axes.axhline(0.0, color=plotting.FAINT, linewidth=0.8)
    t, error = tracking_error(trial)
    if len(t):
        axes.plot(t, 1e3 * error[:, index], color=TRUTH)
        axes.set_ylabel(f"reference − position [m{joint.position_unit}]")
    else:
        _draw(axes, trial.truth, "qd", index, color=TRUTH)
        axes.set_ylabel(f"velocity [{joint.position_unit}/s]")


def _effort(axes: Any, trial: Trial, joint: Joint, index: int) -> None:
    _draw(axes, trial.commands, "effort", index, **WIDE)
    _draw(axes, trial.truth, "effort", index, color=TRUTH)
    greatest = float(trial.effort_limit[index])
    for limit in (-greatest, greatest) if np.isfinite(greatest) else ():
        axes.axhline(limit, **plotting.LIMIT_LINE)
    axes.set_ylabel(f"effort [{joint.effort_unit}]")


def _draw(axes: Any, samples: TrialSamples, name: str, index: int, **style: Any) -> None:
    if len(samples.t):
        axes.plot(*plotting.thinned(samples.t, samples.values[name][:, index]), **style)
