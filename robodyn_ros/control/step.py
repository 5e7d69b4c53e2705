"""The step of the control law: from a state and a reference to the efforts that the arm needs.

:meth:`robodyn_ros.control.loop.ControlLoop.update` calls the methods of :class:`ControlStep` in their order.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.checks import is_finite
from robodyn_ros.control.faults.settings import FaultKind
from robodyn_ros.control.laws.base import Controller, Efforts, Reference
from robodyn_ros.control.limits import Shaping
from robodyn_ros.control.loop_settings import LoopSettings
from robodyn_ros.control.reference.manager import ReferenceManager
from robodyn_ros.dynamics.base import Dynamics
from robodyn_ros.errors import EffortError
from robodyn_ros.robot import Robot
from robodyn_ros.robot.pose import Array


class Command(NamedTuple):
    """What to send for a state, or for the lack of one; arrays (n,) in the order of ``robot.joints``."""

    effort: Array  # what to send [N·m] or [N]
    saturated: NDArray[np.bool_]  # where the effort limit or a soft position limit cut it
    rate_limited: NDArray[np.bool_]  # where the rate limit did
    state_age: float  # [s]; since the last usable state, if there is none
    efforts: Efforts | None = None  # the terms of the control law [N·m] or [N]; None in reaction to a fault
    reference: Reference | None = None  # what the arm should do; likewise
    error: Array | None = None  # reference position minus position [rad] or [m]; likewise
    fault: FaultKind | None = None  # the fault that this is the reaction to
    problem: str = ""  # what exactly is wrong
    state: tuple[Array, Array] | None = None  # the position and velocity that it is for, if there are any


class ControlStep:
    """Reference, control law and gravity ramp of one state after the other.

    It remembers the integral of the error, the efforts that the law gave last, and when the loop was switched on.
    """

    def __init__(self, robot: Robot, references: ReferenceManager, shaping: Shaping) -> None:
        """
        Args:
            robot: the arm.
            references: where the reference comes from.
            shaping: what has been sent of the efforts.
        """
        self._references, self._shaping = references, shaping
        self._integral = Integral(robot.n)
        self._none = np.zeros(robot.n)
        self._requested: Array | None = None
        self._switched_on = -np.inf
        self._lagging = False

    def reset(self) -> None:
        """Begin anew: the integral is zero, the law has given nothing, and no joint lags."""
        self._integral.reset()
        self._requested = None
        self._lagging = False

    def reference(self, t: float, dt: float, q: Array, controller: Controller) -> Reference:
        """The reference for the arm at q (n,).

        Args:
            t: time of the state [s].
            dt: since the one before [s].
            q: position (n,).
            controller: the law that is to follow it.
        """
        if self._lagging:
            self._references.wait(dt)
        if not controller.follows:  # whoever moves the arm says where it is, and the next law begins there
            self._references.start(t, q)
        reference = self._references.reference(t, q)
        planned = self._references.planned(t)
        return reference if planned is None else _with_planned_effort(controller, reference, planned)

    def efforts(
        self, dt: float, q: Array, qd: Array, reference: Reference, error: Array, settings: LoopSettings
    ) -> Efforts:
        """The efforts of the control law.

        Args:
            dt: since the state before [s].
            q: position (n,).
            qd: velocity (n,).
            reference: what the arm should do.
            error: reference position minus position, (n,).
            settings: the law, its limits and the bound of the integral.

        Raises:
            EffortError: the law gives efforts that are not n numbers.
            Exception: whatever a plugin raises.
        """
        controller, sent = settings.controller, self._shaping.sent
        controller.look_ahead(self._references.ahead, settings.limits.effort)
        if self._requested is None or sent is None:
            controller.advance(0.0, q, qd, reference, self._none, self._none)
        elif dt > 0.0:  # a state that comes twice ends no period
            controller.advance(dt, q, qd, reference, self._requested, sent)
        if any(controller.ki.tolist()):
            integral = self._integral.advance(dt, error, self._shaping.cut, settings.safety.integral_limit)
            efforts = controller.compute(q, qd, reference, integral)
        else:
            efforts = controller.compute(q, qd, reference)
        self._requested = checked_total(controller, efforts, len(q))
        return efforts

    def ramp_in(self, t: float, efforts: Efforts, ramp_time: float) -> Array:
        """The total of the efforts (n,), with gravity ramping in over ``ramp_time`` [s] after switching on."""
        if self._shaping.sent is None:
            self._switched_on = t
        if 0.0 <= t - self._switched_on < ramp_time:
            return efforts.total - (1.0 - (t - self._switched_on) / ramp_time) * efforts.gravity
        return efforts.total

    def check_tracking(self, t: float, q: Array, qd: Array, error: Array, reference_lead: float) -> None:
        """Let the trajectory wait while the arm cannot keep up, and hold the arm where a tolerance is violated.

        The arm cannot keep up if the effort of a joint is limited and the joint lags by more than ``reference_lead``.
        """
        cuts = self._shaping.cut.tolist()
        ahead = zip(error.tolist(), cuts, strict=True)
        self._lagging = any(cuts) and any(off * cut > 0.0 and abs(off) > reference_lead for off, cut in ahead)
        if self._references.judge(t, error, qd):
            self._references.start(t, q)


class Integral:
    """The integral of the position error, with conditional integration against windup.

    Where an effort was cut, the integral does not grow in the direction that would have it cut more. It is also
    bounded, because a wrong model explains only a limited effort.

    Source: Åström and Hägglund, Advanced PID Control (2006), §3.5, conditional integration.

    Attributes:
        value: (n,) in [rad s] or [m s].
    """

    def __init__(self, n: int) -> None:
        """
        Args:
            n: number of joints.
        """
        self.value = np.zeros(n)

    def reset(self) -> None:
        """Back to zero."""
        self.value = np.zeros_like(self.value)

    def advance(self, dt: float, error: Array, cut: Array, limit: float) -> Array:
        """The integral (n,) after a period.

        Args:
            dt: the period [s].
            error: reference minus position, (n,) in [rad] or [m].
            cut: effort that was asked for minus effort that was sent, (n,); not zero where it was limited.
            limit: greatest magnitude of the integral [rad s] or [m s].
        """
        step = np.where(error * cut > 0.0, 0.0, dt * error)
        self.value = np.minimum(np.maximum(self.value + step, -limit), limit)
        return self.value


class GravityEffort:
    """The efforts that carry the arm, from a model that may fail.

    Attributes:
        dynamics: the model; may be replaced.
        last: as the model gave it last, (n,) in [N·m] or [N]; None before it gave any.
    """

    def __init__(self, dynamics: Dynamics) -> None:
        """
        Args:
            dynamics: the model.
        """
        self.dynamics = dynamics
        self.last: Array | None = None

    def at(self, q: Array) -> Array:
        """The effort at a position (n,).

        Raises:
            Exception: whatever the model raises; ``last`` stays.
        """
        gravity = self.dynamics.gravity(q)
        if getattr(gravity, "shape", None) != q.shape or not is_finite(gravity):
            raise ValueError(f"gravity of the dynamics plugin is no {len(q)} finite numbers: {gravity!r}")
        self.last = gravity
        return gravity

    def at_or_last(self, q: Array) -> Array:
        """The effort at a position (n,) if the model gives it, else as it was last; zero if there never was one."""
        try:
            return self.at(q)
        except Exception:  # of a plugin: this is what the fault is about
            return np.zeros_like(q) if self.last is None else self.last


def checked_total(controller: Controller, efforts: Efforts, n: int) -> Array:
    """The total of the efforts that a law gave, (n,).

    Raises:
        EffortError: it is not n finite numbers.
    """
    given = efforts.total
    if getattr(given, "shape", None) != (n,) or not is_finite(given):
        raise EffortError(f"{type(controller).__name__} gave efforts that are not {n} finite numbers: {given}")
    return given


def _with_planned_effort(controller: Controller, reference: Reference, planned: Array) -> Reference:
    """The reference with that part of the planned efforts as feed-forward which the law does not give by itself.

    So an arm on its reference gets the planned effort under every law: all of it is feed-forward under a law without a
    model, and only friction or a payload, say, under a law that knows the rest. A joint with NaN has no planned effort.
    """
    own = controller.compute(reference.q, reference.qd, reference).total
    return reference._replace(effort=np.where(np.isnan(planned), reference.effort, planned - own + reference.effort))
