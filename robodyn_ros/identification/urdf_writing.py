# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Writing identified parameters into a URDF, with everything else in it unchanged to the byte.

Only the attributes that hold the parameters are replaced, in place; a missing tag is inserted. Comments, unknown tags,
order and white space stay.

The parameters of a body are those of all links that are fixed together. The links that are fixed to the moving link
keep their inertias, and the moving link gets the rest. If the rest is not physically possible, because the fixed links
have a greater mass than the identified body, their inertias are scaled by one factor, which leaves a tenth to the
moving link.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.linalg import eigh

from robodyn_ros.dynamics.parameters import (
    least_eigenvalues,
    moved,
    parameters_of,
    standard_parameters,
    to_inertial,
    to_parameters,
    to_pseudo,
)
from robodyn_ros.errors import InputError
from robodyn_ros.robot import Body, Inertial, Robot
from robodyn_ros.robot.description import UrdfEditor
from robodyn_ros.robot.pose import Array

LEAST_REST = 0.1
"""Least ratio of a body that remains in its moving link, in every direction of its pseudo-inertia."""

UNCHANGED = 1e-14
"""Greatest relative change of a parameter that is not written."""


def with_parameters(robot: Robot, theta: Array) -> str:
    """The URDF of an arm with other inertial and friction parameters, and with other rotors where they have inertia.

    Args:
        robot: the arm.
        theta: all parameters in the order of ``CompiledDynamics.theta``, (p,).

    Raises:
        InputError: the shape is wrong, a value is not finite, friction is negative, or a changed body is not physically
            possible.
    """
    n, bodies = robot.n, len(robot.bodies)
    if np.shape(theta) != (10 * bodies + 3 * n,) or not np.isfinite(theta).all():
        raise InputError("theta", f"must be {10 * bodies + 3 * n} finite numbers", theta)
    text = UrdfEditor(robot.urdf)
    before, after = (t[: 10 * bodies].reshape(-1, 10) for t in (standard_parameters(robot), theta))
    for body, old, new in zip(robot.bodies, before, after, strict=True):
        if (np.abs(new - old) > UNCHANGED * np.abs(old).max()).any():
            for link, inertial in _link_inertials(robot, body, new):
                text.set_inertial(link, inertial)
    drives = ("armature", "damping", "friction")
    for kind, new in zip(drives, theta[-3 * n :].reshape(3, n), strict=True):
        known: Array = getattr(robot, kind)
        if (new < 0.0).any():
            raise InputError(kind, f"must not be negative: {new}", new)
        for joint, value in _joint_friction(robot, kind, known, new):
            text.set_dynamics(joint, kind, value)
    return text.text()


def _link_inertials(robot: Robot, body: Body, parameters: Array) -> Iterator[tuple[str, Inertial]]:
    """Links of a body with their new inertials; links that do not change are left out."""
    if least_eigenvalues(parameters[None])[0] <= 0.0:
        raise InputError("theta", f"the parameters of {body.name!r} are those of no body: {parameters}", parameters)
    whole, links = to_pseudo(parameters), {link.name: link for link in robot.links}
    fixed = {
        name: moved(to_pseudo(parameters_of(inertial)), links[name].pose.rotation, links[name].pose.translation)
        for name in body.links
        if name != body.name and (inertial := links[name].inertial) is not None
    }
    others = np.sum(list(fixed.values()), axis=0) if fixed else np.zeros((4, 4))
    scale = np.sqrt(np.diag(whole))
    most = eigh(others / np.outer(scale, scale), whole / np.outer(scale, scale), eigvals_only=True)[-1]
    factor = min(1.0, (1.0 - LEAST_REST) / most) if most > 0.0 else 1.0
    yield body.name, to_inertial(to_parameters(whole - factor * others))
    if factor < 1.0:
        for name in fixed:
            inertial = links[name].inertial
            assert inertial is not None
            yield name, Inertial(factor * inertial.mass, inertial.com, factor * inertial.inertia)


def _joint_friction(robot: Robot, kind: str, old: Array, new: Array) -> Iterator[tuple[str, float]]:
    """Joints with their new friction, or rotor; that of a coordinate is spread over its joints as in the old
    URDF.
    """
    for coordinate, joint in enumerate(robot.joints):
        before, after = float(old[coordinate]), float(new[coordinate])
        if before == after:
            continue
        if before == 0.0:
            yield joint.name, after
            continue
        for body in robot.bodies:
            if body.coordinate == coordinate and getattr(body.joint, kind) > 0.0:
                yield body.joint.name, getattr(body.joint, kind) * after / before
