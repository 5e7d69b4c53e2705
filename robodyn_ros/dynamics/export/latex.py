"""A LaTeX document with the closed form of a small arm."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sympy import Symbol

from robodyn_ros import __version__
from robodyn_ros.dynamics.closed_form.letters import labels
from robodyn_ros.dynamics.closed_form.names import ORDER, Name
from robodyn_ros.dynamics.closed_form.readable import Readable
from robodyn_ros.dynamics.closed_form.typeset import DIGITS, Rank, Typesetter, number
from robodyn_ros.dynamics.compiled import CompiledDynamics
from robodyn_ros.dynamics.export.source import identifier, plain

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
UNDERSCORE = r"\_"
EXACT = 12
"""Digits of the arm's numbers."""


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
    readable = Readable(dynamics, quantities)
    parts = [
        r"\documentclass{article}",
        r"\usepackage{amsmath, longtable}",
        r"\usepackage[margin=2cm]{geometry}",
        r"\allowdisplaybreaks",
        r"\setlength{\parindent}{0pt}",
        r"\begin{document}",
        *_opening(dynamics, readable),
        *_equations(readable),
        *_legend(readable),
        r"\end{document}",
    ]
    return {f"{stem or identifier(dynamics.robot.name)}.tex": "\n".join(parts) + "\n"}


def _opening(dynamics: CompiledDynamics, readable: Readable) -> Iterator[str]:
    robot = dynamics.robot
    yield rf"\section*{{Equations of motion of the arm {_escaped(robot.name)}}}"
    yield rf"By robodyn\_ros {__version__}: \quad $M(q)\, \ddot{{q}} + C(q, \dot{{q}})\, \dot{{q}} + G(q) = \tau$"
    yield r"\begin{longtable}{lll}"
    for index, joint in enumerate(robot.joints, 1):
        effort = joint.effort_unit.replace("·", r"\,")
        kind = f"{joint.type}, $q_{{{index}}}$ in {joint.position_unit}, $\\tau_{{{index}}}$ in {effort}"
        yield rf"joint {index} & {_escaped(joint.name)} & {kind} \\"
    yield r"\end{longtable}"
    if readable.form.algebra.numeric:
        yield f"With letters for the arm's numbers this would be too long to read: they are given to {DIGITS} digits."


def _equations(readable: Readable) -> Iterator[str]:
    ranks: dict[Symbol, Rank] = {}
    for place, name in enumerate(readable.names):
        ranks.setdefault(name.symbol, (ORDER.index(name.kind), place))
    typesetter = Typesetter(ranks)
    for quantity, elements in readable.elements.items():
        yield rf"\subsection*{{{TITLES[quantity]}}}"
        if quantity in REMARKS:
            yield REMARKS[quantity]
        if not elements:
            continue
        yield r"\begin{align*}"
        rows = [f"{name} &= " + " \\\\\n &\\quad ".join(typesetter.lines(expression)) for name, expression in elements]
        yield " \\\\\n".join(rows)
        yield r"\end{align*}"


def _legend(readable: Readable) -> Iterator[str]:
    written = {symbol for found in readable.elements.values() for _, x in found for symbol in x.free_symbols}
    used = [name for name in readable.names if name.symbol in written]
    waves = dict.fromkeys(f"${name.symbol} = {_wave(readable, name)}$" for name in used if name.wave)
    if waves:
        yield r"\subsection*{Sines and cosines}"
        yield ", ".join(waves) + "."
        if angles := list(_angles(readable, used)):
            yield "Here " + ", ".join(angles) + "."
    letters = [(name.symbol, name.letter) for name in used if name.letter]
    if letters:
        yield r"\subsection*{Numbers of this arm}"
        yield r"\begin{longtable}{llll}"
        for symbol, letter in letters:
            unit = letter.unit.replace("²", "$^2$").replace(" ", r"\,")
            yield rf"${symbol}$ & ${number(letter.value, EXACT)}$ & {unit} & {_escaped(letter.meaning)} \\"
        yield r"\end{longtable}"
        yield "An $x$ axis points from its joint towards the next one, a $z$ axis along its joint; inertias are about"
        yield "the centre of mass."


def _wave(readable: Readable, name: Name) -> str:
    assert name.wave is not None
    function, terms = name.wave
    parts = [(f"{'-' if sign < 0 else '+'} {_angle(readable, node)}") for node, sign in terms]
    text = " ".join(parts).removeprefix("+ ")
    return rf"\{function} {text}" if len(parts) == 1 else rf"\{function}({text})"


def _angle(readable: Readable, node: int) -> str:
    """θ, or q where that is the same."""
    body = readable.form.tree.nodes[node].body
    plain_one = body.ratio == 1.0 and readable.form.directions[node].rest == 0.0
    return f"q_{{{body.coordinate + 1}}}" if plain_one else rf"\theta_{{{labels(readable.form.tree)[node]}}}"


def _angles(readable: Readable, used: Sequence[Name]) -> Iterator[str]:
    """What the angles are that are no coordinates."""
    for node in sorted({node for name in used if name.wave for node, _ in name.wave[1]}):
        angle, rest = _angle(readable, node), readable.form.directions[node].rest
        body = readable.form.tree.nodes[node].body
        if angle.startswith("q"):
            continue
        ratio = "" if body.ratio == 1.0 else f"{number(body.ratio, EXACT)} "
        yield f"${angle} = {ratio}q_{{{body.coordinate + 1}}} {'-' if rest < 0 else '+'} {number(abs(rest), EXACT)}$"


def _escaped(text: str) -> str:
    return plain(text).replace("_", UNDERSCORE)
