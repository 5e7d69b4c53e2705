# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Shared by the benchmarks: the command line, the tables, the arms, runs taken in turn, and figures of a process."""

import argparse
import os
import sys
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from rich.text import Text

from robodyn_ros.errors import RobotDescriptionWarning
from robodyn_ros.files import as_json
from robodyn_ros.robot import Robot, load_robot

ROOT = Path(__file__).parents[1]
if str(ROOT / "test") not in sys.path:
    sys.path.insert(0, str(ROOT / "test"))

from industrial import panda, urdf, urdfs  # noqa: E402

warnings.simplefilter("ignore", RobotDescriptionWarning)  # the arms are those of other packages, as they are

PRR = ROOT / "urdf" / "prr.urdf"

WIDTH = 130
"""Width of the tables where the output is no terminal [characters]."""

FEW = 4
"""Greatest number of rows of a table that is turned if it has many more columns."""

Rows = Sequence[Mapping[str, Any]]
"""Rows of a table: heading → figure, or → several figures with headings of their own."""


def options(doc: str | None) -> argparse.ArgumentParser:
    """The command line of a benchmark: its docstring is the help, and ``--json`` prints JSON."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    return parser


def report(found: Mapping[str, Rows], json_wanted: bool) -> None:
    """Print figures as JSON, or a table for each title."""
    if json_wanted:
        print(as_json(found, indent=1))
        return
    console = console_of()
    for title, rows in found.items():
        if not rows:
            console.print(title, "none", "", markup=False)
            continue
        flat = [_flat(row) for row in rows]
        heads, first = dict.fromkeys(head for row in flat for head in row), next(iter(flat[0]), "")
        if len({row.get(first) for row in flat}) == len(flat) <= FEW < len(heads) - FEW:
            flat = [{first: head, **{_cell(row.get(first)): row.get(head) for row in flat}} for head in [*heads][1:]]
            heads = dict.fromkeys(head for row in flat for head in row)
        table = Table(box=None, pad_edge=False, header_style="bold")
        for head in heads:
            texts = any(isinstance(row.get(head), str) for row in flat)
            table.add_column(Text(head), justify="left" if texts else "right")
        for row in flat:
            table.add_row(*(Text(_cell(row.get(head))) for head in heads))
        console.print(title, table, "", markup=False)


def console_of(width: int = WIDTH) -> Console:
    """Where tables go: as wide as the terminal, or as ``width`` [characters]."""
    return Console(width=None if sys.stdout.isatty() else width, highlight=False)


def _flat(row: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    """A row without mappings in it: ``{"a": {"b": 1}}`` has the heading ``a, b``."""
    found: dict[str, Any] = {}
    for head, value in row.items():
        name = f"{before}, {head}" if before else str(head)
        found |= _flat(value, name) if isinstance(value, Mapping) else {name: value}
    return found


def _cell(value: Any) -> str:
    if value is None or (isinstance(value, float) and np.isnan(value)):
        return ""
    if isinstance(value, (bool, np.bool_)):
        return "yes" if value else "no"
    if isinstance(value, (float, np.floating)):
        return f"{value:,.4g}" if abs(value) < 1e5 else f"{value:,.0f}"
    if isinstance(value, (list, tuple, set, np.ndarray)):
        return ", ".join(map(_cell, value))
    return str(value)


def percentiles(seconds: Sequence[float] | np.ndarray[Any, Any]) -> dict[str, float]:
    """Median, 99 %, 99.9 % and greatest of times [s], in [ms]."""
    values = 1e3 * np.asarray(seconds)
    named = {"median": 50.0, "p99": 99.0, "p99.9": 99.9, "greatest": 100.0}
    return {name: float(np.percentile(values, percent)) for name, percent in named.items()}


def in_turns(ways: Mapping[str, Callable[[], object]], repeats: int) -> dict[str, list[float]]:
    """Times of calls [s], taken in turn, so that a machine that changes its speed changes all; the first warms up."""
    times: dict[str, list[float]] = {name: [] for name in ways}
    for turn in range(repeats + 1):
        for name, call in ways.items():
            begun = time.perf_counter()
            call()
            if turn:
                times[name].append(time.perf_counter() - begun)
    return times


def arms() -> dict[str, str]:
    """Name → URDF of the arms that are compared: PRR, and UR5 and Panda where example-robot-data is installed.

    The Panda is the arm of the literature: seven joints, the fingers welded.
    """
    found = {name: (ROOT / "urdf" / f"{name}.urdf").read_text(encoding="utf-8") for name in ("prr", "rr")}
    if "panda" in urdfs():
        found["ur5"] = urdf("ur5_robot")
        found["panda"] = panda()
    return found


POSES = {
    "prr": ([0.6, 0.5, 0.9], "tool"),
    "ur5_robot": ([0.3, -1.1, 1.5, 0.4, 1.2, 0.2], "tool0"),
    "panda": ([0.1, -0.6, 0.2, -2.1, 0.1, 1.6, 0.7, 0.02], "panda_hand_tcp"),
}
"""Arm → a pose far from limits and singularities, and the tool."""


def robot_of(name: str) -> Robot:
    """The PRR arm, or one of the package example-robot-data."""
    return load_robot(PRR if name == "prr" else urdf(name))


def processor_time(pid: int) -> float:
    """Time that all threads of a process have computed [s]."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def memory_of(pid: int | str = "self") -> float:
    """Resident memory of a process [kB]."""
    return int(Path(f"/proc/{pid}/statm").read_text(encoding="utf-8").split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1024.0
