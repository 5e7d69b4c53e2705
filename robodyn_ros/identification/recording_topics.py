"""Which topics of a bag are the states and the commands of the arm."""

from __future__ import annotations

from collections.abc import Mapping

from robodyn_ros.identification.recording import Source, unreadable

STATE = "sensor_msgs/msg/JointState"
ARRAY = "std_msgs/msg/Float64MultiArray"

STATES = ("joint_states",)
COMMANDS = ("joint_commands", "commands")
"""Last parts of the names that are looked for, the best first."""


def state_topic(name: str, topics: Mapping[str, str], source: Source) -> str:
    """The topic of the states.

    Args:
        name: of the recording.
        topics: topic → type of its messages, of all that have messages.
        source: what was asked for.

    Raises:
        InputError: there is none, or it cannot be told which it is; the message names those that exist.
    """
    if source.states:
        return _asked(name, source.states, topics, (STATE,))
    found = _found(topics, STATES, (STATE,), "")
    if not found:
        raise unreadable(name, f"has no topic joint_states of {STATE}; it has {listed(topics)}")
    return _only(name, found, "states")


def command_topic(name: str, topics: Mapping[str, str], source: Source, states: str) -> str | None:
    """The topic of the commands; None if nothing was asked for and there is none.

    Args:
        name: of the recording.
        topics: as for :func:`state_topic`.
        source: what was asked for.
        states: the topic of the states; commands are looked for in its namespace, and in those below it.

    Raises:
        InputError: what was asked for is not there, or it cannot be told which it is.
    """
    if source.commands:
        return _asked(name, source.commands, topics, (STATE, ARRAY))
    found = _found(topics, COMMANDS, (STATE, ARRAY), states.rpartition("/")[0])
    return _only(name, found, "commands") if found else None


def listed(topics: Mapping[str, str]) -> str:
    """All topics with their types, for a message."""
    return ", ".join(f"{topic} ({kind})" for topic, kind in sorted(topics.items())) or "no messages at all"


def _asked(name: str, topic: str, topics: Mapping[str, str], kinds: tuple[str, ...]) -> str:
    full = f"/{topic.lstrip('/')}"
    if full not in topics:
        raise unreadable(name, f"has no topic {full}; it has {listed(topics)}")
    if topics[full] not in kinds:
        raise unreadable(name, f"topic {full} is of {topics[full]}, and must be of {' or '.join(kinds)}")
    return full


def _found(topics: Mapping[str, str], parts: tuple[str, ...], kinds: tuple[str, ...], namespace: str) -> list[str]:
    """The topics of the first name of which there are any."""
    for part in parts:
        found = [
            topic
            for topic, kind in topics.items()
            if kind in kinds and topic.startswith(f"{namespace}/") and topic.rpartition("/")[2] == part
        ]
        if found:
            return sorted(found, key=lambda topic: topic.count("/"))
    return []


def _only(name: str, found: list[str], what: str) -> str:
    """The one in the outermost namespace."""
    outermost = [topic for topic in found if topic.count("/") == found[0].count("/")]
    if len(outermost) > 1:
        raise unreadable(name, f"the {what} may be {' or '.join(outermost)}; say which")
    return outermost[0]
