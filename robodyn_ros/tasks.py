# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""One call from an arm to a result that draws itself: simulate, compare, plan, identify.

Each function takes a robot or the path of its URDF, and calls the room that does the work. The room itself has more
options. A result has a ``plot()``.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from robodyn_ros.checks import finite_array
from robodyn_ros.control import loop_settings
from robodyn_ros.control.core_library import start_core
from robodyn_ros.control.core_settings import start_model
from robodyn_ros.control.loop import ControlLoop
from robodyn_ros.control.motion.point_to_point import point_to_point
from robodyn_ros.control.parameter_file import FileParameters
from robodyn_ros.document.text import digits
from robodyn_ros.dynamics.parameters import Payload
from robodyn_ros.errors import InputError, LoadWarning, check_type, is_it
from robodyn_ros.plugins import create
from robodyn_ros.robot import Array, Robot, as_robot
from robodyn_ros.simulation.comparison import LAWS, LawComparison
from robodyn_ros.simulation.comparison import compare as compare_laws
from robodyn_ros.simulation.hardware import Hardware, default_values, make_hardware
from robodyn_ros.simulation.trial import Trial, figures
from robodyn_ros.simulation.trial_files import plot_trial
from robodyn_ros.simulation.trial_run import run_trial

if TYPE_CHECKING:
    from robodyn_ros.identification import Identification, Recording
    from robodyn_ros.planning.obstacles import Obstacle
    from robodyn_ros.planning.plan import Plan
    from robodyn_ros.planning.problem import Goal, Problem

Arm = Robot | str | os.PathLike[str]
"""A robot, or the path of its URDF."""

Positions = ArrayLike | Mapping[str, float]
"""Joint positions in [rad] or [m]: one for each joint in the order of ``robot.joints``, or some by their names."""

SETTLING = 1.0
"""Time after a motion for which a simulation goes on, unless its duration is given [s]."""


@dataclass(frozen=True, eq=False, repr=False)
class SimulationResult:
    """A simulated motion.

    Attributes:
        robot: the arm.
        controller: name of the control law.
        trial: the record: true states, readings of the sensors, and commands.
    """

    robot: Robot
    controller: str
    trial: Trial

    @property
    def t(self) -> Array:
        """Times (N,) in [s]."""
        return self.trial.truth.t

    @property
    def q(self) -> Array:
        """True positions (N, n) in [rad] or [m]."""
        return self.trial.truth.values["q"]

    @property
    def qd(self) -> Array:
        """True velocities (N, n) in [rad/s] or [m/s]."""
        return self.trial.truth.values["qd"]

    @property
    def effort(self) -> Array:
        """Efforts that acted (N, n) in [N·m] or [N]."""
        return self.trial.truth.values["effort"]

    @property
    def faults(self) -> dict[str, int]:
        """Faults of arm and control: beginning of the message → number of states; empty if there was none."""
        return self.trial.faults

    def __repr__(self) -> str:
        lines = [f"{self.robot.name} under {self.controller}, {self.t[-1]:g} s"]
        found = figures(self.trial)
        for joint, error, effort in zip(self.robot.joints, found["peak_error"], found["peak_effort"], strict=True):
            said = "" if np.isnan(error) else f"greatest error {digits(1e3 * error)} m{joint.position_unit}, "
            lines.append(f"  {joint.name}: {said}greatest effort {digits(effort)} {joint.effort_unit}")
        return "\n".join([*lines, *(f"  {count} times {what}" for what, count in self.faults.items())])

    def plot(self, path: Path | None = None) -> Any:
        """Draw position, tracking error and effort of each joint, and return the axes, (n, 3).

        Args:
            path: file of the picture, whose ending says the format; None for the screen.

        Raises:
            ConfigurationError: matplotlib is not installed.
        """
        return plot_trial(self.trial, self.robot, f"{self.robot.name} under {self.controller}", path)


def simulate(
    robot: Arm,
    to: Positions | None = None,
    *,
    controller: str = "computed_torque",
    start: Positions | None = None,
    duration: float | None = None,
    parameters: Mapping[str, Any] | None = None,
) -> SimulationResult:
    """Simulate an arm under a control law: plant, drives and sensors as in the simulator, control as in the controller.

    Args:
        robot: the arm, or the path of its URDF.
        to: where the arm moves, from rest to rest; it stays unless given, and so does a joint that is not named.
        controller: name of the control law.
        start: where the arm begins; its home, the position nearest to zero, unless given.
        duration: of the simulation [s]; a second more than the motion takes unless given. The motion is as fast as 80 %
            of the limits of speed and effort, and the rate of the commands, allow
            (:func:`robodyn_ros.control.motion.point_to_point.point_to_point`).
        parameters: of the nodes ``simulator`` and ``controller``, by their names (reference/nodes in the
            documentation): ``{"mismatch.payload_mass": 2.0}``, for example.

    Warns:
        LoadWarning: gravity and friction alone exceed the effort limit of a joint on the way.

    Raises:
        InputError: an argument is wrong; the message names it.
        ConfigurationError: a parameter is unknown or wrong.
        PluginError: there is no such control law.
    """
    robot = as_robot(robot)
    if duration is not None:
        duration = float(finite_array("duration", duration, ()))
    named = {} if parameters is None else parameters
    check_type("parameters", named, Mapping, "a dict of names and values")
    first = _positions("start", start, robot, robot.home)
    places = {f"initial_position.{name}": value for name, value in zip(robot.joint_names, first.tolist(), strict=True)}
    given = {"controller": controller, **places, **named}
    loop, unused_by_loop = make_loop(given, robot)
    hardware, unused = make_simulated(given, robot)
    if unknown := sorted(unused & unused_by_loop):
        raise InputError("parameters", f"neither simulator nor controller has {', '.join(unknown)}", unknown)
    first = hardware.plant.q  # a parameter may have named another than ``start``
    loop.start(0.0, first)
    if to is not None:
        goal, limits = _positions("to", to, robot, first), loop.settings.limits
        model, period = loop.settings.controller.dynamics, hardware.period * hardware.plant.settings.step
        driven = np.where(limits.effort > 0.0, limits.effort, np.inf)  # a joint without a drive limits no motion
        motion = point_to_point(model, first, goal, velocity_limit=limits.velocity, effort_limit=driven, period=period)
        duration = motion.duration + SETTLING if duration is None else duration
        if duration < motion.duration:
            problem = f"is less than the {motion.duration:.3g} s that the motion takes within the limits of the joints"
            raise InputError("duration", problem, duration)
        accepted = loop.follow(motion, 0.0)
        if accepted.overload:
            warnings.warn(accepted.overload, LoadWarning, stacklevel=2)
    if not 0.0 < (duration := SETTLING if duration is None else duration) <= 1e6:
        raise InputError("duration", f"must be above 0 s, and 1e6 s at most, not {duration!r}", duration)
    return SimulationResult(robot, str(given["controller"]), run_trial(hardware, loop, duration))


def make_simulated(given: Mapping[str, Any], robot: Robot) -> tuple[Hardware, set[str]]:
    """Return the simulated hardware, and the names of the parameters that it does not use.

    Args:
        given: name → value of parameters of the node ``simulator``.
        robot: the arm.

    Raises:
        RobodynError: a value is wrong; the message names it.
    """
    parameters = FileParameters(given, loop_settings.MODEL | default_values(robot))
    with parameters.located():
        hardware = make_hardware(parameters, robot)
    return hardware, set(parameters.unused())


def make_loop(given: Mapping[str, Any], robot: Robot) -> tuple[ControlLoop, set[str]]:
    """Return the control loop, and the names of the parameters that it does not use.

    Args:
        given: name → value of parameters of the node ``controller``.
        robot: the arm.

    Raises:
        RobodynError: a value is wrong; the message names it.
    """
    parameters = FileParameters(given, loop_settings.loop_default_values(robot))
    with parameters.located():
        loop_settings.check_limits(given, robot)
        start_core(robot.n)
        model = loop_settings.model_parameters(parameters, robot)
        dynamics = create("dynamics", parameters["dynamics"], robot, **model)
        start_model(dynamics)
        loop = ControlLoop.from_settings(loop_settings.make_loop_settings(parameters, dynamics))
    return loop, set(parameters.unused())


def compare(robot: Arm, controllers: Sequence[str] = LAWS, **how: Any) -> LawComparison:
    """Have each control law do a step and a trajectory, in simulation, with the same stiffness and damping for all.

    Args:
        robot: the arm, or the path of its URDF.
        controllers: names of the laws.
        **how: ``natural_frequency`` [rad/s], ``damping_ratio`` [-], ``integral_rate`` [1/s], ``rate`` [Hz] and
            ``mismatch``, as :func:`robodyn_ros.simulation.comparison.compare` has them.

    Raises:
        InputError: a number is out of range, or a law follows no reference.
        PluginError: there is no such law.
    """
    return compare_laws(as_robot(robot), controllers, **how)


@dataclass(frozen=True, eq=False, repr=False)
class PlanningResult:
    """A plan, and the problem that it solves.

    Attributes:
        plan: the motion with its efforts, or the reason why there is none.
        problem: start, goal, cost and limits.
    """

    plan: Plan
    problem: Problem

    def __repr__(self) -> str:
        found, name = f"{self.plan.duration:.4g} s", self.problem.dynamics.robot.name
        return f"{name}: {found if self.plan.solved else 'no such motion'}; {self.plan.reason} ({self.plan.method})"

    def plot(self, path: Path | None = None) -> Any:
        """Draw position, velocity and effort of each joint against their limits, and return the axes, (n, 3).

        Args:
            path: file of the picture, whose ending says the format; None for the screen.

        Raises:
            ConfigurationError: matplotlib is not installed.
            NotReadyError: there is no motion.
        """
        from robodyn_ros.planning.plan import plot_plan

        return plot_plan(self.plan, self.problem, path)


def plan(
    robot: Arm,
    to: Positions | Goal,
    *,
    start: Positions | None = None,
    cost: str | None = None,
    duration: float | None = None,
    payload: Payload | None = None,
    obstacles: Sequence[Obstacle] = (),
    method: str = "collocation",
) -> PlanningResult:
    """Find the motion of least cost within the limits of position, speed and effort, from rest to rest.

    Args:
        robot: the arm, or the path of its URDF.
        to: where it ends: joint positions, or a ``JointGoal`` or ``ToolGoal`` of :mod:`robodyn_ros.planning.problem`.
        start: where it begins; the arm's home unless given.
        cost: to be minimised: ``time``, ``effort``, ``smoothness``, or a sum such as ``time+0.1*effort``; quick and
            smooth unless given, and ``time`` for time scaling. Efforts and accelerations count as ratios of the arm's
            limits of effort and speed, as for ``robodyn plan``.
        duration: of the motion [s]; free unless given.
        payload: mass that a link carries.
        obstacles: bodies that the arm keeps clear of.
        method: ``collocation``; or ``time-scaling``, which keeps to the straight line in the joints' space.

    Raises:
        InputError: an argument is wrong; the message names it.
        ConfigurationError: an optional package of the planner is not installed.
    """
    from robodyn_ros.planning.collocation.collocation import plan_by
    from robodyn_ros.planning.cost import SMOOTH, read_cost
    from robodyn_ros.planning.problem import JointGoal, Problem, ToolGoal

    robot = as_robot(robot)
    first = _positions("start", start, robot, robot.home)
    goal = to if isinstance(to, (JointGoal, ToolGoal)) else JointGoal(_positions("to", to, robot, first))
    model = create("dynamics", "rnea", robot, payload=payload, viscous=robot.damping, coulomb=robot.friction)
    named = cost or ("time" if method == "time-scaling" else SMOOTH)
    minimised = read_cost(named, robot.effort_limit, robot.velocity_limit)
    problem = Problem(model, first, goal, minimised, duration, obstacles=tuple(obstacles))
    return PlanningResult(plan_by(method, problem), problem)


def identify(
    robot: Arm,
    recordings: str | os.PathLike[str] | Recording | Sequence[str | os.PathLike[str] | Recording],
    **how: Any,
) -> Identification:
    """Identify masses, inertias and friction of an arm from recordings of its motion.

    Args:
        robot: the arm, or the path of its URDF.
        recordings: one or several: paths of a rosbag2, an MCAP or a CSV file, or what ``read_recording`` returned.
        **how: ``stribeck`` and ``armature`` of ``IdentificationSettings``, and the fields of ``SignalSettings``, such
            as ``cutoff`` [Hz] or ``average``; both are in :mod:`robodyn_ros.identification.settings`.

    Raises:
        InputError: a recording cannot be read or shows too little, or there is no such setting.
        ConfigurationError: a setting is out of range, or a bag is to be read and rosbags is not installed.
    """
    from robodyn_ros.identification import IdentificationSettings, Recording, SignalSettings, prepare, read_recording
    from robodyn_ros.identification import identify as identify_samples
    from robodyn_ros.identification.samples import RecordedSamples

    robot = as_robot(robot)
    some = [recordings] if isinstance(recordings, (str, os.PathLike, Recording)) else list(recordings)
    known = [{item.name for item in fields(kind)} for kind in (IdentificationSettings, SignalSettings)]
    if unknown := sorted(set(how) - known[0] - known[1]):
        names = sorted(known[0] | known[1])
        problem = f"has no setting {', '.join(unknown)}; it has {', '.join(names)}{is_it(unknown[0], names)}"
        raise InputError("identify", problem, unknown)
    estimation, signals = ({name: value for name, value in how.items() if name in names} for names in known)
    read = [one if isinstance(one, Recording) else read_recording(one, robot.joint_names) for one in some]
    samples = RecordedSamples.joined([one.samples for one in prepare(read, robot, SignalSettings(**signals))])
    return identify_samples(robot, samples, IdentificationSettings(**estimation))


def _positions(argument: str, given: Positions | None, robot: Robot, before: Array) -> Array:
    """The joint positions (n,) that an argument gives; a joint that it does not name stays where it was."""
    if given is None:
        return before
    if not isinstance(given, Mapping):
        return finite_array(argument, given, (robot.n,))
    if unknown := sorted(set(given) - set(robot.joint_names)):
        problem = f"{robot.name} has no joint {', '.join(map(repr, unknown))}; it has {', '.join(robot.joint_names)}"
        raise InputError(argument, f"{problem}{is_it(unknown[0], robot.joint_names)}", given)
    return np.array([float(given.get(name, value)) for name, value in zip(robot.joint_names, before, strict=True)])
