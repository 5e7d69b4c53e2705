"""All that can be set about the simulated hardware, by name: parameters of the simulator node, options of the command.

A name is the name of a setting behind a prefix; what each joint has of its own has the joint's name in its prefix.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from inspect import signature
from typing import Any, NamedTuple

from robodyn_ros.dynamics.base import Dynamics
from robodyn_ros.errors import ConfigurationError
from robodyn_ros.plugins import available, create, load
from robodyn_ros.robot import Joint, Robot
from robodyn_ros.settings import NamedValues, check_settings, choice
from robodyn_ros.simulation.hardware.actuators import Actuators, CommandSettings, DriveSettings
from robodyn_ros.simulation.hardware.hardware import Hardware
from robodyn_ros.simulation.hardware.sensors import EncoderSettings, Sensors, StateSettings
from robodyn_ros.simulation.plant.base import PlantSettings, create_plant
from robodyn_ros.simulation.plant.joint_effects import FrictionSettings, StopSettings, urdf_friction
from robodyn_ros.simulation.plant.mismatch import Mismatch

# What simulated hardware is made of: the settings of all its parts, before any of them exists.


class HardwareSettings(NamedTuple):
    """See the module; tuples have one entry for each joint."""

    robot: Robot
    plant: str  # name of the plugin
    integrator: str  # name of the plugin
    dynamics: str  # name of the plugin
    parameters: dict[str, Any]  # of the dynamics, that differ from the robot's
    plant_settings: PlantSettings
    states: StateSettings
    commands: CommandSettings
    friction: tuple[FrictionSettings, ...]
    stops: tuple[StopSettings, ...]
    drives: tuple[DriveSettings, ...]
    encoders: tuple[EncoderSettings, ...]
    start: tuple[float, ...]  # positions [rad] or [m]

    def assemble(self, dynamics: Dynamics | None = None) -> Hardware:
        """The hardware.

        Args:
            dynamics: of the arm; made unless given.

        Raises:
            RobodynError: a setting does not fit the arm or another setting.
        """
        if dynamics is None:
            dynamics = create("dynamics", self.dynamics, self.robot, **self.parameters)
        options: dict[str, Any] = {"q0": self.start, "friction": list(self.friction), "stops": list(self.stops)}
        if "integrator" in signature(load("plants", self.plant)).parameters:
            options["integrator"] = self.integrator
        elif self.integrator != INTEGRATOR:
            raise ConfigurationError(f"integrator: the plant {self.plant!r} has its own, not {self.integrator!r}")
        plant = create_plant(self.plant, dynamics, self.plant_settings, **options)
        actuators = Actuators(self.drives, self.commands.command_delay, self.plant_settings.step, plant.effort_limit)
        return Hardware(plant, actuators, Sensors(self.encoders, self.states, self.plant_settings.step), self.commands)


INTEGRATOR = "rk4"
"""The integrator plugin unless told otherwise."""


@dataclass(frozen=True)
class PlantPlugins:
    """Which plugins the plant is made of."""

    plant: str = choice("native", "plant plugin", lambda: available("plants"))
    integrator: str = choice(INTEGRATOR, "integrator plugin of the native plant", lambda: available("integrators"))

    def __post_init__(self) -> None:
        check_settings(self)


class SettingsGroup(NamedTuple):
    """Settings whose names have a prefix in common."""

    prefix: str
    defaults: Any  # dataclass of settings
    joint: Joint | None = None  # whose they are; None for those of the whole arm


def arm_groups() -> tuple[SettingsGroup, ...]:
    """What is set of the whole arm."""
    whole = (PlantPlugins(), PlantSettings(), StateSettings(), CommandSettings())
    return (*(SettingsGroup("", defaults) for defaults in whole), SettingsGroup("mismatch.", Mismatch()))


def joint_groups(robot: Robot) -> Iterator[SettingsGroup]:
    """What is set of each joint, with the arm's own defaults."""
    for joint, friction in zip(robot.joints, urdf_friction(robot), strict=True):
        yield SettingsGroup(f"friction.{joint.name}.", friction, joint)
        yield SettingsGroup(f"stops.{joint.name}.", StopSettings(), joint)
        yield SettingsGroup(f"actuators.{joint.name}.", DriveSettings(), joint)
        yield SettingsGroup(f"sensors.{joint.name}.", EncoderSettings(), joint)


def initial_positions(robot: Robot) -> dict[str, float]:
    """Name → where the joint starts unless told otherwise, as near to 0 as its limits allow [rad] or [m]."""
    return {f"initial_position.{joint.name}": min(max(0.0, joint.lower), joint.upper) for joint in robot.joints}


def default_values(robot: Robot) -> dict[str, Any]:
    """Name → value of all that can be set."""
    found: dict[str, Any] = dict(initial_positions(robot))
    for group in (*arm_groups(), *joint_groups(robot)):
        found |= {group.prefix + item.name: getattr(group.defaults, item.name) for item in fields(group.defaults)}
    return found


def make_hardware(values: NamedValues, robot: Robot) -> Hardware:
    """The hardware that the values describe; beside what is listed here, ``dynamics`` and ``gravity`` are read.

    Raises:
        RobodynError: a value is wrong; the message names it.
    """
    return make_hardware_settings(values, robot).assemble()


def make_hardware_settings(values: NamedValues, robot: Robot) -> HardwareSettings:
    """What that hardware is made of; arguments and errors as there."""
    own: dict[type[Any], list[Any]] = {}
    for group in joint_groups(robot):
        kind = type(group.defaults)
        own.setdefault(kind, []).append(values.settings(kind, group.prefix))
    chosen, states = values.settings(PlantPlugins), values.settings(StateSettings)
    friction = own[FrictionSettings]
    parameters: dict[str, Any] = {"gravity": tuple(values["gravity"])}
    mismatch = values.settings(Mismatch, "mismatch.")
    if mismatch != Mismatch():
        drawn = mismatch.draw(robot, states.seed, friction)
        parameters |= drawn.parameters
        friction = list(drawn.friction)
    return HardwareSettings(
        robot,
        chosen.plant,
        chosen.integrator,
        values["dynamics"],
        parameters,
        values.settings(PlantSettings),
        states,
        values.settings(CommandSettings),
        tuple(friction),
        tuple(own[StopSettings]),
        tuple(own[DriveSettings]),
        tuple(own[EncoderSettings]),
        tuple(values[name] for name in initial_positions(robot)),
    )
