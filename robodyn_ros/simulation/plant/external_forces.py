# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""External forces on the arm: wrenches that push its links, walls and springs that its links touch.

    M(q) q̈ + C(q, q̇) q̇ + g(q) = τ + Σ Jᵀ(q) w

A wall is a half-space with a normal n and a compliant surface. A sphere at a link that is a depth δ inside it feels

    F = k δ (1 + λ δ̇) n - μ k δ (1 + λ δ̇) v_t / sqrt(v_t² + v_s²)

It never pulls, and the force does not jump at first contact (Hunt and Crossley, Coefficient of restitution interpreted
as damping in vibroimpact, 1975, with exponent 1; as the joint stops of :mod:`.joint_effects`). The second term is
Coulomb friction against the sliding velocity v_t, smoothed below the slip velocity v_s. A spring pulls a point of a
link to a place, F = -k (x - x₀) - d v.

The forces are expressions of q and q̇, compiled once for the arm and its contacts. The integrator evaluates them in each
of its stages, so that a bounce has the integrator's accuracy, and a step that is too long for a hard wall is made by an
implicit method, as for stiff friction (:mod:`.joint_effects`).
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, fields
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from robodyn_ros.checks import finite_array
from robodyn_ros.dynamics.base import Dynamics
from robodyn_ros.engine import Kernel, Program, ca, digest
from robodyn_ros.engine.c_interface import Uncopied, address_of, required
from robodyn_ros.engine.codegen import kernel_source
from robodyn_ros.errors import InputError, NotReadyError
from robodyn_ros.kinematics.forward import ORIGIN, Kinematics
from robodyn_ros.kinematics.tree import build_tree, geometry
from robodyn_ros.robot import Array, Link, Robot
from robodyn_ros.settings import CheckedSettings, setting, text
from robodyn_ros.simulation.plant.joint_effects import STIFF, impact_rate, sample_inverse_masses

NAME = "external_forces"
"""Name of the compiled function."""


@dataclass(frozen=True)
class WallSettings(CheckedSettings):
    """A wall that the simulated arm may touch; each field's metadata describe it."""

    link: str = text("", "link whose origin may touch the wall; empty for no wall")
    point: tuple[float, ...] = setting(
        (1.0, 0.0, 0.0), "a point of the wall's surface in the root link's frame", "m", -1e3, 1e3
    )
    normal: tuple[float, ...] = setting((-1.0, 0.0, 0.0), "direction out of the wall, of any length", "-", -1e3, 1e3)
    stiffness: float = setting(2e4, "stiffness k of the surface", "N/m", 1.0, 1e9)
    friction: float = setting(0.0, "coefficient of Coulomb friction on the surface", "-", 0.0, 10.0)

    def contacts(self) -> tuple[Wall, ...]:
        """The wall, if there is one.

        Raises:
            InputError: its normal is zero.
        """
        if not self.link:
            return ()
        return (Wall(self.link, self.point, self.normal, self.stiffness, friction=self.friction),)


@dataclass(frozen=True)
class Wall:
    """A compliant half-space, and the sphere at a link that touches it.

    Attributes:
        link: name of the link.
        point: a point of the surface in the root link's frame, (3,) in [m].
        normal: of the surface, out of the wall, in the root link's axes (3,); its length does not matter.
        stiffness: k [N/m].
        dissipation: λ [s/m].
        friction: coefficient μ of Coulomb friction [-].
        slip_velocity: v_s, below which friction is smoothed [m/s].
        offset: centre of the sphere in the link's frame, (3,) in [m].
        radius: of the sphere [m].
    """

    link: str
    point: Sequence[float]
    normal: Sequence[float]
    stiffness: float = 2e4
    dissipation: float = 0.5
    friction: float = 0.0
    slip_velocity: float = 0.01
    offset: Sequence[float] = ORIGIN
    radius: float = 0.0

    def __post_init__(self) -> None:
        """
        Raises:
            InputError: something is not finite, has a wrong shape or the wrong sign.
        """
        _check(self, ("point", "normal", "offset"), ("stiffness", "slip_velocity"))
        if not np.linalg.norm(self.normal) > 0.0:
            raise InputError("wall normal", "must not be zero", self.normal)


@dataclass(frozen=True)
class Spring:
    """A spring with a damper, between a place and a point of a link.

    Attributes:
        link: name of the link.
        anchor: x₀, the place in the root link's frame, (3,) in [m].
        stiffness: k [N/m].
        damping: d [N·s/m].
        offset: of the point in the link's frame, (3,) in [m].
    """

    link: str
    anchor: Sequence[float]
    stiffness: float
    damping: float = 0.0
    offset: Sequence[float] = ORIGIN

    def __post_init__(self) -> None:
        """
        Raises:
            InputError: something is not finite, has a wrong shape or the wrong sign.
        """
        _check(self, ("anchor", "offset"), ())


Contact = Wall | Spring


class ExternalForces(Uncopied):
    """The external forces on one arm.

    Attributes:
        active: False while there is no external force: no contact and no wrench.
    """

    def __init__(self, robot: Robot, contacts: Sequence[Contact] = ()) -> None:
        """
        Args:
            robot: the arm.
            contacts: walls and springs that its links may touch.

        Raises:
            InputError: a contact names no link of the arm, or one that does not move.
        """
        for contact in contacts:
            _moving_link(robot, contact.link, f"{type(contact).__name__.lower()}.link")
        self._robot, self._contacts = robot, tuple(contacts)
        self._links = [(x.name, x.body, x.pose.rotation.tolist(), x.pose.translation.tolist()) for x in robot.links]
        wrenches = 6 * len(robot.bodies)
        self._parameters = np.concatenate([np.zeros(wrenches), *(_numbers(contact) for contact in contacts)])
        self._wrenches = self._parameters[:wrenches].reshape(-1, 6)  # of the bodies
        self._pushes: dict[str, Array] = {}  # link → wrench in the axes of its body, about the body's origin
        self.active = bool(contacts)

    def push(self, link: str, force: ArrayLike, torque: ArrayLike = ORIGIN, point: ArrayLike = ORIGIN) -> None:
        """Apply a wrench to a link from now on, in place of the previous one on this link.

        Args:
            link: its name.
            force: in the link's axes, (3,) in [N].
            torque: in the link's axes, about the point, (3,) in [N·m].
            point: where the force acts, in the link's frame, (3,) in [m].

        Raises:
            InputError: no such link, or one that does not move; something is not 3 finite numbers.
            NotReadyError: the function of the forces is not compiled yet, and cannot be.
        """
        found = _moving_link(self._robot, link, "link")
        f, m, r = (finite_array(n, v, (3,)) for n, v in (("force", force), ("torque", torque), ("point", point)))
        turn, place = found.pose.rotation, found.pose.rotation @ r + found.pose.translation
        _ = self._compiled  # else the plant could not apply it
        self._pushes[link] = np.concatenate([turn @ f, turn @ m + np.cross(place, turn @ f)])
        body = self._robot.bodies[found.body]
        self._wrenches[found.body] = sum(self._pushes[name] for name in body.links if name in self._pushes)
        self._update()

    def prepare(self) -> None:
        """Compile the functions of the first push now; where that fails, the first push raises the error."""
        with suppress(NotReadyError):
            _ = self._compiled

    def release(self) -> None:
        """End all wrenches."""
        self._pushes.clear()
        if self._wrenches.any():
            self._wrenches[:] = 0.0
            self._update()

    def efforts(self, q: Array, qd: Array) -> Array:
        """The efforts of the external forces on the joints, Σ Jᵀ w, (n,) in [N·m] or [N].

        Args:
            q: positions (n,) in [rad] or [m].
            qd: velocities (n,) in [rad/s] or [m/s].
        """
        return self._kernel.call(q, qd)

    def is_stiff(self, dynamics: Dynamics, step: float) -> bool:
        """True if the force of a contact changes much within a step, so that an explicit method would explode.

        Args:
            dynamics: of the arm.
            step: [s].
        """
        fastest = 0.0
        if self._contacts:
            kinematics = Kinematics(self._robot, compiled=False)
            poses, inverses = sample_inverse_masses(dynamics)
            for contact in self._contacts:
                linear = kinematics.jacobian(contact.link, poses, "aligned", contact.offset)[:, :3]
                mobility = float(np.linalg.eigvalsh(linear @ inverses @ np.swapaxes(linear, 1, 2)).max())
                fastest = max(fastest, _rate(contact, mobility))
        return step * fastest > STIFF

    @property
    def pointer(self) -> ctypes.c_void_p:
        """The argument of motion.c: address of the compiled function, null while no force acts.

        Raises:
            NotReadyError: the function is not compiled yet, and cannot be.
        """
        return ctypes.cast(ctypes.byref(self._compiled[0]), ctypes.c_void_p) if self.active else ctypes.c_void_p(None)

    def _update(self) -> None:
        self.active = bool(self._contacts or self._wrenches.any())
        if self.active:
            self._compiled[2]()

    @cached_property
    def _program(self) -> Program:
        n, count, contacts, robot = self._robot.n, len(self._parameters), self._contacts, self._robot
        shapes = tuple((type(contact).__name__, contact.link) for contact in contacts)

        def results(q: ca.SX, qd: ca.SX, p: ca.SX) -> list[ca.SX]:
            return [_expression(robot, contacts, q, qd, p)]

        key = digest(geometry(build_tree(self._robot)), self._links, shapes, source=__name__)
        return Program.of(NAME, key, (("q", n), ("qd", n)), count, ((n,),), results)

    @cached_property
    def _kernel(self) -> Kernel:
        return Kernel(self._program, self._parameters)

    @cached_property
    def _compiled(self) -> tuple[Any, Any, Any]:
        """The structure for motion.c, the objects that it points to, and a function that updates its constants."""
        program = self._program
        library = required("the simulation of forces", NAME, program.key, lambda: kernel_source(program))
        constants = np.zeros(ctypes.c_int.in_dll(library, f"{NAME}_constants").value)
        places = self._parameters.ctypes.data, constants.ctypes.data
        structure = (ctypes.c_void_p * 3)(address_of(library[f"{NAME}_run"]), *places)  # ``Forces`` of motion.c
        renew = partial(library[f"{NAME}_prepare"], *map(ctypes.c_void_p, places))
        renew()
        return structure, (library, constants), renew


def _moving_link(robot: Robot, name: str, argument: str) -> Link:
    """The link of a name, which must be one that moves.

    Raises:
        InputError: it is none; the message has the name of the argument.
    """
    found = robot.link(name, argument)
    if found.body < 0:
        raise InputError(argument, f"{name!r} does not move, so a force has no effect on it", name)
    return found


def _expression(robot: Robot, contacts: Sequence[Contact], q: ca.SX, qd: ca.SX, p: ca.SX) -> ca.SX:
    """The efforts (n,) as an expression."""
    from robodyn_ros.kinematics.forward import geometric_jacobian, placed

    tree, efforts, at = build_tree(robot), ca.SX.zeros(robot.n), 0
    for body in robot.bodies:
        jacobian = geometric_jacobian(placed(tree, robot.link(body.name), q), q, "body")
        efforts += jacobian.T @ p[at : at + 6]
        at += 6
    for contact in contacts:
        size = len(_numbers(contact))
        own, at = p[at : at + size], at + size
        where = placed(tree, robot.link(contact.link), q, own[:3])
        jacobian = geometric_jacobian(where, q)
        velocity = jacobian[:3, :] @ qd
        if isinstance(contact, Spring):
            force = -own[6] * (where.position - own[3:6]) - own[7] * velocity
            efforts += jacobian[:3, :].T @ force
            continue
        normal, (radius, stiffness, dissipation, friction, slip) = own[6:9], ca.vertsplit(own[9:14])
        arm = -radius * normal  # from the centre of the sphere to where it touches
        velocity += ca.cross(jacobian[3:, :] @ qd, arm)
        depth = radius - ca.dot(normal, where.position - own[3:6])
        push = stiffness * depth * (1 - dissipation * ca.dot(normal, velocity))
        push = ca.if_else(depth > 0, ca.fmax(push, 0), 0)
        sliding = velocity - ca.dot(normal, velocity) * normal
        force = push * (normal - friction * sliding / ca.sqrt(ca.dot(sliding, sliding) + slip**2))
        efforts += jacobian[:3, :].T @ force + jacobian[3:, :].T @ ca.cross(arm, force)
    return efforts


def _numbers(contact: Contact) -> Array:
    """The parameters of a contact, in the order in which the expression takes them."""
    if isinstance(contact, Spring):
        return np.array([*contact.offset, *contact.anchor, contact.stiffness, contact.damping])
    normal = np.asarray(contact.normal, dtype=np.float64)
    own = contact.radius, contact.stiffness, contact.dissipation, contact.friction, contact.slip_velocity
    return np.array([*contact.offset, *contact.point, *(normal / np.linalg.norm(normal)), *own])


def _rate(contact: Contact, mobility: float) -> float:
    """The greatest rate at which a contact changes the motion of a point with a mobility, in [1/s].

    Args:
        contact: the contact.
        mobility: acceleration of the point by force [1/kg].
    """
    if isinstance(contact, Spring):
        return max(float(np.sqrt(contact.stiffness * mobility)), contact.damping * mobility)
    loss = contact.dissipation + contact.friction / contact.slip_velocity
    return float(impact_rate(contact.stiffness, loss, mobility))


def _check(contact: Contact, vectors: Sequence[str], positive: Sequence[str]) -> None:
    kind = type(contact).__name__.lower()
    for item in fields(contact)[1:]:  # behind the link
        value = getattr(contact, item.name)
        if item.name in vectors:
            finite_array(f"{kind} {item.name}", value, (3,))
        elif not float(finite_array(f"{kind} {item.name}", value, ())) >= 0.0 or (item.name in positive and not value):
            least = "above 0" if item.name in positive else "from 0 up"
            raise InputError(f"{kind} {item.name}", f"must be a number {least}, not {value!r}", value)
