# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The steps of the derivation as they are for any arm, and the numbers of an arm at a pose.

An arm whose closed form would fill pages gets these steps with its constants. Numbers at a pose are those of the
compiled dynamics.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from robodyn_ros.checks import as_states, refuse_non_finite
from robodyn_ros.document import blocks as page
from robodyn_ros.dynamics.compiled import CompiledDynamics
from robodyn_ros.dynamics.parameters import to_inertial
from robodyn_ros.dynamics.symbolic.symbols import inertials, labels
from robodyn_ros.dynamics.symbolic.typeset import number
from robodyn_ros.dynamics.symbolic.writer import AXES, joints
from robodyn_ros.files import read_yaml
from robodyn_ros.kinematics import Kinematics
from robodyn_ros.kinematics.tree import Tree, TreeNode, build_tree
from robodyn_ros.robot import Array, Pose

PRINCIPLES = Path(__file__).with_name("principles.yaml")
"""The steps as they are for any arm."""

DIGITS = 4

DUST = 1e-9
"""An element smaller than this, relative to the largest, is zero: angles in the URDF are rounded."""

ROUNDING = 1e-12
"""A number smaller than this is the rounding of a zero [m] or [rad]."""

MIMICS = r" A joint that moves with $c\, q_j$ has such a column too, which is added to column $j$, times $c$."

ZERO = r". The column is zero if the joint does not carry body $i$, and in $J_{\omega i}$ if joint $j$ slides."


def general_sections(dynamics: CompiledDynamics) -> list[page.Section]:
    """Return every step but the numbers at a pose."""
    tree, p = build_tree(dynamics.robot), dynamics.parameters
    friction = bool(p.viscous.any() or p.coulomb.any())
    own: dict[str, tuple[page.Block, ...]] = {
        "frames": _frames(tree),
        "com": (_bodies(dynamics, tree), page.TextBlock(AXES)),
        "jacobians": _jacobians(tree),
    }
    steps = principles("in the root link's axes", rotors=bool(p.armature.any()), friction=friction)
    return [
        page.Section("arm", "The arm", (joints(dynamics.robot),)),
        *(step.extended(own.get(step.name, ())) for step in steps),
    ]


def _frames(tree: Tree) -> tuple[page.Block, ...]:
    """Return a table of the place of each frame in the one before."""
    names = labels(tree)
    rows = [("base", "root", _vector(np.zeros(3)), _vector(Pose(tree.base).rpy), "stands still")]
    for label, node in zip(names, tree.nodes, strict=True):
        before = names[node.parent] if node.parent >= 0 else "base"
        rows.append((label, before, _vector(node.offset), _vector(Pose(node.rotation).rpy), _motion(node)))
    return (
        page.TextBlock(
            "In the frame $b$ before it, frame $i$ stands at $d_i$, turned by the constant $F_i$ (roll, pitch and yaw,"
            r" as in a URDF); then it turns about its own z axis by $\theta$, or slides along it by $s$."
            " $R_z$ is a turn about z."
        ),
        page.formulas(
            page.equation("R_i", r"R_b F_i\, R_z(\theta)"), page.equation("p_i", "p_b", "R_b d_i", "R_i (0, 0, s)^T")
        ),
        page.table(("$i$", "$b$", "$d_i$ [m]", "$F_i$ [rad]", "motion [rad] or [m]"), rows),
    )


def _motion(node: TreeNode) -> str:
    body = node.body
    rest = body.offset + node.turn
    ratio = "" if body.ratio == 1.0 else f"{number(body.ratio, DIGITS)} "
    constant = f" {'-' if rest < 0 else '+'} {number(abs(rest), DIGITS)}" if abs(rest) > ROUNDING else ""
    return f"${'s' if node.prismatic else chr(92) + 'theta'} = {ratio}q_{{{body.coordinate + 1}}}{constant}$"


def _bodies(dynamics: CompiledDynamics, tree: Tree) -> page.TableBlock:
    """Return a table of mass, centre of mass and inertia of each body, in its frame."""
    rows = []
    for label, inertial in zip(labels(tree), inertials(dynamics, tree), strict=True):
        inertia = inertial.inertia
        moments = [inertia[i, j] for i, j in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))]
        rows.append((label, _number(inertial.mass), _vector(inertial.com), _vector(np.array(moments))))
    heads = ("$i$", "$m_i$ [kg]", "$l_{ci}$ [m]", "$I_i$ [kg m²]: xx, yy, zz, xy, xz, yz")
    return page.table(heads, rows)


def _jacobians(tree: Tree) -> tuple[page.Block, ...]:
    mimics = any(node.body.joint.mimic is not None for node in tree.nodes)
    return (
        page.TextBlock(
            r"Column $j$ belongs to joint $j$. Its axis is $z_j$, the third column of $R_j$" + ZERO + MIMICS * mimics
        ),
        page.formulas(
            page.equation(r"(J_{vi})_j", r"z_j \times (p_{ci} - p_j)"),
            page.equation(r"(J_{vi})_j", "z_j"),
            page.equation(r"(J_{\omega i})_j", r"R_i^T z_j"),
        ),
        page.TextBlock("The first holds for a joint that turns, the second for a joint that slides."),
    )


def _number(value: float) -> str:
    return f"${number(value, DIGITS)}$" if abs(value) > ROUNDING else "0"


def _vector(values: Iterable[float]) -> str:
    return ", ".join(_number(float(value)) for value in values)


def pose_section(dynamics: CompiledDynamics, q: ArrayLike | None, qd: ArrayLike | None) -> page.Section:
    """Return a section with M, C, C q̇, G, energies, centres of mass, and the Jacobian of the last of them.

    Args:
        dynamics: the arm.
        q: positions (n,) in [rad] or [m]; unless given 0, or as near as the limits allow.
        qd: velocities (n,); 1 each unless given, as C is zero at rest.

    Raises:
        InputError: q or qd has another shape, or is not finite.
    """
    robot = dynamics.robot
    given = robot.home if q is None else q, np.ones(robot.n) if qd is None else qd
    q, qd = as_states(("q", "qd"), given, (robot.n, robot.n))
    refuse_non_finite(("q", "qd"), given)
    energy, coriolis = dynamics.energy(q, qd), dynamics.coriolis_matrix(q, qd)
    kinematics = Kinematics(robot, compiled=dynamics.compiled)
    coms = [to_inertial(ten).com for ten in dynamics.theta()[: 10 * len(robot.bodies)].reshape(-1, 10)]
    centres = [kinematics.pose(body.name, q, com)[:3, 3] for body, com in zip(robot.bodies, coms, strict=True)]
    last, point = robot.bodies[-1].name, coms[-1]
    rows = [(page.quoted(body.name), *_cells(place)) for body, place in zip(robot.bodies, centres, strict=True)]
    blocks: tuple[page.Block, ...] = (
        page.TextBlock(f"At $q = ({_listed(q)})$ and $\\dot{{q}} = ({_listed(qd)})$, in SI units; to {DIGITS} digits."),
        page.formulas(
            _matrix("M", dynamics.mass_matrix(q)),
            _matrix("C", coriolis),
            _matrix(r"C \dot{q}", (coriolis @ qd)[:, None]),
            _matrix("G", dynamics.gravity(q)[:, None]),
            page.equation("K", number(float(energy.kinetic), DIGITS)),
            page.equation("P", number(float(energy.potential), DIGITS)),
        ),
        page.TextBlock("The centres of mass are here, in the root link's frame [m]:"),
        page.table(("body", "x", "y", "z"), rows),
        page.TextBlock(f"Jacobian of the centre of mass of {page.quoted(last)}, in the root link's axes:"),
        page.formulas(_matrix("J_v", kinematics.jacobian(last, q, point=point)[:3])),
    )
    return page.Section("pose", "Numbers at a pose", blocks)


def _matrix(name: str, values: Array) -> page.MatrixBlock:
    return page.MatrixBlock(name, tuple(tuple(number(float(x), DIGITS) for x in row) for row in _clean(values)))


def _clean(values: Array) -> Array:
    return np.where(np.abs(values) < DUST * np.abs(values).max(initial=0.0), 0.0, values)


def _cells(values: Array) -> list[str]:
    return [f"${number(float(x), DIGITS)}$" for x in _clean(values)]


def _listed(values: Array) -> str:
    return ", ".join(f"{x:g}" for x in values)


def principles(where: str, *, rotors: bool, friction: bool) -> list[page.Section]:
    """Return the steps of the derivation as they are for any arm.

    The derivation is Lagrange's: energies from the Jacobians of the centres of mass, and the equation from L = K - P
    (Siciliano et al., Robotics: Modelling, Planning and Control, section 7.1).

    Args:
        where: the axes that positions are given in.
        rotors: the kinetic energy has that of the drives' rotors.
        friction: the efforts have those of friction.
    """
    has = {"rotors": rotors, "friction": friction}

    def kept(parts: list[str | dict[str, str]]) -> Iterator[str]:
        for part in parts:
            yield from [part] if isinstance(part, str) else (text for what, text in part.items() if has[what])

    def block(content: dict[str, Any]) -> page.Block:
        if "equations" in content:
            return page.formulas(*(page.equation(*kept(one)) for one in content["equations"]))
        return page.TextBlock(" ".join(kept(content["text"])).replace("WHERE", where))

    steps, nothing = read_yaml(PRINCIPLES), page.TextBlock("")
    return [
        page.Section(name, step["title"], tuple(made for made in map(block, step["blocks"]) if made != nothing))
        for name, step in steps.items()
    ]
