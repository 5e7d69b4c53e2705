# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""What is wrong, in numbers and in words: the core has no words, and says it in numbers."""

from __future__ import annotations

from typing import NamedTuple

from robodyn_ros.control.core_library import CODES
from robodyn_ros.control.faults.consistency import SETTINGS
from robodyn_ros.control.faults.table import PROBLEMS
from robodyn_ros.robot import Robot

WORDS = tuple(PROBLEMS.values())


class FaultCause(NamedTuple):
    """A problem in numbers; which ones, depends on its kind.

    Its kind is the place in :data:`.table.PROBLEMS`, and ``PROBLEM_KINDS`` times the place in
    :data:`.consistency.SETTINGS` of the setting that explains most of what is allowed.
    """

    kind: int
    joint: int = 0
    value: float = 0.0
    bound: float = 0.0

    def text(self, robot: Robot) -> str:
        """The problem in words; "" for none."""
        joint = robot.joints[self.joint]
        place, kind = divmod(self.kind, CODES["PROBLEM_KINDS"])
        return WORDS[kind].format(
            joint=f"joint {joint.name!r}",
            position=joint.position_unit,
            effort=joint.effort_unit,
            value=self.value,
            size=abs(self.value),
            bound=self.bound,
            allowed=f"{SETTINGS[place]} and the rest explain {self.bound:.3g}",
        )
