# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Recordings as rosbag2 (SQLite or MCAP); the ``rosbags`` library reads them without ROS.

A message has two times: the stamp in its header, when its content was measured, and the time at which the recorder
received it. They may come from two different clocks, as in a simulation. All tracks of a recording are put on one
clock: commands without a stamp are placed on the clock of the states' stamps, by interpolation between the states that
were received before and after them. Their time of transport then shows as a delay.

Bags may be compressed, and 200 kB may unpack to many gigabytes. rosbags unpacks whole files into the temporary folder,
and chunks and messages into memory, at their declared size. Within :func:`within_limit` it uses the functions of this
module, which share one budget of bytes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from io import BytesIO
from pathlib import Path
from threading import Lock
from types import SimpleNamespace
from typing import IO, Any, NamedTuple

import numpy as np

from robodyn_ros.errors import InputError, need
from robodyn_ros.files import YamlError, read_yaml
from robodyn_ros.identification.recording.recording import (
    BAG_FILES,
    RecordedTrack,
    Recording,
    RecordingSource,
    checked_track,
    unreadable,
)
from robodyn_ros.robot.pose import Array

STATE = "sensor_msgs/msg/JointState"

ARRAY = "std_msgs/msg/Float64MultiArray"

TOPICS = {"states": (("joint_states",), (STATE,)), "commands": (("joint_commands", "commands"), (STATE, ARRAY))}
"""What is read → last parts of the names of its topics, the first that exists counts; and the types of its messages."""

NANO = 1_000_000_000
"""Nanoseconds in a second."""


class BagRow(NamedTuple):
    """The content of a message about the arm's joints."""

    received: int  # [ns]
    stamp: int  # [ns]; 0 where the message has none
    position: Array | None  # (n,)
    effort: Array | None  # (n,)


def read_bag(path: Path, joints: tuple[str, ...], source: RecordingSource) -> Recording:
    """Read a bag.

    Args:
        path: its folder, or one of its files.
        joints: names of the arm's joints, in the arm's order.
        source: topics and times to read.

    Raises:
        ConfigurationError: rosbags is not installed.
        InputError: the bag cannot be read, or lacks data; the message names them.
    """
    need("rosbags", "bags need rosbags", "robodyn_ros[recording]")
    _check_files(path)
    name = str(path)
    try:
        with within_limit(path):
            topics, rows = _read(path, joints, source)
    except InputError:
        raise
    except Exception as cause:  # malformed bytes may raise any exception
        hint = "it may be truncated, perhaps by a killed recorder: `ros2 bag reindex` or `mcap recover` may help"
        raise unreadable(path, f"cannot be read as a bag, {hint} ({type(cause).__name__}: {cause})") from cause
    states, commands = rows
    if not states:
        raise unreadable(name, f"no message on {topics[0]} is of the arm's joints {', '.join(joints)}")
    without = sum(row.position is None for row in states)
    if without:
        raise unreadable(name, f"{without} of {len(states)} messages on {topics[0]} have no positions")
    t, command_t, commands = common_times(name, states, commands, source.times)
    position = checked_track(name, "position", joints, t, np.array([row.position for row in states]))
    measured = _efforts(name, topics[0], joints, t, states)
    commanded = None if topics[1] is None else _efforts(name, topics[1], joints, command_t, commands)
    return Recording(name, joints, position, measured, commanded)


def _check_files(path: Path) -> None:
    """Raise InputError if the path lacks the files of a bag."""
    if path.is_dir() and not (path / "metadata.yaml").exists():
        files = sorted(file.name for file in path.iterdir() if file.suffix in BAG_FILES)
        hint = f"`ros2 bag reindex` makes it anew, or read {files[0]} itself" if files else "this is not a rosbag2"
        raise unreadable(path, f"metadata.yaml is missing in the folder: {hint}")
    if path.is_dir():
        try:
            read_yaml(path / "metadata.yaml")  # within limits, unlike the library
        except YamlError as cause:
            raise unreadable(path, f"cannot be read as a bag: metadata.yaml: {cause}") from cause
    if path.is_file() and path.stat().st_size == 0:
        raise unreadable(path, "is empty")


def _read(
    path: Path, joints: tuple[str, ...], source: RecordingSource
) -> tuple[tuple[str, str | None], tuple[list[BagRow], ...]]:
    """Topics of states and of commands, and the rows of each."""
    from rosbags.rosbag2 import Reader
    from rosbags.typesys import Stores, get_typestore

    types = get_typestore(Stores.ROS2_KILTED)
    with Reader(path) as bag:
        found = {connection.topic: connection.msgtype for connection in bag.connections if connection.msgcount}
        states = _topic(str(path), found, "states", source.states)
        if states is None:
            raise unreadable(path, f"has no topic joint_states of {STATE}; it has {listed(found)}")
        commands = _topic(str(path), found, "commands", source.commands, states.rpartition("/")[0])
        readers = {states: _TopicReader(str(path), states, joints, joints)}
        if commands is not None:
            readers[commands] = _TopicReader(str(path), commands, joints, source.order or joints)
        rows: dict[str, list[BagRow]] = {topic: [] for topic in readers}
        wanted = [connection for connection in bag.connections if connection.topic in readers]
        for connection, time, data in bag.messages(wanted):
            message = _decoded(types, data, connection.msgtype)
            rows[connection.topic] += readers[connection.topic].rows(time, connection.msgtype, message)
    return (states, commands), (rows[states], rows[commands] if commands is not None else [])


def _decoded(types: Any, data: bytes, kind: str) -> Any:
    """A message. rosbags accepts at most three bytes after it; if sequences are empty, Fast CDR leaves more."""
    from rosbags.serde import SerdeError

    for spare in (0, 4):
        with suppress(SerdeError):
            return types.deserialize_cdr(data[: len(data) - spare], kind)
    return types.deserialize_cdr(data[:-8], kind)


class _TopicReader:
    """Sorts the values of a topic's messages into the arm's order."""

    def __init__(self, name: str, topic: str, joints: tuple[str, ...], order: tuple[str, ...]) -> None:
        self._where = f"topic {topic}"
        self._name, self._joints, self._order = name, joints, order
        self._columns: dict[tuple[str, ...], list[int] | None] = {}

    def rows(self, received: int, kind: str, message: Any) -> Iterator[BagRow]:
        """One row; none if the message is about other joints."""
        named = kind == STATE
        names = tuple(message.name) if named else self._order
        if names not in self._columns:
            self._columns[names] = self._match(names)
        columns = self._columns[names]
        if columns is None:
            return
        if not named:
            yield BagRow(received, 0, None, self._ordered("data", message.data, names, columns))
            return
        stamp = message.header.stamp.sec * NANO + message.header.stamp.nanosec
        position = self._ordered("position", message.position, names, columns)
        yield BagRow(received, stamp, position, self._ordered("effort", message.effort, names, columns))

    def _match(self, names: tuple[str, ...]) -> list[int] | None:
        """Place of each of the arm's joints among the names; None if the message has none of them."""
        missing = [joint for joint in self._joints if joint not in names]
        if len(missing) == len(self._joints):
            return None
        if missing:
            problem = f"{self._where} has no joint {', '.join(missing)}; its messages name {', '.join(names)}"
            raise unreadable(self._name, problem)
        return [names.index(joint) for joint in self._joints]

    def _ordered(self, field: str, values: Any, names: Sequence[str], columns: list[int]) -> Array | None:
        if not len(values):
            return None
        if len(values) != len(names):
            problem = f"{self._where}: {field} has {len(values)} values for {len(names)} joints ({', '.join(names)})"
            raise unreadable(self._name, problem)
        return np.asarray(values, dtype=float)[columns]


def _efforts(name: str, topic: str, joints: tuple[str, ...], t: Array, rows: list[BagRow]) -> RecordedTrack | None:
    """The track of the efforts; None if no message has any, or if all are NaN."""
    given = [row.effort for row in rows if row.effort is not None]
    if not given:
        return None
    if len(given) < len(rows):
        raise unreadable(name, f"only {len(given)} of {len(rows)} messages on {topic} have efforts")
    values = np.array(given)
    return None if np.isnan(values).all() else checked_track(name, f"effort on {topic}", joints, t, values)


# The topics of the states and of the commands.


def listed(topics: Mapping[str, str]) -> str:
    """All topics with their types, for a message."""
    return ", ".join(f"{topic} ({kind})" for topic, kind in sorted(topics.items())) or "no messages at all"


def _topic(name: str, topics: Mapping[str, str], what: str, requested: str, namespace: str = "") -> str | None:
    """The requested topic, else the outermost of those that :data:`TOPICS` names; None if there is none."""
    parts, kinds = TOPICS[what]
    if requested:
        full = f"/{requested.lstrip('/')}"
        if full not in topics:
            raise unreadable(name, f"has no topic {full}; it has {listed(topics)}")
        if topics[full] not in kinds:
            raise unreadable(name, f"topic {full} is of {topics[full]}, and must be of {' or '.join(kinds)}")
        return full
    usable = [topic for topic, kind in topics.items() if kind in kinds and topic.startswith(f"{namespace}/")]
    for part in parts:
        found = [topic for topic in usable if topic.rpartition("/")[2] == part]
        outermost = [topic for topic in found if topic.count("/") == min(each.count("/") for each in found)]
        if len(outermost) > 1:
            raise unreadable(name, f"the {what} may be {' or '.join(outermost)}; choose one")
        if outermost:
            return outermost[0]
    return None


# One clock for all messages of a bag.


def common_times(
    name: str, states: list[BagRow], commands: list[BagRow], times: str
) -> tuple[Array, Array, list[BagRow]]:
    """Times since the first state.

    Args:
        name: name of the recording.
        states: at least one.
        commands: any number of them.
        times: which times are used (:class:`RecordingSource`).

    Returns:
        Times [s] of the states (N,), times [s] of the commands (M,), and those M commands that have a time.

    Raises:
        InputError: stamps were requested and states have none, or the times of commands and states do not overlap.
    """
    received, stamp = _since(states[0].received, states, "received"), _since(states[0].stamp, states, "stamp")
    missing = sum(row.stamp == 0 for row in states)
    if times == "stamp" and missing:
        raise unreadable(name, f"{missing} of {len(states)} states have no stamp in their header")
    arrived = _since(states[0].received, commands, "received")
    if times == "received" or missing:
        return received, arrived, commands
    own = _since(states[0].stamp, commands, "stamp")
    stamped = np.array([row.stamp != 0 for row in commands], dtype=bool)
    known = stamped | ((arrived >= received[0]) & (arrived <= received[-1]))
    own = np.where(stamped, own, np.interp(arrived, received, stamp))[known]
    if len(commands) and not ((own >= stamp[0]) & (own <= stamp[-1])).any():
        begins = " and ".join(f"{rows[0].stamp / NANO:.3f} s" for rows in (states, commands))
        problem = f"states and commands have no time in common: their stamps begin at {begins}"
        raise unreadable(name, f"{problem}; if that is because of two clocks, use the times of receipt")
    return stamp, own, [row for row, timed in zip(commands, known.tolist(), strict=True) if timed]


def _since(origin: int, rows: list[BagRow], field: str) -> Array:
    """Times since the origin [s]; integers are subtracted, which loses no nanosecond."""
    return np.array([getattr(row, field) - origin for row in rows], dtype=np.int64) / NANO


LARGEST = 2_000_000_000
"""Greatest unpacked size of a recording [bytes]; an hour of a large arm at 1 kHz."""


_changed = Lock()
"""Held while rosbags uses the functions of this module."""


@contextmanager
def within_limit(path: Path) -> Iterator[None]:
    """Within this context, of one thread at a time, rosbags does not unpack more than :data:`LARGEST`.

    Raises:
        InputError: the recording is larger.
    """
    from lz4 import frame  # type: ignore[import-untyped]
    from rosbags.rosbag2 import reader, storage_mcap

    left = LARGEST

    def read(file: IO[bytes], size: int = -1) -> bytes:
        """Unpacked bytes, all of them unless a size is given."""
        nonlocal left
        content = file.read(left + 1 if size < 0 else min(size, left + 1))
        left -= len(content)
        if left < 0:
            raise unreadable(path, f"unpacks to more than {LARGEST / 1e9:.3g} GB, the most that is read")
        return content

    def whole(unpacker: Any, data: bytes) -> bytes:
        with unpacker.open(BytesIO(data), "rb") as file:
            return read(file)

    @contextmanager
    def opened(file: Any, mode: str) -> Iterator[Any]:
        """A compressed file, as rosbags opens and copies it."""
        with zstd.open(file, mode) as packed:
            yield SimpleNamespace(read=partial(read, packed))

    with _changed:
        zstd, lz4_decompress = reader.zstd, storage_mcap.lz4_decompress
        reader.zstd = storage_mcap.zstd = SimpleNamespace(open=opened, decompress=partial(whole, zstd))
        storage_mcap.lz4_decompress = partial(whole, frame)
        try:
            yield
        finally:
            reader.zstd = storage_mcap.zstd = zstd
            storage_mcap.lz4_decompress = lz4_decompress
