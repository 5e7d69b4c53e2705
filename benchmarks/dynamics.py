# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The dynamics engine beside Pinocchio, on the same arms in the same run; MuJoCo and the Robotics Toolbox (``pip
install roboticstoolbox-python``) join where they are installed.

    make bench            a table
    make bench BENCH=--json

Measured as `robodyn bench` measures one arm. A ratio below 1 means that ours takes less time.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from pathlib import Path
from typing import Any

import casadi as ca
from rich.console import Console
from rich.table import Table

import robodyn_ros as rd
from robodyn_ros.cli.bench import BATCH
from robodyn_ros.cli.bench import measure as measure_arm
from robodyn_ros.files import find

TEXTBOOK = {"lagrangian": 66_000, "rnea": 852}  # multiplications, six joints: the course's figures
FORMULATIONS = ("rnea", "lagrangian")


def arms() -> dict[str, str]:
    """Name → URDF; the industrial ones where the package example-robot-data is installed."""
    found = {name: find(f"urdf/{name}.urdf").read_text() for name in ("prr", "rr")}
    for prefix in sys.path:
        models = Path(prefix, "cmeel.prefix", "share", "example-robot-data", "robots")
        if models.is_dir():
            found["ur5"] = (models / "ur_description/urdf/ur5_robot.urdf").read_text()
            panda = (models / "panda_description/urdf/panda.urdf").read_text()
            # The arm of the literature: seven joints, the fingers welded.
            panda = re.sub(r'(<joint name="panda_finger_joint\d" type=)"prismatic"', r'\1"fixed"', panda)
            found["panda"] = re.sub(r"<mimic[^>]*>", "", panda)
            break
    return found


def operations(robot: rd.Robot) -> dict[str, dict[str, int]]:
    """Multiplications and additions of inverse dynamics, the arm's numbers being constants or all of them free."""
    counts = {}
    for name in FORMULATIONS:
        dynamics = rd.create_dynamics(name, robot)
        states = [ca.SX.sym(symbol, robot.n) for symbol in ("q", "qd", "qdd")]
        constant = ca.Function("constant", states, [ca.cse(dynamics.expressions("inverse", states)[0])])
        free = dynamics.program("inverse").function()
        counts[name] = {
            "multiplications": count(constant, ca.OP_MUL, ca.OP_SQ),
            "additions": count(constant, ca.OP_ADD, ca.OP_SUB, ca.OP_TWICE),
            "multiplications, all parameters free": count(free, ca.OP_MUL, ca.OP_SQ),
            "additions, all parameters free": count(free, ca.OP_ADD, ca.OP_SUB, ca.OP_TWICE),
        }
    return counts


def count(function: ca.Function, *kinds: int) -> int:
    """How many instructions of those kinds a function has."""
    return sum(function.instruction_id(k) in kinds for k in range(function.n_instructions()))


def measure(rounds: int) -> dict[str, Any]:
    """Everything, arm by arm."""
    results = {}
    for name, xml in arms().items():
        robot = rd.load_robot(xml)
        found = measure_arm(robot, "rnea", rounds)
        for times in found["calls"].values():
            times |= {f"{way} / Pinocchio": times[way] / times["Pinocchio"] for way in ("in place", "plain")}
        found["batch"] |= {"times faster": found["batch"]["Pinocchio"] / found["batch"]["ours"]}
        if "Python on Pinocchio" in found["rollout"]:
            found["rollout"] |= {"times faster": found["rollout"]["Python on Pinocchio"] / found["rollout"]["ours"]}
        results[name] = {"joints": robot.n, **found, "operations": operations(robot)}
    return results


def show(results: dict[str, Any], console: Console) -> None:
    """Four tables."""
    title = "One call [µs, median]; in brackets the share of Pinocchio's time"
    calls = _table(title, "arm", "quantity", "in place", "plain", "Pinocchio", "MuJoCo", "Robotics Toolbox")
    for arm, found in results.items():
        for quantity, t in found["calls"].items():
            ours = [f"{t[way]:.3f} ({t[f'{way} / Pinocchio']:.2f})" for way in ("in place", "plain")]
            others = [f"{t[name]:.3f}" if name in t else "-" for name in ("Pinocchio", "MuJoCo", "Robotics Toolbox")]
            calls.add_row(arm, quantity, *ours, *others)
    console.print(calls, _whole_table(results))
    title = "Operations of inverse dynamics: multiplications / additions"
    work = _table(title, "arm", "formulation", "numbers fixed", "all parameters free", "textbook, 6 joints")
    for arm, found in results.items():
        for name, n in found["operations"].items():
            free = " / ".join(f"{n[f'{kind}, all parameters free']}" for kind in ("multiplications", "additions"))
            work.add_row(arm, name, f"{n['multiplications']} / {n['additions']}", free, f"{TEXTBOOK[name]:,}")
    start = _table("From the URDF to the first torque [s]", "arm", "import", "cold", "warm")
    for arm, found in results.items():
        start.add_row(arm, *(f"{found['first'][key]:.2f}" for key in ("import", "cold", "warm")))
    console.print(work, start)


def _table(title: str, *columns: str) -> Table:
    table = Table(title=title)
    for column in columns:
        table.add_column(column, justify="left" if column in {"arm", "quantity", "formulation"} else "right")
    return table


def _whole_table(results: dict[str, Any]) -> Table:
    title = f"{BATCH:,} states of inverse dynamics, and 1 s of RK4 at 1 kHz"
    whole = _table(title, "arm", "10⁶ states/s", "Pinocchio", "faster", "RK4 [ms]", "Python's", "faster")
    for arm, found in results.items():
        b, r = found["batch"], found["rollout"]
        row = [f"{BATCH / b['ours']:.1f}", f"{BATCH / b['Pinocchio']:.2f}", f"{b['times faster']:.0f}"]
        if "times faster" in r:
            row += [f"{r['ours'] / 1e3:.2f}", f"{r['Python on Pinocchio'] / 1e3:.1f}", f"{r['times faster']:.0f}"]
        whole.add_row(arm, *row)
    return whole


def main() -> None:
    """Run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="figures for a script")
    parser.add_argument("--rounds", type=int, default=60, help="runs that a median is taken of")
    given = parser.parse_args()
    results = measure(given.rounds)
    if given.json:
        print(json.dumps(results, indent=1))
    else:
        show(results, Console(width=100 if not sys.stdout.isatty() else None))


if __name__ == "__main__":
    main()
