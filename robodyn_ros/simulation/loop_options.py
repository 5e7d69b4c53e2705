"""All that can be set about the control loop, by name, as its node takes it; and the loop's tuning made of it."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np

from robodyn_ros.control.answers import Answers
from robodyn_ros.control.following import Tolerances
from robodyn_ros.control.gains import JointGains
from robodyn_ros.control.law_settings import law_settings, make_law
from robodyn_ros.control.limits import Limits
from robodyn_ros.control.loop_config import LoopConfig
from robodyn_ros.control.tuning import Tuning, own_feedback
from robodyn_ros.dynamics import STANDARD_GRAVITY
from robodyn_ros.dynamics.base import Dynamics
from robodyn_ros.robot import Robot
from robodyn_ros.simulation.options import Values

MODEL: dict[str, Any] = {"dynamics": "rnea", "gravity": list(STANDARD_GRAVITY)}
"""What a model is made from, unless told otherwise."""

KINDS = {"effort": "effort", "effort_rate": "", "velocity": "velocity"}
"""Limits, and the attribute of the joint that is the default; none without one."""


def loop_default_values(robot: Robot) -> dict[str, Any]:
    """Name → value of all that can be set."""
    found: dict[str, Any] = MODEL | {"controller": "computed_torque"}
    for kind, default in KINDS.items():
        for joint in robot.joints:
            found[f"{kind}_limits.{joint.name}"] = getattr(joint, default) if default else np.inf
    groups = {f"gains.{name}.": JointGains() for name in robot.joint_names}
    groups |= {f"faults.{kind}.": response for kind, response in Answers()._asdict().items()} | {"": LoopConfig()}
    groups |= {prefix: settings() for prefix, settings in law_settings().items()}
    for prefix, settings in groups.items():
        found |= {prefix + item.name: getattr(settings, item.name) for item in fields(settings)}
    return found


def make_tuning(values: Values, dynamics: Dynamics) -> Tuning:
    """What the loop works by.

    Args:
        values: of :func:`loop_default_values`, or others.
        dynamics: the model.

    Raises:
        RobodynError: a value is wrong; the message names it.
    """
    robot, names = dynamics.robot, dynamics.robot.joint_names
    gains = [values.settings(JointGains, f"gains.{name}.") for name in names]
    controller = make_law(values["controller"], dynamics, gains, values)
    responses = Answers()._asdict().items()
    return Tuning(
        controller,
        Limits.of(robot, *([values[f"{kind}_limits.{name}"] for name in names] for kind in KINDS)),
        own_feedback(controller),
        Tolerances.none(robot.n),
        values.settings(LoopConfig),
        Answers(**{kind: values.settings(type(response), f"faults.{kind}.") for kind, response in responses}),
    )
