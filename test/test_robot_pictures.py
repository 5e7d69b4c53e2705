# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""URDFs that are not quite an arm's: geometry only, a movable base, limits of zero, what xacro leaves behind."""

from pathlib import Path

import numpy as np
import pytest
from arms import joint, link, robot
from numpy.testing import assert_allclose

import robodyn_ros as rd
from robodyn_ros.errors import RobotDescriptionError, RobotDescriptionWarning
from robodyn_ros.kinematics.screws import screws
from robodyn_ros.robot import load_robot

BODY = (1.7, (0.1, 0.02, 0.3), (0.013, 0.001, 0.002, 0.017, 0.003, 0.021))


def picture() -> str:
    """Three joints that carry no mass."""
    return robot(
        "picture",
        link("base", 9.0, (0, 0, 0.1), (0.1, 0, 0, 0.1, 0, 0.1)),
        *(link(name) for name in ("a", "b", "c")),
        joint("ja", "revolute", "base", "a", (0, 0.2, 1), (0, 0, 0.4), (0.1, 0.2, 0.3)),
        joint("jb", "revolute", "a", "b", (0, 1, 0), (0.1, 0, 0.5)),
        joint("jc", "prismatic", "b", "c", (1, 0, 0.3), (0, 0.2, 0.3)),
    )


def test_without_masses_kinematics_work() -> None:
    arm = load_robot(picture())
    q = np.array([0.3, -0.7, 0.2])
    kinematics = rd.Kinematics(arm, compiled=False)
    target = kinematics.pose("c", q)
    assert_allclose(target, screws(arm, "c").pose(q), atol=1e-14)
    solved = rd.InverseKinematics(kinematics, "c").solve(target, np.array([0.2, -0.5, 0.1]))
    assert_allclose(kinematics.pose("c", solved.q), target, atol=1e-6)


@pytest.mark.parametrize("plugin", ["rnea", "lagrangian"])
def test_without_masses_dynamics_say_what_is_missing(plugin: str) -> None:
    with pytest.raises(RobotDescriptionError, match="no moving link has a mass: this URDF is for pictures") as error:
        rd.create_dynamics(plugin, load_robot(picture()))
    assert "<inertial>" in str(error.value)


def test_verbs_of_dynamics_say_so_and_the_workspace_does_not(tmp_path: Path, command) -> None:
    path = tmp_path / "picture.urdf"
    path.write_text(picture(), encoding="utf-8")
    assert "is for pictures" in command.error("export", path, "--language", "latex", "--out", "-")
    said = " ".join(command.out("check", path, code=1).split())
    assert "is for pictures" in said
    assert "3 joints" in said
    command.out("workspace", path, "--samples", "200", "--out", tmp_path / "space.ply")


def based(kind: str) -> str:
    return robot(
        "based",
        link("world"),
        link("floor"),
        link("base", *BODY),
        link("arm", *BODY),
        joint("foot", "fixed", "world", "floor"),
        joint("float", kind, "floor", "base", (0, 0, 1), (0.1, 0.2, 0.3), (0.3, 0, 0), limit=None),
        joint("hinge", "revolute", "base", "arm", (0, 1, 0.1), (0, 0.1, 0.4)),
    )


@pytest.mark.parametrize("kind", ["floating", "planar"])
def test_a_movable_base_can_be_welded(kind: str) -> None:
    with pytest.raises(RobotDescriptionError, match="accept 'movable_base'") as error:
        load_robot(based(kind))
    assert error.value.element == "joint 'float'"
    with pytest.warns(RobotDescriptionWarning, match="joint 'float': is welded"):
        arm = load_robot(based(kind), accept=["movable_base"])
    with pytest.warns(RobotDescriptionWarning, match="joint 'foot': is welded"):
        twice = load_robot(based(kind).replace('"fixed"', '"planar"'), accept=["movable_base"])
    fixed = load_robot(based("fixed"))
    assert arm.urdf == twice.urdf == based("fixed")
    assert arm.joint_names == fixed.joint_names == ("hinge",)
    assert_allclose(*(screws(each, "arm").pose([0.4]) for each in (arm, fixed)))


def test_only_the_base_can_be_welded() -> None:
    text = based("revolute").replace('type="revolute"><parent link="base"', 'type="floating"><parent link="base"')
    for accept in ([], ["movable_base"]):
        with pytest.raises(RobotDescriptionError, match=r"; only a joint at the base can be welded$") as error:
            load_robot(text, accept=accept)
        assert error.value.element == "joint 'hinge'"


def limited(limit: str) -> str:
    bare = robot("arm", link("base"), link("arm", *BODY), joint("hinge", "revolute", "base", "arm", limit=None))
    return bare.replace("</joint>", f"<limit {limit}/></joint>")


@pytest.mark.parametrize(
    ("limit", "expected"),
    [
        ('lower="0" upper="0" velocity="0" effort="0"', (-np.inf, np.inf, np.inf, np.inf)),
        ('lower="-0.0" upper="0" velocity="2" effort="3"', (-np.inf, np.inf, 2.0, 3.0)),
        ('velocity="2" effort="0.0"', (-np.inf, np.inf, 2.0, np.inf)),
        ('lower="0" upper="1" velocity="0" effort="3"', (0.0, 1.0, np.inf, 3.0)),
        ('lower="0" upper="1" velocity="-1" effort="3"', (0.0, 1.0, np.inf, 3.0)),
        ('velocity="2" effort="-1.0"', (-np.inf, np.inf, 2.0, np.inf)),
        ('upper="1.5"', (0.0, 1.5, np.inf, np.inf)),
        ('lower="0.3" upper="0.3" velocity="2" effort="3"', (0.3, 0.3, 2.0, 3.0)),
    ],
)
def test_zero_and_minus_one_stand_for_unknown(limit: str, expected: tuple[float, ...]) -> None:
    hinge = load_robot(limited(limit)).joints[0]
    assert (hinge.lower, hinge.upper, hinge.velocity, hinge.effort) == expected


LEFT_OVER = """
<xacro:property name="radius" value="0.1"/>
<xacro:arg name="side" default="left"/>
<xacro:macro name="finger" params="n"><link name="${n}"><inertial><mass value="${m}"/></inertial></link></xacro:macro>
<gazebo><xacro:sensor name="${n}"/></gazebo>
<link name="base"/>"""


def test_what_xacro_leaves_behind_is_ignored_where_nothing_uses_it() -> None:
    text = limited('upper="1"')
    assert load_robot(text.replace('<link name="base"/>', LEFT_OVER)).joint_names == ("hinge",)


@pytest.mark.parametrize(
    "used",
    [
        "<xacro:include filename='hand.xacro'/>",
        "<xacro:if value='1'><link name='x'/></xacro:if>",
    ],
)
def test_what_is_used_is_not_ignored(used: str) -> None:
    with pytest.raises(RobotDescriptionError, match="unresolved; run xacro"):
        load_robot(limited('upper="1"').replace("</robot>", f"{used}</robot>"))
