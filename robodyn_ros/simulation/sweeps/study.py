"""A study: an arm, controllers, a motion, what varies, how it is sampled, and what is asked of the cases."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from robodyn_ros.control.settings import check_settings, setting
from robodyn_ros.simulation.sweeps.distribution import Distribution
from robodyn_ros.simulation.sweeps.sampling import Sampling
from robodyn_ros.simulation.sweeps.specification import Specification

NODES = ("simulator", "controller")
"""Whose parameters are given, and may vary."""

ARM = "arm"
"""In front of what varies in the URDF."""


@dataclass(frozen=True)
class MotionConfig:
    """Times of the motion; each field's metadata say what it is."""

    duration: float = setting(4.5, "length of all ways together", "s", 0.01, 3600.0)
    rest: float = setting(0.5, "how long the arm is watched at the end", "s", 0.0, 3600.0)
    window: float = setting(0.2, "the last moments, in which an arm must have settled", "s", 0.0, 3600.0)

    def __post_init__(self) -> None:
        check_settings(self)


@dataclass(frozen=True)
class Limits:
    """How long a case may take; each field's metadata say what it is."""

    case_timeout: float = setting(60.0, "a case that takes longer has failed", "s", 0.1, 86400.0)

    def __post_init__(self) -> None:
        check_settings(self)


class Case(NamedTuple):
    """One trial of a study."""

    number: int
    controller: str
    seed: int  # of all that happens at random in it
    inputs: dict[str, Any]  # name → value of what varies


@dataclass(frozen=True, eq=False)
class Study:
    """See the module; nothing of it depends on files.

    Attributes:
        name: for titles.
        urdf: XML of the arm.
        controllers: control laws; each sees the same cases.
        poses: where the arm is to be at rest, one after the other, from where it starts; none to stay there.
        motion: how long that takes.
        given: node → parameter → value, for those that do not vary.
        vary: name → distribution, the name being ``simulator.``, ``controller.`` or ``arm.`` and what they have.
        sampling: how many cases, and which.
        specification: what is asked of them.
        limits: how long a case may take.
    """

    name: str
    urdf: str
    controllers: tuple[str, ...] = ("computed_torque",)
    poses: tuple[tuple[float, ...], ...] = ()
    motion: MotionConfig = field(default_factory=MotionConfig)
    given: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    vary: Mapping[str, Distribution] = field(default_factory=dict)
    sampling: Sampling = field(default_factory=Sampling)
    specification: Specification = field(default_factory=Specification)
    limits: Limits = field(default_factory=Limits)

    @property
    def duration(self) -> float:
        """Of a case [s]."""
        return self.motion.duration + self.motion.rest

    @property
    def samples(self) -> int:
        """How many cases there are for each controller."""
        return self.sampling.count(tuple(self.vary.values()))

    @property
    def size(self) -> int:
        """How many cases there are; those of one sample under all controllers follow each other."""
        return self.samples * len(self.controllers)

    @property
    def digest(self) -> str:
        """Tells studies apart whose results differ."""
        limits = [self.__dict__[name] for name in self.__dataclass_fields__ if name not in ("name", "limits")]
        return hashlib.sha256(repr(limits).encode()).hexdigest()[:32]

    def cases(self, first: int, count: int) -> list[Case]:
        """Some cases, from a number on."""
        controllers, inputs = self.controllers, tuple(self.vary.values())
        samples = range(first // len(controllers), -(-(first + count) // len(controllers)))
        rows = self.sampling.probabilities(inputs, samples.start, len(samples)).tolist()
        found = []
        for number in range(first, first + count):
            sample, controller = divmod(number, len(controllers))
            values = [each.at(p) for each, p in zip(inputs, rows[sample - samples.start], strict=True)]
            drawn = dict(zip(self.vary, values, strict=True))
            found.append(Case(number, controllers[controller], self.sampling.case_seed(sample), drawn))
        return found
