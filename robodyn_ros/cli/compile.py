# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""``robodyn compile``: compile an arm's dynamics in advance.

Compiles an arm's dynamics into the cache, so that a node compiles nothing when
it starts. The folder may be copied to robots with the same kind of processor:
they run its functions without a compiler and without CasADi.

Examples:
    robodyn compile arm.urdf                             functions of the nodes
    robodyn compile arm.urdf --of all --batch            everything
    robodyn compile arm.urdf --of tool --tool hand,tool  for two tools
    robodyn compile arm.urdf --dynamics rnea,lagrangian  both formulations
"""

from __future__ import annotations

import time
from argparse import ArgumentParser, Namespace
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from robodyn_ros.cli.arm import add_arm, read_arm
from robodyn_ros.cli.console import console, print_json, simple_table, tracked
from robodyn_ros.cli.verb import ExitCode, add_option, names, only_with
from robodyn_ros.control import FileParameters, Reference, loop_default_values, make_loop_settings
from robodyn_ros.control.compiled_step import CompiledStep
from robodyn_ros.control.core_library import start_core
from robodyn_ros.control.core_settings import make_step, start_model
from robodyn_ros.control.momentum_observer import MomentumObserver
from robodyn_ros.dynamics.compiled import CompiledDynamics
from robodyn_ros.dynamics.rnea import RNEA
from robodyn_ros.engine import find_compiler
from robodyn_ros.engine.casadi import need_casadi
from robodyn_ros.engine.kernel import FEW
from robodyn_ros.engine.library import Build, CacheError, Wanted, begin_library, cache_folder, only_listed
from robodyn_ros.errors import ConfigurationError, NotReadyError
from robodyn_ros.kinematics import Kinematics
from robodyn_ros.kinematics.inverse import InverseKinematics
from robodyn_ros.planning.ddp.ilqr import DDP, ILQRSettings
from robodyn_ros.planning.mpc import Deviation
from robodyn_ros.plugins import available, create
from robodyn_ros.robot import Robot, tip
from robodyn_ros.settings import split_names
from robodyn_ros.simulation import Plant
from robodyn_ros.simulation.devices import hardware_library
from robodyn_ros.simulation.trial_run import trial_function

DYNAMICS = "rnea"
"""The default plugin, that of the nodes."""

CONTRACT = ("inverse", "forward", "mass_matrix", "coriolis_matrix", "gravity", "terms", "energy")
"""Functions of the dynamics that controllers and the simulator call."""

LOOPS = "motion"
"""Name of the group with the loops of the simulator and of rollouts."""

KINEMATICS = "kinematics"
"""Name of the group with pose and Jacobian of every link."""

TOOL = "tool"
"""Name of the group with the inverse kinematics of the tools, and what plans motions to a pose."""

PREDICTION = "mpc"
"""Name of the group with the problems of the control law ``mpc``."""

TRIALS = "trial"
"""Name of the group with the loop of a sweep's trials, and what it asks of the model."""

CONTACT = "contact"
"""Name of the group with the observers of contacts, of the joints and of the tools."""

STEP = "step"
"""Name of the group with the control steps of the laws."""

LAW = "computed_torque"
"""The default law, that of the nodes."""

GROUPS = (LOOPS, KINEMATICS, TOOL, STEP)
"""Groups that are compiled by default."""

OTHERS = (PREDICTION, TRIALS, CONTACT)
"""Groups that are compiled on demand."""

PLANNER = "rnea"
"""Plugin that plans motions to a pose."""


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of this verb."""
    add_arm(parser)
    add_option(parser, "--dynamics NAME", "dynamics plugin, or several separated by commas", DYNAMICS)
    text = (
        f"functions of the dynamics, {LOOPS} (the simulator's loops), {KINEMATICS} (of every link) and {TOOL} (inverse "
        f"kinematics, and the planning of motions to a pose), {PREDICTION} (of the law of that name), {TRIALS} "
        f"(of sweeps), {CONTACT} (what observes contacts), {STEP} (control steps), separated by commas, or all "
        "(default: all that the node and the simulator call by default)"
    )
    add_option(parser, "--of NAMES", text, ",".join((*CONTRACT, *GROUPS)))
    text = "control law whose step is compiled, or several separated by commas"
    add_option(parser, "--controller NAME", text, LAW)
    text = f"tool of {TOOL} and {CONTACT}, or several separated by commas (default: the last link that moves)"
    add_option(parser, "--tool LINK", text)
    add_option(parser, "--batch", "the functions for many states at once as well", bool)
    add_option(parser, "--json", "print JSON instead of a table", bool)


def run(args: Namespace) -> ExitCode:
    """List the functions, compile those that the cache does not have, and report."""
    if find_compiler() is None:
        raise ConfigurationError("there is no C compiler here (cc, gcc or clang on PATH, or the one that CC names)")
    need_casadi()
    robot, folder = read_arm(args), cache_folder()
    tools = [robot.link(name, "--tool").name for name in names(args.tool or "") or [tip(robot)]]
    plugins = [(name, _plugin(name, robot)) for name in names(args.dynamics, "--dynamics", available("dynamics"))]
    if args.of != "all":
        names(args.of, "--of", (*(name for _, plugin in plugins for name in plugin.quantities()), *GROUPS, *OTHERS))
    chosen = set(split_names(args.of)) & {"all", STEP, TOOL, CONTACT}
    only_with(args, chosen & {"all", STEP}, f"with --of {STEP}", "controller")
    only_with(args, chosen - {STEP}, f"with --of {TOOL} or {CONTACT}", "tool")
    laws = names(args.controller, "--controller", available("controllers"))
    jobs = find_jobs(robot, plugins, args.of, args.batch, tools, laws)
    try:
        compiled = list(_compile(jobs))
    except OSError as cause:
        raise CacheError(f"{folder} cannot be written to: {cause.strerror}") from cause
    if args.json:
        print_json({"robot": robot.name, "folder": str(folder), "functions": compiled})
    else:
        _show(compiled, folder)
    return ExitCode.YES


def _plugin(name: str, robot: Robot) -> CompiledDynamics:
    """Return the plugin's dynamics of an arm; an error if they are not compiled."""
    dynamics = create("dynamics", name, robot)
    if not isinstance(dynamics, CompiledDynamics):
        raise ConfigurationError(f"dynamics plugin {name!r} has nothing to compile")
    return dynamics


AHEAD = 8
"""Greatest number of functions whose code is written while others are compiled; the code takes memory."""


def _compile(jobs: list[Job]) -> Iterator[dict[str, Any]]:
    """Compile the functions on all processors, and show the progress on stderr.

    Yields:
        For each function: plugin and name of the function; size of its library [byte]; time to write and compile it, or
        to find it [s]; whether the cache had it.
    """
    with tracked(total=len(jobs)) as update:
        begun: deque[tuple[Job, Path | Build, float, bool]] = deque()

        def first_of_them() -> dict[str, Any]:
            job, made, writing, cached = begun.popleft()
            update(description=f"{job.dynamics or ''} {job.title}")
            path = made.wait() if isinstance(made, Build) else made
            seconds = writing + (made.seconds if isinstance(made, Build) else 0.0)
            update(advance=1)
            about = {"dynamics": job.dynamics, "function": job.title, "size": path.stat().st_size}
            return about | {"seconds": seconds, "cached": cached}

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


def _show(compiled: list[dict[str, Any]], folder: Path) -> None:
    rows = []
    for item in compiled:
        numbers = f"{item['size'] / 1024:.0f}", f"{item['seconds']:.2f}"
        rows.append((item["dynamics"] or "", item["function"], *numbers, "was there" if item["cached"] else "compiled"))
    out = console()
    out.print(simple_table(("Dynamics", "Function", "KiB", "s", ""), rows, left=(0, 1, 4)))
    out.print("For robots with the same processor, without compiler or CasADi, copy the folder")
    out.print(str(folder), soft_wrap=True)
    out.print("to the same place under their ~/.cache, writable by its owner alone.")


class Job(NamedTuple):
    """A function to compile."""

    dynamics: str | None  # the plugin, None for kinematics
    title: str  # its name in the table
    wanted: Wanted


Plugins = Iterable[tuple[str, CompiledDynamics]]
"""Name and object of each dynamics plugin."""


def find_jobs(
    robot: Robot, plugins: Plugins, names: str, batch: bool, tools: Sequence[str], laws: Sequence[str] = (LAW,)
) -> list[Job]:
    """List the libraries that the functions need, each once.

    The functions to compile are found by calling what nodes and programs call, while the engine only lists the
    libraries that these calls need.

    Args:
        robot: the arm.
        plugins: name and object of the dynamics.
        names: functions and groups, separated by commas, or ``all``.
        batch: list the functions for many states at once too.
        tools: links whose inverse kinematics, or observers of contacts, are needed.
        laws: control laws whose control steps are needed.

    Raises:
        InputError: there is no such function or link, or no joint moves a tool.
    """
    jobs: dict[tuple[str, str], Job] = {}

    def add(dynamics: str | None, call: Callable[[], object], suffix: str = "") -> None:
        with only_listed() as found, suppress(NotReadyError):  # what is listed is not there yet
            call()
        for wanted in found:
            jobs.setdefault((wanted.name, wanted.key), Job(dynamics, wanted.name + suffix, wanted))

    groups = (*GROUPS, *OTHERS)
    chosen = groups if names == "all" else split_names(names)
    functions = None if names == "all" else [name for name in chosen if name not in groups]
    for dynamics, plugin in plugins:
        for quantity in plugin.quantities() if functions is None else functions:
            add(dynamics, partial(_call_function, plugin, quantity, batch))
        for make, suffix in _makers(chosen, tools, laws):
            add(dynamics, partial(make, plugin), suffix)
    for link in robot.links if KINEMATICS in chosen else ():
        add(None, partial(_call_kinematics, robot, link.name, batch), f" {link.name}")
    if TOOL in chosen:
        for tool in tools:
            add(None, partial(_make_inverse_kinematics, robot, tool), f" {tool}")
        add(PLANNER, lambda: _call_function(RNEA(robot), "inverse", True))  # efforts at many states
    return list(jobs.values())


def _makers(
    chosen: Sequence[str], tools: Sequence[str], laws: Sequence[str]
) -> Iterator[tuple[Callable[[CompiledDynamics], object], str]]:
    """What the chosen groups make with a model, each with the end of its name in the list."""
    yield from ((make, "") for group, make in USERS if group in chosen)
    if STEP in chosen:
        yield from ((partial(_make_step, law=law), f" {law}") for law in laws)
    if CONTACT in chosen:
        for tool in (*tools, ""):
            yield partial(MomentumObserver, link=tool, tool=bool(tool)), f" {tool or 'joints'}"


def _call_function(dynamics: CompiledDynamics, quantity: str, batch: bool) -> None:
    """Call a function of the dynamics with one state, and with many if asked."""
    kernel = dynamics.kernel(quantity)
    if batch:
        kernel.call(*(np.zeros((FEW + 1, len(own))) for own in kernel.inputs))


USERS: tuple[tuple[str, Callable[[CompiledDynamics], object]], ...] = (
    (LOOPS, lambda dynamics: Plant(dynamics).step()),  # a rollout needs its library
    (LOOPS, lambda dynamics: hardware_library(dynamics.robot.n)),
    (TRIALS, lambda dynamics: trial_function(dynamics.robot.n)),
    (PREDICTION, lambda dynamics: DDP(dynamics, Deviation(), 1, ILQRSettings(), dynamics.symbols)),  # of any length
)
"""Group → what needs its libraries."""


RUNNER = Path(__file__).parents[1] / "nodes/controller/realtime/runner.c"
"""The runner of the controller node."""


def _make_step(dynamics: CompiledDynamics, law: str) -> None:
    """Make the control step of a law, and the loop around it; the gains do not matter."""
    start_core(dynamics.robot.n, RUNNER)
    start_model(dynamics)
    values = FileParameters({}, loop_default_values(dynamics.robot))
    step = make_step(make_loop_settings(values, dynamics, law), _no_reference)
    if isinstance(step, CompiledStep):
        assert step.kernel is not None  # makes it, where this process has traced the law before


def _no_reference(ahead: float) -> Reference:
    """What a law in Python may ask for: nothing runs here, so nobody does."""
    raise NotImplementedError


def _call_kinematics(robot: Robot, link: str, batch: bool) -> None:
    """Call pose and Jacobian of a link with one position, and with many if asked."""
    kinematics = Kinematics(robot)
    for shape in ((robot.n,), (FEW + 1, robot.n))[: 2 if batch else 1]:
        kinematics.pose(link, np.zeros(shape))


def _make_inverse_kinematics(robot: Robot, link: str) -> None:
    """Make the inverse kinematics of a link, and its pose."""
    kinematics = Kinematics(robot)
    InverseKinematics(kinematics, link)
    kinematics.kernel(link)
