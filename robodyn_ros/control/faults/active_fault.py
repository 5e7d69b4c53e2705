# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The present fault of the loop, and its cause in numbers, as the core has it, and in words."""

from __future__ import annotations

from typing import Any, NamedTuple

from robodyn_ros.control.core_library import CODES
from robodyn_ros.control.faults.consistency import SETTINGS
from robodyn_ros.control.faults.table import KINDS, PHASES, PROBLEMS
from robodyn_ros.robot import Robot


class ActiveFault(NamedTuple):
    """The present fault."""

    kind: str  # its kind
    phase: str  # of the reaction: its name, or ``silent``
    latched: bool  # True if it lasts until its cause has been gone for ``settled_time``, or until it is acknowledged

    @classmethod
    def of(cls, memory: Any) -> ActiveFault | None:
        """The fault in the memory of the core (the struct ``State``); None if there is none."""
        if not memory.active:
            return None
        return cls(KINDS[int(memory.active_kind)], PHASES[int(memory.phase)], bool(memory.latched))


WORDS = tuple(PROBLEMS.values())


class FaultCause(NamedTuple):
    """A problem in numbers; which ones, depends on its kind: the place in :data:`.table.PROBLEMS`, and
    ``PROBLEM_KINDS`` times the place in :data:`.consistency.SETTINGS` of the setting that explains most of what is
    allowed.
    """

    kind: int
    joint: int = 0
    value: float = 0.0
    bound: float = 0.0

    @classmethod
    def of(cls, members: Any) -> FaultCause:
        """The cause in the members of a struct of C, such as ``State``, by their names."""
        value, bound = float(members["problem_value"]), float(members["problem_bound"])
        return cls(int(members["problem"]), int(members["problem_joint"]), value, bound)

    def text(self, robot: Robot) -> str:
        """The problem in words; "" for none."""
        joint = robot.joints[self.joint]
        place, kind = divmod(self.kind, CODES["PROBLEM_KINDS"])
        units = {"position": joint.position_unit, "effort": joint.effort_unit}
        numbers = {"value": self.value, "size": abs(self.value), "bound": self.bound}
        allowed = f"{SETTINGS[place]} and the rest explain {self.bound:.4g}"
        return WORDS[kind].format(joint=f"joint {joint.name!r}", allowed=allowed, **units, **numbers)
