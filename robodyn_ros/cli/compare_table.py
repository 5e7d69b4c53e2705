"""The tables of the comparison, and what follows from them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from rich import box
from rich.table import Table
from rich.text import Text

from robodyn_ros.cli.compare_run import Motion, Run
from robodyn_ros.cli.quantity import digits, quantity
from robodyn_ros.robot import Joint, Robot
from robodyn_ros.robot.pose import Array

COLUMNS = {
    "step": ("RMS\nerror", "Lasting\nerror", "Settles\nin", "Peak\neffort", "Of its\nlimit"),
    "trajectory": ("RMS\nerror", "Peak\nerror", "Lasting\nerror", "Peak\neffort", "Of its\nlimit"),
}

ERRORS = {"RMS": "rms_error", "Peak": "peak_error", "Lasting": "lasting_error"}

Results = Mapping[str, Run]
"""Law → its run."""


def table(motion: Motion, runs: Results, robot: Robot) -> Table:
    """A row for each law and joint, 80 columns at most."""
    made = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, title_justify="left")
    made.add_column("Controller\n  joint", overflow="fold")
    for heading in COLUMNS[motion.name]:
        made.add_column(heading, justify="right", no_wrap=True)
    for name, run in runs.items():
        figures = run.figures(motion)
        made.add_row(Text(name, "bold cyan"))
        for index, joint in enumerate(robot.joints):
            one = {key: float(values[index]) for key, values in figures.items()}
            cells = [_cell(heading, one, joint) for heading in COLUMNS[motion.name]]
            made.add_row(f"  {joint.name}", *cells, end_section=index == robot.n - 1)
    return made


def _cell(heading: str, figures: Mapping[str, float], joint: Joint) -> str:
    if heading.startswith("Settles"):
        value = figures["settling_time"]
        return f"{value:.2f} s" if np.isfinite(value) else "never"
    if heading.endswith("effort"):
        return f"{digits(figures['peak_effort'])} {joint.effort_unit}"
    if heading.endswith("limit"):
        return f"{figures['peak_effort'] / joint.effort:.0%}" if 0.0 < joint.effort < np.inf else "none"
    return quantity(figures[ERRORS[heading.split()[0]]], joint.position_unit)


def scores(motion: Motion, runs: Results) -> dict[str, float]:
    """Law → its RMS error over the way of each joint, averaged over the joints [-]; the best first."""
    found = {
        name: float(np.sqrt(np.mean((run.figures(motion)["rms_error"] / motion.size) ** 2)))
        for name, run in runs.items()
    }
    return dict(sorted(found.items(), key=lambda item: item[1]))


def verdict(motion: Motion, runs: Results, robot: Robot) -> str:
    """What the figures say, in words."""
    found = scores(motion, runs)
    (best, least), *others = found.items()
    said = f"{best} follows best, with an RMS error of {least:.2%} of the way"
    if others:
        said += "; " + ", ".join(f"{name} makes {score / least:.3g} times as much" for name, score in others)
    lasting = runs[best].figures(motion)["lasting_error"]
    worst = int(np.argmax(lasting / motion.size))
    if lasting[worst] > 1e-3 * motion.size[worst]:
        joint = robot.joints[worst]
        said += (
            f". What it leaves, {quantity(float(lasting[worst]), joint.position_unit)} at {joint.name}, is what the "
        )
        said += "model does not know: the right masses would take it away, or an integral (--integral-rate)"
    limited = [name for name, run in runs.items() if (run.saturated > 0.0).any()]
    return f"{said}.{' At an effort limit at times: ' + ', '.join(limited) + '.' if limited else ''}"


def report(motion: Motion, runs: Results) -> dict[str, dict[str, list[float | None]]]:
    """For a script: law → figure → a value for each joint, null where there is none."""
    return {name: {key: _plain(values) for key, values in run.figures(motion).items()} for name, run in runs.items()}


def _plain(values: Array) -> list[float | None]:
    return [value if np.isfinite(value) else None for value in values.tolist()]
