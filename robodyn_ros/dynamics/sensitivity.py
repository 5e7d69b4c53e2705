# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Sensitivity of the efforts to errors of the model: masses of the bodies, a payload, a force at the tool.

    masses    Σ_b |τ_b|             τ_b: the efforts that body b alone needs for the motion, so that Σ_b τ_b = τ
    payload   |Jᵀ (a - γ)| + LEVER |γ| |J_ω|    efforts by mass of a payload at the tool, with the free fall γ
    force     |J_i| + LEVER |J_ω,i|             greatest effort by a force at the tool, over its directions

A payload's centre of mass and a force may be ``LEVER`` away from the tool's origin.

The tool is the last link of each branch. If there are several, the greatest value counts.

If each body's density is wrong by a ratio of at most ε on its own, so are its efforts, for τ is linear in the inertial
parameters: |Δτ| ≤ ε Σ_b |τ_b|. That is the bound Σ_j |Y_ij| δθ_j of the regressor Y, for densities.

Source: linearity in the parameters: Siciliano et al., Robotics: Modelling, Planning and Control (2009), section 7.2.2.
"""

from __future__ import annotations

import numpy as np

from robodyn_ros.dynamics.compiled import CompiledDynamics
from robodyn_ros.dynamics.parameters import Payload, parameters_of
from robodyn_ros.engine import Program, digest
from robodyn_ros.engine.casadi import ca
from robodyn_ros.kinematics.forward import geometric_jacobian, placed
from robodyn_ros.kinematics.se3 import from_pose
from robodyn_ros.robot import Array, Link, Robot

LEVER = 0.1
"""Distance from the origin of the tool at which a payload or a force may be [m]."""


def sensitivity_parameters(dynamics: CompiledDynamics) -> Array:
    """Runtime parameters of :func:`sensitivity_program`: those of the model, and the bodies' inertial ones."""
    theta = dynamics.theta()
    return np.concatenate((dynamics.symbols, theta[: len(theta) - 3 * dynamics.robot.n]))


def tools(robot: Robot) -> list[Link]:
    """The last link of each branch."""
    parents = {body.parent for body in robot.bodies}
    last = {link.body: link for link in robot.links if link.body >= 0 and link.body not in parents}
    return list(last.values())


def sensitivity_program(dynamics: CompiledDynamics) -> Program:
    """The three rows (3, n) as a program of q, q̇ and q̈."""
    robot, tree = dynamics.robot, dynamics._tree
    n, mapping, ends = robot.n, dynamics.inertial_map, tools(dynamics.robot)
    count = len(dynamics.symbols) + mapping.shape[1]

    def results(q: ca.SX, qd: ca.SX, qdd: ca.SX, parameters: ca.SX) -> list[ca.SX]:
        model, bodies = ca.vertsplit(parameters, [0, len(dynamics.symbols), count])
        equations, pi = dynamics.equations(), ca.SX.sym("pi", mapping.shape[0])
        p = equations.unpack(model)._replace(armature=ca.SX.zeros(n), pi=pi)
        regressor = ca.jacobian(equations.efforts(q, qd, qdd, p), pi)
        blocks = [slice(10 * k, 10 * k + 10) for k in range(len(robot.bodies))]
        own = [regressor @ (ca.DM(mapping[:, block]) @ bodies[block]) for block in blocks]
        payload = force = lever = ca.SX.zeros(n)
        for link in ends:
            unit = parameters_of(Payload(link.name, 1.0).inertial().seen_from(link.pose))
            payload = ca.fmax(payload, ca.fabs(regressor @ (ca.DM(mapping[:, blocks[link.body]]) @ ca.DM(unit))))
            jacobian = geometric_jacobian(placed(tree, link, q), q)
            linear, angular = (ca.sqrt(ca.sum1(part**2)).T for part in ca.vertsplit(jacobian, 3))
            force = ca.fmax(force, linear + LEVER * angular)
            lever = ca.fmax(lever, LEVER * ca.norm_2(p.gravity) * angular)
        masses = ca.sum2(ca.fabs(ca.horzcat(*own)))
        return [ca.horzcat(masses, payload + lever, force).T]

    where = [(link.body, from_pose(link.pose).tolist()) for link in ends]
    key = digest(dynamics.key, type(dynamics).__qualname__, where, source=__name__)
    return Program.of("sensitivity", key, (("q", n), ("qd", n), ("qdd", n)), count, ((3, n),), results)
