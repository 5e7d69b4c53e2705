# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The control step: from an accepted state and a reference to the effort that is sent.

:func:`control_step` has all of it: control law, integral action, blend, limits, and the lag of the trajectory. It
is written as the equations are, and it is called in two ways. With symbols it is traced, law and model included, and
becomes compiled code of the arm (:mod:`robodyn_ros.control.compiled_step`). The control loop, the nodes and the sweeps
run this code. With numbers it is plain Python: for debugging, for laws that cannot be traced, and on machines with
neither a compiler nor CasADi.

The core calls the compiled code; for a law that runs as Python it calls back into Python.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.checks import is_finite
from robodyn_ros.control.laws.base import Controller, Efforts, Reference, what_is_wrong
from robodyn_ros.control.limits import blend, limit, soften
from robodyn_ros.control.step_numbers import StepMemory, StepSettings
from robodyn_ros.errors import EffortError
from robodyn_ros.robot.pose import Array

LEAD = 0.2
"""How far a trajectory runs ahead of a joint whose effort is saturated [rad] or [m]."""


class Command(NamedTuple):
    """The command for a state, or for a missing state; arrays (n,) in the order of ``robot.joints``."""

    effort: Array  # to send [N·m] or [N]
    saturated: NDArray[np.bool_]  # where the effort limit or a soft position limit reduced it
    rate_limited: NDArray[np.bool_]  # where the rate limit changed it
    state_age: float  # [s]; without a state, the time since the last usable one
    efforts: Efforts | None = None  # the terms of the control law [N·m] or [N]; None in reaction to a fault
    reference: Reference | None = None  # the desired motion; likewise
    error: Array | None = None  # reference position minus position [rad] or [m]; likewise
    fault: str | None = None  # the fault, if this command is a reaction to one
    problem: str = ""  # the cause of the fault
    state: tuple[Array, Array] | None = None  # position and velocity that the command was computed for, if any
    external: Array | None = None  # external efforts, wrench, energy and mass, (n + 8,); None if not observed


class StepResult(NamedTuple):
    """Result of a control step, (n,) each; masks hold 0 and 1."""

    effort: Array  # to send [N·m] or [N]
    saturated: Any  # where the effort limit or a soft position limit reduced it
    rate_limited: Any  # where the rate limit changed it
    gravity: Array  # the model's gravity effort
    efforts: Efforts  # the terms of the control law
    error: Array  # reference position minus position [rad] or [m]


class Law(Protocol):
    """A control law as the step calls it: :class:`LawInNumbers`, or the traced one."""

    @property
    def ki(self) -> Array:
        """Gain on the integral of the position error, (n,)."""

    def gravity(self, q: Array) -> Array:
        """The gravity effort of the law's model at q (n,), (n,)."""

    def learn(self, is_due: Any, dt: Any, q: Array, qd: Array, reference: Reference, asked: Array, sent: Array) -> None:
        """:meth:`Controller.advance`, where ``is_due`` is not 0."""

    def compute(self, q: Array, qd: Array, reference: Reference, integral: Array | None = None) -> Efforts:
        """:meth:`Controller.compute`."""


def control_step(
    law: Law, t: Any, dt: Any, q: Array, qd: Array, reference: Reference, memory: StepMemory, settings: StepSettings
) -> tuple[StepResult, StepMemory]:
    """The effort for a state, with numbers or with symbols.

    Args:
        law: the control law.
        t: time of the state [s].
        dt: time since the state before [s]; 0 if there was none.
        q: position (n,).
        qd: velocity (n,).
        reference: the desired motion.
        memory: after the step before.
        settings: limits and bounds.

    Returns:
        The result, and the memory after this step.
    """
    gravity = law.gravity(q)
    error = reference.q - q

    # The law's memory: a new period begins if no effort was requested or sent yet; a repeated state ends no period.
    begins = (memory.has_requested == 0.0) | (memory.is_sending == 0.0)
    asked = np.where(begins, 0.0, memory.requested + memory.added)
    sent = np.where(begins, 0.0, memory.sent + memory.added)
    law.learn(begins | (dt > 0.0), np.where(begins, 0.0, dt), q, qd, reference, asked, sent)

    integral = integrate(dt, error, np.any(law.ki != 0.0), memory, settings)
    efforts = law.compute(q, qd, reference, integral)
    to_send, added = split(efforts, gravity, settings)
    memory = memory._replace(integral=integral, requested=to_send.total, added=added, has_requested=1.0)

    asked, memory = blend(t, to_send.total, memory)
    softened = soften(asked, q, qd, gravity - added, settings)
    effort, saturated, rate_limited, memory = limit(t, asked, softened, added, memory, settings)

    # If the effort of a joint is limited and the joint lags far behind, the arm cannot follow: the trajectory waits.
    lags = (error * memory.cut > 0.0) & (np.abs(error) > LEAD)
    memory = memory._replace(lagging=np.where(np.any(lags), 1.0, 0.0))
    return StepResult(effort, saturated, rate_limited, gravity, efforts, error), memory


def integrate(dt: Any, error: Array, is_used: Any, memory: StepMemory, settings: StepSettings) -> Array:
    """The integral of the position error, with conditional integration against windup, (n,) in [rad s] or [m s].

    Where an effort was cut, the integral does not grow in the direction of the cut. It is also bounded, because the
    error of a model accounts only for a limited effort.

    Source: Åström and Hägglund, Advanced PID Control (2006), §3.5, conditional integration.

    Args:
        dt: the period [s].
        error: reference minus position, (n,) in [rad] or [m].
        is_used: 0 if the law has no integral action; the integral stays as it is then.
        memory: the integral, and the cut of the effort.
        settings: the bound.
    """
    grown = memory.integral + np.where(error * memory.cut > 0.0, 0.0, dt * error)
    bounded = np.minimum(np.maximum(grown, -settings.integral_limit), settings.integral_limit)
    return np.where(is_used, bounded, memory.integral)


def split(efforts: Efforts, gravity: Array, settings: StepSettings) -> tuple[Efforts, Array]:
    """The efforts of the law minus the compensation that the drives add by themselves, and that compensation, (n,).

    A law without gravity compensation, such as ``pd``, has no gravity term to subtract from; the drive carries the arm
    then. A law that has learnt a load unknown to the drive, such as ``adaptive``, sends the effort for that load.

    Args:
        efforts: of the law.
        gravity: the model's gravity effort, (n,).
        settings: the compensation of the drives.
    """
    weight = settings.adds_gravity * gravity
    others = settings.adds_coriolis * efforts.coriolis, settings.adds_friction * efforts.friction
    carried = np.where(efforts.gravity != 0.0, weight, 0.0)
    to_send = efforts._replace(
        gravity=efforts.gravity - carried,
        coriolis=efforts.coriolis - others[0],
        friction=efforts.friction - others[1],
        total=efforts.total - (carried + others[0] + others[1]),
    )
    return to_send, weight + others[0] + others[1]


class LawInNumbers:
    """A control law, called with numbers.

    Attributes:
        last: latest gravity effort of the model, (n,) in [N·m] or [N]; NaN before the first one.
    """

    def __init__(self, law: Controller) -> None:
        """
        Args:
            law: the law.
        """
        self._law = law
        self.ki = law.ki
        self.last = np.full(law.dynamics.robot.n, np.nan)

    def gravity(self, q: Array) -> Array:
        """The model's gravity effort at q (n,), (n,).

        Raises:
            ValueError: the model does not give n finite numbers; ``last`` stays.
            Exception: whatever the model raises; likewise.
        """
        gravity = self._law.dynamics.gravity(q)
        if getattr(gravity, "shape", None) != q.shape or not is_finite(gravity):
            raise ValueError(f"gravity of the dynamics plugin is no {len(q)} finite numbers: {gravity!r}")
        self.last = gravity
        return gravity

    def learn(self, is_due: Any, dt: Any, q: Array, qd: Array, reference: Reference, asked: Array, sent: Array) -> None:
        """:meth:`Controller.advance`, if it is due."""
        if is_due:
            self._law.advance(float(dt), q, qd, reference, asked, sent)

    def compute(self, q: Array, qd: Array, reference: Reference, integral: Array | None = None) -> Efforts:
        """:meth:`Controller.compute`, checked."""
        efforts = (
            self._law.compute(q, qd, reference, integral) if self.ki.any() else self._law.compute(q, qd, reference)
        )
        checked_total(self._law, efforts, len(q))
        return efforts


def checked_total(controller: Controller, efforts: Efforts, n: int) -> Array:
    """The total of the efforts that a law gave, (n,).

    Raises:
        EffortError: it is not n finite numbers.
    """
    given: Any = getattr(efforts, "total", None)
    if isinstance(given, np.ndarray) and given.shape == (n,) and given.dtype == np.float64 and is_finite(given):
        total: Array = given
        return total
    problem = what_is_wrong(efforts, n)
    if problem:
        raise EffortError(f"{type(controller).__name__}: {problem}")
    return np.asarray(given, dtype=float)
