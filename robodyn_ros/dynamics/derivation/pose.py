"""Numbers at one pose, by the compiled dynamics."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from robodyn_ros.dynamics.closed_form.typeset import number
from robodyn_ros.dynamics.compiled import CompiledDynamics
from robodyn_ros.dynamics.document.blocks import Block, Equations, Matrix, Section, Text, equation, quoted, table
from robodyn_ros.engine.states import as_states, refuse_non_finite
from robodyn_ros.kinematics import Kinematics
from robodyn_ros.robot import Body
from robodyn_ros.robot.pose import Array

DIGITS = 4
DUST = 1e-9
"""What is smaller than this, relative to the largest element, is zero but for the rounding of angles in the URDF."""


def pose_section(dynamics: CompiledDynamics, q: ArrayLike | None, qd: ArrayLike | None) -> Section:
    """M, C, G, energies, centres of mass, and the Jacobian of the last of them.

    Args:
        dynamics: the arm.
        q: positions (n,) in [rad] or [m]; unless given 0, or as near as the limits allow.
        qd: velocities (n,); 1 each unless given, as C is zero at rest.

    Raises:
        InputError: they have another shape, or are not finite.
    """
    robot = dynamics.robot
    given = robot.home if q is None else q, np.ones(robot.n) if qd is None else qd
    q, qd = as_states(("q", "qd"), given, (robot.n, robot.n))
    refuse_non_finite(("q", "qd"), given)
    energy = dynamics.energy(q, qd)
    kinematics = Kinematics(robot, compiled=dynamics.compiled)
    centres = [_centre(kinematics, body, q) for body in robot.bodies]
    last = robot.bodies[-1].name
    blocks: tuple[Block, ...] = (
        Text(f"At $q = ({_listed(q)})$ and $\\dot{{q}} = ({_listed(qd)})$, in SI units; to {DIGITS} digits."),
        Equations(
            (
                _matrix("M", dynamics.mass_matrix(q)),
                _matrix("C", dynamics.coriolis_matrix(q, qd)),
                _matrix("G", dynamics.gravity(q)[:, None]),
                equation("K", number(float(energy.kinetic), DIGITS)),
                equation("P", number(float(energy.potential), DIGITS)),
            )
        ),
        Text("Where the centres of mass are, in the root link's frame [m]:"),
        table(
            ("body", "x", "y", "z"),
            [(quoted(body.name), *_cells(place)) for body, (place, _) in zip(robot.bodies, centres, strict=True)],
        ),
        Text(f"Jacobian of the centre of mass of {quoted(last)}, in the root link's axes:"),
        Equations((_matrix("J_v", centres[-1][1]),)),
    )
    return Section("pose", "Numbers at a pose", blocks)


def _centre(kinematics: Kinematics, body: Body, q: Array) -> tuple[Array, Array]:
    """Position (3,) and Jacobian (3, n) of a body's centre of mass, without payload."""
    pose, jacobian = kinematics.pose(body.name, q), kinematics.jacobian(body.name, q)
    arm = pose[:3, :3] @ body.inertial.com
    return pose[:3, 3] + arm, jacobian[:3] + np.cross(jacobian[3:], arm, axisa=0, axisb=0, axisc=0)


def _matrix(name: str, values: Array) -> Matrix:
    return Matrix(name, tuple(tuple(number(float(x), DIGITS) for x in row) for row in _clean(values)))


def _clean(values: Array) -> Array:
    return np.where(np.abs(values) < DUST * np.abs(values).max(initial=0.0), 0.0, values)


def _cells(values: Array) -> list[str]:
    return [f"${number(float(x), DIGITS)}$" for x in _clean(values)]


def _listed(values: Array) -> str:
    return ", ".join(f"{x:g}" for x in values)
