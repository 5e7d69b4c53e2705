# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""A fault that lasts, as the loop tells it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from robodyn_ros.control.faults.table import KINDS, PHASES
from robodyn_ros.robot.pose import Array


@dataclass(eq=False)
class ActiveFault:
    """A fault that lasts; the object stays the same until another one begins.

    Attributes:
        number: how many faults there have been with it.
        kind: which it is.
        phase: of the reaction: an answer, ``ramp`` or ``silent``.
        present: False if it is latched, and its cause is away.
        latched: True if it lasts until it has been quiet, or is acknowledged.
        left: ratio of the reaction that is left, from 1 to 0 at the end of a ramp.
        found: where it holds the arm, (n,) in [rad] or [m].
    """

    number: int
    kind: str
    phase: str
    present: bool
    latched: bool
    left: float
    found: Array

    @classmethod
    def of(cls, memory: Any) -> ActiveFault | None:
        """The fault in the memory of the core (the struct ``State``); None if there is none."""
        if not memory.active:
            return None
        kind, phase = KINDS[int(memory.active_kind)], PHASES[int(memory.phase)]
        present, latched = bool(memory.present), bool(memory.latched)
        return cls(int(memory.faults), kind, phase, present, latched, float(memory.left), memory.found.copy())
