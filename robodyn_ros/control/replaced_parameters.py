# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Parameters of the controller that there were before version 0.1.0: what takes the place of each."""

from __future__ import annotations

import re

from robodyn_ros.errors import InputError

LAWS = r"(?:cartesian_impedance|operational_space|hand_guiding)\."

REPLACED = {
    rf"(?:{LAWS}|contact\.)link": "tool",
    rf"{LAWS}(directions|frame|damping_ratio)": r"task.\1",
    rf"{LAWS}(?:reach|turn)": "task.reach",
    r"(cartesian_impedance)\.stiffness_r?[xyz]": r"\1.stiffness",
    r"(operational_space)\.force_r?[xyz]": r"\1.force",
    r"(hand_guiding)\.rotational_stiffness": r"\1.stiffness",
    r"(hand_guiding)\.(lower|upper)_[xyz]": r"\1.\2",
    r"(contact)\.(touch|collision)_(?:force|torque)": r"\1.\2_wrench",
    r"(contact)\.(sensor_com)_[xyz]": r"\1.\2",
    r"(stream)\.turn_(speed|acceleration|jerk)": r"\1.\2",
    r"(payload_estimation)\.(?:angle|way)": r"\1.distance",
    r"reference_velocity_filter": "velocity_filter",
    r"constraints": "closed_loops",
    r"payload_estimation\.(?:acceleration|deviation|margin|strain)|adaptive\.(?:friction_limit|spread)": "",
    r"cartesian_impedance\.limit_margin|mpc\.iterations|reference_lead|trajectory_points": "",
    r"missing_reference_velocity|recurrences|recurrence_time": "",
}
"""Pattern of the former name → the name now; "" where there is none, because the default is right for every arm."""


def refuse_replaced(name: str, place: str = "") -> None:
    """Refuse a name that there is no more.

    Args:
        name: of a parameter.
        place: where it was given, for the message.

    Raises:
        InputError: there was a parameter of that name; the message says what takes its place.
    """
    for pattern, now in REPLACED.items():
        if found := re.fullmatch(pattern, name):
            told = f"use {found.expand(now)!r}" if now else "leave it out, it is a constant now"
            raise InputError(name, f"{place} there is no such parameter any more: {told}".strip(), name)
