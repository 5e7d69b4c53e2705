# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""``robodyn workspace``: what it writes and says, and how it fails."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from arms import joint, link, robot

from robodyn_ros.cli.workspace import _cell, _widest
from robodyn_ros.view.workspace_map import _contours, _figure

PRR = str(Path(__file__).parents[1] / "urdf" / "prr.urdf")
FEW = ("--samples", "5000", "--cell", "0.1")


def test_a_picture_and_a_cloud(tmp_path, command):
    files = {"--plot": (tmp_path / "new/map.png", b"\x89PNG"), "--out": (tmp_path / "new/map.ply", b"ply\n")}
    code, out, err = command("workspace", PRR, *FEW, *(word for option in files for word in (option, files[option][0])))
    assert (code, err) == (0, "")
    assert "map.png and " in out and "map.ply: " in out and "cells of 0.1 m, manipulability" in out
    for path, start in files.values():
        assert path.read_bytes().startswith(start)


def test_where_a_mass_can_be_held(tmp_path, command):
    line = ("workspace", PRR, *FEW, "--out", tmp_path / "map.ply", "--payload")
    first, second, *_ = command.out(*line, "2").splitlines()
    assert re.search(r"cells of \S+ m, payload \S+ to \S+ kg$", first)
    assert second == "2 kg can be held in 100% of them"
    assert command.out(*line, "500", code=1).splitlines()[1] == "500 kg can be held in 0% of them"
    found = command.json(*line, "500", code=1)
    assert (found["ratio"], found["link"], found["of"]) == (0.0, "tool", "payload")
    assert 0.0 < found["least"] < found["greatest"] < 500.0 and found["cells"] > 50
    assert 0.0 < command.json(*line, repr(found["greatest"]))["ratio"] < 0.3  # some cell has just that


def test_a_mass_in_a_picture_of_any_size(tmp_path, command):
    """Of cells so large that the picture has one of them there is no contour."""
    line = ("workspace", PRR, "--samples", "500", "--cell", "9", "--payload", "2")
    assert "can be held" in command.out(*line, "--plot", tmp_path / "a.png")


def test_an_arm_without_limits_of_effort_holds_any_mass_everywhere(tmp_path, command):
    from matplotlib.image import imread

    arm, picture = tmp_path / "arm.urdf", tmp_path / "map.png"
    arm.write_text(re.sub(r' effort="[^"]*"', "", Path(PRR).read_text("utf-8")))
    code, _, err = command("workspace", str(arm), *FEW, "--payload", "2", "--plot", str(picture))
    assert (code, err) == (0, "")
    found = imread(picture)[..., :3]
    assert (np.abs(found - [0.992, 0.906, 0.145]) < 0.01).all(axis=-1).mean() > 0.2  # the top of the scale


def test_the_tool_is_no_link_that_does_not_move(tmp_path, command):
    camera = link("camera") + joint("to_camera", "fixed", "base", "camera", None, limit=None)
    urdf = tmp_path / "arm.urdf"
    urdf.write_text(Path(PRR).read_text(encoding="utf-8").replace("</robot>", f"{camera}</robot>"), encoding="utf-8")
    assert command.json("workspace", urdf, *FEW, "--out", tmp_path / "a.ply")["link"] == "tool"


def arm_in_space() -> str:
    """Three joints that leave every plane, with a tool that hangs at a fixed joint."""
    limit = (-2.0, 2.0, 2.0, 60.0)
    return robot(
        "spatial",
        link("base"),
        link("a", 2.0, (0, 0.05, 0.2), (0.02, 0, 0, 0.02, 0, 0.01)),
        link("b", 1.5, (0.1, 0, 0.1), (0.02, 0, 0, 0.03, 0, 0.01)),
        link("c", 0.7, (0.1, 0.02, 0), (0.01, 0, 0, 0.01, 0, 0.01)),
        link("tool"),
        joint("pan", "revolute", "base", "a", (0, 0, 1), (0, 0, 0.1), limit=limit),
        joint("lift", "revolute", "a", "b", (0, 1, 0), (0, 0, 0.4), limit=limit),
        joint("elbow", "revolute", "b", "c", (0, 1, 0), (0.4, 0, 0), limit=limit),
        joint("flange", "fixed", "c", "tool", None, (0.3, 0, 0), limit=None),
    )


def test_an_arm_in_space_is_drawn_in_slices_and_a_mass_is_asked_for(tmp_path, command):
    urdf = tmp_path / "arm.urdf"
    urdf.write_text(arm_in_space(), encoding="utf-8")
    out = tmp_path / "map.png"
    code, said, err = command("workspace", urdf, "--samples", "20000", "--payload", "2", "--plot", out, "--json")
    found = json.loads(said)
    assert (code, err, found["link"]) == (0, "", "tool")
    assert 0.0 < found["ratio"] <= 1.0
    assert 0.02 <= found["cell"] <= 0.2  # by itself: a reach of 0.7 m
    from matplotlib.image import imread

    picture = imread(out)
    edges = picture[:3], picture[-3:], picture[:, :3], picture[:, -3:]
    assert [edge.min() for edge in edges] == [1.0] * 4  # nothing is cut off there


@pytest.mark.parametrize("scale", [0.05, 30.0])
def test_cells_are_as_large_as_the_arm(scale: float) -> None:
    points = np.random.default_rng(2).uniform(-1.0, 1.0, (2000, 3))
    assert scale * _cell(points, 10_000) / 2.6 <= _cell(scale * points, 10_000) <= scale * _cell(points, 10_000) * 2.6
    flat = points * [1.0, 0.0, 1.0]
    assert (_cell(flat, 10_000), _cell(points, 10_000)) == (0.07, 0.3)  # twelve samples in each of them
    for plane, stretch in (("xz", [1.0, 0.5, 1.0]), ("yz", [0.0, 1.0, 1.0]), ("xy", [1.0, 2.0, 0.9])):
        assert _widest(points * stretch) == plane
    assert _cell(0.0 * points, 10_000) > 0.0


def test_a_contour_is_where_its_level_is_in_the_cells() -> None:
    """It was up to half a cell beside it."""
    axes = _figure((4.0, 3.0)).add_subplot()
    _contours(axes, np.tile(np.arange(10.0), (8, 1)), (6.5,), (0.0, 10.0, 0.0, 8.0))  # k is in the middle of [k, k + 1]
    (drawn,) = axes.collections
    (path,) = drawn.get_paths()
    np.testing.assert_allclose(path.vertices[:, 0], 7.0)
