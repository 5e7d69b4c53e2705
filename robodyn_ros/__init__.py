# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""robodyn_ros: dynamics and control of robot arms, derived from their URDF. This library imports no ROS.

    import robodyn_ros as rd

    robot = rd.load_robot("urdf/prr.urdf")
    dynamics = rd.create_dynamics("rnea", robot)
    tau = dynamics.inverse(q, qd, qdd)

    rd.simulate(robot, to=[0.3, -1.0, 0.5]).plot()  # and rd.plan, rd.compare, rd.identify: tasks.py

A name is imported when it is first used.
"""

from __future__ import annotations

from robodyn_ros.lazy import shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os
    from typing import Any

    from numpy.typing import ArrayLike

    from robodyn_ros.about import __version__ as __version__
    from robodyn_ros.control.laws.base import Controller
    from robodyn_ros.dynamics.base import Dynamics
    from robodyn_ros.dynamics.parameters import Payload
    from robodyn_ros.errors import ConfigurationError, InputError, PluginError, RobodynError, RobotDescriptionError
    from robodyn_ros.kinematics import Kinematics
    from robodyn_ros.kinematics.inverse import InverseKinematics
    from robodyn_ros.plugins import available
    from robodyn_ros.robot import Robot, load_robot
    from robodyn_ros.tasks import compare, identify, plan, simulate

__all__ = [
    "ConfigurationError", "Controller", "Dynamics", "InputError", "InverseKinematics", "Kinematics", "Payload",
    "PluginError", "RobodynError", "Robot", "RobotDescriptionError", "available", "compare", "create_controller",
    "create_dynamics", "identify", "load_robot", "plan", "simulate",
]  # fmt: skip

__getattr__, __dir__ = shown(__name__)


def create_dynamics(name: str, robot: Robot | str | os.PathLike[str], **options: Any) -> Dynamics:
    """The dynamics of an arm by a plugin.

    Args:
        name: one of ``available("dynamics")``.
        robot: the arm, or the path of its URDF.
        **options: options of the plugin; each plugin takes ``gravity``, (3,) in [m/s²] in the root link's frame.

    Raises:
        PluginError: no such plugin, it cannot be imported, or it omits something.
        ModelError: a method of the plugin returns no finite array of floats of the right shape.
        InputError: an option is wrong, or ``robot`` is neither a robot nor a path.
        RobotDescriptionError: the URDF cannot be read or does not describe an arm.
    """
    from robodyn_ros.plugins import create
    from robodyn_ros.robot import as_robot

    return create("dynamics", name, as_robot(robot), **options)


def create_controller(name: str, dynamics: Dynamics, kp: ArrayLike, kd: ArrayLike, ki: ArrayLike = 0.0) -> Controller:
    """A control law by a plugin, on a model of the arm.

    Args:
        name: one of ``available("controllers")``.
        dynamics: the arm's model.
        kp: gain on the position error, (n,) or one number for all; ``control.gains`` finds it from a natural frequency.
        kd: gain on the velocity error, likewise; :attr:`Controller.feedback` gives the units.
        ki: gain on the integral of the position error, likewise; the caller then gives the integral to ``compute``.

    Raises:
        PluginError: no such plugin, or it cannot be imported.
        InputError: a gain is wrong, or ``dynamics`` is no model of an arm.
    """
    from robodyn_ros.dynamics.base import Dynamics
    from robodyn_ros.errors import check_type
    from robodyn_ros.plugins import create

    check_type("dynamics", dynamics, Dynamics, "a Dynamics, which create_dynamics makes of a robot")
    return create("controllers", name, dynamics, kp, kd, ki)
