"""What a loop and its model are made from, by the names that the controller node has for them as parameters."""

from __future__ import annotations

from typing import Any

import numpy as np

from robodyn_ros.control.answers import Answers, Feedback
from robodyn_ros.control.following import GoalConfig, JointTolerances, Tolerances
from robodyn_ros.control.gains import JointGains, joint_gains
from robodyn_ros.control.gravity_compensation import GravityCompensation
from robodyn_ros.control.law_settings import make_law
from robodyn_ros.control.limits import Limits
from robodyn_ros.control.loop_config import LoopConfig
from robodyn_ros.control.settings import NamedValues
from robodyn_ros.control.tuning import Tuning
from robodyn_ros.dynamics.base import Dynamics
from robodyn_ros.dynamics.parameters import Payload
from robodyn_ros.errors import InputError
from robodyn_ros.robot import Robot

NO_LIMIT = 1e301
"""What stands for no limit in a parameter, which cannot be infinite."""

LIMITS = ("effort", "effort_rate", "velocity")
"""Of each joint, as ``<kind>_limits.<joint>``."""


def make_tuning(values: NamedValues, dynamics: Dynamics, controller: str | None = None) -> Tuning:
    """All that the loop works by.

    Args:
        values: by name.
        dynamics: the model.
        controller: name of the law; the value ``controller`` unless given.

    Raises:
        RobodynError: a value is wrong, or an effort limit is missing; the message names it.
    """
    robot, names = dynamics.robot, dynamics.robot.joint_names
    gains = [values.settings(JointGains, f"gains.{name}.") for name in names]
    stiffness, damping, _ = joint_gains(GravityCompensation, dynamics, robot.home, gains)
    responses = Answers()._asdict().items()
    return Tuning(
        make_law(controller or values["controller"], dynamics, gains, values),
        Limits.of(robot, *(_limits(values, kind, robot) for kind in LIMITS)),
        Feedback(stiffness, damping),
        Tolerances.of(
            values.settings(GoalConfig, "constraints."),
            [values.settings(JointTolerances, f"constraints.{name}.") for name in names],
        ),
        values.settings(LoopConfig),
        Answers(**{kind: values.settings(type(response), f"faults.{kind}.") for kind, response in responses}),
    )


def model_parameters(values: NamedValues, robot: Robot) -> dict[str, Any]:
    """The runtime parameters of the model.

    Raises:
        InputError: the payload is impossible, or its link does not exist or cannot move.
    """
    inertia = values["payload.inertia"]
    if len(inertia) != 6:
        raise InputError("payload.inertia", f"must be 6 finite numbers, not {len(inertia)}", inertia)
    xx, xy, xz, yy, yz, zz = inertia
    matrix = [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]
    link, mass = values["payload.link"], values["payload.mass"]
    payload = Payload(link, mass, tuple(values["payload.com"]), matrix) if link else None
    if payload is None and mass > 0.0:
        raise InputError("payload.link", "must name the link that holds the payload", link)
    if payload is not None:
        payload.inertial()
        if robot.link(link).body < 0:
            raise InputError("payload.link", f"{link!r} is fixed to the base and cannot hold one", link)
    return {"gravity": tuple(values["gravity"]), "payload": payload}


def _limits(values: NamedValues, kind: str, robot: Robot) -> list[float]:
    given = [values[f"{kind}_limits.{name}"] for name in robot.joint_names]
    return [np.inf if value >= NO_LIMIT else value for value in given]
