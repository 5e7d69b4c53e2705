"""What is wrong, in numbers and in words: the core has no words, and says it in numbers."""

from __future__ import annotations

from typing import NamedTuple

from robodyn_ros.control.core_library import CODES
from robodyn_ros.control.faults.consistency import SETTINGS
from robodyn_ros.robot import Robot

PROBLEMS = (
    "NO_PROBLEM", "OFF_VELOCITY", "VELOCITY_JUMPS", "STANDS_DRIVEN", "DISOBEYS", "TOO_FAST", "FAR_AWAY", "MISSING",
    "NO_NUMBERS", "LATCHED", "FELT_JOINT", "FELT_FORCE", "FELT_TORQUE", "FELT_ENERGY", "GROWS_FASTER",
    "MOVED_UNSEEN",
)  # fmt: skip
(
    NO_PROBLEM, OFF_VELOCITY, VELOCITY_JUMPS, STANDS_DRIVEN, DISOBEYS, TOO_FAST, FAR_AWAY, MISSING, NO_NUMBERS, LATCHED,
    FELT_JOINT, FELT_FORCE, FELT_TORQUE, FELT_ENERGY, GROWS_FASTER,
    MOVED_UNSEEN,
) = map(CODES.__getitem__, PROBLEMS)  # fmt: skip
"""Kinds of problems, as in ``../core/memory.h``."""


class FaultCause(NamedTuple):
    """A problem in numbers; which ones, depends on its kind.

    Its kind is one of :data:`PROBLEMS`, and ``PROBLEM_KINDS`` times the place in :data:`.consistency.SETTINGS` of the
    setting that explains most of what is allowed.
    """

    kind: int
    joint: int = 0
    value: float = 0.0
    bound: float = 0.0

    def text(self, robot: Robot) -> str:
        """The problem in words; "" for none."""
        joint = robot.joints[self.joint]
        name, position, effort = f"joint {joint.name!r}", joint.position_unit, joint.effort_unit
        value, bound = self.value, self.bound
        place, kind = divmod(self.kind, CODES["PROBLEM_KINDS"])
        allowed = f"{SETTINGS[place]} and the rest explain {bound:.3g}"
        return {
            NO_PROBLEM: "",
            OFF_VELOCITY: f"{name} is {abs(value):.3g} {position} from where its velocities lead; {allowed} {position}",
            VELOCITY_JUMPS: f"the velocity of {name} changes by {value:.3g} {position}/s in one period; "
            f"{allowed} {position}/s",
            STANDS_DRIVEN: f"{name} stands although {abs(value):.3g} {effort} drive it; {allowed} {effort}: it has "
            "struck something, is blocked, or its encoder is dead",
            DISOBEYS: f"{name} moves as if {abs(value):.3g} {effort} less drove it than its drive gets; "
            f"{allowed} {effort}: its drive does not obey, or something holds or pushes it",
            TOO_FAST: f"{name} moves at {value:.4g} {position}/s; {bound:.4g} {position}/s is the limit",
            FAR_AWAY: f"{name} is {value:.3g} {position} from its reference; {bound:.3g} {position} is allowed",
            MISSING: f"no usable joint states for {value:.3g} s",
            NO_NUMBERS: "the control law gave efforts that are no numbers",
            LATCHED: "latched",
            GROWS_FASTER: f"{name} moves at {value:.3g} {position}/s, faster than before it was braked: its drive does "
            "not obey",
            MOVED_UNSEEN: f"{name} is {abs(value):.3g} {position} from where it was before states were missing; its "
            f"velocity limit explains {bound:.3g} {position}",
            FELT_JOINT: f"{name} feels {value:.3g} {effort} from outside; {bound:.3g} {effort} is the limit",
            FELT_FORCE: f"the tool feels a force of {value:.3g} N from outside; {bound:.3g} N is the limit",
            FELT_TORQUE: f"the tool feels a torque of {value:.3g} N·m from outside; {bound:.3g} N·m is the limit",
            FELT_ENERGY: f"the tool moves with an energy of {value:.3g} J; {bound:.3g} J is the limit",
        }[kind]
