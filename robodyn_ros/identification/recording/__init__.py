# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Recordings of a moving arm, from rosbag2 (SQLite or MCAP) and tables (CSV), read without ROS."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from robodyn_ros.files import similar
from robodyn_ros.identification.recording.recording import (
    BAG_FILES,
    RecordedTrack,
    Recording,
    RecordingSource,
    read_csv,
    unreadable,
)

__all__ = ["RecordedTrack", "Recording", "RecordingSource", "read_recording"]


def read_recording(
    path: str | os.PathLike[str], joints: Sequence[str], source: RecordingSource | None = None
) -> Recording:
    """Read a recording.

    Args:
        path: the folder of a rosbag2, one of its files (``.mcap``, ``.db3``), or a table (``.csv``).
        joints: names of the arm's joints, in the arm's order.
        source: topics and times to read; the topics that this package's nodes publish unless given.

    Raises:
        ConfigurationError: the recording is a bag, and rosbags is not installed.
        InputError: the recording does not exist, cannot be read, or lacks data; the message names them.
    """
    file = Path(path)
    if not file.exists():
        raise unreadable(path, f"there is no such file or folder{similar(path)}")
    if file.suffix == ".csv":
        return read_csv(file, tuple(joints))
    if file.suffix == ".bag":
        raise unreadable(path, "is a bag of ROS 1; rosbags-convert makes a rosbag2 of it")
    if not file.is_dir() and file.suffix not in BAG_FILES:
        raise unreadable(path, f"must be the folder of a rosbag2, or end in .csv, {' or '.join(BAG_FILES)}")
    from robodyn_ros.identification.recording.bag import read_bag

    return read_bag(file, tuple(joints), source or RecordingSource())
