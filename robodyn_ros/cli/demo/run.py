"""One run of the demonstration: simulator, controller and conductor as processes, and what they leave behind."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Thread
from typing import IO, Any

from robodyn_ros.assets import find
from robodyn_ros.cli.processes import GroupProcess, ProcessGroup
from robodyn_ros.control.motion.trajectory import Trajectory
from robodyn_ros.control.run_record import RunRecord
from robodyn_ros.robot import Robot

ROBOT = "urdf/prr.urdf"
"""The arm of the demonstration."""

GAINS = "config/prr.yaml"
"""The parameters that it is launched with, its gains among them: the same for every law."""

DYNAMICS = "rnea"
"""The model of the simulator and of the controller."""

DIAGNOSTICS_RATE = 20.0
"""Rate of the nodes' own reports [Hz]; the conductor waits for some of them."""

GLANCE = 0.1
"""Time between two looks at whether the processes are well [s]."""

Told = Callable[[Mapping[str, Any]], None]
"""Is told each progress report of the conductor."""


def perform(
    controller: str, trajectory: Trajectory, robot: Robot, env: Mapping[str, str], folder: Path, told: Told
) -> RunRecord:
    """Have one law follow the trajectory, from rest at its first point, in processes made for it.

    Args:
        controller: the law's name.
        trajectory: through waypoints, at rest in each.
        robot: the arm.
        env: environment of the processes.
        folder: an empty one for their files.
        told: is told of the progress.

    Raises:
        ProcessError: a process ended that should not have.
    """
    model = {"robot_description": robot.urdf, "dynamics": DYNAMICS, "diagnostics_rate": DIAGNOSTICS_RATE}
    record = folder / "record.npz"
    motion = {
        "joints": list(robot.joint_names),
        "times": trajectory.times.tolist(),
        "waypoints": trajectory.positions.ravel().tolist(),
        "record": str(record),
    }
    files = [find(GAINS)]
    with ProcessGroup(env, folder) as crew:
        crew.start("simulator", model, files, {"commands": "controller/commands"})
        crew.start("controller", {**model, "controller": controller, "use_sim_time": True}, files)
        conductor = crew.start("conductor", motion, piped=True)
        _follow(crew, conductor, told)
    return RunRecord.load(record)


def _follow(crew: ProcessGroup, conductor: GroupProcess, told: Told) -> None:
    """Pass progress on until the conductor has finished."""
    lines: SimpleQueue[str] = SimpleQueue()
    assert conductor.process.stdout is not None
    Thread(target=_read, args=(conductor.process.stdout, lines), daemon=True).start()
    while True:
        try:
            line = lines.get(timeout=GLANCE)
        except Empty:
            crew.check()
            continue
        if not line:  # it has closed its end
            break
        told(json.loads(line))
    conductor.process.wait()
    crew.check()


def _read(pipe: IO[str], lines: SimpleQueue[str]) -> None:
    """Put each line into the queue, and an empty one at the end."""
    for line in pipe:
        lines.put(line)
    lines.put("")
