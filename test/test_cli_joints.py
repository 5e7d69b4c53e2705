# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Part of the joints, in every verb: an arm with locked fingers is the arm whose fingers are fixed by hand."""

import re
from pathlib import Path

import arms
import numpy as np
import pytest

from robodyn_ros.cli.main import VERBS

ROOT = Path(__file__).parents[1]
CHOSEN = ["--joints", "elevator,shoulder,wrist", "--lock", "grip=0.07"]
NODE = """/**:
  ros__parameters:
    joints: [elevator, shoulder, wrist]
    locked_joints: {grip: 0.07}
"""
GOAL = "0.3,-1,0.2"


def gripper(*, fixed: bool) -> str:
    """The PRR arm with two fingers, the second of which mimics the first with another ratio."""
    finger = arms.link("finger", 1.5, (0.0, 0.02, 0.1), (2e-3, 1e-4, 0, 3e-3, 0, 1e-3))
    thumb = arms.link("thumb", 1.2, (0.01, -0.02, 0.1), (1e-3, 0, 2e-4, 2e-3, 0, 1.5e-3))
    joints = [
        arms.joint("grip", "fixed", "hand", "finger", None, (0.07, 0, 0.3)),
        arms.joint("grip2", "fixed", "hand", "thumb", None, (-1.3 * 0.07 - 0.01, 0, 0.31)),
    ]
    if not fixed:
        limit = (0.0, 0.2, 0.5, 50)
        follows = '<mimic joint="grip" multiplier="-1.3" offset="-0.01"/>'
        joints = [
            arms.joint("grip", "prismatic", "hand", "finger", (1, 0, 0), (0, 0, 0.3), None, limit),
            arms.joint("grip2", "prismatic", "hand", "thumb", (1, 0, 0), (0, 0, 0.31), None, limit, follows),
        ]
    text = (ROOT / "urdf/prr.urdf").read_text(encoding="utf-8")
    return text.replace("</robot>", "\n".join([finger, thumb, *joints, "</robot>"]))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with both descriptions and a parameter file, that the verbs run in."""
    (tmp_path / "grip.urdf").write_text(gripper(fixed=False), encoding="utf-8")
    (tmp_path / "fixed.urdf").write_text(gripper(fixed=True), encoding="utf-8")
    (tmp_path / "joints.yaml").write_text(NODE, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def numbers(value, name="", ignored=re.compile("time|second|warm|cold|iterations")):
    """Name → number of everything in a document, without what it took."""
    if isinstance(value, dict):
        items = value.items()
    elif isinstance(value, list):
        items = enumerate(value)
    else:
        known = isinstance(value, (int, float)) and not isinstance(value, bool) and not ignored.search(name)
        return {name: float(value)} if known else {}
    return {key: number for part, each in items for key, number in numbers(each, f"{name}/{part}").items()}


@pytest.fixture
def said(command):
    """The numbers that a command line prints as JSON."""
    return lambda *arguments: numbers(command.json(*arguments))


def same(found, expected, tolerance=1e-6):
    assert found.keys() == expected.keys()
    assert len(found) > 2
    for name, number in expected.items():
        assert np.isclose(found[name], number, rtol=tolerance, atol=1e-7), name


FILE = ["--params", "joints.yaml"]


@pytest.mark.parametrize(
    ("verb", "chosen", "case"),
    [
        ("simulate", FILE, ["--to", GOAL]),
        ("compare", FILE, ["--controller", "computed_torque"]),
        ("plan", CHOSEN, ["--to", GOAL, "--method", "time-scaling"]),
        ("workspace", CHOSEN, ["--samples", "4000", "--of", "payload", "--plane", "xz", "--cell", "0.1"]),
    ],
)
def test_a_verb_locks_the_joints_that_are_not_chosen(verb, chosen, case, folder, said):
    """By options or by the file of a node."""
    same(said(verb, "grip.urdf", *chosen, *case), said(verb, "fixed.urdf", *case))


def test_check_holds_and_orders_the_chosen_joints(folder, command):
    loads = []
    for arguments in (["fixed.urdf"], ["grip.urdf", *CHOSEN]):
        found = command.json("check", *arguments, code=None)
        assert found["order"] == ["elevator", "shoulder", "wrist"]
        loads.append(numbers(found["loads"]))
    same(loads[1], loads[0])


STUDY = """
arm: {arm}
controllers: [computed_torque]
controller: {{{controller} effort_limits.wrist: 30.0}}
simulator: {{{simulator} state_rate: 250.0}}
motion: {{to: [[0.3, -1.0, 0.2]], duration: 1.0, rest: 0.2}}
vary: {{simulator.mismatch.payload_mass: {{uniform: [0.0, 1.5]}}}}
sampling: {{method: sobol, cases: 4, seed: 3}}
specification:
  peak_error: {{elevator: 0.03, shoulder: 0.06, wrist: 0.12}}
tune: {{natural_frequency: [5.0, 20.0]}}
"""


@pytest.mark.parametrize("verb", ["sweep", "tune"])
@pytest.mark.parametrize("where", ["line", pytest.param("study", marks=pytest.mark.thorough)])
def test_a_study_is_of_the_chosen_joints(verb, where, folder, command):
    """By the options, and by its own list of joints, which the parameters of the nodes may have as well."""
    few = "population: 2, generations: 1, cases: 2, unseen: 2}"
    whole, of_line, locked = STUDY.replace("20.0]}}", f"20.0], {few}}}"), CHOSEN, ""
    if where == "study":
        whole, of_line, locked = whole + "joints: [elevator, shoulder, wrist]\n", [], "locked_joints.grip: 0.07,"
    (folder / "grip.yaml").write_text(whole.format(arm="grip.urdf", controller="", simulator=locked), encoding="utf-8")
    (folder / "fixed.yaml").write_text(whole.format(arm="fixed.urdf", controller="", simulator=""), encoding="utf-8")
    more = ["--workers", "0", *(["--no-report"] if verb == "sweep" else [])]
    found = []
    for arm, chosen in (("fixed", []), ("grip", of_line)):
        out = arm if verb == "sweep" else f"{arm}-tuned.yaml"
        found.append(numbers(command.json(verb, f"{arm}.yaml", *chosen, "--out", out, *more, code=None)))
    same(found[1], found[0])


NEEDED = {
    "plan": ["--to", GOAL],
    "export": ["--language", "c", "--out", "-"],
    "identify": ["recording.csv"],
    "contact": ["recording.csv"],
}
"""Verb → what it needs besides the arm."""

ARM_VERBS = [verb for verb in VERBS if verb not in ("demo", "plugins", "completion")]


@pytest.mark.parametrize("verb", ARM_VERBS)
def test_a_joint_that_does_not_exist_is_refused_by_name(verb, folder, command):
    """In every verb that reads an arm, those of ``docs/how-to/own-arm.md``."""
    (folder / "study.yaml").write_text(STUDY.format(arm="grip.urdf", controller="", simulator=""), encoding="utf-8")
    read = "study.yaml" if verb in ("sweep", "tune") else "grip.urdf"
    assert "error: --joints: 'elbow' is not in the robot" in command.error(
        verb, read, "--joints", "elevator,elbow", *NEEDED.get(verb, [])
    )
