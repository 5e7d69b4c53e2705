# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Parameter files of ROS 2 nodes, read without ROS, so that one file serves the nodes and the command.

The reader keeps the place of each parameter, so that an error about a value has file and line.
"""

from __future__ import annotations

import json
import re
from collections import ChainMap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields
from functools import lru_cache
from itertools import product
from math import isnan, nan
from pathlib import Path
from typing import Any, TypeVar

from robodyn_ros.checks import check
from robodyn_ros.errors import ConfigurationError, InputError, Place, RobodynError, is_it, misspelt
from robodyn_ros.robot import Robot
from robodyn_ros.robot.reduction import ChosenJoints, chosen_joints
from robodyn_ros.settings import of_parameter, parameter_name

Settings = TypeVar("Settings")

PARAMETERS = "ros__parameters"  #: The key of a node's parameters in such a file.
NAME = re.compile(r"[A-Za-z_]\w*(?:\.\w+)*")  #: Words of a message that may be names of parameters.

LAWS = r"(?:cartesian_impedance|operational_space|hand_guiding)\."

REPLACED = {
    "tool": rf"(?:{LAWS}|contact\.|payload\.|teleoperator:)link|(?:markers|planner|viewer):tip",
    r"task.\1": rf"{LAWS}(directions|frame|damping_ratio)",
    "task.reach": rf"{LAWS}(?:reach|turn)",
    "cartesian_impedance.stiffness": r"cartesian_impedance\.stiffness_r?[xyz]",
    "operational_space.force": r"operational_space\.force_r?[xyz]",
    "hand_guiding.stiffness": r"hand_guiding\.(rotational|wall)_stiffness",
    "hand_guiding.walls": r"hand_guiding\.(lower|upper)(_[xyz])?",
    "model_error": r"hand_guiding\.hold",
    r"contact.\1_wrench": r"contact\.(touch|collision)_(force|torque)",
    "contact.sensor_load": r"contact\.sensor_(mass|com(_[xyz])?)",
    "contact.effort_source": r"contact\.friction",
    "adaptive.rate": r"adaptive\.learn",
    "mpc.step": r"mpc\.period",
    "target_speed": r"payload_estimation\.speed",
    "payload_estimation.distance": r"payload_estimation\.(angle|way)",
    r"stream.\1": r"stream\.turn_(speed|acceleration|jerk)",
    "stream.acceleration": r"stream\.jerk",
    "stream.timeout": "reference_timeout",
    "velocity_filter": "reference_velocity_filter",
    "wall.point": r"wall\.[xyz]",
    "wall.normal": r"wall\.normal_[xyz]",
    "mit_limits": "output|mit_(stiffness|damping)_limit",
    "accept": "constraints|inertia|movable_base|closed_loops",
    r"transmission.\1.gear_ratio": r"transmission\.(\w+)\.reversed",
    r"faults.\1.reaction": r"faults\.(\w+)\.answer",
    r"faults.\1.max_duration": r"faults\.(\w+)\.expiry",
    "externally_supported": "allow_sagging",
    "settled_time": "quiet_time",
    "a reaction ends with a command that carries the arm": "ramp_down_time",
    "push_time": "commissioner:ramp_time",
    "speed_limit": "commissioner:overspeed",
    "travel_limit": "commissioner:reach",
    "push_effort": "commissioner:probe_share",
    "limit_ratio": "planner:share",
    "real_time_factor": "simulator:lockstep_factor",
    "payload.mass": "planner:payload",
    "use_sim_time": "viewer:simulated",
    "poses.NAME": "viewer:pose_names",
    "leave it out, permission to write to /dev/cpu_dma_latency stands for it": "cpu_dma_latency",
    "leave it out, the period of the stream and its jitter are measured": r"stream\.delay",
    "leave it out, goals come on ~/goal_pose and streams on ~/target_pose": r"stream\.target_pose",
    "leave it out, it is a fifth of state_timeout": "overrun",
    "leave it out, the first command carries the arm": "ramp_time",
    "leave it out, ~/step is one period of the states": "simulator:step_by",
    "leave it out, it is a constant now": "|".join(
        (
            r"payload_estimation\.(acceleration|deviation|margin|strain)|adaptive\.(friction_limit|mass_limit|spread)",
            r"cartesian_impedance\.limit_margin|mpc\.iterations|reference_lead|trajectory_points",
            r"missing_reference_velocity|recurrences|recurrence_time",
            r"commissioner:(onset|push|stroke|stroke_speed|shake|stiffness_frequency|patience|rest_time|retreat_time)",
            r"commissioner:(gravity_(steps|time|tolerance)|inertia_tolerance|drift|start_timeout)",
            r"simulator:(clock_rate|lockstep_timeout|wrench_timeout|wall\.(dissipation|radius))",
            r"simulator:mismatch\.(friction_spread|inertia_scale)|conductor:(lead|patience|progress_rate|tolerance)",
            r"markers:rate|planner:limit_margin|teleoperator:(most_damping|return_rate|passivity)",
            r"viewer:(patience|plot_rate|rate|span)",
        )
    ),
}
"""Parameter → pattern of the names, behind ``node:`` where a node alone had it, that it replaces; a sentence where no
parameter replaces them."""


class LoadedParameters(dict[str, Any]):
    """The parameters given to a node: name → value; ``places``: name → file and line, for values from a file.

    With ``|`` and ``|=`` a second mapping overrides the first, as for any dict; the places follow the values.
    """

    def __init__(self, values: Mapping[str, Any] | None = None, places: Mapping[str, Place] | None = None) -> None:
        super().__init__(values or {})
        self.places = dict(places or {})

    def located_names(self) -> dict[str, str]:
        """Name → its file and line, as the beginning of a message, for the values that come from a file."""
        return {name: f"{place}:" for name, place in self.places.items()}

    def refuse_replaced(self, node: str) -> None:
        """Refuse (InputError) former names of parameters of a node, with their places."""
        places = self.located_names()
        for name in self:
            refuse_replaced(name, places.get(name, ""), node)

    def __or__(self, other: Mapping[str, Any]) -> LoadedParameters:  # type: ignore[override]
        both = LoadedParameters(self, self.places)
        both |= other
        return both

    def __ior__(self, other: Mapping[str, Any]) -> LoadedParameters:  # type: ignore[override]
        self.update(other)
        for name in other:
            self.places.pop(name, None)
        self.places.update(other.places if isinstance(other, LoadedParameters) else {})
        return self


class FileParameters:
    """The parameters of a node: those ``given``, and the defaults of the others."""

    def __init__(self, given: Mapping[str, Any], defaults: Mapping[str, Any]) -> None:
        """Errors of given values have the places of :class:`LoadedParameters`; ``defaults`` are for parameters without
        a dataclass of settings, or in place of its default.
        """
        self.given = dict(given)
        self._places = dict(given.places) if isinstance(given, LoadedParameters) else {}
        self._values: Mapping[str, Any] = ChainMap(self.given, dict(defaults))
        self._asked: set[str] = set()

    def __getitem__(self, name: str) -> Any:
        """The value of a parameter; ConfigurationError if it has none."""
        self._asked.add(name)
        if name not in self._values:
            raise ConfigurationError(f"parameter {name!r} must be given")
        return self._values[name]

    def settings(self, settings: type[Settings], prefix: str = "") -> Settings:
        """A dataclass of settings, from the parameters named as its fields with a prefix. ConfigurationError: a value
        is of the wrong type or out of range; the message names it.
        """
        kind: Any = settings
        values = []
        for item in _fields(kind):
            name = parameter_name(item, prefix)
            self._asked.add(name)
            value = self._values.get(name, item.default)
            if isinstance(item.default, float) and type(value) is int:
                value = float(value)
            values.append(tuple(value) if isinstance(value, list) else value)
        try:
            return _made(kind, values)
        except ConfigurationError as cause:
            raise of_parameter(cause, settings, prefix) from cause

    @contextmanager
    def located(self) -> Iterator[None]:
        """Context that adds the file and line of the last parameter that an error's message names to that error."""
        try:
            yield
        except RobodynError as problem:
            named = set(NAME.findall(str(problem)))
            found = [place for name, place in self._places.items() if name in named]
            if found and problem.place is None:
                problem.place = found[-1]
            raise

    def unused(self) -> list[str]:
        """Names of the given parameters that have not been read so far."""
        return sorted(set(self.given) - self._asked)


_fields = lru_cache(maxsize=256)(fields)  #: The fields of a dataclass of settings.


def _made(settings: Any, values: list[Any]) -> Any:
    """A dataclass of settings with values; the same object for the same values, if it is immutable."""
    parts = [one for value in values for one in (value if isinstance(value, tuple) else ())]
    plain = all(isinstance(value, (int, float, str, tuple)) for value in values)
    plain = plain and all(isinstance(one, (float, str)) for one in parts)  # 1, 1.0 and true are the same to a cache
    make = _checked if plain and settings.__dataclass_params__.frozen else _checked.__wrapped__
    return make(settings, *values)


@lru_cache(maxsize=1024, typed=True)
def _checked(settings: Any, *values: Any) -> Any:
    return settings(**{item.name: value for item, value in zip(_fields(settings), values, strict=True)})


def refuse_replaced(name: str, place: str = "", node: str = "") -> None:
    """Refuse (InputError) a former name of a parameter of a node, or of any; ``place`` is where it was given."""
    for now, pattern in REPLACED.items():
        if found := re.fullmatch(pattern, name) or re.fullmatch(pattern, f"{node}:{name}"):
            told = now if " " in now else f"use {found.expand(now)!r}"
            raise InputError(name, f"{place} there is no such parameter any more: {told}".strip(), name)


NOT_GIVEN = 1e6  #: Position of a locked joint that stands for none, and bound of the others [rad] or [m].


def position_given(name: str, value: Any) -> float | None:
    """A parameter's value as the position of a locked joint; None: it is none. InputError: it is no number."""
    check(isinstance(value, (int, float)), name, "a number", value)
    return None if isnan(value) or value == NOT_GIVEN else value


def take_joints(robot: Robot, *nodes: dict[str, Any]) -> Robot:
    """Return the robot with the joints in the parameter ``joints`` of the nodes, and with the others locked: at
    ``locked_joints.<joint>``, else at ``initial_position.<joint>``, else at the middle of the range. These parameters
    are removed from those of the nodes. InputError: a joint does not exist, is named twice, or nodes name different
    joints; a position is no number.
    """
    if not (named := [parameters.pop("joints") for parameters in nodes if "joints" in parameters]):
        return robot
    for joints in named:
        check(isinstance(joints, (list, tuple)), "joints", "a list of names", joints)
    if any(set(joints) != set(named[0]) for joints in named):
        raise InputError("joints", f"differ between the nodes: {' and '.join(map(str, named))}", named)
    return take_locked(robot, nodes, named[0], {}).robot


def take_locked(
    robot: Robot, nodes: Sequence[dict[str, Any]], free: Sequence[str] | None, locked: Mapping[str, float]
) -> ChosenJoints:
    """As :func:`.chosen_joints`; positions that ``locked`` lacks are those of the nodes' parameters, which are removed:
    ``locked_joints`` of any node before ``initial_position`` of any. InputError: one is no number, also if not used.
    """
    others = [name for name in robot.joint_names if (name in locked if free is None else name not in free)]
    found = {}
    for name, part, parameters in product(others, ("initial_position", "locked_joints"), nodes):
        full = f"{part}.{name}"
        if (position := position_given(full, parameters.pop(full, nan))) is not None:
            found[name] = position
    return chosen_joints(robot, free, found | dict(locked))


def read_parameters(path: Path, node: str, namespace: str = "", *, named: bool = False) -> LoadedParameters:
    """The parameters of a node in a file; sections may name a node in a namespace with it or without.

    ``named``: only what the file gives in sections that name the node, not in those for any node. InputError: the file
    cannot be read, is no parameter file, or has the node's name misspelt.
    """
    from robodyn_ros.files import YamlError, compose, construct, read_text

    try:
        tree = compose(read_text(path))
        content = construct(tree)
    except YamlError as cause:
        raise InputError("parameter file", f"{path} cannot be read: {cause}", path) from cause
    if not (nodes := [key.rpartition("/")[2] for key, _ in _sections(content, "")]):
        raise InputError("parameter file", f"{path} has no {PARAMETERS!r}", path)
    for other in nodes if node not in nodes else ():
        if misspelt(other, [node]):
            raise InputError("parameter file", f"{path} is for a node {other!r}{is_it(other, [node])}", path)
    names, others = ({each, f"{namespace.strip('/')}/{each}".strip("/")} for each in (node, "any other"))
    own, lines = (
        {
            name: value
            for key, part in _sections(file, "")
            if _matches(key, names) and not (named and _matches(key, others))
            for name, value in flat(part)
        }
        for file in (content, _lines(tree))
    )
    return LoadedParameters(own, {name: Place(str(path), line) for name, line in lines.items() if name in own})


def parameters_text(values: Mapping[str, Any]) -> str:
    """A parameter file for any node, from name → value.

    ROS merges the sections of one name in all files, at the place of the first. So a second file for any node overrides
    this one, but not one that has a section of a node's name after a section for any.
    """
    return json.dumps({"/**": {PARAMETERS: dict(values)}})  # JSON is YAML


def parse_parameter(text: str) -> tuple[str, Any]:
    """Name and value of ``name:=value``, the value in YAML, as on a command line of ROS 2; else InputError."""
    from robodyn_ros.files import YamlError, compose, construct

    name, found, value = text.partition(":=")
    try:
        if found and name:
            return name, construct(compose(value))
    except YamlError:
        pass
    raise InputError("parameter", f"must be name:=value, not {text!r}", text)


def _sections(content: Any, key: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The sections: for each, the node's name, with namespaces and wildcards, and its parameters."""
    if not isinstance(content, Mapping):
        return
    for name, part in content.items():
        if name == PARAMETERS and isinstance(part, Mapping):
            yield key, part
        else:
            yield from _sections(part, f"{key}/{str(name).strip('/')}")


def _matches(key: str, nodes: Iterable[str]) -> bool:
    """Return whether a section is for one of the nodes; ``*`` stands for one name, ``**`` for any number of names."""
    pattern = re.escape(key).replace(r"/\*\*", "(/[^/]+)*").replace(r"\*", "[^/]+")
    return any(re.fullmatch(pattern, f"/{node}") for node in nodes)


def _lines(tree: Any, line: int = 0) -> Any:
    """The mappings of a YAML tree, with the line of its key in place of each value."""
    if getattr(tree, "id", "") != "mapping":
        return line
    return {name.value: _lines(part, name.start_mark.line + 1) for name, part in tree.value if name.id == "scalar"}


def flat(parameters: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """The values of mappings in each other, each with the names that lead to it, joined with dots."""
    for name, value in parameters.items():
        if isinstance(value, Mapping):
            yield from flat(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value
