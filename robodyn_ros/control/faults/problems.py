"""What is wrong, in numbers and in words: the core has no words, and says it in numbers."""

from __future__ import annotations

from typing import NamedTuple

from robodyn_ros.control.core_library import CODES
from robodyn_ros.robot import Robot

PROBLEMS = (
    "NO_PROBLEM", "WRONG_VELOCITY", "STANDS_STILL", "STRUCK", "TOO_FAST", "FAR_AWAY", "MISSING", "NO_NUMBERS",
    "LATCHED", "FELT_JOINT", "FELT_FORCE", "FELT_TORQUE", "FELT_ENERGY",
)  # fmt: skip
(
    NO_PROBLEM, WRONG_VELOCITY, STANDS_STILL, STRUCK, TOO_FAST, FAR_AWAY, MISSING, NO_NUMBERS, LATCHED, FELT_JOINT,
    FELT_FORCE, FELT_TORQUE, FELT_ENERGY,
) = map(CODES.__getitem__, PROBLEMS)  # fmt: skip
"""Kinds of problems, as in ``../core/memory.h``."""


class FaultCause(NamedTuple):
    """A problem in numbers; which ones, depends on its kind."""

    kind: int
    joint: int = 0
    value: float = 0.0
    bound: float = 0.0

    def text(self, robot: Robot) -> str:
        """The problem in words; "" for none."""
        joint = robot.joints[self.joint]
        name, position, effort = f"joint {joint.name!r}", joint.position_unit, joint.effort_unit
        value, bound = self.value, self.bound
        return {
            NO_PROBLEM: "",
            WRONG_VELOCITY: f"{name} says that it moves at {value:.3g} {position}/s, "
            f"and its position changes by {bound:.3g} {position}/s",
            STANDS_STILL: f"{name} stands still although {value:.3g} {effort} more than when it came to rest drive it: "
            "it is blocked, its encoder is dead, or it has friction that the model lacks",
            STRUCK: f"{name} changes its speed as only {value:.3g} {effort} could",
            TOO_FAST: f"{name} moves at {value:.4g} {position}/s; {bound:.4g} {position}/s is the limit",
            FAR_AWAY: f"{name} is {value:.3g} {position} from its reference; {bound:.3g} {position} is allowed",
            MISSING: f"no usable joint states for {value:.3g} s",
            NO_NUMBERS: "the control law gave efforts that are no numbers",
            LATCHED: "latched",
            FELT_JOINT: f"{name} feels {value:.3g} {effort} from outside; {bound:.3g} {effort} is the limit",
            FELT_FORCE: f"the tool feels a force of {value:.3g} N from outside; {bound:.3g} N is the limit",
            FELT_TORQUE: f"the tool feels a torque of {value:.3g} N·m from outside; {bound:.3g} N·m is the limit",
            FELT_ENERGY: f"the tool moves with an energy of {value:.3g} J; {bound:.3g} J is the limit",
        }[self.kind]
