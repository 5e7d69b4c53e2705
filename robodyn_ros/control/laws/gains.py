# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Gains that mean the same for every law: how the error behaves at the home pose.

    ë + 2ζω ė + ω² e = 0        ω natural frequency [rad/s], ζ damping ratio [-]

With integral action at the rate ρ [1/s] there is a third pole at -ρ, and the other two stay the same:

    (s² + 2ζω s + ω²)(s + ρ) = s³ + (2ζω + ρ) s² + (ω² + 2ζωρ) s + ω²ρ

so the gains on ė, e and ∫e dt are 2ζω + ρ, ω² + 2ζωρ and ω²ρ. A steady-state error decays as exp(-ρt).

A law whose feedback is an acceleration uses these gains unscaled. A law whose feedback is an effort multiplies them by
M_ii(home), the reflected inertia of joint i there. So every law gives joint i the same stiffness and damping at home
(exactly so if joint i moves alone). A stiffness K [N·m/rad, N/m] and a damping D [N·m·s/rad, N·s/m] can be given
instead: they stand for ω² = K / M_ii(home) and 2ζω = D / M_ii(home).

The default is one ω of 30 rad/s for all joints. A law that uses a model M̂ of the mass matrix M has the error

    M ë + M̂ (2ω ė + ω² e) = Δτ        (ζ = 1; Δτ: efforts that are not in the model)

M⁻¹ M̂ has real positive eigenvalues λ, as both are symmetric and positive definite. With one ω the error decouples
into s² + λ (2ω s + ω²), of damping ratio √λ: no load makes it unstable; with a different ω for each joint it may be. At
rest e = M̂⁻¹ Δτ / ω². A URDF without the motors' rotors has an M̂ of 1e-4 to 2e-2 kg m² at the wrist, and with
ω = 10 rad/s the wrist of a UR5e has an error of more than 2 rad under 3 kg. An ω of 30 rad/s reduces it to a ninth, and
is still possible with states that are 10 ms apart and 10 ms old (``../faults/sampling.py``).

Source: Siciliano, Sciavicco, Villani, Oriolo, Robotics: Modelling, Planning and Control (2009), §8.5.2, where
Kp = diag(ω²) and Kd = diag(2ζω); Lynch and Park, Modern Robotics (2017), §11.4; the third pole is pole placement.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from robodyn_ros.checks import finite_array, non_negative
from robodyn_ros.control.laws.base import Controller
from robodyn_ros.dynamics.base import Dynamics
from robodyn_ros.robot.pose import Array
from robodyn_ros.settings import CheckedSettings, setting


@dataclass(frozen=True)
class JointGains(CheckedSettings):
    """Desired decay of a joint's error; the same meaning for every controller plugin."""

    natural_frequency: float = setting(30.0, "natural frequency ω of the position error", "rad/s", 0.0, 1000.0)
    damping_ratio: float = setting(1.0, "damping ratio ζ of the position error", "-", 0.0, 100.0)
    integral_rate: float = setting(0.0, "rate ρ of the integral action (0: none)", "1/s", 0.0, 100.0)
    stiffness: float = setting(0.0, "stiffness (replaces natural_frequency unless 0)", "N·m/rad or N/m", 0.0, 1e9)
    damping: float = setting(0.0, "damping (replaces damping_ratio unless 0)", "N·m·s/rad or N·s/m", 0.0, 1e9)


class Gains(NamedTuple):
    """The gains that a law is made with, each (n,)."""

    kp: Array
    kd: Array
    ki: Array


def gains(
    law: type[Controller],
    dynamics: Dynamics,
    home: ArrayLike,
    natural_frequency: ArrayLike,
    damping_ratio: ArrayLike,
    integral_rate: ArrayLike = 0.0,
    stiffness: ArrayLike = 0.0,
    damping: ArrayLike = 0.0,
) -> Gains:
    """Gains that give the error of ``law`` the desired behaviour at the home pose.

    Args:
        law: the controller's class; its ``feedback`` is the unit of its gains.
        dynamics: the arm's model.
        home: pose whose reflected inertia scales effort feedback, (n,) in [rad] or [m].
        natural_frequency: ω in [rad/s], (n,) or one for all joints.
        damping_ratio: ζ [-], likewise; 1 is the quickest without overshoot.
        integral_rate: ρ in [1/s], likewise; 0 for no integral action.
        stiffness, damping: K in [N·m/rad] or [N/m], and D in [N·m·s/rad] or [N·s/m], likewise; if not 0, they replace ω
            and ζ.

    Raises:
        InputError: an argument has the wrong shape, is negative or not finite.
    """
    n = dynamics.robot.n
    given = {"natural_frequency": natural_frequency, "damping_ratio": damping_ratio, "integral_rate": integral_rate}
    given |= {"stiffness": stiffness, "damping": damping}
    checked = {name: non_negative(name, value, n) for name, value in given.items()}
    inertia = np.diagonal(dynamics.mass_matrix(finite_array("home", home, (n,))))
    scale = np.ones(n) if law.feedback == "acceleration" else inertia
    return gains_by_inertia(inertia, scale, **checked)


def gains_by_inertia(
    inertia: Array,
    scale: Array,
    natural_frequency: Array,
    damping_ratio: Array,
    integral_rate: Array,
    stiffness: Array,
    damping: Array,
) -> Gains:
    """The gains of joints with a reflected inertia M_ii, (n,) in [kg m²] or [kg]; an exported controller has this as C,
    traced. ``scale`` is the factor from accelerations to the unit of the law's gains, (n,); the others are as in
    :func:`gains`, (n,).
    """
    omega = np.where(stiffness > 0.0, np.sqrt(stiffness / inertia), natural_frequency)
    spring, damper = omega**2, np.where(damping > 0.0, damping / inertia, 2.0 * damping_ratio * omega)
    rho = integral_rate
    return Gains(scale * (spring + damper * rho), scale * (damper + rho), scale * spring * rho)


def joint_gains(law: type[Controller], dynamics: Dynamics, home: ArrayLike, joints: Sequence[JointGains]) -> Gains:
    """As :func:`gains`, from the settings of each joint, in the order of ``robot.joints``."""
    wanted = {item.name: [getattr(joint, item.name) for joint in joints] for item in fields(JointGains)}
    return gains(law, dynamics, home, **wanted)
