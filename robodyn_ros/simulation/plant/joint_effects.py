# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Joint friction and joint stops: the effects in the joints that the rigid-body equations of motion leave out.

Friction is static, Coulomb, Stribeck and viscous:

    sliding:   F(q̇) = sign(q̇) (Fc + (Fs - Fc) exp(-(q̇/vs)²)) + d q̇
    at rest:   the effort that holds the joint, up to Fs

Fs - Fc is the Stribeck amplitude. With vs = 0 friction falls from Fs to Fc the moment the joint moves. F opposes q̇ for
all admissible parameters, so friction only dissipates energy. Source: Armstrong-Hélouvry, Dupont, Canudas de Wit, A
survey of models, analysis tools and compensation methods for the control of machines with friction (1994), section 2.1,
with exponent 2.

Stops stand at the position limits and are rigid or compliant. A rigid stop has a coefficient of restitution e: a joint
that hits it at velocity v leaves it at -e v (Newton's law), by an impulse that acts on the other joints through M. A
compliant stop pushes back with

    F = k δ (1 + λ δ̇)

at depth δ beyond the limit. It never pulls. Like the material that it models, it dissipates energy, and the force does
not jump at first contact (Hunt and Crossley, Coefficient of restitution interpreted as damping in vibroimpact, 1975,
with exponent 1). A mass that hits it at speed v leaves it at e v, with (1 + e) λv = ln((1 + λv) / (1 - λ e v)).

``force_on`` in ``motion.c`` is these forces.

**Stiffness.** M q̇ decays under viscous friction D q̇ at the rates λ, the eigenvalues of M⁻¹ D. A light joint with much
friction has a rate far above 1/h, and then every explicit method with step h explodes, RK4 from h λ = 2.79 on (Hairer,
Wanner, Solving Ordinary Differential Equations II (1996), section IV.2). :func:`stable_integrator` then replaces the
integrator by :class:`.sdirk4.SDIRK4`, which takes any rate. An arm whose friction decays in no less than a step keeps
its integrator. The same holds for a compliant stop that a joint may leave within a few steps (:func:`stops_are_stiff`):
an explicit method would miss its dissipation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from robodyn_ros.checks import check
from robodyn_ros.dynamics.base import Dynamics
from robodyn_ros.plugins import create
from robodyn_ros.robot import Array, Robot, random_positions, read_only
from robodyn_ros.settings import CheckedSettings, setting
from robodyn_ros.simulation.integrators.base import Integrator
from robodyn_ros.simulation.integrators.sdirk4 import SDIRK4

FASTEST = 1e6
"""Speed [rad/s] or [m/s] that no joint reaches. A motion beyond it is that of an unstable simulation."""

GREATEST = 1e9
"""Upper bound of every friction parameter; a greater number is a mistake."""

POSES = 16
"""Poses at which the rates are found, besides the nearest one to zero; between them, M changes by less than 2.79."""

IMPACT_SPEED = 1.0
"""Speed of an impact for which the step of the integration is judged [rad/s] or [m/s]."""

STIFF = 0.3
"""Angle of a contact's oscillation in a step from which on an implicit method is used [rad]."""


@dataclass(frozen=True)
class FrictionSettings(CheckedSettings):
    """Friction of one joint; each field's metadata describe it."""

    viscous: float = setting(0.0, "viscous friction d", "N·m·s/rad or N·s/m", 0.0, GREATEST)
    coulomb: float = setting(0.0, "Coulomb friction Fc", "N·m or N", 0.0, GREATEST)
    static_friction: float = setting(0.0, "static friction Fs (or Fc, if that is more)", "N·m or N", 0.0, GREATEST)
    stribeck_velocity: float = setting(0.0, "Stribeck velocity vs", "rad/s or m/s", 0.0, GREATEST)


def urdf_friction(robot: Robot) -> tuple[FrictionSettings, ...]:
    """The friction of each joint by the URDF's ``<dynamics damping friction>``, mimicking joints included.

    Raises:
        ConfigurationError: a number is out of range.
    """
    return tuple(FrictionSettings(float(d), float(f)) for d, f in zip(robot.damping, robot.friction, strict=True))


@dataclass(frozen=True)
class StopSettings(CheckedSettings):
    """The stops of one joint; each field's metadata describe it."""

    restitution: float = setting(0.0, "restitution e at a rigid stop", "-", 0.0, 1.0)
    stiffness: float = setting(0.0, "stiffness k of a compliant stop (0: a rigid one)", "N·m/rad or N/m", 0.0, 1e12)
    dissipation: float = setting(0.0, "dissipation λ of a compliant stop", "s/rad or s/m", 0.0, 1e6)


class JointEffects(NamedTuple):
    """The effects in the joints that the equations of motion leave out, (n,) each: rows of a frame of ``motion.c``."""

    speed: Array  # velocity limit of the drives [rad/s] or [m/s], inf where there is none
    viscous: Array  # d
    coulomb: Array  # Fc
    stribeck_amplitude: Array  # Fs - Fc while sliding [N·m] or [N]; 0 where vs is 0
    stribeck_rate: Array  # 1 / vs [s/rad] or [s/m]; 0 where vs is 0
    static_friction: Array  # Fs, at least Fc
    lower: Array  # positions of the stops [rad] or [m]
    upper: Array
    stiffness: Array  # k; 0 where the stops are rigid
    dissipation: Array  # λ
    restitution: Array  # e


def joint_effects(
    robot: Robot,
    friction: Sequence[FrictionSettings],
    stops: StopSettings | Sequence[StopSettings] | None,
    velocity_limit: Array,
) -> JointEffects:
    """The effects in the joints of an arm.

    Args:
        robot: the arm.
        friction: the friction of each joint.
        stops: one for every joint, or one for each; rigid and inelastic if None.
        velocity_limit: of the drives (n,) in [rad/s] or [m/s].

    Raises:
        InputError: the number of settings is not that of the joints.
    """
    joints = [stops or StopSettings()] * robot.n if stops is None or isinstance(stops, StopSettings) else stops
    _check_joints("friction", friction, FrictionSettings, robot.n)
    _check_joints("stops", joints, StopSettings, robot.n)
    viscous, coulomb, static, speed = np.array([astuple(own) for own in friction], dtype=np.float64).T
    restitution, stiffness, dissipation = np.array([astuple(own) for own in joints], dtype=np.float64).T
    static, smooth = np.maximum(static, coulomb), speed > 0.0
    amplitude = np.where(smooth, static - coulomb, 0.0)
    rate = np.divide(1.0, speed, out=np.zeros(robot.n), where=smooth)
    arrays = (velocity_limit, viscous, coulomb, amplitude, rate, static, robot.lower, robot.upper)
    return JointEffects(*map(read_only, (*arrays, stiffness, dissipation, restitution)))


def _check_joints(name: str, joints: Sequence[object], kind: type, n: int) -> None:
    are_right = len(joints) == n and all(isinstance(joint, kind) for joint in joints)
    check(are_right, name, f"one {kind.__name__} for each of {n} joints", joints)


def decay_rates(dynamics: Dynamics, viscous: Array) -> Array:
    """Return the greatest rate at which each joint's own friction slows it down, over the arm's poses, (n,) in [1/s].

    It is d (M⁻¹)ᵢᵢ: the other joints are free. The fastest rate of the whole arm is between the greatest of these and
    their sum.

    Args:
        dynamics: of the arm.
        viscous: viscous friction (n,) in [N·m·s/rad] or [N·s/m].
    """
    return viscous * _mobilities(dynamics)


def fastest_rate(dynamics: Dynamics, viscous: Array) -> float:
    """Return the greatest eigenvalue of M⁻¹ D over the arm's poses [1/s]; arguments as :func:`decay_rates`."""
    root = np.sqrt(viscous)
    symmetric = root[:, None] * sample_inverse_masses(dynamics)[1] * root
    return float(np.linalg.eigvalsh(symmetric).max())


def is_stiff(dynamics: Dynamics, viscous: Array, step: float) -> bool:
    """Return whether friction decays in less than a step.

    Args:
        dynamics: of the arm.
        viscous: viscous friction (n,) in [N·m·s/rad] or [N·s/m].
        step: [s].
    """
    return bool(viscous.any()) and step * fastest_rate(dynamics, viscous) > 1.0


def impact_rate(stiffness: ArrayLike, loss: ArrayLike, mobility: ArrayLike) -> Array:
    """Return the greatest rate at which an impact at :data:`IMPACT_SPEED` changes a motion [1/s].

    It reaches a depth of that speed by the frequency of the oscillation.

    Args:
        stiffness: of the surface [N/m] or [N·m/rad].
        loss: part of the force that a unit of speed adds [s/m] or [s/rad].
        mobility: acceleration by force [1/kg] or [1/(kg·m²)].
    """
    frequency = np.sqrt(np.asarray(stiffness) * mobility)
    return np.asarray(frequency * np.maximum(1.0, IMPACT_SPEED * np.asarray(loss)))


def stops_are_stiff(dynamics: Dynamics, effects: JointEffects, step: float) -> bool:
    """Return whether the force of a compliant stop changes much within a step.

    Args:
        dynamics: of the arm.
        effects: with the stops.
        step: [s].
    """
    if not effects.stiffness.any():
        return False
    return bool(step * impact_rate(effects.stiffness, effects.dissipation, _mobilities(dynamics)).max() > STIFF)


def stable_integrator(integrator: str | Integrator, dynamics: Dynamics, viscous: Array, step: float) -> Integrator:
    """Return the integrator, or SDIRK4 if friction decays in less than a step and the integrator has a fixed one.

    Args:
        integrator: as it was chosen, or the name of its plugin.
        dynamics: of the arm; its own viscous friction counts too.
        viscous: viscous friction of the plant (n,) in [N·m·s/rad] or [N·s/m].
        step: [s].
    """
    chosen: Integrator = create("integrators", integrator) if isinstance(integrator, str) else integrator
    if chosen.adaptive or not is_stiff(dynamics, viscous + dynamics.parameters.viscous, step):
        return chosen
    return SDIRK4()


def _mobilities(dynamics: Dynamics) -> Array:
    """The greatest (M⁻¹)ᵢᵢ over the arm's poses, (n,)."""
    return np.diagonal(sample_inverse_masses(dynamics)[1], axis1=1, axis2=2).max(axis=0)


def sample_inverse_masses(dynamics: Dynamics) -> tuple[Array, Array]:
    """Return some of the arm's poses (N, n), and M⁻¹ at each of them (N, n, n), without the payload: the arm may put
    it down, and M⁻¹ is greatest then.
    """
    robot, payload = dynamics.robot, dynamics.parameters.payload
    poses = np.vstack([robot.home, random_positions(robot, POSES)])
    dynamics.configure(payload=None)
    try:
        masses = [dynamics.mass_matrix(q) for q in poses]
    finally:
        dynamics.configure(payload=payload)
    return poses, np.linalg.inv(np.array(masses))
