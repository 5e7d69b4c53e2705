# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The present fault of the loop."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from robodyn_ros.control.faults.table import KINDS, PHASES
from robodyn_ros.robot.pose import Array


@dataclass(eq=False)
class ActiveFault:
    """The present fault; the object stays the same until another fault begins.

    Attributes:
        number: number of faults so far, this one included.
        kind: its kind.
        phase: of the reaction: its name, ``ramp`` or ``silent``.
        present: False if it is latched, and its cause has gone.
        latched: True if it lasts until its cause has been gone for ``settled_time``, or until it is acknowledged.
        left: ratio of the effort that is left, from 1 to 0 at the end of a ramp.
        found: position at which the reaction holds the arm, (n,) in [rad] or [m].
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
