"""Progress of the demonstration, live on a terminal and a line a run elsewhere; on stderr."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from robodyn_ros.cli.console import progress_bar
from robodyn_ros.cli.demo_motion import Tour
from robodyn_ros.cli.quantity import quantity
from robodyn_ros.robot import Robot


class Stage:
    """Shows how far the runs are."""

    def __init__(self, progress: Progress, controllers: Sequence[str], tour: Tour, robot: Robot) -> None:
        """See :func:`stage`."""
        self._progress = progress
        self._tour = tour
        self._robot = robot
        self._tasks: dict[str, TaskID] = {
            name: progress.add_task(name, total=tour.trajectory.duration, start=False, note="waiting")
            for name in controllers
        }

    def begin(self, controller: str) -> None:
        """A run begins."""
        self._progress.start_task(self._tasks[controller])
        self._progress.update(self._tasks[controller], note="starting the nodes")

    def moved(self, controller: str, report: Mapping[str, Any]) -> None:
        """The conductor has reported: show where the arm goes, and how far each joint is off."""
        time = float(report["time"])
        pose = self._tour.heading_for(time)
        errors = [
            quantity(abs(error), joint.position_unit)
            for error, joint in zip(report["error"], self._robot.joints, strict=True)
        ]
        note = f"{pose:<9} {' '.join(errors)}"
        self._progress.update(self._tasks[controller], completed=time, note=note)

    def done(self, controller: str) -> None:
        """A run is over."""
        task = self._tasks[controller]
        self._progress.update(task, completed=self._tour.trajectory.duration, note="done")
        self._progress.stop_task(task)
        if not self._progress.console.is_terminal:
            self._progress.console.print(f"{controller}: {self._tour.trajectory.duration:.1f} s of motion recorded")


@contextmanager
def stage(controllers: Sequence[str], tour: Tour, robot: Robot) -> Iterator[Stage]:
    """Show progress.

    Args:
        controllers: of the runs.
        tour: the motion.
        robot: the arm.
    """
    columns = (
        TextColumn("[bold cyan]{task.description}"),
        BarColumn(bar_width=8),
        TimeElapsedColumn(),
        TextColumn("{task.fields[note]}", markup=False),
    )
    with progress_bar(*columns, transient=False) as progress:
        yield Stage(progress, controllers, tour, robot)
