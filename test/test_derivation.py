# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Every formula of a derivation, as it is printed, against Pinocchio, the plugin and finite differences."""

import re
import sys
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pytest
from arms import OURS, awkward, lesson_arm, mechanism, random_robot
from formulas import WAVE, evaluated
from industrial import urdfs
from scipy.spatial.transform import Rotation
from test_export_latex import waist
from truth import Pinocchio

import robodyn_ros as rd
from robodyn_ros.document.blocks import Document, EquationBlock, MatrixBlock, Section, TableBlock, TextBlock
from robodyn_ros.document.text import text_lines, width
from robodyn_ros.dynamics.symbolic.derivation import STEPS, derive
from robodyn_ros.dynamics.symbolic.general_steps import general_sections
from robodyn_ros.dynamics.symbolic.symbols import labels
from robodyn_ros.kinematics.tree import build_tree

GRAVITY = (0.4, -1.3, -9.6)  # [m/s²], along no axis
CLOSED = {name: OURS[name] for name in ("r", "pr", "rr", "prr")} | {
    "lesson": lesson_arm(),
    "slide": mechanism("RPR", coms=(0.3, 0.2, 0.15)),
    "waist": waist(0.3),
    "tilted": awkward()["tilted"],
    "mimic": awkward()["mimic"],
}
WITH_NUMBERS = ("prr", "lesson", "waist")
LONG = {"branched": awkward()["branched"], "random": random_robot(5, joints=6)} | {
    name: str(path) for name, path in urdfs().items() if name == "ur5_robot"
}


@cache
def dynamics(arm: str) -> rd.Dynamics:
    return rd.create_dynamics("rnea", rd.load_robot((CLOSED | LONG)[arm]), gravity=GRAVITY, compiled=False)


@cache
def derived(arm: str, numbers: bool = False) -> Document:
    return derive(dynamics(arm), numbers=numbers)


def section_of(document: Document, name: str) -> Section:
    (found,) = (section for section in document.sections if section.name == name)
    return found


def parts(section: Section, kind: type) -> list[Any]:
    """The blocks of a section that are of a kind."""
    return [block for block in section.blocks if isinstance(block, kind)]


def cells(document: Document) -> dict[str, float]:
    """Every letter of the legend."""
    tables = parts(section_of(document, "arm"), TableBlock)
    rows = [row for block in tables if block.heads[1] == "value" for row in block.rows]
    return {letter.strip("$"): evaluated(number.strip("$").replace("-", "- "), {}) for letter, number, *_ in rows}


def state(document: Document, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> dict[str, float]:
    """Every symbol's value, by what the document says of it."""
    at = cells(document)
    for name, values in (("q", q), (r"\dot{q}", qd), (r"\ddot{q}", qdd)):
        at |= {f"{name}_{{{i}}}": x for i, x in enumerate(values, 1)}
    said = " ".join(block.text for block in parts(document.sections[0], TextBlock))
    for name, formula in re.findall(r"\$(\\theta_\{[^}]*\}) = ([^$]*)\$", said):
        at[name] = evaluated(formula, at)
    return at | {name: getattr(np, function)(evaluated(angle, at)) for name, function, angle in WAVE.findall(said)}


def results(document: Document, step: str, at: dict[str, float]) -> dict[str, float | np.ndarray]:
    """Left side → value of what a step arrives at; before that every step but the first gives its principle."""
    blocks = parts(section_of(document, step), EquationBlock)
    found: dict[str, float | np.ndarray] = {}
    for equation in (equation for block in blocks[step != "frames" :] for equation in block.equations):
        if isinstance(equation, MatrixBlock):
            found[equation.name] = np.array([[evaluated(cell, at) for cell in row] for row in equation.rows])
        else:
            found[equation.name] = evaluated(" ".join(equation.terms), at)
    return found


def matrix(found: dict[str, float | np.ndarray], name: str, shape: tuple[int, int]) -> np.ndarray:
    """A matrix that is printed as one, or element by element without those that are zero."""
    if isinstance(whole := found.get(name), np.ndarray):
        return whole
    made = np.zeros(shape)
    for place in np.ndindex(shape):
        index = "".join(str(i + 1) for i in (place[:1] if shape[1] == 1 and "{{" not in name else place))
        made[place] = found.get(name.format(index) if "{{" in name else f"({name})_{{{index}}}", 0.0)
    return made


def base(document: Document) -> np.ndarray:
    """The axes that positions are given in."""
    given = re.search(r"yaw \((.*?)\) against", section_of(document, "frames").blocks[0].text)
    return turned(*row_of(given.group(1))) if given else np.eye(3)


class Truth:
    """What Pinocchio says of one state of an arm."""

    def __init__(self, arm: rd.Dynamics, q: np.ndarray, qd: np.ndarray) -> None:
        self.robot, self.q, self.qd = arm.robot, q, qd
        self.pinocchio = truth = Pinocchio(arm.robot, GRAVITY)
        self.bodies = []
        for body in arm.robot.bodies:
            inertia = truth.model.inertias[truth.model.getJointId(body.joint.name)]
            pose, jacobian = truth.pose(body.name, q), truth.jacobian(body.name, q)
            turn, arm_to_centre = pose[:3, :3], pose[:3, :3] @ inertia.lever
            moving = jacobian[:3] + np.cross(jacobian[3:], arm_to_centre, axisa=0, axisb=0, axisc=0)
            rotated = turn @ inertia.inertia @ turn.T
            self.bodies.append((pose[:3, 3] + arm_to_centre, moving, jacobian[3:], inertia.mass, rotated))


SAMPLES = [pytest.param(arm, False, id=arm) for arm in CLOSED]
SAMPLES += [pytest.param(arm, True, id=f"{arm}-numbers") for arm in WITH_NUMBERS]


@pytest.mark.parametrize(("arm", "numbers"), SAMPLES)
def test_every_step(arm: str, numbers: bool) -> None:
    document, plugin = derived(arm, numbers), dynamics(arm)
    robot, n = plugin.robot, plugin.robot.n
    q, qd, qdd = np.random.default_rng(5).uniform(-1.5, 1.5, (3, n))
    at = state(document, q, qd, qdd)
    assert [section.name for section in document.sections] == list(STEPS[:-1])
    assert all(value > 0.0 for name, value in at.items() if re.fullmatch(r"l_\{c?\d+\}", name))  # without an axis
    steps = {step: results(document, step, at) for step in STEPS[1:-1]}
    truth = Truth(plugin, q, qd)
    tree = zip(labels(build_tree(robot)), truth.bodies, strict=True)
    digits = 1e-10 if cells(document) else 2e-5  # numbers stand in formulas with six digits

    def near(found: object, expected: object, what: str) -> None:
        bound = digits * max(1.0, float(np.abs(expected).max(initial=0.0)))
        np.testing.assert_allclose(found, expected, rtol=0, atol=bound, err_msg=what)

    axes = base(document)
    for label, (centre, moving, turning, mass, inertia) in tree:
        rotation = matrix(steps["frames"], f"R_{{{label}}}", (3, 3))
        near(rotation @ rotation.T, np.eye(3), "R")
        near(matrix(steps["com"], f"p_{{c{label}}}", (3, 1))[:, 0], axes.T @ centre, "com")
        near(matrix(steps["jacobians"], f"J_{{v{label}}}", (3, n)), axes.T @ moving, "Jv")
        near(rotation @ matrix(steps["jacobians"], rf"J_{{\omega {label}}}", (3, n)), axes.T @ turning, "Jω")
        v, w = moving @ qd, turning @ qd
        near(steps["kinetic"][f"v_{{{label}}}^{{2}}"], v @ v, "v²")
        near(steps["kinetic"][f"K_{{{label}}}"], 0.5 * mass * v @ v + 0.5 * w @ inertia @ w, "K of a body")
        near(steps["potential"][f"P_{{{label}}}"], -mass * np.dot(GRAVITY, centre), "P of a body")
    kinetic, potential = truth.pinocchio.energy(q, qd)
    near(steps["kinetic"]["K"], kinetic, "K")
    near(steps["potential"]["P"], potential, "P")
    near(steps["lagrangian"]["L"], kinetic - potential, "L")
    M = matrix(steps["mass_matrix"], "M_{{{}}}", (n, n))
    near(np.triu(M) + np.triu(M, 1).T, truth.pinocchio.mass_matrix(q), "M")
    near(matrix(steps["coriolis"], "C_{{{}}}", (n, n)), plugin.coriolis_matrix(q, qd), "C")
    near([steps["gravity"][f"G_{{{i + 1}}}"] for i in range(n)], truth.pinocchio.inverse(q, 0 * q, 0 * q), "G")
    efforts = [steps["equations"][rf"\tau_{{{i + 1}}}"] for i in range(n)]
    near(efforts, truth.pinocchio.inverse(q, qd, qdd), "τ")

    h = 1e-6
    slopes = [(plugin.mass_matrix(q + h * e) - plugin.mass_matrix(q - h * e)) / (2 * h) for e in np.eye(n)]
    by = np.array(slopes).transpose(1, 2, 0)
    christoffel = 0.5 * (by + by.transpose(0, 2, 1) - by.transpose(2, 0, 1))
    digits = max(digits, 1e-8)
    for i, j, k in product(range(n), repeat=3):
        name = rf"\frac{{\partial M_{{{i + 1}{j + 1}}}}}{{\partial q_{{{k + 1}}}}}"
        if i <= j:
            near(steps["coriolis"].get(name, 0.0), by[i, j, k], name)
        if j <= k:
            name = f"c_{{{i + 1}{j + 1}{k + 1}}}"
            near(steps["coriolis"].get(name, 0.0), christoffel[i, j, k], name)


@pytest.mark.parametrize("arm", ["prr", "tilted"])
def test_a_terminal_of_80_columns_is_enough(arm: str) -> None:
    for line in text_lines(derived(arm)):
        assert width(line.text) <= 80, line.text


def row_of(text: str) -> list[float]:
    """The numbers of a cell."""
    return [evaluated(part.strip().strip("$").replace("-", "- "), {}) for part in text.split(",")]


def turned(roll: float, pitch: float, yaw: float) -> np.ndarray:
    return Rotation.from_euler("xyz", (roll, pitch, yaw)).as_matrix()


@pytest.mark.parametrize("arm", LONG)
def test_the_constants_of_a_long_arm_are_enough(arm: str) -> None:
    """From the tables alone, by the general formulas, come Pinocchio's centres of mass, Jacobians and M."""
    document, plugin = derived(arm), dynamics(arm)
    assert "would fill pages" in document.blocks[0].text
    assert [section.name for section in document.sections] == list(STEPS)
    (frames,), (bodies,) = (parts(section_of(document, name), TableBlock) for name in ("frames", "com"))
    n = plugin.robot.n
    q, qd = np.random.default_rng(7).uniform(-1.5, 1.5, (2, n))
    truth = Truth(plugin, q, qd)
    placed = {"root": (np.eye(3), np.zeros(3), [])}
    found = np.zeros((n, n))
    constants = {label: row for label, *row in bodies.rows}
    for label, before, offset, angles, motion in frames.rows:
        rotation, position, joints = placed[before]
        position = position + rotation @ row_of(offset)
        rotation = rotation @ turned(*row_of(angles))
        if label != "base":
            kind, formula = motion.strip("$").split(" = ")
            by = int(re.search(r"q_\{(\d+)\}", formula).group(1)) - 1
            amount = evaluated(formula, {f"q_{{{i}}}": x for i, x in enumerate(q, 1)})
            if kind == "s":
                position = position + amount * rotation[:, 2]
            else:
                rotation = rotation @ turned(0.0, 0.0, amount)
            joints = [*joints, (by, kind, rotation[:, 2], position)]
        placed[label] = rotation, position, joints
        if label == "base":
            continue
        mass, com, moments = (row_of(cell) for cell in constants[label])
        centre = position + rotation @ com
        moving, turning = np.zeros((3, n)), np.zeros((3, n))
        for by, kind, axis, origin in joints:
            moving[:, by] += axis if kind == "s" else np.cross(axis, centre - origin)
            turning[:, by] += 0.0 if kind == "s" else rotation.T @ axis
        xx, yy, zz, xy, xz, yz = moments
        inertia = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        found += mass[0] * moving.T @ moving + turning.T @ inertia @ turning
        expected = truth.bodies[[*constants].index(label)]
        np.testing.assert_allclose(centre, expected[0], atol=2e-3)
        np.testing.assert_allclose(moving, expected[1], atol=2e-3)
    M = truth.pinocchio.mass_matrix(q)
    np.testing.assert_allclose(found, M, rtol=0, atol=2e-3 * np.abs(M).max())


def test_the_jacobians_of_a_long_arm_tell_of_joints_that_mimic_another() -> None:
    """Column j has a part for each joint that moves with qⱼ, times its ratio."""
    for arm, said in (("mimic", True), ("branched", False)):
        (step,) = (each for each in general_sections(dynamics(arm)) if each.name == "jacobians")
        assert any("added to column $j$" in block.text for block in parts(step, TextBlock)) == said


@pytest.mark.parametrize("arm", ["prr", "branched"])
def test_numbers_at_a_pose(arm: str) -> None:
    plugin = dynamics(arm)
    q, qd = np.random.default_rng(9).uniform(-1.0, 1.0, (2, plugin.robot.n))
    document = derive(plugin, ["pose"], q=q, qd=qd)
    (section,) = document.sections
    truth = Truth(plugin, q, qd)
    found = {row.name: row for block in parts(section, EquationBlock) for row in block.equations}

    def numbers(name: str) -> np.ndarray:
        return np.array([[evaluated(cell.replace("-", "- "), {}) for cell in row] for row in found[name].rows])

    matrices = {
        "M": truth.pinocchio.mass_matrix(q),
        "C": plugin.coriolis_matrix(q, qd),
        r"C \dot{q}": (truth.pinocchio.inverse(q, qd, 0 * q) - truth.pinocchio.inverse(q, 0 * q, 0 * q))[:, None],
        "G": truth.pinocchio.inverse(q, 0 * q, 0 * q)[:, None],
        "J_v": truth.bodies[-1][1],
    }
    for name, expected in matrices.items():
        np.testing.assert_allclose(numbers(name), expected, rtol=1e-3, atol=1e-8)
    energies = [evaluated(" ".join(found[name].terms), {}) for name in ("K", "P")]
    np.testing.assert_allclose(energies, truth.pinocchio.energy(q, qd), rtol=1e-3, atol=1e-8)
    (table,) = parts(section, TableBlock)
    for (_, *place), (centre, *_) in zip(table.rows, truth.bodies, strict=True):
        np.testing.assert_allclose([row_of(cell)[0] for cell in place], centre, rtol=1e-3, atol=1e-8)


def test_a_payload_is_in_the_centres_of_mass_at_a_pose() -> None:
    robot = rd.load_robot(CLOSED["r"])
    payload = rd.Payload(robot.bodies[0].name, 1.7, (0.2, 0.3, -0.4))
    plugin = rd.create_dynamics("rnea", robot, gravity=GRAVITY, compiled=False, payload=payload)
    (section,) = derive(plugin, ["pose"], q=[0.6]).sections
    (table,) = parts(section, TableBlock)
    centre = [row_of(cell)[0] for cell in table.rows[0][1:]]
    np.testing.assert_allclose(centre, plugin.center_of_mass([0.6]), rtol=1e-3, atol=1e-8)


def test_rotors_and_friction_are_in_it() -> None:
    more = {"armature": [0.1, 0.2, 0.3], "viscous": [0.4, 0.5, 0.6], "coulomb": [0.7, 0.8, 0.9]}
    plugin = rd.create_dynamics("rnea", rd.load_robot(CLOSED["prr"]), gravity=GRAVITY, compiled=False, **more)
    document = derive(plugin)
    q, qd, qdd = np.random.default_rng(3).uniform(-1.5, 1.5, (3, 3))
    at = state(document, q, qd, qdd)
    at |= {rf"\operatorname{{sgn}}\dot{{q}}_{{{i}}}": x for i, x in enumerate(np.sign(qd), 1)}
    efforts = list(results(document, "equations", at).values())
    np.testing.assert_allclose(efforts, plugin.inverse(q, qd, qdd), rtol=1e-10)
    assert results(document, "kinetic", at)["K"] == pytest.approx(plugin.energy(q, qd).kinetic, rel=1e-10)
    general = parts(section_of(document, "mass_matrix"), EquationBlock)[0].equations[0]
    assert (general.name, general.terms[1:]) == ("M", (r"+ \operatorname{diag}(J_i)",))
    said = [block.text for section in document.sections for block in parts(section, TextBlock)]
    assert any("rotors" in text for text in said)
    assert any("Coulomb" in text for text in said)


def test_the_joints_are_listed_from_the_first_on() -> None:
    document = derive(rd.create_dynamics("rnea", rd.load_robot(CLOSED["prr"]), compiled=False))
    tables = [block for section in document.sections for block in parts(section, TableBlock)]
    (table,) = (block for block in tables if block.heads[:2] == ("joint", "name"))
    assert [row[0] for row in table.rows] == ["1", "2", "3"]
    units = [r"$q_{1}$ [m], $\tau_{1}$ [N]", r"$q_{2}$ [rad], $\tau_{2}$ [N·m]"]
    assert [row[3] for row in table.rows[:2]] == units


def test_an_arm_at_home_has_numbers_where_formulas_would_be_too_long() -> None:
    (section,) = derive(dynamics("branched"), ["pose"]).sections
    assert "(0, 0, 0, 0)" in section.blocks[0].text


def test_steps_can_be_picked_and_their_letters_stay() -> None:
    whole = {section.name: section for section in derived("prr").sections}
    some = derive(dynamics("prr"), ["gravity", "mass_matrix"]).sections
    assert [section.name for section in some] == ["mass_matrix", "gravity"]
    angles = some[1].blocks[-1]
    assert r"$s_{2} = \sin q_{2}$" in angles.text
    assert list(some) == [whole["mass_matrix"], whole["gravity"].extended([angles])]


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"steps": ["masses"]}, "step: must be one of arm, frames"),
        ({"q": [0.0, 0.0]}, "q"),
        ({"q": [0.0, np.nan, 0.0]}, "q"),
        ({"qd": [0.0] * 4}, "qd"),
    ],
)
def test_wrong_arguments(options: dict, problem: str) -> None:
    with pytest.raises(rd.InputError, match=problem):
        derive(dynamics("prr"), **options)


def test_what_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(rd.ConfigurationError, match="computes numbers only"):
        derive(object())  # type: ignore[arg-type]
    monkeypatch.setitem(sys.modules, "sympy", None)
    with pytest.raises(rd.ConfigurationError, match=r"robodyn_ros\[symbolic\]"):
        derive(dynamics("prr"))
