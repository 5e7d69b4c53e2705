"""Settings that a control law has of its own, under the name of its plugin: ``adaptive.rate``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from robodyn_ros.control.base import Controller
from robodyn_ros.control.gains import JointGains, joint_gains
from robodyn_ros.control.settings import NamedValues
from robodyn_ros.dynamics.base import Dynamics
from robodyn_ros.errors import PluginError
from robodyn_ros.plugins import available, load


def law_settings() -> dict[str, type[Any]]:
    """Prefix of the names → dataclass, of every installed law with settings.

    A plugin that cannot be imported has none: whoever asks for that law is told why.
    """
    found = {}
    for name in available("controllers"):
        try:
            settings = getattr(load("controllers", name), "settings", None)
        except PluginError:
            continue
        if settings is not None:
            found[f"{name}."] = settings
    return found


def make_law(name: str, dynamics: Dynamics, joints: Sequence[JointGains], values: NamedValues) -> Controller:
    """A control law with the gains of each joint and with its own settings.

    Args:
        name: of the plugin.
        dynamics: the arm's model.
        joints: gains, in the order of ``robot.joints``.
        values: among them those of the law's settings.

    Raises:
        RobodynError: the plugin is unknown or broken, or a value is wrong; the message names it.
    """
    law = load("controllers", name)
    settings = getattr(law, "settings", None)
    own = {} if settings is None else {"config": values.settings(settings, f"{name}.")}
    made: Controller = law(dynamics, *joint_gains(law, dynamics, dynamics.robot.home, joints), **own)
    return made
