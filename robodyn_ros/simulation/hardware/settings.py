# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The settings of the simulated hardware by name: the simulator node's parameters and the command's options.

A name is the name of a setting behind the prefix of its group. The prefix of a joint's own settings contains the
joint's name. :func:`make_hardware` goes from named values to the hardware.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from inspect import signature
from typing import Any, NamedTuple

from robodyn_ros.dynamics.base import Dynamics
from robodyn_ros.errors import ConfigurationError
from robodyn_ros.plugins import available, create, load
from robodyn_ros.robot import Joint, Robot
from robodyn_ros.settings import NONE, CheckedSettings, NamedValues, choice
from robodyn_ros.simulation.hardware.actuators import Actuators, CommandSettings, DriveModel, DriveSettings
from robodyn_ros.simulation.hardware.hardware import Hardware
from robodyn_ros.simulation.hardware.sensors import EncoderSettings, Sensors, StateSettings
from robodyn_ros.simulation.plant.base import PlantSettings, create_plant
from robodyn_ros.simulation.plant.external_forces import Contact, WallSettings
from robodyn_ros.simulation.plant.joint_effects import FrictionSettings, StopSettings, urdf_friction
from robodyn_ros.simulation.plant.mismatch import Mismatch

INTEGRATOR = "rk4"
"""The default integrator plugin."""


def make_hardware(values: NamedValues, robot: Robot) -> Hardware:
    """Make hardware from named values.

    Args:
        values: the values of :func:`default_values`, ``dynamics`` and ``gravity``.
        robot: the arm.

    Raises:
        RobodynError: a value is wrong; the message names it.
    """
    return make_hardware_settings(values, robot).assemble()


def make_hardware_settings(values: NamedValues, robot: Robot) -> HardwareSettings:
    """Make only the settings of the hardware; arguments and errors as :func:`make_hardware`."""
    own: dict[type[Any], list[Any]] = {}
    for group in joint_groups(robot):
        kind = type(group.defaults)
        own.setdefault(kind, []).append(values.settings(kind, group.prefix))
    chosen, states = values.settings(PlantPlugins), values.settings(StateSettings)
    friction = own[FrictionSettings]
    parameters: dict[str, Any] = {"gravity": tuple(values["gravity"])}
    mismatch = values.settings(Mismatch, "mismatch.")
    if mismatch != Mismatch():
        sampled = mismatch.draw(robot, states.seed, friction)
        parameters |= sampled.parameters
        friction = list(sampled.friction)
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
        values.settings(WallSettings, "wall.").contacts(),
    )


class HardwareSettings(NamedTuple):
    """The settings of all parts of the hardware; tuples have one entry for each joint."""

    robot: Robot
    plant: str  # name of the plugin
    integrator: str  # name of the plugin
    dynamics: str  # name of the plugin
    parameters: dict[str, Any]  # parameters of the dynamics that differ from the robot's
    plant_settings: PlantSettings
    states: StateSettings
    commands: CommandSettings
    friction: tuple[FrictionSettings, ...]
    stops: tuple[StopSettings, ...]
    drives: tuple[DriveSettings, ...]
    encoders: tuple[EncoderSettings, ...]
    start: tuple[float, ...]  # initial positions [rad] or [m]
    contacts: tuple[Contact, ...] = ()  # walls and springs that the arm may touch

    def assemble(self, dynamics: Dynamics | None = None) -> Hardware:
        """Make the hardware.

        Args:
            dynamics: the equations of motion of the arm; made from the settings if None.

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
        if self.contacts:
            if "contacts" not in signature(load("plants", self.plant)).parameters:
                raise ConfigurationError(f"wall.link: the plant {self.plant!r} has no walls; native has")
            options["contacts"] = self.contacts
        plant = create_plant(self.plant, dynamics, self.plant_settings, **options)
        actuators = Actuators(self.drives, self.commands.command_delay, self.plant_settings.step, plant.effort_limit)
        sensors = Sensors(self.encoders, self.states, self.plant_settings.step)
        return Hardware(plant, actuators, sensors, self.commands, self.drive_model())

    @property
    def drives_add(self) -> bool:
        """True if the drives add terms of their own."""
        return set(self.commands.drive_adds) - {NONE} != set()

    def drive_model(self) -> DriveModel | None:
        """The efforts that the drives add, None without any. Their model is the described arm, without a mismatch.

        Raises:
            InputError: a term or a joint is unknown.
        """
        if not self.drives_add:
            return None
        nominal = create("dynamics", self.dynamics, self.robot, gravity=self.parameters["gravity"])
        return DriveModel(nominal, self.commands.drive_adds)


@dataclass(frozen=True)
class PlantPlugins(CheckedSettings):
    """The plugins of the plant; each field's metadata describe it."""

    plant: str = choice("native", "plant plugin", lambda: available("plants"))
    integrator: str = choice(INTEGRATOR, "integrator plugin of the native plant", lambda: available("integrators"))


class SettingsGroup(NamedTuple):
    """Settings whose names have a common prefix."""

    prefix: str
    defaults: Any  # dataclass of settings
    joint: Joint | None = None  # the joint that they belong to; None for the whole arm


def arm_groups() -> tuple[SettingsGroup, ...]:
    """Return the groups of settings of the whole arm."""
    whole = (PlantPlugins(), PlantSettings(), StateSettings(), CommandSettings())
    prefixed = (SettingsGroup("mismatch.", Mismatch()), SettingsGroup("wall.", WallSettings()))
    return (*(SettingsGroup("", defaults) for defaults in whole), *prefixed)


def joint_groups(robot: Robot) -> Iterator[SettingsGroup]:
    """Yield the groups of settings of each joint, with the URDF's friction as default."""
    stop, drive, encoder = StopSettings(), DriveSettings(), EncoderSettings()
    for joint, friction in zip(robot.joints, urdf_friction(robot), strict=True):
        yield SettingsGroup(f"friction.{joint.name}.", friction, joint)
        yield SettingsGroup(f"stops.{joint.name}.", stop, joint)
        yield SettingsGroup(f"actuators.{joint.name}.", drive, joint)
        yield SettingsGroup(f"sensors.{joint.name}.", encoder, joint)


def initial_positions(robot: Robot) -> dict[str, float]:
    """Name → default initial position of each joint, the nearest to 0 within its limits [rad] or [m]."""
    return {f"initial_position.{joint.name}": min(max(0.0, joint.lower), joint.upper) for joint in robot.joints}


def default_values(robot: Robot) -> dict[str, Any]:
    """Name → default value of every setting."""
    found: dict[str, Any] = dict(initial_positions(robot))
    for group in (*arm_groups(), *joint_groups(robot)):
        found |= {group.prefix + name: value for name, value in vars(group.defaults).items()}
    return found
