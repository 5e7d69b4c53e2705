# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Every arm at hand: does it load, with which option, does it agree with Pinocchio, and does it move?

    python docs/make_arms.py                      the URDFs of example-robot-data (PyPI), as a table
    python docs/make_arms.py FOLDER...            those below folders of yours
    python docs/make_arms.py --markdown FILE      into a page, between its marks

An arm that is refused is tried again with the options that the message names. Agreement is the greatest difference of
inverse dynamics at some states, relative to the greatest effort there.

An arm with effort limits moves in simulation, with the default gains at 500 Hz: the chain from the root to the tip, the
other joints (a gripper, a second arm) locked. Shown is the root mean square of the tracking error of the worst joint,
under computed torque and under pd, or the error message in place of a motion.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

import robodyn_ros as rd
from robodyn_ros.errors import LoadWarning
from robodyn_ros.robot import Robot
from robodyn_ros.robot.reduction import chosen_joints, joints_between
from robodyn_ros.robot.robot import tip
from robodyn_ros.simulation.trial import figures

sys.path.insert(0, str(Path(__file__).parents[1] / "test"))
from industrial import urdfs
from truth import Pinocchio

OPTIONS = (
    *([], ["movable_base"], ["repaired_inertia"], ["repaired_inertia", "movable_base"]),
    *(["closed_loops"], ["closed_loops", "repaired_inertia"]),
)
"""The descriptions to try, in order."""

MANY = 12
"""With more joints than this the Lagrangian's expressions take long to write; rnea goes on alone."""

STATES = 5

CHAIN = 12
"""Longest chain that moves; longer ones are legs and arms of a whole body."""

RANGE = 1.0
"""Greatest distance of a joint from its start [rad] or [m]."""

PART = 0.6
"""Part of the way to its farther limit, or of ``RANGE``, that a joint goes."""

INSIDE = 0.05
"""How far from its position limits a joint starts [rad] or [m]: nearer to them the soft limits bound the efforts."""

LAWS = ("computed_torque", "pd")

MARKS = "<!-- arms -->\n", "<!-- end -->"


class Row(NamedTuple):
    """What is known of one arm."""

    name: str
    joints: str  # with the number of those that are locked, and of mimic joints
    loads: str  # yes, the option that it takes, or why not
    damping: str
    agrees: str  # difference of rnea, and of the Lagrangian, from Pinocchio
    moved: str  # RMS under each of LAWS, or why not


def files(folders: list[Path]) -> Iterator[Path]:
    """The URDFs below some folders, each content once."""
    seen = set()
    for path in sorted(path for folder in folders for path in folder.rglob("*.urdf")):
        text = path.read_bytes()
        if text not in seen:
            seen.add(text)
            yield path


def load(path: Path) -> tuple[Robot | None, str]:
    """The arm, and the options that it takes; or the first reason why there is none."""
    why = ""
    for accepted in OPTIONS:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                robot = rd.load_robot(path, accept=accepted)
        except rd.RobodynError as problem:
            why = why or str(problem).replace(str(path), path.name)
            continue
        return robot, f"`accept: [{', '.join(accepted)}]`" if accepted else "yes"
    return None, why


def agreement(robot: Robot, plugin: str) -> str:
    """The greatest relative difference from Pinocchio; or why there are no dynamics."""
    try:
        dynamics = rd.create_dynamics(plugin, robot, compiled=False)
    except rd.RobodynError as problem:
        return "geometry only" if "is for pictures" in str(problem) else f"no: {problem}"
    try:
        truth = Pinocchio(robot, (0.0, 0.0, -9.81))
    except ValueError:
        return "Pinocchio refuses it"
    worst = 0.0
    for state in np.random.default_rng(0).uniform(-2.0, 2.0, (STATES, 3, robot.n)):
        tau = truth.inverse(*state)
        worst = max(
            worst,
            float(np.abs(dynamics.inverse(*state) - tau).max() / max(1.0, np.abs(tau).max())),
        )
    return f"{worst:.0e}" if worst else "0"


def chain(robot: Robot) -> Robot:
    """The arm from the root to its tip, all else locked at the middle of its range."""
    free = joints_between(robot, tip=tip(robot))
    return chosen_joints(robot, free, {}).robot if len(free) < robot.n else robot


def moved(arm: Robot) -> str:
    """The greatest RMS of a joint's tracking error under each law, or the error message."""
    if arm.n > CHAIN:
        return f"{arm.n} joints in a chain"
    if not np.isfinite(arm.effort_limit).all():
        return "no effort limit"
    inside = np.minimum(INSIDE, (arm.upper - arm.lower) / 4.0)
    start = np.clip(arm.home, arm.lower + inside, arm.upper - inside)
    farther = np.where(arm.upper - start > start - arm.lower, arm.upper, arm.lower)
    way = PART * np.clip(farther - start, -RANGE, RANGE)
    said = []
    for law in LAWS:
        try:
            with warnings.catch_warnings(record=True) as told:
                warnings.simplefilter("always", LoadWarning)
                result = rd.simulate(arm, start + way, controller=law, start=start)
        except rd.RobodynError as problem:
            return str(problem)
        if told:
            return str(told[0].message)
        worst = max(figures(result.trial)["rms_error"])
        faults = f" ({next(iter(result.faults))})" if result.faults else ""
        said.append(f"{float(f'{1e3 * worst:.2g}'):g}{faults}")
    return " / ".join(said)


def row(path: Path, moves: bool) -> Row:
    """One line of the table."""
    robot, loads = load(path)
    if robot is None:
        return Row(path.stem, "", loads, "", "", "")
    arm, mimics = chain(robot), len(robot.bodies) - robot.n
    others = ", ".join(
        f"{count} {kind}"
        for count, kind in ((robot.n - arm.n, "locked"), (mimics, "mimic"))
        if count
    )
    joints = f"{robot.n} ({others})" if others else str(robot.n)
    damping = f"{float(f'{robot.damping.max():.3g}'):g}" if robot.damping.any() else ""
    rnea = agreement(robot, "rnea")
    if rnea and not rnea[0].isdigit():
        return Row(path.stem, joints, loads, damping, "", rnea)
    both = f"{rnea} / {agreement(robot, 'lagrangian')}" if robot.n <= MANY else rnea
    return Row(path.stem, joints, loads, damping, both, moved(arm) if moves else "")


def table(rows: list[Row]) -> str:
    """The table as Markdown."""
    heads = ("arm", "joints", "loads", "damping", "Pinocchio", "moved")
    lines = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    return "\n".join(
        [
            *lines,
            *(
                "| " + " | ".join(cell.replace("|", "/") for cell in each) + " |"
                for each in rows
            ),
        ]
    )


def main() -> None:
    """Try them, and print or write the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument(
        "--still",
        action="store_true",
        help="do not move the arms, which takes most of the time",
    )
    parser.add_argument("--only", default="", metavar="REGEX", help="only arms whose name fits")
    parser.add_argument(
        "--markdown", type=Path, metavar="FILE", help="page with the marks of the table"
    )
    args = parser.parse_args()
    rows = []
    for path in files(args.folders or [Path(os.path.commonpath(urdfs().values()))]):
        if not re.search(args.only, path.stem):
            continue
        rows.append(row(path, not args.still))
        print("\t".join(rows[-1]), file=sys.stderr)
    found = table(rows)
    if args.markdown is None:
        print(found)
    else:
        text = args.markdown.read_text(encoding="utf-8")
        begin = text.index(MARKS[0]) + len(MARKS[0])
        args.markdown.write_text(
            text[:begin] + found + "\n" + text[text.index(MARKS[1], begin) :], encoding="utf-8"
        )


if __name__ == "__main__":
    main()
