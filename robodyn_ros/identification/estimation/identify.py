# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Identification, from samples of motion to a URDF with new parameters.

1. :class:`RegressionModel` finds the base parameters: the identifiable combinations of the arm's parameters.
2. The equations of motion at the samples become a linear regression for the base parameters, with friction that is
   linear in its parameters; Stribeck velocities come from a search around the regression.
3. :func:`~robodyn_ros.identification.estimation.regression.estimate` solves it by weighted robust least squares.
4. :func:`~robodyn_ros.identification.estimation.physical.fit_physical` finds the physically possible parameters that
   fit best.
5. Cross-validation repeats 3 and 4 without each fold of the samples and predicts that fold. Friction that the URDF does
   not have must be significant without any one of the folds; else it is 0.
6. :func:`with_parameters` writes the parameters into the URDF. It replaces only the attributes that hold them, and
   inserts a missing tag. Comments, unknown tags, order and white space stay.

The parameters of a body are those of all links that are fixed together. The links that are fixed to the moving link
keep their inertias, and the moving link gets the rest. If the rest is not physically possible, because the fixed links
have a greater mass than the identified body, their inertias are scaled by one factor, which leaves a tenth to the
moving link.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import eigh

from robodyn_ros.dynamics import parameters as standard
from robodyn_ros.errors import InputError
from robodyn_ros.identification.estimation.base_parameters import parameter_names, parameter_units
from robodyn_ros.identification.estimation.regression_model import RegressionModel, RegressionSolution, Stribeck
from robodyn_ros.identification.estimation.result import Identification, Parameter, Prediction
from robodyn_ros.identification.samples import Samples
from robodyn_ros.identification.settings import IdentificationSettings
from robodyn_ros.robot import Array, Body, Flags, Indices, Inertial, Robot, reload_robot
from robodyn_ros.robot.description import UrdfEditor

LISTED = 4
"""Greatest number of partners that are listed; a wrist's inertia is combined with dozens of others."""

NOT_EXCITED = "this motion excites it too little"

NO_FRICTION = "the efforts show no friction of this kind"


def identify(
    robot: Robot,
    samples: Samples,
    settings: IdentificationSettings | None = None,
    *,
    validation: Samples | None = None,
    gravity: ArrayLike = standard.STANDARD_GRAVITY,
    armature: ArrayLike | None = None,
) -> Identification:
    """Identify the physically possible inertial and friction parameters that explain the efforts best.

    Args:
        robot: the arm as its URDF describes it; parameters that the motion does not excite stay as near to it as
            possible.
        samples: the measured motion.
        settings: which parameters to identify, and how.
        validation: a motion that is predicted and not used for identification.
        gravity: acceleration of free fall in the root link's frame, (3,) in [m/s²].
        armature: inertia of the rotors about their joints, (n,) or one for all, in [kg m²] or [kg]; the nominal value
            if it is identified; the robot's unless given.

    Raises:
        InputError: the samples are of another arm, or show no motion; the message names the missing data.
    """
    settings = settings or IdentificationSettings()
    for name, given in (("samples", samples), ("validation", validation)):
        if given is not None and given.n != robot.n:
            raise InputError(name, f"are of {given.n} joints; {robot.name!r} has {robot.n}", given.q.shape)
    if not samples.effort.any():
        raise InputError("samples", "have no efforts other than 0", samples.effort)
    model = RegressionModel(robot, settings, gravity, robot.armature if armature is None else armature)
    Y, fastest = model.regressor(samples), np.abs(samples.qd).max(axis=0)
    used = model.used(samples, fastest)
    problem, stribeck = model.with_stribeck(model.regression(samples, Y, used), samples)
    scales = model.scales(samples)
    solution = model.solve(problem, scales)
    none = np.zeros(robot.n)

    folds = samples.folds(settings.folds)
    parts = [model.solve(problem.chosen(~left_out), scales) for left_out in folds]
    spread = np.sqrt(len(parts) - 1.0) * np.std([part.theta for part in parts], axis=0)  # the jackknife's
    absent = model.absent_friction(solution, spread, samples, Y, used)
    if len(absent):
        solution = model.without(solution, scales, absent)
        parts = [model.without(part, scales, absent) for part in parts]

    def predict(motion: Samples, regressor: Array, theta: Array, amplitude: Array) -> Prediction:
        fading = motion.filtered(stribeck.faded) if amplitude.any() else 0.0
        return Prediction(motion, regressor @ theta + amplitude * fading, model.used(motion, fastest))

    cross = np.empty(samples.effort.shape)
    for left_out, part in zip(folds, parts, strict=True):
        cross[left_out] = predict(samples.chosen(left_out), Y[left_out], part.theta, part.stribeck_amplitude).effort
    unseen = None if validation is None else (validation, model.regressor(validation))
    rank = model.base.rank
    base_values, base_nominal = solution.estimate.values[:rank], model.base.values(model.nominal)
    urdf = with_parameters(robot, solution.theta)
    return Identification(
        nominal=robot,
        urdf=urdf,
        robot=reload_robot(urdf),
        theta=solution.theta,
        stribeck_amplitude=solution.stribeck_amplitude,
        stribeck_velocity=stribeck.velocity,
        parameters=describe_parameters(model, solution, stribeck, absent),
        base=model.base,
        base_values=base_values,
        base_errors=solution.estimate.errors[:rank],
        base_nominal=base_nominal,
        base_effects=_effects(model.base.regressor(Y), base_values - base_nominal, samples.effort, used),
        rank=solution.estimate.rank - np.count_nonzero(stribeck.velocity),  # each with a column of its own
        condition=solution.estimate.condition,
        noise=solution.estimate.noise,
        outliers=solution.estimate.outliers,
        before=predict(samples, Y, model.nominal, none),
        fit=predict(samples, Y, solution.theta, solution.stribeck_amplitude),
        cross_validation=Prediction(samples, cross, used),
        validation=None if unseen is None else predict(*unseen, solution.theta, solution.stribeck_amplitude),
        validation_before=None if unseen is None else predict(*unseen, model.nominal, none),
    )


def _effects(regressor: Array, change: Array, effort: Array, used: Flags) -> Array:
    """RMS effort of each parameter's change over the RMS effort, for the joint where this ratio is greatest, (p,).

    Args:
        regressor: (N, n, p).
        change: of the parameters (p,).
        effort: (N, n).
        used: which efforts count, (N, n).
    """
    squares = np.einsum("Nn,Nnp->np", used, regressor**2) * change**2
    whole = np.sum(used * effort**2, axis=0)[:, None]
    ratios = np.divide(squares, whole, out=np.zeros_like(squares), where=whole > 0.0)
    return np.sqrt(ratios.max(axis=0))


def describe_parameters(
    model: RegressionModel, solution: RegressionSolution, stribeck: Stribeck, absent: Indices
) -> tuple[Parameter, ...]:
    """Every parameter of the arm with its value and error, and why it is not identified (``Identification``)."""
    found = list(_standard_parameters(model, solution, set(absent.tolist())))
    if model.settings.stribeck:
        first, (velocity, spread) = len(model.base.columns), stribeck
        excited = solution.identified[first:]
        amplitudes = solution.stribeck_amplitude, solution.errors[first:], excited
        velocities = velocity, spread, excited & (velocity > 0.0)
        for kind, columns in (("excess", amplitudes), ("stribeck_velocity", velocities)):
            for joint, value, error, seen in zip(model.robot.joints, *(x.tolist() for x in columns), strict=True):
                name = f"{kind}({joint.name})"
                unit = joint.effort_unit if kind == "excess" else f"{joint.position_unit}/s"
                found.append(Parameter(name, unit, 0.0, value, error, seen, "" if seen else NOT_EXCITED))
    return tuple(found)


def _standard_parameters(model: RegressionModel, solution: RegressionSolution, absent: set[int]) -> Iterator[Parameter]:
    """The parameters of θ; ``absent`` are the places of the friction that the data do not show."""
    base = model.base
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
            reason = "no motion of this arm excites it"
        elif partners:
            reason = f"seen only together with {_listed(partners)}"
        elif k in absent:
            moved = np.isfinite(solution.estimate.noise[(column - len(model.nominal)) % model.robot.n])
            reason = NO_FRICTION if moved else NOT_EXCITED
        elif not solution.identified[k]:
            reason = NOT_EXCITED
        yield Parameter(name, unit, nominal, value, float(solution.errors[k]), not reason, reason)


def _listed(names: Sequence[str]) -> str:
    more = len(names) - LISTED
    return ", ".join(names[:LISTED]) + (f" and {more} more" if more > 0 else "")


LEAST_REST = 0.1
"""Least ratio of a body that remains in its moving link, in every direction of its pseudo-inertia."""

UNCHANGED = 1e-14
"""Greatest relative change of a parameter that is not written."""


def with_parameters(robot: Robot, theta: Array, urdf: str = "") -> str:
    """The URDF of an arm with other inertial and friction parameters, and with other rotors where they have inertia.

    Args:
        robot: the arm.
        theta: all parameters in the order of ``CompiledDynamics.theta``, (p,).
        urdf: the URDF to change, in which joints may move that are locked in the arm; the arm's own unless given.

    Raises:
        InputError: the shape is wrong, a value is not finite, friction is negative, or a changed body is not physically
            possible.
    """
    n, bodies = robot.n, len(robot.bodies)
    if np.shape(theta) != (10 * bodies + 3 * n,) or not np.isfinite(theta).all():
        raise InputError("theta", f"must be {10 * bodies + 3 * n} finite numbers", theta)
    text = UrdfEditor(urdf or robot.urdf)
    before, after = (t[: 10 * bodies].reshape(-1, 10) for t in (standard.standard_parameters(robot), theta))
    for body, old, new in zip(robot.bodies, before, after, strict=True):
        if (np.abs(new - old) > UNCHANGED * np.abs(old).max()).any():
            for link, inertial in _link_inertials(robot, body, new):
                text.set_inertial(link, inertial)
    for kind, new in zip(("armature", "damping", "friction"), theta[-3 * n :].reshape(3, n), strict=True):
        if (new < 0.0).any():
            raise InputError(kind, f"must not be negative: {new}", new)
        for joint, value in _joint_friction(robot, kind, new):
            text.set_dynamics(joint, kind, value)
    return text.text()


def _link_inertials(robot: Robot, body: Body, parameters: Array) -> Iterator[tuple[str, Inertial]]:
    """Links of a body with their new inertials; links that do not change are left out."""
    if standard.least_eigenvalues(parameters[None])[0] <= 0.0:
        raise InputError("theta", f"the parameters of {body.name!r} are those of no body: {parameters}", parameters)
    whole, links = standard.to_pseudo(parameters), {link.name: link for link in robot.links}
    fixed = {name: own for name in body.links if name != body.name and (own := links[name].inertial) is not None}
    known = ((standard.parameters_of(own), links[name].pose) for name, own in fixed.items())
    parts = [standard.moved(standard.to_pseudo(theta), pose) for theta, pose in known]
    others = np.sum(parts, axis=0) if parts else np.zeros((4, 4))
    scale = np.sqrt(np.diag(whole))
    most = eigh(others / np.outer(scale, scale), whole / np.outer(scale, scale), eigvals_only=True)[-1]
    factor = min(1.0, (1.0 - LEAST_REST) / most) if most > 0.0 else 1.0
    yield body.name, standard.to_inertial(standard.to_parameters(whole - factor * others))
    for name, own in fixed.items() if factor < 1.0 else ():
        yield name, Inertial(factor * own.mass, own.com, factor * own.inertia)


def _joint_friction(robot: Robot, kind: str, new: Array) -> Iterator[tuple[str, float]]:
    """Joints with their new friction, or rotor; that of a coordinate is spread over its joints as in the old
    URDF.
    """
    numbers = zip(robot.joints, getattr(robot, kind).tolist(), new.tolist(), strict=True)
    for coordinate, (joint, before, after) in enumerate(numbers):
        if before == 0.0 and after != 0.0:  # then no joint of the coordinate has any
            yield joint.name, after
        for body in robot.bodies if before != after else ():
            if body.coordinate == coordinate and getattr(body.joint, kind) > 0.0:
                yield body.joint.name, getattr(body.joint, kind) * after / before
