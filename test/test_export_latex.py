# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The closed form of small arms: the published formulas, the plugins' numbers, and what stands in the document."""

import math
import re
from pathlib import Path

import numpy as np
import pytest
import sympy
from arms import awkward, joint, lesson_arm, link, mechanism, random_robot, robot
from formulas import NAMES, WAVE, evaluated

import robodyn_ros as rd
from robodyn_ros.dynamics import Payload
from robodyn_ros.dynamics.compiled import CompiledDynamics
from robodyn_ros.dynamics.symbolic.export import export
from robodyn_ros.dynamics.symbolic.writer import QUANTITIES, Readable

URDF = Path(__file__).parent.parent / "urdf"
MECHANISMS = {path.stem: path.read_text() for path in sorted(URDF.glob("*.urdf"))}
GRAVITY = (0.4, -1.3, -9.6)  # [m/s²], along no axis


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
    MECHANISMS
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


def published(text: str) -> object:
    """A formula of the reference, its names turned into those of the document."""

    def name(found: re.Match[str]) -> str:
        kind, index = found.groups()
        made = {"lc": f"l_{{c{index}}}", "v": rf"\dot{{q}}_{{{index}}}"}.get(kind, f"{kind}_{{{index}}}")
        return f"S({made!r})"

    return eval(re.sub(r"\b(lc|[a-zA-Z])(\d+)\b", name, text).replace("g", "S('g')"), {"S": sympy.Symbol})


REFERENCE = {
    "r": {"M11": "m1*lc1**2 + I1", "G1": "-m1*lc1*s1*g"},
    "pr": {
        "M11": "m1 + m2",
        "M12": "-m2*lc2*s2",
        "M22": "m2*lc2**2 + I2",
        "C12": "-m2*lc2*c2*v2",
        "G1": "(m1 + m2)*g",
        "G2": "-m2*lc2*s2*g",
    },
    "rr": {
        "M11": "m1*lc1**2 + I1 + m2*(l1**2 + 2*l1*lc2*c2 + lc2**2) + I2",
        "M12": "m2*(lc2**2 + l1*lc2*c2) + I2",
        "M22": "m2*lc2**2 + I2",
        "C11": "-m2*l1*lc2*s2*v2",
        "C12": "-m2*l1*lc2*s2*(v1 + v2)",
        "C21": "m2*l1*lc2*s2*v1",
        "G1": "-(m1*lc1 + m2*l1)*s1*g - m2*lc2*s12*g",
        "G2": "-m2*lc2*s12*g",
    },
    "prr": {
        "M11": "m1 + m2 + m3",
        "M12": "-(m2*lc2 + m3*l2)*s2 - m3*lc3*s23",
        "M13": "-m3*lc3*s23",
        "M22": "m2*lc2**2 + I2 + m3*(l2**2 + 2*l2*lc3*c3 + lc3**2) + I3",
        "M23": "m3*(lc3**2 + l2*lc3*c3) + I3",
        "M33": "m3*lc3**2 + I3",
        "C12": "-(m2*lc2 + m3*l2)*c2*v2 - m3*lc3*c23*(v2 + v3)",
        "C13": "-m3*lc3*c23*(v2 + v3)",
        "C22": "-m3*l2*lc3*s3*v3",
        "C23": "-m3*l2*lc3*s3*(v2 + v3)",
        "C32": "m3*l2*lc3*s3*v2",
        "G1": "(m1 + m2 + m3)*g",
        "G2": "-(m2*lc2 + m3*l2)*s2*g - m3*lc3*s23*g",
        "G3": "-m3*lc3*s23*g",
    },
}
"""M, C and G of the reference, section 1, and what is left of them without elevator or wrist; v is q̇."""


@pytest.mark.parametrize("arm", REFERENCE)
def test_published_formulas(arm: str) -> None:
    found = Readable(make(arm, (0, 0, -9.81)), ["mass_matrix", "coriolis_matrix", "gravity"])
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


DOWNWARDS = (0.0, 0.0, -9.8)  # [m/s²]
MATRICES = ("mass_matrix", "coriolis_matrix", "gravity")
UNIT = {"r": {"l_{c1}": 0.5}, "pr": {}, "rr": {"l_{c1}": 0.5, "l_{c2}": 0.5}, "prr": {"l_{c2}": 0.5, "l_{c3}": 0.5}}
"""Of the numbers of the reference, section 2, those that are not one; in the PR the point is at the distance d = 1."""

EFFORTS = {
    "r": [("0", "", "", "0"), ("h", "", "", "-4.9"), ("0", "", "1", "1.25"), ("0", "1", "-1", "-1.25")],
    "pr": [("0 0", "", "", "19.6 0"), ("0 h", "", "", "19.6 -9.8"), ("0 h", "", "1 0", "21.6 -10.8")],
    "rr": [
        ("0 0", "", "", "0 0"),
        ("h 0", "", "", "-19.6 -4.9"),
        ("0 h", "", "", "-4.9 -4.9"),
        ("0 h", "1 0", "", "-4.9 -4.4"),
        ("0 h", "", "1 0", "-1.4 -3.65"),
        ("0 0", "1 0", "-1 0", "-4.5 -1.75"),
    ],
    "prr": [
        ("0 0 0", "", "", "29.4 0 0"),
        ("0 h 0", "", "", "29.4 -19.6 -4.9"),
        ("0 h 0", "", "1 0 0", "32.4 -21.6 -5.4"),
        ("0 0 h", "", "", "29.4 -4.9 -4.9"),
        ("0 0 h", "0 1 0", "", "27.9 -4.9 -4.4"),
        ("0 0 h", "", "0 1 0", "28.9 -1.4 -3.65"),
    ],
}
"""Position (h: a quarter turn), velocity, acceleration (nothing: 0) → effort; of the reference, section 2."""


def matrices(arm: str) -> tuple[dict[str, str], dict[str, str]]:
    """M, C and G as they stand in the document: formula of each element, and what the sines and cosines are of."""
    text = export(make(arm, DOWNWARDS), "latex", MATRICES)[f"{arm}.tex"]
    waves = {name: (function, angle) for name, function, angle in WAVE.findall(text)}
    return aligned(text), waves


def filled(elements: dict[str, str], at: dict[str, float], n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """M, C and G with numbers in them."""
    found = {"M": np.zeros((n, n)), "C": np.zeros((n, n)), "G": np.zeros(n)}
    for name, formula in elements.items():
        indices = tuple(int(digit) - 1 for digit in name[3:-1])
        found[name[0]][indices] = evaluated(formula, at)
        if name[0] == "M":
            found["M"][indices[::-1]] = found["M"][indices]
    return found["M"], found["C"], found["G"]


def state(waves: dict[str, tuple[str, str]], q: np.ndarray, qd: np.ndarray) -> dict[str, float]:
    """The value of each coordinate, rate, sine and cosine."""
    at = {f"q_{{{i}}}": x for i, x in enumerate(q, 1)} | {rf"\dot{{q}}_{{{i}}}": x for i, x in enumerate(qd, 1)}
    return at | {name: getattr(np, function)(evaluated(angle, at)) for name, (function, angle) in waves.items()}


@pytest.mark.parametrize("arm", EFFORTS)
def test_published_efforts(arm: str) -> None:
    elements, waves = matrices(arm)
    n = len(arm)
    numbers = {name: 1.0 for formula in elements.values() for name in NAMES.findall(formula)}
    numbers |= UNIT[arm] | {"g": 9.8}
    for row in EFFORTS[arm]:
        q, qd, qdd, tau = (
            np.array([np.pi / 2 if x == "h" else float(x) for x in part.split() or n * "0"]) for part in row
        )
        M, C, G = filled(elements, numbers | state(waves, q, qd), n)
        np.testing.assert_allclose(M @ qdd + C @ qd + G, tau, rtol=0, atol=1e-12)


@pytest.mark.parametrize("arm", REFERENCE)
def test_published_formulas_as_printed(arm: str) -> None:
    """At random states, with numbers that are all different, the document and the reference agree."""
    elements, waves = matrices(arm)
    random = np.random.default_rng(8)
    for _ in range(5):
        q, qd = random.uniform(-3.0, 3.0, (2, len(arm)))
        at = state(waves, q, qd)
        names = {name for formula in elements.values() for name in NAMES.findall(formula)}
        at = {name: random.uniform(0.1, 3.0) for name in sorted(names)} | at
        for name, formula in elements.items():
            theirs = published(REFERENCE[arm][re.sub(r"[_{}]", "", name)])
            assert evaluated(formula, at) == pytest.approx(float(theirs.subs(at)), rel=1e-12, abs=1e-12), name


@pytest.mark.parametrize("arm", ["r", "pr", "rr", "prr", "slide", "waist", "turned", "lesson", "mimic"])
def test_the_document_alone_is_enough(arm: str) -> None:
    """Formulas, sines and numbers as they are printed give the plugin's efforts."""
    dynamics = make(arm)
    text = export(dynamics, "latex", ["inverse"])[f"{dynamics.robot.name}.tex"]
    assert (r"\theta" in text) == (arm in ("waist", "turned", "mimic"))  # an angle that is a position is q
    state = np.random.default_rng(6).uniform(-1.5, 1.5, (3, dynamics.robot.n))
    at = {
        f"{dot}_{{{i + 1}}}": x
        for dot, row in zip(("q", r"\dot{q}", r"\ddot{q}"), state, strict=True)
        for i, x in enumerate(row)
    }
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
