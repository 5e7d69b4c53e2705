"""What varies in a study, from its file."""

from __future__ import annotations

from robodyn_ros.errors import RobodynError
from robodyn_ros.robot import Robot
from robodyn_ros.simulation.sweeps.arm import quantities
from robodyn_ros.simulation.sweeps.distribution import KINDS, Distribution
from robodyn_ros.simulation.sweeps.study import ARM, NODES
from robodyn_ros.simulation.sweeps.study_file import Section, unknown


def inputs(section: Section, robot: Robot) -> dict[str, Distribution]:
    """Name → distribution; in the file a name may be in parts, or whole.

    Raises:
        StudyError: a name or a distribution that is none.
    """
    known = [f"{ARM}.{name}" for name in quantities(robot)]
    found = {}
    for name, (holder, last) in _distributions(section, ""):
        value = holder.section(last)
        kinds = [kind for kind in value.values if kind in KINDS]
        if len(kinds) != 1 or set(value.values) - {*kinds, "levels"}:
            said = ", ".join(f"{kind}: {text}" for kind, text in KINDS.items())
            raise holder.error(last, f"must be one of {said}, and levels if need be; not {', '.join(value.values)}")
        numbers = value.values[kinds[0]]
        if not isinstance(numbers, list):
            raise value.error(kinds[0], f"must be {KINDS[kinds[0]]}, not {numbers!r}")
        try:
            levels = {"levels": value.values["levels"]} if "levels" in value.values else {}
            found[name] = Distribution(kinds[0], tuple(numbers), **levels)
        except RobodynError as problem:
            raise holder.error(last, str(problem)) from problem
        if name.startswith(f"{ARM}.") and name not in known:
            raise holder.error(last, f"{name} {unknown(name, known)}")
        if name.partition(".")[0] not in (ARM, *NODES):
            raise holder.error(last, f"must begin with {ARM}, simulator or controller and a dot, not {name!r}")
    return found


def _distributions(section: Section, prefix: str) -> list[tuple[str, tuple[Section, str]]]:
    """Name, and where it stands, of each mapping that holds no further one."""
    found: list[tuple[str, tuple[Section, str]]] = []
    for name, value in section.values.items():
        nested = isinstance(value, Section) and any(isinstance(each, Section) for each in value.values.values())
        if nested:
            found += _distributions(section.section(name), f"{prefix}{name}.")
        else:
            found.append((f"{prefix}{name}", (section, name)))
    return found
