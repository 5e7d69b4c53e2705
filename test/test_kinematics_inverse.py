# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Inverse kinematics by damped least squares: industrial arms, tasks, limits, null-space objectives, refusals."""

import copy
import pickle

import numpy as np
import pytest
from arms import awkward, random_robot, resized
from industrial import panda, urdf, urdfs
from numpy.testing import assert_allclose

import robodyn_ros as rd
from robodyn_ros.errors import ConfigurationError, InputError
from robodyn_ros.kinematics import Kinematics, se3, so3
from robodyn_ros.kinematics.inverse import InverseKinematics, InverseSettings, Task
from robodyn_ros.kinematics.inverse.planar import PlanarInverse
from robodyn_ros.kinematics.inverse.solver import build_step, reach
from robodyn_ros.kinematics.inverse.task import centred, posture
from robodyn_ros.kinematics.screws import screws
from robodyn_ros.robot.configuration import ConfigurationSpace, random_positions

INDUSTRIAL = {"ur5_robot": "tool0", "panda": "panda_hand_tcp"}

needs_industrial = pytest.mark.skipif(not urdfs(), reason="example-robot-data is not installed")


def industrial(name: str) -> rd.Robot:
    return rd.load_robot(panda() if name == "panda" else urdf(name))


@pytest.fixture(scope="module", params=[pytest.param(name, marks=needs_industrial) for name in INDUSTRIAL])
def arm(request) -> tuple[Kinematics, str]:
    return Kinematics(industrial(request.param)), INDUSTRIAL[request.param]


def test_round_trip_over_random_poses(arm: tuple[Kinematics, str]) -> None:
    """1,000 poses from positions within the limits: found, within the limits, to 1e-6 by another route."""
    kinematics, link = arm
    robot = kinematics.robot
    targets = kinematics.pose(link, random_positions(robot, 1000, seed=5))
    inverse = InverseKinematics(kinematics, link)
    solutions = [inverse.solve(target) for target in targets]
    converged = np.array([solution.converged for solution in solutions])
    assert converged.mean() >= 0.995
    q = np.array([solution.q for solution in solutions])[converged]
    assert ((q >= robot.lower) & (q <= robot.upper)).all()
    led = screws(robot, link).pose(q)  # the product of exponentials shares nothing with what was solved
    assert np.abs(led[:, :3, 3] - targets[converged][:, :3, 3]).max() <= 1e-6
    off = so3.angle(so3.log(np.swapaxes(led[:, :3, :3], 1, 2) @ targets[converged][:, :3, :3]))
    assert off.max() <= 1e-6


def test_the_step_is_levenberg_and_marquardts() -> None:
    """The compiled step against the same formula on the Jacobian of another route, weights and directions included."""
    robot = rd.load_robot(random_robot(4, 6, branching=0))
    kinematics, found = Kinematics(robot, compiled=False), screws(robot, "tool")
    step = build_step(kinematics.tree, robot.link("tool"), compiled=False)
    rng, unit = np.random.default_rng(1), 0.3
    units = np.where([joint.is_prismatic for joint in robot.joints], unit, 1.0)
    assert len(set(units)) == 2
    for free_axis in (False, True):
        q, secondary, target = rng.uniform(-1, 1, 6), rng.uniform(-0.1, 0.1, 6), se3.exp(rng.normal(size=6))
        task = Task.pointing((1, 2, 3)) if free_axis else Task.pose((1, 2, 3, 0.5, 0.25, 4))
        D = np.kron(np.eye(2), task.directions(target[:3, :3]))
        pose = found.pose(q)
        e = D @ se3.error(pose, target)
        away = se3.motion(np.eye(3), pose[:3, 3])
        J = D @ se3.adjoint(se3.inverse(away)) @ found.jacobian(q)
        W = np.diag(task.weights / np.repeat([unit**2, 1.0], 3))
        E = e @ W @ e / 2
        H = J.T @ W @ J + (0.3 * E + 1e-3) * np.diag(units**-2)
        expected = q + np.linalg.solve(H, J.T @ W @ (e - J @ secondary)) + secondary
        step.q[:], step.secondary[:], step.damping[:] = q, secondary, (0.3, 1e-3, unit)
        step.position[:], step.rotation[:], step.weights[:] = target[:3, 3], target[:3, :3], task.weights
        step.directions[:], step.lower[:], step.upper[:] = task.directions(target[:3, :3]), -np.inf, np.inf
        step.kernel.evaluate()
        assert_allclose(step.residual, e, rtol=0, atol=1e-12)
        assert_allclose(step.stepped, expected, rtol=0, atol=1e-10)
        counted = np.where(task.weights > 0, e, 0)
        assert_allclose(step.measure, [np.linalg.norm(counted[:3]), np.linalg.norm(counted[3:]), E], rtol=1e-10)
        # A joint at a limit that the step would leave is held; one that comes back is not; the others are clamped.
        step.secondary[:] = 0.0
        gradient = J.T @ W @ e
        step.upper[:] = np.where(gradient > 0, q, q + 1e-3)
        step.lower[:] = q - 1e-3
        step.kernel.evaluate()
        held = gradient > 0
        assert (step.stepped[held] == q[held]).all()
        assert (np.abs(step.stepped - q) <= 1e-3 + 1e-15).all()
        assert (step.stepped[~held] != q[~held]).all()


@needs_industrial
@pytest.mark.parametrize("axis", range(3))
def test_half_turns(axis: int) -> None:
    """The tool turned by exactly π: where the error's direction is not unique, the solver still leaves the spot."""
    kinematics = Kinematics(industrial("ur5_robot"))
    q = np.array([0.4, -1.2, 1.4, -0.6, 1.1, 0.3])
    turn = np.zeros(6)
    turn[3 + axis] = np.pi
    target = kinematics.pose("tool0", q) @ se3.exp(turn)
    assert InverseKinematics(kinematics, "tool0", InverseSettings(starts=20)).solve(target, q).converged


def test_tasks(arm: tuple[Kinematics, str]) -> None:
    kinematics, link = arm
    inverse = InverseKinematics(kinematics, link)
    targets = kinematics.pose(link, random_positions(kinematics.robot, 200, seed=9))
    rotations = se3.exp(np.random.default_rng(2).normal(size=(200, 6)))[:, :3, :3]
    targets[:, :3, :3] = rotations @ targets[:, :3, :3]  # no longer reachable as poses, all of them
    for task, rows in ((Task.position(), [0, 1, 2]), (Task.along((1, 0, 1, 0, 0, 0), np.eye(3)), [0, 2])):
        for target in targets:
            solution = inverse.solve(target, task=task)
            assert solution.converged
            assert_allclose(se3.error(kinematics.pose(link, solution.q), target)[rows], 0, atol=2e-7)
    found = 0
    for q, target in zip(random_positions(kinematics.robot, 200, seed=9), targets, strict=True):
        target[:] = kinematics.pose(link, q) @ se3.exp([0, 0, 0, 0, 0, 2.0])  # turned about the tool's own z
        solution = inverse.solve(target, task=Task.pointing())
        found += solution.converged
        if solution.converged:
            pose = kinematics.pose(link, solution.q)
            assert_allclose(pose[:3, 2], target[:3, 2], atol=3e-7)
            assert_allclose(pose[:3, 3], target[:3, 3], atol=3e-7)
    assert found >= 199


def test_planar_task_agrees_with_the_closed_form(prr: str) -> None:
    robot = rd.load_robot(prr)
    kinematics = Kinematics(robot)
    inverse, closed = InverseKinematics(kinematics, "tool"), PlanarInverse(robot, "tool")
    named = Task.pose(), Task.position(), Task.planar(), Task.pointing()
    assert {weight for task in named for weight in task.weights} == {0.0, 1.0}  # what counts counts alike
    for q in random_positions(robot, 200, seed=3):
        target = kinematics.pose("tool", q)
        solution = inverse.solve(target, task=Task.planar())
        assert solution.converged
        nearest = min(abs(branch.q - solution.q).max() for branch in closed.solve_pose(target).within_limits)
        assert nearest < 1e-5  # where the branches all but meet, 1e-7 m are 1e-5 rad


@needs_industrial
def test_weights_decide_what_gives_way() -> None:
    """Of a target out of reach, what weighs more is met better."""
    kinematics = Kinematics(industrial("ur5_robot"))
    inverse = InverseKinematics(kinematics, "tool0", InverseSettings(starts=10, limits="ignore", iterations=200))
    target = se3.motion(np.eye(3), [0.7, 0.7, 0.3])  # within the ball, but not with this orientation
    heavy = inverse.solve(target, task=Task.pose((100, 100, 100, 1, 1, 1)))
    light = inverse.solve(target, task=Task.pose((1, 1, 1, 100, 100, 100)))
    assert not heavy.converged
    assert heavy.position_error < light.position_error
    assert heavy.rotation_error > light.rotation_error


def test_what_cannot_be_reached(prr: str) -> None:
    robot = rd.load_robot(prr)
    kinematics = Kinematics(robot)
    inverse = InverseKinematics(kinematics, "tool", InverseSettings(starts=5))
    for task in (Task.position(), Task.planar()):
        far = inverse.solve(se3.motion(np.eye(3), [0, 0, 5]), task=task)
        assert (far.outcome, far.converged, far.starts) == ("beyond_reach", False, 1)
        assert "it lies 2.06 m outside the ball of 2.94 m" in far.reason
    assert inverse.solve(se3.motion(np.eye(3), [0, 7, 1]), task=Task.planar()).converged  # y does not count
    with_limits = inverse.solve(se3.motion(np.eye(3), [0.842, 0, 1.0]), task=Task.planar())
    assert with_limits.outcome == "not_found"  # level with the shoulder, but not pointing up
    assert "not found from 5 starts" in with_limits.reason
    beyond = kinematics.pose("tool", [1.0, 0.5, 2.5])  # the wrist may turn to 2.1
    stopped = inverse.solve(beyond, [1.0, 0.5, 2.5], task=Task.planar())
    branches = PlanarInverse(robot, "tool").solve_pose(beyond)
    assert branches.reachable
    assert not branches.within_limits
    assert (stopped.outcome, stopped.converged) == ("limits", False)
    assert "only outside the position limits" in stopped.reason
    assert (stopped.q <= robot.upper).all()
    inverse.settings = InverseSettings(limits="ignore")
    ignored = inverse.solve(beyond, [1, 0.5, 2], Task.planar())
    assert ignored.converged
    assert "converged" in ignored.reason


def test_a_slide_beyond_its_limits_is_not_beyond_reach_where_they_are_ignored(prr: str) -> None:
    """The elevator ends at 2.1 m: at 9 m the tool is outside the ball of the limits, and found from random starts."""
    kinematics = Kinematics(rd.load_robot(prr))
    high = kinematics.pose("tool", [9.0, 0.5, 0.4])
    for limits, outcome in (("clamp", "beyond_reach"), ("ignore", "converged")):
        inverse = InverseKinematics(kinematics, "tool", InverseSettings(limits=limits))
        assert inverse.solve(high, task=Task.planar()).outcome == outcome
    impossible = se3.motion(np.diag([1.0, -1.0, -1.0]), high[:3, 3] + [0.0, 0.0, 0.3])
    found = InverseKinematics(kinematics, "tool", InverseSettings(limits="ignore", starts=3)).solve(impossible)
    assert (found.outcome, found.starts) == ("not_found", 3), found.reason


def test_the_ball_holds_the_whole_workspace() -> None:
    """For trees, mimic joints and prismatic joints too."""
    for text in (*awkward().values(), *(random_robot(seed, 5, mimic=0.3) for seed in range(10))):
        robot = rd.load_robot(text)
        kinematics = Kinematics(robot, compiled=False)
        for link in robot.links:
            ball = reach(kinematics.tree, link, robot.lower, robot.upper)
            points = kinematics.pose(link.name, random_positions(robot, 50))[:, :3, 3]
            assert np.linalg.norm(points - ball.center, axis=1).max() <= ball.radius + 1e-12


@needs_industrial
def test_objectives_use_the_freedom_that_is_left() -> None:
    """The Panda's seventh joint: each objective is better than without, and the pose is kept all the same."""
    kinematics, link = Kinematics(industrial("panda")), "panda_hand_tcp"
    robot, space = kinematics.robot, ConfigurationSpace(kinematics.robot)
    inverse = InverseKinematics(kinematics, link, InverseSettings(iterations=60))
    middle = (robot.lower + robot.upper) / 2
    rng = np.random.default_rng(4)
    for start in robot.lower + (robot.upper - robot.lower) * rng.uniform(0.3, 0.7, (10, 7)):
        target = kinematics.pose(link, start)
        plain = inverse.solve(target, start)
        rest = start + rng.uniform(-0.3, 0.3, 7)
        near = inverse.solve(target, start, objective=posture(robot, rest))
        central = inverse.solve(target, start, objective=centred(robot))
        assert all(solution.converged for solution in (plain, near, central))
        assert space.distance(near.q, rest) <= space.distance(plain.q, rest) + 1e-9
        assert np.linalg.norm(central.q - middle) <= np.linalg.norm(plain.q - middle) + 1e-9
        # Nothing is left to gain: what remains of the objective has no part in the null space.
        J = kinematics.jacobian(link, near.q)
        inside = (near.q > robot.lower) & (near.q < robot.upper)
        if inside.all():
            free = np.linalg.svd(J)[2][6]
            assert abs(free @ (rest - near.q)) < 1e-4


@needs_industrial
def test_limits_are_avoided_where_there_is_a_choice() -> None:
    kinematics, link = Kinematics(industrial("panda")), "panda_hand_tcp"
    robot = kinematics.robot
    span = robot.upper - robot.lower
    targets = kinematics.pose(link, robot.lower + span * np.random.default_rng(6).uniform(0.2, 0.8, (30, 7)))

    def distance(solution) -> float:
        return float(np.min(np.minimum(solution.q - robot.lower, robot.upper - solution.q) / span))

    results = {
        limits: [InverseKinematics(kinematics, link, InverseSettings(limits=limits)).solve(T) for T in targets]
        for limits in ("clamp", "avoid")
    }
    assert all(solution.converged for solutions in results.values() for solution in solutions)
    assert np.median([distance(s) for s in results["avoid"]]) > np.median([distance(s) for s in results["clamp"]])


@needs_industrial
def test_a_target_is_found_where_the_null_space_motion_does_not_settle() -> None:
    """It went to and fro, and five of 40 targets were beyond the limits."""
    kinematics = Kinematics(industrial("ur5_robot"))
    lower, upper = kinematics.robot.lower, kinematics.robot.upper
    places = lower + (upper - lower) * np.random.default_rng(6).uniform(0.2, 0.8, (40, 6))
    inverse = InverseKinematics(kinematics, "tool0", InverseSettings(limits="avoid"))
    for target in kinematics.pose("tool0", places):
        assert inverse.solve(target, task=Task.pointing()).converged


@pytest.mark.parametrize("limits", ["clamp", "avoid"])
def test_an_arm_of_millimetres_is_solved_as_one_of_metres(limits: str) -> None:
    """A damping in metres let joints that avoid their limits move the tool, and never let go of it."""
    texts = [random_robot(seed, 8, branching=0) for seed in (2, 5)]
    for text in (*texts, *(one.replace("prismatic", "revolute") for one in texts)):
        steps = []
        for scale in (1.0, 1e-3, 20.0):
            kinematics = Kinematics(rd.load_robot(resized(text, scale)), compiled=False)
            lower, upper = kinematics.robot.lower, kinematics.robot.upper
            inverse = InverseKinematics(kinematics, "tool", InverseSettings(limits=limits, starts=5))
            places = lower + (upper - lower) * np.random.default_rng(6).uniform(0.2, 0.8, (10, 8))
            found = [inverse.solve(target) for target in kinematics.pose("tool", places)]
            assert [solution.reason for solution in found if not solution.converged] == []
            steps.append(sum(solution.iterations for solution in found))
        assert max(steps) < 2 * steps[0]


@needs_industrial
def test_the_nearest_of_many_solutions() -> None:
    """A UR5 has eight postures for a pose; from a start beside one of them, that one."""
    kinematics = Kinematics(industrial("ur5_robot"))
    inverse = InverseKinematics(kinematics, "tool0", InverseSettings(choose="nearest", starts=30))
    q = np.array([5.9, -1.0, 1.2, 0.3, 0.9, -6.0])  # within ±2π: the turn is kept as well
    found = inverse.solve(kinematics.pose("tool0", q), q - 0.05)
    assert found.starts == 30
    assert_allclose(found.q, q, atol=1e-4)


def test_the_same_question_has_the_same_answer(arm: tuple[Kinematics, str]) -> None:
    kinematics, link = arm
    target = kinematics.pose(link, random_positions(kinematics.robot, 1, seed=77)[0])
    one, other = (InverseKinematics(kinematics, link) for _ in range(2))
    first = one.solve(target)
    one.solve(np.eye(4))
    assert (one.solve(target).q == first.q).all()
    assert (other.solve(target).q == first.q).all()


def test_refusals(prr: str) -> None:
    kinematics = Kinematics(rd.load_robot(prr), compiled=False)
    inverse = InverseKinematics(kinematics, "tool")
    for call, message in (
        (lambda: InverseKinematics(kinematics, "base"), "fixed to the base"),
        (lambda: inverse.solve(np.eye(3)), "homogeneous matrix"),
        (lambda: inverse.solve(np.eye(4), [1, 2]), "start"),
        (lambda: inverse.solve(np.eye(4), [1, 2, np.nan]), "start: must be finite"),
        (lambda: inverse.solve(np.eye(4), task="planar"), "task: must be a Task, .* planar.*, not 'planar'"),
        (lambda: Task.pose((1, 1, 1)), "six finite numbers"),
        (lambda: Task.pose((0, 0, 0, 0, 0, 0)), "not all 0"),
        (lambda: Task.pose((1, 1, 1, 1, 1, -1)), "from 0 up"),
        (lambda: Task.along((1,) * 6, np.ones((3, 3))), "three orthonormal rows"),
        (lambda: Task.planar((0, 0, 0)), "normal: must be a direction"),
        (lambda: posture(kinematics.robot, [1, 2]), "rest"),
    ):
        with pytest.raises(InputError, match=message):
            call()
    for wrong in ({"starts": 0}, {"starts": 2.5}, {"damping": -1.0}, {"position_tolerance": np.nan}):
        with pytest.raises(ConfigurationError, match=next(iter(wrong))):
            InverseSettings(**wrong)
    with pytest.raises(ConfigurationError, match="clamp, avoid, ignore"):
        InverseSettings(limits="hard")


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))])
def test_a_copy_has_memory_of_its_own(prr, copied):
    kinematics = Kinematics(prr, compiled=False)
    inverse = InverseKinematics(kinematics, "tool", InverseSettings(seed=7))
    places = random_positions(kinematics.robot, 4, seed=4)
    for q in places:
        kinematics.pose("tool", q)
        other, another = copied(inverse), copied(kinematics)
        inverse.solve(kinematics.pose("tool", -q))
        assert (other.settings, another.compiled) == (inverse.settings, False)
        target = another.pose("tool", q)
        assert_allclose(target, kinematics.pose("tool", q), atol=1e-15)
        assert_allclose(another.pose("tool", other.solve(target).q), target, atol=1e-5)
        kernel = another.kernel("tool")
        kernel.inputs[0][:], kernel.parameters[:] = q, (0.1, 0.2, 0.3)
        kernel.evaluate()
        assert_allclose(kernel.results[0], kinematics.pose("tool", q, (0.1, 0.2, 0.3)), atol=1e-15)
