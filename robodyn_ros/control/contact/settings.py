# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Settings of the observation of contacts: the estimates, and the thresholds of a touch and of a collision."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from robodyn_ros.checks import is_within
from robodyn_ros.control.contact.momentum_observer import MomentumObserver
from robodyn_ros.control.core_library import CODES
from robodyn_ros.control.faults.problems import FaultCause
from robodyn_ros.dynamics.base import Dynamics
from robodyn_ros.errors import ConfigurationError
from robodyn_ros.robot.pose import Array
from robodyn_ros.settings import TOOL, CheckedSettings, NamedValues, check_settings, choice, setting, text

OBSERVED = ("nothing", "joints", "tool")
"""Observed quantities: none, the efforts on the joints, or these and the wrench and the energy of a link."""

BEHIND = "measured_behind_gear"
"""Source of efforts that the friction of the gears has no part in, as joints with torque sensors have them."""

SOURCES = ("commanded", "measured", BEHIND, "sensor")
"""Sources of the estimate: the efforts that were sent, those of the joint states, or a force-torque sensor."""


@dataclass(frozen=True)
class ContactSettings:
    """Settings of the observation of contacts, and the limits of the tool."""

    observe: str = choice(
        "nothing",
        "contact estimates: nothing, the efforts on the joints, or also the wrench and the energy of a link",
        lambda: OBSERVED,
    )
    link: str = text("", TOOL.description, shared=TOOL.name)
    gain: float = setting(30.0, "gain K of the momentum observer: the inverse of its time constant", "1/s", 0.1, 1000.0)
    effort_source: str = choice(
        "commanded",
        "source that contacts are estimated from: commanded efforts, efforts that joint_states have, measured before or"
        " behind the gears' friction, or a sensor",
        lambda: SOURCES,
    )
    sensor_load: tuple[float, ...] = setting(
        (0.0,) * 4, "mass of the parts on the force-torque sensor, and their centre in its frame", "kg, m", -1e3, 1e3
    )
    touch_wrench: tuple[float, ...] = setting(
        (0.0, 0.0),
        "force at the tool, and torque about its origin, that are a touch (0: no threshold)",
        "N, N·m",
        0.0,
        1e6,
    )
    collision_wrench: tuple[float, ...] = setting(
        (0.0, 0.0),
        "force at the tool, and torque about its origin, that are a collision (0: no threshold)",
        "N, N·m",
        0.0,
        1e6,
    )
    energy: float = setting(
        0.0,
        "greatest kinetic energy of the effective mass at the link, in the direction of motion (0: no limit)",
        "J",
        0.0,
        1e6,
    )

    def __post_init__(self) -> None:
        check_settings(self)
        if self.sensor_load[0] < 0.0:
            raise ConfigurationError(f"sensor_load: its mass must be 0 or more, not {self.sensor_load[0]:g} kg")


@dataclass(frozen=True)
class JointContactSettings(CheckedSettings):
    """Thresholds of the external effort on a joint."""

    touch: float = setting(0.0, "external effort that counts as a touch (0: no threshold)", "N·m or N", 0.0, 1e6)
    collision: float = setting(
        0.0, "external effort that counts as a collision (0: no threshold)", "N·m or N", 0.0, 1e6
    )


class ContactThresholds(NamedTuple):
    """Thresholds of contacts; inf for no threshold."""

    touch: Array  # external effort on each joint, (n,) in [N·m] or [N]
    collision: Array  # likewise
    touch_wrench: Array  # force [N] and torque [N·m], (2,)
    collision_wrench: Array  # likewise
    energy: float  # of the tool [J]

    @classmethod
    def of(cls, contact: ContactSettings, joints: list[JointContactSettings]) -> ContactThresholds:
        """Thresholds of the settings, in which 0 means no threshold."""

        def bounds(*values: float) -> Array:
            return np.array([value or np.inf for value in values])

        return cls(
            bounds(*(joint.touch for joint in joints)),
            bounds(*(joint.collision for joint in joints)),
            bounds(*contact.touch_wrench),
            bounds(*contact.collision_wrench),
            contact.energy or np.inf,
        )


class Contact(NamedTuple):
    """Observer of contacts in a loop, and its thresholds."""

    observer: MomentumObserver
    thresholds: ContactThresholds
    judges: bool = True  # False if contacts are detected outside the core, from other efforts


Judgement = tuple[str, FaultCause]
"""The kind of a contact fault, and its cause."""


def judged(efforts: Array, wrench: Array, thresholds: ContactThresholds) -> Judgement | None:
    """The contact fault by external efforts (n,) and an external wrench (6,); None if no threshold is exceeded.

    For estimates from outside the core, such as those of a force-torque sensor; the core judges its own estimates.
    """
    strengths = np.sqrt([wrench[:3] @ wrench[:3], wrench[3:] @ wrench[3:]])
    for kind in ("collision", "touch"):
        most, bounds = getattr(thresholds, kind), getattr(thresholds, f"{kind}_wrench")
        if not is_within(efforts, most):
            joint = int(np.argmax(np.abs(efforts) - most))
            return kind, FaultCause(CODES["FELT_JOINT"], joint, abs(float(efforts[joint])), float(most[joint]))
        for problem, strength, bound in zip(("FELT_FORCE", "FELT_TORQUE"), strengths, bounds, strict=True):
            if strength > bound:
                return kind, FaultCause(CODES[problem], 0, float(strength), float(bound))
    return None


def contact_of(values: NamedValues, dynamics: Dynamics) -> Contact | None:
    """The observer and its thresholds by named values; None if contacts are not observed.

    Args:
        values: by name.
        dynamics: the arm's model.

    Raises:
        RobodynError: a value is wrong; the message names it.
    """
    settings = values.settings(ContactSettings, "contact.")
    own = [values.settings(JointContactSettings, f"contact.{name}.") for name in dynamics.robot.joint_names]
    if settings.observe == "nothing":
        return None
    observer = MomentumObserver(
        dynamics,
        settings.link,
        settings.gain,
        tool=settings.observe == "tool",
        friction=settings.effort_source != BEHIND,
    )
    return Contact(observer, ContactThresholds.of(settings, own), settings.effort_source == "commanded")


FIXED = tuple(f"contact.{name}" for name in ("observe", "effort_source", "sensor_load"))
"""Values that are read when a node is configured, because they change the compiled code or the topics."""
