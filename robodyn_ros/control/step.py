# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The control step: from an accepted state and a reference to the effort that is sent.

:func:`control_step` has all of it: control law, integral action, blend, limits, and the lag of the trajectory. With
symbols it is traced, law and model included, and becomes compiled code of the arm
(:mod:`robodyn_ros.control.compiled_step`), which control loop, nodes and sweeps run. With numbers it is plain Python:
for debugging, for laws that cannot be traced, and on machines with neither a compiler nor CasADi.

The effort that is sent is computed from the effort of the control law in four stages:

1. **Blend** (:func:`blend`), when law, model or gains change, or a fault is over. A change of settings during a blend
   adds only its own difference to the remaining one, so that changes in quick succession do not freeze the efforts.
2. **Soft position limits** (:func:`soften`).
3. **Absolute limit** (:func:`limit`): ±effort_limit, for the effort that is sent, and for its sum with the compensation
   that the drive adds by itself.
4. **Rate limit** (there, too): at most ±rate_limit · Δt away from the latest effort; Δt is ``state_timeout`` at most.

The efforts of a reaction to a fault are limited by ``core/limits.c``. Memory and settings of the step are one array of
numbers each, which compiled code reads and writes; the fields are views of its parts.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.checks import is_finite
from robodyn_ros.control.core_library import NUMBERS
from robodyn_ros.control.drives import DriveCompensation
from robodyn_ros.control.laws.base import Controller, Efforts, Reference, what_is_wrong
from robodyn_ros.control.loop_settings import LoopSettings
from robodyn_ros.errors import EffortError
from robodyn_ros.robot.pose import Array

Kind = TypeVar("Kind", "StepMemory", "StepSettings")

INSTANT, EFFORT_ROUNDING, NEVER = (NUMBERS[name] for name in ("INSTANT", "EFFORT_ROUNDING", "NEVER"))
"""The core's numbers of the same names (``core/memory.h``)."""

LEAD = 0.2  #: How far a trajectory runs ahead of a joint whose effort is saturated [rad] or [m].


class Command(NamedTuple):
    """The command for a state, or for a missing state; arrays (n,) in the order of ``robot.joints``, read from the
    numbers of the period on access: a view of a row takes as long as a fifth of the period in C.
    """

    numbers: Array  # q, q̇, the reference (4), and the rows of :data:`.compiled_step.ROWS`, (18, n)
    state_age: float  # [s]; without a state, the time since the last usable one
    external: Array | None = None  # external efforts, wrench, energy and mass, (n + 8,); None if not observed
    fault: str | None = None  # the fault, if this command is a reaction to one
    problem: str = ""  # the cause of the fault
    has_state: bool = True  # False if it was not computed for a state

    @property
    def effort(self) -> Array:
        """The effort to send [N·m] or [N]."""
        return self.numbers[6]

    @property
    def saturated(self) -> NDArray[np.bool_]:
        """True where the effort limit or a soft position limit reduced it."""
        return self.numbers[7] != 0.0

    @property
    def rate_limited(self) -> NDArray[np.bool_]:
        """True where the rate limit changed it."""
        return self.numbers[8] != 0.0

    @property
    def efforts(self) -> Efforts | None:
        """The terms of the control law [N·m] or [N]; None in reaction to a fault."""
        return Efforts(*self.numbers[11:]) if self._is_of_law else None

    @property
    def reference(self) -> Reference | None:
        """The desired motion; likewise."""
        return Reference(*self.numbers[2:6]) if self._is_of_law else None

    @property
    def error(self) -> Array | None:
        """Reference position minus position [rad] or [m]; likewise."""
        return self.numbers[10] if self._is_of_law else None

    @property
    def state(self) -> tuple[Array, Array] | None:
        """Position and velocity that the command was computed for, if any."""
        return (self.numbers[0], self.numbers[1]) if self.has_state else None

    @property
    def _is_of_law(self) -> bool:
        return self.has_state and self.fault is None


class StepMemory(NamedTuple):
    """Memory of a control step; arrays (n,), and numbers as arrays ()."""

    integral: Array  # of the position error [rad s] or [m s]
    requested: Array  # latest effort of the law, without the compensation of the drives [N·m] or [N]
    sent: Array  # latest effort sent, likewise
    added: Array  # compensation that the drives added to it by themselves
    cut: Array  # blended effort minus effort sent
    blend_from: Array  # effort sent when the blend was requested; once it runs, the difference that fades
    has_requested: Any  # 1 if the law has given an effort since the loop started
    is_sending: Any  # 1 if an effort has been sent since the loop was switched on, or stopped sending
    sent_at: Any  # time of the latest effort sent [s]
    blending: Any  # 0: no; 1: it begins with the next effort; 2: it runs
    blend_begin: Any  # begin of the blend [s]
    blend_time: Any  # duration of the blend [s]
    lagging: Any  # 1 if a joint with a limited effort lags behind, so that the trajectory waits


class StepSettings(NamedTuple):
    """Settings of a control step; arrays (n,), and numbers as arrays ()."""

    effort_limit: Array  # [N·m] or [N]
    rate_limit: Array  # [N·m/s] or [N/s]
    lower: Array  # position limits [rad] or [m]
    upper: Array
    stiffness: Array  # of the soft position limits [N·m/rad] or [N/m]
    damping: Array  # likewise [N·m·s/rad] or [N·s/m]
    adds_gravity: Array  # 1 where a drive adds gravity by itself
    adds_coriolis: Array  # likewise
    adds_friction: Array  # likewise
    soft_limit_margin: Any  # distance from the position limit at which they begin [rad] or [m]
    state_timeout: Any  # longest time step of the rate limit [s]
    integral_limit: Any  # [rad s] or [m s]


class StepResult(NamedTuple):
    """Result of a control step, (n,) each; masks hold 0 and 1."""

    effort: Array  # to send [N·m] or [N]
    saturated: Any  # where the effort limit or a soft position limit reduced it
    rate_limited: Any  # where the rate limit changed it
    gravity: Array  # the model's gravity effort
    efforts: Efforts  # the terms of the control law
    error: Array  # reference position minus position [rad] or [m]


class Law:
    """A control law as the step calls it, with numbers; the traced one has the same methods (:class:`.TracedLaw`)."""

    def __init__(self, law: Controller) -> None:
        self._law = law

    @property
    def ki(self) -> Array:
        """Gain on the integral of the position error, (n,)."""
        return self._law.ki

    def gravity(self, q: Array) -> Array:
        """The model's gravity effort (n,) at q (n,); ValueError: it is not n finite numbers; or the plugin's error."""
        gravity = self._law.dynamics.gravity(q)
        if getattr(gravity, "shape", None) != q.shape or not is_finite(gravity):
            raise ValueError(f"gravity of the dynamics plugin is no {len(q)} finite numbers: {gravity!r}")
        return gravity

    def learn(self, is_due: Any, dt: Any, q: Array, qd: Array, reference: Reference, asked: Array, sent: Array) -> None:
        """:meth:`Controller.advance`, if it is due."""
        if is_due:
            self._law.advance(float(dt), q, qd, reference, asked, sent)

    def compute(self, q: Array, qd: Array, reference: Reference, integral: Array | None = None) -> Efforts:
        """:meth:`Controller.compute`, checked."""
        efforts = self._law.compute(q, qd, reference, *((integral,) if self.ki.any() else ()))
        checked_total(self._law, efforts, len(q))
        return efforts


def control_step(
    law: Law, t: Any, dt: Any, q: Array, qd: Array, reference: Reference, memory: StepMemory, settings: StepSettings
) -> tuple[StepResult, StepMemory]:
    """The effort for a state, with numbers or with symbols, and the memory after this step.

    Args:
        law: the control law.
        t, dt: time of the state, and time since the state before [s]; dt is 0 if there was none.
        q, qd: position and velocity (n,).
        reference: the desired motion.
        memory: after the step before.
        settings: limits and bounds.
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


def clamp(values: Any, least: Any, most: Any) -> Any:
    """Values within bounds; of NaN a bound, because what is not finite is refused elsewhere, and this costs less."""
    return np.fmin(np.fmax(values, least), most)


def integrate(dt: Any, error: Array, is_used: Any, memory: StepMemory, settings: StepSettings) -> Array:
    """The integral of the position error, (n,) in [rad s] or [m s]; it stays as it is if the law does not use it.

    Against windup it does not grow in the direction in which an effort was cut (conditional integration: Åström and
    Hägglund, Advanced PID Control (2006), §3.5), and it is bounded: the error of a model accounts for a limited effort
    only.
    """
    grown = memory.integral + np.where(error * memory.cut > 0.0, 0.0, dt * error)
    bounded = clamp(grown, -settings.integral_limit, settings.integral_limit)
    return np.where(is_used, bounded, memory.integral)


def split(efforts: Efforts, gravity: Array, settings: StepSettings) -> tuple[Efforts, Array]:
    """The efforts of the law minus the compensation that the drives add by themselves, and that compensation, (n,).

    A law without gravity compensation, such as ``pd``, has no gravity term to subtract from; the drive carries the arm
    then. A law that has learnt a load unknown to the drive, such as ``adaptive``, sends the effort for that load.
    """
    weight = settings.adds_gravity * gravity
    others = settings.adds_coriolis * efforts.coriolis, settings.adds_friction * efforts.friction
    carried = np.where(efforts.gravity != 0.0, weight, 0.0)
    less = {"gravity": carried, "coriolis": others[0], "friction": others[1], "total": carried + others[0] + others[1]}
    to_send = efforts._replace(**{name: getattr(efforts, name) - part for name, part in less.items()})
    return to_send, weight + others[0] + others[1]


def blend(t: Any, wanted: Array, memory: StepMemory) -> tuple[Array, StepMemory]:
    """Efforts (n,) without a step, and the memory after it: the change from the last old one fades linearly."""
    begins = memory.blending == 1.0
    begin = np.where(begins, t, memory.blend_begin)
    difference = np.where(begins, memory.blend_from - wanted, memory.blend_from)
    gone = t - begin
    left = np.where(memory.blending > 0.0, np.fmax(1.0 - gone / np.fmax(memory.blend_time, INSTANT), 0.0), 0.0)
    runs = (memory.blending > 0.0) & (gone >= 0.0) & (gone < memory.blend_time)  # time may run backwards
    asked: Array = wanted + left * difference
    return asked, memory._replace(blend_from=difference, blend_begin=begin, blending=np.where(runs, 2.0, 0.0))


def soften(effort: Array, q: Array, qd: Array, gravity: Array, settings: StepSettings) -> Array:
    """Efforts (n,) within the soft position limits.

    Near a position limit, the effort towards the limit is at most that of a hold at the limit. With d the distance to
    the hard limit, within ``soft_limit_margin`` of it and in its direction::

        τ ≤ g(q) + K d - D q̇,   d = max(0, limit - q)      (mirrored at the lower limit)

    So the bound reduces neither the gravity effort nor a hold within the limits or at one. It removes every effort that
    drives the joint faster towards its stop: with a well damped joint the velocity decays as exp(-ωt), and at the limit
    no effort acts outwards any more. Beyond the limit no force drives the joint back, so an arm found there can be
    moved back slowly. The soft limits of ROS's joint_limits_interface do not include gravity, and let a loaded joint
    drop from its upper limit.

    Args:
        effort: wanted, (n,) in [N·m] or [N].
        q, qd: position and velocity (n,).
        gravity: the model's gravity effort minus the compensation of the drives, (n,).
        settings: position limits, K and D, and the margin.
    """
    margin = settings.soft_limit_margin
    above, below = settings.upper - q, q - settings.lower
    still = gravity - settings.damping * qd
    most = np.where(above < margin, still + settings.stiffness * clamp(above, 0.0, margin), np.inf)
    least = np.where(below < margin, still - settings.stiffness * clamp(below, 0.0, margin), -np.inf)
    return clamp(effort, least, most)


def limit(
    t: Any, asked: Array, softened: Array, added: Array, memory: StepMemory, settings: StepSettings
) -> tuple[Array, Any, Any, StepMemory]:
    """The effort to send, masks of its absolute and of its rate limit, each (n,), and the memory after it: from blended
    efforts (n,) at a time [s], also within the soft limits, where the drives add their compensation (n,).
    """
    least = np.fmax(-added, 0.0) - settings.effort_limit
    most = settings.effort_limit - np.fmax(added, 0.0)
    clamped = clamp(softened, least, most)
    sends, fell_silent = memory.is_sending > 0.0, memory.sent_at > NEVER
    dt = np.where(sends, clamp(t - memory.sent_at, INSTANT, settings.state_timeout), INSTANT)
    change = np.where(sends | fell_silent, settings.rate_limit * dt, np.inf)
    effort = clamp(clamped, memory.sent - change, memory.sent + change)
    cut = np.where(differ(asked, effort), asked - effort, 0.0)
    after = memory._replace(sent=effort, cut=cut, sent_at=t, is_sending=1.0)
    return effort, differ(asked, clamped), differ(clamped, effort), after


def differ(before: Array, after: Array) -> Any:
    """Mask of efforts that differ by more than rounding before and after a limit, (n,): a blend begins at the latest
    effort, perhaps exactly at the limit, and the last bits depend on how the step was compiled.
    """
    return np.abs(before - after) > EFFORT_ROUNDING * (1.0 + np.abs(after))


def checked_total(controller: Controller, efforts: Efforts, n: int) -> Array:
    """The total of the efforts that a law gave, (n,); EffortError: it is not n finite numbers."""
    given: Any = getattr(efforts, "total", None)
    if isinstance(given, np.ndarray) and given.shape == (n,) and given.dtype == np.float64 and is_finite(given):
        return given
    if problem := what_is_wrong(efforts, n):
        raise EffortError(f"{type(controller).__name__}: {problem}")
    return np.asarray(given, dtype=float)


SCALARS = {
    "has_requested", "is_sending", "sent_at", "blending", "blend_begin", "blend_time", "lagging",
    "soft_limit_margin", "state_timeout", "integral_limit",
}  # fmt: skip
"""Fields with one number for the arm, not one for each joint."""


def shapes(kind: type[Kind], n: int) -> list[tuple[int, ...]]:
    """The shape of each field for n joints."""
    return [() if name in SCALARS else (n,) for name in kind._fields]


def width(kind: type[Kind], n: int) -> int:
    """Length of the array for n joints."""
    return sum(n if shape else 1 for shape in shapes(kind, n))


def views(kind: type[Kind], values: Any, n: int) -> Kind:
    """The parts of an array (width,), or of a traced one, by name; they share its memory."""
    parts, start = [], 0
    for shape in shapes(kind, n):
        end = start + (n if shape else 1)
        parts.append(values[start:end].reshape(shape))
        start = end
    return kind(*parts)


def first_memory(n: int) -> Array:
    """The memory of n joints before the first step, (width,)."""
    numbers = np.zeros(width(StepMemory, n))
    views(StepMemory, numbers, n).sent_at[...] = NEVER
    return numbers


def joined(parts: Iterable[Any]) -> Array:
    """Arrays, in row-major order, and numbers one after the other, (width,)."""
    return np.concatenate([np.zeros(0), *map(np.ravel, parts)])


def step_settings(settings: LoopSettings) -> StepSettings:
    """The settings of the step of a loop."""
    robot, limits, feedback = settings.controller.dynamics.robot, settings.limits, settings.feedback
    drives = settings.drives or DriveCompensation.none(robot.n)
    numbers = [getattr(settings.safety, name) for name in StepSettings._fields if hasattr(settings.safety, name)]
    return StepSettings(
        limits.effort, limits.rate, robot.lower, robot.upper, *feedback, *drives, *map(np.float64, numbers)
    )
