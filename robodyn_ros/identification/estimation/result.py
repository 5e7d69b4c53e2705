"""The result of an identification."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.errors import InputError
from robodyn_ros.identification.estimation.base_parameters import BaseParameters
from robodyn_ros.identification.signals.samples import Samples
from robodyn_ros.robot import Robot
from robodyn_ros.robot.pose import Array


@dataclass(frozen=True, eq=False)
class Parameter:
    """One parameter of the arm.

    Attributes:
        name: as ``parameter_names`` gives it, for example ``m(hand)``.
        unit: its unit.
        nominal: the URDF's value.
        value: the identified value.
        standard_error: standard error of the value given the data and the URDF's numbers, in its unit.
        identified: True if the data say more about it than the URDF's numbers do.
        reason: why it is not identified; empty if it is.
    """

    name: str
    unit: str
    nominal: float
    value: float
    standard_error: float
    identified: bool
    reason: str = ""


@dataclass(frozen=True, eq=False)
class Prediction:
    """The efforts that a model predicts, beside the measured ones.

    Attributes:
        samples: the motion.
        effort: predicted effort, (N, n) in [N·m] or [N].
        used: True for the measured efforts that tell of the model, (N, n): those with a weight above 0, and where there
            is friction only those of moving joints. The figures below are computed from these.
    """

    samples: Samples
    effort: Array
    used: NDArray[np.bool_]

    @property
    def residual(self) -> Array:
        """Measured minus predicted, (N, n)."""
        return self.samples.effort - self.effort

    @cached_property
    def rms(self) -> Array:
        """Root mean square of the residual, (n,) in [N·m] or [N]; NaN for a joint without used efforts."""
        return self._root_mean_square(self.residual)

    @cached_property
    def relative(self) -> Array:
        """Root mean square of the residual over that of the measured effort, (n,)."""
        with np.errstate(invalid="ignore", divide="ignore"):
            found: Array = self.rms / self._root_mean_square(self.samples.effort)
        return found

    def _root_mean_square(self, values: Array) -> Array:
        with np.errstate(invalid="ignore", divide="ignore"):
            found: Array = np.sqrt(np.sum(values**2 * self.used, axis=0) / np.sum(self.used, axis=0))
        return found


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
        parameters: each parameter with its standard error, and why it is not identified; in the order of ``theta``,
            then Stribeck amplitudes (named ``excess``) and Stribeck velocities if they are identified.
        base: the base parameters: the combinations of parameters that the motion of this arm can show at all.
        base_values: base parameters by weighted robust least squares, (rank,).
        base_errors: their standard errors, (rank,).
        base_nominal: their values by the URDF, (rank,).
        rank: number of independent combinations that the recorded motion shows; below ``base.rank`` if it excites too
            little.
        condition: condition number of the weighted regressor of the base parameters, columns scaled to length 1.
        noise: standard deviation of the error of the efforts, (n,) in [N·m] or [N].
        outliers: ratio of the used efforts of each joint that count less because they do not fit, (n,).
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
    def armature(self) -> Array:
        """Reflected inertia of the rotors, (n,) in [kg m²] or [kg]; no URDF tag holds it."""
        n = self.robot.n
        return self.theta[-3 * n : -2 * n]

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
        for parameter in self.parameters:
            if parameter.name == name:
                return parameter
        names = ", ".join(parameter.name for parameter in self.parameters)
        raise InputError("name", f"{name!r} is not one of {names}", name)
