# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Limits of acceleration, deceleration and jerk (URDF 1.2), and what a URDF does not have: nothing is lost unsaid."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import robodyn_ros as rd
from robodyn_ros.errors import RobotDescriptionError, RobotDescriptionWarning
from robodyn_ros.robot.description import UrdfEditor
from robodyn_ros.robot.urdf import reload_robot

FIRST = 'acceleration="4.5" deceleration="6" jerk="50"'
LIMITS = {"first": FIRST, "second": 'acceleration="3"', "third": 'deceleration="2"', "fourth": ""}

KNOWN = {
    "acceleration": [4.5, 3.0, np.inf, np.inf],
    "deceleration": [6.0, 3.0, 2.0, np.inf],
    "jerk": [50.0] + [np.inf] * 3,
}


def text(limits=LIMITS, extra="") -> str:
    """An arm of joints with these limits."""
    parts, parent = ['<robot name="arm" version="1.2"><link name="base"/>'], "base"
    for name, own in limits.items():
        parts.append(
            f'<link name="{name}_link"><inertial><origin xyz="0.1 0.02 0"/><mass value="1.3"/>'
            '<inertia ixx="0.02" iyy="0.03" izz="0.04"/></inertial></link>'
            f'<joint name="{name}" type="revolute"><parent link="{parent}"/><child link="{name}_link"/>'
            f'<origin xyz="0.3 0 0"/><axis xyz="0 1 0"/>'
            f'<limit lower="-2" upper="2" velocity="3" effort="90" {own}/>{extra}</joint>'
        )
        parent = f"{name}_link"
    return "\n".join([*parts, "</robot>"])


def limits_of(robot) -> dict:
    """The three limits of an arm."""
    return {name: getattr(robot, f"{name}_limit").tolist() for name in KNOWN}


def test_they_are_read_and_a_deceleration_that_is_left_out_is_the_acceleration():
    robot = rd.load_robot(text())
    assert limits_of(robot) == KNOWN
    assert_array_equal(robot.symmetric_acceleration_limit, [4.5, 3.0, 2.0, np.inf])
    assert "acceleration 4.5 rad/s², deceleration 6 rad/s², jerk 50 rad/s³" in str(robot.joints[0])
    assert robot.findings == ()


@pytest.mark.parametrize("name", KNOWN)
@pytest.mark.parametrize("value", ["0", "-1", "inf", "nan", "many"])
def test_one_that_is_not_above_zero_and_finite_is_refused_by_name(name, value):
    said = f"{name} limit {value} is not above 0; leave it out" if value in ("0", "-1") else "not a finite number"
    with pytest.raises(RobotDescriptionError, match=f"joint 'second': .*{said}"):
        rd.load_robot(text(LIMITS | {"second": f'{name}="{value}"'}))


def test_editing_and_reduction_keep_them():
    robot = rd.load_robot(text())
    editor = UrdfEditor(robot.urdf)
    editor.set_dynamics("first", "friction", 0.7)
    assert limits_of(reload_robot(editor.text())) == KNOWN
    small = robot.reduced({"second": 0.3})
    kept = {name: [values[k] for k in (0, 2, 3)] for name, values in KNOWN.items()}
    assert limits_of(small) == kept
    assert limits_of(reload_robot(small.urdf)) == kept


def test_check_prints_them_and_names_the_wrong_one(tmp_path, command):
    file = tmp_path / "arm.urdf"
    file.write_text(text())
    rows = [line.split() for line in command.out("check", file, code=None).splitlines()]
    assert ["first", "4.5", "rad/s²", "6", "rad/s²", "50", "rad/s³"] in rows
    assert ["second", "3", "rad/s²", "none", "none"] in rows
    file.write_text(text(LIMITS | {"third": 'jerk="-3"'}))
    said = command.out("check", file, code=1).replace("\n", " ")
    assert "error: joint 'third', line 4: jerk limit -3 is not above 0" in said


def test_what_a_urdf_does_not_have_is_said_once():
    spoilt = text(extra='<dynamics mu_viscous="0.4" damping="1"/><spring/>')
    spoilt = spoilt.replace('<limit lower="-2"', '<limit current="3" drake:rate="2" lower="-2"')
    with pytest.warns(RobotDescriptionWarning) as said:
        robot = rd.load_robot(spoilt)
    assert len(said) == len(robot.findings) == 1
    head, listed = str(said[0].message).split(" ignored: ")
    assert head == "robot 'arm': has tags or attributes that no URDF has, which are"
    assert listed == "current of <limit> (line 2), mu_viscous of <dynamics> (line 2), <spring> in <joint> (line 2)"
    assert robot.damping.tolist() == [1.0] * 4


def test_what_other_programs_read_is_no_news(recwarn):
    extra = '<safety_controller k_velocity="3"/><calibration rising="0"/>'
    others = '<gazebo><any thing="1"/></gazebo><transmission name="t"/><ros2_control name="r"/><material name="m"/>'
    rd.load_robot(text(extra=extra).replace("</robot>", f"{others}</robot>"))
    assert not recwarn.list
