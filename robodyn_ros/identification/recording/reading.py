"""Reading a recording, whatever it is kept in, without ROS: rosbag2 (SQLite or MCAP), or a table (CSV)."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from robodyn_ros.identification.recording.recording import BAG_FILES, Recording, RecordingSource, unreadable


def read_recording(
    path: str | os.PathLike[str], joints: Sequence[str], source: RecordingSource | None = None
) -> Recording:
    """Read a recording.

    Args:
        path: the folder of a rosbag2, one of its files (``.mcap``, ``.db3``), or a table (``.csv``).
        joints: names of the arm's joints, in its order.
        source: where the numbers stand; as the nodes of this package write them unless given.

    Raises:
        ConfigurationError: rosbags is not installed, which reads bags.
        InputError: there is no such recording, it cannot be read, or something is missing in it; the message says what.
    """
    file = Path(path)
    if not file.exists():
        raise unreadable(path, "there is no such file or folder")
    if file.suffix == ".csv":
        from robodyn_ros.identification.recording.csv import read_csv

        return read_csv(file, tuple(joints))
    if file.suffix == ".bag":
        raise unreadable(path, "is a bag of ROS 1; rosbags-convert makes a rosbag2 of it")
    if not file.is_dir() and file.suffix not in BAG_FILES:
        raise unreadable(path, f"must be the folder of a rosbag2, or end in .csv, {' or '.join(BAG_FILES)}")
    from robodyn_ros.identification.recording.bag import read_bag

    return read_bag(file, tuple(joints), source or RecordingSource())
