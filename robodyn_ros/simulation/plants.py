"""Plants by name: the plugins of the group ``robodyn_ros.plants``."""

from __future__ import annotations

from typing import Any

from robodyn_ros.dynamics.base import Dynamics
from robodyn_ros.plugins import create
from robodyn_ros.simulation.base import PlantBase, PlantConfig


def create_plant(name: str, dynamics: Dynamics, config: PlantConfig | None = None, **options: Any) -> PlantBase:
    """The plant plugin of that name for an arm.

    Args:
        name: one of ``available("plants")``.
        dynamics: the arm's equations of motion, with the parameters that the plant is to have.
        config: settings, the defaults unless given.
        **options: of the plugin; each takes those of :class:`robodyn_ros.simulation.Plant` but ``integrator``.

    Raises:
        PluginError: no such plugin, or it cannot be imported.
        InputError: an option is wrong.
        ConfigurationError: the plant cannot do what is asked of it, or what it needs is not installed.
    """
    plant: PlantBase = create("plants", name, dynamics, config, **options)
    return plant
