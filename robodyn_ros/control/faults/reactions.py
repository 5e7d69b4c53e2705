"""What is sent while something is wrong: the answers to a fault, and when each of them ends.

    hold    τ = g(q) + K (q_f - q) - D q̇    where the fault found the arm, q_f; without states τ = g(q_f), no feedback
    damp    τ = -D q̇                        no model: the arm sinks slowly under its weight
    ramp    the effort of that moment fades to zero, linearly, within ``ramp_down_time``

Hold and damp last for ``expiry`` and end in a ramp. After a ramp nothing is sent any more: what the drives do without
commands is theirs, and brakes belong there. Nothing ends in a zero that was not announced by a ramp. K and D are the
gains of the joints as effort gains, whatever law is at work.

g(q) comes from the model as long as it gives one, else it is the one it gave last.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

from robodyn_ros.robot.pose import Array
from robodyn_ros.settings import check_settings, choice, setting

Kind = Literal["states", "law", "speed", "publisher"]
"""Classes of faults that have an answer: no usable states, efforts that are no numbers, a joint too fast, a second
publisher."""

BLIND = ("hold", "ramp")
"""Answers that need no states."""

SEEING = ("hold", "damp", "ramp")
"""Answers to choose from where states come."""


@dataclass(frozen=True)
class Response:
    """What is done about a class of faults."""

    answer: str = choice("hold", "answer to it", lambda: SEEING)
    expiry: float = setting(5.0, "how long that lasts before the ramp to zero", "s", 0.0, 3600.0)

    def __post_init__(self) -> None:
        check_settings(self)


@dataclass(frozen=True)
class StatesResponse(Response):
    """No usable states come. The answer is blind, so it is brief: an error of the model moves the arm."""

    answer: str = choice("hold", "answer to the lack of usable joint states", lambda: BLIND)
    expiry: float = setting(1.0, "how long that lasts before the ramp to zero", "s", 0.0, 3600.0)


@dataclass(frozen=True)
class LawResponse(Response):
    """The control law or the model fails; its gravity may have failed too."""

    answer: str = choice("hold", "answer to a control law that raises, or gives no numbers", lambda: SEEING)


@dataclass(frozen=True)
class SpeedResponse(Response):
    """A joint is too fast."""

    answer: str = choice("hold", "answer to a joint faster than its limit", lambda: SEEING)


@dataclass(frozen=True)
class PublisherResponse(Response):
    """Somebody else commands the drives, or streams references."""

    answer: str = choice("hold", "answer to a second publisher of commands or references", lambda: SEEING)
    expiry: float = setting(60.0, "how long that lasts before the ramp to zero", "s", 0.0, 3600.0)


class FaultReactions(NamedTuple):
    """The answer to each class of faults; the fields are the classes."""

    states: StatesResponse = StatesResponse()
    law: LawResponse = LawResponse()
    speed: SpeedResponse = SpeedResponse()
    publisher: PublisherResponse = PublisherResponse()


class Feedback(NamedTuple):
    """Gains of the answers, each (n,)."""

    stiffness: Array  # K [N·m/rad] or [N/m]
    damping: Array  # D [N·m·s/rad] or [N·s/m]
