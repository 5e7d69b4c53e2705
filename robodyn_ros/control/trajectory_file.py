"""A trajectory as a file: the message trajectory_msgs/msg/JointTrajectory as JSON, which is YAML as well.

So it is what ``ros2 topic pub`` takes as its message, and what the topics of joint_trajectory_controller and of this
package's controller then get.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from robodyn_ros.control.trajectory import Trajectory
from robodyn_ros.errors import InputError
from robodyn_ros.robot import Robot
from robodyn_ros.robot.pose import Array

NANO = 1_000_000_000
FIELDS = {"positions": "positions", "velocities": "velocities", "accelerations": "accelerations"}
"""Field of a point → attribute of a trajectory."""


def write_trajectory(path: str | os.PathLike[str], trajectory: Trajectory, joints: Sequence[str]) -> None:
    """Write a trajectory of joints with these names; times are rounded to nanoseconds."""
    given = {field: getattr(trajectory, name) for field, name in FIELDS.items()}
    points = []
    for k, time in enumerate(trajectory.times.tolist()):
        nanoseconds = round(time * NANO)
        point: dict[str, Any] = {field: rows[k].tolist() for field, rows in given.items() if rows is not None}
        point["time_from_start"] = {"sec": nanoseconds // NANO, "nanosec": nanoseconds % NANO}
        points.append(point)
    lines = ",\n".join(f"    {json.dumps(point)}" for point in points)
    text = f'{{\n  "joint_names": {json.dumps(list(joints))},\n  "points": [\n{lines}\n  ]\n}}\n'
    Path(path).write_text(text, encoding="utf-8")


def read_trajectory(path: str | os.PathLike[str], robot: Robot) -> Trajectory:
    """A trajectory of all joints of an arm, in its order.

    Raises:
        InputError: the file cannot be read, is something else, or is of other joints.
    """
    import yaml

    where = os.fspath(path)
    try:
        content = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as cause:
        raise InputError("trajectory", f"{where} cannot be read: {cause}", path) from cause
    try:
        names, points = content["joint_names"], content["points"]
        times = [point["time_from_start"]["sec"] + point["time_from_start"]["nanosec"] / NANO for point in points]
        rows = {name: _rows(field, points, len(names)) for field, name in FIELDS.items()}
    except (KeyError, TypeError, ValueError) as cause:
        raise InputError("trajectory", f"{where} is no JointTrajectory: {cause!r}", path) from cause
    if sorted(names) != sorted(robot.joint_names):
        raise InputError(
            "trajectory", f"{where} is of the joints {names}, the arm has {list(robot.joint_names)}", names
        )
    order = [names.index(name) for name in robot.joint_names]
    columns = {name: None if values is None else values[:, order] for name, values in rows.items()}
    if columns["positions"] is None:
        raise InputError("trajectory", f"{where} has no positions", path)
    return Trajectory(times, **columns)  # type: ignore[arg-type]


def _rows(field: str, points: Sequence[dict[str, Any]], count: int) -> Array | None:
    """Values of all points (K, count); None where no point has any."""
    rows = [point.get(field) or [] for point in points]
    if not any(rows):
        return None
    if any(len(row) != count for row in rows):
        raise ValueError(f"{field} of every point must have {count} values, one for each joint")
    return np.array(rows, dtype=np.float64)
