# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Denavit–Hartenberg tables: the PUMA's published torques, tables in and out, and what has none."""

from dataclasses import replace

import numpy as np
import pytest
from arms import joint, link, robot
from industrial import urdfs
from numpy.testing import assert_allclose
from puma import COMS, COULOMB, GEARS, MASSES, MOMENTS, NOMINAL, ROTORS, TABLE, VISCOUS, puma

import robodyn_ros as rd
from robodyn_ros.errors import InputError, RobotDescriptionError
from robodyn_ros.kinematics import Kinematics, se3
from robodyn_ros.kinematics.dh import DHRow, DHTable, LinkData, read_dh, robot_from_dh
from robodyn_ros.kinematics.tree import build_tree
from robodyn_ros.robot import Pose

ROWS = (  # all numbers different, a prismatic joint in the middle
    DHRow(0.31, 0.7, 0.12, 0.4, offset=0.05),
    DHRow(0.07, -1.2, 0.25, -0.9, "prismatic", 0.11),
    DHRow(-0.22, 0.35, -0.18, 1.3),
    DHRow(0.15, 2.1, 0.09, -0.6, offset=-0.3),
)
BASE = Pose.from_xyz_rpy((0.1, -0.2, 0.3), (0.3, 0.2, -0.4))
TOOL = Pose.from_xyz_rpy((0.05, 0.06, 0.2), (0.1, 0.9, 0.7))
BODY = (1.0, (0.1, 0.02, 0.03), (0.1, 0, 0, 0.1, 0, 0.1))
BOTH = pytest.mark.parametrize("convention", ["standard", "modified"])
DATA = [
    LinkData(
        1.3 + i, (0.02 + 0.01 * i, -0.03, 0.05), np.diag([0.02, 0.03 + 0.002 * i, 0.025]), -2 - i, 2.5 + i, 3, 40 + i
    )
    for i in range(4)
]


def test_published_torques_of_the_puma() -> None:
    """Corke's Robotics Toolbox at q_n: gravity; and with unit rates and accelerations, rotors and friction too."""
    dynamics = rd.create_dynamics("rnea", puma(), compiled=False)
    one, gear = np.ones(6), np.abs(GEARS)
    assert_allclose(dynamics.gravity(NOMINAL), [0, 31.6399, 6.0351, 0, 0.0283, 0], atol=5e-5, rtol=0)
    dynamics.configure(armature=ROTORS * gear**2, viscous=VISCOUS * gear**2, coulomb=COULOMB * gear)
    published = [32.4952, 60.867, 17.7436, 1.45452, 1.29911, 0.713781]
    assert_allclose(dynamics.inverse(NOMINAL, one, one), published, rtol=4e-6)


def test_the_puma_is_published_with_impossible_inertias() -> None:
    third = LinkData(MASSES[2], COMS[2], np.diag(MOMENTS[2]))
    with pytest.raises(RobotDescriptionError, match=r"link3.*triangle inequality"):
        robot_from_dh("puma", TABLE, [LinkData(1)] * 2 + [third] + [LinkData(1)] * 3)
    with pytest.raises(RobotDescriptionError, match="link 'link1'"):
        rd.load_robot(puma().urdf)


@BOTH
def test_a_table_becomes_a_robot(convention: str) -> None:
    """The robot's tool is where the table's is, its own URDF says the same, and its table can be read back."""
    table = DHTable(ROWS, convention, BASE, TOOL)
    arm = robot_from_dh("made", table, DATA)
    again = rd.load_robot(arm.urdf)
    rng = np.random.default_rng(8)
    q, qd, qdd = rng.uniform(-1, 1, (3, 10, 4))
    offsets = np.array([row.offset for row in ROWS])
    plain = DHTable(tuple(replace(row, offset=0.0) for row in ROWS), convention, BASE, TOOL)
    assert_allclose(table.pose(q), plain.pose(q + offsets), atol=1e-14, rtol=0)
    for robot_ in (arm, again):
        assert_allclose(Kinematics(robot_, compiled=False).pose("tool", q), table.pose(q), atol=1e-13, rtol=0)
    efforts = [rd.create_dynamics("rnea", r, compiled=False).inverse(q, qd, qdd) for r in (arm, again)]
    assert_allclose(*efforts, rtol=1e-12, atol=1e-12)
    assert_allclose(arm.lower, [-2, -3, -4, -5], rtol=1e-14)
    assert_allclose((again.upper, again.velocity_limit, again.effort_limit)[2], arm.effort_limit, rtol=1e-14)
    for back in ("standard", "modified"):
        assert_allclose(read_dh(arm, "tool", back).table.pose(q), table.pose(q), atol=1e-12, rtol=0)


def test_a_joint_without_limits_has_none_in_the_robots_own_urdf() -> None:
    table = DHTable((DHRow(a=0.1, alpha=0.3, kind="prismatic"), DHRow(a=0.2, d=0.1)))
    arm = robot_from_dh("free", table, [LinkData(1.5), LinkData(0.8, (0.1, 0, 0), lower=-1.0)])
    again = rd.load_robot(arm.urdf)
    for name in ("lower", "upper", "velocity_limit", "effort_limit"):
        assert getattr(again, name).tolist() == getattr(arm, name).tolist()
    assert again.upper.tolist() == [np.inf, np.inf]


@BOTH
def test_frames_of_a_table_and_the_inertias_in_them(convention: str) -> None:
    """By their definitions, from poses about and along one axis; the COM given in a row's frame is there."""
    q = np.array([0.3, -0.2, 0.8, 1.1])
    table, pose = DHTable(ROWS, convention, BASE, TOOL), BASE
    kinematics = Kinematics(robot_from_dh("made", table, DATA), compiled=False)
    for index, (row, coordinate, frame, data) in enumerate(zip(ROWS, q, table.frames(q), DATA, strict=True), 1):
        moved = coordinate + row.offset
        theta, d = (row.theta + moved, row.d) if row.kind == "revolute" else (row.theta, row.d + moved)
        z = Pose.from_xyz_rpy((0, 0, d), (0, 0, theta))
        x = Pose.from_xyz_rpy((row.a, 0, 0), (row.alpha, 0, 0))
        pose = pose @ (z @ x if convention == "standard" else x @ z)
        assert_allclose(frame, se3.from_pose(pose), atol=1e-15, rtol=0)
        com = kinematics.com(f"link{index}", q)
        assert_allclose(com, frame[:3, :3] @ data.com + frame[:3, 3], atol=1e-14, rtol=0)


@pytest.mark.parametrize(
    ("name", "tool", "lengths"),
    [
        ("ur5_robot", "tool0", (0.425, 0.39225, 0.10915, 0.09465)),
        ("panda", "panda_hand_tcp", (0.316, 0.0825, 0.0825, 0.384, 0.088)),
    ],
)
def test_published_tables_come_back_from_urdfs(name: str, tool: str, lengths: tuple[float, ...]) -> None:
    """The makers' tables of the UR5 and the Panda, but for the first and last offset, which base and tool take in."""
    if name not in urdfs():
        pytest.skip("example-robot-data is not installed")
    rows = read_dh(rd.load_robot(urdfs()[name]), tool).table.rows
    found = sorted(abs(value) for row in rows for value in (row.a, row.d) if value)
    assert_allclose(found, sorted(lengths), rtol=1e-9)


def test_two_joints_about_one_axis_have_a_table_though_their_places_differ_by_rounding_errors() -> None:
    rng = np.random.default_rng(0)
    for _ in range(40):
        axis, away, base, turn = rng.normal(size=(4, 3)) * [[1.0], [1e-16], [1.0], [1.0]]
        first = joint("first", "revolute", "base", "a", axis, base, turn)
        second = joint("second", "revolute", "a", "b", axis, away)
        tip = joint("tip", "fixed", "b", "tool", None, (0.1, 0.2, 0.3))
        parts = link("base"), link("a", *BODY), first, link("b", *BODY), second, link("tool"), tip
        arm, q = rd.load_robot(robot("coaxial", *parts)), rng.uniform(-2.0, 2.0, (5, 2))
        assert_allclose(read_dh(arm, "tool").table.pose(q), Kinematics(arm, compiled=False).pose("tool", q), atol=1e-12)


def test_what_has_no_table() -> None:
    first = joint("first", "revolute", "base", "a", (0, 0, 1))
    second = joint("second", "revolute", "a", "b", (1e-9, 0, 1), (0.5, 0, 0))
    nearly = rd.load_robot(robot("nearly", link("base"), link("a", *BODY), link("b", *BODY), first, second))
    with pytest.raises(RobotDescriptionError, match=r"'second': its axis is 1e-09 rad from parallel to .*'first'"):
        read_dh(nearly, "b")
    with pytest.raises(InputError, match="no joint moves 'base'"):
        read_dh(nearly, "base")


def test_refusals() -> None:
    table = DHTable(ROWS)
    for call, message in (
        (lambda: DHRow(kind="helical"), "must be one of revolute, prismatic"),
        (lambda: DHRow(a=np.inf), "a: is not finite"),
        (lambda: DHRow(alpha="90°"), "alpha: must be real numbers, not '90°'"),
        (lambda: DHTable(ROWS, "craig"), "must be one of standard, modified"),
        (lambda: DHTable(()), "one or more"),
        (lambda: table.pose([1, 2]), "q"),
        (lambda: table.pose([1, 2, 3, np.nan]), "must be finite"),
        (lambda: robot_from_dh("made", table, DATA[:2]), "one a row, 4, not 2"),
        (lambda: LinkData(1, (0, 0)), r"com: has shape \(2,\), not \(3,\)"),
        (lambda: LinkData(np.nan), "mass: is not finite"),
        (lambda: LinkData(1, inertia=np.triu(np.ones((3, 3)))), "inertia: must be symmetric"),
        (lambda: LinkData(1, lower=0.2, upper=0.1), "lower: must not be above the upper limit, 0.1"),
        (lambda: LinkData(1, lower=np.nan), "lower: must not be above the upper limit, inf"),
        (lambda: LinkData(1, effort=-5.0), "effort: must be a number above 0, not -5.0"),
        (lambda: LinkData(1, velocity=0), "velocity: must be a number above 0, not 0"),
        (lambda: LinkData(1, lower=0, upper=0.0), "lower: and upper must not both be 0"),
        (lambda: LinkData(1, damping=-0.1), "damping: must be a number from 0 up, not -0.1"),
    ):
        with pytest.raises(InputError, match=message):
            call()


def test_the_frames_of_the_equations_stand_on_the_common_normal_of_two_axes() -> None:
    """Denavit and Hartenberg's offset has one component then, the distance of the axes; others cost operations."""
    parts = [link("base"), link("a", 1.0, (0.1, 0.2, 0.3)), link("b", 2.0, (0.3, -0.1, 0.2))]
    first = joint("first", "revolute", "base", "a", (0.3, -2.0, 0.7), (0.1, 0.2, 0.35), (0.15, 0.25, -0.45))
    second = joint("second", "revolute", "a", "b", (-3.0, 0.5, 4.0), (0.06, -0.04, 0.41), (-0.8, 0.33, 0.21))
    arm = rd.load_robot(robot("skew", *parts, first, second))
    lines = []  # of the axes: a point and a direction
    for body in arm.bodies:
        pose = Kinematics(arm, compiled=False).pose(body.name, [0.0, 0.0])
        lines.append((pose[:3, 3], pose[:3, :3] @ body.joint.axis))
    normal = np.cross(lines[0][1], lines[1][1])
    distance = abs((lines[1][0] - lines[0][0]) @ normal) / np.linalg.norm(normal)
    offset = build_tree(arm).nodes[1].offset
    assert_allclose(np.abs(offset), [distance, 0.0, 0.0], atol=1e-12)


@pytest.mark.parametrize("before", [1, 3])
def test_an_axis_in_line_with_the_one_before_adds_no_turn(before: int) -> None:
    """Its x axis is that of the frame before: θ, a and α of the row in between are 0, as Denavit and Hartenberg say."""
    skew = [((0.06, -0.04, 0.41), (-0.8, 0.33, 0.21)), ((0.2, 0.11, -0.07), (0.5, -0.6, 0.9))]
    skew.append(((0.05, 0.3, 0.13), (1.1, 0.2, -0.7)))
    places = [((0.1, 0.2, 0.35), (0.15, 0.25, -0.45)), *skew[:before], ((0.0, 0.0, 0.27), (0.0, 0.0, 0.6))]
    names = ["base", *"abcde"[: len(places)]]
    parts = [link("base"), *(link(name, 1.0, (0.1, 0.2, 0.3)) for name in names[1:])]
    for k, (xyz, rpy) in enumerate(places):
        parts.append(joint(f"j{k}", "revolute", names[k], names[k + 1], (0, 0, 1), xyz, rpy))
    arm = rd.load_robot(robot("in_line", *parts))
    table = read_dh(arm, names[-1]).table
    row, q = table.rows[before], np.linspace(-0.7, 1.1, len(places))
    assert_allclose((row.theta, row.a, row.alpha), 0.0, atol=1e-12)
    assert_allclose(table.pose(q), Kinematics(arm, compiled=False).pose(names[-1], q), atol=1e-12)
