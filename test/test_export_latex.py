# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The closed form of small arms: the published formulas, the plugins' numbers, and what stands in the document."""

import math
import re

import numpy as np
import pytest
import sympy
from arms import OURS, awkward, joint, lesson_arm, link, mechanism, random_robot, robot
from formulas import REFERENCE, WAVE, evaluated, published

import robodyn_ros as rd
from robodyn_ros.dynamics import Payload
from robodyn_ros.dynamics.compiled import CompiledDynamics
from robodyn_ros.dynamics.symbolic.export import export
from robodyn_ros.dynamics.symbolic.writer import QUANTITIES, Readable

GRAVITY = (0.4, -1.3, -9.6)  # [m/s²], along no axis
DOWNWARDS = (0.0, 0.0, -9.8)  # [m/s²]
MATRICES = ("mass_matrix", "coriolis_matrix", "gravity")


def waist(turned: float = 0.0) -> str:
    """An upright joint that carries a planar arm of two, each link off the line of its joints."""
    return robot(
        "waist",
        link("base"),
        link("trunk", 3.1, (0.02, 0.03, 0.2), (0.05, 0.001, 0.002, 0.06, 0.003, 0.07)),
        link("upper", 2.2, (0.0, 0.01, 0.21), (0.02, 0, 0, 0.03, 0, 0.011)),
        link("fore", 1.3, (0.03, 0.0, 0.17), (0.012, 0, 0, 0.013, 0, 0.004)),
        joint("waist", "revolute", "base", "trunk", (0, 0, 1), (0.1, 0.2, 0.4), (turned, 0, 0)),
        joint("shoulder", "revolute", "trunk", "upper", (0, 1, 0), (0.05, 0, 0.3)),
        joint("elbow", "revolute", "upper", "fore", (0, -1, 0), (0, 0, 0.43)),
    )


ARMS = (
    OURS
    | {"lesson": lesson_arm(), "slide": mechanism("RPR", coms=(0.3, 0.2, 0.15)), "waist": waist(), "turned": waist(0.3)}
    | awkward()
    | {f"random{seed}": random_robot(seed, joints=2 + seed % 3) for seed in range(3)}
)
LONG = {"omitted", "branched", "tilted", "gantry", "random2", "waist", "turned", "welded", "mimic"}
"""Of these long ones the sums of other quantities are left out."""


def make(arm: str, gravity: tuple[float, ...] = GRAVITY, **parameters: object) -> CompiledDynamics:
    made = rd.create_dynamics("rnea", rd.load_robot(ARMS[arm]), gravity=gravity, compiled=False, **parameters)
    assert isinstance(made, CompiledDynamics)
    return made


@pytest.mark.parametrize("arm", REFERENCE)
def test_published_formulas(arm: str) -> None:
    found = Readable(make(arm, DOWNWARDS), MATRICES)
    ours = {re.sub(r"[_{}]", "", name): x for elements in found.elements.values() for name, x in elements}
    assert ours.keys() == REFERENCE[arm].keys()
    for name, text in REFERENCE[arm].items():
        theirs = published(text)
        assert sympy.expand(ours[name] - theirs) == 0, name
        assert sympy.count_ops(ours[name]) <= sympy.count_ops(theirs), name


def values(readable: Readable, dynamics: CompiledDynamics, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> dict:
    """Every symbol's value."""
    found = {}
    n = dynamics.robot.n
    states = [q, qd, qdd, np.sign(qd)]
    for place, name in enumerate(readable.writer.names[-4 * n :]):
        found[name.symbol] = states[place // n][place % n]
    for name in readable.writer.names:
        if name.parameter:
            found[name.symbol] = name.parameter.value
        if name.trigonometric:
            function, terms = name.trigonometric
            bodies, rest = readable.writer.form.tree.nodes, readable.writer.form.directions
            angle = sum(s * (bodies[k].body.ratio * q[bodies[k].body.coordinate] + rest[k].rest) for k, s in terms)
            found[name.symbol] = getattr(np, function)(angle)
    return found


def value(expression: object, at: dict) -> float:
    """Of sums, products and powers."""
    parts = [value(part, at) for part in expression.args]
    if expression.is_Add:
        return math.fsum(parts)
    if expression.is_Mul:
        return math.prod(parts)
    if expression.is_Pow:
        return parts[0] ** parts[1]
    return at[expression] if expression.is_Symbol else float(expression)


def check(dynamics: CompiledDynamics, quantities: tuple[str, ...] = QUANTITIES, seed: int = 4) -> Readable:
    """Every element against the plugin."""
    readable, n = Readable(dynamics, quantities), dynamics.robot.n
    q, qd, qdd = np.random.default_rng(seed).uniform(-1.5, 1.5, (3, n))
    at = values(readable, dynamics, q, qd, qdd)
    given = {"q": q, "qd": qd, "qdd": qdd}
    for quantity, elements in readable.elements.items():
        inputs = CompiledDynamics.quantities()[quantity].inputs.split()
        truth = np.array(getattr(dynamics, quantity)(*(given[name] for name in inputs)))
        found = np.zeros_like(truth)
        for name, expression in elements:
            place = {"K": 0, "P": 1}.get(name) if quantity == "energy" else None
            indices = (place,) if place is not None else tuple(int(x) - 1 for x in name.split("_{")[-1][:-1])
            found[indices] = value(expression, at)
            if quantity == "mass_matrix":
                found[indices[::-1]] = found[indices]
        np.testing.assert_allclose(found, truth, rtol=0, atol=1e-10 * max(1.0, np.abs(truth).max()), err_msg=quantity)
    return readable


@pytest.mark.thorough
@pytest.mark.parametrize("arm", ARMS)
def test_numbers_of_the_plugin(arm: str) -> None:
    check(make(arm), ("mass_matrix", "coriolis_matrix", "gravity", "energy") if arm in LONG else QUANTITIES)


def test_parameters_of_the_arm_are_in_it() -> None:
    friction = {"viscous": [0.4, 0.5, 0.6], "coulomb": [0.7, 0.8, 0.9]}
    dynamics = make("prr", payload=Payload("hand", 0.7, (0.01, 0.02, 0.03)), armature=[0.1, 0.2, 0.3], **friction)
    readable = check(dynamics)
    assert not readable.writer.form.algebra.numeric
    assert {"J_{1}", "b_{2}", "f_{3}"} <= {str(s) for _, x in readable.elements["inverse"] for s in x.free_symbols}


@pytest.mark.parametrize(
    ("arm", "letters"), [("slide", True), ("waist", True), ("turned", True), ("welded", True), ("tilted", False)]
)
def test_letters_where_they_can_be_read(arm: str, letters: bool) -> None:
    assert check(make(arm), ("gravity",)).writer.form.algebra.numeric != letters


def test_without_gravity() -> None:
    text = export(make("pr", (0, 0, 0)), "latex", ["gravity"])["pr.tex"]
    assert "G_{1} &= 0 \\\\" in text


@pytest.mark.parametrize("quantity", ["forward", "mass_matrix_inverse", "regressor"])
def test_what_has_no_closed_form(quantity: str) -> None:
    with pytest.raises(rd.InputError, match=f"'{quantity}' has no closed form to read; these have: inverse"):
        export(make("prr"), "latex", ["gravity", quantity])


def test_many_joints_are_refused() -> None:
    dynamics = rd.create_dynamics("rnea", rd.load_robot(random_robot(1, joints=5)), compiled=False)
    with pytest.raises(rd.InputError, match=r"of 5 joints would be too long to read .* c or python"):
        export(dynamics, "latex", ["gravity"])


def aligned(text: str) -> dict[str, str]:
    """Name → formula of every element in the document, lines joined."""
    blocks = re.findall(r"\\begin\{align\*\}\n(.*?)\\end\{align\*\}", text, re.DOTALL)
    rows = [row for block in blocks for row in re.split(r" \\\\\n(?! &\\quad)", block.strip())]
    return {name: formula.replace("\\\\\n &\\quad", "") for name, formula in (row.split(" &= ") for row in rows)}


@pytest.mark.parametrize("arm", ["r", "pr", "rr", "prr", "slide", "waist", "turned", "lesson", "mimic"])
def test_the_document_alone_is_enough(arm: str) -> None:
    """Formulas, sines and numbers as they are printed give the plugin's efforts."""
    dynamics = make(arm)
    text = export(dynamics, "latex", ["inverse"])[f"{dynamics.robot.name}.tex"]
    assert (r"\theta" in text) == (arm in ("waist", "turned", "mimic"))  # an angle that is a position is q
    state = np.random.default_rng(6).uniform(-1.5, 1.5, (3, dynamics.robot.n))
    at = {}
    for dot, row in zip(("q", r"\dot{q}", r"\ddot{q}"), state, strict=True):
        at |= {f"{dot}_{{{i}}}": x for i, x in enumerate(row, 1)}
    for name, formula in re.findall(r"\$(\\theta_\{[^}]+\}) = ([^$]*)\$", text):
        at[name] = evaluated(formula, at)
    for name, function, argument in WAVE.findall(text):
        at[name] = getattr(np, function)(evaluated(argument, at))
    for name, number in re.findall(r"^\$([^$]+)\$ & \$([^$]+)\$ & ", text, re.MULTILINE):
        at[name] = -evaluated(number[1:], at) if number.startswith("-") else evaluated(number, at)
    efforts = [evaluated(formula, at) for formula in aligned(text).values()]
    rounding = 1e-4 if "to 6 digits" in text else 1e-9
    np.testing.assert_allclose(efforts, dynamics.inverse(*state), rtol=rounding, atol=rounding)


@pytest.mark.parametrize("arm", ["rr", "mimic"])
def test_the_document_can_be_set(arm: str) -> None:
    """Braces and environments close, and matplotlib's typesetter takes every line."""
    dynamics = make(arm)
    (text,) = export(dynamics, "latex", ("inverse", "mass_matrix", "coriolis_matrix", "energy")).values()
    assert text.isascii()
    assert text.count("{") == text.count("}")
    assert re.findall(r"\\begin\{(\w+\*?)\}", text).count("align*") == text.count(r"\end{align*}")
    from matplotlib import mathtext

    parser = mathtext.MathTextParser("path")
    for name, formula in aligned(text).items():
        parser.parse(f"${name} = {formula}$")
    for inline in re.findall(r"\$[^$\n]+\$", text):
        parser.parse(inline)
