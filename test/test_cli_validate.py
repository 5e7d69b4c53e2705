# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""``robodyn validate``: verdict, exit codes, and what it says when it cannot."""

import sys
from argparse import ArgumentParser
from pathlib import Path

import arms
import numpy as np
import pytest

from robodyn_ros.cli import validate
from robodyn_ros.cli.main import main
from robodyn_ros.cli.verb import ExitCode
from robodyn_ros.simulation.plant import mujoco

pytest.importorskip("mujoco", reason="MuJoCo is not installed")

RR = str(Path(__file__).parents[1] / "urdf" / "rr.urdf")
BRIEF = ("--states", "5", "--motions", "1", "--duration", "0.2")


def test_an_arm_that_agrees(command):
    out = command.out("validate", RR, *BRIEF)
    for row in ("mass matrix M", "gravity g", "inverse dynamics τ", "forward dynamics q̈", "motion 1, 0.2 s"):
        assert row in out
    assert out.count("agrees") == 6 and "differs" not in out
    assert "rr agrees with MuJoCo" in out
    assert max(map(len, out.splitlines())) <= 81  # q̈ takes two characters


def test_json(command):
    found = command.json("validate", RR, *BRIEF, "--seed", "4", "--dynamics", "lagrangian")
    assert found["robot"] == "rr" and found["agrees"] is True
    assert found["settings"]["states"] == 5 and found["settings"]["seed"] == 4
    assert [item["agrees"] for item in found["comparisons"]] == [True] * 5
    assert all(0.0 <= item["error"] < 1e-9 for item in found["comparisons"])


def test_an_arm_that_differs(monkeypatch, command):
    """MuJoCo is given half of the gravity."""
    real = mujoco.MuJoCoModel

    def light(dynamics, contact=False):
        model = real(dynamics, contact)
        model.model.opt.gravity[:] *= 0.5
        return model

    monkeypatch.setattr(mujoco, "MuJoCoModel", light)
    out = command.out("validate", RR, *BRIEF, code=1)
    assert "rr differs from MuJoCo" in out
    assert [line.split()[-1] for line in out.splitlines() if "gravity g" in line] == ["differs"]
    assert [line.split()[-1] for line in out.splitlines() if "mass matrix M" in line] == ["agrees"]


def test_rounding_is_not_a_difference_and_a_thousandth_of_a_mass_is(tmp_path, command, monkeypatch):
    """A slender chain, whose rounding errors grew to radians under one record of efforts."""
    axes = [(0, 1, 1), (1, 2, 3), (1, 0, 1), (0, 1, 0), (0, 0, 1), (1, 0, 0)] * 2
    links = [arms.link(f"l{k}", 1.0, (0.1, 0, 0), (0.01, 0, 0, 0.02, 0, 0.02)) for k in range(1, 13)]
    joints = [
        arms.joint(f"j{k}", "continuous", f"l{k - 1}", f"l{k}", axis, (0.3, 0, 0), limit=None)
        for k, axis in enumerate(axes, 1)
    ]
    path = tmp_path / "chain.urdf"
    path.write_text(arms.robot("chain", arms.link("l0"), *links, *joints))
    brief = ("--states", "1", "--motions", "1", "--duration", "0.1")
    command.out("validate", path, *brief)
    real = mujoco.MuJoCoPlant

    def heavy(*args, **options):
        plant = real(*args, **options)
        plant.arm.model.body_mass[-1] *= 1.001
        return plant

    monkeypatch.setattr(mujoco, "MuJoCoPlant", heavy)
    lines = command.out("validate", path, *brief, code=1).splitlines()
    assert [line.split()[-1] for line in lines if "motion 1" in line][-1] == "differs"


def test_without_mujoco(monkeypatch, command):
    monkeypatch.setitem(sys.modules, "mujoco", None)
    assert "MuJoCo is not installed" in command.error("validate", RR)


@pytest.mark.parametrize("ratio", ["1.25", "-0.7"])
def test_joints_that_mimic_others(ratio, tmp_path, command, monkeypatch):
    """Ratios, offsets and a mimic of a mimic; with another ratio in MuJoCo the two differ."""
    text = arms.awkward()["mimic"].replace('multiplier="1.25"', f'multiplier="{ratio}"')
    (tmp_path / "mimic.urdf").write_text(text)
    out = command.out("validate", tmp_path / "mimic.urdf", *BRIEF)
    assert out.count(" agrees") == 5 and "No motions" in out and "right_finger" in out
    real = mujoco.MuJoCoModel

    def uncoupled(dynamics, contact=False):
        model = real(dynamics, contact)
        model._coupling = np.where(model._coupling == 1.0, 1.0, 1.01 * model._coupling)
        return model

    monkeypatch.setattr(mujoco, "MuJoCoModel", uncoupled)
    assert main(["validate", str(tmp_path / "mimic.urdf"), *BRIEF]) == ExitCode.NO


def test_options_are_settings_of_the_comparison():
    parser = ArgumentParser()
    validate.add_arguments(parser)
    given = vars(parser.parse_args([RR]))
    defaults = mujoco.ValidationSettings()
    assert {key: given[key] for key in validate.OPTIONS} == {key: getattr(defaults, key) for key in validate.OPTIONS}
