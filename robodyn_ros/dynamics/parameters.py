# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The parameters of the dynamics, which change while the arm runs; nothing is compiled anew.

:class:`Parameters` has all of them. The equations of motion are linear in the inertial ones: each body has ten standard
parameters about the origin of a frame, mass m, first moment m c, and rotational inertia, in Pinocchio's order (m, mcx,
mcy, mcz, Ixx, Ixy, Iyy, Ixz, Iyz, Izz). They form a symmetric 4 x 4 matrix that transforms like a point, the
pseudo-inertia

    P = ∫ [r; 1] [r; 1]ᵀ dm = [[Σ, m c], [m cᵀ, m]],    Σ = ½ tr(I) 1 − I

(Wensing, Kim and Slotine, Linear matrix inequalities for physically consistent inertial parameter identification, IEEE
RA-L 3(1), 2018). P is linear in the parameters, and a body with them exists exactly if P is positive semidefinite.
Moving parameters to another frame, and grouping those that the motion cannot tell apart, are linear maps; both are done
on P. Arrays of many bodies are (b, 10) or (b, 4, 4).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from robodyn_ros.checks import as_real, check, in_short
from robodyn_ros.errors import InputError, RobotDescriptionError, check_type
from robodyn_ros.kinematics.se3 import from_pose
from robodyn_ros.kinematics.tree import Tree, TreeNode
from robodyn_ros.robot import Inertial, LockedJoints, Pose, Robot
from robodyn_ros.robot.pose import Array, read_only
from robodyn_ros.robot.tree import check_inertial

ROUNDING = 1e-9
"""Part of an inertia by which it may be asymmetric."""

STANDARD_GRAVITY = (0.0, 0.0, -9.81)
"""Gravity in the root link's frame unless told otherwise [m/s²]."""


@dataclass(frozen=True, eq=False)
class Payload:
    """A body that a link holds; an impossible one is refused with an InputError.

    Attributes:
        link: name of the link that holds it.
        mass: [kg].
        com: centre of mass in the link's frame, (3,) in [m].
        inertia: about the centre of mass, axes parallel to the link's, (3, 3) in [kg m²].
    """

    link: str
    mass: float
    com: Sequence[float] | Array = (0.0, 0.0, 0.0)
    inertia: Sequence[Sequence[float]] | Array = field(default_factory=lambda: np.zeros((3, 3)))

    def __post_init__(self) -> None:
        """
        Raises:
            InputError: as :meth:`inertial`, or ``link`` is no name.
        """
        check(isinstance(self.link, str), "payload link", "the name of a link", self.link)
        own = self.inertial()
        for name, value in (("mass", own.mass), ("com", own.com), ("inertia", own.inertia)):
            object.__setattr__(self, name, value)  # not the caller's array, which may change

    def inertial(self) -> Inertial:
        """Return the body's inertial parameters, checked.

        Raises:
            InputError: a negative mass, an inertia that no body can have, a wrong shape, something not finite.
        """
        mass = float(_finite("payload mass", self.mass, (), "kg"))
        com = _finite("payload com", self.com, (3,), "m")
        inertia = _finite("payload inertia", self.inertia, (3, 3), "kg m²")
        if mass < 0.0:
            raise InputError("payload mass", f"must not be negative, it is {mass:g} kg", mass)
        if abs(inertia / 2 - inertia.T / 2).max() > ROUNDING * abs(inertia).max():
            raise InputError("payload inertia", f"must be symmetric: {in_short(self.inertia)}", self.inertia)
        own = Inertial(mass, read_only(com), read_only(inertia / 2 + inertia.T / 2))
        try:
            check_inertial("payload", own)
        except RobotDescriptionError as cause:
            raise InputError("payload inertia", cause.problem, self.inertia) from cause
        return own


@dataclass(frozen=True, eq=False)
class Parameters:
    """The runtime parameters of an arm's dynamics.

    Attributes:
        gravity: acceleration of free fall in the root link's frame, (3,) in [m/s²].
        payload: what a link holds, or None.
        armature: inertia of the motors' rotors, reflected through the gears, (n,) in [kg m²] or [kg].
        viscous: viscous friction, (n,) in [N·m·s/rad] or [N·s/m].
        coulomb: Coulomb friction, (n,) in [N·m] or [N].
        inertial: standard parameters of the bodies without payload, (10 · bodies,).
    """

    gravity: Array
    payload: Payload | None
    armature: Array
    viscous: Array
    coulomb: Array
    inertial: Array

    @classmethod
    def of(cls, robot: Robot, inertial: Array) -> Parameters:
        """Return the parameters of the URDF, without payload and friction, in standard gravity."""
        zero = read_only(np.zeros(robot.n))
        return cls(read_only(STANDARD_GRAVITY), None, robot.armature, zero, zero, read_only(inertial))

    def changed(self, changes: dict[str, Any]) -> Parameters:
        """Return a copy with some fields replaced, checked.

        Raises:
            InputError: no such parameter, a wrong shape, something not finite, or negative where that cannot be.
        """
        known = [item.name for item in fields(self)]
        checked: dict[str, Any] = {}
        for name, value in changes.items():
            if name not in known:
                raise InputError(name, f"is no parameter of the dynamics; they are {', '.join(known)}", value)
            if name == "payload":
                check_type("payload", value, (Payload, type(None)), "a Payload or None")
                checked[name] = value
                continue
            checked[name] = read_only(_finite(name, value, getattr(self, name).shape, UNITS.get(name, "")))
            if name in {"armature", "viscous", "coulomb"} and (checked[name] < 0.0).any():
                raise InputError(name, f"must not be negative: {checked[name]}", value)
        return replace(self, **checked)


UNITS = {"gravity": "m/s²"}
"""Units of the parameters that have one unit for all joints."""


def _finite(name: str, value: ArrayLike, shape: tuple[int, ...], unit: str) -> Array:
    what = f"{shape[0]} finite numbers" if len(shape) == 1 else f"finite numbers of shape {shape}"
    what = (what if shape else "a finite number") + (f" [{unit}]" if unit else "")
    array = as_real(name, value, what)
    check(array.shape == shape and np.isfinite(array).all(), name, what, value)
    return array


MOMENT = ((0, 0), (0, 1), (1, 1), (0, 2), (1, 2), (2, 2))
"""Rows and columns of I that the last six of the ten are in."""


def _pseudo(ten: Array) -> Array:
    pseudo, inertia = np.zeros((4, 4)), np.zeros((3, 3))
    pseudo[3, 3], pseudo[:3, 3], pseudo[3, :3] = ten[0], ten[1:4], ten[1:4]
    for (i, j), moment in zip(MOMENT, ten[4:], strict=True):
        inertia[i, j] = inertia[j, i] = moment
    pseudo[:3, :3] = 0.5 * np.trace(inertia) * np.eye(3) - inertia
    return pseudo


BASIS = read_only([_pseudo(unit) for unit in np.eye(10)])
"""P of each of the ten parameters alone, (10, 4, 4)."""


def to_pseudo(parameters: Array) -> Array:
    """Return P (…, 4, 4) of standard parameters (…, 10)."""
    return np.tensordot(parameters, BASIS, 1)


def to_parameters(pseudo: Array) -> Array:
    """Return the standard parameters (…, 10) of P (…, 4, 4)."""
    second = pseudo[..., :3, :3]
    inertia = np.trace(second, axis1=-2, axis2=-1)[..., None, None] * np.eye(3) - second
    moments = [inertia[..., i, j] for i, j in MOMENT]
    return np.stack([pseudo[..., 3, 3], *(pseudo[..., i, 3] for i in range(3)), *moments], axis=-1)


def moved(pseudo: Array, pose: Pose) -> Array:
    """Return P' = T P Tᵀ: the same body (…, 4, 4) seen from the frame in which its own has that pose."""
    transform = from_pose(pose)
    return transform @ pseudo @ transform.T


REVOLUTE = ((0, 3), (1, 3), (0, 0), (0, 1), (1, 1), (0, 2), (1, 2))
"""Grouped parameters of a body that turns: the entries of its pseudo-inertia that are not moved to the parent."""

PRISMATIC = ((3, 3), (0, 3), (1, 3), (2, 3))
"""Grouped parameters of a body that slides."""


def standard_parameters(robot: Robot) -> Array:
    """Return θ of every body in its own frame, (10 · bodies,) in [kg], [kg m], [kg m²]."""
    return np.concatenate([parameters_of(body.inertial) for body in robot.bodies])


def locked_parameters(joints: LockedJoints, positions: ArrayLike) -> Array:
    """Return θ of a robot with locked joints, (10 · bodies,), with these at positions (k,) in [rad] or [m]."""
    return np.concatenate([parameters_of(own) for own in joints.inertials(positions)])


def parameters_of(inertial: Inertial) -> Array:
    """Return the ten standard parameters of one body, (10,)."""
    m, c = inertial.mass, inertial.com
    about_origin = inertial.inertia + m * (c @ c * np.eye(3) - np.outer(c, c))
    return np.array([m, *(m * c), *(about_origin[i, j] for i, j in MOMENT)])


def standard_map(tree: Tree) -> Array:
    """Return the matrix from θ in the bodies' frames to θ in the tree's frames, (10 · bodies, 10 · bodies)."""
    return np.ascontiguousarray(np.concatenate([to_parameters(p) for p in _units_in_tree(tree)], axis=1).T)


def grouped_map(tree: Tree) -> Array:
    """Return the matrix from θ in the bodies' frames to the grouped parameters: ``grouped_entries`` of each node in
    turn, then the first moment (3,) of the base, on which only the potential energy depends, and its mass.

    Mass on the axis of a revolute joint acts like mass of the parent; the rotational inertia behind a prismatic joint
    acts like that of the parent. These parts are moved to the parent, and the recursion has less to multiply (Khalil
    and Dombre, Modeling, Identification and Control of Robots, section 9.4.2).
    """
    pseudo = _units_in_tree(tree)
    base = np.zeros_like(pseudo[0])
    for node, own in reversed(list(zip(tree.nodes, pseudo, strict=True))):
        handed = own.copy()
        if node.prismatic:
            handed[:, 3, :] = handed[:, :, 3] = 0.0
        else:
            handed[:, :2, :] = handed[:, :, :2] = 0.0
        own -= handed
        below = pseudo[node.parent] if node.parent >= 0 else base
        below += moved(handed, Pose(node.rotation, node.offset))  # a turn about z changes nothing that is handed on
    kept = [p[:, i, j] for node, p in zip(tree.nodes, pseudo, strict=True) for i, j in grouped_entries(node)]
    return np.array([*kept, *base[:, :, 3].T])


def grouped_entries(node: TreeNode) -> tuple[tuple[int, int], ...]:
    """Return the entries of a node's pseudo-inertia that remain after grouping."""
    return PRISMATIC if node.prismatic else REVOLUTE


def _units_in_tree(tree: Tree) -> list[Array]:
    """Pseudo-inertia of every node in its frame for each unit vector of θ in turn, (10 · bodies, 4, 4)."""
    units = to_pseudo(np.eye(10 * len(tree.nodes)).reshape(-1, len(tree.nodes), 10))
    return [moved(units[:, index], node.frame.inverse()) for index, node in enumerate(tree.nodes)]


def to_inertial(parameters: Array) -> Inertial:
    """Return the body of ten parameters; without mass its centre of mass is the origin."""
    pseudo = to_pseudo(parameters)
    mass = float(pseudo[3, 3])
    com = pseudo[:3, 3] / (mass or 1.0)
    second = pseudo[:3, :3] - mass * np.outer(com, com)
    return Inertial(mass, read_only(com), read_only(np.trace(second) * np.eye(3) - second))


def least_eigenvalues(parameters: Array) -> Array:
    """Return the least eigenvalue of each body's pseudo-inertia with a diagonal scaled to 1, (b,) of (b, 10).

    It is above 0 where such a body exists, with mass and extent in all directions.
    """
    pseudo = to_pseudo(parameters)
    scale = np.sqrt(np.maximum(np.abs(np.diagonal(pseudo, axis1=-2, axis2=-1)), np.finfo(float).tiny))
    return np.linalg.eigvalsh(pseudo / (scale[:, :, None] * scale[:, None, :]))[:, 0]


def made_possible(parameters: Array, length: float, floor: float) -> Array:
    """Return the nearest bodies that have mass and extent in all directions, (b, 10).

    Args:
        parameters: of bodies that may lack both, or be impossible, (b, 10).
        length: size of the arm [m].
        floor: least eigenvalue of a pseudo-inertia that stays as it is, relative to its greatest, or to the bodies'
            average where that is more, with lengths in units of the arm's.
    """
    scale = np.array([length, length, length, 1.0])
    values, vectors = np.linalg.eigh(to_pseudo(parameters) / np.outer(scale, scale))
    typical = np.maximum(values[:, -1:], floor * max(values[:, -1].mean(), np.finfo(float).tiny))
    raised = np.maximum(values, floor * typical)
    new = to_parameters((vectors * raised[:, None, :]) @ vectors.transpose(0, 2, 1) * np.outer(scale, scale))
    return np.where((raised == values).all(axis=1)[:, None], parameters, new)
