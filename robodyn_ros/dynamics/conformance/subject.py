# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The plugin under test on an arm, and the expected values.

:class:`Definition` has the equations of motion from their definition: slow, short, and nobody's algorithm. The kinetic
energy of a body at pose (R, p) is ½ m v·v + ½ ω·I ω about its centre of mass, its potential energy -m g·c (Siciliano et
al., Robotics: Modelling, Planning and Control, section 7.1). Jacobians come from the axes of the joints, M = Σ m Jvᵀ Jv
+ Jωᵀ I Jω from them, and C from the Christoffel symbols of M, by differences.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import robodyn_ros as rd
from robodyn_ros.dynamics.base import Dynamics
from robodyn_ros.dynamics.parameters import Parameters
from robodyn_ros.plugins import load_whole
from robodyn_ros.robot import Body, Robot
from robodyn_ros.robot.pose import Array

STEP = 1e-3
"""Step of the differences, whose error is of the fourth order in it [rad] or [m]."""


class Definition:
    """The arm's equations of motion under some parameters; one state at a time, arrays (n,)."""

    def __init__(self, robot: Robot, parameters: Parameters) -> None:
        """
        Args:
            robot: the arm.
            parameters: those of the plugin under test.
        """
        self.robot = robot
        self.parameters = parameters

    def inverse(self, q: Array, qd: Array, qdd: Array) -> Array:
        """τ = M q̈ + C q̇ + g + friction."""
        friction = self.parameters.viscous * qd + self.parameters.coulomb * np.sign(qd)
        inertia: Array = self.mass_matrix(q) @ qdd
        return inertia + self.coriolis_matrix(q, qd) @ qd + self.gravity(q) + friction

    def mass_matrix(self, q: Array) -> Array:
        """M(q), (n, n)."""
        M = np.diag(self.parameters.armature)
        for mass, _, inertia, jacobian in self._bodies(q):
            linear, angular = jacobian[:3], jacobian[3:]
            M = M + mass * linear.T @ linear + angular.T @ inertia @ angular
        return M

    def gravity(self, q: Array) -> Array:
        """g(q) = ∂P/∂q = -Σ m Jvᵀ g, (n,)."""
        down = self.parameters.gravity
        return -sum((mass * jacobian[:3].T @ down for mass, _, _, jacobian in self._bodies(q)), np.zeros(self.robot.n))

    def coriolis_matrix(self, q: Array, qd: Array) -> Array:
        """C_ij = ½ Σ_k (∂M_ij/∂q_k + ∂M_ik/∂q_j - ∂M_jk/∂q_i) q̇_k, (n, n)."""
        slopes = np.stack([self._slope(q, unit) for unit in np.eye(self.robot.n)], axis=-1)
        C: Array = 0.5 * (slopes @ qd + np.einsum("ikj,k->ij", slopes, qd) - np.einsum("jki,k->ij", slopes, qd))
        return C

    def energy(self, q: Array, qd: Array) -> tuple[float, float]:
        """½ q̇·M q̇ and -Σ m g·c."""
        potential = -sum(mass * self.parameters.gravity @ com for mass, com, _, _ in self._bodies(q))
        return float(qd @ self.mass_matrix(q) @ qd / 2), float(potential)

    def _slope(self, q: Array, direction: Array) -> Array:
        """∂M/∂q along a direction, (n, n)."""
        ends = [self.mass_matrix(q + k * STEP * direction) for k in (-2, -1, 1, 2)]
        slope: Array = (ends[0] - 8 * ends[1] + 8 * ends[2] - ends[3]) / (12 * STEP)
        return slope

    def _bodies(self, q: Array) -> list[tuple[float, Array, Array, Array]]:
        """Return mass, centre of mass (3,), inertia about it (3, 3), and the Jacobian there (6, n), linear rows above
        angular ones, of every body and the payload; all in the root link's frame.
        """
        frames: list[
            tuple[Array, Array, Array]
        ] = []  # rotation, origin, and Jacobian of the point at the root's origin
        found = []
        for body in self.robot.bodies:
            before = frames[body.parent] if body.parent >= 0 else (np.eye(3), np.zeros(3), np.zeros((6, self.robot.n)))
            frames.append(_moved(body, q, *before))
        masses = self.parameters.inertial.reshape(-1, 10)
        for theta, frame in zip(masses, frames, strict=True):
            com = theta[1:4] / theta[0] if theta[0] > 0.0 else theta[1:4]
            xx, xy, yy, xz, yz, zz = theta[4:]
            about_origin = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
            inertia = about_origin - theta[0] * (com @ com * np.eye(3) - np.outer(com, com))
            found.append(_seen(float(theta[0]), com, inertia, *frame))
        if self.parameters.payload is not None:
            link = self.robot.link(self.parameters.payload.link)
            held = self.parameters.payload.inertial().seen_from(link.pose)
            found.append(_seen(held.mass, held.com, held.inertia, *frames[link.body]))
        return found


def _moved(body: Body, q: Array, rotation: Array, origin: Array, jacobian: Array) -> tuple[Array, Array, Array]:
    """Frame and Jacobian of a body, from those of the body before it."""
    origin = origin + rotation @ body.placement.translation
    rotation = rotation @ body.placement.rotation
    axis = rotation @ body.joint.axis
    position = body.ratio * q[body.coordinate] + body.offset
    jacobian = jacobian.copy()
    if body.joint.is_prismatic:
        jacobian[:3, body.coordinate] += body.ratio * axis
        return rotation, origin + position * axis, jacobian
    jacobian[:, body.coordinate] += body.ratio * np.concatenate([np.cross(origin, axis), axis])
    x, y, z = body.joint.axis
    K = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    # Rodrigues' formula (Lynch and Park, Modern Robotics, eq. 3.51).
    turn = np.eye(3) + np.sin(position) * K + (1.0 - np.cos(position)) * K @ K
    return rotation @ turn, origin, jacobian


def _seen(
    mass: float, com: Array, inertia: Array, rotation: Array, origin: Array, jacobian: Array
) -> tuple[float, Array, Array, Array]:
    at = origin + rotation @ com
    there = jacobian.copy()
    there[:3] += np.cross(jacobian[3:], at, axis=0)
    return mass, at, rotation @ inertia @ rotation.T, there


INPUTS = {
    "inverse": ("q", "qd", "qdd"),
    "forward": ("q", "qd", "tau"),
    "mass_matrix": ("q",),
    "coriolis_matrix": ("q", "qd"),
    "gravity": ("q",),
    "energy": ("q", "qd"),
}
"""The methods of the contract and the names of their arguments."""

EXACT = 1e-10
"""Relative tolerance between two exact computations of a number."""

WIDENING = {"exact": 1.0, "numerical": 1e5, "learned": 1e5}
"""Tier that a plugin claims → factor of every tolerance."""

WIDEST = 1e-2
"""Greatest tolerance that this makes."""

widening = 1.0
"""That of the tier under test."""

has_own_numbers = False
"""True if the plugin under test was fitted to data, so that the URDF does not say its numbers."""

DIFFERENCES = 1e-7
"""Relative tolerance where one computation is a difference quotient."""


class Subject:
    """The plugin under test on one arm.

    Attributes:
        robot: the arm.
        n: its degrees of freedom.
        dynamics: the plugin's object.
    """

    def __init__(self, name: str, urdf: str, **parameters: Any) -> None:
        """
        Args:
            name: the plugin's.
            urdf: the arm's.
            **parameters: for the plugin's constructor.
        """
        self.name = name
        self.robot = rd.load_robot(urdf)
        self.n = self.robot.n
        self.dynamics: Dynamics = load_whole("dynamics", name)(self.robot, **parameters)

    @property
    def definition(self) -> Definition:
        """The expected values, for the parameters as they are now."""
        return Definition(self.robot, self.dynamics.parameters)

    def states(self, count: int, seed: int = 1) -> Array:
        """q, q̇ and q̈ (or τ), (3, count, n)."""
        return np.random.default_rng(seed).uniform(-2.0, 2.0, (3, count, self.n))

    def state(self, seed: int = 1) -> Array:
        """The first of ``states``, (3, n)."""
        return self.states(1, seed)[:, 0]

    def call(self, method: str, *values: Any) -> tuple[Array, ...]:
        """A method's results; the energy has two of them."""
        found = getattr(self.dynamics, method)(*values[: len(INPUTS[method])])
        return tuple(found) if method == "energy" else (found,)

    def all(self, *values: Any) -> dict[str, tuple[Array, ...]]:
        """Every method's results at q, q̇, q̈ or τ."""
        return {method: self.call(method, *values) for method in INPUTS}


def raised(function: Callable[..., Any], *values: Any, **options: Any) -> Exception | None:
    """Return the exception that a call raises, or None."""
    try:
        function(*values, **options)
    except Exception as problem:  # whatever it is, it is looked at
        return problem
    return None


def same(found: Any, expected: Any, clause: str, tolerance: float = EXACT) -> None:
    """Fail unless two results, or tuples of them, agree relative to the greatest number in them.

    Args:
        found: the plugin's.
        expected: what is right.
        clause: what the contract asks for: the head of the message.
        tolerance: relative to the greatest expected number, or 1.
    """
    pairs = zip(found, expected, strict=True) if isinstance(found, tuple) else [(found, expected)]
    for got, right in pairs:
        a, b = np.asarray(got), np.asarray(right)
        assert a.shape == b.shape, f"{clause}: expected shape {b.shape}, found {a.shape}"
        scale = max(1.0, float(np.abs(b).max(initial=0.0)))
        error = float(np.abs(a - b).max(initial=0.0)) / scale
        allowed = min(widening * tolerance, max(tolerance, WIDEST))
        assert error <= allowed, f"{clause}: relative error {error:.2g} > {allowed:.0e}\nexpected\n{b}\nfound\n{a}"
