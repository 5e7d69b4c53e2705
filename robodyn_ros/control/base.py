"""The Controller interface: the contract of every plugin in the group ``robodyn_ros.controllers``."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from robodyn_ros.control.checks import non_negative
from robodyn_ros.dynamics.base import Dynamics
from robodyn_ros.robot.pose import Array, read_only


class Reference(NamedTuple):
    """What the arm should do now; each (n,), in the order of ``robot.joints``."""

    q: Array  # [rad] or [m]
    qd: Array  # [rad/s] or [m/s]
    qdd: Array  # [rad/s²] or [m/s²]
    effort: Array  # feed-forward, added to the controller's own [N·m] or [N]


class Efforts(NamedTuple):
    """The terms of the control law, each (n,) in [N·m] or [N]; ``total`` is their sum."""

    gravity: Array
    coriolis: Array
    inertia: Array
    friction: Array
    feedback: Array
    feedforward: Array
    total: Array


class Controller(ABC):
    """A control law τ = f(q, q̇, reference), without state of its own.

    Attributes:
        feedback: what ``kp`` and ``kd`` produce. With ``effort`` they are a stiffness [N·m/rad, N/m] and a damping;
            with ``acceleration`` they are [1/s²] and [1/s], and the law multiplies by M(q).
    """

    feedback: ClassVar[Literal["effort", "acceleration"]]

    def __init__(self, dynamics: Dynamics, kp: ArrayLike, kd: ArrayLike) -> None:
        """
        Args:
            dynamics: the arm's model.
            kp: gain on the position error, (n,), or one number for every joint.
            kd: gain on the velocity error, likewise.

        Raises:
            InputError: a gain has the wrong shape, is negative or not finite.
        """
        self.dynamics = dynamics
        self.kp = non_negative("kp", kp, dynamics.robot.n)
        self.kd = non_negative("kd", kd, dynamics.robot.n)
        self._none = read_only(np.zeros(dynamics.robot.n))

    @abstractmethod
    def compute(self, q: Array, qd: Array, reference: Reference) -> Efforts:
        """The efforts for a state and a reference. Inputs are finite and of shape (n,): the caller sees to it."""
