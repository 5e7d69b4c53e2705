"""``robodyn workspace``: what it writes and says, and how it fails."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from robodyn_ros.cli import main as command

PRR = str(Path(__file__).parents[1] / "urdf" / "prr.urdf")
FEW = ("--samples", "5000", "--cell", "0.1")


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = command.main(["workspace", *arguments])
    out, err = capsys.readouterr()
    return code, out, err


def test_a_picture_and_a_cloud(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib", reason="the extra plot is not installed")
    for name, start in (("map.png", b"\x89PNG"), ("map.ply", b"ply\n")):
        code, out, err = run(capsys, PRR, *FEW, "--out", str(tmp_path / name))
        assert (code, err) == (0, "")
        assert "cells of 0.1 m, manipulability" in out
        assert (tmp_path / name).read_bytes().startswith(start)


def test_where_a_mass_can_be_held(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cloud = str(tmp_path / "map.ply")
    code, out, _ = run(capsys, PRR, *FEW, "--mass", "2", "--out", cloud)
    assert (code, out.splitlines()[1]) == (0, "2 kg can be held in 100% of them")
    code, out, _ = run(capsys, PRR, *FEW, "--mass", "500", "--out", cloud)
    assert (code, out.splitlines()[1]) == (1, "500 kg can be held in 0% of them")
    code, out, _ = run(capsys, PRR, *FEW, "--mass", "500", "--out", cloud, "--json")
    found = json.loads(out)
    assert (code, found["share"], found["link"], found["of"]) == (1, 0.0, "tool", "payload")
    assert 0.0 < found["least"] < found["greatest"] < 500.0 and found["cells"] > 50


def test_a_mass_in_a_picture_of_any_size(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of cells so large that the picture has one of them there is no contour."""
    pytest.importorskip("matplotlib", reason="the extra plot is not installed")
    code, out, err = run(
        capsys, PRR, "--samples", "500", "--cell", "9", "--mass", "2", "--out", str(tmp_path / "a.png")
    )
    assert (code, err) == (0, "")
    assert "can be held" in out


def test_the_tool_is_no_link_that_does_not_move(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = (
        Path(PRR)
        .read_text(encoding="utf-8")
        .replace(
            "</robot>",
            """<link name="camera"/>
        <joint name="to_camera" type="fixed"><parent link="base"/><child link="camera"/></joint></robot>""",
        )
    )
    urdf = tmp_path / "arm.urdf"
    urdf.write_text(text, encoding="utf-8")
    code, out, _ = run(capsys, str(urdf), *FEW, "--out", str(tmp_path / "a.ply"), "--json")
    assert (code, json.loads(out)["link"]) == (0, "tool")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--out", "map.txt"), "must end in"),
        (("--of", "beauty"), "is not one of manipulability, payload"),
        (("--samples", "0"), "must be above 0"),
        (("--link", "finger"), "is not in the robot"),
        (("--plane", "xx"), "two of x, y, z"),
        (("--plane", "xz", "--slice", "-1"), "nowhere within"),
        (("--out", "/nowhere/map.png"), "cannot be written"),
    ],
)
def test_failures(arguments, message, capsys, tmp_path, monkeypatch):
    pytest.importorskip("matplotlib", reason="the extra plot is not installed")
    monkeypatch.chdir(tmp_path)
    code, _, err = run(capsys, PRR, *FEW, *arguments)
    assert code == 2
    assert message in err
    assert "Traceback" not in err
