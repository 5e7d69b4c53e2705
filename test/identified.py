# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Motions of arms whose numbers are known, for the tests of identification."""

from typing import Any

import numpy as np
from arms import awkward, mechanism

import robodyn_ros as rd
from robodyn_ros.dynamics.rnea import RNEA
from robodyn_ros.identification import Samples
from robodyn_ros.identification.estimation.base_parameters import base_parameters
from robodyn_ros.identification.estimation.result import Identification, Parameter, Prediction
from robodyn_ros.identification.preparation import PreparedSamples
from robodyn_ros.robot import Robot
from robodyn_ros.simulation.plant.mismatch import Mismatch

PRR = rd.load_robot("urdf/prr.urdf")
RR = rd.load_robot(mechanism("RR", (1.3, 0.7), (0.8, 0.6), (0.35, 0.2), (0.11, 0.04)))
AWKWARD = {name: rd.load_robot(text) for name, text in awkward().items()}


class Unknown:
    """An arm that is not its URDF.

    Attributes:
        robot: what the URDF says.
        theta: what is true.
        dynamics: the true equations.
    """

    def __init__(self, robot: Robot, seed: int = 3, armature: bool = False) -> None:
        self.robot = robot
        drawn = Mismatch(mass_scale=1.1, mass_spread=0.3, com_spread=0.03, inertia_spread=0.3).draw(robot, seed)
        order = np.arange(1.0, robot.n + 1)
        rotors = 0.05 * order if armature else 0.0 * order
        friction = {"viscous": 0.2 + 0.3 * order, "coulomb": 0.5 + 0.2 * order}
        self.dynamics = RNEA(robot, inertial=drawn.inertial, armature=rotors, **friction)
        self.theta = self.dynamics.theta()

    def motion(self, count: int = 400, seed: int = 0, noise: float = 0.0, duration: float = 10.0) -> Samples:
        """A sum of sines with random amplitudes and phases, efforts with noise relative to their root mean square."""
        rng = np.random.default_rng(seed)
        t = np.linspace(0.0, duration, count)
        order = np.arange(1, 6)[:, None, None]
        rate = 2.0 * np.pi * 0.1 * order
        size, phase = rng.normal(size=(5, 1, self.robot.n)) / order, rng.uniform(0.0, 7.0, (5, 1, self.robot.n))
        angle = rate * t[None, :, None] + phase
        q, qd = (0.5 * size * np.sin(angle)).sum(0), (0.5 * size * rate * np.cos(angle)).sum(0)
        qdd = (-0.5 * size * rate**2 * np.sin(angle)).sum(0)
        effort = self.dynamics.inverse(q, qd, qdd)
        scale = noise * np.sqrt(np.mean(effort**2, axis=0))
        return Samples(t, q, qd, qdd, effort + scale * rng.normal(size=effort.shape))


def made_up(robot: Robot, word: str = "a word") -> tuple[Identification, list[PreparedSamples]]:
    """An identification from two motions, of which figures are made up, and its recordings; the last joint rests."""
    order = np.arange(1.0, robot.n + 1)
    effort = np.outer(np.linspace(1.0, 2.0, 7), 10.0 * order)
    t = np.array([0.0, 0.1, 0.2, 0.3, 0.0, 0.1, 0.2])
    samples: Any = Samples(t, effort, effort, effort, effort, motion=[0, 0, 0, 0, 1, 1, 1])
    used = np.arange(7)[:, None] < np.linspace(7.0, 0.0, robot.n)
    before, fit, cross, unseen = (Prediction(samples, part * effort, used) for part in (0.4, 0.93, 0.85, 0.81))
    base = base_parameters(robot, armature=True, coulomb=True)
    size = np.arange(1.0, base.rank + 1)
    change = np.array([0.0, 0.2, -0.2, 0.1])[size.astype(int) % 4]
    last = robot.joint_names[-1]
    parameters = (
        Parameter(base.names[0], "kg", 2.0, 2.34567, 0.0123, True),
        Parameter(base.names[1], "kg m", 0.012, 0.0118, 0.0345, False, word),
        Parameter(base.names[2], "kg m", -40.0, -51.234, 12.3, False, word),
        Parameter(f"viscous({last})", "N·m·s/rad", 0.0, 123.456, 7.89, True),
        Parameter(f"coulomb({last})", "N·m", 0.25, 0.123456, 0.0, True),
        Parameter(f"armature({last})", "kg m²", 0.5, 0.4, np.inf, False, "hidden"),
    )
    found = Identification(
        robot, "", robot, np.zeros(4), *np.zeros((2, robot.n)), parameters, base,
        10.0 * size + change, 0.006 * size, 10.0 * size, 0.01 * size[::-1], base.rank - 1, 12.3456,
        0.0123456 * order, 0.012 * order, before, fit, cross, unseen, before,
    )  # fmt: skip
    shaking = PreparedSamples(
        f"{word}.mcap", samples, "measured", 9.87, 0.00123, 0.00045, 0, 9.04, 10.0, (last, word), (word,), 1e-4 * order
    )
    averaged = PreparedSamples("other", samples, "commanded", 20.0, -0.002, 0.0, 3, 5.0, 9.0, (), (), 2e-4 * order)
    return found, [shaking, averaged]
