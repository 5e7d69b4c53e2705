# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The PUMA 560 as Corke and Armstrong-Hélouvry give it (A search for consensus among model parameters reported for the
PUMA 560 robot, IEEE ICRA 1994): standard Denavit–Hartenberg table, inertias, and what its motors add.

Link 1 has no mass here, for only its inertia about the vertical was measured.
"""

import numpy as np

from robodyn_ros.kinematics.dh import DHRow, DHTable, LinkData, robot_from_dh
from robodyn_ros.robot import Robot

QUARTER = np.pi / 2
ARM = DHRow(0.0, QUARTER, 0.672), DHRow(0.4318), DHRow(0.0203, -QUARTER, 0.15005)
WRIST = DHRow(0.0, QUARTER, 0.4318), DHRow(0.0, -QUARTER), DHRow()
TABLE = DHTable((*ARM, *WRIST))

MASSES = (0.0, 17.4, 4.8, 0.82, 0.34, 0.09)
COMS = ((0, 0, 0), (-0.3638, 0.006, 0.2275), (-0.0203, -0.0141, 0.070), (0, 0.019, 0), (0, 0, 0), (0, 0, 0.032))
MOMENTS = (
    *((0, 0.35, 0), (0.13, 0.524, 0.539), (0.066, 0.086, 0.0125)),
    *((1.8e-3, 1.3e-3, 1.8e-3), (0.3e-3, 0.4e-3, 0.3e-3), (0.15e-3, 0.15e-3, 0.04e-3)),
)
LIMITS = np.radians(((-160, 160), (-45, 225), (-225, 45), (-110, 170), (-100, 100), (-266, 266)))

GEARS = np.array((-62.6111, 107.815, -53.7063, 76.0364, 71.923, 76.686))
ROTORS = np.array((200e-6, 200e-6, 200e-6, 33e-6, 33e-6, 33e-6))  # [kg m²] at the motor
VISCOUS = np.array((1.48e-3, 0.817e-3, 1.38e-3, 71.2e-6, 82.6e-6, 36.7e-6))  # [N·m·s/rad] at the motor
COULOMB = np.array((0.395, 0.126, 0.132, 11.2e-3, 9.26e-3, 3.96e-3))  # [N·m] at the motor, turning forwards

NOMINAL = np.array((0, np.pi / 4, np.pi, 0, np.pi / 4, 0))
"""The pose q_n of the published torques."""


def puma() -> Robot:
    """The arm; its measured moments of links 1 and 3 are not those of any rigid body, so they are not checked."""
    data = [
        LinkData(mass, com, np.diag(moments), *limits)
        for mass, com, moments, limits in zip(MASSES, COMS, MOMENTS, LIMITS, strict=True)
    ]
    return robot_from_dh("puma560", TABLE, data, check=False)
