# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Motions of arms whose numbers are known, for the tests of identification."""

import re

import numpy as np
from arms import awkward, mechanism
from industrial import urdfs

import robodyn_ros as rd
from robodyn_ros.dynamics.rnea import RNEA
from robodyn_ros.identification import Samples
from robodyn_ros.robot import Robot
from robodyn_ros.simulation.plant.mismatch import Mismatch

PRR = rd.load_robot("urdf/prr.urdf")
RR = rd.load_robot(mechanism("RR", (1.3, 0.7), (0.8, 0.6), (0.35, 0.2), (0.11, 0.04)))
AWKWARD = {name: rd.load_robot(text) for name, text in awkward().items()}


def panda() -> Robot:
    """With its fingers welded, as it is in the literature."""
    text = urdfs()["panda"].read_text()
    return rd.load_robot(re.sub(r'(<joint name="panda_finger_joint\d" type=)"prismatic"', r'\1"fixed"', text))


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
