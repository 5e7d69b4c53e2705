"""One meaning of gains for every law: what the error does at the home pose.

    ë + 2ζω ė + ω² e = 0        ω natural frequency [rad/s], ζ damping ratio [-]

A law whose feedback is an acceleration takes ω² and 2ζω as they are. A law whose feedback is an effort takes them times
M_ii(home), the inertia that joint i feels there, so that every law gives joint i the same stiffness and damping at home
(exactly so for joint i moving alone).

Source: Siciliano, Sciavicco, Villani, Oriolo, Robotics: Modelling, Planning and Control (2009), §8.5.2, where
Kp = diag(ω²) and Kd = diag(2ζω); Lynch and Park, Modern Robotics (2017), §11.4.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from robodyn_ros.control.base import Controller
from robodyn_ros.control.checks import finite_array, non_negative
from robodyn_ros.dynamics.base import Dynamics
from robodyn_ros.robot.pose import Array


def gains(
    law: type[Controller], dynamics: Dynamics, home: ArrayLike, natural_frequency: ArrayLike, damping_ratio: ArrayLike
) -> tuple[Array, Array]:
    """Gains kp, kd (n,) that make the error of ``law`` behave as wanted at the home pose.

    Args:
        law: the controller's class; its ``feedback`` says what its gains multiply.
        dynamics: the arm's model.
        home: pose at which effort feedback is matched, (n,) in [rad] or [m].
        natural_frequency: ω in [rad/s], (n,) or one for all joints.
        damping_ratio: ζ [-], likewise; 1 is the quickest without overshoot.

    Raises:
        InputError: an argument has the wrong shape, is negative or not finite.
    """
    n = dynamics.robot.n
    omega = non_negative("natural_frequency", natural_frequency, n)
    zeta = non_negative("damping_ratio", damping_ratio, n)
    kp, kd = omega**2, 2.0 * zeta * omega
    if law.feedback == "acceleration":
        return kp, kd
    felt = np.diagonal(dynamics.mass_matrix(finite_array("home", home, (n,))))
    return felt * kp, felt * kd
