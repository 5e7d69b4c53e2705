# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The closed forms of RR and PRR: every branch, exact to rounding, and reachability without rounding."""

from fractions import Fraction

import numpy as np
import pytest
from arms import joint, lesson_arm, link, mechanism, robot
from numpy.testing import assert_allclose

import robodyn_ros as rd
from robodyn_ros.errors import InputError, RobotDescriptionError
from robodyn_ros.kinematics import Kinematics
from robodyn_ros.kinematics.inverse.planar import PlanarInverse, dexterity, postures, reachable
from robodyn_ros.kinematics.target import ToolTarget
from robodyn_ros.robot import Pose

INERTIA = (0.01, 0, 0, 0.02, 0, 0.03)


def skewed(lift: bool) -> str:
    """Neither axis along x, y or z, the joints turning against each other, links bent at position 0."""
    shared = [
        link("base"),
        *(link(name, 1.0, (0.1, 0.2, 0), INERTIA) for name in "ab"),
        link("tool"),
        joint("second", "revolute", "a", "b", (0, 0, -1), (0.5, 0.2, 0.1), (0, 0, 0.9), (-3.0, 3.1, 3, 40)),
        joint("weld", "fixed", "b", "tool", None, (0.1, -0.35, 0.2), (0.3, 0.2, 0.1)),
    ]
    place, limit = ((0.3, 0.1, 0.2), (0.4, -0.7, 1.1)), (-3, 3, 3, 40)
    if not lift:
        return robot("rr", *shared, joint("first", "revolute", "base", "a", (0, 0, 1), *place, limit))
    slide = joint("lift", "prismatic", "base", "slide", (0.6, 0.8, 0), *place, (-0.5, 1.5, 3, 40))
    first = joint("first", "revolute", "slide", "a", (0, 0, 1), (0.05, 0.1, -0.3), (0, 0, -2.2), limit)
    return robot("prr", *shared, link("slide", 1.0, (0.1, 0.2, 0), INERTIA), slide, first)


ARMS = {
    "rr": mechanism("RR", lengths=(0.55, 0.45)).replace('axis xyz="0.0 1.0 0.0"', 'axis xyz="1.0 0.0 0.0"'),  # about x
    "lesson": lesson_arm(),
    "skewed rr": skewed(False),
    "prr": mechanism("PRR", lengths=(0, 0.5, 0.343)),
    "skewed prr": skewed(True),
}


def positions(arm: rd.Robot, count: int, seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).uniform(arm.lower, arm.upper, (count, arm.n))


@pytest.mark.parametrize("name", ARMS)
def test_round_trip_over_random_poses(name: str) -> None:
    """Both branches lead to the pose to 1e-12; one is where it came from, as exactly as the bend of the arm allows."""
    arm = rd.load_robot(ARMS[name])
    kinematics, inverse = Kinematics(arm, compiled=False), PlanarInverse(arm, "tool")
    q = positions(arm, 500)
    poses = kinematics.pose("tool", q)
    prr = arm.n == 3
    found = [inverse.solve_pose(pose) if prr else inverse.solve(pose[:3, 3]) for pose in poses]
    assert all(branches.reachable and len(branches.solutions) == 2 for branches in found)
    assert all(branches.margin > 0.0 for branches in found)
    solutions = np.array([[branch.q for branch in branches.solutions] for branches in found])  # (N, 2, n)
    elbows = np.array([[branch.elbow for branch in branches.solutions] for branches in found])
    assert (elbows == (1, -1)).all()
    counted = np.s_[:] if prr else np.s_[:, :3, 3]
    for branch in (0, 1):
        led = kinematics.pose("tool", solutions[:, branch])
        assert_allclose(led[counted], poses[counted], rtol=0, atol=1e-12)
    apart = np.abs(solutions[:, 0] - solutions[:, 1]).max(axis=1)
    back = np.abs(solutions - q[:, None]).max(axis=2).min(axis=1)
    assert (back * np.minimum(apart, 1.0) < 1e-13).all()  # near the straight arm the two meet, and each loses digits
    assert np.median(back) < 1e-14
    within = np.array([[branch.within_limits for branch in branches.solutions] for branches in found])
    assert within[np.arange(len(q)), np.abs(solutions - q[:, None]).max(axis=2).argmin(axis=1)].all()
    assert (within == ((solutions >= arm.lower) & (solutions <= arm.upper)).all(axis=2)).all()


def test_reachability_is_decided_without_rounding() -> None:
    """Floats next to each other around the edge: inside exactly if x² + y² ≤ (l1 + l2)² in rational numbers."""
    arm = rd.load_robot(mechanism("RR", lengths=(0.5, 0.25)))  # binary fractions, along z at position 0
    inverse = PlanarInverse(arm, "tool")
    assert inverse.arm.lengths == (0.5, 0.25)
    edge = np.nextafter(0.75, 1.0)
    inside, outside = inverse.solve([0, 0, 0.75]), inverse.solve([0, 0, edge])
    assert (inside.reachable, len(inside.solutions)) == (True, 1)
    assert (outside.reachable, len(outside.solutions)) == (False, 0)
    assert "reaches from 0.25 to 0.75" in outside.reason
    assert len(inverse.solve([0, 0, edge], slack=1e-12).solutions) == 1
    assert inverse.solve([0, 0, 0.25]).reachable
    assert not inverse.solve([0, 0, np.nextafter(0.25, 0.0)]).reachable
    rng = np.random.default_rng(7)
    verdicts = []
    for angle in rng.uniform(-np.pi, np.pi, 2000):
        x, z = 0.75 * np.sin(angle), 0.75 * np.cos(angle)
        truth = Fraction(x) ** 2 + Fraction(z) ** 2 <= Fraction(3, 4) ** 2
        assert inverse.solve([x, 0, z]).reachable == truth
        verdicts.append(truth)
    assert 0.2 < np.mean(verdicts) < 0.8
    folded = PlanarInverse(rd.load_robot(mechanism("RR", lengths=(0.5, 0.5))), "tool").solve([0, 0, 0])
    assert [branch.q[0] for branch in folded.solutions] == [0.0]  # at the shoulder itself any will do


def test_a_tool_that_is_folded_onto_the_shoulder_points_in_any_direction() -> None:
    robot = rd.load_robot(mechanism("RR", lengths=(0.5, 0.5)))
    kinematics, inverse = rd.Kinematics(robot, compiled=False), PlanarInverse(robot, "tool")
    for first in (-2.9, 0.3, 1.7):
        pose = kinematics.pose("tool", [first, np.pi])
        (found,) = inverse.solve_pose(pose, slack=1e-15).solutions
        np.testing.assert_allclose(kinematics.pose("tool", found.q), pose, atol=1e-14)


@pytest.mark.parametrize("name", ["lesson", "skewed rr"])
def test_a_pose_is_reached_however_straight_the_arm_is(name: str) -> None:
    """The position alone gives the second joint to the root of its rounding, the heading to its rounding."""
    arm = rd.load_robot(ARMS[name])
    kinematics, inverse = Kinematics(arm, compiled=False), PlanarInverse(arm, "tool")
    straight = inverse.arm.sense * np.angle(inverse.arm.links[0] / inverse.arm.links[1])
    for bend in (0.0, 1e-9, -1e-8, 1e-7, -1e-5, 0.3):
        for first in (-2.1, 0.4, 1.7):
            q = [first, straight + bend]
            (found,) = inverse.solve_pose(kinematics.pose("tool", q), slack=1e-12).solutions
            assert_allclose(found.q, q, atol=1e-13)
            assert bend == 0.0 or found.elbow == np.sign(inverse.arm.sense * bend)


def test_prr_reachability_is_decided_without_rounding() -> None:
    arm = rd.load_robot(mechanism("PRR", lengths=(0, 0.5, 0.25)))
    inverse = PlanarInverse(arm, "tool")
    for sign in (1, -1):
        assert len(inverse.solve([sign * 0.5, 0, 0.9], 0.0).solutions) == 1
        assert not inverse.solve([sign * np.nextafter(0.5, 1), 0, 0.9], 0.0).reachable


def test_what_a_planar_arm_cannot_do(prr: str) -> None:
    arm = rd.load_robot(prr)
    inverse, kinematics = PlanarInverse(arm, "tool"), Kinematics(arm, compiled=False)
    pose = kinematics.pose("tool", [0.5, 0.4, 0.3])
    beside, tilted = pose.copy(), pose.copy()
    beside[1, 3] = 0.02
    tilted[:3, :3] = Pose.from_xyz_rpy((0, 0, 0), (0.1, 0, 0)).rotation @ tilted[:3, :3]
    assert inverse.solve_pose(beside).reason == "out of the plane of the arm by 0.02 m"
    assert inverse.solve_pose(beside).margin == pytest.approx(-0.02)
    assert inverse.solve_pose(beside, slack=0.03).reachable
    assert "cannot tilt" in inverse.solve_pose(tilted).reason
    two = PlanarInverse(rd.load_robot(ARMS["rr"]), "tool")
    other = Kinematics(rd.load_robot(ARMS["rr"]), compiled=False).pose("tool", [0.3, 0.8])
    assert len(two.solve_pose(other).solutions) == 1  # the orientation picks one of the two
    other[:3, :3] = other[:3, :3] @ Pose.from_xyz_rpy((0, 0, 0), (0.1, 0, 0)).rotation
    assert "not with this orientation" in two.solve_pose(other).reason


def test_refusals(prr: str) -> None:
    inverse = PlanarInverse(rd.load_robot(prr), "tool")
    for given, said in (
        (([0, 0, 1],), "turn: must be given for a PRR arm only"),
        (([0, np.nan, 1], 0.1), "position"),
        (([0, 0, 1], np.nan), "turn: is not finite"),
        (([0, 0, 1], 0.1, [0.1]), "near: must be"),
        (([0, 0, 1], 0.1, [0.1, np.nan, 0.2]), "near: must be"),
    ):
        with pytest.raises(InputError, match=said):
            inverse.solve(*given)
    crooked = mechanism("RR").replace('<axis xyz="0.0 1.0 0.0"/>', '<axis xyz="0.1 1.0 0.0"/>', 1)
    slanted = prr.replace('<axis xyz="0 0 1"/>', '<axis xyz="0 0.1 1"/>', 1)
    assert slanted != prr
    for text, tool, said in (
        (mechanism("PR"), "tool", "is moved by PR, not by RR or PRR"),
        (prr, "arm", "not by RR or PRR"),
        (mechanism("RR"), "link2", "lies on the axis"),
        (crooked, "tool", r"'joint2'.*does not turn in the plane"),
        (slanted, "tool", r"'elevator'.*does not slide in the plane"),
    ):
        with pytest.raises(RobotDescriptionError, match=said):
            PlanarInverse(rd.load_robot(text), tool)


def test_an_arm_that_is_moved_by_a_mimic_joint_has_no_closed_form() -> None:
    """The coordinates that move the tool are those of a planar arm, but one of them moves its joint twice as far."""
    limit, follows = (-2.0, 2.0, 1.0, 1.0), '<mimic joint="leader" multiplier="2.0" offset="0.3"/>'
    links = [link("base"), *(link(name, 1.0, (0.1, 0.2, 0), INERTIA) for name in ("upper", "lower", "wheel"))]
    firsts = [joint("first", "revolute", "base", "upper", (0, 0, 1), limit=limit)]
    firsts.append(joint("leader", "revolute", "base", "wheel", (0, 0, 1), limit=limit))
    second = joint("second", "revolute", "upper", "lower", (0, 0, 1), (1.0, 0, 0), limit=limit, extra=follows)
    weld = joint("weld", "fixed", "lower", "tool", None, (0.7, 0, 0))
    arm = rd.load_robot(robot("geared", *links, link("tool"), *firsts, second, weld))
    with pytest.raises(RobotDescriptionError, match=r"'leader'.*moves the link by a joint that mimics it"):
        PlanarInverse(arm, "tool")
    kinematics, q = Kinematics(arm, compiled=False), np.array([0.4, 0.3])
    goal = ToolTarget(kinematics, "tool").goal(kinematics.pose("tool", q), np.zeros(2))
    assert_allclose(goal.q, q, atol=1e-5)


@pytest.mark.parametrize("name", ARMS)
def test_workspace_by_the_closed_form_holds_every_sample(name: str) -> None:
    """What forward kinematics reaches is in it; what the branches say point by point, it says for many at once."""
    arm = rd.load_robot(ARMS[name])
    kinematics, inverse = Kinematics(arm, compiled=False), PlanarInverse(arm, "tool")
    q = positions(arm, 30, seed=3)
    points = kinematics.pose("tool", q)[:, :3, 3]
    assert reachable(inverse.arm, points, headings=20_000).all()
    around = points + np.random.default_rng(4).normal(size=(30, 2)) @ inverse.arm.plane * 0.3
    ways = postures(inverse.arm, around, headings=40)
    if arm.n == 2:
        expected = [[b.within_limits for b in inverse.solve(point).solutions] or [False, False] for point in around]
        assert_allclose(ways, expected)
        assert (dexterity(inverse.arm, around) == 0.0).all()
        return
    headings = np.linspace(-np.pi, np.pi, 40, endpoint=False)
    expected = [[bool(inverse.solve(point, turn).within_limits) for turn in headings] for point in around]
    assert_allclose(ways, expected)
    assert_allclose(dexterity(inverse.arm, around, headings=40), np.mean(expected, axis=1))
    assert 0.0 < np.mean(expected) < 1.0
    by_default = 720 * dexterity(inverse.arm, around)  # half a degree apart
    assert_allclose(by_default, np.round(by_default), atol=1e-9)


def test_without_limits_of_the_joints_only_the_lift_bounds() -> None:
    """Shoulder and wrist turn without end: the limits of the lift alone decide on both branches."""
    arm = rd.load_robot(ARMS["prr"].replace('"revolute"', '"continuous"'))
    kinematics, inverse = Kinematics(arm, compiled=False), PlanarInverse(arm, "tool")
    rng = np.random.default_rng(4)
    q = np.column_stack((rng.uniform(arm.lower[0], arm.upper[0], 10), rng.uniform(-9.0, 9.0, (10, 2))))
    for pose in kinematics.pose("tool", q):
        branches = inverse.solve_pose(pose)
        lifts = np.array([branch.q[0] for branch in branches.solutions])
        inside = (lifts >= arm.lower[0]) & (lifts <= arm.upper[0])
        assert inside.any()
        assert [branch.within_limits for branch in branches.solutions] == inside.tolist()
        assert postures(inverse.arm, pose[:3, 3], 360).any()
