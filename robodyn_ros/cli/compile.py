# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""``robodyn compile``: fill the cache in advance, for a fast start and for robots that cannot compile."""

from __future__ import annotations

import time
from argparse import ArgumentParser, Namespace
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from robodyn_ros.cli.arm import add_arm, read_arm
from robodyn_ros.cli.console import console, print_json
from robodyn_ros.cli.verb import ExitCode, Verb, names
from robodyn_ros.errors import ConfigurationError
from robodyn_ros.plugins import available
from robodyn_ros.precompilation import (
    CONTRACT,
    GROUPS,
    KINEMATICS,
    LAWS,
    LOOPS,
    OTHERS,
    PREDICTION,
    STEP,
    TOOL,
    TRIALS,
    Job,
    find_jobs,
)

if TYPE_CHECKING:
    from robodyn_ros.dynamics.compiled import CompiledDynamics
    from robodyn_ros.robot import Robot

DYNAMICS = ("rnea",)
"""Default plugins, those of the nodes."""


class CompiledEntry(NamedTuple):
    """A compiled function, as the table shows it."""

    dynamics: str | None  # the plugin, None for kinematics
    function: str
    size: int  # of the library [byte]
    seconds: float  # time to write and compile it, or to find it [s]
    cached: bool  # the cache had it


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of this verb."""
    add_arm(parser)
    text = f"dynamics plugin, or several separated by commas (default: {', '.join(DYNAMICS)})"
    parser.add_argument("--dynamics", default=",".join(DYNAMICS), metavar="NAME", help=text)
    text = (
        f"functions of the dynamics, {LOOPS} (the simulator's loops), {KINEMATICS} (of every link) and {TOOL} (inverse "
        f"kinematics, and the planning of motions to a pose), {PREDICTION} (of the law of that name), {TRIALS} "
        f"(of sweeps), {STEP} (control steps), separated by commas, or all (default: all that the node and the "
        "simulator call)"
    )
    parser.add_argument("--of", default=",".join((*CONTRACT, *GROUPS)), metavar="NAMES", help=text)
    text = f"control law whose step is compiled, or several separated by commas (default: {', '.join(LAWS)})"
    parser.add_argument("--controller", default=",".join(LAWS), metavar="NAME", help=text)
    text = "tool of the inverse kinematics, or several separated by commas (default: the last link that moves)"
    parser.add_argument("--tool", metavar="LINK", help=text)
    parser.add_argument("--batch", action="store_true", help="the functions for many states at once as well")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")


def run(args: Namespace) -> ExitCode:
    """List the functions, compile those that the cache does not have, and report."""
    from robodyn_ros.engine.library import CacheError, cache_folder
    from robodyn_ros.robot.robot import tip

    _check_tools()
    robot, folder = read_arm(args), cache_folder()
    tools = names(args.tool or "") or [tip(robot)]
    plugins = [(name, _plugin(name, robot)) for name in names(args.dynamics)]
    if args.of != "all":
        names(args.of, "--of", (*(name for _, plugin in plugins for name in plugin.quantities()), *GROUPS, *OTHERS))
    jobs = find_jobs(
        robot, plugins, args.of, args.batch, tools, names(args.controller, "--controller", available("controllers"))
    )
    try:
        compiled = list(_compile(jobs))
    except OSError as cause:
        raise CacheError(f"{folder} cannot be written to: {cause.strerror}") from cause
    if args.json:
        functions = [item._asdict() for item in compiled]
        print_json({"robot": robot.name, "folder": str(folder), "functions": functions})
    else:
        _show(compiled, folder)
    return ExitCode.YES


def _check_tools() -> None:
    """Check that a compiler and CasADi are installed."""
    from robodyn_ros.engine import find_compiler
    from robodyn_ros.engine.casadi import need_casadi

    if find_compiler() is None:
        raise ConfigurationError("there is no C compiler here (cc, gcc or clang on PATH, or the one that CC names)")
    need_casadi()


def _plugin(name: str, robot: Robot) -> CompiledDynamics:
    """Return the plugin's dynamics of an arm; an error if they are not compiled."""
    from robodyn_ros.dynamics.compiled import CompiledDynamics
    from robodyn_ros.plugins import create

    dynamics = create("dynamics", name, robot)
    if not isinstance(dynamics, CompiledDynamics):
        raise ConfigurationError(f"dynamics plugin {name!r} has nothing to compile")
    return dynamics


AHEAD = 8
"""Greatest number of functions whose code is written while others are compiled; the code takes memory."""


def _compile(jobs: list[Job]) -> Iterator[CompiledEntry]:
    """Compile the functions on all processors, and show the progress on stderr."""
    from robodyn_ros.cli.progress import progress_bar
    from robodyn_ros.engine.library import Build, begin_library

    with progress_bar() as progress:
        task = progress.add_task("", total=len(jobs))
        begun: deque[tuple[Job, Path | Build, float, bool]] = deque()

        def first_of_them() -> CompiledEntry:
            job, made, writing, cached = begun.popleft()
            progress.update(task, description=f"{job.dynamics or ''} {job.title}")
            path = made.wait() if isinstance(made, Build) else made
            seconds = writing + (made.seconds if isinstance(made, Build) else 0.0)
            progress.advance(task)
            return CompiledEntry(job.dynamics, job.title, path.stat().st_size, seconds, cached)

        for job in jobs:
            written: list[str] = []

            def source(job: Job = job, written: list[str] = written) -> str:
                written.append(job.wanted.source())
                return written[-1]

            begin = time.perf_counter()
            made = begin_library(job.wanted.name, job.wanted.key, source)
            assert made is not None  # compiler and CasADi are installed
            begun.append((job, made, time.perf_counter() - begin, not written))
            if len(begun) > AHEAD:
                yield first_of_them()
        while begun:
            yield first_of_them()


def _show(compiled: list[CompiledEntry], folder: Path) -> None:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for heading, justify in (
        ("Dynamics", "left"),
        ("Function", "left"),
        ("KiB", "right"),
        ("s", "right"),
        ("", "left"),
    ):
        table.add_column(heading, justify=justify, no_wrap=True)  # type: ignore[arg-type]
    for item in compiled:
        state = "was there" if item.cached else "compiled"
        table.add_row(item.dynamics or "", item.function, f"{item.size / 1024:.0f}", f"{item.seconds:.2f}", state)
    out = console()
    out.print(table)
    out.print("For robots with the same processor, without compiler or CasADi, copy the folder", markup=False)
    out.print(str(folder), markup=False, soft_wrap=True)
    out.print("to the same place under their ~/.cache, writable by its owner alone.", markup=False)


VERB = Verb(
    summary="compile an arm's dynamics in advance",
    description=(
        "Compiles an arm's dynamics into the cache, so that a node compiles nothing when\n"
        "it starts. The folder may be copied to robots with the same processor: they run\n"
        "its functions without a compiler and without CasADi."
    ),
    examples=(
        ("robodyn compile arm.urdf", "functions of the nodes"),
        ("robodyn compile arm.urdf --of all --batch", "everything"),
        ("robodyn compile arm.urdf --of tool --tool hand,tool", "for two tools"),
        ("robodyn compile arm.urdf --dynamics rnea,lagrangian", "of both"),
    ),
    add_arguments=add_arguments,
    run=run,
)
