# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""One run of the demonstration: simulator, controller and conductor as processes, and the record of the motion.

The conductor is a node that sends the trajectory and records states and commands. It writes its progress on stdout, a
line of JSON for each report.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Thread
from typing import IO, Any

from robodyn_ros.assets import find
from robodyn_ros.cli.parameters import GivenParameters
from robodyn_ros.cli.processes import GroupProcess, ProcessGroup, start_arm
from robodyn_ros.control.motion.trajectory import RunRecord, Trajectory
from robodyn_ros.robot import Robot

ROBOT = "urdf/prr.urdf"
"""The arm of the demonstration."""

GAINS = "config/prr.yaml"
"""Parameters of the nodes, with the gains: the same for every law."""

DYNAMICS = "rnea"
"""Dynamics plugin of the simulator and of the controller."""

DIAGNOSTICS_RATE = 20.0
"""Rate of the nodes' diagnostics [Hz]; the conductor waits for some of them."""

CHECK_PERIOD = 0.1
"""Period of the check that no process has failed [s]."""

ReportCallback = Callable[[Mapping[str, Any]], None]
"""Function that takes each progress report of the conductor."""


def run_controller(
    controller: str,
    trajectory: Trajectory,
    robot: Robot,
    env: Mapping[str, str],
    folder: Path,
    show: ReportCallback,
    lockstep: bool = False,
    given: GivenParameters | None = None,
) -> RunRecord:
    """Run the trajectory under one law, from rest at its first point, in processes of its own.

    Args:
        controller: the law's name.
        trajectory: a trajectory through waypoints, at rest in each.
        robot: the arm.
        env: environment of the processes.
        folder: an empty folder for their files.
        show: takes the progress reports.
        lockstep: let the simulator wait for the answer to each state: the machine's speed has no influence then.
        given: further parameters of the nodes, which override the others.

    Raises:
        ProcessError: a process has failed.
    """
    model = {"robot_description": robot.urdf, "dynamics": DYNAMICS, "diagnostics_rate": DIAGNOSTICS_RATE}
    start = trajectory.positions[0].tolist()
    simulator = {
        **{f"initial_position.{name}": q for name, q in zip(robot.joint_names, start, strict=True)},
        "lockstep": lockstep,
    }
    record = folder / "record.npz"
    motion = {
        "joints": list(robot.joint_names),
        "times": trajectory.times.tolist(),
        "waypoints": trajectory.positions.ravel().tolist(),
        "record": str(record),
        "lockstep": lockstep,
    }
    files, values = given or GivenParameters()
    with ProcessGroup(env, folder) as group:
        start_arm(group, model, controller, (find(GAINS), *files), simulator, values)
        conductor = group.start("conductor", motion, piped=True)
        _follow(group, conductor, show)
    return RunRecord.load(record)


def _follow(group: ProcessGroup, conductor: GroupProcess, show: ReportCallback) -> None:
    """Pass on the progress reports until the conductor has ended."""
    lines: SimpleQueue[str] = SimpleQueue()
    assert conductor.process.stdout is not None
    Thread(target=_read, args=(conductor.process.stdout, lines), daemon=True).start()
    while True:
        try:
            line = lines.get(timeout=CHECK_PERIOD)
        except Empty:
            group.check()
            continue
        if not line:  # the conductor has closed the pipe
            break
        show(json.loads(line))
    conductor.process.wait()
    group.check()


def _read(pipe: IO[str], lines: SimpleQueue[str]) -> None:
    """Put each line into the queue, and an empty line at the end."""
    for line in pipe:
        lines.put(line)
    lines.put("")
