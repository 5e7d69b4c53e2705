# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The parameters of an exported controller: those of the controller node that are meaningful in it.

Names, descriptions, ranges and defaults are those of the node. A parameter is fixed if the exported code cannot change
it, because it is part of the expressions or of numbers that only Python computes: the controller refuses another value.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from robodyn_ros.control import loop_settings
from robodyn_ros.control.compiled_step import CompiledStep
from robodyn_ros.control.contact import FIXED
from robodyn_ros.control.drives import MitSettings
from robodyn_ros.control.faults.table import KINDS, PHASES
from robodyn_ros.control.loop_settings import LoopSettings, make_loop_settings, model_parameters
from robodyn_ros.control.motion.streams import StreamSettings
from robodyn_ros.control.parameter_file import FileParameters
from robodyn_ros.control.step import EFFORT_ROUNDING, StepSettings
from robodyn_ros.dynamics.base import Dynamics
from robodyn_ros.robot import Robot
from robodyn_ros.settings import TOOL, ParameterSpec, parameter_specs

MEANINGLESS = {"state_publishers", "contact.effort_source", "command_delay", "contact.sensor_load"}
"""Parameters of the node without a meaning in an exported controller. In ros2_control states are not published, and the
loop has a fixed period. The loop in C estimates contacts from the efforts that are sent; the period that the gains need
was computed at the export. A target pose is always a stream, whose reference is updated in every period."""

GIVEN_BY_PARAMETERS = {"law.kp", "law.kd", "law.ki", "law.dynamics.symbols"}  #: Settings of the step, computed in C.
FINAL_COMMANDS = ("gravity", "zero", "damping")  #: Final commands to the drives when the controller is deactivated.

FINAL_COMMAND = ParameterSpec(
    "on_deactivate",
    "gravity",
    "final command to the drives when the controller is deactivated: the gravity effort at the arm's position, zero "
    "(for brakes that close), or the gravity effort and the drives' own damping (mit_limits)",
    choices=FINAL_COMMANDS,
)
"""The parameter of the final command; the node does not have it."""


class ExportedParameter(NamedTuple):
    """A parameter of an exported controller.

    A number, or a text as its index among the choices, is kept in a member of a struct in C. The member is an array if
    there is a number for each joint or each kind of faults.
    """

    spec: ParameterSpec
    default: Any  # as exported; None if it must be given
    member: str  # of the struct in C; "" for a list of texts
    place: int  # index in that member
    fixed: bool

    @property
    def kind(self) -> str:
        """``d`` number, ``i`` integer, ``b`` on or off, ``s`` text, ``v`` numbers, ``l`` list of texts."""
        if isinstance(value := self.spec.default, list):
            return "l" if not value or isinstance(value[0], str) else "v"
        return {bool: "b", int: "i", str: "s"}.get(type(value), "d")

    @property
    def numbers(self) -> list[float]:
        """The default as numbers in C; 0 if it must be given."""
        if self.kind == "l":
            return []
        if self.kind == "s":
            return [dict(self.choices)[self.default]]
        return [float(value) for value in np.ravel(0.0 if self.default is None else self.default)]

    @property
    def choices(self) -> list[tuple[str, float]]:
        """The allowed texts, and the numbers that stand for them in C."""
        if self.kind not in "sl":
            return []
        if self.kind == "l" or self.fixed:
            return [(", ".join(self.default) if self.kind == "l" else self.default, 0.0)]
        if self.member == "faults_reaction":
            return [(text, float(PHASES.index(text))) for text in self.spec.choices]
        return [(text, float(place)) for place, text in enumerate(self.spec.choices)]


def exported_parameters(robot: Robot, given: Mapping[str, Any], law: str, frozen: set[str]) -> list[ExportedParameter]:
    """The parameters of an exported controller; fixed are those that always are, and those of the groups ``frozen``.
    Given values, by name, replace the defaults.
    """
    found: dict[str, ExportedParameter] = {}  # settings of several kinds share some names
    for spec, member, place, fixed in _all_specs(robot, given, law):
        is_fixed = fixed or spec.name.partition(".")[0] in frozen
        made = ExportedParameter(spec, given.get(spec.name, spec.default), member, place, is_fixed)
        found.setdefault(spec.name, made)
    return list(found.values())


def _all_specs(robot: Robot, given: Mapping[str, Any], law: str) -> Iterator[tuple[ParameterSpec, str, int, bool]]:
    """Each parameter, its member and index in C, and whether it is always fixed."""

    def single(specs: list[ParameterSpec], fixed: bool = False) -> Iterator[tuple[ParameterSpec, str, int, bool]]:
        for spec in specs:
            if spec.name not in MEANINGLESS:
                is_list = isinstance(spec.default, list) and (not spec.default or isinstance(spec.default[0], str))
                is_fixed = fixed or is_list or spec.name in FIXED
                yield spec, "" if is_list else re.sub(r"\W", "_", spec.name), 0, is_fixed

    plugins = {"controller": law, "dynamics": given.get("dynamics", loop_settings.MODEL["dynamics"])}
    yield from single([ParameterSpec(kind, name, f"{kind} plugin") for kind, name in plugins.items()], fixed=True)
    text = "acceleration of free fall in the root link's frame [m/s²]"
    gravity = ParameterSpec("gravity", list(loop_settings.MODEL["gravity"]), text, "3 finite numbers")
    yield from single([gravity, *loop_settings.PAYLOAD, FINAL_COMMAND])
    yield from single([TOOL], fixed=True)
    for settings, prefix in (*loop_settings.ARM_SETTINGS, (MitSettings, ""), (StreamSettings, "stream.")):
        _, _, kind = prefix[:-1].partition("faults.")
        if kind:
            for spec in parameter_specs(settings, prefix):
                yield spec, f"faults_{spec.name.rpartition('.')[2]}", KINDS.index(kind), False
        else:
            yield from single(parameter_specs(settings, prefix))
    if own := loop_settings.law_settings().get(f"{law}."):
        yield from single(parameter_specs(own, f"{law}."), fixed=True)
    for index, joint in enumerate(robot.joints):
        for settings, prefix, of in loop_settings.JOINT_SETTINGS:
            for spec in parameter_specs(settings, f"{prefix}{joint.name}.", f"{of} joint {joint.name}"):
                yield spec, f"{prefix[:-1]}_{spec.name.rpartition('.')[2]}", index, False
        effort = given.get(f"effort_limits.{joint.name}")
        for spec in loop_settings.limit_specs(joint, None if effort is None else float(effort)):
            yield spec, spec.name.partition(".")[0], index, False


def known_defaults(robot: Robot, given: Mapping[str, Any], law: str) -> dict[str, Any]:
    """Name → default of every parameter, as in the node."""
    defaults = {spec.name: spec.default for spec, *_ in _all_specs(robot, given, law) if spec.default is not None}
    unlimited = {name: np.inf for name, value in defaults.items() if value == loop_settings.NO_LIMIT}
    return loop_settings.MODEL | {"controller": law} | defaults | unlimited


def step_values(settings: LoopSettings) -> tuple[str, dict[str, Any]]:
    """The key of the compiled step, and its settings by name; errors as :class:`.CompiledStep`."""
    step = CompiledStep(settings)
    sizes = step.setting_sizes
    parts = np.split(step.parameters, np.cumsum([*sizes.values()])[:-1])
    return step.program.key, dict(zip(sizes, parts, strict=True))


def frozen_groups(given: Mapping[str, Any], defaults: Mapping[str, Any], dynamics: Dynamics, law: str) -> set[str]:
    """First words of the names of parameters that the exported code cannot change: each group of parameters is changed,
    and settings of the law that the code in C cannot compute are compared.
    """
    before = dynamics.parameters
    key, first = step_values(make_loop_settings(FileParameters(given, defaults), dynamics, law))
    frozen = set()
    for group, changed in _changes(given, defaults, dynamics.robot).items():
        values = FileParameters(dict(given) | changed | {"externally_supported": True}, defaults)
        try:
            dynamics.configure(**model_parameters(values, dynamics.robot))
            other, found = step_values(make_loop_settings(values, dynamics, law))
        finally:
            dynamics.configure(gravity=before.gravity, payload=before.payload)
        own = [name for name in first if name not in StepSettings._fields and name not in GIVEN_BY_PARAMETERS]
        if other != key or any(not _same(first[name], found[name]) for name in own):
            frozen.add(group)
    return frozen


def _changes(given: Mapping[str, Any], defaults: Mapping[str, Any], robot: Robot) -> dict[str, dict[str, Any]]:
    """Group of parameters → other values for them."""
    known, names = {**defaults, **given}, [f"effort_limits.{joint}" for joint in robot.joint_names]
    limits = {name: known.get(name, np.inf) for name in names}
    return {
        "gains": {f"gains.{name}.natural_frequency": 9.0 + k for k, name in enumerate(robot.joint_names)}
        | {f"gains.{name}.damping_ratio": 0.9 for name in robot.joint_names},
        "effort_limits": {name: 0.999 * limit if np.isfinite(limit) else 1e6 for name, limit in limits.items()},
        "effort_rate_limits": {f"effort_rate_limits.{name}": 7e7 for name in robot.joint_names},
        "velocity_limits": {f"velocity_limits.{name}": 0.7 for name in robot.joint_names},
        "payload": {"payload.mass": 0.01, "payload.com": [0.01, 0.02, 0.03]},
        "gravity": {"gravity": [0.1, 0.2, -9.0]},
    }


def _same(one: Any, other: Any) -> bool:
    return np.shape(one) == np.shape(other) and np.allclose(one, other, rtol=EFFORT_ROUNDING, atol=0.0, equal_nan=True)


def members(parameters: list[ExportedParameter]) -> dict[str, int]:
    """The members of the struct in C → count of their numbers."""
    found: dict[str, int] = {}
    for item in parameters:
        if item.member:
            found[item.member] = max(found.get(item.member, 0), item.place + len(item.numbers))
    return found


def parameter_file(parameters: list[ExportedParameter], name: str) -> str:
    """The parameters as YAML for generate_parameter_library, in a namespace of C++."""
    import yaml

    tree: dict[str, Any] = {"prefix": _entry("string", "", "prefix of the joints in the names of interfaces", True)}
    for item in parameters:
        *path, last = item.spec.name.split(".")
        place = tree
        for word in path:
            place = place.setdefault(word, {})
        place[last] = _declaration(item)
    return yaml.safe_dump({name: tree}, sort_keys=False, allow_unicode=True, width=110)


def _entry(kind: str, default: Any, description: str, read_only: bool) -> dict[str, Any]:
    entry: dict[str, Any] = {"type": kind}
    if default is not None:
        entry["default_value"] = default
    entry["description"] = description
    return entry | ({"read_only": True} if read_only else {})


def _declaration(item: ExportedParameter) -> dict[str, Any]:
    spec, kind = item.spec, item.kind
    names = {"d": "double", "i": "int", "b": "bool", "s": "string", "v": "double_array", "l": "string_array"}
    default = item.default
    if kind == "d" and default is not None:
        default = min(float(default), loop_settings.NO_LIMIT)
    elif kind in ("v", "l"):
        default = item.numbers or list(default)  # a list of texts has no numbers
    only = spec.name in ("mit_limits", "missing_velocity") or item.fixed
    validation = _validation(item)
    return _entry(names[kind], default, spec.description, only) | ({"validation": validation} if validation else {})


def _validation(item: ExportedParameter) -> dict[str, list[Any]]:
    """The checks of generate_parameter_library for the values of a parameter; it has none for a switch or a list."""
    if item.kind == "s":
        return {"one_of<>": [[text for text, _ in item.choices]]}
    size = {"fixed_size<>": [len(item.numbers)]} if item.kind == "v" else {}
    if item.spec.bounds is None:
        return size
    kind = int if item.kind == "i" else float
    return size | {"element_bounds<>" if size else "bounds<>": [kind(value) for value in item.spec.bounds]}
