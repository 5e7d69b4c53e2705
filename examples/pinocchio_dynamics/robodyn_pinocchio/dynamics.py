# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The plugin ``pinocchio``: the algorithms of Pinocchio behind the Dynamics interface.

Every joint of the arm, mimic joints included, is one coordinate of Pinocchio's model; the arm's own coordinates q move
them by ``position = lead @ q + offset``, and efforts go the other way, by ``leadᵀ``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pinocchio as pin
from numpy.typing import ArrayLike, NDArray

from robodyn_ros.checks import as_states, refuse_non_finite
from robodyn_ros.dynamics import Dynamics, Energy, Parameters
from robodyn_ros.errors import InputError
from robodyn_ros.robot import Robot

Array = NDArray[np.float64]


class PinocchioDynamics(Dynamics):
    """Dynamics by Pinocchio (Carpentier et al., 2019). An object of this class belongs to one thread."""

    def __init__(self, robot: Robot, **parameters: Any) -> None:
        """
        Args:
            robot: the arm.
            **parameters: as ``Dynamics``.

        Raises:
            InputError: a parameter is unknown or wrong.
        """
        super().__init__(robot, **parameters)
        self._model = pin.Model()
        self._lead = np.zeros((len(robot.bodies), robot.n))
        self._offset = np.array([body.offset for body in robot.bodies])
        for index, body in enumerate(robot.bodies):
            kind = pin.JointModelPrismaticUnaligned if body.joint.is_prismatic else pin.JointModelRevoluteUnaligned
            place = pin.SE3(body.placement.rotation.copy(), body.placement.translation.copy())
            # Pinocchio's joint 0 is the ground; bodies come parents first, so that body k is its joint k + 1.
            self._model.addJoint(body.parent + 1, kind(body.joint.axis.copy()), place, body.joint.name)
            self._lead[index, body.coordinate] = body.ratio
        self._data = self._model.createData()
        self.apply(self.parameters)

    def apply(self, parameters: Parameters) -> None:
        """Take over new parameters, or raise InputError and keep the old ones."""
        inertias = [_inertia(theta) for theta in parameters.inertial.reshape(-1, 10)]
        if parameters.payload is not None:
            link, held = self.robot.link(parameters.payload.link), parameters.payload.inertial()
            if link.body < 0:
                raise InputError("payload", f"link {link.name!r} is fixed to the base and cannot hold one")
            pose = pin.SE3(link.pose.rotation.copy(), link.pose.translation.copy())
            inertias[link.body] += pose.act(pin.Inertia(held.mass, held.com.copy(), held.inertia.copy()))
        for index, inertia in enumerate(inertias):
            self._model.inertias[index + 1] = inertia
        self._model.gravity.linear = parameters.gravity.copy()
        self._applied = parameters

    def inverse(self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike) -> Array:
        """Efforts τ (n,) or (N, n) that produce accelerations q̈."""
        return self._each(self._inverse, (self.robot.n,), q=q, qd=qd, qdd=qdd)

    def forward(self, q: ArrayLike, qd: ArrayLike, tau: ArrayLike) -> Array:
        """Accelerations q̈ (n,) or (N, n) that efforts τ produce."""
        return self._each(self._forward, (self.robot.n,), q=q, qd=qd, tau=tau)

    def mass_matrix(self, q: ArrayLike) -> Array:
        """M(q), symmetric and positive definite, armature included, (n, n) or (N, n, n)."""
        return self._each(self._mass_matrix, (self.robot.n, self.robot.n), q=q)

    def coriolis_matrix(self, q: ArrayLike, qd: ArrayLike) -> Array:
        """C(q, q̇) by Christoffel symbols, (n, n) or (N, n, n)."""
        return self._each(self._coriolis_matrix, (self.robot.n, self.robot.n), q=q, qd=qd)

    def gravity(self, q: ArrayLike) -> Array:
        """g(q), the efforts that hold the arm at rest, (n,) or (N, n)."""
        return self._each(self._gravity, (self.robot.n,), q=q)

    def energy(self, q: ArrayLike, qd: ArrayLike) -> Energy:
        """Kinetic and potential energy in [J]."""
        both = self._each(self._energy, (2,), q=q, qd=qd)
        return Energy(both[..., 0].copy(), both[..., 1].copy())

    def _each(self, function: Callable[..., Any], shape: tuple[int, ...], **values: ArrayLike) -> Array:
        """A function of one state, on one state or on each of many; checked."""
        names, given = list(values), list(values.values())
        states = as_states(names, given, [self.robot.n] * len(names))
        refuse_non_finite(names, states)
        if states[0].ndim == 1:
            return np.array(function(*states))
        return np.array([function(*state) for state in zip(*states, strict=True)]).reshape(-1, *shape)

    def _position(self, q: Array) -> Array:
        full: Array = self._lead @ q + self._offset
        return full

    def _inverse(self, q: Array, qd: Array, qdd: Array) -> Any:
        p, lead = self._applied, self._lead
        tau = lead.T @ pin.rnea(self._model, self._data, self._position(q), lead @ qd, lead @ qdd)
        return tau + p.armature * qdd + p.viscous * qd + p.coulomb * np.sign(qd)

    def _forward(self, q: Array, qd: Array, tau: Array) -> Any:
        return np.linalg.solve(self._mass_matrix(q), tau - self._inverse(q, qd, np.zeros_like(q)))

    def _mass_matrix(self, q: Array) -> Any:
        upper = np.triu(pin.crba(self._model, self._data, self._position(q)))
        M = self._lead.T @ (upper + np.triu(upper, 1).T) @ self._lead
        return (M + M.T) / 2 + np.diag(self._applied.armature)

    def _coriolis_matrix(self, q: Array, qd: Array) -> Any:
        C = pin.computeCoriolisMatrix(self._model, self._data, self._position(q), self._lead @ qd)
        return self._lead.T @ C @ self._lead

    def _gravity(self, q: Array) -> Any:
        return self._lead.T @ pin.computeGeneralizedGravity(self._model, self._data, self._position(q))

    def _energy(self, q: Array, qd: Array) -> Any:
        position, rate = self._position(q), self._lead @ qd
        kinetic = pin.computeKineticEnergy(self._model, self._data, position, rate)
        return kinetic + self._applied.armature @ qd**2 / 2, pin.computePotentialEnergy(
            self._model, self._data, position
        )


def _inertia(theta: Array) -> Any:
    """Pinocchio's inertia from the ten standard parameters; its own conversion divides by the mass, which may be 0."""
    mass, (xx, xy, yy, xz, yz, zz) = float(theta[0]), theta[4:]
    com = theta[1:4] / mass if mass > 0.0 else np.zeros(3)
    about_origin = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    return pin.Inertia(mass, com, about_origin - mass * (com @ com * np.eye(3) - np.outer(com, com)))
