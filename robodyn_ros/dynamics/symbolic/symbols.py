# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The symbols for the numbers of an arm in its closed form: m_2, l_2, l_c2, I_2, g, …

Lengths, centres of mass and inertias are in the frames of the tree: z along the joint's axis, x towards the next
joint's axis. An inertia is about the centre of mass. Zeros have no symbol.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations_with_replacement
from typing import NamedTuple

import numpy as np

from robodyn_ros.dynamics.compiled import CompiledDynamics
from robodyn_ros.dynamics.parameters import to_inertial
from robodyn_ros.dynamics.symbolic.algebra import Direction, is_exact
from robodyn_ros.errors import InputError
from robodyn_ros.kinematics.tree import Tree, TreeNode
from robodyn_ros.robot import Inertial
from robodyn_ros.robot.pose import Array, read_only

ROUNDING = 1e-12
"""A number smaller than this, relative to the largest of its kind, is the rounding of a zero."""

AXES = "xyz"

Key = tuple[object, ...]
"""Kind, whose it is, and its place in a vector or matrix; for example ("I", 2, 0, 1)."""


class ParameterSymbol(NamedTuple):
    """A number and its symbol."""

    name: str  # in LaTeX
    alone: str  # its name if the equations have no other number of its kind and body
    value: float
    unit: str
    meaning: str


def labels(tree: Tree) -> list[str]:
    """Return the label of each body: the number of its joint, with a prime for each joint that follows that one."""
    found: list[str] = []
    for node in tree.nodes:
        label = str(node.body.coordinate + 1)
        while label in found:
            label += "'"
        found.append(label)
    return found


def parameter_symbols(dynamics: CompiledDynamics, tree: Tree) -> dict[Key, ParameterSymbol]:
    """Return the symbols of the numbers that are not zero."""
    found = dict(_symbols(dynamics, tree))
    scale: dict[object, float] = {}
    for key, symbol in found.items():
        scale[key[0]] = max(scale.get(key[0], 0.0), abs(symbol.value))
    return {key: symbol for key, symbol in found.items() if abs(symbol.value) > ROUNDING * scale[key[0]]}


def _symbols(dynamics: CompiledDynamics, tree: Tree) -> Iterator[tuple[Key, ParameterSymbol]]:
    names = labels(tree)
    for k, (node, label, inertial) in enumerate(zip(tree.nodes, names, inertials(dynamics, tree), strict=True)):
        body = f"of {node.body.name}"
        yield ("m", k), ParameterSymbol(f"m_{{{label}}}", f"m_{{{label}}}", inertial.mass, "kg", f"mass {body}")
        before = names[node.parent] if node.parent >= 0 else "0"
        only = sum(other.parent == node.parent for other in tree.nodes) == 1
        gap = before if only else f"{before},{label}"
        start = f"joint {before}" if node.parent >= 0 else "the base"
        for i, axis in enumerate(AXES):
            meaning = f"from {start} to joint {label}"
            yield ("l", k, i), ParameterSymbol(f"l_{{{gap}{axis}}}", f"l_{{{gap}}}", node.offset[i], "m", meaning)
        for i, axis in enumerate(AXES):
            meaning = f"from joint {label} to the centre of mass {body}"
            name = f"l_{{c{label}"
            yield ("c", k, i), ParameterSymbol(f"{name}{axis}}}", f"{name}}}", inertial.com[i], "m", meaning)
        for i, j in combinations_with_replacement(range(3), 2):
            name, value = f"I_{{{label}{AXES[i]}{AXES[j]}}}", inertial.inertia[i, j]
            yield ("I", k, i, j), ParameterSymbol(name, f"I_{{{label}}}", value, "kg m²", f"inertia {body}")
    yield from _joint_symbols(dynamics)
    gravity = tree.base.T @ dynamics.parameters.gravity
    for i, axis in enumerate(AXES):
        direction = ", ".join(f"{value:.4g}" for value in np.copysign(1.0, gravity[i]) * tree.base[:, i] + 0.0)
        meaning = f"gravity along ({direction}) of the root link's frame"
        yield ("g", 0, i), ParameterSymbol(f"g_{{{axis}}}", "g", abs(gravity[i]), "m/s²", meaning)


def _joint_symbols(dynamics: CompiledDynamics) -> Iterator[tuple[Key, ParameterSymbol]]:
    parameters = dynamics.parameters
    for k, joint in enumerate(dynamics.robot.joints):
        inertia = ("kg", "N s/m", "N") if joint.is_prismatic else ("kg m²", "N m s/rad", "N m")
        for kind, name, value, unit, meaning in (
            ("a", f"J_{{{k + 1}}}", parameters.armature[k], inertia[0], "rotor inertia, through the gears, of"),
            ("b", f"b_{{{k + 1}}}", parameters.viscous[k], inertia[1], "viscous friction of"),
            ("f", f"f_{{{k + 1}}}", parameters.coulomb[k], inertia[2], "Coulomb friction of"),
        ):
            yield (kind, k), ParameterSymbol(name, name, value, unit, f"{meaning} {joint.name}")


def twists(tree: Tree, found: Sequence[Direction]) -> dict[Key, ParameterSymbol]:
    """Return symbols for the angles between axes, where these are neither parallel nor perpendicular.

    Raises:
        InputError: a constant rotation is no turn about x, and so has no such angle.
    """
    made: dict[Key, ParameterSymbol] = {}
    for k, (label, direction) in enumerate(zip(labels(tree), found, strict=True)):
        matrix = direction.constant if direction.before is None else direction.before
        if is_exact(matrix):
            continue
        if matrix[0, 0] != 1.0:
            problem = f"the frames of {tree.nodes[k].body.name} and its parent differ by more than a turn about x"
            raise InputError("robot", problem)
        for kind, value, word in (("c", matrix[1, 1], "cosine"), ("s", matrix[2, 1], "sine")):
            name = f"\\mathrm{{{kind}}}_{{\\alpha {label}}}"
            meaning = f"{word} of the angle between the axes of joint {label} and the one before"
            made[f"{kind}t", k] = ParameterSymbol(name, name, float(value), "", meaning)
    return made


def inertials(dynamics: CompiledDynamics, tree: Tree) -> list[Inertial]:
    """Return mass, centre of mass and inertia about it of every body, with payload, in the frames of the tree.

    Raises:
        InputError: a body has a first moment and no mass.
    """
    bodies = dynamics.theta()[: 10 * len(tree.nodes)].reshape(-1, 10)
    return [_inertial(node, theta) for node, theta in zip(tree.nodes, bodies, strict=True)]


def _inertial(node: TreeNode, theta: Array) -> Inertial:
    if theta[0] == 0.0 and theta[1:4].any():
        raise InputError("inertial", f"{node.body.name} has a first moment and no mass: no centre of mass to write of")
    found, scale = to_inertial(theta), max(np.abs(theta[4:]).max(), 1e-300)
    inertia = np.where(np.abs(found.inertia) < ROUNDING * scale, 0.0, found.inertia)
    return Inertial(found.mass, found.com, read_only(inertia)).seen_from(node.frame.inverse())
