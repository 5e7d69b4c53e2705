"""Results that have several parts."""

from __future__ import annotations

from typing import NamedTuple

from robodyn_ros.robot.pose import Array


class Energy(NamedTuple):
    """Mechanical energy in [J], scalars or (N,). Potential is zero for centres of mass at the root link's origin."""

    kinetic: Array
    potential: Array


class Momentum(NamedTuple):
    """Momentum of all that moves, in the root link's axes, (3,) or (N, 3)."""

    linear: Array  # [kg m/s]
    angular: Array  # about the common centre of mass [kg m²/s]


class Power(NamedTuple):
    """Where the actuators' power goes, in [W], scalars or (N,): actuators = kinetic + potential + friction."""

    actuators: Array
    kinetic: Array
    potential: Array
    friction: Array


class Terms(NamedTuple):
    """What inverse dynamics is made of, and a correction of the acceleration, (n,) or (N, n) in [N·m] or [N]."""

    gravity: Array  # g(q)
    coriolis: Array  # C(q, q̇) q̇
    inertia: Array  # M(q) q̈
    corrected: Array  # M(q) y


class InverseDerivatives(NamedTuple):
    """Of τ = inverse(q, q̇, q̈), (n, n) or (N, n, n); element [i, j] is the derivative of τ_i by the j-th."""

    q: Array
    qd: Array
    qdd: Array  # M(q)


class ForwardDerivatives(NamedTuple):
    """Of q̈ = forward(q, q̇, τ), (n, n) or (N, n, n); element [i, j] is the derivative of q̈_i by the j-th."""

    q: Array
    qd: Array
    tau: Array  # M(q)⁻¹
