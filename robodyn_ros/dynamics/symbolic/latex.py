# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""A LaTeX document with the closed form of a small arm."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from robodyn_ros import __version__
from robodyn_ros.document.blocks import Block, Document, EquationBlock, Section, SumBlock, TextBlock, quoted
from robodyn_ros.document.latex import tex
from robodyn_ros.dynamics.compiled import CompiledDynamics
from robodyn_ros.dynamics.symbolic.listing import identifier
from robodyn_ros.dynamics.symbolic.typeset import DIGITS
from robodyn_ros.dynamics.symbolic.writer import Legend, Readable, joints

TITLES = {
    "inverse": r"Efforts: $\tau = M \ddot{q} + C \dot{q} + G$",
    "mass_matrix": "Mass matrix $M(q)$",
    "coriolis_matrix": r"Coriolis matrix $C(q, \dot{q})$, by Christoffel symbols",
    "coriolis": r"Coriolis and centrifugal efforts $C \dot{q}$",
    "gravity": "Efforts of gravity $G(q)$",
    "bias": r"Efforts without acceleration $C \dot{q} + G$",
    "energy": "Kinetic energy $K$ and potential energy $P$",
}

REMARKS = {
    "mass_matrix": "It is symmetric; elements of its upper half that are not given are zero.",
    "coriolis_matrix": "Elements that are not given are zero.",
}

NUMERIC = f"With letters for the arm's numbers this would be too long to read: they are given to {DIGITS} digits."


def latex_files(dynamics: CompiledDynamics, quantities: Sequence[str], stem: str = "") -> dict[str, str]:
    """A document that compiles as it is, and from which formulas can be copied.

    Args:
        dynamics: the arm.
        quantities: some of ``readable.QUANTITIES``.
        stem: name of the document; the arm's unless given.

    Returns:
        Name of the file → its text.

    Raises:
        InputError: the arm or a quantity has no closed form that can be read.
    """
    readable, robot = Readable(dynamics, quantities), dynamics.robot
    opening: list[Block] = [
        TextBlock(rf"By robodyn_ros {__version__}: $M(q)\, \ddot{{q}} + C(q, \dot{{q}})\, \dot{{q}} + G(q) = \tau$"),
        joints(robot),
    ]
    if readable.writer.form.algebra.numeric:
        opening.append(TextBlock(NUMERIC))
    written = {symbol for found in readable.elements.values() for _, x in found for symbol in x.free_symbols}
    legend = Legend(readable.writer, written)
    sections = [
        *_equations(readable),
        Section("trigonometric", "Sines and cosines", tuple(legend.trigonometric)),
        Section("numbers", "Numbers of this arm", tuple(legend.numbers)),
    ]
    title = f"Equations of motion of the arm {quoted(robot.name)}"
    document = Document(title, tuple(opening), tuple(section for section in sections if section.blocks))
    return {f"{stem or identifier(robot.name)}.tex": tex(document)}


def _equations(readable: Readable) -> Iterator[Section]:
    for quantity, elements in readable.elements.items():
        blocks: list[Block] = [TextBlock(REMARKS[quantity])] if quantity in REMARKS else []
        if elements:
            terms = readable.writer.terms
            blocks.append(
                EquationBlock(tuple(SumBlock(name, tuple(terms(expression))) for name, expression in elements))
            )
        yield Section(quantity, TITLES[quantity], tuple(blocks))
