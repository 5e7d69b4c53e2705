# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""``robodyn derive``: what it writes where, and how it fails."""

from pathlib import Path

import pytest
from arms import random_robot

from robodyn_ros.cli.derive import FORMATS, WRITERS

pytest.importorskip("sympy", reason="a derivation is written with SymPy")
from robodyn_ros.dynamics.symbolic.derivation import STEPS

PRR = str(Path(__file__).parents[1] / "urdf" / "prr.urdf")


def test_some_steps(command):
    _, out, _ = command("derive", PRR, "--of", "gravity, mass_matrix")
    assert [line for line in out.splitlines() if line[:1].isdigit()] == ["1  Mass matrix M", "2  Efforts of gravity G"]


def test_numbers_gravity_and_pose(command):
    _, out, _ = command("derive", PRR, "--numbers", "--of", "gravity", "--gravity", "0", "0", "-1.6")
    assert "G₁ = 32\n" in out
    _, out, _ = command("derive", PRR, "--at", "0.8,0.6,-0.4", "--velocity", "0.3,-1.2,2", "--of", "pose")
    assert "q = (0.8, 0.6, −0.4)" in out
    assert "G = ⎜ −19.64 ⎟" in out


def test_many_joints_are_told_at_once(tmp_path, command):
    arm = tmp_path / "arm.urdf"
    arm.write_text(random_robot(3, joints=7))
    out = command.out("derive", arm)
    assert out.splitlines()[2].startswith("The closed form of this arm would fill pages.")
    assert "Numbers at a pose" in out
    assert "Numbers at a pose" in command("derive", str(arm), "--of", "gravity")[1], "there is nothing else of this arm"


@pytest.mark.parametrize(
    ("kind", "start"), [("text", "Equations"), ("markdown", "# "), ("html", "<!DOC"), ("latex", "\\doc"), ("json", "{")]
)
def test_formats(kind, start, tmp_path, command):
    file = tmp_path / f"arm{FORMATS[kind]}"
    assert command("derive", PRR, "--of", "gravity", "--out", str(file)) == (0, f"{file}\n", "")
    _, out, _ = command("derive", PRR, "--of", "gravity", "--format", kind, "--out", "-")
    assert file.read_text().startswith(start)
    assert out == file.read_text()


def test_pdf_is_a_file_named_after_the_arm(tmp_path, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(WRITERS, "pdf", lambda document: b"%PDF-")
    assert command("derive", PRR, "--of", "gravity", "--format", "pdf") == (0, "prr.pdf\n", "")
    assert (tmp_path / "prr.pdf").read_bytes() == b"%PDF-"


def test_the_help_names_every_step_and_format(command):
    text = " ".join(command("derive", "--help")[1].split())
    assert ", ".join(STEPS) in text
    assert ", ".join(FORMATS) in text
