"""How a state becomes an effort when all is well: reference, control law, ramp, shaping."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.checks import is_finite
from robodyn_ros.control.faults.reactions import Kind
from robodyn_ros.control.laws.base import Controller, Efforts, Reference
from robodyn_ros.control.loop_settings import LoopSettings
from robodyn_ros.control.reference.manager import ReferenceManager
from robodyn_ros.control.shaping import Shaped, Shaping
from robodyn_ros.dynamics.base import Dynamics
from robodyn_ros.errors import EffortError
from robodyn_ros.robot import Robot
from robodyn_ros.robot.pose import Array


class Integral:
    """The integral of the position error, and what keeps it from winding up.

    Conditional integration: where an effort was cut, the integral does not grow in the direction that would have it cut
    more. It is bounded besides, since a wrong model explains only so much.

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
        """Go on by a period.

        Args:
            dt: the period [s].
            error: reference minus position, (n,) in [rad] or [m].
            cut: effort that was asked for minus effort that was sent, (n,); not zero where it was limited.
            limit: greatest magnitude of the integral [rad s] or [m s].
        """
        step = np.where(error * cut > 0.0, 0.0, dt * error)
        self.value = np.minimum(np.maximum(self.value + step, -limit), limit)
        return self.value


# What carries the arm, from a model that may fail.


class GravityEffort:
    """The efforts that carry the arm, from a model that may fail.

    Attributes:
        last: as the model gave it last, (n,) in [N·m] or [N]; None before it gave any.
    """

    def __init__(self, dynamics: Dynamics) -> None:
        """
        Args:
            dynamics: the model; may be replaced.
        """
        self.dynamics = dynamics
        self.last: Array | None = None

    def at(self, q: Array) -> Array:
        """At a position (n,).

        Raises:
            Exception: whatever the model raises; ``last`` stays.
        """
        gravity = self.dynamics.gravity(q)
        if getattr(gravity, "shape", None) != q.shape or not is_finite(gravity):
            raise ValueError(f"gravity of the dynamics plugin is no {len(q)} finite numbers: {gravity!r}")
        self.last = gravity
        return gravity

    def known(self, q: Array) -> Array:
        """At a position (n,) if the model gives it, else as it was last; zero if there never was one."""
        try:
            return self.at(q)
        except Exception:  # of a plugin: this is what the fault is about
            return np.zeros_like(q) if self.last is None else self.last


# What the control loop gives for a state, or for the lack of one.


class Command(NamedTuple):
    """What to send; arrays (n,) in the order of ``robot.joints``."""

    effort: Array  # what to send [N·m] or [N]
    saturated: NDArray[np.bool_]  # where the effort limit or a soft position limit cut it
    rate_limited: NDArray[np.bool_]  # where the rate limit did
    state_age: float  # [s]; since the last usable state, if there is none
    efforts: Efforts | None = None  # the terms of the control law [N·m] or [N]; None in answer to a fault
    reference: Reference | None = None  # what the arm should do; likewise
    error: Array | None = None  # reference position minus position [rad] or [m]; likewise
    fault: Kind | None = None  # what this is the answer to
    problem: str = ""  # what exactly is wrong
    state: tuple[Array, Array] | None = None  # position and velocity that it answers, if there are any


def total(controller: Controller, efforts: Efforts, n: int) -> Array:
    """The total of the efforts that a law gave.

    Raises:
        EffortError: it is not n finite numbers.
    """
    given = efforts.total
    if getattr(given, "shape", None) != (n,) or not is_finite(given):
        raise EffortError(f"{type(controller).__name__} gave efforts that are not {n} finite numbers: {given}")
    return given


class ControlTerms(NamedTuple):
    """Where an effort comes from; arrays (n,)."""

    efforts: Efforts  # the terms of the control law [N·m] or [N]
    reference: Reference  # what the arm should do
    error: Array  # reference position minus position [rad] or [m]


class ControlStep:
    """Leads the arm along the guide's reference; its memory is what integrates, what was asked last, and when
    it was switched on.
    """

    def __init__(self, robot: Robot, guide: ReferenceManager, shaping: Shaping, weight: GravityEffort) -> None:
        """
        Args:
            robot: the arm.
            guide: where the reference comes from.
            shaping: what becomes of the efforts.
            weight: what carries the arm.
        """
        self._guide, self._shaping, self._weight = guide, shaping, weight
        self._integral = Integral(robot.n)
        self._none = np.zeros(robot.n)
        self._asked: Array | None = None
        self._switched_on = -np.inf
        self._lags = False

    def begin(self) -> None:
        """Nothing is integrated yet, nothing was asked of the arm, and nothing lags."""
        self._integral.reset()
        self._asked = None
        self._lags = False

    def command(self, t: float, dt: float, q: Array, qd: Array, tuning: LoopSettings) -> tuple[Shaped, ControlTerms]:
        """What is sent, and where it comes from.

        Args:
            t: time of the state [s].
            dt: since the one before [s].
            q: position (n,).
            qd: velocity (n,).
            tuning: what to work by.

        Raises:
            EffortError: the law gives efforts that are not n numbers.
            Exception: whatever a plugin raises.
        """
        controller, config, shaping = tuning.controller, tuning.config, self._shaping
        if self._lags:
            self._guide.wait(dt)
        gravity = self._weight.at(q)
        if not controller.follows:  # whoever moves the arm says where it is, and the next law begins there
            self._guide.start(t, q)
        reference = self._guide.reference(t, q)
        planned = self._guide.planned(t)
        if planned is not None:
            reference = _completed(controller, reference, planned)
        controller.look_ahead(self._guide.ahead, tuning.limits.effort)
        if self._asked is None or shaping.sent is None:
            controller.advance(0.0, q, qd, reference, self._none, self._none)
        elif dt > 0.0:  # a state that comes twice ends no period
            controller.advance(dt, q, qd, reference, self._asked, shaping.sent)
        error = reference.q - q
        if any(controller.ki.tolist()):
            integral = self._integral.advance(dt, error, shaping.cut, config.integral_limit)
            efforts = controller.compute(q, qd, reference, integral)
        else:
            efforts = controller.compute(q, qd, reference)
        self._asked = wanted = total(controller, efforts, len(q))
        if shaping.sent is None:
            self._switched_on = t
        if 0.0 <= t - self._switched_on < config.ramp_time:
            wanted = wanted - (1.0 - (t - self._switched_on) / config.ramp_time) * efforts.gravity
        shaped = shaping.shape(t, wanted, (q, qd), gravity, tuning)
        cuts, lead = shaping.cut.tolist(), config.reference_lead
        ahead = zip(error.tolist(), cuts, strict=True)
        self._lags = any(cuts) and any(off * cut > 0.0 and abs(off) > lead for off, cut in ahead)
        if self._guide.judge(t, error, qd):
            self._guide.start(t, q)
        return shaped, ControlTerms(efforts, reference, error)


def _completed(controller: Controller, reference: Reference, planned: Array) -> Reference:
    """The reference with that part of a plan's efforts as feed-forward which the law does not give of its own accord.

    So an arm that is on its reference gets what was planned under every law: all of it under one that knows nothing of
    the arm, and friction or a payload, say, under one that knows the rest. NaN are joints the plan does not speak of.
    """
    own = controller.compute(reference.q, reference.qd, reference).total
    return reference._replace(effort=np.where(np.isnan(planned), reference.effort, planned - own + reference.effort))
