# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The record of an arm that followed a trajectory, and its file."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from robodyn_ros.errors import InputError
from robodyn_ros.robot.pose import Array


@dataclass(frozen=True, eq=False)
class RunRecord:
    """N states and M commands of an arm of n joints, as received by an observer.

    There are two clocks: stamps are by the clock of the arm (simulated time with a simulator), times of receipt by a
    steady clock of the observer's machine. A command has the stamp of the state that it is for.

    Attributes:
        joints: names, in the order of every array of n.
        start: stamp at which the trajectory's time was 0 [s].
        state_stamp: (N,) in [s].
        state_received: (N,) in [s].
        q: positions (N, n) in [rad] or [m].
        qd: velocities (N, n) in [rad/s] or [m/s].
        command_stamp: (M,) in [s].
        command_received: (M,) in [s].
        effort: commanded, (M, n) in [N·m] or [N].
        commands_sent: number of commands that the controller reports, from before to after the trajectory.
        commands_taken: number of them that the arm reports as received.
        command_gap: longest time between two commands that the arm received, while it moved [s].
        faults: reports of the nodes during the trajectory, each with the node's name; empty if there were none.
        lockstep: True if the arm waited for the command to each state.
    """

    joints: tuple[str, ...]
    start: float
    state_stamp: Array
    state_received: Array
    q: Array
    qd: Array
    command_stamp: Array
    command_received: Array
    effort: Array
    commands_sent: int
    commands_taken: int
    command_gap: float
    faults: tuple[str, ...]
    lockstep: bool

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the record to an ``.npz`` file."""
        np.savez(path, allow_pickle=False, **asdict(self))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> RunRecord:
        """Read a record that :meth:`save` wrote.

        Raises:
            InputError: the file cannot be read, or is no such record.
        """
        try:
            with np.load(path, allow_pickle=False) as file:
                values: dict[str, Any] = dict(file)
            values["joints"] = tuple(values["joints"].tolist())
            values["faults"] = tuple(values["faults"].tolist())
            for name in ("start", "commands_sent", "commands_taken", "command_gap", "lockstep"):
                values[name] = values[name].item()
            return cls(**values)
        except (OSError, EOFError, ValueError, KeyError, TypeError) as cause:
            raise InputError("path", f"{os.fspath(path)} is not the record of a run: {cause}", path) from cause
