"""What ``robodyn compile`` makes: found out by doing what nodes and programs do, while only listing what that takes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from robodyn_ros.dynamics.compiled import CompiledDynamics
    from robodyn_ros.engine.library import Wanted
    from robodyn_ros.robot import Robot

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
    from robodyn_ros.simulation.rig import INTEGRATOR
    from robodyn_ros.simulation.trial_library import plain_function, trial_function
    from robodyn_ros.simulation.trial_setup import QUANTITIES

    trial_function(dynamics, create("integrators", INTEGRATOR))
    for quantity in QUANTITIES.values():
        plain_function(dynamics, quantity)


def _predict(dynamics: CompiledDynamics) -> None:
    """What the law solves its problems with, whatever their length."""
    from robodyn_ros.planning.ddp import DDP
    from robodyn_ros.planning.ilqr_config import ILQRConfig
    from robodyn_ros.planning.mpc_cost import Deviation

    DDP(dynamics, Deviation(), 1, ILQRConfig(), dynamics.symbols)


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
