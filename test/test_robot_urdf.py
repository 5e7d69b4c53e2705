# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""URDF → Robot: every feature of the format that the arm's equations need."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from arms import BODY, URDF, awkward, joint, link, mechanism, robot, slider
from numpy.testing import assert_allclose

from robodyn_ros.errors import InputError
from robodyn_ros.robot import Inertial, Joint, Robot, load_robot
from robodyn_ros.robot.robot import tip


def single(extra: str = "", kind: str = "revolute", inertial: str | None = None, **tags: Any) -> Robot:
    """A robot of one joint, the tags of which are given."""
    body = link("arm", 2.0, (0.1, 0.2, 0.3), BODY) if inertial is None else f'<link name="arm">{inertial}</link>'
    return load_robot(robot("one", link("base"), body, joint("hinge", kind, "base", "arm", extra=extra, **tags)))


def inertial_of(inside: str) -> Inertial:
    """The inertial of the moving link of a robot of one joint."""
    return single(inertial=f"<inertial>{inside}</inertial>").bodies[0].inertial


# Sources


def test_a_path_a_path_object_and_the_text_itself_give_the_same_robot() -> None:
    path = URDF / "prr.urdf"
    text = path.read_text(encoding="utf-8")
    for source in (path, str(path), text, "\n  " + text, "\ufeff" + text):
        arm = load_robot(source)
        assert arm.name == "prr"
        assert arm.joint_names == ("elevator", "shoulder", "wrist")
        assert arm.urdf == text


def test_a_declared_encoding_does_not_matter_to_text(tmp_path: Path) -> None:
    text = '<?xml version="1.0" encoding="ISO-8859-1"?>' + mechanism("R").replace("link0", "Füße")
    (tmp_path / "arm.urdf").write_text(text, encoding="utf-8")
    assert load_robot(text).links[0].name == load_robot(tmp_path / "arm.urdf").links[0].name == "Füße"


def test_what_a_urdf_says_besides_is_ignored_without_a_word(capfd: pytest.CaptureFixture[str]) -> None:
    extras = """
      <gazebo reference="link1"><material>Gazebo/Blue</material><mu1>x</mu1></gazebo>
      <transmission name="t"><type>none</type><joint name="joint1"/></transmission>
      <ros2_control name="c"><joint name="joint1"><command_interface name="effort"/></joint></ros2_control>
      <material name="empty"/>  <!-- a comment -->  <sensor:camera name="undeclared prefix"/>
    """
    plain = mechanism("PRR")
    noisy = plain.replace("</robot>", extras + "</robot>")
    noisy = noisy.replace("<robot ", '<robot version="7" xmlns="http://www.ros.org" colour="red" ')
    shapes = (
        '<visual shape="3"><geometry><blob/></geometry></visual><collision><geometry><mesh/></geometry></collision>'
    )
    noisy = noisy.replace('<link name="link1">', f'<link name="link1" type="laser">{shapes}<origin xyz="9 9 9"/>')
    noisy = noisy.replace("<mass ", '<mass unit="kg" ').replace("<axis ", '<axis frame="child" ')
    noisy = noisy.replace("<axis ", '<safety_controller k_velocity="nan"/><calibration rising="?"/><axis ')
    arm, truth = load_robot(noisy), load_robot(plain)
    assert capfd.readouterr() == ("", "")
    assert arm.joint_names == truth.joint_names
    for body, expected in zip(arm.bodies, truth.bodies, strict=True):
        assert_allclose(body.inertial.com, expected.inertial.com)
        assert_allclose(body.placement.translation, expected.placement.translation)


# Defaults


@pytest.mark.parametrize("extra", ["", "<origin/><axis/><limit/><dynamics/>"])
def test_every_tag_and_attribute_that_may_be_left_out_has_its_default(extra: str) -> None:
    for hinge in (single(extra, limit=None).joints[0], Joint("hinge", "revolute", "base", "arm")):
        assert hinge.axis.tolist() == [1.0, 0.0, 0.0]
        assert hinge.origin.rotation.tolist() == np.eye(3).tolist()
        assert hinge.origin.translation.tolist() == [0.0, 0.0, 0.0]
        assert (hinge.lower, hinge.upper, hinge.velocity, hinge.effort) == (-np.inf, np.inf, np.inf, np.inf)
        assert (hinge.damping, hinge.friction, hinge.armature, hinge.mimic) == (0.0, 0.0, 0.0, None)


def test_home_is_zero_or_the_limit_nearest_to_it() -> None:
    for limit, home in (((-1.5, 2.5), 0.0), ((0.4, 2.5), 0.4), ((-1.5, -0.3), -0.3)):
        arm = single(limit=(*limit, 3.0, 4.0))
        assert arm.home.tolist() == [home]
        assert not arm.home.flags.writeable


def test_a_continuous_joint_has_no_position_limits() -> None:
    hinge = single(kind="continuous", limit=(1.0, -1.0, 3.0, 4.0)).joints[0]
    assert (hinge.lower, hinge.upper, hinge.velocity, hinge.effort) == (-np.inf, np.inf, 3.0, 4.0)
    assert (hinge.is_prismatic, hinge.position_unit, hinge.effort_unit) == (False, "rad", "N·m")


@pytest.mark.parametrize("no_limit", [1e16, np.finfo(np.float32).max, np.finfo(np.float64).max])
def test_numbers_that_programs_write_for_infinity_are_no_limits(no_limit: float) -> None:
    """SDF's 1e16, and the greatest numbers of 32 and 64 bits."""
    text = slider((-no_limit, no_limit, no_limit, no_limit))
    (slide,) = load_robot(text.replace("<limit ", f'<limit acceleration="{no_limit}" ')).joints
    assert (slide.lower, slide.upper, slide.velocity, slide.effort) == (-np.inf, np.inf, np.inf, np.inf)
    assert slide.acceleration == slide.deceleration == np.inf


@pytest.mark.parametrize("scale", [1.0, 7.0, 1e-200, 1e200, 5e-324])
def test_axes_are_normalised_whatever_their_length(scale: float) -> None:
    axis = single(kind="prismatic", axis=(2 * scale, 0, -2 * scale)).joints[0].axis
    assert_allclose(axis, [np.sqrt(0.5), 0, -np.sqrt(0.5)], rtol=1e-15)


def test_a_fixed_joint_may_carry_leftovers_of_an_exporter() -> None:
    parts = [link("base"), link("arm", 1.0, None, BODY), link("tip"), joint("hinge", "revolute", "base", "arm")]
    extra = '<axis xyz="0 0 0"/><limit lower="3" upper="-3" effort="-1" velocity="-1" jerk="0"/><mimic joint="nobody"/>'
    fixed = load_robot(robot("x", *parts, joint("weld", "fixed", "arm", "tip", extra=extra))).fixed_joints[0]
    assert (fixed.name, fixed.type, fixed.mimic) == ("weld", "fixed", None)


# Inertials


def test_point_masses_rods_and_plates_are_bodies() -> None:
    for moments in ((0.0, 0.0, 0.0), (0.0, 0.2, 0.2), (0.1, 0.2, 0.3)):
        body = link("arm", 1.0, (0.3, 0.4, 0.5), (moments[0], 0, 0, moments[1], 0, moments[2]))
        arm = load_robot(robot("x", link("base"), body, joint("hinge", "revolute", "base", "arm", (0, 0, 1))))
        assert_allclose(arm.bodies[0].inertial.inertia, np.diag(moments))
    assert not inertial_of('<origin xyz="0 1 0"/><mass value="2"/>').inertia.any()
    for mass in (2.0, 0.0):  # a rotor without mass is a body too
        found = inertial_of(f'<mass value="{mass}"/><inertia ixx="1" iyy="2" izz="3"/>')
        assert found.mass == mass
        assert_allclose(found.inertia, np.diag([1.0, 2.0, 3.0]))


def test_inertias_rounded_to_three_digits_are_taken() -> None:
    inertial_of('<mass value="2"/><inertia ixx="0.501" iyy="0.505" izz="1.01"/>')
    # A slender rod along (1, 1, 1), rounded: one moment comes out at -6e-5.
    rod = link("arm", 1.0, (0.1, 0, 0), (0.667, -0.333, -0.333, 0.667, -0.3335, 0.667))
    load_robot(robot("x", link("base"), rod, joint("hinge", "revolute", "base", "arm")))


def test_fixed_links_are_lumped_and_keep_their_own_share() -> None:
    """The inertials of the bodies are in test_robot_truth.py."""
    arm = load_robot(awkward()["welded"])
    bodies = [("a", ("a", "sensor", "bracket")), ("b", ("b", "flange", "tool"))]
    assert [(body.name, body.links) for body in arm.bodies] == bodies
    assert [fixed.name for fixed in arm.fixed_joints] == ["weld0", "weld1", "weld2", "weld3", "weld4"]
    assert [item.name for item in arm.links if item.body < 0] == ["world", "pedestal"]
    assert arm.link("bracket").inertial is None
    tool, pedestal = arm.link("tool").inertial, arm.link("pedestal").inertial
    assert tool is not None and pedestal is not None
    assert (tool.mass, pedestal.mass, tool.com.tolist()) == (0.82, 20.0, [0.033, 0.044, 0.055])
    pose = arm.link("tool").pose
    assert_allclose(pose.translation, (arm.fixed_joints[3].origin @ arm.fixed_joints[4].origin).translation)


# The tree


def test_joints_are_ordered_depth_first_in_the_order_of_the_file() -> None:
    arm = load_robot(awkward()["branched"])
    assert arm.joint_names == ("waist", "right_arm", "left_arm", "wrist")
    assert [body.parent for body in arm.bodies] == [-1, 0, 0, 2]
    assert [item.name for item in arm.links] == ["hand", "torso", "base", "left", "right"]


def test_a_thousand_joints_deep() -> None:
    parts = [link("link0"), link("link1", 1.0, None, BODY), joint("joint1", "revolute", "link0", "link1")]
    for i in range(2, 1001):
        parts += [link(f"link{i}"), joint(f"joint{i}", "fixed", f"link{i - 1}", f"link{i}", xyz=(0.01, 0, 0))]
    arm = load_robot(robot("deep", *parts))
    assert_allclose(arm.link("link1000").pose.translation, [9.99, 0, 0], rtol=1e-12)


def test_mimic_chains_end_at_an_independent_joint() -> None:
    arm = load_robot(awkward()["mimic"])
    assert arm.joint_names == ("shoulder", "left_finger")
    found = {body.joint.name: (body.coordinate, body.ratio, body.offset) for body in arm.bodies}
    assert found["left_finger"] == (1, 1.0, 0.0)
    assert found["right_finger"] == (1, 1.25, 0.035)
    assert found["thumb_joint"] == pytest.approx((1, -2.5 * 1.25, -2.5 * 0.035 + 0.4), rel=1e-15)


def test_a_mimic_joint_has_defaults_and_brings_its_friction_and_its_rotor() -> None:
    parts = [link("base"), *(link(name, 1.0, None, BODY) for name in "abc")]
    leader = joint("a", "revolute", "base", "a", extra='<dynamics damping="1" friction="2" armature="0.4"/>')
    plain = joint("b", "revolute", "a", "b", extra='<mimic joint="a"/>')
    losses = '<dynamics damping="0.1" friction="0.2" armature="0.05"/>'
    geared = joint("c", "revolute", "b", "c", extra=f'<mimic joint="a" multiplier="-3"/>{losses}')
    arm = load_robot(robot("x", *parts, plain, geared, leader))
    assert [(body.ratio, body.offset) for body in arm.bodies] == [(1.0, 0.0), (1.0, 0.0), (-3.0, 0.0)]
    # Power: d (q̇)² + d' (ratio q̇)² and f |q̇| + f' |ratio q̇|; kinetic energy: J q̇²/2 and J' (ratio q̇)²/2.
    assert_allclose(arm.damping, [1 + 9 * 0.1], rtol=1e-15)
    assert_allclose(arm.friction, [2 + 3 * 0.2], rtol=1e-15)
    assert_allclose(arm.armature, [0.4 + 9 * 0.05], rtol=1e-15)


def test_a_summary_has_the_mass_that_each_joint_moves_alone() -> None:
    """That of its mimic joints included."""
    parts = [link("base", 9.0), *(link(name, mass, None, BODY) for name, mass in (("a", 1.0), ("b", 2.5), ("c", 4.25)))]
    chain = [joint("a", "revolute", "base", "a"), joint("b", "revolute", "a", "b")]
    chain.append(joint("c", "revolute", "b", "c", extra='<mimic joint="a"/>'))
    lines = str(load_robot(robot("x", *parts, *chain))).splitlines()
    assert "7.75 kg in motion" in lines[0]
    masses = [line.split("  ")[-1].strip() for line in lines if line.split()[:1] in (["a"], ["b"])]
    assert masses == ["5.25 kg", "2.5 kg"]


def test_a_folder_does_not_hide_the_arm_of_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "prr").mkdir()
    monkeypatch.chdir(tmp_path)
    assert load_robot("prr").n == 3


def test_a_robot_cannot_be_changed() -> None:
    arm = load_robot(URDF / "prr.urdf")
    with pytest.raises(AttributeError):
        arm.name = "other"  # type: ignore[misc]
    joints = arm.joints[0], Joint("j", "revolute", "a", "b")
    parts = arm.bodies[0].inertial.inertia, arm.links[0].pose.rotation
    for array in (arm.lower, arm.damping, *(each.axis for each in joints), *parts):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1.0


def test_an_unknown_link_is_answered_with_those_that_exist() -> None:
    with pytest.raises(InputError, match="'claw' is not in the robot; it has base, carriage, arm, hand, tool"):
        load_robot(URDF / "prr.urdf").link("claw")


@pytest.mark.parametrize(
    ("fingers", "fixed", "expected"),
    [
        (("prismatic", "prismatic"), ("hand", "tcp"), "tcp"),  # a gripper: the fingers are no tool
        (("prismatic", "prismatic"), (), "hand"),
        (("prismatic",), (), "finger0"),
        ((), ("tcp",), "tcp"),
        ((), (), "hand"),
    ],
)
def test_the_tool_is_before_the_fingers(fingers, fixed, expected):
    parts = [link("base"), link("arm", 1.0, (0, 0, 0.1), BODY), link("hand", 1.0, (0, 0, 0.1), BODY)]
    parts += [joint("j1", "revolute", "base", "arm"), joint("j2", "revolute", "arm", "hand", xyz=(0, 0, 0.3))]
    for k, kind in enumerate(fingers):
        parts += [link(f"finger{k}", 0.1, None, BODY), joint(f"f{k}", kind, "hand", f"finger{k}", (0, 1 - 2 * k, 0))]
    for name in (name for name in fixed if name != "hand"):
        parts += [link(name), joint(f"to_{name}", "fixed", "hand", name, xyz=(0, 0, 0.1), limit=None)]
    assert tip(load_robot(robot("gripper", *parts))) == expected
