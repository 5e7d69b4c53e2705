"""The steps for an arm whose closed form would fill pages: what holds for any arm, and this one's constants."""

from __future__ import annotations

import numpy as np

from robodyn_ros.dynamics.closed_form.legend import AXES, joints
from robodyn_ros.dynamics.closed_form.letters import inertials, labels
from robodyn_ros.dynamics.closed_form.typeset import number
from robodyn_ros.dynamics.compiled import CompiledDynamics
from robodyn_ros.dynamics.derivation import principles
from robodyn_ros.dynamics.derivation.angles import roll_pitch_yaw
from robodyn_ros.dynamics.document.blocks import Block, Equations, Section, Table, Text, equation, table
from robodyn_ros.kinematics.tree import Node, Tree, build_tree
from robodyn_ros.robot.pose import Array

DIGITS = 4
ROUNDING = 1e-12
"""What is smaller than this is the rounding of a zero [m] or [rad]."""

REMARK = (
    "The closed form of this arm would fill pages: the steps are given as they are for any arm, with this arm's"
    " constants, and M, C and G as numbers at a pose."
)

ZERO = r"; it is zero for a joint that does not carry body $i$, and for $J_{\omega i}$ where joint $j$ slides."


def general_sections(dynamics: CompiledDynamics) -> list[Section]:
    """Every step but the last."""
    tree = build_tree(dynamics.robot)
    p = dynamics.parameters
    made = (
        ("frames", principles.frames("in the root link's axes"), _frames(tree)),
        ("com", principles.com(), (_bodies(dynamics, tree), Text(AXES))),
        ("jacobians", principles.jacobians(), _jacobians()),
        ("kinetic", principles.kinetic(bool(p.armature.any())), ()),
        ("potential", principles.potential(), ()),
        ("lagrangian", principles.lagrangian(), ()),
        ("mass_matrix", principles.mass_matrix(), ()),
        ("coriolis", principles.coriolis(), ()),
        ("gravity", principles.gravity(), ()),
        ("equations", principles.equations(bool(p.viscous.any() or p.coulomb.any())), ()),
    )
    arm = Section("arm", "The arm", (joints(dynamics.robot),))
    return [arm, *(Section(name, title, (*blocks, *own)) for name, (title, blocks), own in made)]


def _frames(tree: Tree) -> tuple[Block, ...]:
    """How each frame stands in the one before."""
    names = labels(tree)
    rows = [("base", "root", _vector(np.zeros(3)), _vector(roll_pitch_yaw(tree.base)), "stands still")]
    for label, node in zip(names, tree.nodes, strict=True):
        before = names[node.parent] if node.parent >= 0 else "base"
        rows.append((label, before, _vector(node.offset), _vector(roll_pitch_yaw(node.rotation)), _motion(node)))
    return (
        Text(
            "In the frame $b$ before it, frame $i$ stands at $d_i$, turned by the constant $F_i$ (roll, pitch and yaw,"
            r" as in a URDF); then it turns about its own z axis by $\theta$, or slides along it by $s$."
            " $R_z$ is a turn about z."
        ),
        Equations(
            (
                equation("R_i", r"R_b F_i\, R_z(\theta)"),
                equation("p_i", "p_b", "R_b d_i", "R_i (0, 0, s)^T"),
            )
        ),
        table(("$i$", "$b$", "$d_i$ [m]", "$F_i$ [rad]", "motion [rad] or [m]"), rows),
    )


def _motion(node: Node) -> str:
    body = node.body
    rest = body.offset + node.turn
    ratio = "" if body.ratio == 1.0 else f"{number(body.ratio, DIGITS)} "
    constant = f" {'-' if rest < 0 else '+'} {number(abs(rest), DIGITS)}" if abs(rest) > ROUNDING else ""
    return f"${'s' if node.prismatic else chr(92) + 'theta'} = {ratio}q_{{{body.coordinate + 1}}}{constant}$"


def _bodies(dynamics: CompiledDynamics, tree: Tree) -> Table:
    """Mass, centre of mass and inertia of each body, in its frame."""
    rows = []
    for label, inertial in zip(labels(tree), inertials(dynamics, tree), strict=True):
        inertia = inertial.inertia
        moments = [inertia[i, j] for i, j in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))]
        rows.append((label, _number(inertial.mass), _vector(inertial.com), _vector(np.array(moments))))
    heads = ("$i$", "$m_i$ [kg]", "$l_{ci}$ [m]", "$I_i$ [kg m²]: xx, yy, zz, xy, xz, yz")
    return table(heads, rows)


def _jacobians() -> tuple[Block, ...]:
    return (
        Text(r"Column $j$, for a joint whose axis is $z_j$, the third column of $R_j$" + ZERO),
        Equations(
            (
                equation(r"(J_{vi})_j", r"z_j \times (p_{ci} - p_j)"),
                equation(r"(J_{vi})_j", "z_j"),
                equation(r"(J_{\omega i})_j", r"R_i^T z_j"),
            )
        ),
        Text("The first is that of a joint that turns, the second that of one that slides."),
    )


def _number(value: float) -> str:
    return f"${number(value, DIGITS)}$" if abs(value) > ROUNDING else "0"


def _vector(values: Array) -> str:
    return ", ".join(_number(float(value)) for value in values)
