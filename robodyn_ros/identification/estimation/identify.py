"""From samples of motion to the arm's numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import ArrayLike

from robodyn_ros.dynamics.parameters import STANDARD_GRAVITY
from robodyn_ros.errors import InputError
from robodyn_ros.identification.estimation.base_parameters import parameter_names, parameter_units
from robodyn_ros.identification.estimation.regression_model import RegressionModel, RegressionSolution, Stribeck
from robodyn_ros.identification.estimation.result import Identification, Parameter, Prediction
from robodyn_ros.identification.settings import IdentificationSettings
from robodyn_ros.identification.signals.samples import Samples
from robodyn_ros.identification.urdf_writing import with_parameters
from robodyn_ros.robot import Robot, load_robot
from robodyn_ros.robot.pose import Array

# What was found of each number of the arm, and why nothing was.

SHOWN = 0.9
"""Share of the variance that the URDF's numbers leave which the data must take away from an identified parameter."""

LISTED = 4
"""How many partners are listed; a wrist's inertia is seen together with dozens of others."""

POOR = "this motion shows too little of it"


def explained(model: RegressionModel, solution: RegressionSolution, stribeck: Stribeck) -> tuple[Parameter, ...]:
    """Every number of the arm; see ``Identification.parameters``."""
    found = list(_standard(model, solution))
    if model.settings.stribeck:
        shown = solution.fit.gain[len(model.base.columns) :] >= SHOWN
        errors = np.sqrt(np.diag(solution.fit.covariance))[len(model.base.columns) :]
        for joint, value, error, seen in zip(model.robot.joints, solution.excess, errors, shown, strict=True):
            reason = "" if seen else POOR
            name = f"excess({joint.name})"
            found.append(Parameter(name, joint.effort_unit, 0.0, float(value), float(error), not reason, reason))
        for joint, value, error, seen in zip(model.robot.joints, *stribeck, shown, strict=True):
            reason = "" if seen and value > 0.0 else POOR
            name, unit = f"stribeck_velocity({joint.name})", f"{joint.position_unit}/s"
            found.append(Parameter(name, unit, 0.0, float(value), float(error), not reason, reason))
    return tuple(found)


def _standard(model: RegressionModel, solution: RegressionSolution) -> Iterator[Parameter]:
    """Those of θ."""
    fit, base = solution.fit, model.base
    errors = np.sqrt(np.diag(fit.covariance))
    place = {int(column): k for k, column in enumerate(base.columns)}
    invisible = set(base.invisible)
    for column, (name, unit) in enumerate(zip(parameter_names(model.robot), parameter_units(model.robot), strict=True)):
        nominal, value = float(model.nominal[column]), float(solution.theta[column])
        if column not in place:
            yield Parameter(name, unit, nominal, value, 0.0, False, "taken as known")
            continue
        k, reason = place[column], ""
        partners = base.partners(k)
        if name in invisible:
            reason = "no motion of this arm shows it"
        elif partners:
            reason = f"seen only together with {_listed(partners)}"
        elif fit.gain[k] < SHOWN:
            reason = POOR
        yield Parameter(name, unit, nominal, value, float(errors[k]), not reason, reason)


def _listed(names: Sequence[str]) -> str:
    more = len(names) - LISTED
    return ", ".join(names[:LISTED]) + (f" and {more} more" if more > 0 else "")


def identify(
    robot: Robot,
    samples: Samples,
    settings: IdentificationSettings | None = None,
    *,
    validation: Samples | None = None,
    gravity: ArrayLike = STANDARD_GRAVITY,
    armature: ArrayLike = 0.0,
) -> Identification:
    """The inertial and friction parameters with which the arm's equations explain the efforts, physically possible.

    Args:
        robot: the arm as its URDF has it; what the motion does not show stays as near to it as can be.
        samples: what was measured.
        settings: what to identify, and how.
        validation: a motion that is not used, to be predicted.
        gravity: acceleration of free fall in the root link's frame, (3,) in [m/s²].
        armature: what rotors add to the inertia of their joints, (n,) or one for all, in [kg m²] or [kg]; where it
            is identified, the value before.

    Raises:
        InputError: samples of another arm, or of no motion at all; the message says what is missing.
    """
    settings = settings or IdentificationSettings()
    for name, given in (("samples", samples), ("validation", validation)):
        if given is not None and given.n != robot.n:
            raise InputError(name, f"are of {given.n} joints; {robot.name!r} has {robot.n}", given.q.shape)
    model = RegressionModel(robot, settings, gravity, armature)
    Y, fastest = model.regressor(samples), np.abs(samples.qd).max(axis=0)
    used = model.used(samples, fastest)
    problem, stribeck = model.with_stribeck(model.regression(samples, Y, used), samples)
    start = model.scales(samples)
    solution = model.solve(problem, start)
    none = np.zeros(robot.n)

    cross = np.empty(samples.effort.shape)
    for left_out in samples.folds(settings.folds):
        part = model.solve(problem.chosen(~left_out), start)
        cross[left_out] = model.predict(
            samples.chosen(left_out), Y[left_out], used[left_out], part.theta, part.excess, stribeck.velocity
        ).effort

    def predict(motion: Samples, regressor: Array, theta: Array, excess: Array) -> Prediction:
        return model.predict(motion, regressor, model.used(motion, fastest), theta, excess, stribeck.velocity)

    tested = None if validation is None else (validation, model.regressor(validation))
    rank = model.base.rank
    urdf = with_parameters(robot, solution.theta)
    return Identification(
        nominal=robot,
        urdf=urdf,
        robot=load_robot(urdf),
        theta=solution.theta,
        excess=solution.excess,
        stribeck_velocity=stribeck.velocity,
        parameters=explained(model, solution, stribeck),
        base=model.base,
        base_values=solution.estimate.values[:rank],
        base_errors=solution.estimate.errors[:rank],
        base_nominal=model.base.values(model.nominal),
        rank=solution.estimate.rank - np.count_nonzero(stribeck.velocity),  # each with a column of its own
        condition=solution.estimate.condition,
        noise=solution.estimate.noise,
        outliers=solution.estimate.outliers,
        before=predict(samples, Y, model.nominal, none),
        fit=predict(samples, Y, solution.theta, solution.excess),
        cross_validation=Prediction(samples, cross, used),
        validation=None if tested is None else predict(*tested, solution.theta, solution.excess),
        validation_before=None if tested is None else predict(*tested, model.nominal, none),
    )
