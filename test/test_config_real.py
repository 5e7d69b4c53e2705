# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""``config/prr_real.yaml``: what it says about the first day on a real arm."""

import csv
from pathlib import Path

import fork_server
import pytest
import yaml

ROOT = Path(__file__).parents[1]
POSE = {"elevator": 1.0, "shoulder": 0.6, "wrist": 0.4}


def lowest(tmp_path: Path) -> float:
    """How far down the elevator gets while the arm is held for four seconds, from brakes that open at once [m]."""
    out = tmp_path / "run.csv"
    start = [word for name, q in POSE.items() for word in ("-p", f"initial_position.{name}:={q}")]
    words = ["simulate", "urdf/prr.urdf", "--params", "config/prr_real.yaml", "--duration", "4", "--out", str(out)]
    fork_server.robodyn(*words, *start, cwd=ROOT).check_returncode()
    with open(out, encoding="utf-8") as file:
        return min(float(row["elevator/position [m]"]) for row in csv.DictReader(file))


def test_the_first_command_carries_the_arm(tmp_path: Path) -> None:
    """As docs/safety.md says under "Switching on"."""
    assert lowest(tmp_path) == pytest.approx(1.0, abs=1e-3)


@pytest.mark.parametrize("file", sorted((ROOT / "config").rglob("*.yaml")), ids=lambda file: file.stem)
def test_a_section_for_any_node_is_the_last(file: Path) -> None:
    """ROS puts ``-p`` into it, and a later section overrides it: ``-p controller:=free_drive`` had no effect."""
    sections = list(yaml.safe_load(file.read_text(encoding="utf-8")))
    assert "/**" not in sections[:-1]
