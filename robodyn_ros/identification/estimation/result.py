"""What an identification found."""

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
    """One number of the arm.

    Attributes:
        name: as ``parameter_names`` has it, for example ``m(hand)``.
        unit: its unit.
        nominal: before.
        value: now.
        standard_error: of the value, in its unit: what data and the URDF's numbers together leave open.
        identified: whether the data say more of it than the URDF's numbers did.
        reason: why it is not identified; empty where it is.
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
    """A model's efforts beside the measured ones.

    Attributes:
        samples: the motion.
        effort: what the model predicts, (N, n) in [N·m] or [N].
        used: which of the measured efforts say something of the model, (N, n): those of moving joints where there is
            friction, with a weight above 0; the figures below are of these.
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
        """Root mean square of the residual, (n,) in [N·m] or [N]; NaN where nothing is used."""
        return self._root_mean_square(self.residual)

    @cached_property
    def relative(self) -> Array:
        """The same over the root mean square of the measured effort, (n,)."""
        with np.errstate(invalid="ignore", divide="ignore"):
            found: Array = self.rms / self._root_mean_square(self.samples.effort)
        return found

    def _root_mean_square(self, values: Array) -> Array:
        with np.errstate(invalid="ignore", divide="ignore"):
            found: Array = np.sqrt(np.sum(values**2 * self.used, axis=0) / np.sum(self.used, axis=0))
        return found


@dataclass(frozen=True, eq=False)
class Identification:
    """The arm's numbers, and how sure they are.

    Attributes:
        nominal: the arm as the URDF had it.
        urdf: the URDF with the new numbers, comments and unknown tags kept.
        robot: the arm that it describes.
        theta: all parameters, (p,): ten for each body, then armature, viscous and Coulomb friction (n,) each, as
            ``CompiledDynamics.theta`` has them.
        excess: what static friction adds to Coulomb friction, (n,) in [N·m] or [N]; 0 unless identified.
        stribeck_velocity: speed within which that fades, (n,) in [rad/s] or [m/s]; 0 where there is none.
        parameters: each number of the arm with its standard error, and why it could not be identified; in the order of
            ``theta``, then static friction in excess of Coulomb's and Stribeck velocities where identified.
        base: what the motion of this arm can show at all: combinations of the identified parameters.
        base_values: of those combinations, by weighted robust least squares, (rank,).
        base_errors: their standard errors, (rank,).
        base_nominal: what they were before, (rank,).
        rank: how many independent combinations the recorded motion shows; less than ``base.rank`` if it is too poor.
        condition: condition number of the weighted regressor of the base parameters, columns scaled to length 1.
        noise: standard deviation of the error of the efforts, (n,) in [N·m] or [N].
        outliers: share of the used efforts of each joint that count less because they do not fit, (n,).
        before: prediction of the samples by the nominal arm.
        fit: prediction of the samples by the identified arm.
        cross_validation: prediction of each sample by an arm identified without that sample's part of the samples.
        validation: prediction of a motion that was not used; None if none was given.
        validation_before: the same by the nominal arm.
    """

    nominal: Robot
    urdf: str
    robot: Robot
    theta: Array
    excess: Array
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
        """What rotors add to the inertia of their joints, (n,) in [kg m²] or [kg]; no URDF tag holds it."""
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
        """The number of that name.

        Raises:
            InputError: there is none.
        """
        for parameter in self.parameters:
            if parameter.name == name:
                return parameter
        names = ", ".join(parameter.name for parameter in self.parameters)
        raise InputError("name", f"{name!r} is not one of {names}", name)
