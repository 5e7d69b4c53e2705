# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The result of a planner: a motion with its efforts, or the reason why there is none; and its figure."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from robodyn_ros.control.motion.trajectory import Trajectory
from robodyn_ros.document.plotting import COLOURS, LIMIT_LINE, finish_joint_figure, joint_figure
from robodyn_ros.errors import InputError, NotReadyError
from robodyn_ros.files import as_json, writing
from robodyn_ros.robot.pose import Array

if TYPE_CHECKING:
    from robodyn_ros.planning.problem import Problem

METHODS = ("collocation", "time-scaling")
"""Methods of planning."""

SAMPLES = 600
"""Points of each curve of the picture."""


class Violation(NamedTuple):
    """The violation of a constraint."""

    constraint: str  # its name, with the joint or link, for example ``effort limit of 'shoulder'``
    amount: float  # amount beyond the limit, in its own unit; not above 0 if the constraint is kept
    unit: str  # unit of the amount

    def __str__(self) -> str:
        return f"{self.constraint}: {self.amount:.3g} {self.unit}"


@dataclass(frozen=True, eq=False)
class Plan:
    """A motion of n joints through K points, or a refusal with its reason (K = 0).

    Attributes:
        joints: names, in the order of every array of n.
        times: (K,) in [s], rising from 0.
        q: positions (K, n) in [rad] or [m].
        qd: velocities (K, n).
        qdd: accelerations (K, n).
        effort: efforts that the motion needs by the model, (K, n) in [N·m] or [N].
        solved: True if the motion keeps to every constraint. The reason states whether it is optimal in the sense of
            the method, or feasible: the best that was found before the search ended.
        reason: why it is solved or not, in a sentence.
        violation: the greatest violation relative to its tolerance; None if nothing was computed.
        cost: cost of the motion; NaN if there is none.
        solve_time: time that the planner took [s].
        method: name of the planner.
        dynamics_error: greatest error of the equations of motion between the points; NaN if unknown. The planner
            defines its measurement.
    """

    joints: tuple[str, ...]
    times: Array
    q: Array
    qd: Array
    qdd: Array
    effort: Array
    solved: bool
    reason: str
    violation: Violation | None = None
    cost: float = float("nan")
    solve_time: float = 0.0
    method: str = ""
    dynamics_error: float = float("nan")

    @classmethod
    def refused(
        cls, joints: tuple[str, ...], reason: str, violation: Violation | None, method: str, solve_time: float
    ) -> Plan:
        """A refusal: no motion, and the reason."""
        times, none = np.zeros(0), np.zeros((0, len(joints)))
        return cls(joints, times, none, none, none, none, False, reason, violation, np.nan, solve_time, method)

    @property
    def duration(self) -> float:
        """Duration of the motion [s]; 0 if there is none."""
        return float(self.times[-1]) if len(self.times) else 0.0

    def to_trajectory(self) -> Trajectory:
        """The motion with its efforts, for the control loop.

        Raises:
            NotReadyError: there is no motion.
        """
        if len(self.times) == 0:
            raise NotReadyError(f"there is no motion: {self.reason}")
        return Trajectory(self.times, self.q, self.qd, self.qdd, self.effort)

    def to_json(self) -> str:
        """The plan as JSON; numbers that are not finite become null."""
        return as_json(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Plan:
        """The plan that :meth:`to_json` wrote.

        Raises:
            InputError: the text is something else.
        """
        try:
            values: dict[str, Any] = json.loads(text)
            joints = tuple(map(str, values.pop("joints")))
            times = np.array(values.pop("times"), dtype=np.float64)
            shape = (len(times), len(joints))
            arrays = {key: np.array(values.pop(key), float).reshape(shape) for key in ("q", "qd", "qdd", "effort")}
            missed = values.pop("violation", None)
            violation = None if missed is None else Violation(missed[0], _number(missed[1]), *missed[2:])
            unknown = set(values) - {item.name for item in fields(cls)}
            if unknown or type(values["solved"]) is not bool:
                raise ValueError(f"{', '.join(unknown) or 'solved'} is not of a plan")
            values |= {name: _number(values[name]) for name in ("cost", "dynamics_error")}
            return cls(joints=joints, times=times, violation=violation, **(values | arrays))
        except (ValueError, KeyError, TypeError, AttributeError) as cause:
            raise InputError("plan", f"is not a plan of robodyn plan: {cause}", text[:200]) from cause

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the plan as JSON.

        Raises:
            InputError: the file cannot be written.
        """
        with writing("path", path):
            Path(path).write_text(self.to_json(), encoding="utf-8")

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Plan:
        """Read the plan that :meth:`save` wrote.

        Raises:
            InputError: the file cannot be read, or is something else.
        """
        try:
            text = Path(path).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as cause:
            raise InputError("path", f"{os.fspath(path)} cannot be read: {cause}", path) from cause
        return cls.from_json(text)


def _number(value: float | None) -> float:
    return float("nan") if value is None else float(value)


def plot_plan(plan: Plan, problem: Problem, path: Path | None = None) -> Any:
    """Draw position, velocity and effort of each joint against their limits, and return the axes, (n, 3).

    Args:
        plan: a plan with a motion.
        problem: the problem that it solves.
        path: file of the picture, whose ending says the format; None for the screen.

    Raises:
        NotReadyError: the plan has no motion.
    """
    robot, limits, trajectory = problem.dynamics.robot, problem.bounds, plan.to_trajectory()
    times = np.linspace(0.0, plan.duration, SAMPLES)
    q, qd, _ = trajectory.samples(times)
    with joint_figure(path, robot.n, foot=1.2) as (figure, grid):
        for k, (row, joint) in enumerate(zip(grid, robot.joints, strict=True)):
            _curve(row[0], times, q[:, k], (limits.lower[k], limits.upper[k]), f"position [{joint.position_unit}]")
            velocity = (-limits.velocity[k], limits.velocity[k])
            _curve(row[1], times, qd[:, k], velocity, f"velocity [{joint.position_unit}/s]")
            effort = (-limits.effort[k], limits.effort[k])
            _curve(row[2], plan.times, plan.effort[:, k], effort, f"effort [{joint.effort_unit}]")
            row[0].set_title(joint.name, loc="left", weight="bold", fontsize=12)
        title = f"{robot.name}: {plan.duration:.3g} s by {plan.method}; dotted: limits of the plan"
        finish_joint_figure(figure, grid, title)
    return grid


def _curve(axes: Any, times: Array, values: Array, limits: tuple[float, float], label: str) -> None:
    axes.plot(times, values, color=COLOURS[2])
    span = float(np.ptp(values)) or 1.0
    for limit in limits:
        if np.isfinite(limit) and values.min() - span < limit < values.max() + span:
            axes.axhline(limit, **LIMIT_LINE)
    axes.grid(visible=True, axis="y")
    axes.set(xlim=(0.0, times[-1]), ylabel=label)
