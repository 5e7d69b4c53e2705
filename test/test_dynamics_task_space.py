# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The operational space: formulas on Pinocchio's J, J̇, M, C and g, and what follows from the equations themselves."""

import numpy as np
import pytest
from arms import OURS, random_robot
from industrial import urdfs
from numpy.testing import assert_allclose

import robodyn_ros as rd
from robodyn_ros.dynamics.task_space import TaskSpace, arm_directions, geometric_mean
from robodyn_ros.errors import InputError
from robodyn_ros.robot import random_positions

INDUSTRIAL = urdfs()
TIPS = {"ur5_robot": "tool0", "panda": "panda_hand_tcp", "far tool": "far"}
DIRECTIONS = {"five joints": "x z rx ry rz"}
"""Of an arm that has not six at once."""

FAR = (
    '<link name="far"/><joint name="far" type="fixed"><parent link="link6"/><child link="far"/>'
    '<origin xyz="1.3 -2.1 0.7" rpy="0.4 -0.9 1.7"/></joint></robot>'
)
"""A tool frame far from the flange."""

ARMS = {
    "prr": OURS["prr"],
    "five joints": random_robot(4, 5, branching=0.0),
    "prismatic wrist": random_robot(13, 6, branching=0.0),
    "far tool": random_robot(11, 6, branching=0.0).replace("</robot>", FAR),
    "eight joints": random_robot(7, 8, branching=0.0),
    **{name: INDUSTRIAL[name].read_text() for name in TIPS if name in INDUSTRIAL},
}


def task_of(name: str, directions: str = "") -> TaskSpace:
    directions = directions or DIRECTIONS.get(name, "")
    dynamics = rd.create_dynamics("rnea", rd.load_robot(ARMS[name]), gravity=(0.4, -1.3, -9.6), compiled=False)
    return TaskSpace(dynamics, TIPS.get(name, ""), directions)


def ordinary(task: TaskSpace, count: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """States far from singularities, where nothing is damped."""
    found, rng = [], np.random.default_rng(2)
    while len(found) < count:
        q, qd = rng.uniform(-1.2, 1.2, (2, task.dynamics.robot.n))
        jacobian = task.jacobian(q)
        mobility = jacobian @ np.linalg.solve(task.dynamics.mass_matrix(q), jacobian.T)
        scaled = mobility * np.outer(task._scale, task._scale)
        if 1.0 / np.trace(np.linalg.inv(scaled)) > task._floor:
            found.append((q, qd))
    return found


@pytest.mark.parametrize("name", ARMS)
def test_khatibs_formulas_on_pinocchios_terms(name: str) -> None:
    from truth import Pinocchio

    task = task_of(name)
    robot = task.dynamics.robot
    truth = Pinocchio(robot, (0.4, -1.3, -9.6))
    for q, qd in ordinary(task, 3):
        J, variation = (task.axes @ whole for whole in truth.jacobians(task.link, q, qd))
        drift = variation @ qd
        bias, gravity = truth.inverse(q, qd, 0 * q), truth.inverse(q, 0 * q, 0 * q)
        inverse = np.linalg.inv(truth.mass_matrix(q))
        inertia = np.linalg.inv(J @ inverse @ J.T)
        consistent = inverse @ J.T @ inertia
        found = task.terms(q, qd)
        null, coriolis = np.eye(robot.n) - J.T @ consistent.T, consistent.T @ (bias - gravity) - inertia @ drift
        known = J, drift, inertia, consistent, null, coriolis, consistent.T @ gravity
        for ours, theirs in zip(found[:7], known, strict=True):
            assert_allclose(ours, theirs, rtol=0, atol=1e-10 * max(1.0, np.abs(theirs).max()))


@pytest.mark.parametrize("name", ["prr", "five joints", "eight joints"])
def test_of_other_poses_half_have_a_clearance_above_1_and_usual_mobilities_scale_it(name: str) -> None:
    task = task_of(name)
    poses = random_positions(task.dynamics.robot, 400, seed=6)
    mobilities = [J @ np.linalg.solve(task.dynamics.mass_matrix(q), J.T) for q in poses for J in (task.jacobian(q),)]
    assert_allclose(task.scales[0], np.median(np.diagonal(mobilities, axis1=1, axis2=2), axis=0) ** -0.5, rtol=0.15)
    assert 0.7 < np.median([task.terms(q, 0 * q).clearance for q in poses]) < 1.4  # of other 200 poses than the task's


def test_an_arm_has_the_directions_that_it_has() -> None:
    assert_allclose(task_of("prr").axes, np.eye(6)[[0, 2, 4]])
    joint = '<joint name="elevator" type="prismatic">'
    assert joint in ARMS["prr"]
    tilted = rd.load_robot(ARMS["prr"].replace(joint, f'{joint}<origin rpy="0.3 0.2 0.1"/>'))
    found = TaskSpace(rd.create_dynamics("rnea", tilted, compiled=False)).axes
    assert found.shape == (3, 6)
    assert_allclose(found @ found.T, np.eye(3), atol=1e-12)
    assert (np.abs(found) > 0.01).sum() > 3  # along no axes


def test_directions_that_are_named() -> None:
    assert_allclose(task_of("prr", "z x").axes, np.eye(6)[[2, 0]])
    assert_allclose(TaskSpace(task_of("prr").dynamics, "carriage").axes, np.eye(6)[[2]])  # the first link that moves
    for wrong, said in (("x y", "along y"), ("x x", "each once"), ("up", "some of x y z")):
        with pytest.raises(InputError, match=said):
            task_of("prr", wrong)
    with pytest.raises(InputError, match="no joint moves 'base'"):
        TaskSpace(task_of("prr").dynamics, task_of("prr").dynamics.robot.root)


@pytest.mark.parametrize("name", ARMS)
def test_through_a_singular_pose_nothing_jumps(name: str) -> None:
    """Towards, into and out of the outstretched pose Λ is bounded, and changes evenly."""
    task = task_of(name)
    away = np.random.default_rng(3).uniform(0.5, 1.0, task.dynamics.robot.n)
    path = np.linspace(-0.3, 0.3, 301)
    inertias = np.array([task.terms(x * away, 0 * away).inertia for x in path])
    scale = np.outer(task._scale, task._scale)
    assert np.abs(inertias / scale).max() <= 4.0 / (3.0 * task._floor)
    steps = np.abs(np.diff(inertias / scale, axis=0)).max((1, 2))
    finer = np.array([task.terms(x * away, 0 * away).inertia for x in np.linspace(-0.3, 0.3, 601)])
    assert np.abs(np.diff(finer / scale, axis=0)).max() < 0.7 * steps.max()  # half the step, half the change


def test_the_geometric_mean() -> None:
    rng = np.random.default_rng(4)
    for spread in (1.0, 30.0, 100.0):
        roots = rng.normal(size=(2, 5, 5))
        first = roots[0] @ roots[0].T + np.eye(5)
        second = (roots[1] @ roots[1].T + np.eye(5)) * spread
        mean = geometric_mean(first, second)
        assert_allclose(mean @ np.linalg.solve(first, mean), second, rtol=1e-9, atol=1e-9 * spread)  # G A⁻¹ G = B
    assert_allclose(geometric_mean(first, 0.0 * first), 0.0 * first, rtol=0.0, atol=0.0)
    without = geometric_mean(np.diag([2.0, 3.0]), np.diag([10.0, 0.0]))
    assert_allclose(without, np.diag([np.sqrt(20.0), 3.0 * np.sqrt(10.0 / 5.0) / 256.0]), rtol=1e-12)


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
def test_which_directions_an_arm_has_does_not_depend_on_its_size(scale: float) -> None:
    """A direction counts from a billionth of the greatest motion on."""
    jacobian = np.zeros((1, 6, 2))
    jacobian[0, [0, 2, 1], [0, 1, 0]] = scale, 1e-8 * scale, 1e-10 * scale
    assert_allclose(arm_directions(jacobian, "z x", "tool"), np.eye(6)[[2, 0]])
    with pytest.raises(InputError, match="no joint moves 'tool' along y"):
        arm_directions(jacobian, "x y", "tool")
    assert_allclose(arm_directions(jacobian, "", "tool"), np.eye(6)[[0, 2]])
