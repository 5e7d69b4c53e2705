"""What was found of each number of the arm, and why nothing was."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from robodyn_ros.identification.model import Model, Solution
from robodyn_ros.identification.parameter_names import parameter_names, parameter_units
from robodyn_ros.identification.result import Parameter
from robodyn_ros.identification.stribeck import Stribeck

SHOWN = 0.9
"""Share of the variance that the URDF's numbers leave which the data must take away from an identified parameter."""

LISTED = 4
"""How many partners are listed; a wrist's inertia is seen together with dozens of others."""

POOR = "this motion shows too little of it"


def explained(model: Model, solution: Solution, stribeck: Stribeck) -> tuple[Parameter, ...]:
    """Every number of the arm; see ``Identification.parameters``."""
    found = list(_standard(model, solution))
    if model.config.stribeck:
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


def _standard(model: Model, solution: Solution) -> Iterator[Parameter]:
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
