# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""``robodyn workspace``: the reachable space of an arm, with manipulability or payload.

Draws the workspace of a link: the arm is put into many positions within its
limits, and each cell of space gets the best value of the positions in it:

  manipulability  how evenly the tool can move (Yoshikawa); 0 is singular
  payload         the greatest mass that the effort limits can hold at rest

A spatial arm is drawn in three slices through the middle of its workspace, and
as a cloud that is cut open; a planar arm in its plane. Every drawn cell is
reachable; more samples fill gaps. The exit code is 1 if --payload is given and
the arm can hold it nowhere.

Examples:
    robodyn workspace arm.urdf                         workspace.png
    robodyn workspace arm.urdf --payload 2             where can it hold 2 kg?
    robodyn workspace arm.urdf --payload 2 --json      the answer for a script
    robodyn workspace arm.urdf --plane xy --slice 0.1  from above, at height 0
    robodyn workspace arm.urdf --out cloud.ply         for a mesh viewer
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import Any

import numpy as np

from robodyn_ros import create_dynamics
from robodyn_ros.checks import check
from robodyn_ros.cli.arm import add_arm, read_arm
from robodyn_ros.cli.console import check_outputs, make_file, print_json
from robodyn_ros.cli.verb import ExitCode, add_option, names, only_with
from robodyn_ros.dynamics.holding import holding_map
from robodyn_ros.errors import InputError
from robodyn_ros.kinematics import Kinematics
from robodyn_ros.kinematics.workspace import Cells, cells, sample
from robodyn_ros.robot import Array, Robot, random_positions, tip
from robodyn_ros.view.workspace_map import AXES, draw_map, draw_views, write_ply

OF = ("manipulability", "payload")
"""Values that a map can show."""

LABELS = {"manipulability": "manipulability of the position", "payload": "greatest payload [kg]"}
"""Value → label of its scale."""

UNITS = {"manipulability": "", "payload": " kg"}
"""Units of the figures that are printed; that of manipulability depends on the number of directions."""

SAMPLES = 500_000
"""Default number of positions that are sampled."""

MOST_SAMPLES = 10**9
"""Greatest number of positions; they have to fit into the memory."""

MOST_CELLS = 1e7
"""Greatest number of cells in a plane: a picture of more takes gigabytes."""

PER_CELL = 12.0
"""Samples for each cell of the box around the workspace, unless the cells are given."""

SCOUTS = 2000
"""Number of positions for an estimate of the size of the workspace."""


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of this verb."""
    add_arm(parser)
    text = "the tool (default: the last link that the arm moves, before a gripper's fingers)"
    add_option(parser, "--tool LINK", text)
    add_option(parser, "--of WHAT", " or ".join(OF), OF[0])
    text = "picture of the workspace to write: .png, .svg or .pdf (default: workspace.png, unless --out is given)"
    add_option(parser, "--plot FILE", text, Path)
    add_option(parser, "--out FILE", "write a point cloud here, .ply", Path)
    text = "one map with these axes, across and up (default: slices and a cloud, or the plane that the arm moves in)"
    add_option(parser, "--plane AXES", text)
    text = "thickness of the slice through the root link in a map [m] (default: the whole workspace, projected)"
    add_option(parser, "--slice LENGTH", text, float)
    text = "edge of a cell [m] (default: by the size of the arm and the number of samples)"
    add_option(parser, "--cell LENGTH", text, float)
    add_option(parser, "--samples N", "number of positions to sample", SAMPLES)
    text = "mass that the tool carries [kg]: where can the arm hold it? (default: none)"
    add_option(parser, "--payload KG", text, float)
    add_option(parser, "--json", "print the figures as JSON", bool)


def run(args: Namespace) -> ExitCode:
    """Sample, write and report; with a mass, the answer is no if the arm can hold it nowhere."""
    _check(args)
    robot = read_arm(args)
    link = robot.link(args.tool or tip(robot), "--tool").name
    of = "payload" if args.payload is not None else args.of
    kinematics = Kinematics(robot)
    places = kinematics.pose(link, random_positions(robot, SCOUTS))[:, :3, 3]
    args.cell = args.cell or _cell(places, args.samples)
    across, along = (extent / args.cell + 1.0 for extent in sorted(np.ptp(places, axis=0).tolist())[1:])
    if across * along > MOST_CELLS:
        raise InputError("--cell", f"{args.cell:g} m makes more than {MOST_CELLS:g} cells in a plane", args.cell)
    if of == "payload":
        dynamics = create_dynamics("rnea", robot)
        found = holding_map(dynamics, kinematics, link, size=args.cell, count=args.samples).cells
    else:
        samples = sample(kinematics, link, args.samples, rows=_rows(kinematics, link, args.plane or "xz"))
        found = cells(samples.points, samples.manipulability, args.cell)
    size = len(found.values)
    figures: dict[str, Any] = {"robot": robot.name, "link": link, "of": of, "cell": args.cell, "cells": size}
    if size:
        what = f"{of} of {link}" if of != "payload" else f"payload that {link} can hold"
        what += f"; line: {args.payload:g} kg" if args.payload else ""
        written = _write(found, robot, args, f"{robot.name}: {what}", LABELS[of])
        figures |= {"least": float(found.values.min()), "greatest": float(found.values.max()), **written}
    if args.payload is not None:
        ratio = float((found.values >= args.payload).mean()) if size else 0.0
        figures |= {"mass": args.payload, "ratio": ratio}
    _report(figures, args.json)
    return ExitCode.YES if figures.get("ratio", size) else ExitCode.NO


def _check(args: Namespace) -> None:
    """Check the arguments, and draw a picture if no file is named."""
    if args.plot is None and args.out is None:
        args.plot = Path("workspace.png")
    only_with(args, args.plot, "with --plot", "slice")
    if args.out is not None and args.out.suffix != ".ply":
        raise InputError("--out", f"must end in .ply (a picture: --plot), not {args.out.suffix!r}", args.out)
    check_outputs(args.plot, args.out)
    names(args.of, "--of", OF)
    check(1 <= args.samples <= MOST_SAMPLES, "--samples", f"from 1 to {MOST_SAMPLES}", args.samples)
    for option, length in (("--cell", args.cell), ("--slice", args.slice)):
        check(length is None or 0.0 < length < np.inf, option, "a length above 0 m", length)
    check(args.payload is None or args.payload >= 0.0, "--payload", "0 kg or more", args.payload)
    is_plane = args.plane is None or len(args.plane) == 2 == len(set(args.plane) & set(AXES))
    check(is_plane, "--plane", "two of x, y, z", args.plane)


def _report(figures: dict[str, Any], as_json: bool) -> None:
    if as_json:
        print_json(figures)
    elif not figures["cells"]:
        print(f"{figures['link']}: the arm cannot hold itself anywhere")
    else:
        count = f"{figures['cells']} cell{'s'[figures['cells'] == 1 :]} of {figures['cell']:g} m"
        values = f"{figures['of']} {figures['least']:.3g}"
        files = " and ".join(figures[option] for option in ("plot", "out") if option in figures)
        print(f"{files}: {count}, {values} to {figures['greatest']:.3g}{UNITS[figures['of']]}")
        if "mass" in figures:
            print(f"{figures['mass']:g} kg can be held in {figures['ratio']:.0%} of them")


def _rows(kinematics: Kinematics, link: str, plane: str) -> tuple[int, ...]:
    """Return the relevant rows of the Jacobian: directions in which the link moves, or else those of the picture."""
    linear = kinematics.jacobian(link, random_positions(kinematics.robot, 20))[:, :3]
    moves = np.flatnonzero(np.abs(linear).max(axis=(0, 2)) > 1e-9)
    return tuple(moves.tolist()) or tuple(AXES.index(axis) for axis in plane if axis in AXES)


def _write(found: Cells, robot: Robot, args: Namespace, title: str, label: str) -> dict[str, str]:
    """Write the cloud of all cells, and a picture of them: option → file."""
    if args.out is not None:
        make_file("--out", args.out, lambda path: write_ply(path, found.centers, found.values))
    if args.plot is not None:
        make_file("--plot", args.plot, lambda path: _draw(path, found, robot, args, title, label))
    return {option: str(path) for option, path in (("out", args.out), ("plot", args.plot)) if path is not None}


def _draw(path: Path, found: Cells, robot: Robot, args: Namespace, title: str, label: str) -> None:
    levels = () if args.payload is None else (args.payload,)
    if args.plane is None and args.slice is None and (np.ptp(found.centers, axis=0) > 2.0 * found.size).all():
        draw_views(path, robot, found, title, label, levels)
    else:
        draw_map(path, robot, found, args.plane or _widest(found.centers), args.slice, title, label, levels)


def _widest(centers: Array) -> str:
    """The plane in which the cells extend most."""
    least = int(np.argmin(np.round(np.ptp(centers, axis=0), 9)[::-1]))  # of equals the later one
    return "xyz".replace("zyx"[least], "")


def _cell(points: Array, samples: int) -> float:
    """An edge of cells, a short number, so that most cells of the workspace get samples [m]."""
    extents = np.ptp(points, axis=0)
    wide = extents[extents > 1e-6 * max(float(extents.max()), 1e-9)]
    if not len(wide):
        return 0.01
    edge = float((np.prod(wide) * PER_CELL / samples) ** (1.0 / len(wide)))
    power = 10.0 ** np.floor(np.log10(edge))
    factors = (1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 7.0, 10.0)
    return next(float(f"{factor * power:.6g}") for factor in factors if factor * power >= edge)
