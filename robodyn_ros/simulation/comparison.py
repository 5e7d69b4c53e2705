# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""A comparison of control laws: each does a step and a trajectory on the same arm, with the same gains."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from robodyn_ros.checks import check
from robodyn_ros.control import Controller, FileParameters, JointGains, Reference, durations, gains, rest_to_rest
from robodyn_ros.control.loop_settings import check_limits, loop_default_values, make_law, model_parameters
from robodyn_ros.document.plotting import LIMIT_LINE, REFERENCE_LINE, finish_joint_figure, law_figure, plot_errors
from robodyn_ros.document.text import digits, quantity
from robodyn_ros.dynamics.base import Dynamics
from robodyn_ros.errors import EffortError, InputError, RobodynError
from robodyn_ros.plugins import create, load_whole, origin, raised
from robodyn_ros.robot import Array, Joint, Robot, position_ranges
from robodyn_ros.simulation.plant.base import PlantSettings
from robodyn_ros.simulation.plant.mismatch import Mismatch
from robodyn_ros.simulation.plant.native import Plant
from robodyn_ros.simulation.rollout import simulate
from robodyn_ros.simulation.trial import STEP_FAILED, magnitudes, stop_line

LAWS = ("pd", "gravity_compensation", "computed_torque", "impedance", "disturbance_observer", "adaptive")
"""Laws that are compared by default."""

PART = 0.5
"""Fraction of each joint's range that the trajectory covers, about the middle [-]."""

STEP = 0.03
"""Height of the step as a fraction of the range [-]: quick laws come near their effort limits, but only briefly."""

STEP_TIME = 2.5
"""Duration of the step [s]."""

REST = 0.5
"""Time at rest after the trajectory, for the steady-state error [s]."""

SPEED, ACCELERATION = 0.35, 1.0
"""Limits of the trajectory: fraction of the velocity limit [-], and velocity limits per second [1/s]."""

UNLIMITED = {True: (0.5, 0.5), False: (1.0, 1.0)}
"""Prismatic or not → range of a joint without position limits [m, rad] (±), and speed limit where it has none."""

STEADY = 0.2
"""Time at the end of a motion over which the steady-state error is averaged [s]."""

SETTLED = 0.02
"""Band of the settling time, as a fraction of the step [-]."""

SOONER = 0.8
"""Ratio of settling times below which a law settles sooner [-]."""

EQUAL = 1.1
"""Ratio of RMS errors up to which two laws follow equally well [-]: other masses or motions change it by more."""

NEGLIGIBLE = 3e-4
"""Ratio of the RMS error to the distance below which it is negligible [-]: 0.3 mrad on a radian, an encoder's step."""

FASTEST = 1e5
"""Greatest rate of the control [Hz]."""

FLOOR = 1e-3
"""Least error on the logarithmic scale of the figure [mm] or [mrad]."""


class ComparedMotion(NamedTuple):
    """A motion that each law does."""

    name: str
    start: Array  # (n,), at rest [rad] or [m]
    duration: float  # [s]
    reference: Callable[[float], Reference]
    size: Array  # distance that each joint moves (n,) [rad] or [m]; 0 if its range is one point

    def relative(self, values: Array) -> Array:
        """Return values (n,) over the distances; 0 for a joint that does not move."""
        return np.divide(values, self.size, out=np.zeros_like(values), where=self.size > 0.0)


class ComparedRun(NamedTuple):
    """A motion under a law, at N times."""

    t: Array  # (N,) [s]
    q: Array  # (N, n) [rad] or [m]
    reference: Array  # (N, n)
    effort: Array  # effort that acted (N, n) [N·m] or [N]
    effort_limit: Array  # (n,); inf where there is none

    @property
    def error(self) -> Array:
        """Reference minus position (N, n) [rad] or [m]."""
        return self.reference - self.q

    def figures(self, motion: ComparedMotion) -> dict[str, Array]:
        """Return the figures of the tables, (n,) each; a joint that does not settle has a settling time of NaN."""
        final = self.error[self.t >= self.t[-1] - STEADY]
        outside = np.abs(self.error) > np.where(motion.size > 0.0, SETTLED * motion.size, np.inf)
        last = np.where(outside.any(axis=0), len(self.t) - np.argmax(outside[::-1], axis=0), 0)
        settles = np.where(last < len(self.t), self.t[np.minimum(last, len(self.t) - 1)], np.nan)
        steady = np.abs(final.mean(axis=0))
        shown = magnitudes("error", self.error) | {"steady_state_error": steady, "settling_time": settles}
        saturated = (np.abs(self.effort) >= self.effort_limit).mean(axis=0)
        return shown | magnitudes("effort", self.effort) | {"saturated": saturated}


def compared_motions(robot: Robot) -> tuple[ComparedMotion, ComparedMotion]:
    """Return a step of all joints at once, and a trajectory there and back."""
    far, fast = np.array([UNLIMITED[joint.is_prismatic] for joint in robot.joints]).T
    lower, upper = position_ranges(robot, far)
    middle, span = (lower + upper) / 2.0, upper - lower
    start, goal = middle - PART * span / 2.0, middle + PART * span / 2.0
    speed = np.where(np.isfinite(robot.velocity_limit), robot.velocity_limit, fast)
    acceleration = np.minimum(ACCELERATION * speed, robot.symmetric_acceleration_limit)
    legs = durations([start, goal, start], SPEED * speed, acceleration, robot.jerk_limit)
    trajectory = rest_to_rest([start, goal, start], [0.0, legs[0], legs.sum()])
    step, zero = STEP * span, np.zeros(robot.n)
    held = Reference(start + step, zero, zero, zero)
    end = trajectory.duration + REST
    along = ComparedMotion("trajectory", start, end, lambda t: Reference(*trajectory.sample(t), zero), goal - start)
    return ComparedMotion("step", start, STEP_TIME, lambda t: held, step), along


def run_motion(controller: Controller, plant: Plant, motion: ComparedMotion, rate: float) -> ComparedRun:
    """Run a motion under a law (:func:`.rollout.simulate`).

    Args:
        controller: the law; its memory is cleared first.
        plant: the arm.
        motion: the motion.
        rate: control rate [Hz]; a period is a whole number of the plant's steps.
    """
    plant.reset(motion.start)
    controller.forget()
    held = max(1, round(1.0 / (rate * plant.settings.step)))
    run = simulate(plant, controller, motion.reference, motion.duration, held)
    return ComparedRun(run.t, run.q, run.reference, run.effort, plant.effort_limit)


@dataclass(frozen=True, eq=False)
class LawComparison:
    """Control laws on the same arm, with the same motions and gains.

    Attributes:
        robot: the arm.
        arm: the differences between the arm and the model of the laws, in words.
        motions: the step and the trajectory.
        runs: for each motion, law → its run.
        failures: law → reason why it has no run; it is not judged.
    """

    robot: Robot
    arm: str
    motions: tuple[ComparedMotion, ComparedMotion]
    runs: tuple[Mapping[str, ComparedRun], Mapping[str, ComparedRun]]
    failures: Mapping[str, str] = field(default_factory=dict)

    def scores(self) -> dict[str, float]:
        """Return the score of each law on the trajectory, best first.

        A score is the RMS error over the distance that a joint moves, the root mean square over the joints [-].
        """
        (_, motion), (_, runs) = self.motions, self.runs
        errors = {name: motion.relative(run.figures(motion)["rms_error"]) for name, run in runs.items()}
        found = {name: float(np.sqrt(np.mean(error**2))) for name, error in errors.items()}
        return dict(sorted(found.items(), key=lambda item: item[1]))

    def settling(self) -> dict[str, float]:
        """Return when the last joint of each law has settled after the step [s]; inf if one never does."""
        (motion, _), (runs, _) = self.motions, self.runs
        found = {name: run.figures(motion)["settling_time"] for name, run in runs.items()}
        return {name: float(np.nan_to_num(times, nan=np.inf).max()) for name, times in found.items()}

    def verdict(self) -> str:
        """Return in words which laws follow best, whether they settle, and why an error does not vanish.

        Laws are equal if none makes more than :data:`EQUAL` times the least error, or more than :data:`NEGLIGIBLE`.
        """
        failed = "".join(f" No verdict on {name}: {why}." for name, why in self.failures.items())
        (_, motion), (_, runs) = self.motions, self.runs
        if not runs:
            return failed.strip()
        scores, times = self.scores(), self.settling()
        least = min(scores.values())
        equal = [name for name, score in scores.items() if score <= max(EQUAL * least, NEGLIGIBLE)]
        best = min(equal, key=times.__getitem__)
        if len(equal) == 1:
            said = f"{best} follows best, with an RMS error of {digits(100.0 * least)}% of the distance"
        else:
            named = f"{', '.join(equal[:-1])} and {equal[-1]}"
            most = digits(100.0 * scores[equal[-1]])
            said = f"{named} follow equally well, with RMS errors of up to {most}% of the distance"
        ratios = {name: digits(score / least) for name, score in scores.items() if name not in equal}
        worse = [f"{name} makes {ratio} times as much" for name, ratio in ratios.items()]
        said += "; " + ", ".join(worse) if worse else ""
        said += f". {self._settling_verdict(best, 'it' if len(equal) == 1 else best)}"
        steady = runs[best].figures(motion)["steady_state_error"]
        worst = int(np.argmax(motion.relative(steady)))
        if steady[worst] > 1e-3 * motion.size[worst]:
            joint = self.robot.joints[worst]
            left = quantity(float(steady[worst]), joint.position_unit)
            said += f". The steady-state error of {best}, {left} at {joint.name}, comes from errors of the model: "
            said += "correct masses remove it, or integral action (integral rate above 0)"
        limited = [name for name, run in runs.items() if (np.abs(run.effort) >= run.effort_limit).any()]
        return f"{said}.{' At an effort limit at times: ' + ', '.join(limited) + '.' if limited else ''}{failed}"

    def _settling_verdict(self, best: str, called: str) -> str:
        """Say if a law settles after a step, and which laws settle sooner, or never; ``called`` is its subject."""
        times = self.settling()
        band = f"within {SETTLED:.0%} of the step"
        soonest, never = min(times, key=times.__getitem__), [name for name in times if np.isinf(times[name])]
        if np.isinf(times[best]):
            (motion, _), (runs, _) = self.motions, self.runs
            unsettled = np.array(self.robot.joint_names)[np.isnan(runs[best].figures(motion)["settling_time"])]
            # The best of equals settles soonest: none of them does.
            who, of = ("it never settles", "") if called == "it" else ("they never settle", f"{best}: ")
            said = f"But after a step {who} {band} ({of}{', '.join(unsettled)})"
            return said if np.isinf(times[soonest]) else f"{said}; {soonest} does in {times[soonest]:.2f} s"
        said = f"After a step {called} settles {band} in {times[best]:.2f} s"
        if times[soonest] < SOONER * times[best]:
            said += f", {soonest} in {times[soonest]:.2f} s"
        if not never:
            return said
        *others, last = never
        return f"{said}; {', '.join(others)} and {last} never do" if others else f"{said}; {last} never does"

    def __repr__(self) -> str:
        return textwrap.fill(f"{self.robot.name}, {self.arm}: {self.verdict()}", 80)

    def plot(self, path: Path | None = None) -> Any:
        """Draw step, tracking error and effort of each joint, and return the axes, (rows, 3).

        A joint has a row for every four laws (:data:`~robodyn_ros.document.plotting.LAWS_A_PANEL`), on the same scale.

        Args:
            path: file of the picture, whose ending says the format; None for the screen.

        Raises:
            ConfigurationError: matplotlib is not installed.
        """
        steps, runs = self.runs

        def draw_row(row: Any, index: int, laws: tuple[str, ...], colours: Colours) -> None:
            joint, some = self.robot.joints[index], {name: runs[name] for name in laws}
            _response(row[0], joint, index, {name: steps[name] for name in laws}, colours)
            plot_errors(row[1], {name: (run.t, run.error[:, index]) for name, run in some.items()}, colours, FLOOR)
            row[1].set_ylabel(f"tracking error [m{joint.position_unit}]")
            _effort(row[2], joint, index, some, colours)

        with law_figure(path, self.robot.n, runs, draw_row, "col") as (figure, grid):
            for axes, heading in zip(grid[0], ("Step", "Trajectory: error", "Trajectory: effort"), strict=True):
                axes.set_title(heading, weight="bold")
            for axes in grid.flat:
                axes.margins(x=0.0)
            finish_joint_figure(figure, grid, f"{self.robot.name}: {self.arm}", linespacing=1.5)
        return grid


def compare(
    robot: Robot,
    controllers: Sequence[str] = LAWS,
    *,
    natural_frequency: float = 12.0,
    damping_ratio: float = 1.0,
    integral_rate: float = 0.0,
    rate: float = 500.0,
    mismatch: Mismatch | None = None,
    parameters: Mapping[str, Any] | None = None,
) -> LawComparison:
    """Have each law do a step and a trajectory, in simulation, with the same stiffness and damping for all.

    Args:
        robot: the arm.
        controllers: names of the laws.
        natural_frequency: of the errors [rad/s].
        damping_ratio: of the errors [-].
        integral_rate: rate of the integral action [1/s].
        rate: of the control [Hz].
        mismatch: the differences between the arm and the model of the laws; none by default. A payload of the model,
            in ``parameters``, is not one of the arm.
        parameters: name → value, of the controller node: gains of each joint, settings of the laws, gravity and limits
            of the efforts. With them the three numbers above do not count.

    A law that fails in a motion, for example because it is unstable, has no run, and the verdict gives the reason.

    Raises:
        InputError: a number is out of range, no law is named, or a law follows no reference.
        PluginError: there is no such law.
    """
    check(0.0 < rate <= FASTEST, "rate", f"above 0 and at most {FASTEST:g}", rate)
    _check_laws(controllers)
    given, mismatch = parameters or {}, mismatch or Mismatch()
    values = FileParameters(given, loop_default_values(robot))
    with values.located():
        check_limits(given, robot)
        limit = np.array([values[f"effort_limits.{joint}"] for joint in robot.joint_names])
        model = create("dynamics", values["dynamics"], robot, gravity=values["gravity"])
    drawn = mismatch.draw(robot, seed=0)
    arm = create("dynamics", "rnea", robot, gravity=values["gravity"], **drawn.parameters)
    held = ceil(1.0 / (rate * PlantSettings.step))  # of the plant's steps, so that a period is a whole number of them
    plant = Plant(arm, PlantSettings(1.0 / (rate * held)), limit, friction=drawn.friction)
    wanted = (natural_frequency, damping_ratio, integral_rate)
    motions, failures = compared_motions(robot), {}
    runs: tuple[dict[str, ComparedRun], dict[str, ComparedRun]] = {}, {}
    for name in controllers:
        law, motion = None, motions[0]
        try:
            law = _law(name, model, wanted, None if parameters is None else values)
            runs[0][name], runs[1][name] = [run_motion(law, plant, motion := each, rate) for each in motions]
        except RobodynError as problem:
            if law is None and not isinstance(problem, EffortError):
                raise  # of the settings
            kind = "law" if isinstance(problem, EffortError) else STEP_FAILED
            failures[name] = f"{motion.name} {stop_line(f'{kind}: {problem}', plant.time)}"
        except Exception as problem:
            if origin(problem) is None:
                raise
            failures[name] = raised(problem)  # a law of another package; the others are judged
    payload = model.parameters.payload
    different = _difference(mismatch, 0.0 if payload is None else payload.mass)
    return LawComparison(robot, different, motions, runs, failures)


def _check_laws(controllers: Sequence[str]) -> None:
    """Check that names of laws are given, each of a law that follows a reference."""
    check(not isinstance(controllers, str), "controllers", "a list of names", controllers)
    if not controllers:
        raise InputError("controllers", "names none", controllers)
    for name in controllers:
        if not load_whole("controllers", name).follows:
            raise InputError("controllers", f"{name!r} follows no reference", name)


def _law(name: str, model: Dynamics, wanted: tuple[float, float, float], values: FileParameters | None) -> Controller:
    if values is not None:
        with values.located():
            model.configure(payload=model_parameters(values, model.robot)["payload"])
            joints = [values.settings(JointGains, f"gains.{joint}.") for joint in model.robot.joint_names]
            return make_law(name, model, joints, values)
    return create("controllers", name, model, *gains(load_whole("controllers", name), model, model.robot.home, *wanted))


def _difference(mismatch: Mismatch, known: float) -> str:
    """Describe the differences between the arm and the model, which has a payload of the mass ``known`` [kg]."""
    carried = mismatch.payload_mass
    spread = any(vars(mismatch)[f"{part}_spread"] for part in ("mass", "com", "inertia"))
    differs = {
        f"masses {mismatch.mass_scale:g} times the model's": mismatch.mass_scale != 1.0,
        f"a payload of {carried:g} kg, of {known:g} kg in the model": known > 0.0,
        f"{carried:g} kg that the model lacks": carried > 0.0 and not known > 0.0,
        f"friction {mismatch.friction_scale:g} times the model's": mismatch.friction_scale != 1.0,
        "an arm drawn at random about its model": spread,
    }
    return ", ".join(text for text, is_so in differs.items() if is_so) or "an arm like its model"


Colours = Mapping[str, str]


def _response(axes: Any, joint: Joint, index: int, runs: Mapping[str, ComparedRun], colours: Colours) -> None:
    for rank, (name, run) in enumerate(runs.items()):
        # Laws that differ only along a trajectory have the same curve here, so each is thinner than the one before.
        width = 1.3 + 0.55 * (len(runs) - 1 - rank)
        axes.plot(run.t, run.q[:, index], color=colours[name], linewidth=width, label=name)
    run = next(iter(runs.values()))
    axes.plot(run.t, run.reference[:, index], **REFERENCE_LINE, label="reference")
    axes.set_ylabel(f"{joint.name}\nposition [{joint.position_unit}]")


def _effort(axes: Any, joint: Joint, index: int, runs: Mapping[str, ComparedRun], colours: Colours) -> None:
    for name, run in runs.items():
        axes.plot(run.t, run.effort[:, index], color=colours[name], linewidth=1.1)
    limit = float(next(iter(runs.values())).effort_limit[index])
    for sign in (-1.0, 1.0):
        if limit < 3.0 * max(float((sign * run.effort[:, index]).max()) for run in runs.values()):
            axes.axhline(sign * limit, **LIMIT_LINE)
    axes.set_ylabel(f"effort [{joint.effort_unit}]")
