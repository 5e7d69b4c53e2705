# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""``robodyn plan``: what it answers, writes and draws."""

import json
import socket
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose

import robodyn_ros as rd
from robodyn_ros.cli.main import main
from robodyn_ros.planning.plan import Plan

PRR = str(Path(__file__).parents[1] / "urdf" / "prr.urdf")
QUICK = ("--time-limit", "300")


def test_a_plan_is_written_and_drawn(tmp_path, command):
    out, picture = tmp_path / "plan.json", tmp_path / "plan.png"
    args = ["plan", PRR, "--to", "PICK", "--cost", "time+0.1*effort", "--out", str(out), "--plot", str(picture), *QUICK]
    said = command.out(*args)
    assert "solved" in said and "shoulder" in said and "%" in said
    found = Plan.load(out)
    assert found.solved and found.joints == ("elevator", "shoulder", "wrist")
    assert_allclose(found.q[-1], (0.3, -1.83, -0.12), atol=1e-9)
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_no_number_of_the_table_is_broken(tmp_path, command):
    """Long names, and numbers that are all but 0: two tables with a line for each joint, within the terminal."""
    text = Path(PRR).read_text(encoding="utf-8").replace('"shoulder"', '"the_joint_of_the_shoulder_with_a_long_name"')
    (tmp_path / "arm.urdf").write_text(text, encoding="utf-8")
    place = "elevator=1.3e-16,wrist=0.5"
    lines = command.out("plan", tmp_path / "arm.urdf", "--to", place, "--method", "time-scaling").splitlines()
    heads = ["elevator", "the_joint_of_the_shoulder_with_a_long_name", "wrist"]
    rows = [line.split() for line in lines if line.split()[:1] and line.split()[0] in heads]
    assert [row[0] for row in rows] == 2 * heads
    assert rows[0][1:5] == ["0", "m", "0", "m"] and not any("e-" in word or "…" in word for row in rows for word in row)
    assert max(map(len, lines)) <= 80


def test_time_scaling_as_json(command):
    found = command.json("plan", PRR, "--to", "PICK", "--via", "0.12,-0.9,0", "--method", "time-scaling")
    assert found["solved"] and found["method"] == "time-scaling"
    assert max(row["effort_ratio"] for row in found["joints"].values()) == pytest.approx(0.9, rel=1e-2)


def test_json_alone_is_on_stdout_while_a_plan_is_shown(monkeypatch, capsys):
    def interrupted():
        raise KeyboardInterrupt

    page = SimpleNamespace(url="http://here", server=SimpleNamespace(scene=None), stop=lambda: None)
    page.overlay = SimpleNamespace(forget=interrupted)
    monkeypatch.setattr("robodyn_ros.cli.plan.Browser", lambda *_: page)
    monkeypatch.setattr("robodyn_ros.cli.plan.check_free", lambda *_: None)
    assert main(["plan", PRR, "--to", "PICK", "--method", "time-scaling", "--json", "--view", "0"]) == 130
    out, err = capsys.readouterr()
    assert json.loads(out)["solved"] and "http://here" in err


def test_the_tool_somewhere_with_a_payload(command):
    args = ["plan", PRR, "--to-tool", "0.5,0,1.2", "--cost", "time+0.1*effort", "--payload", "1", "--json"]
    ends = {name: row["end"] for name, row in json.loads(command.out(*args, *QUICK))["joints"].items()}
    pose = rd.Kinematics(rd.load_robot(PRR)).pose("tool", [ends[name] for name in ("elevator", "shoulder", "wrist")])
    assert_allclose(pose[:3, 3], (0.5, 0.0, 1.2), atol=1e-5)


def test_an_arm_without_weight_carries_any_payload(capsys):
    weightless = ["--gravity", "0", "0", "0", "--method", "time-scaling"]
    assert main(["plan", PRR, "--to", "PICK", "--payload", "20", *weightless, "--json"]) == 0
    capsys.readouterr()


@pytest.mark.parametrize(
    ("args", "reason"),
    [
        (("--to", "PICK", "--payload", "20"), "effort limit of 'shoulder'"),
        (("--to", "0,0,9"), "position limit of 'wrist'"),
        (("--to-tool", "4,0,0"), "unreachable"),
        (("--to", "PICK", "--obstacles", "{folder}/crate.yaml"), "'crate'"),
    ],
)
def test_what_cannot_be_is_answered_by_no(args, reason, tmp_path, command):
    (tmp_path / "crate.yaml").write_text("crate: {center: [0, 0, 0.6], radius: 0.1}\n")
    out = tmp_path / "refused.json"
    said = command.out("plan", PRR, *(word.format(folder=tmp_path) for word in args), "--out", out, code=1)
    refused = Plan.load(out)
    assert "no such motion" in said and reason in said
    assert not refused.solved and reason in refused.reason and not refused.violation.amount <= 0.0


def effort_rate(path):
    """Greatest change of an effort between two points, in effort limits a second."""
    found, limit = Plan.load(path), rd.load_robot(PRR).effort_limit
    return float((abs(np.diff(found.effort, axis=0)) / np.diff(found.times)[:, None] / limit).max()), found.duration


def test_by_default_efforts_are_smooth_and_a_word_makes_the_motion_the_fastest(tmp_path):
    """The efforts change by less than 10 limits a second, a tenth of what the controller lets pass by default."""
    for name, args in (("smooth", ()), ("fastest", ("--cost", "time"))):
        assert main(["plan", PRR, "--to", "PICK", "--out", str(tmp_path / name), *args, *QUICK]) == 0
    (smooth, longer), (jumping, shortest) = (effort_rate(tmp_path / name) for name in ("smooth", "fastest"))
    assert smooth < 10.0 < 100.0 < jumping
    assert 1.2 * shortest < longer < 2.0 * shortest


def test_a_port_that_is_taken_is_an_error_before_the_search(monkeypatch, command):
    monkeypatch.setattr("robodyn_ros.cli.plan._solve", lambda *_: pytest.fail("the search has begun"))
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert f"cannot listen at 127.0.0.1:{port}" in command.error("plan", PRR, "--to", "PICK", "--view", port)
