# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""``robodyn export``: which files it writes, and how it fails."""

import re
import sys
from pathlib import Path

import pytest

PRR = str(Path(__file__).parents[1] / "urdf" / "prr.urdf")


@pytest.mark.parametrize(("kind", "files"), [("c", ["prr.c", "prr.h"]), ("python", ["prr.py"]), ("latex", ["prr.tex"])])
def test_files_are_named_after_the_arm(kind, files, tmp_path, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    code, out, err = command("export", PRR, "--language", kind, "--of", "inverse,gravity")
    assert (code, err) == (0, "")
    assert sorted(out.split()) == files == sorted(path.name for path in tmp_path.iterdir())


def test_out_may_be_a_folder_or_a_file(tmp_path, command):
    for out, name in ((tmp_path, "prr"), (tmp_path / "lift.c", "lift")):
        written = "".join(f"{tmp_path / name}.{kind}\n" for kind in "hc")
        assert command.out("export", PRR, "--language", "c", "--out", out) == written
    assert '#include "lift.h"' in (tmp_path / "lift.c").read_text()


def test_standard_output_takes_header_and_source_as_one(command):
    out = command.out("export", PRR, "--language", "c", "--of", "gravity", "--real", "float", "--out", "-")
    assert re.findall(r"#include .*", out) == ["#include <math.h>"]
    assert out.count("void prr_gravity(const float q[3], float g[3])") == 2


def test_gravity_and_plugin_are_those_asked_for(command):
    arguments = ("--language", "python", "--of", "gravity", "--out", "-")
    _, out, _ = command("export", PRR, *arguments, "--gravity", "1.5", "0", "-3.72", "--dynamics", "lagrangian")
    assert "(1.5, 0, -3.72) m/s^2" in out
    assert "(Lagrangian)" in out
    assert f"{20 * 3.72}" in out


def test_the_step_has_the_model_of_the_parameters(command):
    arguments = (PRR, "--language", "c", "--of", "step", "--out", "-")
    _, out, _ = command("export", *arguments, "-p", "gravity:=[1.5, 0.0, -3.72]")
    assert "(1.5, 0, -3.72) m/s^2" in out
    assert "dynamics plugin 'magic': unknown" in command("export", *arguments, "-p", "dynamics:=magic")[2]
    assert command("export", *arguments, "--gravity", "1.5", "0", "-3.72")[1] == out


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        (["joints:=wrist"], "joints: must be a list of names, not 'wrist'"),
        (["joints:=3"], "joints: must be a list of names, not 3"),
        (["joints:=[wrist]", "locked_joints.shoulder:=up"], "locked_joints.shoulder: must be a number, not 'up'"),
        (["--lock shoulder=0.3", "locked_joints.shoulder:=up"], "locked_joints.shoulder: must be a number, not 'up'"),
    ],
)
def test_joints_are_chosen_by_names_and_locked_at_numbers(given, problem, command):
    options = [text for one in given for text in (one.split() if one.startswith("--") else ("-p", one))]
    assert problem in command("export", PRR, "--language", "c", "--of", "step", "--out", "-", *options)[2]


@pytest.mark.parametrize("kind", [("--language", "c", "--of", "step", "--out", "-"), ("--ros2-control", "lift")])
@pytest.mark.parametrize("value", ["1e6", "1.0e+6", "-3.0"])
def test_limits_are_within_those_of_the_urdf(kind, value, tmp_path, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    code, out, err = command("export", PRR, *kind, "-p", f"velocity_limits.elevator:={value}")
    assert (code, out) == (2, "")
    assert "velocity_limits.elevator: must be within [0" in err


def test_latex_without_sympy_says_what_to_install(monkeypatch, command):
    monkeypatch.setitem(sys.modules, "sympy", None)
    assert "robodyn_ros[symbolic]" in command.error("export", PRR, "--language", "latex", "--out", "-")
