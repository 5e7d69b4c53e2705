# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The Dynamics interface: the contract of every plugin in the group ``robodyn_ros.dynamics``.

    M(q) q̈ + C(q, q̇) q̇ + g(q) + friction(q̇) = τ

Every method takes one state, arrays of shape (n,), or N of them, shape (N, n), in the order of ``robot.joints`` and
in SI units: [rad] or [m], and [N·m] or [N]. There is no friction unless it is asked for.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from robodyn_ros.document.blocks import Block, literal_table, literal_text
from robodyn_ros.document.html import Summarised
from robodyn_ros.dynamics.parameters import Parameters, standard_parameters
from robodyn_ros.errors import ModelError
from robodyn_ros.plugins import require
from robodyn_ros.robot import Array, Robot, as_robot
from robodyn_ros.robot.tree import check_moves_inertia


class Energy(NamedTuple):
    """Mechanical energy in [J], scalars or (N,). Potential is zero for centres of mass at the root link's origin."""

    kinetic: Array
    potential: Array


class Momentum(NamedTuple):
    """Momentum of all that moves, in the root link's axes, (3,) or (N, 3)."""

    linear: Array  # [kg m/s]
    angular: Array  # about the common centre of mass [kg m²/s]


class Power(NamedTuple):
    """Balance of the actuators' power, in [W], scalars or (N,): actuators = kinetic + potential + friction."""

    actuators: Array
    kinetic: Array
    potential: Array
    friction: Array


class Terms(NamedTuple):
    """Terms of inverse dynamics, and of a correction of the acceleration, (n,) or (N, n) in [N·m] or [N]."""

    gravity: Array  # g(q)
    coriolis: Array  # C(q, q̇) q̇
    inertia: Array  # M(q) q̈
    corrected: Array  # M(q) y


class InverseDerivatives(NamedTuple):
    """Derivatives of τ = inverse(q, q̇, q̈), (n, n) or (N, n, n); element [i, j] is that of τ_i by the j-th."""

    q: Array
    qd: Array
    qdd: Array  # M(q)


class ForwardDerivatives(NamedTuple):
    """Derivatives of q̈ = forward(q, q̇, τ), (n, n) or (N, n, n); element [i, j] is that of q̈_i by the j-th."""

    q: Array
    qd: Array
    tau: Array  # M(q)⁻¹


class Dynamics(Summarised, ABC):
    """The equations of motion of one arm.

    Attributes:
        robot: the arm.
        parameters: the values that may change while it runs.
    """

    def __init__(self, robot: Robot, **parameters: Any) -> None:
        """
        Args:
            robot: the arm.
            **parameters: those of ``Parameters`` that differ from the URDF's: ``gravity``, ``payload``, ``armature``, …

        Raises:
            InputError: a parameter is unknown or wrong.
            RobotDescriptionError: a motion of the joints moves no inertia, so that M cannot be inverted.
        """
        self.robot = robot = as_robot(robot)
        check_moves_inertia(robot)
        self.parameters = Parameters.of(robot, standard_parameters(robot)).changed(parameters)

    def summary(self) -> tuple[Block, ...]:
        """Return formulation, arm, gravity and payload, and the armature and friction of each joint."""
        robot, p = self.robot, self.parameters
        gravity = ", ".join(f"{value:.4g}" for value in p.gravity + 0.0)
        held = "no payload" if p.payload is None else f"{p.payload.mass:g} kg at {p.payload.link}"
        head = literal_text(f"{self.told()}: gravity ({gravity}) m/s², {held}")
        if not any(values.any() for values in (p.armature, p.viscous, p.coulomb)):
            return (head, literal_text("no friction, no armature"))
        rows = []
        for joint, *values in zip(robot.joints, p.armature, p.viscous, p.coulomb, strict=True):
            effort, position = joint.effort_unit, joint.position_unit
            units = "kg" if joint.is_prismatic else "kg m²", f"{effort}·s/{position}", effort
            rows.append((joint.name, *(f"{value:.4g} {unit}" for value, unit in zip(values, units, strict=True))))
        return (head, literal_table(("joint", "armature", "viscous friction", "Coulomb friction"), rows))

    def told(self) -> str:
        """Return the formulation and the arm in a few words."""
        return f"{type(self).__name__} of {self.robot.name} ({', '.join(self.robot.joint_names)})"

    def configure(self, **parameters: Any) -> None:
        """Change parameters while running; the others stay. Nothing is compiled again.

        Raises:
            InputError: a parameter is unknown or wrong; nothing is changed then.
        """
        changed = self.parameters.changed(parameters)
        self.apply(changed)
        self.parameters = changed

    @property
    def gravity_vector(self) -> Array:
        """Acceleration of free fall in the root link's frame, (3,) in [m/s²]."""
        return self.parameters.gravity

    def replaced(self) -> list[str]:
        """Return the names of the quantities that the plugin computes itself, as those of :data:`RESULTS`."""
        return list(RESULTS)

    @abstractmethod
    def apply(self, parameters: Parameters) -> None:
        """Take over new parameters, or raise InputError and keep the old ones."""

    @abstractmethod
    def inverse(self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike) -> Array:
        """Efforts τ (n,) or (N, n) that produce accelerations q̈."""

    @abstractmethod
    def forward(self, q: ArrayLike, qd: ArrayLike, tau: ArrayLike) -> Array:
        """Accelerations q̈ (n,) or (N, n) that efforts τ produce."""

    @abstractmethod
    def mass_matrix(self, q: ArrayLike) -> Array:
        """M(q), symmetric and positive definite, armature included, (n, n) or (N, n, n)."""

    @abstractmethod
    def coriolis_matrix(self, q: ArrayLike, qd: ArrayLike) -> Array:
        """C(q, q̇) by Christoffel symbols, so that Ṁ - 2C is skew-symmetric, (n, n) or (N, n, n)."""

    @abstractmethod
    def gravity(self, q: ArrayLike) -> Array:
        """g(q), the efforts that hold the arm at rest, (n,) or (N, n)."""

    def terms(self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, correction: ArrayLike) -> Terms:
        """Return the terms of the model that control laws need: g(q), C(q, q̇) q̇, M(q) q̈ and M(q) y, without friction.

        A plugin that computes all of them at once at less cost overrides this.

        Args:
            q: positions (n,) or (N, n).
            qd: velocities, likewise.
            qdd: accelerations q̈, likewise.
            correction: accelerations y, likewise.
        """
        mass_matrix, gravity = self.mass_matrix(q), self.gravity(q)
        friction = self.parameters.viscous * np.asarray(qd) + self.parameters.coulomb * np.sign(qd)
        coriolis = self.inverse(q, qd, np.zeros_like(gravity)) - gravity - friction
        inertia, corrected = ((mass_matrix @ np.asarray(x)[..., None])[..., 0] for x in (qdd, correction))
        return Terms(gravity, coriolis, inertia, corrected)

    @abstractmethod
    def energy(self, q: ArrayLike, qd: ArrayLike) -> Energy:
        """Kinetic and potential energy in [J]."""


RESULTS = {
    "inverse": (3, ("n",)),
    "forward": (3, ("n",)),
    "mass_matrix": (1, ("n", "n")),
    "coriolis_matrix": (2, ("n", "n")),
    "gravity": (1, ("n",)),
    "energy": (2, ()),
}
"""Method that a plugin has to have → how many arrays (n,) it takes, and the axes of its result."""


def check_results(dynamics: Dynamics) -> None:
    """Call the quantities that a plugin computes itself at the arm's home, at rest: for one state and for two.

    Raises:
        ModelError: a result is not an array of floats, or is of the wrong shape, or is not finite.
        Exception: whatever the plugin raises.
    """
    robot = dynamics.robot
    for name in dynamics.replaced():
        count, axes = RESULTS.get(name, (0, ()))
        for states in ((), (2,)) if count else ():
            home = np.broadcast_to(robot.home, (*states, robot.n)).copy()
            answer = getattr(dynamics, name)(home, *np.zeros((count - 1, *home.shape)))
            shape = (*states, *(robot.n for _ in axes))
            if name != "energy":
                finite_result(name, answer, shape)
                continue
            if not isinstance(answer, Energy):
                said = f"gives {type(answer).__name__}, not Energy(kinetic, potential)"
                raise ModelError(f"dynamics plugin: energy {said}")
            for part, value in answer._asdict().items():
                finite_result(f"energy's {part}", np.float64(value) if isinstance(value, float) else value, shape)


require("dynamics", Dynamics, {}, "robot", "parameters", check=check_results)


def finite_result(method: str, answer: object, shape: tuple[int, ...]) -> Array:
    """A result of a plugin.

    Args:
        method: that returned it.
        answer: the result.
        shape: expected shape.

    Raises:
        ModelError: it is not a finite array of floats of this shape; the message describes it.
    """
    if not isinstance(answer, (np.ndarray, np.floating)):
        raise ModelError(f"dynamics plugin: {method} {_gives(answer)}")
    array: Array = np.asarray(answer)
    if array.shape != shape or array.dtype.kind not in "fi" or not np.isfinite(array).all():
        raise ModelError(f"dynamics plugin: {method} gives no finite numbers of shape {shape}, but {answer!r}")
    return array


def _gives(answer: object) -> str:
    if answer is None:
        return "returns None: is its return statement missing?"
    said = f"gives no array, but a {type(answer).__name__}"
    try:
        np.asarray(answer)
    except Exception as cause:  # of whatever object it is
        return f"{said}: {cause}"
    return said
