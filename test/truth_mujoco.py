# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""MuJoCo's answers in the order of a Robot's joints: the second independent truth of the dynamics tests.

The model is that of the package's plant in MuJoCo, whose own importer reads the URDF.
"""

import mujoco
import numpy as np

import robodyn_ros as rd
from robodyn_ros.robot import Robot
from robodyn_ros.simulation.plant.mujoco import MuJoCoModel


class MuJoCo(MuJoCoModel):
    """Every movable joint free; mimic joints are then put in their place by q_all = J q + b."""

    def __init__(self, robot: Robot, gravity: tuple[float, float, float]) -> None:
        super().__init__(rd.create_dynamics("rnea", robot, gravity=gravity, compiled=False))
        self.model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT  # the limits of the joints
        self.model.opt.enableflags |= mujoco.mjtEnableBit.mjENBL_ENERGY

    def energy(self, q: np.ndarray, qd: np.ndarray) -> tuple[float, float]:
        self.place(q, qd)
        mujoco.mj_forward(self.model, self.data)
        potential, kinetic = self.data.energy
        return kinetic, potential
