# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""What nodes and programs compile, listed ahead: for a start without delay, and for robots that cannot compile.

The functions to compile are found by calling what nodes and programs call, while the engine only lists the libraries
that these calls need.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from robodyn_ros.settings import split_names

if TYPE_CHECKING:
    from robodyn_ros.control.laws.base import Reference
    from robodyn_ros.dynamics.compiled import CompiledDynamics
    from robodyn_ros.engine.library import Wanted
    from robodyn_ros.robot import Robot

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

STEP = "step"
"""Name of the group with the control steps of the laws."""

LAWS = ("computed_torque",)
"""Laws by default, those that the nodes choose."""

GROUPS = (LOOPS, KINEMATICS, TOOL, STEP)
"""Groups that are compiled by default."""

OTHERS = (PREDICTION, TRIALS)
"""Groups that are compiled on demand."""

PLANNER = "rnea"
"""Plugin that plans motions to a pose."""


class Job(NamedTuple):
    """A function to compile."""

    dynamics: str | None  # the plugin, None for kinematics
    title: str  # its name in the table
    wanted: Wanted


def find_jobs(
    robot: Robot,
    plugins: Iterable[tuple[str, CompiledDynamics]],
    names: str,
    batch: bool,
    tools: Sequence[str],
    laws: Sequence[str] = LAWS,
) -> list[Job]:
    """List the libraries that the functions need, each once.

    Args:
        robot: the arm.
        plugins: name and object of the dynamics.
        names: functions and groups, separated by commas, or ``all``.
        batch: list the functions for many states at once too.
        tools: links whose inverse kinematics are needed.
        laws: control laws whose control steps are needed.

    Raises:
        InputError: there is no such function or link, or no joint moves a tool.
    """
    jobs: dict[tuple[str, str], Job] = {}

    def add(dynamics: str | None, call: Callable[[], object], suffix: str = "") -> None:
        from robodyn_ros.engine.library import only_listed

        with only_listed() as found:
            call()
        for wanted in found:
            jobs.setdefault((wanted.name, wanted.key), Job(dynamics, wanted.name + suffix, wanted))

    chosen, functions = _asked_for(names)
    for dynamics, plugin in plugins:
        for quantity in plugin.quantities() if functions is None else functions:
            add(dynamics, partial(_call_function, plugin, quantity, batch))
        for group, make in ((LOOPS, _step_plant), (TRIALS, _make_trial), (PREDICTION, _make_mpc)):
            if group in chosen:
                add(dynamics, partial(make, plugin))
        for law in laws if STEP in chosen else ():
            add(dynamics, partial(_make_step, plugin, law), f" {law}")
    for link in robot.links if KINEMATICS in chosen else ():
        add(None, partial(_call_kinematics, robot, link.name, batch), f" {link.name}")
    if TOOL in chosen:
        for tool in tools:
            add(None, partial(_make_inverse_kinematics, robot, tool), f" {tool}")
        add(PLANNER, partial(_call_planner, robot))
    return list(jobs.values())


def _asked_for(names: str) -> tuple[Sequence[str], Sequence[str] | None]:
    """The groups that names ask for, and the functions; None for all that the dynamics have."""
    groups = (*GROUPS, *OTHERS)
    if names == "all":
        return groups, None
    named = split_names(names)
    return named, [name for name in named if name not in groups]


def _call_function(dynamics: CompiledDynamics, quantity: str, batch: bool) -> None:
    """Call a function of the dynamics with one state, and with many if asked."""
    import numpy as np

    from robodyn_ros.engine.kernel import FEW

    kernel = dynamics.kernel(quantity)
    if batch:
        kernel.call(*(np.zeros((FEW + 1, len(own))) for own in kernel.inputs))


def _step_plant(dynamics: CompiledDynamics) -> None:
    """Step the simulator's plant, and make the drives and sensors around it; a rollout needs the plant's library."""
    from robodyn_ros.engine.library import is_listing
    from robodyn_ros.errors import NotReadyError
    from robodyn_ros.simulation import Plant
    from robodyn_ros.simulation.devices import hardware_library

    for make in (lambda: Plant(dynamics).step(), lambda: hardware_library(dynamics.robot.n)):
        with suppress(NotReadyError) if is_listing() else nullcontext():  # what is listed is not there yet
            make()


def _make_trial(dynamics: CompiledDynamics) -> None:
    """Make the loop of a trial."""
    from robodyn_ros.simulation.compiled_trial import trial_function

    trial_function(dynamics.robot.n)


THREAD = Path(__file__).parent / "nodes/controller/realtime/thread.c"
"""The controller node's thread."""


def _make_step(dynamics: CompiledDynamics, law: str) -> None:
    """Make the control step of a law, and the loop around it; the gains do not matter."""
    from robodyn_ros.control.compiled_step import CompiledStep
    from robodyn_ros.control.core_library import start_core
    from robodyn_ros.control.core_settings import make_step, start_model
    from robodyn_ros.control.loop_settings import loop_default_values, make_loop_settings
    from robodyn_ros.control.parameter_file import FileParameters

    start_core(dynamics.robot.n, THREAD)
    start_model(dynamics)
    values = FileParameters({}, loop_default_values(dynamics.robot))
    step = make_step(make_loop_settings(values, dynamics, law), _no_reference)
    if isinstance(step, CompiledStep):
        assert step.kernel is not None  # makes it, where this process has traced the law before


def _no_reference(ahead: float) -> Reference:
    """What a law in Python may ask for: nothing runs here, so nobody does."""
    raise NotImplementedError


def _make_mpc(dynamics: CompiledDynamics) -> None:
    """Make the solver of the law ``mpc``; its length does not matter."""
    from robodyn_ros.planning.ddp.ilqr import DDP, ILQRSettings
    from robodyn_ros.planning.mpc import Deviation

    DDP(dynamics, Deviation(), 1, ILQRSettings(), dynamics.symbols)


def _call_kinematics(robot: Robot, link: str, batch: bool) -> None:
    """Call pose and Jacobian of a link with one position, and with many if asked."""
    import numpy as np

    from robodyn_ros.engine.kernel import FEW
    from robodyn_ros.kinematics import Kinematics

    kinematics = Kinematics(robot)
    for shape in ((robot.n,), (FEW + 1, robot.n))[: 2 if batch else 1]:
        kinematics.pose(link, np.zeros(shape))


def _make_inverse_kinematics(robot: Robot, link: str) -> None:
    """Make the inverse kinematics of a link, and its pose."""
    from robodyn_ros.kinematics import Kinematics
    from robodyn_ros.kinematics.inverse import InverseKinematics

    kinematics = Kinematics(robot)
    InverseKinematics(kinematics, link)
    kinematics.kernel(link)


def _call_planner(robot: Robot) -> None:
    """Call the efforts at many states, which planned motions need."""
    from robodyn_ros.dynamics.rnea import RNEA

    _call_function(RNEA(robot), "inverse", True)
