"""``robodyn compile``: fills the cache ahead, for a start without waiting and for robots that cannot compile."""

from __future__ import annotations

import time
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from robodyn_ros.cli.console import console, print_json, progress_bar
from robodyn_ros.cli.verb import ExitCode, Verb
from robodyn_ros.errors import ConfigurationError

if TYPE_CHECKING:
    from robodyn_ros.dynamics.compiled import CompiledDynamics
    from robodyn_ros.engine.library import Wanted
    from robodyn_ros.robot import Robot


# What ``robodyn compile`` makes: found out by doing what nodes and programs do, while only listing what that takes.

CONTRACT = ("inverse", "forward", "mass_matrix", "coriolis_matrix", "gravity", "terms", "energy")
"""The functions of the dynamics that controllers and the simulator call."""

LOOPS = "motion"
"""The name that stands for the loops of the simulator and of rollouts."""

KINEMATICS = "kinematics"
"""The name that stands for pose and Jacobian of every link."""

TOOL = "tool"
"""The name that stands for inverse kinematics of the tools, and what motions to a pose are planned with."""

PREDICTION = "mpc"
"""The name that stands for what the control law of that name solves its problems with."""

TRIALS = "trial"
"""The name that stands for the loop of a sweep's trials, and what it asks of the model."""

PLANNER = "rnea"
"""The plugin that motions to a pose are planned with."""

GROUPS = (LOOPS, KINEMATICS, TOOL)
"""Made unless something else is asked for."""

OTHERS = (PREDICTION, TRIALS)
"""Made if they are asked for."""


class Job(NamedTuple):
    """A function to make."""

    dynamics: str | None  # the plugin that it is for, None for kinematics
    title: str  # how the table calls it
    wanted: Wanted


def find_jobs(
    robot: Robot, plugins: Iterable[tuple[str, CompiledDynamics]], names: str, batch: bool, tools: Sequence[str]
) -> list[Job]:
    """What is asked for when the functions are called, each once.

    Args:
        robot: the arm.
        plugins: name and object of the dynamics.
        names: of functions and groups, separated by commas, or ``all``.
        batch: whether to call them with many states too.
        tools: names of the links that are to be brought somewhere.

    Raises:
        InputError: there is no such function or link, or a tool that no joint moves.
    """
    jobs: dict[tuple[str, str], Job] = {}

    def listed(dynamics: str | None, call: Callable[[], object], suffix: str = "") -> None:
        from robodyn_ros.engine.library import only_listed

        with only_listed() as found:
            call()
        for wanted in found:
            jobs.setdefault((wanted.name, wanted.key), Job(dynamics, wanted.name + suffix, wanted))

    chosen = [name.strip() for name in names.split(",")]
    for dynamics, plugin in plugins:
        for quantity in plugin.quantities() if names == "all" else chosen:
            if quantity not in (*GROUPS, *OTHERS):
                listed(dynamics, partial(_call, plugin, quantity, batch))
        if names == "all" or LOOPS in chosen:
            listed(dynamics, partial(_move, plugin))
        if names == "all" or TRIALS in chosen:
            listed(dynamics, partial(_try, plugin))
        if names == "all" or PREDICTION in chosen:
            listed(dynamics, partial(_predict, plugin))
    if names == "all" or KINEMATICS in chosen:
        for link in robot.links:
            listed(None, partial(_place, robot, link.name, batch), f" {link.name}")
    if names == "all" or TOOL in chosen:
        for tool in tools:
            listed(None, partial(_bring, robot, tool), f" {tool}")
        listed(PLANNER, partial(_plan, robot))
    return list(jobs.values())


def _call(dynamics: CompiledDynamics, quantity: str, batch: bool) -> None:
    """One state, and many."""
    import numpy as np

    kernel = dynamics.kernel(quantity)
    if batch:
        kernel.call(*(np.zeros((1, len(own))) for own in kernel.inputs))


def _move(dynamics: CompiledDynamics) -> None:
    """What the simulator does; a rollout takes the same library."""
    from robodyn_ros.simulation import Plant

    Plant(dynamics).step()


def _try(dynamics: CompiledDynamics) -> None:
    """What a trial under any law that is written in C takes, by the integrator that plants have of their own."""
    from robodyn_ros.plugins import create
    from robodyn_ros.simulation.hardware.settings import INTEGRATOR
    from robodyn_ros.simulation.trial.memory import QUANTITIES, model_function, trial_function

    trial_function(dynamics, create("integrators", INTEGRATOR))
    for quantity in QUANTITIES.values():
        model_function(dynamics, quantity)


def _predict(dynamics: CompiledDynamics) -> None:
    """What the law solves its problems with, whatever their length."""
    from robodyn_ros.planning.ddp.ddp import DDP, ILQRSettings
    from robodyn_ros.planning.mpc_problem import Deviation

    DDP(dynamics, Deviation(), 1, ILQRSettings(), dynamics.symbols)


def _place(robot: Robot, link: str, batch: bool) -> None:
    """One pose, and many."""
    import numpy as np

    from robodyn_ros.kinematics import Kinematics

    kinematics = Kinematics(robot)
    for shape in ((robot.n,), (1, robot.n))[: 2 if batch else 1]:
        kinematics.pose(link, np.zeros(shape))


def _bring(robot: Robot, link: str) -> None:
    """Inverse kinematics, and where the link is."""
    from robodyn_ros.kinematics import Kinematics
    from robodyn_ros.kinematics.inverse import InverseKinematics

    kinematics = Kinematics(robot)
    InverseKinematics(kinematics, link)
    kinematics.kernel(link)


def _plan(robot: Robot) -> None:
    """What planned motions need: efforts at many states."""
    from robodyn_ros.dynamics.rnea import RNEA

    _call(RNEA(robot), "inverse", True)


DYNAMICS = ("rnea",)
"""The plugin that the nodes choose."""


class Made(NamedTuple):
    """A function, as the table shows it."""

    dynamics: str | None  # the plugin, None for kinematics
    function: str
    size: int  # of the library [byte]
    seconds: float  # that it took to write, compile or find it
    cached: bool  # it was there before


def add_arguments(parser: ArgumentParser) -> None:
    """See :class:`Verb`."""
    parser.add_argument("urdf", type=Path, help="the arm")
    text = f"plugins, for example {' '.join(DYNAMICS)} lagrangian (default: {' '.join(DYNAMICS)})"
    parser.add_argument("--dynamics", nargs="+", default=DYNAMICS, metavar="NAME", help=text)
    text = (
        f"functions of the dynamics, {LOOPS} (the simulator's loops), {KINEMATICS} (of every link) and {TOOL} (inverse "
        f"kinematics, and what motions to a pose are planned with), {PREDICTION} (of the law of that name), {TRIALS} "
        "(of sweeps), separated by commas, or all (default: all that the other controllers and the simulator call)"
    )
    parser.add_argument("--of", default=",".join((*CONTRACT, *GROUPS)), metavar="NAMES", help=text)
    text = "links to be brought somewhere (default: the last that moves)"
    parser.add_argument("--tool", nargs="+", metavar="LINK", help=text)
    parser.add_argument("--batch", action="store_true", help="the functions for many states at once too")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")


def run(args: Namespace) -> ExitCode:
    """Compile what is not there yet."""
    from robodyn_ros import load_robot
    from robodyn_ros.engine.library import CacheError, cache_folder
    from robodyn_ros.robot.robot import tip

    _check_tools()
    robot, folder = load_robot(args.urdf), cache_folder()
    plugins = [(name, _plugin(name, robot)) for name in args.dynamics]
    jobs = find_jobs(robot, plugins, args.of, args.batch, args.tool or [tip(robot)])
    try:
        made = list(_make(jobs))
    except OSError as cause:
        raise CacheError(f"{folder} cannot be written to: {cause.strerror}") from cause
    if args.json:
        functions = [item._asdict() for item in made]
        print_json({"robot": robot.name, "folder": str(folder), "functions": functions})
    else:
        _show(made, folder)
    return ExitCode.YES


def _check_tools() -> None:
    from robodyn_ros.engine import find_compiler
    from robodyn_ros.engine.library import has_casadi

    if find_compiler() is None:
        raise ConfigurationError("there is no C compiler here (cc, gcc or clang on PATH, or the one that CC names)")
    if not has_casadi():
        raise ConfigurationError("CasADi is not installed here: pip install casadi")


def _plugin(name: str, robot: Robot) -> CompiledDynamics:
    from robodyn_ros.dynamics.compiled import CompiledDynamics
    from robodyn_ros.plugins import create

    dynamics = create("dynamics", name, robot)
    if not isinstance(dynamics, CompiledDynamics):
        raise ConfigurationError(f"dynamics plugin {name!r} has nothing to compile")
    return dynamics


def _make(jobs: list[Job]) -> Iterator[Made]:
    """Make them one after the other, and show on stderr how far it is."""
    from robodyn_ros.engine.library import make_library

    with progress_bar() as progress:
        task = progress.add_task("", total=len(jobs))
        for job in jobs:
            progress.update(task, description=f"{job.dynamics or ''} {job.title}")
            written: list[str] = []

            def source(job: Job = job, written: list[str] = written) -> str:
                written.append(job.wanted.source())
                return written[-1]

            begin = time.perf_counter()
            path = make_library(job.wanted.name, job.wanted.key, source)
            assert path is not None  # the tools are there
            seconds = time.perf_counter() - begin
            yield Made(job.dynamics, job.title, path.stat().st_size, seconds, not written)
            progress.advance(task)


def _show(made: list[Made], folder: Path) -> None:
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
    for item in made:
        state = "was there" if item.cached else "compiled"
        table.add_row(item.dynamics or "", item.function, f"{item.size / 1024:.0f}", f"{item.seconds:.2f}", state)
    out = console()
    out.print(table)
    out.print("For robots with the same processor, without compiler or CasADi, copy the folder", markup=False)
    out.print(str(folder), markup=False, soft_wrap=True)
    out.print("to the same place under their ~/.cache, writable by its owner alone.", markup=False)


VERB = Verb(
    summary="compile an arm's dynamics ahead",
    description=(
        "Compiles an arm's dynamics into the cache, so that nothing need be compiled\n"
        "when a node starts. The folder may be copied to robots with the same processor:\n"
        "they run what is in it without a compiler and without CasADi."
    ),
    examples=(
        ("robodyn compile arm.urdf", "what the nodes call"),
        ("robodyn compile arm.urdf --of all --batch", "everything"),
        ("robodyn compile arm.urdf --of tool --tool hand tool", "for two tools"),
        ("robodyn compile arm.urdf --dynamics rnea lagrangian", "of both"),
    ),
    add_arguments=add_arguments,
    run=run,
)
