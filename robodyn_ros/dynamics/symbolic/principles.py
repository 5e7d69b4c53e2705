# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The steps of the derivation as they are for any arm: title, idea, and the formula that is filled in.

The derivation is Lagrange's: energies from the Jacobians of the centres of mass, and the equation from L = K - P
(Siciliano et al., Robotics: Modelling, Planning and Control, section 7.1).
"""

from __future__ import annotations

import warnings
from typing import NamedTuple

from scipy.spatial.transform import Rotation

from robodyn_ros.document.blocks import Block, EquationBlock, SumBlock, TextBlock, equation
from robodyn_ros.robot.pose import Array


class Principle(NamedTuple):
    """One step: its title, the idea, and the formula that is filled in."""

    title: str
    blocks: tuple[Block, ...]


def _formulas(*formulas: SumBlock) -> EquationBlock:
    return EquationBlock(formulas)


def frames(where: str) -> Principle:
    """Frames of the bodies; ``where`` names the axes that positions are given in."""
    return Principle(
        "Frames",
        (
            TextBlock(
                "Frame $i$ moves with the body behind joint $i$. Its z axis is the joint's axis, and its x axis points"
                " towards the axis of the next joint (Denavit and Hartenberg's choice, in Craig's form). $p_i$ is its"
                f" origin and the columns of $R_i$ are its axes, {where}."
            ),
        ),
    )


def com() -> Principle:
    """Centres of mass."""
    return Principle(
        "Centres of mass",
        (
            TextBlock("A body's centre of mass stands still in the body's frame, at $l_{ci}$."),
            _formulas(equation("p_{ci}", "p_i", "R_i l_{ci}")),
        ),
    )


def jacobians() -> Principle:
    """Jacobians of the centres of mass."""
    return Principle(
        "Jacobians of the centres of mass",
        (
            TextBlock(
                r"Velocities are linear in $\dot{q}$. The velocity of the centre of mass is $v_i = J_{vi}\, \dot{q}$."
                r" The body's angular velocity is $\omega_i = J_{\omega i}\, \dot{q}$, in the axes of the body, because"
                " its inertia is constant there."
            ),
            _formulas(equation("J_{vi}", r"\frac{\partial p_{ci}}{\partial q}")),
        ),
    )


def kinetic(rotors: bool) -> Principle:
    """Kinetic energy; with ``rotors``, that of the drives' rotors too."""
    turning = (r"\frac{1}{2} \sum_i J_i\, \dot{q}_i^2",) if rotors else ()
    more = (
        " The rotors of the drives turn too: $J_i$ is the inertia of a rotor, seen through its gear." if rotors else ""
    )
    return Principle(
        "Kinetic energy",
        (
            TextBlock(f"Each body moves with its centre of mass and turns about it.{more}"),
            _formulas(
                equation("K_i", r"\frac{1}{2} m_i v_i^2", r"\frac{1}{2} \omega_i^T I_i\, \omega_i"),
                equation("K", r"\sum_i K_i", *turning),
            ),
        ),
    )


def potential() -> Principle:
    """Potential energy."""
    text = (
        "$P_i$ is the work against gravity; it is zero for a centre of mass at the origin. $g_0$ is the acceleration of"
    )
    text += " free fall."
    return Principle("Potential energy", (TextBlock(text), _formulas(equation("P_i", "- m_i\\, g_0^T p_{ci}"))))


def lagrangian() -> Principle:
    """The Lagrangian L, and the equation that it obeys."""
    left = r"\frac{d}{dt} \frac{\partial L}{\partial \dot{q}_i} - \frac{\partial L}{\partial q_i}"
    return Principle(
        "The Lagrangian",
        (
            TextBlock("With $L = K - P$, the equation of Euler and Lagrange gives the effort of each joint."),
            _formulas(equation(left, r"\tau_i")),
            TextBlock(
                r"$K = \frac{1}{2} \dot{q}^T M(q)\, \dot{q}$ is quadratic in $\dot{q}$, and $P$ does not contain"
                r" $\dot{q}$. So the equation is $M(q)\, \ddot{q} + C(q, \dot{q})\, \dot{q} + G(q) = \tau$. The next"
                " steps are its parts."
            ),
        ),
    )


def mass_matrix() -> Principle:
    """Mass matrix M."""
    return Principle(
        "Mass matrix M",
        (
            TextBlock(
                r"$M$ holds the factors of the products $\dot{q}_i \dot{q}_j$ in $2 K$. It is symmetric. Elements of"
                " its upper half that are not given are zero."
            ),
            _formulas(
                equation("M", r"\sum_i (m_i J_{vi}^T J_{vi} + J_{\omega i}^T I_i\, J_{\omega i})"),
                equation("M_{ij}", r"\frac{\partial^2K}{\partial \dot{q}_i \partial \dot{q}_j}"),
            ),
        ),
    )


def coriolis() -> Principle:
    """Coriolis matrix C, by Christoffel symbols."""
    terms = (
        r"\frac{1}{2} \frac{\partial M_{ij}}{\partial q_k}",
        r"\frac{1}{2} \frac{\partial M_{ik}}{\partial q_j}",
        r"- \frac{1}{2} \frac{\partial M_{jk}}{\partial q_i}",
    )
    return Principle(
        "Coriolis matrix C, by Christoffel symbols",
        (
            TextBlock(
                r"$C \dot{q}$ is the rest of the equation: $\dot{M} \dot{q}$, less $\frac{\partial K}{\partial q}$. The"
                " Christoffel symbols $c_{ijk}$ give its elements."
            ),
            _formulas(equation("c_{ijk}", *terms), equation("C_{ij}", r"\sum_k c_{ijk}\, \dot{q}_k")),
            TextBlock(r"Many matrices have the same $C \dot{q}$. For this one $\dot{M} - 2 C$ is skew-symmetric."),
        ),
    )


def gravity() -> Principle:
    """Efforts of gravity G."""
    return Principle(
        "Efforts of gravity G",
        (
            TextBlock("These efforts hold the arm at rest."),
            _formulas(equation("G_i", r"\frac{\partial P}{\partial q_i}")),
        ),
    )


def equations(friction: bool) -> Principle:
    """Equations of motion; with ``friction``, that of the joints too."""
    blocks = [_formulas(equation(r"\tau", r"M \ddot{q}", r"C \dot{q}", "G", *(["F"] if friction else [])))]
    text = r"$F$ is the friction: viscous, $b_i\, \dot{q}_i$, and Coulomb's, $f_i\, \operatorname{sgn}\dot{q}_i$."
    return Principle("Equations of motion", (*([TextBlock(text)] if friction else []), *blocks))


def roll_pitch_yaw(rotation: Array) -> Array:
    """Return a rotation as in a URDF: turns about the fixed x, y and z axis, in this order, (3,) in [rad]."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a pitch of a quarter turn has many rolls and yaws, and any will do
        angles: Array = Rotation.from_matrix(rotation).as_euler("xyz")
    return angles
