"""robodyn_ros: a ROS 2 package that lets an arm know its own dynamics. This library imports no ROS.

    import robodyn_ros as rd

    robot = rd.load_robot("urdf/prr.urdf")
    dynamics = rd.create_dynamics("rnea", robot)
    tau = dynamics.inverse(q, qd, qdd)

A name is imported when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from robodyn_ros.control.laws.base import Controller
    from robodyn_ros.dynamics.base import Dynamics
    from robodyn_ros.dynamics.parameters import Payload
    from robodyn_ros.errors import ConfigurationError, InputError, PluginError, RobodynError, RobotDescriptionError
    from robodyn_ros.kinematics import Kinematics
    from robodyn_ros.kinematics.inverse import InverseKinematics
    from robodyn_ros.plugins import available
    from robodyn_ros.robot import Robot, load_robot

__version__ = "0.1.0"

__all__ = [
    "ConfigurationError",
    "Controller",
    "Dynamics",
    "InputError",
    "InverseKinematics",
    "Kinematics",
    "Payload",
    "PluginError",
    "RobodynError",
    "Robot",
    "RobotDescriptionError",
    "available",
    "create_controller",
    "create_dynamics",
    "load_robot",
]

_HOMES = {
    "control.laws.base": ("Controller",),
    "dynamics.base": ("Dynamics",),
    "dynamics.parameters": ("Payload",),
    "errors": ("ConfigurationError", "InputError", "PluginError", "RobodynError", "RobotDescriptionError"),
    "kinematics": ("Kinematics",),
    "kinematics.inverse": ("InverseKinematics",),
    "plugins": ("available",),
    "robot": ("Robot", "load_robot"),
}
"""Module → its names that stand here too."""


def __getattr__(name: str) -> Any:
    for home, names in _HOMES.items():
        if name in names:
            found = globals()[name] = getattr(import_module(f"{__name__}.{home}"), name)
            return found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def create_dynamics(name: str, robot: Robot, **options: Any) -> Dynamics:
    """The dynamics of an arm by a plugin.

    Args:
        name: one of ``available("dynamics")``.
        robot: the arm.
        **options: options of the plugin; each plugin takes ``gravity``, (3,) in [m/s²] in the root link's frame.

    Raises:
        PluginError: no such plugin, or it cannot be imported.
        InputError: an option is wrong.
    """
    from robodyn_ros.plugins import create

    dynamics: Dynamics = create("dynamics", name, robot, **options)
    return dynamics


def create_controller(name: str, dynamics: Dynamics, kp: ArrayLike, kd: ArrayLike, ki: ArrayLike = 0.0) -> Controller:
    """A control law by a plugin, on a model of the arm.

    Args:
        name: one of ``available("controllers")``.
        dynamics: the arm's model.
        kp: gain on the position error, (n,) or one number for all; ``control.gains`` finds it from a natural frequency.
        kd: gain on the velocity error.
        ki: gain on the integral of the position error, which the caller then gives to ``compute``.

    Raises:
        PluginError: no such plugin, or it cannot be imported.
        InputError: a gain is wrong.
    """
    from robodyn_ros.plugins import create

    controller: Controller = create("controllers", name, dynamics, kp, kd, ki)
    return controller
