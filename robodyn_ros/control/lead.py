"""How a state becomes an effort when all is well: reference, control law, ramp, shaping."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from robodyn_ros.control.base import Controller, Efforts, Reference
from robodyn_ros.control.checks import is_finite
from robodyn_ros.control.guide import Guide
from robodyn_ros.control.integral import Integral
from robodyn_ros.control.shaping import Shaped, Shaping
from robodyn_ros.control.tuning import Tuning
from robodyn_ros.control.weight import Weight
from robodyn_ros.errors import EffortError
from robodyn_ros.robot import Robot
from robodyn_ros.robot.pose import Array


def total(controller: Controller, efforts: Efforts, n: int) -> Array:
    """The total of the efforts that a law gave.

    Raises:
        EffortError: it is not n finite numbers.
    """
    given = efforts.total
    if getattr(given, "shape", None) != (n,) or not is_finite(given):
        raise EffortError(f"{type(controller).__name__} gave efforts that are not {n} finite numbers: {given}")
    return given


class Led(NamedTuple):
    """Where an effort comes from; arrays (n,)."""

    efforts: Efforts  # the terms of the control law [N·m] or [N]
    reference: Reference  # what the arm should do
    error: Array  # reference position minus position [rad] or [m]


class Lead:
    """Leads the arm along the guide's reference; its memory is what integrates, what was asked last, and when
    it was switched on.
    """

    def __init__(self, robot: Robot, guide: Guide, shaping: Shaping, weight: Weight) -> None:
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

    def command(self, t: float, dt: float, q: Array, qd: Array, tuning: Tuning) -> tuple[Shaped, Led]:
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
        return shaped, Led(efforts, reference, error)


def _completed(controller: Controller, reference: Reference, planned: Array) -> Reference:
    """The reference with that part of a plan's efforts as feed-forward which the law does not give of its own accord.

    So an arm that is on its reference gets what was planned under every law: all of it under one that knows nothing of
    the arm, and friction or a payload, say, under one that knows the rest. NaN are joints the plan does not speak of.
    """
    own = controller.compute(reference.q, reference.qd, reference).total
    return reference._replace(effort=np.where(np.isnan(planned), reference.effort, planned - own + reference.effort))
