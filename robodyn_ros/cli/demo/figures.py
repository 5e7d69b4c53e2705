# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The figures of the demonstration, its verdict and its picture, from records of runs, without ROS.

The tracking error is computed from the received states and from the trajectory itself, at each state's stamp. The error
that the controller reports is not used.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from rich.table import Table
from rich.text import Text

from robodyn_ros.cli.arm import TOUR, Tour
from robodyn_ros.cli.console import simple_table
from robodyn_ros.control.motion.trajectory import RunRecord, Trajectory
from robodyn_ros.document import plotting
from robodyn_ros.document.text import digits, quantity
from robodyn_ros.errors import InputError
from robodyn_ros.robot import Array, Joint, Robot

BASELINE = "pd"
"""Law that the others are compared with."""

MODEL_BASED = "computed_torque"
"""Law that must meet the requirements."""

IMPROVEMENT = 10.0
"""Least factor by which its RMS error must be smaller on each revolute joint [-]."""

RMS_LIMIT = {"m": 2e-3, "rad": 5e-3}
"""Unit of a joint's position → its greatest RMS error."""

LOSSES = 0.05
"""Greatest part of the commands that may be lost in a run that is judged [-]."""

GAP = 0.02
"""Longest time without a state or a new command in such a run [s]; ten periods of the states."""

LEAST_ERROR = 1e-12
"""Least error of a division [m] or [rad]."""


class RecordedMotion(NamedTuple):
    """A run from the start of the trajectory to its end.

    Attributes:
        time: stamps of the states from the start of the trajectory, (N,) in [s].
        received: times at which they were received, by the observer's clock, (N,) in [s].
        q: positions (N, n) in [rad] or [m].
        reference: reference positions (N, n) in [rad] or [m].
        command_time: stamps of the commands from the start of the trajectory, (M,) in [s].
        effort: commanded efforts (M, n) in [N·m] or [N].
    """

    time: Array
    received: Array
    q: Array
    reference: Array
    command_time: Array
    effort: Array

    @property
    def error(self) -> Array:
        """Reference minus position, (N, n) in [rad] or [m]."""
        return self.reference - self.q


def cut(record: RunRecord, trajectory: Trajectory) -> RecordedMotion:
    """Cut a record to the time of the trajectory.

    Raises:
        InputError: the record has too few states or no command in that time.
    """
    t, c = record.state_stamp - record.start, record.command_stamp - record.start
    states, commands = ((time >= 0.0) & (time <= trajectory.duration) for time in (t, c))
    if np.count_nonzero(states) < 2 or not commands.any():
        raise InputError("record", "has no states or no commands during the trajectory", record)
    reference = trajectory.samples(t[states]).q
    received = record.state_received[states]
    return RecordedMotion(t[states], received, record.q[states], reference, c[commands], record.effort[commands])


@dataclass(frozen=True)
class JointFigures:
    """How well a joint was controlled; errors in the unit of its position, efforts in that of its effort."""

    joint: str
    unit: str
    effort_unit: str
    rms_error: float
    peak_error: float
    peak_effort: float
    effort_limit: float

    @property
    def effort_ratio(self) -> float:
        """Peak effort over the limit [-]."""
        return self.peak_effort / self.effort_limit


@dataclass(frozen=True)
class RunFigures:
    """The figures of a run.

    Attributes:
        controller: the law's name.
        joints: the figures of each joint.
        state_rate: rate at which states were received [Hz].
        commands_sent: number of commands that the controller sent, from before the trajectory until after it.
        commands_lost: number of these that the simulator never received, or only after the next; none in lockstep.
        states_unanswered: number of states during the trajectory that had no command.
        lockstep: True if the arm waited for the command to each state.
        broken: reason why the run does not show the law, in words; empty for a run that can be judged.
    """

    controller: str
    joints: tuple[JointFigures, ...]
    state_rate: float
    commands_sent: int
    commands_lost: int
    states_unanswered: int
    lockstep: bool = False
    broken: tuple[str, ...] = ()


def evaluate(controller: str, record: RunRecord, trajectory: Trajectory, robot: Robot) -> RunFigures:
    """Return the figures of a run."""
    motion = cut(record, trajectory)
    rms, peak = np.sqrt(np.mean(motion.error**2, axis=0)), np.abs(motion.error).max(axis=0)
    columns = rms.tolist(), peak.tolist(), np.abs(motion.effort).max(axis=0).tolist()
    unanswered = np.setdiff1d(motion.time, motion.command_time, assume_unique=True)
    joints = tuple(
        JointFigures(joint.name, joint.position_unit, joint.effort_unit, usual, greatest, effort, joint.effort)
        for joint, usual, greatest, effort in zip(robot.joints, *columns, strict=True)
    )
    rate = float((len(motion.received) - 1) / np.ptp(motion.received))
    counts = record.commands_sent, _lost(record), len(unanswered)
    broken = tuple(_broken(record, motion, trajectory.duration))
    return RunFigures(controller, joints, rate, *counts, lockstep=record.lockstep, broken=broken)


def _lost(record: RunRecord) -> int:
    """The number of commands that were lost; in lockstep a state is repeated until a command arrives."""
    return 0 if record.lockstep else record.commands_sent - record.commands_taken


def _broken(record: RunRecord, motion: RecordedMotion, duration: float) -> Iterator[str]:
    """Reasons why a run does not show the law but the machine."""
    yield from _each_once(record.faults)
    lost = _lost(record)
    if not lost <= LOSSES * record.commands_sent:
        yield f"{lost} of {record.commands_sent} commands were lost, more than {LOSSES:.0%}"
    for what, gap in (
        ("no command reached the arm", record.command_gap),
        ("no state was recorded", _longest(motion.time, duration)),
        ("no state was answered", _longest(motion.command_time, duration)),
    ):
        if not gap <= GAP:
            yield f"{what} for {1e3 * gap:.0f} ms, more than {1e3 * GAP:.0f} ms"
    if not all(np.isfinite(values).all() for values in (motion.q, motion.effort)):
        yield "a position or an effort is not a number"


def _each_once(faults: Iterable[str]) -> Iterator[str]:
    """The problems of each node, each once: a diagnostic has all present problems, after the state of the simulator."""
    found: dict[str, dict[str, None]] = {}
    for text in faults:
        node, _, problems = text.partition(": ")
        each = (one.partition(":")[0] for one in problems.split("; ") if not one.startswith("running"))
        found.setdefault(node, {}).update(dict.fromkeys(each))
    for node, once in found.items():  # one that begins as another says more of the same
        told = [one for one in once if not any(one.startswith(f"{other} ") for other in once)]
        yield f"{node}: {', '.join(told)}" if "".join(told) else node


def _longest(times: Array, duration: float) -> float:
    """The longest time without a stamp, from 0 to the end [s]."""
    return float(np.diff(times, prepend=0.0, append=duration).max())


def table(runs: Sequence[RunFigures]) -> Table:
    """Return a table of at most 80 columns, with a row for each controller and joint.

    Below the controller's name are the rate of the states, and the commands sent and lost; :data:`LOST` explains it.
    """
    rows: list[tuple[str | Text, ...]] = []
    for run in runs:
        lost = Text(f"{run.commands_lost} lost", "red" if run.commands_lost else "")
        rate = "in lockstep" if run.lockstep else f"{run.state_rate:.0f} Hz"
        sent = Text(f"{run.commands_sent} sent", "dim")
        counts = sent if run.lockstep else Text.assemble(sent, (", ", "dim"), lost)
        about = Text(run.controller, "bold cyan"), Text(rate, "dim"), counts
        for joint, text in zip_longest(run.joints, about):
            rows.append((text or "", *(_cells(joint) if joint else ())))
        rows.append(())
    heads = ("Controller", "Joint", "RMS error", "Peak error", "Peak effort", "Limit")
    return simple_table(heads, rows, left=(0, 1))


def _cells(joint: JointFigures) -> tuple[str, ...]:
    errors = (quantity(error, joint.unit) for error in (joint.rms_error, joint.peak_error))
    return (joint.joint, *errors, f"{digits(joint.peak_effort)} {joint.effort_unit}", f"{joint.effort_ratio:.0%}")


LOST = (
    "Lost commands never reached the simulator, or only after the next one. A run with a fault, with more "
    f"than {LOSSES:.0%} lost, or with {1e3 * GAP:.0f} ms without a command shows the machine, not the law: it is not "
    "judged."
)
"""Meaning of a lost command."""

IN_LOCKSTEP = "In lockstep the arm waits for the command to each state, so that nothing is lost on a busy machine."
"""Meaning of lockstep."""


def verdict_text(verdict: DemoVerdict) -> Text:
    """Return the verdict in the colour of its outcome."""
    style = "bold red" if not verdict.passed else "bold green" if verdict.judged else "yellow"
    return Text(str(verdict), style)


@dataclass(frozen=True)
class DemoVerdict:
    """The verdict on the requirements of the demonstration.

    Attributes:
        judged: True if both compared laws were run, and no run is broken.
        broken: controller → why its run cannot be judged; there is no verdict if any is.
        failures: requirements that were not met, with their figures.
        improvements: joint → factor by which its RMS error is smaller; empty if not judged.
    """

    judged: bool
    failures: tuple[str, ...]
    improvements: dict[str, float]
    broken: dict[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def passed(self) -> bool:
        """True if no run is broken, and no requirement was missed."""
        return not self.failures and not self.broken

    def __str__(self) -> str:
        if self.broken:
            return "No verdict: " + "; ".join(f"{name}: {why[0]}" for name, why in self.broken.items()) + "."
        if self.failures:
            return "Failed: " + "; ".join(self.failures) + "."
        if not self.judged:
            return f"Not judged: the verdict needs both {BASELINE} and {MODEL_BASED}."
        factors = ", ".join(f"{factor:.0f} ({joint})" for joint, factor in self.improvements.items())
        return f"Passed: the RMS error under {MODEL_BASED} is {factors} times smaller than under {BASELINE}."


def judge(runs: Sequence[RunFigures]) -> DemoVerdict:
    """Judge runs of the same motion."""
    broken = {run.controller: run.broken for run in runs if run.broken}
    if broken:
        return DemoVerdict(judged=False, failures=(), improvements={}, broken=broken)
    by_name = {run.controller: run for run in runs}
    before, after = by_name.get(BASELINE), by_name.get(MODEL_BASED)
    if before is None or after is None:
        return DemoVerdict(judged=False, failures=tuple(_limits(after.joints) if after else ()), improvements={})
    improvements = {
        new.joint: old.rms_error / max(new.rms_error, LEAST_ERROR)
        for old, new in zip(before.joints, after.joints, strict=True)
    }
    failures = [*_factors(after.joints, improvements), *_limits(after.joints)]
    return DemoVerdict(judged=True, failures=tuple(failures), improvements=improvements)


def _factors(joints: Sequence[JointFigures], improvements: dict[str, float]) -> Iterator[str]:
    for joint in joints:
        factor = improvements[joint.joint]
        if joint.unit == "rad" and not factor >= IMPROVEMENT:
            yield f"{MODEL_BASED} is only {factor:.3g} times better on the {joint.joint}, not {IMPROVEMENT:g}"


def _limits(joints: Sequence[JointFigures]) -> Iterator[str]:
    for joint in joints:
        limit = RMS_LIMIT[joint.unit]
        if not joint.rms_error < limit:
            rms, least = quantity(joint.rms_error, joint.unit), quantity(limit, joint.unit)
            yield f"{MODEL_BASED} has {rms} RMS on the {joint.joint}, not under {least}"


FLOOR = 0.01
"""Least error on the logarithmic scale [mm] or [mrad]."""


def draw(path: Path, runs: Mapping[str, RecordedMotion], tour: Tour, robot: Robot, title: str) -> None:
    """Draw response, tracking error and effort of each joint, with a row for every four laws.

    Args:
        path: file of the picture; its ending says the format.
        runs: controller → its run.
        tour: the motion.
        robot: the arm.
        title: title of the picture.
    """

    def draw_row(row: Any, index: int, laws: tuple[str, ...], colours: Colours) -> None:
        joint, some = robot.joints[index], {name: runs[name] for name in laws}
        _responses(row[0], joint, index, some, tour, colours)
        errors = {name: (run.time, run.error[:, index]) for name, run in some.items()}
        plotting.plot_errors(row[1], errors, colours, FLOOR)
        row[1].set_ylabel(f"tracking error [m{joint.position_unit}]")
        _efforts(row[2], joint, index, some, colours)
        place = {"xycoords": "axes fraction", "rotation": 90, "ha": "right", "va": "center"}
        row[0].annotate(joint.name, (-0.22, 0.5), weight="bold", fontsize=12, **place)

    with plotting.law_figure(path, robot.n, runs, draw_row) as (figure, grid):
        figure.get_layout_engine().set(hspace=0.06, wspace=0.04)
        _annotate(figure, grid, tour, title)
    if path.suffix == ".png":
        from PIL import Image

        with Image.open(path) as picture:  # it has few colours; a palette makes the file a third as large
            picture.convert("RGB").quantize(128).save(path, optimize=True)


Runs = Mapping[str, RecordedMotion]
Colours = Mapping[str, str]


def _responses(axes: Any, joint: Joint, index: int, runs: Runs, tour: Tour, colours: Colours) -> None:
    time = np.linspace(0.0, tour.trajectory.duration, plotting.POINTS)
    reference = tour.trajectory.samples(time).q[:, index]
    for name, run in runs.items():
        axes.plot(*plotting.thinned(run.time, run.q[:, index]), color=colours[name], label=name)
    axes.plot(time, reference, **plotting.REFERENCE_LINE, label="reference")
    axes.set_ylabel(f"position [{joint.position_unit}]")


def _efforts(axes: Any, joint: Joint, index: int, runs: Runs, colours: Colours) -> None:
    for name, run in runs.items():
        axes.plot(*plotting.thinned(run.command_time, run.effort[:, index]), color=colours[name], linewidth=1.1)
    if np.isfinite(joint.effort):
        for limit in (-joint.effort, joint.effort):
            axes.axhline(limit, **plotting.LIMIT_LINE)
        place = {"xycoords": ("axes fraction", "data"), "ha": "right", "va": "bottom"}
        axes.annotate("limit", (0.995, joint.effort), color=plotting.FAINT, fontsize=8, **place)
        least = min(run.effort[:, index].min() for run in runs.values())
        # A joint that pushes in one direction only needs no room for the other.
        axes.set_ylim((-1.15 if least < -0.3 * joint.effort else -0.2) * joint.effort, 1.15 * joint.effort)
    axes.set_ylabel(f"effort [{joint.effort_unit}]")


def _annotate(figure: Any, grid: Any, tour: Tour, title: str) -> None:
    """Draw the common parts of all panels: poses of the tour, headings and title."""
    for axes in grid.flat:
        for arrival in tour.arrivals:
            axes.axvline(arrival, color="#d4d4d4", linewidth=0.6, zorder=0)
        axes.set_xlim(0.0, tour.trajectory.duration)
    for axes, heading in zip(grid[0], ("Response", "Tracking error", "Effort"), strict=True):
        axes.set_title(heading, weight="bold", pad=40.0)
        for name, arrival in zip(TOUR, tour.arrivals, strict=True):
            place = {"xycoords": ("data", "axes fraction"), "rotation": 35, "ha": "left", "va": "bottom"}
            axes.annotate(name, (arrival, 1.01), color=plotting.FAINT, fontsize=7.5, **place)
    plotting.finish_joint_figure(figure, grid, title, linespacing=1.5)
