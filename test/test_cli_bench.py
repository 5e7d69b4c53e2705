"""``robodyn bench``: every figure is there, and is a time that was measured."""

from __future__ import annotations

import json
import sys

import pytest

from robodyn_ros.assets import find
from robodyn_ros.cli.main import main

ARM = str(find("urdf/prr.urdf"))


def test_json_has_every_figure(capsys):
    assert main(["bench", ARM, "--rounds", "1", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["robot"], found["joints"], found["dynamics"]) == ("prr", 3, "rnea")
    for quantity in ("inverse", "forward", "mass_matrix", "gravity"):
        times = found["calls"][quantity]  # which of them is less, `make bench` shows: this machine may be busy
        assert times["in place"] > 0.0 and times["plain"] > 0.0
    assert found["batch"]["ours"] > 100.0  # 100,000 states in 100 µs would be a lie
    assert found["rollout"]["ours"] > 0.0 and found["rollout"]["Python on ours"] > 0.0
    assert all(0.0 < found["first"][key] < 60.0 for key in ("import", "cold", "warm"))


def test_the_table_fits_a_terminal_and_names_who_is_there(capsys):
    pytest.importorskip("pinocchio", reason="Pinocchio (pip install pin) is not installed")
    assert main(["bench", ARM, "--rounds", "1", "--dynamics", "lagrangian"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    assert "Pinocchio" in lines[2] and "lagrangian" in lines[0]


def test_nobody_else_needs_to_be_installed(capsys, monkeypatch):
    for name in ("pinocchio", "mujoco", "roboticstoolbox"):
        monkeypatch.setitem(sys.modules, name, None)
    assert main(["bench", ARM, "--rounds", "1", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert set(found["calls"]["inverse"]) == {"in place", "plain"}
    assert set(found["batch"]) == {"ours"}


@pytest.mark.parametrize(
    ("arguments", "said"), [(["--rounds", "0"], "--rounds"), (["--dynamics", "rrnea"], "available: lagrangian, rnea")]
)
def test_a_mistake_is_named(capsys, arguments, said):
    assert main(["bench", ARM, *arguments]) == 2
    assert said in capsys.readouterr().err
