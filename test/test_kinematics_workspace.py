# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Workspaces and what an arm can hold in them, against closed forms; the pictures and files that are made of them."""

from pathlib import Path

import numpy as np
import pytest
from arms import BODY, awkward, joint, lesson_arm, link, mechanism
from numpy.testing import assert_allclose

import robodyn_ros as rd
from robodyn_ros.dynamics.holding import greatest_payload, holding_map
from robodyn_ros.errors import InputError
from robodyn_ros.kinematics import Kinematics
from robodyn_ros.kinematics.inverse import InverseKinematics, InverseSettings, Task
from robodyn_ros.kinematics.workspace import cells, dexterity, random_rotations, sample
from robodyn_ros.robot.configuration import random_positions
from robodyn_ros.view.workspace_map import colours, write_ply

PLANE = (0, 2)


def test_samples_of_two_links_fill_the_annulus() -> None:
    """The area π ((l1 + l2)² - (l1 - l2)²) to the width of the cells; manipulability l1 l2 |sin q2| in each sample."""
    arm = rd.load_robot(mechanism("RR", lengths=(0.5, 0.3)).replace('"revolute"', '"continuous"'))
    found = sample(Kinematics(arm), "tool", 200_000, rows=PLANE)
    assert_allclose(found.manipulability, 0.15 * np.abs(np.sin(found.q[:, 1])), rtol=1e-9, atol=1e-15)
    radius = np.linalg.norm(found.points[:, PLANE], axis=1)
    assert radius.max() <= 0.8 + 1e-12
    assert radius.min() >= 0.2 - 1e-12
    map_ = cells(found.points, found.manipulability, 0.02)
    assert map_.counts.sum() == 200_000
    area = len(map_.centers) * 0.02**2
    assert_allclose(area, np.pi * (0.8**2 - 0.2**2), rtol=0.06)  # cells on the two edges count whole
    # Of a point at distance r both postures have |sin q2| = √(1 - cos² q2), by the law of cosines.
    r = np.linalg.norm(found.points[map_.best][:, PLANE], axis=1)
    cosine = (r**2 - 0.5**2 - 0.3**2) / (2 * 0.15)
    assert_allclose(map_.values, 0.15 * np.sqrt(1 - np.minimum(cosine**2, 1)), atol=1e-9)


def test_cells_keep_the_greatest_value() -> None:
    points = np.array([[0.1, 0, 0], [0.2, 0, 0], [1.1, 0, 0], [-0.1, 0, 0], [0.3, 0, 0], [2.5, 0, 0]])
    found = cells(points, [1.0, 3.0, 5.0, 7.0, np.nan, np.nan], 1.0)
    assert_allclose(found.centers, [[-0.5, 0.5, 0.5], [0.5, 0.5, 0.5], [1.5, 0.5, 0.5]])
    assert found.values.tolist() == [7.0, 3.0, 5.0]
    assert found.best.tolist() == [3, 1, 2]
    assert found.counts.tolist() == [1, 2, 1]
    with pytest.raises(InputError):
        cells(points, [1.0], 1.0)
    with pytest.raises(InputError, match="points: must be finite"):
        cells([[np.nan, 0.0, 0.0]], [1.0], 1.0)


def test_without_rows_those_of_the_velocity_count() -> None:
    """Yoshikawa's √det(J Jᵀ)."""
    kinematics = Kinematics(rd.load_robot(awkward()["gantry"]))
    with pytest.raises(InputError, match=r"rows: must be among 0 … 5, not \(0, 7\)"):
        sample(kinematics, "d", 10, rows=(0, 7))
    found = sample(kinematics, "d", 20)
    velocity = kinematics.jacobian("d", found.q)[:, :3]
    assert_allclose(found.manipulability, np.sqrt(np.linalg.det(velocity @ velocity.swapaxes(1, 2))), rtol=1e-9)


def test_joints_of_another_branch_do_not_count() -> None:
    """Of two joints that move a link in space it is √det(Jᵀ J), however many fingers the arm has."""
    text = mechanism("RR", lengths=(0.5, 0.3)).replace('"0.0 1.0 0.0"', '"0.0 0.6 0.8"', 1)
    branch = joint("finger", "revolute", "link1", "finger", (1, 0, 0)) + link("finger", 0.1, None, BODY)
    alone, branched = (rd.load_robot(text.replace("</robot>", f"{more}</robot>")) for more in ("", branch))
    assert branched.n == alone.n + 1
    found = sample(Kinematics(branched), "tool", 50)
    J = Kinematics(alone).jacobian("tool", found.q[:, : alone.n])[:, :3]
    assert_allclose(found.manipulability, np.sqrt(np.linalg.det(J.transpose(0, 2, 1) @ J)))
    assert found.manipulability.min() > 1e-3


def test_rotations_are_even() -> None:
    """Of uniform rotations the mean is 0, and the angle has the density (1 - cos θ)/π."""
    rotations = random_rotations(20_000, seed=3)
    assert_allclose(rotations @ np.swapaxes(rotations, 1, 2), np.broadcast_to(np.eye(3), rotations.shape), atol=1e-14)
    assert_allclose(np.linalg.det(rotations), 1.0)
    assert np.abs(rotations.mean(axis=0)).max() < 0.02
    angles = np.sort(np.arccos(np.clip((np.trace(rotations, axis1=1, axis2=2) - 1) / 2, -1, 1)))
    share = (angles - np.sin(angles)) / np.pi
    assert np.abs(share - np.linspace(0, 1, 20_000)).max() < 0.02


def test_dexterity_of_a_spherical_wrist() -> None:
    """Three long joints and a wrist whose axes meet, 0.1 m before the tool's tip: its place decides."""
    from robodyn_ros.kinematics.dh import DHRow, DHTable, LinkData, robot_from_dh

    turned = DHRow(alpha=np.pi / 2)
    table = DHTable((turned, DHRow(a=0.5), turned, DHRow(d=0.4, alpha=-np.pi / 2), turned, DHRow(d=0.1)))
    arm = robot_from_dh("wrist", table, [LinkData(1.0, (0.1, 0.02, 0.03), np.diag([0.02, 0.03, 0.025]))] * 6)
    inverse = InverseKinematics(Kinematics(arm), "tool", InverseSettings(starts=20))
    points = [[0.4, 0.3, 0.2], [0.0, -0.6, 0.1], [0.9, 0, 0], [1.05, 0, 0]]
    wrists = np.array(points)[:, None] - 0.1 * random_rotations(20)[:, :, 2]
    expected = np.mean(np.abs(np.linalg.norm(wrists, axis=2) - 0.5) <= 0.4, axis=1)
    assert 0.2 < expected[2] < 0.8
    for task in (None, Task.pointing()):
        assert_allclose(dexterity(inverse, points, 20, task=task), expected)
    with pytest.raises(InputError, match="points"):
        dexterity(inverse, [[0.4, 0.3]])


def test_what_two_links_can_hold() -> None:
    """The lesson's arm (reference section 3) in closed form: τ1 = G1 + m g (l1 c1 + l2 c12), τ2 = G2 + m g l2 c12."""
    arm = rd.load_robot(lesson_arm())
    dynamics, kinematics = rd.create_dynamics("rnea", arm, compiled=False), Kinematics(arm, compiled=False)
    limits = np.array([60.0, 15.0])
    g, (m1, m2), (l1, l2), (c1, c2) = 9.81, (5, 3), (0.5, 0.4), (0.25, 0.2)
    q = random_positions(arm, 500, seed=2)
    first, both = np.cos(q[:, 0]), np.cos(q[:, 0] + q[:, 1])
    bare = np.column_stack([(m1 * c1 + m2 * l1) * g * first + m2 * c2 * g * both, m2 * c2 * g * both])
    weight = np.column_stack([g * (l1 * first + l2 * both), g * l2 * both])
    most = greatest_payload(dynamics, kinematics, "tool", q, limits=limits)
    assert (np.isnan(most) == (np.abs(bare) > limits).any(axis=1)).all()
    with pytest.raises(InputError, match="limits: must be real numbers"):
        greatest_payload(dynamics, kinematics, "tool", q, limits="none")
    held = ~np.isnan(most)
    efforts = np.abs(bare + most[:, None] * weight)[held] / limits
    assert_allclose(efforts.max(axis=1), 1.0, rtol=1e-12)  # with it one joint is at its limit
    assert (np.abs(bare + 0.99 * most[:, None] * weight)[held] < limits).all()
    weightless = rd.create_dynamics("rnea", arm, gravity=(0.0, 0.0, 0.0), compiled=False)
    assert (greatest_payload(weightless, kinematics, "tool", q, limits=(0.0, 1.0)) == np.inf).all()


def test_the_dynamics_with_the_greatest_payload_are_at_a_limit(prr: str) -> None:
    """A mass beside the tool's origin, another mounting, and a payload that is there anyway."""
    arm, point = rd.load_robot(prr), (0.03, -0.02, 0.1)
    q = random_positions(arm, 20)
    dynamics = rd.create_dynamics("rnea", arm, gravity=(2.0, 1.0, -9.0), compiled=False)
    kinematics = Kinematics(arm, compiled=False)
    alone = dynamics.gravity(q)
    dynamics.configure(payload=rd.Payload("tool", mass=1.0, com=point))
    weight = dynamics.gravity(q) - alone
    for held in (None, rd.Payload("hand", mass=0.5)):
        dynamics.configure(payload=held)
        bare = dynamics.gravity(q)
        limits = 1.5 * np.abs(bare).max(axis=0)
        most = greatest_payload(dynamics, kinematics, "tool", q, point, limits)
        efforts = np.abs(bare + most[:, None] * weight) / limits
        assert_allclose(efforts.max(axis=1), 1.0, rtol=1e-9)
        assert (most > 0.0).all()


def test_where_an_arm_can_hold_two_kilograms() -> None:
    """The lesson's arm with weak motors: near the shoulder it can, stretched out it cannot."""
    arm = rd.load_robot(lesson_arm())
    dynamics, kinematics = rd.create_dynamics("rnea", arm), Kinematics(arm)
    limits = np.array([40.0, 12.0])
    found = holding_map(dynamics, kinematics, "tool", size=0.05, count=50_000, limits=limits)
    assert_allclose(greatest_payload(dynamics, kinematics, "tool", found.q, limits=limits), found.cells.values)
    can = found.holds(2.0)
    reach = np.abs(found.cells.centers[:, 0])
    # τ1 ≥ m g |x|, so that nothing is held farther out than the shoulder's limit over the weight of the payload alone.
    assert np.abs(can[:, 0]).max() < 40.0 / (2.0 * 9.81) + 0.05
    assert 0.0 < len(can) < len(reach)
    assert np.abs(can[:, 0]).max() < reach.max() - 0.1


def test_clouds(tmp_path: Path, prr: str) -> None:
    found = sample(Kinematics(rd.load_robot(prr)), "tool", 20_000, rows=PLANE)
    map_ = cells(found.points, found.manipulability, 0.05)
    write_ply(tmp_path / "map.ply", map_.centers, map_.values)
    header, data = (tmp_path / "map.ply").read_bytes().split(b"end_header\n")
    assert header.splitlines()[:2] == [b"ply", b"format binary_little_endian 1.0"]
    assert f"element vertex {len(map_.centers)}".encode() in header
    kinds = [(n, "<f4") for n in "xyz"] + [(n, "u1") for n in ("red", "green", "blue")] + [("value", "<f4")]
    rows = np.frombuffer(data, kinds)
    assert_allclose(np.column_stack([rows[name] for name in "xyz"]), map_.centers, atol=1e-6)
    assert_allclose(rows["value"], map_.values, rtol=1e-6)
    assert [rows[name][np.argmax(map_.values)] for name in ("red", "green", "blue")] == [253, 231, 37]
    assert colours([np.nan, 1.0, np.inf]).shape == (3, 3)
    with pytest.raises(InputError):
        write_ply(tmp_path / "no.ply", map_.centers, map_.values[:-1])


def test_colours_go_from_the_least_to_the_greatest_finite_value() -> None:
    """At the quarters those of Matplotlib's viridis; NaN has the first colour, infinity the last."""
    viridis = pytest.importorskip("matplotlib").colormaps["viridis"](np.linspace(0.0, 1.0, 5))[:, :3]
    found = colours([20.0, 25.0, 30.0, 35.0, 40.0, np.nan, np.inf])
    assert_allclose(found, np.round(255.0 * viridis)[[0, 1, 2, 3, 4, 0, 4]])
    first, second, *_ = found.tolist()
    assert first[1] < colours([20.0, 21.0, 40.0])[1, 1] < second[1]
    assert colours([7.0, 7.0]).tolist() == [first, first]
