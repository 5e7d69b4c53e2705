# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The settings of the control loop, by values by name, which are those of the controller node's parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import fields
from typing import Any, NamedTuple

import numpy as np

from robodyn_ros.checks import as_row
from robodyn_ros.control.contact import Contact, ContactSettings, JointContactSettings, contact_of
from robodyn_ros.control.drives import CompensationSettings, DriveCompensation
from robodyn_ros.control.faults.settings import Feedback, SafetySettings
from robodyn_ros.control.faults.table import REACTIONS, FaultReactions
from robodyn_ros.control.laws.base import Controller
from robodyn_ros.control.laws.gains import JointGains, joint_gains
from robodyn_ros.control.laws.gravity_compensation import GravityCompensation
from robodyn_ros.control.limits import Limits, StaticLoad, check_static_load
from robodyn_ros.control.motion.goals import GoalSettings, JointTolerances, Tolerances
from robodyn_ros.control.motion.streams import StreamedTool, StreamSettings
from robodyn_ros.dynamics import STANDARD_GRAVITY, Dynamics, Payload
from robodyn_ros.errors import ConfigurationError, InputError, PluginError
from robodyn_ros.plugins import available, create, load, load_whole
from robodyn_ros.robot import Array, Joint, Robot, tip
from robodyn_ros.settings import TOOL, NamedValues, ParameterSpec, parameter_name

MODEL: dict[str, Any] = {"dynamics": "rnea", "gravity": list(STANDARD_GRAVITY)}  #: Of the values that a model needs.
NO_LIMIT = 1e301  #: Value of a parameter that stands for no limit; a parameter cannot be infinite.
EFFORT_RATE = 100.0  #: Default limit of an effort's rate, in effort limits per second [1/s].

PAYLOAD = (
    ParameterSpec("payload.mass", 0.0, "mass of the payload that the tool holds [kg]", "", (0.0, 1e6)),
    ParameterSpec(
        "payload.com", [0.0] * 3, "centre of mass of the payload in the tool's frame [m]", "3 finite numbers"
    ),
    ParameterSpec(
        "payload.inertia",
        [0.0] * 6,
        "inertia of the payload about its centre of mass, xx, xy, xz, yy, yz, zz [kg m²]",
        "6 finite numbers",
    ),
)
"""The payload of the arm, as parameters."""

ARM_SETTINGS: tuple[tuple[type[Any], str], ...] = (
    (SafetySettings, ""),
    (CompensationSettings, ""),
    (GoalSettings, "constraints."),
    (ContactSettings, "contact."),
    *((reaction, f"faults.{kind}.") for kind, reaction in REACTIONS.items()),
)
"""Settings of the loop that are no limits and no law's, and the prefix of their names."""

JOINT_SETTINGS: tuple[tuple[type[Any], str, str], ...] = (
    (JointGains, "gains.", " of"),
    (JointTolerances, "constraints.", " of"),
    (JointContactSettings, "contact.", " on"),
)
"""Settings of each joint, the prefix before its name, and what joins descriptions and ``joint <name>``."""

LIMIT_DEFAULTS = {"effort": "effort", "effort_rate": "", "velocity": "velocity"}
"""Kind of limit, as in ``<kind>_limits.<joint>`` → attribute of the joint with its default; "" for ``EFFORT_RATE``."""


class LoopSettings(NamedTuple):
    """All settings of a loop; replaced as a whole between two updates."""

    controller: Controller
    limits: Limits
    feedback: Feedback  # gains of the reactions to faults, and of the soft limits
    tolerances: Tolerances  # for trajectories without tolerances of their own
    safety: SafetySettings = SafetySettings()
    reactions: FaultReactions = FaultReactions()
    deceleration: Array | None = None  # to a hold, (n,) in [rad/s²] or [m/s²]; None is that of the URDF
    drives: DriveCompensation | None = None  # compensation that the drives add by themselves; None for none
    contact: Contact | None = None  # observation of contacts; None for none
    tool: StreamedTool | None = None  # the link that streams for the tool move; None for none
    stream: StreamSettings = StreamSettings()  # limits of these streams


def law_feedback(controller: Controller) -> Feedback:
    """A law's gains as effort gains; accelerations are multiplied by the reflected inertia M_ii in the home pose."""
    robot = controller.dynamics.robot
    inertia = np.ones(robot.n)
    if controller.feedback == "acceleration":
        inertia = np.diagonal(controller.dynamics.mass_matrix(robot.home))
    return Feedback(inertia * controller.kp, inertia * controller.kd)


def make_loop_settings(values: NamedValues, dynamics: Dynamics, controller: str | None = None) -> LoopSettings:
    """The settings of a loop, by values by name; the law is the value ``controller`` unless given. RobodynError: a
    value is wrong, or an effort limit is missing; the message names it.
    """
    robot, names = dynamics.robot, dynamics.robot.joint_names
    gains = [values.settings(JointGains, f"gains.{name}.") for name in names]
    stiffness, damping, _ = joint_gains(GravityCompensation, dynamics, robot.home, gains)
    tolerances = [values.settings(JointTolerances, f"constraints.{name}.") for name in names]
    limits = _limits_of(values, robot)
    safety = values.settings(SafetySettings)
    drives = DriveCompensation.of(robot, values.settings(CompensationSettings).drive_compensates)
    needed = StaticLoad.anywhere(dynamics, 1.0 - drives.gravity, carried=safety.externally_supported)
    check_static_load(dynamics, limits, needed)
    law = make_law(controller or values["controller"], dynamics, gains, values)
    allowed = Tolerances.of(values.settings(GoalSettings, "constraints."), tolerances)
    reactions = FaultReactions(**{kind: values.settings(made, f"faults.{kind}.") for kind, made in REACTIONS.items()})
    joints = zip(tolerances, robot.joints, strict=True)
    deceleration = np.array([own.max_deceleration_on_cancel or joint.deceleration for own, joint in joints])
    more = safety, reactions, deceleration, drives, contact_of(values, dynamics)
    return LoopSettings(law, limits, Feedback(stiffness, damping), allowed, *more)


def _limits_of(values: NamedValues, robot: Robot) -> Limits:
    given = [[values[f"{kind}_limits.{name}"] for name in robot.joint_names] for kind in LIMIT_DEFAULTS]
    efforts, rates, speeds = ([np.inf if (value or 0.0) >= NO_LIMIT else value for value in kind] for kind in given)
    rates = [effort_rate(most) if rate is None else rate for most, rate in zip(efforts, rates, strict=True)]
    return Limits.of(robot, efforts, rates, speeds)


def effort_rate(most: float | None) -> float:
    """The default limit of an effort's rate [N·m/s] or [N/s] for an effort limit; infinite where there is none."""
    return EFFORT_RATE * (most or 0.0) or np.inf


def with_streams(settings: LoopSettings, values: NamedValues) -> LoopSettings:
    """These settings with those of streams; without a streamed tool if no joint moves the link."""
    robot = settings.controller.dynamics.robot
    link = values[TOOL.name] or tip(robot)
    tool = StreamedTool.of(robot, link) if robot.link(link).body >= 0 else None
    return settings._replace(tool=tool, stream=values.settings(StreamSettings, "stream."))


def make_law(name: str, dynamics: Dynamics, joints: Sequence[JointGains], values: NamedValues) -> Controller:
    """A control law with the gains of each joint and with its own settings. RobodynError: the plugin is unknown or
    broken, or a value is wrong; the message names it.
    """
    law = load_whole("controllers", name)
    settings = getattr(law, "settings", None)
    own = {} if settings is None else {"config": values.settings(settings, f"{name}.")}
    return create("controllers", name, dynamics, *joint_gains(law, dynamics, dynamics.robot.home, joints), **own)


def model_parameters(values: NamedValues, robot: Robot) -> dict[str, Any]:
    """The model's runtime parameters. InputError: an impossible payload, or its tool does not exist or cannot move."""
    gravity, com, inertia = (as_row(values[name]) for name in ("gravity", "payload.com", "payload.inertia"))
    if len(inertia) != 6:
        raise InputError("payload.inertia", f"must be 6 finite numbers, not {len(inertia)}", inertia)
    link, mass = values[TOOL.name] or tip(robot), values["payload.mass"]
    payload = Payload(link, mass, com, inertia_of(inertia))
    is_held = mass > 0.0 or any(inertia)
    if robot.link(link, TOOL.name).body < 0 and is_held:
        raise InputError(TOOL.name, f"{link!r} is fixed to the base and cannot hold the payload", link)
    return {"gravity": gravity, "payload": payload if is_held else None}


def inertia_of(moments: Any) -> list[list[Any]]:
    """The inertia (3, 3) of xx, xy, xz, yy, yz, zz."""
    xx, xy, xz, yy, yz, zz = moments
    return [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]


def law_settings() -> dict[str, type[Any]]:
    """Prefix of names such as ``adaptive.rate`` → dataclass, of each law with settings that can be imported."""
    found = {}
    for name in available("controllers"):
        with suppress(PluginError):
            if (settings := getattr(load("controllers", name), "settings", None)) is not None:
                found[f"{name}."] = settings
    return found


def loop_default_values(robot: Robot) -> dict[str, Any]:
    """Name → default value of every setting of the loop and its model; None is the default for the effort limit."""
    found: dict[str, Any] = MODEL | {spec.name: spec.default for spec in PAYLOAD} | {"controller": "computed_torque"}
    for kind, default in LIMIT_DEFAULTS.items():
        for joint in robot.joints:
            found[f"{kind}_limits.{joint.name}"] = getattr(joint, default) if default else None
    joints = [(settings, f"{prefix}{name}.") for settings, prefix, _ in JOINT_SETTINGS for name in robot.joint_names]
    laws = [(settings, prefix) for prefix, settings in law_settings().items()]
    for settings, prefix in (*ARM_SETTINGS, *laws, *joints):
        found |= {parameter_name(item, prefix): item.default for item in fields(settings)}
    return found


def limit_specs(joint: Joint, effort: float | None = None) -> list[ParameterSpec]:
    """The limits of a joint as parameters: effort, the URDF's unless given, its rate, and velocity."""
    known, unit = bool(np.isfinite(joint.effort)), joint.effort_unit
    text = f"greatest effort of joint {joint.name} [{unit}]"
    text += "; the URDF's unless given, and at most that" if known else "; the URDF has none"
    default, greatest = (joint.effort, joint.effort) if known else (None, float(np.finfo(float).max))
    limit = ParameterSpec(f"effort_limits.{joint.name}", default, text, "", (0.0, greatest))
    text = (
        f"greatest change of the effort of joint {joint.name} [{unit}/s]; {EFFORT_RATE:g} times the limit unless given"
    )
    most = min(effort_rate(default if effort is None else effort), NO_LIMIT)
    rate = ParameterSpec(f"effort_rate_limits.{joint.name}", most, text, "", (1e-9, NO_LIMIT))
    text = f"greatest speed of joint {joint.name} [{joint.position_unit}/s]; the URDF's unless given, and at most that"
    greatest = min(joint.velocity or NO_LIMIT, NO_LIMIT)  # as in Limits.of
    return [limit, rate, ParameterSpec(f"velocity_limits.{joint.name}", greatest, text, "", (0.0, greatest))]


def check_limits(given: Mapping[str, Any], robot: Robot) -> None:
    """Refuse (ConfigurationError) a limit, among values of parameters by name, that the nodes would refuse."""
    specs = [spec for joint in robot.joints for spec in limit_specs(joint) if spec.name in given]
    for spec in specs:
        value, (least, greatest) = given[spec.name], spec.bounds or (0.0, NO_LIMIT)
        if not isinstance(value, (int, float)) or not least <= value <= greatest:
            raise ConfigurationError(f"{spec.name}: must be within [{least:g}, {greatest:g}], not {value!r}")
