# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""MJCFs become robots that move as MuJoCo's own model does."""

import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import mujoco
import numpy as np
import pinocchio
import pytest
from numpy.testing import assert_allclose

import robodyn_ros as rd
from robodyn_ros.errors import RobotDescriptionError, RobotDescriptionWarning
from robodyn_ros.robot import Robot, load_robot, mjcf

JOINTS = """<mujoco model="awkward arm"><compiler angle="degree" eulerseq="zyx" autolimits="true"/>
  <default><joint damping="0.31" armature="0.07"/><geom density="700"/>
    <default class="slide"><joint type="slide" frictionloss="1.9" range="-0.3 0.45"/></default></default>
  <worldbody><geom type="plane" size="1 1 1"/><body pos="0.3 -0.1 0.2" euler="20 -35 50"><geom size="0.05"/>
    <body name="upper" pos="0.1 0.2 0.35" quat="0.9 0.1 -0.3 0.2">
      <joint name="pan" axis="0.2 -0.1 1" pos="0.02 0.05 -0.03" ref="25" range="-170 150"/>
      <joint name="lift" class="slide" axis="0.3 1 0.2" pos="-0.04 0.01 0.02" ref="0.12"/>
      <joint name="tilt" axis="1 0.4 0" armature="0.23"/>
      <inertial pos="0.03 -0.07 0.11" mass="2.3" fullinertia="0.031 0.045 0.029 0.004 -0.003 0.006"/>
      <body name="fore" pos="0.4 0 0.1" euler="-40 15 70"><joint axis="0 1 0.3" range="-120 130"/>
        <geom type="capsule" fromto="0 0 0 0.1 0.2 0.4" size="0.04"/>
        <geom type="box" size="0.1 0.05 0.03" pos="0.2 0 0"/>
        <site name="flange" pos="0.1 0.2 0.4" euler="0 90 10"/>
        <body name="plate" pos="0.1 0.2 0.45"><geom type="ellipsoid" size="0.08 0.05 0.02" mass="0.4"/></body>
      </body></body></body></worldbody>
  <actuator><motor joint="pan" gear="-4" ctrlrange="-3 5" forcerange="-4.5 4"/>
    <position joint="lift" kp="100" forcerange="-70 60"/><motor joint="tilt" gear="2"/></actuator>
  <keyframe><key qpos="0 0 0 0"/></keyframe></mujoco>"""

BRANCHES = """<mujoco><compiler angle="radian"/><worldbody>
  <body name="trunk"><joint name="swing" axis="0 1 1"/><geom size="0.1" mass="3" pos="0.1 0.2 0.3"/>
    <body name="left" pos="0.2 0.3 0"><joint name="one" type="slide" axis="0 1 0" pos="0.1 0 0" range="0 0.04"/>
      <geom type="box" size="0.02 0.03 0.05" mass="0.35"/></body>
    <body name="right" pos="-0.2 0.3 0.1" quat="0 0 0 1"><joint name="two" type="slide" axis="0 1 0" ref="0.01"/>
      <geom type="cylinder" size="0.02 0.03" mass="0.25"/></body>
    <body name="elbow" pos="0 0 0.5"><joint name="bend" axis="1 0 0"/><geom type="capsule" size="0.03 0.2" mass="0.9"/>
    </body></body></worldbody>
  <tendon><fixed name="split"><joint joint="one" coef="0.5"/><joint joint="two" coef="0.5"/></fixed></tendon>
  <equality><joint joint1="two" joint2="one" polycoef="0.003 -1.2 0 0 0"/></equality></mujoco>"""


def free(more: str = "", joint: str = "<freejoint name='float'/>") -> str:
    return f"""<mujoco><worldbody><body name="base" pos="0 0 1" euler="10 20 30">{joint}<geom size="0.1"/>
      <body name="arm" pos="0.1 0 0"><joint name="hinge" axis="0 1 0"/><geom type="capsule" size="0.02 0.2"/>
        <site name="end"/></body></body></worldbody>{more}</mujoco>"""


def compare(robot: Robot, model: object, seed: int = 4) -> None:
    """Poses of all bodies, M and τ at some states; MuJoCo's joints follow those of the robot."""
    model, data = model, mujoco.MjData(model)
    names = [body.joint.name for body in robot.bodies]
    joints = [mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_JOINT, name) for name in names]
    joints = [int(name.removeprefix("joint")) if k < 0 else k for k, name in zip(joints, names, strict=True)]
    place, speed = model.jnt_qposadr[joints], model.jnt_dofadr[joints]
    columns = [body.coordinate for body in robot.bodies]
    ratios, offsets = np.array([(body.ratio, body.offset) for body in robot.bodies]).T
    moves = np.zeros((model.nv, robot.n))
    moves[speed, columns] = ratios
    kinematics = rd.Kinematics(robot, compiled=False)
    plugins = [rd.create_dynamics(name, robot, compiled=False) for name in ("rnea", "lagrangian")]
    for q, qd, qdd in np.random.default_rng(seed).uniform(-1.5, 1.5, (4, 3, robot.n)):
        data.qpos[place], data.qvel[:] = ratios * q[columns] + offsets, moves @ qd
        mujoco.mj_fwdPosition(model, data)
        mujoco.mj_fwdVelocity(model, data)
        for body in range(1, model.nbody):
            name = mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_BODY, body) or f"body{body}"
            pose = kinematics.pose(name, q)
            assert_allclose(pose[:3, 3], data.xpos[body], atol=1e-14)
            assert_allclose(pose[:3, :3], data.xmat[body].reshape(3, 3), atol=1e-14)
        mass_matrix, product = np.empty((robot.n, robot.n)), np.empty(model.nv)
        for column in range(robot.n):
            mujoco.mj_mulM(model, data, product, moves[:, column].copy())
            mass_matrix[:, column] = moves.T @ product
        data.qacc[:] = moves @ qdd
        effort = np.empty(model.nv)
        mujoco.mj_rne(model, data, 1, effort)
        # mj_rne leaves the rotors out.
        expected = moves.T @ effort + robot.armature * qdd
        for dynamics in plugins:
            assert_allclose(dynamics.mass_matrix(q), mass_matrix, rtol=1e-10, atol=1e-12)
            assert_allclose(dynamics.inverse(q, qd, qdd), expected, rtol=1e-10, atol=1e-12)


def test_shapes_have_their_whole_size():
    """MuJoCo has half lengths, URDF whole ones."""
    shapes = ET.fromstring(load_robot(JOINTS).urdf).findall("link[@name='fore']/collision/geometry/*")
    sizes = {shape.tag: {key: list(map(float, value.split())) for key, value in shape.items()} for shape in shapes}
    assert_allclose(sizes["box"]["size"], [0.2, 0.1, 0.06])
    assert_allclose([*sizes["cylinder"]["length"], *sizes["cylinder"]["radius"]], [0.21**0.5, 0.04])


@pytest.mark.parametrize("text", [JOINTS, BRANCHES], ids=["joints", "branches"])
def test_it_moves_as_mujoco_does(text: str) -> None:
    """So does the robot of its URDF."""
    robot, model = load_robot(text), mujoco.MjModel.from_xml_string(text)
    compare(robot, model)
    compare(load_robot(robot.urdf), model)


@pytest.mark.parametrize("damping", [0.31, 0.0])
@pytest.mark.parametrize("text", [JOINTS, BRANCHES], ids=["joints", "branches"])
def test_the_urdf_of_it_is_read_by_ros(text: str, damping: float) -> None:
    """By urdfdom, which is Pinocchio's reader too: it wants all limits, and friction beside a rotor."""
    robot = load_robot(text.replace('damping="0.31"', f'damping="{damping}"'))
    assert pinocchio.buildModelFromXML(robot.urdf).njoints == len(robot.bodies) + 1


def test_joints_keep_their_limits_friction_and_rotors() -> None:
    robot = load_robot(JOINTS)
    assert (robot.name, robot.joint_names) == ("awkward arm", ("pan", "lift", "tilt", "joint3"))
    assert [joint.type for joint in robot.joints] == ["revolute", "prismatic", "continuous", "revolute"]
    assert_allclose(robot.lower, [np.deg2rad(-170), -0.3, -np.inf, np.deg2rad(-120)])
    assert_allclose(robot.upper, [np.deg2rad(150), 0.45, np.inf, np.deg2rad(130)])
    assert_allclose(robot.effort_limit, [4 * 4.5, 70.0, np.inf, np.inf])
    assert_allclose(robot.damping, 0.31)
    assert_allclose(robot.friction, [0.0, 1.9, 0.0, 0.0])
    assert_allclose(robot.armature, [0.07, 0.07, 0.23, 0.07])
    assert robot.link("flange").inertial is None
    assert rd.create_dynamics("rnea", robot, compiled=False).parameters.armature.tolist() == robot.armature.tolist()


def test_a_name_that_is_made_up_is_none_that_there_is() -> None:
    inner = '<body name="body1" pos="0 0 0.3"><joint type="hinge" axis="1 0 0"/>{}</body>'
    geom = '<geom type="capsule" size="0.02" fromto="0 0 0 0 0 0.3" mass="1"/>'
    outer = f'<body><joint name="joint1" type="hinge" axis="0 1 0"/>{geom}{inner.format(geom)}</body>'
    made = rd.load_robot(f"<mujoco><worldbody>{outer}</worldbody></mujoco>")
    assert made.joint_names == ("joint1", "joint1_2")
    assert [link.name for link in made.links] == ["world", "body1_2", "body1"]


def test_a_site_with_the_name_of_a_body_is_a_frame_beside_it() -> None:
    robot = load_robot(free(joint="").replace('<site name="end"/>', '<site name="arm" pos="0 0 0.3"/>'))
    assert robot.link("arm_2").body == robot.link("arm").body
    assert_allclose(robot.link("arm_2").pose.translation - robot.link("arm").pose.translation, (0, 0, 0.3))


def test_an_equality_of_two_joints_is_a_mimic_joint() -> None:
    robot = load_robot(BRANCHES)
    assert robot.joint_names == ("swing", "one", "bend")
    (follower,) = (body for body in robot.bodies if body.joint.name == "two")
    assert_allclose((follower.ratio, follower.offset), (-1.2, 0.003 + 0.01))


def test_actuators_bring_their_rotors() -> None:
    """Since MuJoCo 3.5 an actuator has an armature, seen through the square of its gear."""
    text = free(joint="", more='<actuator><motor joint="hinge" gear="3" armature="0.5" damping="0.2"/></actuator>')
    try:
        model = mujoco.MjModel.from_xml_string(text)
    except ValueError:
        pytest.skip("this MuJoCo has no armature of actuators")
    robot = load_robot(text)
    assert_allclose((robot.armature, robot.damping), [[4.5], [1.8]])
    compare(robot, model)


def test_an_actuator_with_gear_0_does_not_move_its_joint() -> None:
    idle, drives = '<motor joint="hinge" gear="0"/>', '<motor joint="hinge" gear="2" ctrlrange="-3 3"/>'
    for motors, effort in ((idle, np.inf), (idle + drives, 6.0)):
        robot = load_robot(free(joint="", more=f"<actuator>{motors}</actuator>"))
        assert robot.effort_limit.tolist() == [effort]


@pytest.mark.parametrize("joint", ["<freejoint name='float'/>", "<joint type='ball' name='float'/>"])
def test_a_base_that_floats_is_refused_or_welded(joint: str) -> None:
    with pytest.raises(RobotDescriptionError, match="accept 'movable_base'") as error:
        load_robot(free(joint=joint))
    assert error.value.element == "joint 'float'"
    with pytest.warns(RobotDescriptionWarning, match="joint 'float': is welded"):
        welded = load_robot(free(joint=joint), accept=["movable_base"])
    compare(welded, mujoco.MjModel.from_xml_string(free(joint="")))


LOOP = free('<equality><connect name="loop" body1="arm" anchor="0 0 0.1"/></equality>', joint="")
CORD = '<tendon><fixed name="cord" stiffness="4"><joint joint="hinge" coef="1"/></fixed></tendon>'
CONSTRAINED = {
    "joint 'hinge'": free(joint="").replace('axis="0 1 0"', 'axis="0 1 0" stiffness="3"'),
    "body 'arm'": free(joint="").replace('<body name="arm"', '<body name="arm" gravcomp="1"'),
    "equality 'loop'": LOOP,
    "tendon 'cord'": free(CORD, joint=""),
}


@pytest.mark.parametrize("element", CONSTRAINED)
def test_what_is_no_tree_of_joints_is_refused_or_ignored(element: str) -> None:
    text = CONSTRAINED[element]
    with pytest.raises(RobotDescriptionError, match="accept 'closed_loops'") as error:
        load_robot(text)
    assert error.value.element == element
    with pytest.warns(RobotDescriptionWarning, match=f"{element}.*ignored"):
        robot = load_robot(text, accept=["closed_loops"])
    assert "it is one of" not in str(error.value)
    compare(robot, mujoco.MjModel.from_xml_string(free(joint="")))
    assert load_robot(robot.urdf).joint_names == ("hinge",)  # what was ignored is not in it


def test_a_refusal_says_how_many_more_there_are() -> None:
    with pytest.raises(RobotDescriptionError, match=r"\(it is one of 2 such constraints\)"):
        load_robot(LOOP.replace("</equality>", f"</equality>{CORD}"))


def test_a_file_with_includes_shapes_and_verbs(tmp_path: Path, command) -> None:
    (tmp_path / "parts").mkdir()
    parts = '<mujocoinclude><default><joint damping="0.7"/></default></mujocoinclude>'
    (tmp_path / "parts" / "defaults.xml").write_text(parts, encoding="utf-8")
    # A tetrahedron: MuJoCo moves its points to the centre of mass.
    mesh = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"
    (tmp_path / "parts" / "wedge.obj").write_text(mesh, encoding="utf-8")
    more = '<asset><mesh name="wedge" file="parts/wedge.obj" scale="0.1 0.2 0.3"/></asset>'
    text = free(more, joint="").replace("<worldbody>", '<include file="parts/defaults.xml"/><worldbody>')
    text = text.replace('<site name="end"/>', '<site name="end"/><geom type="mesh" mesh="wedge" pos="0.3 0.2 0.1"/>')
    path = tmp_path / "arm.xml"
    path.write_text(f"<!-- an arm -->\n{text}", encoding="utf-8")
    robot = load_robot(path)
    assert_allclose(robot.damping, 0.7)
    compare(robot, mujoco.MjModel.from_xml_path(str(path)))
    from robodyn_ros.view.marks import mesh_path, read_shapes

    shapes = {shape.kind: shape for shape in read_shapes(robot)}
    assert mesh_path(shapes["mesh"].mesh).samefile(tmp_path / "parts" / "wedge.obj")
    assert_allclose(shapes["mesh"].size, (0.1, 0.2, 0.3))
    assert_allclose(shapes["mesh"].pose.translation, (0.3, 0.2, 0.1), atol=1e-9)
    command.out("workspace", path, "--samples", "50", "--out", tmp_path / "space.ply")


def test_without_mujoco_the_error_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = tmp_path / "arm.xml"
    path.write_text(JOINTS, encoding="utf-8")
    monkeypatch.setitem(sys.modules, "mujoco", None)
    with pytest.raises(RobotDescriptionError, match=r"arm.xml: is an MJCF .*pip install 'robodyn_ros\[mujoco\]'"):
        load_robot(path)


def test_what_mujoco_refuses_is_refused_with_its_words() -> None:
    for text in (
        "<mujoco><worldbody><body><joint axis='0 0 0'/><geom size='1'/></body></worldbody></mujoco>",
        "<mujoco><worldbody><bodi/></worldbody></mujoco>",
        "<mujoco>",
        "<mujoco><asset><mesh file='none.stl'/></asset></mujoco>",
    ):
        with pytest.raises(RobotDescriptionError, match=r"MuJoCo refuses it: ."):
            load_robot(text)


def test_an_mjcf_is_known_by_its_root() -> None:
    assert mjcf.is_mjcf("\ufeff<?xml version='1.0'?>\n<!-- <robot> -->\n <mujoco>")
    assert not mjcf.is_mjcf("<robot name='a'><mujoco/></robot>")
    assert not mjcf.is_mjcf("<mujocoinclude/>")
    with pytest.raises(RobotDescriptionError, match="DOCTYPE"):
        load_robot(f"<!DOCTYPE mujoco []>{JOINTS}")


def test_gravity_and_air_of_the_file_are_told() -> None:
    tilted = free('<option gravity="0 -9.81 0"/>', joint="")
    with pytest.warns(RobotDescriptionWarning, match="option 'gravity': is 0 -9.81 0 m/s², which a URDF cannot hold"):
        robot = load_robot(tilted)
    compare(robot, mujoco.MjModel.from_xml_string(free(joint="")))
    assert not load_robot(robot.urdf).findings  # it is told once
    with pytest.raises(RobotDescriptionError, match=r"option 'density': lets air or water resist .*\(1.2\)"):
        load_robot(free('<option density="1.2"/>', joint=""))


def test_what_the_flags_of_the_file_disable_has_no_effect() -> None:
    joint = '<joint name="lift" type="slide" damping="2" frictionloss="3" stiffness="4"/>'
    flags = ("gravity", "spring", "damper", "frictionloss", "equality")
    more = '<equality><joint joint1="hinge" joint2="lift"/></equality><option><flag {}/></option>'
    with pytest.warns(RobotDescriptionWarning, match="option 'gravity': is 0 0 0 m/s²"):
        robot = load_robot(free(more.format(" ".join(f'{flag}="disable"' for flag in flags)), joint))
    assert robot.joint_names == ("lift", "hinge")
    assert not robot.damping.any()
    assert not robot.friction.any()
    with pytest.raises(RobotDescriptionError, match=r"has a spring \(stiffness\)"):
        load_robot(free(more.format('gravity="enable"'), joint))


def test_lines_that_mujoco_made_are_not_told(tmp_path: Path, command) -> None:
    path = tmp_path / "arm.xml"
    path.write_text(free(joint=""), encoding="utf-8")
    said = command.out("check", path, code=None)
    assert "joint 'hinge'" in said
    assert ", line" not in said
