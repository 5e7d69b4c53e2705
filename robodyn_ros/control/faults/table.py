# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The table of faults: what is wrong, how that is detected, what is sent because of it, and the words.

The parameters of the node and of an exported controller, the table of the safety contract, the constants of the core
(:func:`fault_header`) and all texts come from here. :mod:`robodyn_ros.control.faults.settings` says what the reactions
send.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, make_dataclass
from typing import Any, ClassVar, NamedTuple

from robodyn_ros.errors import ConfigurationError, one_of
from robodyn_ros.settings import CheckedSettings, choice, setting

PHASES = ("retreat", "wait", "hold", "float", "damp", "silent")
"""Phases of a reaction; ``silent`` lasts as long as the fault."""

TO_CONTACT = PHASES  #: Reactions to choose from where something touches the arm.
WITH_STATES = ("hold", "damp", "silent")  #: Reactions to choose from where states come.
WITHOUT_STATES = ("hold", "silent")  #: Reactions that need no states.


class Fault(NamedTuple):
    """A row of the table."""

    words: str  # name under which it is counted
    detection: str  # condition, Markdown
    by: str  # the function of core/faults.c that detects it; "" if another part of the core does
    description: str  # of what the reaction is to
    remedy: str  # where it ends a simulation
    test: str  # that injects it, "file.py::function"
    reactions: tuple[str, ...] = WITH_STATES  # to choose from
    reaction: str = "hold"  # unless another one is chosen
    max_duration: float = 5.0  # of the reaction, unless another one is given [s]
    latches: bool = False  # True if it lasts for ``settled_time`` without it, from the first time on


FAULTS: Mapping[str, Fault] = {
    "states": Fault(
        "no joint states",
        "no usable state for `state_timeout`",
        "",
        "the lack of usable joint states",
        "send states more often, lower state_delay and state_jitter, or raise state_timeout",
        "test_nodes_faults.py::test_states_that_cannot_be_used",
        WITHOUT_STATES,
    ),
    "law": Fault(
        "control law failed",
        "the control law or the model raises an exception, or gives efforts that are not finite",
        "",
        "a control law that raises, or gives no numbers",
        "choose other gains or another law (--controller)",
        "test_nodes_faults.py::test_a_plugin_that_raises_or_gives_garbage",
    ),
    "sensor": Fault(
        "sensor fault",
        "positions contradict velocities; all moving joints stop in the same state, which friction cannot do; or "
        "a joint is at rest although the effort on it exceeds what may hold it",
        "judge_consistency",
        "joint states that cannot be true",
        "compare the arm with its model (mass_scale, payload, friction), or lower the noise of its sensors",
        "test_control_consistency.py::test_what_contradicts_kinematics_is_found_in_time",
        WITHOUT_STATES,
    ),
    "following": Fault(
        "arm does not follow",
        "the arm is further from its reference than `following_tolerance` and than the deflection of a soft law at its "
        "effort limit; or no effort explains its motion",
        "judge_consistency",
        "an arm that does not follow",
        "move more slowly (a longer duration), carry less, correct the model, or raise natural_frequency",
        "test_control_consistency.py::test_a_drive_that_does_not_obey_is_found_before_its_joint_is_fast",
        latches=True,  # nobody knows why, so it is not asked again at once
    ),
    "speed": Fault(
        "too fast",
        "a joint is faster than `overspeed` times its velocity limit, and exceeds the limit by more than noise; "
        "or the tool has more energy than `contact.energy`",
        "judge_speed",
        "a joint faster than its limit",
        "move more slowly (a longer duration), lower the gains, or give the joint its motor's inertia (armature)",
        "test_nodes_faults.py::test_a_joint_that_is_too_fast",
    ),
    "publisher": Fault(
        "second publisher",
        "a second publisher of states, commands or references, in the ROS graph",
        "judge_publisher",
        "a second publisher of states, commands or references",
        "leave one publisher of joint_states",
        "test_nodes_faults.py::test_a_second_publisher",
        max_duration=60.0,
    ),
    "rate": Fault(
        "states too rare",
        "states come too rarely, or commands too late, for the gains; or states come too rarely for `state_timeout`",
        "judge_rate",
        "states that are too rare for the gains",
        "lower natural_frequency or raise state_rate",
        "test_control_sampling.py::test_states_too_rare_for_the_gains_are_held_with_what_they_carry",
        max_duration=60.0,
    ),
    "collision": Fault(
        "collision",
        "an external effort, force or torque exceeds a threshold `collision`",
        "judge_touch",
        "a collision",
        "clear the way, or raise the thresholds of contact",
        "test_control_contact.py::test_a_touch_that_becomes_a_collision_stays_one_until_it_has_been_quiet",
        TO_CONTACT,
        "float",  # the arm may clamp somebody
        latches=True,
    ),
    "touch": Fault(
        "touch",
        "an external effort, force or torque exceeds a threshold `touch`; by default there is no threshold",
        "judge_touch",
        "a touch",
        "clear the way, or raise the thresholds of contact",
        "test_control_contact.py::test_each_reaction_at_each_level_ends_and_recovers",
        TO_CONTACT,
        latches=True,
    ),
}
"""Kind of fault → its row. In this order the core looks for them."""

KINDS = tuple(FAULTS)  #: Kinds of faults, in the order of the core.

PROBLEMS: Mapping[str, str] = {
    "NO_PROBLEM": "",
    "OFF_VELOCITY": "{joint} is {size:.4g} {position} from where its velocities lead; {allowed} {position}",
    "VELOCITY_JUMPS": "the velocity of {joint} changes by {value:.4g} {position}/s in one period; {allowed} "
    "{position}/s",
    "STOP_TOGETHER": "{joint}, which moved at {value:.4g} {position}/s, and all others that moved stopped in the same "
    "state; {allowed} {position}/s: no impact does that, so their encoders are dead, or their velocities wrong",
    "STANDS_DRIVEN": "{joint} stands although {size:.4g} {effort} drive it; {allowed} {effort}: it has struck "
    "something, is blocked, or its encoder is dead",
    "DISOBEYS": "{joint} moves as with {size:.4g} {effort} less than the commanded effort; {allowed} {effort}: its "
    "drive does not obey, or something holds or pushes it",
    "TOO_FAST": "{joint} moves at {value:.4g} {position}/s; {bound:.4g} {position}/s is the limit",
    "FAR_AWAY": "{joint} is {value:.4g} {position} from its reference; {bound:.4g} {position} is allowed",
    "MISSING": "no usable joint states for {value:.4g} s",
    "NO_NUMBERS": "the control law gives efforts that are no numbers",
    "LATCHED": "latched",
    "EXTERNAL_EFFORT": "the external effort of {joint} is {value:.4g} {effort}; {bound:.4g} {effort} is the limit",
    "EXTERNAL_FORCE": "the external force at the tool is {value:.4g} N; {bound:.4g} N is the limit",
    "EXTERNAL_TORQUE": "the external torque at the tool is {value:.4g} N·m; {bound:.4g} N·m is the limit",
    "CONTACT_ENERGY": "the tool moves with an energy of {value:.4g} J; {bound:.4g} J is the limit",
    "GROWS_FASTER": "{joint} moves at {value:.4g} {position}/s, faster than before it was braked: its drive does not "
    "obey",
    "MOVED_UNSEEN": "{joint} is {size:.4g} {position} from where it was before states were missing; its velocity limit "
    "explains {bound:.4g} {position}",
    "SEVERAL_PUBLISHERS": "there are several publishers of states, commands or references",
    "TOO_LATE": "the arm shakes: commands come up to {value:.4g} s late, too late for the gains",
    "TOO_RARE": "a state every {bound:.4g} s is too rare for the gains or for state_timeout",
}
"""Problem → its message; ``size`` is the magnitude of the value (:class:`.FaultCause`)."""


def fault_header() -> str:
    """The constants of the table for the core: ``kinds.h``."""
    judges = dict.fromkeys(fault.by for fault in FAULTS.values() if fault.by)
    phases, kinds = ", ".join(PHASES).upper(), ", ".join(f"FAULT_{kind.upper()}" for kind in KINDS)
    return (
        "/* The table of faults, faults/table.py, for the core: kinds, phases of a reaction, problems, and the\n"
        "   functions that detect them, in their order. */\n\n"
        "#ifndef KINDS_H\n#define KINDS_H\n\n"
        f"enum {{ {kinds}, KINDS }};\nenum {{ {phases} }};\nenum {{ {', '.join(PROBLEMS)} }};\n\n"
        f"#define JUDGES {', '.join(judges)}\n\n#endif\n"
    )


@dataclass(frozen=True)
class FaultReaction(CheckedSettings):
    """The reaction to a fault, and its duration."""

    kind: ClassVar[str]

    reaction: str = choice("hold", "reaction to a fault", lambda: TO_CONTACT)
    max_duration: float = setting(5.0, "longest time of the reaction", "s", 0.0, 3600.0)


def _reaction_class(kind: str) -> type[FaultReaction]:
    fault = FAULTS[kind]
    reaction = choice(fault.reaction, f"reaction to {fault.description}", lambda: fault.reactions)
    duration = setting(fault.max_duration, "longest time of the reaction, before nothing is sent", "s", 0.0, 3600.0)
    members = [("reaction", str, reaction), ("max_duration", float, duration)]
    own = {"kind": kind, "__module__": __name__}
    return make_dataclass(f"{kind.title()}Reaction", members, bases=(FaultReaction,), namespace=own, frozen=True)


REACTIONS = {kind: _reaction_class(kind) for kind in FAULTS}  #: Kind of fault → the settings of its reaction.


class FaultReactions(dict[str, FaultReaction]):
    """Kind of fault → the reaction to it, in the order of the table."""

    def __init__(self, **given: Any) -> None:
        """By kind → its reaction, or its arguments: reaction, and max_duration [s]; the defaults unless given.
        ConfigurationError: there is no such kind, or a value is none that its reaction can have.
        """
        for kind in given.keys() - FAULTS.keys():
            raise ConfigurationError(f"faults.{kind}: must be {one_of(kind, KINDS)}")
        for kind, made in REACTIONS.items():
            value = given.get(kind, ())
            self[kind] = value if isinstance(value, made) else made(*value)
