# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""``robodyn derive``: derive an arm's equations of motion, step by step.

Derives the equations of motion of an arm from its URDF, step by step: frames,
centres of mass and their Jacobians, kinetic and potential energy, Lagrangian,
mass matrix, Coriolis matrix by Christoffel symbols, gravity, and the equations.

Formulas have symbols (m_i, l_i, l_ci, I_i), or with --numbers the arm's own
numbers. If they would fill pages, as those of six joints do, the document has
the constants of the arm and numbers at a pose instead.

HTML needs no network (formulas are MathML), PDF needs LaTeX on this machine;
JSON has the formulas in LaTeX.

Examples:
    robodyn derive arm.urdf                           in the terminal
    robodyn derive arm.urdf --of mass_matrix,gravity  some steps
    robodyn derive arm.urdf --numbers                 with its numbers
    robodyn derive arm.urdf --at 0.1,0.8,-0.4         M, C, G at a pose too
    robodyn derive arm.urdf --out arm.html            for the browser
    robodyn derive arm.urdf --format pdf              arm.pdf
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from pathlib import Path

import numpy as np
from rich.text import Text

from robodyn_ros import create_dynamics
from robodyn_ros.checks import check_choice
from robodyn_ros.cli.arm import add_arm, parse_pose, read_arm
from robodyn_ros.cli.console import console, write_file
from robodyn_ros.cli.verb import ExitCode, add_gravity, add_option, names, only_with
from robodyn_ros.document.blocks import Document, data
from robodyn_ros.document.html import html
from robodyn_ros.document.latex import markdown, pdf, tex
from robodyn_ros.document.text import text, text_lines
from robodyn_ros.dynamics.symbolic.derivation import STEPS, derive
from robodyn_ros.dynamics.symbolic.listing import identifier
from robodyn_ros.errors import InputError

WRITERS: dict[str, Callable[[Document], str | bytes]] = {
    "text": text, "markdown": markdown, "html": html, "latex": tex, "pdf": pdf, "json": data,
}  # fmt: skip
"""Format → the function that writes a document in it."""

FORMATS = {"text": ".txt", "markdown": ".md", "html": ".html", "latex": ".tex", "pdf": ".pdf", "json": ".json"}
"""Format → ending of its file."""

STYLES = {"title": "bold", "heading": "bold cyan"}
"""Role of a line → its style in a terminal."""


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of this verb."""
    add_arm(parser)
    add_option(parser, "--of STEPS", f"steps to show, separated by commas (default: all): {', '.join(STEPS)}")
    add_option(parser, "--numbers", "formulas with the arm's own numbers, not symbols", bool)
    add_option(parser, "--at POSE", "numbers at this pose too: 0.3,-1,0 or joint=-1")
    add_option(parser, "--velocity V", "velocities at that pose, in the same form [rad/s or m/s] (default: 1 each)")
    add_gravity(parser)
    add_option(parser, "--format NAME", f"{', '.join(FORMATS)} (default: by the ending of --out, else text)")
    text = "file to write; - is standard output (default: standard output, and a file named after the arm for pdf)"
    add_option(parser, "--out FILE", text)


def run(args: Namespace) -> ExitCode:
    """Derive, and write the document in the chosen format."""
    kind = _format(args.format, args.out)
    steps = STEPS if args.of is None else names(args.of, "--of", STEPS)
    only_with(args, args.at, "with --at", "velocity")
    if args.of is not None and "pose" in steps and args.at is None:
        raise InputError("--of", "pose is a step with --at POSE only", args.of)
    robot = read_arm(args)
    at = None if args.at is None else parse_pose(args.at, robot, robot.home, "--at")
    velocity = None if args.velocity is None else parse_pose(args.velocity, robot, np.ones(robot.n), "--velocity")
    dynamics = create_dynamics("rnea", robot, compiled=False, gravity=args.gravity)
    document = derive(dynamics, steps, numbers=args.numbers, q=at, qd=velocity)
    if kind == "text" and args.out in {None, "-"}:
        _show(document)
        return ExitCode.YES
    content = WRITERS[kind](document)
    if kind == "pdf" and args.out is None:
        args.out = f"{identifier(dynamics.robot.name)}.pdf"
    _write(content, args.out)
    return ExitCode.YES


def _format(name: str | None, out: str | None) -> str:
    """Return the format by ``--format``, or by the ending of ``--out``."""
    if name is None:
        endings = {ending: known for known, ending in FORMATS.items()}
        if out in {None, "-"}:
            return "text"
        name = endings.get(Path(out or "").suffix.lower())
        if name is None:
            known = ", ".join(endings)
            raise InputError("--out", f"{out!r} ends in none of {known}: give the --format", out)
    check_choice("--format", name, FORMATS)
    return name


def _show(document: Document) -> None:
    """Print a document as wide as the terminal."""
    out = console()
    for line in text_lines(document, out.width):
        out.print(Text(line.text.rstrip(), STYLES.get(line.role, "")), soft_wrap=True)


def _write(content: str | bytes, out: str | None) -> None:
    """Write to stdout, or to a file and print its name."""
    if out in {None, "-"}:
        sys.stdout.flush()
        sys.stdout.buffer.write(content.encode() if isinstance(content, str) else content)
        return
    path = Path(out or "")
    write_file("--out", path, content)
    print(path)
