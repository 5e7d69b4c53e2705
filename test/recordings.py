# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Recordings made on purpose: motions in closed form, and bags and tables of them, right or wrong in any way."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import robodyn_ros as rd
from robodyn_ros.dynamics.rnea import RNEA
from robodyn_ros.identification import PreparedSamples, RecordedTrack, Recording, SignalSettings, preparation
from robodyn_ros.robot import Robot
from robodyn_ros.robot.pose import Array

ROBOT = rd.load_robot("prr")
JOINTS = ROBOT.joint_names
FRICTION = {"viscous": [20.0, 0.7, 0.2], "coulomb": [9.0, 0.8, 0.3]}

NANO = 10**9
STATE, ARRAY = "sensor_msgs/msg/JointState", "std_msgs/msg/Float64MultiArray"


def fourier(t: Array, n: int, seed: int, period: float = 4.0, amplitude: float = 0.6) -> tuple[Array, Array, Array]:
    """A periodic motion with four harmonics: position, velocity, acceleration (N, n), at rest nowhere for long."""
    rng = np.random.default_rng(seed)
    w = 2.0 * np.pi / period * np.arange(1, 5)
    a, b = rng.normal(size=(2, n, 4)) / np.arange(1, 5)
    size = amplitude / np.sqrt(np.sum(a**2 + b**2, axis=1, keepdims=True))
    a, b = a * size, b * size
    s, c = np.sin(np.outer(w, t)), np.cos(np.outer(w, t))
    return (a @ s + b @ c).T, ((a * w) @ c - (b * w) @ s).T, (-(a * w**2) @ s - (b * w**2) @ c).T


def moved(
    robot: Robot, t: Array, seed: int, period: float = 4.0, **parameters: Any
) -> tuple[tuple[Array, Array, Array], Array]:
    """A motion and the efforts that it takes, by the inverse dynamics."""
    motion = fourier(t, robot.n, seed, period)
    return motion, RNEA(robot, **parameters).inverse(*motion)


def recording(t: Array, q: Array, effort: Array, at: Array | None = None, **tracks: Any) -> Recording:
    """Of the PRR arm: positions at times t, measured efforts at the same or others."""
    return Recording("run", JOINTS, RecordedTrack(t, q), RecordedTrack(t if at is None else at, effort), **tracks)


def commanded(t: Array, q: Array, effort: Array, at: Array | None = None) -> Recording:
    """The same with commands, and without measured efforts."""
    return Recording("run", JOINTS, RecordedTrack(t, q), None, RecordedTrack(t if at is None else at, effort))


def prepare(made: Recording, robot: Robot = ROBOT, settings: SignalSettings | None = None) -> PreparedSamples:
    """Prepare one recording."""
    (found,) = preparation.prepare([made], robot, settings)
    return found


def rms(values: Array) -> Array:
    """Root mean square of each joint's values (n,)."""
    return np.sqrt(np.mean(values**2, axis=0))


class Bag:
    """A bag to be: messages of topics, in the order in which they are received."""

    def __init__(self, spare: int = 0) -> None:
        """
        Args:
            spare: bytes behind each message.
        """
        from rosbags.typesys import Stores, get_typestore

        self._types = get_typestore(Stores.ROS2_KILTED)
        self._rows: list[tuple[int, str, str, bytes]] = []
        self._spare = spare

    def states(
        self,
        topic: str,
        names: Sequence[str],
        t: Array,
        *,
        stamp: Array | None = None,
        late: float = 0.0,
        **fields: Array,
    ) -> Bag:
        """Messages of JointState, one for each time [s]; each field (N, n). Stamps are the times unless given."""
        types = self._types.types
        nothing = np.zeros(0)
        for row, (time, stamped) in enumerate(zip(t.tolist(), (t if stamp is None else stamp).tolist(), strict=True)):
            sec, nanosec = divmod(round(stamped * NANO), NANO)
            header = types["std_msgs/msg/Header"](
                stamp=types["builtin_interfaces/msg/Time"](sec=sec, nanosec=nanosec), frame_id=""
            )
            values = {"position": nothing, "velocity": nothing, "effort": nothing}
            values |= {field: np.ascontiguousarray(rows[row], dtype=float) for field, rows in fields.items()}
            self._add(topic, STATE, time + late, types[STATE](header=header, name=list(names), **values))
        return self

    def arrays(self, topic: str, t: Array, data: Array) -> Bag:
        """Messages of Float64MultiArray."""
        types = self._types.types
        layout = types["std_msgs/msg/MultiArrayLayout"](dim=[], data_offset=0)
        for time, row in zip(t.tolist(), data, strict=True):
            self._add(topic, ARRAY, time, types[ARRAY](layout=layout, data=np.ascontiguousarray(row, dtype=float)))
        return self

    def text(self, topic: str, content: str) -> Bag:
        """A message of String."""
        self._add(topic, "std_msgs/msg/String", 0.0, self._types.types["std_msgs/msg/String"](data=content))
        return self

    def write(self, path: Path, compression: str = "none") -> Path:
        """Write a folder with SQLite in it, or with MCAP where the name says so; the latter's file is returned.

        Args:
            path: of the folder or file.
            compression: ``none``, ``file``, ``message`` or ``storage``.
        """
        from rosbags.rosbag2 import CompressionFormat, CompressionMode, StoragePlugin, Writer

        mcap = path.suffix == ".mcap"
        folder = path.with_suffix(".bag") if mcap else path
        plugin = StoragePlugin.MCAP if mcap else StoragePlugin.SQLITE3
        writer = Writer(folder, version=9, storage_plugin=plugin)
        writer.set_compression(CompressionMode[compression.upper()], CompressionFormat.ZSTD)
        with writer as bag:
            topics = {topic: kind for _, topic, kind, _ in self._rows}
            found = {topic: bag.add_connection(topic, kind, typestore=self._types) for topic, kind in topics.items()}
            for time, topic, _, data in sorted(self._rows, key=lambda row: row[0]):
                bag.write(found[topic], time, data)
        return next(folder.glob("*.mcap")).rename(path) if mcap else path

    def _add(self, topic: str, kind: str, time: float, message: Any) -> None:
        self._rows.append(
            (round(time * NANO), topic, kind, bytes(self._types.serialize_cdr(message, kind)) + b"\1" * self._spare)
        )


def table(path: Path, names: Sequence[str], t: Array, delimiter: str = ",", **quantities: Array) -> Path:
    """A table: the time, and quantities (N, n), named as ``identification/recording/recording.py`` has it."""
    columns = {
        f"{name}/{quantity}": values[:, k] for quantity, values in quantities.items() for k, name in enumerate(names)
    }
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, delimiter=delimiter)
        writer.writerow(["time [s]", *columns])
        writer.writerows(zip(t.tolist(), *(column.tolist() for column in columns.values()), strict=True))
    return path
