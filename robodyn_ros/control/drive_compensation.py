# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Compensation of gravity, Coriolis efforts and friction that the drives of an arm add by themselves.

Many drives compensate gravity by themselves: they add g(q) of their own model to every command. If the controller adds
it too, the arm rises. ``drive_compensates`` names the terms that the drives add, for all joints or for one. These terms
of the law are then subtracted before sending. The law, its memory and its limits use the total effort at the joint: the
effort that is sent plus the drive's compensation.

The drive's model of gravity is assumed to equal that of the controller, with its payload. So set the payload in the
drive too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from robodyn_ros.errors import InputError, is_it
from robodyn_ros.robot import Robot
from robodyn_ros.robot.pose import Array, read_only
from robodyn_ros.settings import NONE, CheckedSettings, names


@dataclass(frozen=True)
class CompensationSettings(CheckedSettings):
    """The compensation that the drives add by themselves."""

    drive_compensates: tuple[str, ...] = names(
        (NONE,), "terms that the drives add by themselves: gravity, coriolis, friction; for one joint gravity.<joint>"
    )


class DriveCompensation(NamedTuple):
    """Terms that the drives add by themselves, each (n,): 1 for a joint whose drive adds it, else 0."""

    gravity: Array
    coriolis: Array
    friction: Array

    @classmethod
    def of(cls, robot: Robot, terms: Sequence[str], name: str = "drive_compensates") -> DriveCompensation:
        """The terms of a setting.

        Args:
            robot: the arm.
            terms: such as ``gravity`` for all joints, or ``gravity.shoulder`` for one; ``none`` names no term.
            name: of the setting, for messages.

        Raises:
            InputError: a term or a joint is unknown.
        """
        found = {term: np.zeros(robot.n) for term in cls._fields}
        for text in terms:
            term, _, joint = text.partition(".")
            if text == NONE:
                continue
            if term not in found:
                known = (*found, NONE)
                raise InputError(name, f"{text!r} is none of {', '.join(known)}{is_it(term, known)}", text)
            if joint and joint not in robot.joint_names:
                known = robot.joint_names
                raise InputError(name, f"{text!r}: the arm's joints are {', '.join(known)}{is_it(joint, known)}", text)
            found[term][robot.joint_names.index(joint) if joint else slice(None)] = 1.0
        return cls(*map(read_only, found.values()))

    @classmethod
    def none(cls, n: int) -> DriveCompensation:
        """Drives of n joints that add nothing."""
        return cls(*(read_only(np.zeros(n)) for _ in cls._fields))
