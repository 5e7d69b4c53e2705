"""Every arm at hand: does it load, with which option, and does it agree with Pinocchio?

    python benchmarks/arms.py                      the URDFs of example-robot-data (PyPI), as a table
    python benchmarks/arms.py FOLDER...            those below folders of yours
    python benchmarks/arms.py --markdown FILE      into a page, between its marks

An arm that is refused is tried again with the options that the message names. Agreement is the greatest difference of
inverse dynamics at some states, relative to the greatest effort there.
"""

from __future__ import annotations

import argparse
import hashlib
import re
import sys
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

import robodyn_ros as rd
from robodyn_ros.robot import Robot

OPTIONS = ({}, {"movable_base": "weld"}, {"inertia": "repair"}, {"inertia": "repair", "movable_base": "weld"})
"""What is tried, one after the other."""

MANY = 12
"""With more joints than this the Lagrangian's expressions take long to write; rnea goes on alone."""

STATES = 5

MARKS = "<!-- arms -->\n", "<!-- end -->"


class Row(NamedTuple):
    """What is known of one arm."""

    name: str
    joints: str
    loads: str  # yes, the option that it takes, or why not
    gripper: str  # joints that move a mimic joint or lie beyond the sixth or seventh of a chain
    damping: str
    rnea: str
    lagrangian: str


def files(folders: list[Path]) -> Iterator[Path]:
    """The URDFs below some folders, each content once."""
    seen = set()
    for path in sorted(path for folder in folders for path in folder.rglob("*.urdf")):
        digest = hashlib.sha256(path.read_bytes()).digest()
        if digest not in seen:
            seen.add(digest)
            yield path


def load(path: Path) -> tuple[Robot | None, str]:
    """The arm, and the options that it takes; or the first reason why there is none."""
    why = ""
    for options in OPTIONS:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                robot = rd.load_robot(path, **options)
        except rd.RobodynError as problem:
            why = why or str(problem).replace(str(path), path.name)
            continue
        return robot, ", ".join(f"`{name}: {value}`" for name, value in options.items()) or "yes"
    return None, why


def agreement(robot: Robot, plugin: str) -> str:
    """The greatest relative difference from Pinocchio; why there are no dynamics; empty without Pinocchio."""
    try:
        dynamics = rd.create_dynamics(plugin, robot, compiled=False)
    except rd.RobodynError as problem:
        return "geometry only" if "is for pictures" in str(problem) else f"no: {problem}"
    try:
        import pinocchio
    except ImportError:
        return ""
    try:
        model = pinocchio.buildModelFromXML(re.sub(r"</?mimic\b[^>]*>", "", robot.urdf))
    except ValueError:
        return "Pinocchio refuses it"
    data = model.createData()
    index = [model.joints[model.getJointId(body.joint.name)] for body in robot.bodies]
    columns = [body.coordinate for body in robot.bodies]
    ratios = np.array([body.ratio for body in robot.bodies])
    offsets = np.array([body.offset for body in robot.bodies])
    worst = 0.0
    for q, qd, qdd in np.random.default_rng(0).uniform(-2.0, 2.0, (STATES, 3, robot.n)):
        positions, rates, rises = np.zeros(model.nq), np.zeros(model.nv), np.zeros(model.nv)
        for joint, angle, rate, rise in zip(
            index, ratios * q[columns] + offsets, ratios * qd[columns], ratios * qdd[columns], strict=True
        ):
            positions[joint.idx_q : joint.idx_q + joint.nq] = (
                [np.cos(angle), np.sin(angle)] if joint.nq == 2 else [angle]
            )
            rates[joint.idx_v], rises[joint.idx_v] = rate, rise
        full = pinocchio.rnea(model, data, positions, rates, rises)
        tau = np.zeros(robot.n)
        np.add.at(tau, columns, ratios * [full[joint.idx_v] for joint in index])
        worst = max(worst, float(np.abs(dynamics.inverse(q, qd, qdd) - tau).max() / max(1.0, np.abs(tau).max())))
    return f"{worst:.0e}"


def row(path: Path) -> Row:
    """One line of the table."""
    robot, loads = load(path)
    if robot is None:
        return Row(path.stem, "", loads, "", "", "", "")
    mimics = len(robot.bodies) - robot.n
    gripper = f"{mimics} mimic" if mimics else ""
    damping = f"{robot.damping.max():.3g}" if robot.damping.any() else ""
    rnea = agreement(robot, "rnea")
    lagrangian = agreement(robot, "lagrangian") if robot.n <= MANY and rnea[1:3] == "e-" else ""
    return Row(path.stem, str(robot.n), loads, gripper, damping, rnea, lagrangian)


def table(rows: list[Row]) -> str:
    """The table as Markdown."""
    heads = ("arm", "joints", "loads", "mimic joints", "greatest damping", "rnea – Pinocchio", "lagrangian – Pinocchio")
    lines = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    return "\n".join([*lines, *("| " + " | ".join(cell.replace("|", "/") for cell in each) + " |" for each in rows)])


def main() -> None:
    """Try them, and print or write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="page with the marks of the table")
    args = parser.parse_args()
    folders = args.folders
    if not folders:
        from importlib.metadata import distribution

        share = distribution("example-robot-data").locate_file("cmeel.prefix/share/example-robot-data/robots")
        folders = [Path(str(share))]
    rows = []
    for path in files(folders):
        rows.append(row(path))
        print("\t".join(rows[-1]), file=sys.stderr)
    found = table(rows)
    if args.markdown is None:
        print(found)
    else:
        text = args.markdown.read_text(encoding="utf-8")
        begin = text.index(MARKS[0]) + len(MARKS[0])
        args.markdown.write_text(text[:begin] + found + "\n" + text[text.index(MARKS[1], begin) :], encoding="utf-8")
    kinds = Counter("loads" if each.joints else "refused" for each in rows)
    kinds["with an option"] = sum(bool(each.joints) and each.loads != "yes" for each in rows)
    kinds["geometry only"] = sum(each.rnea == "geometry only" for each in rows)
    numbers = [float(cell) for each in rows for cell in (each.rnea, each.lagrangian) if cell[1:3] == "e-"]
    print(f"{dict(kinds)}; greatest difference {max(numbers, default=0.0):.0e}", file=sys.stderr)


if __name__ == "__main__":
    main()
