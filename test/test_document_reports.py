# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""What comes from a file or a user stays text in every report and every format."""

import xml.sax.saxutils
from typing import Any

import numpy as np
import pytest
from arms import mechanism
from identified import made_up
from test_document import Texts

import robodyn_ros as rd
from robodyn_ros.control.commissioning.findings import CommissioningOutcome, GravityStep, JointFindings
from robodyn_ros.control.commissioning.findings import report as commissioning_report
from robodyn_ros.document.blocks import Document, literal_table
from robodyn_ros.document.html import html
from robodyn_ros.document.latex import markdown, tex
from robodyn_ros.document.text import text
from robodyn_ros.identification.report import report as identification_report
from robodyn_ros.simulation.sweeps.report import draw
from robodyn_ros.simulation.sweeps.report import report as sweep_report
from robodyn_ros.simulation.sweeps.study import Distribution, Study
from robodyn_ros.simulation.sweeps.summary import Bound, Sensitivity, Summary

HOSTILE = r"<script>alert('&amp;')</script> a|b_c_d $x$ $\frac{1}$ ![e](f)"


def commissioning() -> Document:
    joint = JointFindings(HOSTILE, "N·m", 10.0, pushed=True, moved=True, follows=True, friction=0.2)
    other = JointFindings("elbow", "N·m", 10.0, pushed=True, instead=HOSTILE)
    gravity = [GravityStep(0.5, 0.01, HOSTILE)]
    return commissioning_report(CommissioningOutcome(HOSTILE, [joint, other], gravity, stopped=HOSTILE))


def identification() -> Document:
    safe = mechanism("RR", (1.3, 0.7), (0.8, 0.6), (0.35, 0.2), (0.11, 0.04))
    quoted = xml.sax.saxutils.escape(HOSTILE)
    robot = rd.load_robot(safe.replace('"joint1"', f'"{quoted}"').replace('"RR"', f'"{quoted}"'))
    assert HOSTILE in robot.joint_names
    return identification_report(*made_up(robot, HOSTILE))


def sweep() -> Document:
    study = Study(HOSTILE, "", (HOSTILE,), vary={HOSTILE: Distribution("uniform", (0.0, 1.0))})
    bounds = (Bound("peak_error", HOSTILE, 0.1, 3, (0.0, 0.1, 0.2, 0.5)),)
    indices = {HOSTILE: {HOSTILE: Sensitivity(0.1, 0.2)}}
    summary = Summary(HOSTILE, 4, 3, 0.2, 0.9, {HOSTILE: 1}, np.ones(3), bounds, ((1, 0.1, HOSTILE),), indices, 3)
    return sweep_report(study, [summary], b"\x89PNG")


REPORTS = {"commissioning": commissioning, "identification": identification, "sweep": sweep}


@pytest.mark.parametrize("report", REPORTS)
def test_a_hostile_name_stays_text(report: str) -> None:
    document = REPORTS[report]()
    page = html(document)
    shown = Texts(page)
    assert not shown.tags & {"script", "math", "s", "em"}
    assert sum(part.count(HOSTILE) for part in shown.shown) >= 6
    assert HOSTILE.split()[0] in text(document)
    latex = tex(document)
    body = latex[latex.index(r"\section*") :]
    assert r"\$x\$ \$\textbackslash{}frac\{1\}\$ ![e](f)" in body
    assert "<script" not in body and r"\frac" not in body
    written = markdown(document)
    assert r"\<script\>alert('\&amp;')\</script\> a\|b\_c\_d \$x\$ \$\\frac\{1\}\$ ![e\](f)" in written
    cells = [line.replace(r"\|", "").count("|") for line in written.splitlines() if line.startswith("| ")]
    heads = [line.count("|") for line in written.splitlines() if line.startswith("| ---")]
    assert set(cells) == set(heads)  # no name adds a cell


def test_the_pictures_take_a_name_for_no_formula_and_are_the_same_again(tmp_path: Any) -> None:
    study = Study(HOSTILE, "", (HOSTILE,))
    summary = Summary(HOSTILE, 4, 3, 0.2, 0.9, {}, np.ones(3), (), (), {}, 3)
    for name in ("report.png", "one.svg", "other.svg"):
        draw(tmp_path / name, study, [summary])
    svg = (tmp_path / "one.svg").read_bytes()
    assert svg == (tmp_path / "other.svg").read_bytes() and b"date>" not in svg


def test_a_sweep_says_what_the_numbers_of_a_distribution_are() -> None:
    vary = {
        "arm.hand.mass": Distribution("normal", (6.0, 0.2)),
        "simulator.state_delay": Distribution("choice", (0.0, 0.002)),
        "controller.controller": Distribution("choice", ("pd", "mpc{}")),
    }
    page = html(sweep_report(Study("study", "", ("pd",), vary=vary), [], b""))
    for told in ("normal, mean 6, standard deviation 0.2", "one of 0, 0.002", "one of pd, mpc{}"):
        assert f">{told}<" in page


def test_a_column_of_prose_keeps_room_for_words_on_a_phone() -> None:
    page = html(Document("t", (literal_table(("a", "b"), [("x", 46 * "y"), ("x", "z")]),), ()))
    assert page.count('<td class="prose">') == 2


def test_a_commissioning_tells_units_by_joint() -> None:
    joints = [
        JointFindings("lift", "N", 600.0, pushed=True, moved=True, follows=True, friction=2.0, seen=True),
        JointFindings("wrist", "N·m", 36.0, pushed=True, moved=True, follows=True, friction=0.2, seen=True),
    ]
    gravity = [GravityStep(0.5, 0.01, "lift"), GravityStep(1.0, 0.02, "wrist")]
    page = markdown(commissioning_report(CommissioningOutcome("arm", joints, gravity)))
    assert "| 50% | 10 mm/s | lift |" in page
    assert "| 100% | 20 mrad/s | wrist |" in page
    assert "lift 2 N, wrist 0.2 N·m." in page
    for joint in joints:
        joint.moved = False
    wrong = markdown(commissioning_report(CommissioningOutcome("arm", joints)))
    assert "Not ready: lift and wrist are not right." in wrong
