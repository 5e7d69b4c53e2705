"""The watch over contacts in the control loop: it observes what acts from outside, and says when that is too much."""

from __future__ import annotations

from typing import Any

import numpy as np

from robodyn_ros.checks import is_finite, is_within
from robodyn_ros.control.contact.momentum_observer import MomentumObserver
from robodyn_ros.control.contact.settings import Contact, ContactThresholds
from robodyn_ros.control.faults.problems import FELT_ENERGY, FELT_FORCE, FELT_JOINT, FELT_TORQUE, FaultCause
from robodyn_ros.control.faults.settings import FaultKind
from robodyn_ros.robot import Robot
from robodyn_ros.robot.pose import Array

Judgement = tuple[FaultKind, FaultCause]

LEVELS: tuple[FaultKind, ...] = ("collision", "touch")
"""Kinds of contact faults, the worse first."""


def judged(efforts: Array, wrench: Array, thresholds: ContactThresholds) -> Judgement | None:
    """The fault that efforts (n,) and a wrench (6,) from outside are; None if there is none.

    ``judge_contact`` in ``../loop.c`` is the same in C.
    """
    strengths = np.sqrt([wrench[:3] @ wrench[:3], wrench[3:] @ wrench[3:]])
    for kind in LEVELS:
        most, bounds = getattr(thresholds, kind), getattr(thresholds, f"{kind}_wrench")
        if not is_within(efforts, most):
            joint = int(np.argmax(np.abs(efforts) - most))
            return kind, FaultCause(FELT_JOINT, joint, abs(float(efforts[joint])), float(most[joint]))
        for problem, strength, bound in zip((FELT_FORCE, FELT_TORQUE), strengths, bounds, strict=True):
            if strength > bound:
                return kind, FaultCause(problem, 0, float(strength), float(bound))
    return None


class ContactWatch:
    """Observes what acts on the arm from outside, period by period, whatever law or reaction drives it.

    Attributes:
        applied: the efforts of the drives since the last state, (n,) in [N·m] or [N]; None if they are not known.
        told: the kind of contact fault that somebody else has found, a force-torque sensor, say; "" for none.
        told_problem: what exactly that is.
    """

    def __init__(self, robot: Robot) -> None:
        """
        Args:
            robot: the arm.
        """
        self._n = robot.n
        self._contact: Contact | None = None
        self._bias = np.zeros(robot.n)
        self.told, self.told_problem = "", ""
        self.applied: Array | None = None
        self._judgement: Judgement | None = None

    @property
    def observer(self) -> MomentumObserver | None:
        """What observes; None if nothing does."""
        return None if self._contact is None else self._contact.observer

    @property
    def external(self) -> Array | None:
        """What acts from outside, (n + 8,): efforts, wrench, energy and mass; None if nothing is observed."""
        return None if self._contact is None else self._contact.observer.found.copy()

    def apply(self, contact: Contact | None) -> None:
        """Observe with these settings from now on; the bias stays."""
        before, self._contact = self.observer, contact
        if contact is None or contact.observer is before:
            return
        self._judgement = None
        if before is not None and before.observes_as(contact.observer):
            contact.observer.memory[:], contact.observer.found[:] = before.memory, before.found
        contact.observer.bias[:] = self._bias

    def reset(self) -> None:
        """Begin anew with the next state; the bias stays."""
        self.applied = self._judgement = None
        if self._contact is not None:
            self._contact.observer.reset()

    def tare(self, efforts: Array | None = None) -> None:
        """Take efforts (n,), as they were observed, for nothing from now on; those of now unless given."""
        observer = self.observer
        if observer is not None:
            observer.tare(observer.efforts.copy() if efforts is None else efforts)
            self._bias[:] = observer.bias

    def update(self, dt: float, q: Array, qd: Array, *, begins: bool) -> None:
        """Observe a period.

        Args:
            dt: the period [s]; 0 if the same state comes twice.
            q: positions at its end, (n,).
            qd: velocities at its end, (n,).
            begins: True if there was no period before this state.
        """
        self._judgement = None
        contact = self._contact
        if contact is None:
            return
        begins = begins or self.applied is None
        observer = contact.observer
        if dt > 0.0 or begins:
            applied = np.zeros(self._n) if self.applied is None else self.applied
            try:
                observer.update(-1.0 if begins else dt, q, qd, applied)
            except Exception:  # of a model: it is a fault of the law, where that uses it
                observer.reset()
                return
            if not (is_finite(observer.found) and is_finite(observer.memory)):
                observer.reset()
        thresholds = contact.thresholds
        if contact.judges:
            self._judgement = judged(observer.efforts, observer.wrench, thresholds)
        if observer.found[-2] > thresholds.energy:
            cause = FaultCause(FELT_ENERGY, 0, float(observer.found[-2]), thresholds.energy)
            self._judgement = "speed", cause

    def judgement(self) -> Judgement | None:
        """The fault that was found in the last period; None if there was none."""
        return self._judgement

    def save(self, memory: Any) -> None:
        """Write what it remembers into the memory of ``../loop.c``."""
        memory.told[...] = LEVELS.index(self.told) + 1 if self.told in LEVELS else 0
        memory.applies[...] = self.applied is not None
        if self.applied is not None:
            memory.applied[:] = self.applied
        memory.bias[:] = self._bias
        if self._contact is not None:
            observer = self._contact.observer
            memory.observed[:], memory.external[:] = observer.memory, observer.found

    def restore(self, memory: Any) -> None:
        """Read it from there."""
        self.applied = memory.applied.copy() if memory.applies else None
        self._judgement = None
        self._bias[:] = memory.bias
        if self._contact is not None:
            observer = self._contact.observer
            observer.memory[:], observer.found[:], observer.bias[:] = memory.observed, memory.external, memory.bias
