"""All that can be set about the simulated hardware, by name: parameters of the simulator node, options of the command.

A name is the name of a setting behind a prefix; what each joint has of its own has the joint's name in its prefix.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

from robodyn_ros.control.settings import NamedValues, check_settings, choice
from robodyn_ros.plugins import available
from robodyn_ros.robot import Joint, Robot
from robodyn_ros.simulation.actuators import CommandConfig
from robodyn_ros.simulation.base import PlantConfig
from robodyn_ros.simulation.drive import DriveConfig
from robodyn_ros.simulation.encoders import EncoderConfig
from robodyn_ros.simulation.friction import FrictionConfig, urdf_friction
from robodyn_ros.simulation.hardware import Hardware
from robodyn_ros.simulation.mismatch import Mismatch
from robodyn_ros.simulation.rig import INTEGRATOR, Rig
from robodyn_ros.simulation.sensors import StateConfig
from robodyn_ros.simulation.stops import StopConfig


@dataclass(frozen=True)
class PlantChoice:
    """Which plugins the plant is made of."""

    plant: str = choice("native", "plant plugin", lambda: available("plants"))
    integrator: str = choice(INTEGRATOR, "integrator plugin of the native plant", lambda: available("integrators"))

    def __post_init__(self) -> None:
        check_settings(self)


class Group(NamedTuple):
    """Settings whose names have a prefix in common."""

    prefix: str
    defaults: Any  # dataclass of settings
    joint: Joint | None = None  # whose they are; None for those of the whole arm


def groups() -> tuple[Group, ...]:
    """What is set of the whole arm."""
    whole = (PlantChoice(), PlantConfig(), StateConfig(), CommandConfig())
    return (*(Group("", defaults) for defaults in whole), Group("mismatch.", Mismatch()))


def joint_groups(robot: Robot) -> Iterator[Group]:
    """What is set of each joint, with the arm's own defaults."""
    for joint, friction in zip(robot.joints, urdf_friction(robot), strict=True):
        yield Group(f"friction.{joint.name}.", friction, joint)
        yield Group(f"stops.{joint.name}.", StopConfig(), joint)
        yield Group(f"actuators.{joint.name}.", DriveConfig(), joint)
        yield Group(f"sensors.{joint.name}.", EncoderConfig(), joint)


def initial_positions(robot: Robot) -> dict[str, float]:
    """Name → where the joint starts unless told otherwise, as near to 0 as its limits allow [rad] or [m]."""
    return {f"initial_position.{joint.name}": min(max(0.0, joint.lower), joint.upper) for joint in robot.joints}


def default_values(robot: Robot) -> dict[str, Any]:
    """Name → value of all that can be set."""
    found: dict[str, Any] = dict(initial_positions(robot))
    for group in (*groups(), *joint_groups(robot)):
        found |= {group.prefix + item.name: getattr(group.defaults, item.name) for item in fields(group.defaults)}
    return found


def make_hardware(values: NamedValues, robot: Robot) -> Hardware:
    """The hardware that the values describe; beside what is listed here, ``dynamics`` and ``gravity`` are read.

    Raises:
        RobodynError: a value is wrong; the message names it.
    """
    return make_rig(values, robot).assemble()


def make_rig(values: NamedValues, robot: Robot) -> Rig:
    """What that hardware is made of; arguments and errors as there."""
    own: dict[type[Any], list[Any]] = {}
    for group in joint_groups(robot):
        kind = type(group.defaults)
        own.setdefault(kind, []).append(values.settings(kind, group.prefix))
    chosen, states = values.settings(PlantChoice), values.settings(StateConfig)
    friction = own[FrictionConfig]
    parameters: dict[str, Any] = {"gravity": tuple(values["gravity"])}
    mismatch = values.settings(Mismatch, "mismatch.")
    if mismatch != Mismatch():
        drawn = mismatch.draw(robot, states.seed, friction)
        parameters |= drawn.parameters
        friction = list(drawn.friction)
    return Rig(
        robot,
        chosen.plant,
        chosen.integrator,
        values["dynamics"],
        parameters,
        values.settings(PlantConfig),
        states,
        values.settings(CommandConfig),
        tuple(friction),
        tuple(own[StopConfig]),
        tuple(own[DriveConfig]),
        tuple(own[EncoderConfig]),
        tuple(values[name] for name in initial_positions(robot)),
    )
