"""All that can be set about the control loop, by name, as its node takes it, and what it is unless it is set."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np

from robodyn_ros.control.answers import Answers
from robodyn_ros.control.following import GoalConfig, JointTolerances
from robodyn_ros.control.gains import JointGains
from robodyn_ros.control.law_settings import law_settings
from robodyn_ros.control.loop_config import LoopConfig
from robodyn_ros.dynamics.parameters import STANDARD_GRAVITY
from robodyn_ros.robot import Robot

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
    groups: dict[str, Any] = {f"gains.{name}.": JointGains() for name in robot.joint_names}
    groups |= {f"constraints.{name}.": JointTolerances() for name in robot.joint_names} | {"constraints.": GoalConfig()}
    groups |= {f"faults.{kind}.": response for kind, response in Answers()._asdict().items()} | {"": LoopConfig()}
    groups |= {prefix: settings() for prefix, settings in law_settings().items()}
    for prefix, settings in groups.items():
        found |= {prefix + item.name: getattr(settings, item.name) for item in fields(settings)}
    return found
