"""What simulated hardware is made of: the settings of all its parts, before any of them exists."""

from __future__ import annotations

from inspect import signature
from typing import Any, NamedTuple

from robodyn_ros.dynamics.base import Dynamics
from robodyn_ros.errors import ConfigurationError
from robodyn_ros.plugins import create, load
from robodyn_ros.robot import Robot
from robodyn_ros.simulation.actuators import Actuators, CommandConfig
from robodyn_ros.simulation.base import PlantConfig
from robodyn_ros.simulation.drive import DriveConfig
from robodyn_ros.simulation.encoders import EncoderConfig
from robodyn_ros.simulation.friction import FrictionConfig
from robodyn_ros.simulation.hardware import Hardware
from robodyn_ros.simulation.plants import create_plant
from robodyn_ros.simulation.sensors import Sensors, StateConfig
from robodyn_ros.simulation.stops import StopConfig


class Rig(NamedTuple):
    """See the module; tuples have one entry for each joint."""

    robot: Robot
    plant: str  # name of the plugin
    integrator: str  # name of the plugin
    dynamics: str  # name of the plugin
    parameters: dict[str, Any]  # of the dynamics, that differ from the robot's
    config: PlantConfig
    states: StateConfig
    commands: CommandConfig
    friction: tuple[FrictionConfig, ...]
    stops: tuple[StopConfig, ...]
    drives: tuple[DriveConfig, ...]
    encoders: tuple[EncoderConfig, ...]
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
        plant = create_plant(self.plant, dynamics, self.config, **options)
        actuators = Actuators(self.drives, self.commands.command_delay, self.config.step, plant.effort_limit)
        return Hardware(plant, actuators, Sensors(self.encoders, self.states, self.config.step), self.commands)


INTEGRATOR = "rk4"
"""The integrator plugin unless told otherwise."""
