# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""A URDF with new numbers: the identified arm exactly, and nothing else changed."""

import re
import xml.etree.ElementTree as ET

import numpy as np
import pinocchio
import pytest
from identified import AWKWARD, PRR, RR, Unknown
from numpy.testing import assert_allclose
from truth import Pinocchio

import robodyn_ros as rd
from robodyn_ros.dynamics.parameters import standard_parameters
from robodyn_ros.dynamics.rnea import RNEA
from robodyn_ros.errors import InputError
from robodyn_ros.identification import identify
from robodyn_ros.identification.estimation.identify import with_parameters

NUMBERS = re.compile(r'(?<=")[^"]*(?=")')

ODD = """<?xml version='1.0'?>
<!-- An arm with <link name="hand"> in a comment; 3 > 2 -->
<robot name = "odd" xmlns:x="urn:x" >\r
  <x:tool kind="a>b"/>
  <link name="base"/>
  <link name='arm' x:serial = '42'>
    <inertial >
\t<inertia izz = '0.3'
         ixx="0.1" iyy='0.35' note="as weighed > estimated"/><!-- behind -->
      <mass  value='2'  />
    </inertial>
  </link>
  <link name="hand"><visual><origin xyz="1 2 3"/><geometry><box size="1 1 1"/></geometry></visual></link>
  <link name="tool"><inertial><origin rpy="0.1 0.2 0.3" xyz="0 0 0.1"/><mass value="0.4"/>
     <inertia ixx="0.01" ixy="0.001" ixz="0" iyy="0.012" iyz="0" izz="0.009"/></inertial></link>
  <joint name="shoulder" type="revolute"><parent link="base"/><child link="arm"/><axis xyz="0 1 0"/>
    <limit lower="-1" upper="1" effort="9" velocity="3"/><dynamics damping="0.5"/><safety k="1"/></joint>
  <joint type="revolute" name='wrist'>
    <parent link="arm"/><child link="hand"/><origin xyz="0 0 0.5"/><axis xyz="1 0 0"/></joint>
  <joint name="mount" type="fixed"><parent link="hand"/><child link="tool"/><origin xyz="0.1 0 0" rpy="0 1 0"/></joint>
  <gazebo reference="arm"><mass value="7"/><origin xyz="9 9 9"/></gazebo>
  <link name="lamp"/><joint name="screw" type="fixed"><parent link="arm"/><child link="lamp"/></joint>
</robot>
<!-- the end -->
"""


def theta_of(robot):
    return np.concatenate([standard_parameters(robot), np.zeros(robot.n), robot.damping, robot.friction])


@pytest.mark.parametrize("name", ["prr", "rr", *sorted(AWKWARD)])
def test_reloaded_it_is_the_identified_arm(name):
    robot = {"prr": PRR, "rr": RR, **AWKWARD}[name]
    arm = Unknown(robot)
    found = identify(robot, arm.motion(200, noise=0.02))
    again = rd.load_robot(found.urdf)
    scale = np.abs(found.inertial).max()
    for identified in (found.robot, again):
        assert_allclose(standard_parameters(identified), found.inertial, rtol=1e-12, atol=1e-12 * scale)
    assert_allclose(again.damping, found.viscous, rtol=1e-12)
    assert_allclose(again.friction, found.coulomb, rtol=1e-12)
    assert again.joint_names == robot.joint_names
    pinocchio.buildModelFromXML(re.sub(r"</?mimic\b[^>]*>", "", found.urdf))
    truth = Pinocchio(again, (0.0, 0.0, -9.81))
    state = np.random.default_rng(1).normal(size=(3, robot.n))
    effort = RNEA(robot, inertial=found.inertial).inverse(*state)
    assert_allclose(truth.inverse(*state), effort, rtol=1e-9, atol=1e-10 * np.abs(effort).max())


def test_only_numbers_change():
    found = identify(PRR, Unknown(PRR).motion(200, noise=1e-3))
    added = re.compile(r"\n +<dynamics [^>]*/>")
    assert NUMBERS.sub("", added.sub("", found.urdf)) == NUMBERS.sub("", PRR.urdf)
    kept, changed = PRR.urdf.splitlines(), added.sub("", found.urdf).splitlines()
    different = [a for a, b in zip(kept, changed, strict=True) if a != b]
    assert len(different) == 9  # origin, mass and inertia of three bodies
    assert len(added.findall(found.urdf)) == 3


def test_rotors_without_friction_are_read_by_ros():
    """By urdfdom, which is Pinocchio's reader too."""
    robot = rd.load_robot(re.sub("<dynamics.*?/>", "", PRR.urdf))
    text = with_parameters(robot, np.concatenate([standard_parameters(robot), [0.1, 0.2, 0.3], np.zeros(6)]))
    assert pinocchio.buildModelFromXML(text).nv == 3
    found = rd.load_robot(text)
    assert_allclose((found.armature, found.damping), ([0.1, 0.2, 0.3], np.zeros(3)))


def test_odd_text_stays_as_it_is():
    robot = rd.load_robot(ODD)
    assert with_parameters(robot, theta_of(robot)) == ODD
    arm = Unknown(robot)
    found = identify(robot, arm.motion(300))
    truth = found.base.values(arm.theta)
    assert_allclose(found.base.values(found.theta), truth, atol=1e-10)
    again = rd.load_robot(found.urdf)
    assert_allclose(standard_parameters(again), found.inertial, rtol=1e-12, atol=1e-13)
    assert_allclose(again.friction, found.coulomb, rtol=1e-12)
    for piece in (
        '<!-- An arm with <link name="hand"> in a comment; 3 > 2 -->\n<robot name = "odd" xmlns:x="urn:x" >\r\n',
        '<x:tool kind="a>b"/>',
        "<link name='arm' x:serial = '42'>",
        'note="as weighed > estimated"',
        "/><!-- behind -->",
        '<visual><origin xyz="1 2 3"/>',
        '<gazebo reference="arm"><mass value="7"/><origin xyz="9 9 9"/></gazebo>',
        '<link name="tool"><inertial><origin rpy="0.1 0.2 0.3" xyz="',
        '<safety k="1"/></joint>',
        '<link name="lamp"/>',
        "</robot>\n<!-- the end -->\n",
    ):
        assert piece in found.urdf
    tree = ET.fromstring(found.urdf)
    arm_inertia = tree.find("link[@name='arm']/inertial/inertia").attrib
    assert set(arm_inertia) == {"ixx", "ixy", "ixz", "iyy", "iyz", "izz", "note"}
    assert tree.find("joint[@name='shoulder']/dynamics").attrib.keys() == {"damping", "friction"}
    assert tree.find("joint[@name='wrist']/dynamics").attrib.keys() == {"damping", "friction"}
    assert tree.find("link[@name='hand']/inertial/mass") is not None


def test_fixed_links_keep_their_share_where_there_is_room():
    robot = AWKWARD["welded"]
    theta = theta_of(robot)
    theta[10:20] *= 1.5  # b with its tool
    again = rd.load_robot(with_parameters(robot, theta))
    assert again.link("tool").inertial.mass == robot.link("tool").inertial.mass
    assert_allclose(again.link("b").inertial.mass, 1.5 * (1.45 + 0.82) - 0.82)
    assert again.link("a").inertial.mass == robot.link("a").inertial.mass


def test_fixed_links_give_way_where_there_is_none():
    robot = AWKWARD["welded"]
    theta = theta_of(robot)
    theta[10:20] *= 0.3  # less than the tool alone was said to weigh
    again = rd.load_robot(with_parameters(robot, theta))
    assert_allclose(standard_parameters(again), theta[:20], rtol=1e-12, atol=1e-14)
    share = again.link("tool").inertial.mass / robot.link("tool").inertial.mass
    assert 0.1 < share < 0.9
    assert again.link("b").inertial.mass > 0.0
    assert_allclose(again.link("tool").inertial.com, robot.link("tool").inertial.com)


def test_friction_of_joints_that_follow():
    """Shared among them as before; at the coordinate it is the sum."""
    text = AWKWARD["mimic"].urdf.replace("<mimic ", '<dynamics damping="0.2" friction="0.1"/><mimic ')
    robot = rd.load_robot(text)
    theta = theta_of(robot)
    theta[-4:] = 3.0, 2.0, 0.7, 0.9  # viscous and Coulomb of shoulder and finger
    again = rd.load_robot(with_parameters(robot, theta))
    assert_allclose(again.damping, (3.0, 2.0), rtol=1e-12)
    assert_allclose(again.friction, (0.7, 0.9), rtol=1e-12)
    ratio = {body.joint.name: body.joint.damping / 0.2 for body in again.bodies[2:]}
    assert_allclose(ratio["right_finger"], ratio["thumb_joint"])


def test_numbers_that_no_arm_has_are_refused():
    theta = theta_of(PRR)
    for change, message in (
        (theta[:-1], "39 finite numbers"),
        (np.where(np.arange(39) == 3, np.nan, theta), "39 finite numbers"),
        (np.where(np.arange(39) == 36, -1.0, theta), "friction: must not be negative"),
        (np.where(np.arange(39) == 20, -1.0, theta), "'hand' are those of no body"),
        (np.where(np.arange(39) == 23, 9.0, theta), "'hand' are those of no body"),
        *((np.where(np.arange(39) // 10 == 2, by * theta, theta), "'hand' are those of no body") for by in (0.0, -1.0)),
    ):
        with pytest.raises(InputError, match=message):
            with_parameters(PRR, change)
