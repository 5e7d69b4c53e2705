# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The uncertainty of an arm for the controller's settings, estimated from recordings.

The user must state the uncertainty that recordings do not show: a payload, a push, and errors of masses that only other
poses would show.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from robodyn_ros.control.faults.consistency import position_scale
from robodyn_ros.control.faults.settings import SafetySettings
from robodyn_ros.identification.estimation.result import Identification
from robodyn_ros.identification.signals.prepare import PreparedSamples

SIGMAS = 3.0
"""Number of standard deviations of the residual that count as unknown friction, and of a delay's error [-]."""


class StatedSetting(NamedTuple):
    """A setting of the controller, estimated from recordings."""

    name: str
    default: float
    value: float
    unit: str
    joint: str  # the joint with the greatest value; "" for all


def stated_uncertainty(result: Identification, used: Sequence[PreparedSamples]) -> list[StatedSetting]:
    """The settings ``position_noise``, ``velocity_delay`` and ``unknown_friction``, estimated from recordings.

    The noise is that of the noisiest joint. The delay is that of the efforts, with three standard errors. The friction
    is three standard deviations of the residual effort in a motion that was not used, over the joint's effort limit.

    Args:
        result: the identification from them.
        used: the recordings.
    """
    robot, defaults = result.robot, SafetySettings()
    noise = np.max([one.noise for one in used], axis=0) / position_scale(robot)
    delay = max(abs(one.delay) + SIGMAS * one.delay_error for one in used)
    unseen = result.validation or result.cross_validation
    left = np.nan_to_num(SIGMAS * unseen.rms / robot.effort_limit)
    noisy, rough = robot.joint_names[int(noise.argmax())], robot.joint_names[int(left.argmax())]
    found = [
        ("position_noise", float(noise.max()), "rad", noisy),
        ("velocity_delay", delay, "s", ""),
        ("unknown_friction", float(left.max()), "", rough),
    ]
    return [StatedSetting(name, getattr(defaults, name), value, unit, joint) for name, value, unit, joint in found]
