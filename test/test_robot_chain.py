# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""One arm of several in a URDF: the joints between two links."""

import pytest
from arms import joint, link, robot

from robodyn_ros.errors import InputError
from robodyn_ros.robot import load_robot
from robodyn_ros.robot.reduction import joints_between
from robodyn_ros.robot.robot import tip as tip_of

BODY = (1.7, (0.1, 0.02, 0.3), (0.013, 0.001, 0.002, 0.017, 0.003, 0.021))


def arm(side: str) -> list[str]:
    finger = f'<mimic joint="{side}_finger"/>'
    return [
        *(link(f"{side}_{name}", *BODY) for name in ("mount", "upper", "fore", "thumb", "index")),
        joint(f"{side}_weld", "fixed", "torso", f"{side}_mount"),
        joint(f"{side}_shoulder", "revolute", f"{side}_mount", f"{side}_upper"),
        joint(f"{side}_elbow", "revolute", f"{side}_upper", f"{side}_fore", (0, 1, 0), (0, 0.1, 0.3)),
        joint(f"{side}_finger", "prismatic", f"{side}_fore", f"{side}_thumb", (0, 1, 0)),
        joint(f"{side}_other", "prismatic", f"{side}_fore", f"{side}_index", (0, -1, 0), extra=finger),
    ]


LIFT = joint("lift", "prismatic", "base", "torso", (0, 0, 1))
TWO = robot("two", link("base"), link("torso", *BODY), LIFT, *arm("l"), *arm("r"))


@pytest.mark.parametrize(
    ("root", "tip", "expected"),
    [
        ("l_mount", "l_fore", ("l_shoulder", "l_elbow")),
        ("r_mount", "", ("r_shoulder", "r_elbow", "r_finger")),
        ("", "r_fore", ("lift", "r_shoulder", "r_elbow")),
        ("l_upper", "l_index", ("l_elbow", "l_finger")),
        ("", "", ("lift", "l_shoulder", "l_elbow", "l_finger", "r_shoulder", "r_elbow", "r_finger")),
    ],
)
def test_the_joints_between(root: str, tip: str, expected: tuple[str, ...]) -> None:
    assert joints_between(load_robot(TWO), root, tip) == expected


@pytest.mark.parametrize(
    ("root", "tip", "said"),
    [
        ("l_mount", "r_fore", "'r_fore' is not beyond link 'l_mount'"),
        ("l_fore", "l_upper", "not beyond"),
        ("nowhere", "", "'nowhere' is not in the robot"),
        ("l_index", "", "no joint moves"),
        ("torso", "l_mount", "no joint moves"),
    ],
)
def test_what_there_is_not(root: str, tip: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        joints_between(load_robot(TWO), root, tip)


def test_a_robot_of_several_arms_ends_with_the_last_link_that_moves() -> None:
    bodies = (joint(f"{name}_joint", "revolute", "base", name) for name in ("a", "b"))
    links = (link("base"), link("a", *BODY), link("b", *BODY), link("hand"), link("stand"))
    welds = (joint("weld", "fixed", "a", "hand"), joint("foot", "fixed", "base", "stand"))
    assert tip_of(load_robot(robot("spread", *links, *bodies, *welds))) == "hand"
    assert tip_of(load_robot(TWO)) == "r_mount"


def test_a_verb_takes_one_arm_of_two(tmp_path, command) -> None:
    path = tmp_path / "two.urdf"
    path.write_text(TWO, encoding="utf-8")
    found = command.json("check", path, "--root", "l_mount", "--tip", "l_fore", code=None)
    assert found["order"] == ["l_shoulder", "l_elbow"]
    assert "give one of the two" in command.error("check", path, "--tip", "l_fore", "--joints", "lift")
