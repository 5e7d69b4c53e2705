# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The result of an identification."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from robodyn_ros.checks import check_choice
from robodyn_ros.document.plotting import COLOURS, INK, POINTS, add_legend, new_figure
from robodyn_ros.identification.estimation.base_parameters import BaseParameters
from robodyn_ros.identification.samples import Samples
from robodyn_ros.robot import Array, Flags, Robot


@dataclass(frozen=True, eq=False)
class Parameter:
    """One parameter of the arm.

    Attributes:
        name: as ``parameter_names`` gives it, for example ``m(hand)``.
        unit: its unit.
        nominal: the URDF's value.
        value: the identified value.
        standard_error: standard error of the value given the data and the URDF's numbers, in its unit.
        identified: True if the data determine it better than the URDF's numbers do.
        reason: reason why it is not identified; empty if it is.
    """

    name: str
    unit: str
    nominal: float
    value: float
    standard_error: float
    identified: bool
    reason: str = ""


def root_mean_square(values: Array, used: Flags) -> Array:
    """Root mean square of the values (N, n) that are used, (n,); NaN for a joint of which none is."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.sqrt(np.sum(values**2 * used, axis=0) / np.sum(used, axis=0))


@dataclass(frozen=True, eq=False)
class Prediction:
    """The efforts that a model predicts, beside the measured ones.

    Attributes:
        samples: the motion.
        effort: predicted effort, (N, n) in [N·m] or [N].
        used: True for the measured efforts that test the model, (N, n): those with a weight above 0, and for joints
            with friction only while they move. The figures below are computed from these.
    """

    samples: Samples
    effort: Array
    used: Flags

    @property
    def residual(self) -> Array:
        """Measured minus predicted, (N, n)."""
        return self.samples.effort - self.effort

    @cached_property
    def rms(self) -> Array:
        """Root mean square of the residual, (n,) in [N·m] or [N]; NaN for a joint without used efforts."""
        return root_mean_square(self.residual, self.used)

    @cached_property
    def relative(self) -> Array:
        """Root mean square of the residual over that of the measured effort, (n,); NaN for a joint without effort."""
        effort = root_mean_square(self.samples.effort, self.used)
        return self.rms / np.where(effort > 0.0, effort, np.nan)


@dataclass(frozen=True, eq=False)
class Identification:
    """The arm's parameters and their uncertainty.

    Attributes:
        nominal: the arm as the URDF describes it.
        urdf: the URDF with the new numbers, comments and unknown tags kept.
        robot: the arm that the new URDF describes.
        theta: all parameters, (p,): ten for each body, then armature, viscous and Coulomb friction (n,) each, in the
            order of ``CompiledDynamics.theta``.
        stribeck_amplitude: static minus Coulomb friction, (n,) in [N·m] or [N]; 0 unless identified.
        stribeck_velocity: speed within which it fades, (n,) in [rad/s] or [m/s]; 0 where there is none.
        parameters: each parameter with its standard error, or why it is not identified; in the order of ``theta``,
            then Stribeck amplitudes (named ``excess``) and Stribeck velocities if they are identified.
        base: the base parameters: the identifiable combinations of the parameters of this arm.
        base_values: base parameters by weighted robust least squares, (rank,).
        base_errors: their standard errors, (rank,).
        base_nominal: their values by the URDF, (rank,).
        base_effects: RMS effort of each one's change in the samples, over the RMS of the joint's effort, for the joint
            where this ratio is greatest, (rank,) [-].
        rank: number of independent combinations that the recorded motion excites; below ``base.rank`` if it excites too
            little.
        condition: condition number of the weighted regressor of the base parameters, columns scaled to length 1.
        noise: standard deviation of the error of the efforts, (n,) in [N·m] or [N].
        outliers: fraction of the used efforts of each joint that have a lower weight because they do not fit, (n,).
        before: prediction of the samples by the nominal arm.
        fit: prediction of the samples by the identified arm.
        cross_validation: prediction of each sample by an arm that was identified without that sample's fold.
        validation: prediction of a motion that was not used; None if none was given.
        validation_before: prediction of that motion by the nominal arm.
    """

    nominal: Robot
    urdf: str
    robot: Robot
    theta: Array
    stribeck_amplitude: Array
    stribeck_velocity: Array
    parameters: tuple[Parameter, ...]
    base: BaseParameters
    base_values: Array
    base_errors: Array
    base_nominal: Array
    base_effects: Array
    rank: int
    condition: float
    noise: Array
    outliers: Array
    before: Prediction
    fit: Prediction
    cross_validation: Prediction
    validation: Prediction | None = None
    validation_before: Prediction | None = None

    @property
    def predictions(self) -> dict[str, Prediction | None]:
        """Every prediction by its name in a report for programs; None where no motion was kept for validation."""
        return {
            "urdf": self.before,
            "identified": self.fit,
            "cross_validation": self.cross_validation,
            "validation_urdf": self.validation_before,
            "validation": self.validation,
        }

    @property
    def armature(self) -> Array:
        """Reflected inertia of the rotors, (n,) in [kg m²] or [kg]; ``urdf`` has it in ``<dynamics armature="…"/>``."""
        return self.theta[-3 * self.robot.n : -2 * self.robot.n]

    @property
    def inertial(self) -> Array:
        """Standard parameters of the bodies, for ``create_dynamics``, (10 · bodies,)."""
        return self.theta[: -3 * self.robot.n]

    @property
    def viscous(self) -> Array:
        """Viscous friction (n,) in [N·m·s/rad] or [N·s/m]."""
        return self.theta[-2 * self.robot.n : -self.robot.n]

    @property
    def coulomb(self) -> Array:
        """Coulomb friction (n,) in [N·m] or [N]."""
        return self.theta[-self.robot.n :]

    def parameter(self, name: str) -> Parameter:
        """The parameter of that name.

        Raises:
            InputError: there is no such parameter.
        """
        known = {parameter.name: parameter for parameter in self.parameters}
        check_choice("name", name, known)
        return known[name]

    def plot(self, path: Path | None = None) -> Any:
        """Draw measured and predicted efforts and their differences, before and after, and return the axes, (n, 2).

        Args:
            path: file of the picture, whose ending says the format; None for the screen.

        Raises:
            ConfigurationError: matplotlib is not installed.
        """
        return plot_efforts(self.robot, self.before, self.fit, path)


def plot_efforts(robot: Robot, before: Prediction, now: Prediction, path: Path | BinaryIO | None = None) -> Any:
    """Draw measured and predicted efforts on the left, residuals on the right, and return the axes, (n, 2).

    Args:
        robot: the arm.
        before: prediction by the nominal arm.
        now: prediction by the identified arm, of the same samples.
        path: file of the picture, whose ending says the format, or an open one for an SVG; None for the screen.

    Raises:
        ConfigurationError: matplotlib is not installed.
    """
    with new_figure(path, robot.n, 2, (11.0, 1.7 * robot.n + 0.9), sharex=True) as (figure, grid):
        t, rows = _axis(now)

        def draw(axes: Any, values: Array, colour: str, label: str, width: float = 1.0) -> None:
            axes.plot(t, np.where(rows < 0, np.nan, values[rows, index]), color=colour, label=label, linewidth=width)

        for index, (row, joint) in enumerate(zip(grid, robot.joints, strict=True)):
            draw(row[0], now.samples.effort, INK, "measured", 1.8)
            for found, colour, label in ((before, COLOURS[0], "URDF"), (now, COLOURS[2], "identified")):
                draw(row[0], found.effort, colour, label)
                draw(row[1], found.residual, colour, label)
            row[0].set_ylabel(f"{joint.name} [{joint.effort_unit}]")
            resting = (rows >= 0) & ~now.used[rows, index]
            for axes in row:  # grey where the effort is not used, because the joint is at rest
                whole = axes.get_xaxis_transform()
                axes.fill_between(t, 0.0, 1.0, where=resting, transform=whole, color="#f0f0f0", linewidth=0.0)
                axes.grid(visible=True, axis="y")
                axes.margins(x=0.0)
        for axes, heading in zip(grid[0], ("Effort", "Measured minus predicted"), strict=True):
            axes.set_title(heading, weight="bold")
        for axes in grid[-1]:
            axes.set_xlabel("time [s]")
        figure.align_ylabels()
        add_legend(figure, *grid[0][0].get_legend_handles_labels())
    return grid


def _axis(found: Prediction) -> tuple[Array, Any]:
    """Time [s] from 0 with the motions one after the other, and the rows that are drawn; -1 ends a motion."""
    samples = found.samples
    step = max(1, len(samples) // POINTS)
    t, rows, offset = [], [], 0.0
    for motion in np.unique(samples.motions):
        chosen = np.flatnonzero(samples.motions == motion)[::step]
        own = samples.t[chosen] - samples.t[chosen[0]]
        t += [*(offset + own).tolist(), np.nan]
        rows += [*chosen.tolist(), -1]
        offset += float(own[-1])
    return np.array(t[:-1]), np.array(rows[:-1])
