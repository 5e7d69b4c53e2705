"""The Controller interface: the contract of every plugin in the group ``robodyn_ros.controllers``."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from robodyn_ros.checks import non_negative
from robodyn_ros.dynamics.base import Dynamics
from robodyn_ros.errors import InputError
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
    """A control law τ = f(q, q̇, reference, ∫e dt), and what it remembers, which most laws do not.

    ``compute`` changes nothing, and may be called for any state. A law that learns or observes does so in ``advance``,
    which is called once a period, before ``compute``.

    Attributes:
        feedback: what the gains produce. With ``effort`` they are a stiffness [N·m/rad, N/m] and a damping; with
            ``acceleration`` they are [1/s²] and [1/s], and the law multiplies by M(q).
        settings: dataclass of the settings that the constructor takes as its keyword ``config``; None if it takes none.
        follows: whether the law leads the arm to the reference; one that does not leaves it to whoever moves it.
        kp: gain on the position error, (n,).
        kd: gain on the velocity error, (n,).
        ki: gain on the integral of the position error, (n,); where all are zero, nobody need integrate.
    """

    feedback: ClassVar[Literal["effort", "acceleration"]]
    settings: ClassVar[type[Any] | None] = None
    follows: ClassVar[bool] = True

    def __init__(self, dynamics: Dynamics, kp: ArrayLike, kd: ArrayLike, ki: ArrayLike = 0.0) -> None:
        """
        Args:
            dynamics: the arm's model.
            kp: gain on the position error, (n,), or one number for every joint.
            kd: gain on the velocity error, likewise.
            ki: gain on the integral of the position error, likewise.

        Raises:
            InputError: a gain has the wrong shape, is negative or not finite.
        """
        self.dynamics = dynamics
        self.kp = non_negative("kp", kp, dynamics.robot.n)
        self.kd = non_negative("kd", kd, dynamics.robot.n)
        self.ki = non_negative("ki", ki, dynamics.robot.n)
        self._none = read_only(np.zeros(dynamics.robot.n))

    @abstractmethod
    def compute(self, q: Array, qd: Array, reference: Reference, integral: Array | None = None) -> Efforts:
        """The efforts for a state and a reference. Inputs are finite and of shape (n,): the caller sees to it.

        Args:
            q: positions (n,) in [rad] or [m].
            qd: velocities (n,) in [rad/s] or [m/s].
            reference: what the arm should do.
            integral: of the position error over time (n,) in [rad s] or [m s]; zero unless given. Whoever calls owns
                it, and keeps it from winding up while an effort is saturated.
        """

    def look_ahead(self, expected: Callable[[float], Reference], effort_limit: Array) -> None:  # noqa: B027
        """Hear what is to come, before each ``advance``; for laws that plan.

        Args:
            expected: the reference so far ahead of now [s], if nothing else is asked for.
            effort_limit: what will be sent at most, (n,) in [N·m] or [N]; inf where there is no limit.
        """

    def advance(self, dt: float, q: Array, qd: Array, reference: Reference, asked: Array, sent: Array) -> None:  # noqa: B027
        """Go on by a period.

        Args:
            dt: the period [s]; 0 where there was none: it is the first state, or the flow of states was broken.
            q: positions at its end, (n,) in [rad] or [m].
            qd: velocities at its end, (n,) in [rad/s] or [m/s].
            reference: at its end.
            asked: what this law gave at its beginning, (n,) in [N·m] or [N].
            sent: what was sent to the drives then, (n,): the same, unless something limited or replaced it.
        """

    def resume(self, before: Controller) -> None:  # noqa: B027
        """Take over what another law remembers, in whose place this one is put while the arm moves."""

    def forget(self) -> None:  # noqa: B027
        """Remember nothing any more."""

    def estimates(self) -> dict[str, float]:
        """What it believes of the arm now, by names with units, for people and plots."""
        return {}

    def report(self) -> dict[str, float]:
        """How it is doing, by names with units, for the diagnostics."""
        return {}

    def complaint(self) -> str:
        """What went wrong since it was last asked, so that it could not do its best; "" if nothing did."""
        return ""

    def memory(self) -> dict[str, Any]:
        """What it has learnt that is worth a file, as plain data for YAML; empty if nothing is."""
        return {}

    def restore(self, memory: dict[str, Any]) -> None:
        """Take over what :meth:`memory` gave, of this arm.

        Raises:
            InputError: this law remembers nothing of the kind, or something else is wrong with it.
        """
        raise InputError("memory", f"{type(self).__name__} learns nothing", memory)

    def correction(self, q: Array, qd: Array, reference: Reference, integral: Array | None) -> Array:
        """The feedback kp e + kd ė + ki ∫e dt (n,), in the unit of the gains; arguments as :meth:`compute`."""
        corrected: Array = self.kp * (reference.q - q) + self.kd * (reference.qd - qd)
        return corrected if integral is None else corrected + self.ki * integral
