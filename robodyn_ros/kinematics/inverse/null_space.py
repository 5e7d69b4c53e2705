# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Null-space objectives: secondary goals for the degrees of freedom that a task leaves free.

An objective is a function from positions (n,) to a small motion z (n,), a step down the gradient of a cost (Liégeois,
Automatic supervisory control of the configuration and behavior of multibody mechanisms, IEEE Trans. SMC 7 (1977)). The
solver projects it into the null space of the task.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from robodyn_ros.engine import Kernel, Program, digest
from robodyn_ros.engine.states import as_states, refuse_non_finite
from robodyn_ros.kinematics.forward import Kinematics
from robodyn_ros.kinematics.se3 import from_pose
from robodyn_ros.kinematics.tree import geometry
from robodyn_ros.robot import Robot
from robodyn_ros.robot.configuration import ConfigurationSpace
from robodyn_ros.robot.pose import Array, read_only

if TYPE_CHECKING:
    import casadi as ca

NullSpaceObjective = Callable[[Array], Array]
"""Positions (n,) → motion z (n,)."""

RATIO = 0.1
"""Fraction of the distance to the goal in one step."""


def centred(robot: Robot, ratio: float = RATIO) -> NullSpaceObjective:
    """Return the objective to stay in the middle of each joint's range; joints without limits have none."""
    bounded = np.isfinite(robot.lower) & np.isfinite(robot.upper)
    middle = np.where(bounded, (np.where(bounded, robot.lower, 0) + np.where(bounded, robot.upper, 0)) / 2, 0.0)
    pull = np.where(bounded, ratio, 0.0)
    return lambda q: pull * (middle - q)


def posture(robot: Robot, rest: ArrayLike, ratio: float = RATIO) -> NullSpaceObjective:
    """Return the objective to reach a posture (n,), for a joint without limits by the shorter turn.

    Raises:
        InputError: the posture is not n finite numbers.
    """
    (given,) = as_states(("rest",), (rest,), (robot.n,))
    refuse_non_finite(("rest",), (given,))
    goal, space = read_only(given), ConfigurationSpace(robot)
    return lambda q: ratio * space.difference(q, goal)


def manipulable(kinematics: Kinematics, link: str, ratio: float = 0.02) -> NullSpaceObjective:
    """Return the objective to stay away from singular positions, up the gradient of log √det(J Jᵀ + ε) (Yoshikawa,
    Manipulability of robotic mechanisms, Int. J. Robotics Research 4 (1985)).

    Raises:
        InputError: no such link.
    """
    tree, found, n = kinematics.tree, kinematics.robot.link(link), kinematics.robot.n

    def build() -> tuple[list[ca.SX], list[ca.SX]]:
        from robodyn_ros.engine.casadi import ca
        from robodyn_ros.kinematics.expressions import geometric_jacobian, placed

        q = ca.SX.sym("q", n)
        J = geometric_jacobian(placed(tree, found, q), q)
        square = J @ J.T if n >= 6 else J.T @ J
        square += 1e-9 * ca.SX.eye(square.shape[0])
        _, R = ca.qr(square)
        log_det = ca.sum1(ca.log(ca.fabs(ca.diag(R))))
        return [q, ca.SX.sym("none", 0)], [ca.gradient(log_det / 2, q)]

    key = digest(*geometry(tree), found.body, from_pose(found.pose).tolist(), source=__name__)
    kernel = Kernel(
        Program("manipulability_gradient", key, (("q", n),), ((n,),), build), np.zeros(0), compiled=kinematics.compiled
    )
    return lambda q: ratio * kernel.call(q)
