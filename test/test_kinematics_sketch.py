# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The line drawing of an arm: where its marks stand, and that any arm has one."""

import re
import xml.etree.ElementTree as ET
from dataclasses import replace

import numpy as np
import pytest
from arms import OURS, URDF, joint, link, mechanism, random_robot, robot, slider

import robodyn_ros as rd
from robodyn_ros.kinematics.sketch import HEIGHT, MARGIN, WIDTH, sketch

SVG = "{http://www.w3.org/2000/svg}"


def drawn(robot: rd.Robot, q: object = None) -> ET.Element:
    return ET.fromstring(sketch(robot, q))  # type: ignore[arg-type]


def circles(picture: ET.Element, radius: str) -> np.ndarray:
    """Centres of the circles of a radius [px]: 7 with a thick line are joints, those beside a path are masses."""
    found = [each for each in picture.iter(f"{SVG}circle") if each.get("r") == radius]
    return np.array([[float(each.get("cx", "")), float(each.get("cy", ""))] for each in found])


def words(picture: ET.Element) -> list[str]:
    return ["".join(each.itertext()) for each in picture.iter(f"{SVG}text")]


def test_a_planar_arm_is_drawn_to_scale_in_its_plane() -> None:
    """The joints of the two-link arm: at the origin, and half a metre along the first link."""
    robot = rd.load_robot(URDF / "two_link.urdf")
    q = np.array([0.3, 0.5])
    picture = drawn(robot, q)
    first, second = (each for each in circles(picture, "7")[:2])
    com = circles(picture, "7")[2:]
    towards = second - first
    np.testing.assert_allclose(np.arctan2(-towards[1], towards[0]), 0.3, atol=2e-3)
    scale = np.hypot(*towards) / 0.5
    np.testing.assert_allclose(com[0], first + towards / 2, atol=0.1)
    expected = second + scale * 0.2 * np.array([np.cos(0.8), -np.sin(0.8)])
    np.testing.assert_allclose(com[1], expected, atol=0.2)
    assert {"q1", "q2", "m1", "m2", "x0", "z0", "x2"} <= set(words(picture))
    assert not any(word.startswith("y") for word in words(picture))  # it points at the reader


def test_an_arm_in_a_tilted_plane_is_not_squeezed() -> None:
    """Three links of equal length, bent by a right angle, are of equal length in the picture."""
    links = [link(f"l{i}", 1.0, (0.15, 0, 0), (0.1, 0, 0, 0.1, 0, 0.1)) for i in (1, 2, 3)]
    turns = [joint(f"j{i}", "continuous", f"l{i - 1}", f"l{i}", (0, -0.6, 0.8), (0.3, 0, 0)) for i in (1, 2, 3)]
    tilted = rd.load_robot(robot("tilted", link("l0"), *links, *turns))
    joints = circles(drawn(tilted, [0.0, np.pi / 2, 0.0]), "7")[:3]
    along, up = np.linalg.norm(np.diff(joints, axis=0), axis=1)
    np.testing.assert_allclose(along, up, rtol=1e-3)


def test_a_drawing_is_as_large_as_its_frame_lets_it_be() -> None:
    """A stretched arm reaches from one margin to the other."""
    robot = rd.load_robot(URDF / "two_link.urdf")
    length = rd.Kinematics(robot, compiled=False).pose("tool", [0.0, 0.0])[0, 3]
    first, second = circles(drawn(robot, [0.0, 0.0]), "7")[:2]
    np.testing.assert_allclose((second - first)[0] / 0.5 * length, WIDTH - 2.0 * MARGIN, rtol=1e-3)
    np.testing.assert_allclose(first[0], MARGIN, atol=0.1)


def test_an_arm_of_millimetres_is_drawn_as_one_of_metres() -> None:
    small, large = (
        rd.load_robot(mechanism("RR", lengths=(0.55 * size, 0.45 * size), coms=(0.25 * size, 0.2 * size)))
        for size in (2.0**-10, 1.0)
    )
    assert sketch(small) == sketch(large)


def test_an_arm_is_drawn_to_the_farthest_link_that_is_fixed_to_its_last_body() -> None:
    """Seen from there, not from the root: the arm is folded, and the camera stands farther from the root."""
    text, q = mechanism("RR", lengths=(0.5, 0.4)), [0.0, np.pi]
    origin = '<origin xyz="0 0 -0.2"/>'
    camera = link("camera") + joint("mount", "fixed", "link2", "camera").replace("</joint>", origin + "</joint>")
    assert sketch(rd.load_robot(text.replace("</robot>", camera + "</robot>")), q) == sketch(rd.load_robot(text), q)


def test_a_slide_without_a_lower_end_is_drawn() -> None:
    """By the length of the arm, as one without an upper end, to the other side."""
    for ends, sign in (((-np.finfo(float).max, 0.0), -1.0), ((0.0, np.finfo(float).max), 1.0)):
        arm = rd.load_robot(slider((*ends, 1.0, 1.0)).replace("<mass", '<origin xyz="0.2 0 0"/><mass'))
        assert sketch(arm) == sketch(arm, [0.2 * sign])


def test_a_joint_whose_range_is_elsewhere_is_drawn_in_its_middle() -> None:
    turn = joint("turn", "revolute", "base", "arm", (0, 1, 0), limit=(1.0, 2.0, 3.0, 4.0))
    arm = rd.load_robot(robot("bent", link("base"), link("arm", 1.0, (0, 0, 0.2), (0.1, 0, 0, 0.1, 0, 0.1)), turn))
    assert sketch(arm) == sketch(arm, [1.5])


@pytest.mark.parametrize("seed", range(12))
def test_any_arm_has_a_drawing_within_its_frame(seed: int) -> None:
    robot = rd.load_robot(random_robot(seed))
    for q in (None, np.zeros(robot.n)):
        picture = drawn(robot, q)
        places = [each.get("points", "") for each in picture.iter(f"{SVG}polyline")]
        numbers = np.array([float(word) for each in places for word in re.split("[ ,]", each)]).reshape(-1, 2)
        assert np.isfinite(numbers).all()
        middle = np.array([WIDTH, HEIGHT]) / 2
        assert (abs(numbers - middle) < middle * 1.6).all()
        assert sum(word.startswith("q") for word in words(picture)) >= robot.n


@pytest.mark.parametrize("name", ["r", "pr", "rr", "prr", "two_link"])
def test_a_drawing_has_no_empty_rows_above_and_below_the_arm(name: str) -> None:
    """So that a caption stands at its drawing, and no letter is cut off."""
    picture = drawn(rd.load_robot(URDF / f"{name}.urdf"))
    _, top, _, height = map(float, picture.get("viewBox", "").split())
    assert float(picture.get("height", "")) == height
    points = [each.get("points", "").split() for each in picture.iter(f"{SVG}polyline")]
    heights = [float(pair.split(",")[1]) for each in points for pair in each]
    heights += [float(each.get("y", "")) for each in picture.iter(f"{SVG}text")]
    assert 15.0 < min(heights) - top < 25.0
    assert 15.0 < top + height - max(heights) < 25.0


def test_names_are_escaped_and_wrong_positions_refused() -> None:
    robot = rd.load_robot(URDF / "prr.urdf")
    assert drawn(replace(robot, name="<b>&")).find(f"{SVG}title") is not None
    with pytest.raises(rd.InputError, match="q"):
        sketch(robot, [0.0, 1.0])


@pytest.mark.parametrize("frames", ["links", "equations"])
@pytest.mark.parametrize("name", ["r", "pr", "rr", "prr", "two_link"])
def test_no_letter_covers_another_or_a_joint_or_a_mass(name: str, frames: str) -> None:
    picture = ET.fromstring(sketch(rd.load_robot(URDF / f"{name}.urdf"), frames=frames))  # type: ignore[arg-type]
    found = list(picture.iter(f"{SVG}text"))
    middles = np.array([[float(each.get("x", "")), float(each.get("y", "")) - 5.0] for each in found])
    for index, middle in enumerate(middles):
        apart = abs(np.delete(middles, index, axis=0) - middle).max(axis=1)
        assert apart.min() > 17.0, words(picture)[index]
        assert abs(circles(picture, "7") - middle).max(axis=1).min() > 16.0, words(picture)[index]


def test_an_elevator_is_drawn_out_of_its_zero_in_its_positive_direction() -> None:
    """Wherever its range begins, and however far it goes."""
    text = OURS["pr"]
    limit = re.search(r'lower="0" upper="[\d.]+"', text)
    assert limit is not None
    for bounds in ('lower="-9" upper="9"', 'lower="-0.5" upper="0"', 'lower="0.2" upper="1"'):
        picture = drawn(rd.load_robot(text.replace(limit[0], bounds, 1)))
        (slider,) = picture.iter(f"{SVG}rect")
        ground = next(picture.iter(f"{SVG}polyline")).get("points", "").split(",")[1].split()[0]
        rises = float(ground) - (float(slider.get("y", "")) + 8.0)
        assert (rises < 0.0) == ("-0.5" in bounds)
        assert abs(rises) > 30.0
